package config

import (
	"context"
	"os"
	"time"

	"github.com/asynkron/protoactor-go/actor"
	"github.com/sirupsen/logrus"
	"golang.org/x/sync/errgroup"

	"henro/actors/console"
	"henro/actors/floor"
	"henro/actors/reading"
	"henro/master"
	"henro/slave"
)

// Telemetry is a system of actors with what observes it: a tracer of its mailboxes, counts of failures, and metrics.
type Telemetry struct {
	System *actor.ActorSystem
	Tracer *floor.Tracer
	Counts *floor.Counts
	Tail   *console.Tail // of the log, for requests to this node or the master

	Metrics *console.Metrics
	log     *logrus.Entry
}

// NewTelemetry makes a system of actors that is observed. A panic that no restart makes good ends the process.
func NewTelemetry(name, node string, log *logrus.Entry, o floor.SystemOptions) *Telemetry {
	t := &Telemetry{Counts: new(floor.Counts), Tail: console.NewTail(), log: log}
	log.Logger.AddHook(t.Tail)
	t.Tracer = floor.NewTracer(floor.TracerOptions{Node: node, Lines: t.Tail.Latest})
	o.Tracer, o.Counts = t.Tracer, t.Counts
	if o.Crash == nil {
		o.Crash = func(c floor.Crash) { crash(log, c) }
	}
	if o.Receive == nil {
		o.Receive = panics()
	}
	t.System = floor.NewSystem(name, log, o)
	t.Metrics = console.NewMetrics(buildVersion, t.Tracer, t.Counts)
	return t
}

// crash ends the process at once, so that it leaves what a kill leaves: nothing is written, flushed or closed any more.
func crash(log *logrus.Entry, c floor.Crash) {
	log = log.WithFields(logrus.Fields{"actor": c.Actor, "err": c.Reason, "stack": c.Stack})
	if c.Message == "" {
		log.Error("a goroutine panicked: this process ends as if it had been killed; start it again with the same " +
			"directory")
	} else {
		log.WithFields(logrus.Fields{"sender": c.Sender, "message": c.Message}).
			Error("an actor panicked: this process ends as if it had been killed; start it again with the same " +
				"directory")
	}
	os.Exit(ExitPanicked)
}

// Go runs a part of a program on a goroutine of the group. A panic of it ends the process as that of an actor does.
func (t *Telemetry) Go(group *errgroup.Group, what string, run func() error) {
	group.Go(func() error {
		defer floor.Guard(t.System, what)
		return run()
	})
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

// Attend has a node take the seeds, beside what else runs until the crawl ends, and waits for the end. When asked ends,
// the crawl is stopped in order; when given ends, it is left as it is. Of actors that are stuck, and of mailboxes that
// grow, it warns in the log.
func (t *Telemetry) Attend(asked, given context.Context, node *master.Node, seeds []reading.Seed,
	beside map[string]func(context.Context) error) (status master.Status, err error) {
	inner, cancel := context.WithCancel(given)
	defer cancel()
	group, inner := errgroup.WithContext(inner)
	for what, run := range beside {
		t.Go(group, what, func() error { return run(inner) })
	}
	t.Go(group, "the watch of mailboxes", func() error { return t.Watch(inner) })
	t.Go(group, "the crawl", func() (err error) {
		defer cancel()
		status, err = node.Run(asked, inner, seeds)
		return err
	})
	err = group.Wait()
	return status, err
}

// Watch warns in the log of actors that are stuck and of mailboxes that grow, until the context ends.
func (t *Telemetry) Watch(ctx context.Context) error {
	t.Tracer.Watch(ctx, watchEvery, watchLimit)
	return nil
}
