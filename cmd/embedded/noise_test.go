package embedded_test

import (
	"hash/fnv"
	"testing"
	"testing/synctest"
	"time"

	"henro/master"
	"henro/slave"
)

// noisy are pages of which every change is noise: every other one.
func noisy(url string) bool {
	h := fnv.New32a()
	h.Write([]byte(url))
	return h.Sum32()%2 == 0
}

// listened crawls a host for 60 days, of whose pages half change in noise alone, and counts in the last 40 the visits
// of both halves, and the versions of the other half that were captured.
func listened(t *testing.T, news bool) (noise, visits, captured int) {
	synctest.Test(t, func(t *testing.T) {
		web, begun := months(t, 6*time.Hour, 10*day, func(o *master.Options) {
			o.Fetch.News, o.For = news, 60*day
		}, func(o *slave.Options) {
			o.Noise = func(url string, _ int, _ []byte) bool { return noisy(url) }
		})
		from, at := begun.Add(20*day), map[string][]time.Time{}
		for _, entry := range web.Log() {
			if entry.Start.After(from) {
				at[entry.URL()] = append(at[entry.URL()], entry.Start)
			}
		}
		for url, all := range at {
			changes, err := web.Changes(url, from, begun.Add(60*day))
			switch {
			case err != nil || len(changes) == 0: // robots.txt
				continue
			case noisy(url):
				noise += len(all)
				continue
			}
			visits += len(all)
			for c, i := 0, 0; i < len(all); i++ {
				missed := 0
				for ; c < len(changes) && changes[c].Before(all[i]); c++ {
					missed++
				}
				captured += min(missed, 1)
			}
		}
	})
	return noise, visits, captured
}

// Where noise is left out, pages that have nothing else are visited seldom, and no news is missed for it: go test -run
// TestNoiseIsVisitedSeldom -v ./cmd/embedded
func TestNoiseIsVisitedSeldom(t *testing.T) {
	t.Parallel()
	all, before, found := listened(t, false)
	noise, visits, captured := listened(t, true)
	t.Logf("%d visits of pages of noise and %d of others captured %d versions; where noise is left out %d, %d and %d",
		all, before, found, noise, visits, captured)
	if noise > all/3 || captured < found*9/10 || noise+visits > (all+before)*3/4 {
		t.Errorf("%d visits of pages of noise, %d of all; %d versions of others", noise, noise+visits, captured)
	}
}
