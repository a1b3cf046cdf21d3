package main

import (
	"errors"
	"os"
	"path/filepath"
	"sync"
	"testing"

	"henro/cmd/embedded/crawltest"
)

// crawled is the folder of the crawls that several tests look at, each made once.
var crawled struct {
	sync.Mutex
	dir string
}

// copyOf is a copy of such a crawl, of a name and as it is made in a directory.
func copyOf(t *testing.T, name string, crawl func(t *testing.T, dir string)) string {
	t.Helper()
	crawled.Lock()
	defer crawled.Unlock()
	if crawled.dir == "" {
		dir, err := os.MkdirTemp("", "crawled-")
		if err != nil {
			t.Fatal(err)
		}
		crawled.dir = dir
	}
	made := filepath.Join(crawled.dir, name)
	if _, err := os.Stat(made); errors.Is(err, os.ErrNotExist) {
		dir := t.TempDir()
		if crawl(t, dir); t.Failed() {
			t.FailNow()
		}
		crawltest.CopyTree(t, dir, made)
	}
	dir := t.TempDir()
	crawltest.CopyTree(t, made, dir)
	return dir
}
