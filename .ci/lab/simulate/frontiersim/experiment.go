package frontiersim

import (
	"fmt"
	"math"

	"henro/.ci/lab/simulate/orders"
	"henro/master/frontier"
)

// World is a graph as far as it can be reached from its seeds, with the rank of its pages: what the crawls of an
// experiment share.
type World struct {
	Graph *Graph
	Rank  []float64
	Seeds []uint32
}

// NewWorld takes a page of each of the largest strongly connected components as seeds, as the paper took 1024, and
// leaves out what cannot be reached from them.
func NewWorld(g *Graph, seeds int, draw uint64) *World {
	g, own := g.Reachable(g.Components(seeds, draw))
	return &World{Graph: g, Rank: g.PageRank(DefaultPageRankOptions()), Seeds: own}
}

// Run is one crawl of an experiment.
type Run struct {
	Name string
	B, H int // of slots and ranked, else zero
	*Result
}

// Crawl runs one crawl.
func (w *World) Crawl(o CrawlOptions) (Run, error) {
	r, err := Crawl(w.Graph, w.Rank, w.Seeds, o)
	run := Run{Name: string(o.Frontier.Policy), Result: r}
	switch o.Frontier.Policy {
	case frontier.PolicyHost, orders.PolicyMercator:
		run.Name += " " + string(o.Order)
	case orders.PolicySlots, frontier.PolicyRanked:
		run.B, run.H = o.Frontier.SlotsB, o.Frontier.SlotsH
		run.Name += fmt.Sprintf(" %d × %d", run.B, run.H)
		if o.Frontier.Policy == frontier.PolicyRanked {
			run.Name += " " + string(o.Order)
		}
		if o.Reread > 0 {
			run.Name += ", reread"
		}
	}
	return run, err
}

// Optimal is the curve of OPT.
func (w *World) Optimal(samples int) Run {
	r := &Result{Pages: len(w.Rank)}
	for i, u := range Optimal(w.Rank) {
		r.Mass += w.Rank[u]
		if i%max(1, len(w.Rank)/samples) == 0 || i == len(w.Rank)-1 {
			r.Points = append(r.Points, Point{Pages: i + 1, Mass: r.Mass})
		}
	}
	return Run{Name: "OPT", Result: r}
}

// Fit finds the largest even B = H with which a crawl by slots never has more than so many URLs waiting, at least 2.
func (w *World) Fit(o CrawlOptions, waiting int) (int, error) {
	o.Frontier.Policy = orders.PolicySlots
	fits := func(size int) (bool, error) {
		o.Frontier.SlotsB, o.Frontier.SlotsH = size, size
		r, err := Crawl(w.Graph, w.Rank, w.Seeds, o)
		return err == nil && r.Peak <= waiting, err
	}
	// B·H/2 is the most that can wait, so that much fits; the rest is found by doubling and halving.
	low := max(2, int(math.Sqrt(2*float64(waiting)))/2*2)
	high := 2 * low
	for ; high < 1<<20; high *= 2 {
		if ok, err := fits(high); err != nil {
			return 0, err
		} else if !ok {
			break
		}
		low = high
	}
	for high-low > max(2, low/16) {
		mid := (low + high) / 4 * 2
		if ok, err := fits(mid); err != nil {
			return 0, err
		} else if ok {
			low = mid
		} else {
			high = mid
		}
	}
	return low, nil
}

// Lead tells how far a crawl is ahead of others, in shares of the rank, over the hundredths of the web: in the mean,
// and where it is least, which may be below zero.
func (w *World) Lead(run Run, others ...Run) (mean, least float64, at int) {
	least = math.Inf(1)
	for percent := 1; percent < 100; percent++ {
		pages := w.Graph.Pages() * percent / 100
		best := 0.0
		for _, other := range others {
			best = max(best, other.MassAt(pages))
		}
		lead := run.MassAt(pages) - best
		mean += lead / 99
		if lead < least {
			least, at = lead, percent
		}
	}
	return mean, least, at
}
