// Package ticks has loops that do something again and again until a context ends, and what rests and wakes a loop.
package ticks

import (
	"context"
	"iter"
	"time"
)

// Every yields the time after each span, which is more than zero, until the context ends. A tick that comes while the
// loop is busy is waited for by the next turn; further ones are left out, as time.Ticker does.
func Every(ctx context.Context, span time.Duration) iter.Seq[time.Time] {
	return func(yield func(time.Time) bool) {
		ticker := time.NewTicker(span)
		defer ticker.Stop()
		for {
			select {
			case <-ctx.Done():
				return
			case now := <-ticker.C:
				if !yield(now) {
					return
				}
			}
		}
	}
}

// FromNow yields the time at once, and then as Every does.
func FromNow(ctx context.Context, span time.Duration) iter.Seq[time.Time] {
	return func(yield func(time.Time) bool) {
		if yield(time.Now()) {
			Every(ctx, span)(yield)
		}
	}
}

// Rest waits for a span; an error says that the context ended first.
func Rest(ctx context.Context, span time.Duration) error {
	timer := time.NewTimer(span)
	defer timer.Stop()
	select {
	case <-timer.C:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

// Nudge wakes whoever waits for the channel, which has room for one, unless it was nudged before and has not woken yet.
func Nudge(c chan<- struct{}) {
	select {
	case c <- struct{}{}:
	default:
	}
}
