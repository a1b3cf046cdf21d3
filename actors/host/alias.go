package host

import (
	"encoding/json"
	"fmt"
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

// aliases is what the host knows of being another host under a second name. The pages of an alias are not visited once
// the representative has answered for them: until then they wait, so none is lost, whatever crashes.
//
//	waits ─► held ─► does the representative have it? ─ not visited yet ─► it is admitted there, and held on
//	                  │ yes                  │ no, or a sample
//	                  ▼                      ▼
//	                given up               Own: visited under its own name
type aliases struct {
	*base
	loan  *loan
	judge *judge

	beliefs alias.Beliefs
	order   *alias.Order // what a person has said; nil: nothing
	// held pages that were asked about, by their URLs at the representative; nil: none
	asked     map[string]store.Entry
	nextAt    time.Time               // the representative is not asked before
	wait      time.Duration           // between the last two questions to it
	changed   bool                    // the beliefs are to be written
	heldUntil time.Time               // no page is visited before, since a review is awaited; zero: none is
	reviews   map[reviewKey]time.Time // until when an answer to each is waited for
}

// The names of the notes: what the host believes, and what a person has said.
const (
	BeliefsNote = "alias"
	OrderNote   = "alias-order"
)

// Name implements Feature.
func (a *aliases) Name() string { return BeliefsNote }

// Restore implements Feature.
func (a *aliases) Restore(note []byte) error { return a.beliefs.UnmarshalBinary(note) }

// Refuses implements Feature: links to an alias are taken, its pages wait.
func (a *aliases) Refuses(string, time.Time) admission.Reason { return admission.None }

// Follows implements Feature: pages of an alias wait for what its representative has.
func (a *aliases) Follows() bool { return a.of() == "" }

// Changed implements Feature.
func (a *aliases) Changed(bool) (note []byte, is bool) {
	if !a.changed {
		return nil, false
	}
	a.changed = false
	note, _ = a.beliefs.MarshalBinary() // never fails
	return note, true
}

// aliasOrder is what a person has said of whom the host stands for. The note is written with the order.
type aliasOrder struct {
	silent
	of *aliases
}

// Name implements Feature.
func (o *aliasOrder) Name() string { return OrderNote }

// Restore implements Feature.
func (o *aliasOrder) Restore(note []byte) (err error) {
	o.of.order, err = ReadOrder(note)
	return err
}

// ReadOrder reads the note of what a person has said; nil: nothing.
func ReadOrder(note []byte) (order *alias.Order, err error) {
	if len(note) > 0 {
		order = &alias.Order{}
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
	// reviewWait is how long an answer is waited for until a review is asked for again
	reviewWait = 5 * time.Minute
	// reviewHold is how long at most no page of a host is visited, while a review decides whether it is an alias: two
	// scans of the Finder
	reviewHold = time.Minute
	// reviewsMost bounds what a Host remembers of the reviews that it has asked for
	reviewsMost = 16
	// aliasRest is for how long a known page of an alias is put off
	aliasRest = 7 * aDay
)

type aliasTag struct{}

// of is the representative; empty: the host stands for itself.
func (a *aliases) of() string {
	switch {
	case a.order != nil:
		return a.order.Of
	case a.o.Aliases == MapAliases:
		return a.beliefs.Of
	}
	return ""
}

// Aliases is what is done about hosts that are others under a second name.
type Aliases uint8

// The values of Aliases.
const (
	NoAliases   Aliases = iota // no evidence is asked for
	MarkAliases                // evidence is collected
	MapAliases                 // their pages are visited at the other
)

// ParseAliases reads one of the words off, mark and map.
func ParseAliases(word string) (Aliases, error) {
	return oneOf[Aliases](word, "off", "mark", "map")
}

// oneOf reads one of three words as its number.
func oneOf[T ~uint8](word, first, second, third string) (T, error) {
	at := slices.Index([]string{first, second, third}, word)
	if at < 0 {
		return 0, fmt.Errorf("%q: want %s, %s or %s", word, first, second, third)
	}
	return T(at), nil
}

// take takes a fact about the host being another under a second name, or about pages that wait again. It reports
// whether the fact is one of these.
func (a *aliases) take(fact any) bool {
	switch m := fact.(type) {
	case *protocol.TextsCompared:
		a.takeCompared(m)
	case *protocol.RecordsFound:
		switch tag := m.Tag.(type) {
		case *review:
			a.readReview(tag, m)
		case *representatives:
			a.followRepresentatives(tag, m)
		case *counterparts:
			a.takeCounterparts(m)
		}
	case *protocol.PagesRevived:
		a.record.GivenUp -= min(a.record.GivenUp, uint64(m.Count))
		a.write(&protocol.Write{Host: a.row(), Tag: &aliasTag{}})
		a.loan.grow(m.Count, a.loan.line.known)
	default:
		return false
	}
	return true
}

// takeCompared takes comparisons of the host's pages with those of other hosts.
func (a *aliases) takeCompared(m *protocol.TextsCompared) {
	before := a.of()
	for i := range m.Comparisons {
		a.beliefs.Saw(a.name, &m.Comparisons[i], a.now)
	}
	a.writeBeliefs(before, false)
	a.review()
}

// writeBeliefs writes what the host believes, which may have changed what it stands for.
func (a *aliases) writeBeliefs(before string, urgent bool) {
	w := &protocol.Write{Urgent: urgent, Tag: &aliasTag{}}
	a.changed = true
	a.noteChanges(w, false)
	a.represented(before, w)
	a.write(w)
	a.loan.announceAgain()
}

// review asks for what has to be known before the host counts as an alias. If it may become one by the answer, it is
// not visited until then, reviewHold at most.
func (a *aliases) review() {
	ask := func(of reviewKey) bool {
		if a.now.Before(a.reviews[of]) {
			return false
		}
		if a.reviews == nil || len(a.reviews) >= reviewsMost {
			a.reviews = map[reviewKey]time.Time{}
		}
		a.reviews[of] = a.now.Add(reviewWait)
		a.send(Partition, &protocol.RecordsAsked{Host: of.host, Of: of.host, All: true, Tag: &review{reviewKey: of}})
		return true
	}
	unreviewed, siblings := a.beliefs.Unreviewed(a.name)
	for i := range unreviewed {
		c := &unreviewed[i]
		if ask(reviewKey{host: a.name, of: c.Other, redirects: c.Redirects}) && a.of() == "" &&
			a.o.Aliases == MapAliases && a.order == nil {
			a.heldUntil = a.now.Add(reviewHold)
			a.loan.recall()
		}
	}
	for _, pair := range siblings {
		ask(reviewKey{host: pair[0], of: pair[1]})
	}
}

// readReview takes the pages of one of both hosts of a review.
func (a *aliases) readReview(r *review, m *protocol.RecordsFound) {
	found, over := r.read(m)
	if !over {
		a.send(Partition, &protocol.RecordsAsked{Host: a.name, Of: r.of, All: true, Tag: r})
		return
	}
	before := a.of()
	a.beliefs.Reviewed(a.name, r.of, r.redirects, found, a.now)
	if !a.heldUntil.IsZero() {
		a.heldUntil, a.loan.line.retryAt = time.Time{}, time.Time{}
	}
	a.writeBeliefs(before, false)
}

// answersItself reports whether a host had a page for a path, or said that there is none.
func answersItself(page *store.Page) bool {
	return page.Flags&store.Dropped == 0 && page.Reason == 0 && (page.Status/100 == 2 ||
		page.Status == 404 || page.Status == 410)
}

// Saw takes evidence from a visit: whether the host redirects the path to another host, or answers it.
func (a *aliases) Saw(v *Visit) {
	page, links, to := v.Page, v.Links, ""
	switch {
	case a.o.Aliases == NoAliases:
		return
	case page.Reason == 0 && page.Status/100 == 3:
		at := slices.IndexFunc(links, func(l outlink.Outlink) bool { return l.Kind == outlink.Redirect })
		if at < 0 {
			return
		}
		to = links[at].URL
	case !answersItself(page):
		return
	}
	a.changed = a.beliefs.Answered(a.name, page.URL[len(a.name):], to, a.now) || a.changed
}

// takeOrder takes what a person says of whom the host stands for.
func (a *aliases) takeOrder(order *alias.Order, reply any) {
	before := a.of()
	a.order = order
	note, _ := json.Marshal(order) // never fails
	w := &protocol.Write{Urgent: true, Tag: &protocol.OrderDone{Reply: reply},
		Notes: []protocol.Note{{Host: a.name, Name: OrderNote, Bytes: note}}}
	a.represented(before, w)
	a.write(w)
	a.loan.announceAgain()
}

// represented does what follows if the host has another representative than before. A new one may have the pages of the
// lease, which is asked back. Without one, the pages that were given up for the one before wait again once w is
// written.
func (a *aliases) represented(before string, w *protocol.Write) {
	switch a.of() {
	case before:
		return
	case "":
		w.Sweeps = append(w.Sweeps, protocol.Sweep{Host: a.name, Says: admission.AliasHost.String()})
		w.Urgent = true
	default:
		a.loan.recall()
	}
	a.asked, a.nextAt, a.wait = nil, time.Time{}, 0
	a.loan.line.retryAt = time.Time{}
}

// hold leaves out the pages that the representative may have, and asks it about them. It returns the pages that are
// visited under the host's own name.
func (a *aliases) hold(fresh, due []store.Entry) (ownFresh, ownDue []store.Entry) {
	of := a.of()
	if of == "" {
		if a.now.Before(a.heldUntil) {
			a.loan.line.retryAt = a.heldUntil
			return nil, nil
		}
		return fresh, due
	}
	held := map[string]store.Entry{}
	sift := func(entries []store.Entry) (rest []store.Entry) {
		for _, entry := range entries {
			page := &entry.Page
			target := page.URL[len(a.name):]
			if page.Flags&store.Own != 0 || a.loan.robots.known() && !a.loan.robots.rules.Allowed(target) {
				rest = append(rest, entry)
			} else {
				held[of+target] = entry
			}
		}
		return rest
	}
	ownFresh, ownDue = sift(fresh), sift(due)
	if len(held) == 0 {
		return ownFresh, ownDue
	}
	if !a.now.Add(a.o.LookAhead).Before(a.nextAt) { // the Master lends a host that much early
		a.asked, a.nextAt = held, a.now.Add(max(a.wait, aliasWait))
		a.askRepresentative(&representatives{}, of)
	}
	a.loan.line.retryAt = a.nextAt
	return ownFresh, ownDue
}

// takeCounterparts takes what the representative has of the pages that were asked about.
func (a *aliases) takeCounterparts(m *protocol.RecordsFound) {
	if a.asked == nil || m.Of != a.of() {
		return
	}
	before := a.of()
	answers := make(map[string]bool, len(m.Pages))
	for i := range m.Pages {
		answers[m.Pages[i].URL] = hasCounterpart(&m.Pages[i])
	}
	w := &protocol.Write{Urgent: true, Tag: &aliasTag{}}
	for url, entry := range a.asked {
		has, answered := answers[url]
		a.decide(w, entry, url, has, answered)
	}
	if a.wait *= 2; len(w.Visits)+len(w.Moves) > 0 {
		a.wait = aliasWait
	}
	a.wait = min(max(a.wait, aliasWait), aliasWaitMost)
	a.asked, a.nextAt = nil, a.now.Add(a.wait)
	a.changed = a.beliefs.Decay(a.name, a.now) || a.changed
	a.noteChanges(w, false)
	a.judge.report(w)
	w.Host = a.row()
	a.represented(before, w)
	a.write(w)
	a.loan.announceAgain()
}

// decide decides about a held page, whose counterpart at the representative has the URL. answered: the representative
// has visited that; has: it has a page there.
func (a *aliases) decide(w *protocol.Write, entry store.Entry, url string, has, answered bool) {
	page := &entry.Page
	a.judge.beginVisited(page)
	link := outlink.Outlink{URL: url, Kind: outlink.Alias}
	taken := a.judge.toRepresentative(&link)
	switch {
	case answered && !has, !taken, alias.IsSample(page.URL) && has:
		page.Flags |= store.Own
		if !page.LastVisit.IsZero() {
			page.Next = a.now
		}
		w.Moves = append(w.Moves, entry)
	case !has:
	case !page.LastVisit.IsZero():
		page.Next = a.now.Add(aliasRest)
		w.Moves = append(w.Moves, entry)
	default:
		page.Flags, page.Next, page.Says = page.Flags|store.Dropped, time.Time{}, admission.AliasHost.String()
		w.Visits = append(w.Visits, store.Visited{Page: *page, Position: entry.Position,
			Links: []outlink.Outlink{link}})
		a.record.GivenUp++
		a.judge.note(admission.Skipped{URL: page.URL, Reason: admission.AliasHost, Depth: int(page.Depth)})
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
