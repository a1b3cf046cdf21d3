package embedded_test

import (
	"maps"
	"path/filepath"
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"henro/cmd/embedded/crawltest"
	"henro/cmd/fakeweb"
	"henro/store/archive/folder"
)

// What a process that died had archived is not asked for again, whether its master had stored it or not, and comes into
// the state as if it had been asked for: links, digests, rules and all.
func TestWhatIsArchivedIsNotAskedForAgain(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		web, err := fakeweb.New(fakeweb.Options{Seed: 3, Hosts: 30, Domains: 15, Pages: 30, CrossShare: 0.2, Degree: 6,
			PageBytes: 8 << 10, TemplateBytes: 4 << 10, RedirectShare: 0.1, Errors: fakeweb.Errors{NotFound: 0.05}})
		if err != nil {
			t.Fatal(err)
		}
		defer web.Close()
		truth, err := web.Reachable(fakeweb.Crawl{Seeds: web.Seeds(), Depth: -1, At: time.Now()})
		if err != nil {
			t.Fatal(err)
		}
		dir, unstored := t.TempDir(), 0
		archived := map[string]time.Time{} // until when, by URL
		for range 4 {
			image, wait := crawltest.Crash(t, dir, web, -1, 31*time.Second+300*time.Millisecond, nil)
			defer wait()
			dir = t.TempDir()
			crawltest.CopyTree(t, image, dir)
			if _, err := folder.Recover(filepath.Join(image, "warc")); err != nil {
				t.Fatal(err)
			}
			stored := crawltest.Visited(t, image)
			for url := range crawltest.Captured(t, image) {
				if _, known := archived[url]; !known {
					archived[url] = time.Now()
				}
				if _, known := stored[url]; !known {
					unstored++
				}
			}
		}
		crawltest.Run(t, crawltest.Of(t, dir, web, -1, nil))
		crawltest.Compare(t, crawltest.Visited(t, dir), slices.Collect(maps.Keys(truth.Fetched)))
		crawltest.CheckPaces(t, web, 5*time.Second)
		crawltest.CheckSound(t, dir)
		crawltest.CheckRevisitsIn(t, filepath.Join(dir, "warc"))
		for _, e := range web.Log() {
			if at, known := archived[e.URL()]; known && e.Start.After(at) {
				t.Errorf("%s is asked for at %v although it was archived by %v", e.URL(), e.Start, at)
			}
		}
		t.Logf("%d captures were not stored, of %d", unstored, len(archived))
		if unstored < 20 {
			t.Errorf("only %d captures were not stored", unstored)
		}
	})
}
