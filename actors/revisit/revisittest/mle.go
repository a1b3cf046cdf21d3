// Package revisittest has the exact estimator of the paper, to compare package revisit with: it needs every interval,
// and runs in no crawl.
package revisittest

import "math"

// MLE returns 1/λ by eq. (2), from every access interval that ended with a change and every one that did not: the exact
// maximum of the likelihood (1). It is +Inf when nothing changed, 0 when everything did.
func MLE(changed, unchanged []float64) float64 {
	var stable, longest float64
	for _, t := range unchanged {
		stable += t
	}
	for _, t := range changed {
		longest = max(longest, t)
	}
	switch {
	case longest == 0:
		return math.Inf(1)
	case stable == 0:
		return 0
	}
	// f(ln λ) = Σ λ tc/(e^(λ tc) − 1) − Σ λ tu falls from the number of changes to −∞: Newton's steps, and the middle
	// where they leave the bounds.
	low, high := math.Log(1e-18/longest), math.Log(800*float64(len(changed))/stable+800/longest)
	at := math.Log(float64(len(changed)) / (stable + longest))
	for range 80 {
		lambda := math.Exp(at)
		sum, slope := -lambda*stable, -lambda*stable
		for _, t := range changed {
			if x := lambda * t; x < 1e-9 {
				sum++
			} else if x < 300 {
				e := math.Expm1(x)
				sum += x / e
				slope += x * (e - x*(e+1)) / (e * e)
			}
		}
		if sum > 0 {
			low = at
		} else {
			high = at
		}
		next := at - sum/slope
		if !(next > low && next < high) {
			next = (low + high) / 2
		}
		if math.Abs(next-at) < 1e-12 {
			break
		}
		at = next
	}
	return math.Exp(-at)
}
