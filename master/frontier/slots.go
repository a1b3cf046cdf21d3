package frontier

import "time"

// Slots is the scheduler of Morimoto, Ueda, Uchida & Yamana: constant time for each operation, space for B·H/2 URLs however
// many are discovered, and never two visits of a residue, so of a host, within T. A URL for which its residue has no step
// left is dropped; one that many pages link to turns up again, and gets its chance then.
//
// The URLs of a residue wait in a ring that grows by doubling up to B/2 and never shrinks: no allocation once it has the
// size that its residue needs.
type Slots[K any] struct{ calendar[[]Item[K]] }

// NewSlots makes an empty frontier.
func NewSlots[K any](o Options) *Slots[K] { return &Slots[K]{newCalendar[[]Item[K]](o)} }

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
		grow(l)
	}
	l.store[(l.head+l.count)&uint32(len(l.store)-1)] = item
	s.book(r, l)
	return lost, false
}

// grow doubles a full ring; its length is a power of two.
func grow[K any](l *line[[]Item[K]]) {
	ring := make([]Item[K], max(4, 2*len(l.store)))
	n := copy(ring, l.store[l.head:])
	copy(ring[n:], l.store[:l.head])
	l.store, l.head = ring, 0
}

// Next implements Frontier: algorithm 3, Next. Where limit does not let out a whole step, the next call goes on with it.
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
