package revisit

import (
	"fmt"
	"math"
	"strings"
	"time"
)

// Explain says in words why a page is visited every History.Interval, for people who ask.
func (o *Options) Explain(h *History) string {
	var b strings.Builder
	interval := span(float64(h.Interval))
	switch estimate := o.Estimate(h); {
	case !h.Known() && interval == 0:
		return "never visited"
	case !h.Known():
		fmt.Fprintf(&b, "visited once, so nothing is known of its changes: the second visit comes after %s", days(interval))
		return b.String()
	default:
		fmt.Fprintf(&b, "changes about every %s, as far as visits worth %.1f tell", days(estimate), h.Visits)
		if h.Total > 0 {
			fmt.Fprintf(&b, " (of late: %.1f changes found, unchanged for %.0f %% of the time)", h.Changes, 100*h.Stable/h.Total)
		}
		switch x := interval.Seconds() / max(estimate.Seconds(), 1e-3); {
		case interval == 0:
		case estimate > o.Max && o.Aim*estimate.Seconds() > o.Max.Seconds():
			fmt.Fprintf(&b, "; that is beyond %s, so it is visited after %s, in case it vanishes", days(o.Max), days(interval))
		default:
			fmt.Fprintf(&b, "; visited every %s, when %.0f in 100 visits should find a change", days(interval), -100*math.Expm1(-x))
		}
	}
	if o.Estimator == Drift && o.DriftThreshold > 0 && math.Abs(float64(h.Drifting)) > o.DriftThreshold/2 {
		way := "faster"
		if h.Drifting < 0 {
			way = "slower"
		}
		fmt.Fprintf(&b, "; it seems to change %s than that now", way)
	}
	return b.String()
}

// days writes a span with two units at most: 3d4h, 5h10m, 40s.
func days(d time.Duration) string {
	switch {
	case d >= 10*day:
		return fmt.Sprintf("%dd", int((d+day/2)/day))
	case d >= day:
		d = d.Round(time.Hour)
		return fmt.Sprintf("%dd%dh", d/day, d%day/time.Hour)
	case d >= time.Hour:
		d = d.Round(time.Minute)
		return fmt.Sprintf("%dh%02dm", d/time.Hour, d%time.Hour/time.Minute)
	}
	return d.Round(time.Second).String()
}
