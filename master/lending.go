package master

import (
	"slices"
	"time"

	"github.com/asynkron/protoactor-go/actor"
	"github.com/sirupsen/logrus"

	"henro/actors/protocol"
	"henro/master/ledger"
	"henro/messages"
)

// lending is who has which host: the ledger of leases, the slaves, and the hosts that wait to be lent. It sends slaves
// and Hosts what concerns a lease. When hosts are lent, and what of a report counts, the Master decides.
type lending struct {
	o      *Options
	log    *logrus.Entry
	hosts  *actor.PID // the actor Hosts
	ledger ledger.Ledger
	slaves slaves
	ready  *line
	lent   map[uint64]*actor.PID // by lease: its Host, awake while it is lent; none: lent before this start

	lastID   uint64         // of a lease; they go up from term to term
	leader   messages.Claim // of the master that leads this crawl, when it is another
	tickedAt time.Time      // looked for ends of leases last
	lends    bool           // a slave was sent a task since this start
	restoring
	resources
}

// newLending makes the lending of a crawl whose state has so many partitions.
func newLending(o *Options, c *clocks, partitions int, seen *seenResources, log *logrus.Entry) lending {
	return lending{o: o, log: log, slaves: newSlaves(o.claim.Term, o.Run.Drained), ready: newLine(o, c),
		lent: map[uint64]*actor.PID{}, lastID: firstLease(o.claim.Term, time.Now()),
		restoring: restoring{partitions, map[string]early{}}, resources: resources{seen: seen}}
}

// firstLease is before the first lease of a term: 24 bits of it, and 19 of the clock, so that slaves which go from one
// crawl to another do not confuse their leases. There is room for 5·10¹¹ leases in a term.
func firstLease(term uint64, now time.Time) uint64 {
	return term<<40 | uint64(now.UnixMilli())&(1<<19-1)<<20
}

// RivalSeen says that another master of the same crawl is there, or leads it in another term than before.
type RivalSeen struct {
	messages.Claim
	Name, Address string
}

// leads reports whether this master leads the crawl in the term that a slave knows. If not the slave is answered so.
func (l *lending) leads(ctx actor.Context, crawl string, term uint64) bool {
	if l.leader.Boot == "" && (crawl != l.o.claim.Crawl || term <= l.o.claim.Term) {
		return true
	}
	if ctx.Sender() != nil {
		ctx.Respond(&messages.NotLeading{Crawl: l.o.claim.Crawl, Term: max(l.leader.Term, l.o.claim.Term),
			Boot: l.leader.Boot})
	}
	return false
}

// restoring waits for the leases that were open when the master ended last. Every partition reports its own once.
type restoring struct {
	partitions int              // that have not reported yet
	early      map[string]early // by slave: registrations that came before all had, the latest
}

// restored reports that every lease that was open when the master last ended is in the ledger again.
func (r *restoring) restored() bool { return r.partitions == 0 }

// early is a registration that cannot be answered yet.
type early struct {
	from       *actor.PID
	registered *messages.SlaveRegistered
}

// toHost sends a message about a lease to its Host, which must be woken first if it was not lent since this start.
func (l *lending) toHost(ctx actor.Context, lease ledger.Lease, message any) {
	if host := l.lent[lease.ID]; host != nil {
		ctx.Send(host, message)
		return
	}
	ctx.Send(l.hosts, &protocol.ToHost{Host: lease.Host, Message: message})
}

// forgive honours all leases for a whole lease from now when this process stood still, frozen or on a machine that
// slept, as after a restart. It took no renewals meanwhile, and the slaves keep what they fetched. (Of 6,180 pages of a
// crawl 1,047 were fetched again: a master that was stopped for two leases ended them all when it went on, before it
// took what was in its mailbox.)
func (l *lending) forgive(now time.Time) {
	// the monotonic clock stands still with a machine
	if still := now.Round(0).Sub(l.tickedAt.Round(0)); !l.tickedAt.IsZero() && still > l.o.TickEvery+silentAfter {
		l.log.WithFields(logrus.Fields{"took": still,
			"leases": l.ledger.OpenCount()}).Warn("this master stood still: all leases are honoured for a whole lease")
		for _, lease := range l.ledger.All() {
			l.ledger = l.ledger.Updated(ledger.LeasesRenewed{Slave: lease.Slave, Boot: lease.Boot,
				IDs: []uint64{lease.ID}, Until: l.o.leaseEnd(now)})
		}
	}
	l.tickedAt = now
}

// welcome takes a slave in. A newer boot of a name is the certain end of the older boot, whose leases end at once. An
// older boot is not taken in while the newer is there: it was frozen while the slave was started again. Nor is a boot
// that a clock which went back makes the older one, until all leases of the other have ended.
func (l *lending) welcome(ctx actor.Context, msg *messages.SlaveRegistered) {
	if ctx.Sender() == nil {
		return // it cannot be answered
	}
	if !l.leads(ctx, msg.Crawl, msg.Term) {
		return
	}
	if !l.restored() {
		l.early[msg.Slave] = early{ctx.Sender(), msg}
		return
	}
	now := time.Now()
	if known, _ := l.ledger.Slave(msg.Slave); msg.Boot < known.Boot &&
		now.Sub(known.At) < l.o.LeaseFor+l.o.LeaseMargin {
		return
	}
	s := l.slaves.known[msg.Slave]
	if known, _ := l.ledger.Slave(msg.Slave); s != nil && known.Boot == msg.Boot && !s.from.Equal(ctx.Sender()) {
		l.unmask(ctx, msg.Slave)
		return
	}
	if s == nil {
		s = &slave{}
		l.slaves.known[msg.Slave] = s
	}
	if s.doubted != msg.Boot {
		s.doubted, s.impossible, s.why, s.declined, s.restUntil = msg.Boot, 0, "", 0, time.Time{}
	}
	s.pid, s.from, s.version, s.address = ctx.Sender(), ctx.Sender(), msg.Version, msg.Address
	s.connections, s.usage = int(msg.Connections), usage{}
	if l.slaves.drained[msg.Slave] != msg.Boot {
		delete(l.slaves.drained, msg.Slave)
	}
	l.ledger = l.ledger.Updated(ledger.SlaveWelcomed{Slave: msg.Slave, Boot: msg.Boot, At: now})
	for _, lease := range l.ledger.Orphaned(msg.Slave) {
		l.void(ctx, lease.ID)
	}
	// A lease of the last run of the master that the slave does not name never reached it, or is finished. The slave
	// refuses tasks of that run from now on.
	for _, lease := range l.ledger.HeldBy(msg.Slave, msg.Boot) {
		if lease.Old && !slices.Contains(msg.Held, lease.ID) {
			l.void(ctx, lease.ID)
		}
	}
	welcomed := &messages.SlaveWelcomed{MasterBoot: l.o.Boot, LeaseNs: int64(l.o.LeaseFor), Fetch: l.o.Fetch,
		Crawl: l.o.claim.Crawl, Term: l.o.claim.Term}
	for _, id := range msg.Held {
		if lease, ok := l.ledger.Lease(id); !ok || lease.Slave != msg.Slave || lease.Boot != msg.Boot {
			welcomed.Unknown = append(welcomed.Unknown, id)
		}
	}
	ctx.Respond(welcomed)
	l.countResources(ctx)
	l.log.WithFields(logrus.Fields{"slave": msg.Slave, "version": msg.Version,
		"connections": msg.Connections}).Info("slave welcomed")
}

// serve renews what a slave holds, while the crawl is running, and takes its windows.
func (l *lending) serve(ctx actor.Context, msg *messages.WorkRequested, running bool) {
	s := l.speaker(ctx, msg.Slave, msg.Boot)
	if s == nil || !l.leads(ctx, l.o.claim.Crawl, msg.Term) {
		return // not welcomed: it will register
	}
	back := s.pid == nil
	s.pid, s.serial, s.asked = s.from, msg.Serial, msg
	if back { // the gossip was wrong
		l.countResources(ctx)
	}
	now := time.Now()
	s.usage.take(now, time.Duration(msg.BusyNs))
	l.ledger = l.ledger.Updated(ledger.WindowSet{Slave: msg.Slave, Boot: msg.Boot, Slots: int(msg.HostSlots), At: now})
	batch := &messages.TaskBatch{Serial: msg.Serial, Term: l.o.claim.Term}
	for _, id := range msg.Held {
		lease, ok := l.ledger.Lease(id)
		if !ok || lease.Slave != msg.Slave || lease.Boot != msg.Boot || !running ||
			l.slaves.idle(msg.Slave, msg.Boot) || lease.Recalled {
			batch.Revoked = append(batch.Revoked, id)
			continue
		}
		batch.Renewed = append(batch.Renewed, id)
		if lease.Moving {
			batch.Revoked = append(batch.Revoked, id)
		}
	}
	l.ledger = l.ledger.Updated(ledger.LeasesRenewed{Slave: msg.Slave, Boot: msg.Boot, IDs: batch.Renewed,
		Until: l.o.leaseEnd(now)})
	ctx.Respond(batch) // an empty one too: it says that this master lives and knows the slave
}

// lend lends the host that is next in line to a slave, for so many pages; false means that none is ready.
func (l *lending) lend(ctx actor.Context, name string, limit int, now time.Time) bool {
	host, notBefore, ok := l.ready.take(now.Add(l.o.Hosts.LookAhead))
	if !ok {
		return l.ready.grant(now)
	}
	if _, taken := l.ledger.OfHost(host); taken {
		l.ready.giveBack(host, notBefore)
		return true // its Host will say again when the lease has ended
	}
	known, _ := l.ledger.Slave(name)
	l.lastID++
	lease := ledger.Lease{ID: l.lastID, Host: host, Slave: name, Boot: known.Boot, Until: l.o.leaseEnd(now),
		Budget: uint64(max(limit, 0)), FactBy: l.o.factBy(now)}
	l.ledger = l.ledger.Updated(ledger.LeaseGranted{Lease: lease})
	l.toHost(ctx, lease, &protocol.Lend{Lease: lease.ID, Slave: name, Boot: lease.Boot, Until: lease.Until,
		PageLimit: limit, Budget: l.ready.lend(host, limit), NotBefore: notBefore, Few: l.few(limit)})
	return true
}

// fewHosts is how many hosts do not keep two processors busy while one of them waits for its next lease.
const fewHosts = 4

// few reports that few hosts have pages, so that nobody waits for the end of a lease. Under a limit of pages leases are
// short all the same, or the host that is lent first would take them all.
func (l *lending) few(limit int) bool {
	return limit == 0 && l.ledger.OpenCount()+l.ready.count() <= fewHosts
}

// leaseEnd is when a lease ends that is renewed now.
func (o *Options) leaseEnd(now time.Time) time.Time { return now.Add(o.LeaseFor + o.LeaseMargin) }

// send gives a lease that is on disk to its slave, while the crawl is running.
func (l *lending) send(ctx actor.Context, msg *protocol.Lent, running bool) {
	s := l.slaves.known[msg.Slave]
	known, _ := l.ledger.Slave(msg.Slave)
	lease, open := l.ledger.Lease(msg.Lease)
	if open {
		l.lent[msg.Lease] = ctx.Sender()
	}
	if s == nil || s.pid == nil || known.Boot != msg.Boot || !running || l.slaves.idle(msg.Slave, msg.Boot) ||
		lease.Recalled {
		l.void(ctx, msg.Lease)
		return
	}
	if l.o.MaxPages > 0 {
		pages := max(0, min(int(msg.Task.PageLimit), int(msg.Task.PageBudget)))
		l.ledger = l.ledger.Updated(ledger.LeaseBudgeted{ID: msg.Lease, Visits: uint64(pages)})
	}
	level := logrus.DebugLevel
	if !l.lends { // where another master led before: how long nothing was lent
		l.lends, level = true, logrus.InfoLevel
	}
	if l.log.Logger.IsLevelEnabled(level) {
		l.log.WithFields(logrus.Fields{"host": msg.Task.Host, "slave": msg.Slave,
			"lease": msg.Lease, "term": l.o.claim.Term}).Log(level, "host lent")
	}
	ctx.Request(s.pid, &messages.TaskBatch{Serial: s.serial, Tasks: []*messages.HostTask{msg.Task},
		Term: l.o.claim.Term})
}

// restoreLeases takes over what was lent before this start. A lease may have been renewed right before the end, and
// renewals are not on disk: so it is honoured for a whole lease from now, unless its slave reports its end sooner, or a
// newer boot of the slave registers.
func (l *lending) restoreLeases(ctx actor.Context, msg *protocol.LeasesFound) {
	l.restoring.partitions--
	until := l.o.leaseEnd(time.Now())
	for _, lease := range msg.Leases {
		l.ready.hold(lease.HostName)
		l.ledger = l.ledger.Updated(ledger.LeaseGranted{Lease: ledger.Lease{ID: lease.ID, Host: lease.HostName,
			Slave: lease.Slave, Boot: lease.Boot, Until: until, FactBy: l.o.factBy(time.Now()), Old: true}})
	}
	if l.restored() {
		for _, e := range l.early {
			ctx.RequestWithCustomSender(ctx.Self(), e.registered, e.from)
		}
		clear(l.early)
	}
}

// void ends a lease whose slave has not reported its end. Until that is on disk the lease is open, and must not be
// renewed.
func (l *lending) void(ctx actor.Context, id uint64) {
	if lease, ok := l.ledger.Lease(id); ok {
		l.ledger = l.ledger.Updated(ledger.LeaseRecalled{ID: id})
		l.toHost(ctx, lease, &protocol.LeaseVoid{Lease: id})
	}
}

func (l *lending) close(id uint64, nextAt, othersAt time.Time) {
	if lease, ok := l.ledger.Lease(id); ok {
		if err := l.ready.close(lease.Host, nextAt, othersAt); err != nil {
			panic(err)
		}
	}
	l.ledger = l.ledger.Updated(ledger.LeaseEnded{ID: id})
	delete(l.lent, id)
}
