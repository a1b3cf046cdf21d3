package host

import (
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
	order   *alias.Order           // of a person; nil: there is none
	asked   map[string]store.Entry // held pages that were asked about, by their URLs at the representative; nil: none
	nextAt  time.Time              // before which nothing is asked
	wait    time.Duration          // between the last questions
	// the beliefs have changed by visits that are not written yet
	redirects bool
	heldUntil time.Time                          // while a review is awaited
	reviews   map[protocol.ReviewAsked]time.Time // asked for, until when an answer is waited for
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
	case *protocol.Reviewed:
		b.takeReview(m)
	case *protocol.CounterpartsFound:
		b.takeCounterparts(m)
	case *protocol.PagesRevived:
		b.record.GivenUp -= min(b.record.GivenUp, uint64(m.Count))
		b.write(&protocol.Write{Host: b.row(), Tag: &aliasTag{}})
		b.grow(m.Count, b.line.known)
	default:
		return b.takeURLRule(fact)
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
	w := &protocol.Write{Beliefs: b.aliases.encoded(), Urgent: urgent, Tag: &aliasTag{}}
	b.represented(before, w)
	b.write(w)
	b.announceAgain()
}

// review asks for what has to be known before the host is an alias. Meanwhile it is not visited, if that may be spared.
func (b *Book) review() {
	a := &b.aliases
	ask := func(m protocol.ReviewAsked) bool {
		if b.now.Before(a.reviews[m]) {
			return false
		}
		if a.reviews == nil || len(a.reviews) >= reviewsMost {
			a.reviews = map[protocol.ReviewAsked]time.Time{}
		}
		a.reviews[m] = b.now.Add(reviewWait)
		b.send(Partition, &m)
		return true
	}
	unreviewed, siblings := a.beliefs.Unreviewed(b.name)
	for i := range unreviewed {
		c := &unreviewed[i]
		if ask(protocol.ReviewAsked{Host: b.name, Of: c.Other, Redirects: c.Redirects}) && a.of() == "" &&
			a.o.Aliases == MapAliases && a.order == nil {
			a.heldUntil = b.now.Add(reviewHold)
			if b.lease != nil && b.phase == lent {
				b.send(Master, &protocol.LeaseUnwanted{Lease: b.lease.ID})
			}
		}
	}
	for _, pair := range siblings {
		ask(protocol.ReviewAsked{Host: pair[0], Of: pair[1]})
	}
}

// takeReview takes what a review has found.
func (b *Book) takeReview(m *protocol.Reviewed) {
	before := b.aliases.of()
	b.aliases.beliefs.Reviewed(b.name, m.Of, m.Redirects, m.Comparisons, b.now)
	if !b.aliases.heldUntil.IsZero() {
		b.aliases.heldUntil, b.line.retryAt = time.Time{}, time.Time{}
	}
	b.writeBeliefs(before, false)
}

// encoded is what the host believes, to be written.
func (a *aliases) encoded() *protocol.Beliefs {
	beliefs, _ := a.beliefs.MarshalBinary() // never fails
	return &protocol.Beliefs{Host: a.name, Bytes: beliefs}
}

// AnswersItself reports whether a host had a page for a path, or said that there is none.
func AnswersItself(page *store.Page) bool {
	return page.Flags&store.Dropped == 0 && page.Reason == 0 && (page.Status/100 == 2 ||
		page.Status == 404 || page.Status == 410)
}

// redirected takes evidence from a visit: whether the host redirects the path to another host, or answers it.
func (a *aliases) redirected(page *store.Page, links []outlink.Outlink) {
	to := ""
	switch {
	case a.o.Aliases == NoAliases:
		return
	case page.Reason == 0 && page.Status/100 == 3:
		at := slices.IndexFunc(links, func(l outlink.Outlink) bool { return l.Kind == outlink.Redirect })
		if at < 0 {
			return
		}
		to = links[at].URL
	case !AnswersItself(page):
		return
	}
	a.redirects = a.beliefs.Answered(a.name, page.URL[len(a.name):], to, a.now) || a.redirects
}

// takeOrder takes the word of a person about what the host is, which is on disk already.
func (b *Book) takeOrder(m *protocol.AliasOrdered) {
	before := b.aliases.of()
	b.aliases.order = &m.Order
	w := &protocol.Write{Tag: &aliasTag{}}
	if b.represented(before, w); w.Revive != nil {
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
		w.Revive, w.Urgent = append(w.Revive, protocol.Revive{Host: b.name, Why: admission.AliasHost}), true
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
		asked := &protocol.CounterpartsAsked{Host: b.name, Of: of, Ordered: a.order != nil,
			Mapped: a.o.Aliases == MapAliases}
		for url := range held {
			asked.URLs = append(asked.URLs, url)
		}
		b.send(Partition, asked)
	}
	b.line.retryAt = a.nextAt
	return lent, known
}

// takeCounterparts takes what the representative has of the pages that were asked about.
func (b *Book) takeCounterparts(m *protocol.CounterpartsFound) {
	a := &b.aliases
	if a.asked == nil || m.Of != a.of() {
		return
	}
	before := a.of()
	if m.Circular {
		a.beliefs.Refute(b.name, b.now)
		b.writeBeliefs(before, true)
		return
	}
	w := &protocol.Write{Urgent: true, Tag: &aliasTag{}}
	for url, entry := range a.asked {
		has, answered := m.Answers[url]
		b.judge.decideAlias(w, entry, url, has, answered)
	}
	if a.wait *= 2; len(w.Visits)+len(w.Moves) > 0 {
		a.wait = aliasWait
	}
	a.wait = min(max(a.wait, aliasWait), aliasWaitMost)
	a.asked, a.nextAt = nil, b.now.Add(a.wait)
	if a.beliefs.Decay(b.name, b.now) {
		w.Beliefs = a.encoded()
	}
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

// HasCounterpart reports whether a page of a representative, as it was visited, stands for that of its alias.
func HasCounterpart(page *store.Page) bool {
	if page.Flags&store.Dropped != 0 {
		return page.Says == admission.AliasHost.String() || page.Says == admission.Duplicate.String()
	}
	return page.Reason == 0 && page.Status < 400
}

// Revived has a page wait again that was given up for a representative, and reports whether it was.
func Revived(page *store.Page, host string) bool {
	return page.Flags&store.Dropped != 0 && page.LastVisit.IsZero() &&
		page.Says == admission.AliasHost.String() && weburl.HostOf(page.URL) == host
}
