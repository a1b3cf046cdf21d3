package partition

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/asynkron/protoactor-go/actor"

	"henro/actors/floor"
	"henro/actors/protocol"
	"henro/messages/weburl"
	"henro/store"
)

const (
	sweepBatch = 1000 // records read at a time, and written at a time at most
	sweepsMost = 8    // sweeps of one partition side by side; others wait
	// passes over a partition at most: one moves all pages but those that a slot split meanwhile has hidden from it,
	// which the next finds
	sweepPasses = 16
)

// sweep has pages looked through. A sweep that must go on after a restart is noted on disk; if it is ordered again
// while it is carried out, it is carried out once more.
func (p *Partition) sweep(ctx actor.Context, order *protocol.Sweep) {
	what := &passes{disk: p.disk, order: order, moves: order.Moves}
	if order.Says != "" {
		what.meta = fmt.Sprintf("revive/%016x/%s", uint64(store.IDOf(order.Host)), order.Says)
		p.group.Next.PutMeta(what.meta, []byte(order.Host))
		if _, underWay := p.again[what.meta]; underWay {
			p.again[what.meta] = order
			return
		}
		p.again[what.meta] = nil
		note := func(name, key string) []byte {
			note, _ := NoteOf(what.disk, order.Host, name, key)
			return note
		}
		what.moves = func(page *store.Page) bool { return waitsAgain(page, order, note, floor.Now()) }
	}
	if p.sweeps = append(p.sweeps, what); len(p.sweeps) <= sweepsMost {
		what.spawn(ctx)
	}
}

// endSweep answers who ordered a sweep, and looks at once for pages that it has made due.
func (p *Partition) endSweep(ctx actor.Context, m *sweepOver) {
	p.sweeps = slices.DeleteFunc(p.sweeps, func(what *passes) bool { return what == m.passes })
	if len(p.sweeps) >= sweepsMost {
		p.sweeps[sweepsMost-1].spawn(ctx)
	}
	if m.meta == "" {
		ctx.Send(p.owner, &protocol.OrderDone{Count: m.count, Err: m.err, Reply: m.order.Reply})
	} else {
		again := p.again[m.meta]
		delete(p.again, m.meta)
		if again != nil {
			p.sweep(ctx, again)
		} else {
			p.group.Next.PutMeta(m.meta, nil)
		}
		p.wrote(ctx, nil, urgent)
		ctx.Send(p.hosts, &protocol.ToHost{Host: m.order.Host, Message: &protocol.PagesRevived{Count: m.renewed}})
	}
	p.tellDue(ctx, &openDue{asked: true})
}

// restoreSweeps begins the sweeps again that the last run has not ended.
func (p *Partition) restoreSweeps(ctx actor.Context) {
	var orders []*protocol.Sweep
	err := p.disk.Metas.Each("revive/", func(meta string, host []byte) error {
		_, says, _ := strings.Cut(strings.TrimPrefix(meta, "revive/"), "/")
		orders = append(orders, &protocol.Sweep{Host: string(host), Says: says})
		return nil
	})
	floor.Need(err, "read of which hosts pages are to wait again")
	for _, order := range orders {
		p.sweep(ctx, order)
	}
}

// waitsAgain reports whether a page was given up with the word of a sweep, and is to wait again, or rests with that
// word, and is made due.
func waitsAgain(page *store.Page, order *protocol.Sweep, note func(name, key string) []byte, now time.Time) bool {
	switch given := page.LastVisit.IsZero(); {
	case page.Says != order.Says, weburl.HostOf(page.URL) != order.Host,
		given && page.Flags&store.Dropped == 0, !given && !page.Next.After(now),
		order.Spares != nil && order.Spares(page.URL, note):
		return false
	case !given:
		page.Next = now.Truncate(time.Second) // as the store keeps it, so that it moves only once
	}
	return true
}

// passes look through the visited pages of a partition, a batch at a time, until one has nothing to move. A page that
// is moved meanwhile, by a visit or with a slot that is split, may come twice in a pass or not at all.
type passes struct {
	disk  *store.Partition
	moves func(*store.Page) bool // reports whether it has changed the page
	order *protocol.Sweep
	meta  string // the key under which it is noted until it is over, with the host as value; empty: it is not noted

	after   store.Position
	room    []store.Entry // for the records of a batch
	moved   int           // pages moved in this pass
	begun   int           // passes before this one
	count   int           // pages moved in all
	renewed int           // pages that wait again
	err     error
}

func (p *passes) spawn(ctx actor.Context) {
	floor.SpawnAs(ctx, actor.PropsFromProducer(func() actor.Actor { return &Sweep{p} }), "sweep")
}

// next reads the next batch and returns the records in it that are to be written again; over: nothing is left to move.
func (p *passes) next() (moves []store.Entry, over bool, err error) {
	entries, after, err := p.disk.Pages.Visited(p.after, sweepBatch, p.room)
	if err != nil {
		return nil, true, err
	}
	p.after, p.room = after, entries
	for i := range entries {
		if p.begun < sweepPasses && p.moves(&entries[i].Page) {
			if moves == nil {
				moves = make([]store.Entry, 0, len(entries)-i)
			}
			moves = append(moves, entries[i])
		}
	}
	p.moved += len(moves)
	p.count += len(moves)
	if after == nil {
		p.begun++
		over = p.moved == 0 || p.begun > sweepPasses
		p.moved = 0
	}
	return moves, over, nil
}

// Sweep carries passes out while a crawl runs.
type Sweep struct{ *passes }

type (
	sweepOn   struct{}
	sweepOver struct{ *passes }
	// swept asks for pages to be written again: moved, or waiting for their first visit again. Written answers it.
	swept struct{ moves, renews []store.Entry }
)

// Receive is the table of contents.
func (s *Sweep) Receive(ctx actor.Context) {
	switch ctx.Message().(type) {
	case *actor.Started: // the answer comes when all that was written before is on disk
		ctx.Request(ctx.Parent(), &swept{})
	case *protocol.Written, *sweepOn:
		s.step(ctx)
	}
}

func (s *Sweep) step(ctx actor.Context) {
	var moves []store.Entry
	var over bool
	moves, over, s.err = s.next()
	switch {
	case over:
		ctx.Send(ctx.Parent(), &sweepOver{s.passes})
		ctx.Stop(ctx.Self())
	case len(moves) > 0:
		w := &swept{moves: moves[:0]}
		for i := range moves {
			if s.meta != "" && moves[i].Page.LastVisit.IsZero() {
				w.renews = append(w.renews, moves[i])
			} else {
				w.moves = append(w.moves, moves[i])
			}
		}
		s.renewed += len(w.renews)
		ctx.Request(ctx.Parent(), w)
	default:
		ctx.Send(ctx.Self(), &sweepOn{})
	}
}

// takeSwept adds to the batch what a sweep has found.
func (p *Partition) takeSwept(ctx actor.Context, m *swept) {
	for i := range m.moves {
		p.group.Next.Move(m.moves[i].Position, m.moves[i].Page)
	}
	for i := range m.renews {
		p.group.Next.Renew(m.renews[i].Position, m.renews[i].Page)
	}
	p.wrote(ctx, &protocol.Written{}, awaited)
}

// WriteAtRest writes the notes of a Write and carries out its one sweep, in a state in which no crawl runs.
func WriteAtRest(disk *store.Partition, w *protocol.Write, now time.Time) (count int, err error) {
	batch := store.NewBatch(now)
	putNotes(batch, w.Notes)
	p := passes{disk: disk, moves: w.Sweeps[0].Moves}
	for over := false; !over; batch.Reset(now) {
		var moves []store.Entry
		if moves, over, err = p.next(); err != nil {
			return p.count, err
		}
		for _, entry := range moves {
			batch.Move(entry.Position, entry.Page)
		}
		if _, err := disk.Commit(batch); err != nil {
			return p.count, err
		}
	}
	return p.count, nil
}
