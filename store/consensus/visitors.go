package consensus

import (
	"context"
	"errors"
	"net"
	"sync"
	"time"
)

// ErrNoLeader is returned where a member is asked for the one that leads, and knows none.
var ErrNoLeader = errors.New("no master leads: henro masters says which are missing; more than half of those with " +
	"a vote must be there")

// grace is how long connections to a member that leads no more are kept: an answer to what moved the lead may be under
// way.
const grace = 3 * time.Second

// visitors is a listener for requests of people that other members pass on.
type visitors struct {
	port    *port
	conns   chan net.Conn
	done    chan struct{}
	closing sync.Once
}

// Visitors listens for requests over HTTP that members which follow pass on (DialLeader). There is one such listener at
// a time; while there is none, they are refused.
func (g *Group) Visitors() net.Listener {
	v := &visitors{port: g.port, conns: make(chan net.Conn), done: make(chan struct{})}
	g.port.visitors.Store(v)
	return v
}

// Accept implements net.Listener.
func (v *visitors) Accept() (net.Conn, error) {
	select {
	case c := <-v.conns:
		return c, nil
	case <-v.done:
		return nil, net.ErrClosed
	}
}

// Close implements net.Listener.
func (v *visitors) Close() error {
	v.closing.Do(func() {
		v.port.visitors.CompareAndSwap(v, nil)
		close(v.done)
	})
	return nil
}

// Addr implements net.Listener.
func (v *visitors) Addr() net.Addr { return v.port.Addr() }

// DialLeader connects to the member that leads, for HTTP. The connection ends when another one leads, or none.
func (g *Group) DialLeader(ctx context.Context) (net.Conn, error) {
	address, _ := g.raft.LeaderWithID()
	if address == "" {
		return nil, ErrNoLeader
	}
	c, err := g.port.dial(ctx, &net.Dialer{}, string(address), forHTTP)
	if err != nil {
		return nil, err
	}
	p := &passage{Conn: c, group: g}
	g.passing.Lock()
	g.passages[p] = struct{}{}
	g.passing.Unlock()
	if now, _ := g.raft.LeaderWithID(); now != address {
		return nil, errors.Join(ErrNoLeader, p.Close())
	}
	return p, nil
}

// passage is a connection to the member that leads.
type passage struct {
	net.Conn
	group *Group
}

// Close implements net.Conn.
func (p *passage) Close() error {
	p.group.passing.Lock()
	delete(p.group.passages, p)
	p.group.passing.Unlock()
	return p.Conn.Close()
}

// cutPassages ends the connections to the member that led, after a while. A machine without power says no farewell:
// what is read from it would be waited for.
func (g *Group) cutPassages() {
	g.passing.Lock()
	defer g.passing.Unlock()
	for p := range g.passages {
		time.AfterFunc(grace, func() { _ = p.Close() }) // whoever reads from it closes it again
	}
}
