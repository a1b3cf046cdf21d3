package lending

import (
	"cmp"
	"slices"

	"henro/master/ledger"
)

// A slave that joins a busy crawl finds all hosts lent. Leases end by themselves after some thirty seconds of visits,
// but after minutes where hosts are slow, and that is when slaves are short of connections. So a slave that holds
// clearly more than its fair share gives some leases back after the request under way, and the slave with most room
// gets the hosts. A share is fair when each slave holds the same part of what it is willing to hold.

// Bounds of balancing. A slave that lacks less than a quarter of its share, or than four hosts, waits for leases that
// end anyway. No more than a quarter of a share moves at once: each lease costs two commits and a pause of its host's
// interval.
const (
	balancePart  = 4
	balanceSlack = 4
)

// surplus is how many of its leases each slave is to give back now, by name. moving is how many were asked back
// already.
func surplus(slaves []ledger.Slave, moving map[string]int) map[string]int {
	held, slots := 0, 0
	for _, s := range slaves {
		held, slots = held+s.Held, slots+s.Slots
	}
	fair := func(s ledger.Slave) int { return held * s.Slots / max(1, slots) }
	room := 0 // of those with clearly less than their share
	for _, s := range slaves {
		if lack := fair(s) - s.Held; lack > max(balanceSlack, fair(s)/balancePart) {
			room += lack
		}
	}
	for _, n := range moving {
		room -= n
	}
	back := map[string]int{}
	slices.SortStableFunc(slaves, func(a, b ledger.Slave) int { return cmp.Compare(b.Held-fair(b), a.Held-fair(a)) })
	for _, s := range slaves {
		n := min(s.Held-fair(s)-moving[s.Name], max(1, fair(s)/balancePart)-moving[s.Name], room)
		if n > 0 {
			back[s.Name] = n
			room -= n
		}
	}
	return back
}

// balance asks leases back for which others have more room. While a host is ready there is nothing to balance: it goes
// to the slave with most room anyway.
func (d *Desk) balance() {
	if at, ok := d.queue.next(); ok && !at.After(d.base.now) {
		return
	}
	var slaves []ledger.Slave
	for _, s := range d.base.ledger.Slaves() {
		if d.slaves.lendable(&s) {
			slaves = append(slaves, s)
		}
	}
	if len(slaves) < 2 {
		return
	}
	moving := map[string]int{}
	for _, lease := range d.base.ledger.Moving() {
		moving[lease.Slave]++
	}
	for name, n := range surplus(slaves, moving) {
		known, _ := d.base.ledger.Slave(name)
		leases := d.base.ledger.HeldBy(name, known.Boot)
		// the latest leases have most of their visits before them
		slices.SortFunc(leases, func(a, b ledger.Lease) int { return cmp.Compare(b.ID, a.ID) })
		leases = slices.DeleteFunc(leases, func(lease ledger.Lease) bool { return lease.Moving })
		leases = leases[:min(n, len(leases))]
		for _, lease := range leases {
			d.base.book(ledger.LeaseMoving{ID: lease.ID})
		}
		d.base.say("debug", "leases asked back: others have more room", map[string]any{"slave": name,
			"leases": len(leases)})
		d.slaves.revoke(name, leases, false)
	}
}
