package frontiersim

import (
	"math"
	"slices"
	"time"

	"henro/.ci/lab/simulate/orders"
	"henro/master/frontier"
)

// CrawlOptions are those of one simulated crawl.
type CrawlOptions struct {
	// Frontier is the policy under test. With an Interval of zero the crawl follows its order alone; else it goes in
	// steps of that interval, and no step visits a host twice.
	Frontier orders.Options

	// Order gives the bands of the URLs, from what the crawl has seen. Default breadth.
	Order frontier.Order

	// SketchSize is the number of cells of the ranker, four bytes each. Default 4 M, so 16 MB: it has to tell the pages
	// of the web apart, not the places of the frontier. At a million pages and two cells for each of 42,000 places,
	// ranked collects 0.02 less of the rank in the middle of the crawl than with a cell for each page; more cells than
	// that bring nothing.
	SketchSize int

	// Width is the most pages visited in a step: the connections of the crawler times the interval over the time of a
	// fetch. Default 0: no limit.
	Width int

	// Reread is how many link lists of visited pages are read again from the crawl's store for each page that is
	// visited, in the order of the visits and over again, while something dropped has not come back: what was dropped
	// is offered again. That is a scan of a table, not a visit; an incremental crawl gets it from its revisits. When
	// nothing waits, lists are read until something does, or all were read. Default 0: never.
	Reread int

	// Samples is the number of points of a curve. Default 200.
	Samples int

	// MaxPages ends the crawl early. Default 0: when nothing waits.
	MaxPages int

	// Salt changes which hosts share a residue. Default 0.
	Salt uint64
}

// DefaultCrawlOptions follow the order of slots.
func DefaultCrawlOptions() CrawlOptions {
	f := orders.DefaultOptions()
	f.Policy, f.Interval = orders.PolicySlots, 0
	return CrawlOptions{Frontier: f, Order: frontier.OrderBreadth, SketchSize: 4 << 20, Samples: 200}
}

// Point is one moment of a crawl.
type Point struct {
	Pages  int     // visited so far
	Mass   float64 // share of the PageRank in them
	Stored int     // URLs that wait
	Step   int64   // steps of T so far
}

// Result is what became of a crawl.
type Result struct {
	Points  []Point
	Pages   int // visited
	Mass    float64
	Peak    int   // most URLs that waited at once
	Dropped int64 // URLs lost, each time
	Returns int64 // URLs taken after having been lost
	Reread  int64 // link lists read again
	Steps   int64
	Pace    Pace
}

// Pace is the intervals between two visits of a host, or of a residue where that is what rests, T + ε. With slots all
// of them count, with the others those before which the host still had URLs when its interval was over, with irlbot in
// the queue in work.
type Pace struct {
	Least time.Duration
	count int64
	sum   time.Duration
}

// Mean is the mean interval.
func (p *Pace) Mean() time.Duration { return p.sum / time.Duration(max(1, p.count)) }

func (p *Pace) add(d time.Duration) {
	if p.count == 0 || d < p.Least {
		p.Least = d
	}
	p.count++
	p.sum += d
}

// MassAt returns the share of the rank after so many pages; after the end, that at the end.
func (r *Result) MassAt(pages int) float64 {
	i, found := slices.BinarySearchFunc(r.Points, pages, func(p Point, pages int) int { return p.Pages - pages })
	switch {
	case found:
		return r.Points[i].Mass
	case i == 0:
		return 0
	case i == len(r.Points):
		return r.Mass
	}
	a, b := r.Points[i-1], r.Points[i]
	return a.Mass + (b.Mass-a.Mass)*float64(pages-a.Pages)/float64(b.Pages-a.Pages)
}

// state of a page in a crawl.
type state uint8

const (
	unseen state = iota
	waiting
	visited
	read // visited, and its links were read
	lost // unseen, and dropped before
)

// sim is one crawl in work.
type sim struct {
	g      *Graph
	rank   []float64
	o      CrawlOptions
	f      frontier.Frontier[uint32]
	links  linked                   // f, if it wants to know
	raiser *frontier.Ranked[uint32] // f, if URLs rise in it
	ranker *frontier.Ranker

	state  []state
	depth  []uint8
	given  []float32
	seeds  []uint32
	order  []uint32            // seeds do not come here; pages in order of their visits, when they may be needed again
	cursor int                 // the next of them to be read again
	missed int                 // pages that are lost and did not come back
	rests  map[uint64]*resting // by host number, or residue
	result Result
	sample int // pages until the next point
}

// linked is a policy whose order depends on the links between domains.
type linked interface{ Linked(from, to uint64) }

// resting is what must rest between two visits: a host, or a residue.
type resting struct {
	waiting   int // URLs
	visitedAt time.Duration
	visited   bool // and URLs waited when the interval was over
}

// Crawl crawls a graph from the seeds.
func Crawl(g *Graph, rank []float64, seeds []uint32, o CrawlOptions) (*Result, error) {
	if o.Frontier.Domain == nil {
		domains := make(map[uint64]uint64, g.Hosts())
		for h, d := range g.domain {
			domains[number(uint32(h), o.Salt)] = uint64(d)
		}
		o.Frontier.Domain = func(host uint64) uint64 { return domains[host] }
	}
	f, err := orders.New[uint32](o.Frontier)
	if err != nil {
		return nil, err
	}
	s := &sim{g: g, rank: rank, o: o, f: f, ranker: frontier.NewRanker(o.Order, o.SketchSize),
		state: make([]state, g.Pages()), depth: make([]uint8, g.Pages()), seeds: seeds,
		given: make([]float32, g.Pages()), rests: map[uint64]*resting{}}
	s.links, _ = f.(linked)
	s.raiser, _ = f.(*frontier.Ranked[uint32])
	for _, u := range seeds {
		s.offer(u, 0)
	}
	s.run()
	if n := len(s.result.Points); n == 0 || s.result.Points[n-1].Pages < s.result.Pages {
		s.point()
	}
	return &s.result, nil
}

// number is the host number of a host of the graph: scattered, as addresses and fingerprints are.
func number(host uint32, salt uint64) uint64 {
	x := (uint64(host) + salt<<32 + 1) * 0x9e3779b97f4a7c15
	x = (x ^ x>>30) * 0xbf58476d1ce4e5b9
	x = (x ^ x>>27) * 0x94d049bb133111eb
	return x ^ x>>31
}

func (s *sim) run() {
	var now time.Duration
	var batch []frontier.Item[uint32]
	width := s.o.Width
	if width == 0 {
		width = math.MaxInt
	}
	if s.o.Width == 0 && s.o.Frontier.Interval == 0 && s.o.Frontier.Policy != orders.PolicySlots {
		width = 1 // the order alone: what a page links to may come right behind it
	}
	for {
		batch = s.f.Next(now, width, batch[:0])
		for _, item := range batch {
			s.rest(item.Host, now)
			s.visit(item.Key)
			s.f.Done(item.Host, now, 0)
			if s.result.Pages == s.o.MaxPages && s.o.MaxPages > 0 {
				return
			}
			if s.missed > 0 {
				s.reread(s.o.Reread)
			}
		}
		if s.f.Len() == 0 && !s.refill() {
			return
		}
		if s.o.Frontier.Interval > 0 {
			s.forget(batch)
			now += s.o.Frontier.Interval
		}
		s.result.Steps++
	}
}

// of returns what must rest between visits of a host, when there are intervals at all.
func (s *sim) of(host uint64) *resting {
	if s.o.Frontier.Policy == orders.PolicySlots {
		host %= uint64(s.o.Frontier.SlotsH)
	}
	r := s.rests[host]
	if r == nil {
		r = &resting{}
		s.rests[host] = r
	}
	return r
}

// rest notes a visit of a host.
func (s *sim) rest(host uint64, now time.Duration) {
	if s.o.Frontier.Interval == 0 {
		return
	}
	r := s.of(host)
	r.waiting--
	if r.visited {
		s.result.Pace.add(now - r.visitedAt)
	}
	r.visited, r.visitedAt = true, now
}

// forget forgets visits of hosts of which nothing waits now that their intervals are over.
func (s *sim) forget(batch []frontier.Item[uint32]) {
	row, inRows := s.f.(*orders.IRLbot[uint32])
	for i := range batch {
		r := s.of(batch[i].Host)
		waits := r.waiting > 0 || s.o.Frontier.Policy == orders.PolicySlots
		if inRows {
			waits = row.Waits(batch[i].Host)
		}
		r.visited = waits
	}
}

// read offers the links of a visited page, and passes its rank on.
func (s *sim) read(u uint32) {
	links := s.g.Links(u)
	s.given[u] = s.ranker.Visited(uint64(u), len(links), s.given[u])
	again := s.state[u] == read
	s.state[u] = read
	depth := s.depth[u]
	if depth < math.MaxUint8 {
		depth++
	}
	for _, v := range links {
		rises := s.raiser != nil && s.state[v] == waiting
		before := uint8(0)
		if rises {
			before = s.band(v)
		}
		if !again || s.o.Order == frontier.OrderOPIC {
			s.ranker.Linked(uint64(v))
		}
		if !again && s.links != nil && s.g.host[u] != s.g.host[v] {
			s.links.Linked(uint64(s.g.domain[s.g.host[u]]), uint64(s.g.domain[s.g.host[v]]))
		}
		if !rises {
			s.offer(v, depth)
		} else if band := s.band(v); band < before {
			s.raiser.Raise(v, band)
		}
	}
}

// refill reads link lists until something waits; false when nothing is left to come.
func (s *sim) refill() bool {
	if s.o.Reread == 0 || s.missed == 0 {
		return false
	}
	for _, u := range s.seeds {
		s.offer(u, 0)
	}
	for i := 0; i < len(s.order) && s.f.Len() == 0; i++ {
		s.reread(1)
	}
	return s.f.Len() > 0
}

// reread offers the links of visited pages once more.
func (s *sim) reread(lists int) {
	for ; lists > 0 && len(s.order) > 0; lists-- {
		s.cursor %= len(s.order)
		s.read(s.order[s.cursor])
		s.cursor++
		s.result.Reread++
	}
}

func (s *sim) visit(u uint32) {
	s.state[u] = visited
	s.result.Pages++
	s.result.Mass += s.rank[u]
	if s.o.Reread > 0 {
		s.order = append(s.order, u)
	}
	s.read(u)
	if s.result.Pages >= s.sample {
		s.point()
		s.sample = s.result.Pages + max(1, s.g.Pages()/s.o.Samples)
	}
}

// band is what a page is worth now.
func (s *sim) band(v uint32) uint8 {
	return s.ranker.Band(uint64(v), s.depth[v], frontier.NoPriority)
}

// offer adds a page to the frontier if it is unseen.
func (s *sim) offer(v uint32, depth uint8) {
	before := s.state[v]
	if before == waiting || before == visited || before == read {
		return
	}
	s.state[v], s.depth[v] = waiting, depth
	item := frontier.Item[uint32]{Key: v, Host: number(s.g.host[v], s.o.Salt), Band: s.band(v)}
	out, dropped := s.f.Add(item)
	if s.o.Frontier.Interval > 0 {
		s.of(item.Host).waiting++
	}
	if dropped {
		s.state[out.Key] = lost
		s.missed++
		s.result.Dropped++
		if s.o.Frontier.Interval > 0 {
			s.of(out.Host).waiting--
		}
	}
	s.result.Peak = max(s.result.Peak, s.f.Len())
	if before == lost {
		s.missed--
		if s.state[v] == waiting {
			s.result.Returns++
		}
	}
}

func (s *sim) point() {
	s.result.Points = append(s.result.Points, Point{Pages: s.result.Pages, Mass: s.result.Mass, Stored: s.f.Len(),
		Step: s.result.Steps})
}
