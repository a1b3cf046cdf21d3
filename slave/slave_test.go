package slave

import (
	"context"
	"net"
	"runtime"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"
	"weak"

	"github.com/asynkron/protoactor-go/actor"
	"go.uber.org/goleak"

	"henro/actors/actortest"
	"henro/actors/archivist"
	"henro/actors/floor"
	"henro/cmd/fakeweb"
	"henro/messages"
	"henro/messages/weburl"
	"henro/slave/walk"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// school is a Slave with a master that is a Probe, and a web.
type school struct {
	ratio    float64       // S/C told with each lease
	interval time.Duration // of each lease
	t        *testing.T
	system   *actor.ActorSystem
	web      *fakeweb.Web
	slave    *actor.PID
	master   *actortest.Probe
}

// inSchool runs a test in a bubble. The master welcomes with leases of a minute, and stores nothing.
func inSchool(t *testing.T, web fakeweb.Options, change func(*Options), test func(*school)) {
	inSchoolWith(t, web, floor.SystemOptions{}, change, test)
}

func inSchoolWith(t *testing.T, web fakeweb.Options, so floor.SystemOptions, change func(*Options),
	test func(*school)) {
	synctest.Test(t, func(t *testing.T) {
		s := &school{t: t, system: actortest.SystemWith(t, so), interval: 100 * time.Millisecond}
		var err error
		if s.web, err = fakeweb.New(web); err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { s.web.Close() })
		o := DefaultOptions()
		o.Name, o.Boot, o.Connections, o.Parsers, o.Dial = "slave1", "boot1", 8, 1, s.web.DialContext
		o.Archive.Writer.Dir = t.TempDir()
		change(&o)
		props, err := Props(o, actortest.Log())
		if err != nil {
			t.Fatal(err)
		}
		if s.slave, err = s.system.Root.SpawnNamed(props, ActorName); err != nil {
			t.Fatal(err)
		}
		claim := messages.Claim{Crawl: "c1", Term: 1, Boot: "m1"}
		s.master = s.newLeader("master", claim)
		s.system.Root.Send(s.slave, &MasterSeen{PID: s.master.PID, Claim: claim})
		actortest.Pass(0)
		test(s)
	})
}

// newLeader makes a master that says what it claims.
func (s *school) newLeader(name string, c messages.Claim) *actortest.Probe {
	p := actortest.NewProbe(s.t, s.system, name)
	p.Reply(func(ctx actor.Context, message any) {
		switch m := message.(type) {
		case *messages.SlaveRegistered:
			ctx.Respond(welcome(c))
		case *messages.WorkRequested:
			ctx.Respond(&messages.TaskBatch{Serial: m.Serial, Renewed: m.Held, Term: c.Term})
		}
	})
	return p
}

// welcome takes a slave in, with leases of a minute.
func welcome(c messages.Claim) *messages.SlaveWelcomed {
	return &messages.SlaveWelcomed{MasterBoot: c.Boot, LeaseNs: int64(time.Minute),
		Crawl: c.Crawl, Term: c.Term,
		Fetch: &messages.FetchSettings{
			UserAgent: "test", FetchTimeoutNs: int64(time.Minute), ConnectTimeoutNs: int64(10 * time.Second),
			IdleTimeoutNs: int64(20 * time.Second),
			MaxBody:       1 << 20, RobotsAgent: "test",
		}}
}

// lend gives the slave a host of the web with so many of its pages, as an answer to its latest request.
func (s *school) lend(lease uint64, host, pages int, change ...func(*messages.HostTask)) *messages.HostTask {
	asked := actortest.TakeOf[*messages.WorkRequested](s.master)
	if len(asked) == 0 {
		s.t.Fatal("the slave asked for nothing")
	}
	task := &messages.HostTask{Lease: lease, Host: "http://" + s.web.Host(host).Name,
		IntervalNs: int64(s.interval), PageBudget: uint32(pages), Ratio: s.ratio}
	for n := range pages {
		task.Tasks = append(task.Tasks, &messages.Task{Url: s.web.PageURL(host, n, 80), DepthLeft: 1,
			Position: []byte{byte(n)}})
	}
	for _, change := range change {
		change(task)
	}
	s.master.Tell(s.slave, &messages.TaskBatch{Serial: asked[len(asked)-1].Serial, Term: 1,
		Tasks: []*messages.HostTask{task}})
	return task
}

// TestABatchOfAMasterThatWasLostIsRefused, by a slave that has no master to refuse it to but the sender: a master that
// was frozen until the gossip gave it up says then what it had in mind.
func TestABatchOfAMasterThatWasLostIsRefused(t *testing.T) {
	inSchool(t, fakeweb.Options{Seed: 1, Pages: 5}, func(*Options) {}, func(s *school) {
		s.system.Root.Send(s.slave, &MasterLost{Boot: "m1"})
		actortest.Pass(2 * time.Minute) // what was asked for has ended
		s.lend(7, 0, 3)
		actortest.Pass(0)
		if refused := actortest.TakeOf[*messages.TaskRefused](s.master); len(refused) != 1 || refused[0].Lease != 7 {
			t.Errorf("refused: %v", refused)
		}
		if n := len(s.web.Log()); n > 0 {
			t.Errorf("%d requests were made", n)
		}
	})
}

// TestASlaveThatFailedRegistersAgain with what the gossip said before: it says it once.
func TestASlaveThatFailedRegistersAgain(t *testing.T) {
	inSchool(t, fakeweb.Options{Seed: 1, Pages: 5}, func(*Options) {}, func(s *school) {
		s.lend(7, 0, 3)
		s.master.Take()
		s.system.Root.Send(s.slave,
			&archivist.ArchivedBatch{Captures: []archivist.Archived{{Tag: "not a fact: the actor panics"}}})
		actortest.Pass(time.Second)
		registered := actortest.TakeOf[*messages.SlaveRegistered](s.master)
		if len(registered) != 1 || len(registered[0].Held) > 0 {
			t.Fatalf("registered: %v", registered)
		}
		s.lend(8, 0, 3)
		actortest.Pass(5 * time.Second)
		visited := 0
		for _, report := range actortest.TakeOf[*messages.Report](s.master) {
			for _, fact := range report.Facts {
				if fact.Lease == 8 && fact.Visited != nil {
					visited++
				}
			}
		}
		if visited != 3 {
			t.Errorf("%d pages were visited, want 3", visited)
		}
	})
}

// TestFetchingStopsAtTheBoundOfWhatIsNotStored when the master stores nothing, and goes on when it does.
func TestFetchingStopsAtTheBoundOfWhatIsNotStored(t *testing.T) {
	const hosts, pages, bound = 4, 60, 50
	inSchool(t, fakeweb.Options{Seed: 1, Hosts: hosts, Pages: 2 * pages}, func(o *Options) { o.UnstoredFacts = bound },
		func(s *school) {
			for host := range hosts {
				s.lend(uint64(host+1), host, pages)
				actortest.Pass(2 * time.Second) // until the slave asks again
			}
			actortest.Pass(30 * time.Second)
			visited := len(s.web.Log())
			if most := bound + hosts*(walk.MaxAhead+1); visited < bound || visited > most {
				t.Errorf("%d requests while nothing is stored, want %d to %d", visited, bound, most)
			}
			asked := actortest.TakeOf[*messages.WorkRequested](s.master)
			if last := asked[len(asked)-1]; last.PageSlots != 0 {
				t.Errorf("the slave says it has room for %d results", last.PageSlots)
			}
			actortest.Pass(time.Minute)
			if n := len(s.web.Log()); n != visited {
				t.Errorf("%d more requests in another minute", n-visited)
			}
			stored := &messages.Stored{Term: 1}
			for host := range hosts {
				stored.Leases, stored.Seqs = append(stored.Leases, uint64(host+1)), append(stored.Seqs, uint64(bound))
			}
			s.master.Tell(s.slave, stored)
			actortest.Pass(10 * time.Second)
			if n := len(s.web.Log()); n <= visited {
				t.Error("it does not go on when there is room again")
			}
		})
}

// What a sync has covered is reported together: each Report is a message to the Host, to its Revisit and to the
// Partition, and they are what a host that answers at once waits for.
func TestFactsOfASyncAreReportedTogether(t *testing.T) {
	const pages = 90
	inSchool(t, fakeweb.Options{Seed: 1, Pages: pages}, func(*Options) {}, func(s *school) {
		s.interval = time.Millisecond // some 90 in one sync, which takes what came in 100 ms
		s.lend(7, 0, pages)
		actortest.Pass(5 * time.Second)
		reports := actortest.TakeOf[*messages.Report](s.master)
		seq := uint64(0)
		for _, report := range reports {
			for _, fact := range report.Facts {
				if seq++; fact.Seq != seq {
					t.Fatalf("fact %d comes as number %d", fact.Seq, seq)
				}
			}
		}
		if facts := uint64(pages + 2); seq != facts { // and robots.txt, and the end
			t.Errorf("%d facts were reported, want %d", seq, facts)
		}
		if len(reports) > 5 {
			t.Errorf("%d facts came in %d reports, want one for each sync", seq, len(reports))
		}
	})
}

// TestDrainingGivesAllLeasesBackAndAsksForNone.
func TestDrainingGivesAllLeasesBackAndAsksForNone(t *testing.T) {
	inSchool(t, fakeweb.Options{Seed: 1, Pages: 50}, func(*Options) {}, func(s *school) {
		s.lend(7, 0, 40)
		actortest.Pass(time.Second)
		s.master.Take()
		s.master.Tell(s.slave, &Drain{})
		actortest.Pass(time.Second)
		var last *messages.Fact
		for _, report := range actortest.TakeOf[*messages.Report](s.master) {
			for _, fact := range report.Facts {
				last = fact
			}
		}
		if last.GetFinished().GetWhy() != "draining" {
			t.Fatalf("the last fact is %v", last)
		}
		s.master.Tell(s.slave, &messages.Stored{Leases: []uint64{7}, Seqs: []uint64{last.Seq}, Term: 1})
		actortest.Pass(2 * time.Second)
		if len(actortest.TakeOf[*Drained](s.master)) != 1 {
			t.Error("the slave does not say that it is drained")
		}
		for _, asked := range actortest.TakeOf[*messages.WorkRequested](s.master) {
			if asked.HostSlots != 0 {
				t.Errorf("a drained slave asks for %d hosts", asked.HostSlots)
			}
		}
	})
}

// TestASlaveThatEndsBeginsNothing: while its children end a master welcomes it and lends it a host. A Fetcher that
// began then would be told by nobody to end, and the slave would wait for it.
func TestASlaveThatEndsBeginsNothing(t *testing.T) {
	var once sync.Once
	change := func(o *Options) {
		o.Admit = func(string, string) bool { // a Parser that takes its time
			once.Do(func() { time.Sleep(6 * time.Second) })
			return true
		}
	}
	inSchool(t, fakeweb.Options{Seed: 1, Hosts: 2, Pages: 5}, change, func(s *school) {
		s.lend(7, 0, 1, func(task *messages.HostTask) { task.Follow, task.Prefixes = true, []string{task.Host} })
		actortest.Pass(time.Second)
		ended := s.system.Root.StopFuture(s.slave)
		actortest.Pass(0)
		late := s.newLeader("late", messages.Claim{Crawl: "c1", Term: 1, Boot: "late"})
		late.Tell(s.slave, &MasterSeen{PID: late.PID, Claim: messages.Claim{Crawl: "c1", Term: 1, Boot: "late"}})
		actortest.Pass(0)
		requests := len(s.web.Log())
		lent := &messages.HostTask{Lease: 8, Host: "http://" + s.web.Host(1).Name, PageBudget: 1,
			Tasks: []*messages.Task{{Url: s.web.PageURL(1, 0, 80)}}}
		batch := &messages.TaskBatch{Serial: 1, Term: 1, Tasks: []*messages.HostTask{lent}}
		if asked := actortest.TakeOf[*messages.WorkRequested](late); len(asked) > 0 {
			batch.Serial = asked[len(asked)-1].Serial
		}
		late.Tell(s.slave, batch)
		actortest.Pass(time.Second)
		if n := len(s.web.Log()) - requests; n > 0 {
			t.Errorf("%d requests were made while the slave ended", n)
		}
		if refused := actortest.TakeOf[*messages.TaskRefused](late); len(refused) != 1 || refused[0].Lease != 8 {
			t.Errorf("refused: %v", refused)
		}
		actortest.Pass(time.Minute)
		if err := ended.Wait(); err != nil {
			t.Errorf("the slave does not end: %v", err)
		}
	})
}

// TestADrainedSlaveDoesNotWaitForAMasterThatIsAway for longer than one needs to come back.
func TestADrainedSlaveDoesNotWaitForAMasterThatIsAway(t *testing.T) {
	inSchool(t, fakeweb.Options{Seed: 1, Pages: 50}, func(*Options) {}, func(s *school) {
		s.lend(7, 0, 40)
		actortest.Pass(time.Second)
		s.system.Root.Send(s.slave, &MasterLost{Boot: "m1"})
		began := time.Now()
		s.master.Tell(s.slave, &Drain{})
		actortest.Pass(time.Minute)
		heard := s.master.Received()
		last := heard[len(heard)-1]
		if drained, ok := last.Message.(*Drained); !ok || drained.Unstored == 0 ||
			last.At.Sub(began) > farewell+time.Second {
			t.Errorf("after %v it says %+v", last.At.Sub(began), last.Message)
		}
	})
}

// closing counts the requests of one connection, and ends it instead of passing the second on: the host has seen it.
type closing struct {
	net.Conn
	requests int
	asked    func(path string)
}

func (c *closing) Write(b []byte) (int, error) {
	c.asked(strings.Fields(string(b))[1])
	if c.requests++; c.requests == 2 {
		c.Close()
		return len(b), nil
	}
	return c.Conn.Write(b)
}

func TestARequestThatWasSentInVainIsSentAgainAfterTheInterval(t *testing.T) {
	var times []time.Time
	var paths []string
	asked := func(path string) { times, paths = append(times, time.Now()), append(paths, path) }
	change := func(o *Options) {
		dial := o.Dial
		o.Dial = func(ctx context.Context, network, address string) (net.Conn, error) {
			c, err := dial(ctx, network, address)
			return &closing{c, 0, asked}, err
		}
	}
	inSchool(t, fakeweb.Options{Seed: 1, Pages: 9}, change, func(s *school) {
		task := s.lend(1, 0, 9)
		actortest.Pass(10 * time.Second)
		for i := 1; i < len(times); i++ {
			if gap := times[i].Sub(times[i-1]); gap < time.Duration(task.IntervalNs) {
				t.Errorf("%s came %v after %s", paths[i], gap, paths[i-1])
			}
		}
		answered, finished := map[string]bool{}, uint32(0) // facts are reported until they are stored
		for _, r := range actortest.TakeOf[*messages.Report](s.master) {
			for _, f := range r.Facts {
				switch {
				case f.Visited != nil && f.Visited.Status == 200:
					answered[f.Visited.Url] = true
				case f.Finished != nil:
					finished = f.Finished.Visits
				}
			}
		}
		// robots.txt and nine pages, and one of them again: the first that a kept connection should have carried
		if len(answered) != 9 || finished != 9 || len(paths) != 11 || paths[1] != paths[2] {
			t.Errorf("%d pages answered, %d visits of the lease, asked for %q", len(answered), finished, paths)
		}
	})
}

// TestALeaseThatIsOverIsForgotten, with all that came with it: a slave has thousands in a day, each with the known URLs
// of a host.
func TestALeaseThatIsOverIsForgotten(t *testing.T) {
	const leases = 20
	inSchool(t, fakeweb.Options{Seed: 1, Hosts: leases, Pages: 10}, func(*Options) {}, func(s *school) {
		var tasks []weak.Pointer[messages.HostTask]
		for n := range leases {
			tasks = append(tasks, weak.Make(s.lend(uint64(n+1), n, 3)))
			actortest.Pass(3 * time.Second)
			stored := &messages.Stored{Term: 1}
			for _, report := range actortest.TakeOf[*messages.Report](s.master) {
				for _, fact := range report.Facts {
					stored.Leases, stored.Seqs = append(stored.Leases, fact.Lease), append(stored.Seqs, fact.Seq)
				}
			}
			s.master.Tell(s.slave, stored)
			actortest.Pass(time.Second)
		}
		actortest.Pass(time.Minute)
		s.master.Take()
		runtime.GC()
		left := 0
		for _, task := range tasks[:leases-2] { // a Parser and a stack may still see the last
			if task.Value() != nil {
				left++
			}
		}
		if left > 0 {
			t.Errorf("%d of %d tasks are still held", left, leases)
		}
	})
}

// reported returns the reasons of the visits that were reported under a lease, by URL, and why it ended.
func (s *school) reported(lease uint64) (reasons map[string]messages.Reason, why string) {
	reasons = map[string]messages.Reason{}
	for _, r := range actortest.TakeOf[*messages.Report](s.master) {
		for _, f := range r.Facts {
			switch {
			case f.Lease != lease:
			case f.Visited != nil:
				reasons[f.Visited.Url] = f.Visited.Reason
			case f.Finished != nil:
				why = f.Finished.Why
			}
		}
	}
	return reasons, why
}

// A page that breaks the Fetcher is a visit that failed: the schedule of its host gives it up after a few.
func TestAPageThatBreaksTheFetcherFails(t *testing.T) {
	var bad string
	receive := func(next actor.ReceiverFunc) actor.ReceiverFunc {
		return func(c actor.ReceiverContext, e *actor.MessageEnvelope) {
			if m, ok := e.Message.(*fetched); ok && m.response.URL.String() == bad {
				panic("injected")
			}
			next(c, e)
		}
	}
	inSchoolWith(t, fakeweb.Options{Seed: 1, Pages: 5}, floor.SystemOptions{Receive: receive}, func(*Options) {},
		func(s *school) {
			bad = s.web.PageURL(0, 1, 80)
			s.lend(1, 0, 5)
			actortest.Pass(5 * time.Second)
			reasons, why := s.reported(1)
			if reason, ok := reasons[bad]; !ok || reason != messages.Reason_NOT_PARSED || why != "failing" {
				t.Errorf("reported %v, and the end: %q", reasons, why)
			}
		})
}

// breaking is a connection that panics when a path is asked for.
type breaking struct {
	net.Conn
	path string
}

func (b *breaking) Write(p []byte) (int, error) {
	if strings.Fields(string(p))[1] == b.path {
		panic("injected")
	}
	return b.Conn.Write(p)
}

// A panic of the goroutine that fetches is a visit that failed, and the lease goes on.
func TestAFetchThatPanicsFails(t *testing.T) {
	var path string
	change := func(o *Options) {
		dial := o.Dial
		o.Dial = func(ctx context.Context, network, address string) (net.Conn, error) {
			c, err := dial(ctx, network, address)
			return &breaking{c, path}, err
		}
	}
	inSchool(t, fakeweb.Options{Seed: 1, Pages: 5}, change, func(s *school) {
		bad := weburl.MustParse(s.web.PageURL(0, 1, 80))
		path = bad.RequestURI()
		s.lend(1, 0, 5)
		actortest.Pass(5 * time.Second)
		reasons, why := s.reported(1)
		if len(reasons) != 5 || reasons[bad.String()] != messages.Reason_NOT_PARSED || why == "failing" {
			t.Errorf("reported %v, and the end: %q", reasons, why)
		}
	})
}

// A task whose URL is none is answered, or its page is lent again without end.
func TestATaskWithoutAURLFails(t *testing.T) {
	inSchool(t, fakeweb.Options{Seed: 1, Pages: 5}, func(*Options) {}, func(s *school) {
		asked := actortest.TakeOf[*messages.WorkRequested](s.master)
		s.master.Tell(s.slave, &messages.TaskBatch{Serial: asked[len(asked)-1].Serial,
			Term: 1, Tasks: []*messages.HostTask{{
				Lease: 1, Host: "http://" + s.web.Host(0).Name, PageBudget: 5, Tasks: []*messages.Task{
					{Url: "no URL", Position: []byte("p")}, {Url: s.web.PageURL(0, 1, 80), Position: []byte("q")}}}}})
		actortest.Pass(5 * time.Second)
		reasons, why := s.reported(1)
		if reason, ok := reasons["no URL"]; len(reasons) != 2 || !ok || reason != messages.Reason_MALFORMED {
			t.Errorf("reported %v, and the end: %q", reasons, why)
		}
	})
}
