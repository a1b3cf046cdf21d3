package fetch

import (
	"context"
	"net"
	"net/netip"
	"testing"
	"time"
)

func TestNamesAreLookedUpAsAClientWould(t *testing.T) {
	asked := 0
	o := Options{UserAgent: "test", Resolve: []string{"listed.example:8080:192.0.2.7"},
		Lookup: func(_ context.Context, name string) ([]netip.Addr, time.Duration, error) {
			asked++
			if name == "gone.example" {
				return nil, 0, &net.DNSError{IsNotFound: true}
			}
			return []netip.Addr{netip.MustParseAddr("192.0.2.1")}, time.Minute, nil
		}}
	n, err := NewNames(o)
	if err != nil {
		t.Fatal(err)
	}
	defer n.Close()
	for host, want := range map[string]string{
		"http://listed.example:8080": "192.0.2.7", "http://listed.example": "192.0.2.1",
		"https://listed.example": "192.0.2.1",
		"http://192.0.2.9:81":    "192.0.2.9", "http://[2001:db8::1]": "2001:db8::1", "http://gone.example": "",
	} {
		addrs, err := n.Addresses(t.Context(), host)
		switch {
		case want == "":
			if err == nil {
				t.Errorf("%s: %v", host, addrs)
			}
		case err != nil || len(addrs) != 1 || addrs[0].String() != want:
			t.Errorf("%s: %v, %v, want %s", host, addrs, err, want)
		}
	}
	if asked != 2 {
		t.Errorf("asked %d times about two names", asked)
	}
}
