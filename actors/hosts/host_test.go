package hosts_test

import (
	"fmt"
	"math"
	"runtime"
	"strconv"
	"testing"
	"testing/synctest"
	"time"
	"weak"

	"github.com/asynkron/protoactor-go/actor"

	"henro/actors/actortest"
	"henro/actors/floor"
	"henro/actors/host"
	"henro/actors/hosts"
	"henro/actors/protocol"
	"henro/actors/scope"
	"henro/actors/stoplist"
	"henro/messages"
	"henro/messages/outlink"
	"henro/messages/weburl"
	"henro/store"
)

// house is the Hosts between a Master and a Partition that are probes.
type house struct {
	master, partition *actortest.Probe
	hosts             *actor.PID
	system            *actor.ActorSystem
}

const lone = "http://lone.test"

// newHouse makes one whose partition knows of a lease of the host lone, stored up to fact 4, or of none, and stores
// whatever it is told.
func newHouse(t *testing.T, lease *store.Lease, adjust ...func(*host.Options)) *house {
	return newHouseWith(t, floor.SystemOptions{}, lease, adjust...)
}

func newHouseWith(t *testing.T, so floor.SystemOptions, lease *store.Lease, adjust ...func(*host.Options)) *house {
	system := actortest.SystemWith(t, so)
	h := &house{master: actortest.NewProbe(t, system, "master"), partition: actortest.NewProbe(t, system, "partition"),
		system: system}
	h.partition.Reply(func(c actor.Context, message any) {
		switch m := message.(type) {
		case *protocol.HostAsked:
			c.Respond(&protocol.HostRestored{Record: store.HostRecord{ID: store.IDOf(m.Host), Name: m.Host},
				Lease: lease})
		case *protocol.EntriesAsked:
			c.Respond(&protocol.EntriesLoaded{})
		case *protocol.WaitingHostsAsked:
			c.Respond(&protocol.WaitingHostsReported{})
		case *protocol.Write:
			h.store(c, m)
		}
	})
	o := host.DefaultOptions()
	for _, f := range adjust {
		f(&o)
	}
	h.hosts = h.master.Spawn(t, hosts.Props(o, h.master.PID, actortest.Log()), "hosts")
	rules, err := scope.New(scope.DefaultOptions())
	if err != nil {
		t.Fatal(err)
	}
	h.master.Tell(h.hosts, &protocol.ScopeChanged{Scope: rules.With(weburl.MustParse(lone + "/"))})
	h.master.Tell(h.hosts, &hosts.Introduction{Partitions: []*actor.PID{h.partition.PID},
		PartitionOf: func(string) int { return 0 }})
	return h
}

// store answers a Write as a Partition does that has committed it.
func (h *house) store(c actor.Context, w *protocol.Write) {
	if w.Facts != nil {
		c.Send(h.master.PID, w.Facts)
	}
	if w.Answered() {
		c.Respond(&protocol.Written{Tag: w.Tag})
	}
}

func (h *house) tell(message any) {
	h.master.Tell(h.hosts, &protocol.ToHost{Host: lone, Message: message})
}

func openLease() *store.Lease {
	return &store.Lease{ID: 7, Host: store.IDOf(lone), HostName: lone, Slave: "s", Boot: "b",
		Until: time.Now().Add(time.Minute), Seq: 4}
}

func part(seq uint64, urls ...string) *messages.Fact {
	return &messages.Fact{Lease: 7, Seq: seq, Host: lone, More: &messages.LinkSet{Urls: urls}}
}

func visit(seq uint64, urls ...string) *messages.Fact {
	return &messages.Fact{Lease: 7, Seq: seq, Host: lone, Visited: &messages.PageVisited{
		Url: lone + "/large", DepthLeft: 3, Status: 200, Links: &messages.LinkSet{Urls: urls},
	}}
}

// A link set too large for one message comes in parts before its page. The parts are in memory only: were they
// acknowledged, the slave would forget them, and a master that dies before the page comes would lose the links.
func TestPartsOfALinkSetAreNotAcknowledgedBeforeTheirPage(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h := newHouse(t, openLease())
		h.tell(&protocol.HostFacts{Lease: 7, Facts: []*messages.Fact{part(5, lone+"/a"), part(6, lone+"/b")}})
		for _, w := range actortest.TakeOf[*protocol.Write](h.partition) {
			if w.Lease != nil && w.Lease.Seq != 4 {
				t.Errorf("the lease says that facts up to %d are stored, but 5 and 6 are parts of a page that has "+
					"not come", w.Lease.Seq)
			}
		}
		for _, stored := range actortest.TakeOf[*protocol.FactsStored](h.master) {
			if stored.Seq > 4 {
				t.Errorf("acknowledged up to %d, want 4", stored.Seq)
			}
		}
		// They come again, with the page.
		h.tell(&protocol.HostFacts{Lease: 7, Facts: []*messages.Fact{part(5, lone+"/a"), part(6, lone+"/b"),
			visit(7, lone+"/c")}})
		var links []string
		for _, w := range actortest.TakeOf[*protocol.Write](h.partition) {
			for _, v := range w.Visits {
				for _, link := range v.Links {
					links = append(links, link.URL)
				}
			}
		}
		if len(links) != 3 {
			t.Errorf("links stored: %v, want three, each once", links)
		}
		stored := actortest.TakeOf[*protocol.FactsStored](h.master)
		if len(stored) == 0 || stored[len(stored)-1].Seq != 7 {
			t.Errorf("acknowledged: %+v, want up to 7", stored)
		}
	})
}

// What comes for a lease that is over is acknowledged whole, so that its holder says it no more; nothing of it is
// stored.
func TestFactsOfALeaseThatIsOverAreAcknowledgedAndNotStored(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h := newHouse(t, nil)
		h.tell(&protocol.HostFacts{Lease: 7, Facts: []*messages.Fact{visit(5)}})
		stored := actortest.TakeOf[*protocol.FactsStored](h.master)
		if len(stored) != 1 || stored[0].Seq != math.MaxUint64 || !stored[0].Closed {
			t.Errorf("acknowledged: %+v", stored)
		}
		if written := actortest.TakeOf[*protocol.Write](h.partition); len(written) != 0 {
			t.Errorf("stored: %+v", written[0])
		}
	})
}

// Facts that come twice, out of order or with a gap change nothing beyond what they say.
func TestFactsAreTakenInOrderAndOnce(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h := newHouse(t, openLease())
		for _, facts := range [][]*messages.Fact{
			{visit(6)}, {visit(4)}, {visit(5)}, {visit(5), visit(6)}, {visit(5), visit(6), visit(8)}, {visit(7)},
		} {
			h.tell(&protocol.HostFacts{Lease: 7, Facts: facts})
		}
		visits := 0
		for _, w := range actortest.TakeOf[*protocol.Write](h.partition) {
			visits += len(w.Visits)
		}
		if visits != 3 {
			t.Errorf("%d visits stored, want 5, 6 and 7 once each", visits)
		}
		stored := actortest.TakeOf[*protocol.FactsStored](h.master)
		if len(stored) == 0 || stored[len(stored)-1].Seq != 7 {
			t.Errorf("acknowledged last: %+v, want 7", stored)
		}
	})
}

// A Host that rests holds nothing of what it has sent: the links of a page may be megabytes, and hosts are many.
func TestAHostHoldsNothingThatItHasSent(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h := newHouse(t, openLease())
		h.tell(&protocol.HostFacts{Lease: 7, Facts: []*messages.Fact{visit(5, lone+"/a")}})
		var sent []weak.Pointer[protocol.Write]
		for _, w := range actortest.TakeOf[*protocol.Write](h.partition) {
			sent = append(sent, weak.Make(w))
		}
		runtime.GC()
		if len(sent) == 0 {
			t.Error("nothing was stored")
		}
		for _, w := range sent {
			if w.Value() != nil {
				t.Errorf("it holds what it sent: %+v", w.Value())
			}
		}
	})
}

// A lease whose holder says nothing more ends with the interval still owed from now.
func TestAVoidLeaseOwesTheIntervalFromNow(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h := newHouse(t, openLease())
		h.tell(&protocol.HostFacts{Lease: 7, Facts: []*messages.Fact{visit(5)}})
		actortest.Pass(time.Hour)
		h.tell(&protocol.LeaseVoid{Lease: 7})
		h.tell(&protocol.LeaseVoid{Lease: 7}) // said twice
		writes := actortest.TakeOf[*protocol.Write](h.partition)
		last := writes[len(writes)-1]
		if ended := last.Facts; !ended.Closed || ended.Lease != 7 ||
			last.Host.NextAllowed.Before(time.Now().Add(5*time.Second)) {
			t.Errorf("of lease %d is stored %+v, the host may be asked in %v", ended.Lease, ended,
				time.Until(last.Host.NextAllowed))
		}
		closed := 0
		for _, stored := range actortest.TakeOf[*protocol.FactsStored](h.master) {
			if stored.Closed {
				closed++
			}
		}
		if closed == 0 {
			t.Error("the master was not told that the lease has ended")
		}
	})
}

// A fact that overtook another waits until its sender repeats it behind the other: taken at once, the one that it
// overtook would be lost.
func TestAFactThatOvertookAnotherIsNotTaken(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h := newHouse(t, openLease())
		h.tell(&protocol.HostFacts{Lease: 7, Facts: []*messages.Fact{visit(6)}})
		actortest.Pass(time.Second)
		for _, stored := range actortest.TakeOf[*protocol.FactsStored](h.master) {
			if stored.Seq > 4 {
				t.Errorf("acknowledged up to %d, want 4", stored.Seq)
			}
		}
		h.tell(&protocol.HostFacts{Lease: 7, Facts: []*messages.Fact{visit(5), visit(6)}})
		actortest.Pass(time.Second)
		stored := actortest.TakeOf[*protocol.FactsStored](h.master)
		if len(stored) != 1 || stored[0].Seq != 6 || stored[0].Visits != 2 {
			t.Errorf("the master was told %+v, want that both visits up to 6 are stored", stored)
		}
	})
}

// A Host that fails while its lease is being written is started anew with that lease, and without the tasks that were
// to go with it: no slave will ever hear of the lease, so it is ended.
func TestALeaseThatWasBeingWrittenWhenItsHostFailedIsEnded(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h := newHouse(t, nil)
		entry := store.Entry{Page: store.Page{URL: lone + "/", DepthLeft: 3}, Position: store.Position("p")}
		var lease *store.Lease
		var answer []func() // in order, as a Partition does
		h.partition.Reply(func(c actor.Context, message any) {
			switch m := message.(type) {
			case *protocol.HostAsked:
				c.Respond(&protocol.HostRestored{Record: store.HostRecord{ID: store.IDOf(lone), Name: lone, Waiting: 1},
					Lease: lease})
			case *protocol.PagesAsked:
				c.Respond(&protocol.PagesLoaded{Waiting: store.Waiting{Entries: []store.Entry{entry}}})
			case *protocol.Write:
				host := c.Sender()
				if m.Lease != nil {
					lease = m.Lease
				}
				if m.Facts != nil && m.Facts.Closed {
					h.store(c, m)
					return
				}
				answer = append(answer, func() { h.system.Root.Send(host, &protocol.Written{Tag: m.Tag}) })
			}
		})
		h.tell(&protocol.Lend{Lease: 7, Slave: "s", Boot: "b", Until: time.Now().Add(time.Minute)})
		synctest.Wait()
		if lease == nil {
			t.Fatal("no lease was written")
		}
		actortest.TakeOf[*protocol.Write](h.partition)
		h.tell((*protocol.LeaseVoid)(nil)) // makes it panic
		actortest.Pass(time.Minute)
		for _, f := range answer {
			f()
		}
		var writes []*protocol.Write
		for _, w := range actortest.TakeOf[*protocol.Write](h.partition) {
			if w.Host != nil { // else the Host waits for what it wrote before
				writes = append(writes, w)
			}
		}
		if lent := actortest.TakeOf[*protocol.Lent](h.master); len(lent) > 0 {
			t.Errorf("lease %d was lent with %v", lent[0].Lease, lent[0].Task)
		}
		if len(writes) != 1 || writes[0].Facts == nil || !writes[0].Facts.Closed || writes[0].Facts.Lease != 7 {
			t.Errorf("written: %+v, want the end of lease 7", writes)
		}
		stored := actortest.TakeOf[*protocol.FactsStored](h.master)
		if len(stored) != 1 || stored[0].Lease != 7 || !stored[0].Closed {
			t.Errorf("the master was told %+v, want that lease 7 has ended", stored)
		}
	})
}

// Links that are judged again meet the stop list of their host, as they do when its pages are visited.
func TestLinksJudgedAgainMeetTheStopListOfTheirHost(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h := newHouse(t, nil)
		var stops stoplist.List
		stops.Put(stoplist.Entry{Prefix: lone + "/dead/"})
		note, err := stops.MarshalEntries()
		h.partition.Reply(func(c actor.Context, message any) {
			if _, asked := message.(*protocol.HostAsked); asked {
				c.Respond(&protocol.HostRestored{Record: store.HostRecord{ID: store.IDOf(lone), Name: lone},
					Notes: map[string][]byte{host.StopListNote: note}})
			}
		})
		h.tell(&protocol.RelaxationsFound{Relaxations: []store.Relaxation{{URL: lone + "/a", Depth: 1, DepthLeft: 2,
			Links: []outlink.Outlink{{URL: lone + "/dead/x", Kind: outlink.Anchor},
				{URL: lone + "/b", Kind: outlink.Anchor}}}}})
		writes := actortest.TakeOf[*protocol.Write](h.partition)
		if err != nil || len(writes) != 1 || len(writes[0].Relaxed) != 1 || len(writes[0].Candidates) != 1 ||
			writes[0].Candidates[0].URL != lone+"/b" || writes[0].Candidates[0].DepthLeft != 1 {
			t.Errorf("written: %+v", writes)
		}
	})
}

// waits has the partition know of one page of the host that waits.
func (h *house) waits() {
	h.partition.Reply(func(c actor.Context, message any) {
		switch m := message.(type) {
		case *protocol.HostAsked:
			c.Respond(&protocol.HostRestored{Record: store.HostRecord{ID: store.IDOf(lone), Name: lone, Waiting: 1}})
		case *protocol.PagesAsked:
			c.Respond(&protocol.PagesLoaded{Waiting: store.Waiting{Entries: []store.Entry{
				{Page: store.Page{URL: lone + "/", DepthLeft: 3}, Position: store.Position("p")}}}})
		case *protocol.Write:
			h.store(c, m)
		}
	})
}

// A Master passes over a host whose lease it still has in its ledger. When it is told that the lease is over, it must
// be told again that the host is ready, or the host is never lent.
func TestAHostIsAnnouncedAgainBehindTheEndOfALeaseThatIsOver(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h := newHouse(t, nil)
		h.waits()
		for i, lease := range []uint64{98, 99} {
			h.tell(&protocol.LeaseVoid{Lease: lease})
			var heard []any
			for _, m := range h.master.Take() {
				switch m.(type) {
				case *protocol.HostReady, *protocol.FactsStored:
					heard = append(heard, m)
				}
			}
			if i == 0 {
				continue // it has just been woken
			}
			if len(heard) != 2 {
				t.Fatalf("the master was told %v", heard)
			}
			stored, over := heard[0].(*protocol.FactsStored)
			ready, again := heard[1].(*protocol.HostReady)
			if !over || stored.Lease != lease || !stored.Closed || !again || ready.Host != lone {
				t.Errorf("the master was told %+v, want the end of lease %d and that the host is ready", heard, lease)
			}
		}
	})
}

// While few hosts have pages nobody waits for the end of a lease. A host waits between two leases for the last pages
// of the one before to be committed, so there are few leases.
func TestLeasesAreLongWhileFewHostsHavePages(t *testing.T) {
	for few, want := range map[bool]struct{ visits, tasks int }{true: {4000, 2000}, false: {1000, 500}} {
		synctest.Test(t, func(t *testing.T) {
			h := newHouse(t, nil, func(o *host.Options) { o.Politeness.Floor = 0 })
			h.partition.Reply(func(c actor.Context, message any) {
				switch m := message.(type) {
				case *protocol.HostAsked:
					c.Respond(&protocol.HostRestored{Record: store.HostRecord{ID: store.IDOf(lone), Name: lone,
						Waiting: 5000}})
				case *protocol.PagesAsked:
					loaded := &protocol.PagesLoaded{}
					for i := range min(m.Limit, 5000) {
						page := store.Page{URL: fmt.Sprintf("%s/documentation/page-%d.html", lone, i)}
						loaded.Entries = append(loaded.Entries, store.Entry{Page: page,
							Position: store.Position(strconv.Itoa(i))})
					}
					c.Respond(loaded)
				case *protocol.Write:
					h.store(c, m)
				}
			})
			h.tell(&protocol.Lend{Lease: 1, Slave: "s", Boot: "b", Until: time.Now().Add(time.Minute), Few: few})
			lent := actortest.TakeOf[*protocol.Lent](h.master)
			if len(lent) != 1 {
				t.Fatalf("few %v: lent %d times", few, len(lent))
			}
			task := lent[0].Task
			if int(task.PageBudget) != want.visits || len(task.Tasks) != want.tasks {
				t.Errorf("few %v: %d visits, %d tasks, want %+v", few, task.PageBudget, len(task.Tasks), want)
			}
		})
	}
}

// Others share the host's clock: what the Master says of it is kept by the first request of the lease.
func TestALeaseBeginsNoSoonerThanTheSharedClockAllows(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h := newHouse(t, nil)
		h.waits()
		h.tell(&protocol.Lend{Lease: 7, Slave: "s", Boot: "b", Until: time.Now().Add(time.Hour),
			NotBefore: time.Now().Add(20 * time.Minute)})
		lent := actortest.TakeOf[*protocol.Lent](h.master)
		if len(lent) != 1 || time.Duration(lent[0].Task.FirstAfterNs) != 20*time.Minute {
			t.Errorf("lent: %+v, want a first request in 20 minutes", lent)
		}
	})
}

// A Host that restarts has the rules and the resources that were announced after it was woken.
func TestAHostThatFailedKnowsWhatWasAnnounced(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h := newHouse(t, nil)
		h.waits()
		h.tell(&protocol.PagesFound{}) // wakes it
		rules, err := scope.New(scope.DefaultOptions())
		if err != nil {
			t.Fatal(err)
		}
		const other = "http://other.test"
		h.master.Tell(h.hosts, &protocol.ScopeChanged{
			Scope: rules.With(weburl.MustParse(lone + "/")).With(weburl.MustParse(other + "/"))})
		h.master.Tell(h.hosts, &protocol.ResourcesChanged{Servers: 70, Connections: 10})
		h.tell((*protocol.LeaseVoid)(nil)) // makes it panic
		actortest.Pass(time.Second)
		actortest.TakeOf[*protocol.Write](h.partition)
		h.tell(&protocol.RelaxationsFound{Relaxations: []store.Relaxation{{URL: lone + "/a", Depth: 1, DepthLeft: 2,
			Links: []outlink.Outlink{{URL: other + "/b", Kind: outlink.Anchor}}}}})
		writes := actortest.TakeOf[*protocol.Write](h.partition)
		if len(writes) != 1 || len(writes[0].Candidates) != 1 || writes[0].Candidates[0].URL != other+"/b" {
			t.Errorf("written: %+v, want the link that the new scope takes", writes)
		}
		h.tell(&protocol.Lend{Lease: 7, Slave: "s", Boot: "b", Until: time.Now().Add(time.Hour)})
		if lent := actortest.TakeOf[*protocol.Lent](h.master); len(lent) != 1 || lent[0].Task.Ratio != 6 {
			t.Errorf("lent: %+v, want S/C − 1 = 6", lent)
		}
	})
}

// A Host that fails when it may go to rest goes on, and gets what was kept for it meanwhile and whatever comes after.
func TestAHostThatFailsAsItGoesToRestGoesOn(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		failed := false
		receive := func(next actor.ReceiverFunc) actor.ReceiverFunc {
			return func(c actor.ReceiverContext, e *actor.MessageEnvelope) {
				if _, ok := e.Message.(*host.RestGranted); ok && !failed {
					failed = true
					panic("injected")
				}
				next(c, e)
			}
		}
		h := newHouseWith(t, floor.SystemOptions{Receive: receive}, nil,
			func(o *host.Options) { o.RestAfter = time.Minute })
		h.tell(&protocol.PagesFound{}) // wakes it
		actortest.Pass(90 * time.Second)
		if !failed {
			t.Fatal("the host did not want to rest")
		}
		actortest.TakeOf[*protocol.Write](h.partition)
		h.tell(&protocol.RelaxationsFound{Relaxations: []store.Relaxation{{URL: lone + "/a", Depth: 1, DepthLeft: 2}}})
		if writes := actortest.TakeOf[*protocol.Write](h.partition); len(writes) != 1 || len(writes[0].Relaxed) != 1 {
			t.Errorf("written: %+v, want what was to be judged again", writes)
		}
	})
}

// What comes for a Host that is going to rest waits, and wakes it again.
func TestWhatComesForAHostThatGoesToRestWakesIt(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var h *house
		granted := 0
		receive := func(next actor.ReceiverFunc) actor.ReceiverFunc {
			return func(c actor.ReceiverContext, e *actor.MessageEnvelope) {
				if _, ok := e.Message.(*host.RestGranted); ok {
					if granted++; granted == 1 { // Hosts gets this before it gets that the Host rests
						h.system.Root.Send(h.hosts, &protocol.ToHost{Host: lone, Message: &protocol.RelaxationsFound{
							Relaxations: []store.Relaxation{{URL: lone + "/a", Depth: 1, DepthLeft: 2}}}})
					}
				}
				next(c, e)
			}
		}
		h = newHouseWith(t, floor.SystemOptions{Receive: receive}, nil,
			func(o *host.Options) { o.RestAfter = time.Minute })
		h.tell(&protocol.PagesFound{}) // wakes it
		actortest.Pass(90 * time.Second)
		writes := actortest.TakeOf[*protocol.Write](h.partition)
		if granted != 1 || len(writes) != 1 || len(writes[0].Relaxed) != 1 {
			t.Errorf("%d rests, written: %+v, want what came meanwhile", granted, writes)
		}
	})
}

// A partition that was spawned may speak of a host before Hosts knows which partition has which host.
func TestWhatComesBeforeTheIntroductionWakesItsHost(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h := newHouse(t, nil)
		later := h.master.Spawn(t, hosts.Props(host.DefaultOptions(), h.master.PID, actortest.Log()), "later")
		h.master.Tell(later, &protocol.ToHost{Host: lone, Message: &protocol.PagesFound{}})
		actortest.Pass(time.Second)
		if asked := actortest.TakeOf[*protocol.HostAsked](h.partition); len(asked) != 0 {
			t.Errorf("asked for %d hosts before the introduction", len(asked))
		}
		h.master.Tell(later, &hosts.Introduction{Partitions: []*actor.PID{h.partition.PID},
			PartitionOf: func(string) int { return 0 }})
		actortest.Pass(time.Second)
		if asked := actortest.TakeOf[*protocol.HostAsked](h.partition); len(asked) != 1 || asked[0].Host != lone {
			t.Errorf("asked for %v, want the host that was spoken of", asked)
		}
	})
}

// A Host that is woken while Hosts ends is not told to end, and whoever waits for Hosts would wait for it for ever.
func TestNoHostIsWokenWhileHostsEnds(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h := newHouse(t, nil)
		ending := h.master.Spawn(t, hosts.Props(host.DefaultOptions(), h.master.PID, actortest.Log()), "ending")
		gate := make(chan struct{})
		h.master.Tell(ending, &hosts.Introduction{Partitions: []*actor.PID{h.partition.PID},
			PartitionOf: func(name string) int {
				if name == lone {
					<-gate
				}
				return 0
			}})
		grew := &protocol.HostsGrew{}
		for i := range 50 { // which take longer to end than Hosts to read what comes
			grew.Hosts = append(grew.Hosts, fmt.Sprintf("http://awake%d.test", i))
		}
		grew.Hosts = append(grew.Hosts, lone)
		h.master.Tell(ending, grew)
		actortest.Pass(time.Second)
		ended := h.system.Root.StopFuture(ending)
		h.master.Tell(ending, &protocol.HostsGrew{Hosts: []string{"http://late.test"}})
		close(gate)
		if err := ended.Wait(); err != nil {
			t.Errorf("the end of Hosts: %v", err)
		}
	})
}
