package slave

import (
	"slices"
	"sync"
	"time"
)

// gate lends the connections of a slave to its leases, one for each request under way (C of equation 9). A lease whose
// host rests holds none. When all are taken, leases wait in the order in which their hosts might be asked.
//
// Invariants:
//   - no more than the connections are held;
//   - while one is free no lease waits.
//
// Memory that actors share: Fetchers take a connection and wait for it in their mailboxes; the goroutine of a request
// gives it back.
type gate struct {
	mu sync.Mutex
	usage
	free  int
	queue []*place // of those that wait: by due, then as they came
}

// usage is how a gate is used.
type usage struct {
	busy     time.Duration // Σ e: for how long connections were held that were given back
	underWay int           // connections that are held
	waiting  int           // leases that wait for one
	resting  int           // leases whose hosts rest
}

// standing is how a lease stands at the gate.
type standing uint8

const (
	away  standing = iota // it wants no connection: its pages are being parsed, say
	rests                 // its host rests
	waits                 // for a connection
	holds                 // a connection
)

// place is that of one lease at the gate.
type place struct {
	gate   *gate
	called func() // it holds a connection for which it had to wait

	// under the lock of the gate
	standing standing
	due      time.Time // from when on its host might be asked
	since    time.Time // it holds a connection
}

// take asks for a connection for a host that might be asked from a moment on. If none is free called follows later;
// until then nothing is held. Asking again changes nothing.
func (p *place) take(due time.Time) (held bool) {
	g := p.gate
	g.mu.Lock()
	defer g.mu.Unlock()
	if p.standing < waits {
		p.due = due
		p.step(waits)
		if g.free > 0 {
			p.step(holds)
		}
	}
	return p.standing == holds
}

// move gives up what the lease holds or waits for; its host rests, or it is away.
func (p *place) move(to standing) {
	g := p.gate
	g.mu.Lock()
	p.step(to)
	var next *place
	if g.free > 0 && len(g.queue) > 0 {
		next = g.queue[0]
		next.step(holds)
	}
	g.mu.Unlock()
	if next != nil {
		next.called()
	}
}

func (p *place) step(to standing) {
	g := p.gate
	switch p.standing {
	case rests:
		g.resting--
	case waits:
		g.queue = slices.DeleteFunc(g.queue, func(other *place) bool { return other == p })
	case holds:
		g.free, g.underWay, g.busy = g.free+1, g.underWay-1, g.busy+time.Since(p.since)
	}
	switch p.standing = to; to {
	case rests:
		g.resting++
	case waits: // most often behind all others, since who asks has just become due
		at := len(g.queue)
		for at > 0 && g.queue[at-1].due.After(p.due) {
			at--
		}
		g.queue = slices.Insert(g.queue, at, p)
	case holds:
		g.free, g.underWay, p.since = g.free-1, g.underWay+1, time.Now()
	}
	g.waiting = len(g.queue)
}

func (g *gate) use() usage {
	g.mu.Lock()
	defer g.mu.Unlock()
	return g.usage
}
