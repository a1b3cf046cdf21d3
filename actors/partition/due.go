package partition

import (
	"errors"
	"slices"
	"time"

	"github.com/asynkron/protoactor-go/actor"

	"henro/actors/floor"
	"henro/actors/protocol"
	"henro/store"
)

// tellDue tells the queues a fact, and does what follows.
func (p *Partition) tellDue(ctx actor.Context, fact any) {
	p.carry(ctx, p.due.Updated(floor.Now(), fact))
}

// carry does what the queues of due pages and the outbox say.
func (p *Partition) carry(ctx actor.Context, effects []any) {
	for _, effect := range effects {
		switch m := effect.(type) {
		case *dueWanted:
			entries, after, err := p.disk.Due(p.due.until, p.due.after, dueBatch)
			floor.Need(err, "read due pages")
			more := len(entries) == dueBatch
			entries = slices.DeleteFunc(entries, func(e store.Entry) bool { return p.round.passesOver(&e.Page) })
			p.tellDue(ctx, &dueRead{entries, after, more})
		case *protocol.HostDue:
			ctx.Send(p.hosts, m)
		case *openDue:
			ctx.Send(ctx.Self(), m)
		case *splitWanted:
			if p.group.Idle() {
				p.group.By(ctx, time.Now())
			}
		case *dueLater:
			p.dueClock.After(ctx, m.wait, &openDue{})
		case *parcelsWanted:
			parcels, err := p.disk.Outbox.Within(parcelBatch, parcelBytes)
			floor.Need(err, "send parcels")
			p.carry(ctx, p.intake.outbox.Updated(parcels))
		case *protocol.CandidatesSent:
			ctx.Request(p.peers[m.Parcels[0].Partition], m)
		case *protocol.CandidatesStored:
			for i := range m.Parcels {
				p.group.Next.Sent(m.Parcels[i].Key)
			}
			p.group.Next.answer(ctx.Self(), &parcelsForgotten{})
			p.wrote(ctx, nil, sharing)
		}
	}
}

// giveOverflow reads the pages behind the first m.Keep of a queue. They stay there until a commit has moved them, as
// the Host may fail.
func (p *Partition) giveOverflow(ctx actor.Context, m *protocol.OverflowAsked) {
	ctx.Respond(&protocol.OverflowLoaded{Entries: p.readQueue(ctx, m.Host, m.Keep, m.Limit)})
}

// readQueue reads, in one transaction, up to limit pages of a queue that are still due, behind the first of them. Pages
// found to be due no more leave the queue; behind the place where reading stops there may be others.
func (p *Partition) readQueue(ctx actor.Context, host string, first, limit int) (entries []store.Entry) {
	read := &queueRead{host: store.IDOf(host)}
	queue := p.due.queues[read.host]
	if len(queue) == 0 || limit <= 0 {
		return nil
	}
	entries = make([]store.Entry, 0, max(0, min(limit, len(queue)-first)))
	err := p.disk.Snapshot(func(disk *store.Partition) error {
		for ; read.read < len(queue) && len(entries) < limit; read.read++ {
			entry, err := disk.Pages.At(queue[read.read])
			if errors.Is(err, store.ErrNotFound) {
				continue
			}
			if err != nil {
				return err
			}
			if read.live = append(read.live, queue[read.read]); len(read.live) > first {
				entries = append(entries, entry)
			}
		}
		return nil
	})
	floor.Need(err, "read due pages of %s", host)
	p.tellDue(ctx, read)
	if p.due.waiting == 0 && len(p.round.retrying) > 0 {
		p.carry(ctx, []any{&splitWanted{}}) // what the round waits for may be read then
	}
	return entries
}
