package main

import (
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"henro/cmd/embedded/crawltest"
	"henro/cmd/fakeweb"
	"henro/store/archive/cdxj"
	"henro/store/archive/warc"
)

// After kill -9 the first command that opens the archive finishes what was left open and says so, and index.cdxj lists
// every capture.
func TestTheFirstCommandAfterACrashMakesTheIndexTrue(t *testing.T) {
	killed := t.TempDir()
	synctest.Test(t, func(t *testing.T) {
		web, err := fakeweb.New(fakeweb.Options{Seed: 2, Hosts: 4, Domains: 2, Pages: 60, CrossShare: 0.2, Degree: 6})
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { web.Close() })
		crawltest.CopyTree(t, crawltest.Crashes(t, web, nil, 40*time.Second), killed)
	})
	archived := 0
	for verb, arguments := range map[string][]string{
		"check": {"check"}, "feed": {"feed"}, "repair": {"check", "--repair"},
		"sql": {"sql", "select count(*) from captures"},
	} {
		dir := t.TempDir()
		crawltest.CopyTree(t, killed, dir)
		if open, err := warc.Leftovers(filepath.Join(dir, "warc"), ""); err != nil || len(open) != 1 {
			t.Fatalf("the crash has left open %q, %v", open, err)
		}
		said, err := command(t, slices.Insert(arguments, 1, "--dir", dir)...)
		if err != nil || !strings.Contains(said, "was left open by a process that died; it is finished now") {
			t.Errorf("%s says %q, %v", verb, said, err)
		}
		urls := crawltest.Captured(t, dir) // finds no open file
		data, err := os.ReadFile(filepath.Join(dir, "warc", cdxj.MergedName))
		if err != nil {
			t.Fatal(err)
		}
		merged := map[string]bool{}
		for line := range strings.Lines(string(data)) {
			e, err := cdxj.Parse([]byte(line))
			if err != nil {
				t.Fatal(err)
			}
			merged[e.URL] = true
		}
		if len(urls) == 0 || !maps.Equal(merged, urls) || archived > 0 && archived != len(urls) {
			t.Errorf("%s: %d URLs are in the merged index, %d in those of the files, %d after another verb", verb,
				len(merged), len(urls), archived)
		}
		archived = len(urls)
	}
}
