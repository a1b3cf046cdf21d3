package embedded_test

import (
	"maps"
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"henro/cmd/embedded/crawltest"
	"henro/cmd/fakeweb"
	"henro/master"
)

// The whole path, from seeds to WARC and state, against what the web says a correct crawl fetches.
func TestACrawlFetchesExactlyWhatIsReachable(t *testing.T) {
	for _, c := range []struct {
		sentence string
		web      fakeweb.Options
		depth    int
	}{
		{"plain hosts without limit of depth", fakeweb.Options{Seed: 1, Hosts: 5, Domains: 3, Pages: 40,
			CrossShare: 0.2}, -1},
		{"with a limit of depth, whatever the order of arrival",
			fakeweb.Options{Seed: 2, Hosts: 6, Domains: 6, Pages: 60, Degree: 3, CrossShare: 0.3}, 3},
		{"redirects, robots.txt of every kind, errors", fakeweb.Options{
			Seed: 3, Hosts: 8, Domains: 2, Pages: 40, CrossShare: 0.1, RedirectShare: 0.2, Japanese: 0.5,
			Errors: fakeweb.Errors{NotFound: 0.05, Gone: 0.02, Internal: 0.03},
			Robots: fakeweb.Robots{Missing: 0.2, Folders: 0.2, Closed: 0.1, Delayed: 0.3, Redirected: 0.2},
		}, -1},
	} {
		t.Run(c.sentence, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				web, err := fakeweb.New(c.web)
				if err != nil {
					t.Fatal(err)
				}
				defer web.Close()
				dir := t.TempDir()
				e := crawltest.Of(t, dir, web, c.depth, nil)
				truth, err := web.Reachable(fakeweb.Crawl{Seeds: web.Seeds(), Depth: c.depth, At: time.Now()})
				if err != nil {
					t.Fatal(err)
				}
				status := crawltest.Run(t, e)
				if status.End != master.Finished {
					t.Errorf("ended with %q", status.End)
				}
				crawltest.Compare(t, crawltest.Visited(t, dir), slices.Collect(maps.Keys(truth.Fetched)))
				if repeats := fakeweb.Repeats(web.Log()); len(repeats) > 0 {
					t.Errorf("fetched more than once: %v", repeats)
				}
				crawltest.CheckPaces(t, web, e.Options.Hosts.Politeness.Floor)
				if overlaps := fakeweb.Overlaps(web.Log(), 0); len(overlaps) > 0 {
					t.Errorf("asked twice at once: %v", overlaps)
				}
			})
		})
	}
}
