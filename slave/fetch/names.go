package fetch

import (
	"context"
	"net"
	"net/netip"
	"strconv"
	"strings"

	"henro/messages/weburl"
)

// Names finds the addresses of hosts as a Client would: by the table, then by a resolver that remembers, merges and
// retries.
type Names struct {
	table map[string][]netip.Addr
	names *resolver
}

// NewNames looks names up by Options.Resolve, DNS, DNSTimeout, DNSNames and Lookup; other fields do not matter. Close
// ends it.
func NewNames(o Options) (*Names, error) {
	if err := o.Validate(); err != nil {
		return nil, err
	}
	o = o.orDefaults()
	table, err := ParseTable(o.Resolve)
	if err != nil {
		return nil, err
	}
	return &Names{table, newResolver(&o)}, nil
}

// Addresses returns the addresses of a host, "scheme://name[:port]".
func (n *Names) Addresses(ctx context.Context, host string) ([]netip.Addr, error) {
	u, err := weburl.Parse(host + "/")
	if err != nil {
		return nil, err
	}
	name := strings.Trim(u.Hostname(), "[]")
	if addrs, listed := n.table[net.JoinHostPort(name, strconv.Itoa(int(u.Port())))]; listed {
		return addrs, nil
	}
	if a, err := netip.ParseAddr(name); err == nil {
		return []netip.Addr{a}, nil
	}
	return n.names.lookup(ctx, name)
}

// Close ends the questions under way.
func (n *Names) Close() { n.names.close() }
