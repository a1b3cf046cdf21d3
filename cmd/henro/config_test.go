package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"henro/cmd/embedded/crawltest"
)

// The settings of a crawl are shown with where they come from; what is given beside them is shown in their place.
func TestConfigSaysWhatTheCrawlKeeps(t *testing.T) {
	crawltest.Bare(t)
	dir := t.TempDir()
	if err := os.WriteFile(filepath.Join(dir, "crawl.json"), []byte(
		`{"version":1,"settings":{"depth":["3"],"exclude":["/a","/b"]}}`), 0o644); err != nil {
		t.Fatal(err)
	}
	for _, arguments := range [][]string{{"config", dir, "--set"}, {"config", "--set", "--dir", dir}} {
		out, err := command(t, append(arguments, "--depth", "5")...)
		lines := strings.Split(strings.TrimSpace(out), "\n")
		if err != nil || len(lines) != 3 || strings.Join(strings.Fields(lines[0]), " ") != "depth: 5 # flag" ||
			strings.Join(strings.Fields(lines[2]), " ") != `exclude: ["/a","/b"] # crawl.json` {
			t.Errorf("%q: %q, %v", arguments, lines, err)
		}
	}
}
