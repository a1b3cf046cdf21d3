package embedded_test

import (
	"context"
	"flag"
	"maps"
	"math/rand/v2"
	"path/filepath"
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"henro/cmd/embedded/crawltest"
	"henro/cmd/fakeweb"
	"henro/master"
)

var crashSeed = flag.Uint64("seed", 0, "of the moments at which crawls crash; 0 for the fixed ones")

// Invariants 1 to 4 across crashes: what a crawl leaves at any moment is enough to go on from, to the same pages,
// without haste.
func TestACrawlThatCrashesGoesOnToTheSamePages(t *testing.T) {
	seeds := []uint64{1, 2, 3, 4, 5, 6}
	if *crashSeed != 0 {
		seeds = []uint64{*crashSeed}
	}
	for _, seed := range seeds {
		synctest.Test(t, func(t *testing.T) {
			rnd := rand.New(rand.NewPCG(seed, seed))
			depth := []int{-1, 3}[rnd.IntN(2)]
			web, err := fakeweb.New(fakeweb.Options{
				Seed: seed, Hosts: 6, Domains: 3, Pages: 40, CrossShare: 0.2, RedirectShare: 0.1, Degree: 6,
				Errors: fakeweb.Errors{NotFound: 0.05, Internal: 0.03},
				Robots: fakeweb.Robots{Missing: 0.2, Folders: 0.2, Delayed: 0.1, Redirected: 0.1},
			})
			if err != nil {
				t.Fatal(err)
			}
			defer web.Close()
			truth, err := web.Reachable(fakeweb.Crawl{Seeds: web.Seeds(), Depth: depth, At: time.Now()})
			if err != nil {
				t.Fatal(err)
			}
			dir := t.TempDir()
			for range 1 + rnd.IntN(3) {
				after := time.Duration(rnd.Int64N(int64(100 * time.Second)))
				if rnd.IntN(3) == 0 {
					after /= 100
				}
				image, wait := crawltest.Crash(t, dir, web, depth, after, nil)
				defer wait()
				dir = image
			}
			status := crawltest.Run(t, crawltest.Of(t, dir, web, depth, nil))
			if status.End != master.Finished {
				t.Errorf("ended with %q", status.End)
			}
			pages := crawltest.Visited(t, dir)
			crawltest.Compare(t, pages, slices.Collect(maps.Keys(truth.Fetched)))
			crawltest.CheckPaces(t, web, 5*time.Second)
			if overlaps := fakeweb.Overlaps(web.Log(), 0); len(overlaps) > 0 {
				t.Errorf("asked twice at once: %v", overlaps)
			}
			crawltest.CheckSound(t, dir)
			archive := crawltest.Captured(t, dir)
			for url := range pages {
				if !archive[url] {
					t.Errorf("%s is in the state and in no WARC file", url)
				}
			}
			t.Logf("%d revisit records", crawltest.CheckRevisitsIn(t, filepath.Join(dir, "warc")))
			if t.Failed() {
				t.Logf("seed %d", seed)
			}
		})
	}
}

// A crawl that was stopped and goes on without its seeds has their scope: "the same --dir resumes".
func TestACrawlResumedWithoutItsSeedsKeepsTheirScope(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		web, err := fakeweb.New(fakeweb.Options{Seed: 5, Hosts: 4, Domains: 2, Pages: 30, CrossShare: 0.2})
		if err != nil {
			t.Fatal(err)
		}
		defer web.Close()
		dir := t.TempDir()
		early, cancel := context.WithCancel(t.Context())
		cancel() // when the seeds are planted, and nothing was visited
		for i, ctx := range []context.Context{early, t.Context()} {
			e := crawltest.Of(t, dir, web, -1, nil)
			if i > 0 {
				e.Seeds = nil
			}
			_, err := e.Run(ctx, func(ctx context.Context, _ *master.Node) error { <-ctx.Done(); return nil })
			if err != nil {
				t.Fatal(err)
			}
		}
		truth, err := web.Reachable(fakeweb.Crawl{Seeds: web.Seeds(), Depth: -1, At: time.Now()})
		if err != nil {
			t.Fatal(err)
		}
		crawltest.Compare(t, crawltest.Visited(t, dir), slices.Sorted(maps.Keys(truth.Fetched)))
	})
}
