package partition

import (
	"maps"
	"slices"
	"time"

	"henro/actors/protocol"
	"henro/messages/weburl"
	"henro/store"
)

// Bounds of opening due slots.
const (
	dueBatch   = 1000        // records read at once: some 2 ms, between which other messages are served
	dueLook    = time.Hour   // the clock is looked at this often at least, should it be set
	dueRespite = time.Second // between two looks at a slot that should have been split and is not yet
	// slots are read so long before they open, which is the width of a slot, and each page is held back until its own
	// second: one due at 10:17:01 lies in the slot of 10:18
	dueEarly = time.Minute
	// pages that are to be visited now are put into the first slot not read: for them a slot is read so early at most
	dueEarliest = 3 * time.Minute
	// pages for which a round waits were put there, too: for them alone a slot is read so early
	dueForRound = time.Hour
)

// dueQueues are the paper's short-term queue: for each host the positions of its due pages, first come first. Only
// positions are kept, some 50 bytes a page; the records stay in the store until a commit ends them. So nothing is lost
// or done twice after a crash: a page leaves its queue when it is found to be ended, and after a restart the queues are
// read again.
//
// They are a value: Updated takes a fact at a moment and returns what is to be done then, and the Partition reads. So
// they have a script: testdata/due.script.
//
// Invariant: waiting is the sum of the lengths of all queues and of those held back, and at most ahead + dueBatch.
type dueQueues struct {
	ahead   int  // Options.DueAhead
	begun   bool // the Hosts have asked for the first hosts: they can be told
	queues  map[store.HostID][]store.Position
	held    []heldPage          // pages read before they are due, the earliest first
	grown   map[string]struct{} // hosts whose queues have grown since the Hosts were told
	waiting int
	after   store.Position // read up to here
	readAt  time.Time
	until   time.Time // slots that open by then have been read
	full    bool      // reading has stopped for want of room
}

// heldPage is a page whose slot was read before it was due.
type heldPage struct {
	at       time.Time
	host     string
	position store.Position
}

// What dueQueues are told, beside WaitingHostsAsked, since the Hosts are there then, and RoundBegun, when pages that
// were passed over are due.
type (
	// openDue says that slots may have opened, or have to be split. asked: pages that are to be visited now were put
	// into the first slot that was not read.
	openDue struct{ asked bool }
	// dueRead answers dueWanted. more: there are others behind after.
	dueRead struct {
		entries []store.Entry
		after   store.Position
		more    bool
	}
	// slotNext says, after a commit, when the next slot opens, or is to be split; zero: there is none. It is read at
	// once if nothing else waits, and it opens within a moment; zero: it is not.
	slotNext struct{ at, within time.Time }
	// queueRead says which of the first pages of a queue, as many as were read, are still due. The others leave it, and
	// the first room that is made so has reading go on.
	queueRead struct {
		host store.HostID
		read int
		live []store.Position
	}
)

// What dueQueues say, beside HostDue, and openDue, which comes back to them behind what is in the mailbox already.
type (
	// dueWanted asks for dueRead: pages of slots that open until then, behind after.
	dueWanted struct{}
	// splitWanted asks for a commit, which splits slots, if none is on its way. slotNext follows it.
	splitWanted struct{}
	// dueLater has openDue come later.
	dueLater struct{ wait time.Duration }
)

// Updated takes a fact at a moment, and returns what is to be done then.
func (d *dueQueues) Updated(now time.Time, fact any) []any {
	switch m := fact.(type) {
	case *protocol.WaitingHostsAsked:
		if !d.begun {
			d.begun = true
			return d.open(now, false)
		}
	case *openDue:
		if d.begun {
			return d.open(now, m.asked)
		}
	case *dueRead:
		return d.take(m)
	case *slotNext:
		if d.waiting == 0 && m.at.After(d.until) && !m.at.After(m.within) {
			d.until = m.at
			return []any{&dueWanted{}}
		}
		return d.wait(now, m.at)
	case *queueRead:
		queue := d.queues[m.host]
		left := slices.Replace(queue, 0, m.read, m.live...)
		d.waiting -= len(queue) - len(left)
		if d.queues[m.host] = left; len(left) == 0 {
			delete(d.queues, m.host)
		}
		if d.full && d.waiting < d.ahead {
			d.full = false
			return []any{&openDue{}}
		}
	case *protocol.RoundBegun:
		d.reset()
	}
	return nil
}

func (d *dueQueues) count(id store.HostID) int { return len(d.queues[id]) }

// reset forgets what was read, so that it is read again.
func (d *dueQueues) reset() {
	d.queues, d.held, d.waiting, d.after = map[store.HostID][]store.Position{}, nil, 0, nil
	d.grown = map[string]struct{}{}
}

// open brings pages that were held back and are due into their queues, and asks for more if there is room.
func (d *dueQueues) open(now time.Time, asked bool) []any {
	if now.Before(d.readAt) { // the clock was set back: what was read is not due yet
		d.reset()
		d.until = time.Time{}
	}
	d.readAt = now
	due := 0
	for ; due < len(d.held) && !d.held[due].at.After(now); due++ {
		d.put(d.held[due].host, d.held[due].position)
	}
	d.held = slices.Delete(d.held, 0, due)
	if d.full = d.waiting >= d.ahead; d.full {
		return append(d.tell(), d.wait(now, time.Time{})...)
	}
	if until := now.Add(dueEarly).Truncate(time.Minute); until.After(d.until) {
		d.until = until
	}
	if next := d.until.Add(time.Minute); asked && !next.After(now.Add(dueEarliest)) {
		d.until = next
	}
	return []any{&dueWanted{}}
}

func (d *dueQueues) put(host string, position store.Position) {
	id := store.IDOf(host)
	d.queues[id] = append(d.queues[id], position)
	d.grown[host] = struct{}{}
}

// tell tells the Hosts whose queues have grown.
func (d *dueQueues) tell() (effects []any) {
	for _, host := range slices.Sorted(maps.Keys(d.grown)) {
		effects = append(effects, &protocol.HostDue{Host: host, Count: d.count(store.IDOf(host))})
	}
	clear(d.grown)
	return effects
}

func (d *dueQueues) take(m *dueRead) []any {
	d.after = m.after
	d.waiting += len(m.entries)
	for i := range m.entries {
		host := weburl.HostOf(m.entries[i].Page.URL)
		if next := m.entries[i].Page.Next; next.After(d.readAt) {
			d.held = append(d.held, heldPage{next, host, m.entries[i].Position})
		} else {
			d.put(host, m.entries[i].Position)
		}
	}
	slices.SortStableFunc(d.held, func(a, b heldPage) int { return a.at.Compare(b.at) })
	if m.more {
		return append(d.tell(), &openDue{})
	}
	return append(d.tell(), &splitWanted{})
}

// wait says how long nothing opens. Queues that are full, with nothing held back, wait for room.
func (d *dueQueues) wait(now, next time.Time) []any {
	if !d.begun || d.full && len(d.held) == 0 {
		return nil
	}
	wait := dueLook
	if !d.full && !next.IsZero() {
		wait = min(max(next.Add(-dueEarly).Sub(now), dueRespite), wait)
	}
	if len(d.held) > 0 {
		wait = min(wait, max(0, d.held[0].at.Sub(now)))
	}
	return []any{&dueLater{wait}}
}
