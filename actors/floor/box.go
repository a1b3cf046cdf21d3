package floor

import (
	"fmt"
	"runtime/debug"
	"strings"
	"sync/atomic"
	"time"

	"github.com/asynkron/protoactor-go/actor"
	"github.com/sirupsen/logrus"
)

// box lies around the mailbox of one actor.
type box struct {
	actor.Mailbox // the mailbox itself
	tracer        *Tracer
	invoker       actor.MessageInvoker // the actor's context
	name          string
	kind          string
	sum           *kindSum      // of the kind; nil: not entered
	turn          uint64        // which of its messages are timed
	process       actor.Process // what the registry has under the name while the actor lives
	ending        bool          // it was asked to stop; written and read by the actor alone

	taken atomic.Uint64          // messages that the actor began with; written by it alone
	marks atomic.Pointer[marked] // what was found out about the name for the present watch

	// guarded by tracer.boxesMu
	prev, next           *box   // in the list of boxes
	lastQueue, lastTaken uint64 // as Troubled saw them
}

type marked struct {
	watch *sinkSet
	mask  uint64
}

// stamped is a message that is traced, in its mailbox.
type stamped struct {
	message any // as it was posted
	at      time.Time
	queue   int
	watch   *sinkSet
	mask    uint64
}

var unbounded = actor.Unbounded()

// mailbox makes the mailbox of an actor that is being spawned.
func (t *Tracer) mailbox() actor.Mailbox { return &box{tracer: t, Mailbox: unbounded(), turn: turn()} }

// RegisterHandlers is called once, when the actor has its name and its place in the registry.
func (b *box) RegisterHandlers(invoker actor.MessageInvoker, dispatcher actor.Dispatcher) {
	b.invoker = invoker
	if self, ok := invoker.(interface{ Self() *actor.PID }); ok {
		b.name = self.Self().Id
		b.kind = KindOf(b.name)
		b.process, _ = b.tracer.system.ProcessRegistry.GetLocal(b.name)
		b.tracer.enter(b)
	}
	b.Mailbox.RegisterHandlers(b, dispatcher)
}

// PostUserMessage is called by senders.
func (b *box) PostUserMessage(message any) {
	if w := b.tracer.active.Load(); w != nil {
		message = b.stamp(w, message)
	}
	b.Mailbox.PostUserMessage(message)
}

func (b *box) stamp(w *sinkSet, message any) any {
	_, m, _ := actor.UnwrapEnvelope(message)
	mask := b.mask(w) & w.wants(m)
	if mask != 0 {
		mask = w.sampled(mask)
	}
	if mask == 0 {
		return message
	}
	return &stamped{message: message, at: time.Now(), queue: b.UserMessageCount() + 1, watch: w, mask: mask}
}

func (b *box) mask(w *sinkSet) uint64 {
	if m := b.marks.Load(); m != nil && m.watch == w {
		return m.mask
	}
	m := &marked{watch: w, mask: w.toActor(b.name)}
	b.marks.Store(m)
	return m.mask
}

// InvokeUserMessage is called by the mailbox when there is something that the actor takes next.
func (b *box) InvokeUserMessage(message any) {
	taken := b.taken.Load() + 1
	b.taken.Store(taken)
	timed := (taken+b.turn)%HandlingShare == 0 && b.sum != nil
	if s, ok := message.(*stamped); ok {
		took := b.invokeTraced(s)
		if timed {
			b.sum.handled(took)
		}
		return
	}
	if !timed {
		b.invoker.InvokeUserMessage(message)
		return
	}
	begin := time.Now()
	b.invoker.InvokeUserMessage(message)
	b.sum.handled(time.Since(begin))
}

func (b *box) invokeTraced(s *stamped) time.Duration {
	begin := time.Now()
	b.invoker.InvokeUserMessage(s.message)
	end := time.Now()
	dwell, took := begin.Sub(s.at), end.Sub(begin)
	_, m, sender := actor.UnwrapEnvelope(s.message)
	if s.mask != 0 {
		b.tracer.emit(s.watch, s.mask, m, TraceEvent{At: end, Kind: Handled, Actor: b.name,
			Sender: b.tracer.pidWord(sender), Queue: s.queue, Dwell: dwell, Took: took})
	}
	return took
}

// InvokeSystemMessage is called by the mailbox with a message about the actor's life.
func (b *box) InvokeSystemMessage(message any) {
	if _, stop := message.(*actor.Stop); stop {
		b.ending = true
	}
	b.invoker.InvokeSystemMessage(message)
	kind, lost := "", 0
	switch message.(type) {
	case *actor.Started:
		kind = Started
	case *actor.Restart:
		kind = Restarted
	}
	switch message.(type) {
	case *actor.Stop, *actor.Terminated, *actor.Restart:
		// An actor is gone once its children are: with Stop itself, or with the end of the last child.
		if now, ok := b.tracer.system.ProcessRegistry.GetLocal(b.name); (!ok || now != b.process) && b.tracer.leave(b) {
			kind, lost = Stopped, b.UserMessageCount()
		}
	}
	if kind == "" {
		return
	}
	w := b.tracer.active.Load()
	var mask uint64
	if w != nil {
		mask = b.mask(w) & w.wants(message)
	}
	b.tracer.emit(w, mask, nil, TraceEvent{At: time.Now(), Kind: kind, Actor: b.name, Queue: lost, Dwell: -1})
}

// EscalateFailure is called when the actor panicked. The stack of the panic still stands here. An actor that is not
// Restartable ends the process at once, before other actors act on what it sent or did not send; so does one that
// panicked while it was ending, since a restart would undo that.
func (b *box) EscalateFailure(reason, message any) {
	if s, ok := message.(*stamped); ok {
		message = s.message
	}
	_, m, sender := actor.UnwrapEnvelope(message)
	t, stack := b.tracer, PanicStack()
	ctx, _ := b.invoker.(actor.Context)
	failed, restartable := ctx.Actor().(Restartable)
	if !restartable || b.ending {
		if t.crash == nil {
			panic(reason)
		}
		t.crash(Crash{Actor: b.name, Sender: t.pidWord(sender), Message: messageName(m), Reason: reason, Stack: stack})
	}
	if t.panics.Allow() {
		t.log.WithFields(logrus.Fields{"actor": b.name, "sender": t.pidWord(sender), "message": messageName(m),
			"err": reason, "stack": stack}).
			Error("actor panicked")
	}
	w, mask := t.watching(b.name)
	t.emit(w, mask, m, TraceEvent{At: time.Now(), Kind: Failed, Actor: b.name, Sender: t.pidWord(sender), Dwell: -1,
		Err: fmt.Sprint(reason), Stack: stack})
	failed.Failed(ctx, m)
	b.invoker.EscalateFailure(reason, message)
}

// PanicStack is the stack below the panic, at most 4 kB of it.
func PanicStack() string {
	stack := string(debug.Stack())
	if _, below, ok := strings.Cut(stack, "panic("); ok {
		if _, rest, ok := strings.Cut(below, "\n"); ok {
			if _, rest, ok = strings.Cut(rest, "\n"); ok {
				stack = rest
			}
		}
	}
	return stack[:min(len(stack), 4096)]
}
