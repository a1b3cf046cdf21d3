package dashboard

import (
	"sync"
	"time"

	"henro/master"
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
	past    ring[statusAt] // a minute and a second
	seconds ring[Sample]
	minutes ring[Sample]
	minute  statusAt // where the current minute began
}

type statusAt struct {
	at     time.Time
	status *master.Status
}

func newHistory() *history {
	return &history{past: newRing[statusAt](61), seconds: newRing[Sample](600), minutes: newRing[Sample](24 * 60)}
}

// add takes the status of a moment. Statuses are not changed afterwards.
func (h *history) add(at time.Time, s *master.Status) {
	h.mu.Lock()
	defer h.mu.Unlock()
	now := statusAt{at, s}
	if before, ok := h.past.last(); ok {
		h.seconds.add(between(before, now))
	}
	h.past.add(now)
	switch {
	case h.minute.status == nil:
		h.minute = now
	case at.Sub(h.minute.at) >= time.Minute:
		h.minutes.add(between(h.minute, now))
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
	r, _ := h.past.last()
	return r.status, r.at
}

// lately is what happened within the span before the last status, at most a minute, and its errors by reason.
func (h *history) lately(span time.Duration) (Sample, map[string]uint64) {
	h.mu.Lock()
	defer h.mu.Unlock()
	last, ok := h.past.last()
	if !ok {
		return Sample{}, nil
	}
	from := last
	h.past.each(func(r statusAt) bool {
		from = r
		return last.at.Sub(r.at) > span
	})
	errors := map[string]uint64{}
	for reason, n := range last.status.Totals.Errors {
		if before := from.status.Totals.Errors[reason]; n > before {
			errors[reason] = n - before
		}
	}
	return between(from, last), errors
}

// after returns the samples later than a moment, the oldest first: of seconds, or of minutes.
func (h *history) after(moment time.Time, minutes bool) (samples []Sample) {
	h.mu.Lock()
	defer h.mu.Unlock()
	from := &h.seconds
	if minutes {
		from = &h.minutes
	}
	from.each(func(s Sample) bool {
		if s.At.After(moment) {
			samples = append(samples, s)
		}
		return true
	})
	return samples
}

// ring keeps the last so many values.
type ring[T any] struct {
	values []T
	next   int // where the next goes, once full
}

func newRing[T any](size int) ring[T] { return ring[T]{values: make([]T, 0, size)} }

func (r *ring[T]) add(v T) {
	if len(r.values) < cap(r.values) {
		r.values = append(r.values, v)
		return
	}
	r.values[r.next] = v
	r.next = (r.next + 1) % len(r.values)
}

func (r *ring[T]) last() (v T, ok bool) {
	if len(r.values) == 0 {
		return v, false
	}
	return r.values[(r.next+len(r.values)-1)%len(r.values)], true
}

// each calls fn with the values, the oldest first, until it returns false.
func (r *ring[T]) each(fn func(T) bool) {
	for i := range r.values {
		if !fn(r.values[(r.next+i)%len(r.values)]) {
			return
		}
	}
}

// correct replaces the last status after something was changed, so that the next page shows the change.
func (h *history) correct(s *master.Status) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if i := len(h.past.values); i > 0 {
		h.past.values[(h.past.next+i-1)%i].status = s
	}
}
