package walk

import (
	"encoding/binary"
	"math"
	"slices"
	"time"

	"henro/messages"
	"henro/messages/outlink"
	"henro/messages/weburl"
	"henro/store/fingerprint"
)

// Visit is what is to be asked for once.
type Visit struct {
	URL       weburl.URL
	At        time.Time      // it was asked for
	File      *File          // of the host's rules, as it was before; nil: it is a page or a requisite
	Task      *messages.Task // nil: followed inside the lease
	Left      int32          // depth
	Depth     int32
	Hops      uint32 // redirects
	Attempts  uint16
	Requisite uint8  // how far from a page; 0: a page; outlink.PageToo: both
	Via       string // of a requisite: the URL that names it; empty: unknown
	Render    bool   // its scripts are to be run on what is archived: nothing is asked for
}

// isRequisite reports that it is no page by itself.
func (v *Visit) isRequisite() bool { return v.Requisite > 0 && v.Requisite != outlink.PageToo }

// Visited begins the fact of a visit.
func (v *Visit) Visited(reason messages.Reason) *messages.PageVisited {
	visited := &messages.PageVisited{
		Url: v.URL.String(), DepthLeft: v.Left, Depth: v.Depth, Redirects: v.Hops, Attempts: uint32(v.Attempts),
		Requisite: uint32(v.Requisite), Position: v.Task.GetPosition(), Reason: reason, Unasked: v.Render,
	}
	if reason != messages.Reason_NONE {
		visited.Via = v.Via // it will be asked for again
	}
	return visited
}

// queue is what waits to be asked for.
type queue struct {
	visits []Visit
	seen   map[uint64]struct{} // fingerprints of the host's URLs that need no visit; nil: no links are followed
	budget int                 // visits that may still be made
	pages  int                 // that may still be followed to; negative: as many as the budget allows
}

// fill begins with the pages that are lent. Tasks that are no URLs have failed already.
func (l *queue) fill(task *messages.HostTask) (malformed []*messages.PageVisited) {
	l.budget, l.pages = int(task.PageBudget), max(0, int(task.PageLimit))
	if task.PageLimit == 0 {
		l.pages = -1
	}
	if task.Follow {
		l.seen = make(map[uint64]struct{}, len(task.Known)/8+len(task.Tasks))
		for known := task.Known; len(known) >= 8; known = known[8:] {
			l.seen[binary.BigEndian.Uint64(known)] = struct{}{}
		}
	}
	for _, t := range task.Tasks {
		v := Visit{Task: t, Left: t.DepthLeft, Depth: t.Depth, Hops: t.Redirects, Via: t.Via,
			Attempts:  uint16(min(t.Attempts, math.MaxUint16)),
			Requisite: uint8(min(t.Requisite, outlink.PageToo)), Render: t.Render}
		var err error
		if v.URL, err = weburl.Parse(t.Url); err != nil {
			visited := v.Visited(messages.Reason_MALFORMED)
			visited.Url = t.Url
			malformed = append(malformed, visited)
			continue
		}
		l.visits = append(l.visits, v)
		if l.seen != nil {
			l.seen[keyOf(&v)] = struct{}{}
		}
		if l.pages > 0 && !v.isRequisite() {
			l.pages--
		}
	}
	return malformed
}

func keyOf(v *Visit) uint64 { return fingerprint.URL(v.URL.String()) &^ 0xff }

// first is what is asked for next; zero: nothing waits.
func (l *queue) first() (v Visit) {
	if len(l.visits) > 0 {
		v = l.visits[0]
	}
	return v
}

// putBack puts a visit in front that was not made.
func (l *queue) putBack(v *Visit) {
	l.budget++
	l.visits = slices.Insert(l.visits, 0, *v)
}

// follow queues a link, as far as the lease allows, if it is taken.
func (l *queue) follow(v *Visit, takes func(url string) bool) {
	if l.seen == nil {
		return
	}
	key := keyOf(v)
	if _, known := l.seen[key]; known {
		l.promote(v)
		return
	}
	full := len(l.visits) >= l.budget || l.pages == 0
	if full && !v.isRequisite() || !takes(v.URL.String()) || !l.makeRoom() {
		return
	}
	if !v.isRequisite() {
		l.pages--
	}
	l.seen[key] = struct{}{}
	at := len(l.visits)
	if v.Requisite > 0 { // before new pages, so that a page is whole soon
		if i := slices.IndexFunc(l.visits, func(v Visit) bool { return v.Requisite == 0 }); i >= 0 {
			at = i
		}
	}
	l.visits = slices.Insert(l.visits, at, *v)
}

// makeRoom lets go of the last page that was followed, if there is no room: a requisite goes before, and the page is
// lent again, since the one that links to it reports it.
func (l *queue) makeRoom() bool {
	last := len(l.visits) - 1
	if last+1 < l.budget {
		return true
	}
	if last < 0 || l.visits[last].Task != nil || l.visits[last].Requisite > 0 || l.visits[last].Render {
		return false
	}
	delete(l.seen, keyOf(&l.visits[last]))
	if l.visits = l.visits[:last]; l.pages >= 0 {
		l.pages++
	}
	return true
}

// render queues a page behind the requisites that wait, for its scripts to be run; not if one that it has can not be
// asked for under this lease.
func (l *queue) render(v *Visit, has []Visit) {
	for i := range has {
		if _, known := l.seen[keyOf(&has[i])]; has[i].Requisite > 0 && !known {
			return
		}
	}
	at := slices.IndexFunc(l.visits, func(v Visit) bool { return v.Requisite == 0 && !v.Render })
	if at < 0 {
		at = len(l.visits)
	}
	l.visits = slices.Insert(l.visits, at, *v)
}

// promote makes a requisite that waits a page too, when a link leads there.
func (l *queue) promote(to *Visit) {
	if to.isRequisite() || l.pages == 0 {
		return
	}
	for i := range l.visits { // requisites stand before pages
		switch v := &l.visits[i]; {
		case v.Requisite == 0 && !v.Render:
			return
		case v.Task == nil && v.isRequisite() && v.URL == to.URL:
			v.Left, v.Depth, v.Hops, v.Requisite = to.Left, to.Depth, to.Hops, outlink.PageToo
			l.pages--
			return
		}
	}
}
