package reading

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

func TestADefinitionThatIsNoneIsRefused(t *testing.T) {
	for text, want := range map[string]string{
		`{"version": 2}`: "use the henro that wrote it",
		`{"seeds": []}`:  "use the henro that wrote it",
		`{"version": 1, "seeds": [{"url": "a.example"}]}`: "read what the crawl is from",
		`{"version": 1`:    "read what the crawl is from",
		`{"version": "1"}`: "read what the crawl is from",
		`{"version": 1, "in_force": {"revisit": {"Min": -1}}}`: "read what the crawl is from",
	} {
		dir := t.TempDir()
		if err := os.WriteFile(filepath.Join(dir, DefinitionName), []byte(text), 0o666); err != nil {
			t.Fatal(err)
		}
		if _, err := ReadDefinition(dir); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v", text, err)
		}
	}
}
