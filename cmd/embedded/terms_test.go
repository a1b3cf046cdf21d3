package embedded_test

import (
	"context"
	"fmt"
	"maps"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/asynkron/protoactor-go/actor"

	"henro/actors/floor"
	"henro/cmd/embedded/crawltest"
	"henro/cmd/fakeweb"
	"henro/master"
	"henro/messages"
	"henro/slave"
)

// realm is a crawl whose masters take over from each other: each goes on with a copy of the state of the one before,
// which stands still meanwhile and then goes on as if nothing had happened.
type realm struct {
	t       *testing.T
	mu      sync.Mutex // of what follows
	rnd     *rand.Rand
	lent    map[uint64]*leaseUse // by lease
	refused int

	web    *fakeweb.Web
	system *actor.ActorSystem // of the slaves
	slaves []*actor.PID
	reigns []*reign
}

// reign is one master, in a process of its own.
type reign struct {
	dir    string
	system *actor.ActorSystem
	node   *master.Node
	ended  chan master.Status // gets one when it has ended by itself
	cancel context.CancelFunc
	fronts []*actor.PID // by slave: as which it sees the master
}

// leaseUse is what slaves did with a lease, by the messages that they took and sent.
type leaseUse struct {
	lease          uint64
	host           string
	slave          int
	taken, givenBy time.Time
	refused        bool
}

// door passes on what reaches one end of the way between a master and a slave, from the other end.
type door struct {
	r       *realm
	slave   int        // whose
	inward  bool       // to the slave
	other   *actor.PID // the other end
	target  *actor.PID
	targets *actor.ActorSystem
}

func (d *door) Receive(ctx actor.Context) {
	message := ctx.Message()
	d.r.mu.Lock()
	defer d.r.mu.Unlock()
	switch m := message.(type) {
	case actor.SystemMessage, actor.AutoReceiveMessage, *actor.DeadLetterResponse:
		return
	case *messages.TaskRefused:
		d.r.lent[m.Lease].refused = true
		d.r.refused++
	case *messages.Report:
		for _, f := range m.Facts {
			if l := d.r.lent[f.Lease]; f.Finished != nil && l.givenBy.IsZero() {
				l.givenBy = time.Now()
			}
		}
	}
	if d.r.rnd.Float64() < 0.1 {
		return // lost
	}
	late := time.Duration(d.r.rnd.Int64N(int64(200 * time.Millisecond)))
	time.AfterFunc(late, func() {
		if batch, ok := message.(*messages.TaskBatch); ok && d.inward {
			d.r.mu.Lock()
			for _, task := range batch.Tasks {
				if d.r.lent[task.Lease] == nil {
					d.r.lent[task.Lease] = &leaseUse{lease: task.Lease, host: task.Host, slave: d.slave,
						taken: time.Now()}
				}
			}
			d.r.mu.Unlock()
		}
		d.targets.Root.RequestWithCustomSender(d.target, message, d.other)
	})
}

// standStill has the actor that receives it do nothing for so long.
type standStill time.Duration

// start sets the next master to work.
func (r *realm) start(dir string, seeded bool) {
	e := crawltest.Of(r.t, dir, r.web, -1, nil)
	e.Options.Name, e.Options.Boot = "m", fmt.Sprint(9-len(r.reigns)) // a later one need not have the greater boot
	e.Options.Hosts.PageBudget = 4                                    // so that hosts go round
	n := &reign{dir: dir, ended: make(chan master.Status, 1)}
	n.system = floor.NewSystem("henro", e.Log, floor.SystemOptions{
		Receive: func(next actor.ReceiverFunc) actor.ReceiverFunc {
			return func(c actor.ReceiverContext, e *actor.MessageEnvelope) {
				if d, ok := e.Message.(standStill); ok {
					time.Sleep(time.Duration(d))
					return
				}
				next(c, e)
			}
		}})
	var err error
	if n.node, err = master.Start(n.system, e.Options, e.Log); err != nil {
		r.t.Fatal(err)
	}
	for i, pid := range r.slaves {
		in := &door{r: r, slave: i, inward: true, target: pid, targets: r.system}
		out := &door{r: r, slave: i, target: n.node.PID(), targets: n.system}
		out.other = n.system.Root.Spawn(actor.PropsFromProducer(func() actor.Actor { return in }))
		in.other = r.system.Root.Spawn(actor.PropsFromProducer(func() actor.Actor { return out }))
		n.fronts = append(n.fronts, in.other)
	}
	seeds := e.Seeds
	if !seeded {
		seeds = nil
	}
	var ctx context.Context
	ctx, n.cancel = context.WithCancel(r.t.Context())
	go func() {
		if status, err := n.node.Run(ctx, ctx, seeds); err == nil {
			n.ended <- status
		}
	}()
	r.reigns = append(r.reigns, n)
	r.show(n)
}

// upTo is a random time.
func (r *realm) upTo(most time.Duration) time.Duration {
	r.mu.Lock()
	defer r.mu.Unlock()
	return time.Duration(r.rnd.Int64N(int64(most)))
}

// show has the gossip show a master, to each slave at a moment of its own within a second.
func (r *realm) show(n *reign) {
	for i, pid := range r.slaves {
		seen := &slave.MasterSeen{PID: n.fronts[i], Claim: n.node.Claim()}
		time.AfterFunc(r.upTo(time.Second), func() { r.system.Root.Send(pid, seen) })
	}
}

// takeOver freezes the master, starts another on a copy of its state, and has the first go on.
func (r *realm) takeOver() {
	old := r.reigns[len(r.reigns)-1]
	still := r.upTo(20 * time.Second)
	old.system.Root.Send(old.node.PID(), standStill(still+2*time.Second))
	time.Sleep(time.Second) // what it began to write is on disk
	dir := filepath.Join(r.t.TempDir(), "copy")
	if err := os.CopyFS(dir, os.DirFS(old.dir)); err != nil {
		r.t.Fatal(err)
	}
	r.start(dir, false)
	successor := r.reigns[len(r.reigns)-1].node.Claim()
	time.Sleep(time.Second)
	seen := still + r.upTo(2*time.Second)
	time.AfterFunc(seen, func() {
		old.system.Root.Send(old.node.PID(), &master.RivalSeen{Claim: successor, Name: "another"})
		r.show(old)
	})
}

// judge looks whether each host was in the hands of one slave at a time, by what the slaves took and sent.
func (r *realm) judge() {
	r.mu.Lock()
	defer r.mu.Unlock()
	byHost := map[string][]*leaseUse{}
	for _, l := range r.lent {
		if !l.refused {
			byHost[l.host] = append(byHost[l.host], l)
		}
	}
	for host, all := range byHost {
		slices.SortFunc(all, func(a, b *leaseUse) int { return a.taken.Compare(b.taken) })
		for i, l := range all[1:] {
			if before := all[i]; before.givenBy.IsZero() || before.givenBy.After(l.taken) {
				r.t.Errorf("%s: slave %d took lease %x at %v; slave %d gave lease %x back at %v", host, l.slave,
					l.lease, l.taken, before.slave, before.lease, before.givenBy)
			}
		}
	}
}

// TestACrawlFetchesEverythingOnceWhicheverMasterLeads: three times the master stands still for up to 20 s, another is
// started on a copy of its state, and the first goes on, takes what slaves had sent it, and lends, until the gossip
// shows it that it is deposed. A tenth of all messages is lost.
func TestACrawlFetchesEverythingOnceWhicheverMasterLeads(t *testing.T) {
	refused := 0
	for seed := range uint64(2) {
		synctest.Test(t, func(t *testing.T) {
			web, err := fakeweb.New(fakeweb.Options{
				Seed: seed, Hosts: 12, Domains: 6, Pages: 24, CrossShare: 0.2, RedirectShare: 0.1,
				Robots: fakeweb.Robots{Missing: 0.2, Folders: 0.2, Delayed: 0.2},
			})
			if err != nil {
				t.Fatal(err)
			}
			defer web.Close()
			r := &realm{t: t, rnd: rand.New(rand.NewPCG(seed, 1)), web: web, lent: map[uint64]*leaseUse{}}
			e := crawltest.Of(t, t.TempDir(), web, -1, nil)
			r.system = floor.NewSystem("slaves", e.Log, floor.SystemOptions{})
			for i := range 3 {
				e.Work.Connections = 3
				o, err := e.Work.Options(t.TempDir(), nil)
				if err != nil {
					t.Fatal(err)
				}
				o.Name, o.Boot, o.Dial = fmt.Sprint("s", i), "1", e.Dial
				props, err := slave.Props(o, e.Log)
				if err != nil {
					t.Fatal(err)
				}
				r.slaves = append(r.slaves, r.system.Root.Spawn(props))
			}
			r.start(t.TempDir(), true)
			for range 3 {
				time.Sleep(10*time.Second + r.upTo(10*time.Second))
				r.takeOver()
			}
			last := r.reigns[len(r.reigns)-1]
			var status master.Status
			select {
			case status = <-last.ended:
			case <-time.After(24 * time.Hour):
				t.Fatal("the crawl does not end")
			}
			if status.End != master.Finished || status.Totals.Revisits > 0 {
				t.Errorf("seed %d: ended with %q; %d revisits", seed, status.End, status.Totals.Revisits)
			}
			for _, n := range r.reigns {
				n.cancel()
			}
			for _, pid := range r.slaves {
				if err := floor.End(r.system, pid); err != nil {
					t.Error(err)
				}
			}
			for _, n := range r.reigns {
				if err := n.node.Close(); err != nil {
					t.Error(err)
				}
				n.system.Shutdown()
			}
			r.system.Shutdown()
			time.Sleep(time.Minute) // what is still under way
			truth, err := web.Reachable(fakeweb.Crawl{Seeds: web.Seeds(), Depth: -1})
			if err != nil {
				t.Fatal(err)
			}
			crawltest.Compare(t, crawltest.Visited(t, last.dir), slices.Collect(maps.Keys(truth.Fetched)))
			if repeats := fakeweb.Repeats(web.Log()); len(repeats) > 0 {
				t.Errorf("seed %d: fetched more than once: %v", seed, repeats)
			}
			crawltest.CheckPaces(t, web, e.Options.Hosts.Politeness.Floor)
			if overlaps := fakeweb.Overlaps(web.Log(), 0); len(overlaps) > 0 {
				t.Errorf("seed %d: asked twice at once: %v", seed, overlaps)
			}
			r.judge()
			refused += r.refused
			if is := last.node.Claim().Term; is != 4 {
				t.Errorf("seed %d: the last term is %d", seed, is)
			}
		})
	}
	t.Logf("%d tasks of masters that were deposed are refused", refused)
}
