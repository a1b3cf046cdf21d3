package master

import (
	"sync/atomic"
	"time"

	"github.com/asynkron/protoactor-go/actor"

	"henro/actors/protocol"
	"henro/master/forecast"
)

// resources are S and C of equation (9), counted as hosts and slaves come and go. The Hosts, and with them the leases,
// and what a Node reports go by what was sent last.
type resources struct {
	seen   *seenResources
	sentAt time.Time
	peak   int // the most servers counted since then
}

// seenResources are those that a Node sees.
type seenResources struct {
	sent atomic.Pointer[protocol.ResourcesChanged] // nil inside: nothing yet
	// the latest, written by the Node; nil inside: nothing yet
	forecast atomic.Pointer[forecast.Forecast]
	whole    atomic.Pointer[Wholeness]
	most     atomic.Int64 // the largest C since the start
}

const (
	// resourcesEvery bounds how often all Hosts get a new S. A change of no more than a tenth waits for resourcesLate,
	// and then the most that were counted meanwhile are sent: a host between two leases is not counted for a moment.
	resourcesEvery = time.Second
	resourcesLate  = time.Minute
	// soonReady is how far ahead a host may be ready to be counted as one that is asked now: longer than the longest
	// Crawl-delay that is obeyed by default, shorter than the rests of hosts that keep failing.
	soonReady = 10 * time.Minute
)

// update sends figures that have changed: C at once, S as often as resourcesEvery and resourcesLate let it.
func (r *resources) update(ctx actor.Context, hosts *actor.PID, servers, connections int, now time.Time) {
	r.peak = max(r.peak, servers)
	if last := r.seen.sent.Load(); last != nil && last.Connections == connections {
		change, wait := max(servers-last.Servers, last.Servers-servers), resourcesEvery
		if 10*change <= last.Servers {
			servers, wait = r.peak, resourcesLate
		}
		if now.Sub(r.sentAt) < wait {
			return
		}
		if servers == last.Servers {
			r.sentAt, r.peak = now, 0
			return
		}
	}
	changed := &protocol.ResourcesChanged{Servers: servers, Connections: connections}
	r.seen.sent.Store(changed)
	r.seen.most.Store(max(r.seen.most.Load(), int64(connections)))
	r.sentAt, r.peak = now, 0
	ctx.Send(hosts, changed)
}

// countResources counts the hosts that are lent or wait for their turn, and the connections of all slaves.
func (l *lending) countResources(ctx actor.Context) {
	now := time.Now()
	connections, _ := l.slaves.connections()
	l.resources.update(ctx, l.hosts, l.ledger.OpenCount()+l.ready.before(now.Add(soonReady)), connections, now)
}
