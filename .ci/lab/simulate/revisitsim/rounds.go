package revisitsim

import (
	"math"
	"slices"

	"henro/actors/revisit"
)

// rounds is drift+optimal on a clock of activity: time passes as fast as changes come. Pages of documentation change in
// releases, so a page is due after so many changes of its folder, and not after so many days. A visit that finds a
// change says that the clock of its folder and of its site ran since the visit before, one that finds none that it
// stood still. Pages of the folder that were last seen before that come first, and all others wait: a round behind a
// release.
//
// The clock of a folder, g, is the rate of its changes in multiples of what the estimates of its pages expect, constant
// within a span of time: a round through the site has a hundred. Each visit adds to the spans of its gap what it
// expected to find there, and of a change the expected number of changes by (1) with g as far as it is known. What is
// believed beforehand, the site as usual and the folder as its site, weighs so many changes:
//
//	g = (folder·g_site + changes) / (folder + expected)    g_site = (site + changes) / (site + expected)
//
// How far the clock is believed, and the calendar for the rest, is weighed by how likely either made what visits found,
// as revisit.Trust weighs its κ, or said beforehand (clock).
type rounds struct {
	*henro
	site             *clock
	folders          []*clock // by page; nil for the only page of its folder
	bySite, byFolder float64  // what beliefs weigh
	clock            float64  // how far the clock is believed; below 0: as the record says

	spans  []float64 // moments at which spans begin
	fit    [5]float64
	pages  []int32   // known, and not known to be gone
	since  []float64 // by page: latest visit
	span   []int32   // by page: its span
	scale  []float64 // by page: interval by drift+optimal
	visits int
}

// clock is what visits of a folder, or of a site, tell of each span.
type clock struct {
	from              int // the first span
	expected, changes []float64
	asked, oldest     int       // span in which passed was reckoned, and of the latest visits of its pages the oldest
	passed            []float64 // until now, from the beginning of the latest span, and of the spans before it
}

const spansOfRound = 100

func newRounds(w *world, c constants) policy {
	n := len(w.site.Pages)
	p := &rounds{henro: newHenro(w, byDefault, nil), site: &clock{}, folders: make([]*clock, n), bySite: c["site"],
		byFolder: c["folder"], clock: c["clock"], since: make([]float64, n), span: make([]int32, n),
		scale: make([]float64, n)}
	pages, clocks := map[string]int{}, map[string]*clock{}
	for i := range w.site.Pages {
		pages[folderOf(w.site.Pages[i].Name)]++
	}
	for i := range w.site.Pages {
		name := folderOf(w.site.Pages[i].Name)
		if pages[name] > 1 && clocks[name] == nil {
			clocks[name] = &clock{from: -1, asked: -1}
		}
		p.folders[i] = clocks[name]
	}
	return p
}

// note adds to a span.
func (c *clock) note(span int, expected, changes float64) {
	if c.from < 0 {
		c.from = span
	}
	if span < c.from {
		return
	}
	for len(c.expected) <= span-c.from {
		c.expected, c.changes = append(c.expected, 0), append(c.changes, 0)
	}
	c.expected[span-c.from] += expected
	c.changes[span-c.from] += changes
}

func (c *clock) rate(span int, before, weight float64) float64 {
	if i := span - c.from; c.from >= 0 && i >= 0 && i < len(c.expected) {
		return (weight*before + c.changes[i]) / (weight + c.expected[i])
	}
	return before
}

// rate returns g of a span.
func (p *rounds) rate(c *clock, span int) float64 {
	g := p.site.rate(span, 1, p.bySite)
	if c != nil {
		g = c.rate(span, g, p.byFolder)
	}
	return g
}

// length returns how much of a span lies between two moments.
func (p *rounds) length(span int, from, to float64) float64 {
	if span+1 < len(p.spans) {
		to = min(to, p.spans[span+1])
	}
	return max(0, to-max(from, p.spans[span]))
}

// share returns how far the clock is believed.
func (p *rounds) share() float64 {
	var sum, weighed float64
	best := slices.Max(p.fit[:])
	for i, ln := range p.fit {
		w := math.Exp(ln - best)
		sum += w
		weighed += w * float64(i) / float64(len(p.fit)-1)
	}
	return weighed / sum
}

// tell has the clocks of a page know what a visit found.
func (p *rounds) tell(v visit) {
	center := p.prior.Center(&p.o)
	mean := revisit.Believe(p.mean[v.page], center, p.trust.Share()).Seconds()
	c, from, first, last := p.folders[v.page], v.at-v.gap, int(p.span[v.page]), len(p.spans)-1
	passed := 0.0
	for span := first; span <= last; span++ {
		passed += p.length(span, from, v.at) * p.rate(c, span)
	}
	best := math.Inf(-1)
	for i := range p.fit {
		share := float64(i) / float64(len(p.fit)-1)
		x := min(max((share*passed+(1-share)*v.gap)/mean, 1e-6), 30)
		ln := -x
		if v.changed {
			ln = math.Log(-math.Expm1(-x))
		}
		p.fit[i] = p.fit[i]*0.9995 + ln
		best = max(best, p.fit[i])
	}
	for i := range p.fit {
		p.fit[i] -= best
	}
	for span := first; span <= last; span++ {
		expected, changes := p.length(span, from, v.at)/mean, 0.0
		if v.changed { // of the changes of the gap, which are x/(1 − e^−x)
			changes = min(expected*p.rate(c, span)/-math.Expm1(-max(passed/mean, 1e-9)), 1)
		}
		p.site.note(span, expected, changes)
		if c != nil {
			c.note(span, expected, changes)
		}
	}
}

func (p *rounds) next(v visit) float64 {
	switch {
	case v.gap > 0:
		p.tell(v)
	case len(p.spans) == 0:
		p.spans = append(p.spans, v.at)
		fallthrough
	default:
		p.pages = append(p.pages, int32(v.page))
	}
	p.since[v.page], p.span[v.page] = v.at, int32(len(p.spans)-1)
	p.scale[v.page] = p.henro.next(v)
	return p.scale[v.page]
}

// retime has all pages due by their clocks once in a span, when it begins another.
func (p *rounds) retime(now float64, due []float64) bool {
	if p.visits++; p.visits < len(p.pages)/spansOfRound || now <= p.spans[len(p.spans)-1] {
		return false
	}
	p.visits = 0
	p.pages = slices.DeleteFunc(p.pages, func(page int32) bool { return due[page] < 0 })
	last := len(p.spans) - 1
	clocks := []*clock{p.site}
	p.site.oldest = last
	for _, page := range p.pages {
		c := p.folders[page]
		if c == nil {
			c = p.site
		} else if c.asked != last {
			c.oldest, c.asked = last, last
			clocks = append(clocks, c)
		}
		c.oldest = min(c.oldest, int(p.span[page]))
	}
	for _, c := range clocks {
		c.passed = c.passed[:0]
		own, sum := c, 0.0
		if c == p.site {
			own = nil
		}
		for span := last; span >= c.oldest; span-- {
			sum += p.length(span, 0, now) * p.rate(own, span)
			c.passed = append(c.passed, sum)
		}
	}
	share := p.clock
	if share < 0 {
		share = p.share()
	}
	for _, page := range p.pages {
		c, span := p.folders[page], int(p.span[page])
		read := p.site
		if c != nil {
			read = c
		}
		passed := read.passed[last-span] - (p.since[page]-p.spans[span])*p.rate(c, span)
		left := p.scale[page] - share*passed - (1-share)*(now-p.since[page])
		due[page] = max(now+left, 0)
	}
	p.spans = append(p.spans, now)
	return true
}
