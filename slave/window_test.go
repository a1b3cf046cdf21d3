package slave

import (
	"fmt"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/asynkron/protoactor-go/actor"
	"github.com/sirupsen/logrus"

	"henro/actors/admission"
	"henro/actors/archivist"
	"henro/actors/floor"
	"henro/slave/walls/alike"
)

// Where too much is kept, those wait that keep it, and nobody else.
func TestALeaseThatKeepsTooMuchWaitsAlone(t *testing.T) {
	o := DefaultOptions()
	o.UnstoredFacts = 10
	o.KeptBytes = 1000 * o.Leases()
	w := newWindow(&o)
	greedy, modest := &account{window: w}, &account{window: w}
	modest.Keep(0, 900)
	greedy.fetched(o.KeptBytes - 1000)
	if greedy.full() || modest.full() {
		t.Error("full below the bound")
	}
	greedy.Keep(0, 100)
	if !greedy.full() || modest.full() {
		t.Errorf("at the bound: greedy %v, modest %v", greedy.full(), modest.full())
	}
	if !greedy.Filling() {
		t.Error("the master is not pressed")
	}
	greedy.parsed(o.KeptBytes-1000, time.Second)
	greedy.Keep(0, -100)
	if greedy.full() || greedy.Filling() || greedy.count.Load() != 0 || w.bytes.count.Load() != 900 {
		t.Error("kept after it is gone:", greedy.count.Load(), w.bytes.count.Load())
	}
	modest.Keep(10, 0)
	if !greedy.full() || !modest.full() {
		t.Error("at the bound of facts all wait")
	}
}

// A large page is not parsed while what was made of others is not stored: it is smaller than its links may be. Small
// pages are, and all are where nobody stores anything any more.
func TestLargePagesWaitUntilFactsWereStored(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		o := DefaultOptions()
		o.Name, o.Boot, o.KeptBytes, o.Connections = "a", "1", 1<<20, 16
		if err := o.Validate(); err != nil {
			t.Fatal(err)
		}
		log := logrus.New()
		log.SetOutput(&strings.Builder{})
		system := floor.NewSystem("test", logrus.NewEntry(log), floor.SystemOptions{})
		defer system.Shutdown()
		var parsedPages atomic.Int32
		sink := system.Root.Spawn(actor.PropsFromFunc(func(ctx actor.Context) {
			if _, ok := ctx.Message().(*archivist.Archive); ok {
				parsedPages.Add(1)
			}
		}))
		parser := system.Root.Spawn(parserProps(o, sink, sink, logrus.NewEntry(log), &alike.Hosts{}))
		w := newWindow(&o)
		send := func(kept *account, bytes int) {
			m := answered(200, "", "", "", "text/html", make([]byte, bytes))
			m.kept, m.fetcher = kept, sink
			kept.fetched(bytes)
			system.Root.Send(parser, m)
		}
		after := func(d time.Duration, want int32, sentence string) {
			t.Helper()
			time.Sleep(d)
			synctest.Wait()
			if parsed := parsedPages.Load(); parsed != want {
				t.Errorf("%s: %d pages are parsed, want %d", sentence, parsed, want)
			}
		}
		stored := func() { w.storedAt.Store(time.Now().UnixNano()) }
		stored()
		greedy, modest := &account{window: w}, &account{window: w}
		greedy.Keep(0, 600<<10)
		send(greedy, gatedBody)
		w.served.Store(int64(time.Hour))
		after(time.Second, 0, "half of the bytes are facts, and its lease has most of them")
		if greedy.served.Load() < int64(time.Hour-restCredit) {
			t.Error("what waits for facts to be stored comes before others then")
		}
		send(greedy, gatedBody-1)
		after(time.Second, 1, "a small page")
		send(modest, gatedBody)
		after(time.Second, 2, "a lease with little of them")
		modest.Keep(0, 500<<10)
		stored()
		send(&account{window: w}, gatedBody)
		after(time.Second, 2, "all of the bytes are facts")
		greedy.Keep(0, -600<<10)
		after(time.Second, 4, "facts were stored")
		modest.Keep(0, 1<<20)
		stored()
		send(modest, gatedBody)
		after(storedWithin-time.Millisecond, 4, "nothing was stored for a while")
		after(time.Second, 5, "nobody stores anything")
		if err := system.Root.PoisonFuture(parser).Wait(); err != nil {
			t.Error(err)
		}
	})
}

// Hosts whose pages take a Parser long do not hold up one whose pages take it a moment, however many they are and
// however many of their pages wait: after what each host has at once, a page waits for the one at hand alone.
func TestParsersAreSharedOutByHost(t *testing.T) {
	const farms, ahead, long = 8, 4, 200 * time.Millisecond
	synctest.Test(t, func(t *testing.T) {
		o := DefaultOptions()
		o.Name, o.Boot = "a", "1"
		if err := o.Validate(); err != nil {
			t.Fatal(err)
		}
		log := logrus.New()
		log.SetOutput(&strings.Builder{})
		system := floor.NewSystem("test", logrus.NewEntry(log), floor.SystemOptions{})
		defer system.Shutdown()
		w := newWindow(&o)
		var parser *actor.PID
		var send func(kept *account, takes time.Duration, refill bool)
		var enough atomic.Bool
		var mu sync.Mutex
		done := map[*account]int{}
		pagesOf := func(kept *account) int {
			mu.Lock()
			defer mu.Unlock()
			return done[kept]
		}
		fetcherOf := func(kept *account, refill bool, takes time.Duration) *actor.PID {
			return system.Root.Spawn(actor.PropsFromFunc(func(ctx actor.Context) {
				if _, ok := ctx.Message().(*parsed); ok {
					mu.Lock()
					done[kept]++
					mu.Unlock()
					if refill && !enough.Load() {
						send(kept, takes, true)
					}
				}
			}))
		}
		sink := system.Root.Spawn(actor.PropsFromFunc(func(actor.Context) {}))
		parser = system.Root.Spawn(parserProps(o, sink, sink, logrus.NewEntry(log), &alike.Hosts{}))
		fetchers := map[*account]*actor.PID{}
		send = func(kept *account, takes time.Duration, refill bool) {
			m := answered(200, "", "", "", "text/html", []byte("<a href=/x>"))
			m.links = &admission.Options{MaxRedirects: 20, Admit: func(string, string) bool {
				time.Sleep(takes)
				return true
			}}
			mu.Lock()
			if fetchers[kept] == nil {
				fetchers[kept] = fetcherOf(kept, refill, takes)
			}
			m.kept, m.fetcher = kept, fetchers[kept]
			mu.Unlock()
			kept.fetched(0)
			system.Root.Send(parser, m)
		}
		ordinary := &account{window: w}
		for range farms {
			farm := &account{window: w}
			for range ahead {
				send(farm, long, true)
			}
		}
		for i := range 20 {
			ordinary.arrive()
			begun := time.Now()
			send(ordinary, time.Millisecond, false)
			for synctest.Wait(); pagesOf(ordinary) == i; synctest.Wait() {
				time.Sleep(time.Millisecond)
			}
			bound := long + 10*time.Millisecond
			if i < 2 { // whoever has had nothing yet comes before one who had a page
				bound += farms * long
			}
			if took := time.Since(begun); took > bound {
				t.Errorf("page %d waited %v for its Parser", i, took)
			}
			time.Sleep(500 * time.Millisecond)
		}
		rested := &account{window: w}
		rested.arrive()
		enough.Store(true)
		time.Sleep(time.Minute)
		mu.Lock()
		defer mu.Unlock()
		for kept, pages := range done {
			if kept == ordinary {
				continue
			}
			if pages < 5 {
				t.Errorf("one of the others got %d pages in ten seconds", pages)
			}
			served := time.Duration(kept.served.Load())
			if want := time.Duration(pages) * (long + linkCost); served != want {
				t.Errorf("%d pages with a link were %v of service, want %v", pages, served, want)
			}
			if behind := served - time.Duration(rested.served.Load()); behind > 2*ahead*long {
				t.Errorf("a host that rested has a credit of %v", behind)
			}
		}
		if err := system.Root.PoisonFuture(parser).Wait(); err != nil {
			t.Error(err)
		}
	})
}

// What a host was served beyond others is known at its next lease, of a bounded number of hosts.
func TestServiceIsCountedBeyondALease(t *testing.T) {
	o := DefaultOptions()
	w := newWindow(&o)
	lease := func(host string, took time.Duration) (before int64) {
		kept := w.open(host)
		before = kept.served.Load()
		kept.serve()
		kept.parsed(0, took)
		w.close(host, kept)
		return before
	}
	lease("http://a.example", time.Second)
	lease("http://b.example", 0)
	if before := lease("http://a.example", time.Second); before != int64(time.Second) {
		t.Errorf("a host that had a second begins at %d ns", before)
	}
	if before := lease("http://b.example", 0); before != 0 {
		t.Errorf("a host that had nothing begins at %d ns", before)
	}
	for i := range 2 * maxBeyond {
		if lease(fmt.Sprintf("http://%d.example", i), time.Hour); len(w.beyond) > maxBeyond {
			t.Fatal(len(w.beyond), "hosts are known")
		}
	}
}
