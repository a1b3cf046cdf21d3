package main

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/spf13/cobra"
)

// The directory of a crawl is the first argument or --dir with every command, or crawl.
func TestEveryCommandTakesItsCrawlInTheSameWay(t *testing.T) {
	t.Chdir(t.TempDir())
	if err := os.MkdirAll(filepath.Join("news", "state"), 0o755); err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		use    string
		others int
		given  string
		dir    string
		rest   string
	}{
		{"stats DIR", 0, "", "crawl", ""},
		{"stats DIR", 0, "news", "news", ""},
		{"stats [flags] DIR", 0, "--dir news", "news", ""},
		{"stats DIR", 0, "typo", "typo", ""},
		{"sql DIR [QUESTION]", 1, "SELECT", "crawl", "SELECT"},
		{"sql DIR [QUESTION]", 1, "news SELECT", "news", "SELECT"},
		{"sql DIR [QUESTION]", 1, "typo SELECT", "typo", "SELECT"},
		{"sql DIR [QUESTION]", 1, "--dir news SELECT", "news", "SELECT"},
		{"sql DIR [QUESTION]", 1, "news", "news", ""},
		{"search DIR [WORDS]", anyNumber, "old news", "crawl", "old news"},
		{"search DIR [WORDS]", anyNumber, "news old news", "news", "old news"},
		{"status", 0, "", "crawl", ""},
		{"status", 0, "news", "news", ""},
		{"status", 0, "--dir news", "news", ""},
		{"page URL", 1, "http://a.test/", "crawl", "http://a.test/"},
		{"page URL", 1, "news http://a.test/", "news", "http://a.test/"},
		{"host NAME", 1, "news", "crawl", "news"},
		{"host NAME", 1, "news news", "news", "news"},
		{"revisit URL [--now] | --from FILE", 1, "news", "news", ""},
		{"watch [flags] [LIST]", 1, "news", "news", ""},
		{"import ARCHIVE…", anyNumber, "news old new", "news", "old new"},
		{"import ARCHIVE…", anyNumber, "old new", "crawl", "old new"},
		{"crawl [flags] SEED…", anyNumber, "a.test b.test", "crawl", "a.test b.test"},
		{"crawl [flags] SEED…", anyNumber, "news a.test", "news", "a.test"},
	} {
		var dir string
		var rest []string
		first := strings.Contains(c.use, "DIR")
		cmd := &cobra.Command{Use: c.use, RunE: func(_ *cobra.Command, arguments []string) error {
			if rest = arguments; first {
				dir, rest = rest[0], rest[1:]
			}
			return nil
		}}
		if !first {
			cmd.Flags().StringVar(&dir, "dir", defaultCrawl, "")
		}
		takesCrawl(cmd, c.others)
		cmd.SetArgs(strings.Fields(c.given))
		if err := cmd.Execute(); err != nil || dir != c.dir || !slices.Equal(rest, strings.Fields(c.rest)) {
			t.Errorf("%s, given %q: %q of %q, %v", c.use, c.given, rest, dir, err)
		}
	}
}

// A list that is watched is watched on by its directory alone.
func TestAListIsWatchedOn(t *testing.T) {
	t.Chdir(t.TempDir())
	if err := os.MkdirAll(filepath.Join("news", "state"), 0o755); err != nil {
		t.Fatal(err)
	}
	root := newRootCommand()
	cmd, rest, err := root.Find([]string{"watch", "news"})
	if err == nil {
		err = cmd.ValidateArgs(rest)
	}
	if err != nil || cmd.Flag("dir").Value.String() != "news" {
		t.Errorf("henro watch news: of %s, %v", cmd.Flag("dir").Value, err)
	}
}

// Whatever reads or steers a crawl takes its directory in both ways. The demo makes its own, doctor judges a machine.
func TestEveryCommandOfACrawlTakesADirectory(t *testing.T) {
	var walk func(cmd *cobra.Command)
	walk = func(cmd *cobra.Command) {
		for _, c := range cmd.Commands() {
			walk(c)
		}
		if cmd.Flag("dir") != nil && cmd.RunE != nil && cmd.Name() != "demo" && cmd.Name() != "doctor" &&
			!strings.Contains(cmd.Use, "[DIR") {
			t.Errorf("%s takes --dir, and no directory as an argument", cmd.CommandPath())
		}
	}
	walk(newRootCommand())
}
