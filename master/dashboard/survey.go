package dashboard

import (
	"context"
	"sync"
	"sync/atomic"
	"time"

	"henro/messages/ticks"
)

// survey is a view for which the whole state is read: only while somebody looks, and seldom enough to cost a fiftieth
// of a processor.
type survey[T any] struct {
	read    func(context.Context) (*T, error)
	latest  atomic.Pointer[surveyed[T]] // nil: never read, or forgotten
	patient time.Duration               // how long a reader waits for the first view
	wanted  chan struct{}               // holds one when it is to be read again
	idle    time.Duration               // the view is forgotten when nobody has looked for so long; 0: never
	looked  atomic.Int64                // when somebody did last, unix ns

	mu    sync.Mutex
	first chan struct{} // closed when latest is there
}

const (
	surveyFreshFor = 5 * time.Second
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
	idle := time.NewTicker(time.Minute)
	defer idle.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-idle.C:
			if s.idle > 0 && s.latest.Load() != nil && time.Since(time.Unix(0, s.looked.Load())) > s.idle {
				s.mu.Lock()
				s.latest.Store(nil)
				s.first = make(chan struct{})
				s.mu.Unlock()
			}
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
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.latest.Swap(&surveyed[T]{view, err, now, time.Since(now)}) == nil {
		close(s.first)
	}
}

// look returns the latest view and has a new one made if it is old; nil: it is being made for the first time.
func (s *survey[T]) look() *surveyed[T] {
	s.looked.Store(time.Now().UnixNano())
	v := s.latest.Load()
	if v == nil || time.Since(v.At) > max(surveyFreshFor, surveyEffort*v.took) {
		ticks.Nudge(s.wanted)
	}
	return v
}

// await is look, and waits for the first view for a moment.
func (s *survey[T]) await(ctx context.Context) *surveyed[T] {
	if v := s.look(); v != nil {
		return v
	}
	s.mu.Lock()
	first := s.first
	s.mu.Unlock()
	ctx, cancel := context.WithTimeout(ctx, s.patient)
	defer cancel()
	select {
	case <-first:
	case <-ctx.Done():
	}
	return s.latest.Load()
}
