package master

import (
	"cmp"
	"errors"
	"fmt"
	"slices"
	"sync"
	"time"

	"henro/actors/host"
	"henro/actors/partition"
	"henro/master/frontier"
	"henro/messages/outlink"
	"henro/store"
	"henro/store/fingerprint"
)

// order lets a frontier of package frontier decide what is visited next, and what is not admitted for want of room. The
// URLs themselves wait in the store, each under its host; the frontier holds a number for each, and what it hands out
// is the right to visit so many pages of a host: the rights of a host are all alike. The Host chooses the pages and
// keeps the interval, so politeness is what it is without a frontier, whatever is handed out here.
//
//	unknown URL ── Offer ──► queued ── grant ──► granted ── lend ──► lent ── closed ──► visited
//	                 │                             ▲                              └──► not visited: granted again
//	                 └── no room: dropped, stays unseen
//
// The Partitions call Offer and Stored, the Master the rest; a lock keeps them apart.
//
// Invariants:
//   - of each host at least as many URLs are queued, granted and lent as wait in the store, but for those not written
//     yet: none is forgotten. There may be a few more after the crash of an actor; they are found to be of nothing, and
//     gone;
//   - with slots and ranked no more than B·H/2 are so in all, seeds apart, however many are discovered.
type order struct {
	mu      sync.Mutex
	o       frontier.Options
	waiting func(host string) (uint64, error) // URLs of a host that wait in the store
	policy  frontier.Frontier[uint64]         // of fingerprints
	most    int                               // queued, granted and lent at most; 0: no bound
	span    int                               // URLs handed out for one lease
	ranks   *ranks                            // nil: by depth
	began   time.Time
	hosts   map[store.HostID]*orderedHost
	out     int            // granted and lent
	peak    int            // most queued, granted and lent at once, in this run
	owing   []store.HostID // granted something where it had no right to; looked at in the next grant
	returns *frontier.Returns
	batch   []frontier.Item[uint64]
}

// orderedHost is a host with URLs in the frontier, or one that is ready.
type orderedHost struct {
	name    string
	queued  int       // in the frontier
	pending int       // accepted and not on disk yet
	granted int       // handed out and not lent
	lent    int       // with the open lease
	held    bool      // the frontier keeps it out until done
	ready   bool      // its Host says that it may be lent
	at      time.Time // from then on
}

// returnCells is the size of the memory of what was dropped: 4 MB. Beyond some 100,000 dropped URLs one in a hundred,
// and with more of them more, is counted as returned that was not.
const returnCells = 1 << 20

// newOrder makes the order of a crawl and takes in what waits in its state.
func newOrder(o frontier.Options, hosts *host.Options, state *store.State, ranks *ranks) (*order, error) {
	o.Interval = hosts.Politeness.Floor
	policy, err := frontier.New[uint64](o)
	if err != nil {
		return nil, err
	}
	r := &order{
		o: o, policy: policy, ranks: ranks, began: time.Now(), hosts: map[store.HostID]*orderedHost{},
		returns: frontier.NewReturns(returnCells),
		span:    hosts.PageBudget,
		waiting: func(host string) (uint64, error) {
			record, err := state.Partitions[state.PartitionOf(host)].Host(store.IDOf(host))
			if errors.Is(err, store.ErrNotFound) {
				return 0, nil
			}
			return record.Waiting, err
		},
	}
	if o.Interval > 0 {
		r.span = min(r.span, max(1, int(hosts.LeaseSpan/o.Interval)))
	}
	if o.Policy == frontier.PolicySlots || o.Policy == frontier.PolicyRanked {
		r.most = o.SlotsB / 2 * o.SlotsH
	}
	return r, r.restore(state)
}

// restore fills the frontier with what waits in the store, in the order in which it was admitted. What a smaller B or H
// has no room for is granted: it is known already, and no more is taken until there is room again.
func (r *order) restore(state *store.State) error {
	type waiting struct {
		number uint64
		item   frontier.Item[uint64]
	}
	var all []waiting
	for _, p := range state.Partitions {
		for after := store.HostID(0); ; {
			records, err := p.Hosts(after, restoreBatch)
			if err != nil {
				return fmt.Errorf("restore the frontier: %w", err)
			}
			for i := range records {
				record := &records[i]
				after = record.ID
				for next, first := store.Position(nil), true; record.Waiting > 0 &&
					(first || next != nil); first = false {
					found, err := p.Fresh(record.ID, next, restoreBatch)
					if err != nil {
						return fmt.Errorf("restore the frontier: %w", err)
					}
					for j := range found.Entries {
						page := &found.Entries[j].Page
						fp := fingerprint.URL(page.URL)
						all = append(all, waiting{page.Number, frontier.Item[uint64]{Key: fp, Host: uint64(record.ID),
							Band: r.band(fp, page.Depth)}})
						r.host(record.ID, record.Name)
					}
					next = found.Next
				}
			}
			if len(records) < restoreBatch {
				break
			}
		}
	}
	slices.SortFunc(all, func(a, b waiting) int { return cmp.Compare(a.number, b.number) })
	for _, w := range all {
		r.add(w.item, true)
	}
	return nil
}

const restoreBatch = 1000

func (r *order) host(id store.HostID, name string) *orderedHost {
	h := r.hosts[id]
	if h == nil {
		h = &orderedHost{name: name}
		r.hosts[id] = h
	}
	return h
}

// forget lets go of a host of which nothing is to be remembered.
func (r *order) forget(id store.HostID, h *orderedHost) {
	if *h == (orderedHost{name: h.name, at: h.at}) {
		delete(r.hosts, id)
	}
}

func (r *order) band(url uint64, depth uint8) uint8 {
	if r.ranks != nil {
		return r.ranks.Band(url, depth, 0)
	}
	return min(depth, frontier.Bands-1)
}

// add puts a URL into the frontier; one that must not be lost is granted when there is no room.
func (r *order) add(item frontier.Item[uint64], must bool) (dropped bool) {
	h := r.hosts[store.HostID(item.Host)]
	before := r.policy.Len()
	lost := item
	dropped = r.most > 0 && before+r.out >= r.most
	if !dropped {
		lost, dropped = r.policy.Add(item)
	}
	switch {
	case dropped && lost == item && !must:
		return true
	case dropped && lost == item:
		r.owe(store.HostID(item.Host), h)
	case dropped: // the place of another, which is in the store already
		h.queued++
		other := r.hosts[store.HostID(lost.Host)]
		other.queued--
		r.owe(store.HostID(lost.Host), other)
	default:
		h.queued += r.policy.Len() - before
	}
	r.peak = max(r.peak, r.policy.Len()+r.out)
	return false
}

func (r *order) owe(id store.HostID, h *orderedHost) {
	h.granted++
	r.out++
	r.owing = append(r.owing, id)
}

// Offer implements partition.Gate.
func (r *order) Offer(c *store.Candidate, seed bool) partition.Offered {
	r.mu.Lock()
	defer r.mu.Unlock()
	id, fp := store.IDOf(c.Host), fingerprint.URL(c.URL)
	h := r.host(id, c.Host)
	if r.add(frontier.Item[uint64]{Key: fp, Host: uint64(id), Band: r.band(fp, c.Depth)}, seed) {
		r.returns.Dropped(fp)
		r.forget(id, h)
		return partition.Offered{Dropped: true}
	}
	h.pending++
	returned := r.returns.Count
	r.returns.Taken(fp)
	return partition.Offered{Again: r.returns.Count > returned}
}

// Stored implements partition.Gate.
func (r *order) Stored(id store.HostID) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if h := r.hosts[id]; h != nil && h.pending > 0 {
		h.pending--
	}
}

// announce says that a host may be lent from a moment on. It is ready for the Master if something was granted to it;
// also if nothing is queued for it, since it will then be found to have nothing, and go to rest.
func (r *order) announce(name string, at time.Time, ready *readyHosts) {
	r.mu.Lock()
	defer r.mu.Unlock()
	h := r.host(store.IDOf(name), name)
	h.ready, h.at = true, at
	if h.granted > 0 || h.queued == 0 {
		ready.put(name, at)
	}
}

// grant hands out what the frontier gives next; false means that it gives nothing now.
func (r *order) grant(now time.Time, ready *readyHosts) bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	for _, id := range r.owing {
		if h := r.hosts[id]; h != nil && h.ready && h.granted > 0 {
			ready.put(h.name, h.at)
		}
	}
	some := len(r.owing) > 0
	r.owing = r.owing[:0]
	since := now.Sub(r.began)
	r.batch = r.policy.Next(since, 1, r.batch[:0])
	if len(r.batch) == 0 {
		return some
	}
	host := r.batch[0].Host
	r.batch = r.policy.More(host, r.span-1, r.batch)
	id := store.HostID(host)
	h := r.hosts[id]
	h.queued -= len(r.batch)
	h.granted += len(r.batch)
	h.held = true
	r.out += len(r.batch)
	switch {
	case h.ready && !h.at.After(now.Add(r.o.Interval)):
		ready.put(h.name, h.at)
		return true
	case h.ready: // much later: others of its residue need not wait for it
		ready.put(h.name, h.at)
	case h.lent == 0 && h.pending == 0 && r.nothing(h): // of nothing
		r.out -= h.granted
		h.granted = 0
	}
	r.done(host, h, since, 0)
	r.forget(id, h)
	return true
}

// nothing reports that nothing of a host waits in the store.
func (r *order) nothing(h *orderedHost) bool {
	n, err := r.waiting(h.name)
	return err == nil && n == 0
}

func (r *order) done(host uint64, h *orderedHost, now, rest time.Duration) {
	if h.held {
		h.held = false
		r.policy.Done(host, now, rest)
	}
}

// lend takes what was granted to a host, at most so many; 0 is no limit. One page is lent in any case: it asks whether
// there is any.
func (r *order) lend(name string, limit int) int {
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

// closed says that the lease of a host has ended, or never began. What then waits in the store and is not queued was
// granted and not visited, or failed and is to be tried again: it is granted again.
func (r *order) closed(name string, now, nextAt time.Time) error {
	r.mu.Lock()
	defer r.mu.Unlock()
	id := store.IDOf(name)
	h := r.host(id, name)
	waiting, err := r.waiting(name) // what gets on disk now is pending still: counted twice rather than not at all
	if err != nil {
		return fmt.Errorf("count what waits of %s: %w", name, err)
	}
	r.out -= h.lent + h.granted
	h.lent, h.granted = 0, max(0, int(waiting)+h.pending-h.queued)
	r.out += h.granted
	if h.granted > 0 && h.ready {
		r.owing = append(r.owing, id)
	}
	r.done(uint64(id), h, now.Sub(r.began), min(max(0, nextAt.Sub(now)), r.o.Interval))
	r.forget(id, h)
	return nil
}

// FrontierStatus is how the frontier of a crawl goes.
type FrontierStatus struct {
	Policy  frontier.Policy `json:"policy"`
	Waiting int             `json:"waiting"`         // URLs queued, granted and lent
	Queued  int             `json:"queued"`          // of these, queued
	Bound   int             `json:"bound,omitempty"` // most that may wait: B·H/2
	Peak    int             `json:"peak"`            // most that waited at once in this run
	Hosts   int             `json:"hosts"`           // with URLs that wait
}

func (r *order) status() *FrontierStatus {
	r.mu.Lock()
	defer r.mu.Unlock()
	queued := r.policy.Len()
	return &FrontierStatus{Policy: r.o.Policy, Waiting: queued + r.out, Queued: queued, Bound: r.most, Peak: r.peak,
		Hosts: len(r.hosts)}
}

// ranks is a frontier.Ranker that several Partitions may ask.
type ranks struct {
	mu     sync.Mutex
	ranker *frontier.Ranker
}

// rankCells is the size of its sketch: 16 MB. Of more than some million URLs, those of little worth are overrated
// first.
const rankCells = 1 << 22

// newRanks makes ranks of the links that a state holds; nil for breadth, which needs none.
func newRanks(o frontier.Order, state *store.State) (*ranks, error) {
	if o == "" || o == frontier.OrderBreadth {
		return nil, nil
	}
	r := &ranks{ranker: frontier.NewRanker(o, rankCells)}
	for _, p := range state.Partitions {
		err := p.EachLinks(func(_ store.HostID, fp uint64, links []outlink.Outlink) error {
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
