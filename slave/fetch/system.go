package fetch

import (
	"context"
	"encoding/binary"
	"io"
	"net"
	"net/netip"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/miekg/dns"
)

// systemResolver asks as this machine is set up to.
//
// The standard library sorts the addresses of an answer by the routes to them, for which it connects a UDP socket to
// each. What the guard forbids is therefore taken out of the answers before the library reads them, and put behind the
// rest of the addresses, for the guard to say why it refuses them.
type systemResolver struct {
	permit func(netip.Addr) error
	dial   func(ctx context.Context, network, server string) (net.Conn, error)
}

// lookup asks for a name with a dot as it stands: no search domain may turn an unknown name of the web into a known one
// of the house.
func (s systemResolver) lookup(ctx context.Context, name string) ([]netip.Addr, time.Duration, error) {
	if strings.Contains(name, ".") && !strings.HasSuffix(name, ".") {
		name += "."
	}
	var mu sync.Mutex // the questions for both families are asked at once
	var aside []netip.Addr
	sift := func(answer []byte) []byte {
		sifted, forbidden := s.sift(answer)
		mu.Lock()
		defer mu.Unlock()
		aside = append(aside, forbidden...)
		return sifted
	}
	system := net.Resolver{ // of Go: it waits in the poller, not in a thread
		PreferGo: true, Dial: func(ctx context.Context, network, server string) (net.Conn, error) {
			c, err := s.dial(ctx, network, server)
			if err != nil {
				return nil, err
			}
			if packets, ok := c.(*net.UDPConn); ok {
				return &packetSieve{packets, sift}, nil
			}
			return &streamSieve{Conn: c, sift: sift}, nil
		}}
	addrs, err := system.LookupNetIP(ctx, "ip", name)
	mu.Lock()
	defer mu.Unlock()
	if len(aside) > 0 {
		return append(addrs, aside...), systemTTL, nil
	}
	return addrs, systemTTL, err
}

// sift takes forbidden addresses out of an answer. What cannot be read is no answer.
func (s systemResolver) sift(answer []byte) (sifted []byte, forbidden []netip.Addr) {
	m := new(dns.Msg)
	if m.Unpack(answer) != nil {
		return nil, nil
	}
	count := len(m.Answer)
	m.Answer = slices.DeleteFunc(m.Answer, func(rr dns.RR) bool {
		a := addressIn(rr)
		if !a.IsValid() {
			// The library reads addresses of other classes, too, and four or sixteen bytes where a record has none.
			kind := rr.Header().Rrtype
			return kind == dns.TypeA || kind == dns.TypeAAAA
		}
		if s.permit(a) == nil {
			return false
		}
		forbidden = append(forbidden, a)
		return true
	})
	if len(m.Answer) == count {
		return answer, nil
	}
	m.Compress = true // no longer than it was
	sifted, err := m.Pack()
	if err != nil || len(sifted) > len(answer) {
		return nil, forbidden
	}
	return sifted, forbidden
}

// addressIn is the address of a record, if it has one in the Internet's class.
func addressIn(rr dns.RR) (a netip.Addr) {
	if rr.Header().Class != dns.ClassINET {
		return a
	}
	switch rr := rr.(type) {
	case *dns.A:
		a, _ = netip.AddrFromSlice(rr.A.To4())
	case *dns.AAAA:
		a, _ = netip.AddrFromSlice(rr.AAAA.To16())
	}
	return a
}

// packetSieve sifts the answers of one UDP socket, each a packet.
type packetSieve struct {
	*net.UDPConn
	sift func([]byte) []byte
}

func (c *packetSieve) Read(b []byte) (int, error) {
	n, err := c.UDPConn.Read(b)
	if err != nil {
		return n, err
	}
	return copy(b, c.sift(b[:n])), nil
}

// streamSieve sifts the answers of a TCP connection, each behind its length.
type streamSieve struct {
	net.Conn
	sift func([]byte) []byte
	rest []byte // of an answer, not yet read
}

func (c *streamSieve) Read(b []byte) (int, error) {
	if len(c.rest) == 0 {
		var length [2]byte
		if _, err := io.ReadFull(c.Conn, length[:]); err != nil {
			return 0, err
		}
		answer := make([]byte, binary.BigEndian.Uint16(length[:]))
		if _, err := io.ReadFull(c.Conn, answer); err != nil {
			return 0, err
		}
		sifted := c.sift(answer)
		c.rest = append(binary.BigEndian.AppendUint16(nil, uint16(len(sifted))), sifted...)
	}
	n := copy(b, c.rest)
	c.rest = c.rest[n:]
	return n, nil
}
