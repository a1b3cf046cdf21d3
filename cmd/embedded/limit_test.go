package embedded_test

import (
	"context"
	"testing"
	"testing/synctest"
	"time"

	"henro/cmd/embedded/crawltest"
	"henro/cmd/fakeweb"
	"henro/master"
)

// A continuous crawl ends at its page limit, visits of known pages counted, and never goes beyond it.
func TestAContinuousCrawlEndsAtItsPageLimit(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		web, err := fakeweb.New(changingWeb())
		if err != nil {
			t.Fatal(err)
		}
		defer web.Close()
		const limit = 120
		e := crawltest.Of(t, t.TempDir(), web, -1, func(o *master.Options) {
			o.Hosts.Continuous, o.MaxPages, o.For = true, limit, 100*day
			o.LeaseFor, o.TickEvery = time.Hour, time.Minute
		})
		e.Adjust = seldomAsked
		status := crawltest.Run(t, e)
		if status.End != master.PageLimit {
			t.Errorf("ended with %q", status.End)
		}
		if visits := status.Totals.Pages + status.Totals.Revisits; visits > limit || status.Totals.Revisits == 0 {
			t.Errorf("%d pages and %d revisits, the limit is %d", status.Totals.Pages, status.Totals.Revisits, limit)
		}
	})
}

// However a run is ended, it ends within two seconds, beside hosts that never answer: requests under way are cut, the
// leases come back, and nothing is said to have failed.
func TestARunEndsSoonBesideHostsThatHang(t *testing.T) {
	const limit = 8 * time.Second
	for name, want := range map[string]master.End{"limit of time": master.TimeLimit, "asked to end": master.Stopped} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				web, err := fakeweb.New(fakeweb.Options{Seed: 4, Hosts: 6, Pages: 40,
					Faults: fakeweb.Faults{Silent: 0.5}})
				if err != nil {
					t.Fatal(err)
				}
				defer web.Close()
				dir, begun := t.TempDir(), time.Now()
				e := crawltest.Of(t, dir, web, -1, func(o *master.Options) {
					if want == master.TimeLimit {
						o.For = limit
					}
				})
				ctx, cancel := context.WithTimeout(t.Context(), limit)
				if want == master.TimeLimit {
					ctx = t.Context()
				}
				defer cancel()
				status, err := e.Run(ctx, func(ctx context.Context, _ *master.Node) error { <-ctx.Done(); return nil })
				if took := time.Since(begun); err != nil || status.End != want || took < limit ||
					took > limit+2*time.Second {
					t.Errorf("ended with %q after %v: %v", status.End, took, err)
				}
				if status.Totals.Pages == 0 || len(status.Totals.Errors) > 0 {
					t.Errorf("%d pages, failed: %v", status.Totals.Pages, status.Totals.Errors)
				}
				state := crawltest.OpenState(t, dir)
				defer state.Close()
				for _, p := range state.Partitions {
					if s, err := p.Stats(); err != nil || s.Leases > 0 {
						t.Errorf("%d leases did not come back, %v", s.Leases, err)
					}
				}
			})
		})
	}
}
