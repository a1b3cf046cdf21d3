package fetch

import (
	"bytes"
	"net"
	"net/netip"
	"slices"
	"strings"
	"syscall"
)

// special are the parts of the address space that the public web does not live in: the IANA special-purpose registries
// of both families, without the few entries that are globally reachable, and the addresses at which clouds tell their
// machines secrets. The first that contains an address counts.
var special = []struct {
	prefix netip.Prefix
	what   string
	never  bool // not even with AllowPrivate: such an address is no server's, or gives away the machine
}{
	// Metadata services that no other entry closes for good. All of 169.254.0.0/16 is link-local, below.
	{netip.MustParsePrefix("100.100.100.200/32"), "a metadata service (Alibaba)", true},
	{netip.MustParsePrefix("168.63.129.16/32"), "a metadata service (Azure)", true},
	{netip.MustParsePrefix("192.0.0.192/32"), "a metadata service (Oracle)", true},
	{netip.MustParsePrefix("fd00:ec2::/32"), "a metadata service (AWS)", true},
	{netip.MustParsePrefix("fd20:ce::/32"), "a metadata service (Google)", true},
	{netip.MustParsePrefix("fd00:42::42/128"), "a metadata service (Scaleway)", true},
	{netip.MustParsePrefix("fd00:a9fe:a9fe::/48"), "a metadata service (Linode)", true},

	{netip.MustParsePrefix("0.0.0.0/8"), "unspecified", true},
	{netip.MustParsePrefix("10.0.0.0/8"), "private", false},
	{netip.MustParsePrefix("100.64.0.0/10"), "shared by carriers (CGNAT)", false},
	{netip.MustParsePrefix("127.0.0.0/8"), "loopback", false},
	{netip.MustParsePrefix("169.254.0.0/16"), "link-local", true},
	{netip.MustParsePrefix("172.16.0.0/12"), "private", false},
	{netip.MustParsePrefix("192.0.0.0/24"), "for protocol assignments", false},
	{netip.MustParsePrefix("192.0.2.0/24"), "for documentation", false},
	{netip.MustParsePrefix("192.88.99.0/24"), "a 6to4 relay", false},
	{netip.MustParsePrefix("192.168.0.0/16"), "private", false},
	{netip.MustParsePrefix("198.18.0.0/15"), "for benchmarks", false},
	{netip.MustParsePrefix("198.51.100.0/24"), "for documentation", false},
	{netip.MustParsePrefix("203.0.113.0/24"), "for documentation", false},
	{netip.MustParsePrefix("224.0.0.0/4"), "multicast", true},
	{netip.MustParsePrefix("255.255.255.255/32"), "broadcast", true},
	{netip.MustParsePrefix("240.0.0.0/4"), "reserved", true},

	{netip.MustParsePrefix("::/128"), "unspecified", true},
	{netip.MustParsePrefix("::1/128"), "loopback", false},
	{netip.MustParsePrefix("64:ff9b:1::/48"), "local NAT64", false},
	{netip.MustParsePrefix("fc00::/7"), "unique local (ULA)", false},
	{netip.MustParsePrefix("fe80::/10"), "link-local", true},
	{netip.MustParsePrefix("fec0::/10"), "site-local", false},
	{netip.MustParsePrefix("ff00::/8"), "multicast", true},
	{netip.MustParsePrefix("2001::/32"), "a Teredo tunnel", false},
	{netip.MustParsePrefix("2001:2::/48"), "for benchmarks", false},
	{netip.MustParsePrefix("2001:10::/28"), "an ORCHID", false},
	{netip.MustParsePrefix("2001:20::/28"), "an ORCHID", false},
	{netip.MustParsePrefix("2001::/23"), "for protocol assignments", false},
	{netip.MustParsePrefix("2001:db8::/32"), "for documentation", false},
	{netip.MustParsePrefix("3fff::/20"), "for documentation", false},
}

// Prefixes by which an IPv6 address carries an IPv4 address.
var (
	globalUnicast = netip.MustParsePrefix("2000::/3")
	nat64         = netip.MustParsePrefix("64:ff9b::/96")
	localNAT64    = netip.MustParsePrefix("64:ff9b:1::/48")
	sixToFour     = netip.MustParsePrefix("2002::/16")
	teredo        = netip.MustParsePrefix("2001::/32")
	compatible    = netip.MustParsePrefix("::/96")
	translated    = netip.MustParsePrefix("::ffff:0:0:0/96")
)

// metadata are the IPv4 addresses that are looked for at the end of every IPv6 address: a network may have a NAT64
// prefix of its own, which is not known elsewhere.
var metadata = [][4]byte{{169, 254, 169, 254}, {169, 254, 170, 2}, {169, 254, 170, 23}, {100, 100, 100, 200},
	{168, 63, 129, 16}, {192, 0, 0, 192}, {169, 254, 42, 42}, {169, 254, 0, 23}}

// Never says what an address is if not even a crawl of private networks may ask there, and "" otherwise: link-local
// addresses, the metadata services of clouds, and what is no single server's.
func Never(addr netip.Addr) string {
	if what, never := judge(addr); never {
		return what
	}
	return ""
}

// judge says what is special about an address, "" if a polite crawler of the public web may ask there, and whether it
// stays closed with AllowPrivate. IPv6 addresses that carry an IPv4 address are judged by what they carry too.
func judge(addr netip.Addr) (what string, never bool) {
	if !addr.IsValid() {
		return "not an address", true
	}
	addr = addr.Unmap().WithZone("")
	for i := range special {
		if s := &special[i]; s.prefix.Contains(addr) {
			what, never = s.what, s.never
			break
		}
	}
	if addr.Is4() || never {
		return what, never
	}
	b := addr.As16()
	carries := func(how string, v4 []byte) {
		carried, always := judge(netip.AddrFrom4([4]byte(v4)))
		always = always && v4[0] != 0 // zeros are no address, but what another form of prefix leaves there
		if carried != "" && (what == "" || always) {
			what, never = carried+" by "+how, never || always
		}
	}
	switch {
	case nat64.Contains(addr):
		carries("NAT64", b[12:])
		return what, never
	case localNAT64.Contains(addr): // of any length that RFC 6052 2.2 has for so long a prefix
		carries("NAT64", b[12:])
		carries("NAT64", []byte{b[6], b[7], b[9], b[10]})
		carries("NAT64", []byte{b[7], b[9], b[10], b[11]})
		carries("NAT64", b[9:13])
	case sixToFour.Contains(addr):
		carries("6to4", b[2:6])
	case teredo.Contains(addr): // the server, and the client's address, inverted (RFC 4380 4)
		carries("Teredo", b[4:8])
		carries("Teredo", []byte{^b[12], ^b[13], ^b[14], ^b[15]})
	case compatible.Contains(addr) && what == "": // not ::1
		what = "outside global unicast"
		carries("an IPv4-compatible address", b[12:])
	case translated.Contains(addr):
		what = "outside global unicast"
		carries("an IPv4-translated address", b[12:])
	case what == "" && !globalUnicast.Contains(addr):
		what = "outside global unicast"
	}
	if b[8]&^2 == 0 && b[9] == 0 && b[10] == 0x5e && b[11] == 0xfe {
		carries("ISATAP", b[12:])
	}
	if slices.ContainsFunc(metadata, func(m [4]byte) bool { return bytes.Equal(m[:], b[12:]) }) {
		carries("the last 32 bits", b[12:])
	}
	return what, never
}

// permit is the guard: nil, or the refusal of an address.
func (o *Options) permit(addr netip.Addr) error {
	what, never := judge(addr)
	addr = addr.Unmap().WithZone("")
	switch {
	case what == "", slices.Contains(o.Addresses, addr):
		return nil
	case never:
	case o.AllowPrivate, slices.ContainsFunc(o.Private, func(p netip.Prefix) bool { return p.Contains(addr) }):
		return nil
	}
	return &forbidden{addr.String(), what}
}

// ownNames are ends of names that lead into the network of the machine that looks them up (RFC 6761, 6762, 8375, 9476).
var ownNames = []string{"localhost", "local", "internal", "home.arpa", "test", "alt"}

// permitName judges what a proxy is asked to look up: an address as permit does, a name by its spelling alone.
func (o *Options) permitName(name string) error {
	if addr, err := netip.ParseAddr(name); err == nil {
		return o.permit(addr)
	}
	own := !strings.Contains(name, ".") || slices.ContainsFunc(ownNames, func(end string) bool {
		return name == end || strings.HasSuffix(name, "."+end)
	})
	if own && !o.AllowPrivate {
		return &forbidden{name, errProxyName.Error()}
	}
	return nil
}

// Control is called by a net.Dialer with the address of a socket about to connect: the last moment, after every name
// was looked up.
func (o *Options) Control(_, address string, _ syscall.RawConn) error {
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
