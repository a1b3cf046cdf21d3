package host

import (
	"math"
	"time"

	"henro/actors/protocol"
	"henro/store"
)

// queue is what waits to be visited, as far as the Host knows.
type queue struct {
	*base

	known      int       // pages that are due
	fresh      int       // records that wait for a first visit, and ghosts; 1 stands for any before they were read
	retryAt    time.Time // when the first waiting page may be visited; zero: one may be now
	turn       float64   // what known pages have of the next visit, when both wait: at 1 it is theirs
	shortening bool      // what does not fit into the day is being put back
}

func (l *queue) empty() bool { return l.known == 0 && l.fresh == 0 }

const aDay = 24 * time.Hour

// spacing is the time between two visits of known pages that is to be expected.
func (l *queue) spacing() time.Duration {
	spacing := time.Duration(float64(time.Second) / l.clock.polite.Capacity(&l.o.Politeness))
	if l.fresh > 0 {
		spacing *= 2 // new pages get half, or more
	}
	return spacing
}

// room is how many due pages can be visited within a day from now, and at least as many as one lease may have.
func (l *queue) room() int {
	room := 0
	if begin := max(0, l.clock.polite.NextAllowed().Sub(l.now)); begin < aDay {
		room = int((aDay - begin) / l.spacing())
	}
	lease := l.o.PageBudget
	if interval := l.clock.interval(); interval > 0 {
		lease = min(lease, int(l.o.LeaseSpan/interval))
	}
	return max(1, room, lease)
}

// moveBatch bounds how many due pages are put back in one write.
const moveBatch = 1000

// share makes one queue of new pages and of known pages that are due, so that known ones get their part of the host's
// time while both wait. What is left of a turn counts in the next lease: a slow host's lease is one visit.
func (l *queue) share(fresh, known []store.Entry, part float64) []store.Entry {
	if len(known) == 0 {
		return fresh
	}
	queue := make([]store.Entry, 0, len(fresh)+len(known))
	for turn := l.turn + part; len(fresh) > 0 || len(known) > 0; turn = math.Mod(turn, 1) + part {
		if len(known) > 0 && (turn >= 1 || len(fresh) == 0) {
			queue, known = append(queue, known[0]), known[1:]
		} else {
			queue, fresh = append(queue, fresh[0]), fresh[1:]
		}
	}
	return queue
}

// shorten puts back onto the time queue what cannot be visited within a day, so that the queue is short however many
// pages are due.
func (l *queue) shorten() {
	if !l.shortening && l.known > l.room() {
		l.askOverflow()
	}
}

func (l *queue) askOverflow() {
	l.shortening = true
	l.send(Partition, &protocol.OverflowAsked{Host: l.name, Keep: l.room(), Limit: moveBatch})
}

// putBack has the overflow of the queue put back onto the time queue, until there is none.
func (l *queue) putBack(m *protocol.OverflowLoaded) {
	if len(m.Entries) == 0 {
		l.shortening = false
		l.known = min(l.known, l.room())
		return
	}
	l.write(&protocol.Write{Moves: l.putOff(m.Entries), Urgent: true, Tag: &movedTag{}})
}

// putOff gives each page of the overflow the moment at which its turn would come if nothing else fell due: when it
// stands n-th in line, after n visits. That is a day away at least, for the day before is taken; pages that fall due
// meanwhile and share that day with it wait in line as it does. (The paper brings the overflow back after three days,
// whatever the host's interval: then a queue of many days comes back whole, again and again.)
func (l *queue) putOff(overflow []store.Entry) (moves []store.Entry) {
	begin, ahead, spacing := later(l.now, l.clock.polite.NextAllowed()), l.room(), l.spacing()
	for i, entry := range overflow {
		entry.Page.Next = later(begin.Add(time.Duration(ahead+i)*spacing), l.now.Add(aDay))
		moves = append(moves, entry)
	}
	return moves
}
