package frontier

import (
	"flag"
	"math/rand/v2"
	"slices"
	"testing"
	"time"
)

var seed = flag.Uint64("seed", 0, "seed of the random tests, 0 for the fixed one of each")

// small returns options at which everything happens: collisions, drops, put-aside rounds, back queues changing hosts.
func small(p Policy) Options {
	o := DefaultOptions()
	o.Policy, o.Interval = p, time.Second
	o.SlotsB, o.SlotsH = 16, 12
	o.BackCount, o.QueueCount, o.BudgetLeast, o.BudgetMost = 5, 3, 2, 20
	return o
}

// crawl drives one frontier with random operations and keeps the invariants of the package comment beside it.
type crawl struct {
	t        *testing.T
	f        Frontier[uint64]
	o        Options
	rnd      *rand.Rand
	now      time.Duration
	waiting  map[uint64]Item[uint64]  // added, neither handed out nor lost
	out      map[uint64]time.Duration // unit of politeness → when it was handed out
	askAt    map[uint64]time.Duration // unit → moment before which it may not be asked
	outHosts []uint64
	keys     uint64
	lost     int64
}

func newCrawl(t *testing.T, o Options, fallback uint64) *crawl {
	f, err := New[uint64](o)
	if err != nil {
		t.Fatal(err)
	}
	s := fallback
	if *seed != 0 {
		s = *seed
	}
	t.Logf("-seed %d", s)
	return &crawl{t: t, f: f, o: o, rnd: rand.New(rand.NewPCG(s, 1)), waiting: map[uint64]Item[uint64]{},
		out: map[uint64]time.Duration{}, askAt: map[uint64]time.Duration{}}
}

// unit is what must rest: the host, or its residue.
func (c *crawl) unit(host uint64) uint64 {
	if c.o.Policy == PolicySlots {
		return host % uint64(c.o.SlotsH)
	}
	return host
}

func (c *crawl) add() {
	if r, ok := c.f.(Raiser[uint64]); ok && c.keys > 0 && c.rnd.IntN(2) == 0 {
		key, band := uint64(c.rnd.Int64N(int64(c.keys)))+1, uint8(c.rnd.IntN(Bands))
		if waits, ok := c.waiting[key]; ok {
			r.Raise(key, band)
			waits.Band = min(waits.Band, band)
			c.waiting[key] = waits
		}
	}
	c.keys++
	host := uint64(c.rnd.ExpFloat64() * 6)
	item := Item[uint64]{Key: c.keys, Host: host, Band: uint8(c.rnd.IntN(Bands))}
	c.waiting[item.Key] = item
	if l, ok := c.f.(Linked); ok && c.rnd.IntN(4) == 0 {
		l.Linked(uint64(c.rnd.IntN(20)), host)
	}
	if lost, dropped := c.f.Add(item); dropped {
		if c.waiting[lost.Key] != lost {
			c.t.Fatalf("lost %v, which did not wait", lost)
		}
		delete(c.waiting, lost.Key)
		c.lost++
	}
}

func (c *crawl) leave(item Item[uint64]) {
	if c.waiting[item.Key] != item {
		c.t.Fatalf("handed out %v, which did not wait (any more)", item)
	}
	delete(c.waiting, item.Key)
}

func (c *crawl) next(limit int) int {
	at, ok := c.f.NextAt()
	batch := c.f.Next(c.now, limit, nil)
	if len(batch) > limit {
		c.t.Fatalf("%d URLs instead of at most %d", len(batch), limit)
	}
	if len(batch) > 0 && (!ok || at > c.now) {
		c.t.Fatalf("NextAt said %v %v, but at %v there were URLs", at, ok, c.now)
	}
	for _, item := range batch {
		c.leave(item)
		u := c.unit(item.Host)
		if since, out := c.out[u]; out {
			c.t.Fatalf("one at a time: %d handed out at %v while out since %v", u, c.now, since)
		}
		if c.now < c.askAt[u] {
			c.t.Fatalf("interval: %d handed out at %v, not before %v", u, c.now, c.askAt[u])
		}
		c.out[u], c.askAt[u] = c.now, c.now+c.o.Interval
		c.outHosts = append(c.outHosts, item.Host)
	}
	return len(batch)
}

func (c *crawl) done() {
	if len(c.outHosts) == 0 {
		return
	}
	i := c.rnd.IntN(len(c.outHosts))
	host := c.outHosts[i]
	c.outHosts = slices.Delete(c.outHosts, i, i+1)
	rest := time.Duration(0)
	if c.rnd.IntN(4) == 0 { // as the holder of a lease
		for _, item := range c.f.More(host, c.rnd.IntN(3), nil) {
			if item.Host != host {
				c.t.Fatalf("more of %d gave %v", host, item)
			}
			c.leave(item)
			rest = c.o.Interval
		}
	}
	if c.rnd.IntN(8) == 0 {
		rest = time.Duration(c.rnd.ExpFloat64() * float64(3*time.Second))
	}
	u := c.unit(host)
	delete(c.out, u)
	c.askAt[u] = max(c.askAt[u], c.now+rest)
	c.f.Done(host, c.now, rest)
}

func (c *crawl) step(adds int) {
	switch k := c.rnd.IntN(100); {
	case k < adds:
		c.add()
	case k < 70:
		c.now += time.Duration(c.rnd.ExpFloat64() * float64(150*time.Millisecond))
		c.next(1 + c.rnd.IntN(8))
	default:
		c.done()
	}
}

func (c *crawl) check() {
	if c.f.Len() != len(c.waiting) {
		c.t.Fatalf("%d wait, not %d", c.f.Len(), len(c.waiting))
	}
	s := c.f.Stats()
	if s.AddedCount != int64(c.keys) || s.DroppedCount != c.lost ||
		s.HandedCount != int64(c.keys)-c.lost-int64(len(c.waiting)) || s.Waiting != len(c.waiting) {
		c.t.Fatalf("counters %+v after %d added, %d lost, %d waiting", s, c.keys, c.lost, len(c.waiting))
	}
	if s.GapCount > 0 && (s.GapLeast < c.o.Interval || s.GapMean() < s.GapLeast) {
		c.t.Fatalf("intervals of at least %v, %v in the mean, with T = %v", s.GapLeast, s.GapMean(), c.o.Interval)
	}
	if p := c.o.Policy; (p == PolicySlots || p == PolicyRanked) && s.Peak > c.o.SlotsB*c.o.SlotsH/2 {
		c.t.Fatalf("bounded: %d waited at once, more than B·H/2", s.Peak)
	}
}

// drain hands out the rest, in the time that takes.
func (c *crawl) drain() {
	for idle := 0; c.f.Len() > 0; idle++ {
		for len(c.outHosts) > 0 {
			c.done()
		}
		if c.f.Len() == 0 {
			break // the holders of the leases took the rest
		}
		at, ok := c.f.NextAt()
		if !ok {
			c.t.Fatalf("%d wait, no host is out, and nothing can come", c.f.Len())
		}
		c.now = max(c.now, at)
		if c.next(1000) > 0 {
			idle = 0
		}
		if idle > 1000 {
			c.t.Fatalf("%d wait and 1000 turns gave nothing", c.f.Len())
		}
	}
	c.check()
}

// The invariants of the package comment over a million random operations of mercator and of slots, whose guarantees are
// the least obvious, and a quarter of that of the others.
func TestConformance(t *testing.T) {
	for _, p := range Policies() {
		t.Run(string(p), func(t *testing.T) {
			t.Parallel()
			c := newCrawl(t, small(p), 42)
			operations := 250_000
			if p == PolicyMercator || p == PolicySlots {
				operations = 1_000_000
			}
			for i := range operations {
				adds := 20 // drains slowly
				if i/1000%2 == 0 {
					adds = 50
				}
				c.step(adds)
				if i%1000 == 0 {
					c.check()
				}
			}
			c.drain()
		})
	}
}

// A frontier rebuilt from the waiting URLs of another loses none of them.
func TestRestoreLosesNothing(t *testing.T) {
	for _, p := range Policies() {
		t.Run(string(p), func(t *testing.T) {
			c := newCrawl(t, small(p), 7)
			for range 60 {
				for range 200 {
					c.step(60)
				}
				var items []Item[uint64]
				for _, item := range c.waiting {
					items = append(items, item)
				}
				slices.SortFunc(items, func(a, b Item[uint64]) int { return int(a.Key) - int(b.Key) })
				again, err := New[uint64](c.o)
				if err != nil {
					t.Fatal(err)
				}
				for _, item := range items {
					if lost, dropped := again.Add(item); dropped {
						t.Fatalf("%v found no room again", lost)
					}
				}
				if again.Len() != c.f.Len() {
					t.Fatalf("%d wait after the restart, %d before", again.Len(), c.f.Len())
				}
			}
		})
	}
}

func TestOptionsAreChecked(t *testing.T) {
	for name, spoil := range map[string]func(*Options){
		"unknown policy":      func(o *Options) { o.Policy = "lifo" },
		"negative interval":   func(o *Options) { o.Interval = -1 },
		"odd B":               func(o *Options) { o.SlotsB = 3 },
		"odd H":               func(o *Options) { o.SlotsH = 3 },
		"no front queues":     func(o *Options) { o.FrontCount = 0 },
		"bias to the worse":   func(o *Options) { o.FrontBias = 0.5 },
		"no back queues":      func(o *Options) { o.BackCount = 0 },
		"no queues":           func(o *Options) { o.QueueCount = 0 },
		"no budget":           func(o *Options) { o.BudgetLeast = 0 },
		"budget range is not": func(o *Options) { o.BudgetMost = o.BudgetLeast - 1 },
	} {
		t.Run(name, func(t *testing.T) {
			o := DefaultOptions()
			spoil(&o)
			if _, err := New[uint64](o); err == nil {
				t.Errorf("%+v were accepted", o)
			}
		})
	}
}
