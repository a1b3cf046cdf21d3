// Package frontiertest holds frontiers to the invariants of package frontier, and plays their golden scripts.
package frontiertest

import (
	"flag"
	"math/rand/v2"
	"slices"
	"testing"
	"time"

	"henro/master/frontier"
)

var seed = flag.Uint64("seed", 0, "seed of the random tests, 0 for the fixed one of each")

// Subject is a policy under test.
type Subject struct {
	New   func(frontier.Options) (frontier.Frontier[uint64], error)
	Unit  func(host uint64) uint64 // of hosts that must rest together; nil: each host is one
	Bound bool                     // no more than B·H/2 wait
}

// Small are options at which everything happens: collisions and drops.
func Small() frontier.Options {
	return frontier.Options{Policy: frontier.PolicyRanked, Interval: time.Second, SlotsB: 16, SlotsH: 12}
}

// crawl drives one frontier with random operations and keeps the invariants of package frontier beside it.
type crawl struct {
	t        *testing.T
	s        Subject
	f        frontier.Frontier[uint64]
	o        frontier.Options
	rnd      *rand.Rand
	now      time.Duration
	waiting  map[uint64]frontier.Item[uint64] // added, neither handed out nor lost
	out      map[uint64]time.Duration         // unit of politeness → when it was handed out
	askAt    map[uint64]time.Duration         // unit → moment before which it may not be asked
	outHosts []uint64
	keys     uint64
	lost     int64
}

func newCrawl(t *testing.T, subject Subject, fallback uint64) *crawl {
	t.Helper()
	o := Small()
	f, err := subject.New(o)
	if err != nil {
		t.Fatal(err)
	}
	s := fallback
	if *seed != 0 {
		s = *seed
	}
	t.Logf("-seed %d", s)
	return &crawl{t: t, s: subject, f: f, o: o, rnd: rand.New(rand.NewPCG(s, 1)),
		waiting: map[uint64]frontier.Item[uint64]{}, out: map[uint64]time.Duration{}, askAt: map[uint64]time.Duration{}}
}

// unit is what must rest: the host, or its residue.
func (c *crawl) unit(host uint64) uint64 {
	if c.s.Unit != nil {
		return c.s.Unit(host)
	}
	return host
}

func (c *crawl) add() {
	if r, ok := c.f.(*frontier.Ranked[uint64]); ok && c.keys > 0 && c.rnd.IntN(2) == 0 {
		key, band := uint64(c.rnd.Int64N(int64(c.keys)))+1, uint8(c.rnd.IntN(frontier.Bands))
		if waits, ok := c.waiting[key]; ok {
			r.Raise(key, band)
			waits.Band = min(waits.Band, band)
			c.waiting[key] = waits
		}
	}
	c.keys++
	host := uint64(c.rnd.ExpFloat64() * 6)
	item := frontier.Item[uint64]{Key: c.keys, Host: host, Band: uint8(c.rnd.IntN(frontier.Bands))}
	c.waiting[item.Key] = item
	if l, ok := c.f.(interface{ Linked(from, to uint64) }); ok && c.rnd.IntN(4) == 0 {
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

func (c *crawl) leave(item frontier.Item[uint64]) {
	if c.waiting[item.Key] != item {
		c.t.Fatalf("handed out %v, which did not wait (any more)", item)
	}
	delete(c.waiting, item.Key)
}

func (c *crawl) next(limit int) int {
	batch := c.f.Next(c.now, limit, nil)
	if len(batch) > limit {
		c.t.Fatalf("%d URLs instead of at most %d", len(batch), limit)
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
	if most := c.o.SlotsB * c.o.SlotsH / 2; c.s.Bound && c.f.Len() > most {
		c.t.Fatalf("bounded: %d wait, more than B·H/2 = %d", c.f.Len(), most)
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
		c.now += c.o.Interval / 10
		if c.next(1000) > 0 {
			idle = 0
		}
		if idle > 1000 {
			c.t.Fatalf("%d wait and 1000 turns gave nothing", c.f.Len())
		}
	}
	c.check()
}

// Conform demands the invariants of package frontier over so many random operations.
func Conform(t *testing.T, subject Subject, operations int) {
	t.Helper()
	c := newCrawl(t, subject, 42)
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
	if c.s.Bound != (c.lost > 0) {
		t.Errorf("%d URLs were lost", c.lost)
	}
}

// Restores demands that a frontier rebuilt from the waiting URLs of another loses none of them.
func Restores(t *testing.T, subject Subject) {
	t.Helper()
	c := newCrawl(t, subject, 7)
	for range 60 {
		for range 200 {
			c.step(60)
		}
		var items []frontier.Item[uint64]
		for _, item := range c.waiting {
			items = append(items, item)
		}
		slices.SortFunc(items, func(a, b frontier.Item[uint64]) int { return int(a.Key) - int(b.Key) })
		again, err := subject.New(c.o)
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
}
