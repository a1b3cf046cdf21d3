package browser

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// A program that is not there, or that is no Chromium, is an error with its cause for each page.
func TestWhatIsNoChromiumIsNamed(t *testing.T) {
	absent := filepath.Join(t.TempDir(), "chromium")
	if _, err := Find(absent); !errors.Is(err, fs.ErrNotExist) || !strings.Contains(err.Error(), "--browser-path") {
		t.Errorf("of a file that is not there: %v", err)
	}
	other, err := os.Executable() // which knows none of Chromium's flags, says so and ends
	if err != nil {
		t.Fatal(err)
	}
	b := New(Options{Path: other, Dir: t.TempDir()})
	for range 2 {
		_, err := b.Render(t.Context(), Page{URL: "http://a.example/"}, archive(nil))
		if err == nil || !strings.HasPrefix(err.Error(), "start Chromium: ") ||
			!strings.Contains(err.Error(), "not defined") {
			t.Errorf("of another program: %v", err)
		}
	}
	if err := b.Close(); err != nil {
		t.Error(err)
	}
}
