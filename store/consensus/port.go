package consensus

import (
	"context"
	"crypto/tls"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"sync"
	"sync/atomic"
	"time"

	"github.com/hashicorp/raft"
)

// Bounds of a port.
const (
	maxGreetings  = 64              // connections that have not said yet who they are, or are being answered
	greetingWait  = 5 * time.Second // how long that may take
	maxUnaccepted = 16              // connections that Raft has not taken
	maxStatus     = 64 << 10        // bytes of a Status
)

// What a connection is for, as its first byte says, within its TLS.
const (
	forRaft   = 1 // behind it stands the identity that the member is expected to have
	forStatus = 2
	forHTTP   = 3 // requests over HTTP that a member which follows passes on
)

// Security is who may connect.
type Security struct {
	// TLS is the configuration of cluster.Keys, which admits all nodes that have the key, slaves too. nil: no TLS, and
	// only loopback may be bound.
	TLS *tls.Config

	// Admits says which names in certificates are those of masters. Without TLS it is not asked.
	Admits func(name string) bool

	// Dial takes the place of TCP and TLS in simulated networks. nil: TCP is used.
	Dial func(ctx context.Context, address string) (net.Conn, error)
}

// dial connects to the port of another member, and says what for.
func (s Security) dial(ctx context.Context, from *net.Dialer, address string, purpose ...byte) (c net.Conn, err error) {
	switch {
	case s.Dial != nil:
		c, err = s.Dial(ctx, address)
	case s.TLS != nil:
		c, err = (&tls.Dialer{NetDialer: from, Config: s.TLS}).DialContext(ctx, "tcp", address)
	default:
		c, err = from.DialContext(ctx, "tcp", address)
	}
	if err != nil {
		return nil, err
	}
	if _, err := c.Write(purpose); err != nil {
		return nil, errors.Join(err, c.Close())
	}
	return c, nil
}

// port is where a member receives, and raft.StreamLayer.
type port struct {
	Security
	listener net.Listener
	status   func() Status
	isCalled func(identity) bool           // Group.isCalled
	known    func(address string) identity // identity of the member at an address; none: it is not known
	turns    chan struct{}                 // holds one for each greeting under way
	conns    chan net.Conn                 // for Raft
	visitors atomic.Pointer[visitors]
	ready    chan struct{} // closed when the functions may be called
	done     chan struct{}
	running  sync.WaitGroup
	closing  sync.Once
}

func newPort(l net.Listener, s Security, g *Group) *port {
	p := &port{Security: s, listener: l, status: g.Status, isCalled: g.own.isCalled, known: g.identityAt,
		turns: make(chan struct{}, maxGreetings),
		conns: make(chan net.Conn, maxUnaccepted), ready: make(chan struct{}), done: make(chan struct{})}
	p.running.Go(p.accept)
	return p
}

// Close ends all connections that Raft has not taken.
func (p *port) Close() (err error) {
	p.closing.Do(func() {
		close(p.done)
		err = p.listener.Close()
		p.running.Wait()
		for len(p.conns) > 0 {
			(<-p.conns).Close()
		}
	})
	return err
}

func (p *port) accept() {
	for {
		c, err := p.listener.Accept()
		if err != nil {
			select {
			case <-p.done:
				return
			case <-time.After(100 * time.Millisecond): // out of files
			}
			continue
		}
		select {
		case p.turns <- struct{}{}:
		default:
			c.Close()
			continue
		}
		p.running.Go(func() {
			defer func() { <-p.turns }()
			p.greet(c)
		})
	}
}

// greet finds out who calls and what for.
func (p *port) greet(c net.Conn) {
	ctx, cancel := context.WithTimeout(context.Background(), greetingWait)
	defer cancel()
	stop := context.AfterFunc(ctx, func() { c.Close() })
	purpose, c, err := p.purpose(ctx, c)
	select {
	case <-p.ready:
	case <-p.done:
		err = net.ErrClosed
	}
	if err == nil && purpose == forStatus {
		_ = json.NewEncoder(c).Encode(p.status()) // whoever asked is gone: the error has no receiver
	}
	if err == nil && purpose == forRaft {
		var expected identity
		if _, err = io.ReadFull(c, expected[:]); err == nil && !p.isCalled(expected) {
			err = errAnotherDisk
		}
	}
	v := p.visitors.Load()
	switch {
	case !stop() || err != nil:
	case purpose == forRaft:
		select {
		case p.conns <- c:
			return
		default:
		}
	case purpose == forHTTP && v != nil:
		select {
		case v.conns <- c:
			return
		case <-v.done:
		case <-ctx.Done():
		}
	}
	c.Close()
}

func (p *port) purpose(ctx context.Context, c net.Conn) (byte, net.Conn, error) {
	if p.TLS != nil {
		secured := tls.Server(c, p.TLS)
		if err := secured.HandshakeContext(ctx); err != nil {
			return 0, c, err
		}
		c = secured
		if name := secured.ConnectionState().PeerCertificates[0].Subject.CommonName; !p.Admits(name) {
			return 0, c, fmt.Errorf("%s is no master", name)
		}
	}
	var b [1]byte
	_, err := io.ReadFull(c, b[:])
	return b[0], c, err
}

// Accept implements raft.StreamLayer.
func (p *port) Accept() (net.Conn, error) {
	select {
	case c := <-p.conns:
		return c, nil
	case <-p.done:
		return nil, net.ErrClosed
	}
}

// Addr implements raft.StreamLayer.
func (p *port) Addr() net.Addr { return p.listener.Addr() }

// Dial implements raft.StreamLayer.
func (p *port) Dial(address raft.ServerAddress, timeout time.Duration) (net.Conn, error) {
	ctx, cancel := context.WithTimeout(context.Background(), timeout)
	defer cancel()
	from := &net.Dialer{} // from the address at which this member receives, so that others see who calls
	if own, ok := p.Addr().(*net.TCPAddr); ok && !own.IP.IsUnspecified() {
		from.LocalAddr = &net.TCPAddr{IP: own.IP}
	}
	select {
	case <-p.ready:
	case <-p.done:
		return nil, net.ErrClosed
	}
	expected := p.known(string(address))
	return p.dial(ctx, from, string(address), append([]byte{forRaft}, expected[:]...)...)
}

// Ask asks the member at an address how it stands.
func (s Security) Ask(ctx context.Context, address string) (answer Status, err error) {
	ctx, cancel := context.WithTimeout(ctx, greetingWait)
	defer cancel()
	c, err := s.dial(ctx, &net.Dialer{}, address, forStatus)
	if err == nil {
		stop := context.AfterFunc(ctx, func() { c.Close() })
		defer stop()
		defer c.Close()
		err = json.NewDecoder(io.LimitReader(c, maxStatus)).Decode(&answer)
	}
	if err != nil {
		return answer, fmt.Errorf("ask the master at %s: %w", address, err)
	}
	return answer, nil
}
