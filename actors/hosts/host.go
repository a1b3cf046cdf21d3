package hosts

import (
	"github.com/asynkron/protoactor-go/actor"
	"github.com/sirupsen/logrus"

	"henro/actors/admission"
	"henro/actors/floor"
	"henro/actors/host"
	"henro/actors/protocol"
)

// hostEnvironment is what a Host is made with.
type hostEnvironment struct {
	host.Options
	name      string
	partition *actor.PID
	master    *actor.PID
	skips     *actor.PID // gets the URLs that are not taken; nil: nobody wants them
	regions   *admission.Known
	log       *logrus.Entry
	failed    bool // the Host of this name has failed before, and what it wrote then may not be on disk yet
}

// Host is the politeness actor of one host. What it knows and decides is its host.Book; here facts come in and effects
// go out.
type Host struct {
	*hostEnvironment
	log      *logrus.Entry
	behavior actor.Behavior
	book     *host.Book
	timer    floor.Timer
	stash    []any  // messages that came while settling and restoring
	settle   any    // tag of the write that is waited for while settling
	unlent   uint64 // the lease that was on its way to disk when this Host failed: its slave was not sent it
}

type (
	hostFailed struct{ host string } // from a Host that is about to restart
	settledTag struct{ _ byte }      // not empty, so that no two pointers to one are equal
)

func hostProps(e *hostEnvironment) *actor.Props {
	return actor.PropsFromProducer(func() actor.Actor {
		h := &Host{hostEnvironment: e, behavior: actor.NewBehavior(), book: host.New(e.Options, e.name, e.regions),
			log: e.log.WithFields(logrus.Fields{"actor": "host", "host": e.name})}
		h.behavior.Become(h.restoring)
		return h
	})
}

// Receive is the table of contents.
func (h *Host) Receive(ctx actor.Context) {
	switch ctx.Message().(type) {
	case *actor.Started:
		if h.failed {
			h.settle = &settledTag{}
			h.behavior.Become(h.settling)
			ctx.Request(h.partition, &protocol.Write{Urgent: true, Tag: h.settle})
			return
		}
		ctx.Request(h.partition, h.book.Asked())
	case *actor.Stopping:
		h.timer.Stop()
	case *actor.Restarting:
		h.timer.Stop()
		h.failed = true
		h.unstash(ctx)
		ctx.Request(ctx.Parent(), &hostFailed{h.name})
	case actor.SystemMessage, actor.AutoReceiveMessage:
	default:
		h.behavior.Receive(ctx)
	}
}

// Failed implements floor.Restartable: what was lost is on disk, is sent again, or is asked again.
func (h *Host) Failed(actor.Context, any) {}

// settling waits until all that this Host wrote before it failed is on disk, the clock of the host above all. Answers
// to what it asked before are of no use any more.
func (h *Host) settling(ctx actor.Context) {
	switch m := ctx.Message().(type) {
	case *protocol.Written:
		if m.Tag == h.settle {
			h.behavior.Become(h.restoring)
			ctx.Request(h.partition, h.book.Asked())
		} else if tag, ok := m.Tag.(*host.LentTag); ok {
			h.unlent = tag.Lease
		}
	case *protocol.HostRestored, *protocol.PagesLoaded, *protocol.EntriesLoaded, *protocol.OverflowLoaded:
	default:
		h.stash = append(h.stash, m)
	}
}

// restoring waits for what is on disk of the host. Other messages wait until it has come.
func (h *Host) restoring(ctx actor.Context) {
	m, ok := ctx.Message().(*protocol.HostRestored)
	if !ok {
		h.stash = append(h.stash, ctx.Message())
		return
	}
	h.unstash(ctx)
	h.behavior.Become(h.awake)
	h.awake(ctx)
	if m.Lease != nil && m.Lease.ID == h.unlent {
		h.take(ctx, &protocol.LeaseVoid{Lease: h.unlent})
	}
}

// unstash puts what was stashed behind what is in the mailbox.
func (h *Host) unstash(ctx actor.Context) {
	for _, message := range h.stash {
		ctx.Send(ctx.Self(), message)
	}
	h.stash = nil
}

// awake has the book take every message.
func (h *Host) awake(ctx actor.Context) { h.take(ctx, ctx.Message()) }

func (h *Host) take(ctx actor.Context, fact any) {
	effects, known := h.book.Updated(floor.Now(), fact)
	if !known {
		floor.Unhandled(ctx, h.log)
	}
	for i := range effects {
		h.do(ctx, &effects[i])
	}
	clear(effects) // the next ones, in their place, may be days away, and the links of a page are megabytes at worst
}

// do sends what is to be sent.
func (h *Host) do(ctx actor.Context, e *host.Effect) {
	switch e.To {
	case host.Master:
		ctx.Request(h.master, e.Message) // its sender is where facts of the lease go
	case host.Hosts:
		ctx.Send(ctx.Parent(), e.Message)
	case host.Partition:
		ctx.Request(h.partition, e.Message)
	case host.Skips:
		if h.skips != nil {
			ctx.Send(h.skips, e.Message)
		}
	case host.Self:
		h.timer.After(ctx, e.After, e.Message)
	case host.Log:
		if failing, ok := e.Message.(*host.Failing); ok {
			h.log.WithField("err", failing.Cause).Info("a host fails")
			return
		}
		h.log.WithField("err", e.Message).Warn("a fact of a slave cannot be used")
	}
}
