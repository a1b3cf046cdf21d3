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
	Self                // after a while, in the place of what was to come later
	Log                 // an error, or Failing
)

// Effect is one thing to be done after a fact.
type Effect struct {
	To      Recipient
	Message any
	After   time.Duration // of Self
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

// phase is what a host is about.
type phase uint8

const (
	restoring phase = iota // its row is awaited
	idle                   // nothing is out, and the Master does not know that it may be lent
	announced              // the Master knows from when on it may be lent
	preparing              // a lease is prepared: pages are read, then it is written
	lent                   // a slave works
	resting                // it is over
)

// Book is what is known of one host.
type Book struct {
	*base

	phase    phase
	robots   robotsBook
	line     line
	judge    *judge
	schedule *schedule
	lend     *preparation // in preparing
	lease    *openLease   // in lent, and while it is written in preparing

	aliases aliases
}

// preparation is a lease in the making.
type preparation struct {
	order *protocol.Lend
	task  *messages.HostTask // once the pages are there
	void  bool               // it has ended already
}

// openLease is the lease as its host sees it.
type openLease struct {
	store.Lease
	phase     leasePhase
	processed uint64                // facts taken, some perhaps not stored yet
	pages     map[string]store.Page // lent, by position
	more      []outlink.Outlink     // of the next PageVisited
	// changefreq of pages that a sitemap read under this lease names, by fingerprint; wishesKept at most
	wishes map[uint64]outlink.Frequency
	// facts that brought more: only here, so they count as stored when their page is
	parts uint64
	queue []*messages.Fact // not taken yet
	terms terms
}

type leasePhase uint8

const (
	taking  leasePhase = iota // facts are taken as they come
	looking                   // the records of pages lent before a restart are awaited
	refused                   // its holder reported what cannot be: no more facts are taken, it ends by LeaseVoid
	over                      // it ends with what is being written
)

// What comes back with Written.
type (
	// LentTag is that of a lease, which then goes to its slave.
	LentTag    struct{ Lease uint64 }
	closedTag  struct{} // of the end of a lease
	refusedTag struct{}
	movedTag   struct{}
)

// New makes the book of a host of which nothing is known yet: HostRestored is the first fact that it takes.
func New(o Options, name string, regions *admission.Known) *Book {
	shared := &base{o: &o, name: name, clock: clock{o: &o}}
	b := &Book{base: shared, robots: robotsBook{base: shared}, line: line{base: shared},
		schedule: newSchedule(shared), aliases: aliases{base: shared}}
	b.judge = newJudge(shared, regions)
	b.plug()
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
		b.grow(max(b.line.fresh, 1), b.line.known)
	case *protocol.DueOpened:
		b.grow(b.line.fresh, m.Count)
		b.line.shorten()
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
		b.line.putBack(m)
	case *protocol.PagesFound:
		b.takeFound(m)
	case *protocol.Ordered:
		if err := b.takeOrdered(m); err != nil {
			b.send(Master, &protocol.OrderDone{Err: err, Reply: m.Reply})
		}
	case *sitemapReported:
		b.judge.takeSitemap(&b.robots, m)
	case *protocol.RelaxationsFound:
		b.judge.relax(m)
	case *protocol.HostExcluded:
		b.exclude(m)
	case *robotsAsked:
		b.robots.answer(m)
		b.announceAgain()
	case *robotsReported:
		b.robots.takeRedirected(m)
		b.announceAgain()
	case *robotsLate:
		b.robots.request()
		b.announceAgain()
	case *restDue:
		if b.phase == idle && b.nothingToDo() {
			b.send(Hosts, &RestWanted{b.name})
		}
	case *RestGranted:
		b.rest()
	default:
		return b.takeOfAlias(fact)
	}
	return true
}

// takeFound takes which pages are there and have been said to have changed. URLs of a notice that are not known
// become candidates, as if a sitemap had named them that the page with most depth left has linked to.
func (b *Book) takeFound(m *protocol.PagesFound) {
	if m.Notice != nil && len(m.Notice.New) > 0 {
		page := &m.Entries[0].Page
		for i := range m.Entries {
			if m.Entries[i].Page.DepthLeft > page.DepthLeft {
				page = &m.Entries[i].Page
			}
		}
		b.judge.begin(page.URL, page.Depth, page.DepthLeft, 0, page.Number)
		for _, url := range m.Notice.New[:min(len(m.Notice.New), b.clock.Told().Most())] {
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
	b.record, b.clock.askedAt = m.Record, m.Record.AskedAt
	if len(m.Record.Politeness) > 0 {
		if err := b.clock.UnmarshalBinary(m.Record.Politeness); err != nil {
			panic(fmt.Errorf("politeness of %s: %w", b.name, err))
		}
	}
	b.clock.Allow(m.Record.NextAllowed)
	if b.now.Before(b.record.RobotsUntil) {
		b.robots.rules = b.robots.kept()
	}
	b.line.known, b.line.fresh = m.Due, int(min(m.Record.Waiting, 1))
	b.restoreFeatures(&m.Kept)
	b.schedule.restore(b.line.spare())
	if m.Lease != nil {
		b.phase = lent
		b.lease = &openLease{Lease: *m.Lease, processed: m.Lease.Seq, pages: map[string]store.Page{},
			terms: terms{restored: true, follow: true, robots: true}}
		return
	}
	b.becomeIdle()
}

// becomeIdle ends what the host was about, and announces it if there is anything to do.
func (b *Book) becomeIdle() {
	b.phase = idle
	b.announce()
	b.line.shorten()
}

// announce reports to the Master from when on this host may be lent, unless that is known or there is nothing to do.
func (b *Book) announce() {
	if b.phase != idle || b.robots.awaited() {
		return
	}
	if b.line.empty() && !b.robots.wanted() {
		b.sendLater(&restDue{}, b.o.RestAfter)
		return
	}
	at := later(b.clock.NextAllowed(), b.line.retryAt)
	if b.clock.givenUp(b.now, b.robots.failures) {
		at = b.now
	}
	b.phase = announced
	b.send(Master, &protocol.HostReady{Host: b.name, At: at})
}

// announceAgain announces a host that the Master may know of already, since the moment may have changed.
func (b *Book) announceAgain() {
	if b.phase == idle || b.phase == announced {
		b.phase = idle
		b.announce()
	}
}

// grow takes note of how much waits. A host that had nothing to do, or waited for a page that failed, may be lent now.
func (b *Book) grow(fresh, known int) {
	waited := b.line.empty() || !b.line.retryAt.IsZero()
	b.line.fresh, b.line.known = fresh, known
	if waited && (b.phase == idle || b.phase == announced) {
		b.line.retryAt = time.Time{}
		b.announceAgain()
	}
}

// nothingToDo reports that nothing is to be done, for this host or for another.
func (b *Book) nothingToDo() bool {
	return b.line.empty() && !b.line.shortening && !b.robots.wanted() && !b.robots.awaited() && b.writes == 0
}

// rest ends this host, unless something came between the asking and the granting.
func (b *Book) rest() {
	if b.nothingToDo() && b.lease == nil && b.lend == nil {
		b.phase = resting
		b.send(Hosts, &Rested{b.name})
		return
	}
	b.send(Hosts, &StillBusy{b.name})
}

// written goes on where a write had to come first.
func (b *Book) written(tag any) {
	switch tag := tag.(type) {
	case *LentTag:
		b.leaseWritten()
	case *refusedTag:
		if b.lend != nil {
			b.refuseLend()
		}
	case *movedTag:
		b.line.askOverflow() // until there is no more
	case *protocol.OrderDone:
		b.send(Master, tag)
	case *closedTag:
		b.lease = nil
		b.becomeIdle()
	}
}
