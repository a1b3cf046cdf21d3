package revisit

import (
	"math"

	"henro/messages/speech"
)

// Explain says why a page is visited every History.Interval, for people who ask.
func (o *Options) Explain(h *History) speech.Sentence {
	interval, estimate := span(float64(h.Interval)), o.Estimate(h)
	switch {
	case !h.Known() && interval == 0:
		return speech.Say("was never visited")
	case !h.Known():
		return speech.Say("was visited once, so nothing is known of its changes: the second visit comes after %s",
			interval)
	}
	var late, visits, drift speech.Sentence
	if h.Total > 0 {
		late = speech.Say(" (of late: %.2g changes found, unchanged for %.0f %% of the time)", h.Changes,
			100*h.Stable/h.Total)
	}
	switch x := interval.Seconds() / max(estimate.Seconds(), 1e-3); {
	case interval == 0:
	case estimate > o.Max && o.Aim*estimate.Seconds() > o.Max.Seconds():
		visits = speech.Say("; that is beyond %s, so it is visited after %s, in case it vanishes", o.Max, interval)
	default:
		visits = speech.Say("; it is visited every %s, when %.0f in 100 visits should find a change", interval,
			-100*math.Expm1(-x))
	}
	if o.Estimator == Drift && o.DriftThreshold > 0 && math.Abs(float64(h.Drifting)) > o.DriftThreshold/2 {
		drift = speech.Say("; it seems to change faster than that now")
		if h.Drifting < 0 {
			drift = speech.Say("; it seems to change slower than that now")
		}
	}
	return speech.Say("changes about every %s, as far as %.3g visits' worth of evidence tells%s%s%s", estimate,
		h.Visits, late, visits, drift)
}
