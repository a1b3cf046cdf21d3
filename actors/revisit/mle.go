package revisit

import "math"

// MLE returns 1/λ by eq. (2), from every access interval that ended with a change and every one that did not: the exact
// maximum of the likelihood (1), for comparison and for tests. It is +Inf when nothing changed, 0 when everything did.
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
	// f(λ) = Σ tc/(e^(λ tc) − 1) − Σ tu falls from +∞ to −Σ tu. Bisect on ln λ.
	low, high := math.Log(1e-18/longest), math.Log(800*float64(len(changed))/stable+800/longest)
	for range 80 {
		mid := (low + high) / 2
		lambda, sum := math.Exp(mid), -stable
		for _, t := range changed {
			if x := lambda * t; x < 700 {
				sum += t / math.Expm1(x)
			}
		}
		if sum > 0 {
			low = mid
		} else {
			high = mid
		}
	}
	return math.Exp(-(low + high) / 2)
}
