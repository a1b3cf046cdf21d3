package floor_test

import (
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/asynkron/protoactor-go/actor"

	"henro/actors/actortest"
	"henro/actors/floor"
	"henro/messages"
)

type work struct{ Took time.Duration }
type fail struct{ with any }

// worker takes its time, fails when told so, and passes Facts on.
func worker(c actor.Context) {
	switch m := c.Message().(type) {
	case *work:
		time.Sleep(m.Took)
	case *fail:
		panic(m.with)
	}
}

// traced is a bubble with a system whose tracer is at hand.
func traced(t *testing.T, o floor.TracerOptions, f func(t *testing.T, system *actor.ActorSystem,
	tracer *floor.Tracer)) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		o.Node = "test"
		tracer := floor.NewTracer(o)
		f(t, actortest.SystemWith(t, floor.SystemOptions{Tracer: tracer}), tracer)
	})
}

func spawn(t *testing.T, system *actor.ActorSystem, name string) *actor.PID {
	t.Helper()
	pid, err := system.Root.SpawnNamed(lasting(worker), name)
	if err != nil {
		t.Fatal(err)
	}
	return pid
}

// restartable is an actor that may restart.
type restartable func(actor.Context)

func (r restartable) Receive(c actor.Context)     { r(c) }
func (restartable) Failed(_ actor.Context, _ any) {}

// lasting makes an actor that may restart.
func lasting(receive func(actor.Context)) *actor.Props {
	return actor.PropsFromProducer(func() actor.Actor { return restartable(receive) })
}

// kinds writes events as "kind actor message".
func kinds(events []floor.TraceEvent) string {
	var words []string
	for _, e := range events {
		words = append(words, strings.TrimSpace(e.Kind+" "+e.Actor+" "+e.Message))
	}
	return strings.Join(words, ", ")
}

// following follows the events that fit.
func following(t testing.TB, tracer *floor.Tracer, f floor.Filter) *floor.Follower {
	t.Helper()
	follower, err := tracer.Follow(f, 1<<12)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(follower.Close)
	return follower
}

func TestTracedMessagesTellHowLongTheyWaited(t *testing.T) {
	traced(t, floor.TracerOptions{}, func(t *testing.T, system *actor.ActorSystem, tracer *floor.Tracer) {
		pid := spawn(t, system, "w")
		probe := actortest.NewProbe(t, system, "boss")
		synctest.Wait()
		follower := following(t, tracer, floor.Filter{Message: "work"})
		probe.Tell(pid, &work{50 * time.Millisecond})
		probe.Tell(pid, &work{10 * time.Millisecond})
		probe.Tell(pid, &work{0})
		actortest.Pass(time.Second)
		var got []string
		for range len(follower.Events()) {
			if e := <-follower.Events(); e.Kind == floor.Handled {
				got = append(got, fmt.Sprintf("%s→%s %s queue=%d dwell=%v took=%v", e.Sender, e.Actor, e.Message,
					e.Queue, e.Dwell, e.Took))
			}
		}
		want := []string{
			"boss→w work queue=1 dwell=0s took=50ms",
			"boss→w work queue=1 dwell=50ms took=10ms",
			"boss→w work queue=2 dwell=60ms took=0s",
		}
		// Whether the first was taken before the second came is the scheduler's business: the queues may be one longer.
		for i, w := range want {
			if i >= len(got) || strings.NewReplacer("queue=1", "", "queue=2", "", "queue=3", "").Replace(got[i]) !=
				strings.NewReplacer("queue=1", "", "queue=2", "").Replace(w) {
				t.Errorf("event %d of %q is not %q", i, got, w)
			}
		}
	})
}

func TestFiltersByActorMessageAndWhatItIsAbout(t *testing.T) {
	report := func(lease uint64, url string) *messages.Report {
		return &messages.Report{Slave: "s1", Facts: []*messages.Fact{{Lease: lease, Host: "http://a.example",
			Visited: &messages.PageVisited{Url: url}}}}
	}
	for _, c := range []struct {
		name   string
		filter floor.Filter
		want   string
	}{
		{"all", floor.Filter{}, "handled a/x Report, handled a/x work, handled b Report"},
		{"one actor", floor.Filter{Actor: "b"}, "handled b Report"},
		{"by the end of a name", floor.Filter{Actor: "?"}, "handled a/x Report, handled a/x work, handled b Report"},
		{"children", floor.Filter{Actor: "a/*"}, "handled a/x Report, handled a/x work"},
		{"a message", floor.Filter{Message: "Rep*"}, "handled a/x Report, handled b Report"},
		{"a lease", floor.Filter{About: "7"}, "handled a/x Report"},
		{"a URL", floor.Filter{About: "http://a.example/2"}, "handled b Report"},
		{"nothing", floor.Filter{Actor: "c"}, ""},
	} {
		t.Run(c.name, func(t *testing.T) {
			traced(t, floor.TracerOptions{}, func(t *testing.T, system *actor.ActorSystem, tracer *floor.Tracer) {
				a := actortest.NewProbe(t, system, "a")
				x := a.Spawn(t, actor.PropsFromFunc(worker), "x")
				b := spawn(t, system, "b")
				synctest.Wait()
				follower, err := tracer.Follow(c.filter, 10)
				if err != nil {
					t.Fatal(err)
				}
				system.Root.Send(x, report(7, "http://a.example/1"))
				synctest.Wait()
				system.Root.Send(x, &work{})
				synctest.Wait()
				system.Root.Send(b, report(8, "http://a.example/2"))
				synctest.Wait()
				var got []floor.TraceEvent
				for len(follower.Events()) > 0 {
					got = append(got, <-follower.Events())
				}
				follower.Close()
				if kinds(got) != c.want {
					t.Errorf("followed %q, want %q", kinds(got), c.want)
				}
				if c.filter.About == "7" &&
					got[0].About != "slave=s1 lease=7 host=http://a.example url=http://a.example/1" {
					t.Errorf("it is about %q", got[0].About)
				}
			})
		})
	}
}

func TestWhatGoesWrongIsKeptThoughNobodyLooks(t *testing.T) {
	traced(t, floor.TracerOptions{}, func(t *testing.T, system *actor.ActorSystem, tracer *floor.Tracer) {
		pid := spawn(t, system, "w")
		system.Root.Send(pid, &work{time.Minute})
		synctest.Wait()
		system.Root.Send(pid, &work{})
		system.Root.Send(pid, &work{})
		system.Root.Send(pid, &fail{errors.New("broken")})
		actortest.Pass(2 * time.Minute)
		if got := kinds(tracer.Recent()); got != "failed w fail, restarted w" {
			t.Errorf("kept %q", got)
		}
		e := tracer.Recent()[0]
		if e.Err != "broken" || !strings.Contains(e.Stack, "floor_test.worker") {
			t.Errorf("failure %q with the stack\n%s", e.Err, e.Stack)
		}
		system.Root.Send(pid, &work{time.Minute})
		synctest.Wait()
		system.Root.Send(pid, &work{})
		system.Root.Stop(pid)
		actortest.Pass(2 * time.Minute)
		system.Root.Send(pid, &work{})
		synctest.Wait()
		got := tracer.Recent()[2:]
		if kinds(got) != "stopped w, dead letter w work" || got[0].Queue != 1 {
			t.Errorf("kept %q, %d left behind", kinds(got), got[0].Queue)
		}
	})
}

func TestTheRingKeepsTheLatestAndSlowFollowersLose(t *testing.T) {
	traced(t, floor.TracerOptions{Ring: 4, Followers: 1},
		func(t *testing.T, system *actor.ActorSystem, tracer *floor.Tracer) {
			pid := spawn(t, system, "w")
			synctest.Wait()
			follower, err := tracer.Follow(floor.Filter{}, 3)
			if err != nil {
				t.Fatal(err)
			}
			if _, err := tracer.Follow(floor.Filter{}, 3); err == nil {
				t.Error("one follower too many")
			}
			for range 10 {
				system.Root.Send(pid, &work{})
				system.Root.Send(actor.NewPID(pid.Address, "nobody"), &work{})
			}
			synctest.Wait()
			recent := tracer.Recent()
			if len(recent) != 4 || recent[0].Seq+3 > recent[3].Seq || len(follower.Events()) != 3 ||
				follower.Dropped() != 17 {
				t.Errorf("ring %d, follower %d, dropped %d", len(recent), len(follower.Events()), follower.Dropped())
			}
			follower.Close()
			system.Root.Send(pid, &work{})
			synctest.Wait()
			if len(follower.Events()) != 3 {
				t.Error("looked on after the end")
			}
		})
}

func TestSamplingTakesItsShare(t *testing.T) {
	traced(t, floor.TracerOptions{}, func(t *testing.T, system *actor.ActorSystem, tracer *floor.Tracer) {
		pid := spawn(t, system, "w")
		synctest.Wait()
		follower := following(t, tracer, floor.Filter{Every: 64})
		for range 64_000 {
			system.Root.Send(pid, &work{})
		}
		synctest.Wait()
		if n := len(follower.Events()); n < 800 || n > 1200 {
			t.Errorf("%d of 64000 messages sampled at one in 64", n)
		}
	})
}

func TestBoxesGoWithTheirActors(t *testing.T) {
	traced(t, floor.TracerOptions{}, func(t *testing.T, system *actor.ActorSystem, tracer *floor.Tracer) {
		boss := actortest.NewProbe(t, system, "boss")
		for i := range 10 {
			child := boss.Spawn(t, actor.PropsFromFunc(worker), fmt.Sprint(i))
			if i%2 == 0 {
				system.Root.Poison(child)
			}
		}
		synctest.Wait()
		if n := len(tracer.Actors()); n != 6 {
			t.Errorf("%d actors, want the boss and 5 children", n)
		}
		if _, err := system.Root.SpawnNamed(actor.PropsFromFunc(worker), "boss"); !errors.Is(err, actor.ErrNameExists) {
			t.Errorf("second boss: %v", err)
		}
		if n := len(tracer.Actors()); n != 6 {
			t.Errorf("%d actors after a spawn that failed", n)
		}
		system.Root.Poison(boss.PID)
		synctest.Wait()
		if n := len(tracer.Actors()); n != 0 {
			t.Errorf("%d actors left", n)
		}
		spawn(t, system, "boss")
		synctest.Wait()
		if got := tracer.Actors(); len(got) != 1 {
			t.Errorf("actors %v", got)
		}
	})
}

func TestTroubleIsReported(t *testing.T) {
	traced(t, floor.TracerOptions{}, func(t *testing.T, system *actor.ActorSystem, tracer *floor.Tracer) {
		stuck, busy := spawn(t, system, "stuck"), spawn(t, system, "busy")
		for range 3 {
			system.Root.Send(stuck, &work{time.Hour})
		}
		for range 100 {
			system.Root.Send(busy, &work{time.Second})
		}
		actortest.Pass(10 * time.Second)
		tracer.Troubled(50)
		for range 100 {
			system.Root.Send(busy, &work{time.Second})
		}
		actortest.Pass(10 * time.Second)
		a, b := tracer.Troubled(50)
		if len(a) != 1 || a[0].Actor != "stuck" || len(b) != 1 || b[0].Actor != "busy" {
			t.Errorf("stuck %v, growing %v", a, b)
		}
		actortest.Pass(4 * time.Hour)
	})
}

func TestEventsAreReadableAsJSON(t *testing.T) {
	e := floor.TraceEvent{Seq: 1, Kind: floor.Handled, Actor: "a", Dwell: -1, Took: time.Millisecond}
	b, err := json.Marshal(e)
	if err != nil {
		t.Fatal(err)
	}
	want := `{"seq":1,"at":"0001-01-01T00:00:00Z","node":"","kind":"handled","actor":"a","queue":0,"dwell_ns":-1,` +
		`"took_ns":1000000}`
	if string(b) != want {
		t.Errorf("%s", b)
	}
}

// BenchmarkTell sends to one actor and waits for it at the end: ns a message without our boxes, and with them while
// nobody looks, while one in 64 is sampled, while a filter fits another actor, and while everything is recorded.
func BenchmarkTell(b *testing.B) {
	for _, c := range []struct {
		name   string
		bare   bool
		filter *floor.Filter
	}{
		{"bare", true, nil},
		{"off", false, nil},
		{"other", false, &floor.Filter{Actor: "nobody"}},
		{"sampled64", false, &floor.Filter{Every: 64}},
		{"full", false, &floor.Filter{}},
	} {
		b.Run(c.name, func(b *testing.B) {
			tracer := floor.NewTracer(floor.TracerOptions{})
			system := floor.NewSystem("bench", actortest.Log(), floor.SystemOptions{Tracer: tracer})
			root := system.Root
			if c.bare {
				system = actor.NewActorSystem(actor.WithLoggerFactory(func(*actor.ActorSystem) *slog.Logger {
					return slog.New(slog.DiscardHandler)
				}))
				root = system.Root
			}
			if c.filter != nil {
				following(b, tracer, *c.filter)
			}
			done := make(chan bool)
			n := 0
			pid := root.Spawn(actor.PropsFromFunc(func(c actor.Context) {
				if _, ok := c.Message().(*work); ok {
					if n++; n == b.N {
						close(done)
					}
				}
			}))
			m := &work{}
			b.ResetTimer()
			for range b.N {
				root.Send(pid, m)
			}
			<-done
			b.StopTimer()
			root.Stop(pid)
		})
	}
}
