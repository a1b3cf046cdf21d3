package floor_test

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"runtime"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/asynkron/protoactor-go/actor"
	"github.com/sirupsen/logrus"

	"henro/actors/actortest"
	"henro/actors/floor"
)

// log of moments, since begin.
type moments struct {
	mu    sync.Mutex
	begin time.Time
	at    []time.Duration
}

func (m *moments) add() {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.at = append(m.at, time.Since(m.begin))
}

func (m *moments) all() []time.Duration {
	m.mu.Lock()
	defer m.mu.Unlock()
	return slices.Clone(m.at)
}

// The end of an actor is waited for, however long it takes within reason; one that is gone has ended.
func TestEndWaits(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		system := actortest.System(t)
		handled := 0
		pid := system.Root.Spawn(actor.PropsFromFunc(func(c actor.Context) {
			switch c.Message().(type) {
			case string:
				handled++
			case *actor.Stopping:
				time.Sleep(2 * time.Minute)
				handled++
			}
		}))
		system.Root.Send(pid, "before")
		if err := floor.End(system, pid); err != nil || handled != 2 {
			t.Errorf("%v, %d messages", err, handled)
		}
		if err := floor.End(system, pid); err != nil {
			t.Errorf("once more: %v", err)
		}
	})
}

func TestAnActorThatCannotStartIsTriedEverSlower(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		counts := &floor.Counts{}
		system := actortest.SystemWith(t, floor.SystemOptions{Counts: counts})
		starts := &moments{begin: time.Now()}
		pid := system.Root.Spawn(lasting(func(c actor.Context) {
			if _, ok := c.Message().(*actor.Started); ok {
				starts.add()
				panic("no disk")
			}
		}))
		actortest.Pass(2 * time.Second)
		if got := fmt.Sprint(starts.all()); got != "[0s 0s 100ms 300ms 700ms 1.5s]" {
			t.Errorf("started at %s", got)
		}
		actortest.Pass(time.Hour)
		if n := len(starts.all()); n < 120 || n > 135 {
			t.Errorf("started %d times in an hour, want once in 30 s", n)
		}
		if counts.Restarts.Load() < 100 {
			t.Errorf("counted %d restarts", counts.Restarts.Load())
		}
		system.Root.Stop(pid)
	})
}

func TestMessagesWaitWhileAnActorRests(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		system := actortest.System(t)
		var handled atomic.Int32
		pid := system.Root.Spawn(lasting(func(c actor.Context) {
			if m, ok := c.Message().(*fail); ok {
				if handled.Add(1); m.with != nil {
					panic(m.with)
				}
			}
		}))
		for i := range 60 {
			m := &fail{}
			if i%3 == 0 {
				m.with = "third"
			}
			system.Root.Send(pid, m)
		}
		actortest.Pass(time.Hour)
		if n := handled.Load(); n != 60 {
			t.Errorf("%d of 60 messages handled, with 20 failures among them", n)
		}
	})
}

func TestFailuresLongAgoAreForgiven(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		system := actortest.System(t)
		starts := &moments{begin: time.Now()}
		pid := system.Root.Spawn(lasting(func(c actor.Context) {
			if _, ok := c.Message().(*actor.Started); ok {
				starts.add()
			}
			worker(c)
		}))
		for range 4 {
			system.Root.Send(pid, &fail{"now and then"})
			actortest.Pass(time.Hour)
		}
		if got := fmt.Sprint(starts.all()); got != "[0s 0s 1h0m0s 2h0m0s 3h0m0s]" {
			t.Errorf("started at %s, want at once after each failure", got)
		}
	})
}

// Who fails ends the process unless it is Restartable, and whoever fails at its end does: it must not live on.
func TestWhatIsNotRestartableEndsTheProcess(t *testing.T) {
	for _, c := range []struct {
		sentence string
		props    *actor.Props
		message  any
		want     string // message of the Crash; "": none
	}{
		{"an actor that may not restart", actor.PropsFromFunc(worker), &fail{"x"}, "fail"},
		{"an actor that may", lasting(worker), &fail{"x"}, ""},
		{"an actor that may, at its end", lasting(func(c actor.Context) {
			if _, ok := c.Message().(*actor.Stopping); ok {
				panic("x")
			}
		}), &actor.PoisonPill{}, "Stop"},
	} {
		t.Run(c.sentence, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				var crashes []floor.Crash
				counts := &floor.Counts{}
				system := floor.NewSystem("test", actortest.Log(), floor.SystemOptions{Counts: counts,
					Crash: func(c floor.Crash) { crashes = append(crashes, c); runtime.Goexit() }})
				pid, err := system.Root.SpawnNamed(c.props, "w")
				if err != nil {
					t.Fatal(err)
				}
				system.Root.Send(pid, c.message)
				system.Root.Send(pid, &work{})
				actortest.Outlive()
				if c.want == "" {
					if len(crashes) > 0 || counts.Restarts.Load() != 1 {
						t.Errorf("%d restarts, crashed: %+v", counts.Restarts.Load(), crashes)
					}
					return
				}
				if len(crashes) != 1 || crashes[0].Message != c.want || crashes[0].Actor != "w" ||
					crashes[0].Reason != "x" || !strings.Contains(crashes[0].Stack, "floor_test.") {
					t.Errorf("crashed: %+v", crashes)
				}
				if n := counts.Restarts.Load(); n > 0 {
					t.Errorf("%d restarts", n)
				}
			})
		})
	}
}

// A goroutine under Guard ends the process as an actor does.
func TestAGoroutineThatPanicsEndsTheProcess(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var crashes []floor.Crash
		system := floor.NewSystem("test", actortest.Log(), floor.SystemOptions{
			Crash: func(c floor.Crash) { crashes = append(crashes, c); runtime.Goexit() }})
		for _, run := range []func(){func() {}, func() { panic("x") }} {
			go func() {
				defer floor.Guard(system, "a search")
				run()
			}()
			synctest.Wait()
		}
		if len(crashes) != 1 || crashes[0].Actor != "a search" || crashes[0].Reason != "x" ||
			!strings.Contains(crashes[0].Stack, "floor_test.") {
			t.Errorf("crashed: %+v", crashes)
		}
		actortest.Outlive()
	})
}

// The message that was lost is shown to the value that failed, and what waits behind it goes to the next.
func TestFailedSeesTheLostMessage(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		system := actortest.System(t)
		var lost []any
		pid := system.Root.Spawn(actor.PropsFromProducer(func() actor.Actor { return &losing{lost: &lost} }))
		for _, with := range []any{"a", nil, "b"} {
			system.Root.Send(pid, &fail{with})
		}
		actortest.Pass(time.Second)
		if got := fmt.Sprint(lost); got != "[a b]" {
			t.Errorf("lost: %s", got)
		}
	})
}

type losing struct{ lost *[]any }

func (l *losing) Receive(c actor.Context) {
	if m, ok := c.Message().(*fail); ok && m.with != nil {
		panic(m.with)
	}
}

func (l *losing) Failed(_ actor.Context, message any) {
	*l.lost = append(*l.lost, message.(*fail).with)
}

// judge is a supervision that lets the actor go on as it is.
type judge struct{ judged atomic.Int32 }

func (j *judge) HandleFailure(_ *actor.ActorSystem, parent actor.Supervisor, child *actor.PID,
	_ *actor.RestartStatistics, _, _ any) {
	j.judged.Add(1)
	parent.ResumeChildren(child)
}

func TestAParentsOwnSupervisionIsKept(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		system := actortest.System(t)
		strategy := &judge{}
		var child *actor.PID
		system.Root.Spawn(actor.PropsFromFunc(func(c actor.Context) {
			if _, ok := c.Message().(*actor.Started); ok {
				child = c.Spawn(lasting(worker))
			}
		}, actor.WithSupervisor(strategy)))
		synctest.Wait()
		system.Root.Send(child, &fail{"x"})
		// And of an actor spawned from Root that has a guardian of its own.
		pid := system.Root.Spawn(lasting(worker).Clone(actor.WithGuardian(strategy)))
		system.Root.Send(pid, &fail{"x"})
		synctest.Wait()
		if n := strategy.judged.Load(); n != 2 {
			t.Errorf("judged %d times", n)
		}
	})
}

func TestProtoactorSpeaksThroughLogrus(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var out bytes.Buffer
		l := logrus.New()
		l.SetOutput(&out)
		l.SetFormatter(&logrus.JSONFormatter{})
		l.SetLevel(logrus.InfoLevel)
		system := floor.NewSystem("n1", logrus.NewEntry(l), floor.SystemOptions{})
		system.Logger().Error("EndpointWriter failed to connect", slog.String("address", "x"))
		system.Logger().With(slog.String("a", "b")).WithGroup("g").Warn("something else",
			slog.Any("error", errors.New("e")), slog.Group("h", slog.Int("n", 1)))
		system.Root.Send(actor.NewPID("nonhost", "nobody"), &work{})
		actortest.Pass(time.Minute)
		var lines []map[string]any
		for line := range strings.Lines(out.String()) {
			var fields map[string]any
			if err := json.Unmarshal([]byte(line), &fields); err != nil {
				t.Fatal(err)
			}
			lines = append(lines, fields)
		}
		if len(lines) != 2 {
			t.Fatalf("lines:\n%s", &out)
		}
		if l := lines[0]; l["level"] != "warning" || l["msg"] != "something else" || l["a"] != "b" ||
			l["g.err"] != "e" || l["g.h.n"] != 1.0 || l["node"] != "n1" {
			t.Errorf("line %v", l)
		}
		if l := lines[1]; l["msg"] != "dead letter" || l["actor"] != "nobody" || l["message"] != "work" {
			t.Errorf("line %v", l)
		}
	})
}
