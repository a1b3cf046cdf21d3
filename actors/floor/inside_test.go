package floor

import (
	"fmt"
	"runtime"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"
	"weak"

	"github.com/asynkron/protoactor-go/actor"
	"github.com/sirupsen/logrus"
)

type (
	chore  struct{ URL string }
	errand struct{ Host string }
)

// looked is a system whose actors are looked into.
func looked(t *testing.T) (*actor.ActorSystem, *Tracer) {
	t.Helper()
	tracer := NewTracer(TracerOptions{Node: "n"})
	log := logrus.New()
	log.SetOutput(&strings.Builder{})
	system := NewSystem("n", logrus.NewEntry(log), SystemOptions{Tracer: tracer})
	t.Cleanup(system.Shutdown)
	return system, tracer
}

// An actor that waits for a lock is shown with what it holds, where it waits and what waits for it, although nobody
// looked before it stood still.
func TestAStuckActorIsShownWithWhatItWaitsFor(t *testing.T) {
	system, tracer := looked(t)
	var lock sync.Mutex
	lock.Lock()
	begun := make(chan bool)
	pid, err := system.Root.SpawnNamed(actor.PropsFromFunc(func(ctx actor.Context) {
		if m, ok := ctx.Message().(*chore); ok && m.URL == "http://a/first" {
			close(begun)
			lock.Lock()
			defer lock.Unlock()
		}
	}), "worker")
	if err != nil {
		t.Fatal(err)
	}
	system.Root.Send(pid, &chore{"http://a/first"})
	<-begun
	system.Root.Send(pid, &errand{"http://b"})
	for range 300 {
		system.Root.Send(pid, &chore{"http://a/next"})
	}
	rows := tracer.Table("worker", 1)
	tracer.lookInside(rows)
	in := rows[0].Inside
	if rows[0].Queue != 301 || in.Head != "errand host=http://b" || in.Kinds["chore"] != 300 ||
		in.Kinds["errand"] != 1 ||
		in.Holds != "chore url=http://a/first" {
		t.Errorf("%d wait: %+v", rows[0].Queue, in)
	}
	if !strings.Contains(in.Waits, "sync.Mutex.Lock") ||
		!slices.ContainsFunc(in.At, func(at string) bool {
			return strings.Contains(at, "TestAStuckActor") && strings.Contains(at, "inside_test.go:")
		}) {
		t.Errorf("it waits for %q at %q", in.Waits, in.At)
	}
	lock.Unlock()
	for deadline := time.Now().Add(10 * time.Second); ; time.Sleep(time.Millisecond) {
		rows = tracer.Table("worker", 1)
		if tracer.lookInside(rows); rows[0].Queue == 0 && rows[0].Inside.Holds == "" {
			break
		}
		if time.Now().After(deadline) {
			t.Fatalf("it does not come to its end: %+v", rows[0].Inside)
		}
	}
}

// What an actor sends while it handles a message has that message for its cause, through any number of actors; what a
// goroutine of its own sends has none.
func TestEventsNameTheirCauses(t *testing.T) {
	system, tracer := looked(t)
	follower, err := tracer.Follow(Filter{Causes: true, Actor: "link*"}, 1000)
	if err != nil {
		t.Fatal(err)
	}
	defer follower.Close()
	var next *actor.PID
	for i := range 4 {
		to := next
		pid, err := system.Root.SpawnNamed(actor.PropsFromFunc(func(ctx actor.Context) {
			if m, ok := ctx.Message().(*chore); ok && to != nil {
				ctx.Send(to, m)
				if to.Id == "link0" {
					go ctx.ActorSystem().Root.Send(to, &errand{"by a goroutine"})
				}
			}
		}), fmt.Sprintf("link%d", i))
		if err != nil {
			t.Fatal(err)
		}
		next = pid
	}
	for range 50 {
		system.Root.Send(next, &chore{"http://a/"})
	}
	// An actor may have handled a message before the one that sent it has returned, so the events are sorted out later.
	events := map[uint64]TraceEvent{}
	for len(events) < 4*50+50 {
		select {
		case e := <-follower.Events():
			if e.Kind == Handled {
				events[e.ID] = e
			}
		case <-time.After(30 * time.Second):
			t.Fatalf("%d messages were handled, %d events dropped", len(events), follower.Dropped())
		}
	}
	chains := 0
	for _, e := range events {
		if e.Message == "errand" && (e.Cause != 0 || e.From != "") {
			t.Errorf("what a goroutine sent has a cause: %+v", e)
		}
		if e.Actor != "link0" || e.Message != "chore" {
			continue
		}
		for _, from := range []string{"link1", "link2", "link3"} {
			if e.From != from {
				t.Fatalf("%s was sent by %q, want %s", e.Actor, e.From, from)
			}
			cause, known := events[e.Cause]
			if !known || cause.Actor != from {
				t.Fatalf("the cause of %+v is %+v", e, cause)
			}
			e = cause
		}
		if e.Cause != 0 || e.From != "" {
			t.Fatalf("what was sent from outside has a cause: %+v", e)
		}
		chains++
	}
	if chains != 50 {
		t.Errorf("%d of 50 chains", chains)
	}
}

func TestLettersKeepTheirOrder(t *testing.T) {
	var l letters
	in, out := 0, 0
	for step := range 10_000 {
		if (step/300)%3 < 2 || in == out {
			l.push(in)
			in++
		}
		if step%2 == 0 && out < in {
			if waiting, _ := l.look(1); waiting[0] != out {
				t.Fatalf("the head is %v, want %d", waiting[0], out)
			}
			if got := l.pop(); got != out {
				t.Fatalf("%v, want %d", got, out)
			}
			out++
		}
	}
	for ; out < in; out++ {
		if got := l.pop(); got != out {
			t.Fatalf("%v, want %d", got, out)
		}
	}
	if len(l.ring) > keptRing {
		t.Errorf("an empty ring of %d is kept", len(l.ring))
	}
}

// A message that was handled is held no more, however long its actor rests: it may have megabytes of links.
func TestAMessageIsLetGoOnceItWasHandled(t *testing.T) {
	system, _ := looked(t)
	pid := system.Root.Spawn(actor.PropsFromFunc(func(ctx actor.Context) {
		if m, ok := ctx.Message().(*errand); ok {
			ctx.Respond(m.Host)
		}
	}))
	sent := &errand{"http://b"}
	held := weak.Make(sent)
	if _, err := system.Root.RequestFuture(pid, sent, 10*time.Second).Result(); err != nil {
		t.Fatal(err)
	}
	sent = nil
	for deadline := time.Now().Add(10 * time.Second); held.Value() != nil; time.Sleep(time.Millisecond) {
		if time.Now().After(deadline) {
			t.Fatal("it is held still")
		}
		runtime.GC()
	}
}
