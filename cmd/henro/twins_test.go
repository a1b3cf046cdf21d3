package main

import (
	"io"
	"testing"
	"testing/synctest"
	"time"

	"henro/slave/fakeweb"
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
		dir := t.TempDir()
		for _, after := range []time.Duration{20 * time.Second, 70 * time.Second} {
			image, wait := crash(t, dir, web, -1, after, nil)
			defer wait()
			dir = image
		}
		runCrawl(t, crawlOf(t, dir, web, -1, nil))
		if err := check(io.Discard, newBar(io.Discard), dir); err != nil {
			t.Error(err)
		}

		visited, firsts := 0, map[string]string{} // by text
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
		if visited < 300 || len(firsts) > visited/2 {
			t.Errorf("%d pages with %d texts: no test at all", visited, len(firsts))
		}
	})
}
