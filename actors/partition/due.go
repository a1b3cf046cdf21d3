package partition

import (
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/asynkron/protoactor-go/actor"

	"henro/actors/floor"
	"henro/actors/protocol"
	"henro/messages/weburl"
	"henro/store"
)

type (
	// openDue: slots may have opened, or want splitting; asked: pages were put into the first slot not read, to be
	// visited now
	openDue struct{ asked bool }
)

// Bounds of opening due slots.
const (
	dueBatch   = 1000        // records read at once: some 2 ms, between which other messages are served
	dueLook    = time.Hour   // the clock is looked at this often at least, should it be set
	dueRespite = time.Second // between two looks at a slot that should have been split and is not yet
	// slots are read so long before they open, as wide as a slot is, and each page is held back until its own second:
	// one due at 10:17:01 lies in the slot of 10:18
	dueEarly = time.Minute
	// and so long at most, when pages were asked for now, which are put into the first slot not read
	dueEarliest = 3 * time.Minute
)

// dueLines are the short-term queue of S0 §5: for each host the positions of its due pages, first come first. Only
// positions are kept, some 50 bytes a page; the records stay in the store until a commit ends them. So nothing is lost
// or done twice after a crash: a page leaves its line when it is found to be ended, and after a restart the lines are
// read again.
//
// Invariant: waiting is the sum of the lengths of all lines and of those held back, and at most
// Options.DueAhead + dueBatch.
type dueLines struct {
	begun   bool
	lines   map[store.HostID][]store.Position
	held    []heldPage // until they are due, the earliest first
	waiting int
	after   store.Position // read up to here
	readAt  time.Time
	until   time.Time // slots that open by then have been read
	full    bool      // reading has stopped for want of room
	timer   floor.Timer
}

// heldPage is a page whose slot was read before it was due.
type heldPage struct {
	at       time.Time
	host     string
	position store.Position
}

func (d *dueLines) count(id store.HostID) int { return len(d.lines[id]) }

// beginDue begins to look for due pages, once the Hosts listen.
func (p *Partition) beginDue(ctx actor.Context) {
	if p.o.DueAhead == 0 || p.due.begun {
		return
	}
	p.due.begun, p.due.lines = true, map[store.HostID][]store.Position{}
	p.openDue(ctx, false)
}

// reset forgets what was read, so that it is read again.
func (d *dueLines) reset() {
	d.lines, d.held, d.waiting, d.after = map[store.HostID][]store.Position{}, nil, 0, nil
}

// openDue puts the pages of slots that have opened into the lines of their hosts, as far as there is room, and reports
// to the Hosts. Coarse slots that have come near are split by every commit; when there is none, one is made for it.
func (p *Partition) openDue(ctx actor.Context, asked bool) {
	d, now := &p.due, time.Now()
	if now.Before(d.readAt) { // the clock was set back: what was read is not due yet
		d.reset()
		d.until = time.Time{}
	}
	d.readAt = now
	grown := map[store.HostID]string{}
	due := 0
	for due < len(d.held) && !d.held[due].at.After(now) {
		h := &d.held[due]
		id := store.IDOf(h.host)
		d.lines[id], grown[id] = append(d.lines[id], h.position), h.host
		due++
	}
	d.held = slices.Delete(d.held, 0, due)
	defer func() {
		for id, host := range grown {
			ctx.Send(p.hosts, &protocol.HostDue{Host: host, Count: d.count(id)})
		}
	}()
	if d.full = d.waiting >= p.o.DueAhead; d.full {
		p.awaitDue(ctx) // reading goes on when a line gets shorter
		return
	}
	if until := now.Add(dueEarly).Truncate(time.Minute); until.After(d.until) {
		d.until = until
	}
	if next := d.until.Add(time.Minute); asked && !next.After(now.Add(dueEarliest)) {
		d.until = next
	}
	entries, after, err := p.disk.Due(d.until, d.after, dueBatch)
	if err != nil {
		panic(fmt.Errorf("read due pages: %w", err))
	}
	d.after = after
	for i := range entries {
		if p.passesOver(&entries[i].Page) {
			continue
		}
		host := weburl.HostOf(entries[i].Page.URL)
		d.waiting++
		if next := entries[i].Page.Next; next.After(now) {
			d.held = append(d.held, heldPage{next, host, entries[i].Position})
			continue
		}
		id := store.IDOf(host)
		d.lines[id], grown[id] = append(d.lines[id], entries[i].Position), host
	}
	slices.SortStableFunc(d.held, func(a, b heldPage) int { return a.at.Compare(b.at) })
	switch {
	case len(entries) == dueBatch:
		ctx.Send(ctx.Self(), &openDue{}) // behind what is in the mailbox already
	case p.group.Idle():
		p.group.By(ctx, now) // settle goes on with awaitDue
	default:
		p.awaitDue(ctx)
	}
}

// awaitDue sets the clock for the next slot to open or to be split.
func (p *Partition) awaitDue(ctx actor.Context) {
	d := &p.due
	switch {
	case !d.begun || d.full && len(d.held) == 0:
		return
	case d.full:
		d.timer.After(ctx, max(0, time.Until(d.held[0].at)), &openDue{})
		return
	}
	at, err := p.disk.Pages.NextDue(d.after)
	if err != nil {
		panic(fmt.Errorf("read the next due time: %w", err))
	}
	wait := dueLook
	if !at.IsZero() {
		wait = min(max(time.Until(at.Add(-dueEarly)), dueRespite), dueLook)
	}
	if len(d.held) > 0 {
		wait = min(wait, max(0, time.Until(d.held[0].at)))
	}
	d.timer.After(ctx, wait, &openDue{})
}

// roomForDue goes on reading when a line has become shorter.
func (p *Partition) roomForDue(ctx actor.Context) {
	if p.due.full && p.due.waiting < p.o.DueAhead {
		p.due.full = false
		ctx.Send(ctx.Self(), &openDue{})
	}
}

// firstDue reads the first pages of a host's line. Those that have ended leave it.
func (p *Partition) firstDue(id store.HostID, limit int) (entries []store.Entry, count int, err error) {
	entries, err = p.readLine(id, 0, limit)
	return entries, p.due.count(id), err
}

// giveOverflow reads what stands behind the first of a line. It stays in the line until it has ended: the Host may
// fail.
func (p *Partition) giveOverflow(ctx actor.Context, m *protocol.OverflowAsked) {
	id := store.IDOf(m.Host)
	entries, err := p.readLine(id, m.Keep, m.Limit)
	if err != nil {
		panic(fmt.Errorf("read due pages of %s: %w", m.Host, err))
	}
	ctx.Respond(&protocol.OverflowLoaded{Entries: entries})
	p.roomForDue(ctx)
}

// readLine reads up to limit pages of a line behind the first that are live, in one transaction. What is found to have
// ended leaves the line; where reading stops, some that have ended may be left.
func (p *Partition) readLine(id store.HostID, first, limit int) (entries []store.Entry, err error) {
	line := p.due.lines[id]
	if len(line) == 0 || limit <= 0 {
		return nil, nil
	}
	entries = make([]store.Entry, 0, max(0, min(limit, len(line)-first)))
	live, n := line[:0], 0
	err = p.disk.Snapshot(func(disk *store.Partition) error {
		for ; n < len(line) && len(entries) < limit; n++ {
			entry, err := disk.Pages.At(line[n])
			if errors.Is(err, store.ErrNotFound) {
				continue
			}
			if err != nil {
				return err
			}
			if live = append(live, line[n]); len(live) > first {
				entries = append(entries, entry)
			}
		}
		return nil
	})
	if err != nil {
		return nil, err
	}
	live = append(live, line[n:]...)
	p.due.waiting -= len(line) - len(live)
	clear(line[len(live):])
	if len(live) > 0 {
		p.due.lines[id] = live
	} else {
		delete(p.due.lines, id)
	}
	return entries, nil
}
