//go:build panics

package config

import (
	"os"
	"strconv"
	"strings"
	"sync/atomic"

	"github.com/asynkron/protoactor-go/actor"

	"henro/actors/floor"
)

// panics makes an actor panic where PANIC_AT says, so that the lab sees what becomes of real processes: KIND:N is the
// Nth message that actors of a kind receive. Programs of releases are built without it.
func panics() actor.ReceiverMiddleware {
	kind, count, _ := strings.Cut(os.Getenv("PANIC_AT"), ":")
	at, err := strconv.ParseInt(count, 10, 64)
	if err != nil {
		return nil
	}
	var received atomic.Int64
	return func(next actor.ReceiverFunc) actor.ReceiverFunc {
		return func(c actor.ReceiverContext, e *actor.MessageEnvelope) {
			if floor.KindOf(c.Self().Id) == kind && received.Add(1) == at {
				panic("injected")
			}
			next(c, e)
		}
	}
}
