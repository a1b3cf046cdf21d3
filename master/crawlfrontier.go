package master

import (
	"cmp"
	"fmt"
	"slices"
	"sync"
	"time"

	"henro/actors/partition"
	"henro/master/frontier"
	"henro/messages/outlink"
	"henro/store"
	"henro/store/fingerprint"
)

// crawlFrontier lets a policy of package frontier decide what is visited next, and what is not admitted for want of
// room. The URLs themselves wait in the store, each under its host, and the frontier holds a fingerprint of each.
// What it hands out is the right to visit so many pages of a host, whichever: the Host chooses the pages and keeps
// the interval, so politeness does not depend on what is handed out here. To the policy, all hosts that share a
// clock of politeness are one unit.
//
//	unknown URL ── Offer ──► queued ── grant ──► granted ── lend ──► lent ── closed ──► visited
//	                 │                             ▲                              └──► not visited: granted again
//	                 └── no room: dropped, stays unseen
//
// The Partitions call Offer, Raise and Stored, the Master the rest; a lock keeps them apart. Nothing is read
// from disk: the Partitions say what waits there after each commit that changes it.
//
// Invariants:
//   - of each host at least as many URLs are queued, granted and lent as wait in the store, but for those not written
//     yet: none is forgotten. After the crash of an actor there may be a few more, until nothing of
//     the host waits;
//   - no more than B·H/2 are queued, granted and lent in all, seeds apart, however many are discovered.
type crawlFrontier struct {
	mu      sync.Mutex
	o       frontier.Options
	policy  *frontier.Ranked[waits]
	unit    Unit           // of politeness: which hosts are one to the policy
	aside   int            // queued URLs of hosts whose addresses are not known yet
	held    map[uint64]int // how many hosts of a unit are held; the frontier keeps it out until none is
	most    int            // URLs queued, granted and lent at most
	span    int            // URLs handed out for one lease at most
	ranks   *ranks         // nil: URLs go by depth
	topical bool           // URLs go by the bands that the Hosts give them, which are scores
	began   time.Time
	hosts   map[store.HostID]*frontierHost
	out     int            // URLs granted and lent
	peak    int            // most queued, granted and lent at once, in this run
	owing   []store.HostID // hosts that were granted something beside their turns: put into the queue by the next Grant
	returns *frontier.Returns
	batch   []frontier.Item[waits]
}

// waits is a URL in the frontier.
type waits struct {
	url  uint64 // fingerprint
	host store.HostID
}

// frontierHost is a host with URLs in the frontier, or one that is ready.
type frontierHost struct {
	name    string
	unit    uint64                 // of politeness, a number for its clock; 0: its addresses are not known yet
	aside   []frontier.Item[waits] // URLs that wait until its addresses are known
	queued  int                    // URLs in the frontier, and aside
	pending int                    // URLs accepted and not on disk yet
	waiting int                    // URLs on disk that wait
	granted int                    // URLs handed out and not lent
	lent    int                    // URLs lent with the open lease
	held    bool                   // it has its turn, until done
	ready   bool                   // its Host says that it may be lent
	at      time.Time              // from when on
}

// returnCells is the size of the memory of what was dropped: 4 MB. With 100,000 dropped URLs one URL in a hundred is
// counted as returned that was not dropped, and more with more.
const returnCells = 1 << 20

// newCrawlFrontier makes the frontier of a crawl and takes in what waits in its state.
func newCrawlFrontier(options *Options, state *store.State, ranks *ranks) (*crawlFrontier, error) {
	o := options.Frontier
	o.Interval = options.Hosts.Politeness.Floor
	r := &crawlFrontier{
		topical: options.Hosts.Admission.Topic != nil, unit: options.Unit, held: map[uint64]int{},
		ranks: ranks, began: time.Now(), hosts: map[store.HostID]*frontierHost{},
		returns: frontier.NewReturns(returnCells),
		span:    options.Hosts.SharedBudget(),
	}
	if err := o.Validate(); err != nil {
		return nil, err
	}
	r.o, r.policy, r.most = o, frontier.NewRanked[waits](o), o.SlotsB/2*o.SlotsH
	if o.Interval > 0 {
		r.span = min(r.span, max(1, int(options.Hosts.LeaseSpan/o.Interval)))
	}
	return r, r.restore(state)
}

// restore fills the frontier with what waits in the store, in the order in which it was admitted. If B or H is smaller
// than before, what has no room is granted, as it is in the store; no more is taken until there is room again.
func (r *crawlFrontier) restore(state *store.State) error {
	type waiting struct {
		number uint64
		item   frontier.Item[waits]
	}
	var all []waiting
	for _, p := range state.Partitions {
		if err := p.EachWaiting(restoreBatch, func(host *store.HostRecord, page *store.Page) {
			fp := fingerprint.URL(page.URL)
			h := r.host(host.ID, host.Name)
			h.waiting++
			all = append(all, waiting{page.Number, frontier.Item[waits]{Key: waits{fp, host.ID}, Host: h.unit,
				Band: r.band(fp, page.Depth, page.Band)}})
		}); err != nil {
			return fmt.Errorf("restore the frontier: %w", err)
		}
	}
	slices.SortFunc(all, func(a, b waiting) int { return cmp.Compare(a.number, b.number) })
	for _, w := range all {
		r.add(w.item, true)
	}
	return nil
}

const restoreBatch = 1000

func (r *crawlFrontier) host(id store.HostID, name string) *frontierHost {
	h := r.hosts[id]
	if h == nil {
		h = &frontierHost{name: name}
		switch {
		case r.unit == UnitDomain:
			h.unit = fingerprint.Host(store.DomainOf(name))
		case r.unit != UnitIP:
			h.unit = uint64(id)
		}
		r.hosts[id] = h
	}
	return h
}

// forget drops a host that has nothing queued, granted or lent, and is not ready.
func (r *crawlFrontier) forget(id store.HostID, h *frontierHost) {
	if !h.held && !h.ready && h.queued+h.pending+h.waiting+h.granted+h.lent == 0 {
		delete(r.hosts, id)
	}
}

func (r *crawlFrontier) band(url uint64, depth, band uint8) uint8 {
	switch {
	case r.topical:
		return uint8(int(band) * frontier.RankedBands / (store.RetryBand + 1))
	case r.ranks != nil:
		return r.ranks.Band(url, depth, 0)
	}
	return min(depth, frontier.Bands-1)
}

// queued counts the URLs that are in the frontier.
func (r *crawlFrontier) queued() int { return r.policy.Len() + r.aside }

// add puts a URL into the frontier. If there is no room, a URL that must not be lost is granted, and so is one that was
// waiting and loses its place to this one.
func (r *crawlFrontier) add(item frontier.Item[waits], must bool) (dropped bool) {
	h := r.hosts[item.Key.host]
	before := r.queued()
	lost := item
	dropped = before+r.out >= r.most
	switch {
	case dropped:
	case h.unit == 0: // no policy can tell yet whose turn it takes
		if dropped = len(h.aside) >= r.o.SlotsB/2; !dropped {
			h.aside = append(h.aside, item)
			r.aside++
		}
	default:
		item.Host = h.unit
		lost, dropped = r.policy.Add(item)
	}
	switch {
	case dropped && lost == item && !must:
		return true
	case dropped && lost == item:
		r.owe(item.Key.host, h)
	case dropped: // the place of another, which is in the store already
		h.queued++
		other := r.hosts[lost.Key.host]
		other.queued--
		r.owe(lost.Key.host, other)
	default:
		h.queued += r.queued() - before
	}
	r.peak = max(r.peak, r.queued()+r.out)
	return false
}

func (r *crawlFrontier) owe(id store.HostID, h *frontierHost) {
	h.granted++
	r.out++
	r.owing = append(r.owing, id)
}

// Identify says which addresses a host has, each time before it is announced. The first of them is its unit as long as
// something of it waits.
func (r *crawlFrontier) Identify(name string, addresses []string) {
	r.mu.Lock()
	defer r.mu.Unlock()
	h := r.host(store.IDOf(name), name)
	if h.unit != 0 {
		return
	}
	h.unit = fingerprint.Host(addresses[0])
	aside := h.aside
	h.aside = nil
	for _, item := range aside {
		r.aside--
		h.queued--
		r.add(item, true)
	}
}

// Offer implements partition.Gate.
func (r *crawlFrontier) Offer(c *store.Candidate, seed bool) partition.Offered {
	r.mu.Lock()
	defer r.mu.Unlock()
	id, fp := store.IDOf(c.Host), fingerprint.URL(c.URL)
	h := r.host(id, c.Host)
	if r.add(frontier.Item[waits]{Key: waits{fp, id}, Host: h.unit, Band: r.band(fp, c.Depth, c.Band)}, seed) {
		r.returns.Dropped(fp)
		r.forget(id, h)
		return partition.Offered{Dropped: true}
	}
	h.pending++
	returned := r.returns.Count
	r.returns.Taken(fp)
	return partition.Offered{Again: r.returns.Count > returned}
}

// Raise implements partition.Gate.
func (r *crawlFrontier) Raise(c *store.Candidate) {
	fp := fingerprint.URL(c.URL)
	r.mu.Lock()
	defer r.mu.Unlock()
	r.policy.Raise(waits{fp, store.IDOf(c.Host)}, r.band(fp, c.Depth, c.Band))
}

// Stored implements partition.Gate.
func (r *crawlFrontier) Stored(accepted map[uint64]store.HostID, waiting map[store.HostID]uint64) {
	r.mu.Lock()
	defer r.mu.Unlock()
	for _, id := range accepted {
		if h := r.hosts[id]; h != nil && h.pending > 0 {
			h.pending--
		}
	}
	for id, urls := range waiting {
		if h := r.hosts[id]; h != nil {
			h.waiting = int(urls)
		}
	}
}

// Announce says that a host may be lent from a moment on. It is put into the queue if something was granted to it, or
// if nothing is queued for it: its Lend then finds nothing, and it goes to rest.
func (r *crawlFrontier) Announce(name string, at time.Time, put func(string, time.Time)) {
	r.mu.Lock()
	defer r.mu.Unlock()
	h := r.host(store.IDOf(name), name)
	h.ready, h.at = true, at
	if h.granted > 0 || h.queued == 0 {
		put(name, at)
	}
}

// Grant hands out what the frontier gives next; false means that it gives nothing now.
func (r *crawlFrontier) Grant(now time.Time, put func(string, time.Time)) bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	for _, id := range r.owing {
		if h := r.hosts[id]; h != nil && h.ready && h.granted > 0 {
			put(h.name, h.at)
		}
	}
	some := len(r.owing) > 0
	r.owing = r.owing[:0]
	since := now.Sub(r.began)
	r.batch = r.policy.Next(since, 1, r.batch[:0])
	if len(r.batch) == 0 {
		return some
	}
	unit := r.batch[0].Host
	r.batch = r.policy.More(unit, r.span-1, r.batch)
	r.out += len(r.batch)
	var hosts []store.HostID // one, but for units of several
	for i := range r.batch {
		id := r.batch[i].Key.host
		h := r.hosts[id]
		h.queued--
		h.granted++
		if !h.held {
			h.held = true
			r.held[unit]++
			hosts = append(hosts, id)
		}
	}
	for _, id := range hosts {
		r.grantHost(id, now, put)
	}
	return true
}

// grantHost lets a host be lent to which something was granted, or gives its turn back.
func (r *crawlFrontier) grantHost(id store.HostID, now time.Time, put func(string, time.Time)) {
	h := r.hosts[id]
	switch {
	case h.ready && !h.at.After(now.Add(r.o.Interval)):
		put(h.name, h.at)
		return
	case h.ready: // much later: other hosts of its clock need not wait for it
		put(h.name, h.at)
	case h.lent+h.pending+h.waiting == 0: // more was counted than there is
		r.out -= h.granted
		h.granted = 0
	}
	r.done(h, now.Sub(r.began), 0)
	r.forget(id, h)
}

// done gives the turn of a host back. That of a unit ends with the last of its hosts.
func (r *crawlFrontier) done(h *frontierHost, now, rest time.Duration) {
	if !h.held {
		return
	}
	h.held = false
	if r.held[h.unit]--; r.held[h.unit] == 0 {
		delete(r.held, h.unit)
		r.policy.Done(h.unit, now, rest)
	}
}

// Lend takes what was granted to a host, at most so many; 0 is no limit. One page is lent in any case: it asks whether
// there is any.
func (r *crawlFrontier) Lend(name string, limit int) int {
	r.mu.Lock()
	defer r.mu.Unlock()
	h := r.host(store.IDOf(name), name)
	n := h.granted
	if limit > 0 {
		n = min(n, limit)
	}
	h.granted -= n
	h.lent, h.ready = n, false
	return max(n, 1)
}

// Closed says that the lease of a host has ended, or never began. URLs that wait in the store then and are not queued
// were granted and not visited, or failed and are to be tried again: they are granted again.
func (r *crawlFrontier) Closed(name string, now, nextAt time.Time) {
	r.mu.Lock()
	defer r.mu.Unlock()
	id := store.IDOf(name)
	h := r.host(id, name)
	r.out -= h.lent + h.granted
	h.lent, h.granted = 0, max(0, h.waiting+h.pending-h.queued)
	r.out += h.granted
	if h.granted > 0 && h.ready {
		r.owing = append(r.owing, id)
	}
	r.done(h, now.Sub(r.began), min(max(0, nextAt.Sub(now)), r.o.Interval))
	r.forget(id, h)
}

// FrontierStatus is how the frontier of a crawl goes.
type FrontierStatus struct {
	Policy  frontier.Policy `json:"policy"`
	Waiting int             `json:"waiting"` // URLs queued, granted and lent
	Queued  int             `json:"queued"`  // of these, queued
	Bound   int             `json:"bound"`   // URLs that may wait at most: B·H/2
	Peak    int             `json:"peak"`    // most that waited at once in this run
	Hosts   int             `json:"hosts"`   // with URLs that wait
}

func (r *crawlFrontier) status() *FrontierStatus {
	r.mu.Lock()
	defer r.mu.Unlock()
	queued := r.queued()
	return &FrontierStatus{Policy: r.o.Policy, Waiting: queued + r.out, Queued: queued, Bound: r.most, Peak: r.peak,
		Hosts: len(r.hosts)}
}

// ranks is a frontier.Ranker that several Partitions may ask.
type ranks struct {
	mu     sync.Mutex
	ranker *frontier.Ranker
}

// rankCells is the size of the sketch: 16 MB. With more than some million URLs, those of little worth are overrated
// first.
const rankCells = 1 << 22

// newRanks makes ranks from the links that a state holds; nil for breadth, which needs none.
func newRanks(o frontier.Order, state *store.State) (*ranks, error) {
	if o == "" || o == frontier.OrderBreadth {
		return nil, nil
	}
	r := &ranks{ranker: frontier.NewRanker(o, rankCells)}
	for _, p := range state.Partitions {
		err := p.Links.Each(func(_ store.HostID, fp uint64, links []outlink.Outlink) error {
			r.Read(fp, links)
			return nil
		})
		if err != nil {
			return nil, fmt.Errorf("read the links for the order: %w", err)
		}
	}
	return r, nil
}

// Read implements partition.Ranks.
func (r *ranks) Read(page uint64, links []outlink.Outlink) {
	to := make([]uint64, 0, len(links))
	for i := range links {
		if links[i].Kind.Navigates() {
			to = append(to, fingerprint.URL(links[i].URL))
		}
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	r.ranker.Visited(page, len(to), 0)
	for _, fp := range to {
		r.ranker.Linked(fp)
	}
}

// Band implements partition.Ranks.
func (r *ranks) Band(url uint64, depth uint8, sitemap outlink.Priority) uint8 {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.ranker.Band(url, depth, sitemap.Value())
}
