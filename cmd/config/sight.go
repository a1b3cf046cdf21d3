package config

import (
	"context"
	"time"

	"github.com/asynkron/protoactor-go/actor"
	"github.com/sirupsen/logrus"

	"henro/actors"
)

// Sight is a system of actors that can be looked into.
type Sight struct {
	System *actor.ActorSystem
	Tracer *actors.Tracer
	Counts *actors.Counts
}

// NewSight makes a system.
func NewSight(name, node string, log *logrus.Entry) *Sight {
	s := &Sight{Tracer: actors.NewTracer(actors.TracerOptions{Node: node}), Counts: new(actors.Counts)}
	s.System = actors.NewSystem(name, log, actors.SystemOptions{Tracer: s.Tracer, Counts: s.Counts})
	return s
}

// Mailboxes are looked at so often, and complained about from so many waiting messages on: a thousand are a moment's work of any
// actor of ours, but not twice in a row.
const (
	watchEvery = 10 * time.Second
	watchLimit = 1000
)

// Watch complains in the log of actors that are stuck and of mailboxes that grow, until the context ends.
func (s *Sight) Watch(ctx context.Context) error {
	s.Tracer.Watch(ctx, watchEvery, watchLimit)
	return nil
}
