package floor

import (
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
