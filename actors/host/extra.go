package host

import (
	"time"

	"henro/actors/protocol"
	"henro/messages"
	"henro/store"
)

// extra is what may be added to a lease while it is at work, so that a host that is alone does not wait for the end of
// one lease and the begin of the next: for a sync, two commits and what they cover. Where links are followed it is
// budget, otherwise it is pages.
//
// Nothing of an addition is written to disk. The lease and the clock of its host are there already, the slave goes on
// at the interval of the lease, and a page that was lent and not visited waits as before. When an addition gets lost
// the lease ends the sooner.
type extra struct {
	interval time.Duration // of the lease
	given    int           // visits that it has: its budget if links are followed, otherwise its tasks
	// visits left when more are added. A fast host answers 1,000 to 2,000 requests from a visit to its report; to read
	// pages further ahead costs more than it saves
	ahead int
	askAt int    // more are added once so many visits are reported; 0: never
	asked bool   // pages to add are awaited
	count uint32 // additions
}

// extraOf says whether a lease may be added to: where few hosts have pages, so that nobody waits for its end, and where
// the interval does not bound its visits, so that its end costs more time than the interval.
func extraOf(task *messages.HostTask, order *protocol.Lend, c *clock) extra {
	if !order.Few || order.Budget > 0 || c.o.URLRules == ApplyURLRules || c.budget(order) < c.o.PageBudget {
		return extra{}
	}
	e := extra{interval: time.Duration(task.IntervalNs), ahead: c.o.PageBudget / 2}
	visits := len(task.Tasks)
	if task.Follow {
		visits, e.ahead = int(task.PageBudget), c.o.PageBudget
	}
	e.give(visits)
	return e
}

// give notes that the lease has so many visits more.
func (e *extra) give(visits int) {
	e.given += visits
	e.askAt = max(1, e.given-e.ahead)
}

// addMore adds to the lease when it will soon have no visits left.
func (b *Book) addMore() {
	l := b.lease
	e := &l.extra
	switch {
	case e.askAt == 0 || e.asked || l.terms.visits < e.askAt || !b.addable():
	case l.terms.follow:
		b.add(&messages.HostTask{PageBudget: uint32(min(b.o.PageBudget, maxVisits-e.given))})
	default:
		e.asked = true
		limit := e.given - l.terms.visits + b.o.PageBudget
		b.send(Partition, &protocol.PagesAsked{Host: b.name, Limit: limit, Due: limit})
	}
}

// addable reports that a lease may go on as it began: for no longer than leases are long, at its interval, by its rules
// of robots.txt, and to pages that the host shall give.
func (b *Book) addable() bool {
	l := b.lease
	limit := b.clock.pageLimit(&protocol.Lend{})
	return l.phase == taking && l.extra.given < maxVisits && b.now.Sub(l.terms.since) < b.o.LeaseSpan &&
		b.clock.interval() <= l.extra.interval && !b.clock.BackoffUntil().After(b.now) && b.robots.known() &&
		(limit == 0 || limit > maxVisits) && b.aliases.of() == "" && !b.judge.known.Stops.Excluded(b.now)
}

// takePages takes pages for a lease that is prepared, or for the one that is at work.
func (b *Book) takePages(m *protocol.PagesLoaded) {
	switch b.phase {
	case preparing:
		b.loaded(m)
	case lent:
		b.addPages(m)
	}
}

// addPages adds pages that were loaded for the lease. They come before its end is on disk, since the Partition answers
// in the order in which it is asked.
func (b *Book) addPages(m *protocol.PagesLoaded) {
	l := b.lease
	e := &l.extra
	if e.asked = false; !b.addable() {
		return
	}
	due := b.line.share(b.unlent(m.Entries), b.unlent(m.Due))
	if len(due) == 0 { // later there may be some on disk
		e.askAt = l.terms.visits + max(1, b.o.PageBudget/8)
		return
	}
	tasks := tasksOf(due, min(longTask*b.o.TaskBudget, maxVisits-e.given), longTask*maxTaskBytes)
	for _, entry := range due[:len(tasks)] {
		l.pages[string(entry.Position)] = entry.Page
		l.terms.lend(&entry.Page)
	}
	b.add(&messages.HostTask{Tasks: tasks, PageBudget: uint32(len(tasks))})
}

// add sends an addition to the slave that has the lease.
func (b *Book) add(task *messages.HostTask) {
	l := b.lease
	l.extra.give(int(task.PageBudget))
	l.extra.count++
	task.Lease, task.Host, task.Addition = l.ID, b.name, l.extra.count
	b.send(Master, &protocol.Lent{Lease: l.ID, Slave: l.Slave, Boot: l.Boot, Task: task})
}

// unlent are those of the pages that the lease does not have and that may be visited now.
func (b *Book) unlent(entries []store.Entry) (unlent []store.Entry) {
	for _, entry := range entries {
		_, lent := b.lease.pages[string(entry.Position)]
		_, stopped := b.judge.known.Stops.Stopped(entry.Page.URL, b.now)
		if !lent && !stopped && !entry.Page.Next.After(b.now) {
			unlent = append(unlent, entry)
		}
	}
	return unlent
}
