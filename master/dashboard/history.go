package dashboard

import (
	"sync"
	"time"

	"henro/master"
	"henro/messages/ring"
)

// Sample is how the crawl went during one span: rates are per second.
type Sample struct {
	At      time.Time // its end
	Pages   float64   // visits with a response
	Bytes   float64
	Errors  float64
	Waiting uint64 // URLs, at its end
	Leases  int    // likewise
}

// history keeps ten minutes by the second and a day by the minute.
type history struct {
	mu      sync.Mutex
	past    ring.Ring[statusAt] // a minute and a second
	seconds ring.Ring[Sample]
	minutes ring.Ring[Sample]
	minute  statusAt // where the current minute began
}

type statusAt struct {
	at     time.Time
	status *master.Status
}

func newHistory() *history {
	return &history{past: ring.Of[statusAt](61), seconds: ring.Of[Sample](600), minutes: ring.Of[Sample](24 * 60)}
}

// add takes the status of a moment. Statuses are not changed afterwards.
func (h *history) add(at time.Time, s *master.Status) {
	h.mu.Lock()
	defer h.mu.Unlock()
	now := statusAt{at, s}
	if before := h.past.Last(); before != nil {
		h.seconds.Add(between(*before, now))
	}
	h.past.Add(now)
	switch {
	case h.minute.status == nil:
		h.minute = now
	case at.Sub(h.minute.at) >= time.Minute:
		h.minutes.Add(between(h.minute, now))
		h.minute = now
	}
}

// between is what happened from one status to another.
func between(a, b statusAt) Sample {
	span := max(b.at.Sub(a.at).Seconds(), 1e-3)
	per := func(from, to uint64) float64 { return float64(to-min(from, to)) / span }
	return Sample{
		At:     b.at,
		Pages:  per(a.status.Totals.Visits(), b.status.Totals.Visits()),
		Bytes:  per(a.status.Totals.Bytes, b.status.Totals.Bytes),
		Errors: per(sum(a.status.Totals.Errors), sum(b.status.Totals.Errors)), Waiting: b.status.Waiting,
		Leases: b.status.Leases,
	}
}

func sum(errors map[string]uint64) (n uint64) {
	for _, count := range errors {
		n += count
	}
	return n
}

// latest is the last status with its moment, nil before the first.
func (h *history) latest() (*master.Status, time.Time) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if r := h.past.Last(); r != nil {
		return r.status, r.at
	}
	return nil, time.Time{}
}

// lately is what happened within the span before the last status, at most a minute, and its errors by reason.
func (h *history) lately(span time.Duration) (Sample, map[string]uint64) {
	h.mu.Lock()
	defer h.mu.Unlock()
	last := h.past.Last()
	if last == nil {
		return Sample{}, nil
	}
	from := *last
	for from = range h.past.All() {
		if last.at.Sub(from.at) <= span {
			break
		}
	}
	errors := map[string]uint64{}
	for reason, n := range last.status.Totals.Errors {
		if before := from.status.Totals.Errors[reason]; n > before {
			errors[reason] = n - before
		}
	}
	return between(from, *last), errors
}

// after returns the samples later than a moment, the oldest first: of seconds, or of minutes.
func (h *history) after(moment time.Time, minutes bool) (samples []Sample) {
	h.mu.Lock()
	defer h.mu.Unlock()
	from := &h.seconds
	if minutes {
		from = &h.minutes
	}
	for s := range from.All() {
		if s.At.After(moment) {
			samples = append(samples, s)
		}
	}
	return samples
}

// correct replaces the last status after something was changed, so that the next page shows the change.
func (h *history) correct(s *master.Status) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if last := h.past.Last(); last != nil {
		last.status = s
	}
}
