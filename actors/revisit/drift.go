package revisit

import "math"

// The estimator Drift follows the maximum of the likelihood (1) from visit to visit, in the letters
//
//	μ = ln(1/λ)     the parameter (a logarithm: errors of λ are factors, and the posterior is closer to a normal one)
//	x = t·e^(−μ)    an access interval in mean intervals of change
//
// The derivative of a visit's log-likelihood by μ is
//
//	changed          −x / (e^x − 1)
//	unchanged         x
//	last change known to lie a before the visit:   density λ·e^(−λa), so  a·e^(−μ) − 1
//
// and the Fisher information of a visit about μ is x²/(e^x − 1), 0.58 at x = 1 and 0.65 at most; 1 if a is known.
// Kept are μ and the information P gathered so far. A visit forgets (P ← f·P) and then moves μ to where
//
//	−P·(μ' − μ)²/2 + ln likelihood(visit | μ')
//
// is largest, which is the next step of a Kalman filter with the visit's true likelihood instead of a normal one. In
// the long run P = 0.58/(1−f), and the variance of μ is (1−f)/(1+f)/0.58: what an average of that length can reach. A
// prior is a start value of μ and P, so there are no singular cases: a page that never changed just moves on.
//
// The test for drift is Page's two-sided CUSUM: S⁺ sums ln of the ratio of likelihoods of λ·k to λ, and starts again
// when it falls below 0; S⁻ the same for λ/k. At |S| > h the estimate is given up: μ moves by 1.3 ln k, P falls to 1.5
// (three visits' worth), and eq. (4)'s values start afresh. One value holds both sums, since each rises while the other
// is at zero.
//
// Tried and dropped, in the terms of the package comment (sd of ln I; visits after ×10 and ÷10): forgetting 0.95 with k
// = 4, h = 5.5 (0.23; 15, 19: the test's false alarms add to a noise that is at its bound already); h = 4.5 (0.25; 16,
// 20: a false alarm in 320 visits), h = 3.5 (0.42); a move of ln k and P = 2 (0.20; 18, 21); k = 3 (0.17; 19, 22).

const (
	perVisit = 0.5820 // information of a visit at x = 1: 1/(e − 1)
	reset    = 1.5    // P after an alarm
	leap     = 1.3    // move of μ at an alarm, in ln k
	maxStep  = 1.5    // bound of one Newton step in μ
)

// observation is one visit in seconds.
type observation struct {
	gap, age float64 // age 0: unknown; gap 0: first visit, of which only the age is known
	changed  bool
}

// score returns the first derivative of ln likelihood(s | μ) by μ and the negative second.
func (s *observation) score(mu float64) (first, second float64) {
	switch {
	case s.age > 0:
		y := s.age * math.Exp(-mu)
		return y - 1, y
	case !s.changed:
		x := s.gap * math.Exp(-mu)
		return x, x
	}
	x := s.gap * math.Exp(-mu)
	if x > 300 {
		return 0, 0
	}
	if x < 1e-9 {
		return -1, 0
	}
	e := math.Expm1(x)
	return -x / e, x * (x*(e+1) - e) / (e * e)
}

// information returns the Fisher information of the visit at μ.
func (s *observation) information(mu float64) float64 {
	if s.age > 0 {
		return 1
	}
	x := s.gap * math.Exp(-mu)
	if x < 1e-9 || x > 300 {
		return 0
	}
	return x * x / math.Expm1(x)
}

// ratio returns ln of how much likelier k·λ makes the visit than λ = e^(−μ).
func (s *observation) ratio(mu, k float64) float64 {
	switch {
	case s.age > 0:
		return math.Log(k) - (k-1)*s.age*math.Exp(-mu)
	case !s.changed:
		return -(k - 1) * s.gap * math.Exp(-mu)
	}
	x := max(s.gap*math.Exp(-mu), 1e-12)
	return math.Log(math.Expm1(-k*x) / math.Expm1(-x))
}

// believe puts prior in the place of the general belief that a page begins with, and keeps what its age may have added.
func (h *History) believe(o *Options, prior Prior) {
	general, special := o.belief(Prior{}), o.belief(prior)
	mu, p := math.Log(o.PriorMean.Seconds()), general
	if h.Mean > 0 && h.Visits > 0 {
		mu, p = math.Log(float64(h.Mean)), max(float64(h.Visits), general)
	}
	sum := p*mu - general*math.Log(o.PriorMean.Seconds()) + special*math.Log(prior.mean(o))
	p += special - general
	h.Mean, h.Visits = float32(math.Exp(sum/p)), float32(p)
}

// belief returns the worth of a prior in visits.
func (o *Options) belief(prior Prior) float64 {
	spread := prior.spread(o)
	return 1 / (spread * spread) / perVisit
}

// mean returns 1/λ in seconds.
func (h *History) mean(o *Options) float64 {
	switch {
	case h.Mean > 0 && !math.IsInf(float64(h.Mean), 0):
		return float64(h.Mean)
	case h.Stable > 0 && h.Total > h.Stable && h.Changes > 0:
		// values of Equation4, from before the estimator was chosen: (3)
		return float64(h.Total-h.Stable) / float64(h.Changes) / math.Log(float64(h.Total)/float64(h.Stable))
	case h.Total > 0:
		return o.equation4(h)
	}
	return o.PriorMean.Seconds()
}

// follow moves μ, P and the drift test by one visit.
func (h *History) follow(o *Options, s observation) {
	if s.gap == 0 && s.age == 0 {
		return
	}
	mu, p := math.Log(h.mean(o)), float64(h.Visits)*perVisit
	if !(p > 0) {
		p = o.belief(Prior{}) * perVisit
	}
	if o.DriftThreshold > 0 && s.gap > 0 {
		up, down := s.ratio(mu, o.DriftFactor), s.ratio(mu, 1/o.DriftFactor)
		d := float64(h.Drifting)
		if d >= 0 {
			if d += up; d < 0 {
				d = -max(0, down)
			}
		} else if d -= down; d > 0 {
			d = max(0, up)
		}
		if math.Abs(d) > o.DriftThreshold {
			mu -= math.Copysign(leap*math.Log(o.DriftFactor), d)
			p = min(p, reset)
			if d = 0; o.Estimator == Drift {
				h.Total, h.Stable, h.ChangedMin, h.Changes = float32(s.gap), float32(s.gap), 0, 0
				if s.changed {
					h.Changes, h.ChangedMin, h.Stable = 1, float32(s.gap-s.age), float32(s.age)
				}
			}
		}
		h.Drifting = float32(d)
	}

	p *= o.Forget
	at := mu
	for range 12 { // Newton; the function is concave in μ'
		first, second := s.score(at)
		step := min(maxStep, max(-maxStep, (first-p*(at-mu))/(second+p)))
		at += step
		if math.Abs(step) < 1e-6 {
			break
		}
	}
	at = min(max(at, math.Log(1e-3)), math.Log(1e12))
	h.Mean = float32(math.Exp(at))
	h.Visits = float32((p + s.information(at)) / perVisit)
}
