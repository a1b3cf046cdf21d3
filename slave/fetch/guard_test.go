package fetch

import (
	"context"
	"fmt"
	"net"
	"net/http"
	"net/http/httptest"
	"net/netip"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"henro/messages"
)

func TestForbidden(t *testing.T) {
	for addr, want := range map[string]string{
		"0.0.0.0": "unspecified", "0.1.2.3": "unspecified", "10.1.2.3": "private", "100.64.0.1": "CGNAT",
		"100.127.255.255": "CGNAT", "127.0.0.1": "loopback",
		"127.255.255.254": "loopback", "169.254.169.254": "link-local", "172.16.0.1": "private",
		"172.31.255.255": "private", "192.0.0.8": "protocol",
		"192.0.2.1": "documentation", "192.88.99.1": "6to4", "192.168.1.1": "private", "198.18.0.1": "benchmarks",
		"198.19.255.255": "benchmarks", "198.51.100.7": "documentation",
		"203.0.113.9": "documentation", "224.0.0.1": "multicast", "239.255.255.255": "multicast",
		"240.0.0.1": "reserved", "255.255.255.255": "broadcast",
		"::": "unspecified", "::1": "loopback", "fc00::1": "ULA", "fdff::1": "ULA", "fe80::1": "link-local",
		"fe80::1%eth0": "link-local", "fec0::1": "site-local", "ff02::1": "multicast",
		"::ffff:10.0.0.1": "private", "::ffff:127.0.0.1": "loopback", "::127.0.0.1": "outside",
		"64:ff9b::10.0.0.1": "private by NAT64", "64:ff9b:1::1": "local NAT64",
		"2002:7f00:1::": "loopback by 6to4", "2002:c0a8:101::1": "private by 6to4", "2001::1": "Teredo",
		"2001:db8::1": "documentation", "3fff:1000::1": "", "3fff:0fff::1": "documentation",
		"2001:2::1": "benchmarks", "2001:20::1": "ORCHID", "100::1": "outside", "5f00::1": "outside",
		"2606:4700::5efe:c0a8:1": "private by ISATAP", "4000::1": "outside",
		"100.100.100.200": "metadata", "168.63.129.16": "metadata", "192.0.0.192": "metadata",
		"fd00:ec2::254": "metadata", "fd20:ce::254": "metadata", "fd00:42::42": "metadata",
		"2001:1::1": "protocol", "2001:200::1": "", "168.63.129.17": "",
		"8.8.8.8": "", "1.1.1.1": "", "100.63.255.255": "", "100.128.0.0": "", "172.32.0.1": "", "11.0.0.1": "",
		"192.0.1.1": "", "223.255.255.255": "",
		"2606:4700::1111": "", "::ffff:8.8.8.8": "", "64:ff9b::8.8.8.8": "", "2002:808:808::1": "",
		"2001:4860::8888": "", "2a00::1": "",
	} {
		got, _ := judge(netip.MustParseAddr(addr))
		if (want == "") != (got == "") || !strings.Contains(got, want) {
			t.Errorf("%s: %q, want %q", addr, got, want)
		}
	}
	if what, _ := judge(netip.Addr{}); what == "" {
		t.Error("no address is allowed")
	}
}

// What a link may name although private networks are crawled.
var neverPrivate = []string{
	"169.254.169.254", "169.254.170.2", "169.254.170.23", "169.254.42.42", "169.254.1.1", "100.100.100.200",
	"168.63.129.16", "192.0.0.192", "fd00:ec2::254", "fd00:ec2::23", "fd20:ce::254", "fd00:42::42", "fd00:a9fe:a9fe::1",
	"fe80::1", "fe80::a9fe:a9fe%eth0", "224.0.0.1", "239.255.255.250", "ff02::1", "ff0e::1", "255.255.255.255",
	"240.0.0.1", "0.0.0.0", "0.1.2.3", "::",
	// the same behind IPv6
	"::ffff:169.254.169.254", "::169.254.169.254", "::ffff:0:169.254.169.254", "64:ff9b::169.254.169.254",
	"64:ff9b::a9fe:aa02", "64:ff9b:1::a9fe:a9fe", "64:ff9b:1:a9fe:a9:fe00::", "64:ff9b:1:aa:fe:a9fe::",
	"64:ff9b:1:0:a9:fea9:fe00::", "2002:a9fe:a9fe::1",
	"2002:e000:1::", "2001:0:808:808:0:0:5601:5601",
	"2606:4700::5efe:a9fe:a9fe", "fd12::200:5efe:a9fe:a9fe", "fd12:3456::a9fe:a9fe", "2606:4700:64::a9fe:aa02",
	"64:ff9b::224.0.0.1", "::ffff:224.0.0.1", "64:ff9b::100.100.100.200",
}

func TestPrivateNetworksOpenNeitherLinkLocalNorMetadata(t *testing.T) {
	for _, text := range neverPrivate {
		a := netip.MustParseAddr(text)
		everything := []netip.Prefix{netip.MustParsePrefix("0.0.0.0/0"), netip.MustParsePrefix("::/0")}
		for what, o := range map[string]*Options{"public": {}, "private": {AllowPrivate: true},
			"networks": {Private: everything}} {
			if o.permit(a) == nil {
				t.Errorf("%s may be asked by a crawl of %s addresses", text, what)
			}
		}
		named := a.Unmap().WithZone("")
		if err := (&Options{Addresses: []netip.Addr{named}}).permit(a); err != nil {
			t.Errorf("an address that was named: %v", err)
		}
		if (&Options{AllowPrivate: true, Addresses: []netip.Addr{named.Next()}}).permit(a) == nil {
			t.Errorf("%s may be asked because its neighbour was named", text)
		}
	}
	for _, text := range []string{"10.1.2.3", "127.0.0.1", "::1", "192.168.1.1", "100.64.0.1", "fd12::1", "8.8.8.8",
		"64:ff9b::10.1.2.3", "::ffff:10.1.2.3", "2002:a01:203::1", "198.18.0.1", "2001:db8::1"} {
		if err := (&Options{AllowPrivate: true}).permit(netip.MustParseAddr(text)); err != nil {
			t.Error(err)
		}
	}
}

func TestNetworksThatAreNamedAreAllThatIsPrivateAndAllowed(t *testing.T) {
	o := &Options{Private: []netip.Prefix{netip.MustParsePrefix("10.1.0.0/16"), netip.MustParsePrefix("fd12::/16")}}
	for text, allowed := range map[string]bool{
		"10.1.2.3": true, "10.1.255.255": true, "::ffff:10.1.2.3": true, "fd12::7": true, "8.8.8.8": true,
		"10.2.0.0": false, "127.0.0.1": false, "::1": false, "192.168.1.1": false, "fd13::1": false,
		"64:ff9b::10.1.2.3": false, "169.254.169.254": false, "100.64.0.1": false,
	} {
		if err := o.permit(netip.MustParseAddr(text)); (err == nil) != allowed {
			t.Errorf("%s: %v, want allowed: %v", text, err, allowed)
		}
	}
}

// The last gate is the connect: whatever led there, --allow-private has not opened it.
func TestACrawlOfPrivateNetworksDoesNotDialMetadata(t *testing.T) {
	for _, text := range neverPrivate {
		a := netip.MustParseAddr(text).WithZone("")
		c := newClient(t, func(o *Options) {
			o.Lookup = func(context.Context, string) ([]netip.Addr, time.Duration, error) {
				return []netip.Addr{a}, time.Minute, nil
			}
			o.Dial = func(_ context.Context, network, addr string) (net.Conn, error) {
				t.Errorf("%s dialled %s", text, addr)
				return nil, net.ErrClosed
			}
		})
		if r := visit(t, c, "http://name.example/"); r.Reason != messages.Reason_ADDRESS_FORBIDDEN {
			t.Error(text, r)
		}
	}
	if err := (&Options{AllowPrivate: true}).Control("tcp4", "169.254.169.254:80", nil); err == nil {
		t.Error("the last check lets a metadata service pass")
	}
}

// Invariant: no address that the guard forbids is connected to, whatever led there.
func TestTheGuardStandsAtTheConnect(t *testing.T) {
	var requests atomic.Int32
	private := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) { requests.Add(1) }))
	defer private.Close()
	_, port, _ := net.SplitHostPort(private.Listener.Addr().String())
	loopback := netip.MustParseAddr("127.0.0.1")
	lookups := 0
	for _, tt := range []struct {
		name, url string
		change    func(*Options)
	}{
		{"an address in the URL", "http://127.0.0.1:" + port + "/", nil},
		{"the same in disguise", "http://0x7f.1:" + port + "/", nil},
		{"the same mapped", "http://[::ffff:7f00:1]:" + port + "/", nil},
		{"all interfaces", "http://0.0.0.0:" + port + "/", nil},
		{"robots.txt of it", "http://127.0.0.1:" + port + "/robots.txt", nil},
		{"a name that leads there", "http://evil.example:" + port + "/", func(o *Options) {
			o.Lookup = func(context.Context, string) ([]netip.Addr, time.Duration, error) {
				return []netip.Addr{loopback}, 0, nil
			}
		}},
		{"the table of --resolve", "http://evil.example:" + port + "/",
			func(o *Options) { o.Resolve = []string{"evil.example:" + port + ":127.0.0.1"} }},
		{"an injected dialer", "http://127.0.0.1:" + port + "/", func(o *Options) {
			o.Dial = func(context.Context, string, string) (net.Conn, error) {
				t.Error("dialled")
				return nil,
					net.ErrClosed
			}
		}},
		{"an injected dialer that goes elsewhere", "http://evil.example:" + port + "/", func(o *Options) {
			o.Dial = func(ctx context.Context, n, a string) (net.Conn, error) {
				return (&net.Dialer{}).DialContext(ctx, n, private.Listener.Addr().String())
			}
		}},
		// the check and the use are the same moment
		{"a name that changes its mind", "http://rebind.example:" + port + "/", func(o *Options) {
			o.Lookup = func(context.Context, string) ([]netip.Addr, time.Duration, error) {
				if lookups++; lookups == 1 {
					return []netip.Addr{netip.MustParseAddr("8.8.8.8"), loopback}[1:], time.Nanosecond, nil
				}
				return []netip.Addr{loopback}, time.Nanosecond, nil
			}
		}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			c := newClient(t, func(o *Options) {
				o.AllowPrivate = false
				if tt.change != nil {
					tt.change(o)
				}
			})
			r := visit(t, c, tt.url)
			if r.Reason != messages.Reason_ADDRESS_FORBIDDEN || r.Err == nil || r.Status != 0 {
				t.Error(r)
			}
		})
	}
	if requests.Load() != 0 {
		t.Error(requests.Load(), "requests reached a private address")
	}
	if err := (&Options{}).Control("tcp4", "127.0.0.1:80", nil); err == nil {
		t.Error("the last check lets loopback pass")
	}
	if err := (&Options{}).Control("tcp4", "8.8.8.8:80", nil); err != nil {
		t.Error(err)
	}
}

func TestOfANameWithPublicAndPrivateAddressesOnlyThePublicAreAsked(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var dialled []string
		c := newClient(t, func(o *Options) {
			o.AllowPrivate = false
			o.Lookup = func(context.Context, string) ([]netip.Addr, time.Duration, error) {
				return []netip.Addr{netip.MustParseAddr("10.0.0.1"), netip.MustParseAddr("8.8.4.4"),
					netip.MustParseAddr("fd00::1")}, time.Minute, nil
			}
			piped(says("HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nhi"))(o)
			dial := o.Dial
			o.Dial = func(ctx context.Context, n, a string) (net.Conn, error) {
				dialled = append(dialled, a)
				return dial(ctx, n, a)
			}
		})
		if r := visit(t, c, "http://a.example/"); r.Status != 200 || fmt.Sprint(dialled) != "[8.8.4.4:80]" {
			t.Error(r, dialled)
		}
		c.Close()
	})
}

// A redirect is a response here, and its target another visit: a chain into the house ends at the guard.
func TestARedirectChainToAPrivateAddressEndsAtTheGuard(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := newClient(t, func(o *Options) {
			o.AllowPrivate = false
			piped(says("HTTP/1.1 302 Found\r\nLocation: http://169.254.169.254/latest/meta-data/\r\nContent-Length: " +
				"0\r\n\r\n"))(o)
		})
		r := visit(t, c, "http://a.example/")
		if r.Status != 302 || r.Header.Get("Location") == "" {
			t.Fatal(r)
		}
		if r = visit(t, c, r.Header.Get("Location")); r.Reason != messages.Reason_ADDRESS_FORBIDDEN {
			t.Error(r)
		}
		c.Close()
	})
}
