package orders

import (
	"math/bits"
	"time"

	"henro/master/frontier"
)

// Slots is the scheduler of Morimoto, Ueda, Uchida & Yamana: constant time for each operation, space for B·H/2 URLs
// however many are discovered, and never two visits of a residue, so of a host, within T. A URL for which its residue
// has no step left is dropped; one that many pages link to turns up again, and gets its chance then.
//
// Its time is steps t = 0, 1, 2, …, T apart at least. For each residue r of the host numbers mod H there is the step
// n_r that its next URL gets. A residue's URLs get every second step, so those that wait for r are due at
//
//	s, s+2, …, n_r − 2    with t < s
//
// and s is implied by their number: s = n_r − 2·count. The paper keeps B queues, one for each step; the same schedule
// is kept here as H lines of waiting URLs, and for each step the list of the residues whose line has its turn then. A
// residue is in one list only, that of step s, so four lists in a ring are enough. To add a URL touches one cache line
// and one cell instead of three, and a residue whose host is still busy can be put off as a whole, which loses nothing.
//
// The paper's crawler waits until all of step t is fetched before it takes step t+1; one host that takes a minute to
// time out would stop them all. Here only the residues concerned wait: one that is out or resting when its turn comes
// is put off by two steps.
//
// Guarantee: a URL of r that is handed out at any moment of step t is handed out before τ_(t+1), when step t+1 begins;
// the next one of r in step t+2 or later, at τ_(t+2) ≥ τ_(t+1) + T.
//
// The URLs of a residue wait in a ring that grows by doubling up to B/2 and never shrinks. A ring given back by one
// residue serves the next one that needs its size, so after a while nothing is allocated.
type Slots[K any] struct {
	b        int64         // B
	interval time.Duration // T
	lines    []line[K]     // H of them

	t           int64         // current step
	tau         time.Duration // when it began
	begun       bool          // the first step has begun
	first, last [4]uint32     // residues due in step t, t+1, t+2 at index step mod 4, as index + 1
	waiting     int

	spare [32][][]frontier.Item[K] // rings of 1 << i URLs that are not in use
	slab  []frontier.Item[K]       // from which small rings are cut
}

const (
	leastRing = 4
	slabSize  = 1024 // URLs: a ring of at least so many is allocated by itself
)

// line is one residue r.
type line[K any] struct {
	n     int64              // n_r: step of the next URL to be added
	count uint32             // URLs that wait
	head  uint32             // index of the first of them in ring
	link  uint32             // the next residue in the list of its step, as index + 1
	due   bool               // in the list of a step
	out   bool               // a URL of it was handed out, and Done was not called
	ring  []frontier.Item[K] // where they wait; here so that what Add needs lies in 48 neighbouring bytes
	askAt time.Duration      // when the rest that Done asked for is over
}

// NewSlots makes an empty frontier.
func NewSlots[K any](o Options) *Slots[K] {
	s := &Slots[K]{b: int64(o.SlotsB), interval: o.Interval, lines: make([]line[K], o.SlotsH)}
	for r := range s.lines {
		s.lines[r].n = int64(r & 1) // n_2j = 0, n_2j+1 = 1
	}
	return s
}

// Add implements Frontier: algorithm 2, Enqueue.
//
// Line 8 of the paper's algorithm 2, n_r ← t + 1 + ((t and 1) xor (n_r and 1)), is kept, though the text beside it has
// the two cases the other way round. Both keep the guarantee: n_r ≤ t means that the last URL of r had step n_r − 2 ≤ t
// − 2.
func (s *Slots[K]) Add(item frontier.Item[K]) (lost frontier.Item[K], dropped bool) {
	r := s.residue(item.Host)
	l := &s.lines[r]
	if l.n >= s.t+s.b { // no step is left
		return item, true
	}
	if int(l.count) == len(l.ring) {
		s.grow(l)
	}
	l.ring[(l.head+l.count)&uint32(len(l.ring)-1)] = item
	if l.n <= s.t {
		l.n = s.t + 1 + (s.t&1 ^ l.n&1)
	}
	if !l.due {
		s.enlist(r, l, l.n)
	}
	l.n += 2
	l.count++
	s.waiting++
	return lost, false
}

// grow doubles a full ring; its length is a power of two.
func (s *Slots[K]) grow(l *line[K]) {
	old := l.ring
	ring := s.ring(max(leastRing, 2*len(old)))
	n := copy(ring, old[l.head:])
	copy(ring[n:], old[:l.head])
	l.ring, l.head = ring, 0
	if len(old) > 0 {
		clear(old) // lets go of what the keys point to
		class := bits.TrailingZeros(uint(len(old)))
		s.spare[class] = append(s.spare[class], old)
	}
}

// ring returns an empty ring of a size that is a power of two.
func (s *Slots[K]) ring(size int) []frontier.Item[K] {
	spare := &s.spare[bits.TrailingZeros(uint(size))]
	if n := len(*spare); n > 0 {
		ring := (*spare)[n-1]
		*spare = (*spare)[:n-1]
		return ring
	}
	if size >= slabSize {
		return make([]frontier.Item[K], size)
	}
	if len(s.slab) < size {
		s.slab = make([]frontier.Item[K], slabSize)
	}
	ring := s.slab[:size:size]
	s.slab = s.slab[size:]
	return ring
}

func (s *Slots[K]) residue(host uint64) uint32 { return uint32(host % uint64(len(s.lines))) }

// enlist puts a residue into the list of a step, which is t+1 or t+2.
func (s *Slots[K]) enlist(r uint32, l *line[K], step int64) {
	l.due, l.link = true, 0
	at := step & 3
	if s.first[at] == 0 {
		s.first[at] = r + 1
	} else {
		s.lines[s.last[at]-1].link = r + 1
	}
	s.last[at] = r + 1
}

// turn returns the next residue that may be handed out in the present step, after it has begun the next step if it is
// time; ok is false when there is none.
func (s *Slots[K]) turn(now time.Duration) (l *line[K], ok bool) {
	if s.first[s.t&3] == 0 {
		if s.begun && now < s.tau+s.interval {
			return nil, false
		}
		s.t, s.tau, s.begun = s.t+1, now, true
	}
	at := s.t & 3
	for s.first[at] != 0 {
		r := s.first[at] - 1
		l := &s.lines[r]
		s.first[at] = l.link
		l.due = false
		if l.count == 0 { // More took the rest
			continue
		}
		if l.out || l.askAt > now {
			l.n += 2
			s.enlist(r, l, s.t+2)
			continue
		}
		l.out = true
		if l.count > 1 {
			s.enlist(r, l, s.t+2)
		}
		return l, true
	}
	return nil, false
}

// Next implements Frontier: algorithm 3, Next. If limit is less than what a step has, the next call goes on with it.
func (s *Slots[K]) Next(now time.Duration, limit int, batch []frontier.Item[K]) []frontier.Item[K] {
	for ; limit > 0; limit-- {
		l, ok := s.turn(now)
		if !ok {
			break
		}
		batch = append(batch, s.leave(l))
		if s.first[s.t&3] == 0 {
			break // the step has no more: the next one is for another call
		}
	}
	return batch
}

// leave takes the first URL of a line that has one.
func (s *Slots[K]) leave(l *line[K]) frontier.Item[K] {
	cell := &l.ring[l.head]
	item := *cell
	*cell = frontier.Item[K]{} // lets go of what the key points to
	l.head = (l.head + 1) & uint32(len(l.ring)-1)
	l.count--
	s.waiting--
	return item
}

// More implements Frontier. It ends before the URL of another host of the same residue.
func (s *Slots[K]) More(host uint64, limit int, batch []frontier.Item[K]) []frontier.Item[K] {
	l := &s.lines[s.residue(host)]
	for ; limit > 0 && l.out && l.count > 0 && l.ring[l.head].Host == host; limit-- {
		batch = append(batch, s.leave(l))
		l.n -= 2
	}
	return batch
}

// Done implements Frontier.
func (s *Slots[K]) Done(host uint64, now, rest time.Duration) {
	l := &s.lines[s.residue(host)]
	if l.out {
		l.out = false
		l.askAt = now + rest
	}
}

// Len implements Frontier.
func (s *Slots[K]) Len() int { return s.waiting }
