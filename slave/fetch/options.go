package fetch

import (
	"cmp"
	"context"
	"crypto/x509"
	"fmt"
	"net"
	"net/http"
	"net/netip"
	"net/url"
	"reflect"
	"strings"
	"time"

	"github.com/gocolly/colly/v2"
	"golang.org/x/net/http/httpguts"

	"henro/slave/botauth"
)

// Options says how pages are fetched. The zero value of a field means its default.
type Options struct {
	// UserAgent is sent with every request. There is no default: it names who crawls.
	UserAgent string
	// Accept is the Accept header; default: HTML first, everything welcome.
	Accept string
	// Header holds further headers for every request, Accept-Language or From for instance. Host, User-Agent, Accept,
	// Accept-Encoding, Connection and the conditional headers are ours and not taken from here.
	Header http.Header

	// ConnectTimeout bounds connecting to one host, all its addresses and the TLS handshake together. Default 10 s.
	ConnectTimeout time.Duration
	// IdleTimeout bounds the time without a byte in either direction. Default 20 s.
	IdleTimeout time.Duration
	// TotalTimeout bounds the whole fetch, looking up the name included. Default 60 s, since 12 minutes were once lost
	// to one server that accepted and never answered.
	TotalTimeout time.Duration

	// MaxHead bounds the bytes before the body, interim (1xx) responses included. Default 64 KiB; browsers stop at 256,
	// Apache sends at most 8 per field.
	MaxHead int
	// MaxBody bounds the bytes of a body as they come over the wire; what is longer is cut there. Default 32 MiB.
	MaxBody int
	// MaxDecoded bounds Response.Body after decompression. Default 16 MiB: it is read for links and fingerprints only,
	// and the archive has the wire bytes.
	MaxDecoded int
	// MaxRatio bounds decoded/encoded size once more than 1 MiB came out. Default 200; honest pages stay below 60, gzip
	// can reach 1,030 and brotli far more.
	MaxRatio int
	// Memory bounds the bytes that all fetches together hold beyond 256 KiB per buffer, until Response.Release. A fetch
	// that finds nothing left waits, reading no further. Default 64 MiB beside what one largest response takes, which
	// is kept ready so that one always gets on: 208 MiB with bodies of 64 MiB.
	Memory int64

	// IdleConnections bounds the connections kept open between fetches, one per host at most; 0 means 1,024, negative
	// none. One costs a socket and under 1 kB over http, some 16 kB over https, 40 kB with HTTP/2.
	IdleConnections int
	// KeepIdle is how long one is kept. Default 60 s; many servers close after 5 to 75 s.
	KeepIdle time.Duration
	// HTTP1 stops offering HTTP/2, so that every capture has its exact bytes. Default off: a server that prefers HTTP/2
	// gets it.
	HTTP1 bool

	// AllowPrivate lets private, loopback and most other special addresses be visited. Default off. Link-local
	// addresses, metadata services of clouds, multicast and what else is never a web server's stay forbidden.
	AllowPrivate bool
	// Private are networks that are visited as if AllowPrivate were on for them alone; an IPv4 network does not name
	// the IPv6 addresses that carry it.
	Private []netip.Prefix
	// Addresses are visited whatever they are.
	Addresses []netip.Addr
	// VerifyTLS makes a bad certificate a failure. Default off: it is written into Response.TLSError and the page
	// archived.
	VerifyTLS bool
	// RootCAs are the authorities believed; nil means the system's.
	RootCAs *x509.CertPool

	// Resolve is a table in front of DNS, entries HOST:PORT:ADDR[,ADDR…] as curl has them. The guard holds for it too.
	Resolve []string
	// DNS is a server ("ip" or "ip:port") to ask instead of the system's resolver.
	DNS string
	// DNSTimeout bounds one question; it is asked thrice. Default 5 s.
	DNSTimeout time.Duration
	// DNSNames bounds the names remembered, least recently used first out. Default 65,536, some 200 B each.
	DNSNames int

	// Proxy is the way to all hosts: http://[NAME:PASSWORD@]HOST[:PORT] or socks5://…; nil: none. It looks names up, so
	// the guard sees the names of hosts and no addresses; where the proxy itself is, is not judged.
	Proxy *url.URL
	// Signer signs every request (Web Bot Auth); nil: none does.
	Signer *botauth.Signer

	// Colly adds callbacks to each Collector that is made; nil: there are none. They may see, and no more: another
	// visit that one of them wants is not made, a request that it aborts is a visit that failed (NOT_PARSED), and an
	// answer whose transfer it aborts has no body. Of a body they see a copy of the first MiB, without content coding.
	Colly func(*colly.Collector)

	// Dial replaces the network: addr is "ip:port", or "name:port" if there is no Lookup, which then is never asked.
	// For tests; inside a synctest bubble everything then happens in virtual time. The guard judges addr where it is an
	// address, and the connection's RemoteAddr where that is one.
	Dial func(ctx context.Context, network, addr string) (net.Conn, error)
	// Lookup replaces DNS: the addresses of a name and how long they hold. An error that is a *net.DNSError with
	// IsNotFound means that there is no such name. Caching, merging and retrying stay as they are.
	Lookup func(ctx context.Context, name string) ([]netip.Addr, time.Duration, error)
}

// DefaultOptions are the defaults named at the fields.
func DefaultOptions() Options {
	return Options{
		Accept:          "text/html,application/xhtml+xml,application/xml;q=0.9,*/*;q=0.8",
		ConnectTimeout:  10 * time.Second,
		IdleTimeout:     20 * time.Second,
		TotalTimeout:    60 * time.Second,
		MaxHead:         64 << 10,
		MaxBody:         32 << 20,
		MaxDecoded:      16 << 20,
		MaxRatio:        200,
		IdleConnections: 1024,
		KeepIdle:        60 * time.Second,
		DNSTimeout:      5 * time.Second,
		DNSNames:        1 << 16,
	}
}

// orDefaults fills what is zero.
func (o Options) orDefaults() Options {
	given, usual := reflect.ValueOf(&o).Elem(), reflect.ValueOf(DefaultOptions())
	for i := range given.NumField() {
		if given.Field(i).IsZero() {
			given.Field(i).Set(usual.Field(i))
		}
	}
	o.Memory = cmp.Or(o.Memory, 64<<20+o.largest())
	return o
}

// largest is what one response can take: its wire bytes, the same without chunk framing, and what they decode to.
func (o *Options) largest() int64 { return 2*int64(o.MaxBody+o.MaxHead) + int64(o.MaxDecoded) }

// Validate names the first field that cannot work.
func (o Options) Validate() error {
	o = o.orDefaults()
	if o.UserAgent == "" {
		return fmt.Errorf("%w: UserAgent is empty", ErrOptions)
	}
	for _, f := range []struct {
		name string
		bad  bool
	}{
		{"ConnectTimeout", o.ConnectTimeout < 0}, {"IdleTimeout", o.IdleTimeout < 0},
		{"TotalTimeout", o.TotalTimeout < 0},
		{"KeepIdle", o.KeepIdle < 0}, {"DNSTimeout", o.DNSTimeout < 0}, {"DNSNames", o.DNSNames < 0},
		{"MaxHead", o.MaxHead < 512}, {"MaxBody", o.MaxBody < 0}, {"MaxDecoded", o.MaxDecoded < 0},
		{"MaxRatio", o.MaxRatio < 2},
		{"Memory", o.Memory < o.largest()},
		{"UserAgent", !httpguts.ValidHeaderFieldValue(o.UserAgent)},
		{"Accept", !httpguts.ValidHeaderFieldValue(o.Accept)},
	} {
		if f.bad {
			return fmt.Errorf("%w: %s is out of range", ErrOptions, f.name)
		}
	}
	for name, values := range o.Header {
		if !httpguts.ValidHeaderFieldName(name) {
			return fmt.Errorf("%w: header name %q", ErrOptions, name)
		}
		for _, v := range values {
			if !httpguts.ValidHeaderFieldValue(v) {
				return fmt.Errorf("%w: value of header %s", ErrOptions, name)
			}
		}
	}
	if _, err := ParseTable(o.Resolve); err != nil {
		return err
	}
	if p := o.Proxy; p != nil && (p.Scheme != "http" && p.Scheme != "socks5" || p.Hostname() == "") {
		return fmt.Errorf("%w: a proxy is http://HOST:PORT or socks5://HOST:PORT", ErrOptions)
	}
	if _, err := dnsServer(o.DNS); err != nil {
		return err
	}
	return nil
}

// ParseTable reads entries HOST:PORT:ADDR[,ADDR…]: addresses by HOST:PORT. An address may be in brackets, as IPv6 must
// be in curl.
func ParseTable(entries []string) (map[string][]netip.Addr, error) {
	table := make(map[string][]netip.Addr, len(entries))
	for _, e := range entries {
		name, rest, ok1 := strings.Cut(e, ":")
		port, list, ok2 := strings.Cut(rest, ":")
		if !ok1 || !ok2 || name == "" {
			return nil, fmt.Errorf("%w: resolve %q is not HOST:PORT:ADDR", ErrOptions, e)
		}
		if _, err := net.LookupPort("tcp", port); err != nil || port == "" || port[0] < '0' || port[0] > '9' {
			return nil, fmt.Errorf("%w: resolve %q: port %q", ErrOptions, e, port)
		}
		key := net.JoinHostPort(strings.ToLower(strings.TrimSuffix(name, ".")), port)
		for a := range strings.SplitSeq(list, ",") {
			addr, err := netip.ParseAddr(strings.Trim(a, "[] "))
			if err != nil {
				return nil, fmt.Errorf("%w: resolve %q: address %q", ErrOptions, e, a)
			}
			table[key] = append(table[key], addr)
		}
	}
	return table, nil
}

// dnsServer makes "ip" or "ip:port" an address to ask; empty means the system's resolver.
func dnsServer(s string) (netip.AddrPort, error) {
	if s == "" {
		return netip.AddrPort{}, nil
	}
	if ap, err := netip.ParseAddrPort(s); err == nil {
		return ap, nil
	}
	if a, err := netip.ParseAddr(strings.Trim(s, "[]")); err == nil {
		return netip.AddrPortFrom(a, 53), nil
	}
	return netip.AddrPort{}, fmt.Errorf("%w: DNS server %q is not ip or ip:port", ErrOptions, s)
}
