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
//	            seen: told at once
//	┌── down ──────────────────────────► up ◄─────────────────┐
//	│    ▲                               │ lost               │ seen again: nothing is told
//	│    │ still lost after settle: told ▼                    │
//	│    └──────────────────────────── shaky ─────────────────┘
//	│
//	└─ the same boot, told down before, is seen again: told after settle·2ⁿ, n times told up again so far
//
// A greater boot of the name takes the place of the smaller at once: the old one is told down and the new one up. A
// node that said it was leaving is told down at once.
//
// Invariants: of one name at most one boot is told up; up and down alternate; advance told everything that was due by
// its now.
type settler struct {
	settle  time.Duration
	longest time.Duration // cap of settle·2ⁿ
	names   map[string]*standing
}

// standing is what is known of one name.
type standing struct {
	seen    map[string]Member // boots that the gossip holds alive now
	told    *Member           // what the listener believes is up
	lostAt  time.Time         // since when the told boot is gone; zero while it is seen
	last    Member            // what was told down last
	seenAt  time.Time         // since when last's boot is seen again
	revived int               // times the same boot was told up again
	idleAt  time.Time         // since when there is nothing to believe or to see
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
	if st.told != nil && st.told.Boot == m.Boot {
		st.lostAt = time.Time{}
	}
}

// lose notes that the gossip has given m up. The member is its last metadata.
func (s *settler) lose(m Member, now time.Time) {
	st := s.names[m.Name]
	if st == nil {
		return
	}
	delete(st.seen, m.Boot)
	if st.told == nil || st.told.Boot != m.Boot {
		return
	}
	st.told.Leaving = st.told.Leaving || m.Leaving
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
		case st.told != nil || len(st.seen) > 0:
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
	if st.told != nil {
		newest, any := st.newest()
		current, seen := st.seen[st.told.Boot]
		switch {
		case any && newest.Boot > st.told.Boot:
			events = st.down(events, true)
		case seen && current != *st.told:
			before := *st.told
			st.told = &current
			return append(events, &MemberUpdated{Member: current, Before: before})
		case seen:
			return events
		case st.told.Leaving || now.Sub(st.lostAt) >= s.settle:
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
	st.told = &newest
	st.lostAt = time.Time{}
	return append(events, &MemberUp{Member: newest})
}

// down tells that the told boot is down.
func (st *standing) down(events []Event, replaced bool) []Event {
	st.last, st.told, st.lostAt, st.seenAt = *st.told, nil, time.Time{}, time.Time{}
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

// hold is how long a boot that was told down must be seen before it is told up again: settle·2ⁿ, at most longest.
func (s *settler) hold(st *standing) time.Duration {
	d := s.settle
	for range st.revived {
		if d *= 2; d >= s.longest {
			return s.longest
		}
	}
	return d
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
		case st.told != nil && !st.lostAt.IsZero():
			earlier(st.lostAt.Add(s.settle))
		case st.told == nil && any && newest.Boot == st.last.Boot:
			earlier(st.seenAt.Add(s.hold(st)))
		case !st.idleAt.IsZero():
			earlier(st.idleAt.Add(forgetAfter))
		}
	}
	return at
}

// members are those told up, by name.
func (s *settler) members() []Member {
	var all []Member
	for _, name := range slices.Sorted(maps.Keys(s.names)) {
		if st := s.names[name]; st.told != nil {
			all = append(all, *st.told)
		}
	}
	return all
}
