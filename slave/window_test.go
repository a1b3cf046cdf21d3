package slave

import (
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/asynkron/protoactor-go/actor"
	"github.com/sirupsen/logrus"

	"henro/actors/archivist"
	"henro/actors/floor"
	"henro/messages"
)

// Where too much is kept, those wait that keep it, and nobody else.
func TestALeaseThatKeepsTooMuchWaitsAlone(t *testing.T) {
	o := DefaultOptions()
	o.Connections, o.KeptBytes, o.UnstoredFacts = 4, 4000, 10
	w := newWindow(&o)
	greedy, modest := &account{window: w}, &account{window: w}
	modest.keep(900)
	greedy.fetched(3000)
	if greedy.full() || modest.full() {
		t.Error("full below the bound")
	}
	greedy.keep(100)
	if !greedy.full() || modest.full() {
		t.Errorf("at the bound: greedy %v, modest %v", greedy.full(), modest.full())
	}
	if !w.filling() {
		t.Error("the master is not pressed")
	}
	greedy.parsed(3000)
	greedy.keep(-100)
	if greedy.full() || w.filling() || greedy.count.Load() != 0 || w.bytes.count.Load() != 900 {
		t.Error("kept after it is gone:", greedy.count.Load(), w.bytes.count.Load())
	}
	w.add(10)
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
		parser := system.Root.Spawn(parserProps(o, sink, sink, logrus.NewEntry(log)))
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
		greedy.keep(600 << 10)
		send(greedy, gatedBody)
		after(time.Second, 0, "half of the bytes are facts, and its lease has most of them")
		send(greedy, gatedBody-1)
		after(time.Second, 1, "a small page")
		send(modest, gatedBody)
		after(time.Second, 2, "a lease with little of them")
		modest.keep(500 << 10)
		stored()
		send(&account{window: w}, gatedBody)
		after(time.Second, 2, "all of the bytes are facts")
		greedy.keep(-600 << 10)
		after(time.Second, 4, "facts were stored")
		modest.keep(1 << 20)
		stored()
		send(modest, gatedBody)
		after(storedWithin-time.Millisecond, 4, "nothing was stored for a while")
		after(time.Second, 5, "nobody stores anything")
		if err := system.Root.PoisonFuture(parser).Wait(); err != nil {
			t.Error(err)
		}
	})
}

// What was stored is let go, although the array in which it waited is used on.
func TestWhatIsStoredIsLetGo(t *testing.T) {
	o := DefaultOptions()
	w := newWindow(&o)
	l := &lent{kept: &account{window: w}, made: map[uint64]*factMade{}, next: 1}
	s := &Slave{o: o, window: w, leases: map[uint64]*lent{1: l}}
	for order := range uint64(4) {
		s.keep(nil, &factMade{lease: 1, order: order + 1, fact: &messages.Fact{Visited: &messages.PageVisited{}}})
	}
	all := l.unstored
	s.forget(nil, &messages.Stored{Leases: []uint64{1}, Seqs: []uint64{3}})
	if len(l.unstored) != 1 || all[0] != nil || all[2] != nil || all[3] != l.unstored[0] {
		t.Error("facts are held that are stored:", all)
	}
}
