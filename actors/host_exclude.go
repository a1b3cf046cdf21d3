package actors

import (
	"time"

	"github.com/asynkron/protoactor-go/actor"

	"henro/actors/admission"
	"henro/actors/robots"
	"henro/actors/stoplist"
	"henro/messages"
	"henro/store"
)

// HostExcluded tells a Host that a person has excluded it, or has let it in again, which is on disk already.
type HostExcluded struct {
	Entry store.StopEntry
	On    bool
}

// Exclusion is the entry of the stop list by which a person keeps a whole host from being asked: its root, for good.
func Exclusion(host string, at time.Time) store.StopEntry {
	return store.StopEntry{Prefix: host + "/", Reason: admission.Excluded.String(), Evidence: stoplist.ByPerson, At: at,
		Rounds: 1}
}

// heldOff is when the pages of an excluded host are looked at again, in case it was let in: nobody keeps a list of
// them.
const heldOff = aDay

// exclude takes the word of a person.
func (h *Host) exclude(m *HostExcluded) {
	if m.On {
		h.judge.known.Stops.Restore(stopEntry(m.Entry))
		h.voided = h.asking != nil // what is being lent is not
	} else {
		h.judge.known.Stops.Remove(m.Entry.Prefix)
	}
}

// hold sees to what was loaded of a host that is excluded, and reports that it is: its pages are given up if the crawl
// is to end, and put off otherwise; who waits for its robots.txt is told that it cannot be had.
func (h *Host) hold(ctx actor.Context, m *PagesLoaded, waiting []store.Entry, now time.Time) bool {
	if !h.judge.known.Stops.Excluded(now) {
		return false
	}
	if h.wanted {
		h.answerAskers(ctx, robots.Unreached(), nil, messages.Reason_ROBOTS_UNREACHABLE)
	}
	switch {
	case len(waiting)+len(m.Due)+len(m.Ghosts) == 0:
		h.refuseLend(ctx)
	case !h.Continuous && len(waiting) > 0:
		h.dropAll(ctx, waiting, messages.Reason_NONE, admission.Excluded)
	default:
		w := &Write{Urgent: true, Tag: &refusedTag{}, Ghosts: m.Ghosts}
		for _, entry := range waiting {
			entry.Page.Next = now.Add(heldOff)
			w.Visits = append(w.Visits, store.Visited{Position: entry.Position, Page: entry.Page, Retry: true})
		}
		for _, entry := range m.Due {
			entry.Page.Next = now.Add(heldOff)
			w.Moves = append(w.Moves, entry)
		}
		h.write(ctx, w)
	}
	return true
}

// forGood is the last moment that the store can hold.
var forGood = time.Unix(1<<32-1, 0)

// stopEntry is an entry as the list has it.
func stopEntry(e store.StopEntry) stoplist.Entry {
	if e.Until.IsZero() {
		e.Until = forGood
	}
	return stoplist.Entry(e)
}
