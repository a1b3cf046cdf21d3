package fakeweb

import (
	"context"
	"crypto/tls"
	"fmt"
	"net"
	"net/netip"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"time"
)

// Web is a made-up web. Its methods may be called from many goroutines.
type Web struct {
	o       Options // filled
	log     *accessLog
	serials atomic.Uint64 // requests begun: tells them apart for the jitter
	conns   atomic.Uint64 // connections begun: their numbers in the log
	lookups atomic.Uint64 // of a Guest that moves to loopback
	cert    func() (*tls.Certificate, error)

	mu     sync.Mutex
	open   map[net.Conn]struct{}
	closed bool
	done   chan struct{} // closed by Close
	wait   sync.WaitGroup
}

// New makes a web. In a synctest bubble, make it inside and Close it before the bubble ends.
func New(o Options) (*Web, error) {
	if err := o.Validate(); err != nil {
		return nil, err
	}
	o = o.filled()
	log, err := openLog(o.LogEntries, o.LogFile)
	if err != nil {
		return nil, err
	}
	return &Web{o: o, log: log, cert: sync.OnceValues(newCertificate), open: map[net.Conn]struct{}{},
		done: make(chan struct{})}, nil
}

// Close ends every connection and waits for their goroutines; requests still unanswered are logged as aborted. Then it
// closes the log file and returns the first error of writing it.
func (w *Web) Close() error {
	w.mu.Lock()
	if w.closed {
		w.mu.Unlock()
		return nil
	}
	w.closed = true
	close(w.done)
	for c := range w.open {
		c.Close()
	}
	w.mu.Unlock()
	w.wait.Wait()
	return w.log.close()
}

// Log gives the requests kept in memory, in the order in which they ended.
func (w *Web) Log() []Entry { return w.log.entries() }

// Hosts gives the number of ordinary hosts.
func (w *Web) Hosts() int { return w.o.Hosts }

// Seeds gives the roots of all ordinary hosts, in order, then those of their other names, under the scheme's own port.
func (w *Web) Seeds() []string {
	seeds := w.names()
	for i, name := range seeds {
		seeds[i] = "http://" + name + "/"
	}
	return seeds
}

// begin takes a connection into the books and serves it; it reports false when the web is closed.
func (w *Web) begin(c net.Conn) bool {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.closed {
		return false
	}
	w.open[c] = struct{}{}
	w.wait.Go(func() {
		w.serve(c)
		w.mu.Lock()
		delete(w.open, c)
		w.mu.Unlock()
	})
	return true
}

// DialContext connects to a host of the web over net.Pipe, by name or by the address that LookupNetIP gives, on any
// port. The connection has TCP addresses. Dead hosts refuse, unknown names do not resolve, black holes wait for the
// context to end.
func (w *Web) DialContext(ctx context.Context, network, address string) (net.Conn, error) {
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	name, service, err := net.SplitHostPort(address)
	if err != nil {
		return nil, &net.OpError{Op: "dial", Net: network, Err: err}
	}
	port, err := strconv.ParseUint(service, 10, 16)
	if err != nil {
		return nil, &net.OpError{Op: "dial", Net: network, Err: fmt.Errorf("port %q: %w", service, err)}
	}
	h, ok := w.hostNamed(strings.ToLower(strings.TrimSuffix(name, ".")))
	if ip, err := netip.ParseAddr(name); err == nil {
		h, ok = w.hostAt(ip)
	}
	if !ok || h.State == Unknown {
		return nil, &net.OpError{Op: "dial", Net: network, Err: unknownName(name)}
	}
	remote := &net.TCPAddr{IP: w.address(&h).AsSlice(), Port: int(port)}
	if h.State == Answering && w.down(&h, time.Now()) {
		h.State = Dead
	}
	switch h.State {
	case Dead:
		return nil, &net.OpError{Op: "dial", Net: network, Addr: remote, Err: syscall.ECONNREFUSED}
	case Blackhole:
		select {
		case <-ctx.Done():
			return nil, &net.OpError{Op: "dial", Net: network, Addr: remote, Err: ctx.Err()}
		case <-w.done:
			return nil, ErrClosed
		}
	}
	local := &net.TCPAddr{IP: net.IPv4(10, 0, 0, 1), Port: 1024 + int(w.conns.Load()%60000)}
	client, server := pipe(local, remote)
	if !w.begin(server) {
		client.Close()
		server.Close()
		return nil, ErrClosed
	}
	return client, nil
}

func unknownName(name string) error {
	return &net.DNSError{Err: "no such host", Name: name, IsNotFound: true}
}

// LookupNetIP resolves the names of the web, with the signature of net.Resolver. The addresses lie in 11.0.0.0/8:
// public, so that an address guard lets them pass, and never used by anyone (they are the US Department of Defense's).
// Nothing is ever sent there.
func (w *Web) LookupNetIP(ctx context.Context, network, name string) ([]netip.Addr, error) {
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	h, ok := w.hostNamed(strings.ToLower(strings.TrimSuffix(name, ".")))
	if !ok || h.State == Unknown || network == "ip6" {
		return nil, unknownName(name)
	}
	if h.guest != nil && h.guest.Loopback && w.lookups.Add(1) > 1 {
		return []netip.Addr{netip.AddrFrom4([4]byte{127, 0, 0, 1})}, nil
	}
	return []netip.Addr{w.address(&h)}, nil
}

func (w *Web) address(h *Host) netip.Addr {
	n := h.Index
	return netip.AddrFrom4([4]byte{11, byte(n >> 16), byte(n >> 8), byte(n)})
}

func (w *Web) hostAt(ip netip.Addr) (Host, bool) {
	ip = ip.Unmap()
	if !ip.Is4() || ip.As4()[0] != 11 {
		return Host{}, false
	}
	b := ip.As4()
	n := int(b[1])<<16 | int(b[2])<<8 | int(b[3])
	if n < w.o.Hosts {
		return w.host(n), true
	}
	return w.guestAt(n)
}

// memConn is one end of a pipe, with addresses and a reset like those of TCP.
type memConn struct {
	net.Conn
	local, remote net.Addr
	reset         *atomic.Bool // shared by both ends
}

func pipe(local, remote net.Addr) (client, server net.Conn) {
	a, b := net.Pipe()
	reset := new(atomic.Bool)
	return &memConn{a, local, remote, reset}, &memConn{b, remote, local, reset}
}

func (c *memConn) LocalAddr() net.Addr  { return c.local }
func (c *memConn) RemoteAddr() net.Addr { return c.remote }

func (c *memConn) Read(b []byte) (int, error) {
	n, err := c.Conn.Read(b)
	if err != nil && c.reset.Load() {
		err = &net.OpError{Op: "read", Net: "tcp", Source: c.local, Addr: c.remote, Err: syscall.ECONNRESET}
	}
	return n, err
}

// SetLinger with zero makes the next Close a reset, as on a TCP connection.
func (c *memConn) SetLinger(sec int) error {
	c.reset.Store(sec == 0)
	return nil
}

// resetConn closes a connection with a reset instead of an end.
func resetConn(c net.Conn) {
	if t, ok := c.(*tls.Conn); ok {
		c = t.NetConn()
	}
	if p, ok := c.(*peekedConn); ok {
		c = p.Conn
	}
	if l, ok := c.(interface{ SetLinger(int) error }); ok {
		l.SetLinger(0)
	}
	c.Close()
}

// sleep waits, or reports false when the web is closed before.
func (w *Web) sleep(d time.Duration) bool {
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-t.C:
		return true
	case <-w.done:
		return false
	}
}
