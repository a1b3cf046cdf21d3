package frontier

import (
	"math/bits"
	"time"
)

// Ranked is slots with a memory for worth: the URLs of a residue wait by band, the best goes first whatever came before it,
// and when a residue has no step left, a new URL takes the place of the oldest one of the worst band if its own is better.
// Time and space stay O(1) and O(B·H); the guarantee is that of the calendar, which does not care which URL of a residue goes.
type Ranked[K any] struct {
	calendar[banded]
	pool pool[K]
}

// banded is the waiting URLs of one residue.
type banded struct {
	queues [Bands]queue
	filled uint16 // bit i: queues[i] is not empty
}

// NewRanked makes an empty frontier.
func NewRanked[K any](o Options) *Ranked[K] { return &Ranked[K]{calendar: newCalendar[banded](o)} }

// Add implements Frontier.
func (f *Ranked[K]) Add(item Item[K]) (lost Item[K], dropped bool) {
	r := f.residue(item.Host)
	l := &f.lines[r]
	band := min(item.Band, Bands-1)
	if f.full(l) {
		f.stats.AddedCount++
		f.stats.DroppedCount++
		worst := uint8(bits.Len16(l.store.filled) - 1)
		if l.count == 0 || band >= worst {
			return item, true
		}
		lost, dropped = f.remove(l, worst), true
		f.insert(l, band, item)
		return lost, dropped
	}
	f.insert(l, band, item)
	f.book(r, l)
	return lost, false
}

func (f *Ranked[K]) insert(l *line[banded], band uint8, item Item[K]) {
	f.pool.push(&l.store.queues[band], f.pool.put(item))
	l.store.filled |= 1 << band
}

func (f *Ranked[K]) remove(l *line[banded], band uint8) Item[K] {
	q := &l.store.queues[band]
	item := f.pool.take(f.pool.pop(q))
	if q.empty() {
		l.store.filled &^= 1 << band
	}
	return item
}

// Next implements Frontier.
func (f *Ranked[K]) Next(now time.Duration, limit int, batch []Item[K]) []Item[K] {
	for ; limit > 0; limit-- {
		l, ok := f.turn(now)
		if !ok {
			break
		}
		batch = append(batch, f.leave(l))
		if f.first[f.t&3] == 0 {
			break
		}
	}
	return batch
}

// leave takes the best URL of a line that has one.
func (f *Ranked[K]) leave(l *line[banded]) Item[K] {
	item := f.remove(l, uint8(bits.TrailingZeros16(l.store.filled)))
	f.left(l)
	return item
}

// More implements Frontier. It ends before the URL of another host of the same residue.
func (f *Ranked[K]) More(host uint64, limit int, batch []Item[K]) []Item[K] {
	l := &f.lines[f.residue(host)]
	for ; limit > 0 && l.out && l.count > 0; limit-- {
		best := l.store.queues[bits.TrailingZeros16(l.store.filled)]
		if f.pool.cells[best.head].item.Host != host {
			break
		}
		batch = append(batch, f.leave(l))
		l.n -= 2
	}
	return batch
}
