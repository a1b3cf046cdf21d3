package slave

import (
	"math/rand/v2"
	"slices"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/asynkron/protoactor-go/actor"

	"henro/actors/actortest"
	"henro/actors/floor"
	"henro/cmd/fakeweb"
	"henro/messages"
)

// TestAGateKeepsItsInvariants under random steps, beside a plain list of who waits: no more hold a connection than
// there are, none waits while one is free, and the next is who was due first.
func TestAGateKeepsItsInvariants(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		const connections, leases = 3, 12
		begun := time.Now()
		rnd := rand.New(rand.NewPCG(7, 7))
		g := &gate{free: connections}
		var line, called []int // leases
		due := make([]time.Time, leases)
		places := make([]place, leases)
		for i := range places {
			places[i] = place{gate: g, called: func() { called = append(called, i) }}
		}
		var busy time.Duration
		for step := range 20_000 {
			i := rnd.IntN(leases)
			p, was := &places[i], places[i].standing
			called = called[:0]
			var want []int
			switch rnd.IntN(3) {
			case 0:
				if was == away || was == rests {
					due[i] = begun.Add(time.Duration(rnd.IntN(50)) * time.Second)
				}
				held := p.take(due[i])
				if held != (p.standing == holds) {
					t.Fatalf("step %d: take says %v", step, held)
				}
				if p.standing == waits && was != waits {
					line = append(line, i)
					slices.SortStableFunc(line, func(a, b int) int { return due[a].Compare(due[b]) })
				}
			case 1:
				p.move(away)
			default:
				p.move(rests)
			}
			if p.standing != waits {
				line = slices.DeleteFunc(line, func(j int) bool { return j == i })
			}
			if was == holds && p.standing != holds && len(line) > 0 {
				want, line = line[:1], line[1:]
			}
			if !slices.Equal(called, want) {
				t.Fatalf("step %d: called %v, want %v", step, called, want)
			}
			var held, waiting, resting int
			use := g.use()
			for j := range places {
				switch places[j].standing {
				case holds:
					held++
					use.busy += time.Since(places[j].since)
				case waits:
					waiting++
				case rests:
					resting++
				}
			}
			if held > connections || waiting > 0 && held < connections || waiting != len(line) {
				t.Fatalf("step %d: %d hold, %d wait", step, held, waiting)
			}
			if use != (usage{busy: busy, underWay: held, waiting: waiting, resting: resting}) {
				t.Fatalf("step %d: %+v, want busy %v, %d %d %d", step, use, busy, held, waiting, resting)
			}
			time.Sleep(time.Millisecond)
			busy += time.Duration(held) * time.Millisecond
		}
	})
}

// TestARestingHostHoldsNoConnection: two connections ask six hosts, each of which is asked for a third of the time; no
// more than two requests are under way, robots.txt among them, and no interval is undercut by the waiting.
func TestARestingHostHoldsNoConnection(t *testing.T) {
	web := fakeweb.Options{Seed: 1, Hosts: 6, Pages: 6, Shape: func(h *fakeweb.Host) { h.Latency = time.Second }}
	inSchool(t, web, func(o *Options) { o.Connections = 2 }, func(s *school) {
		if asked := actortest.TakeOf[*messages.WorkRequested](s.master); asked[0].HostSlots != 2*2 {
			t.Errorf("hosts wanted while none rests: %v", asked)
		}
		actortest.Pass(time.Second)
		s.interval, s.ratio = 2*time.Second, 2
		for host := range 6 {
			s.lend(uint64(host+1), host, 5)
			actortest.Pass(time.Second)
		}
		actortest.Pass(12 * time.Second)
		asked := actortest.TakeOf[*messages.WorkRequested](s.master)
		log := s.web.Log()
		most, closest := underWay(log)
		if most != 2 || closest < 2*time.Second {
			t.Errorf("%d requests were under way together; %v between two of a host", most, closest)
		}
		var busy time.Duration
		for _, e := range log {
			busy += e.End.Sub(e.Start)
		}
		if span := 18 * time.Second; busy < span*2*8/10 {
			t.Errorf("two connections were in use for %v of %v", busy, 2*span)
		}
		last := asked[len(asked)-1]
		if said := time.Duration(last.BusyNs); said > busy || said < busy-4*time.Second {
			t.Errorf("said to be in use for %v, by the web's log %v", said, busy)
		}
		var under, queued uint32
		for _, m := range asked {
			under, queued = max(under, m.UnderWay), max(queued, m.Queued)
		}
		if under != 2 || queued == 0 {
			t.Errorf("at most %d requests under way, %d hosts queued", under, queued)
		}
		if last.HostSlots <= 2*2 || last.HostSlots > 2*2+6 {
			t.Errorf("hosts wanted while some rest: %d", last.HostSlots)
		}
	})
}

// TestTheNextLeasesAreWantedBeforeTheLastAreForgotten: eight leases end together. Hosts are wanted in their place as
// long as their successors are on their way.
func TestTheNextLeasesAreWantedBeforeTheLastAreForgotten(t *testing.T) {
	web := fakeweb.Options{Seed: 1, Hosts: 8, Pages: 1}
	inSchool(t, web, func(o *Options) { o.Connections = 2 }, func(s *school) {
		for host := range 8 {
			s.lend(uint64(host+1), host, 1)
			actortest.Pass(time.Second)
		}
		actortest.Pass(20 * time.Second)
		for host := range 8 {
			s.master.Tell(s.slave, &messages.Stored{Leases: []uint64{uint64(host + 1)}, Seqs: []uint64{100}, Term: 1})
		}
		actortest.TakeOf[*messages.WorkRequested](s.master)
		actortest.Pass(20 * time.Second)
		asked := actortest.TakeOf[*messages.WorkRequested](s.master)
		if first, last := asked[0], asked[len(asked)-1]; first.HostSlots != 2*2+2 || last.HostSlots != 2*2 ||
			len(first.Held) > 0 {
			t.Errorf("hosts wanted after leases ended: %d, and later %d; held %v", first.HostSlots, last.HostSlots,
				first.Held)
		}
	})
}

// underWay is how many requests of a log were under way together at most, and how close two of one host came.
func underWay(log []fakeweb.Entry) (most int, closest time.Duration) {
	ends := map[string]time.Time{}
	closest = time.Hour
	slices.SortFunc(log, func(a, b fakeweb.Entry) int { return a.Start.Compare(b.Start) })
	for _, e := range log {
		n := 0
		for _, other := range log {
			if !other.Start.After(e.Start) && other.End.After(e.Start) {
				n++
			}
		}
		most = max(most, n)
		if end, ok := ends[e.Host]; ok {
			closest = min(closest, e.Start.Sub(end))
		}
		ends[e.Host] = e.End
	}
	return most, closest
}

// TestALeaseThatIsQueuedEndsAtOnce, and what waited behind it comes next.
func TestALeaseThatIsQueuedEndsAtOnce(t *testing.T) {
	web := fakeweb.Options{Seed: 1, Hosts: 3, Pages: 6, Shape: func(h *fakeweb.Host) { h.Latency = 10 * time.Second }}
	inSchool(t, web, func(o *Options) { o.Connections = 1 }, func(s *school) {
		for host := range 3 {
			s.lend(uint64(host+1), host, 5)
			actortest.Pass(time.Second)
		}
		asked := actortest.TakeOf[*messages.WorkRequested](s.master)
		s.master.Tell(s.slave, &messages.TaskBatch{Serial: asked[len(asked)-1].Serial, Term: 1, Revoked: []uint64{2}})
		actortest.Pass(time.Second)
		if _, why := s.reported(2); why != "revoked" {
			t.Errorf("a lease that was queued ended because of %q", why)
		}
		actortest.Pass(14 * time.Second)
		if log := s.web.Log(); len(log) != 1 {
			t.Errorf("%d requests have ended", len(log))
		}
		s.system.Root.Send(s.slave, &Drain{})
		actortest.Pass(time.Minute)
		names := map[string]bool{}
		for _, e := range s.web.Log() {
			names[e.Host] = true
		}
		if !names[s.web.Host(0).Name] || names[s.web.Host(1).Name] || !names[s.web.Host(2).Name] {
			t.Errorf("asked: %v", names)
		}
	})
}

// TestLeasesTakeTurns, also where no host rests: a lease gives its connection back with each answer.
func TestLeasesTakeTurns(t *testing.T) {
	web := fakeweb.Options{Seed: 1, Hosts: 2, Pages: 40,
		Shape: func(h *fakeweb.Host) { h.Latency = 100 * time.Millisecond }}
	inSchool(t, web, func(o *Options) { o.Connections = 1 }, func(s *school) {
		s.interval = 0
		s.lend(1, 0, 30)
		actortest.Pass(time.Second)
		s.lend(2, 1, 30)
		begun := time.Now()
		actortest.Pass(2 * time.Second)
		asked := map[string]int{}
		for _, e := range s.web.Log() {
			if e.Start.After(begun) {
				asked[e.Host]++
			}
		}
		for host := range 2 {
			if n := asked[s.web.Host(host).Name]; n < 8 || n > 11 {
				t.Errorf("asked in two seconds: %v", asked)
			}
		}
	})
}

// TestALeaseEndsWhileItIsQueued, though no connection becomes free then.
func TestALeaseEndsWhileItIsQueued(t *testing.T) {
	web := fakeweb.Options{Seed: 1, Hosts: 8, Pages: 6, Shape: func(h *fakeweb.Host) { h.Latency = 15 * time.Second }}
	inSchool(t, web, func(o *Options) { o.Connections = 1 }, func(s *school) {
		s.master.Reply(func(ctx actor.Context, message any) {
			if m, ok := message.(*messages.WorkRequested); ok {
				ctx.Respond(&messages.TaskBatch{Serial: m.Serial, Term: 1, Renewed: []uint64{1, 2, 3, 4, 5, 6, 7}})
			}
		})
		for host := range 8 {
			s.lend(uint64(host+1), host, 3)
			actortest.Pass(time.Second)
		}
		actortest.Pass(64 * time.Second)
		if _, why := s.reported(8); why != "ended" { // its turn comes after 105 s
			t.Errorf("a lease that was not renewed for a minute ended because of %q", why)
		}
	})
}

// TestAFetcherThatPanicsInLineKeepsNobodyWaiting.
func TestAFetcherThatPanicsInLineKeepsNobodyWaiting(t *testing.T) {
	var armed atomic.Bool
	receive := func(next actor.ReceiverFunc) actor.ReceiverFunc {
		return func(c actor.ReceiverContext, e *actor.MessageEnvelope) {
			if _, ok := e.Message.(*finish); ok && armed.CompareAndSwap(true, false) {
				panic("injected")
			}
			next(c, e)
		}
	}
	web := fakeweb.Options{Seed: 1, Hosts: 3, Pages: 6, Shape: func(h *fakeweb.Host) { h.Latency = 10 * time.Second }}
	inSchoolWith(t, web, floor.SystemOptions{Receive: receive}, func(o *Options) { o.Connections = 1 },
		func(s *school) {
			for host := range 3 {
				s.lend(uint64(host+1), host, 1)
				actortest.Pass(time.Second)
			}
			armed.Store(true)
			asked := actortest.TakeOf[*messages.WorkRequested](s.master)
			s.master.Tell(s.slave, &messages.TaskBatch{Serial: asked[len(asked)-1].Serial, Term: 1,
				Revoked: []uint64{2}})
			actortest.Pass(time.Minute)
			names := map[string]bool{}
			for _, e := range s.web.Log() {
				names[e.Host] = true
			}
			if armed.Load() || !names[s.web.Host(2).Name] {
				t.Errorf("asked: %v", names)
			}
		})
}
