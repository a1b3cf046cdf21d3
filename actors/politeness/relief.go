package politeness

import (
	"fmt"
	"math"
	"time"

	"henro/actors/revisit"
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
	// Optimal chooses all intervals anew so that the expected number of captured versions is largest.
	Optimal
)

// String returns the name that flags and reports use.
func (r Relief) String() string {
	return [...]string{"none", "stretch", "delay", "optimal", "unknown"}[min(r, Optimal+1)]
}

// ParseRelief reads such a name.
func ParseRelief(name string) (Relief, error) {
	for r := NoRelief; r <= Optimal; r++ {
		if r.String() == name {
			return r, nil
		}
	}
	return NoRelief, fmt.Errorf("politeness: no relief %q: there are none, stretch, delay, optimal", name)
}

// Plan is a relief with its numbers: it turns the interval that a page would have into the one it gets. It fits into the
// record of a host; each page follows when it is re-timed next.
type Plan struct {
	Relief Relief
	By     float64 // Stretch: l; Delay: d in seconds; Optimal: x, the number of changes expected between two visits
	Min    time.Duration
	Max    time.Duration // bounds of intervals; 0: none
}

// Interval returns the interval of a page whose timetable alone would visit it every t, and whose changes are estimated to
// come every mean (0: not known).
func (p Plan) Interval(t, mean time.Duration) time.Duration {
	relieved := t
	switch p.Relief {
	case Stretch:
		relieved = times(t, p.By)
	case Delay:
		relieved = times(time.Second, t.Seconds()+p.By)
	case Optimal:
		if mean > 0 {
			relieved = times(mean, p.By)
		} else {
			relieved = times(t, max(1, p.By))
		}
	default:
		return t
	}
	if p.Max > 0 {
		relieved = min(relieved, p.Max)
	}
	return max(relieved, p.Min)
}

// Cost compares a timetable with and without relief, in what is expected of Poisson pages.
type Cost struct {
	Load     float64       // visits per second that the timetable asks for
	Captured float64       // versions captured per second: Σ (1 − e^(−λT))/T
	Versions float64       // versions that come into being per second: Σ λ
	Lag      time.Duration // mean time from a change to the next visit: Σ λT/2 / Σ λ
}

// Share returns the share of versions that are captured, 1 when nothing changes.
func (c Cost) Share() float64 {
	if c.Versions == 0 {
		return 1
	}
	return c.Captured / c.Versions
}

// Price returns what plan makes of the pages counted in rates, whose timetable alone is T = clamp(aim/λ).
func Price(rates *revisit.Rates, aim float64, plan Plan) Cost {
	var c Cost
	var lag float64
	for i, n := range rates {
		if n == 0 {
			continue
		}
		mean := revisit.BinMean(i)
		t := plan.Interval(timetable(mean, aim, plan), mean).Seconds()
		pages, x := float64(n), t/mean.Seconds()
		c.Load += pages / t
		c.Captured -= pages * math.Expm1(-x) / t
		c.Versions += pages / mean.Seconds()
		lag += pages * x / 2
	}
	if c.Versions > 0 {
		c.Lag = times(time.Second, lag/c.Versions)
	}
	return c
}

func timetable(mean time.Duration, aim float64, plan Plan) time.Duration {
	t := max(times(mean, aim), plan.Min)
	if plan.Max > 0 {
		t = min(t, plan.Max)
	}
	return t
}

// Relieve returns the plan of the given kind that brings the pages counted in rates down to capacity visits per second,
// using all of it, and what that costs. aim is revisit.Options.Aim; low and high bound intervals (high 0: no bound).
// A host that bears its timetable gets a plan that changes nothing. When even the longest intervals are too many
// visits, they are exceeded: high is ignored and the plan carries no bound.
//
// The optimum is found with a Lagrange multiplier μ for a visit. A page visited f = 1/T times a second gives
//
//	g(f) = f·(1 − e^(−λ/f))      captured versions a second
//	g'(f) = 1 − (1 + x)·e^(−x)   with x = λ/f = λT: gain of one more visit a second
//
// g is concave, and g'(f) = μ says that x is the same for all pages: visit every page after the same number of expected
// changes, whatever its rate; where a bound forbids that, at the bound. (For freshness instead of versions the
// answer is another, Cho and Garcia-Molina's, that gives up on the fastest pages.) So the optimum and Stretch agree
// as far as T is proportional to 1/λ already; they part where T is at a bound, where Stretch keeps what the bound
// did. Delay is worse wherever rates differ: it takes visits from the pages where each is worth most.
func Relieve(kind Relief, rates *revisit.Rates, aim, capacity float64, low, high time.Duration) (Plan, Cost) {
	none := Plan{Relief: NoRelief, Min: low, Max: high}
	if before := Price(rates, aim, none); kind == NoRelief || before.Load <= capacity || !(capacity > 0) {
		return none, before
	}
	plan := Plan{Relief: kind, Min: low, Max: high}
	least, most := math.Log(1e-9), math.Log(1e18) // of By; the load falls as By grows
	if kind == Stretch {
		least = 0
	}
	plan.By = math.Exp(most)
	if Price(rates, aim, plan).Load > capacity {
		plan.Max = 0
	}
	for range 100 {
		mid := (least + most) / 2
		plan.By = math.Exp(mid)
		if Price(rates, aim, plan).Load > capacity {
			least = mid
		} else {
			most = mid
		}
	}
	plan.By = math.Exp(most)
	return plan, Price(rates, aim, plan)
}
