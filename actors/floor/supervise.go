package floor

import (
	"errors"
	"fmt"
	"time"

	"github.com/asynkron/protoactor-go/actor"
	"github.com/sirupsen/logrus"
)

// Supervision says what becomes of an actor that panicked. It is restarted: at once the first time, then after a pause
// that doubles, while messages wait in its mailbox. protoactor's own strategy stops it for good and in silence after
// ten failures in ten seconds, and its restarting one spins at full speed when an actor fails at its start.
//
// The zero value is ready for use. One value may be shared by many parents.
type Supervision struct {
	Pause    time.Duration // before the second restart in a row, doubled for each further; default 100 ms
	PauseMax time.Duration // longest pause; default 30 s
	Calm     time.Duration // an actor that did not fail for so long is new again; default 1 min
	Limit    int           // restarts in a row before it is stopped after all; 0: none, it is tried for ever

	// Decide judges what the actor panicked with; nil: Decide of this package. Escalate is not for actors spawned from
	// Root.
	Decide actor.DeciderFunc
	// GaveUp hears of actors that were stopped; nil: only the log does. It must not wait.
	GaveUp func(child *actor.PID, reason any)
}

// Fatal makes an error with which an actor panics to be stopped instead of restarted, since a restart would change
// nothing.
func Fatal(err error) error { return fatal{err} }

type fatal struct{ error }

func (f fatal) Unwrap() error { return f.error }

// IsFatal reports whether what an actor panicked with is Fatal.
func IsFatal(reason any) bool {
	err, ok := reason.(error)
	return ok && errors.As(err, new(fatal))
}

// Decide stops what is Fatal and restarts everything else.
func Decide(reason any) actor.Directive {
	if IsFatal(reason) {
		return actor.StopDirective
	}
	return actor.RestartDirective
}

// Strategy is the supervision as protoactor wants it: for actor.WithSupervisor of a parent's props, or, by NewSystem,
// for Root.
func (s Supervision) Strategy(log *logrus.Entry) actor.SupervisorStrategy {
	if s.Pause == 0 {
		s.Pause = 100 * time.Millisecond
	}
	if s.PauseMax == 0 {
		s.PauseMax = 30 * time.Second
	}
	if s.Calm == 0 {
		s.Calm = time.Minute
	}
	if s.Decide == nil {
		s.Decide = Decide
	}
	return &supervisor{Supervision: s, log: log}
}

type supervisor struct {
	Supervision
	log *logrus.Entry
}

// HandleFailure is called by the parent, or by a guardian on the goroutine of the actor that failed.
func (s *supervisor) HandleFailure(system *actor.ActorSystem, parent actor.Supervisor, child *actor.PID,
	failures *actor.RestartStatistics, reason, message any) {
	directive := s.Decide(reason)
	var pause time.Duration
	if directive == actor.RestartDirective {
		if failures.NumberOfFailures(s.Calm+s.PauseMax) == 0 {
			failures.Reset() // it only ever grows by itself
		}
		row := failures.FailureCount()
		failures.Fail()
		if s.Limit > 0 && row >= s.Limit {
			directive = actor.StopDirective
		}
		pause = s.pause(row)
	}
	if directive == actor.EscalateDirective {
		parent.EscalateFailure(reason, message)
		return
	}
	system.EventStream.Publish(&actor.SupervisorEvent{Child: child, Reason: reason, Directive: directive})
	switch {
	case directive == actor.ResumeDirective:
		parent.ResumeChildren(child)
	case directive == actor.StopDirective:
		s.log.WithFields(logrus.Fields{"actor": child.Id, "err": fmt.Sprint(reason)}).Error("actor given up")
		parent.StopChildren(child)
		if s.GaveUp != nil {
			s.GaveUp(child, reason)
		}
	case pause == 0:
		parent.RestartChildren(child)
	default:
		// RestartChildren only posts a message, so that it may be called from the timer's goroutine.
		time.AfterFunc(pause, func() { parent.RestartChildren(child) })
	}
}

// pause before the restart that follows row restarts in a row.
func (s *supervisor) pause(row int) time.Duration {
	if row == 0 {
		return 0
	}
	d := s.Pause
	for range row - 1 {
		if d *= 2; d >= s.PauseMax {
			return s.PauseMax
		}
	}
	return d
}
