package fetch

import (
	"container/list"
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"net"
	"net/http"
	"net/netip"
	"strconv"
	"syscall"
	"time"

	"henro/messages"
)

// attemptDelay is how long an address may take before the next is tried beside it (RFC 8305 5).
const attemptDelay = 250 * time.Millisecond

// connection is one connection to one host.
type connection struct {
	net.Conn                  // what HTTP is spoken on: the TCP connection or TLS over it
	socket   syscall.RawConn  // the socket beneath; nil when an injected dialer gave none
	peer     netip.AddrPort   // zero when unknown
	host     string           // weburl's Host: scheme, name and port
	tlsError string           // what is wrong with the certificate
	version  string           // of TLS
	suite    string           // of TLS
	h2       *http.ClientConn // where HTTP/2 was agreed on
	idleAt   time.Time        // since when it has been kept
	earlier  *list.Element    // the one of the host that was kept before it
}

func (c *connection) close() {
	if c.h2 != nil {
		c.h2.Close()
	}
	c.Conn.Close()
}

// dialer makes connections: names to addresses, addresses past the guard, TLS.
type dialer struct {
	o        *Options
	table    map[string][]netip.Addr
	names    *resolver
	sessions tls.ClientSessionCache
	h2       *http.Transport
	proxy    *proxy // nil: none
}

func newDialer(o *Options) *dialer {
	table, _ := ParseTable(o.Resolve) // validated
	d := &dialer{o: o, table: table, names: newResolver(o), sessions: tls.NewLRUClientSessionCache(1024)}
	if o.Proxy != nil {
		d.proxy = &proxy{url: o.Proxy, dial: d.connect}
	}
	if !o.HTTP1 {
		d.h2 = newHTTP2(o)
	}
	return d
}

// dial connects to a target before end, and calls started when the host is first contacted.
func (d *dialer) dial(ctx context.Context, to *target, end time.Time, started func(time.Time)) (*connection, error) {
	addrs, err := d.addresses(ctx, to, end)
	if err != nil {
		return nil, err
	}
	now := time.Now()
	started(now)
	deadline := now.Add(d.o.ConnectTimeout)
	if end.Before(deadline) {
		deadline = end
	}
	within, cancel := context.WithDeadline(ctx, deadline)
	defer cancel()
	raw, err := d.race(within, to, addrs)
	if err != nil {
		if ctx.Err() != nil {
			return nil, fail(messages.Reason_CANCELED, errCanceled)
		}
		return nil, fail(connectReason(err), fmt.Errorf("connect: %w", err))
	}
	c := &connection{Conn: raw, host: to.host}
	if d.proxy == nil {
		c.peer, _ = peer(raw)
	}
	if len(addrs) > 1 && c.peer.IsValid() {
		d.names.prefer(to.name, c.peer.Addr())
	}
	if sc, ok := raw.(syscall.Conn); ok {
		c.socket, _ = sc.SyscallConn()
	}
	if to.tls {
		if err := d.handshake(ctx, c, to, deadline); err != nil {
			raw.Close()
			return nil, err
		}
	}
	return c, nil
}

// addresses are where a target may be, guarded; empty for a proxy and for an injected dialer, which take names.
func (d *dialer) addresses(ctx context.Context, to *target, end time.Time) ([]netip.Addr, error) {
	if d.proxy != nil {
		if err := d.o.permitName(to.name); err != nil {
			return nil, fail(messages.Reason_ADDRESS_FORBIDDEN, err)
		}
		return nil, nil
	}
	addrs, listed := d.table[to.address()]
	if !listed {
		if a, err := netip.ParseAddr(to.name); err == nil {
			addrs = []netip.Addr{a.Unmap()}
		} else if d.o.Dial != nil && d.o.Lookup == nil {
			return nil, nil
		} else {
			within, cancel := context.WithDeadline(ctx, end)
			defer cancel()
			addrs, err = d.names.lookup(within, to.name)
			switch {
			case ctx.Err() != nil:
				return nil, fail(messages.Reason_CANCELED, errCanceled)
			case err != nil && within.Err() != nil:
				return nil, fail(messages.Reason_DNS_FAILED, errTotal)
			case err != nil:
				return nil, err
			}
		}
	}
	// A name that leads to a public and a private address is asked at the public one only.
	var refusal error
	allowed := make([]netip.Addr, 0, len(addrs))
	for _, a := range addrs {
		if err := d.o.permit(a); err != nil {
			refusal = err
			continue
		}
		allowed = append(allowed, a)
	}
	if len(allowed) == 0 {
		return nil, fail(messages.Reason_ADDRESS_FORBIDDEN, refusal)
	}
	return allowed, nil
}

// race connects to the addresses in turn, a new one whenever one fails or attemptDelay has passed; the first to connect
// wins.
func (d *dialer) race(ctx context.Context, to *target, addrs []netip.Addr) (net.Conn, error) {
	switch {
	case d.proxy != nil:
		return d.proxy.connect(ctx, to)
	case len(addrs) == 0:
		return d.connect(ctx, to.address())
	case len(addrs) == 1:
		return d.connect(ctx, netip.AddrPortFrom(addrs[0], to.port).String())
	}
	type result struct {
		conn net.Conn
		err  error
	}
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	results := make(chan result, len(addrs))
	next, running := 0, 0
	start := func() {
		addr := netip.AddrPortFrom(addrs[next], to.port).String()
		next++
		running++
		go func() {
			c, err := d.connect(ctx, addr)
			results <- result{c, err}
		}()
	}
	start()
	timer := time.NewTimer(attemptDelay)
	defer timer.Stop()
	var won net.Conn
	var first error
	for running > 0 {
		select {
		case r := <-results:
			running--
			switch {
			case r.err == nil && won == nil:
				won = r.conn
				cancel() // the others come back at once
			case r.err == nil:
				r.conn.Close()
			case first == nil || isTimeout(first):
				// the most telling: how the first failed, unless it only took too long
				first = r.err
			}
		case <-timer.C:
		}
		if won == nil && next < len(addrs) {
			start()
			timer.Reset(attemptDelay)
		}
	}
	if won != nil {
		return won, nil
	}
	return nil, first
}

// connect is one attempt at one address.
func (d *dialer) connect(ctx context.Context, addr string) (net.Conn, error) {
	if d.o.Dial != nil {
		c, err := d.o.Dial(ctx, "tcp", addr)
		if err != nil {
			return nil, err
		}
		if d.proxy != nil {
			return c, nil
		}
		if err := d.o.permitPeer(c); err != nil {
			c.Close()
			return nil, err
		}
		return c, nil
	}
	// TCP probes every 15 s are not worth it for a connection that is kept for a minute
	dialer := net.Dialer{Control: d.o.Control, FallbackDelay: -1, KeepAlive: -1}
	if d.proxy != nil { // the operator has said where it is: the guard does not judge that
		dialer.Control = nil
	}
	return dialer.DialContext(ctx, "tcp", addr)
}

// handshake puts TLS on a connection.
func (d *dialer) handshake(ctx context.Context, c *connection, to *target, deadline time.Time) error {
	cfg := &tls.Config{
		ServerName:         to.name,
		ClientSessionCache: d.sessions,
		InsecureSkipVerify: true, // verified below, so that the verdict can be written down without ending the visit
		VerifyConnection: func(s tls.ConnectionState) error {
			err := d.verify(s, to.name)
			if err != nil {
				c.tlsError = err.Error()
			}
			if d.o.VerifyTLS {
				return err
			}
			return nil
		},
	}
	if !d.o.VerifyTLS { // old hosts are worth archiving too
		cfg.MinVersion = tls.VersionTLS10
		cfg.CipherSuites = everySuite
	}
	if d.h2 != nil {
		cfg.NextProtos = []string{"h2", "http/1.1"}
	}
	c.Conn.SetDeadline(deadline)
	stop := context.AfterFunc(ctx, func() { c.Conn.SetDeadline(aLongTimeAgo) })
	defer stop()
	raw := c.Conn
	secure := tls.Client(raw, cfg)
	if err := secure.HandshakeContext(context.Background()); err != nil {
		switch {
		case ctx.Err() != nil:
			return fail(messages.Reason_CANCELED, errCanceled)
		case isTimeout(err):
			return fail(messages.Reason_CONNECT_TIMEOUT, fmt.Errorf("TLS handshake: %w", err))
		}
		return fail(messages.Reason_TLS_FAILED, fmt.Errorf("TLS handshake: %w", err))
	}
	c.Conn = secure
	state := secure.ConnectionState()
	c.version, c.suite = tls.VersionName(state.Version), tls.CipherSuiteName(state.CipherSuite)
	if state.NegotiatedProtocol == "h2" {
		h2, err := speakHTTP2(ctx, d.h2, secure)
		switch {
		case err == nil:
		case ctx.Err() != nil:
			return fail(messages.Reason_CANCELED, errCanceled)
		case isTimeout(err):
			return fail(messages.Reason_CONNECT_TIMEOUT, fmt.Errorf("HTTP/2: %w", err))
		default:
			return fail(messages.Reason_CONNECTION_LOST, fmt.Errorf("HTTP/2: %w", err))
		}
		c.h2 = h2
	}
	return nil
}

// everySuite are all cipher suites that crypto/tls knows, broken ones included.
var everySuite = func() (ids []uint16) {
	for _, s := range append(tls.CipherSuites(), tls.InsecureCipherSuites()...) {
		ids = append(ids, s.ID)
	}
	return ids
}()

// verify judges a certificate chain as a browser would, without fetching anything.
func (d *dialer) verify(s tls.ConnectionState, name string) error {
	if len(s.PeerCertificates) == 0 {
		return errors.New("no certificate")
	}
	between := x509.NewCertPool()
	for _, c := range s.PeerCertificates[1:] {
		between.AddCert(c)
	}
	_, err := s.PeerCertificates[0].Verify(x509.VerifyOptions{Roots: d.o.RootCAs, Intermediates: between, DNSName: name,
		CurrentTime: time.Now()})
	return err
}

// target is where a URL leads.
type target struct {
	host string // weburl's Host
	name string // without brackets
	port uint16
	tls  bool
}

// address is name:port, as dialers and the table of --resolve have it.
func (t *target) address() string { return net.JoinHostPort(t.name, strconv.Itoa(int(t.port))) }

// authority is what the Host header says: no default port.
func (t *target) authority() string {
	if t.tls {
		return t.host[len("https://"):]
	}
	return t.host[len("http://"):]
}
