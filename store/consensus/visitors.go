package consensus

import (
	"context"
	"errors"
	"net"
	"sync"
	"time"

	"github.com/hashicorp/raft"
)

// ErrNoLeader is returned where a member is asked for the one that leads, and knows none.
var ErrNoLeader = errors.New("no master leads: henro nodes says which are missing; more than half of those with " +
	"a vote must be there")

// ErrLeadLost is returned where the member that led was asked, and did not answer before another one led, or none.
var ErrLeadLost = errors.New("the master that led does not answer, and leads no more: what was asked for may have " +
	"been done or not; ask again in a few seconds")

// visitors is a listener for requests over HTTP that other members pass on.
type visitors struct {
	port    *port
	conns   chan net.Conn
	done    chan struct{}
	closing sync.Once
}

// Visitors listens for requests over HTTP that members which follow pass on (DialLeader). There is one such listener at
// a time; while there is none, the requests are refused.
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
	p := &passage{all: &g.passages, to: address}
	p.led, p.end = context.WithCancelCause(context.Background())
	g.passages.Lock()
	g.passages.open[p] = struct{}{}
	g.passages.Unlock()
	ctx, stop := context.WithCancel(ctx)
	defer stop()
	defer context.AfterFunc(p.led, stop)()
	if now, _ := g.raft.LeaderWithID(); now != address {
		p.end(ErrLeadLost)
	}
	c, err := g.port.dial(ctx, &net.Dialer{}, string(address), forHTTP)
	if err != nil {
		p.forget()
		return nil, p.why(err)
	}
	g.passages.Lock()
	p.Conn = c
	g.passages.Unlock()
	context.AfterFunc(p.led, func() { c.Close() })
	return p, nil
}

// passages are those of this member that are open.
type passages struct {
	sync.Mutex
	open map[*passage]struct{}
}

// passage is a connection to the member that leads, or one that is being made.
type passage struct {
	net.Conn // nil: it is being made
	all      *passages
	to       raft.ServerAddress
	led      context.Context // over when the connection is
	end      context.CancelCauseFunc
}

// Read implements net.Conn.
func (p *passage) Read(b []byte) (int, error) {
	n, err := p.Conn.Read(b)
	return n, p.why(err)
}

// Close implements net.Conn.
func (p *passage) Close() error {
	p.forget()
	return p.Conn.Close()
}

func (p *passage) forget() {
	p.all.Lock()
	delete(p.all.open, p)
	p.all.Unlock()
	p.end(nil)
}

// why is ErrLeadLost for a connection that was cut for that, in the place of the network's error.
func (p *passage) why(err error) error {
	if err != nil && errors.Is(context.Cause(p.led), ErrLeadLost) {
		return ErrLeadLost
	}
	return err
}

// cut ends the connections to members other than the one that leads now. One that has handed the lead over has
// a while to finish its answers. One that has fallen silent, frozen or without power, would not answer and not close
// its connections. The first member looks for another leader after a timeout of silence; with five members the others
// may have heard of the old one a little later, as it speaks each tenth to fifth of a timeout: so three quarters are
// taken.
func (all *passages) cut(leads raft.ServerAddress, silent bool, grace time.Duration) {
	all.Lock()
	defer all.Unlock()
	for p := range all.open {
		switch {
		case p.to == leads:
		case silent || p.Conn == nil:
			p.end(ErrLeadLost)
		default:
			time.AfterFunc(grace, func() { p.end(ErrLeadLost) })
		}
	}
}
