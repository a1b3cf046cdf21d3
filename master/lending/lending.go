// Package lending lends hosts to slaves and takes in what these found there: which slave may ask which host and until
// when, which host is next, and which slave is believed.
//
// A Desk is a value. Updated takes a fact at a moment and returns what is to be done then: messages for slaves and
// Hosts, lines for the log. Nothing here knows of actors, clocks, disks or names; the Master brings facts in and
// carries effects out. So whole crawls are scripts: testdata/*.script.
//
// The way of a task, and of what comes of it (way.go follows it):
//
//	slave ── WorkRequested ──► serve        renews what the slave holds; it says how many hosts it is willing to hold
//	                           dispatch     the host that is next in line goes to the slave with most room
//	Host  ◄── Lend ─────────── lend         a lease is open; the Host chooses pages, each with its depth_left
//	      ── Lent ───────────► deliver      they are on disk
//	slave ◄── TaskBatch ──────
//	      ── Report ─────────► takeReport   pages, each with the LinkSet that was found on it
//	Host  ◄── HostFacts ──────              judges the links, which have one link of depth less left
//	      ── FactsStored ────► acknowledge  pages and new URLs are on disk
//	slave ◄── Stored ─────────              forgets them
//
// Invariants:
//   - a host is lent at most once at a time (package ledger), and of hosts that share a clock one;
//   - a lease ends here no sooner than at its holder;
//   - a message counts only if it comes from the actor that registered under the name in it.
package lending

import (
	"slices"
	"time"

	"henro/actors/protocol"
	"henro/master/ledger"
	"henro/messages"
)

// Options of a Desk.
type Options struct {
	Claim       messages.Claim          // of this master, in what it sends
	LeaseFor    time.Duration           // a slave may ask a host for so long after it asked for work
	LeaseMargin time.Duration           // a lease is honoured this much longer: clocks run at different speeds
	TickEvery   time.Duration           // between two Ticks
	LookAhead   time.Duration           // a host may be lent so long before it may be asked
	Fetch       *messages.FetchSettings // for all slaves
	LeasePages  int                     // pages of a lease at most, if MaxPages is a limit
	MaxPages    uint64                  // pages that the run may visit; 0: no limit
	Requisites  bool                    // requisites are fetched after the last page, too
	Visited     uint64                  // visits of the run before this start
	Partitions  int                     // how many report the leases that were open before this start
	Drained     map[string]string       // slaves that are lent nothing, and their boots
	Clocks      *Clocks                 // clocks that hosts share; nil: each host has its own
	Names       bool                    // the clocks of a host are its addresses, which are looked up each time
	Frontier    Frontier                // nil: the host that has been ready longest comes first
	Debug       bool                    // log what is lent
}

// Frontier is what waits, which decides which host is next and for how many visits. A host that may be lent is given to
// put, which puts it into the queue.
type Frontier interface {
	Identify(host string, addresses []string)
	Announce(host string, at time.Time, put func(host string, at time.Time))
	Grant(now time.Time, put func(host string, at time.Time)) (some bool)
	Lend(host string, limit int) (visits int)
	Closed(host string, now, nextAt time.Time)
}

// Address is where an actor is reached, as actor.PID has it. A Desk compares addresses, and hands them back.
type Address interface {
	GetAddress() string
	GetId() string
}

func same(a, b Address) bool {
	return a != nil && b != nil && a.GetAddress() == b.GetAddress() && a.GetId() == b.GetId()
}

// Recipient says who an Effect is for.
type Recipient uint8

// The recipients.
const (
	Actor  Recipient = iota + 1 // at Effect.Address: a slave, a Host that is awake, or whoever has asked
	Hosts                       // the parent of all Hosts
	Names                       // the resolver, which answers *Sought with *Named
	Master                      // *Heard, *Reported, or *RunChanged
	Log                         // *Said
)

// Effect is one message to be sent.
type Effect struct {
	To      Recipient
	Address Address
	Message any
}

// What a Desk is told, beside the messages of slaves, Hosts and Partitions.
type (
	// Tick is told again and again. Storing: every Partition can store.
	Tick struct{ Storing bool }
	// Halted has all leases taken back and nothing lent until Resumed. Cut: requests under way are not waited for.
	Halted struct{ Cut bool }
	// Resumed ends Halted.
	Resumed struct{}
	// Deposed says that another master leads.
	Deposed struct{ By messages.Claim }
	// Named brings the clocks of a host that was Sought.
	Named struct {
		Host string
		Keys []string
	}
)

// What a Desk says, beside messages to slaves and Hosts.
type (
	// Sought asks for the addresses of a host.
	Sought struct{ Host string }
	// Heard says that a slave that is believed has reported something.
	Heard struct{}
	// Reported are facts of a lease that are reported for the first time, in order.
	Reported struct {
		Slave, Host string
		Facts       []*messages.Fact
	}
	// RunChanged says that Drained has changed.
	RunChanged struct{}
	// Said is a line for the log.
	Said struct {
		Level, Phrase string
		Fields        map[string]any
	}
)

// base is what the parts of a Desk share.
type base struct {
	o      *Options
	now    time.Time
	out    []Effect
	ledger ledger.Ledger
	awake  map[uint64]Address // by lease: its Host; none: the lease is from before this start, or is being prepared
}

func (b *base) send(to Recipient, message any) {
	b.out = append(b.out, Effect{To: to, Message: message})
}

func (b *base) sendTo(at Address, message any) {
	if at != nil {
		b.out = append(b.out, Effect{To: Actor, Address: at, Message: message})
	}
}

// toHost sends a message about a lease to its Host, through Hosts if the address of the Host is not known.
func (b *base) toHost(lease *ledger.Lease, message any) {
	if host := b.awake[lease.ID]; host != nil {
		b.sendTo(host, message)
		return
	}
	b.send(Hosts, &protocol.ToHost{Host: lease.Host, Message: message})
}

func (b *base) say(level, phrase string, fields map[string]any) {
	b.send(Log, &Said{level, phrase, fields})
}

// book takes a fact into the ledger.
func (b *base) book(fact any) { b.ledger = b.ledger.Updated(fact) }

// leaseEnd is when a lease ends that is granted or renewed now.
func (b *base) leaseEnd() time.Time { return b.now.Add(b.o.LeaseFor + b.o.LeaseMargin) }

// factBy is until when a fact must be stored of a lease whose host may be asked from a moment on: as long as ten leases
// and two of the longest visits. A slave also waits for its disk, its processor, and room that other leases take up.
func (b *base) factBy(from time.Time) time.Time {
	if from.Before(b.now) {
		from = b.now
	}
	return from.Add(10*b.o.LeaseFor + 2*time.Duration(b.o.Fetch.GetFetchTimeoutNs()))
}

// void ends a lease whose slave has not reported its end. Until that is on disk the lease is open, and must not be
// renewed.
func (b *base) void(id uint64) {
	if lease, ok := b.ledger.Lease(id); ok {
		b.book(ledger.LeaseRecalled{ID: id})
		b.toHost(&lease, &protocol.LeaseVoid{Lease: id})
	}
}

// Desk is where hosts are lent.
type Desk struct {
	base      *base
	slaves    slaves
	queue     queue
	quota     quota
	tasks     tasks // those that are lent whole
	resources resources
	beside    map[uint64]int // by lease: how many requests may be under way beside the first, where the host consents
	halted    bool
	lastID    uint64            // id of the latest lease; ids go up from term to term
	leader    messages.Claim    // claim of the master that leads this crawl, if it is another
	tickedAt  time.Time         // the last Tick
	lends     bool              // a slave was sent a task since this start
	restoring int               // partitions that have not reported yet which leases were open before this start
	early     map[string]*early // by slave: the latest registration, while not all partitions have reported
}

// early is a registration that cannot be answered yet.
type early struct {
	from       Address
	registered *messages.SlaveRegistered
}

// New makes a Desk that has lent nothing yet.
func New(o *Options, now time.Time) *Desk {
	b := &base{o: o, awake: map[uint64]Address{}}
	return &Desk{base: b, slaves: newSlaves(b), queue: newQueue(b), quota: quota{o: o, visits: o.Visited},
		tasks: tasks{}, beside: map[uint64]int{}, early: map[string]*early{},
		lastID: firstLease(o.Claim.Term, now), restoring: o.Partitions}
}

// firstLease is the id before that of the first lease of a term: 24 bits of the term, and 19 of the clock, so that the
// leases of two crawls have different ids at a slave that goes from one to the other. A term has room for 5·10¹¹.
func firstLease(term uint64, now time.Time) uint64 {
	return term<<40 | uint64(now.UnixMilli())&(1<<19-1)<<20
}

// Updated takes a fact at a moment, from the actor at an address, and returns what is to be done then, valid until the
// next call. It reports whether the fact is one that a Desk knows.
func (d *Desk) Updated(now time.Time, from Address, fact any) ([]Effect, bool) {
	d.base.now = now
	known := d.take(from, fact)
	if d.slaves.changed {
		d.countResources()
	}
	out := d.base.out
	d.base.out = out[:0]
	return out, known
}

// take is the table of contents.
func (d *Desk) take(from Address, fact any) bool {
	switch m := fact.(type) {
	case *messages.SlaveRegistered:
		d.welcome(from, m)
	case *messages.WorkRequested:
		d.serve(from, m)
		d.dispatch()
	case *messages.Report:
		d.takeReport(from, m)
	case *messages.TaskRefused:
		d.decline(from, m)
	case *TaskDrawn:
		for t := (&task{m.Slave, d.base.now}); len(m.Hosts) > 0; m.Hosts = m.Hosts[1:] {
			d.tasks.bind(m.Hosts[0], t)
		}
	case *SlaveLost:
		d.slaves.lose(m)
	case *SlaveRefused:
		d.slaves.refuse(m)
	case *DrainSlave:
		d.drain(from, m.Slave, true)
	case *ResumeSlave:
		d.drain(from, m.Slave, false)
	case *protocol.HostReady:
		d.queue.announce(m.Host, m.At)
		d.dispatch()
	case *Named:
		d.queue.identify(m)
		d.dispatch()
	case *protocol.Lent:
		d.deliver(from, m)
	case *protocol.LendRefused:
		d.close(m.Lease, m.NextAt, time.Time{})
		d.dispatch()
	case *protocol.LeasesFound:
		d.restore(m)
	case *protocol.FactsRefused:
		if lease, ok := d.base.ledger.Lease(m.Lease); ok {
			d.slaves.distrust(lease.Slave, lease.Boot, m.Why)
			d.slaves.recall(&lease)
		}
	case *protocol.LeaseUnwanted:
		if lease, ok := d.base.ledger.Lease(m.Lease); ok {
			d.slaves.recall(&lease)
		}
	case *protocol.FactsCommitted:
		for _, stored := range m.Facts {
			d.acknowledge(stored)
		}
		d.slaves.flush()
	case *protocol.FactsStored:
		d.acknowledge(m)
		d.slaves.flush()
	case *Halted:
		d.halted = true
		d.slaves.revokeAll(m.Cut)
	case *Resumed:
		d.halted = false
		d.dispatch()
	case *Deposed:
		d.halted, d.leader = true, m.By
	case *Tick:
		d.tick(m)
	default:
		return false
	}
	return true
}

// tick ends leases that have run out, and lends hosts that have become ready.
func (d *Desk) tick(m *Tick) {
	d.forgive()
	for _, lease := range d.base.ledger.Expired(d.base.now) {
		if s := d.slaves.known[lease.Slave]; s != nil && !lease.Recalled {
			s.rest(d.base.now)
		}
		d.base.void(lease.ID)
	}
	if m.Storing { // otherwise it is the master's fault that nothing is stored
		d.recallIdle()
	}
	if d.base.o.Clocks != nil {
		d.base.o.Clocks.sweep(d.base.now)
	}
	d.dispatch()
	d.countResources()
	if d.tasks.sweep(&d.queue); !d.halted && len(d.tasks) == 0 {
		d.balance()
	}
}

// forgive renews all leases if this process stood still, frozen or on a machine that slept: it took no renewals
// meanwhile, and the slaves keep what they fetched. (Of 6,180 pages of a crawl 1,047 were fetched again: a master that
// was stopped for the time of two leases ended them all when it went on, before it took what was in its mailbox.)
func (d *Desk) forgive() {
	// by the wall clock: the monotonic one stands still while a machine sleeps
	still := d.base.now.Round(0).Sub(d.tickedAt.Round(0))
	if !d.tickedAt.IsZero() && still > d.base.o.TickEvery+silentAfter {
		d.base.say("warning", "this master stood still: all leases are honoured for a whole lease",
			map[string]any{"took": still, "leases": d.base.ledger.OpenCount()})
		for _, lease := range d.base.ledger.All() {
			d.base.book(ledger.LeasesRenewed{Slave: lease.Slave, Boot: lease.Boot, IDs: []uint64{lease.ID},
				Until: d.base.leaseEnd()})
		}
	}
	d.tickedAt = d.base.now
}

// recallIdle recalls the leases under which nothing was stored for longer than any visit takes. Without it a slave that
// renews and reports nothing would keep a host for ever.
func (d *Desk) recallIdle() {
	for _, lease := range d.base.ledger.Idle(d.base.now) {
		d.base.say("warning", "nothing was reported under a lease for too long: it is taken back",
			map[string]any{"slave": lease.Slave, "host": lease.Host, "lease": lease.ID})
		d.slaves.recall(&lease)
		if s := d.slaves.known[lease.Slave]; s != nil {
			s.restUntil = d.base.factBy(d.base.now) // as long as it cost; others get the host
		}
	}
}

// restore takes over what was lent before this start. Renewals are not on disk, and the last may have come right before
// the end: so each lease lasts a whole lease from now, unless its slave reports its end sooner, or a newer boot of the
// slave registers.
func (d *Desk) restore(m *protocol.LeasesFound) {
	d.restoring--
	for _, lease := range m.Leases {
		d.queue.hold(lease.HostName)
		d.base.book(ledger.LeaseGranted{Lease: ledger.Lease{ID: lease.ID, Host: lease.HostName, Slave: lease.Slave,
			Boot: lease.Boot, Until: d.base.leaseEnd(), FactBy: d.base.factBy(d.base.now), Old: true}})
	}
	if d.Restored() {
		for _, e := range d.early {
			d.welcome(e.from, e.registered)
		}
		clear(d.early)
	}
}

// leads reports whether this master leads the crawl, as far as the term that a slave knows tells. If not, the slave is
// answered NotLeading.
func (d *Desk) leads(from Address, crawl string, term uint64) bool {
	if d.leader.Boot == "" && (crawl != d.base.o.Claim.Crawl || term <= d.base.o.Claim.Term) {
		return true
	}
	d.base.sendTo(from, &messages.NotLeading{Crawl: d.base.o.Claim.Crawl, Term: max(d.leader.Term, d.base.o.Claim.Term),
		Boot: d.leader.Boot})
	return false
}

// welcome takes a slave in. A newer boot of a slave proves that the older one has ended: its leases end at once. An
// older boot is not taken in while the newer one is there: it was frozen while the slave was started again. A new boot
// that counts as older, since the clock was set back, is taken in when all leases of the other one have run out.
func (d *Desk) welcome(from Address, m *messages.SlaveRegistered) {
	if from == nil { // it cannot be answered
		return
	}
	if !d.leads(from, m.Crawl, m.Term) {
		return
	}
	if !d.Restored() {
		d.early[m.Slave] = &early{from, m}
		return
	}
	known, _ := d.base.ledger.Slave(m.Slave)
	if m.Boot < known.Boot && d.base.now.Sub(known.At) < d.base.o.LeaseFor+d.base.o.LeaseMargin {
		return
	}
	if s := d.slaves.known[m.Slave]; s != nil && known.Boot == m.Boot && !same(s.from, from) {
		d.slaves.distrustSender(from, m.Slave)
		return
	}
	d.slaves.welcome(from, m)
	d.base.book(ledger.SlaveWelcomed{Slave: m.Slave, Boot: m.Boot, At: d.base.now})
	for _, lease := range d.base.ledger.Orphaned(m.Slave) {
		d.base.void(lease.ID)
	}
	// A lease from before this start that the slave does not name never reached it, or is finished. From now on the
	// slave refuses tasks of the master's earlier start.
	for _, lease := range d.base.ledger.HeldBy(m.Slave, m.Boot) {
		if lease.Old && !slices.Contains(m.Held, lease.ID) {
			d.base.void(lease.ID)
		}
	}
	o := d.base.o
	welcomed := &messages.SlaveWelcomed{MasterBoot: o.Claim.Boot, LeaseNs: int64(o.LeaseFor), Fetch: o.Fetch,
		Crawl: o.Claim.Crawl, Term: o.Claim.Term}
	for _, id := range m.Held {
		if lease, ok := d.base.ledger.Lease(id); !ok || !lease.Of(m.Slave, m.Boot) {
			welcomed.Unknown = append(welcomed.Unknown, id)
		}
	}
	d.base.sendTo(from, welcomed)
	d.base.say("info", "slave welcomed", map[string]any{"slave": m.Slave, "version": m.Version,
		"connections": m.Connections})
}

// drain takes the leases of a slave back and lends it nothing, or lends to it again.
func (d *Desk) drain(from Address, name string, on bool) {
	known, ok := d.base.ledger.Slave(name)
	if !ok || d.slaves.known[name] == nil {
		d.base.sendTo(from, &SlaveAnswered{})
		return
	}
	delete(d.slaves.drained, name)
	if on {
		d.slaves.drained[name] = known.Boot
		d.slaves.revoke(name, d.base.ledger.HeldBy(name, known.Boot), false)
	}
	d.base.send(Master, &RunChanged{})
	status := d.slaves.status(known)
	d.base.sendTo(from, &SlaveAnswered{Slave: &status})
	d.dispatch()
}

// OpenCount is how many leases are open.
func (d *Desk) OpenCount() int { return d.base.ledger.OpenCount() }

// Restored reports that every lease that was open when the master last ended is in the ledger again.
func (d *Desk) Restored() bool { return d.restoring == 0 }

// Spent reports that all pages of the run's limit are there, and that no requisite of them is to be fetched either.
func (d *Desk) Spent() bool { return d.quota.spent() && !d.Closing() }

// Closing reports that all pages of the run's limit are there, and that their requisites are still fetched. A frontier
// does not tell requisites from the pages that wait in it: with one, no more requisites are fetched.
func (d *Desk) Closing() bool {
	return d.quota.spent() && d.base.o.Requisites && d.base.o.Frontier == nil
}

// Connections is C of equation (9): the connections of all slaves that are there. busy is the part of them that was in
// use in the last minutes.
func (d *Desk) Connections() (total int, busy float64) { return d.slaves.connections() }

// Ready counts the hosts that wait to be lent, and says when the first may be asked; zero: none waits.
func (d *Desk) Ready() (count int, next time.Time) {
	next, _ = d.queue.next()
	return d.queue.count(), next
}

// ReadyBefore counts the hosts that are ready before a moment; those that wait for a shared clock are not.
func (d *Desk) ReadyBefore(at time.Time) int { return d.queue.before(at) }

// Slaves are all slaves, and behind them those that are refused. These may have the names of slaves that are gone.
func (d *Desk) Slaves(now time.Time) []SlaveStatus {
	d.base.now = now
	return d.slaves.statuses()
}

// Drained are the slaves that are to be lent nothing, with their boots.
func (d *Desk) Drained() map[string]string { return d.slaves.drained }
