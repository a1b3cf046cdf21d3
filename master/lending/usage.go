package lending

import "time"

// usage is which part of a slave's connections was in use in the last minutes, by what the slave says: Σ e/(C·τ) of
// equations (7) and (8).
type usage struct{ older, newer, latest usageSample }

// usageSample is the time that the connections of a slave had requests under way, since its start until a moment.
type usageSample struct {
	at   time.Time
	busy time.Duration
}

// usageSpan is the least time that share looks back on, and half of the most.
const usageSpan = time.Minute

func (u *usage) take(at time.Time, busy time.Duration) {
	s := usageSample{at, busy}
	switch {
	case u.latest.at.IsZero() || busy < u.latest.busy:
		u.older, u.newer = s, s
	case at.Sub(u.newer.at) >= usageSpan:
		u.older, u.newer = u.newer, s
	}
	u.latest = s
}

// share is the part of so many connections that had requests under way, from 0 to 1.
func (u *usage) share(connections int) float64 {
	could := max(1, float64(u.latest.at.Sub(u.older.at))*float64(connections))
	return min(1, float64(u.latest.busy-u.older.busy)/could)
}
