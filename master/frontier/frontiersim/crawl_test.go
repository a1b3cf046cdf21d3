package frontiersim

import (
	"math"
	"testing"
	"time"

	"henro/master/frontier"
)

// world is a graph with what the crawls of it share.
type world struct {
	g     *Graph
	rank  []float64
	seeds []uint32
}

func newWorld(g *Graph, seeds int) world {
	g, own := g.Reachable(g.Components(seeds, 1))
	return world{g: g, rank: g.PageRank(DefaultPageRankOptions()), seeds: own}
}

func (w world) crawl(t *testing.T, change func(*CrawlOptions)) *Result {
	t.Helper()
	o := DefaultCrawlOptions()
	change(&o)
	r, err := Crawl(w.g, w.rank, w.seeds, o)
	if err != nil {
		t.Fatal(err)
	}
	return r
}

func smallWeb(t *testing.T) world {
	o := DefaultWebOptions()
	o.Pages, o.PagesPerHost = 20_000, 100
	g, err := Web(o)
	if err != nil {
		t.Fatal(err)
	}
	return newWorld(g, 30)
}

// The policies that drop nothing visit every page once; those that do visit what they report.
func TestCrawlsAreComplete(t *testing.T) {
	w := smallWeb(t)
	for _, p := range frontier.Policies() {
		for _, interval := range []time.Duration{0, time.Second} {
			t.Run(string(p)+" "+interval.String(), func(t *testing.T) {
				r := w.crawl(t, func(o *CrawlOptions) {
					o.Frontier.Policy, o.Frontier.Interval, o.Frontier.SlotsB, o.Frontier.SlotsH = p, interval, 64, 64
				})
				bounded := p == frontier.PolicySlots || p == frontier.PolicyRanked
				if !bounded && (r.Pages != w.g.Pages() || math.Abs(r.Mass-1) > 1e-6 || r.Dropped > 0) {
					t.Errorf("%d of %d pages, %v of the rank, %d dropped", r.Pages, w.g.Pages(), r.Mass, r.Dropped)
				}
				if bounded && (r.Peak > 64*64/2 || r.Dropped == 0) {
					t.Errorf("at most %d waited, %d were dropped, %d visited", r.Peak, r.Dropped, r.Pages)
				}
				if interval > 0 && r.Stats.GapCount > 0 && r.Stats.GapLeast < interval {
					t.Errorf("a host was visited after %v", r.Stats.GapLeast)
				}
				last := Point{}
				for _, p := range r.Points {
					if p.Pages <= last.Pages && last.Pages > 0 || p.Mass < last.Mass {
						t.Fatalf("%+v follows %+v", p, last)
					}
					last = p
				}
				if last.Pages != r.Pages {
					t.Errorf("the curve ends at %d of %d pages", last.Pages, r.Pages)
				}
			})
		}
	}
}

// Link lists read again bring back whatever was dropped.
func TestRereadingFindsEverything(t *testing.T) {
	w := smallWeb(t)
	for _, p := range []frontier.Policy{frontier.PolicySlots, frontier.PolicyRanked} {
		r := w.crawl(t, func(o *CrawlOptions) {
			o.Frontier.Policy, o.Frontier.SlotsB, o.Frontier.SlotsH, o.Reread = p, 32, 32, 1
		})
		if r.Pages != w.g.Pages() {
			t.Errorf("%s: %d of %d pages", p, r.Pages, w.g.Pages())
		}
	}
}

// Dropping prefers pages with many links to them: what slots collects is worth more than as many pages taken at random, and
// more places collect more.
func TestSlotsPreferWhatIsLinked(t *testing.T) {
	w := smallWeb(t)
	last := 0.0
	for _, b := range []int{16, 64, 256} {
		r := w.crawl(t, func(o *CrawlOptions) { o.Frontier.SlotsB, o.Frontier.SlotsH = b, 32 })
		if r.Mass <= last {
			t.Errorf("B = %d collects %.3f, less than with a smaller B", b, r.Mass)
		}
		last = r.Mass
		if share := float64(r.Pages) / float64(w.g.Pages()); r.Mass < share {
			t.Errorf("B = %d: %.3f of the pages hold only %.3f of the rank", b, share, r.Mass)
		}
	}
}

// On every graph at hand, ranked with a tenth of the room that irlbot needs is ahead of it and of breadth-first in the mean of
// the crawl by one hundredth of the rank at least, and behind by no more than three anywhere.
func TestRankedLeads(t *testing.T) {
	worlds := []world{smallWeb(t)}
	for _, g := range largeGraphs(t) {
		worlds = append(worlds, newWorld(g, 100))
	}
	for _, w := range worlds {
		t.Run(w.g.Name, func(t *testing.T) {
			breadth := w.crawl(t, func(o *CrawlOptions) { o.Frontier.Policy = frontier.PolicyFIFO })
			irlbot := w.crawl(t, func(o *CrawlOptions) { o.Frontier.Policy = frontier.PolicyIRLbot })
			ranked := w.crawl(t, func(o *CrawlOptions) {
				o.Frontier.Policy, o.Order, o.Reread = frontier.PolicyRanked, frontier.OrderOPIC, 2
				o.Frontier.SlotsB, o.Frontier.SlotsH = irlbot.Peak/10/2*2, 2
			})
			mean, least := 0.0, 1.0
			for percent := 1; percent < 100; percent++ {
				pages := w.g.Pages() * percent / 100
				lead := ranked.MassAt(pages) - max(breadth.MassAt(pages), irlbot.MassAt(pages))
				mean += lead / 99
				least = min(least, lead)
			}
			t.Logf("%d waiting instead of %d, ahead by %.3f in the mean, %.3f at least, mass %.4f", ranked.Peak, irlbot.Peak, mean, least, ranked.Mass)
			if mean < 0.01 || least < -0.03 || ranked.Mass < 0.999 || ranked.Peak > irlbot.Peak/10 {
				t.Errorf("%d waiting instead of %d, ahead by %.3f in the mean, %.3f at least, mass %.4f", ranked.Peak, irlbot.Peak, mean, least, ranked.Mass)
			}
		})
	}
}
