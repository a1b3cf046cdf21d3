package host

import (
	"fmt"
	"time"

	"henro/actors/admission"
	"henro/actors/protocol"
	"henro/messages"
	"henro/messages/outlink"
	"henro/store"
)

// Recipient says who an Effect is for.
type Recipient uint8

// The recipients.
const (
	Master    Recipient = iota + 1
	Hosts               // the parent of all Hosts
	Partition           // answers with a fact
	Skips               // the writer of skipped.jsonl
	Self                // after Effect.After; it replaces the one that is still to come
	Log                 // an error, or Failing
)

// Effect is one thing to be done after a fact.
type Effect struct {
	To      Recipient
	Message any
	After   time.Duration // to Self alone: how much later
}

// Failing says that a host has begun to fail requests, or fails them otherwise than before.
type Failing struct{ messages.Cause }

// What a Host and the parent of all Hosts say to each other.
type (
	// Grew reports to a Host that there are new URLs to visit.
	Grew struct{}
	// RestWanted asks for rest, on behalf of a Host with nothing to do; RestGranted answers, and is answered by Rested,
	// or by StillBusy when something came meanwhile.
	RestWanted  struct{ Host string }
	RestGranted struct{}
	Rested      struct{ Host string }
	StillBusy   struct{ Host string }
	// RegionsChanged says what belongs to the crawl from now on.
	RegionsChanged struct{ Regions *admission.Known }

	restDue struct{} // an idle host may ask for rest
)

// Book is what is known of one host.
type Book struct {
	*base

	loan     *loan
	robots   *robotsBook
	queue    *queue
	judge    *judge
	schedule *schedule
	rules    *ruleFeature
	evidence *evidence
	second   *secondName
	living   *livingFeature
}

// openLease is the lease as its host sees it.
type openLease struct {
	store.Lease
	phase     leasePhase
	processed uint64                // facts taken, some perhaps not stored yet
	pages     map[string]store.Page // lent, by position
	more      []outlink.Outlink     // links of the next PageVisited, which came ahead of it
	// changefreq of pages that a sitemap read under this lease names, by fingerprint; wishesKept at most
	wishes map[uint64]outlink.Frequency
	// facts that brought more: they are in memory only, and count as stored when their page is
	parts uint64
	queue []*messages.Fact // not taken yet
	terms terms
}

type leasePhase uint8

const (
	taking  leasePhase = iota // facts are taken as they come
	looking                   // the records of pages lent before a restart are awaited
	refused                   // its holder reported what cannot be true: no more facts are taken, LeaseVoid ends it
	over                      // it ends with what is being written
)

// What comes back with Written.
type (
	// LentTag comes back with a lease that is about to go to its slave.
	LentTag    struct{ Lease uint64 }
	closedTag  struct{} // the end of a lease
	refusedTag struct{} // what had to be written before a Lend is refused
	movedTag   struct{} // pages of the overflow, put back onto the time queue
)

// New makes the book of a host of which nothing is known yet: HostRestored is the first fact that it takes.
func New(o Options, name string, regions *admission.Known) *Book {
	shared := &base{o: &o, name: name, clock: clock{o: &o}}
	b := &Book{base: shared, robots: &robotsBook{base: shared}, queue: &queue{base: shared},
		judge: newJudge(shared, regions), schedule: &schedule{base: shared}}
	b.loan = &loan{base: shared, robots: b.robots, queue: b.queue}
	b.rules = &ruleFeature{base: shared, judge: b.judge, loan: b.loan}
	b.evidence = &evidence{base: shared}
	b.second = &secondName{base: shared, judge: b.judge, loan: b.loan}
	b.living = &livingFeature{}
	b.features = []Feature{ // links are refused by the first that has a reason
		&stopFeature{judge: b.judge},
		&listFeature{judge: b.judge},
		&sessionFeature{judge: b.judge},
		b.rules,
		b.evidence,
		b.second,
		&intervalFeature{schedule: b.schedule},
		b.living,
	}
	for _, plugged := range o.Features {
		b.features = append(b.features, plugged(name))
	}
	return b
}

// Updated takes a fact at a moment, and returns what is to be done then, valid until the next call. It reports whether
// the fact is one that a Book knows.
func (b *Book) Updated(now time.Time, fact any) ([]Effect, bool) {
	b.now, b.out = now, b.out[:0]
	known := b.take(fact)
	return b.out, known
}

// take is the table of contents.
func (b *Book) take(fact any) bool {
	switch m := fact.(type) {
	case *protocol.HostRestored:
		b.restore(m)
	case *RegionsChanged:
		b.judge.regions = m.Regions
	case *protocol.ResourcesChanged:
		b.o.Politeness.Servers, b.o.Politeness.Connections = m.Servers, m.Connections
	case *Grew:
		b.loan.grow(max(b.queue.fresh, 1), b.queue.known)
	case *protocol.DueOpened:
		b.loan.grow(b.queue.fresh, m.Count)
		b.queue.shorten()
	case *protocol.Lend:
		b.prepare(m)
	case *protocol.PagesLoaded:
		b.loaded(m)
	case *protocol.HostFacts:
		b.takeReport(m)
	case *protocol.EntriesLoaded:
		b.takeEntries(m)
	case *protocol.LeaseVoid:
		b.endLease(m.Lease)
	case *protocol.Written:
		b.writes--
		b.written(m.Tag)
	case *protocol.OverflowLoaded:
		b.queue.putBack(m)
	case *protocol.PagesFound:
		b.takeFound(m)
	case *protocol.Ordered:
		if err := b.takeOrdered(m); err != nil {
			b.send(Master, &protocol.OrderDone{Err: err, Reply: m.Reply})
		}
	case *sitemapReported:
		b.judge.takeSitemap(b.robots, m)
	case *protocol.RelaxationsFound:
		b.judge.relax(m)
	case *robotsAsked:
		b.robots.answer(m)
		b.loan.announceAgain()
	case *robotsReported:
		b.robots.takeRedirected(m)
		b.loan.announceAgain()
	case *robotsLate:
		b.robots.request()
		b.loan.announceAgain()
	case *restDue:
		if b.loan.phase == idle && b.loan.nothingToDo() {
			b.send(Hosts, &RestWanted{b.name})
		}
	case *RestGranted:
		b.loan.rest()
	case *protocol.TextsCompared:
		b.evidence.compare(m)
	case *protocol.RecordsFound:
		b.second.takeCounterparts(m)
	case *protocol.PagesRevived:
		b.record.GivenUp -= min(b.record.GivenUp, uint64(m.Count))
		b.write(&protocol.Write{Host: b.row()})
		b.loan.grow(m.Count, b.queue.known)
	default:
		return false
	}
	return true
}

// takeFound takes the known pages that are said to have changed. New URLs of a notice become candidates, as if the page
// with most depth left had linked to a sitemap that names them.
func (b *Book) takeFound(m *protocol.PagesFound) {
	if m.Notice != nil && len(m.Notice.New) > 0 {
		page := &m.Entries[0].Page
		for i := range m.Entries {
			if m.Entries[i].Page.DepthLeft > page.DepthLeft {
				page = &m.Entries[i].Page
			}
		}
		b.judge.begin(page.URL, page.Depth, page.DepthLeft, 0, page.Number)
		for _, url := range m.Notice.New[:min(len(m.Notice.New), b.clock.timetable().Told().Most())] {
			b.judge.link(&outlink.Outlink{URL: url, Kind: outlink.Sitemap})
		}
		w := &protocol.Write{}
		b.judge.report(w)
		b.write(w)
	}
	if moves := b.schedule.follow(m); len(moves) > 0 {
		b.write(&protocol.Write{Moves: moves})
	}
}

// restore begins with what is on disk.
func (b *Book) restore(m *protocol.HostRestored) {
	back := m.Record.SetBack(b.now)
	b.record, b.clock.askedAt = m.Record, m.Record.AskedAt.Add(-back)
	if len(m.Record.Politeness) > 0 {
		if err := b.clock.polite.UnmarshalBinary(m.Record.Politeness); err != nil {
			panic(fmt.Errorf("politeness of %s: %w", b.name, err))
		}
	}
	b.clock.polite.SetParallel(b.o.parallel(b.name))
	b.clock.polite.SetBack(back)
	b.clock.polite.Allow(m.Record.NextAllowed.Add(-back))
	if b.now.Before(b.record.RobotsUntil) {
		b.robots.rules = b.robots.kept()
	}
	b.queue.known, b.queue.fresh = m.Due, int(min(m.Record.Waiting, 1))
	for _, f := range b.features {
		if err := f.Restore(m.Notes[f.Name()]); err != nil {
			panic(fmt.Errorf("note %s of %s: %w", f.Name(), b.name, err))
		}
	}
	b.schedule.restore(b.clock.polite.Spare(&b.o.Politeness))
	if m.Lease != nil {
		b.loan.phase = lent
		b.loan.lease = &openLease{Lease: *m.Lease, processed: m.Lease.Seq, pages: map[string]store.Page{},
			terms: terms{restored: true, follow: true, robots: true}}
		return
	}
	b.loan.becomeIdle()
}

// written goes on with what waited for a write.
func (b *Book) written(tag any) {
	switch tag := tag.(type) {
	case *LentTag:
		if ended := b.loan.begin(); ended {
			b.void()
		}
	case *refusedTag:
		if b.loan.lend != nil {
			b.loan.refuseLend()
		}
	case *movedTag:
		b.queue.askOverflow() // until there is no more
	case *protocol.OrderDone:
		b.send(Master, tag)
	case *closedTag:
		b.loan.lease = nil
		b.loan.becomeIdle()
	}
}
