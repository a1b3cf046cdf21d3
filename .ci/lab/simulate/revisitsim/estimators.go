package revisitsim

import (
	"math"

	"henro/actors/revisit/revisittest"
)

// An Estimator follows the rate of change of one page by a rule of the literature, from visits that tell only whether
// the page changed since the visit before.
type Estimator interface {
	// Saw takes a visit into account, gap seconds after the one before.
	Saw(gap float64, changed bool)
	// Mean returns the estimated mean time between changes in seconds; 0 before the first visit.
	Mean() float64
}

// Estimators returns a new value of every rule, by name.
func Estimators() map[string]func() Estimator {
	return map[string]func() Estimator{
		"naive":                func() Estimator { return &chogm{naive: true} },
		"cho-garcia-molina":    func() Estimator { return &chogm{} },
		"lambdacrawl":          func() Estimator { return &smoothedMLE{window: window} },
		"avrachenkov-lln":      func() Estimator { return &lln{} },
		"avrachenkov-sa":       func() Estimator { return &sa{exponent: 0.75} },
		"avrachenkov-momentum": func() Estimator { return &sa{momentum: true, exponent: 0.75} },
	}
}

// chogm is the estimator of Cho and Garcia-Molina, Estimating Frequency of Change (ACM TOIT 2003): of n visits, X found
// a change, I apart. The naive one is λ = X/(n·I); the one whose bias is reduced
//
//	λ = −ln((n − X + 0.5)/(n + 0.5)) / I
//
// for which I is here the mean of the gaps.
type chogm struct {
	naive           bool
	n, changed, all float64
}

func (e *chogm) Saw(gap float64, changed bool) {
	e.n++
	e.all += gap
	if changed {
		e.changed++
	}
}

func (e *chogm) Mean() float64 {
	if e.n == 0 {
		return 0
	}
	if e.naive {
		return e.all / max(e.changed, 0.5) // a page that never changed would never be visited again
	}
	x := -math.Log((e.n - e.changed + 0.5) / (e.n + 0.5))
	if x == 0 { // nothing changed: as if half a change had been found
		x = -math.Log(e.n / (e.n + 0.5))
	}
	return e.all / e.n / x
}

// smoothedMLE is the estimator with which LambdaCrawl learns rates (Kolobov et al., Staying up to Date with Online
// Content Changes Using Reinforcement Learning for Scheduling, NeurIPS 2019): the maximum of the likelihood, eq. (2)
// of package revisit, with one more interval that ended with a change and one that did not, so that it is never 0 or
// infinite. Theirs are half a time unit of their data long; here, where pages of minutes and of years stand side by
// side, half a mean gap of the page. It keeps the latest 20 gaps.
type smoothedMLE struct {
	window  int
	gaps    []float64
	changed []bool
}

func (e *smoothedMLE) Saw(gap float64, changed bool) {
	if len(e.gaps) == e.window {
		e.gaps, e.changed = append(e.gaps[:0], e.gaps[1:]...), append(e.changed[:0], e.changed[1:]...)
	}
	e.gaps, e.changed = append(e.gaps, gap), append(e.changed, changed)
}

func (e *smoothedMLE) Mean() float64 {
	if len(e.gaps) == 0 {
		return 0
	}
	var kinds [2][]float64 // unchanged, changed
	all := 0.0
	for i, gap := range e.gaps {
		all += gap
		kind := 0
		if e.changed[i] {
			kind = 1
		}
		kinds[kind] = append(kinds[kind], gap)
	}
	half := all / float64(len(e.gaps)) / 2
	return revisittest.MLE(append(kinds[1], half), append(kinds[0], half))
}

// lln is the estimator by the law of large numbers of Avrachenkov, Patil and Thoppe, Online Algorithms for Estimating
// Change Rates of Web Pages (VALUETOOLS 2020): a page crawled at rate p has changed since the visit before
// with probability λ/(λ + p), so
//
//	λ = p·ΣI / (k + α − ΣI)    α = 1
//
// It is made for visits at exponentially distributed gaps. p is here the rate of the visits made.
type lln struct{ k, changed, all float64 }

func (e *lln) Saw(gap float64, changed bool) {
	e.k++
	e.all += gap
	if changed {
		e.changed++
	}
}

func (e *lln) Mean() float64 {
	if e.k == 0 {
		return 0
	}
	return (e.k + 1 - e.changed) / max(e.changed, 0.5) * e.all / e.k
}

// sa is their estimator by stochastic approximation,
//
//	y ← y + η·(I·(y + p) − y)    η = (k + 1)^−0.75
//
// and the one with momentum, which adds ζ·(y − y before) with ζ = 0.3·η here. p is the rate at which the visit
// was made, 1/gap being far too noisy: the mean rate of the visits made so far.
type sa struct {
	momentum          bool
	exponent          float64
	k, all, y, before float64
}

func (e *sa) Saw(gap float64, changed bool) {
	e.k++
	e.all += gap
	p := e.k / e.all
	if e.k == 1 {
		e.y = p
		e.before = p
	}
	eta := math.Pow(e.k+1, -e.exponent)
	step := -e.y
	if changed {
		step += e.y + p
	}
	y := e.y + eta*step
	if e.momentum {
		y += 0.3 * eta * (e.y - e.before)
	}
	e.y, e.before = max(y, 1e-12), e.y
}

func (e *sa) Mean() float64 {
	if e.k == 0 {
		return 0
	}
	return 1 / e.y
}
