package orders

import (
	"time"

	"henro/master/frontier"
)

// IRLbot is the order of Lee, Leonard, Wang & Loguinov.
//
// STAR gives every pay-level domain x a budget B_x from its in-links: the number of other domains that link to it, so
// that a domain cannot raise its own. Here B_x lies on the line from BudgetLeast for none to BudgetMost for the domain
// that has most.
//
// BEAST is a row of queues, crawled one after the other. The first B_x URLs of x go into the first queue that is not
// crawled yet, the next B_x into the one after it, and what no queue has room for is put aside. When the row is
// crawled, what was put aside is dealt out again with the budgets of that day. Nothing is dropped, so space grows with
// the URLs.
//
// The queue in work is crawled at T per host; its URLs leave in order of arrival as far as that lets them.
type IRLbot[K any] struct {
	lanes[K]
	least, most int
	domainOf    func(uint64) uint64

	queues []queue // the row; queues[at] is being crawled and lies in the lanes
	at     int
	inWork int // URLs of the queue in work that are not handed out
	aside  queue
	round  int64 // of the put-aside file, from 1 on

	number  map[uint64]uint32 // domain → its index in domains
	domains []domain
	links   map[[2]uint32]struct{} // pairs of domains of which the first links to the second
	busiest int                    // most in-links of a domain
}

// domain is one pay-level domain.
type domain struct {
	inLinks int // other domains that link to it
	queue   int // the queue that takes its next URL
	room    int // URLs of it that queue still takes
	round   int64
}

// NewIRLbot makes an empty frontier.
func NewIRLbot[K any](o Options) *IRLbot[K] {
	f := &IRLbot[K]{
		lanes: *newLanes[K](o, false, true), least: o.BudgetLeast, most: o.BudgetMost, domainOf: o.Domain,
		queues: make([]queue, o.QueueCount), number: make(map[uint64]uint32), links: make(map[[2]uint32]struct{}),
		round: 1,
	}
	if f.domainOf == nil {
		f.domainOf = func(host uint64) uint64 { return host }
	}
	return f
}

func (f *IRLbot[K]) index(of uint64) uint32 {
	n, ok := f.number[of]
	if !ok {
		n = uint32(len(f.domains))
		f.number[of] = n
		f.domains = append(f.domains, domain{})
	}
	return n
}

// linksMost bounds the pairs of domains that are remembered, to some 200 MB with their domains. Beyond that budgets
// stay as they are.
const linksMost = 1 << 22

// Linked says that a page of domain from links to a page of domain to: such links make the budgets.
func (f *IRLbot[K]) Linked(from, to uint64) {
	if len(f.links) >= linksMost {
		return
	}
	a, b := f.index(from), f.index(to)
	if a == b {
		return
	}
	pair := [2]uint32{a, b}
	if _, ok := f.links[pair]; ok {
		return
	}
	f.links[pair] = struct{}{}
	f.domains[b].inLinks++
	f.busiest = max(f.busiest, f.domains[b].inLinks)
}

// budget is B_x.
func (f *IRLbot[K]) budget(d *domain) int {
	if f.busiest == 0 {
		return f.least
	}
	return f.least + (f.most-f.least)*d.inLinks/f.busiest
}

// Add implements Frontier; nothing is ever lost.
func (f *IRLbot[K]) Add(item frontier.Item[K]) (lost frontier.Item[K], dropped bool) {
	f.deal(f.pool.put(item))
	return lost, false
}

// deal puts a URL into the first queue with room for its domain, or aside. The queue in work takes URLs too.
func (f *IRLbot[K]) deal(c uint32) {
	d := &f.domains[f.index(f.domainOf(f.pool.cells[c].item.Host))]
	if d.round != f.round {
		*d = domain{inLinks: d.inLinks, queue: f.at, room: f.budget(d), round: f.round}
	}
	if d.queue < f.at {
		d.queue, d.room = f.at, f.budget(d)
	}
	if d.room == 0 && d.queue < len(f.queues) {
		d.queue++
		d.room = f.budget(d)
	}
	switch {
	case d.queue >= len(f.queues):
		f.pool.push(&f.aside, c)
		return
	case d.queue == f.at:
		f.enter(c)
		f.inWork++
	default:
		f.pool.push(&f.queues[d.queue], c)
	}
	d.room--
}

// turn moves on to the next queue that is not empty, over the put-aside URLs if need be.
func (f *IRLbot[K]) turn() {
	for f.inWork == 0 && f.pool.used > 0 {
		f.at++
		if f.at >= len(f.queues) {
			f.at = 0
			f.round++
			aside := f.aside
			f.aside = queue{}
			for !aside.empty() {
				f.deal(f.pool.pop(&aside))
			}
			continue
		}
		for q := &f.queues[f.at]; !q.empty(); f.inWork++ {
			f.enter(f.pool.pop(q))
		}
	}
}

// Next implements Frontier.
func (f *IRLbot[K]) Next(now time.Duration, limit int, batch []frontier.Item[K]) []frontier.Item[K] {
	f.turn()
	had := len(batch)
	batch = f.lanes.Next(now, limit, batch)
	f.inWork -= len(batch) - had
	return batch
}

// More implements Frontier: it gives of the queue in work only.
func (f *IRLbot[K]) More(host uint64, limit int, batch []frontier.Item[K]) []frontier.Item[K] {
	had := len(batch)
	batch = f.lanes.More(host, limit, batch)
	f.inWork -= len(batch) - had
	return batch
}

// Waits reports whether the queue in work has a URL of a host.
func (f *IRLbot[K]) Waits(host uint64) bool {
	f.turn()
	n, ok := f.byHost[host]
	return ok && len(f.lane[n].queues) > 0
}
