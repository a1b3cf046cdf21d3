package lending

import (
	"cmp"
	"slices"

	"henro/master/ledger"
)

// A slave that joins a busy crawl finds all hosts lent. Leases end by themselves after some thirty seconds of visits at
// their host's pace, but after minutes where hosts are slow, and that is when slaves are short of connections. So who
// holds clearly more than a fair share, which is the same part of what each is willing to hold, gives some back after
// the request under way: the slave with most room gets them next.

// Bounds of balancing: who lacks less than a quarter of a fair share, or than four hosts, waits for leases that end
// anyway, and no more than a quarter of a share is on its way at once, since each costs two commits and a pause of its
// host's interval.
const (
	balancePart  = 4
	balanceSlack = 4
)

// surplus is how many of its leases each slave had better give back now, by name. Moving are those asked back already.
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

// balance asks leases back that others have more room for. While a host waits for a slave there is nothing to balance:
// it goes to the one with most room as it is.
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
		// the latest have most of their visits before them
		slices.SortFunc(leases, func(a, b ledger.Lease) int { return cmp.Compare(b.ID, a.ID) })
		leases = slices.DeleteFunc(leases, func(lease ledger.Lease) bool { return lease.Moving })
		leases = leases[:min(n, len(leases))]
		for _, lease := range leases {
			d.base.book(ledger.LeaseMoving{ID: lease.ID})
		}
		d.base.say("debug", "leases asked back: others have more room", map[string]any{"slave": name,
			"leases": len(leases)})
		d.slaves.revoke(name, leases)
	}
}
