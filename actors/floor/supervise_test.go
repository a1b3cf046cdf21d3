package floor_test

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
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

func TestAnActorThatCannotStartIsTriedEverSlower(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		counts := &floor.Counts{}
		system := actortest.SystemWith(t, floor.SystemOptions{Counts: counts})
		starts := &moments{begin: time.Now()}
		pid := system.Root.Spawn(actor.PropsFromFunc(func(c actor.Context) {
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
		if counts.Restarts.Load() < 100 || counts.Stops.Load() != 0 {
			t.Errorf("counted %d restarts, %d stops", counts.Restarts.Load(), counts.Stops.Load())
		}
		system.Root.Stop(pid)
	})
}

func TestMessagesWaitWhileAnActorRests(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		system := actortest.System(t)
		var handled atomic.Int32
		pid := system.Root.Spawn(actor.PropsFromFunc(func(c actor.Context) {
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
		system := actortest.SystemWith(t, floor.SystemOptions{Supervision: floor.Supervision{Limit: 3}})
		pid := spawn(t, system, "w")
		for range 10 {
			system.Root.Send(pid, &fail{"now and then"})
			actortest.Pass(time.Hour)
		}
		if _, alive := system.ProcessRegistry.GetLocal("w"); !alive {
			t.Error("stopped though it failed but once an hour")
		}
	})
}

func TestFatalFailuresStop(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var gone []string
		counts := &floor.Counts{}
		system := actortest.SystemWith(t, floor.SystemOptions{Counts: counts, Supervision: floor.Supervision{
			Limit:  2,
			GaveUp: func(child *actor.PID, reason any) { gone = append(gone, child.Id+": "+fmt.Sprint(reason)) },
		}})
		boss := actortest.NewProbe(t, system, "boss")
		child := boss.Spawn(t, actor.PropsFromFunc(worker), "w")
		system.Root.Send(child, &fail{fmt.Errorf("open: %w", floor.Fatal(errors.New("not a state directory")))})
		synctest.Wait()
		if got := actortest.TakeOf[*actor.Terminated](boss); len(got) != 1 {
			t.Errorf("the boss heard %v", got)
		}
		for range 3 {
			system.Root.Send(spawnOnce(t, system, "x"), &fail{"again"})
			actortest.Pass(time.Second)
		}
		if got := strings.Join(gone, ", "); got != "boss/w: open: not a state directory, x: again" {
			t.Errorf("gave up %q", got)
		}
		if counts.Stops.Load() != 2 || counts.Restarts.Load() != 2 {
			t.Errorf("counted %d stops, %d restarts", counts.Stops.Load(), counts.Restarts.Load())
		}
	})
}

func spawnOnce(t *testing.T, system *actor.ActorSystem, name string) *actor.PID {
	if _, ok := system.ProcessRegistry.GetLocal(name); ok {
		return system.NewLocalPID(name)
	}
	return spawn(t, system, name)
}

func TestAParentsOwnSupervisionIsKept(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		system := actortest.System(t)
		var judged atomic.Int32
		strategy := floor.Supervision{Decide: func(any) actor.Directive {
			judged.Add(1)
			return actor.ResumeDirective
		}}.Strategy(actortest.Log())
		var child *actor.PID
		system.Root.Spawn(actor.PropsFromFunc(func(c actor.Context) {
			if _, ok := c.Message().(*actor.Started); ok {
				child = c.Spawn(actor.PropsFromFunc(worker))
			}
		}, actor.WithSupervisor(strategy)))
		synctest.Wait()
		system.Root.Send(child, &fail{"x"})
		// And of an actor spawned from Root that has a guardian of its own.
		pid := system.Root.Spawn(actor.PropsFromFunc(worker, actor.WithGuardian(strategy)))
		system.Root.Send(pid, &fail{"x"})
		synctest.Wait()
		if n := judged.Load(); n != 2 {
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
