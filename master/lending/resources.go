package lending

import (
	"time"

	"henro/actors/protocol"
)

// resources are S and C of equation (9), counted as hosts and slaves come and go. The Hosts, and so the leases, go by
// the figures that were sent last.
type resources struct {
	sent   *protocol.ResourcesChanged // nil: nothing yet
	sentAt time.Time
	peak   int // largest S counted since then
}

const (
	// resourcesEvery bounds how often all Hosts get a new S. A change of no more than a tenth waits for resourcesLate,
	// and then the largest S counted meanwhile is sent: for a moment between two leases a host is not counted.
	resourcesEvery = time.Second
	resourcesLate  = time.Minute
	// SoonReady is how far ahead a host may be ready to be counted as one that is asked now: longer than the longest
	// Crawl-delay that is obeyed by default, shorter than the rests of hosts that keep failing.
	SoonReady = 10 * time.Minute
)

// update returns the figures if they have changed and are to be sent: a new C at once, a new S as often as
// resourcesEvery and resourcesLate let it.
func (r *resources) update(servers, connections int, now time.Time) *protocol.ResourcesChanged {
	r.peak = max(r.peak, servers)
	if last := r.sent; last != nil && last.Connections == connections {
		change, wait := max(servers-last.Servers, last.Servers-servers), resourcesEvery
		if 10*change <= last.Servers {
			servers, wait = r.peak, resourcesLate
		}
		if now.Sub(r.sentAt) < wait {
			return nil
		}
		if servers == last.Servers {
			r.sentAt, r.peak = now, 0
			return nil
		}
	}
	r.sent, r.sentAt, r.peak = &protocol.ResourcesChanged{Servers: servers, Connections: connections}, now, 0
	return r.sent
}

// countResources counts the hosts that are lent or soon ready, and the connections of all slaves.
func (d *Desk) countResources() {
	d.slaves.changed = false
	connections, _ := d.slaves.connections()
	servers := d.base.ledger.OpenCount() + d.queue.before(d.base.now.Add(SoonReady))
	for _, n := range d.beside { // (9) counts each as a host of its own
		servers += min(n, connections-1)
	}
	if changed := d.resources.update(servers, connections, d.base.now); changed != nil {
		d.base.send(Hosts, changed)
	}
}
