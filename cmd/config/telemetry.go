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

// Telemetry is a system of actors with what observes it: a tracer of its mailboxes, counts of failures, and metrics.
type Telemetry struct {
	System *actor.ActorSystem
	Tracer *floor.Tracer
	Counts *floor.Counts

	Metrics *console.Metrics
	log     *logrus.Entry
}

// NewTelemetry makes a system of actors that is observed.
func NewTelemetry(name, node string, log *logrus.Entry) *Telemetry {
	t := &Telemetry{Tracer: floor.NewTracer(floor.TracerOptions{Node: node}), Counts: new(floor.Counts), log: log}
	t.System = floor.NewSystem(name, log, floor.SystemOptions{Tracer: t.Tracer, Counts: t.Counts})
	t.Metrics = console.NewMetrics(buildVersion, t.Tracer, t.Counts)
	return t
}

// OfMaster adds the durations of a master's commits to the metrics.
func (t *Telemetry) OfMaster(o *master.Options) {
	commits := master.CommitSeconds()
	t.Metrics.Register(commits)
	o.Partition.Committed = func(took time.Duration) { commits.Observe(took.Seconds()) }
}

// OfSlave adds the durations of a slave's fetches to the metrics.
func (t *Telemetry) OfSlave(o *slave.Options) {
	fetches := slave.FetchSeconds()
	t.Metrics.Register(fetches)
	o.Fetched = func(took time.Duration) { fetches.Observe(took.Seconds()) }
}

// Routes are those of metrics.
func (t *Telemetry) Routes() []console.Route { return t.Metrics.Routes(t.log) }

// Every watchEvery the mailboxes are examined. One with more than watchLimit messages twice in a row is reported in the
// log: an actor handles a thousand messages in a moment.
const (
	watchEvery = 10 * time.Second
	watchLimit = 1000
)

// Watch warns in the log of actors that are stuck and of mailboxes that grow, until the context ends.
func (t *Telemetry) Watch(ctx context.Context) error {
	t.Tracer.Watch(ctx, watchEvery, watchLimit)
	return nil
}
