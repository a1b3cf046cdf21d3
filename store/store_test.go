package store_test

import (
	"flag"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"henro/messages/outlink"
	"henro/store"
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
	for i := range uint64(3) {
		storetest.Run(t, suite(t, *seed+i, 60, testOptions()))
	}
}

func TestEveryWriteFailsOnce(t *testing.T) {
	options := testOptions()
	options.NoSync = false
	o := suite(t, *seed, 15, options)
	o.FailWrite = func(p *store.Partition, n int) func() bool { return p.FailWrite(n, storetest.ErrInjected()) }
	storetest.Run(t, o)
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
		found, err := p.Find(wanted)
		want := len(urls)
		if _, ok := wanted["http://a.example/9"]; ok {
			want--
		}
		if err != nil || len(found) != want {
			t.Errorf("of %q %d were found, %v", urls, len(found), err)
		}
	}
}

// A folder can come onto the stop list, off it and onto it again between two commits: the last word counts.
func TestTheLastWordOnAStopCounts(t *testing.T) {
	p, err := store.Open(filepath.Join(t.TempDir(), "p.db"), testOptions())
	if err != nil {
		t.Fatal(err)
	}
	defer p.Close()
	now := time.Now()
	for _, steps := range []string{"+", "-", "-+", "+-", "+-+", "-+-"} {
		batch := store.NewBatch(now)
		for _, step := range steps {
			if step == '+' {
				batch.Stop(store.StopEntry{Prefix: "http://a.example/d/", Reason: "missing", At: now,
					Until: now.Add(time.Hour), Rounds: 2})
			} else {
				batch.Unstop("http://a.example/d/")
			}
		}
		if _, err := p.Commit(batch); err != nil {
			t.Fatal(err)
		}
		entries, err := p.Stops("http://a.example/", 10)
		if err != nil || (len(entries) == 1) != strings.HasSuffix(steps, "+") || len(entries) == 1 &&
			entries[0].Rounds != 2 {
			t.Errorf("after %s: %+v, %v", steps, entries, err)
		}
		if others, err := p.Stops("http://b.example/", 10); err != nil || len(others) > 0 {
			t.Errorf("of another host: %+v, %v", others, err)
		}
	}
}
