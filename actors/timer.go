package actors

import (
	"time"

	"github.com/asynkron/protoactor-go/actor"
)

// timer sends its actor one message after a while. It must be stopped in Stopping: it does not die with the actor.
type timer struct{ t *time.Timer }

// after replaces what was set before.
func (t *timer) after(ctx actor.Context, d time.Duration, message any) {
	t.stop()
	root, self := ctx.ActorSystem().Root, ctx.Self()
	t.t = time.AfterFunc(d, func() { root.Send(self, message) })
}

func (t *timer) stop() {
	if t.t != nil {
		t.t.Stop()
		t.t = nil
	}
}
