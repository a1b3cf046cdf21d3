package fetch

import (
	"context"
	"runtime"
	"sync"
	"sync/atomic"

	"golang.org/x/sync/semaphore"
)

// Sizes of the buffers that are reused. The first is for the request and the wait, which takes most of the time, so that thousands of
// slow hosts need little; nine of ten pages fit the next two, compressed or not.
var sizes = [...]int{2 << 10, 8 << 10, 32 << 10, 128 << 10, unreserved}

// unreserved is what a buffer may hold outside the budget: enough for 98 of 100 pages, so that ordinary pages never wait for large
// ones, and little enough that a thousand connections cannot fill a machine.
const unreserved = 256 << 10

// buffer is bytes on their way from a connection to whoever reads the Response.
type buffer struct {
	b    []byte
	size int // index into sizes; -1: not reused
}

// memory lends buffers and keeps the budget of the large ones.
type memory struct {
	free   [len(sizes)]sync.Pool
	budget *semaphore.Weighted
	held   atomic.Int64 // reserved now, for those who look
	lost   atomic.Int64 // shares of Responses that were dropped without Release
}

func newMemory(total int64) *memory { return &memory{budget: semaphore.NewWeighted(total)} }

// lend gives an empty buffer of at least n bytes.
func (m *memory) lend(n int) *buffer {
	for i, size := range sizes {
		if n <= size {
			if b, ok := m.free[i].Get().(*buffer); ok {
				b.b = b.b[:0]
				return b
			}
			return &buffer{make([]byte, 0, size), i}
		}
	}
	return &buffer{make([]byte, 0, n), -1}
}

func (m *memory) giveBack(b *buffer) {
	if b != nil && b.size >= 0 && cap(b.b) == sizes[b.size] { // else it has outgrown its pool
		m.free[b.size].Put(b)
	}
}

// reserve takes n bytes from the budget, or waits for them until the context ends. A fetch reserves once, all it could still need:
// whoever holds a share never waits for another, so none waits for ever.
func (m *memory) reserve(ctx context.Context, n int64) error {
	if lost := m.lost.Swap(0); lost > 0 {
		m.release(lost)
	}
	if err := m.budget.Acquire(ctx, n); err != nil {
		return err
	}
	m.held.Add(n)
	return nil
}

func (m *memory) release(n int64) {
	if n > 0 {
		m.held.Add(-n)
		m.budget.Release(n)
	}
}

// share is a Response's part of the budget and its buffers.
type share struct {
	memory   *memory
	reserved int64
	wire     *buffer // request, heads and body as they went over the wire
	payload  *buffer // nil where the wire bytes serve
	body     *buffer // nil where the payload serves
	cleanup  runtime.Cleanup
}

// keepSafe makes the garbage collector give back what a careless caller does not.
func (s *share) keepSafe(r *Response) {
	if s.reserved > 0 {
		s.cleanup = runtime.AddCleanup(r, func(l loss) { l.to.Add(l.n) }, loss{&s.memory.lost, s.reserved})
	}
}

type loss struct {
	to *atomic.Int64
	n  int64
}

// shrink gives back what was reserved beyond what is held.
func (s *share) shrink() {
	if s.reserved == 0 {
		return
	}
	var held int64
	for _, b := range []*buffer{s.wire, s.payload, s.body} {
		if b != nil && b.size < 0 {
			held += int64(cap(b.b))
		}
	}
	if held < s.reserved {
		s.memory.release(s.reserved - held)
		s.reserved = held
	}
}

func (s *share) release() {
	if s.memory == nil {
		return
	}
	if s.reserved > 0 {
		s.cleanup.Stop()
		s.memory.release(s.reserved)
	}
	s.memory.giveBack(s.wire)
	s.memory.giveBack(s.payload)
	s.memory.giveBack(s.body)
	*s = share{}
}
