package fetch

import (
	"net"
	"net/netip"
	"syscall"
)

// special are the parts of the address space that the public web does not live in: the IANA special-purpose registries
// of both families, without the few entries that are globally reachable.
var special = []struct {
	prefix netip.Prefix
	what   string
}{
	{netip.MustParsePrefix("0.0.0.0/8"), "unspecified"},
	{netip.MustParsePrefix("10.0.0.0/8"), "private"},
	{netip.MustParsePrefix("100.64.0.0/10"), "shared by carriers (CGNAT)"},
	{netip.MustParsePrefix("127.0.0.0/8"), "loopback"},
	{netip.MustParsePrefix("169.254.0.0/16"), "link-local"},
	{netip.MustParsePrefix("172.16.0.0/12"), "private"},
	{netip.MustParsePrefix("192.0.0.0/24"), "for protocol assignments"},
	{netip.MustParsePrefix("192.0.2.0/24"), "for documentation"},
	{netip.MustParsePrefix("192.88.99.0/24"), "a 6to4 relay"},
	{netip.MustParsePrefix("192.168.0.0/16"), "private"},
	{netip.MustParsePrefix("198.18.0.0/15"), "for benchmarks"},
	{netip.MustParsePrefix("198.51.100.0/24"), "for documentation"},
	{netip.MustParsePrefix("203.0.113.0/24"), "for documentation"},
	{netip.MustParsePrefix("224.0.0.0/4"), "multicast"},
	{netip.MustParsePrefix("255.255.255.255/32"), "broadcast"},
	{netip.MustParsePrefix("240.0.0.0/4"), "reserved"},

	{netip.MustParsePrefix("::/128"), "unspecified"},
	{netip.MustParsePrefix("::1/128"), "loopback"},
	{netip.MustParsePrefix("64:ff9b:1::/48"), "local NAT64"},
	{netip.MustParsePrefix("fc00::/7"), "unique local (ULA)"},
	{netip.MustParsePrefix("fe80::/10"), "link-local"},
	{netip.MustParsePrefix("fec0::/10"), "site-local"},
	{netip.MustParsePrefix("ff00::/8"), "multicast"},
	{netip.MustParsePrefix("2001::/32"), "a Teredo tunnel"},
	{netip.MustParsePrefix("2001:2::/48"), "for benchmarks"},
	{netip.MustParsePrefix("2001:10::/28"), "an ORCHID"},
	{netip.MustParsePrefix("2001:20::/28"), "an ORCHID"},
	{netip.MustParsePrefix("2001:db8::/32"), "for documentation"},
	{netip.MustParsePrefix("3fff::/20"), "for documentation"},
}

var (
	globalUnicast = netip.MustParsePrefix("2000::/3")
	nat64         = netip.MustParsePrefix("64:ff9b::/96")
	sixToFour     = netip.MustParsePrefix("2002::/16")
)

// Forbidden says what an address is if a polite crawler of the public web has no business there, and "" otherwise. IPv6
// addresses that carry an IPv4 address (mapped, 6to4, NAT64, ISATAP) are judged by what they carry too.
func Forbidden(addr netip.Addr) string {
	if !addr.IsValid() {
		return "not an address"
	}
	addr = addr.Unmap().WithZone("")
	for i := range special {
		if special[i].prefix.Contains(addr) {
			return special[i].what
		}
	}
	if addr.Is4() {
		return ""
	}
	b := addr.As16()
	switch {
	case nat64.Contains(addr):
		return carried("NAT64", [4]byte(b[12:16]))
	case sixToFour.Contains(addr):
		return carried("6to4", [4]byte(b[2:6]))
	case !globalUnicast.Contains(addr): // also the IPv4-compatible ::/96 of old
		return "outside global unicast"
	case b[8]&^2 == 0 && b[9] == 0 && b[10] == 0x5e && b[11] == 0xfe:
		return carried("ISATAP", [4]byte(b[12:16]))
	}
	return ""
}

func carried(how string, v4 [4]byte) string {
	if what := Forbidden(netip.AddrFrom4(v4)); what != "" {
		return what + " by " + how
	}
	return ""
}

// permit is the guard: nil, or the refusal of an address.
func (o *Options) permit(addr netip.Addr) error {
	if o.AllowPrivate {
		return nil
	}
	if what := Forbidden(addr); what != "" {
		return &forbidden{addr.String(), what}
	}
	return nil
}

// control is called by the dialer with the address of a socket about to connect: the last moment, after every name was
// looked up.
func (o *Options) control(_, address string, _ syscall.RawConn) error {
	ap, err := netip.ParseAddrPort(address)
	if err != nil {
		return &forbidden{address, "not an address"}
	}
	return o.permit(ap.Addr())
}

// permitPeer judges the far end of a connection that an injected dialer made, where it says what it is.
func (o *Options) permitPeer(c net.Conn) error {
	if ap, ok := peer(c); ok {
		return o.permit(ap.Addr())
	}
	return nil
}

// peer is the address of the far end, if it has one.
func peer(c net.Conn) (netip.AddrPort, bool) {
	switch a := c.RemoteAddr().(type) {
	case *net.TCPAddr:
		ap := a.AddrPort()
		return netip.AddrPortFrom(ap.Addr().Unmap(), ap.Port()), ap.IsValid()
	case nil:
		return netip.AddrPort{}, false
	default:
		ap, err := netip.ParseAddrPort(a.String())
		return ap, err == nil
	}
}
