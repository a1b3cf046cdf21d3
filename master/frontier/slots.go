package frontier

import (
	"math/bits"
	"time"
)

// Slots is the scheduler of Morimoto, Ueda, Uchida & Yamana: constant time for each operation, space for B·H/2 URLs
// however many are discovered, and never two visits of a residue, so of a host, within T. A URL for which its residue
// has no step left is dropped; one that many pages link to turns up again, and gets its chance then.
//
// The URLs of a residue wait in a ring that grows by doubling up to B/2 and never shrinks. A ring given back by one
// residue serves the next one that needs its size, so after a while nothing is allocated.
type Slots[K any] struct {
	calendar[[]Item[K]]
	spare [32][][]Item[K] // rings of 1 << i URLs that are not in use
	slab  []Item[K]       // from which small rings are cut
}

const (
	leastRing = 4
	slabSize  = 1024 // URLs: a ring of at least so many is allocated by itself
)

// NewSlots makes an empty frontier.
func NewSlots[K any](o Options) *Slots[K] {
	return &Slots[K]{calendar: newCalendar[[]Item[K]](o)}
}

// Add implements Frontier: algorithm 2, Enqueue.
func (s *Slots[K]) Add(item Item[K]) (lost Item[K], dropped bool) {
	r := s.residue(item.Host)
	l := &s.lines[r]
	if s.full(l) {
		s.stats.AddedCount++
		s.stats.DroppedCount++
		return item, true
	}
	if int(l.count) == len(l.store) {
		s.grow(l)
	}
	l.store[(l.head+l.count)&uint32(len(l.store)-1)] = item
	s.book(r, l)
	return lost, false
}

// grow doubles a full ring; its length is a power of two.
func (s *Slots[K]) grow(l *line[[]Item[K]]) {
	old := l.store
	ring := s.ring(max(leastRing, 2*len(old)))
	n := copy(ring, old[l.head:])
	copy(ring[n:], old[:l.head])
	l.store, l.head = ring, 0
	if len(old) > 0 {
		clear(old) // lets go of what the keys point to
		class := bits.TrailingZeros(uint(len(old)))
		s.spare[class] = append(s.spare[class], old)
	}
}

// ring returns an empty ring of a size that is a power of two.
func (s *Slots[K]) ring(size int) []Item[K] {
	spare := &s.spare[bits.TrailingZeros(uint(size))]
	if n := len(*spare); n > 0 {
		ring := (*spare)[n-1]
		*spare = (*spare)[:n-1]
		return ring
	}
	if size >= slabSize {
		return make([]Item[K], size)
	}
	if len(s.slab) < size {
		s.slab = make([]Item[K], slabSize)
	}
	ring := s.slab[:size:size]
	s.slab = s.slab[size:]
	return ring
}

// Next implements Frontier: algorithm 3, Next. Where limit does not let out a whole step, the next call goes on with
// it.
func (s *Slots[K]) Next(now time.Duration, limit int, batch []Item[K]) []Item[K] {
	for ; limit > 0; limit-- {
		l, ok := s.turn(now)
		if !ok {
			break
		}
		batch = append(batch, s.leave(l))
		if s.first[s.t&3] == 0 {
			break // the step is given out: the next one is a matter of another call
		}
	}
	return batch
}

// leave takes the first URL of a line that has one.
func (s *Slots[K]) leave(l *line[[]Item[K]]) Item[K] {
	cell := &l.store[l.head]
	item := *cell
	*cell = Item[K]{} // lets go of what the key points to
	l.head = (l.head + 1) & uint32(len(l.store)-1)
	s.left(l)
	return item
}

// More implements Frontier. It ends before the URL of another host of the same residue.
func (s *Slots[K]) More(host uint64, limit int, batch []Item[K]) []Item[K] {
	l := &s.lines[s.residue(host)]
	for ; limit > 0 && l.out && l.count > 0 && l.store[l.head].Host == host; limit-- {
		batch = append(batch, s.leave(l))
		l.n -= 2
	}
	return batch
}
