package fakeweb

import (
	"cmp"
	"context"
	"encoding/binary"
	"fmt"
	"net"
	"net/netip"
	"strconv"
)

// ListenOptions say where the web listens.
type ListenOptions struct {
	First netip.Addr // the first address, of IPv4; zero: 127.0.0.1
	// Addresses is the number of addresses the hosts are spread over, counted up from the first; zero: 1. More than one
	// on loopback needs a system that answers to all of 127.0.0.0/8, as Linux does.
	Addresses int
	Port      uint16 // on every address; zero: one that is free
}

// unanswered is where dead hosts live: a loopback address that nothing listens on.
var unanswered = netip.AddrFrom4([4]byte{127, 255, 255, 254})

// Listening is a web on real sockets.
type Listening struct {
	Port  uint16
	first netip.Addr
	w     *Web
	at    []net.Listener
}

// Listen serves the web on real addresses until Close of the web or of what it returns, or until the context ends.
// Clients that begin with TLS are answered in TLS, on the same port.
func (w *Web) Listen(ctx context.Context, o ListenOptions) (*Listening, error) {
	o.Addresses = cmp.Or(o.Addresses, 1)
	if o.First.IsValid() && !o.First.Is4() {
		return nil, fmt.Errorf("%w: %s is not an IPv4 address", ErrOptions, o.First)
	}
	if o.Addresses < 0 || o.Addresses > 1<<20 {
		return nil, fmt.Errorf("%w: %d addresses", ErrOptions, o.Addresses)
	}
	// A free port of the first address may be taken on another: then the next free one is tried.
	var l *Listening
	var err error
	for range 10 {
		if l, err = w.listen(ctx, o); err == nil || o.Port != 0 {
			break
		}
	}
	if err != nil {
		return nil, fmt.Errorf("listen: %w", err)
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.closed {
		l.closeAll()
		return nil, ErrClosed
	}
	for _, at := range l.at {
		w.wait.Go(func() {
			for {
				c, err := at.Accept()
				if err != nil {
					return
				}
				if !w.begin(c) {
					c.Close()
				}
			}
		})
	}
	w.wait.Go(func() {
		select {
		case <-ctx.Done():
		case <-w.done:
		}
		l.closeAll()
	})
	return l, nil
}

func (w *Web) listen(ctx context.Context, o ListenOptions) (*Listening, error) {
	l := &Listening{Port: o.Port, first: o.First, w: w}
	if !l.first.IsValid() {
		l.first = netip.AddrFrom4([4]byte{127, 0, 0, 1})
	}
	var config net.ListenConfig
	for i := range o.Addresses {
		at, err := config.Listen(ctx, "tcp4", netip.AddrPortFrom(l.address(i), l.Port).String())
		if err != nil {
			l.closeAll()
			return nil, err
		}
		l.at = append(l.at, at)
		l.Port = at.Addr().(*net.TCPAddr).AddrPort().Port()
	}
	return l, nil
}

// address is the i-th behind the first.
func (l *Listening) address(i int) netip.Addr {
	first := l.first.As4()
	var b [4]byte
	binary.BigEndian.PutUint32(b[:], binary.BigEndian.Uint32(first[:])+uint32(i))
	return netip.AddrFrom4(b)
}

func (l *Listening) closeAll() {
	for _, at := range l.at {
		at.Close()
	}
}

// Close stops listening; connections that are open are served on, until Close of the web.
func (l *Listening) Close() error {
	l.closeAll()
	return nil
}

// Address gives where a host lives, guests too; false for names that do not resolve.
func (l *Listening) Address(name string) (netip.AddrPort, bool) {
	h, ok := l.w.hostNamed(name)
	if !ok || h.State == Unknown {
		return netip.AddrPort{}, false
	}
	if h.State == Dead || h.State == Blackhole {
		return netip.AddrPortFrom(unanswered, l.Port), true
	}
	return netip.AddrPortFrom(l.address(h.Index%len(l.at)), l.Port), true
}

// Names gives the names of all hosts that resolve, the ordinary ones first.
func (l *Listening) Names() []string {
	var names []string
	add := func(h Host) {
		if h.State != Unknown {
			names = append(names, h.Name)
		}
	}
	for _, name := range l.w.names() {
		h, _ := l.w.hostNamed(name)
		add(h)
	}
	for i := range l.w.o.Guests {
		add(l.w.guest(i, l.w.o.Guests[i].Name))
	}
	return names
}

// Resolve gives a line for each host in the form of curl's and henro's --resolve: NAME:PORT:ADDRESS.
func (l *Listening) Resolve() []string {
	names := l.Names()
	for i, name := range names {
		at, _ := l.Address(name)
		names[i] = name + ":" + strconv.Itoa(int(l.Port)) + ":" + at.Addr().String()
	}
	return names
}

// Seeds gives the roots of all ordinary hosts, in order, then those of their other names.
func (l *Listening) Seeds() []string {
	seeds := l.w.names()
	for i, name := range seeds {
		seeds[i] = "http://" + name + ":" + strconv.Itoa(int(l.Port)) + "/"
	}
	return seeds
}

// DialContext connects to the host of this name wherever its port says, over a real socket: for clients without a
// resolver of their own.
func (l *Listening) DialContext(ctx context.Context, network, address string) (net.Conn, error) {
	name, _, err := net.SplitHostPort(address)
	if err != nil {
		return nil, &net.OpError{Op: "dial", Net: network, Err: err}
	}
	at, ok := l.Address(name)
	if !ok {
		return nil, &net.OpError{Op: "dial", Net: network, Err: unknownName(name)}
	}
	var d net.Dialer
	return d.DialContext(ctx, network, at.String())
}

// GuestSeeds gives the roots of all guests.
func (l *Listening) GuestSeeds() []string { return l.w.guestSeeds(":" + strconv.Itoa(int(l.Port))) }
