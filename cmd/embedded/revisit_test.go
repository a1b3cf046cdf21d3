package embedded_test

import (
	"context"
	"path/filepath"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"henro/actors/reading"
	"henro/cmd/embedded/crawltest"
	"henro/cmd/fakeweb"
	"henro/master"
	"henro/store"
)

// A person's word on when pages are visited holds at once, over a restart, and until it is taken back; given to a crawl
// that rests it holds from the next start.
func TestVisitsAreMovedByHand(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w, err := fakeweb.New(fakeweb.Options{Seed: 8, Hosts: 1, Domains: 1, Pages: 20, LogEntries: 1 << 16})
		if err != nil {
			t.Fatal(err)
		}
		defer w.Close()
		dir := t.TempDir()
		host := "http://" + w.Host(0).Name
		often, soon, left := host+"/", "", ""
		run := func(steer func(*master.Node)) {
			e := crawltest.Of(t, dir, w, -1, func(o *master.Options) {
				o.Hosts.Continuous, o.TickEvery = true, 5*time.Second
			})
			ctx, cancel := context.WithCancel(t.Context())
			defer cancel()
			if _, err := e.Run(ctx, func(inner context.Context, node *master.Node) error {
				steer(node)
				cancel()
				<-inner.Done()
				return nil
			}); err != nil {
				t.Fatal(err)
			}
		}
		order := func(node *master.Node, posted master.RevisitPosted, moved int) {
			t.Helper()
			if answer, err := node.Revisit(t.Context(), &posted); err != nil || answer.Moved != moved {
				t.Fatalf("%+v: %+v, %v", posted, answer, err)
			}
		}
		visits := func(url string, since time.Time) (at []time.Time) {
			for _, entry := range w.Log() {
				if entry.URL() == url && entry.Start.After(since) {
					at = append(at, entry.Start)
				}
			}
			return at
		}
		every := func(url string, since time.Time, want time.Duration, least int) {
			t.Helper()
			at := visits(url, since)
			for i := 1; i < len(at); i++ {
				if gap := at[i].Sub(at[i-1]); gap < want || gap > want+time.Minute {
					t.Errorf("%s was visited %v after the visit before, want %v", url, gap, want)
				}
			}
			if len(at) < least {
				t.Errorf("%s was visited %d times, want %d", url, len(at), least)
			}
		}
		run(func(node *master.Node) {
			time.Sleep(10 * time.Minute) // all 20 pages, 5 s apart
			_, pages := crawltest.StateOf(t, node.Reading().State)
			for url := range pages {
				switch {
				case url == often:
				case soon == "":
					soon = url
				default:
					left = url
				}
			}
			if len(pages) != 20 {
				t.Fatalf("%d pages", len(pages))
			}
			begun := time.Now()
			order(node, master.RevisitPosted{Pages: often, Every: 20 * time.Minute}, 1)
			order(node, master.RevisitPosted{Pages: soon, Now: true}, 1)
			time.Sleep(30 * time.Second)
			if n := len(visits(soon, begun)); n != 1 {
				t.Errorf("a page that was asked for now was visited %d times within half a minute", n)
			}
			time.Sleep(2 * time.Hour)
			every(often, begun, 20*time.Minute, 6)
			if n := len(visits(left, begun)); n != 0 {
				t.Errorf("a page of which nothing was said was visited %d times", n)
			}
		})
		begun := time.Now()
		run(func(*master.Node) { time.Sleep(130 * time.Minute) })
		every(often, begun.Add(time.Minute), 20*time.Minute, 5)

		// At rest.
		o := store.DefaultOptions()
		o.Partitions, o.NoSync = 0, true
		state, err := store.OpenState(filepath.Join(dir, "state"), o)
		if err != nil {
			t.Fatal(err)
		}
		crawl, err := reading.AtRest(state, dir)
		if err != nil {
			t.Fatal(err)
		}
		for pages, posted := range map[string]master.RevisitPosted{
			"1": {Pages: soon, Every: 40 * time.Minute}, "2": {Pages: often, Auto: true},
		} {
			if answer, err := master.RevisitAtRest(crawl, &posted, time.Now()); err != nil || answer.Moved != 1 {
				t.Fatalf("order %s: %+v, %v", pages, answer, err)
			}
		}
		report, err := crawl.Report(t.Context(), time.Now())
		if err != nil || len(report.Rules) != 1 || string(report.Rules[0].Pages) != soon {
			t.Errorf("the report has the rules %v, %v", report.Rules, err)
		}
		if err := state.Close(); err != nil {
			t.Fatal(err)
		}
		begun = time.Now()
		run(func(node *master.Node) {
			time.Sleep(130 * time.Minute)
			found, err := node.Reading().Record(soon)
			if err != nil {
				t.Fatal(err)
			}
			said := false
			for _, sentence := range found.Says {
				said = said || strings.Contains(sentence.String(), "Its visits were set by hand: one every 40m")
			}
			if !said {
				t.Errorf("it is not said that they were set by hand: %v", found.Says)
			}
		})
		every(soon, begun.Add(time.Minute), 40*time.Minute, 3)
		if n := len(visits(often, begun.Add(time.Minute))); n > 0 {
			t.Errorf("a page that is left to its timetable again was visited %d times in two hours", n)
		}
	})
}
