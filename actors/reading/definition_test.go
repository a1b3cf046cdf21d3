package reading

import (
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"
)

// A crawl that was begun when crawl.json had the settings in force alone goes on with its seeds and its depth.
func TestADefinitionWithoutAVersionIsRead(t *testing.T) {
	dir := t.TempDir()
	for name, text := range map[string]string{
		"crawl.json": `{"continuous": true, "admission": {"Depth": 2}, "archives_all": true}`,
		"seeds.json": `["http://a.example/", "http://b.example/"]`,
	} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o666); err != nil {
			t.Fatal(err)
		}
	}
	d, err := ReadDefinition(dir)
	want := []KeptSeed{{"http://a.example/", 2}, {"http://b.example/", 2}}
	if err != nil || !reflect.DeepEqual(d.Seeds, want) || d.Judged == "" ||
		!d.InForce.Continuous || !d.InForce.ArchivesAll {
		t.Errorf("%+v, %v", d, err)
	}
}

func TestADefinitionThatIsNoneIsRefused(t *testing.T) {
	for text, want := range map[string]string{
		`{"version": 2}`:   "use the henro that wrote it",
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
