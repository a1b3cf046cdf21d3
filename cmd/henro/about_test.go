package main

import (
	"path/filepath"
	"strings"
	"testing"

	"github.com/spf13/pflag"

	"henro/actors/reading"
	"henro/cmd/config"
	"henro/cmd/embedded"
	"henro/messages/weburl"
	"henro/store"
	"henro/store/report/tables"
)

func TestWhatACrawlSaysOfItselfIsArchivedAndNoCapture(t *testing.T) {
	dir := t.TempDir()
	state, err := store.OpenState(filepath.Join(dir, "state"), store.DefaultOptions())
	if err != nil {
		t.Fatal(err)
	}
	if err := state.Close(); err != nil {
		t.Fatal(err)
	}
	_, err = command(t, "wacz", dir, filepath.Join(dir, "a.wacz"))
	if config.Code(err) != config.ExitUsage || !strings.Contains(err.Error(), "henro nodes collect") {
		t.Errorf("a state without WARC files: %v", err)
	}
	var work config.Work
	flags := pflag.NewFlagSet("", pflag.ContinueOnError)
	work.Register(flags)
	seeds := []reading.Seed{{URL: weburl.MustParse("http://a.test/"), Depth: 2}}
	if err := embedded.KeepAbout(dir, work, config.ArchiveInfo(), seeds, flags); err != nil {
		t.Fatal(err)
	}
	leaves, err := filepath.Glob(filepath.Join(dir, "proof", "*", "checkpoint"))
	if err != nil || len(leaves) != 1 {
		t.Errorf("it is not in the log of the archive: %v %v", leaves, err)
	}
	captures := 0
	source := &tables.Source{Archive: filepath.Join(dir, "warc")}
	count := func(tables.Row) error { captures++; return nil }
	if err := tables.Captures().Each(source, tables.Query{}, count); err != nil {
		t.Fatal(err)
	}
	if captures != 0 {
		t.Errorf("%d captures, though no page was visited", captures)
	}
	if _, err := command(t, "check", "--repair", dir); err != nil { // there is something to index
		t.Error(err)
	}
	file := filepath.Join(dir, "a.csv")
	if said, err := command(t, "export", "--dir", dir, file); err != nil || !strings.Contains(said, file+": 0 pages") {
		t.Errorf("an export says %q, %v", said, err)
	}
}
