package fetch

import (
	"context"
	"runtime"
	"slices"
	"sync"
)

// Sizes of the buffers that are reused. The first is for the request and the wait, which takes most of the time, so
// that thousands of slow hosts need little; nine of ten pages fit the next three, compressed or not.
var sizes = [...]int{2 << 10, 4 << 10, 8 << 10, 32 << 10, 128 << 10, unreserved}

// unreserved is what a buffer may hold outside the budget: enough for 98 of 100 pages, so that ordinary pages never
// wait for large ones, and little enough that a thousand connections cannot fill a machine.
const unreserved = 256 << 10

// step is how much of the budget a large buffer takes at once. What a host says of the length of its answer reserves
// nothing.
const step = 1 << 20

// buffer is bytes on their way from a connection to the reader of the Response. Its capacity is what may be used of it.
type buffer struct {
	b      []byte
	size   int    // index into sizes; -1: a large one
	region []byte // what b lies in, if it is a large one and not on the heap
}

// large reports whether the budget is charged for the buffer.
func (b *buffer) large() bool { return b != nil && b.size < 0 }

// memory lends buffers and keeps the budget of the large ones.
//
// Large buffers are address space of one size, taken from the system beside the heap: a page of it is memory only once
// it was written to, none is copied while a body grows, and all of them are given back at once. On the heap a body of
// 27 MB whose length was not known cost 117 MB, in buffers four times as large as the one before, and the collector let
// as much garbage lie beside them.
//
// The budget is taken in steps. A fetch that finds it used up waits, unless the last share is free. That share is set
// apart and large enough for any response to its end, so that of the fetches that wait one always gets on: the one that
// was served least.
type memory struct {
	free   [len(sizes)]sync.Pool
	extent int   // bytes of a region
	last   int64 // bytes of the last share

	mu      sync.Mutex
	left    int64         // of the budget, beside the last share
	lastOut bool          // somebody has the last share
	wake    chan struct{} // closed when something is given back, or one that waits leaves; nil: no one waits
	waiting []*share      // for a part of the budget, by how much they were served
	idle    [][]byte      // regions not in use: address space without memory
	lost    []*share      // of Responses that were dropped without Release
	closed  bool
}

func newMemory(o *Options) *memory {
	return &memory{extent: o.MaxBody + 2*o.MaxHead + step, last: o.largest(), left: o.Memory - o.largest()}
}

// lend gives an empty buffer of at least n bytes; beyond unreserved they have been reserved.
func (m *memory) lend(n int) *buffer {
	for i, size := range sizes {
		if n <= size {
			if b, ok := m.free[i].Get().(*buffer); ok {
				b.b = b.b[:0]
				return b
			}
			return &buffer{b: make([]byte, 0, size), size: i}
		}
	}
	if region := m.region(n); region != nil {
		return &buffer{region[:0:n], -1, region}
	}
	return &buffer{b: make([]byte, 0, n), size: -1}
}

// enlarge gives a buffer of at least n bytes with what is in b.
func (m *memory) enlarge(b *buffer, n int) *buffer {
	if n <= len(b.region) {
		b.b = b.region[:len(b.b):n]
		return b
	}
	larger := m.lend(n)
	larger.b = append(larger.b, b.b...)
	m.giveBack(b)
	return larger
}

func (m *memory) giveBack(b *buffer) {
	switch {
	case b == nil:
	case b.region != nil:
		region, used := b.region, cap(b.b)
		b.b, b.region = nil, nil
		m.rest(region, used)
	case b.size >= 0 && cap(b.b) == sizes[b.size]: // else it has outgrown its pool
		m.free[b.size].Put(b)
	}
}

// region takes address space for a large buffer; nil: there is none for so much.
func (m *memory) region(n int) []byte {
	if n > m.extent {
		return nil
	}
	m.mu.Lock()
	if last := len(m.idle) - 1; last >= 0 {
		region := m.idle[last]
		m.idle = m.idle[:last]
		m.mu.Unlock()
		return region
	}
	m.mu.Unlock()
	return takeRegion(m.extent)
}

// rest gives the memory of a region back to the system and keeps its address space: there are never more regions than
// steps in the budget, and who reads a slice that is void finds zeros, or the bytes of another response, as in a buffer
// that is reused.
func (m *memory) rest(region []byte, used int) {
	m.mu.Lock()
	closed := m.closed
	m.mu.Unlock()
	if closed || !emptyRegion(region[:used]) {
		freeRegion(region)
		return
	}
	m.mu.Lock()
	m.idle = append(m.idle, region)
	m.mu.Unlock()
}

// close gives back the regions that are not in use; the others follow when their Responses are released.
func (m *memory) close() {
	m.mu.Lock()
	idle := m.idle
	m.idle, m.closed = nil, true
	m.mu.Unlock()
	for _, region := range idle {
		freeRegion(region)
	}
}

// reserve takes n bytes of the budget for a share. If there are none, or others come first, it waits until the context
// ends, or fails at once.
func (m *memory) reserve(ctx context.Context, s *share, n int64, wait bool) error {
	defer m.leave(s)
	for {
		m.mu.Lock()
		lost := m.lost
		m.lost = nil
		m.mu.Unlock()
		for _, l := range lost {
			l.release()
		}
		m.mu.Lock()
		first := !wait || len(m.waiting) == 0 || m.waiting[0] == s || !s.waits && s.served < m.waiting[0].served
		switch {
		case s.last:
			m.mu.Unlock()
			return nil
		case first && n <= m.left:
			m.left -= n
			s.reserved += n
			m.mu.Unlock()
			return nil
		case first && !m.lastOut:
			m.lastOut, s.last = true, true
			m.mu.Unlock()
			return nil
		case !wait:
			m.mu.Unlock()
			return errFull
		}
		if m.wake == nil {
			m.wake = make(chan struct{})
		}
		wake := m.wake
		if !s.waits {
			s.waits = true
			at := slices.IndexFunc(m.waiting, func(other *share) bool { return s.served < other.served })
			if at < 0 {
				at = len(m.waiting)
			}
			m.waiting = slices.Insert(m.waiting, at, s)
		}
		m.mu.Unlock()
		select {
		case <-wake:
		case <-ctx.Done():
			return ctx.Err()
		}
	}
}

// leave takes a share from those that wait, and lets the next look.
func (m *memory) leave(s *share) {
	if !s.waits {
		return
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	s.waits = false
	m.waiting = slices.DeleteFunc(m.waiting, func(other *share) bool { return other == s })
	m.wakeAll()
}

// settle gives back what a share has beyond so many bytes.
func (m *memory) settle(s *share, held int64) {
	m.mu.Lock()
	defer m.mu.Unlock()
	more := held - s.reserved
	if more > 0 && (!s.last || more > m.left) {
		return
	}
	m.left -= more
	s.reserved = held
	if s.last {
		s.last, m.lastOut = false, false
	}
	m.wakeAll()
}

// reserved is how much of the budget is taken, the last share as a whole.
func (m *memory) reserved(total int64) int64 {
	m.mu.Lock()
	defer m.mu.Unlock()
	held := total - m.last - m.left
	if m.lastOut {
		held += m.last
	}
	return held
}

// share is a Response's part of the budget and its buffers.
type share struct {
	memory   *memory
	served   int64 // of its request
	reserved int64
	last     bool    // it has the last share
	waits    bool    // for a part of the budget
	wire     *buffer // request, heads and body as they went over the wire
	payload  *buffer // nil where the wire bytes serve
	body     *buffer // nil where the payload serves
	cleanup  runtime.Cleanup
}

// keepSafe makes the garbage collector give back what a careless caller does not.
func (s *share) keepSafe(r *Response) {
	if s.reserved > 0 || s.last {
		lost := *s
		s.cleanup = runtime.AddCleanup(r, func(lost *share) { lost.memory.lose(lost) }, &lost)
	}
}

// lose notes a share that will never be released, for the next caller of reserve: the collector has a
// goroutine of its own.
func (m *memory) lose(s *share) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.lost = append(m.lost, s)
	m.wakeAll()
}

// wakeAll lets those who wait look again; the lock is held.
func (m *memory) wakeAll() {
	if m.wake != nil {
		close(m.wake)
		m.wake = nil
	}
}

// shrink gives back what was reserved beyond what is held.
func (s *share) shrink() {
	if s.reserved == 0 && !s.last {
		return
	}
	var held int64
	for _, b := range []*buffer{s.wire, s.payload, s.body} {
		if b.large() {
			held += int64(cap(b.b))
		}
	}
	s.memory.settle(s, held)
}

func (s *share) release() {
	if s.memory == nil {
		return
	}
	if s.reserved > 0 || s.last {
		s.cleanup.Stop()
		s.memory.settle(s, 0)
	}
	s.memory.giveBack(s.wire)
	s.memory.giveBack(s.payload)
	s.memory.giveBack(s.body)
	*s = share{}
}
