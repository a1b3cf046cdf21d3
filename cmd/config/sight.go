package config

import (
	"context"
	"time"

	"github.com/asynkron/protoactor-go/actor"
	"github.com/sirupsen/logrus"

	"henro/actors/console"
	"henro/actors/floor"
	"henro/master"
	"henro/slave"
)

// Sight is a system of actors that can be looked into.
type Sight struct {
	System *actor.ActorSystem
	Tracer *floor.Tracer
	Counts *floor.Counts

	Metrics *console.Metrics
	log     *logrus.Entry
}

// NewSight makes a system.
func NewSight(name, node string, log *logrus.Entry) *Sight {
	s := &Sight{Tracer: floor.NewTracer(floor.TracerOptions{Node: node}), Counts: new(floor.Counts), log: log}
	s.System = floor.NewSystem(name, log, floor.SystemOptions{Tracer: s.Tracer, Counts: s.Counts})
	s.Metrics = console.NewMetrics(buildVersion, s.Tracer, s.Counts)
	return s
}

// Lead has the metrics tell of a master's commits.
func (s *Sight) Lead(o *master.Options) {
	commits := master.CommitSeconds()
	s.Metrics.Register(commits)
	o.Partition.Committed = func(took time.Duration) { commits.Observe(took.Seconds()) }
}

// Work has the metrics tell of a slave's visits.
func (s *Sight) Work(o *slave.Options) {
	fetches := slave.FetchSeconds()
	s.Metrics.Register(fetches)
	o.Fetched = func(took time.Duration) { fetches.Observe(took.Seconds()) }
}

// Routes are those of metrics.
func (s *Sight) Routes() []console.Route { return s.Metrics.Routes(s.log) }

// Mailboxes are looked at so often, and complained about from so many waiting messages on: a thousand are a moment's
// work of any actor of ours, but not twice in a row.
const (
	watchEvery = 10 * time.Second
	watchLimit = 1000
)

// Watch complains in the log of actors that are stuck and of mailboxes that grow, until the context ends.
func (s *Sight) Watch(ctx context.Context) error {
	s.Tracer.Watch(ctx, watchEvery, watchLimit)
	return nil
}
