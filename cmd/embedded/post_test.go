package embedded_test

import (
	"context"
	"maps"
	"math/rand/v2"
	"slices"
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

// post carries the messages between a master and a slave, and not well: some never, some twice, all late, so that they
// overtake each other.
type post struct {
	master, slave       *actor.PID
	rnd                 *rand.Rand
	lost, twice         float64
	late                time.Duration // at most
	carried, gone, more int
}

func (p *post) Receive(ctx actor.Context) {
	to := p.slave
	switch ctx.Message().(type) {
	case actor.SystemMessage, actor.AutoReceiveMessage, *actor.DeadLetterResponse:
		return
	case *messages.SlaveRegistered, *messages.WorkRequested, *messages.Report, *messages.TaskRefused:
		to = p.master
	}
	copies := 1
	switch draw := p.rnd.Float64(); {
	case draw < p.lost:
		copies = 0
		p.gone++
	case draw < p.lost+p.twice:
		copies = 2
		p.more++
	}
	root, self, message := ctx.ActorSystem().Root, ctx.Self(), ctx.Message()
	for range copies {
		p.carried++
		time.AfterFunc(time.Duration(p.rnd.Int64N(int64(p.late))),
			func() { root.RequestWithCustomSender(to, message, self) })
	}
}

// TestACrawlFetchesEverythingOnceWhateverThePostDoes: a tenth of all messages between master and slave is lost, a fifth
// comes twice, and each takes up to three seconds.
func TestACrawlFetchesEverythingOnceWhateverThePostDoes(t *testing.T) {
	for seed := range uint64(4) {
		synctest.Test(t, func(t *testing.T) {
			web, err := fakeweb.New(fakeweb.Options{
				Seed: seed, Hosts: 6, Domains: 3, Pages: 30, CrossShare: 0.2, RedirectShare: 0.1,
				Robots: fakeweb.Robots{Missing: 0.2, Folders: 0.2, Delayed: 0.2},
			})
			if err != nil {
				t.Fatal(err)
			}
			defer web.Close()
			dir := t.TempDir()
			e := crawltest.Of(t, dir, web, -1, nil)
			e.Options.Name, e.Options.Boot = "m", "1"
			system := floor.NewSystem("henro", e.Log, floor.SystemOptions{})
			node, err := master.Start(system, e.Options, e.Log)
			if err != nil {
				t.Fatal(err)
			}
			o, err := e.Work.Options(dir, nil)
			if err != nil {
				t.Fatal(err)
			}
			o.Name, o.Boot, o.Dial = "s", "1", e.Dial
			props, err := slave.Props(o, e.Log)
			if err != nil {
				t.Fatal(err)
			}
			p := &post{master: node.PID(), slave: system.Root.Spawn(props), rnd: rand.New(rand.NewPCG(seed, 0)),
				lost: 0.1, twice: 0.2, late: 3 * time.Second}
			carrier := system.Root.Spawn(actor.PropsFromProducer(func() actor.Actor { return p }))
			system.Root.Send(p.slave, &slave.MasterSeen{PID: carrier, Claim: node.Claim()})

			ctx, cancel := context.WithTimeout(t.Context(), 24*time.Hour)
			defer cancel()
			status, err := node.Run(ctx, ctx, e.Seeds)
			if err != nil || status.End != master.Finished {
				t.Errorf("seed %d: ended with %q, %v", seed, status.End, err)
			}
			for _, pid := range []*actor.PID{p.slave, carrier} {
				if err := system.Root.PoisonFuture(pid).Wait(); err != nil {
					t.Error(err)
				}
			}
			if err := node.Close(); err != nil {
				t.Error(err)
			}
			truth, err := web.Reachable(fakeweb.Crawl{Seeds: web.Seeds(), Depth: -1})
			if err != nil {
				t.Fatal(err)
			}
			crawltest.Compare(t, crawltest.Visited(t, dir), slices.Collect(maps.Keys(truth.Fetched)))
			if repeats := fakeweb.Repeats(web.Log()); len(repeats) > 0 {
				t.Errorf("seed %d: fetched more than once: %v", seed, repeats)
			}
			crawltest.CheckPaces(t, web, e.Options.Hosts.Politeness.Floor)
			if overlaps := fakeweb.Overlaps(web.Log(), 0); len(overlaps) > 0 {
				t.Errorf("seed %d: asked twice at once: %v", seed, overlaps)
			}
			if p.gone == 0 || p.more == 0 {
				t.Errorf("seed %d: %d messages, %d lost, %d twice", seed, p.carried, p.gone, p.more)
			}
			time.Sleep(time.Minute) // what the post still carries
		})
	}
}
