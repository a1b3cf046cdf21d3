package embedded_test

import (
	"context"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"henro/actors/robots"
	"henro/cmd/embedded/crawltest"
	"henro/cmd/fakeweb"
	"henro/master"
	"henro/slave"
)

// A continuous crawl asks for a robots.txt that fails with 503 after 5 minutes, then ever more rarely, and for nothing
// else; after 30 days it goes by the last known rules, or by none if there never were any (RFC 9309 2.3.1.4). A restart
// in between changes nothing.
func TestARobotsTxtThatCannotBeHadIsOutlastedAfter30Days(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		// one host has no robots.txt from the start, one loses it, one loses it for ten days, and again after ten more
		const never, lost, back = 0, 1, 2
		begun := time.Now()
		loss := begun.Add(5 * day)
		web, err := fakeweb.New(fakeweb.Options{
			Seed: 41, Hosts: 3, Domains: 3, Pages: 30, PageBytes: 1024,
			Changes: fakeweb.Changes{Share: 1, Fastest: day, Slowest: 3 * day}, LogEntries: 1 << 18,
			Shape: func(h *fakeweb.Host) {
				now := time.Now()
				h.Robots = fakeweb.RobotsFolders
				away := h.Index == lost || now.Before(loss.Add(10*day)) || !now.Before(loss.Add(20*day))
				if h.Index == never || !now.Before(loss) && away {
					h.Robots = fakeweb.RobotsUnavailable
				}
			},
		})
		if err != nil {
			t.Fatal(err)
		}
		defer web.Close()
		dir := t.TempDir()
		for _, until := range []time.Time{begun.Add(12*day + 3*time.Hour), begun.Add(40 * day)} {
			e := crawltest.Of(t, dir, web, -1, patient(0))
			e.Adjust = func(o *slave.Options) { o.AskEvery = time.Minute }
			ctx, cancel := context.WithTimeout(t.Context(), time.Until(until))
			status, err := e.Run(ctx, func(ctx context.Context, _ *master.Node) error { <-ctx.Done(); return nil })
			cancel()
			if err != nil || status.End != master.Stopped {
				t.Fatalf("until %v it ended with %q, %v", until, status.End, err)
			}
		}
		checkFloor(t, web)

		asked, visits := map[int][]time.Time{}, map[int][]fakeweb.Entry{}
		for _, entry := range web.Log() {
			for i := range web.Hosts() {
				switch {
				case web.Host(i).Name != entry.Host:
				case entry.Path == "/robots.txt":
					asked[i] = append(asked[i], entry.Start)
				default:
					visits[i] = append(visits[i], entry)
				}
			}
		}
		checkRetries(t, "never", asked[never], begun)
		for i := range asked[lost] {
			if asked[lost][i].After(loss) {
				checkRetries(t, "lost", asked[lost][i:], asked[lost][i])
				checkOutlasted(t, "lost", visits[lost], asked[lost][i])
				break
			}
		}
		checkOutlasted(t, "never", visits[never], asked[never][0])
		if folders := foldersOf(visits[never]); !folders["private"] {
			t.Error("a host that never had a robots.txt is visited as if it had one")
		}
		if folders := foldersOf(visits[lost]); folders["private"] {
			t.Error("the rules that were known before are forgotten")
		}
		if n := len(between(visits[back], loss.Add(12*day), loss.Add(20*day))); n == 0 {
			t.Error("a host whose robots.txt is back is not visited")
		}
		// rules are used for a day
		first := between(visits[back], loss.Add(day), loss.Add(10*day))
		again := between(visits[back], loss.Add(21*day), loss.Add(35*day))
		if len(first)+len(again) > 0 {
			t.Errorf("%d, then %d pages visited while robots.txt could not be had", len(first), len(again))
		}
	})
}

// checkRetries: the waits are those of robots.Retry, prolonged by a fifth at most, to the end of the crawl.
func checkRetries(t *testing.T, name string, asked []time.Time, first time.Time) {
	t.Helper()
	for i := 1; i < len(asked); i++ { // once it is given up, it is asked for when a page is due
		gap, outage := asked[i].Sub(asked[i-1]), asked[i-1].Sub(first)
		if owed := robots.Retry(outage - time.Minute); gap < owed {
			t.Errorf("%s: asked again after %v, in vain for %v; owed were %v", name, gap, outage, owed)
		}
		if most := robots.Retry(outage)*5/4 + 3*time.Minute; outage < robots.GivenUp && gap > most {
			t.Errorf("%s: asked again after %v, in vain for %v; at most %v", name, gap, outage, most)
		}
	}
	if n := len(asked); n < 75 || n > 130 {
		t.Errorf("%s: robots.txt was asked for %d times", name, n)
	}
}

// checkOutlasted: no page is asked for until robots.txt could not be had for 30 days, then they are within days.
func checkOutlasted(t *testing.T, name string, visits []fakeweb.Entry, failed time.Time) {
	t.Helper()
	if n := len(between(visits, failed, failed.Add(robots.GivenUp-time.Minute))); n > 0 {
		t.Errorf("%s: %d pages asked for while robots.txt could not be had", name, n)
	}
	after := between(visits, failed.Add(robots.GivenUp-time.Minute), failed.Add(robots.GivenUp+4*day))
	if len(after) < 4 {
		t.Errorf("%s: %d pages asked for once 30 days were over", name, len(after))
	}
}

// foldersOf gives the top folders that were asked for.
func foldersOf(visits []fakeweb.Entry) map[string]bool {
	folders := map[string]bool{}
	for _, v := range visits {
		folder, _, _ := strings.Cut(v.Path[1:], "/")
		folders[folder] = true
	}
	return folders
}
