package master

import (
	"sync"
	"time"

	"github.com/asynkron/protoactor-go/actor"

	"henro/actors/floor"
)

// line is where hosts wait to be lent: those that are ready, in the order of the frontier if there is one, and under
// the clocks of their addresses once these have been looked up.
type line struct {
	*readyHosts
	order  *order // nil: the host that has been ready longest comes first
	lookup Lookup // nil: no clock is of an address
	naming map[string]*naming
	names  chan struct{} // lookups under way
	flying sync.WaitGroup
}

// naming is a host whose addresses are being looked up.
type naming struct {
	at time.Time // from which it is ready
}

// named brings the Master the clocks of a host that is ready.
type named struct {
	host string
	keys []string
}

func newLine(o *Options, c *clocks) *line {
	l := &line{readyHosts: newReadyHosts(), naming: map[string]*naming{}, names: make(chan struct{}, namesAtOnce)}
	l.clocks = c
	if o.Unit == UnitIP {
		l.lookup = o.Lookup
	}
	return l
}

// announce takes in a host that may be lent from a moment on: at once, or when its addresses are known. The
// resolver remembers names as long as they hold, so it is asked each time.
func (l *line) announce(ctx actor.Context, host string, at time.Time) {
	if l.lookup == nil {
		l.enter(host, at)
		return
	}
	if n := l.naming[host]; n != nil {
		n.at = at
		return
	}
	l.naming[host] = &naming{at: at}
	root, self, c, lookup, slots := ctx.ActorSystem().Root, ctx.Self(), l.clocks, l.lookup, l.names
	l.flying.Go(func() {
		defer floor.Guard(root.ActorSystem(), "the search for addresses")
		slots <- struct{}{}
		defer func() { <-slots }()
		root.Send(self, &named{host, c.keysAnew(lookup, host)})
	})
}

// identify lets a host be ready under the clocks of its addresses.
func (l *line) identify(msg *named) {
	n := l.naming[msg.host]
	delete(l.naming, msg.host)
	l.clocks.know(msg.host, msg.keys)
	if l.order != nil {
		l.order.identify(msg.host, msg.keys)
	}
	l.enter(msg.host, n.at)
}

func (l *line) enter(host string, at time.Time) {
	if l.order != nil {
		l.order.announce(host, at, l.readyHosts)
	} else {
		l.put(host, at)
	}
}

// may reports whether a host may be there that can be lent by a moment. It is asked with each message of a slave,
// before any slave is looked at.
func (l *line) may(by time.Time) bool {
	at, ok := l.next()
	return l.order != nil || ok && !at.After(by)
}

// grant lets the frontier hand out more; false means that it has nothing now.
func (l *line) grant(now time.Time) bool { return l.order != nil && l.order.grant(now, l.readyHosts) }

// lend says how many visits a host is lent for by the frontier, given a limit of others; 0 is none.
func (l *line) lend(host string, limit int) int {
	if l.order == nil {
		return 0
	}
	return l.order.lend(host, limit)
}

// close takes back a host whose lease has ended, or never began. It may be asked again at nextAt, and others of its
// clocks at othersAt.
func (l *line) close(host string, nextAt, othersAt time.Time) error {
	l.giveBack(host, othersAt)
	if l.order == nil {
		return nil
	}
	return l.order.closed(host, time.Now(), nextAt)
}
