package cdxj_test

import (
	"errors"
	"os"
	"path/filepath"
	"testing"

	"henro/store/archive/cdxj"
)

func TestWhatADeadProcessLeftBesideIndexesIsRemoved(t *testing.T) {
	dir := t.TempDir()
	names := map[string]bool{ // whether they stay
		"a-1.cdxj": true, "a-1.warc.gz": true, "a-2.cdxj.open": true, "b-1.cdxj.7.tmp": true, "index.cdxj.9.tmp": true,
		"a-1.cdxj.123.tmp": false,
	}
	sorting := filepath.Join(dir, "a-2.cdxj.7.tmp") // a folder, with what did not fit into memory
	if err := errors.Join(os.Mkdir(sorting, 0o700),
		os.WriteFile(filepath.Join(sorting, "henro-sort-1.tmp"), nil, 0o600)); err != nil {
		t.Fatal(err)
	}
	for name := range names {
		if err := os.WriteFile(filepath.Join(dir, name), nil, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	if err := cdxj.RemoveUnfinished(dir, "a"); err != nil {
		t.Fatal(err)
	}
	names[filepath.Base(sorting)] = false
	for name, want := range names {
		if _, err := os.Stat(filepath.Join(dir, name)); (err == nil) != want {
			t.Errorf("%s: %v, want it to stay: %v", name, err, want)
		}
	}
}
