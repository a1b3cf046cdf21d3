package partition

import (
	"net/http"
	"time"

	"github.com/asynkron/protoactor-go/actor"

	"henro/actors/floor"
	"henro/actors/protocol"
	"henro/store"
)

// beginRound has all known pages that were not visited since the start of a round visited once. A round that was
// interrupted goes on with those that are left.
func (p *Partition) beginRound(ctx actor.Context, m *protocol.RoundBegun) {
	p.round.begun, p.round.retrying = m.At, map[string]struct{}{}
	p.tellDue(ctx, m)
	now := floor.Now()
	p.sweep(ctx, &protocol.Sweep{Moves: func(page *store.Page) bool { return inRound(page, m.At, now) }})
}

// inRound makes a page due if it belongs to a round and is not due yet, and reports whether it did. A page that is gone
// for good (410) does not belong to it; one that was given up does: its host may be there again.
func inRound(page *store.Page, begun, now time.Time) bool {
	switch {
	case !page.LastVisit.Before(begun), page.Status == http.StatusGone && page.Flags&store.Dropped == 0,
		!page.Next.IsZero() && !page.Next.After(now):
		return false
	}
	page.Attempts, page.Next = 0, now.Truncate(time.Second) // one that was given up counts as that until it is had
	return true
}

// round is which pages belong to the round under way. It is a value, and has a script: testdata/round.script.
type round struct {
	on       bool                // the crawl goes in rounds: each page is visited once in each
	begun    time.Time           // when the round under way began; zero: none has begun
	retrying map[string]struct{} // pages that failed and are tried again in minutes, by URL: the round waits for them
}

// passesOver reports that a due page was visited in this round already.
func (r *round) passesOver(page *store.Page) bool { return r.on && !page.LastVisit.Before(r.begun) }

// visited takes what came of a visit.
func (r *round) visited(v *store.Visited) {
	if !r.on || v.Page.LastVisit.IsZero() {
		return
	}
	if delete(r.retrying, v.Page.URL); v.Retry {
		r.retrying[v.Page.URL] = struct{}{}
	}
}
