package politeness

import (
	"cmp"
	"fmt"
	"math"
	"time"

	"henro/actors/revisit"
	"henro/actors/template"
)

// Relief names a way to bring a host's load index down to what it bears, at the cost of versions lost.
type Relief uint8

const (
	// NoRelief leaves the timetable as it is: pages wait in line, and what is lost is left to chance.
	NoRelief Relief = iota
	// Stretch multiplies every interval by one l: L becomes L/l, every page loses the same share of its visits.
	Stretch
	// Delay adds one span d to every interval: pages visited often lose most.
	Delay
	// Optimal chooses all intervals again so that the expected number of captured versions is largest.
	Optimal
	// Template chooses them as Optimal does, but by what the pages of one template have in common: what is believed of
	// a page is drawn to its group, not to its host. A sample of each group keeps its timetable.
	Template
)

// String returns the name that flags and reports use.
func (r Relief) String() string {
	return [...]string{"none", "stretch", "delay", "optimal", "template", "unknown"}[min(r, Template+1)]
}

// ParseRelief reads such a name.
func ParseRelief(name string) (Relief, error) {
	for r := NoRelief; r <= Template; r++ {
		if r.String() == name {
			return r, nil
		}
	}
	return NoRelief, fmt.Errorf("politeness: no relief %q: there are none, stretch, delay, optimal, template", name)
}

// Demand is what a host's pages ask for and what is believed of them.
type Demand struct {
	Rates    *revisit.Rates // pages by their estimated mean intervals
	Unknown  int            // pages that have no estimate yet: believed to be as the others
	Center   time.Duration  // the mean about which estimates lie: revisit.Prior.Center
	Trust    float64        // how far they foretell: revisit.Trust.Share, 1 for wholly
	Aim      float64        // revisit.Options.Aim: the timetable alone is T = Aim·mean
	Min, Max time.Duration  // bounds of intervals; Max 0: none

	Objective revisit.Objective // what Optimal shares visits out for
	Groups    *template.Groups  // of the pages, for Template; nil: none
}

// Plan is a relief with its numbers: it turns the interval that a page would have into the one it gets. It fits into
// the record of a host; each page follows when it is re-timed next.
type Plan struct {
	Relief Relief
	// Stretch: l; Delay: d in seconds; Optimal: that of revisit.Objective.Interval, for Versions the changes believed
	// to come between two visits; Template: that too
	By       float64
	Even     time.Duration // Optimal, Template: the interval of all pages if they shared the capacity alike
	Center   time.Duration // Optimal, Template: as in Demand; for a page of a group that of its group
	Trust    float64       // Optimal, Template: as in Demand
	Bound    bool          // the timetable alone asks for more than the capacity
	Min, Max time.Duration

	Objective revisit.Objective // Optimal: as in Demand
	Sample    int               // Template: pages of a group that keep their timetable
}

// growth is how much longer than the last interval, or than the even one, Optimal may make an interval: one bad
// estimate then costs one page's fair share, not years.
const growth = 1.5

// rarest is how many times longer than the even interval Optimal may make one for freshness or age: a page that seems
// not to be worth its visits is looked at now and then, in case it has calmed down.
const rarest = 20

// best returns the interval of a page that is believed to change every mean.
func (p *Plan) best(mean time.Duration) time.Duration {
	t := p.Objective.Interval(mean, p.By)
	if p.Objective != revisit.Versions {
		t = min(t, times(p.Even, rarest))
	}
	return t
}

// sampled is how many pages of a group keep their timetable under Template, unless that takes more than sampledShare of
// the visits: then half as many, or half of these.
const (
	sampled      = 16
	sampledShare = 0.03
)

// fair returns the interval of a page without an estimate, for freshness or age: on a host that does not bear its
// timetable its fair share, since there is nothing that visits could be shared out by and a page that waits for longer
// costs most; else its first interval, if that is not longer. The load of such pages is that of what is believed of
// them, so that a plan made before anything was known shares out visits too.
func (p *Plan) fair(first time.Duration) time.Duration {
	if p.Bound {
		return p.Even
	}
	return min(first, p.Even)
}

// Interval returns the interval of a page whose timetable alone would visit it every t, whose changes are estimated to
// come every mean (0: not known), and whose last interval was last (0: none).
func (p Plan) Interval(t, mean, last time.Duration) time.Duration {
	relieved := t
	switch p.Relief {
	case Stretch:
		relieved = times(t, p.By)
	case Delay:
		relieved = times(time.Second, t.Seconds()+p.By)
	case Optimal:
		best := p.best(revisit.Believe(mean, p.Center, p.Trust))
		if mean <= 0 && p.Objective != revisit.Versions {
			best = p.fair(t)
		}
		relieved = min(best, times(max(last, p.Even), growth))
	case Template: // what the group bears is known by more than one estimate, so it is no risk
		relieved = min(p.best(revisit.Believe(mean, p.Center, p.Trust)),
			times(max(last, p.Even), growth))
	default:
		return t
	}
	if p.Max > 0 {
		relieved = min(relieved, p.Max)
	}
	return max(relieved, p.Min)
}

// Cost compares timetables, in what is expected of Poisson pages of the believed rates.
type Cost struct {
	Load     float64       // visits per second that the timetable asks for
	Captured float64       // versions captured per second: Σ (1 − e^(−λT))/T
	Versions float64       // versions that come into being per second: Σ λ
	Lag      time.Duration // mean time from a change to the next visit: Σ λT/2 / Σ λ
	Pages    float64
	Fresh    float64 // pages that are as they were captured: Σ (1 − e^−x)/x, x = λT
	Age      float64 // seconds since the capture of a page ceased to be current: Σ T·(1/2 − 1/x + (1 − e^−x)/x²)
}

// Share returns the share of versions that are captured, 1 when nothing changes.
func (c Cost) Share() float64 {
	if c.Versions == 0 {
		return 1
	}
	return c.Captured / c.Versions
}

// FreshShare returns the share of pages that are as they were captured, 1 when there are none.
func (c Cost) FreshShare() float64 {
	if c.Pages == 0 {
		return 1
	}
	return c.Fresh / c.Pages
}

// MeanAge returns the mean time since the capture of a page ceased to be current, 0 for those that are.
func (c Cost) MeanAge() time.Duration { return times(time.Second, c.Age/max(1, c.Pages)) }

// group is pages of one estimate, and of one template if these are asked for.
type group struct {
	pages                     float64
	timetable, mean, believed time.Duration
	sample                    bool // keeps its timetable, whatever the relief
}

// groups returns the pages of a demand by estimate, so many of each template apart that keep their timetable.
func (d *Demand) groups(sample int) []group {
	var all []group
	add := func(pages float64, mean, center time.Duration, sample bool) {
		if pages <= 0 {
			return
		}
		g := group{pages: pages, mean: mean, believed: revisit.Believe(mean, center, d.Trust), sample: sample}
		g.timetable = max(times(cmp.Or(mean, center), d.Aim), d.Min)
		if d.Max > 0 {
			g.timetable = min(g.timetable, d.Max)
		}
		all = append(all, g)
	}
	others, unknown := *d.Rates, float64(d.Unknown)
	for _, t := range d.Groups.All() {
		center, left := t.Center(d.Center), float64(t.Pages)
		share := float64(t.Representatives(sample)) / max(1, left)
		part := func(pages float64, mean time.Duration) {
			left -= pages
			add(pages*share, mean, center, true)
			add(pages*(1-share), mean, center, false)
		}
		for i, n := range t.Rates {
			if n > 0 {
				part(float64(n), revisit.BinMean(i))
				others[i] -= min(n, others[i])
			}
		}
		unknown -= left
		part(left, 0)
	}
	for i, n := range others {
		if n > 0 {
			add(float64(n), revisit.BinMean(i), d.Center, false)
		}
	}
	add(unknown, 0, d.Center, false)
	return all
}

// relieved returns the interval of the pages of a group.
func (g *group) relieved(p Plan) time.Duration {
	if g.sample {
		return g.timetable
	}
	if p.Relief == Optimal || p.Relief == Template { // as Plan.Interval, without asking for the belief again
		t := p.best(g.believed)
		if p.Max > 0 {
			t = min(t, p.Max)
		}
		return max(t, p.Min)
	}
	return p.Interval(g.timetable, g.mean, 0)
}

// load returns the visits per second that groups ask for under a plan.
func load(groups []group, p Plan) float64 {
	sum := 0.0
	for i := range groups {
		sum += groups[i].pages / groups[i].relieved(p).Seconds()
	}
	return sum
}

// Price returns what plan makes of the demand.
func Price(d Demand, plan Plan) Cost {
	var lag float64
	groups := d.groups(plan.Sample)
	c := Cost{Load: load(groups, plan)}
	for i := range groups {
		g := &groups[i]
		t := g.relieved(plan).Seconds()
		x := t / g.believed.Seconds()
		c.Captured -= g.pages * math.Expm1(-x) / t
		c.Versions += g.pages / g.believed.Seconds()
		lag += g.pages * x / 2
		c.Pages += g.pages
		fresh := 1.0
		if x > 0 {
			fresh = -math.Expm1(-x) / x
		}
		c.Fresh += g.pages * fresh
		if x > 1e-3 { // x/6 of T, below which the terms cancel out
			c.Age += g.pages * t * (1./2 - (1-fresh)/x)
		} else {
			c.Age += g.pages * t * x / 6
		}
	}
	if c.Versions > 0 {
		c.Lag = times(time.Second, lag/c.Versions)
	}
	return c
}

// Relieve returns the plan of the given kind that brings a host's demand down to capacity visits per second, and what
// that costs. A host that bears its timetable gets a plan that changes nothing, unless the objective is another than
// Versions: then the visits that the timetable asks for are shared out for that.
//
// Versions are to be captured, as many as possible. A page visited f = 1/T times a second gives
//
//	g(f) = f·(1 − e^(−λ/f))      captured versions a second
//	g'(f) = 1 − (1 + x)·e^(−x)   with x = λ/f = λT: gain of one more visit a second
//
// g is concave, so with a Lagrange multiplier μ for a visit the best f has g'(f) = μ, and that says that x is the same
// for all pages: visit each after the same number of expected changes, whatever its rate, and where a bound forbids
// that, at the bound. (For freshness or age instead of versions the answers are others: revisit.Objective.) So if rates
// were known, the optimum and Stretch would differ only where T is at a bound. They are not known: λ here is the
// believed rate, which the host's track record draws together (revisit.Trust). That is what makes the difference on
// real histories: see docs/measured/revisit.md. Delay draws intervals together too, but as much on every host, and only
// those of the fastest pages.
func Relieve(kind Relief, d Demand, capacity float64) (Plan, Cost) {
	none := Plan{Relief: NoRelief, Min: d.Min, Max: d.Max}
	before := Price(d, none)
	shared := kind == Optimal && d.Objective != revisit.Versions
	if !(capacity > 0) || !shared && before.Load <= capacity {
		return none, before
	}
	if shared {
		capacity = min(capacity, before.Load)
	}
	plan := Fit(kind, d, capacity)
	return plan, Price(d, plan)
}

// Fit returns the plan of the given kind that uses all of capacity, whether that is more than the timetable alone asks
// for or less. Delay never shortens intervals. When even the longest intervals are too many visits, they are exceeded:
// the plan has no bound then.
func Fit(kind Relief, d Demand, capacity float64) Plan {
	plan := Plan{Relief: kind, Min: d.Min, Max: d.Max, Center: d.Center, Trust: d.Trust, By: 1,
		Objective: d.Objective}
	pages := float64(d.Rates.Pages() + d.Unknown)
	if kind == NoRelief || !(capacity > 0) || pages == 0 {
		return Plan{Relief: NoRelief, Min: d.Min, Max: d.Max}
	}
	plan.Even = times(time.Second, pages/capacity)
	least, most := math.Log(1e-9), math.Log(1e18) // of By; the load falls as By grows
	if kind == Template {
		plan.Sample = d.sample(capacity)
	}
	groups := d.groups(plan.Sample)
	plan.Bound = load(groups, Plan{Min: d.Min, Max: d.Max}) > capacity
	plan.By = math.Exp(most)
	if load(groups, plan) > capacity {
		plan.Max = 0
	}
	for range 40 { // to 10⁻¹⁰ of By
		mid := (least + most) / 2
		plan.By = math.Exp(mid)
		if load(groups, plan) > capacity {
			least = mid
		} else {
			most = mid
		}
	}
	plan.By = math.Exp(most)
	return plan
}

// sample returns how many pages of each template may keep their timetable.
func (d *Demand) sample(capacity float64) int {
	n := sampled
	for ; n > 0; n /= 2 {
		visits := 0.0
		for _, g := range d.groups(n) {
			if g.sample {
				visits += g.pages / g.timetable.Seconds()
			}
		}
		if visits <= sampledShare*capacity {
			break
		}
	}
	return n
}
