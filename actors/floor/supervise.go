package floor

import (
	"fmt"
	"time"

	"github.com/asynkron/protoactor-go/actor"
)

// Restartable is an actor that may go on after a panic, as a new value with an empty state: whatever the old value knew
// is restored by its Started, or is sent again. A panic of any other actor ends the process (SystemOptions.Crash),
// since the rest would wait for ever for what is lost; the next start of the process restores everything from disk.
// (Actors whose props name a mailbox are not looked at: they restart.)
type Restartable interface {
	actor.Actor
	// Failed is called on the value that panicked, on its goroutine, with the message that it panicked on. Both are
	// gone afterwards. It answers for the lost message where its sender does not ask again.
	Failed(ctx actor.Context, message any)
}

// Crash is a panic that ends the process. A goroutine that is no actor has neither sender nor message.
type Crash struct {
	Actor, Sender, Message string
	Reason                 any
	Stack                  string // below the panic, at most 4 kB
}

// Need panics with an error, and what was done, for an actor that can do nothing else until it is restarted.
func Need(err error, doing string, values ...any) {
	if err != nil {
		panic(fmt.Errorf(doing+": %w", append(values, err)...))
	}
}

// Guard is deferred by goroutines that are no actors, since nothing supervises them: their panic ends the process, as
// that of an actor that may not restart. The log names the goroutine by what it does.
func Guard(system *actor.ActorSystem, what string) {
	if reason := recover(); reason != nil {
		system.EventStream.Publish(&Crash{Actor: what, Reason: reason, Stack: PanicStack()})
	}
}

// Pauses between the restarts of an actor that fails again and again: at once the first time, then after firstPause,
// doubled for each further restart up to longestPause. An actor that did not fail for calm counts as new. (protoactor's
// own strategy stops an actor for good and in silence after ten failures in ten seconds; its restarting one spins at
// full speed when an actor fails at its start.)
const (
	firstPause   = 100 * time.Millisecond
	longestPause = 30 * time.Second
	calm         = time.Minute
)

// restarts is the supervision of all actors: it restarts whatever comes to it, for as long as the process lives. What
// must not be restarted never comes to it.
type restarts struct{}

// HandleFailure is called by the parent, or by a guardian on the goroutine of the actor that failed. Messages wait in
// the mailbox meanwhile.
func (restarts) HandleFailure(system *actor.ActorSystem, parent actor.Supervisor, child *actor.PID,
	failures *actor.RestartStatistics, reason, _ any) {
	if failures.NumberOfFailures(calm+longestPause) == 0 {
		failures.Reset() // it only ever grows by itself
	}
	pause := pauseAfter(failures.FailureCount())
	failures.Fail()
	system.EventStream.Publish(&actor.SupervisorEvent{Child: child, Reason: reason, Directive: actor.RestartDirective})
	if pause == 0 {
		parent.RestartChildren(child)
		return
	}
	// RestartChildren only posts a message, so that it may be called from the timer's goroutine.
	time.AfterFunc(pause, func() { parent.RestartChildren(child) })
}

// pauseAfter is the pause before the restart that follows so many restarts in a row.
func pauseAfter(row int) time.Duration {
	if row == 0 {
		return 0
	}
	return min(firstPause<<min(row-1, 20), longestPause)
}
