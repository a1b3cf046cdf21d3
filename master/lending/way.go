package lending

import (
	"slices"
	"time"

	"henro/actors/protocol"
	"henro/master/ledger"
	"henro/messages"
)

// serve renews what a slave holds, unless nothing is to be lent, and notes how many hosts it is willing to hold.
func (d *Desk) serve(from Address, m *messages.WorkRequested) {
	s := d.slaves.speaker(from, m.Slave, m.Boot)
	if s == nil || !d.leads(from, d.base.o.Claim.Crawl, m.Term) {
		return // not welcomed: it will register
	}
	d.slaves.changed = s.at == nil // the gossip was wrong
	s.at, s.serial, s.asked = s.from, m.Serial, m
	s.usage.take(d.base.now, time.Duration(m.BusyNs))
	d.base.book(ledger.SlotsSet{Slave: m.Slave, Boot: m.Boot, Slots: int(m.HostSlots), At: d.base.now})
	batch := &messages.TaskBatch{Serial: m.Serial, Term: d.base.o.Claim.Term}
	for _, id := range m.Held {
		lease, ok := d.base.ledger.Lease(id)
		if !ok || !lease.Of(m.Slave, m.Boot) || d.halted || d.slaves.idle(m.Slave, m.Boot) || lease.Recalled {
			batch.Revoked = append(batch.Revoked, id)
			continue
		}
		batch.Renewed = append(batch.Renewed, id)
		if lease.Moving {
			batch.Revoked = append(batch.Revoked, id)
		}
	}
	d.base.book(ledger.LeasesRenewed{Slave: m.Slave, Boot: m.Boot, IDs: batch.Renewed, Until: d.base.leaseEnd()})
	d.base.sendTo(from, batch) // an empty one too: it says that this master lives and knows the slave
}

// dispatch lends ready hosts to the slaves with the most room, in turns.
func (d *Desk) dispatch() {
	for !d.halted && d.queue.may(d.base.now.Add(d.base.o.LookAhead)) {
		name := d.slaves.withMostRoom()
		if name == "" {
			return
		}
		limit, ok := d.quota.next(d.base.ledger.Budget)
		if !ok && !d.Closing() || !d.lend(name, limit) {
			return
		}
	}
}

// lend lends the host that is next in line to a slave, for so many pages; false means that none is ready.
func (d *Desk) lend(name string, limit int) bool {
	host, notBefore, ok := d.queue.take(d.base.now.Add(d.base.o.LookAhead))
	if !ok {
		return d.queue.grant()
	}
	if _, taken := d.base.ledger.OfHost(host); taken {
		d.queue.giveBack(host, notBefore)
		return true // its Host announces itself again when the lease has ended
	}
	if t := d.tasks[host]; t != nil {
		if in, _ := d.base.ledger.Slave(t.slave); !d.slaves.there(&in) {
			t.slave = name // the whole task moves
		} else if in.Held >= in.Slots { // its slave has no room
			d.queue.giveBack(host, notBefore)
			d.queue.put(host, d.base.now.Add(d.base.o.LookAhead+1)) // behind those that are looked at now
			return true
		}
		name = t.slave
	}
	known, _ := d.base.ledger.Slave(name)
	d.lastID++
	lease := ledger.Lease{ID: d.lastID, Host: host, Slave: name, Boot: known.Boot, Until: d.base.leaseEnd(),
		Budget: uint64(max(limit, 0)), FactBy: d.base.factBy(d.base.now)}
	d.base.book(ledger.LeaseGranted{Lease: lease})
	d.base.toHost(&lease, &protocol.Lend{Lease: lease.ID, Slave: name, Boot: lease.Boot, Until: lease.Until,
		PageLimit: limit, Budget: d.queue.lend(host, limit), NotBefore: notBefore,
		Few: limit == 0 && d.base.ledger.OpenCount()+d.queue.count() <= fewHosts})
	return true
}

// fewHosts is how many hosts are too few to keep two processors busy while one of them waits for its next lease: then
// leases are long, as nobody waits for their end. Under a limit of pages they are short all the same, or the host that
// is lent first would take all pages.
const fewHosts = 4

// deliver gives a task, whose lease is on disk, to its slave.
func (d *Desk) deliver(host Address, m *protocol.Lent) {
	s := d.slaves.known[m.Slave]
	known, _ := d.base.ledger.Slave(m.Slave)
	lease, open := d.base.ledger.Lease(m.Lease)
	if open {
		d.base.awake[m.Lease], d.beside[m.Lease] = host, max(1, int(m.Task.Parallel))-1
	}
	if s == nil || s.at == nil || known.Boot != m.Boot || d.halted || d.slaves.idle(m.Slave, m.Boot) ||
		lease.Recalled {
		d.base.void(m.Lease)
		return
	}
	if d.base.o.MaxPages > 0 {
		pages := max(0, min(int(m.Task.PageLimit), int(m.Task.PageBudget)))
		d.base.book(ledger.LeaseBudgeted{ID: m.Lease, Visits: uint64(pages)})
	}
	level := "debug"
	if !d.lends { // the first shows for how long nothing was lent, if another master led before
		d.lends, level = true, "info"
	}
	if d.base.o.Debug || level == "info" {
		d.base.say(level, "host lent", map[string]any{"host": m.Task.Host, "slave": m.Slave, "lease": m.Lease,
			"term": d.base.o.Claim.Term})
	}
	d.base.sendTo(s.at, &messages.TaskBatch{Serial: s.serial, Tasks: []*messages.HostTask{m.Task},
		Term: d.base.o.Claim.Term})
}

// decline takes back a host that its slave declines. A slave that declines again and again rests, so that others get
// the host; so does one whose leases run out again and again (tick).
func (d *Desk) decline(from Address, m *messages.TaskRefused) {
	lease, ok := d.base.ledger.Lease(m.Lease)
	s := d.slaves.speaker(from, m.Slave, m.Boot)
	switch {
	case !ok || s == nil:
	case !lease.Of(m.Slave, m.Boot):
		d.slaves.distrust(m.Slave, m.Boot, "a lease of another slave declined")
	default:
		d.base.void(m.Lease)
		s.rest(d.base.now)
	}
}

// takeReport gives the facts of each lease to its Host.
func (d *Desk) takeReport(from Address, m *messages.Report) {
	s := d.slaves.speaker(from, m.Slave, m.Boot)
	if s == nil || !d.leads(from, d.base.o.Claim.Crawl, m.Term) {
		return // it will register, and send them again
	}
	if !s.barred(m.Boot) {
		d.base.send(Master, &Heard{})
	}
	for facts := m.Facts; len(facts) > 0; {
		first := facts[0]
		n := slices.IndexFunc(facts, func(f *messages.Fact) bool {
			return f.Lease != first.Lease || f.Host != first.Host
		})
		if n < 0 {
			n = len(facts)
		}
		group := facts[:n]
		facts = facts[n:]
		lease, ok := d.base.ledger.Lease(first.Lease)
		mine := ok && lease.Of(m.Slave, m.Boot)
		switch {
		case ok && !mine:
			d.slaves.distrust(m.Slave, m.Boot, "facts under a lease of another slave")
		case mine && first.Host != lease.Host:
			d.slaves.distrust(m.Slave, m.Boot, "facts of a host that was not lent")
			d.slaves.recall(&lease)
		}
		if !mine || first.Host != lease.Host || s.barred(m.Boot) {
			d.slaves.ack(s, first.Lease, group[n-1].Seq) // of a lease that is over: its slave need not send it again
			continue
		}
		if told := fresh(&lease, group); len(told) > 0 {
			d.base.book(ledger.LeaseHeard{ID: lease.ID, Seq: told[len(told)-1].Seq})
			d.base.send(Master, &Reported{m.Slave, lease.Host, told})
			d.tasks.reach(lease.Host, told)
		}
		d.base.toHost(&lease, &protocol.HostFacts{Lease: lease.ID, Facts: group})
	}
	d.slaves.flush()
}

// fresh are the facts that were not reported before, each once and in order. Facts ahead of their turn are left out:
// the slave sends them again. Of a lease from before this start, the first fact that arrives is taken for the next.
func fresh(lease *ledger.Lease, facts []*messages.Fact) []*messages.Fact {
	last := lease.Heard
	if last == 0 && lease.Old {
		last = facts[0].Seq - 1
	}
	for len(facts) > 0 && facts[0].Seq <= last {
		facts = facts[1:]
	}
	if len(facts) == 0 || facts[0].Seq != last+1 {
		return nil
	}
	return facts
}

// acknowledge notes that facts are on disk. The slave that holds the lease is told with the next flush.
func (d *Desk) acknowledge(m *protocol.FactsStored) {
	if m.Visits > 0 && d.base.o.Debug {
		d.base.say("debug", "facts stored", map[string]any{"lease": m.Lease, "seq": m.Seq, "visits": m.Visits,
			"term": d.base.o.Claim.Term})
	}
	d.quota.visits += uint64(m.Visits)
	d.base.book(ledger.VisitsStored{ID: m.Lease, Visits: uint64(m.Visits)})
	if lease, ok := d.base.ledger.Lease(m.Lease); ok {
		if s := d.slaves.known[lease.Slave]; s != nil {
			if m.Seq > 0 {
				s.declined = 0
			}
			d.slaves.ack(s, m.Lease, m.Seq)
		}
		d.base.book(ledger.LeaseAdvanced{ID: m.Lease, Seq: m.Seq, FactBy: d.base.factBy(m.NextAt)})
	}
	if m.Closed {
		d.close(m.Lease, m.NextAt, m.OthersAt)
	}
}

// close ends a lease: its host may be asked again at nextAt, others that share its clock at othersAt.
func (d *Desk) close(id uint64, nextAt, othersAt time.Time) {
	if lease, ok := d.base.ledger.Lease(id); ok {
		d.queue.close(lease.Host, nextAt, othersAt)
	}
	d.base.book(ledger.LeaseEnded{ID: id})
	delete(d.base.awake, id)
	delete(d.beside, id)
}

// quota is how many pages the run may still visit, under Options.MaxPages.
type quota struct {
	o      *Options
	visits uint64 // stored
}

func (q *quota) spent() bool { return q.o.MaxPages > 0 && q.visits >= q.o.MaxPages }

// next is how many pages the next lease may visit: 0 is no limit. What open leases may still visit counts as visited.
func (q *quota) next(lent func() uint64) (pages int, ok bool) {
	if q.o.MaxPages == 0 {
		return 0, true
	}
	used := q.visits + lent()
	if used >= q.o.MaxPages {
		return protocol.NoPages, false
	}
	return int(min(q.o.MaxPages-used, uint64(q.o.LeasePages))), true
}
