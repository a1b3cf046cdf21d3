package main

import (
	"errors"
	"os"
	"path/filepath"
	"testing"

	"henro/store/archive/history"
)

func TestImportRefusesWhatItCannotRead(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "crawl")
	bad := filepath.Join(t.TempDir(), "a.csv")
	if err := os.WriteFile(bad, []byte("url,time,digest\nhttp://a.example/,2014-01-03,x\nhttp://a.example/,never,x\n"),
		0o644); err != nil {
		t.Fatal(err)
	}
	if _, _, err := importAll(dir, []string{bad}, func(string) {}); !errors.Is(err, history.ErrSource) {
		t.Errorf("a table with a line that is none: %v", err)
	}
	if _, err := os.Stat(dir); !os.IsNotExist(err) {
		t.Errorf("it has left a crawl: %v", err)
	}
}
