package frontiersim

import (
	"container/heap"
	"math"
	"math/rand/v2"
)

// Covered is what a crawl that also revisits has at a step.
type Covered struct {
	Step       int64
	Mass       float64 // share of the PageRank in the pages visited
	Pages      int     // visited
	Captured   float64 // versions expected to be captured, first ones included
	AllVisited bool
}

// CoverBySplit crawls the world in steps of one visit a host. New pages of a host come in the order in which they are
// found; known ones come each after the mean interval between its changes, or that stretched to what plan leaves of the
// host while new pages wait. The means are drawn, with a standard deviation of 2 of their logarithm, so that the pages
// of a host ask for 1/perVersion of its visits once it is known whole. share tells which part of the visits for which
// both wait is of known pages, given what those ask for and what the host bears (one visit a step). It returns what is
// there at each of the steps, which ascend.
func CoverBySplit(w *World, share func(asked, bears float64) float64, plan, perVersion float64,
	steps []int64) []Covered {
	g := w.Graph
	s := &splitCrawl{w: w, share: share, plan: plan, hosts: make([]splitHost, g.Hosts()),
		found: make([]bool, g.Pages()), mean: make([]float64, g.Pages())}
	rnd := rand.New(rand.NewPCG(1, 11))
	whole := make([]float64, g.Hosts())
	for u := range s.mean {
		rate := math.Exp(2 * rnd.NormFloat64())
		s.mean[u] = rate
		whole[g.host[u]] += rate
	}
	for u, rate := range s.mean {
		s.mean[u] = perVersion * whole[g.host[u]] / rate
	}
	for _, u := range w.Seeds {
		s.offer(u)
	}
	var points []Covered
	for _, until := range steps {
		for ; s.now < until; s.now++ {
			for h := range s.hosts {
				s.visit(&s.hosts[h])
			}
			for _, u := range s.links {
				s.offer(u)
			}
			s.links = s.links[:0]
		}
		s.at.Step, s.at.AllVisited = s.now, s.at.Pages == g.Pages()
		points = append(points, s.at)
	}
	return points
}

type splitCrawl struct {
	w     *World
	share func(asked, bears float64) float64
	plan  float64
	hosts []splitHost
	found []bool
	mean  []float64 // steps between changes, by page
	links []uint32  // found in this step
	now   int64
	at    Covered
}

// splitHost is a host with its new pages and its known ones.
type splitHost struct {
	fresh []uint32
	due   dueHeap
	asked float64 // visits a step without relief
	turn  float64
}

type duePage struct {
	at, last float64
	page     uint32
}

type dueHeap []duePage

func (q dueHeap) Len() int           { return len(q) }
func (q dueHeap) Less(i, j int) bool { return q[i].at < q[j].at }
func (q dueHeap) Swap(i, j int)      { q[i], q[j] = q[j], q[i] }
func (q *dueHeap) Push(x any)        { *q = append(*q, x.(duePage)) }
func (q *dueHeap) Pop() any {
	last := (*q)[len(*q)-1]
	*q = (*q)[:len(*q)-1]
	return last
}

func (s *splitCrawl) offer(u uint32) {
	if !s.found[u] {
		s.found[u] = true
		h := &s.hosts[s.w.Graph.host[u]]
		h.fresh = append(h.fresh, u)
	}
}

// visit is the step of one host.
func (s *splitCrawl) visit(h *splitHost) {
	now := float64(s.now)
	isNew, isDue := len(h.fresh) > 0, len(h.due) > 0 && h.due[0].at <= now
	if isNew && isDue {
		h.turn += s.share(h.asked, 1)
		if isDue = h.turn >= 1; isDue {
			h.turn--
		}
	}
	if isDue {
		d := &h.due[0]
		s.at.Captured -= math.Expm1(-(now - d.last) / s.mean[d.page])
		d.last, d.at = now, now+s.interval(h, d.page, isNew)
		heap.Fix(&h.due, 0)
	} else if isNew {
		u := h.fresh[0]
		h.fresh = h.fresh[1:]
		h.asked += 1 / s.mean[u]
		s.at.Pages++
		s.at.Captured++
		s.at.Mass += s.w.Rank[u]
		heap.Push(&h.due, duePage{now + s.interval(h, u, isNew), now, u})
		s.links = append(s.links, s.w.Graph.Links(u)...)
	}
}

// interval is the time until a page is visited again.
func (s *splitCrawl) interval(h *splitHost, u uint32, isNew bool) float64 {
	bears := 1.0
	if isNew {
		bears = s.plan
	}
	return s.mean[u] * max(1, h.asked/bears)
}
