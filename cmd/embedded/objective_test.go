package embedded_test

import (
	"testing"
	"testing/synctest"
	"time"

	"henro/actors/revisit"
	"henro/cmd/embedded/crawltest"
	"henro/cmd/fakeweb"
	"henro/master"
	"henro/slave"
)

// kept is what a crawl's visits of pages achieved.
type kept struct {
	requests, captured, versions int
	fresh, age, span             float64 // page-seconds: current, of age (seconds × seconds), all
}

// months crawls a host of 20 pages that change from every fastest to every slowest, continuously, in long steps.
// Options and those of its slave may be added to.
func months(t *testing.T, fastest, slowest time.Duration, options func(*master.Options),
	ofSlave func(*slave.Options)) (web *fakeweb.Web, begun time.Time) {
	web, err := fakeweb.New(fakeweb.Options{Seed: 2, Hosts: 1, Domains: 1, Pages: 20, PageBytes: 1024,
		Changes:    fakeweb.Changes{Share: 1, Fastest: fastest, Slowest: slowest},
		Validators: fakeweb.Validators{ETag: 1}, LogEntries: 1 << 18})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { web.Close() })
	begun = time.Now()
	e := crawltest.Of(t, t.TempDir(), web, -1, func(o *master.Options) {
		o.Hosts.Continuous, o.LeaseFor, o.TickEvery = true, 2*time.Hour, 15*time.Minute
		options(o)
	})
	e.Adjust = func(o *slave.Options) {
		o.AskEvery = 15 * time.Minute
		ofSlave(o)
	}
	crawltest.Run(t, e)
	return web, begun
}

// timed crawls a host whose pages change every 2 hours to every 40 days for 90 days and judges the last 30:
// freshness and age need some 60 until their visits are as many as those of versions.
func timed(t *testing.T, objective revisit.Objective) (k kept) {
	synctest.Test(t, func(t *testing.T) {
		web, begun := months(t, 2*time.Hour, 40*day, func(o *master.Options) {
			o.Hosts.Revisit.Objective, o.For = objective, 90*day
		}, func(*slave.Options) {})
		visits := map[string][]time.Time{}
		for _, entry := range web.Log() {
			visits[entry.URL()] = append(visits[entry.URL()], entry.Start)
		}
		from, to := begun.Add(60*day), begun.Add(90*day)
		for url, at := range visits {
			changes, err := web.Changes(url, begun, to)
			if err != nil || len(changes) == 0 {
				continue // robots.txt
			}
			var stale time.Time // since when the latest capture is not current
			c, last := 0, from
			for _, visit := range append(at, to) {
				missed := 0
				for ; c < len(changes) && changes[c].Before(visit); c++ {
					if missed++; stale.IsZero() {
						stale = changes[c]
					}
				}
				if visit.After(from) {
					k.span += visit.Sub(last).Seconds()
					k.fresh += visit.Sub(last).Seconds()
					if !stale.IsZero() {
						a, b := max(0, last.Sub(stale)).Seconds(), visit.Sub(stale).Seconds()
						k.fresh -= b - a
						k.age += (b*b - a*a) / 2
					}
					k.versions += missed
					if last = visit; visit != to {
						k.requests++
						k.captured += min(missed, 1)
					}
				}
				stale = time.Time{}
			}
		}
	})
	return k
}

// A crawl shares the visits of a host out for what it is told to: more versions, more pages that are as they are now,
// or less age: go test -run TestACrawlServesItsObjective -v ./cmd/embedded
func TestACrawlServesItsObjective(t *testing.T) {
	t.Parallel()
	var all [3]kept
	for i := range all {
		k := timed(t, revisit.Objective(i))
		t.Logf("%s: %d visits, %d of %d versions captured, %.1f %% fresh, mean age %v", revisit.Objective(i),
			k.requests, k.captured, k.versions, 100*k.fresh/k.span, time.Duration(k.age/k.span*1e9).Round(time.Minute))
		all[i] = k
	}
	versions, fresh, age := all[0], all[1], all[2]
	if fresh.captured >= versions.captured || age.captured >= versions.captured {
		t.Errorf("%d versions captured, %d and %d when aimed elsewhere", versions.captured, fresh.captured,
			age.captured)
	}
	if fresh.fresh/fresh.span < versions.fresh/versions.span+0.1 {
		t.Error("no fresher when aimed at it")
	}
	if age.age/age.span > versions.age/versions.span/4 {
		t.Error("no younger when aimed at it")
	}
	for _, k := range []kept{fresh, age} { // estimates settle on other moments, so visits are not quite as many
		if float64(k.requests) > 1.25*float64(versions.requests) {
			t.Errorf("%d visits, %d for versions", k.requests, versions.requests)
		}
	}
}
