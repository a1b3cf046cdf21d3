package host

import (
	"time"

	"henro/actors/politeness"
	"henro/actors/protocol"
	"henro/messages"
	"henro/messages/outlink"
	"henro/store"
	"henro/store/fingerprint"
)

// takeReport takes what a slave reported under a lease.
func (b *Book) takeReport(m *protocol.HostFacts) {
	if b.loan.phase != lent || m.Lease != b.loan.lease.ID {
		b.loan.refuse(m.Lease)
		return
	}
	if b.loan.lease.phase == refused {
		return
	}
	b.loan.lease.queue = append(b.loan.lease.queue, m.Facts...)
	b.takeFacts()
}

// takeEntries takes the records of pages that were lent before a restart.
func (b *Book) takeEntries(m *protocol.EntriesLoaded) {
	if b.loan.phase != lent {
		return
	}
	for _, entry := range m.Entries {
		b.loan.lease.pages[string(entry.Position)] = entry.Page
	}
	if b.loan.lease.phase == looking {
		b.loan.lease.phase = taking
	}
	b.takeFacts()
}

// endLease ends a lease whose slave did not report its end. One that is still being prepared is refused, or ends as
// soon as it is written.
func (b *Book) endLease(id uint64) {
	switch {
	case b.loan.phase == preparing && b.loan.lend.order.Lease == id:
		b.loan.lend.void = true
	case b.loan.phase != lent:
		b.loan.refuse(id)
	case b.loan.lease.ID == id:
		b.void()
	}
}

// takeFacts takes the facts whose turn it is, decides about each visit, and has what came of all of them written.
func (b *Book) takeFacts() {
	l := b.loan.lease
	if l.phase != taking {
		return
	}
	var unknown []store.Position
	for _, fact := range l.queue {
		if v := fact.Visited; v != nil && len(v.Position) > 0 && fact.Seq > l.processed {
			if _, ok := l.pages[string(v.Position)]; !ok && l.terms.restored {
				unknown = append(unknown, v.Position)
				l.pages[string(v.Position)] = store.Page{} // asked for once: what is not there is stored already
			}
		}
	}
	if len(unknown) > 0 {
		l.phase = looking
		b.send(Partition, &protocol.EntriesAsked{Positions: unknown})
		return
	}
	made := &visitsMade{}
	for _, fact := range l.queue {
		if why := l.doubt(fact, b.judge); why != "" {
			b.loan.distrust(why)
			break
		}
		if fact.Seq != l.processed+1 {
			continue
		}
		l.processed++
		made.pressing = made.pressing || fact.Pressing
		if fact.More != nil {
			l.parts++
		} else {
			l.parts = 0
		}
		switch {
		case fact.More != nil:
			l.more = appendLinks(l.more, fact.More)
		case fact.Rules != nil:
			b.robots.take(fact.Rules)
		case fact.Visited != nil:
			made.visits = append(made.visits, l.takeVisit(fact.Visited, b.base))
		case fact.Finished != nil:
			made.finished = true
			b.clock.ended(b.now) // whatever it says: a lease that began too early cannot be taken back
		}
		if made.finished {
			break
		}
	}
	l.queue = nil
	made.seq = l.processed - l.parts
	if made.finished {
		l.phase = over
	}
	b.storeMade(made)
}

// takeVisit lets the host's schedule learn from a visit, and finds the record that it is about.
func (l *openLease) takeVisit(v *messages.PageVisited, b *base) visitMade {
	started := b.now.Add(-time.Duration(v.AgoNs))
	if v.Reason != messages.Reason_ROBOTS_DENIED && !v.Unasked {
		b.clock.observe(v.Status, v.Reason, started, politeness.Visit{Took: time.Duration(v.TookNs),
			RetryAfter: time.Duration(v.RetryAfterNs)})
	}
	b.countFailure(v)
	if len(v.Cookies) > 0 {
		b.record.Cookies = v.Cookies
	}
	made := visitMade{fact: v, started: started, links: l.more}
	l.more = nil
	if v.Links != nil {
		made.links = appendLinks(made.links, v.Links)
		if made.links == nil {
			made.links = []outlink.Outlink{}
		}
	}
	if b.o.Sitemaps && b.o.Continuous {
		l.keepWishes(made.links, b.name)
	}
	if len(v.Position) == 0 {
		made.wish = l.wishes[fingerprint.URL(v.Url)]
	}
	if page, ok := l.pages[string(v.Position)]; ok && len(v.Position) > 0 {
		made.old = page
	}
	return made
}

func appendLinks(links []outlink.Outlink, set *messages.LinkSet) []outlink.Outlink {
	if links == nil {
		links = make([]outlink.Outlink, 0, len(set.Urls))
	}
	for i, url := range set.Urls {
		l := outlink.Outlink{URL: url}
		if i < len(set.Kinds) {
			l.Kind = outlink.Kind(set.Kinds[i])
		}
		if i < len(set.Flags) {
			l.Flags = outlink.Flags(set.Flags[i])
		}
		if i < len(set.Anchors) {
			l.Anchor = set.Anchors[i]
		}
		if i < len(set.Around) {
			l.Around = set.Around[i]
		}
		links = append(links, l)
	}
	return links
}

// pageCount is how many of these visits are of pages: --pages does not count their requisites.
func pageCount(visits []store.Visited) (n int) {
	for i := range visits {
		if visits[i].Page.Flags.Requisite() == 0 && visits[i].Page.Flags&store.Awaits == 0 {
			n++
		}
	}
	return n
}

// storeMade writes what came of a group of facts, all of it or nothing: the pages, their candidates, the host, the
// lease.
func (b *Book) storeMade(m *visitsMade) {
	l := b.loan.lease
	visits, totals := b.schedule.visited(m.visits, b.clock.polite.Spare(&b.o.Politeness))
	if b.schedule.replanned {
		b.schedule.replanned = false
		load := max(b.schedule.load, b.clock.timetable().Load())
		b.clock.verdict = b.clock.polite.Judge(&b.o.Politeness, load, b.queue.fresh > 0)
	}
	w := &protocol.Write{
		Visits: visits, Urgent: m.finished || m.pressing,
		Facts: &protocol.FactsStored{Lease: l.ID, Seq: m.seq, Visits: pageCount(visits), Closed: m.finished,
			Pressing: m.pressing},
	}
	b.judge.unreadable = false
	for i := range visits {
		v := &visits[i]
		if v.Retry && v.Links == nil {
			continue
		}
		if v.Retry { // its scripts are still to be run: what it is made of is asked for meanwhile
			b.judge.beginVisited(&v.Page)
			for j := range v.Links {
				b.judge.link(&v.Links[j])
			}
			continue
		}
		about, scored := b.o.Admission.Topic, m.visits[i].fact.Topic
		if about != nil && scored > 0 && m.visits[i].old.LastVisit.IsZero() {
			v.Page.Band = about.Band(about.HandedOn(float64(scored-1)/1000, about.Score(v.Page.Band)))
		}
		b.judge.beginVisited(&v.Page)
		visit := &Visit{Fact: m.visits[i].fact, Page: &v.Page, Links: v.Links,
			First: m.visits[i].old.LastVisit.IsZero(), At: b.now, Write: w}
		for _, f := range b.features {
			f.Saw(visit)
		}
		switch before, now := m.visits[i].old.Flags&store.Dropped, v.Page.Flags&store.Dropped; {
		case before < now:
			b.record.GivenUp++
		case before > now && b.record.GivenUp > 0: // a round has it again
			b.record.GivenUp--
		}
		for j := range v.Links {
			b.judge.link(&v.Links[j])
		}
		b.judge.followHints(b.robots, &m.visits[i].old, v)
	}
	b.judge.report(w)
	if b.judge.unreadable {
		b.send(Master, &protocol.FactsRefused{Lease: l.ID, Why: "links that are no URLs"})
	}
	w.Host = b.row()
	w.Totals.Add(&totals)
	w.Totals.Add(&b.failed)
	b.failed = protocol.Totals{}
	if m.finished {
		w.Tag = &closedTag{}
	} else {
		l.Seq = m.seq
		lease := l.Lease
		w.Lease = &lease
	}
	b.noteChanges(w, m.finished)
	b.rules.splitLease()
	b.countVerdict(w)
	w.Facts.NextAt, w.Facts.OthersAt = b.clock.polite.NextAllowed(), b.clock.othersAt
	b.write(w)
}

// void ends a lease without a report of its last request: the interval runs from now.
func (b *Book) void() {
	if b.loan.lease.phase == over {
		return
	}
	b.loan.lease.phase = over
	b.clock.ended(b.now)
	b.storeMade(&visitsMade{seq: b.loan.lease.processed, finished: true})
}
