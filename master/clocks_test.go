package master

import (
	"context"
	"errors"
	"net/netip"
	"slices"
	"testing"
)

func TestClocksOfAHost(t *testing.T) {
	lookup := func(_ context.Context, host string) ([]netip.Addr, error) {
		switch host {
		case "http://two.example":
			return []netip.Addr{netip.MustParseAddr("192.0.2.2"), netip.MustParseAddr("192.0.2.1"),
				netip.MustParseAddr("::ffff:192.0.2.2")}, nil
		}
		return nil, errors.New("no such name")
	}
	for _, c := range []struct {
		unit Unit
		host string
		want []string
	}{
		{UnitDomain, "https://www.example.co.jp:8443", []string{"example.co.jp"}},
		{UnitDomain, "http://example.co.jp", []string{"example.co.jp"}},
		{UnitDomain, "http://192.0.2.1", []string{"192.0.2.1"}},
		{UnitIP, "http://two.example", []string{"192.0.2.1", "192.0.2.2"}},
		{UnitIP, "http://gone.example", []string{"http://gone.example"}},
	} {
		if got := c.unit.clocksOf(lookup, c.host); !slices.Equal(got, c.want) {
			t.Errorf("%s of %s: %v, want %v", c.unit, c.host, got, c.want)
		}
	}
	o := DefaultOptions()
	if o.Unit = "subnet"; o.validateUnit() == nil {
		t.Error("any unit is taken")
	}
	o.Unit = UnitIP
	if o.validateUnit() == nil {
		t.Error("clocks by address without a resolver")
	}
}
