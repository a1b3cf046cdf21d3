package frontier

import (
	"fmt"
	"math"
)

// Sketch adds up weights of URLs in a fixed space: a count-min sketch with conservative update (only the cells that
// hold the least are raised). It never tells too little, and too much by about the share of the whole that falls on one
// cell.
//
// A bounded frontier remembers by it what it does not hold: how often a URL turned up, how much rank flowed to it.
type Sketch struct {
	rows [sketchRows][]float32
	mask uint64
}

// sketchRows is the number of cells of one URL. Its weight is wrong only if each of them is shared with others.
const sketchRows = 4

// NewSketch makes a sketch of at least size cells in all, four bytes each.
func NewSketch(size int) *Sketch {
	width := 1
	for width*sketchRows < size {
		width *= 2
	}
	s := &Sketch{mask: uint64(width - 1)}
	for i := range s.rows {
		s.rows[i] = make([]float32, width)
	}
	return s
}

// cell spreads a fingerprint over a row by double hashing.
func (s *Sketch) cell(row int, fingerprint uint64) *float32 {
	h := fingerprint * 0x9e3779b97f4a7c15
	h ^= h >> 32
	g := (fingerprint ^ fingerprint>>29) * 0xbf58476d1ce4e5b9
	return &s.rows[row][(h+uint64(row)*(g|1)>>7)&s.mask]
}

// Add raises the weight of a URL and returns what it is now.
func (s *Sketch) Add(fingerprint uint64, weight float32) float32 {
	sum := s.Weight(fingerprint) + weight
	for row := range s.rows {
		if c := s.cell(row, fingerprint); *c < sum {
			*c = sum
		}
	}
	return sum
}

// Weight returns the weight of a URL, never too little.
func (s *Sketch) Weight(fingerprint uint64) float32 {
	least := float32(math.MaxFloat32)
	for row := range s.rows {
		least = min(least, *s.cell(row, fingerprint))
	}
	return least
}

// Order names a way to find the worth of a URL.
type Order string

// The orders.
const (
	OrderBreadth Order = "breadth" // depth: the links followed from a seed
	OrderInlinks Order = "inlinks" // links seen so far
	OrderOPIC    Order = "opic"    // rank received so far, each visited page passing on its own
)

// Orders lists all orders.
func Orders() []Order { return []Order{OrderBreadth, OrderInlinks, OrderOPIC} }

// ParseOrder reads one of breadth, inlinks, opic.
func ParseOrder(word string) (Order, error) {
	for _, o := range Orders() {
		if string(o) == word {
			return o, nil
		}
	}
	return "", fmt.Errorf("order %q is not one of breadth, inlinks, opic", word)
}

// Ranker gives waiting URLs their bands, in bounded memory.
//
//	breadth   the depth
//	inlinks   15 − 2·log₂ of the links seen so far: a URL rises a band whenever that number grows by 1.4
//	opic      15 − 2·log₂ of the rank so far, in units of the least. Every page has 0.15 to begin with, and one whose
//	          links are read passes 0.85·rank/links on to each page it links to; read again, it passes on what came in
//	          meanwhile.
//	          That is PageRank as a flow, after the online page importance computation of Abiteboul, Preda & Cobéna
//	          (2003), which a crawl gets from its visits, its revisits, and scans of the links it stored
//
// A sitemap's priority moves a URL up to two bands either way from where its 0.5 leaves it.
type Ranker struct {
	order  Order
	sketch *Sketch
	share  float32 // what the page being read gives to each of its links
}

const (
	damping   = 0.85
	leastRank = 1 - damping
)

// NewRanker makes a ranker whose sketch has size cells; breadth needs none.
func NewRanker(order Order, size int) *Ranker {
	r := &Ranker{order: order, share: 1}
	if order != OrderBreadth {
		r.sketch = NewSketch(size)
	}
	return r
}

// Visited begins a page whose links were read, and says how many they are; Linked follows for each. A page whose links
// are read again passes on the rank that it received since: given is what the call before returned, zero at first.
func (r *Ranker) Visited(page uint64, links int, given float32) float32 {
	if r.order != OrderOPIC || links == 0 {
		return given
	}
	rank := leastRank + r.sketch.Weight(page)
	r.share = damping * max(0, rank-given) / float32(links)
	return rank
}

// Linked notes that the page begun last links to another.
func (r *Ranker) Linked(to uint64) {
	if r.sketch != nil {
		r.sketch.Add(to, r.share)
	}
}

// NoPriority is the sitemap priority of a URL that is in no sitemap, or in one without priorities.
const NoPriority = 0.5

// Band returns the band of a URL: what it is worth as far as is known now.
func (r *Ranker) Band(url uint64, depth uint8, sitemap float32) uint8 {
	var band float64
	switch r.order {
	case OrderInlinks:
		band = Bands - 1 - math.Floor(2*math.Log2(max(1, float64(r.sketch.Weight(url)))))
	case OrderOPIC:
		band = Bands - 1 - math.Floor(2*math.Log2(1+float64(r.sketch.Weight(url))/leastRank))
	default:
		band = float64(depth)
	}
	band += math.Round(float64(NoPriority-sitemap) * 4)
	return uint8(min(max(band, 0), Bands-1))
}

// Returns counts dropped URLs that turn up again and are taken: so a bounded frontier keeps what matters. It remembers
// in a sketch what was dropped, so it may count a few too many.
type Returns struct {
	dropped *Sketch
	Count   int64 // URLs taken after having been dropped
	Repeats int64 // drops of a URL that was dropped before
}

// NewReturns makes a counter whose sketch has size cells.
func NewReturns(size int) *Returns { return &Returns{dropped: NewSketch(size)} }

// Dropped notes the loss of a URL.
func (r *Returns) Dropped(url uint64) {
	if r.dropped.Add(url, 1) > 1 {
		r.Repeats++
	}
}

// Taken notes a URL that found room.
func (r *Returns) Taken(url uint64) {
	if r.dropped.Weight(url) > 0 {
		r.Count++
	}
}
