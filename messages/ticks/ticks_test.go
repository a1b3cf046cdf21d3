package ticks_test

import (
	"context"
	"iter"
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"henro/messages/ticks"
)

func TestALoopTurnsUntilItsContextEnds(t *testing.T) {
	for _, c := range []struct {
		loop func(context.Context, time.Duration) iter.Seq[time.Time]
		want []int // seconds
	}{{ticks.Every, []int{2, 4, 6}}, {ticks.FromNow, []int{0, 2, 4, 6}}} {
		synctest.Test(t, func(t *testing.T) {
			ctx, cancel := context.WithTimeout(t.Context(), 7*time.Second)
			defer cancel()
			begun, got := time.Now(), []int(nil)
			for now := range c.loop(ctx, 2*time.Second) {
				got = append(got, int(now.Sub(begun).Seconds()))
			}
			if !slices.Equal(got, c.want) || time.Since(begun) != 7*time.Second {
				t.Errorf("turned at %v seconds, and ended after %v: want %v and 7s", got, time.Since(begun), c.want)
			}
			for range c.loop(t.Context(), time.Second) {
				break // whoever leaves the loop is done with it
			}
		})
	}
}

func TestARestEndsWithItsContext(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ctx, cancel := context.WithTimeout(t.Context(), 3*time.Second)
		defer cancel()
		begun := time.Now()
		if err := ticks.Rest(ctx, 2*time.Second); err != nil || time.Since(begun) != 2*time.Second {
			t.Errorf("%v after %v, want none after 2s", err, time.Since(begun))
		}
		if err := ticks.Rest(ctx, time.Hour); err != context.DeadlineExceeded || time.Since(begun) != 3*time.Second {
			t.Errorf("%v after %v, want the end of the context after 3s", err, time.Since(begun))
		}
	})
}
