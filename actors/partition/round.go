package partition

import (
	"net/http"
	"time"

	"github.com/asynkron/protoactor-go/actor"

	"henro/actors/protocol"
	"henro/store"
)

// beginRound has all known pages that were not visited since the start of a round visited once. A round that was
// interrupted goes on with those that are left.
func (p *Partition) beginRound(ctx actor.Context, m *protocol.RoundBegun) {
	p.round, p.retrying = m.At, map[string]struct{}{}
	p.due.reset() // pages that were passed over are due now
	now := time.Now()
	p.sweep(ctx, &protocol.Sweep{Moves: func(page *store.Page) bool { return inRound(page, m.At, now) }})
}

// inRound makes a page due that belongs to a round, and reports whether it was not. One that is gone for good (410)
// does not belong to it; one that was given up does: its host may be there again.
func inRound(page *store.Page, begun, now time.Time) bool {
	switch {
	case !page.LastVisit.Before(begun), page.Status == http.StatusGone && page.Flags&store.Dropped == 0,
		!page.Next.IsZero() && !page.Next.After(now):
		return false
	}
	page.Attempts, page.Next = 0, now.Truncate(time.Second) // what was given up stays so until it is had
	return true
}

// passesOver reports that a page which is due is not to be visited: in a crawl that goes in rounds each page is visited
// once in each.
func (p *Partition) passesOver(page *store.Page) bool {
	return p.o.Rounds && !page.LastVisit.Before(p.round)
}

// countRetry keeps the pages of a round that failed and are tried again in minutes: the round waits for them.
func (p *Partition) countRetry(v *store.Visited) {
	if !p.o.Rounds || v.Page.LastVisit.IsZero() {
		return
	}
	if v.Retry {
		p.retrying[v.Page.URL] = struct{}{}
	} else {
		delete(p.retrying, v.Page.URL)
	}
}

// soonDue reports that a slot which has not been read opens within minutes: it may hold pages that were just made due.
func (p *Partition) soonDue() bool {
	at, err := p.disk.Pages.NextDue(p.due.after)
	return err != nil || !at.IsZero() && time.Until(at) < dueEarliest+time.Minute
}
