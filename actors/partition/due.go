package partition

import (
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/asynkron/protoactor-go/actor"

	"henro/actors/floor"
	"henro/actors/protocol"
	"henro/store"
)

// openDue says that slots may have opened, or have to be split. asked: pages that are to be visited now were put into
// the first slot that was not read.
type openDue struct{ asked bool }

// openDue puts the pages of slots that have opened into the lines of their hosts, as far as there is room, and tells
// the Hosts. Every commit splits coarse slots that have come near; if no commit is on its way, one is made for that.
func (p *Partition) openDue(ctx actor.Context, asked bool) {
	d, now, more := &p.due, floor.Now(), false
	if d.open(now, asked) {
		entries, after, err := p.disk.Due(d.until, d.after, dueBatch)
		floor.Need(err, "read due pages")
		more = len(entries) == dueBatch
		d.read(slices.DeleteFunc(entries, func(e store.Entry) bool { return p.round.passesOver(&e.Page) }), after)
	}
	for host := range d.grown {
		ctx.Send(p.hosts, &protocol.HostDue{Host: host, Count: d.count(store.IDOf(host))})
	}
	clear(d.grown)
	switch {
	case more:
		ctx.Send(ctx.Self(), &openDue{}) // behind what is in the mailbox already
	case !d.full && p.group.Idle():
		p.group.By(ctx, time.Now()) // settle goes on with awaitDue
	default:
		p.awaitDue(ctx)
	}
}

// awaitDue sets the clock for the next slot to open or to be split.
func (p *Partition) awaitDue(ctx actor.Context) {
	var next time.Time
	if p.due.begun && !p.due.full {
		var err error
		if next, err = p.disk.Pages.NextDue(p.due.after); err != nil {
			panic(fmt.Errorf("read the next due time: %w", err))
		}
	}
	if wait, ok := p.due.wait(floor.Now(), next); ok {
		p.dueClock.After(ctx, wait, &openDue{})
	}
}

// giveOverflow reads the pages behind the first m.Keep of a line. They stay in the line until a commit has moved them,
// as the Host may fail.
func (p *Partition) giveOverflow(ctx actor.Context, m *protocol.OverflowAsked) {
	entries, err := p.due.entries(p.disk, store.IDOf(m.Host), m.Keep, m.Limit)
	floor.Need(err, "read due pages of %s", m.Host)
	ctx.Respond(&protocol.OverflowLoaded{Entries: entries})
	if p.due.room() {
		ctx.Send(ctx.Self(), &openDue{})
	}
}

// entries reads, in one transaction, up to limit pages of a line that are still due, behind the first of them. Pages
// found to be due no more leave the line; behind the place where reading stops there may be others.
func (d *dueLines) entries(disk *store.Partition, id store.HostID, first, limit int) (entries []store.Entry,
	err error) {
	line := d.lines[id]
	if len(line) == 0 || limit <= 0 {
		return nil, nil
	}
	entries = make([]store.Entry, 0, max(0, min(limit, len(line)-first)))
	live, n := line[:0], 0
	err = disk.Snapshot(func(disk *store.Partition) error {
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
	d.keep(id, append(live, line[n:]...))
	return entries, nil
}
