package main

import (
	"cmp"
	"encoding/json"
	"fmt"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"henro/cmd/fakeweb"
	"henro/store"
)

// A crawl names the page that had a text first, for all others that have it and no others, whatever crashed meanwhile.
func TestACrawlNamesThePageThatHadATextFirst(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		web, err := fakeweb.New(fakeweb.Options{
			Seed: 8, Hosts: 12, Domains: 5, Pages: 15, CrossShare: 0.1, RedirectShare: 0.05,
			Errors: fakeweb.Errors{NotFound: 0.05}, Traps: fakeweb.Traps{SoftNotFound: 0.3},
			Twins: fakeweb.Twins{Aliases: 0.4, Mirrors: 0.4, Dust: 0.4, Near: 0.5, Parked: 0.2, Fronts: 0.3,
				Translations: 0.3},
		})
		if err != nil {
			t.Fatal(err)
		}
		defer web.Close()
		dir, _ := crawlOverCrashes(t, web, nil, 20*time.Second, 70*time.Second)

		visited, near, firsts := 0, 0, map[string]string{} // by text
		_, pages := stateIn(t, dir)
		for _, page := range pages {
			if page.Status != 200 {
				continue
			}
			visited++
			is, err := web.Like(page.URL)
			if err != nil {
				t.Fatal(err)
			}
			if page.Near != "" {
				near++
				if first, err := web.Like(page.Near); err != nil ||
					cmp.Or(first.Near, first.Text) != cmp.Or(is.Near, is.Text) {
					t.Errorf("%s has the text %s and is near %s: %v", page.URL, is.Text, page.Near, err)
				}
			}
			if page.SameAs == "" {
				if first := firsts[is.Text]; first != "" {
					t.Errorf("%s and %s have the text %s and do not know it", first, page.URL, is.Text)
				}
				firsts[is.Text] = page.URL
				continue
			}
			if first, err := web.Like(page.SameAs); err != nil || first.Text != is.Text {
				t.Errorf("%s has the text %s and is the same as %s: %v", page.URL, is.Text, page.SameAs, err)
			}
		}
		if visited < 300 || len(firsts) > visited/2 || near < 5 {
			t.Errorf("%d pages with %d texts, %d near another: no test at all", visited, len(firsts), near)
		}
		if counts := fmt.Sprintf("texts     %d pages have the text of an earlier page, %d nearly", visited-len(firsts),
			near); !strings.Contains(said(t, "stats", dir), counts) {
			t.Errorf("henro stats does not say: %s", counts)
		}
		checkMirrors(t, dir, web, pages)
	})
}

// checkMirrors counts the pages of each mirror that henro mirrors lists by the truth of the web.
func checkMirrors(t *testing.T, dir string, web *fakeweb.Web, pages map[string]store.Page) {
	t.Helper()
	below := func(folder string) map[string]string { // texts by the rest of the URL
		texts := map[string]string{}
		for url, page := range pages {
			if rest, is := strings.CutPrefix(url, folder); is && page.Status == 200 {
				like, err := web.Like(url)
				if err != nil {
					t.Fatal(err)
				}
				texts[rest] = like.Text
			}
		}
		return texts
	}
	listed := strings.Fields(said(t, "mirrors", dir, "--json", "--pages", "5"))
	for _, line := range listed {
		var m struct {
			Same, Pages, MirrorPages int
			Folder, Mirror           string
		}
		if err := json.Unmarshal([]byte(strings.Replace(line, "mirror_pages", "MirrorPages", 1)), &m); err != nil {
			t.Fatal(err)
		}
		a, b, same := below(m.Folder), below(m.Mirror), 0
		for rest, text := range a {
			if b[rest] == text {
				same++
			}
		}
		if same != m.Same || len(a) != m.Pages || len(b) != m.MirrorPages {
			t.Errorf("%s: the truth is %d of %d and %d", line, same, len(a), len(b))
		}
	}
	if len(listed) < 10 || !strings.Contains(listed[0], ".copies.test") || !strings.Contains(said(t, "mirrors", dir),
		"mirror_coverage") {
		t.Errorf("%q: aliases are missing", listed)
	}
	if none := said(t, "mirrors", dir, "--pages", "100000"); !strings.HasPrefix(none, "no two folders") {
		t.Errorf("of 100,000 pages: %s", none)
	}
}
