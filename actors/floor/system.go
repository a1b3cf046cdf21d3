package floor

import (
	"cmp"
	"log/slog"
	"reflect"
	"sync/atomic"
	"time"

	"github.com/asynkron/protoactor-go/actor"
	"github.com/sirupsen/logrus"
	"golang.org/x/time/rate"
)

// SystemOptions change how the actors of one process live; the zero value is ready for use.
type SystemOptions struct {
	Tracer *Tracer // looks into the mailboxes; nil: one that is never asked
	Counts *Counts // counts what went wrong; nil: nothing is counted
	// Crash ends the process after the panic of an actor that is not Restartable, or of a goroutine under Guard. It
	// is called on the goroutine that panicked and must not return. nil: the panic goes on and ends the process as Go
	// does.
	Crash func(Crash)
	// Receive lies around the Receive of every actor, for tests that make actors fail; nil: nothing does.
	Receive actor.ReceiverMiddleware
}

// Counts counts what went wrong in one system since its start.
type Counts struct {
	DeadLetters atomic.Uint64 // messages to actors that are not there
	Restarts    atomic.Uint64 // actors restarted after a failure
	Unhandled   atomic.Uint64 // messages that their receivers did not know
}

// Dead letters in the log: three, and then a count after ten seconds.
const (
	deadLetterLines = 3
	deadLetterPause = 10 * time.Second
)

// NewSystem makes a system of actors that logs to entry, restarts what may be restarted, and lets the tracer look into
// every mailbox. No metrics provider is set: it makes every message cost eight times as much and does not export the
// lengths of mailboxes.
//
// When actors of other processes are spoken to, cluster.StartRemote comes before the first spawn.
func NewSystem(name string, entry *logrus.Entry, o SystemOptions) *actor.ActorSystem {
	log := entry.WithField("node", name)
	if o.Tracer == nil {
		o.Tracer = NewTracer(TracerOptions{Node: name})
	}
	o.Counts = cmp.Or(o.Counts, new(Counts))
	slogger := slog.New(&bridge{log: log.WithField("lib", "protoactor")})
	system := actor.NewActorSystem(
		actor.WithLoggerFactory(func(*actor.ActorSystem) *slog.Logger { return slogger }),
		actor.WithDeadLetterThrottleCount(deadLetterLines),
		actor.WithDeadLetterThrottleInterval(deadLetterPause))
	o.Tracer.attach(system, log, o.Crash)
	a := &adoption{tracer: o.Tracer, receive: o.Receive}
	system.Root.WithGuardian(restarts{}).WithSpawnMiddleware(a.middleware)

	warnings := rate.NewLimiter(1, 20)
	// The event stream calls its listeners one after the other on the goroutine that publishes: they must only count
	// and go.
	system.EventStream.Subscribe(func(event any) {
		switch e := event.(type) {
		case *Crash:
			if o.Crash == nil {
				panic(e.Reason)
			}
			o.Crash(*e)
		case *actor.DeadLetterEvent:
			o.Counts.DeadLetters.Add(1)
			o.Tracer.deadLetter(e)
		case *unhandled:
			o.Counts.Unhandled.Add(1)
			o.Tracer.unhandled(e)
		case *actor.SupervisorEvent:
			if e.Directive == actor.RestartDirective { // always, but for actors of protoactor's own
				o.Counts.Restarts.Add(1)
			}
			if warnings.Allow() {
				log.WithFields(logrus.Fields{"actor": e.Child.GetId(), "err": e.Reason}).Warn("actor failed")
			}
		}
	})
	return system
}

// adoption gives every actor that is spawned, children included, the system's supervision and a traced mailbox, unless
// its props have their own.
type adoption struct {
	tracer  *Tracer
	receive actor.ReceiverMiddleware // nil: none
}

// middleware spawns with adopted props. It calls the default spawner itself, since the last link of a root context's
// chain forgets the guardian that the props ask for.
func (a *adoption) middleware(next actor.SpawnFunc) actor.SpawnFunc {
	return func(system *actor.ActorSystem, id string, props *actor.Props, parent actor.SpawnerContext) (*actor.PID,
		error) {
		if id == "activator" || id == "EndpointSupervisor" { // of protoactor's remote, which knows best
			return actor.DefaultSpawner(system, id, props, parent)
		}
		return actor.DefaultSpawner(system, id, a.adopt(props), parent)
	}
}

// adopt makes new props at each spawn, for some 2 µs. A memory of them was tried: it kept alive what the props refer
// to, and those of a slave for 1,024 leases refer to the known URLs of as many hosts.
func (a *adoption) adopt(props *actor.Props) *actor.Props {
	options := []actor.PropsOption{actor.WithSpawnMiddleware(a.middleware)}
	if unset(props, "mailboxProducer") {
		options = append(options, actor.WithMailbox(a.tracer.mailbox))
	}
	if unset(props, "supervisionStrategy") {
		options = append(options, actor.WithSupervisor(restarts{}))
	}
	if a.receive != nil {
		options = append(options, actor.WithReceiverMiddleware(a.receive))
	}
	return props.Clone(options...)
}

// unset reports whether the props leave a field to the default. Props cannot be asked for it, only looked at; a field
// that is not there counts as set, so that a change of the library costs tracing and not behaviour.
func unset(props *actor.Props, field string) bool {
	f := reflect.ValueOf(props).Elem().FieldByName(field)
	return f.IsValid() && f.IsNil()
}
