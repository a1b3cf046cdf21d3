package frontier

import (
	"math/rand/v2"
	"testing"
)

// A sketch never tells too little, and seldom too much while it has four cells for each URL.
func TestSketchErrsUpwardsOnly(t *testing.T) {
	s := NewSketch(1 << 16)
	rnd := rand.New(rand.NewPCG(1, 0))
	truth := map[uint64]float32{}
	for range 100_000 {
		url := uint64(rnd.ExpFloat64() * rnd.ExpFloat64() * 4000)
		truth[url]++
		s.Add(url*0x9e3779b97f4a7c15, 1)
	}
	wrong := 0
	for url, count := range truth {
		switch got := s.Weight(url * 0x9e3779b97f4a7c15); {
		case got < count:
			t.Fatalf("URL %d: %v instead of %v", url, got, count)
		case got > count:
			wrong++
		}
	}
	if wrong*10 > len(truth) {
		t.Errorf("%d of %d URLs have too much", wrong, len(truth))
	}
}

func TestBands(t *testing.T) {
	const url, page = 1, 2
	for name, c := range map[string]struct {
		order   Order
		links   int // links to the URL, from pages of ten links
		depth   uint8
		sitemap float32
		want    uint8
	}{
		"the depth is the band":                        {OrderBreadth, 0, 3, NoPriority, 3},
		"very deep is the last band":                   {OrderBreadth, 0, 200, NoPriority, 15},
		"a sitemap's best rises two bands":             {OrderBreadth, 0, 3, 1, 1},
		"a sitemap's least sinks two bands":            {OrderBreadth, 0, 3, 0, 5},
		"no band before the first":                     {OrderBreadth, 0, 0, 1, 0},
		"one link is the last band":                    {OrderInlinks, 1, 0, NoPriority, 15},
		"two links are two bands":                      {OrderInlinks, 2, 0, NoPriority, 13},
		"sixteen links are eight bands":                {OrderInlinks, 16, 0, NoPriority, 7},
		"a thousand links are the first band":          {OrderInlinks, 1000, 0, NoPriority, 0},
		"no rank received is the last band":            {OrderOPIC, 0, 0, NoPriority, 15},
		"rank of one poor page is little":              {OrderOPIC, 1, 0, NoPriority, 15},
		"twelve tenths of poor pages double the worth": {OrderOPIC, 12, 0, NoPriority, 13},
	} {
		t.Run(name, func(t *testing.T) {
			r := NewRanker(c.order, 1024)
			for range c.links {
				r.Visited(page, 10, 0)
				r.Linked(url)
			}
			if got := r.Band(url, c.depth, c.sitemap); got != c.want {
				t.Errorf("band %d instead of %d", got, c.want)
			}
		})
	}
}

// Rank flows on: a page linked from a page of high rank is worth more than one linked from a poor page.
func TestRankFlowsOn(t *testing.T) {
	r := NewRanker(OrderOPIC, 1024)
	for range 50 {
		r.Visited(1, 2, 0)
		r.Linked(2)
	}
	r.Visited(2, 1, 0)
	r.Linked(3)
	r.Visited(1, 1, 0)
	r.Linked(4)
	if rich, poor := r.Band(3, 0, NoPriority), r.Band(4, 0, NoPriority); rich >= poor {
		t.Errorf("bands %d and %d", rich, poor)
	}
}

// A page whose links are read again passes on only what it received since.
func TestRankFlowsOnce(t *testing.T) {
	r := NewRanker(OrderOPIC, 1024)
	given := r.Visited(1, 1, 0)
	r.Linked(2)
	before := r.sketch.Weight(2)
	given = r.Visited(1, 1, given)
	r.Linked(2)
	if again := r.sketch.Weight(2); again != before {
		t.Errorf("rank %v of the linked page became %v by reading the same links again", before, again)
	}
	r.Visited(3, 1, 0)
	r.Linked(1)
	r.Visited(1, 1, given)
	r.Linked(2)
	if grown, want := r.sketch.Weight(2)-before, float32(damping*damping*leastRank); grown < 0.99*want ||
		grown > 1.01*want {
		t.Errorf("%v came through instead of %v", grown, want)
	}
}

func TestReturnsAreCounted(t *testing.T) {
	r := NewReturns(1024)
	r.Dropped(7)
	r.Dropped(7)
	r.Taken(7)
	r.Taken(8)
	if r.Count != 1 || r.Repeats != 1 {
		t.Errorf("%d returns and %d repeated drops instead of one each", r.Count, r.Repeats)
	}
}
