package store_test

import (
	"crypto/sha256"
	"flag"
	"fmt"
	"path/filepath"
	"slices"
	"testing"
	"time"

	"henro/messages/outlink"
	"henro/store"
	"henro/store/fingerprint"
	"henro/store/storetest"
)

var seed = flag.Uint64("seed", uint64(time.Now().UnixNano()), "seed of the random tests")

func testOptions() store.Options {
	o := store.DefaultOptions()
	o.NoSync, o.MapBytes, o.LockTimeout = true, 64<<20, 50*time.Millisecond
	return o
}

func suite(t *testing.T, seed uint64, steps int, o store.Options) storetest.Options {
	path := filepath.Join(t.TempDir(), "p000.db")
	var last *store.Partition
	t.Cleanup(func() { last.Close() })
	return storetest.Options{
		Seed: seed, Steps: steps,
		Open: func(t testing.TB) *store.Partition {
			p, err := store.Open(path, o)
			if err != nil {
				t.Fatal(err)
			}
			last = p
			return p
		},
		Check: func(t testing.TB) { clean(t, filepath.Dir(path)) },
	}
}

func TestPartitionAgreesWithItsTwin(t *testing.T) {
	drawn := storetest.Drawn{}
	for i := range uint64(3) {
		o := suite(t, *seed+i, 60, testOptions())
		o.Committed = drawn.Note
		storetest.Run(t, o)
	}
	never := []string{"outlink.Outlink.Around", "store.Batch.index", "store.Parcel.Key"} // not for Commit
	if missing := drawn.Missing(); !slices.Equal(missing, never) {
		t.Errorf("no batch had %q, want %q", missing, never)
	}
}

func TestEveryWriteFailsOnce(t *testing.T) {
	options := testOptions()
	options.NoSync = false
	o := suite(t, *seed, 15, options)
	o.FailWrite = func(p *store.Partition, n int) func() bool { return p.FailWrite(n, storetest.ErrInjected()) }
	storetest.Run(t, o)
}

// Another partition writes no parcel for a URL that is held here. So it must be on the disk: a commit whose last sync
// has not come is seen by readers already.
func TestWhatIsHeldIsOnDisk(t *testing.T) {
	o := testOptions()
	o.NoSync = false
	p, err := store.Open(filepath.Join(t.TempDir(), "p.db"), o)
	if err != nil {
		t.Fatal(err)
	}
	defer p.Close()
	candidate := func(url string, left uint8) store.Candidate {
		return store.Candidate{URL: url, Host: "http://a.example", DepthLeft: left}
	}
	admit := store.NewBatch(time.Now())
	admit.Admit(candidate("http://a.example/1", 2))
	asked := []store.Candidate{candidate("http://a.example/1", 3), candidate("http://a.example/1", 2),
		candidate("http://a.example/2", 0)}
	holds := func() string {
		held, err := p.Holds(asked)
		if err != nil {
			t.Fatal(err)
		}
		return fmt.Sprint(held)
	}
	tooEarly := false
	for n := 1; ; n++ {
		heal := p.FailWrite(-n, storetest.ErrInjected())
		_, failed := p.Commit(admit)
		if _, _, known, err := p.Seen.Get("http://a.example/1"); err != nil {
			t.Fatal(err)
		} else if failed != nil && holds() != "[false false false]" {
			t.Errorf("after a commit without sync %d: held %s", n, holds())
		} else {
			tooEarly = tooEarly || failed != nil && known
		}
		if !heal() {
			break
		}
	}
	if !tooEarly {
		t.Error("no reader saw a commit before its last sync: nothing was tested")
	}
	if holds() != "[false true false]" {
		t.Errorf("after the commit: held %s", holds())
	}
}

// Links that did not change are not written again: of a page that is as it was they are most of what there is to write.
func TestLinksThatDidNotChangeAreNotWritten(t *testing.T) {
	p, err := store.Open(filepath.Join(t.TempDir(), "p.db"), testOptions())
	if err != nil {
		t.Fatal(err)
	}
	defer p.Close()
	now := time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)
	visit := func(texts string) (written int64) {
		b := store.NewBatch(now)
		for page := range 100 {
			url := fmt.Sprintf("http://a.example/%d", page)
			v := store.Visited{Page: store.Page{URL: url, Status: 200, LastVisit: now, Next: now.Add(time.Hour)}}
			if found, err := p.Pages.Find(map[string]struct{}{url: {}}); err == nil && len(found) == 1 {
				v.Position = found[0].Position
			}
			for link := range 40 {
				sum := sha256.Sum256([]byte(fmt.Sprint(page, link)))
				v.Links = append(v.Links, outlink.Outlink{URL: fmt.Sprintf("http://b.example/%x", sum), Anchor: texts})
			}
			b.Visit(v)
		}
		before := p.BytesWritten()
		if _, err := p.Commit(b); err != nil {
			t.Fatal(err)
		}
		return p.BytesWritten() - before
	}
	first := visit("text")
	if again := visit("text"); again > first/5 {
		t.Errorf("pages with the links that they had: %d bytes written, %d at first", again, first)
	}
	if changed := visit("other"); changed < first/2 {
		t.Errorf("pages with other links: %d bytes written, %d at first", changed, first)
	}
	links, err := p.Links.Of(store.IDOf("http://a.example"), fingerprint.URL("http://a.example/7"))
	if err != nil || len(links) != 40 || links[0].Anchor != "other" {
		t.Errorf("the links of a page: %d, %v", len(links), err)
	}
}

// What is looked for may all be found before the end of the queue.
func TestFindEndsWhenAllAreFound(t *testing.T) {
	p, err := store.Open(filepath.Join(t.TempDir(), "p.db"), testOptions())
	if err != nil {
		t.Fatal(err)
	}
	defer p.Close()
	at := time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)
	b := store.NewBatch(at)
	for _, url := range []string{"http://a.example/1", "http://a.example/2", "http://a.example/3"} {
		b.Visit(store.Visited{Page: store.Page{URL: url, Status: 200, LastVisit: at, Next: at.Add(time.Hour),
			DepthLeft: outlink.UnlimitedDepth}})
	}
	if _, err := p.Commit(b); err != nil {
		t.Fatal(err)
	}
	for _, urls := range [][]string{{"http://a.example/1"}, {"http://a.example/3", "http://a.example/1"},
		{"http://a.example/2", "http://a.example/9"}} {
		wanted := map[string]struct{}{}
		for _, url := range urls {
			wanted[url] = struct{}{}
		}
		found, err := p.Pages.Find(wanted)
		want := len(urls)
		if _, ok := wanted["http://a.example/9"]; ok {
			want--
		}
		if err != nil || len(found) != want {
			t.Errorf("of %q %d were found, %v", urls, len(found), err)
		}
	}
}
