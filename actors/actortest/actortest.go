// Package actortest watches actors in tests, in virtual time.
//
// Everything here is for bubbles of testing/synctest: real mailboxes, real supervision, and a clock that jumps. System
// gives a system that is taken down at the end of the test, with no actor, timer or goroutine left; a Probe is an actor
// that keeps what it receives and when. Waiting is synctest's: let time pass with Pass, which returns when nothing is
// left to do.
//
// Invariant: what a Probe returns is all that was sent to it up to now, since every reading waits for the mailboxes to
// be empty.
package actortest

import (
	"io"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/asynkron/protoactor-go/actor"
	"github.com/sirupsen/logrus"

	"henro/actors/floor"
)

// aftermath is longer than the longest timer that protoactor leaves behind, the ten seconds of its dead-letter
// throttle.
const aftermath = time.Minute

// System makes a system for one bubble. At the end of the test its actors are poisoned, the latest first, and the test
// fails when one is left.
func System(t *testing.T) *actor.ActorSystem { return SystemWith(t, floor.SystemOptions{}) }

// SystemWith is System with options.
func SystemWith(t *testing.T, o floor.SystemOptions) *actor.ActorSystem {
	t.Helper()
	if o.Tracer == nil {
		o.Tracer = floor.NewTracer(floor.TracerOptions{Node: "test"})
	}
	system := floor.NewSystem("test", Log(), o)
	t.Cleanup(func() {
		synctest.Wait()
		rows := o.Tracer.Actors()
		for i := len(rows) - 1; i >= 0; i-- {
			if !strings.Contains(rows[i], "/") {
				system.Root.Poison(system.NewLocalPID(rows[i]))
				synctest.Wait()
			}
		}
		Outlive()
		if left := o.Tracer.Actors(); len(left) > 0 {
			t.Errorf("actors left after the test: %s", strings.Join(left, ", "))
		}
	})
	return system
}

// Outlive passes the time until what protoactor leaves behind a system has ended, so that a bubble may end.
func Outlive() { Pass(aftermath) }

// Log is a logger that writes nothing.
func Log() *logrus.Entry {
	l := logrus.New()
	l.SetOutput(io.Discard)
	return logrus.NewEntry(l)
}

// Pass lets time pass and returns when nothing is left to do.
func Pass(d time.Duration) {
	time.Sleep(d)
	synctest.Wait()
}

// Received is one message that a Probe received.
type Received struct {
	At      time.Time
	Message any
	Sender  *actor.PID
}

// Probe is an actor that keeps the messages it receives, the ends of actors it watches too, and answers if a function
// says how.
type Probe struct {
	PID    *actor.PID
	system *actor.ActorSystem

	mu       sync.Mutex
	received []Received
	reply    func(c actor.Context, message any)
}

// NewProbe spawns a probe under the name; another actor's messages to that name come to it.
func NewProbe(t *testing.T, system *actor.ActorSystem, name string) *Probe {
	t.Helper()
	p := &Probe{system: system}
	pid, err := system.Root.SpawnNamed(actor.PropsFromFunc(p.receive), name)
	if err != nil {
		t.Fatalf("spawn probe %s: %v", name, err)
	}
	p.PID = pid
	return p
}

// Reply says what to do with each message after it was kept.
func (p *Probe) Reply(f func(c actor.Context, message any)) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.reply = f
}

type spawn struct {
	props *actor.Props
	name  string
}

type watchDeath struct{ who *actor.PID }

func (p *Probe) receive(c actor.Context) {
	switch m := c.Message().(type) {
	case *spawn:
		pid, err := c.SpawnNamed(m.props, m.name)
		if err != nil {
			c.Respond(err)
			return
		}
		c.Respond(pid)
		return
	case *watchDeath:
		c.Watch(m.who)
		return
	case *actor.Terminated:
	case actor.SystemMessage, actor.AutoReceiveMessage:
		return
	}
	p.mu.Lock()
	p.received = append(p.received, Received{At: time.Now(), Message: c.Message(), Sender: c.Sender()})
	reply := p.reply
	p.mu.Unlock()
	if reply != nil {
		reply(c, c.Message())
	}
}

// Spawn spawns a child of the probe, for actors that speak to their parents.
func (p *Probe) Spawn(t *testing.T, props *actor.Props, name string) *actor.PID {
	t.Helper()
	answer, err := p.system.Root.RequestFuture(p.PID, &spawn{props, name}, time.Second).Result()
	pid, ok := answer.(*actor.PID)
	if !ok {
		t.Fatalf("spawn %s: %v, %v", name, answer, err)
	}
	return pid
}

// Watch makes the probe hear of the end of an actor.
func (p *Probe) Watch(who *actor.PID) { p.system.Root.Send(p.PID, &watchDeath{who}) }

// Tell sends the message to the actor as if the probe had sent it, so that answers come to the probe.
func (p *Probe) Tell(to *actor.PID, message any) {
	p.system.Root.RequestWithCustomSender(to, message, p.PID)
}

// Received is all that the probe received and that was not taken yet.
func (p *Probe) Received() []Received {
	synctest.Wait()
	p.mu.Lock()
	defer p.mu.Unlock()
	return append([]Received(nil), p.received...)
}

// Take returns the messages received since the last Take.
func (p *Probe) Take() []any {
	synctest.Wait()
	p.mu.Lock()
	defer p.mu.Unlock()
	var messages []any
	for _, r := range p.received {
		messages = append(messages, r.Message)
	}
	p.received = nil
	return messages
}

// TakeOf takes the messages of one type and leaves the others.
func TakeOf[M any](p *Probe) []M {
	synctest.Wait()
	p.mu.Lock()
	defer p.mu.Unlock()
	var taken []M
	var left []Received
	for _, r := range p.received {
		if m, ok := r.Message.(M); ok {
			taken = append(taken, m)
		} else {
			left = append(left, r)
		}
	}
	p.received = left
	return taken
}
