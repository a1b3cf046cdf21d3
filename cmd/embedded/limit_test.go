package embedded_test

import (
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
