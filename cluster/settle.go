package cluster

import (
	"maps"
	"slices"
	"strings"
	"time"
)

// settler turns what the gossip says into what its listener shall believe: it waits before believing bad news, and
// before believing good news from a node that has cried wolf. It is pure: sightings and the clock go in, events come
// out.
//
// For one name:
//
//	            seen: reported at once
//	┌── down ──────────────────────────────► up ◄─────────────────┐
//	│    ▲                                   │ lost               │ seen again: nothing is reported
//	│    │ still lost after settle: reported ▼                    │
//	│    └──────────────────────────────── shaky ─────────────────┘
//	│
//	└─ the same boot, reported down before, is seen again: reported after settle·2ⁿ, n times reported up again so far
//
// A greater boot of the name takes the place of the smaller at once: the old one is reported down and the new one up. A
// node that announced that it leaves is reported down at once.
//
// Invariants: of one name at most one boot is reported up; up and down alternate; advance reports everything that is
// due at the moment it is given.
type settler struct {
	settle  time.Duration
	longest time.Duration // cap of settle·2ⁿ
	names   map[string]*standing
}

// standing is what is known of one name.
type standing struct {
	seen     map[string]Member // boots that the gossip holds alive now
	reported *Member           // what the listener believes is up
	lostAt   time.Time         // since when the reported boot is gone; zero while it is seen
	last     Member            // what was reported down last
	seenAt   time.Time         // since when last's boot is seen again
	revived  int               // times the same boot was reported up again
	idleAt   time.Time         // since when there is nothing to believe or to see
}

// forgetAfter is how long a name without any sign is remembered, so that the memory is bounded by the nodes of one
// hour.
const forgetAfter = time.Hour

func newSettler(settle, longest time.Duration) *settler {
	return &settler{settle: settle, longest: longest, names: make(map[string]*standing)}
}

// see notes that the gossip holds m alive.
func (s *settler) see(m Member, now time.Time) {
	st := s.names[m.Name]
	if st == nil {
		st = &standing{seen: make(map[string]Member)}
		s.names[m.Name] = st
	}
	if _, ok := st.seen[m.Boot]; !ok && m.Boot == st.last.Boot {
		st.seenAt = now
	}
	st.seen[m.Boot] = m
	if st.reported != nil && st.reported.Boot == m.Boot {
		st.lostAt = time.Time{}
	}
}

// lose notes that the gossip has given m up, which holds the last that the member said of itself.
func (s *settler) lose(m Member, now time.Time) {
	st := s.names[m.Name]
	if st == nil {
		return
	}
	delete(st.seen, m.Boot)
	if st.reported == nil || st.reported.Boot != m.Boot {
		return
	}
	st.reported.Leaving = st.reported.Leaving || m.Leaving
	if st.lostAt.IsZero() {
		st.lostAt = now
	}
}

// advance returns what has settled by now, in an order that does not depend on chance.
func (s *settler) advance(now time.Time) []Event {
	var events []Event
	for _, name := range slices.Sorted(maps.Keys(s.names)) {
		st := s.names[name]
		events = s.judge(st, now, events)
		switch {
		case st.reported != nil || len(st.seen) > 0:
			st.idleAt = time.Time{}
		case st.idleAt.IsZero():
			st.idleAt = now
		case now.Sub(st.idleAt) >= forgetAfter:
			delete(s.names, name)
		}
	}
	return events
}

func (s *settler) judge(st *standing, now time.Time, events []Event) []Event {
	if st.reported != nil {
		newest, any := st.newest()
		current, seen := st.seen[st.reported.Boot]
		switch {
		case any && newest.Boot > st.reported.Boot:
			events = st.down(events, true)
		case seen && current != *st.reported:
			before := *st.reported
			st.reported = &current
			return append(events, &MemberUpdated{Member: current, Before: before})
		case seen:
			return events
		case st.reported.Leaving || now.Sub(st.lostAt) >= s.settle:
			events = st.down(events, false)
		default:
			return events
		}
	}
	newest, any := st.newest()
	if !any || newest.Boot == st.last.Boot && now.Before(st.seenAt.Add(s.hold(st))) {
		return events
	}
	if newest.Boot == st.last.Boot {
		st.revived++
	} else {
		st.revived = 0
	}
	st.reported = &newest
	st.lostAt = time.Time{}
	return append(events, &MemberUp{Member: newest})
}

// down reports that the present boot is down.
func (st *standing) down(events []Event, replaced bool) []Event {
	st.last, st.reported, st.lostAt, st.seenAt = *st.reported, nil, time.Time{}, time.Time{}
	return append(events, &MemberDown{Member: st.last, Replaced: replaced})
}

// newest is the greatest boot that is seen.
func (st *standing) newest() (m Member, any bool) {
	for _, seen := range st.seen {
		if !any || strings.Compare(seen.Boot, m.Boot) > 0 {
			m, any = seen, true
		}
	}
	return m, any
}

// hold is how long a boot that was reported down must be seen before it is reported up again: settle·2ⁿ, at most
// longest.
func (s *settler) hold(st *standing) time.Duration {
	return min(s.settle<<min(st.revived, 20), s.longest)
}

// next is when advance has something to do even if nothing is seen or lost until then; zero: never.
func (s *settler) next() time.Time {
	var at time.Time
	earlier := func(t time.Time) {
		if at.IsZero() || t.Before(at) {
			at = t
		}
	}
	for _, st := range s.names {
		newest, any := st.newest()
		switch {
		case st.reported != nil && !st.lostAt.IsZero():
			earlier(st.lostAt.Add(s.settle))
		case st.reported == nil && any && newest.Boot == st.last.Boot:
			earlier(st.seenAt.Add(s.hold(st)))
		case !st.idleAt.IsZero():
			earlier(st.idleAt.Add(forgetAfter))
		}
	}
	return at
}

// members are those reported up, by name.
func (s *settler) members() []Member {
	var all []Member
	for _, name := range slices.Sorted(maps.Keys(s.names)) {
		if st := s.names[name]; st.reported != nil {
			all = append(all, *st.reported)
		}
	}
	return all
}
