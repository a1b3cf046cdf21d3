package revisitsim

import (
	"cmp"
	"container/heap"
	"math"
	"math/rand/v2"
	"slices"

	"henro/actors/politeness"
	"henro/actors/revisit"
)

// Split says which of two gets the next visit of a host while a new page and a known one that is due both wait.
type Split struct {
	Name string
	// Plan is the part of what the host bears that the timetable of known pages is fitted into meanwhile.
	Plan float64
	// Share is the share of such visits that known pages get, given what their timetable asks for and what the host
	// bears, in visits per second.
	Share func(asked, bears float64) float64
	// Losses: what loses more versions by waiting gets seven eighths instead: the known page that is due first, by the
	// chance that it has changed and its believed rate, or the new one, which has a version for certain and is
	// believed to change as the host's pages do in the mean.
	Losses bool
}

// Splits are those that are compared; the last is that of a crawl.
func Splits() []Split {
	always := func(known float64) func(asked, bears float64) float64 {
		return func(float64, float64) float64 { return known }
	}
	return []Split{
		{Name: "alternation", Plan: 1. / 2, Share: always(1. / 2)},
		{Name: "alternation, planned whole", Plan: 1, Share: always(1. / 2)},
		{Name: "known first", Plan: 1. / 2, Share: always(7. / 8)},
		{Name: "known first, planned whole", Plan: 1, Share: always(7. / 8)},
		{Name: "new first", Plan: 1. / 2, Share: always(1. / 8)},
		{Name: "new first, planned whole", Plan: 1, Share: always(1. / 8)},
		{Name: "by losses, planned whole", Plan: 1, Share: always(1. / 2), Losses: true},
		{Name: "henro", Plan: 1, Share: politeness.KnownShare},
	}
}

// SplitScore is what a split brought. Sums of scores are scores.
type SplitScore struct {
	Class, Split       string
	Budget             float64
	Versions, Captured int // the first ones of pages count as well
	First              int // of the captured, first visits of pages
	Visits, Contested  int // visits, and those for which a new page and a known one waited
	Pages              int // pages that there were
	// seconds of pages: of their lives, since their first visits, while the latest capture was current
	Life, Found, Fresh float64
	// share of the time until half and nine tenths of the pages that waited at first were visited, summed over sites
	Half, Most float64
	Sites      int
}

// TrySplit crawls the second half of a site's time: all its pages wait for their first visit at the beginning, later
// ones when they come to be. The host bears budget visits for each version, first ones included, evenly over the time.
// Pages are due by henro's timetable with its relief; a visit for which nothing is due is not made.
func TrySplit(site *Site, split Split, objective revisit.Objective, budget float64) SplitScore {
	middle := site.middle()
	half := &Site{Name: site.Name, Class: site.Class}
	score := SplitScore{Class: site.Class, Split: split.Name, Budget: budget, Sites: 1}
	end := middle
	for _, p := range site.Pages {
		if p.End <= middle {
			continue
		}
		if p.Born < middle {
			k, _ := slices.BinarySearch(p.Changes, middle+1)
			p.Born, p.Changes = middle, p.Changes[k:]
		}
		half.Pages = append(half.Pages, p)
		end = max(end, p.End)
		changes := len(p.Changes)
		if p.Deleted && changes > 0 {
			changes--
		}
		score.Versions += 1 + changes
		score.Life += float64(p.End - p.Born)
	}
	// The pages that are there at the beginning are found in an order that has nothing to do with their changes.
	rnd := rand.New(rand.NewPCG(1, 9))
	rnd.Shuffle(len(half.Pages), func(i, j int) { half.Pages[i], half.Pages[j] = half.Pages[j], half.Pages[i] })
	slices.SortStableFunc(half.Pages, func(a, b Page) int { return cmp.Compare(a.Born, b.Born) })
	score.Pages = len(half.Pages)
	c := &splitCrawl{site: half, score: &score, split: split, start: float64(middle), end: float64(end)}
	c.capacity = budget * float64(score.Versions) / (c.end - c.start)
	c.run(objective)
	return score
}

type splitCrawl struct {
	site       *Site
	score      *SplitScore
	split      Split
	start, end float64
	capacity   float64

	w     *world
	henro *henro
	q     *waiting
	last  []float64
	seen  []int32
	turn  float64 // what known pages have of the next visit: at 1 it is theirs
}

func (c *splitCrawl) run(objective revisit.Objective) {
	pages := c.site.Pages
	n := len(pages)
	c.w = &world{site: c.site, rnd: rand.New(rand.NewPCG(1, 7))}
	c.henro = newHenro(c.w, timetable{o: aimedAt(objective), relief: politeness.Optimal}, constants{})
	c.q = &waiting{due: make([]float64, n), at: make([]int32, n)}
	c.last, c.seen = make([]float64, n), make([]int32, n)
	born, next := 0, 0 // pages that there are, and those of them that were visited or are gone
	atFirst := 0
	for atFirst < n && float64(pages[atFirst].Born) <= c.start {
		atFirst++
	}
	for now := c.start; now < c.end; now += 1 / c.capacity {
		for born < n && float64(pages[born].Born) <= now {
			born++
		}
		for next < born && float64(pages[next].End) <= now && !pages[next].Deleted { // its observation has ended
			next++
		}
		for c.q.Len() > 0 && float64(pages[c.q.heap[0]].End) <= now && !pages[c.q.heap[0]].Deleted {
			heap.Pop(c.q)
			c.w.alive--
		}
		isNew, isDue := next < born, c.q.Len() > 0 && c.q.due[c.q.heap[0]] <= now
		if !isNew && !isDue {
			continue
		}
		c.w.spare = c.capacity
		if isNew {
			c.w.spare *= c.split.Plan
		}
		if isNew && isDue {
			c.score.Contested++
			isDue = c.known(now)
		}
		c.score.Visits++
		if isDue {
			c.revisit(now)
			continue
		}
		c.first(next, now)
		next++
		share := (now - c.start) / (c.end - c.start)
		switch next {
		case (atFirst + 1) / 2:
			c.score.Half = share
		case atFirst * 9 / 10:
			c.score.Most = share
		}
	}
	if next < (atFirst+1)/2 { // never
		c.score.Half = 1
	}
	if next < atFirst*9/10 {
		c.score.Most = 1
	}
}

// known reports whether the known page has the turn.
func (c *splitCrawl) known(now float64) bool {
	share := c.split.Share(c.henro.asked, c.capacity)
	if c.split.Losses {
		page := c.q.heap[0]
		center := c.henro.prior.Center(&c.henro.o).Seconds()
		mean := cmp.Or(c.henro.mean[page].Seconds(), center)
		share = 1. / 8
		if -math.Expm1(-(now-c.last[page])/mean)/mean > 1/center {
			share = 7. / 8
		}
	}
	c.turn += share
	if c.turn < 1 {
		return false
	}
	c.turn--
	return true
}

// first visits a new page.
func (c *splitCrawl) first(page int, now float64) {
	p := &c.site.Pages[page]
	if float64(p.End) <= now { // not found
		return
	}
	k, _ := slices.BinarySearch(p.Changes, int64(now)+1)
	c.seen[page], c.last[page] = int32(k), now
	c.score.First++
	c.score.Captured++
	c.score.Found += float64(p.End) - now
	c.fresh(p, k, now)
	c.w.alive++
	c.q.due[page] = now + c.henro.next(visit{page: page, at: now})
	heap.Push(c.q, int32(page))
}

// fresh counts the time for which a capture is current.
func (c *splitCrawl) fresh(p *Page, k int, now float64) {
	until := float64(p.End)
	if k < len(p.Changes) {
		until = float64(p.Changes[k])
	}
	c.score.Fresh += max(0, until-now)
}

// revisit visits the page that is due first.
func (c *splitCrawl) revisit(now float64) {
	page := c.q.heap[0]
	p := &c.site.Pages[page]
	k, _ := slices.BinarySearch(p.Changes, int64(now)+1)
	v := visit{page: int(page), at: now, gap: now - c.last[page], changed: k > int(c.seen[page])}
	v.gone = p.Deleted && k == len(p.Changes)
	if v.changed && !v.gone {
		c.score.Captured++
		c.fresh(p, k, now)
	}
	c.seen[page], c.last[page] = int32(k), now
	if v.gone {
		c.w.alive--
	}
	t := c.henro.next(v)
	if v.gone {
		heap.Pop(c.q)
		return
	}
	c.q.due[page] = now + max(t, 1)
	heap.Fix(c.q, 0)
}

// SumSplits adds scores up by class, or in total for which the class is "".
func SumSplits(scores []SplitScore, total bool) []SplitScore {
	var sums []SplitScore
	for _, s := range scores {
		if total {
			s.Class = ""
		}
		i := slices.IndexFunc(sums, func(t SplitScore) bool {
			return t.Class == s.Class && t.Split == s.Split && t.Budget == s.Budget
		})
		if i < 0 {
			sums = append(sums, s)
			continue
		}
		t := &sums[i]
		t.Versions += s.Versions
		t.Captured += s.Captured
		t.First += s.First
		t.Visits += s.Visits
		t.Contested += s.Contested
		t.Pages += s.Pages
		t.Life += s.Life
		t.Found += s.Found
		t.Fresh += s.Fresh
		t.Half += s.Half
		t.Most += s.Most
		t.Sites += s.Sites
	}
	return sums
}
