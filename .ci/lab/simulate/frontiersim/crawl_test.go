package frontiersim

import (
	"math"
	"testing"
	"time"

	"henro/.ci/lab/simulate/orders"
	"henro/master/frontier"
)

// crawl runs one crawl with changed options.
func crawl(t *testing.T, w *World, change func(*CrawlOptions)) Run {
	t.Helper()
	o := DefaultCrawlOptions()
	change(&o)
	r, err := w.Crawl(o)
	if err != nil {
		t.Fatal(err)
	}
	return r
}

func smallWeb(t *testing.T) *World {
	o := DefaultWebOptions()
	o.Pages, o.PagesPerHost = 20_000, 100
	g, err := Web(o)
	if err != nil {
		t.Fatal(err)
	}
	return NewWorld(g, 30, 1)
}

// The policies that drop nothing visit every page once; those that do visit what they report.
func TestCrawlsAreComplete(t *testing.T) {
	w := smallWeb(t)
	for _, p := range orders.Policies() {
		for _, interval := range []time.Duration{0, time.Second} {
			t.Run(string(p)+" "+interval.String(), func(t *testing.T) {
				r := crawl(t, w, func(o *CrawlOptions) {
					o.Frontier.Policy, o.Frontier.Interval, o.Frontier.SlotsB, o.Frontier.SlotsH = p, interval, 64, 64
				})
				bounded := p == orders.PolicySlots || p == frontier.PolicyRanked
				if !bounded && (r.Pages != w.Graph.Pages() || math.Abs(r.Mass-1) > 1e-6 || r.Dropped > 0) {
					t.Errorf("%d of %d pages, %v of the rank, %d dropped", r.Pages, w.Graph.Pages(), r.Mass, r.Dropped)
				}
				if bounded && (r.Peak > 64*64/2 || r.Dropped == 0) {
					t.Errorf("at most %d waited, %d were dropped, %d visited", r.Peak, r.Dropped, r.Pages)
				}
				if p := r.Pace; interval > 0 && (p.count == 0 || p.Least < interval || p.Mean() < p.Least) {
					t.Errorf("a host was visited after %v, %v in the mean of %d", p.Least, p.Mean(), p.count)
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
	for _, p := range []frontier.Policy{orders.PolicySlots, frontier.PolicyRanked} {
		r := crawl(t, w, func(o *CrawlOptions) {
			o.Frontier.Policy, o.Frontier.SlotsB, o.Frontier.SlotsH, o.Reread = p, 32, 32, 1
		})
		if r.Pages != w.Graph.Pages() {
			t.Errorf("%s: %d of %d pages", p, r.Pages, w.Graph.Pages())
		}
	}
}

// Dropping prefers pages with many links to them: what slots collects is worth more than as many pages taken at random,
// and more places collect more.
func TestSlotsPreferWhatIsLinked(t *testing.T) {
	w := smallWeb(t)
	last := 0.0
	for _, b := range []int{16, 64, 256} {
		r := crawl(t, w, func(o *CrawlOptions) { o.Frontier.SlotsB, o.Frontier.SlotsH = b, 32 })
		if r.Mass <= last {
			t.Errorf("B = %d collects %.3f, less than with a smaller B", b, r.Mass)
		}
		last = r.Mass
		if share := float64(r.Pages) / float64(w.Graph.Pages()); r.Mass < share {
			t.Errorf("B = %d: %.3f of the pages hold only %.3f of the rank", b, share, r.Mass)
		}
	}
}

// On every graph at hand, ranked with a tenth of the room that irlbot needs is ahead of it and of breadth-first in the
// mean of the crawl by one hundredth of the rank at least, and behind by no more than three anywhere.
func TestRankedLeads(t *testing.T) {
	worlds := []*World{smallWeb(t)}
	for _, g := range largeGraphs(t) {
		worlds = append(worlds, NewWorld(g, 100, 1))
	}
	for _, w := range worlds {
		t.Run(w.Graph.Name, func(t *testing.T) {
			breadth := crawl(t, w, func(o *CrawlOptions) { o.Frontier.Policy = orders.PolicyFIFO })
			irlbot := crawl(t, w, func(o *CrawlOptions) { o.Frontier.Policy = orders.PolicyIRLbot })
			ranked := crawl(t, w, func(o *CrawlOptions) {
				o.Frontier.Policy, o.Order, o.Reread = frontier.PolicyRanked, frontier.OrderOPIC, 2
				o.Frontier.SlotsB, o.Frontier.SlotsH = irlbot.Peak/10/2*2, 2
			})
			mean, least, _ := w.Lead(ranked, breadth, irlbot)
			t.Logf("%d waiting instead of %d, ahead by %.3f in the mean, %.3f at least, mass %.4f", ranked.Peak,
				irlbot.Peak, mean, least, ranked.Mass)
			if mean < 0.01 || least < -0.03 || ranked.Mass < 0.999 || ranked.Peak > irlbot.Peak/10 {
				t.Errorf("%d waiting instead of %d, ahead by %.3f in the mean, %.3f at least, mass %.4f", ranked.Peak,
					irlbot.Peak, mean, least, ranked.Mass)
			}
		})
	}
}

func TestFitFillsTheRoom(t *testing.T) {
	w := smallWeb(t)
	size, err := w.Fit(DefaultCrawlOptions(), 1000)
	if err != nil {
		t.Fatal(err)
	}
	r := crawl(t, w, func(o *CrawlOptions) { o.Frontier.SlotsB, o.Frontier.SlotsH = size, size })
	if size%2 != 0 || r.Peak > 1000 || r.Peak < 600 {
		t.Errorf("B = H = %d has up to %d waiting, at most 1000 wanted", size, r.Peak)
	}
}

func TestOptimalIsAheadOfAll(t *testing.T) {
	w := smallWeb(t)
	optimal := w.Optimal(200)
	for _, p := range orders.Policies() {
		run := crawl(t, w, func(o *CrawlOptions) { o.Frontier.Policy = p })
		if _, least, at := w.Lead(optimal, run); least < -1e-3 {
			t.Errorf("%s is ahead of OPT by %v at %d %%", p, -least, at)
		}
	}
}

// A clock that ticks with each reading shows that the measure counts what it should.
func TestMeasureCost(t *testing.T) {
	for name, q := range map[string]func() (Queue, error){
		"heap": func() (Queue, error) { return HeapQueue(), nil },
		"slots": func() (Queue, error) {
			o := orders.DefaultOptions()
			o.Policy, o.SlotsB, o.SlotsH = orders.PolicySlots, 1024, 1024
			return PolicyQueue(o)
		},
	} {
		t.Run(name, func(t *testing.T) {
			queue, err := q()
			if err != nil {
				t.Fatal(err)
			}
			now := time.Duration(0)
			cost := MeasureCost(queue, 100_000, func() time.Duration { now += time.Millisecond; return now })
			if want := time.Millisecond / (1 << 12); cost.Enqueue != want || cost.Next < want || cost.Next > 8*want {
				t.Errorf("%v and %v per URL, with a tick of 1 ms per block of 4096", cost.Enqueue, cost.Next)
			}
			if cost.Waiting < 70_000 || cost.Waiting > 80_000 {
				t.Errorf("%d of 100,000 wait when a quarter is handed out", cost.Waiting)
			}
		})
	}
}

// The heap hands out in the order of time.
func TestHeapQueueIsAHeap(t *testing.T) {
	q := HeapQueue().(*heapQueue)
	for host := range uint64(1000) {
		q.Enqueue(host, host*2654435761<<40)
	}
	last := uint64(0)
	for q.Len() > 0 {
		if q.urls[0].at < last {
			t.Fatalf("%d after %d", q.urls[0].at, last)
		}
		last = q.urls[0].at
		if q.Step() != 1 {
			t.Fatal("nothing handed out")
		}
	}
}
