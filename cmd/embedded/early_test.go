package embedded_test

import (
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"henro/cmd/embedded/crawltest"
	"henro/cmd/fakeweb"
	"henro/master"
)

// Seeds that are given again an hour later are asked for, and have not changed: that tells nothing of pages planned to
// be visited in days, so each keeps its history and its next visit.
func TestSeedsGivenAgainKeepTheirTimetable(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		web, err := fakeweb.New(fakeweb.Options{
			Seed: 5, Hosts: 6, Domains: 6, Pages: 8, PageBytes: 1024, LogEntries: 1 << 12,
			Validators: fakeweb.Validators{ETag: 0.5},
		})
		if err != nil {
			t.Fatal(err)
		}
		defer web.Close()
		dir := t.TempDir()
		crawl := func() {
			crawltest.Run(t, crawltest.Of(t, dir, web, -1, func(o *master.Options) {
				o.Hosts.Continuous, o.For, o.Store.Partitions = true, time.Hour, 2
			}))
		}
		crawl()
		_, before := crawltest.StateIn(t, dir)
		again := time.Now()
		crawl()
		_, after := crawltest.StateIn(t, dir)
		for _, seed := range web.Seeds() {
			if !slices.ContainsFunc(web.Log(), func(e fakeweb.Entry) bool {
				return e.Start.After(again) && e.URL() == seed
			}) {
				t.Errorf("%s was not asked for again", seed)
			}
			was, is := before[seed], after[seed]
			if was.Timing.Interval < float32(day.Seconds()) || was.Timing.Interval > float32(14*day.Seconds()) {
				t.Errorf("%s had an interval of %g s after its first visit", seed, was.Timing.Interval)
			}
			if is.Timing != was.Timing || is.Next.Sub(was.Next).Abs() > time.Second {
				t.Errorf("%s was to be visited after %g s at %v, and is after %g s at %v", seed,
					was.Timing.Interval, was.Next, is.Timing.Interval, is.Next)
			}
		}
	})
}
