package embedded_test

import (
	"cmp"
	"context"
	"errors"
	"flag"
	"fmt"
	"maps"
	"runtime"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/asynkron/protoactor-go/actor"

	"henro/actors/alias"
	"henro/actors/floor"
	"henro/actors/protocol"
	"henro/actors/revisit"
	"henro/cmd/embedded"
	"henro/cmd/embedded/crawltest"
	"henro/cmd/fakeweb"
	"henro/master"
	"henro/master/lending"
	"henro/slave"
)

var allPanics = flag.Bool("panics", false,
	"make actors panic both before and after each message, and at its first coming too")

// spot is where an actor may panic.
type spot struct{ kind, message string }

// injector records what every kind of actor receives, and makes one of them panic once.
type injector struct {
	mu      sync.Mutex
	seen    map[spot]int
	at      spot // "": nowhere
	turn    int  // at which coming of the message, from 1
	after   bool // when the message was handled; otherwise before
	fired   bool
	dead    bool             // the process has ended
	crashed chan floor.Crash // of the bubble
}

func newInjector() *injector {
	return &injector{seen: map[spot]int{}}
}

// receive lies around the Receive of every actor. In a process that has ended nobody acts any more: the goroutine ends
// and leaves its mailbox for ever.
func (i *injector) receive(next actor.ReceiverFunc) actor.ReceiverFunc {
	return func(c actor.ReceiverContext, e *actor.MessageEnvelope) {
		here := i.pass(c, e)
		if here && !i.after {
			panic("injected")
		}
		next(c, e)
		if here {
			panic("injected")
		}
	}
}

func (i *injector) pass(c actor.ReceiverContext, e *actor.MessageEnvelope) bool {
	i.mu.Lock()
	defer i.mu.Unlock()
	if i.dead {
		runtime.Goexit()
	}
	s := spot{floor.KindOf(c.Self().Id), strings.TrimPrefix(fmt.Sprintf("%T", e.Message), "*")}
	i.seen[s]++
	if i.fired || s != i.at || i.seen[s] != i.turn {
		return false
	}
	i.fired = true
	return true
}

// crash is the end of the process.
func (i *injector) crash(c floor.Crash) {
	i.mu.Lock()
	defer i.mu.Unlock()
	i.dead = true
	select {
	case i.crashed <- c:
	default: // two at once
	}
	runtime.Goexit()
}

func (i *injector) options() floor.SystemOptions {
	return floor.SystemOptions{Receive: i.receive, Crash: i.crash}
}

// panicking is a crawl in which actors are made to panic.
type panicking struct {
	name   string
	web    fakeweb.Options
	depth  int
	change func(*master.Options)
	adjust func(*slave.Options)
	stop   time.Duration // of a crawl without an end; 0: it has one
}

var panickings = []panicking{
	{
		name: "to its end",
		web: fakeweb.Options{
			Seed: 3, Hosts: 5, Domains: 3, Pages: 12, Degree: 4, CrossShare: 0.3, RedirectShare: 0.1,
			Errors: fakeweb.Errors{NotFound: 0.05},
			Robots: fakeweb.Robots{Missing: 0.2, Folders: 0.2, Redirected: 0.4},
		},
		depth: 4,
	},
	{
		name: "continuous",
		web: fakeweb.Options{
			Seed: 23, Hosts: 3, Domains: 3, Pages: 10, PageBytes: 1024,
			Changes: fakeweb.Changes{Share: 1, Fastest: 2 * day, Slowest: 9 * day},
			Hints:   fakeweb.Hints{Part: 5},
			Shape:   func(h *fakeweb.Host) { h.Indexed = h.Index&1 != 0 },
		},
		depth: -1,
		change: func(o *master.Options) {
			o.Hosts.Continuous, o.Hosts.Sitemaps, o.Hosts.Revisit.Aim = true, true, 0.5
			o.LeaseFor, o.TickEvery = time.Hour, 5*time.Minute
		},
		adjust: func(o *slave.Options) { o.AskEvery = 10 * time.Minute },
		stop:   5 * day,
	},
	{
		name:   "in rounds",
		web:    fakeweb.Options{Seed: 7, Hosts: 2, Domains: 2, Pages: 6, CrossShare: 0.3, PageBytes: 1024},
		depth:  -1,
		change: func(o *master.Options) { o.Hosts.Again, o.RoundEvery = true, time.Hour },
		stop:   150 * time.Minute,
	},
}

// steer asks the Master what operators ask, and orders what changes no set of pages.
func steer(ctx context.Context, node *master.Node, e *embedded.Crawl) {
	for _, step := range []struct {
		after   time.Duration
		command any
	}{
		{20 * time.Second, &master.StatusAsked{}},
		{time.Second, &master.AddSeeds{Seeds: e.Seeds}},
		{time.Second, &protocol.Ordered{Host: e.Seeds[0].URL.Host(), Order: &protocol.Retime{
			Pages: revisit.Pattern(e.Seeds[0].URL.String()), Every: 2 * day}}},
		{time.Second, &lending.DrainSlave{Slave: "local"}},
		{20 * time.Second, &lending.ResumeSlave{Slave: "local"}},
		{time.Second, &master.Pause{}},
		{10 * time.Second, &master.Resume{}},
		{time.Second, &protocol.Ordered{Host: "http://unknown.test", Order: &protocol.SetExcluded{On: true}}},
		{time.Second, &protocol.Ordered{Host: "http://second.test",
			Order: &alias.Decision{Of: "http://unknown.test"}}},
	} {
		select {
		case <-ctx.Done():
			return
		case <-time.After(step.after):
			_, _ = master.Ask[any](ctx, node, step.command) // a crawl that has crashed does not answer
		}
	}
}

// run crawls in dir until the end, or until the process has ended; then it returns the image that this leaves.
func (p *panicking) run(t *testing.T, dir string, web *fakeweb.Web, i *injector) (status master.Status, image string) {
	t.Helper()
	wire := &crawltest.Cable{Web: web}
	i.crashed = make(chan floor.Crash, 1)
	e := crawltest.Of(t, dir, web, p.depth, p.change)
	e.Dial, e.System, e.Adjust = wire.Dial, i.options(), p.adjust
	ctx, cancel := context.WithTimeout(t.Context(), cmp.Or(p.stop, 48*time.Hour))
	defer cancel()
	ended, dead := make(chan error, 1), make(chan struct{})
	go func() {
		var err error
		status, err = e.Run(ctx, func(ctx context.Context, node *master.Node) error {
			steer(ctx, node, e)
			select {
			case <-ctx.Done():
				return nil
			case <-dead:
				return errors.New("crashed")
			}
		})
		ended <- err
	}()
	select {
	case err := <-ended:
		if err != nil {
			t.Error(err)
		}
		return status, ""
	case <-i.crashed:
	}
	synctest.Wait() // nobody is writing
	image = t.TempDir()
	crawltest.CopyTree(t, dir, image)
	wire.Sever()
	close(dead)
	<-ended
	return status, image
}

// in makes the web of the crawl and runs it, with a restart of the process if that has ended.
func (p *panicking) in(t *testing.T, i *injector, each func(dir string, web *fakeweb.Web, status master.Status,
	crashed bool)) {
	synctest.Test(t, func(t *testing.T) {
		web, err := fakeweb.New(p.web)
		if err != nil {
			t.Fatal(err)
		}
		defer web.Close()
		dir := t.TempDir()
		status, image := p.run(t, dir, web, i)
		if image != "" {
			dir = image
			status, _ = p.run(t, dir, web, newInjector())
		}
		each(dir, web, status, image != "")
	})
}

// What becomes of each kind of actor that panics. A kind that is not named ends the process.
var restarting = []string{"slave", "host", "fetcher", "parser", "tracing"}

// Every kind of actor panics at every type of message that it receives, in turn: each crawl ends with the same pages,
// after a restart of the actor or of the process. What they receive is recorded in a crawl in which nobody panics.
func TestWhicheverActorPanicsTheCrawlEndsWithTheSamePages(t *testing.T) {
	covered := map[spot]bool{} // by the crawl before
	for _, p := range panickings {
		t.Run(p.name, func(t *testing.T) {
			recorder := newInjector()
			var want []string
			p.in(t, recorder, func(dir string, web *fakeweb.Web, status master.Status, _ bool) {
				pages := crawltest.Visited(t, dir)
				want = slices.Collect(maps.Keys(pages))
				if p.stop == 0 {
					crawltest.Compare(t, pages, crawltest.Reachable(t, web, p.depth))
				}
			})
			if t.Failed() {
				return
			}
			maps.DeleteFunc(recorder.seen, func(s spot, _ int) bool {
				return s.message == "actor.PoisonPill" // no actor sees it
			})
			spots := slices.SortedFunc(maps.Keys(recorder.seen), func(a, b spot) int {
				return cmp.Or(cmp.Compare(a.kind, b.kind), cmp.Compare(a.message, b.message))
			})
			t.Logf("%d pages, %d spots", len(want), len(spots))
			for n, s := range spots {
				if covered[s] && !*allPanics || testing.Short() && n%8 != 0 { // short: with the detector of races
					continue
				}
				covered[s] = true
				count := recorder.seen[s]
				turns := []int{(count + 1) / 2}
				sides := []bool{n%2 == 0}
				if *allPanics {
					turns, sides = slices.Compact([]int{1, (count + 1) / 2}), []bool{false, true}
				}
				for _, turn := range turns {
					for _, after := range sides {
						i := newInjector()
						i.at, i.turn, i.after = s, turn, after
						t.Run(fmt.Sprintf("%s/%s/%d/%v", s.kind, s.message, turn, after), func(t *testing.T) {
							t.Parallel()
							p.panics(t, i, want)
						})
					}
				}
			}
		})
	}
}

func (p *panicking) panics(t *testing.T, i *injector, want []string) {
	p.in(t, i, func(dir string, web *fakeweb.Web, status master.Status, crashed bool) {
		if !i.fired {
			t.Log("the message did not come so often this time")
			return
		}
		if end := cmp.Or(status.End, "none"); p.stop == 0 && end != master.Finished || end == "none" {
			t.Errorf("ended with %q", end)
		}
		crawltest.Compare(t, crawltest.Visited(t, dir), want)
		crawltest.CheckPaces(t, web, 5*time.Second)
		if overlaps := fakeweb.Overlaps(web.Log(), 0); len(overlaps) > 0 {
			t.Errorf("asked twice at once: %v", overlaps)
		}
		atEnd := slices.Contains([]string{"actor.Stopping", "actor.Stopped", "actor.Terminated"}, i.at.message)
		if restarts := slices.Contains(restarting, i.at.kind); restarts == crashed && !atEnd {
			t.Errorf("restarts: %v, the process ended: %v", restarts, crashed)
		}
	})
}
