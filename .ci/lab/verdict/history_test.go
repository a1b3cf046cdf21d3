package verdict

import (
	"errors"
	"net/netip"
	"testing"
	"time"

	"henro/slave/fakeweb"
)

func TestOneAtATime(t *testing.T) {
	begun := time.Now()
	at := func(seconds float64) time.Time { return begun.Add(time.Duration(seconds * float64(time.Second))) }
	a, b := netip.MustParseAddr("10.0.0.1"), netip.MustParseAddr("10.0.0.2")
	lend := func(to netip.Addr, seconds float64) Lend { return Lend{At: at(seconds), Host: "http://h", To: to} }
	asks := func(by netip.Addr, from, to float64) fakeweb.Entry {
		return fakeweb.Entry{Host: "h", Path: "/", From: netip.AddrPortFrom(by, 1), Start: at(from), End: at(to)}
	}
	for name, c := range map[string]struct {
		lends []Lend
		log   []fakeweb.Entry
		want  error
	}{
		"one after another": {[]Lend{lend(a, 0), lend(b, 5)},
			[]fakeweb.Entry{asks(a, 1, 2), asks(a, 3, 4), asks(b, 6, 7)}, nil},
		"back again": {[]Lend{lend(a, 0), lend(b, 5), lend(a, 8)},
			[]fakeweb.Entry{asks(a, 1, 2), asks(b, 6, 7), asks(a, 9, 10)}, nil},
		"the last request of one ends late": {[]Lend{lend(a, 0), lend(b, 5)},
			[]fakeweb.Entry{asks(a, 1, 2), asks(a, 3, 9), asks(b, 6, 7)}, nil},
		"a lend that was not used": {[]Lend{lend(a, 0), lend(b, 2)},
			[]fakeweb.Entry{asks(a, 1, 2), asks(a, 3, 4)}, nil},
		"one goes on after it was lent to another": {[]Lend{lend(a, 0), lend(b, 5)},
			[]fakeweb.Entry{asks(a, 1, 2), asks(b, 6, 7), asks(a, 8, 9)}, ErrShared},
		"nobody lent it":           {[]Lend{lend(a, 0)}, []fakeweb.Entry{asks(a, 1, 2), asks(b, 6, 7)}, ErrShared},
		"asked before it was lent": {[]Lend{lend(a, 3)}, []fakeweb.Entry{asks(a, 1, 2), asks(a, 4, 5)}, ErrShared},
	} {
		steps, err := OneAtATime(c.lends, c.log)
		if !errors.Is(err, c.want) || steps < len(c.log) {
			t.Errorf("%s: %d steps, %v; want %v", name, steps, err, c.want)
		}
	}
}
