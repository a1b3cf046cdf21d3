package slave

import (
	"time"

	"github.com/asynkron/protoactor-go/actor"
)

// actorTimer sends one message to its actor after a while; it dies with the actor if that stops it in Stopping.
type actorTimer struct{ timer *time.Timer }

// after replaces what was set before.
func (t *actorTimer) after(ctx actor.Context, d time.Duration, message any) {
	t.stop()
	root, self := ctx.ActorSystem().Root, ctx.Self()
	t.timer = time.AfterFunc(d, func() { root.Send(self, message) })
}

func (t *actorTimer) stop() {
	if t.timer != nil {
		t.timer.Stop()
		t.timer = nil
	}
}
