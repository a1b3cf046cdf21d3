package actors

import (
	"errors"
	"fmt"
	"time"

	"henro/actors/floor"

	"github.com/asynkron/protoactor-go/actor"
	"github.com/sirupsen/logrus"

	"henro/actors/admission"
	"henro/actors/politeness"
	"henro/actors/revisit"
	"henro/actors/robots"
	"henro/actors/stoplist"
	"henro/messages"
	"henro/messages/outlink"
	"henro/store"
)

// HostOptions are what every Host of a crawl goes by.
type HostOptions struct {
	Politeness politeness.Options
	Revisit    revisit.Options
	Admission  admission.Rules // which links are taken
	Stop       stoplist.Options
	Continuous bool // known pages are visited again
	// those that robots.txt names are visited, and what sitemaps and feeds say of pages is heeded
	Sitemaps bool
	// of hosts whose pages ask for more visits than they bear. Optimal: the most versions for the visits that there are
	Relief politeness.Relief

	// a lease is filled with as many visits as fit into this at the host's interval. 30 s: long enough that commits are
	// shared, short enough that work spreads
	LeaseSpan   time.Duration
	PageBudget  int // visits of one lease at most
	TaskBudget  int // tasks of one lease at most: they must fit into one message
	KnownBudget int // fingerprints sent with a lease at most; a host with more is not followed inside leases
	// slaves follow links within a lease, before they are written down; not when a frontier of its own decides what is
	// visited
	Follow    bool
	LookAhead time.Duration // a host that may be asked this soon is lent already; its slave waits
	Retries   int           // failed visits of a page, or of robots.txt, before it is given up
	RetryWait time.Duration // before the first retry, doubled for each further
	// what a host may ask for, or its back-off come to, before a crawl that is to end gives up its pages; 0 is no
	// limit. Two hours: a host that is mended over lunch is waited for, one that says ten years is not
	Patience time.Duration
	// visited of one host at most, the rest is given up; 0 is no limit, as is Continuous. A million: what holds where
	// every other rule against traps fails
	MaxPages    uint64
	MaxAwake    int           // Host actors alive
	RestAfter   time.Duration // an idle Host goes to rest after this
	RobotsAgent string        // product token in robots.txt
}

// DefaultHostOptions fit an ordinary crawl.
func DefaultHostOptions() HostOptions {
	return HostOptions{
		Politeness: politeness.DefaultOptions(), Revisit: revisit.DefaultOptions(), Relief: politeness.Optimal,
		Admission: admission.DefaultRules(), Stop: stoplist.DefaultOptions(),
		LeaseSpan: 30 * time.Second, PageBudget: 1000, TaskBudget: 500, KnownBudget: 8000, Follow: true,
		LookAhead: time.Second,
		Retries:   3, RetryWait: time.Minute, Patience: 2 * time.Hour, MaxPages: 1_000_000,
		MaxAwake: 50_000, RestAfter: 30 * time.Second, RobotsAgent: "henro",
	}
}

// Validate says what makes no sense.
func (o *HostOptions) Validate() error {
	switch {
	case o.LeaseSpan <= 0 || o.RestAfter <= 0 || o.RetryWait < 0 || o.Patience < 0:
		return errors.New("lease span and rest after: want more than nothing")
	case o.PageBudget < 1 || o.TaskBudget < 1 || o.KnownBudget < 0 || o.MaxAwake < 1:
		return errors.New("budgets of a lease and hosts awake: want at least 1")
	case o.Retries < 0 || o.Retries > 100:
		return errors.New("retries: want 0 to 100")
	}
	return errors.Join(o.Admission.Validate(), o.Stop.Validate())
}

// What a Host is told by the Master, and tells it.
type (
	// Lend asks a ready Host to prepare a lease; it answers Lent once the lease is on disk, or LendRefused.
	Lend struct {
		Lease       uint64
		Slave, Boot string
		Until       time.Time
		PageBudget  int       // of the crawl's own limit, or of what the frontier handed out; 0: none
		NotBefore   time.Time // others share the host's clock: no request may start earlier
	}
	// Lent answers Lend.
	Lent struct {
		Lease       uint64
		Slave, Boot string
		Task        *messages.HostTask
	}
	// LendRefused answers Lend when there was nothing to lend after all.
	LendRefused struct {
		Lease  uint64
		NextAt time.Time // before which the host may not be asked again
	}
	// HostFacts carries what a slave reported under a lease, in order.
	HostFacts struct {
		Lease uint64
		Facts []*messages.Fact
	}
	// LeaseVoid tells that a lease has ended without its holder saying so.
	LeaseVoid struct{ Lease uint64 }
	// HostReady tells the Master that a host may be lent from a moment on. A later word replaces an earlier.
	HostReady struct {
		Host string
		At   time.Time
	}
	// FactsStored tells the Master that facts of a lease are on disk, up to a number.
	FactsStored struct {
		Lease, Seq uint64
		Visits     int
		Closed     bool      // the lease has ended, and that is on disk too
		NextAt     time.Time // of a closed lease: before which the host may not be asked again
		OthersAt   time.Time // and before which nobody may who shares its clock
	}
)

// hostEnvironment is what a Host is born with.
type hostEnvironment struct {
	HostOptions
	name      string
	partition *actor.PID
	master    *actor.PID
	skips     *actor.PID // told of what is not taken
	regions   *admission.Known
	log       *logrus.Entry
	failed    bool // the Host of this name has failed before, and what it wrote then may not be on disk yet
}

// Host is the politeness actor of one host: when it may be asked again, what is asked next, what its robots.txt says.
//
//	               Lend           lease written        LeaseFinished or LeaseVoid written
//	restoring ► ready ─────► lending ────────────► lent ─────────────────────────────────► ready
//	              ▲             │ nothing there, or given up
//	              └─────────────┘
//
// A ready Host with nothing to do asks its parent for rest, and gets it unless something came meanwhile.
//
// Invariants:
//   - at most one lease is open, and it is on disk before its first request can be made;
//   - the next lease begins no sooner than the interval after the last request of the one before, whoever made it and
//     however it ended: when nobody can say when that was, the interval runs from the moment the lease is known to be
//     over;
//   - a fact changes anything only if it is the one due next (seq), so facts may come twice, late, or out of order.
type Host struct {
	*hostEnvironment
	behavior actor.Behavior
	log      *logrus.Entry
	revisit  *actor.PID

	record     store.HostRecord
	politeness politeness.State
	robots     *robots.Rules // nil: not asked yet
	robotsFail int           // times in a row that robots.txt was unreachable
	robotsAt   string        // the host that robots.txt redirects to, while its answer is awaited
	askers     []string      // hosts whose robots.txt redirects to here
	askedHops  int           // length of the longest chain of them
	wanted     bool          // the rules are wanted, though no page may be
	judge      *judge
	announced  bool // the Master knows that this host is ready
	// before which nobody may be asked who shares this host's clock: its pace, without the rests that are its own
	othersAt   time.Time
	nextRetry  time.Time // when the earliest page that failed may be tried again; zero: there are others
	lastReason messages.Reason
	empty      bool // nothing waits, as far as is known
	asking     *Lend
	voided     bool // the lease that is being prepared has ended already
	lease      *openLease
	timer      floor.Timer
	due        int  // known pages in line, as far as was told
	newWait    bool // new pages wait, as far as is known
	knownFirst bool // the next lease begins with a known page, when both wait
	moving     bool // what does not fit into the day is being put back
	plan       politeness.Plan
	verdict    politeness.Verdict // on what the pages ask for without relief
	replanIn   int                // visits until the plan is made anew
	writes     int                // not answered yet
	// depth left of the page for which the sitemaps of robots.txt were named last, plus one
	named  int
	stash  []any  // that came while settling and restoring
	settle any    // tag of the write that is waited for while settling
	unlent uint64 // the lease that was on its way to disk when this Host failed: nobody knows of it
}

// openLease is the lease as its host sees it.
type openLease struct {
	store.Lease
	processed uint64                // facts taken, some perhaps not stored yet
	pages     map[string]store.Page // lent, by position
	task      *messages.HostTask    // until it is on disk and lent
	asked     bool                  // for records, without which the queue waits
	more      []outlink.Outlink     // of the next PageVisited
	// changefreq of pages that a sitemap read under this lease names, by fingerprint; wishesKept at most
	wishes map[uint64]outlink.Frequency
	// facts that brought more: only here, so they count as stored when their page is
	parts uint64
	queue []*messages.Fact // waiting for the records of pages lent before a restart
	over  bool             // no more facts are taken
}

func hostProps(e *hostEnvironment) *actor.Props {
	return actor.PropsFromProducer(func() actor.Actor {
		h := &Host{hostEnvironment: e, behavior: actor.NewBehavior(),
			log: e.log.WithFields(logrus.Fields{"actor": "host", "host": e.name})}
		h.behavior.Become(h.restoring)
		return h
	}, actor.WithSupervisor(floor.WithChildren)) // a Host whose Revisit fails waits for an answer that never comes
}

type (
	scopeShared struct{ regions *admission.Known } // Hosts has made it of ScopeChanged
	restAfter   struct{}
	lentTag     struct{ lend *Lend }
	factsTag    struct {
		lease, seq uint64
		visits     int
		closed     bool
	}
	refusedTag struct{}
	settledTag struct{ _ byte } // not empty: each is another
	movedTag   struct{}
	hintedTag  struct{} // nothing follows from it
)

// Receive is the table of contents; the states below see what is theirs.
func (h *Host) Receive(ctx actor.Context) {
	switch m := ctx.Message().(type) {
	case *actor.Started:
		h.revisit = floor.SpawnAs(ctx, revisitProps(h.hostEnvironment), "revisit")
		h.judge = newJudge(h.regions, &h.Admission, h.name)
		if h.failed {
			h.settle = &settledTag{}
			h.behavior.Become(h.settling)
			ctx.Request(h.partition, &Write{Urgent: true, Tag: h.settle})
			return
		}
		ctx.Request(h.partition, &HostAsked{Host: h.name})
	case *actor.Stopping:
		h.timer.Stop()
	case *actor.Restarting:
		h.timer.Stop()
		h.failed = true
		h.unstash(ctx)
		ctx.Request(ctx.Parent(), &hostFailed{h.name})
	case *scopeShared:
		h.regions = m.regions
		h.judge.regions = m.regions
	case *SlavesChanged:
		h.Politeness.Servers, h.Politeness.Connections = m.Servers, m.Connections
	case *Written:
		switch {
		case m.Tag == h.settle:
			h.behavior.Become(h.restoring)
			ctx.Request(h.partition, &HostAsked{Host: h.name})
		case h.writes > 0:
			h.writes--
			h.written(ctx, m.Tag)
		default: // it answers what this Host wrote before it failed
			if tag, ok := m.Tag.(*lentTag); ok {
				h.unlent = tag.lend.Lease
			}
		}
	case *HostRestored, *PagesLoaded, *EntriesLoaded, *OverflowLoaded, *pagesTimed, *Lend, *HostFacts, *LeaseVoid,
		*hostGrew, *DueOpened,
		*restGranted, *restAfter, *robotsAsked, *robotsTold, *robotsLate,
		*PagesFound, *sitemapTold, *HostExcluded, *RelaxationsFound:
		h.behavior.Receive(ctx)
	case actor.SystemMessage, actor.AutoReceiveMessage:
	default:
		floor.Unhandled(ctx, h.log)
	}
}

// Failed implements floor.Restartable: what was lost is on disk, is sent again, or is asked again.
func (h *Host) Failed(actor.Context, any) {}

// settling waits until all that this Host wrote before it failed is on disk, the clock of the host above all. Answers
// to what it asked then are of no use any more.
func (h *Host) settling(ctx actor.Context) {
	switch ctx.Message().(type) {
	case *HostRestored, *PagesLoaded, *EntriesLoaded, *OverflowLoaded, *pagesTimed:
	default:
		h.stash = append(h.stash, ctx.Message())
	}
}

// unstash puts what was stashed behind what is in the mailbox.
func (h *Host) unstash(ctx actor.Context) {
	for _, message := range h.stash {
		ctx.Send(ctx.Self(), message)
	}
	h.stash = nil
}

// restoring waits for the row on disk. What comes meanwhile is put behind it.
func (h *Host) restoring(ctx actor.Context) {
	m, ok := ctx.Message().(*HostRestored)
	if !ok {
		h.stash = append(h.stash, ctx.Message())
		return
	}
	h.unstash(ctx)
	h.record = m.Record
	if len(m.Record.Politeness) > 0 {
		if err := h.politeness.UnmarshalBinary(m.Record.Politeness); err != nil {
			panic(fmt.Errorf("politeness of %s: %w", h.name, err))
		}
	}
	h.politeness.Allow(m.Record.NextAllowed)
	if len(m.Record.Robots) > 0 && time.Now().Before(m.Record.RobotsUntil) {
		h.robots = new(robots.Rules)
		if err := h.robots.UnmarshalBinary(m.Record.Robots); err != nil {
			h.robots = nil
		}
	}
	h.due, h.newWait = m.Due, m.Record.Waiting > 0
	h.judge.known.Stops, h.judge.known.Sessions = &m.Stops, &m.Sessions
	h.replan()
	if m.Lease != nil {
		h.lease = &openLease{Lease: *m.Lease, processed: m.Lease.Seq, pages: map[string]store.Page{}}
		h.behavior.Become(h.lent)
		if m.Lease.ID == h.unlent {
			h.void(ctx)
		}
		return
	}
	h.empty = m.Record.Waiting == 0 && m.Due == 0
	h.becomeReady(ctx)
}

// becomeReady tells the Master from when on this host may be lent, if there is anything to do.
func (h *Host) becomeReady(ctx actor.Context) {
	h.behavior.Become(h.ready)
	h.announced = false
	h.announce(ctx)
	h.shorten(ctx)
}

func (h *Host) announce(ctx actor.Context) {
	if h.waitsForRobots() || h.announced {
		return
	}
	if h.empty && !h.wanted {
		h.timer.After(ctx, h.RestAfter, &restAfter{})
		return
	}
	at := h.politeness.NextAllowed()
	if h.nextRetry.After(at) {
		at = h.nextRetry
	}
	if h.givenUp() {
		at = time.Now()
	}
	h.announced = true
	h.timer.Stop()
	ctx.Send(h.master, &HostReady{Host: h.name, At: at})
}

func (h *Host) ready(ctx actor.Context) {
	switch m := ctx.Message().(type) {
	case *hostGrew:
		h.newWait = true
		if h.empty || !h.nextRetry.IsZero() {
			h.empty, h.announced, h.nextRetry = false, false, time.Time{}
		}
		h.announce(ctx)
	case *DueOpened:
		h.due = m.Count
		if h.empty || !h.nextRetry.IsZero() {
			h.empty, h.announced, h.nextRetry = false, false, time.Time{}
		}
		h.announce(ctx)
		h.shorten(ctx)
	case *OverflowLoaded:
		h.putBack(ctx, m)
	case *PagesFound:
		h.follow(ctx, m)
	case *sitemapTold:
		h.vouch(ctx, m)
	case *HostExcluded:
		h.exclude(m)
	case *RelaxationsFound:
		h.relax(ctx, m)
	case *robotsAsked, *robotsTold, *robotsLate:
		h.hearOfRobots(ctx)
		h.announced = false
		h.announce(ctx)
	case *Lend:
		h.announced = false
		h.asking = m
		h.behavior.Become(h.lending)
		h.voided = false
		asked := &PagesAsked{Host: h.name, Limit: h.budget(m), Due: h.budget(m)}
		if h.Follow {
			asked.Known = h.KnownBudget
		}
		ctx.Request(h.partition, asked)
	case *HostFacts, *LeaseVoid:
		h.refuse(ctx)
		// a Master that did not know yet that the lease is over has passed over this host
		h.announced = false
		h.announce(ctx)
	case *restAfter:
		if h.idle() {
			ctx.Send(ctx.Parent(), &restWanted{h.name})
		}
	case *restGranted:
		h.rest(ctx)
	}
}

// idle reports that nothing is to be done, for this host or for another.
func (h *Host) idle() bool {
	return h.empty && !h.wanted && !h.waitsForRobots() && h.writes == 0 && !h.moving
}

// rest ends this actor, unless something came between the asking and the granting.
func (h *Host) rest(ctx actor.Context) {
	if h.idle() && h.lease == nil && h.asking == nil {
		ctx.Send(ctx.Parent(), &rested{h.name})
		h.behavior.Become(func(actor.Context) {})
		return
	}
	ctx.Send(ctx.Parent(), &stillBusy{h.name})
}

// lending waits for the pages, then for the lease to be on disk.
func (h *Host) lending(ctx actor.Context) {
	switch m := ctx.Message().(type) {
	case *PagesLoaded:
		h.prepare(ctx, m)
	case *HostFacts, *LeaseVoid:
		if void, ok := m.(*LeaseVoid); ok && void.Lease == h.asking.Lease {
			h.voided = true // seen when the pages are there, or when the lease is on disk
			return
		}
		h.refuse(ctx)
	case *restGranted:
		h.rest(ctx)
	default:
		h.hearOfMore(ctx)
	}
}

// hearOfMore takes what may come in any state.
func (h *Host) hearOfMore(ctx actor.Context) {
	switch m := ctx.Message().(type) {
	case *hostGrew:
		h.empty, h.newWait = false, true
	case *DueOpened:
		h.due, h.empty = m.Count, false
	case *OverflowLoaded:
		h.putBack(ctx, m)
	case *PagesFound:
		h.follow(ctx, m)
	case *sitemapTold:
		h.vouch(ctx, m)
	case *HostExcluded:
		h.exclude(m)
	case *RelaxationsFound:
		h.relax(ctx, m)
	default:
		h.hearOfRobots(ctx)
	}
}

// row is this host as it is written.
func (h *Host) row() *store.HostRecord {
	blob, err := h.politeness.MarshalBinary()
	if err != nil {
		panic(fmt.Errorf("politeness of %s: %w", h.name, err))
	}
	h.record.Politeness, h.record.NextAllowed = blob, h.politeness.NextAllowed()
	row := h.record
	return &row
}

func (h *Host) write(ctx actor.Context, w *Write) {
	h.writes++
	ctx.Request(h.partition, w)
}

// lent takes facts until the lease has ended.
func (h *Host) lent(ctx actor.Context) {
	switch m := ctx.Message().(type) {
	case *HostFacts:
		if m.Lease != h.lease.ID {
			h.refuse(ctx)
			return
		}
		h.lease.queue = append(h.lease.queue, m.Facts...)
		h.takeFacts(ctx)
	case *EntriesLoaded:
		for _, entry := range m.Entries {
			h.lease.pages[string(entry.Position)] = entry.Page
		}
		h.lease.asked = false
		h.takeFacts(ctx)
	case *pagesTimed:
		h.storeTimed(ctx, m)
	case *LeaseVoid:
		if m.Lease == h.lease.ID {
			h.void(ctx)
		}
	case *restGranted:
		h.rest(ctx)
	default:
		h.hearOfMore(ctx)
	}
}

// written goes on where a write had to come first.
func (h *Host) written(ctx actor.Context, tag any) {
	switch tag := tag.(type) {
	case *lentTag:
		task := h.lease.task
		h.lease.task, h.asking = nil, nil
		h.behavior.Become(h.lent)
		if h.voided {
			h.void(ctx)
			return
		}
		ctx.Send(h.master, &Lent{Lease: h.lease.ID, Slave: h.lease.Slave, Boot: h.lease.Boot, Task: task})
	case *refusedTag:
		if h.asking != nil {
			h.refuseLend(ctx)
		}
	case *movedTag:
		h.askOverflow(ctx) // until there is no more
	case *factsTag:
		ctx.Send(h.master, &FactsStored{Lease: tag.lease, Seq: tag.seq, Visits: tag.visits, Closed: tag.closed,
			NextAt: h.politeness.NextAllowed(), OthersAt: h.othersAt})
		if tag.closed {
			h.lease = nil
			h.becomeReady(ctx)
		}
	}
}
