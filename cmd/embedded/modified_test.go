package embedded_test

import (
	"context"
	"math"
	"testing"
	"testing/synctest"
	"time"

	"henro/actors/politeness"
	"henro/cmd/embedded/crawltest"
	"henro/cmd/fakeweb"
	"henro/master"
	"henro/slave"
)

// estimates crawls a web whose hosts send Last-Modified or no validator at all, and returns the root mean square of
// ln(estimate/truth) of the mean times between changes, with the requests made.
func estimates(t *testing.T, seed uint64, modified float64, length time.Duration) (rms float64, requests int) {
	synctest.Test(t, func(t *testing.T) {
		web, err := fakeweb.New(fakeweb.Options{
			Seed: seed, Hosts: 3, Domains: 3, Pages: 60, PageBytes: 4096,
			Changes:    fakeweb.Changes{Share: 1, Fastest: 4 * day, Slowest: 30 * day},
			Validators: fakeweb.Validators{LastModified: modified},
			LogEntries: 1 << 18,
		})
		if err != nil {
			t.Fatal(err)
		}
		defer web.Close()
		dir := t.TempDir()
		e := crawltest.Of(t, dir, web, -1, func(o *master.Options) {
			o.Hosts.Continuous, o.Hosts.Revisit.Aim, o.For, o.Store.Partitions = true, 1.4, length, 2
			o.LeaseFor, o.TickEvery = 2*time.Hour, 30*time.Minute
		})
		e.Adjust = func(o *slave.Options) { o.AskEvery = 30 * time.Minute }
		begun := time.Now()
		status, err := e.Run(t.Context(), func(ctx context.Context,
			_ *master.Node) error {
			<-ctx.Done()
			return nil
		})
		if err != nil || status.End != master.TimeLimit {
			t.Fatalf("ended with %q, %v", status.End, err)
		}
		hosts, pages := crawltest.StateIn(t, dir)
		for name, host := range hosts {
			var state politeness.State
			if err := state.UnmarshalBinary(host.Politeness); err != nil {
				t.Fatal(err)
			}
			if said := state.Timetable.Modified().Judged() > 0; said != (modified > 0) {
				t.Errorf("%s: Last-Modified was judged %.0f times", name, state.Timetable.Modified().Judged())
			}
		}
		judged := 0
		for url, page := range pages {
			if page.Timing.Total == 0 {
				continue
			}
			const long = 400 * 30 * day // the truth: 400 changes of the slowest page
			n, err := web.ChangeCount(url, begun, begun.Add(long))
			if err != nil {
				t.Fatal(err)
			}
			if n == 0 {
				continue // a document
			}
			off := math.Log(float64(page.Timing.Mean) / (long.Seconds() / float64(n)))
			rms += off * off
			judged++
		}
		if judged < 150 {
			t.Fatalf("%d pages have an estimate", judged)
		}
		rms, requests = math.Sqrt(rms/float64(judged)), len(web.Log())
	})
	return rms, requests
}

// In a crawl that goes on, hosts that tell the truth about when their pages changed have these known better at the same
// Aim (with some more requests, since fewer intervals are too long): go test -run TestLastModifiedSharpensIntervals -v
// ./cmd/embedded
func TestLastModifiedSharpensIntervals(t *testing.T) {
	t.Parallel()
	var without, with float64
	for seed := range uint64(2) {
		a, n := estimates(t, 31+seed, 0, 90*day)
		b, m := estimates(t, 31+seed, 1, 90*day)
		t.Logf("error of ln I %.3f with %d requests, with Last-Modified %.3f with %d", a, n, b, m)
		without, with = without+a*a, with+b*b
	}
	if with >= without {
		t.Errorf("an error of ln I of %.3f, with Last-Modified %.3f", math.Sqrt(without/2), math.Sqrt(with/2))
	}
}
