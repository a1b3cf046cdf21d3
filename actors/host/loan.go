package host

import (
	"math"
	"time"

	"henro/actors/protocol"
	"henro/messages"
)

// phase is what a host is doing.
type phase uint8

const (
	restoring phase = iota // what is on disk of it is awaited
	idle                   // it is not lent, and the Master does not know from when on it may be
	announced              // the Master knows from when on it may be lent
	preparing              // a lease is prepared: pages are read, then it is written
	lent                   // a slave has it
	resting                // its actor is to end
)

// preparation is a lease in the making.
type preparation struct {
	order *protocol.Lend
	task  *messages.HostTask // once the pages are there
	void  bool               // it has ended already
}

// loan is what a host is doing, and its lease.
type loan struct {
	*base
	robots *robotsBook
	queue  *queue

	phase phase
	lend  *preparation // in preparing
	lease *openLease   // in lent, and while it is written in preparing
}

// becomeIdle makes the host idle, and announces it if there is anything to do.
func (l *loan) becomeIdle() {
	l.phase = idle
	l.announce()
	l.queue.shorten()
}

// announce reports to the Master from when on this host may be lent, unless that is known or there is nothing to do.
func (l *loan) announce() {
	if l.phase != idle || l.robots.awaited() {
		return
	}
	if l.queue.empty() && !l.robots.wanted() {
		l.sendLater(&restDue{}, l.o.RestAfter)
		return
	}
	at := later(l.clock.polite.NextAllowed(), l.queue.retryAt)
	if l.clock.givenUp(l.now, l.robots.failures) {
		at = l.now
	}
	l.phase = announced
	l.send(Master, &protocol.HostReady{Host: l.name, At: at})
}

// announceAgain announces a host that the Master may know of already, since the moment may have changed.
func (l *loan) announceAgain() {
	if l.phase == idle || l.phase == announced {
		l.phase = idle
		l.announce()
	}
}

// grow takes note of how much waits. A host that had nothing to do, or waited for a page that failed, may be lent now.
func (l *loan) grow(fresh, known int) {
	waited := l.queue.empty() || !l.queue.retryAt.IsZero()
	l.queue.fresh, l.queue.known = fresh, known
	if waited && (l.phase == idle || l.phase == announced) {
		l.queue.retryAt = time.Time{}
		l.announceAgain()
	}
}

// nothingToDo reports that the host has nothing to do, for itself or for a host that waits for its robots.txt.
func (l *loan) nothingToDo() bool {
	return l.queue.empty() && !l.queue.shortening && !l.robots.wanted() && !l.robots.awaited() && l.writes == 0
}

// rest ends this Host, unless something came between RestWanted and RestGranted.
func (l *loan) rest() {
	if l.nothingToDo() && l.lease == nil && l.lend == nil {
		l.phase = resting
		l.send(Hosts, &Rested{l.name})
		return
	}
	l.send(Hosts, &StillBusy{l.name})
}

// begin has a lease that is on disk now sent to its slave, and reports whether the lease has ended meanwhile: then it
// is not sent.
func (l *loan) begin() (ended bool) {
	prepared := l.lend
	l.phase, l.lend = lent, nil
	if !prepared.void {
		l.send(Master, &protocol.Lent{Lease: l.lease.ID, Slave: l.lease.Slave, Boot: l.lease.Boot, Task: prepared.task})
	}
	return prepared.void
}

// refuseLend reports to the Master that there is nothing to lend now.
func (l *loan) refuseLend() {
	lease := l.lend.order.Lease
	l.lend = nil
	l.send(Master, &protocol.LendRefused{Lease: lease, NextAt: l.clock.polite.NextAllowed()})
	l.becomeIdle()
}

// refuse answers what belongs to a lease that is over: its slave need not send it again.
func (l *loan) refuse(lease uint64) {
	l.send(Master, &protocol.FactsStored{Lease: lease, Seq: math.MaxUint64, Closed: true})
	l.announceAgain() // a Master that did not know yet that the lease is over has passed over this host
}

// recall asks the lease back that a slave works on, if one does.
func (l *loan) recall() {
	if l.phase == lent && l.lease.phase != over {
		l.send(Master, &protocol.LeaseUnwanted{Lease: l.lease.ID})
	}
}

// distrust takes no more facts of a lease whose holder reported what cannot be true. The holder may go on asking until
// the lease is over, which the Master says; only then may another be lent the host. The rules of robots.txt that were
// reported under the lease are asked for again.
func (l *loan) distrust(why string) {
	l.send(Master, &protocol.FactsRefused{Lease: l.lease.ID, Why: why})
	if l.lease.terms.learned {
		l.robots.rules, l.record.RobotsUntil = nil, time.Time{}
	}
	l.lease.phase = refused
}
