package floor_test

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/asynkron/protoactor-go/actor"

	"henro/actors/actortest"
	"henro/actors/floor"
	"henro/actors/protocol"
	"henro/messages"
	"henro/store"
)

// told is what a reader was told.
type told struct {
	events []floor.TraceEvent
	rows   []floor.Row
}

func (r *told) take(m *messages.TraceReported) error {
	for _, line := range m.Events {
		var e floor.TraceEvent
		if err := json.Unmarshal(line, &e); err != nil {
			return err
		}
		r.events = append(r.events, e)
	}
	for _, line := range m.Rows {
		var row floor.Row
		if err := json.Unmarshal(line, &row); err != nil {
			return err
		}
		r.rows = append(r.rows, row)
	}
	return nil
}

func TestAReaderIsToldOfWhatFits(t *testing.T) {
	traced(t, floor.TracerOptions{Followers: 2}, func(t *testing.T, system *actor.ActorSystem, tracer *floor.Tracer) {
		tracing, err := floor.StartTracing(system, tracer)
		if err != nil {
			t.Fatal(err)
		}
		nodes := func() []*actor.PID { return []*actor.PID{tracing} }
		a, b := spawn(t, system, "a"), spawn(t, system, "b")
		synctest.Wait() // they have started
		var r told
		done := make(chan error)
		ctx, stop := context.WithTimeout(t.Context(), time.Hour)
		go func() {
			done <- floor.ReadTraces(ctx, system, &messages.TraceAsked{Actor: "a", ForNs: int64(20 * time.Second)},
				nodes, r.take)
		}()
		synctest.Wait()
		for range 3000 { // three reports of a thousand
			system.Root.Send(a, &work{})
			system.Root.Send(b, &work{})
		}
		time.Sleep(time.Minute) // longer than one question lasts: it is asked again
		system.Root.Send(a, &work{})
		time.Sleep(time.Second)
		stop()
		if err := <-done; err != nil {
			t.Fatal(err)
		}
		if len(r.events) != 3001 || slices.ContainsFunc(r.events,
			func(e floor.TraceEvent) bool { return e.Actor != "a" || e.Node != "test" }) {
			t.Errorf("%d events, want the 3001 of a", len(r.events))
		}
		synctest.Wait()
		for range 2 {
			if _, err := tracer.Follow(floor.Filter{}, 1); err != nil {
				t.Errorf("somebody still looks: %v", err)
			}
		}
	})
}

func TestWithoutFollowingAReaderIsToldWhatIsRemembered(t *testing.T) {
	traced(t, floor.TracerOptions{}, func(t *testing.T, system *actor.ActorSystem, tracer *floor.Tracer) {
		tracing, err := floor.StartTracing(system, tracer)
		if err != nil {
			t.Fatal(err)
		}
		spawn(t, system, "a")
		system.Root.Send(system.NewLocalPID("nobody"), &work{})
		synctest.Wait()
		var r told
		err = floor.ReadTraces(t.Context(), system, &messages.TraceAsked{Recent: true, Rows: 5},
			func() []*actor.PID { return []*actor.PID{tracing} }, r.take)
		if err != nil {
			t.Fatal(err)
		}
		if len(r.rows) != 1 || r.rows[0].Actor != "a" {
			t.Errorf("rows %v, want that of a, and none of those who look", r.rows)
		}
		if len(r.events) != 1 || r.events[0].Kind != floor.DeadLetter {
			t.Errorf("events %v, want the dead letter", r.events)
		}
		begin := time.Now()
		err = floor.ReadTraces(t.Context(), system, &messages.TraceAsked{},
			func() []*actor.PID { return []*actor.PID{system.NewLocalPID("gone")} }, r.take)
		if err != floor.ErrNobodyTraced || time.Since(begin) > 10*time.Second {
			t.Errorf("nobody answered: %v after %v", err, time.Since(begin))
		}
	})
}

// life are the messages of a crawl in which one URL is found, lent and stored, each with whether it is told of.
func life(url string) []struct {
	told    bool
	message any
} {
	const host, other = "http://a.test", "http://a.test/other"
	visited := func(u string) *messages.Fact {
		return &messages.Fact{Lease: 7, Host: host, Visited: &messages.PageVisited{Url: u}}
	}
	candidates := []store.Candidate{{URL: url}, {URL: other}}
	return []struct {
		told    bool
		message any
	}{
		{false, &protocol.FactsStored{Lease: 7}}, // nobody knows yet that it is of the URL
		{true, &protocol.Write{Candidates: candidates}},
		{true, &protocol.HostAsked{Host: host}},
		{false, &protocol.HostAsked{Host: "http://b.test"}},
		{true, &protocol.ToHost{Host: host, Message: &protocol.Lend{Lease: 7}}},
		{true, &messages.TaskBatch{Tasks: []*messages.HostTask{
			{Lease: 3, Host: "http://b.test", Tasks: []*messages.Task{{Url: "http://b.test/"}}},
			{Lease: 7, Host: host, Tasks: []*messages.Task{{Url: other}, {Url: url}}},
		}}},
		{false, &protocol.HostFacts{Lease: 7, Facts: []*messages.Fact{visited(other)}}},
		{true, &protocol.HostFacts{Lease: 7, Facts: []*messages.Fact{visited(other), visited(url)}}},
		{false, &protocol.ToHost{Host: host, Message: &protocol.HostFacts{Lease: 7,
			Facts: []*messages.Fact{visited(other)}}}},
		// links to it again
		{false, &protocol.Write{Visits: []store.Visited{{Page: store.Page{URL: other}}}, Candidates: candidates}},
		{true, &protocol.FactsStored{Lease: 7}},
		{false, &protocol.FactsStored{Lease: 3}},
		{true, &protocol.FactsCommitted{Facts: []*protocol.FactsStored{{Lease: 3}, {Lease: 7}}}},
		{true, &messages.Stored{Leases: []uint64{3, 7}, Seqs: []uint64{1, 1}}},
		{false, &messages.Stored{Leases: []uint64{3}, Seqs: []uint64{1}}},
	}
}

func TestTheLifeOfOneURLIsToldFromEndToEnd(t *testing.T) {
	traced(t, floor.TracerOptions{}, func(t *testing.T, system *actor.ActorSystem, tracer *floor.Tracer) {
		pid := system.Root.Spawn(actor.PropsFromFunc(func(actor.Context) {}))
		follower, err := tracer.Follow(floor.Filter{URL: "http://A.test/page#x"}, 100)
		if err != nil {
			t.Fatal(err)
		}
		defer follower.Close()
		for i, step := range life("http://a.test/page") {
			system.Root.Send(pid, step.message)
			synctest.Wait()
			got := ""
			select {
			case e := <-follower.Events():
				got = e.Message
			default:
			}
			if (got != "") != step.told {
				t.Errorf("message %d, %T: told %q, want %v", i, step.message, got, step.told)
			}
		}
	})
}

func TestMessagesThatNobodyKnowsAreSeen(t *testing.T) {
	tracer, counts := floor.NewTracer(floor.TracerOptions{}), new(floor.Counts)
	synctest.Test(t, func(t *testing.T) {
		system := actortest.SystemWith(t, floor.SystemOptions{Tracer: tracer, Counts: counts})
		pid, err := system.Root.SpawnNamed(actor.PropsFromFunc(func(ctx actor.Context) {
			if _, ok := ctx.Message().(*work); ok {
				floor.Unhandled(ctx, actortest.Log())
			}
		}), "a")
		if err != nil {
			t.Fatal(err)
		}
		system.Root.Send(pid, &work{})
		synctest.Wait()
		if got := tracer.Recent(); len(got) != 1 || got[0].Kind != floor.Unknown || got[0].Message != "work" ||
			got[0].Actor != "a" {
			t.Errorf("remembered %v", got)
		}
		if counts.Unhandled.Load() != 1 {
			t.Errorf("%d counted", counts.Unhandled.Load())
		}
	})
}

func TestKindsOfActors(t *testing.T) {
	for name, want := range map[string]string{
		"master": "master", "master/hosts": "hosts", "master/hosts/host/http://a.test": "host",
		"master/hosts/host/http://slave:80":     "host",
		"master/hosts/host/http://master/sweep": "sweep", "master/hosts/host/https://a.test~$7": "host",
		"master/partition/3": "partition", "master/tasks": "tasks",
		"master/partition/3/committer": "committer", "slave/fetcher/https://parser": "fetcher",
		"slave/parser/0": "parser", "EndpointSupervisor": "engine", "$7": "engine",
	} {
		if got := floor.KindOf(name); got != want {
			t.Errorf("%s is a %s, want %s", name, got, want)
		}
	}
}

func TestKindsSumUpTheirActors(t *testing.T) {
	traced(t, floor.TracerOptions{}, func(t *testing.T, system *actor.ActorSystem, tracer *floor.Tracer) {
		for i := range 2 {
			pid := spawn(t, system, fmt.Sprintf("parser~%d", i))
			for range 64 * 10 {
				system.Root.Send(pid, &work{20 * time.Millisecond})
			}
		}
		time.Sleep(time.Millisecond)
		k := tracer.Kinds()
		if len(k) != 1 || k[0].Kind != "parser" || k[0].Actors != 2 || k[0].Queue != 2*639 || k[0].Longest != 639 {
			t.Errorf("at work: %+v", k)
		}
		time.Sleep(time.Hour)
		system.Root.Poison(system.NewLocalPID("parser~0")) // one message more
		time.Sleep(time.Second)
		k = tracer.Kinds()
		poison := k[0].Handling.Buckets[0] // timed once in 64 runs of this test
		if k[0].Actors != 1 || k[0].Taken != 2*640+1 || poison > 1 || k[0].Handling.Count != 20+poison ||
			k[0].Handling.Sum != 400*time.Millisecond || k[0].Handling.Buckets[4] != 20 {
			t.Errorf("at the end: %+v", k)
		}
		if len(k) != 1 || strings.Contains(k[0].Kind, "~") {
			t.Errorf("kinds %v", k)
		}
	})
}
