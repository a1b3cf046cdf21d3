package revisitsim

import (
	"math"
	"time"

	"henro/actors/revisit"
)

// An Allocation is the best share of a page in the visits of a site by one objective of the literature: the visits per
// second of a page of change rate λ, when one more visit per second must be worth μ. Pages have the same weight.
type Allocation func(lambda, mu float64) float64

// ChoGarciaMolina is the allocation of Cho and Garcia-Molina, Effective Page Refresh Policies for Web Crawlers (ACM
// TODS 2003): visits evenly spaced, freshness F = (1 − e^−x)/x with x = λ/f the largest, so
//
//	(1 − (1 + x)·e^−x) / λ = μ
//
// A page of λ ≥ 1/μ changes too fast to be worth any visit.
func ChoGarciaMolina(lambda, mu float64) float64 {
	y := mu * lambda
	if y >= 1 {
		return 0
	}
	// x − ln(1 + x) = −ln(1 − y), convex, and its root lies below that + √(2·that): Newton's steps fall towards it
	y = -math.Log1p(-y)
	x := y + math.Sqrt(2*y)
	for range 8 {
		if x == 0 {
			break
		}
		x -= (x - math.Log1p(x) - y) * (1 + x) / x
	}
	return lambda / x
}

// ChoGarciaMolinaAge is their allocation for the least mean age, the time since the first change missed, T = 1/f:
//
//	(x²/2 − 1 + (1 + x)·e^−x) / λ² = μ
func ChoGarciaMolinaAge(lambda, mu float64) float64 {
	return lambda / revisit.Age.Changes(1/lambda, mu)
}

// Azar is the allocation of Azar, Horvitz, Lubetzky, Peres and Shahaf, Tractable Near-optimal Policies for Crawling
// (PNAS 2018): visits at random, freshness ρ/(ρ + λ) the largest, so
//
//	ρ = √(λ/μ) − λ, 0 where that is below 0
func Azar(lambda, mu float64) float64 { return max(0, math.Sqrt(lambda/mu)-lambda) }

// LambdaCrawl is the allocation of Kolobov, Peres, Lubetzky and Horvitz (NeurIPS 2019): the penalty of n changes missed
// is 1 + 1/2 + … + 1/n, its mean ln((λ + ρ)/ρ) the least, so
//
//	ρ = (−λ + √(λ² + 4λ/μ)) / 2
//
// Every page that changes is worth some visits.
func LambdaCrawl(lambda, mu float64) float64 {
	return 2 * lambda / mu / (lambda + math.Sqrt(lambda*lambda+4*lambda/mu)) // the same, without a difference
}

// Fill returns μ for which the visits of all pages, so many of each rate, add up to capacity: water-filling.
func (a Allocation) Fill(lambdas, pages []float64, capacity float64) float64 {
	low, high := math.Log(1e-30), math.Log(1e30)
	for range 60 { // to 10⁻¹⁶ of ln μ
		mid := (low + high) / 2
		sum := 0.0
		for i, lambda := range lambdas {
			sum += pages[i] * a(lambda, math.Exp(mid))
		}
		if sum > capacity {
			low = mid
		} else {
			high = mid
		}
	}
	return math.Exp(high)
}

// allocating is a policy of the literature: an estimator for each page, and visits shared out by an allocation.
type allocating struct {
	w         *world
	share     Allocation
	estimator func() Estimator
	// explore is the share of the visits that goes to all pages alike, since a rate of which nothing is known, or that
	// is too high to be worth a visit, is not learnt otherwise: ε of LambdaLearnAndApply (Kolobov et al.).
	explore float64
	pages   []Estimator
	mean    []time.Duration // as counted in rates
	rates   revisit.Rates
	mu      float64
	visits  int
}

func newAllocating(w *world, share Allocation, estimator func() Estimator, explore float64) *allocating {
	n := len(w.site.Pages)
	return &allocating{w: w, share: share, estimator: estimator, explore: explore, pages: make([]Estimator, n),
		mean: make([]time.Duration, n)}
}

func (p *allocating) next(v visit) float64 {
	mean := &p.mean[v.page]
	if v.gap > 0 {
		if p.pages[v.page] == nil {
			p.pages[v.page] = p.estimator()
		}
		p.pages[v.page].Saw(v.gap, v.changed)
		seconds := min(max(p.pages[v.page].Mean(), 1), 1e9)
		if v.gone {
			seconds = 0
		}
		now := time.Duration(seconds * 1e9)
		p.rates.Move(*mean, now)
		*mean = now
	}
	if v.gone {
		return math.Inf(1)
	}
	if p.visits%max(1, min(p.w.alive/20, 100)) == 0 {
		p.fill()
	}
	p.visits++
	rate := p.w.budget // of a page of which nothing is known yet: as if all were alike
	if *mean > 0 && p.mu > 0 {
		rate = (1-p.explore)*p.share(1/mean.Seconds(), p.mu) + p.explore*p.w.budget
	}
	return 1 / rate
}

// fill shares out what the pages without an estimate leave.
func (p *allocating) fill() {
	var lambdas, pages []float64
	for i, n := range p.rates {
		if n > 0 {
			lambdas, pages = append(lambdas, 1/revisit.BinMean(i).Seconds()), append(pages, float64(n))
		}
	}
	p.mu = 0
	if len(lambdas) > 0 {
		p.mu = p.share.Fill(lambdas, pages, p.w.budget*float64(p.rates.Pages()))
	}
}

// knowing visits each page as often as an allocation says when its rate is known, at exponentially distributed gaps, as
// the papers reckon: not a rival but a check, since what it reaches is known in closed form.
type knowing struct {
	w     *world
	share Allocation
	mu    float64
	rates []float64
}

func newKnowing(share Allocation) func(*world) policy {
	return func(w *world) policy {
		p := &knowing{w: w, share: share, rates: make([]float64, len(w.site.Pages))}
		var lambdas, pages []float64
		var capacity float64
		for i := range w.site.Pages {
			page := &w.site.Pages[i]
			life := max(float64(page.End-page.Born), 1)
			p.rates[i] = float64(len(page.Changes)) / life
			if p.rates[i] > 0 {
				lambdas, pages = append(lambdas, p.rates[i]), append(pages, life)
			}
			capacity += w.budget * life
		}
		p.mu = share.Fill(lambdas, pages, capacity)
		return p
	}
}

func (p *knowing) next(v visit) float64 {
	rate := 0.0
	if p.rates[v.page] > 0 {
		rate = p.share(p.rates[v.page], p.mu)
	}
	if v.gone || rate == 0 {
		return math.Inf(1)
	}
	return p.w.rnd.ExpFloat64() / rate
}
