package crowdsim

import (
	"context"
	"net"
	"sync"
	"time"
)

// network connects masters by pipes, on which each message takes a while.
type network struct {
	latency time.Duration
	mu      sync.Mutex
	doors   map[string]*door
	sent    map[string]*traffic // by master
	open    []net.Conn          // ever
}

// traffic is what one master sent and received.
type traffic struct{ messages, bytes, entries int }

// large is how many bytes a message has at least that brings entries of the log.
const large = 1000

func newNetwork(latency time.Duration) *network {
	return &network{latency: latency, doors: map[string]*door{}, sent: map[string]*traffic{}}
}

// counted are the messages of each master since the last call.
func (n *network) counted() map[string]*traffic {
	n.mu.Lock()
	defer n.mu.Unlock()
	was := n.sent
	n.sent = map[string]*traffic{}
	return was
}

// close ends all connections: raft leaves those open that it has kept for later.
func (n *network) close() {
	n.mu.Lock()
	defer n.mu.Unlock()
	for _, c := range n.open {
		c.Close()
	}
}

func (n *network) count(from, to string, messages, bytes, entries int) {
	n.mu.Lock()
	defer n.mu.Unlock()
	for _, name := range []string{from, to} {
		t := n.sent[name]
		if t == nil {
			t = &traffic{}
			n.sent[name] = t
		}
		t.messages, t.bytes, t.entries = t.messages+messages, t.bytes+bytes, t.entries+entries
	}
}

// door is where one master receives.
type door struct {
	name  string
	conns chan net.Conn
	done  chan struct{}
	once  sync.Once
}

func (n *network) listen(name string) *door {
	n.mu.Lock()
	defer n.mu.Unlock()
	n.doors[name] = &door{name: name, conns: make(chan net.Conn), done: make(chan struct{})}
	return n.doors[name]
}

func (d *door) Accept() (net.Conn, error) {
	select {
	case c := <-d.conns:
		return c, nil
	case <-d.done:
		return nil, net.ErrClosed
	}
}

func (d *door) Close() error {
	d.once.Do(func() { close(d.done) })
	return nil
}

func (d *door) Addr() net.Addr { return address(d.name) }

type address string

func (a address) Network() string { return "memory" }
func (a address) String() string  { return string(a) }

// dialer is how one master calls the others.
func (n *network) dialer(from string) func(context.Context, string) (net.Conn, error) {
	return func(ctx context.Context, to string) (net.Conn, error) {
		n.mu.Lock()
		d := n.doors[to]
		n.mu.Unlock()
		if d == nil {
			return nil, net.ErrClosed
		}
		own, other := net.Pipe()
		n.mu.Lock()
		n.open = append(n.open, own, other)
		n.mu.Unlock()
		w := &wire{network: n}
		select {
		case d.conns <- &end{Conn: other, wire: w, from: to, to: from}:
			return &end{Conn: own, wire: w, from: from, to: to}, nil
		case <-d.done:
			return nil, net.ErrClosed
		case <-ctx.Done():
			return nil, ctx.Err()
		}
	}
}

// wire is a connection; what goes one way until something goes the other is one message.
type wire struct {
	*network
	mu      sync.Mutex
	speaker string
	size    int // of the message under way
}

// end is one end of a wire.
type end struct {
	net.Conn
	wire     *wire
	from, to string
}

func (e *end) Write(b []byte) (int, error) {
	w := e.wire
	w.mu.Lock()
	begins := w.speaker != e.from
	if begins {
		w.speaker, w.size = e.from, 0
	}
	before := w.size
	w.size += len(b)
	messages, entries := 0, 0
	if begins {
		messages = 1
	}
	if before < large && w.size >= large {
		entries = 1
	}
	w.mu.Unlock()
	w.count(e.from, e.to, messages, len(b), entries)
	if begins {
		time.Sleep(w.latency)
	}
	return e.Conn.Write(b)
}

func (e *end) LocalAddr() net.Addr  { return address(e.from) }
func (e *end) RemoteAddr() net.Addr { return address(e.to) }
