// Package hosts holds the actors of all hosts: Hosts, which wakes them and lets them rest; one Host for each host that
// is awake; and Skips, which writes down what they do not take.
//
// A Host moves messages. What it knows and decides is in package host.
package hosts

import (
	"slices"

	"github.com/asynkron/protoactor-go/actor"
	"github.com/sirupsen/logrus"

	"henro/actors/admission"
	"henro/actors/floor"
	"henro/actors/host"
	"henro/actors/protocol"
	"henro/store"
)

// Introduction names the Partitions to the Hosts; work begins with it.
type Introduction struct {
	Partitions  []*actor.PID
	PartitionOf func(host string) int
	Skips       *actor.PID // of SkipsProps
}

type moreHosts struct{}

// Hosts is the parent of the Host actors: it wakes them when there is something for them and lets them rest when there
// is not. A host at rest is a row on disk.
//
// Invariants: at most one Host of a name is alive; no message to a host is lost while it goes to rest or wakes.
type Hosts struct {
	o      host.Options
	master *actor.PID
	log    *logrus.Entry

	partitions  []*actor.PID
	partitionOf func(string) int // nil: not introduced yet
	early       []early          // messages that came before the Introduction
	skips       *actor.PID
	regions     *admission.Known
	resources   *protocol.ResourcesChanged // the latest
	awake       map[string]*awakeHost
	names       map[string]string // of those awake, by the name of their actor
	unlisted    []store.HostID    // by partition: 1 + WaitingHostsAsked.After of the next question; 0: none is left
	listing     int               // answers awaited
	overlooked  bool              // a host was not woken for want of room: list again
	timer       floor.Timer
	ending      bool // it and all Host actors end
}

// early is a message for a host that came before the Introduction: partitions work as soon as they are spawned.
type early struct {
	host    string
	message any
	must    bool // it must not be lost
}

type awakeHost struct {
	pid     *actor.PID
	leaving bool  // it was granted rest, and what comes for it waits in stash
	ending  bool  // it rests: its actor ends, and its name is free when Terminated says so
	stash   []any // while leaving
}

// Props makes the parent of all Host actors.
func Props(o host.Options, master *actor.PID, log *logrus.Entry) *actor.Props {
	return actor.PropsFromProducer(func() actor.Actor {
		return &Hosts{o: o, master: master, log: log.WithField("actor", "hosts"), awake: map[string]*awakeHost{},
			names: map[string]string{}}
	})
}

// Receive is the table of contents.
func (h *Hosts) Receive(ctx actor.Context) {
	if h.ending { // nobody would tell a Host woken now to end, and protoactor would wait for it
		return
	}
	switch m := ctx.Message().(type) {
	case *Introduction:
		h.partitions, h.partitionOf, h.skips = m.Partitions, m.PartitionOf, m.Skips
		for _, e := range h.early {
			h.forward(ctx, e.host, e.message, e.must)
		}
		h.early = nil
		h.list(ctx)
	case *actor.Stopping:
		h.timer.Stop()
		h.ending = true
	case *actor.Terminated:
		h.forgetEnded(ctx, m.Who)
	case *protocol.ScopeChanged:
		h.regions = admission.Remember(m.Scope)
		h.sendAll(ctx, &host.RegionsChanged{Regions: h.regions})
	case *protocol.ResourcesChanged:
		h.resources = m
		h.o.Politeness.Servers, h.o.Politeness.Connections = m.Servers, m.Connections
		h.sendAll(ctx, m)
	case *protocol.ToHost:
		h.forward(ctx, m.Host, m.Message, true)
	case *protocol.HostsGrew:
		for _, name := range m.Hosts {
			h.forward(ctx, name, &host.Grew{}, false)
		}
	case *protocol.HostDue:
		h.forward(ctx, m.Host, &protocol.DueOpened{Count: m.Count}, false)
	case *protocol.WaitingHostsReported:
		h.wakeListed(ctx, m)
	case *host.RestWanted:
		if a := h.awake[m.Host]; a != nil && !a.leaving {
			a.leaving = true
			ctx.Send(a.pid, &host.RestGranted{})
		}
	case *host.Rested:
		a := h.awake[m.Host]
		a.ending = true
		ctx.Poison(a.pid)
	case *host.StillBusy:
		h.welcomeBack(ctx, m.Host)
	case *hostFailed:
		h.takeUp(ctx, m.host)
	case *moreHosts:
		h.list(ctx)
	default:
		floor.Unhandled(ctx, h.log)
	}
}

func (h *Hosts) sendAll(ctx actor.Context, message any) {
	for _, a := range h.awake {
		if !a.ending {
			ctx.Send(a.pid, message)
		}
	}
}

// forward gives a message to a host, waking it. When there is no room for one more, only what must not be lost wakes
// it.
func (h *Hosts) forward(ctx actor.Context, host string, message any, must bool) {
	if h.partitionOf == nil {
		h.early = append(h.early, early{host, message, must})
		return
	}
	a := h.awake[host]
	switch {
	case a == nil && !must && len(h.awake) >= h.o.MaxAwake:
		h.overlooked = true
		return
	case a == nil:
		a = h.wake(ctx, host)
	case a.leaving:
		a.stash = append(a.stash, message)
		return
	}
	ctx.Send(a.pid, message)
}

func (h *Hosts) wake(ctx actor.Context, host string) *awakeHost {
	a := &awakeHost{}
	a.pid = floor.SpawnAs(ctx, hostProps(&hostEnvironment{
		Options: h.o, name: host, partition: h.partitions[h.partitionOf(host)], master: h.master, skips: h.skips,
		regions: h.regions, log: h.log,
	}), "host/"+host)
	h.awake[host], h.names[a.pid.Id] = a, host
	return a
}

// forgetEnded forgets a host whose actor has ended, and wakes it at once if something came for it meanwhile. Were it
// woken sooner, protoactor would forget the new actor, of the same name, when it hears of this end, and the actor would
// outlive its parent.
func (h *Hosts) forgetEnded(ctx actor.Context, ended *actor.PID) {
	host := h.names[ended.Id]
	a := h.awake[host]
	delete(h.awake, host)
	delete(h.names, ended.Id)
	for _, message := range a.stash {
		h.forward(ctx, host, message, true)
	}
	if len(h.awake) < h.o.MaxAwake/2 && h.listing == 0 {
		h.timer.After(ctx, h.o.RestAfter, &moreHosts{})
	}
}

func (h *Hosts) welcomeBack(ctx actor.Context, host string) {
	a := h.awake[host]
	a.leaving = false
	stash := a.stash
	a.stash = nil
	for _, message := range stash {
		ctx.Send(a.pid, message)
	}
}

// takeUp goes on with a Host that restarts. It does not know any more that it wanted to rest, and it may have failed on
// a message that is sent only once: these are sent again here.
func (h *Hosts) takeUp(ctx actor.Context, name string) {
	a := h.awake[name]
	if a == nil || a.ending || !a.pid.Equal(ctx.Sender()) {
		return // it had gone to rest
	}
	ctx.Send(a.pid, &host.RegionsChanged{Regions: h.regions})
	if h.resources != nil {
		ctx.Send(a.pid, h.resources)
	}
	h.welcomeBack(ctx, name)
}

// list asks the partitions which hosts have something to do, from where listing stopped.
func (h *Hosts) list(ctx actor.Context) {
	if h.unlisted == nil || h.overlooked && h.listed() {
		h.unlisted, h.overlooked = make([]store.HostID, len(h.partitions)), false
		for i := range h.unlisted {
			h.unlisted[i] = 1 // After: 0, which is from the start
		}
	}
	for i, after := range h.unlisted {
		if after != 0 && len(h.awake) < h.o.MaxAwake {
			h.listing++
			ctx.Request(h.partitions[i], &protocol.WaitingHostsAsked{After: after - 1})
		}
	}
}

func (h *Hosts) listed() bool {
	return h.listing == 0 && !slices.ContainsFunc(h.unlisted, func(after store.HostID) bool { return after != 0 })
}

func (h *Hosts) wakeListed(ctx actor.Context, m *protocol.WaitingHostsReported) {
	h.listing--
	for _, host := range m.Hosts {
		if h.awake[host] == nil {
			h.wake(ctx, host)
		}
	}
	h.unlisted[m.Partition] = 0
	if m.Next != 0 {
		h.unlisted[m.Partition] = m.Next + 1
	}
	if h.listing == 0 && !h.listed() && len(h.awake) < h.o.MaxAwake {
		h.list(ctx)
	}
}
