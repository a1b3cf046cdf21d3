package dashboard

import (
	"context"
	"sync/atomic"
	"time"
)

// survey is a view for which the whole state is read: while somebody looks, and seldom enough to cost a fiftieth of a
// processor.
type survey[T any] struct {
	read    func(context.Context) (*T, error)
	latest  atomic.Pointer[surveyed[T]] // nil: never read
	first   chan struct{}               // closed when latest is there
	patient time.Duration               // somebody waits so long for the first
	wanted  chan struct{}               // holds one when it is to be read again
}

const (
	surveyFreshFor = 10 * time.Second
	surveyEffort   = 50 // a view is left alone for so many times the time that it took
)

// surveyed is a view of one moment.
type surveyed[T any] struct {
	View *T
	Err  error // why there is none
	At   time.Time
	took time.Duration
}

func newSurvey[T any](patient time.Duration, read func(context.Context) (*T, error)) *survey[T] {
	return &survey[T]{patient: patient, read: read, wanted: make(chan struct{}, 1), first: make(chan struct{})}
}

// run reads when it is wanted, until the context ends.
func (s *survey[T]) run(ctx context.Context) {
	for {
		select {
		case <-ctx.Done():
			return
		case <-s.wanted:
			s.renew(ctx)
		}
	}
}

func (s *survey[T]) renew(ctx context.Context) {
	now := time.Now()
	view, err := s.read(ctx)
	if ctx.Err() != nil {
		return
	}
	if s.latest.Swap(&surveyed[T]{view, err, now, time.Since(now)}) == nil {
		close(s.first)
	}
}

// look returns the latest view and has a new one made if it is old; nil: it is being made for the first time.
func (s *survey[T]) look() *surveyed[T] {
	v := s.latest.Load()
	if v == nil || time.Since(v.At) > max(surveyFreshFor, surveyEffort*v.took) {
		select {
		case s.wanted <- struct{}{}:
		default: // it is being made, or will be
		}
	}
	return v
}

// await is look, and waits for the first view for a moment.
func (s *survey[T]) await(ctx context.Context) *surveyed[T] {
	if v := s.look(); v != nil {
		return v
	}
	ctx, cancel := context.WithTimeout(ctx, s.patient)
	defer cancel()
	select {
	case <-s.first:
	case <-ctx.Done():
	}
	return s.latest.Load()
}
