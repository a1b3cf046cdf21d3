package main

import (
	"fmt"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/mmcdole/gofeed"

	"henro/cmd/embedded/crawltest"
	"henro/master"
	"henro/store/report/changes"
	"henro/store/report/feeds"
)

// changingSite is a copy of a site of ten pages that was crawled three times: /1 gets a sentence, /2 loses its only one
// and gets another, /3 changes in what surrounds its text, the rest stays.
func changingSite(t *testing.T) (dir string) { return copyOf(t, "changing", crawlChanging) }

func crawlChanging(t *testing.T, dir string) {
	synctest.Test(t, func(t *testing.T) {
		round := 0
		site := http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			if r.URL.Path == "/robots.txt" {
				w.WriteHeader(http.StatusNotFound)
				return
			}
			w.Header().Set("Content-Type", "text/html; charset=utf-8")
			text := "The first sentence stands. " + strings.Repeat("Others stand beside it. ", 20)
			switch {
			case r.URL.Path == "/1" && round > 0:
				text += fmt.Sprintf("Prices rise by %d%% <in spring> & autumn.", round)
			case r.URL.Path == "/2":
				text = []string{"東京は晴れです。", "東京は雨です。", "東京は雨です。"}[round]
			}
			fmt.Fprintf(w, "<title>Page %s</title><nav>round %d</nav><main><p>%s</p></main>", r.URL.Path,
				map[bool]int{true: round}[r.URL.Path == "/3"], text)
			for n := range 10 {
				fmt.Fprintf(w, `<a href="/%d"></a>`, n)
			}
		})
		for ; round < 3; round++ {
			crawltest.Run(t, crawltest.At(t, dir, site, func(o *master.Options) { o.Hosts.Again = true },
				"http://news.example/0"))
			time.Sleep(24 * time.Hour)
		}
	})
}

// What changed is told once, as lines, and as a feed that a reader of feeds understands; filters hold.
func TestChangesAreTold(t *testing.T) {
	dir := changingSite(t)
	feedDir := filepath.Join(dir, changes.Folder)
	const one, two = "http://news.example/1", "http://news.example/2"
	all := feedFlags{}
	all.o.Least = 1
	for range 2 { // the second time there is nothing new
		if err := all.run(t.Context(), dir, io.Discard, io.Discard); err != nil {
			t.Fatal(err)
		}
	}
	lines, err := changes.Recent(feedDir, 100)
	if err != nil || len(lines) != 3 {
		t.Fatalf("%d changes are written down, %v", len(lines), err)
	}
	for _, c := range lines {
		if c.URL == one && !strings.Contains(c.Diff, "\n+Prices rise by ") ||
			c.URL == two && (!strings.Contains(c.Diff, "\n-東京は晴れです。\n+東京は雨です。") || c.Letters != 15) {
			t.Errorf("%s, %d letters:\n%s", c.URL, c.Letters, c.Diff)
		}
	}
	file, err := os.Open(filepath.Join(feedDir, feeds.AtomName))
	if err != nil {
		t.Fatal(err)
	}
	defer file.Close()
	atom, err := gofeed.NewParser().Parse(file)
	if err != nil || atom.FeedType != "atom" || len(atom.Items) != 3 || atom.UpdatedParsed == nil {
		t.Fatalf("the feed: %+v, %v", atom, err)
	}
	for i, item := range atom.Items {
		if item.Link != lines[i].URL || item.Title != lines[i].Title || item.GUID != lines[i].ID ||
			item.Content != lines[i].Diff || !item.UpdatedParsed.Equal(lines[i].At) {
			t.Errorf("entry %d: %+v, want %+v", i, item, lines[i])
		}
	}

	for sentence, c := range map[string]struct {
		prefix string
		least  int
		want   int
	}{"pages below another prefix": {"http://other.example/", 1, 0}, "one page": {one, 1, 2},
		"larger changes only": {"", 20, 2}, "none is so large": {"", 1000, 0}} {
		if err := os.RemoveAll(feedDir); err != nil {
			t.Fatal(err)
		}
		f := feedFlags{}
		if f.o.Least = c.least; c.prefix != "" {
			f.o.Prefixes = []string{c.prefix}
		}
		if err := f.run(t.Context(), dir, io.Discard, io.Discard); err != nil {
			t.Fatal(err)
		}
		if lines, err := changes.Recent(feedDir, 100); err != nil || len(lines) != c.want {
			t.Errorf("%s: %d changes, want %d; %v", sentence, len(lines), c.want, err)
		}
	}
}
