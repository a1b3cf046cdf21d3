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
		return "was never visited"
	case !h.Known():
		fmt.Fprintf(&b, "was visited once, so nothing is known of its changes: the second visit comes after %s", Words(interval))
		return b.String()
	default:
		fmt.Fprintf(&b, "changes about every %s, as far as %.3g visits' worth of evidence tells", Words(estimate), h.Visits)
		if h.Total > 0 {
			fmt.Fprintf(&b, " (of late: %.2g changes found, unchanged for %.0f %% of the time)", h.Changes, 100*h.Stable/h.Total)
		}
		switch x := interval.Seconds() / max(estimate.Seconds(), 1e-3); {
		case interval == 0:
		case estimate > o.Max && o.Aim*estimate.Seconds() > o.Max.Seconds():
			fmt.Fprintf(&b, "; that is beyond %s, so it is visited after %s, in case it vanishes", Words(o.Max), Words(interval))
		default:
			fmt.Fprintf(&b, "; it is visited every %s, when %.0f in 100 visits should find a change", Words(interval), -100*math.Expm1(-x))
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

// Words writes a span with two units at most: 40d, 3d4h, 5h10m, 40s, 300ms.
func Words(d time.Duration) string {
	for _, u := range []struct {
		size, next time.Duration
		name, rest string
	}{{day, time.Hour, "d", "h"}, {time.Hour, time.Minute, "h", "m"}, {time.Minute, time.Second, "m", "s"}} {
		if d < u.size-u.next/2 {
			continue
		}
		if d = d.Round(u.next); d >= 10*u.size && u.size == day {
			return fmt.Sprintf("%dd", (d+day/2)/day)
		}
		if whole, rest := d/u.size, d%u.size/u.next; whole > 0 && rest > 0 {
			return fmt.Sprintf("%d%s%d%s", whole, u.name, rest, u.rest)
		} else if whole > 0 {
			return fmt.Sprintf("%d%s", whole, u.name)
		}
	}
	unit := time.Second
	for unit > time.Nanosecond && d < 100*unit && d%unit != 0 {
		unit /= 10
	}
	return d.Round(unit).String()
}
