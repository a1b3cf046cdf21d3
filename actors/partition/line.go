package partition

import (
	"slices"
	"time"

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
)

// dueLines are the paper's short-term queue: for each host the positions of its due pages, first come first. Only
// positions are kept, some 50 bytes a page; the records stay in the store until a commit ends them. So nothing is lost
// or done twice after a crash: a page leaves its line when it is found to be ended, and after a restart the lines are
// read again.
//
// They are a value: the Partition reads, when they say so. So they have a script: testdata/due.script.
//
// Invariant: waiting is the sum of the lengths of all lines and of those held back, and at most ahead + dueBatch.
type dueLines struct {
	ahead   int  // Options.DueAhead
	begun   bool // the Hosts have asked for the first hosts: they can be told
	lines   map[store.HostID][]store.Position
	held    []heldPage          // pages read before they are due, the earliest first
	grown   map[string]struct{} // hosts whose lines have grown since the Hosts were told
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

func newDueLines(ahead int) dueLines {
	d := dueLines{ahead: ahead}
	d.reset()
	return d
}

func (d *dueLines) count(id store.HostID) int { return len(d.lines[id]) }

// reset forgets what was read, so that it is read again.
func (d *dueLines) reset() {
	d.lines, d.held, d.waiting, d.after = map[store.HostID][]store.Position{}, nil, 0, nil
	d.grown = map[string]struct{}{}
}

// open brings pages that were held back and are due into their lines, and reports whether there is room to read more:
// slots up to until, behind after. asked is that of the message openDue.
func (d *dueLines) open(now time.Time, asked bool) bool {
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
		return false
	}
	if until := now.Add(dueEarly).Truncate(time.Minute); until.After(d.until) {
		d.until = until
	}
	if next := d.until.Add(time.Minute); asked && !next.After(now.Add(dueEarliest)) {
		d.until = next
	}
	return true
}

func (d *dueLines) put(host string, position store.Position) {
	id := store.IDOf(host)
	d.lines[id] = append(d.lines[id], position)
	d.grown[host] = struct{}{}
}

// read takes in the pages that were read; the next ones are behind after.
func (d *dueLines) read(entries []store.Entry, after store.Position) {
	d.after = after
	d.waiting += len(entries)
	for i := range entries {
		host := weburl.HostOf(entries[i].Page.URL)
		if next := entries[i].Page.Next; next.After(d.readAt) {
			d.held = append(d.held, heldPage{next, host, entries[i].Position})
		} else {
			d.put(host, entries[i].Position)
		}
	}
	slices.SortStableFunc(d.held, func(a, b heldPage) int { return a.at.Compare(b.at) })
}

// wait is how long open need not be called; ok is false when it is called as soon as a line gets shorter. next is when
// the next slot opens, or is to be split; zero: there is none.
func (d *dueLines) wait(now, next time.Time) (wait time.Duration, ok bool) {
	wait = dueLook
	if !d.full && !next.IsZero() {
		wait = min(max(next.Add(-dueEarly).Sub(now), dueRespite), wait)
	}
	if len(d.held) > 0 {
		wait = min(wait, max(0, d.held[0].at.Sub(now)))
	}
	return wait, d.begun && (!d.full || len(d.held) > 0)
}

// room reports once that a line which has become shorter leaves room to read on.
func (d *dueLines) room() bool {
	room := d.full && d.waiting < d.ahead
	d.full = d.full && !room
	return room
}

// keep shortens a line to the positions in live, which is a part of the line's own memory.
func (d *dueLines) keep(id store.HostID, live []store.Position) {
	line := d.lines[id]
	d.waiting -= len(line) - len(live)
	clear(line[len(live):])
	if d.lines[id] = live; len(live) == 0 {
		delete(d.lines, id)
	}
}
