package embedded_test

import (
	"context"
	"testing"
	"testing/synctest"
	"time"

	"henro/cmd/embedded/crawltest"
	"henro/cmd/fakeweb"
	"henro/master"
	"henro/master/frontier"
)

func withFrontier(p frontier.Policy, b, h int) func(*master.Options) {
	return func(o *master.Options) { o.Frontier.Policy, o.Frontier.SlotsB, o.Frontier.SlotsH = p, b, h }
}

// checkPace demands that the interval of every host was kept, and no host asked twice at once.
func checkPace(t *testing.T, w *fakeweb.Web) {
	t.Helper()
	if pace, ok := fakeweb.Shortest(w.Log()); ok && pace.Shortest < 5*time.Second {
		t.Errorf("%s was asked again after %v", pace.Origin, pace.Shortest)
	}
	if overlaps := fakeweb.Overlaps(w.Log(), 0); len(overlaps) > 0 {
		t.Errorf("asked twice at once: %v", overlaps)
	}
	if repeats := fakeweb.Repeats(w.Log()); len(repeats) > 0 {
		t.Errorf("fetched more than once: %v", repeats)
	}
}

func TestAFrontierWithRoomForAllFetchesExactlyWhatIsReachable(t *testing.T) {
	webs := []fakeweb.Options{
		{Seed: 21, Hosts: 6, Domains: 6, Pages: 40, Degree: 3, CrossShare: 0.3},
		{
			Seed: 22, Hosts: 8, Domains: 2, Pages: 25, CrossShare: 0.1, RedirectShare: 0.2,
			Errors: fakeweb.Errors{NotFound: 0.05, Internal: 0.03},
			Robots: fakeweb.Robots{Missing: 0.2, Folders: 0.2, Closed: 0.1, Delayed: 0.1, Redirected: 0.2},
		},
	}
	for _, policy := range []frontier.Policy{frontier.PolicyRanked} {
		t.Run(string(policy), func(t *testing.T) {
			for i, web := range webs {
				synctest.Test(t, func(t *testing.T) {
					depth := []int{4, -1}[i]
					w, dir, status := crawltest.Bubble(t, web, depth, withFrontier(policy, 512, 64), nil)
					if status.End != master.Finished || status.Totals.Dropped != 0 || status.Frontier.Waiting != 0 {
						t.Errorf("ended with %q, %d dropped, %+v", status.End, status.Totals.Dropped, status.Frontier)
					}
					crawltest.Compare(t, crawltest.Visited(t, dir), crawltest.Reachable(t, w, depth))
					checkPace(t, w)
				})
			}
		})
	}
}

func TestABoundedFrontierDropsAndTakesBack(t *testing.T) {
	for _, policy := range []frontier.Policy{frontier.PolicyRanked} {
		t.Run(string(policy), func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				const b, h = 8, 10
				most, seeds := uint64(0), 0
				w, dir, status := crawltest.Bubble(t, fakeweb.Options{Seed: 23, Hosts: 10, Domains: 10, Pages: 60,
					Degree:     8,
					CrossShare: 0.3}, -1,
					withFrontier(policy, b, h), func(ctx context.Context, node *master.Node, w *fakeweb.Web) {
						seeds = len(w.Seeds())
						for ctx.Err() == nil {
							s, err := master.Ask[*master.Status](ctx, node, &master.StatusAsked{})
							if err != nil {
								return
							}
							most = max(most, s.Waiting)
							time.Sleep(300 * time.Millisecond)
						}
					})
				truth, got := crawltest.Reachable(t, w, -1), crawltest.Visited(t, dir)
				t.Logf("B = %d, H = %d: %d of %d pages, %d dropped, %d came back, at most %d waited in the store, %+v",
					b, h, len(got), len(truth),
					status.Totals.Dropped, status.Totals.Returned, most, *status.Frontier)
				if status.End != master.Finished || status.Waiting != 0 {
					t.Errorf("ended with %q, %d waiting", status.End, status.Waiting)
				}
				if bound := b * h / 2; int(most) > bound+seeds || status.Frontier.Peak > bound+seeds ||
					status.Frontier.Bound != bound {
					t.Errorf("%d waited in the store, %+v: want at most B·H/2 = %d and %d seeds", most, status.Frontier,
						bound, seeds)
				}
				if status.Totals.Dropped == 0 || status.Totals.Returned == 0 {
					t.Errorf("%d dropped, %d came back", status.Totals.Dropped, status.Totals.Returned)
				}
				if len(got) < len(truth)/4 || len(got) > len(truth) {
					t.Errorf("%d of %d pages", len(got), len(truth))
				}
				// Known is what was visited: whatever was dropped and did not come back is unseen.
				if status.Known != uint64(len(got)) {
					t.Errorf("%d URLs are known, %d were visited", status.Known, len(got))
				}
				checkPace(t, w)
			})
		})
	}
}

func TestAFrontierIsRebuiltFromTheStore(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w, err := fakeweb.New(fakeweb.Options{Seed: 24, Hosts: 6, Domains: 3, Pages: 40, Degree: 6, CrossShare: 0.3})
		if err != nil {
			t.Fatal(err)
		}
		defer w.Close()
		dir := t.TempDir()
		for i, change := range []func(*master.Options){
			withFrontier(frontier.PolicyRanked, 512, 64),
			withFrontier(frontier.PolicyRanked, 256, 64),
			withFrontier(frontier.PolicyRanked, 4, 2), // too small for what waits: that is known, and kept
			withFrontier(frontier.PolicyRanked, 512, 64),
		} {
			status := crawltest.Run(t, crawltest.Of(t, dir, w, -1, func(o *master.Options) {
				change(o)
				if i < 3 {
					o.For = 40 * time.Second
				}
			}))
			if want := []master.End{master.TimeLimit, master.Finished}[i/3]; status.End != want {
				t.Errorf("run %d ended with %q, %+v", i, status.End, status.Frontier)
			}
			if i < 2 && (status.Waiting == 0 || status.Frontier.Waiting < int(status.Waiting)) {
				t.Errorf("run %d: %d wait in the store, %+v", i, status.Waiting, status.Frontier)
			}
		}
		got := crawltest.Visited(t, dir)
		if truth := crawltest.Reachable(t, w, -1); len(got) > len(truth) || len(got) < len(truth)*9/10 {
			t.Errorf("%d of %d pages", len(got), len(truth))
		}
		checkPace(t, w)
	})
}

// The orders change nothing about what is fetched in the end.
func TestOrdersFetchTheSamePages(t *testing.T) {
	for _, order := range frontier.Orders() {
		for _, policy := range []frontier.Policy{frontier.PolicyHost, frontier.PolicyRanked} {
			t.Run(string(order)+" "+string(policy), func(t *testing.T) {
				synctest.Test(t, func(t *testing.T) {
					w, dir, status := crawltest.Bubble(t, fakeweb.Options{Seed: 25, Hosts: 4, Domains: 4, Pages: 50,
						Degree:     8,
						CrossShare: 0.3}, -1,
						func(o *master.Options) { withFrontier(policy, 512, 64)(o); o.Order = order }, nil)
					if status.End != master.Finished {
						t.Errorf("ended with %q", status.End)
					}
					crawltest.Compare(t, crawltest.Visited(t, dir), crawltest.Reachable(t, w, -1))
					checkPace(t, w)
				})
			})
		}
	}
}
