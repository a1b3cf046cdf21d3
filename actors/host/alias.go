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

	beliefs alias.Beliefs
	order   *alias.Order // of a person; nil: there is none
	// held pages that were asked about, by their URLs at the representative; nil: none
	asked     map[string]store.Entry
	nextAt    time.Time               // before which nothing is asked
	wait      time.Duration           // between the last questions
	changed   bool                    // the beliefs are to be written
	heldUntil time.Time               // while a review is awaited
	reviews   map[reviewKey]time.Time // asked for, until when an answer is waited for
}

// The names of the notes of what a host believes, and of the order of a person about that.
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

// aliasOrder is the order of a person about what the host stands for. The Master writes the note.
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

// ReadOrder reads the order of a person as it was noted; nil: there is none.
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
	// the representative is asked again after so long, twice as long each time that it had nothing new; the Finder
	// reads all records of a partition for an answer
	aliasWait, aliasWaitMost = 10 * time.Second, time.Hour
	// reviewWait is how long an answer is waited for until a review is asked for again
	reviewWait = 5 * time.Minute
	// no page of a host is visited for so long while a review decides whether it is an alias: two scans
	reviewHold = time.Minute
	// reviewsMost bounds what a Host remembers of the reviews that it has asked for
	reviewsMost = 16
	// aliasRest is until when a known page of an alias is put off
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

// takeOfAlias takes a fact about the host being another under a second name, if it is one.
func (b *Book) takeOfAlias(fact any) bool {
	switch m := fact.(type) {
	case *protocol.TextsCompared:
		b.takeCompared(m)
	case *protocol.AliasOrdered:
		b.takeOrder(m)
	case *protocol.RecordsFound:
		switch tag := m.Tag.(type) {
		case *review:
			b.readReview(tag, m)
		case *representatives:
			b.followRepresentatives(tag, m)
		case *counterparts:
			b.takeCounterparts(m)
		}
	case *protocol.PagesRevived:
		b.record.GivenUp -= min(b.record.GivenUp, uint64(m.Count))
		b.write(&protocol.Write{Host: b.row(), Tag: &aliasTag{}})
		b.grow(m.Count, b.line.known)
	default:
		return false
	}
	return true
}

// takeCompared takes comparisons of the host's pages with those of other hosts.
func (b *Book) takeCompared(m *protocol.TextsCompared) {
	before := b.aliases.of()
	for i := range m.Comparisons {
		b.aliases.beliefs.Saw(b.name, &m.Comparisons[i], b.now)
	}
	b.writeBeliefs(before, false)
	b.review()
}

// writeBeliefs writes what the host believes, which may have changed what it stands for.
func (b *Book) writeBeliefs(before string, urgent bool) {
	w := &protocol.Write{Urgent: urgent, Tag: &aliasTag{}}
	b.aliases.changed = true
	b.noteChanges(w, false)
	b.represented(before, w)
	b.write(w)
	b.announceAgain()
}

// review asks for what has to be known before the host is an alias. Meanwhile it is not visited, if that may be spared.
func (b *Book) review() {
	a := &b.aliases
	ask := func(of reviewKey) bool {
		if b.now.Before(a.reviews[of]) {
			return false
		}
		if a.reviews == nil || len(a.reviews) >= reviewsMost {
			a.reviews = map[reviewKey]time.Time{}
		}
		a.reviews[of] = b.now.Add(reviewWait)
		b.send(Partition, &protocol.RecordsAsked{Host: of.host, Of: of.host, All: true, Tag: &review{reviewKey: of}})
		return true
	}
	unreviewed, siblings := a.beliefs.Unreviewed(b.name)
	for i := range unreviewed {
		c := &unreviewed[i]
		if ask(reviewKey{host: b.name, of: c.Other, redirects: c.Redirects}) && a.of() == "" &&
			a.o.Aliases == MapAliases && a.order == nil {
			a.heldUntil = b.now.Add(reviewHold)
			if b.lease != nil && b.phase == lent {
				b.send(Master, &protocol.LeaseUnwanted{Lease: b.lease.ID})
			}
		}
	}
	for _, pair := range siblings {
		ask(reviewKey{host: pair[0], of: pair[1]})
	}
}

// readReview takes the pages of one of both hosts of a review.
func (b *Book) readReview(r *review, m *protocol.RecordsFound) {
	found, over := r.read(m)
	if !over {
		b.send(Partition, &protocol.RecordsAsked{Host: b.name, Of: r.of, All: true, Tag: r})
		return
	}
	before := b.aliases.of()
	b.aliases.beliefs.Reviewed(b.name, r.of, r.redirects, found, b.now)
	if !b.aliases.heldUntil.IsZero() {
		b.aliases.heldUntil, b.line.retryAt = time.Time{}, time.Time{}
	}
	b.writeBeliefs(before, false)
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

// takeOrder takes the order of a person about what the host is, which is on disk already.
func (b *Book) takeOrder(m *protocol.AliasOrdered) {
	before := b.aliases.of()
	b.aliases.order = &m.Order
	w := &protocol.Write{Tag: &aliasTag{}}
	if b.represented(before, w); w.Sweeps != nil {
		b.write(w)
	}
	b.announceAgain()
}

// represented sees to what follows from another representative than before: the lease is asked back whose pages the
// other has, and what was given up for the one before waits again once w is written.
func (b *Book) represented(before string, w *protocol.Write) {
	switch now := b.aliases.of(); {
	case now == before:
	case now == "":
		w.Sweeps = append(w.Sweeps, protocol.Sweep{Host: b.name, Says: admission.AliasHost.String()})
		w.Urgent = true
	case b.lease != nil && b.phase == lent:
		b.send(Master, &protocol.LeaseUnwanted{Lease: b.lease.ID})
	}
	if before != b.aliases.of() {
		b.aliases.asked, b.aliases.nextAt, b.aliases.wait = nil, time.Time{}, 0
		b.line.retryAt = time.Time{}
	}
}

// hold takes the pages out of what may be lent that the representative may have, and asks about them.
func (b *Book) hold(fresh, due []store.Entry) (lent, known []store.Entry) {
	a := &b.aliases
	of := a.of()
	if of == "" {
		if b.now.Before(a.heldUntil) {
			b.line.retryAt = a.heldUntil
			return nil, nil
		}
		return fresh, due
	}
	held := map[string]store.Entry{}
	sift := func(entries []store.Entry) (rest []store.Entry) {
		for _, entry := range entries {
			page := &entry.Page
			target := page.URL[len(b.name):]
			if page.Flags&store.Own != 0 || b.robots.known() && !b.robots.rules.Allowed(target) {
				rest = append(rest, entry)
			} else {
				held[of+target] = entry
			}
		}
		return rest
	}
	lent, known = sift(fresh), sift(due)
	if len(held) == 0 {
		return lent, known
	}
	if !b.now.Add(b.o.LookAhead).Before(a.nextAt) { // the Master lends a host so much too early
		a.asked, a.nextAt = held, b.now.Add(max(a.wait, aliasWait))
		b.askRepresentative(&representatives{}, of)
	}
	b.line.retryAt = a.nextAt
	return lent, known
}

// takeCounterparts takes what the representative has of the pages that were asked about.
func (b *Book) takeCounterparts(m *protocol.RecordsFound) {
	a := &b.aliases
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
		b.judge.decideAlias(w, entry, url, has, answered)
	}
	if a.wait *= 2; len(w.Visits)+len(w.Moves) > 0 {
		a.wait = aliasWait
	}
	a.wait = min(max(a.wait, aliasWait), aliasWaitMost)
	a.asked, a.nextAt = nil, b.now.Add(a.wait)
	a.changed = a.beliefs.Decay(b.name, b.now) || a.changed
	b.noteChanges(w, false)
	b.judge.report(w)
	w.Host = b.row()
	b.represented(before, w)
	b.write(w)
	b.announceAgain()
}

// decideAlias decides about one held page.
func (j *judge) decideAlias(w *protocol.Write, entry store.Entry, url string, has, answered bool) {
	page := &entry.Page
	j.beginVisited(page)
	link := outlink.Outlink{URL: url, Kind: outlink.Alias}
	taken := j.toRepresentative(&link)
	switch {
	case answered && !has, !taken, alias.IsSample(page.URL) && has:
		page.Flags |= store.Own
		if page.LastVisit.IsZero() {
			w.Moves = append(w.Moves, entry)
			return
		}
		page.Next = j.now
		w.Moves = append(w.Moves, entry)
	case !page.LastVisit.IsZero():
		if has {
			page.Next = j.now.Add(aliasRest)
			w.Moves = append(w.Moves, entry)
		}
	case has:
		page.Flags, page.Next, page.Says = page.Flags|store.Dropped, time.Time{}, admission.AliasHost.String()
		w.Visits = append(w.Visits, store.Visited{Page: *page, Position: entry.Position,
			Links: []outlink.Outlink{link}})
		j.record.GivenUp++
		j.note(admission.Skipped{URL: page.URL, Reason: admission.AliasHost, Depth: int(page.Depth)})
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
