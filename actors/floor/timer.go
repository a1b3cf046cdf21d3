package floor

import (
	"time"

	"github.com/asynkron/protoactor-go/actor"
)

// Timer sends its actor one message after a while. It must be stopped in Stopping: it does not die with the actor.
type Timer struct{ t *time.Timer }

// After replaces what was set before.
func (t *Timer) After(ctx actor.Context, d time.Duration, message any) {
	t.Stop()
	root, self := ctx.ActorSystem().Root, ctx.Self()
	t.t = time.AfterFunc(d, func() { root.Send(self, message) })
}

// Stop forgets what was set.
func (t *Timer) Stop() {
	if t.t != nil {
		t.t.Stop()
		t.t = nil
	}
}
