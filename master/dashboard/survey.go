package dashboard

import (
	"context"
	"sync/atomic"
	"time"
)

// survey is a view for which the whole state is read: while somebody looks, and seldom enough to cost a fiftieth of a
// processor.
type survey[T any] struct {
	read   func(context.Context) (*T, error)
	latest atomic.Pointer[surveyed[T]] // nil: never read
	wanted chan struct{}               // holds one when it is to be read again
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

func newSurvey[T any](read func(context.Context) (*T, error)) *survey[T] {
	return &survey[T]{read: read, wanted: make(chan struct{}, 1)}
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
	if ctx.Err() == nil {
		s.latest.Store(&surveyed[T]{view, err, now, time.Since(now)})
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
