package config

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// A file is a list of terms, or a page in HTML of whatever encoding; several make one topic.
func TestTopicsAreTermsAndPages(t *testing.T) {
	dir := t.TempDir()
	file := func(name, text string) string {
		path := filepath.Join(dir, name)
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		return path
	}
	terms, empty := file("terms", "# mine\nmollusc"), file("empty.html", "<html><title>x</title><script>a()</script>")
	page := file("page.html", "\ufeff\n<!doctype html><title>Squids</title><nav>Home Home Home</nav>"+
		"<p>A squid with tentacles, tentacles.")
	japanese := file("ja.html", "<meta charset=shift_jis><p>\x83C\x83J\x81A\x83C\x83J\x81A\x83C\x83J") // イカ、イカ、イカ
	for want, files := range map[string][]string{
		"mollusc squid tentacles イカ": {terms, page, japanese}, "squid tentacles": {page}, "mollusc": {terms},
	} {
		about, err := readTopic(files)
		if err != nil {
			t.Fatal(err)
		}
		for word := range strings.FieldsSeq(want) {
			if !strings.Contains(about.Terms(), word) {
				t.Errorf("%v have no %q: %s", files, word, about.Terms())
			}
		}
		if strings.Contains(about.Terms(), "home") {
			t.Errorf("words of the navigation are taken: %s", about.Terms())
		}
	}
	for _, files := range [][]string{{empty}, {filepath.Join(dir, "none")}, {file("nothing", "# no terms")}} {
		if about, err := readTopic(files); err == nil {
			t.Errorf("%v are %s", files, about.Terms())
		}
	}
}
