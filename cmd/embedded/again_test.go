package embedded_test

import (
	"context"
	"errors"
	"maps"
	"net"
	"os"
	"path/filepath"
	"syscall"
	"testing"
	"testing/synctest"
	"time"

	"henro/cmd/embedded/crawltest"
	"henro/cmd/fakeweb"
	"henro/master"
	"henro/store/archive/warc"
)

// Rounds: each visits every known page once, also when it is interrupted, asks whether it has changed, and its figures
// are what the web has become meanwhile. With a schedule, they follow each other.
func TestARoundVisitsAllThatIsKnownOnce(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w, err := fakeweb.New(fakeweb.Options{Seed: 5, Hosts: 3, Domains: 3, Pages: 12, CrossShare: 0.2,
			Changes:    fakeweb.Changes{Share: 0.5, Fastest: 2 * time.Hour, Slowest: 12 * time.Hour},
			Validators: fakeweb.Validators{ETag: 1}, LogEntries: 1 << 16})
		if err != nil {
			t.Fatal(err)
		}
		defer w.Close()
		dir := t.TempDir()
		run := func(every, end time.Duration) master.Status {
			e := crawltest.Of(t, dir, w, -1, func(o *master.Options) {
				o.Hosts.Again, o.RoundEvery = true, every
			})
			ctx, cancel := context.WithCancel(t.Context())
			defer cancel()
			status, err := e.Run(ctx, func(inner context.Context, _ *master.Node) error {
				if end > 0 {
					time.Sleep(end)
					cancel()
				}
				<-inner.Done()
				return nil
			})
			if err != nil {
				t.Fatal(err)
			}
			return status
		}
		requests := func(since time.Time) (all map[string]int, unchanged int) {
			all = map[string]int{}
			for _, entry := range w.Log() {
				if entry.Start.Before(since) || entry.Path == "/robots.txt" {
					continue
				}
				if all[entry.URL()]++; entry.Status == 304 {
					unchanged++
				}
			}
			return all, unchanged
		}
		once := func(want map[string]int, since time.Time, times int) {
			t.Helper()
			got, _ := requests(since)
			for url := range maps.Keys(want) {
				if got[url] != times {
					t.Errorf("%s was asked for %d times, want %d", url, got[url], times)
				}
			}
			if len(got) != len(want) {
				t.Errorf("%d URLs were asked for, want %d", len(got), len(want))
			}
		}
		first := run(0, 0)
		known, _ := requests(time.Time{})
		once(known, time.Time{}, 1)
		if r := first.Round; first.End != master.Finished || r == nil || r.Number != 1 || r.New != uint64(len(known)) ||
			r.Changed+r.Unchanged+r.Gone != 0 {
			t.Fatalf("the first round of %d pages: %s, %+v", len(known), first.End, r)
		}

		time.Sleep(6 * time.Hour)
		begun := time.Now()
		second := run(0, 0)
		once(known, begun, 1)
		_, unchanged := requests(begun)
		if r := second.Round; r.Number != 2 || r.New != 0 || r.Gone != 0 || r.Unchanged < uint64(unchanged) ||
			r.Changed == 0 || unchanged == 0 || r.Changed+r.Unchanged != uint64(len(known)) {
			t.Errorf("the second round with %d answers of 304: %+v", unchanged, r)
		}
		if all := recordsOf(t, filepath.Join(dir, "warc")); all[warc.Revisit] < unchanged ||
			all[warc.Request] != all[warc.Response]+all[warc.Revisit] {
			t.Errorf("after %d answers of 304 the archive has %v: every exchange has its request", unchanged, all)
		}

		begun = time.Now() // two minutes after the last round: an interrupted one goes on
		if r := run(0, 20*time.Second).Round; !r.Ended.IsZero() || r.Number != 3 {
			t.Errorf("a round that was interrupted: %+v", r)
		}
		if got, _ := requests(begun); len(got) == 0 || len(got) >= len(known) {
			t.Fatalf("%d of %d pages were asked for until the interruption", len(got), len(known))
		}
		if r := run(0, 0).Round; r.Number != 3 || r.Ended.IsZero() || r.Changed+r.Unchanged != uint64(len(known)) {
			t.Errorf("a round that went on: %+v", r)
		}
		once(known, begun, 1)

		begun = time.Now().Truncate(time.Second)
		if r := run(time.Hour, 150*time.Minute).Round; r.Number != 6 || r.Ended.IsZero() ||
			r.Begun.Sub(begun) < 2*time.Hour || r.Begun.Sub(begun) > 2*time.Hour+time.Minute {
			t.Errorf("three rounds an hour apart from %v: %+v", begun, r)
		}
		once(known, begun, 3)
		rounds, err := master.ReadRounds(dir)
		if err != nil || len(rounds) != 6 {
			t.Errorf("%d rounds are written down, %v", len(rounds), err)
		}
	})
}

// recordsOf counts the records of the finished files of an archive.
func recordsOf(t *testing.T, dir string) map[warc.Type]int {
	t.Helper()
	paths, err := warc.Files(dir)
	if err != nil {
		t.Fatal(err)
	}
	all := map[warc.Type]int{}
	for _, path := range paths {
		f, err := os.Open(path)
		if err != nil {
			t.Fatal(err)
		}
		_, err = warc.Walk(f, func(e *warc.Entry) error {
			all[e.Type()]++
			return nil
		})
		if err := errors.Join(err, f.Close()); err != nil {
			t.Fatal(err)
		}
	}
	return all
}

// A round counts from the start of the crawl, also if its pages are stored before the Master knows what was there.
func TestTheFirstRoundOfAShortCrawlCountsItsPages(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w, err := fakeweb.New(fakeweb.Options{Seed: 5, Pages: 2, LogEntries: 64})
		if err != nil {
			t.Fatal(err)
		}
		defer w.Close()
		e := crawltest.Of(t, t.TempDir(), w, -1, func(o *master.Options) {
			o.Hosts.Again, o.TickEvery = true,
				time.Minute
		})
		status := crawltest.Run(t, e)
		if r := status.Round; r == nil || r.New != 2 || r.Changed+r.Unchanged+r.Gone != 0 {
			t.Errorf("a round of 2 pages: %+v", r)
		}
		if entries := w.Log(); len(entries) != 3 { // with robots.txt
			t.Errorf("%d requests", len(entries))
		}
	})
}

// A page that a round has again is no longer counted as given up.
func TestARoundHasPagesAgainThatWereGivenUp(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w, err := fakeweb.New(fakeweb.Options{Seed: 5, Hosts: 2, Domains: 2, Pages: 4, CrossShare: 0.5,
			LogEntries: 1 << 10})
		if err != nil {
			t.Fatal(err)
		}
		defer w.Close()
		dir, away := t.TempDir(), w.Host(1).Name
		givenUp := func(refuses bool) (pages uint64, had int) {
			time.Sleep(2 * day)
			e := crawltest.Of(t, dir, w, -1, func(o *master.Options) { o.Hosts.Again = true })
			e.Dial = func(ctx context.Context, network, address string) (net.Conn, error) {
				if host, _, _ := net.SplitHostPort(address); refuses && host == away {
					return nil, &net.OpError{Op: "dial", Net: network, Err: syscall.ECONNREFUSED}
				}
				return w.DialContext(ctx, network, address)
			}
			if status := crawltest.Run(t, e); status.End != master.Finished {
				t.Fatalf("ended with %q", status.End)
			}
			hosts, found := crawltest.StateIn(t, dir)
			for _, page := range found {
				if page.Status == 200 {
					had++
				}
			}
			return hosts["http://"+away].GivenUp, had
		}
		if pages, had := givenUp(true); pages == 0 || had == 0 {
			t.Fatalf("%d pages of a host that refuses were given up, %d pages were had", pages, had)
		}
		if pages, _ := givenUp(true); pages == 0 {
			t.Error("the host still refuses, and none of its pages is given up")
		}
		if pages, had := givenUp(false); pages != 0 || had != 8 {
			t.Errorf("the host is there again: %d pages are given up, %d of 8 were had", pages, had)
		}
	})
}
