package verdict

import (
	"errors"
	"net/netip"
	"testing"
	"time"

	"henro/cmd/fakeweb"
)

func TestOneAtATime(t *testing.T) {
	begun := time.Now()
	at := func(seconds float64) time.Time { return begun.Add(time.Duration(seconds * float64(time.Second))) }
	a, b := netip.MustParseAddr("10.0.0.1"), netip.MustParseAddr("10.0.0.2")
	lend := func(to netip.Addr, seconds float64) Step { return Step{At: at(seconds), Host: "http://h", To: to} }
	asks := func(by netip.Addr, from, to float64) fakeweb.Entry {
		return fakeweb.Entry{Host: "h", Path: "/", From: netip.AddrPortFrom(by, 1), Start: at(from), End: at(to)}
	}
	for name, c := range map[string]struct {
		steps []Step
		log   []fakeweb.Entry
		want  error
	}{
		"one after another": {[]Step{lend(a, 0), lend(b, 5)},
			[]fakeweb.Entry{asks(a, 1, 2), asks(a, 3, 4), asks(b, 6, 7)}, nil},
		"back again": {[]Step{lend(a, 0), lend(b, 5), lend(a, 8)},
			[]fakeweb.Entry{asks(a, 1, 2), asks(b, 6, 7), asks(a, 9, 10)}, nil},
		"the last request of one ends late": {[]Step{lend(a, 0), lend(b, 5)},
			[]fakeweb.Entry{asks(a, 1, 2), asks(a, 3, 9), asks(b, 6, 7)}, nil},
		"a lend that was not used": {[]Step{lend(a, 0), lend(b, 2)},
			[]fakeweb.Entry{asks(a, 1, 2), asks(a, 3, 4)}, nil},
		"one goes on after it was lent to another": {[]Step{lend(a, 0), lend(b, 5)},
			[]fakeweb.Entry{asks(a, 1, 2), asks(b, 6, 7), asks(a, 8, 9)}, ErrShared},
		"nobody lent it":           {[]Step{lend(a, 0)}, []fakeweb.Entry{asks(a, 1, 2), asks(b, 6, 7)}, ErrShared},
		"asked before it was lent": {[]Step{lend(a, 3)}, []fakeweb.Entry{asks(a, 1, 2), asks(a, 4, 5)}, ErrShared},
	} {
		if err := OneAtATime(c.steps, c.log); !errors.Is(err, c.want) {
			t.Errorf("%s: %v; want %v", name, err, c.want)
		}
	}
}

func TestStoredOnce(t *testing.T) {
	begun := time.Now()
	at := func(seconds float64) time.Time { return begun.Add(time.Duration(seconds * float64(time.Second))) }
	a, b := netip.MustParseAddr("10.0.0.1"), netip.MustParseAddr("10.0.0.2")
	lend := func(term, lease uint64, to netip.Addr, seconds float64) Step {
		return Step{At: at(seconds), Term: term, Lease: lease, Host: "http://h", To: to}
	}
	stored := func(term, lease, seq uint64, visits int, seconds float64) Step {
		return Step{At: at(seconds), Term: term, Lease: lease, Seq: seq, Visits: visits}
	}
	var log []fakeweb.Entry
	asks := func(path string, by netip.Addr, seconds float64) {
		log = append(log, fakeweb.Entry{Host: "h", Path: path, From: netip.AddrPortFrom(by, 1), Start: at(seconds)})
	}
	asks("/robots.txt", a, 0.5)
	for i := range 4 {
		asks("/", a, float64(1+i)) // under the lease from 0 on
		asks("/", b, float64(11+i))
	}
	asks("/", a, 21)
	denied := map[string]int{"http://h": 1}
	for name, c := range map[string]struct {
		steps []Step
		pages int
		want  error
	}{
		"one after another": {[]Step{lend(2, 7, a, 0), stored(2, 7, 3, 2, 3.5), stored(2, 7, 5, 2, 4.5),
			lend(2, 8, b, 10), stored(2, 8, 4, 4, 15)}, 8, nil},
		"under the next master": {[]Step{lend(2, 7, a, 0), stored(2, 7, 3, 2, 3.5), stored(3, 7, 5, 2, 6),
			lend(3, 8, b, 10), stored(4, 8, 4, 4, 15)}, 8, nil},
		"one that was stopped says late what it did": {[]Step{lend(2, 7, a, 0), stored(2, 7, 3, 2, 16),
			stored(3, 7, 5, 2, 6), lend(3, 8, b, 10), stored(3, 8, 4, 4, 15)}, 8, nil},
		"one that was killed has not said what it stored": {[]Step{lend(2, 7, a, 0), stored(3, 7, 5, 2, 6),
			lend(3, 8, b, 10)}, 2, nil},
		"more is lent under a lease": {[]Step{lend(2, 7, a, 0), stored(2, 7, 3, 2, 3.5), lend(2, 7, a, 3.6),
			stored(2, 7, 5, 2, 4.5)}, 4, nil},
		"a lease that was not used": {[]Step{lend(2, 7, a, 0), stored(2, 7, 5, 4, 4.5), lend(3, 9, a, 8),
			lend(3, 10, b, 10), stored(3, 10, 4, 4, 15)}, 8, nil},
		"stored again by the next master": {[]Step{lend(2, 7, a, 0), stored(2, 7, 3, 2, 3.5),
			stored(3, 7, 3, 2, 6)}, 4, ErrCounted},
		"stored again by the same one": {[]Step{lend(2, 7, a, 0), stored(2, 7, 3, 2, 3.5), stored(2, 7, 3, 1, 4)}, 3,
			ErrCounted},
		"stored in part by the next one": {[]Step{lend(2, 7, a, 0), stored(2, 7, 5, 1, 3.5), stored(3, 7, 4, 1, 6)}, 2,
			ErrCounted},
		"under a lease that is over": {[]Step{lend(2, 7, a, 0), lend(3, 8, b, 10), stored(3, 7, 3, 2, 12)}, 2,
			ErrCounted},
		"in the term after":        {[]Step{lend(2, 7, a, 0), lend(3, 8, b, 10), stored(4, 7, 3, 2, 9)}, 2, ErrCounted},
		"before it was lent":       {[]Step{lend(3, 7, a, 0), stored(2, 7, 3, 2, 3.5)}, 0, ErrCounted},
		"never lent":               {[]Step{stored(2, 7, 3, 2, 3.5)}, 0, ErrCounted},
		"and one that is denied":   {[]Step{lend(2, 7, a, 0), stored(2, 7, 9, 5, 4.5)}, 5, nil},
		"more than was asked for":  {[]Step{lend(2, 7, a, 0), stored(2, 7, 9, 6, 4.5)}, 6, ErrCounted},
		"before it was asked for":  {[]Step{lend(2, 7, a, 0), stored(2, 7, 9, 5, 3.5)}, 5, ErrCounted},
		"asked for before a lease": {[]Step{lend(2, 9, a, 20), stored(2, 9, 9, 3, 30)}, 3, ErrCounted},
		"robots.txt is no page":    {[]Step{lend(2, 7, a, 0), stored(2, 7, 1, 2, 0.9)}, 2, ErrCounted},
		"the one that is denied under two leases": {[]Step{lend(2, 7, a, 0), stored(2, 7, 9, 5, 6), lend(2, 8, b, 10),
			stored(2, 8, 9, 5, 15), lend(2, 9, a, 20), stored(2, 9, 9, 1, 30)}, 11, ErrCounted},
		"lent to another under one lease": {[]Step{lend(2, 7, a, 0), lend(3, 7, b, 1)}, 0, ErrCounted},
		"an earlier lease after a later":  {[]Step{lend(2, 8, a, 0), lend(3, 7, b, 1)}, 0, ErrCounted},
	} {
		pages, err := StoredOnce(c.steps, log, denied)
		if !errors.Is(err, c.want) || pages != c.pages {
			t.Errorf("%s: %d pages, %v; want %d, %v", name, pages, err, c.pages, c.want)
		}
	}
}
