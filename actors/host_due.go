package actors

import (
	"cmp"
	"time"

	"github.com/asynkron/protoactor-go/actor"

	"henro/actors/politeness"
	"henro/actors/revisit"
	"henro/store"
)

// moveBatch bounds how many due pages are put back in one write.
const moveBatch = 1000

// share makes one line of new pages and of known pages that are due, by turns, so that each gets half of the host's
// time while both wait (S0 §5). Leases of an odd number of visits begin with the other kind in turn: a slow host's
// lease is one visit.
func (h *Host) share(fresh, known []store.Entry) []store.Entry {
	if len(known) == 0 {
		return fresh
	}
	line := make([]store.Entry, 0, len(fresh)+len(known))
	for turn := h.knownFirst; len(fresh) > 0 || len(known) > 0; turn = !turn {
		if len(known) > 0 && (turn || len(fresh) == 0) {
			line, known = append(line, known[0]), known[1:]
		} else {
			line, fresh = append(line, fresh[0]), fresh[1:]
		}
	}
	return line
}

const aDay = 24 * time.Hour

// spacing is the time between two visits of known pages of this host, as far as can be foreseen.
func (h *Host) spacing() time.Duration {
	spacing := time.Duration(float64(time.Second) / h.politeness.Capacity(&h.Politeness))
	if h.newWait {
		spacing *= 2 // the other half is for new pages
	}
	return spacing
}

// room is how many due pages can be visited within a day from now; what a lease may hold already has room in any case.
func (h *Host) room(now time.Time) int {
	room := 0
	if begin := max(0, h.politeness.NextAllowed().Sub(now)); begin < aDay {
		room = int((aDay - begin) / h.spacing())
	}
	lease := h.PageBudget
	if interval := h.politeness.Interval(&h.Politeness); interval > 0 {
		lease = min(lease, int(h.LeaseSpan/interval))
	}
	return max(1, room, lease)
}

// shorten puts back onto the time queue what cannot be visited within a day, so that the line is short however many
// pages are due.
func (h *Host) shorten(ctx actor.Context) {
	if !h.moving && h.due > h.room(time.Now()) {
		h.askOverflow(ctx)
	}
}

func (h *Host) askOverflow(ctx actor.Context) {
	h.moving = true
	ctx.Request(h.partition, &OverflowAsked{Host: h.name, Keep: h.room(time.Now()), Limit: moveBatch})
}

// putBack gives each page of the overflow the moment at which its turn would come if nothing else fell due: when it
// stands n-th in line, after n visits. That is a day away at least, for the day before is taken; pages that fall due
// meanwhile and share that day with it wait in line as it does. (The paper brings the overflow back after three days,
// whatever the host's interval: then a line of many days comes back whole, again and again.)
func (h *Host) putBack(ctx actor.Context, m *OverflowLoaded) {
	if len(m.Entries) == 0 {
		h.moving = false
		h.due = min(h.due, h.room(time.Now()))
		return
	}
	now := time.Now()
	keep, spacing := h.room(now), h.spacing()
	begin := now
	if next := h.politeness.NextAllowed(); next.After(begin) {
		begin = next
	}
	write := &Write{Tag: &movedTag{}, Urgent: true}
	for i, entry := range m.Entries {
		at := begin.Add(time.Duration(keep+i) * spacing)
		if day := now.Add(aDay); at.Before(day) {
			at = day
		}
		entry.Page.Next = at
		write.Moves = append(write.Moves, entry)
	}
	h.write(ctx, write)
}

// replan finds the relief that this host needs, from what its pages ask for and what it bears, and judges whether it
// bears it without. The plan is made anew after visits of a twentieth of the pages, at most 100; each page follows when
// it is timed next.
func (h *Host) replan() {
	if !h.Continuous {
		return
	}
	demand := h.politeness.Demand(&h.Revisit)
	asked := politeness.Price(demand, politeness.Plan{Min: demand.Min, Max: demand.Max}).Load
	h.plan, _ = politeness.Relieve(h.Relief, demand, h.politeness.Spare(&h.Politeness, h.newWait))
	h.verdict = h.politeness.Judge(&h.Politeness, asked)
	h.replanIn = min(int(h.politeness.Pages())/20, 100)
}

// learn lets the host's track record and its plan learn from a visit of a known page.
func (h *Host) learn(old *store.Page, found finding) {
	if h.replanIn--; h.replanIn <= 0 {
		h.replan()
	}
	if found.gap <= 0 {
		return
	}
	if found.hinted {
		h.politeness.Hints().Found(found.changed, found.gap, found.mean)
	}
	h.politeness.Modified().ModifiedAge(found.since, found.gap, found.mean, found.changed)
	if found.waited { // a visit at a moment that the page chose tells nothing of what estimates foretell
		return
	}
	history := revisit.History(old.Timing)
	center := h.politeness.Rates().Prior().Center(&h.Revisit)
	h.politeness.Trust().Saw(cmp.Or(h.Revisit.Estimate(&history), center), center, found.gap, found.changed)
}

// countVerdict keeps the totals of hosts by verdict in step with this host's.
func (h *Host) countVerdict(w *Write) {
	if !h.Continuous {
		return
	}
	now := uint32(h.verdict) + 1
	if before := h.record.Flags & verdictFlags; before != now {
		if before != 0 {
			w.Totals.Verdicts[before-1]--
		}
		w.Totals.Verdicts[now-1]++
		h.record.Flags = h.record.Flags&^verdictFlags | now
		w.Host = h.row()
	}
}

// HostRecord.Flags: the lowest bits hold the verdict last counted, plus one, 0: none was; the others the minute since
// 1970 since which robots.txt could not be had, 0: it could.
const (
	verdictBits  = 2
	verdictFlags = 1<<verdictBits - 1
)
