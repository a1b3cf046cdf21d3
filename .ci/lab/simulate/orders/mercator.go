package orders

import (
	"math"
	"math/rand/v2"
	"time"

	"henro/master/frontier"
)

// Mercator is the frontier of Heydon & Najork: k front queues by priority; back queues that hold URLs of one host each;
// a table from host to back queue; a heap of the moments at which a back queue may be asked again.
//
// A back queue that runs empty is given to another host when its rest is over, not when its last URL leaves: until then
// the table remembers the host, or a URL of it that comes from the front would go out within T by another back queue.
type Mercator[K any] struct {
	pool     pool[K]
	interval time.Duration // T
	bias     float64       // a front queue is bias times likelier chosen than the one behind it
	rnd      *rand.Rand

	fronts  []queue
	fronted int // URLs in the front queues
	backs   []back
	table   map[uint64]uint32 // host → its back queue
	idle    []uint32          // back queues without a host
	askable heap              // back queues that are not out, under the moment from which they may be asked
}

// back is a back queue: the URLs of one host.
type back struct {
	queue
	askAt time.Duration // not to be asked before
	host  uint64
	out   bool
}

// NewMercator makes an empty frontier.
func NewMercator[K any](o Options) *Mercator[K] {
	m := &Mercator[K]{
		interval: o.Interval, bias: o.FrontBias, rnd: rand.New(rand.NewPCG(o.Seed, 0)),
		fronts: make([]queue, o.FrontCount), backs: make([]back, o.BackCount), table: make(map[uint64]uint32),
	}
	for n := o.BackCount; n > 0; n-- {
		m.idle = append(m.idle, uint32(n-1))
	}
	return m
}

// Add implements Frontier; nothing is ever lost.
func (m *Mercator[K]) Add(item frontier.Item[K]) (lost frontier.Item[K], dropped bool) {
	front := int(item.Band) * len(m.fronts) / frontier.Bands
	m.pool.push(&m.fronts[min(front, len(m.fronts)-1)], m.pool.put(item))
	m.fronted++
	return lost, false
}

// choose returns a front queue that is not empty, the better ones likelier.
func (m *Mercator[K]) choose() *queue {
	weight := func(i int) float64 {
		if m.fronts[i].empty() {
			return 0
		}
		return math.Pow(m.bias, -float64(i))
	}
	var sum float64
	last := 0
	for i := range m.fronts {
		if w := weight(i); w > 0 {
			sum, last = sum+w, i
		}
	}
	x := m.rnd.Float64() * sum
	for i := range m.fronts {
		if x -= weight(i); x < 0 && !m.fronts[i].empty() {
			return &m.fronts[i]
		}
	}
	return &m.fronts[last]
}

// fill moves URLs from the front to the back queues until one needs a host without a back queue, which gets this one.
func (m *Mercator[K]) fill(n uint32) bool {
	for m.fronted > 0 {
		c := m.pool.pop(m.choose())
		m.fronted--
		host := m.pool.cells[c].item.Host
		if other, ok := m.table[host]; ok {
			m.pool.push(&m.backs[other].queue, c)
			continue
		}
		m.backs[n] = back{host: host}
		m.table[host] = n
		m.pool.push(&m.backs[n].queue, c)
		return true
	}
	return false
}

// Next implements Frontier.
func (m *Mercator[K]) Next(now time.Duration, limit int, batch []frontier.Item[K]) []frontier.Item[K] {
	for len(m.idle) > 0 && m.fronted > 0 {
		n := m.idle[len(m.idle)-1]
		if !m.fill(n) {
			break
		}
		m.idle = m.idle[:len(m.idle)-1]
		m.askable.push(0, n)
	}
	for limit > 0 && !m.askable.empty() && m.askable.least().key <= int64(now) {
		n := m.askable.pop()
		b := &m.backs[n]
		if b.empty() {
			m.refill(n)
			continue
		}
		batch = append(batch, m.leave(b))
		b.out = true
		b.askAt = now + m.interval
		limit--
	}
	return batch
}

// refill gives work to a back queue that is empty and rested: more of its own host if the front has it, else another
// host.
func (m *Mercator[K]) refill(n uint32) {
	delete(m.table, m.backs[n].host)
	if m.fill(n) {
		m.askable.push(0, n)
	} else {
		m.idle = append(m.idle, n)
	}
}

func (m *Mercator[K]) leave(b *back) frontier.Item[K] {
	item := m.pool.take(m.pool.pop(&b.queue))
	return item
}

// More implements Frontier.
func (m *Mercator[K]) More(host uint64, limit int, batch []frontier.Item[K]) []frontier.Item[K] {
	n, ok := m.table[host]
	if !ok || !m.backs[n].out {
		return batch
	}
	for b := &m.backs[n]; limit > 0 && !b.empty(); limit-- {
		batch = append(batch, m.leave(b))
	}
	return batch
}

// Done implements Frontier. Mercator's own rule is a rest of ten times what the visit took.
func (m *Mercator[K]) Done(host uint64, now, rest time.Duration) {
	n, ok := m.table[host]
	if !ok || !m.backs[n].out {
		return
	}
	b := &m.backs[n]
	b.out = false
	b.askAt = max(b.askAt, now+rest)
	m.askable.push(int64(b.askAt), n)
}

// Len implements Frontier.
func (m *Mercator[K]) Len() int { return m.pool.used }
