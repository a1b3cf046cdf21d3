package host

import (
	"time"

	"henro/actors/admission"
	"henro/actors/protocol"
	"henro/actors/robots"
	"henro/actors/stoplist"
	"henro/messages"
	"henro/store"
)

// Exclusion is the entry of the stop list by which a person keeps a whole host from being asked: its root, for good.
func Exclusion(host string, at time.Time) store.StopEntry {
	return store.StopEntry{Prefix: host + "/", Reason: admission.Excluded.String(), Evidence: stoplist.ByPerson, At: at,
		Rounds: 1}
}

// heldOff is when the pages of an excluded host are looked at again, in case it was let in: there is no list of
// them.
const heldOff = aDay

// exclude takes the order of a person.
func (b *Book) exclude(m *protocol.HostExcluded) {
	if m.On {
		b.judge.known.Stops.Restore(StopEntry(m.Entry))
		if b.loan.lend != nil { // what is being lent is not
			b.loan.lend.void = true
		}
	} else {
		b.judge.known.Stops.Remove(m.Entry.Prefix)
	}
}

// stopExcluded reports whether the host is excluded. Its pages are given up then if the crawl is to end, and put off
// otherwise; hosts that wait for its robots.txt get the answer that it cannot be had.
func (b *Book) stopExcluded(m *protocol.PagesLoaded, waiting []store.Entry, now time.Time) bool {
	if !b.judge.known.Stops.Excluded(now) {
		return false
	}
	if b.robots.wanted() {
		b.robots.answerAskers(robots.Unreached(), nil, store.Failure{At: now,
			Reason: uint8(messages.Reason_ROBOTS_UNREACHABLE), Says: "the host is excluded"})
	}
	switch {
	case len(waiting)+len(m.Due)+len(m.Ghosts) == 0:
		b.loan.refuseLend()
	case !b.o.Continuous && len(waiting) > 0:
		b.judge.giveUp(waiting, nil, admission.Excluded)
	default:
		w := &protocol.Write{Urgent: true, Tag: &refusedTag{}, Ghosts: m.Ghosts}
		for _, entry := range waiting {
			entry.Page.Next = now.Add(heldOff)
			w.Visits = append(w.Visits, store.Visited{Position: entry.Position, Page: entry.Page, Retry: true})
		}
		for _, entry := range m.Due {
			entry.Page.Next = now.Add(heldOff)
			w.Moves = append(w.Moves, entry)
		}
		b.write(w)
	}
	return true
}

// forGood is the last moment that the store can hold.
var forGood = time.Unix(1<<32-1, 0)

// StopEntry is an entry as a stop list has it.
func StopEntry(e store.StopEntry) stoplist.Entry {
	if e.Until.IsZero() {
		e.Until = forGood
	}
	return stoplist.Entry(e)
}
