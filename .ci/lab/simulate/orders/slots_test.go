package orders

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"
	"time"

	"henro/master/frontier"
)

// small are options at which everything happens: collisions and drops.
func smallSlots() Options {
	o := DefaultOptions()
	o.Policy, o.Interval, o.SlotsB, o.SlotsH = PolicySlots, time.Second, 16, 12
	return o
}

// paper is algorithms 2 and 3 as they are printed: B queues and the array N.
type paper struct {
	q    [][]frontier.Item[uint64]
	n    []int
	t    int
	b, h int
}

func newPaper(b, h int) *paper {
	p := &paper{q: make([][]frontier.Item[uint64], b), n: make([]int, h), b: b, h: h}
	for r := range p.n {
		p.n[r] = r & 1
	}
	return p
}

func (p *paper) enqueue(c frontier.Item[uint64]) bool {
	r := int(c.Host) % p.h
	if p.n[r] >= p.t+p.b {
		return false
	}
	if p.n[r] <= p.t {
		p.n[r] = p.t + 1 + ((p.t & 1) ^ (p.n[r] & 1))
	}
	i := p.n[r] % p.b
	p.q[i] = append(p.q[i], c)
	p.n[r] += 2
	return true
}

func (p *paper) next() []frontier.Item[uint64] {
	p.t++
	i := p.t % p.b
	u := p.q[i]
	p.q[i] = nil
	return u
}

// Slots drops what the paper's algorithm drops and hands out at each step what it hands out.
func TestSlotsIsThePapersAlgorithm(t *testing.T) {
	rnd := rand.New(rand.NewPCG(3, 0))
	for _, size := range [][2]int{{2, 2}, {4, 2}, {8, 6}, {10, 64}, {64, 10}} {
		t.Run(fmt.Sprintf("B=%d,H=%d", size[0], size[1]), func(t *testing.T) {
			o := smallSlots()
			o.SlotsB, o.SlotsH = size[0], size[1]
			s, p := NewSlots[uint64](o), newPaper(size[0], size[1])
			var now time.Duration
			for key := range uint64(30_000) {
				item := frontier.Item[uint64]{Key: key, Host: uint64(rnd.ExpFloat64() * float64(size[1]))}
				_, dropped := s.Add(item)
				if taken := p.enqueue(item); taken == dropped {
					t.Fatalf("URL %d: the paper takes it: %v, slots: %v", key, taken, !dropped)
				}
				if rnd.IntN(size[1]+2) > 1 {
					continue
				}
				now += o.Interval
				got := s.Next(now, size[1], nil)
				for _, item := range got {
					s.Done(item.Host, now, 0)
				}
				want := p.next()
				byKey := func(a, b frontier.Item[uint64]) int { return int(a.Key) - int(b.Key) }
				slices.SortFunc(got, byKey)
				slices.SortFunc(want, byKey)
				if !slices.Equal(got, want) {
					t.Fatalf("step %d: %v, the paper %v", p.t, got, want)
				}
			}
		})
	}
}

// Bounded: whatever is discovered, the rings of a residue, those it gave back among them, have room for less than twice
// the next power of two from B/2 on.
func TestSlotsStayBounded(t *testing.T) {
	o := smallSlots()
	o.SlotsB, o.SlotsH, o.Interval = 100, 30, 0
	s := NewSlots[uint64](o)
	rnd := rand.New(rand.NewPCG(2, 0))
	peak := 0
	for key := range uint64(1_000_000) {
		s.Add(frontier.Item[uint64]{Key: key, Host: rnd.Uint64()})
		peak = max(peak, s.Len())
		if key%100 == 0 {
			for _, item := range s.Next(0, o.SlotsH, nil) {
				s.Done(item.Host, 0, 0)
			}
		}
	}
	places := 0
	for r := range s.lines {
		places += cap(s.lines[r].ring)
	}
	for _, rings := range s.spare {
		for _, ring := range rings {
			places += len(ring)
		}
	}
	if most := 2 * 64 * o.SlotsH; places > most || peak > o.SlotsB*o.SlotsH/2 {
		t.Errorf("%d places instead of at most %d, %d URLs at once", places, most, peak)
	}
}
