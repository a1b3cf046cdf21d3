package revisit

import (
	"fmt"
	"math"
	"time"
)

// Objective is what the visits of a host are shared out for. The three contradict each other. With x = λT, the changes
// that are believed to come between two visits, and a visit worth μ, the best intervals of pages that are Poisson
// processes satisfy
//
//	Versions   1 − (1 + x)·e^−x  = μ              x is the same for all pages: T in proportion to 1/λ
//	Freshness  x²/(1 + x)        = μλ             LambdaCrawl (Kolobov et al., NeurIPS 2019): n changes missed cost
//	                                              1 + 1/2 + … + 1/n; fast pages get T = μ
//	Age        x²/2 − 1 + (1 + x)·e^−x = μλ²      Cho and Garcia-Molina (ACM TODS 2003): fast pages get T = √(2μ)
//
// For freshness alone, of known and constant rates, the best is 1 − (1 + x)·e^−x = μλ (Cho and Garcia-Molina), which
// gives up where λ ≥ 1/μ. On real histories that gives up pages whose many changes came at once, and has less freshness
// than LambdaCrawl's (docs/measured/revisit.md).
type Objective uint8

const (
	// Versions captures as many versions as the visits allow. What an archive wants, and the default.
	Versions Objective = iota
	// Freshness has as many pages as possible as they are now: what a search index wants.
	Freshness
	// Age keeps the mean time short since a page's capture ceased to be current: no page may fall far behind.
	Age
)

var objectives = [...]string{"versions", "freshness", "age"}

// String returns the name that flags and reports use.
func (o Objective) String() string { return objectives[min(int(o), len(objectives)-1)] }

// Set reads such a name.
func (o *Objective) Set(name string) error {
	for i, known := range objectives {
		if known == name {
			*o = Objective(i)
			return nil
		}
	}
	return fmt.Errorf("%q: want versions, freshness or age", name)
}

func (*Objective) Type() string { return "string" }

// Interval returns the best interval of a page that changes every mean, as Changes has it.
func (o Objective) Interval(mean time.Duration, by float64) time.Duration {
	return span(mean.Seconds() * o.Changes(mean.Seconds(), by))
}

// Changes returns the best x of a page that changes every mean seconds. by grows with the worth μ of a visit, and x
// with it: it is x itself for Versions, μ in seconds for Freshness, in seconds² for Age.
func (o Objective) Changes(mean, by float64) float64 {
	switch o {
	case Freshness:
		return harmonic(by / mean)
	case Age:
		return evenly(by / mean / mean)
	}
	return by
}

// harmonic returns the x with x²/(1 + x) = y.
func harmonic(y float64) float64 { return (y + math.Sqrt(y*y+4*y)) / 2 }

// evenly returns the x with x²/2 − 1 + (1 + x)·e^−x = y.
func evenly(y float64) float64 {
	c := math.Cbrt(3 * y) // it is x³/3 − x⁴/8 … at first, and x²/2 − 1 at last
	if y < 1e-7 {         // where the terms cancel out
		return c * (1 + c/8)
	}
	x := min(math.Sqrt(2*(y+1)), 1.3*c) // about the root of a convex function: Newton's steps fall towards it
	for range 8 {
		x -= (x*x/2 - 1 + (1+x)*math.Exp(-x) - y) / (-x * math.Expm1(-x))
	}
	return x
}
