// Package clustertest connects several nodes of a cluster within one test, without sockets.
//
// Network is the wire between them, made for testing/synctest: all waiting is on channels made in the bubble, so
// gossip, its timeouts and its failures pass in virtual time. It differs from memberlist's MockNetwork in that a node
// may die, freeze or be cut off without its peers hanging on it for ever: there, a node that writes to one that has
// ended never returns.
//
// Invariants: a packet is delivered once, in order, or not at all; a stream is connected at once, refused at once where
// no process listens, or given up after its timeout where a machine does not answer.
package clustertest

import (
	"bytes"
	"fmt"
	"io"
	"math/rand/v2"
	"net"
	"sync"
	"time"

	"github.com/hashicorp/memberlist"
)

// Network connects the transports made by it.
type Network struct {
	mu    sync.Mutex
	wires map[string]*Wire // by address
	cuts  map[[2]string]bool
	loss  float64
	rnd   *rand.Rand
}

// NewNetwork returns a network without nodes. The seed decides which packets are lost, if any are.
func NewNetwork(seed uint64) *Network {
	return &Network{wires: make(map[string]*Wire), cuts: make(map[[2]string]bool), rnd: rand.New(rand.NewPCG(seed, 1))}
}

// packetQueue is how many packets wait at a node before they are dropped, like those of a socket's buffer.
const packetQueue = 1024

// Wire connects one node: a memberlist.Transport.
type Wire struct {
	net     *Network
	address string
	packets chan *memberlist.Packet
	streams chan net.Conn

	frozen bool               // guarded by net.mu: what is sent to it waits for ever, what it says is lost
	down   chan struct{}      // closed when the node is gone
	once   sync.Once          // closes down
	conns  map[io.Closer]bool // open streams, guarded by net.mu
}

// Wire connects a new node, or one that starts again, under an "ip:port".
func (n *Network) Wire(address string) *Wire {
	w := &Wire{net: n, address: address, packets: make(chan *memberlist.Packet, packetQueue),
		streams: make(chan net.Conn, 16),
		down:    make(chan struct{}), conns: make(map[io.Closer]bool)}
	n.mu.Lock()
	defer n.mu.Unlock()
	n.wires[address] = w
	return w
}

// Cut stops what goes from one address to another; the other way stays open.
func (n *Network) Cut(from, to string) { n.set(from, to, true) }

// Split cuts every way between two groups.
func (n *Network) Split(a, b []string) { n.each(a, b, true) }

// Heal undoes Split.
func (n *Network) Heal(a, b []string) { n.each(a, b, false) }

func (n *Network) each(a, b []string, cut bool) {
	for _, x := range a {
		for _, y := range b {
			n.set(x, y, cut)
			n.set(y, x, cut)
		}
	}
}

func (n *Network) set(from, to string, cut bool) {
	n.mu.Lock()
	defer n.mu.Unlock()
	n.cuts[[2]string{from, to}] = cut
}

// Lose makes this share of the packets disappear.
func (n *Network) Lose(share float64) {
	n.mu.Lock()
	defer n.mu.Unlock()
	n.loss = share
}

// Freeze makes the node at the address deaf and dumb, as a stopped process is, until Thaw.
func (n *Network) Freeze(address string) { n.freeze(address, true) }

// Thaw undoes Freeze.
func (n *Network) Thaw(address string) { n.freeze(address, false) }

func (n *Network) freeze(address string, frozen bool) {
	n.mu.Lock()
	defer n.mu.Unlock()
	if w := n.wires[address]; w != nil {
		w.frozen = frozen
	}
}

// silent reports whether what goes from one to the other is lost on the way. net.mu is held.
func (n *Network) silent(from, to *Wire) bool {
	return from.frozen || to != nil && (to.frozen || n.cuts[[2]string{from.address, to.address}])
}

// up reports whether a process is there. net.mu is held.
func (w *Wire) up() bool {
	if w == nil {
		return false
	}
	select {
	case <-w.down:
		return false
	default:
		return true
	}
}

// FinalAdvertiseAddr returns the address of the wire.
func (w *Wire) FinalAdvertiseAddr(string, int) (net.IP, int, error) {
	a, err := net.ResolveUDPAddr("udp", w.address)
	if err != nil {
		return nil, 0, fmt.Errorf("wire: %w", err)
	}
	return a.IP, a.Port, nil
}

// WriteTo sends a packet; the sender does not learn whether it arrives.
func (w *Wire) WriteTo(b []byte, address string) (time.Time, error) {
	now := time.Now()
	w.net.mu.Lock()
	defer w.net.mu.Unlock()
	to := w.net.wires[address]
	if !to.up() || w.net.silent(w, to) || w.net.loss > 0 && w.net.rnd.Float64() < w.net.loss {
		return now, nil
	}
	select {
	case to.packets <- &memberlist.Packet{Buf: bytes.Clone(b), From: wireAddress(w.address), Timestamp: now}:
	default:
	}
	return now, nil
}

// WriteToAddress is WriteTo.
func (w *Wire) WriteToAddress(b []byte, a memberlist.Address) (time.Time, error) {
	return w.WriteTo(b, a.Addr)
}

// PacketCh is where packets arrive.
func (w *Wire) PacketCh() <-chan *memberlist.Packet { return w.packets }

// DialTimeout connects a stream at once; it fails at once where no process listens, and after the timeout where nothing
// answers.
func (w *Wire) DialTimeout(address string, timeout time.Duration) (net.Conn, error) {
	conn, answered := w.dial(address)
	switch {
	case conn != nil:
		return conn, nil
	case answered:
		return nil, fmt.Errorf("dial %s: refused", address)
	}
	select {
	case <-time.After(timeout):
	case <-w.down:
	}
	return nil, fmt.Errorf("dial %s: timeout", address)
}

func (w *Wire) dial(address string) (conn net.Conn, answered bool) {
	w.net.mu.Lock()
	defer w.net.mu.Unlock()
	to := w.net.wires[address]
	if w.net.silent(w, to) || to != nil && w.net.silent(to, w) { // a stream needs both ways
		return nil, false
	}
	if !w.up() || !to.up() {
		return nil, true
	}
	here, there := net.Pipe()
	select {
	case to.streams <- there:
		w.conns[here], to.conns[there] = true, true
		return here, true
	default:
		here.Close()
		there.Close()
		return nil, true
	}
}

// DialAddressTimeout is DialTimeout.
func (w *Wire) DialAddressTimeout(a memberlist.Address, timeout time.Duration) (net.Conn, error) {
	return w.DialTimeout(a.Addr, timeout)
}

// StreamCh is where streams arrive.
func (w *Wire) StreamCh() <-chan net.Conn { return w.streams }

// Shutdown ends the node: its streams break, and nothing reaches it any more.
func (w *Wire) Shutdown() error {
	w.once.Do(func() { close(w.down) })
	w.net.mu.Lock()
	defer w.net.mu.Unlock()
	for c := range w.conns {
		c.Close()
	}
	clear(w.conns)
	return nil
}

// wireAddress is a net.Addr.
type wireAddress string

func (wireAddress) Network() string  { return "wire" }
func (a wireAddress) String() string { return string(a) }
