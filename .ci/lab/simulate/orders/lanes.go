package orders

import (
	"slices"
	"time"

	"henro/master/frontier"
)

// lanes gives each host a lane of its own and lets out one URL of a host at a time, T apart: the politeness under fifo,
// host and irlbot. A lane is in exactly one place:
//
//	resting   in the heap of the moments from which it may be asked again
//	ready     in the heap of those that may be asked now, in the order the policy wants
//	out       handed out, until done
//
// and a lane that comes from its rest with nothing waiting is forgotten, so that memory follows the hosts that have
// URLs.
type lanes[K any] struct {
	pool     pool[K]
	interval time.Duration // T
	banded   bool          // a lane gives its best band first; else in order of arrival
	// ready lanes in order of arrival of their first URL; else in order of the moments they became ready
	arrival bool

	lane    []lane
	free    []uint32          // lanes that may be used again
	byHost  map[uint64]uint32 // lane of a host
	resting heap              // lanes under the moment from which they may be asked
	ready   heap              // lanes that may be asked now
}

// lane is one host.
type lane struct {
	askAt  time.Duration // not to be asked before
	host   uint64
	queues []bandQueue // not empty, best band first
	out    bool
}

// bandQueue is the waiting URLs of one band of one host.
type bandQueue struct {
	queue
	band uint8
}

func newLanes[K any](o Options, banded, arrival bool) *lanes[K] {
	return &lanes[K]{interval: o.Interval, banded: banded, arrival: arrival, byHost: make(map[uint64]uint32)}
}

// enter puts a URL into the lane of its host.
func (s *lanes[K]) enter(c uint32) {
	item := &s.pool.cells[c].item
	n, ok := s.byHost[item.Host]
	if !ok {
		n = s.open(item.Host)
		s.resting.push(0, n)
	}
	l := &s.lane[n]
	band := item.Band
	if !s.banded {
		band = 0
	}
	i := 0
	for i < len(l.queues) && l.queues[i].band < band {
		i++
	}
	if i == len(l.queues) || l.queues[i].band != band {
		l.queues = slices.Insert(l.queues, i, bandQueue{band: band})
	}
	s.pool.push(&l.queues[i].queue, c)
}

// open makes a lane for a host that has none.
func (s *lanes[K]) open(host uint64) uint32 {
	var n uint32
	if len(s.free) > 0 {
		n = s.free[len(s.free)-1]
		s.free = s.free[:len(s.free)-1]
	} else {
		n = uint32(len(s.lane))
		s.lane = append(s.lane, lane{})
	}
	s.lane[n] = lane{host: host, queues: s.lane[n].queues[:0]}
	s.byHost[host] = n
	return n
}

// leave takes the first URL of a lane that has one.
func (s *lanes[K]) leave(l *lane) frontier.Item[K] {
	q := &l.queues[0]
	item := s.pool.take(s.pool.pop(&q.queue))
	if q.empty() {
		l.queues = slices.Delete(l.queues, 0, 1)
	}
	return item
}

// wake moves the lanes whose rest is over to the ready ones and forgets the empty ones.
func (s *lanes[K]) wake(now time.Duration) {
	for !s.resting.empty() && s.resting.least().key <= int64(now) {
		key := s.resting.least().key
		n := s.resting.pop()
		l := &s.lane[n]
		if len(l.queues) == 0 {
			delete(s.byHost, l.host)
			s.free = append(s.free, n)
			continue
		}
		if s.arrival {
			key = int64(s.pool.cells[l.queues[0].head].arrival)
		}
		s.ready.push(key, n)
	}
}

// Add implements Frontier; nothing is ever lost.
func (s *lanes[K]) Add(item frontier.Item[K]) (lost frontier.Item[K], dropped bool) {
	s.enter(s.pool.put(item))
	return lost, false
}

// Next implements Frontier.
func (s *lanes[K]) Next(now time.Duration, limit int, batch []frontier.Item[K]) []frontier.Item[K] {
	s.wake(now)
	for ; limit > 0 && !s.ready.empty(); limit-- {
		l := &s.lane[s.ready.pop()]
		batch = append(batch, s.leave(l))
		l.out = true
		l.askAt = now + s.interval
	}
	return batch
}

// More implements Frontier.
func (s *lanes[K]) More(host uint64, limit int, batch []frontier.Item[K]) []frontier.Item[K] {
	n, ok := s.byHost[host]
	if !ok || !s.lane[n].out {
		return batch
	}
	for l := &s.lane[n]; limit > 0 && len(l.queues) > 0; limit-- {
		batch = append(batch, s.leave(l))
	}
	return batch
}

// Done implements Frontier.
func (s *lanes[K]) Done(host uint64, now, rest time.Duration) {
	n, ok := s.byHost[host]
	if !ok || !s.lane[n].out {
		return
	}
	l := &s.lane[n]
	l.out = false
	l.askAt = max(l.askAt, now+rest)
	s.resting.push(int64(l.askAt), n)
}

// Len implements Frontier.
func (s *lanes[K]) Len() int { return s.pool.used }
