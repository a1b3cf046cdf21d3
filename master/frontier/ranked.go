package frontier

import (
	"math/bits"
	"slices"
	"time"
)

// Ranked is slots changed so that the same space collects more: constant time for each operation, space for M = B·H/2
// URLs, exact hosts instead of residues, and the best URLs first.
//
//   - The places belong to all hosts together, so that a web of unequal hosts fills them. When none is left, the host
//     with most waiting URLs loses the newest one of its worst band; so no host, and no trap, can push out the others.
//     (Losing the oldest one undoes the order of arrival within a band, which is a good one: 0.003 to 0.014 less of the
//     rank in the mean of a crawl, on three graphs.)
//   - The host whose best URL has the best band goes first among those that may be asked, not every host in turn.
//   - A URL that waits rises when more becomes known of it (Raise).
//
// A host is in one place: ready, in the list of its best band; out; or resting, in a wheel of time whose slots are T/64
// wide, so that its rest ends up to T/64 late and never early. A host that has no URL when its rest ends is forgotten.
type Ranked[K comparable] struct {
	interval time.Duration // T
	most     int           // M, URLs that may wait

	cells []rankedCell[K] // cell 0 is no cell
	free  uint32          // first of the free cells
	index map[K]uint32    // URL → its cell

	byCount []queue // hosts with so many waiting URLs
	longest uint32  // the most that wait for one host

	hosts    []rankedHost // host 0 is no host
	spare    []uint32     // hosts that may be used again
	byHost   map[uint64]uint32
	ready    [RankedBands]queue // hosts that may be asked, under their best band
	readyAny uint64             // bit i: ready[i] is not empty

	wheel   [wheelSlots]queue // resting hosts; the slot of a moment is its number mod wheelSlots
	resting int               // hosts in the wheel
	width   time.Duration     // of a slot
	hand    int64             // number of the last slot that was emptied
}

// RankedBands is the number of bands that Ranked tells apart, for scores finer than Bands. Of 2,000 pages 1,492
// were of the topic of a crawl with 16 bands, 1,647 with 64 (docs/measured/understanding.md).
const RankedBands = 64

const wheelSlots = 256 // four intervals; a host with a longer rest is put into the wheel again when they are over

// rankedCell is one URL in the queue of its band in its host.
type rankedCell[K any] struct {
	item Item[K]
	host uint32
	link // in its band
}

// rankedHost is one host with URLs, or at rest.
type rankedHost struct {
	askAt   time.Duration // not to be asked before
	number  uint64
	queues  []bandQueue // not empty, best band first
	count   uint32
	state   hostState
	listed  uint8 // the band under which it is ready, RankedBands when it is not
	link          // in the list of its best band, or of its slot of the wheel
	counted link  // in the list of its count
}

// bandQueue is the waiting URLs of one band of one host.
type bandQueue struct {
	queue
	band uint8
}

// queue is a list of cells, or of hosts, by their indexes; its zero value is empty.
type queue struct{ head, tail uint32 }

// link is a place in a list: those before and behind it, 0 for none.
type link struct{ prev, next uint32 }

func (q queue) empty() bool { return q.head == 0 }

// append puts one at the end; at tells its link and those of the others.
func (q *queue) append(n uint32, at func(uint32) *link) {
	*at(n) = link{prev: q.tail}
	if q.tail != 0 {
		at(q.tail).next = n
	} else {
		q.head = n
	}
	q.tail = n
}

func (q *queue) remove(n uint32, at func(uint32) *link) {
	l := at(n)
	if l.prev != 0 {
		at(l.prev).next = l.next
	} else {
		q.head = l.next
	}
	if l.next != 0 {
		at(l.next).prev = l.prev
	} else {
		q.tail = l.prev
	}
	*l = link{}
}

func (f *Ranked[K]) inBand(c uint32) *link { return &f.cells[c].link }

func (f *Ranked[K]) inList(n uint32) *link { return &f.hosts[n].link }

func (f *Ranked[K]) inCount(n uint32) *link { return &f.hosts[n].counted }

// hostState is the place of a host.
type hostState uint8

const (
	hostReady hostState = iota
	hostOut
	hostResting
)

// NewRanked makes an empty frontier.
func NewRanked[K comparable](o Options) *Ranked[K] {
	most := o.SlotsB / 2 * o.SlotsH
	return &Ranked[K]{
		interval: o.Interval, most: most, width: max(o.Interval/64, time.Millisecond), hand: -1,
		cells: make([]rankedCell[K], 1), hosts: make([]rankedHost, 1), byCount: make([]queue, 1),
		index: make(map[K]uint32), byHost: make(map[uint64]uint32),
	}
}

// Add implements Frontier. A URL that waits already is raised.
func (f *Ranked[K]) Add(item Item[K]) (lost Item[K], dropped bool) {
	item.Band = min(item.Band, RankedBands-1)
	if _, waits := f.index[item.Key]; waits {
		f.Raise(item.Key, item.Band)
		return lost, false
	}
	n := f.byHost[item.Host]
	victim := uint32(0)
	if len(f.index) >= f.most {
		dropped = true
		from, count := f.byCount[f.longest].head, f.hosts[n].count // of no host: none
		if count == f.longest {
			from = n
		}
		worst := f.hosts[from].queues[len(f.hosts[from].queues)-1]
		if count+1 < f.longest || item.Band < worst.band {
			victim = worst.tail
		}
	}
	if dropped {
		if victim == 0 {
			return item, true
		}
		lost = f.remove(victim)
		n = f.byHost[item.Host] // it may have been forgotten
	}
	if n == 0 {
		n = f.open(item.Host)
	}
	f.insert(n, item)
	return lost, dropped
}

// Raise puts a waiting URL at the end of a better band. It does nothing if the URL does not wait, or the band is no
// better.
func (f *Ranked[K]) Raise(key K, band uint8) {
	c, waits := f.index[key]
	if !waits || f.cells[c].item.Band <= band {
		return
	}
	item, n := f.cells[c].item, f.cells[c].host
	f.unlink(c)
	item.Band = band
	f.insert(n, item)
}

// open makes a ready host without URLs.
func (f *Ranked[K]) open(number uint64) uint32 {
	var n uint32
	if len(f.spare) > 0 {
		n = f.spare[len(f.spare)-1]
		f.spare = f.spare[:len(f.spare)-1]
	} else {
		n = uint32(len(f.hosts))
		f.hosts = append(f.hosts, rankedHost{})
	}
	f.hosts[n] = rankedHost{number: number, queues: f.hosts[n].queues[:0], listed: RankedBands}
	f.byHost[number] = n
	return n
}

// insert puts a URL at the end of its two queues.
func (f *Ranked[K]) insert(n uint32, item Item[K]) {
	c := f.free
	if c != 0 {
		f.free = f.cells[c].next
	} else {
		c = uint32(len(f.cells))
		f.cells = append(f.cells, rankedCell[K]{})
	}
	h := &f.hosts[n]
	i := 0
	for i < len(h.queues) && h.queues[i].band < item.Band {
		i++
	}
	if i == len(h.queues) || h.queues[i].band != item.Band {
		h.queues = slices.Insert(h.queues, i, bandQueue{band: item.Band})
	}
	f.cells[c] = rankedCell[K]{item: item, host: n}
	h.queues[i].append(c, f.inBand)
	f.index[item.Key] = c
	f.recount(n, h.count+1)
	f.settle(n)
}

// recount moves a host to the list of the hosts with so many URLs. Counts change by one, so the new longest list is the
// old one or beside it.
func (f *Ranked[K]) recount(n uint32, count uint32) {
	h := &f.hosts[n]
	if h.count > 0 {
		f.byCount[h.count].remove(n, f.inCount)
	}
	h.count = count
	if count > 0 {
		if int(count) == len(f.byCount) {
			f.byCount = append(f.byCount, queue{})
		}
		f.byCount[count].append(n, f.inCount)
	}
	f.longest = max(f.longest, count)
	for f.longest > 0 && f.byCount[f.longest].empty() {
		f.longest--
	}
}

// unlink takes a URL out of its two queues; its host may be left without any.
func (f *Ranked[K]) unlink(c uint32) Item[K] {
	x := f.cells[c]
	h := &f.hosts[x.host]
	i := 0
	for h.queues[i].band != x.item.Band {
		i++
	}
	if h.queues[i].remove(c, f.inBand); h.queues[i].empty() {
		h.queues = slices.Delete(h.queues, i, i+1)
	}
	f.recount(x.host, h.count-1)
	delete(f.index, x.item.Key)
	f.cells[c] = rankedCell[K]{link: link{next: f.free}} // lets go of what the key points to
	f.free = c
	return x.item
}

// remove takes out a URL for good.
func (f *Ranked[K]) remove(c uint32) Item[K] {
	n := f.cells[c].host
	item := f.unlink(c)
	f.settle(n)
	return item
}

// settle brings a ready host into the list of its best band, or forgets it when it has no URL.
func (f *Ranked[K]) settle(n uint32) {
	h := &f.hosts[n]
	if h.state != hostReady {
		return
	}
	best := uint8(RankedBands)
	if len(h.queues) > 0 {
		best = h.queues[0].band
	}
	if best == h.listed && best < RankedBands {
		return
	}
	if h.listed < RankedBands {
		f.unready(n)
	}
	if best == RankedBands {
		delete(f.byHost, h.number)
		f.spare = append(f.spare, n)
		return
	}
	h.listed = best
	f.ready[best].append(n, f.inList)
	f.readyAny |= 1 << best
}

// unready takes a host out of the list of its band.
func (f *Ranked[K]) unready(n uint32) {
	h := &f.hosts[n]
	q := &f.ready[h.listed]
	if q.remove(n, f.inList); q.empty() {
		f.readyAny &^= 1 << h.listed
	}
	h.listed = RankedBands
}

// lay puts a host into the slot of the wheel after the end of its rest, or into the last one if the wheel does not
// reach so far.
func (f *Ranked[K]) lay(n uint32) {
	f.hosts[n].state = hostResting
	slot := int64((f.hosts[n].askAt + f.width - 1) / f.width)
	slot = min(max(slot, f.hand+1), f.hand+wheelSlots)
	f.wheel[slot%wheelSlots].append(n, f.inList)
	f.resting++
}

// turn empties the slots up to now.
func (f *Ranked[K]) turn(now time.Duration) {
	target := int64(now / f.width)
	if f.resting == 0 || target-f.hand > wheelSlots {
		f.hand = max(f.hand, target-wheelSlots)
	}
	for f.hand < target {
		f.hand++
		q := &f.wheel[f.hand%wheelSlots]
		n := q.head
		*q = queue{}
		for n != 0 {
			next := f.hosts[n].next
			f.hosts[n].link = link{}
			f.resting--
			f.wake(n, now)
			n = next
		}
	}
}

// wake lets a host be asked if its rest is over.
func (f *Ranked[K]) wake(n uint32, now time.Duration) {
	if f.hosts[n].askAt > now {
		f.lay(n)
		return
	}
	f.hosts[n].state = hostReady
	f.settle(n)
}

// Next implements Frontier.
func (f *Ranked[K]) Next(now time.Duration, limit int, batch []Item[K]) []Item[K] {
	f.turn(now)
	for ; limit > 0 && f.readyAny != 0; limit-- {
		n := f.ready[bits.TrailingZeros64(f.readyAny)].head
		f.unready(n)
		h := &f.hosts[n]
		h.state = hostOut
		batch = append(batch, f.leave(n))
		h.askAt = now + f.interval
	}
	return batch
}

// leave takes the best URL of a host that is out and has one.
func (f *Ranked[K]) leave(n uint32) Item[K] {
	return f.remove(f.hosts[n].queues[0].head)
}

// More implements Frontier. It hands out no URL that is worse than the best one of a ready host.
func (f *Ranked[K]) More(host uint64, limit int, batch []Item[K]) []Item[K] {
	n, best := f.byHost[host], uint8(bits.TrailingZeros64(f.readyAny)) // RankedBands: no host is ready
	for ; n != 0 && limit > 0 && f.hosts[n].state == hostOut && f.hosts[n].count > 0; limit-- {
		if f.hosts[n].queues[0].band > best {
			break
		}
		batch = append(batch, f.leave(n))
	}
	return batch
}

// Done implements Frontier.
func (f *Ranked[K]) Done(host uint64, now, rest time.Duration) {
	n := f.byHost[host]
	if n == 0 || f.hosts[n].state != hostOut {
		return
	}
	f.hosts[n].askAt = max(f.hosts[n].askAt, now+rest)
	f.wake(n, now)
}

// Len implements Frontier.
func (f *Ranked[K]) Len() int { return len(f.index) }
