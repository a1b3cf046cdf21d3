package partition

import (
	"errors"
	"fmt"
	"time"

	"github.com/asynkron/protoactor-go/actor"

	"henro/actors/floor"
	"henro/actors/protocol"
	"henro/actors/revisit"
	"henro/store"
)

// ErrBusy is returned for an order to move visits while sweepsMost others are carried out.
var ErrBusy = errors.New("too many orders to move visits are being carried out: try again in a minute")

const (
	sweepBatch = 1000 // records read, and moved in one write at most
	sweepsMost = 8    // of one partition side by side
	// passes over a partition at most: one moves all, a second finds what slots that were split have hidden from it
	sweepPasses = 16
)

// RulesOf reads the orders of persons about the pages of a host.
func RulesOf(disk *store.Partition, name string) (rules revisit.Rules, err error) {
	b, err := NoteOf(disk, name, protocol.RulesNote, "")
	if err == nil {
		err = rules.UnmarshalBinary(b)
	}
	if err != nil {
		err = fmt.Errorf("rules of %s: %w", name, err)
	}
	return rules, err
}

// EachRule calls fn for all orders of persons about the pages of a partition.
func EachRule(disk *store.Partition, fn func(revisit.Rule)) error {
	return EachNote(disk, protocol.RulesNote, func(name string, value []byte) error {
		var rules revisit.Rules
		if err := rules.UnmarshalBinary(value); err != nil {
			return fmt.Errorf("%s: %w", name, err)
		}
		for _, rule := range rules {
			fn(rule)
		}
		return nil
	})
}

// ruled returns the rules of the order's host as they are after it. Now changes none.
func ruled(disk *store.Partition, before revisit.Rules, m *protocol.Retime) (after revisit.Rules, b []byte, err error) {
	if _, err := disk.Hosts.Get(store.IDOf(m.Pages.Host())); err != nil {
		return nil, nil, fmt.Errorf("host %s: %w", m.Pages.Host(), err)
	}
	if m.Now {
		return before, nil, nil
	}
	if after, err = before.With(revisit.Rule{Pages: m.Pages, Every: m.Every}); err != nil {
		return nil, nil, err
	}
	b, err = after.MarshalBinary()
	return after, b, err
}

// retime writes the rule down, and has the pages looked through by a child.
func (p *Partition) retime(ctx actor.Context, m *protocol.Retime) {
	name := m.Pages.Host()
	before, known := p.rules[name]
	var err error
	if !known {
		before, err = RulesOf(p.disk, name)
	}
	var after revisit.Rules
	var b []byte
	if err == nil {
		after, b, err = ruled(p.disk, before, m)
	}
	if err == nil && p.sweeps >= sweepsMost {
		err = ErrBusy
	}
	if err != nil {
		ctx.Respond(&protocol.Retimed{Err: err})
		return
	}
	if !m.Now {
		p.rules[name] = after // the batch is ahead of the disk
		p.group.Next.PutMeta(noteMeta(name, protocol.RulesNote, ""), b)
		p.wrote(ctx, nil, urgent)
		ctx.Send(p.hosts, &protocol.ToHost{Host: name, Message: &protocol.RulesChanged{Rules: after}})
	}
	now := time.Now()
	p.sweep(ctx, ctx.Sender(), passes{moves: func(page *store.Page) bool { return retimed(page, m, now) }})
}

// sweep has all visited pages looked through, and those written again that moves has changed. The asker gets Retimed.
func (p *Partition) sweep(ctx actor.Context, asker *actor.PID, what passes) {
	p.sweeps++
	what.disk = p.disk
	floor.SpawnAs(ctx, actor.PropsFromProducer(func() actor.Actor { return &Sweep{what, asker} }), "sweep")
}

// passes look through the visited pages of a partition, a batch at a time, until one has nothing to move. A page that
// is moved meanwhile, by a visit or with a slot that is split, may come twice in a pass or not at all.
type passes struct {
	disk  *store.Partition
	moves func(*store.Page) bool // reports whether it has changed the page
	// the order by which pages that were never visited wait for their first visit again; nil: they are moved too
	revives *revival

	after   store.Position
	room    []store.Entry // for those read at a time
	moved   int           // in this pass
	begun   int           // passes before this one
	count   int           // moved in all
	renewed int           // that wait again
}

// next returns the records of the next batch that are to be written again; over: there is nothing left to move.
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
type Sweep struct {
	passes
	asker *actor.PID
}

type (
	sweepOn   struct{}
	sweepOver struct {
		renewed int
		revives *revival
	}
	// swept asks for pages to be written again: moved, or waiting for their first visit again. Written answers it.
	swept struct{ moves, renews []store.Entry }
)

// Receive is the table of contents.
func (s *Sweep) Receive(ctx actor.Context) {
	switch ctx.Message().(type) {
	case *actor.Started: // what was written before is on disk first
		ctx.Request(ctx.Parent(), &swept{})
	case *protocol.Written, *sweepOn:
		s.step(ctx)
	}
}

func (s *Sweep) step(ctx actor.Context) {
	moves, over, err := s.next()
	switch {
	case over:
		s.end(ctx, &protocol.Retimed{Count: s.count, Err: err})
	case len(moves) > 0:
		w := &swept{moves: moves[:0]}
		for i := range moves {
			if s.revives != nil && moves[i].Page.LastVisit.IsZero() {
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

func (s *Sweep) end(ctx actor.Context, answer *protocol.Retimed) {
	ctx.Send(ctx.Parent(), &sweepOver{s.renewed, s.revives})
	if s.asker != nil {
		ctx.Send(s.asker, answer)
	}
	ctx.Stop(ctx.Self())
}

// takeSwept adds to the batch what a sweep has found.
func (p *Partition) takeSwept(ctx actor.Context, m *swept) {
	for i := range m.moves {
		p.group.Next.Move(m.moves[i].Position, m.moves[i].Page)
	}
	for i := range m.renews {
		p.group.Next.Renew(m.renews[i].Position, m.renews[i].Page)
	}
	p.wrote(ctx, &protocol.Written{}, p.haste(true, false))
}

// endSweep takes note of the end of a sweep: pages that it has moved to now are looked for at once.
func (p *Partition) endSweep(ctx actor.Context, m *sweepOver) {
	p.sweeps--
	if m.revives != nil {
		p.revived(ctx, *m.revives, m.renewed)
	}
	if p.due.begun {
		p.openDue(ctx, true)
	}
}

// RetimeAtRest carries out an order in a state in which no crawl runs.
func RetimeAtRest(disk *store.Partition, m *protocol.Retime, now time.Time) (count int, err error) {
	before, err := RulesOf(disk, m.Pages.Host())
	if err != nil {
		return 0, err
	}
	_, b, err := ruled(disk, before, m)
	if err != nil {
		return 0, err
	}
	batch := store.NewBatch(now)
	if !m.Now {
		batch.PutMeta(noteMeta(m.Pages.Host(), protocol.RulesNote, ""), b)
	}
	p := passes{disk: disk, moves: func(page *store.Page) bool { return retimed(page, m, now) }}
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

// retimed moves the next visit of a known page as a person has ordered, and reports whether it moves. A page that is
// due is left alone: it may be lent, and follows at its visit.
//
// The interval in its record stays as it is until then, so that the load index remains the sum over the records.
func retimed(page *store.Page, order *protocol.Retime, now time.Time) bool {
	if page.Flags&store.Dropped != 0 || page.LastVisit.IsZero() || !page.Next.IsZero() && !page.Next.After(now) ||
		!order.Pages.Matches(page.URL) {
		return false
	}
	interval := order.Every
	switch history := revisit.History(page.Timing); {
	case order.Now:
		page.Next = now.Truncate(time.Second) // as the store keeps it: moved once
		return true
	case page.Next.IsZero():
		return false
	case order.Auto:
		o := &order.Timetable
		if interval = time.Duration(o.Aim * float64(o.Estimate(&history))); interval <= 0 {
			return false
		}
		interval = min(max(interval, o.Min), o.Max)
	}
	next := page.LastVisit.Add(interval)
	if next.Before(now) {
		next = now
	}
	next = next.Truncate(time.Second)
	if !next.Before(page.Next.Add(-time.Second)) && !next.After(page.Next.Add(time.Second)) {
		return false
	}
	page.Next = next
	return true
}
