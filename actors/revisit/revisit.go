// Package revisit decides when a page is due again, from what earlier visits of it found.
//
// The idea is that of the incremental crawler of Tamura and Kitsuregawa [1]: the changes of a page are a Poisson
// process of rate λ; a visit sees only whether there was at least one since the visit before; the best moment for the
// next visit is about one mean interval 1/λ after the last, since an earlier one fetches the same page again and a
// later one loses versions. Visits are irregular, because the interval follows the estimate.
//
// With tc_i the access intervals that ended in a detected change and tu_j those that did not, the likelihood is
//
//	Π (1 − e^(−λ tc_i)) · Π e^(−λ tu_j)                          (1)
//
// and its maximum satisfies
//
//	Σ tc_i / (e^(λ tc_i) − 1) = Σ tu_j                           (2)
//
// which needs every interval (revisittest.MLE). With one representative t̄c for all tc_i it can be solved:
//
//	1/λ ≈ t̄c / ln(T_total / T_stable)    0 < T_stable < T_total  (4)
//
// where T_stable = Σ tu_j, T_total = Σ tu_j + Σ tc_i, and t̄c is the geometric mean of the smallest tc_i and of their
// average (T_total − T_stable)/m. That is the estimator Equation4 here: four running values.
//
// It is not the default, because a cumulative estimator does not follow a page that changes its habits, and one that
// forgets as fast as it should follow is too noisy. Measured in virtual visits on pages with known λ (TestEstimators;
// the rows of the average t̄c were tried and not kept; "re-adapts" is the number of visits until the mean of ln I is
// within 0.2 of the truth):
//
//	                               bias     sd of ln I   re-adapts after ×10, ÷10
//	(4), nothing forgotten        −22 %        0.20          > 60, > 60
//	(4), forgetting 0.97           −8 %        0.17          > 60, > 60
//	(4), forgetting 0.95           −9 %        0.22            43, > 60
//	(4), forgetting 0.90          −12 %        0.31            22,   60
//	t̄c = average, forgetting 0.95   0 %        0.21          > 60,   39
//	t̄c = average, forgetting 0.90  −1 %        0.30            37,   21
//	Drift without its test         −2 %        0.16          > 60, > 60
//	Drift                          −2 %        0.18            16,   18
//
// (The bias of (4) is that of the geometric mean: the smallest of many tc_i keeps falling.) Drift, the default, keeps
// two values of the same likelihood, its maximum and its curvature, and one of a test whether the page still
// keeps to it; see drift.go.
//
// Invariants:
//   - Next returns between Options.Min and Options.Max, whatever a History holds.
//   - The running values never need the list of earlier visits, and are the same for the same visits: no clock is read.
//   - A page whose estimate exceeds Max is visited nevertheless, after a random time between ¾ Max and Max: hosts
//     vanish.
//
// [1] Design and implementation of an incremental crawler for large scale web archives, §3.
package revisit

import (
	"fmt"
	"math"
	"math/rand/v2"
	"time"
)

// Estimator names a way to get 1/λ from the running values.
type Estimator uint8

const (
	// Drift follows the maximum of the likelihood (1) and tests for a change of λ.
	Drift Estimator = iota
	// Equation4 is eq. (4) of the paper with its singular cases, on values forgotten with Options.Forget.
	Equation4
)

// Options are the choices of a timetable. Take DefaultOptions and change fields.
type Options struct {
	// Estimator gives 1/λ. Default Drift, for the reasons in the package comment.
	Estimator Estimator
	// Aim is T·λ, the revisit interval in mean intervals of change. Default 1, as in the paper: 63 % of visits find a
	// change. Smaller loses fewer versions for more requests.
	Aim float64
	// Objective is what the visits that Aim asks for, or that a host bears if these are fewer, are shared out for.
	// Default Versions.
	Objective Objective
	// Min is the shortest revisit interval. Default 10 minutes: in the second paper's archive 2 % of the pages were due
	// within the hour, 0.03 % within the minute. A crawl may have a minute, which is what the time queue resolves.
	Min time.Duration
	// Max is the longest. Default 400 days. A longer interval is replaced by a random one from three quarters of it to
	// all, 300 to 400 days.
	Max time.Duration
	// FirstMin and FirstMax bound the random interval after the first visit, when nothing is known of the page
	// or its host. Default 1 to 14 days.
	FirstMin, FirstMax time.Duration
	// Forget is the weight that a visit keeps per later visit, 1 for never forgetting. Default 0.97 for Drift, which
	// bounds the sd of ln I to √((1−f)/(1+f)/0.58) = 0.16; 0.9 for Equation4.
	Forget float64
	// BackOff and SpeedUp are the factors of the singular cases of Equation4: a page that never changed is visited
	// after BackOff times its last interval, one that always changed after SpeedUp times. Default 2 and 0.5.
	BackOff, SpeedUp float64
	// PriorMean and PriorSpread (sd of its logarithm) are what is believed of a page on an unknown host. Default 30
	// days and 2: the median page of 23 change histories changes every 30 days, and the middle two thirds lie within
	// e^±2 of it.
	PriorMean   time.Duration
	PriorSpread float64
	// DriftFactor k and DriftThreshold h: the estimate is dropped when λ·k or λ/k has become e^h times as likely as λ
	// over the latest visits. Default 4 and 6.5, a false alarm in 4,000 visits; drift.go says what else was tried.
	// Threshold 0 turns the test off.
	DriftFactor, DriftThreshold float64
	// Near is how many bits of SimHash may differ for a change that does not count. Default 3 of 64.
	Near int
}

const day = 24 * time.Hour

// tail is the share of Max from which on the interval of a page beyond Max is drawn.
const tail = 0.75

// DefaultOptions returns the timetable of a crawl without options.
func DefaultOptions() Options {
	return Options{Estimator: Drift, Aim: 1,
		Min: 10 * time.Minute, Max: 400 * day, FirstMin: day, FirstMax: 14 * day,
		Forget: 0.97, BackOff: 2, SpeedUp: 0.5, PriorMean: 30 * day, PriorSpread: 2,
		DriftFactor: 4, DriftThreshold: 6.5, Near: 3}
}

// Validate reports the first field that makes no sense.
func (o *Options) Validate() error {
	switch {
	case o.Estimator > Equation4:
		return fmt.Errorf("revisit: unknown estimator %d", o.Estimator)
	case int(o.Objective) >= len(objectives):
		return fmt.Errorf("revisit: unknown objective %d", o.Objective)
	case !(o.Aim > 0 && o.Aim <= 100):
		return fmt.Errorf("revisit: aim %v outside (0, 100]", o.Aim)
	case o.Min < time.Second || o.Max <= o.Min:
		return fmt.Errorf("revisit: interval from %v to %v: at least one second, and the bounds in order", o.Min, o.Max)
	case o.FirstMin < 0 || o.FirstMax < o.FirstMin || o.FirstMax == 0:
		return fmt.Errorf("revisit: first interval from %v to %v", o.FirstMin, o.FirstMax)
	case !(o.Forget > 0 && o.Forget <= 1):
		return fmt.Errorf("revisit: forgetting factor %v outside (0, 1]", o.Forget)
	case !(o.BackOff > 1) || !(o.SpeedUp > 0 && o.SpeedUp < 1):
		return fmt.Errorf("revisit: back-off %v must be above 1, speed-up %v between 0 and 1", o.BackOff, o.SpeedUp)
	case o.PriorMean <= 0 || !(o.PriorSpread > 0):
		return fmt.Errorf("revisit: prior %v with spread %v", o.PriorMean, o.PriorSpread)
	case !(o.DriftThreshold >= 0) || o.DriftThreshold > 0 && !(o.DriftFactor > 1):
		return fmt.Errorf("revisit: drift factor %v must be above 1, threshold %v not below 0", o.DriftFactor,
			o.DriftThreshold)
	case o.Near < 0 || o.Near > 64:
		return fmt.Errorf("revisit: %d bits of a SimHash", o.Near)
	}
	return nil
}

// History is what is kept of all visits of one page. Spans are seconds. The zero value is a page never visited.
type History struct {
	Interval   float32 // T: the revisit interval chosen last
	Total      float32 // T_total: all access intervals, forgotten with Options.Forget
	Stable     float32 // T_stable: those that ended without a change
	ChangedMin float32 // tc_min: the shortest that ended with one, drawn to their average as it is forgotten
	Changes    float32 // m: how many ended with a change
	Visits     float32 // what the visits tell, in visits at T = 1/λ: the curvature of the likelihood ÷ 0.58
	Mean       float32 // 1/λ as Drift follows it; 0 before the first visit
	Drifting   float32 // the drift test: above 0 evidence for faster changes, below for slower
}

// Visit is what one visit of a page found.
type Visit struct {
	Gap     time.Duration // since the visit before; 0 at the first
	Changed bool          // whether the page changed significantly in between (see Judge)
	// Age is the time since the server's Last-Modified, 0 when there is none that can be trusted. It dates when in the
	// gap the last change came, and at a first visit how quiet the page has been.
	Age time.Duration
	// Waited: the visit was made because a hint announced a change, and there was one. Then the gap was the time that
	// the change took to come, of density λ·e^(−λ·gap): taken for a visit at a moment of our own choosing, every such
	// page would seem to change ever faster.
	Waited bool
}

// Visited takes a visit gap after the one before into account.
func (h *History) Visited(o *Options, gap time.Duration, changed bool) {
	h.Saw(o, Visit{Gap: gap, Changed: changed})
}

// Saw takes a visit into account. A Last-Modified that contradicts what was seen (in the future, before the gap
// although something changed, within it although nothing did) is not used.
func (h *History) Saw(o *Options, v Visit) {
	t, a := v.Gap.Seconds(), v.Age.Seconds()
	if !(t > 0) {
		h.follow(o, observation{age: max(a, 0), changed: false})
		return
	}
	s := observation{gap: t, changed: v.Changed}
	// Ages below 1 % of the gap are left out: most are pages made at the moment of asking.
	if v.Changed && a > t/100 && a < t {
		s.age = a
	}
	stable := s.age // the part of the gap after its last change
	if v.Changed && v.Waited {
		s.age, stable = t-s.age, 0
	}

	f := o.Forget
	h.Total, h.Stable, h.Changes = h.Total*float32(f), h.Stable*float32(f), h.Changes*float32(f)
	h.Total += float32(t)
	if v.Changed {
		// The last change splits the gap: before it something changed, after it nothing did.
		tc := t - stable
		h.Stable += float32(stable)
		h.Changes++
		switch avg := float64(h.Total-h.Stable) / float64(h.Changes); {
		case h.ChangedMin == 0 || tc < float64(h.ChangedMin):
			h.ChangedMin = float32(tc)
		case avg > float64(h.ChangedMin):
			// a minimum has no sum to fade out of: let it rise to the average at the same rate
			h.ChangedMin = float32(math.Exp(f*math.Log(float64(h.ChangedMin)) + (1-f)*math.Log(avg)))
		}
	} else {
		h.Stable += float32(t)
	}
	h.follow(o, s)
}

// Known reports whether anything but beliefs stands behind an estimate.
func (h *History) Known() bool { return h.Total > 0 }

// Estimate returns the mean interval between changes, 1/λ, as far as the visits of this page tell it; 0 when it was
// visited less than twice.
func (o *Options) Estimate(h *History) time.Duration {
	if !h.Known() {
		return 0
	}
	if o.Estimator == Equation4 {
		return span(o.equation4(h))
	}
	return span(h.mean(o))
}

// equation4 returns 1/λ in seconds by eq. (4), and in its singular cases by what the last interval suggests.
func (o *Options) equation4(h *History) float64 {
	total, stable, last := float64(h.Total), float64(h.Stable), float64(h.Interval)
	if last <= 0 {
		last = total
	}
	const least = 1e-4 // what forgetting leaves of a time counts as nothing
	switch {
	case total-stable <= least*total: // never changed
		return last / o.Aim * o.BackOff
	case stable <= least*total: // changed at every visit
		return last / o.Aim * o.SpeedUp
	}
	average := (total - stable) / float64(h.Changes)
	tc := math.Sqrt(float64(h.ChangedMin) * average)
	return tc / math.Log(total/stable)
}

// Next returns the interval until the next visit and notes it in h. prior is what the host's other pages suggest: it is
// taken into account once, after the first visit. rnd decides the first interval and those beyond Max.
func (o *Options) Next(h *History, prior Prior, rnd *rand.Rand) time.Duration {
	var t time.Duration
	switch {
	case h.Known():
		t = span(o.Aim * o.Estimate(h).Seconds())
	default:
		if h.Interval == 0 {
			h.believe(o, prior)
		}
		t = o.first(h, rnd)
	}
	switch {
	case t < o.Min:
		t = o.Min
	case t > o.Max:
		t = span(between(max(o.Min.Seconds(), o.Max.Seconds()*tail), o.Max.Seconds(), rnd))
	}
	h.Interval = float32(t.Seconds())
	return t
}

// first draws the interval after the first visit uniformly from FirstMin to FirstMax; when the host's other pages or
// the page's own age tell something, from half to one and a half times what they suggest.
func (o *Options) first(h *History, rnd *rand.Rand) time.Duration {
	if h.Visits == 0 || h.Visits == float32(o.belief(Prior{})) {
		return span(between(o.FirstMin.Seconds(), o.FirstMax.Seconds(), rnd))
	}
	mean := o.Aim * h.mean(o)
	return span(between(mean/2, mean*3/2, rnd))
}

// between draws uniformly from low to high.
func between(low, high float64, rnd *rand.Rand) float64 {
	return low + rnd.Float64()*(high-low)
}

// span turns seconds into a duration, whatever they are.
func span(seconds float64) time.Duration {
	switch {
	case !(seconds > 0):
		return 0
	case seconds >= math.MaxInt64/1e9:
		return math.MaxInt64
	}
	return time.Duration(seconds * 1e9)
}
