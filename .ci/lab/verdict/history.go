package verdict

import (
	"errors"
	"fmt"
	"net/netip"
	"slices"
	"time"

	"henro/slave/fakeweb"
)

// ErrShared says that a host was in the hands of two slaves.
var ErrShared = errors.New("a host was in the hands of two slaves at once")

// Lend is a host lent to a slave, as a master's log has it.
type Lend struct {
	At   time.Time // right before it was sent, to the millisecond
	Host string
	To   netip.Addr // the slave, as the web sees it
}

// OneAtATime checks that every host was in the hands of one slave at a time, whichever master lent it: that lends and
// requests can be put into one order, in which each request is of the slave to which its host was lent last. Requests
// of one host do not overlap (see checkPace), so that is so when between a request and the one before of the same slave
// either no other slave asked, or the host was lent to it again. It returns how many lends and requests there were.
func OneAtATime(lends []Lend, log []fakeweb.Entry) (steps int, err error) {
	type pair struct {
		host string
		to   netip.Addr
	}
	lent := map[pair][]time.Time{}
	for _, l := range lends {
		lent[pair{l.Host, l.To}] = append(lent[pair{l.Host, l.To}], l.At)
	}
	log = slices.SortedStableFunc(slices.Values(log), func(a, b fakeweb.Entry) int { return a.Start.Compare(b.Start) })
	hands, before := map[string]netip.Addr{}, map[pair]time.Time{}
	var errs []error
	for _, e := range log {
		p := pair{e.Origin(), e.From.Addr()}
		if hands[p.host] != p.to && !slices.ContainsFunc(lent[p], func(at time.Time) bool {
			return at.After(before[p]) && !at.After(e.Start)
		}) {
			errs = append(errs, fmt.Errorf("%w: %s asks for %s at %s, and it was not lent to it since %s", ErrShared,
				p.to, e.URL(), clock(e.Start), clock(before[p])))
		}
		hands[p.host], before[p] = p.to, e.Start
	}
	return len(lends) + len(log), few(errs, "requests")
}
