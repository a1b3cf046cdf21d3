package embedded_test

import (
	"testing"
	"testing/synctest"
	"time"

	"henro/actors/admission"
	"henro/cmd/embedded/crawltest"
	"henro/cmd/fakeweb"
	"henro/master"
)

// With --near skip-links fewer pages are visited, and each text of the web is still had, whatever crashed meanwhile.
func TestLinksOfCopiesAreNotFollowed(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		web := crawltest.AliasWeb(t, 9)
		skipping := func(o *master.Options) { o.SkipLinks = true }
		dir, status := crawltest.OverCrashes(t, web, skipping, 200*time.Second, 150*time.Second)
		had, pages := map[string]bool{}, crawltest.Visited(t, dir)
		for url := range pages {
			is, err := web.Like(url)
			if err != nil {
				t.Fatal(err)
			}
			had[is.Text] = true
		}
		truth, err := web.Reachable(fakeweb.Crawl{Seeds: web.Seeds(), Scope: fakeweb.AnyHost, Depth: -1,
			At: time.Now()})
		if err != nil {
			t.Fatal(err)
		}
		spared := 0
		for url := range truth.Fetched {
			if _, ok := pages[url]; ok {
				continue
			}
			spared++
			if is, err := web.Like(url); err != nil || is.Text != "" && !had[is.Text] {
				t.Errorf("%s was to be had, and nobody has its text %s: %v", url, is.Text, err)
			}
		}
		t.Logf("%d of %d pages were not visited", spared, len(truth.Fetched))
		if spared < 50 || status.Totals.Skipped[admission.Copy] == 0 {
			t.Errorf("%d pages spared, %d links: no test at all", spared, status.Totals.Skipped[admission.Copy])
		}
	})
}
