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

// heldOff is when the pages of an excluded host are looked at again, in case it was let in: there is no list of
// them.
const heldOff = aDay

// exclude takes what an operator decided: the root of the host is on the stop list, for good, or it goes.
func (b *Book) exclude(order *protocol.SetExcluded, reply any) {
	stops, root := b.judge.known.Stops, b.name+"/"
	if order.On {
		stops.Put(stoplist.Entry{Prefix: root, Reason: admission.Excluded.String(), Evidence: stoplist.ByPerson,
			At: b.now, Rounds: 1})
		if b.loan.lend != nil { // what is being lent is not
			b.loan.lend.void = true
		}
		b.loan.recall()
	} else {
		stops.Remove(root)
	}
	w := &protocol.Write{Urgent: true, Tag: &protocol.OrderDone{Reply: reply}}
	b.noteChanges(w, false)
	b.write(w)
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
