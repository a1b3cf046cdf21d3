package host

import (
	"encoding/json"
	"slices"
	"time"

	"henro/actors/admission"
	"henro/actors/alias"
	"henro/actors/protocol"
	"henro/actors/scope"
	"henro/messages/outlink"
	"henro/messages/weburl"
	"henro/store"
)

// The names of the notes: what shows that the host is another, and what a person has said.
const (
	BeliefsNote = "alias"
	OrderNote   = "alias-order"
)

// evidence is what shows that the host is another under a second name. Nothing is left out because of it.
type evidence struct {
	*base
	defaults
	beliefs alias.Beliefs
	changed bool // the beliefs are to be written
}

// Name implements Feature.
func (e *evidence) Name() string { return BeliefsNote }

// Restore implements Feature.
func (e *evidence) Restore(note []byte) error { return e.beliefs.UnmarshalBinary(note) }

// Changed implements Feature.
func (e *evidence) Changed(bool) (note []byte, is bool) {
	if !e.changed {
		return nil, false
	}
	e.changed = false
	note, _ = e.beliefs.MarshalBinary() // never fails
	return note, true
}

// Saw takes evidence from a visit: whether the host redirects the path to another host, or had a page for it, or said
// that there is none.
func (e *evidence) Saw(v *Visit) {
	page, to := v.Page, ""
	switch answered := page.Reason == 0 && page.Flags&store.Dropped == 0; {
	case !e.o.Aliases || !answered:
		return
	case page.Status/100 == 3:
		at := slices.IndexFunc(v.Links, func(l outlink.Outlink) bool { return l.Kind == outlink.Redirect })
		if at < 0 {
			return
		}
		to = v.Links[at].URL
	case page.Status/100 != 2 && page.Status != 404 && page.Status != 410:
		return
	}
	e.changed = e.beliefs.Answered(e.name, page.URL[len(e.name):], to, e.now) || e.changed
}

// compare takes comparisons of the host's pages with those of other hosts.
func (e *evidence) compare(m *protocol.TextsCompared) {
	for i := range m.Comparisons {
		e.beliefs.Saw(&m.Comparisons[i], e.now)
	}
	w := &protocol.Write{}
	e.changed = true
	e.noteChanges(w, false)
	e.write(w)
}

// secondName is what a person has said of whom the host stands for. Its pages are not visited once that other, the
// representative, has answered for them: until then they wait, so none is lost, whatever crashes.
//
//	waits ─► held ─► does the representative have it? ─ not visited yet ─► it is admitted there, and held on
//	                  │ yes                  │ no
//	                  ▼                      ▼
//	                given up               Own: visited under its own name
type secondName struct {
	*base
	defaults
	loan  *loan
	judge *judge

	of string // the representative; empty: the host stands for itself
	// held pages that were asked about, by their URLs at the representative; nil: none
	asked  map[string]store.Entry
	nextAt time.Time     // the representative is not asked before
	wait   time.Duration // between the last two questions to it
}

// Name implements Feature.
func (s *secondName) Name() string { return OrderNote }

// Follows implements Feature: pages of an alias wait for what its representative has.
func (s *secondName) Follows() bool { return s.of == "" }

// Restore implements Feature.
func (s *secondName) Restore(note []byte) error {
	order, err := ReadOrder(note)
	if order != nil {
		s.of = order.Of
	}
	return err
}

// ReadOrder reads the note of what a person has said; nil: nothing.
func ReadOrder(note []byte) (order *alias.Decision, err error) {
	if len(note) > 0 {
		order = &alias.Decision{}
		err = json.Unmarshal(note, order)
	}
	return order, err
}

const (
	// aliasBatch bounds the pages of an alias that are asked about at once.
	aliasBatch = 1000
	// the representative is asked again after aliasWait, and after twice as long each time that it had nothing new: the
	// Finder reads all records of a partition for an answer
	aliasWait, aliasWaitMost = 10 * time.Second, time.Hour
	// aliasRest is for how long a known page of an alias is put off
	aliasRest = 7 * aDay
)

// takeOrder takes what a person says of whom the host stands for. A new representative may have the pages of the lease,
// which is asked back. If the host is to stand for itself, what was given up as pages of an alias waits again.
func (s *secondName) takeOrder(order *alias.Decision, reply any) {
	note, _ := json.Marshal(order) // never fails
	w := &protocol.Write{Urgent: true, Tag: &protocol.OrderDone{Reply: reply},
		Notes: []protocol.Note{{Host: s.name, Name: OrderNote, Bytes: note}}}
	switch order.Of {
	case "":
		w.Sweeps = append(w.Sweeps, protocol.Sweep{Host: s.name, Says: admission.AliasHost.String()})
	case s.of:
	default:
		s.loan.recall()
	}
	s.of, s.asked, s.nextAt, s.wait = order.Of, nil, time.Time{}, 0
	s.loan.queue.retryAt = time.Time{}
	s.write(w)
	s.loan.announceAgain()
}

// hold leaves out the pages that the representative may have, and asks it about them. It returns the pages that are
// visited under the host's own name.
func (s *secondName) hold(fresh, due []store.Entry) (ownFresh, ownDue []store.Entry) {
	if s.of == "" {
		return fresh, due
	}
	held := map[string]store.Entry{}
	sift := func(entries []store.Entry) (rest []store.Entry) {
		for _, entry := range entries {
			page := &entry.Page
			target := page.URL[len(s.name):]
			if page.Flags&store.Own != 0 || s.loan.robots.known() && !s.loan.robots.rules.Allowed(target) {
				rest = append(rest, entry)
			} else {
				held[s.of+target] = entry
			}
		}
		return rest
	}
	ownFresh, ownDue = sift(fresh), sift(due)
	if len(held) == 0 {
		return ownFresh, ownDue
	}
	if !s.now.Add(s.o.LookAhead).Before(s.nextAt) { // the Master lends a host that much early
		s.asked, s.nextAt = held, s.now.Add(max(s.wait, aliasWait))
		asked := &protocol.RecordsAsked{Host: s.name, Of: s.of}
		for url := range held {
			asked.URLs = append(asked.URLs, url)
		}
		s.send(Partition, asked)
	}
	s.loan.queue.retryAt = s.nextAt
	return ownFresh, ownDue
}

// takeCounterparts takes what the representative has of the pages that were asked about.
func (s *secondName) takeCounterparts(m *protocol.RecordsFound) {
	if s.asked == nil || m.Of != s.of {
		return
	}
	answers := make(map[string]bool, len(m.Pages))
	for i := range m.Pages {
		answers[m.Pages[i].URL] = hasCounterpart(&m.Pages[i])
	}
	w := &protocol.Write{Urgent: true}
	for url, entry := range s.asked {
		has, answered := answers[url]
		s.decide(w, entry, url, has, answered)
	}
	if s.wait *= 2; len(w.Visits)+len(w.Moves) > 0 {
		s.wait = aliasWait
	}
	s.wait = min(max(s.wait, aliasWait), aliasWaitMost)
	s.asked, s.nextAt = nil, s.now.Add(s.wait)
	s.judge.report(w)
	w.Host = s.row()
	s.write(w)
	s.loan.announceAgain()
}

// decide decides about a held page, whose counterpart at the representative has the URL. answered: the representative
// has visited that; has: it has a page there.
func (s *secondName) decide(w *protocol.Write, entry store.Entry, url string, has, answered bool) {
	page := &entry.Page
	s.judge.beginVisited(page)
	link := outlink.Outlink{URL: url, Kind: outlink.Alias}
	taken := s.judge.toRepresentative(&link)
	switch {
	case answered && !has, !taken:
		page.Flags |= store.Own
		if !page.LastVisit.IsZero() {
			page.Next = s.now
		}
		w.Moves = append(w.Moves, entry)
	case !has:
	case !page.LastVisit.IsZero():
		page.Next = s.now.Add(aliasRest)
		w.Moves = append(w.Moves, entry)
	default:
		page.Flags, page.Next, page.Says = page.Flags|store.Dropped, time.Time{}, admission.AliasHost.String()
		w.Visits = append(w.Visits, store.Visited{Page: *page, Position: entry.Position,
			Links: []outlink.Outlink{link}})
		s.record.GivenUp++
		s.judge.note(admission.Skipped{URL: page.URL, Reason: admission.AliasHost, Depth: int(page.Depth)})
	}
}

// toRepresentative makes a candidate of the URL that stands for the page at the representative. It reports whether that
// belongs to the crawl.
func (j *judge) toRepresentative(l *outlink.Outlink) bool {
	to := admission.Place{Host: weburl.HostOf(l.URL), Depth: j.page.Depth, DepthLeft: j.page.DepthLeft,
		Redirects: j.page.Redirects, Requisite: j.page.Requisite}
	if j.page.Embedded {
		to.Requisite = outlink.PageToo
	}
	decide := j.regions.Of(to.Host).Decide
	if j.page.Requisite > 0 {
		decide = j.regions.Of(to.Host).Refuses
	}
	if decide(l.URL) != scope.In || l.URL[len(to.Host):] != j.page.URL[len(j.name):] {
		return false
	}
	j.take(l, &to)
	return true
}

// hasCounterpart reports whether a page of a representative, as it was visited, stands for that of its alias.
func hasCounterpart(page *store.Page) bool {
	if page.Flags&store.Dropped != 0 {
		return page.Says == admission.AliasHost.String() || page.Says == admission.Duplicate.String()
	}
	return page.Reason == 0 && page.Status < 400
}
