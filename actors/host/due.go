package host

import (
	"henro/actors/protocol"
	"henro/store"
)

// moveBatch bounds how many due pages are put back in one write.
const moveBatch = 1000

// share makes one line of new pages and of known pages that are due, by turns, so that each gets half of the host's
// time while both wait (S0 §5). Leases of an odd number of visits begin with the other kind in turn: a slow host's
// lease is one visit.
func (b *Book) share(fresh, known []store.Entry) []store.Entry {
	if len(known) == 0 {
		return fresh
	}
	line := make([]store.Entry, 0, len(fresh)+len(known))
	for turn := b.line.knownFirst; len(fresh) > 0 || len(known) > 0; turn = !turn {
		if len(known) > 0 && (turn || len(fresh) == 0) {
			line, known = append(line, known[0]), known[1:]
		} else {
			line, fresh = append(line, fresh[0]), fresh[1:]
		}
	}
	return line
}

// shorten puts back onto the time queue what cannot be visited within a day, so that the line is short however many
// pages are due.
func (b *Book) shorten() {
	if !b.line.shortening && b.line.known > b.clock.room(b.now, b.line.fresh > 0) {
		b.askOverflow()
	}
}

func (b *Book) askOverflow() {
	b.line.shortening = true
	b.send(Partition, &protocol.OverflowAsked{Host: b.name, Keep: b.clock.room(b.now, b.line.fresh > 0), Limit: moveBatch})
}

// putBack has the overflow of the line put back onto the time queue, until there is none.
func (b *Book) putBack(m *protocol.OverflowLoaded) {
	if len(m.Entries) == 0 {
		b.line.shortening = false
		b.line.known = min(b.line.known, b.clock.room(b.now, b.line.fresh > 0))
		return
	}
	b.send(Revisit, &lineLonger{entries: m.Entries, ahead: b.clock.room(b.now, b.line.fresh > 0), spacing: b.clock.spacing(b.line.fresh > 0),
		begin: later(b.now, b.clock.NextAllowed())})
}

// storeMoved writes the records of pages that are due at another moment.
func (b *Book) storeMoved(m *VisitsMoved) {
	b.write(&protocol.Write{Moves: m.moves, Urgent: m.urgent, Tag: m.tag})
}

// spare is the visits per second that the host has for known pages.
func (b *Book) spare() float64 { return b.clock.Spare(&b.o.Politeness, b.line.fresh > 0) }

// countVerdict keeps the totals of hosts by verdict in step with this host's.
func (b *Book) countVerdict(w *protocol.Write) {
	if !b.o.Continuous {
		return
	}
	now := uint32(b.clock.verdict) + 1
	if before := b.record.Flags & verdictFlags; before != now {
		if before != 0 {
			w.Totals.Verdicts[before-1]--
		}
		w.Totals.Verdicts[now-1]++
		b.record.Flags = b.record.Flags&^verdictFlags | now
		w.Host = b.row()
	}
}

// HostRecord.Flags: the lowest bits hold the verdict last counted, plus one, 0: none was; the others the minute since
// 1970 since which robots.txt could not be had, 0: it could.
const (
	verdictBits  = 2
	verdictFlags = 1<<verdictBits - 1
)
