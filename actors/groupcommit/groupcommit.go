// Package groupcommit lets what many wait for share one trip to the disk.
//
// An actor gathers what it is asked to store, and hands it to a child that waits for the disk in its place. Meanwhile
// the next batch gathers, so that Receive never waits and a slow disk makes for large batches.
package groupcommit

import (
	"time"

	"github.com/asynkron/protoactor-go/actor"

	"henro/actors/floor"
)

// What a Group sends to its actor.
type (
	// Due asks the actor to call Turn.
	Due struct{}
	// Synced asks the actor to call Settle.
	Synced struct{}
	hand   struct{ over func() } // to the child
)

// Group gathers batches B of one actor.
//
//	gathering ── By is over ──► storing ── Settle ──► answered by the actor
//	                               ▲          │
//	                               └── rest ◄─┘ not stored
//
// Invariant: batches are stored one after another, in the order in which they were begun. One that is to be stored
// again goes before those behind it.
type Group[B any] struct {
	Next    *B            // gathers
	Storing *B            // is with the child, or is to be stored again; nil: none
	At      time.Time     // when the child was last given one
	Took    time.Duration // of the child for the last one

	begin func(now time.Time) *B
	store func(*B) error
	err   error     // of Storing; written by the child
	had   bool      // Storing is stored; written by the child
	busy  bool      // the child is
	due   time.Time // when the next turn is; zero: nothing waits
	rest  time.Time // no turn is before
	timer floor.Timer
	child *actor.PID
}

// Start spawns the child. Begin makes a batch. Store stores it; it is called by the child, and returns an error if the
// batch is to be stored again as it is.
func (g *Group[B]) Start(ctx actor.Context, child string, begin func(now time.Time) *B, store func(*B) error) {
	g.begin, g.store, g.Next = begin, store, begin(floor.Now())
	g.child = floor.SpawnAs(ctx, actor.PropsFromFunc(func(ctx actor.Context) {
		if m, ok := ctx.Message().(*hand); ok {
			if m.over(); ctx.Sender() != nil {
				ctx.Respond(&Synced{})
			}
		}
	}), child)
}

// By has what gathers stored at a moment, if that is not to be sooner anyway.
func (g *Group[B]) By(ctx actor.Context, at time.Time) {
	if !g.due.IsZero() && !at.Before(g.due) {
		return
	}
	switch g.due = at; {
	case g.busy: // Settle sets the clock
	case g.wait() > 0:
		g.timer.After(ctx, g.wait(), &Due{})
	default:
		ctx.Send(ctx.Self(), &Due{}) // behind what is in the mailbox already, which shares the turn
	}
}

func (g *Group[B]) wait() time.Duration { return max(time.Until(g.due), time.Until(g.rest)) }

// Idle reports that nothing waits and nothing is being stored.
func (g *Group[B]) Idle() bool { return !g.busy && g.due.IsZero() }

// Turn hands what was gathered to the child, if it is time and the child is free. Seal is called for it before.
func (g *Group[B]) Turn(ctx actor.Context, seal func(*B)) {
	if g.busy || g.due.IsZero() || g.wait() > 0 {
		return
	}
	g.timer.Stop()
	g.busy, g.At = true, time.Now()
	if g.Storing == nil {
		seal(g.Next)
		g.Storing, g.Next, g.due = g.Next, g.begin(floor.Now()), time.Time{}
	}
	ctx.Request(g.child, &hand{g.storeNow})
}

// Before has the child do something before what it is handed later.
func (g *Group[B]) Before(ctx actor.Context, do func()) { ctx.Send(g.child, &hand{do}) }

func (g *Group[B]) storeNow() {
	g.err = g.store(g.Storing)
	g.had = g.err == nil
}

// Settle returns the batch that the child has had. One that was not stored is stored again after a rest, before what
// gathers meanwhile.
func (g *Group[B]) Settle(ctx actor.Context, rest time.Duration) (*B, error) {
	g.busy, g.Took = false, time.Since(g.At)
	if g.err != nil {
		g.due = g.At
		g.Rest(ctx, rest)
		return g.Storing, g.err
	}
	stored := g.Storing
	g.Storing, g.had = nil, false
	g.Rest(ctx, 0)
	return stored, nil
}

// Rest leaves the disk alone for a while.
func (g *Group[B]) Rest(ctx actor.Context, rest time.Duration) {
	g.rest = time.Now().Add(rest)
	if !g.due.IsZero() {
		g.timer.After(ctx, max(0, g.wait()), &Due{})
	}
}

// Stop ends the clock.
func (g *Group[B]) Stop() { g.timer.Stop() }

// Finish stores what is left, once the child has ended, and calls settle for each batch, until it returns false. Seal
// is that of Turn.
func (g *Group[B]) Finish(seal func(*B), settle func(*B, error) bool) {
	if g.Storing != nil {
		if !g.had {
			g.storeNow()
		}
		if !settle(g.Storing, g.err) {
			return
		}
	}
	if !g.due.IsZero() {
		seal(g.Next)
		settle(g.Next, g.store(g.Next))
	}
}
