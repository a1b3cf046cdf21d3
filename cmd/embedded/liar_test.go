package embedded_test

import (
	"context"
	"maps"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/asynkron/protoactor-go/actor"
	"google.golang.org/protobuf/proto"

	"henro/actors/floor"
	"henro/actors/robots"
	"henro/cmd/embedded/crawltest"
	"henro/cmd/fakeweb"
	"henro/master"
	"henro/master/lending"
	"henro/messages"
	"henro/slave"
)

// liar stands between the master and a slave that has the key, and makes the slave lie.
type liar struct {
	master, slave *actor.PID
	lie           func(*liar, actor.Context, *messages.Fact) *messages.Fact // nil: as it was
	refuse        bool
	steal         bool // declines what another slave was lent
	told          int
}

// lentToOther is a lease of the honest slave.
type lentToOther struct {
	lease uint64
	host  string
}

const anothers = "the lease of another slave"

func (l *liar) Receive(ctx actor.Context) {
	root, self := ctx.ActorSystem().Root, ctx.Self()
	switch m := ctx.Message().(type) {
	case actor.SystemMessage, actor.AutoReceiveMessage, *actor.DeadLetterResponse:
	case *messages.Report:
		if l.lie == nil {
			root.RequestWithCustomSender(l.master, m, self)
			return
		}
		m = proto.Clone(m).(*messages.Report)
		for i, f := range m.Facts {
			l.told++
			m.Facts[i] = l.lie(l, ctx, f)
		}
		root.RequestWithCustomSender(l.master, m, self)
	case *messages.SlaveRegistered, *messages.WorkRequested, *messages.TaskRefused:
		root.RequestWithCustomSender(l.master, m, self)
	case *lentToOther:
		if l.steal { // while the other is at it
			l.told++
			time.AfterFunc(time.Second, func() {
				root.RequestWithCustomSender(l.master, &messages.TaskRefused{Slave: "cheat", Boot: "1", Lease: m.lease,
					Host: m.host}, self)
			})
		}
	case *messages.TaskBatch:
		if l.refuse {
			for _, task := range m.Tasks {
				l.told++
				root.RequestWithCustomSender(l.master, &messages.TaskRefused{Slave: "cheat", Boot: "1",
					Lease: task.Lease, Host: task.Host}, self)
			}
			m = &messages.TaskBatch{Serial: m.Serial, Term: m.Term, Renewed: m.Renewed, Revoked: m.Revoked}
		}
		root.RequestWithCustomSender(l.slave, m, self)
	default:
		root.RequestWithCustomSender(l.slave, m, self)
	}
}

// ofVisits makes a lie of what is said of pages alone.
func ofVisits(lie func(*messages.PageVisited)) func(*liar, actor.Context, *messages.Fact) *messages.Fact {
	return func(_ *liar, _ actor.Context, f *messages.Fact) *messages.Fact {
		if f.Visited != nil {
			lie(f.Visited)
		}
		return f
	}
}

var lies = []struct {
	name   string
	lie    func(*liar, actor.Context, *messages.Fact) *messages.Fact
	refuse bool
}{
	{name: "impossible depth", lie: ofVisits(func(v *messages.PageVisited) { v.Depth, v.DepthLeft = 1<<30, 99 })},
	{name: "negative depth", lie: ofVisits(func(v *messages.PageVisited) { v.Depth = -7 })},
	{name: "the future", lie: ofVisits(func(v *messages.PageVisited) { v.AgoNs = -int64(1000 * time.Hour) })},
	{name: "the past", lie: ofVisits(func(v *messages.PageVisited) { v.AgoNs = int64(1000 * time.Hour) })},
	{name: "a request of a year", lie: ofVisits(func(v *messages.PageVisited) { v.TookNs = int64(8760 * time.Hour) })},
	{name: "a rest of a year", lie: ofVisits(func(v *messages.PageVisited) {
		v.RetryAfterNs = int64(8760 * time.Hour)
	})},
	{name: "position", lie: ofVisits(func(v *messages.PageVisited) { v.Position = []byte("not lent") })},
	{name: "another page", lie: ofVisits(func(v *messages.PageVisited) { v.Url += "x" })},
	{name: "empty records", lie: func(_ *liar, _ actor.Context, f *messages.Fact) *messages.Fact {
		if f.Visited != nil {
			f.Visited = &messages.PageVisited{}
		}
		return f
	}},
	{name: "empty facts", lie: func(_ *liar, _ actor.Context, f *messages.Fact) *messages.Fact {
		return &messages.Fact{Lease: f.Lease, Seq: f.Seq, Host: f.Host}
	}},
	{name: "numbers", lie: func(_ *liar, _ actor.Context, f *messages.Fact) *messages.Fact {
		f.Seq += 1 << 40
		return f
	}},
	{name: "another host", lie: func(_ *liar, _ actor.Context, f *messages.Fact) *messages.Fact {
		f.Host = "http://elsewhere.test"
		return f
	}},
	{name: "made-up robots answers", lie: func(_ *liar, _ actor.Context, f *messages.Fact) *messages.Fact {
		rules, _ := robots.AllowAll().MarshalBinary()
		f.Visited, f.Finished, f.More = nil, nil, nil
		f.Rules = &messages.RulesVisited{Status: 200, Rules: rules}
		return f
	}},
	{name: "robots that cannot be read", lie: func(_ *liar, _ actor.Context, f *messages.Fact) *messages.Fact {
		f.Visited, f.Finished, f.More = nil, nil, nil
		f.Rules = &messages.RulesVisited{Status: 200, Rules: []byte("nonsense")}
		return f
	}},
	{name: anothers},
	{name: "refusing", refuse: true},
}

// overheard carries the messages of the honest slave, and tells the liar what that is lent.
type overheard struct{ master, slave, liar *actor.PID }

func (o *overheard) Receive(ctx actor.Context) {
	root, self := ctx.ActorSystem().Root, ctx.Self()
	switch m := ctx.Message().(type) {
	case actor.SystemMessage, actor.AutoReceiveMessage, *actor.DeadLetterResponse:
	case *messages.SlaveRegistered, *messages.WorkRequested, *messages.TaskRefused, *messages.Report:
		root.RequestWithCustomSender(o.master, m, self)
	case *messages.TaskBatch:
		for _, task := range m.Tasks {
			root.Send(o.liar, &lentToOther{task.Lease, task.Host})
		}
		root.RequestWithCustomSender(o.slave, m, self)
	default:
		root.RequestWithCustomSender(o.slave, m, self)
	}
}

// TestALyingSlaveTakesNothingFromTheCrawl: a slave that lies beside an honest one costs no page and no interval, and is
// barred; alone it leaves a crawl that says why it stands still.
func TestALyingSlaveTakesNothingFromTheCrawl(t *testing.T) {
	t.Parallel()
	for _, alone := range []bool{false, true} {
		for _, c := range lies {
			name := c.name
			if alone && c.name == anothers {
				continue // there is none
			}
			if alone {
				name += ", alone"
			}
			t.Run(name, func(t *testing.T) {
				synctest.Test(t, func(t *testing.T) { lieTo(t, c.lie, c.refuse, c.name == anothers, alone) })
			})
		}
	}
}

func lieTo(t *testing.T, lie func(*liar, actor.Context, *messages.Fact) *messages.Fact, refuse, steal, alone bool) {
	web, err := fakeweb.New(fakeweb.Options{Seed: 5, Hosts: 6, Domains: 3, Pages: 12, CrossShare: 0.3,
		RedirectShare: 0.1})
	if err != nil {
		t.Fatal(err)
	}
	defer web.Close()
	dir := t.TempDir()
	e := crawltest.Of(t, dir, web, 6, nil)
	e.Options.Name, e.Options.Boot, e.Options.StallAfter = "m", "1", time.Minute
	e.Options.TickEvery = time.Second // of an hour without work
	system := floor.NewSystem("henro", e.Log, floor.SystemOptions{})
	node, err := master.Start(system, e.Options, e.Log)
	if err != nil {
		t.Fatal(err)
	}
	join := func(name string, carrier func(slave *actor.PID) actor.Actor) (both []*actor.PID) {
		o, err := e.Work.Options(t.TempDir(), nil)
		if err != nil {
			t.Fatal(err)
		}
		o.Name, o.Boot, o.Dial = name, "1", e.Dial
		props, err := slave.Props(o, e.Log)
		if err != nil {
			t.Fatal(err)
		}
		pid := system.Root.Spawn(props)
		post := carrier(pid)
		to := system.Root.Spawn(actor.PropsFromProducer(func() actor.Actor { return post }))
		system.Root.Send(pid, &slave.MasterSeen{PID: to, Claim: node.Claim()})
		return []*actor.PID{pid, to}
	}
	l := &liar{master: node.PID(), lie: lie, refuse: refuse, steal: steal}
	// its name comes first, so that of two with as much room it is lent a host
	pids := join("cheat", func(pid *actor.PID) actor.Actor { l.slave = pid; return l })
	if !alone {
		pids = append(pids, join("honest", func(pid *actor.PID) actor.Actor {
			return &overheard{master: node.PID(), slave: pid, liar: pids[1]}
		})...)
	}
	ctx, cancel := context.WithTimeout(t.Context(), 2*time.Hour)
	defer cancel()
	var before master.Status
	go func() {
		for i := 0; ctx.Err() == nil; i++ {
			time.Sleep(time.Second)
			if i == 3600 {
				_, _ = master.Ask[*master.Status](ctx, node, &master.Stop{Why: master.Stopped})
			}
			if s, err := master.Ask[*master.Status](ctx, node, &master.StatusAsked{}); err == nil {
				if len(s.Slaves) > 0 && s.State == master.Running {
					before = *s
				}
			}
		}
	}()
	status, err := node.Run(ctx, ctx, e.Seeds)
	if err != nil {
		t.Errorf("ended with %q: %v", status.End, err)
	}
	cancel()
	synctest.Wait()
	for _, pid := range pids {
		if err := system.Root.PoisonFuture(pid).Wait(); err != nil {
			t.Error(err)
		}
	}
	if err := node.Close(); err != nil {
		t.Error(err)
	}
	time.Sleep(2 * time.Minute)
	if l.told == 0 {
		t.Fatal("no lie was told")
	}
	crawltest.CheckPaces(t, web, e.Options.Hosts.Politeness.Floor)
	if overlaps := fakeweb.Overlaps(web.Log(), 0); len(overlaps) > 0 {
		t.Errorf("asked twice at once: %v", overlaps)
	}
	found := slices.IndexFunc(before.Slaves, func(s lending.SlaveStatus) bool { return s.Name == "cheat" })
	if found < 0 {
		t.Fatalf("slaves: %+v", before.Slaves)
	}
	shown := before.Slaves[found]
	if refuse && shown.Declined == 0 || !refuse && (shown.Impossible == 0 || shown.Why == "") {
		t.Errorf("shown as %+v", shown)
	}
	if alone {
		if !refuse && shown.State != lending.Barred {
			t.Errorf("after an hour the liar is %s", shown.State)
		}
		says := before.Stalled.String()
		if !strings.Contains(says, "barred") && !strings.Contains(says, "do not take on") {
			t.Errorf("stalled: %q %v", says, before.Stalls)
		}
		return
	}
	if status.End != master.Finished {
		t.Errorf("ended with %q: %+v", status.End, before)
	}
	truth, err := web.Reachable(fakeweb.Crawl{Seeds: web.Seeds(), Depth: 6})
	if err != nil {
		t.Fatal(err)
	}
	crawltest.Compare(t, crawltest.Visited(t, dir), slices.Collect(maps.Keys(truth.Fetched)))
	if pages := int(status.Totals.Pages); pages != len(crawltest.Visited(t, dir)) {
		t.Errorf("the totals say %d pages, the state has %d", pages, len(crawltest.Visited(t, dir)))
	}
}
