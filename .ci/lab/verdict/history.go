package verdict

import (
	"cmp"
	"errors"
	"fmt"
	"maps"
	"net/netip"
	"slices"
	"time"

	"henro/cmd/fakeweb"
)

var (
	// ErrShared says that a host was in the hands of two slaves.
	ErrShared = errors.New("a host was in the hands of two slaves at once")
	// ErrCounted says that a fact was stored twice, or under a lease that was not the one of its host.
	ErrCounted = errors.New("a fact was not stored once, under the lease of its host")
)

// Step is what a master's log says of a lease: its host was lent, or facts were stored under it. Those of one master
// are in the order of its log.
type Step struct {
	At    time.Time // to the millisecond: right before it was sent, or after it was on disk
	Term  uint64    // of the master
	Lease uint64
	// Of a lend.
	Host string
	To   netip.Addr // the slave, as the web sees it
	// Of facts; no visits: a lend.
	Seq    uint64 // number under the lease of the last one
	Visits int    // of pages
}

// OneAtATime checks that every host was in the hands of one slave at a time, whichever master lent it: that lends and
// requests can be put into one order, in which each request is of the slave to which its host was lent last. Requests
// of one host do not overlap (see checkPace), so that is so when between a request and the one before of the same slave
// either no other slave asked, or the host was lent to it again.
func OneAtATime(steps []Step, log []fakeweb.Entry) error {
	lent := map[hand][]time.Time{}
	for _, s := range steps {
		if s.Visits == 0 {
			lent[hand{s.Host, s.To}] = append(lent[hand{s.Host, s.To}], s.At)
		}
	}
	log = slices.SortedStableFunc(slices.Values(log), func(a, b fakeweb.Entry) int { return a.Start.Compare(b.Start) })
	hands, before := map[string]netip.Addr{}, map[hand]time.Time{}
	var errs []error
	for _, e := range log {
		p := hand{e.Origin(), e.From.Addr()}
		if hands[p.host] != p.to && !slices.ContainsFunc(lent[p], func(at time.Time) bool {
			return at.After(before[p]) && !at.After(e.Start)
		}) {
			errs = append(errs, fmt.Errorf("%w: %s asks for %s at %s, and it was not lent to it since %s", ErrShared,
				p.to, e.URL(), clock(e.Start), clock(before[p])))
		}
		hands[p.host], before[p] = p.to, e.Start
	}
	return few(errs, "requests")
}

// hand is a slave that has a host.
type hand struct {
	host string
	to   netip.Addr
}

// StoredOnce checks that every fact counted once, under the lease by which its host was lent last, in the order of the
// terms: masters say what they did after they did it, and one that was stopped says it when another one leads. Under a
// lease no more pages may have been stored than its slave had asked for, and those of the host that robots.txt denies,
// which nobody asks for; of a host no more than all have asked for, and these. A master that is killed may have stored
// what it has not said, so numbers may be left out. It returns how many pages were stored.
func StoredOnce(steps []Step, log []fakeweb.Entry, denied map[string]int) (pages int, err error) {
	asked, left := map[hand][]time.Time{}, maps.Clone(denied)
	for _, e := range log {
		if e.Path != "/robots.txt" && e.Path != "/robots-moved.txt" {
			p := hand{e.Origin(), e.From.Addr()}
			asked[p] = append(asked[p], e.Start)
			left[p.host]++
		}
	}
	for _, all := range asked {
		slices.SortFunc(all, time.Time.Compare)
	}
	type lease struct {
		Step        // by which it was lent first
		seq  uint64 // of the last fact stored
		sum  int    // pages stored
	}
	leases, current := map[uint64]*lease{}, map[string]uint64{}
	steps = slices.SortedStableFunc(slices.Values(steps), func(a, b Step) int {
		return cmp.Or(cmp.Compare(a.Term, b.Term), a.At.Compare(b.At))
	})
	var errs []error
	wrong := func(s *Step, format string, arguments ...any) {
		errs = append(errs, fmt.Errorf("%w: lease %d at %s in term %d: %s", ErrCounted, s.Lease, clock(s.At), s.Term,
			fmt.Sprintf(format, arguments...)))
	}
	for i := range steps {
		s, l := &steps[i], leases[steps[i].Lease]
		switch {
		case s.Visits == 0 && l == nil: // another one of its host is over
			if before := current[s.Host]; before > s.Lease {
				wrong(s, "%s was lent under the later %d before", s.Host, before)
			}
			leases[s.Lease], current[s.Host] = &lease{Step: *s}, s.Lease
		case s.Visits == 0: // more was lent under it
			if s.Host != l.Host || s.To != l.To {
				wrong(s, "lent %s to %s, and %s to %s before", s.Host, s.To, l.Host, l.To)
			}
		case l == nil:
			wrong(s, "facts, and it was not lent")
		default:
			if now := current[l.Host]; now != s.Lease {
				wrong(s, "facts, and its host was lent under %d", now)
			}
			if s.Seq <= l.seq {
				wrong(s, "facts up to %d, after those up to %d", s.Seq, l.seq)
			}
			l.seq, l.sum, pages = s.Seq, l.sum+s.Visits, pages+s.Visits
			left[l.Host] -= s.Visits
			n := denied[l.Host]
			for _, at := range asked[hand{l.Host, l.To}] {
				if !at.Before(l.At) && !at.After(s.At) {
					n++
				}
			}
			if n < l.sum || left[l.Host] < 0 {
				wrong(s, "%d pages of %s stored, and there were %d; of all %d too many", l.sum, l.Host, n,
					max(0, -left[l.Host]))
			}
		}
	}
	return pages, few(errs, "steps")
}
