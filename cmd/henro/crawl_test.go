package main

import (
	"context"
	"io"
	"maps"
	"path/filepath"
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"github.com/sirupsen/logrus"

	"henro/actors/actortest"
	"henro/actors/reading"
	"henro/cmd/config"
	"henro/cmd/embedded"
	"henro/cmd/fakeweb"
	"henro/master"
	"henro/store"
)

func quietLog() *logrus.Entry {
	logger := logrus.New()
	logger.SetOutput(io.Discard)
	return logrus.NewEntry(logger)
}

// crawlOf makes an embedded crawl of a fakeweb, in memory and virtual time.
func crawlOf(t *testing.T, dir string, web *fakeweb.Web, depth int, change func(*master.Options)) *embedded.Crawl {
	t.Helper()
	o := master.DefaultOptions()
	o.Dir, o.Depth = dir, depth
	o.Hosts.Admission.Requisites = 0 // a fakeweb knows which pages are reachable
	o.Fetch.UserAgent = config.UserAgent("test@example.org")
	o.Store.NoSync = true
	if change != nil {
		change(&o)
	}
	var seeds []reading.Seed
	for _, raw := range web.Seeds() {
		seed, err := config.ParseSeed(raw, depth)
		if err != nil {
			t.Fatal(err)
		}
		seeds = append(seeds, seed)
	}
	t.Cleanup(actortest.Outlive)
	return &embedded.Crawl{
		Options: o,
		Work:    config.Work{Connections: 64, WARCPrefix: "test", WARCSize: 1 << 30, Dedup: true},
		Seeds:   seeds, Log: quietLog(), Dial: web.DialContext,
	}
}

func runCrawl(t *testing.T, e *embedded.Crawl) master.Status {
	t.Helper()
	status, err := e.Run(t.Context(), func(ctx context.Context, _ *master.Node) error { <-ctx.Done(); return nil })
	if err != nil {
		t.Fatal(err)
	}
	return status
}

// visited reads the URLs with a response out of the state of a crawl that has ended.
func visited(t *testing.T, dir string) map[string]int {
	t.Helper()
	o := store.DefaultOptions()
	o.Partitions, o.ReadOnly = 0, true
	state, err := store.OpenState(filepath.Join(dir, "state"), o)
	if err != nil {
		t.Fatal(err)
	}
	defer state.Close()
	pages := map[string]int{}
	for _, p := range state.Partitions {
		err := p.Pages.Each(func(page store.Page, _ store.Place) error {
			if page.Status != 0 {
				pages[page.URL]++
			}
			return nil
		})
		if err != nil {
			t.Fatal(err)
		}
	}
	return pages
}

// compare says which URLs of the truth are missing, and which are too many.
func compare(t *testing.T, got map[string]int, want []string) {
	t.Helper()
	wanted := map[string]bool{}
	missing, shown := 0, 0
	for _, url := range want {
		wanted[url] = true
		if got[url] == 0 {
			if missing++; missing <= 5 {
				t.Errorf("missing: %s", url)
			}
		}
	}
	for _, url := range slices.Sorted(maps.Keys(got)) {
		if !wanted[url] || got[url] > 1 {
			if shown++; shown <= 5 {
				t.Errorf("%d times, wanted %v: %s", got[url], wanted[url], url)
			}
		}
	}
	if missing > 0 || shown > 0 {
		t.Errorf("%d pages, want %d: %d missing, %d too many", len(got), len(want), missing, shown)
	}
}

// checkPaces looks in the log for the interval of every host: the floor, or what its robots.txt wishes. A crawl that
// crashed before it had stored that wish asks for robots.txt again at the floor.
func checkPaces(t *testing.T, web *fakeweb.Web, floor time.Duration) {
	t.Helper()
	wishes := map[string]time.Duration{}
	for i := range web.Hosts() {
		if h := web.Host(i); h.Robots == fakeweb.RobotsDelayed {
			wishes["http://"+h.Name] = h.CrawlDelay
		}
	}
	log := web.Log()
	slices.SortStableFunc(log, func(a, b fakeweb.Entry) int { return a.Start.Compare(b.Start) })
	last := map[string]fakeweb.Entry{}
	for _, e := range log {
		want := floor
		if e.Path != "/robots.txt" {
			want = max(floor, wishes[e.Origin()])
		}
		if before, ok := last[e.Origin()]; ok && e.Start.Sub(before.Start) < want {
			t.Errorf("%s was asked for %v after %s, the interval is %v", e.URL(), e.Start.Sub(before.Start),
				before.Path, want)
		}
		last[e.Origin()] = e
	}
}

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
				e := crawlOf(t, dir, web, c.depth, nil)
				truth, err := web.Reachable(fakeweb.Crawl{Seeds: web.Seeds(), Depth: c.depth, At: time.Now()})
				if err != nil {
					t.Fatal(err)
				}
				status := runCrawl(t, e)
				if status.End != master.Finished {
					t.Errorf("ended with %q", status.End)
				}
				compare(t, visited(t, dir), slices.Collect(maps.Keys(truth.Fetched)))
				if repeats := fakeweb.Repeats(web.Log()); len(repeats) > 0 {
					t.Errorf("fetched more than once: %v", repeats)
				}
				checkPaces(t, web, e.Options.Hosts.Politeness.Floor)
				if overlaps := fakeweb.Overlaps(web.Log(), 0); len(overlaps) > 0 {
					t.Errorf("asked twice at once: %v", overlaps)
				}
			})
		})
	}
}
