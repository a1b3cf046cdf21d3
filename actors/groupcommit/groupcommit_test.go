package groupcommit_test

import (
	"errors"
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"github.com/asynkron/protoactor-go/actor"

	"henro/actors/actortest"
	"henro/actors/groupcommit"
)

type batch struct {
	words  []string
	sealed bool
}

// gatherer gathers words. The child takes a second for a batch.
type gatherer struct {
	group  groupcommit.Group[batch]
	stored [][]string // in the order in which the child was given them
	fails  int        // so many times
	told   []string
}

func (g *gatherer) seal(b *batch) { b.sealed = true }

func (g *gatherer) store(b *batch) error {
	time.Sleep(time.Second)
	if !b.sealed {
		return errors.New("not sealed")
	}
	if g.stored = append(g.stored, b.words); len(g.stored) <= g.fails {
		return errors.New("the disk says no")
	}
	return nil
}

func (g *gatherer) Receive(ctx actor.Context) {
	switch m := ctx.Message().(type) {
	case *actor.Started:
		g.group.Start(ctx, "child", func(time.Time) *batch { return new(batch) }, g.store)
	case string:
		g.group.Next.words = append(g.group.Next.words, m)
		g.group.By(ctx, time.Now().Add(100*time.Millisecond))
	case *groupcommit.Due:
		g.group.Turn(ctx, g.seal)
	case *groupcommit.Synced:
		if b, err := g.group.Settle(ctx, time.Minute); err == nil {
			g.told = append(g.told, b.words...)
		}
	case *actor.Stopping:
		g.group.Stop()
	case *actor.Stopped:
		g.group.Finish(g.seal, func(b *batch, err error) bool {
			g.told = append(g.told, b.words...)
			return err == nil
		})
	}
}

// What comes while a batch is stored shares the next turn. A batch that was not stored goes again after a rest, as it
// was, and before what came behind it. At the end all that is left is stored.
func TestBatchesAreStoredInTheirOrder(t *testing.T) {
	for _, c := range []struct {
		sentence string
		fails    int
		until    time.Duration // then it ends
		stored   [][]string
	}{
		{"all goes well", 0, time.Hour, [][]string{{"a", "b"}, {"c", "d"}}},
		{"the first is tried three times", 2, time.Hour, [][]string{{"a", "b"}, {"a", "b"}, {"a", "b"}, {"c", "d"}}},
		{"the end comes before the first turn", 0, 0, [][]string{{"a", "b", "c", "d"}}},
		{"the end comes while the first is stored", 0, 500 * time.Millisecond, [][]string{{"a", "b"}, {"c", "d"}}},
		{"the end comes before the second try", 1, 30 * time.Second, [][]string{{"a", "b"}, {"a", "b"}, {"c", "d"}}},
		{"the second try is the last", 2, 30 * time.Second, [][]string{{"a", "b"}, {"a", "b"}}},
	} {
		synctest.Test(t, func(t *testing.T) {
			system := actortest.System(t)
			g := &gatherer{fails: c.fails}
			pid := system.Root.Spawn(actor.PropsFromProducer(func() actor.Actor { return g }))
			for i, word := range []string{"a", "b", "c", "d"} {
				if i == 2 && c.until > 0 {
					actortest.Pass(200 * time.Millisecond)
				}
				system.Root.Send(pid, word)
			}
			actortest.Pass(c.until)
			if err := system.Root.PoisonFuture(pid).Wait(); err != nil {
				t.Error(err)
			}
			if !slices.EqualFunc(g.stored, c.stored, slices.Equal) {
				t.Errorf("%s: stored %q, want %q", c.sentence, g.stored, c.stored)
			}
			if want := slices.Concat(c.stored[c.fails:]...); c.fails < len(c.stored) && !slices.Equal(g.told, want) {
				t.Errorf("%s: settled %q, want %q", c.sentence, g.told, want)
			}
		})
	}
}
