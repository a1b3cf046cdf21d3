package embedded_test

import (
	"context"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"henro/actors/admission"
	"henro/cmd/embedded/crawltest"
	"henro/cmd/fakeweb"
	"henro/master"
	"henro/slave"
)

// TestAnExcludedHostIsLeftAloneUntilItIsLetIn, in a crawl that ends and in one that does not, and whatever is restarted
// in between.
func TestAnExcludedHostIsLeftAloneUntilItIsLetIn(t *testing.T) {
	for name, continuous := range map[string]bool{"a crawl that ends": false, "a crawl that goes on": true} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				w, err := fakeweb.New(fakeweb.Options{Seed: 6, Hosts: 3, Domains: 3, Pages: 40, CrossShare: 0.3})
				if err != nil {
					t.Fatal(err)
				}
				defer w.Close()
				dir := t.TempDir()
				run := func(steer func(context.Context, *master.Node, string)) master.Status {
					e := crawltest.Of(t, dir, w, -1, func(o *master.Options) {
						o.Hosts.Continuous, o.TickEvery = continuous, 5*time.Second
					})
					e.Adjust = func(o *slave.Options) { o.AskEvery = 10 * time.Second } // for a day and a half
					ctx, cancel := context.WithCancel(t.Context())
					defer cancel()
					status, err := e.Run(ctx, func(inner context.Context, node *master.Node) error {
						steer(inner, node, e.Seeds[0].URL.Host())
						if continuous {
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
				asked := func(host string) (count int) {
					for _, entry := range w.Log() {
						if strings.HasSuffix(host, "://"+entry.Host) {
							count++
						}
					}
					return count
				}
				status := run(func(ctx context.Context, node *master.Node, host string) {
					time.Sleep(time.Minute)
					if _, err := node.Exclude(ctx, host, true); err != nil {
						t.Error(err)
					}
					time.Sleep(5 * time.Second) // the request under way
					before := asked(host)
					if before < 5 {
						t.Errorf("%d requests before it was excluded", before)
					}
					time.Sleep(6 * time.Hour)
					if after := asked(host); after != before {
						t.Errorf("%d requests after it was excluded", after-before)
					}
				})
				if !continuous && (status.End != master.Finished || status.Totals.Skipped[admission.Excluded] == 0 ||
					status.Totals.Broken != 0) {
					t.Errorf("ended with %q, %d excluded, %d broken", status.End,
						status.Totals.Skipped[admission.Excluded],
						status.Totals.Broken)
				}
				if !continuous {
					return // its pages are given up
				}
				run(func(ctx context.Context, node *master.Node, host string) {
					before := asked(host)
					time.Sleep(2 * time.Hour)
					if after := asked(host); after != before {
						t.Errorf("%d requests after a restart", after-before)
					}
					if _, err := node.Exclude(ctx, host, false); err != nil {
						t.Error(err)
					}
					time.Sleep(25 * time.Hour)
					if after := asked(host); after < before+20 {
						t.Errorf("%d requests within a day after it was let in", after-before)
					}
				})
			})
		})
	}
}

// TestASeedThatIsExcludedIsVisitedOnce: for its links, and again when it is let in.
func TestASeedThatIsExcludedIsVisitedOnce(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w, err := fakeweb.New(fakeweb.Options{Seed: 6, Hosts: 1, Domains: 1, Pages: 5})
		if err != nil {
			t.Fatal(err)
		}
		defer w.Close()
		dir := t.TempDir()
		run := func(days int, exclude ...string) (asked int) {
			e := crawltest.Of(t, dir, w, 0, func(o *master.Options) {
				o.Hosts.Continuous, o.TickEvery, o.Scope.Exclude = true, time.Minute, exclude
				o.Hosts.Revisit.FirstMin, o.Hosts.Revisit.FirstMax = time.Hour, time.Hour
				o.Hosts.Revisit.Max = 6 * time.Hour
			})
			e.Adjust = func(o *slave.Options) { o.AskEvery = time.Minute }
			ctx, cancel := context.WithTimeout(t.Context(), time.Duration(days)*24*time.Hour)
			defer cancel()
			before := len(w.Log())
			wait := func(inner context.Context, _ *master.Node) error { <-inner.Done(); return nil }
			if _, err := e.Run(ctx, wait); err != nil {
				t.Fatal(err)
			}
			for _, entry := range w.Log()[before:] {
				if entry.Path == "/" {
					asked++
				}
			}
			return asked
		}
		for i, c := range []struct {
			exclude     []string
			least, most int
		}{{[]string{"/$"}, 1, 1}, {nil, 2, 100}, {[]string{"/$"}, 0, 0}, {nil, 1, 100}} {
			if asked := run(3, c.exclude...); asked < c.least || asked > c.most {
				t.Errorf("run %d: the seed was asked for %d times, want %d to %d", i, asked, c.least, c.most)
			}
		}
	})
}
