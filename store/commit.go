package store

import (
	"bytes"
	"cmp"
	"encoding/binary"
	"fmt"
	"maps"
	"slices"

	"go.etcd.io/bbolt"
	"golang.org/x/net/publicsuffix"

	"henro/messages/outlink"
	"henro/messages/weburl"
	"henro/store/fingerprint"
	"henro/store/seen"
	"henro/store/timequeue"
)

// Commit stores the batch in one transaction: all of it, or nothing and an error. The same batch may be committed
// again, after an error or after a success. Committing an empty batch at least once a minute lets coarse slots be split
// in time.
func (p *Partition) Commit(b *Batch) (out Outcome, err error) {
	// Due may not read a slot that this commit is splitting or appending to: whichever comes second sees what the first
	// did.
	p.mu.Lock()
	defer p.mu.Unlock()
	b.opened, b.domains = max(p.opened, timequeue.Minute(b.now)), publicsuffix.List.String()
	if b.firsts = nil; p.contents != nil {
		if b.firsts, err = p.contents.find(p, b.visits); err != nil {
			return Outcome{}, err
		}
		defer func() { p.contents.release(p, b, err != nil) }()
	}
	if p.replicate != nil {
		return p.replicate(p.index, b)
	}
	return p.apply(b)
}

// apply does what a batch says that Commit has completed. What the partition holds afterwards is a function of the
// batch and of what it held before, down to every position: no clock, no option, no chance and no read has a part in
// it. So replicas to which the same batches are applied in the same order hold the same, as Digest tells.
func (p *Partition) apply(b *Batch) (Outcome, error) {
	if b.Empty() {
		pending, out := false, Outcome{}
		if err := p.view("look for slots to split", func(tx *bbolt.Tx) error {
			if err := p.queue.Begin(tx, b.opened); err != nil {
				return err
			}
			pending = p.queue.Pending()
			t, err := readTotals(tx)
			out.Relaxations = int(t.relaxations)
			return err
		}); err != nil || !pending {
			return out, err
		}
	}
	var c *commit
	own := p.progress.commits[p.index].Load() + 1
	err := p.update("commit", func(tx *bbolt.Tx) error {
		c = &commit{partition: p, tx: tx, batch: b, domains: p.domains, hosts: map[HostID]*hostChange{},
			admitted: map[HostID]int{}, gone: map[uint64][]byte{}}
		if err := c.run(); err != nil {
			return err
		}
		if b.index > 0 {
			if err := put(tx.Bucket(bucketMeta), appliedKey,
				binary.LittleEndian.AppendUint64(make([]byte, 4, 12), b.index)); err != nil {
				return err
			}
		}
		return p.progress.write(tx, p.index, own)
	})
	if p.contents != nil && c != nil {
		p.contents.forget(p, c.gone)
	}
	if err != nil {
		return Outcome{}, err
	}
	p.progress.commits[p.index].Store(own) // it is on disk: the others may say so
	p.domains = c.domains
	return c.out, nil
}

// commit is the work of one Commit within its transaction.
type commit struct {
	partition  *Partition
	tx         *bbolt.Tx
	batch      *Batch
	domains    string // of the partition's identity, after the commit
	out        Outcome
	fresh      *freshWriter
	totals     totals
	hosts      map[HostID]*hostChange
	admitted   map[HostID]int // index into out.Admitted
	ops        []seen.Op
	visits     []origin
	moves      []origin
	drops      []origin
	renews     []origin
	forgets    []origin
	gone       map[uint64][]byte // contents that the index has no longer, with their sketches
	firstAdmit int
	lastHost   string
	lastID     HostID
	record     []byte
}

// origin is where the page of an order was before.
type origin struct {
	stale bool // the position has ended or is not this page's: the order is a replay
	fresh *freshRef
	queue bool // taken from the queue
	old   remains
	host  HostID
	name  string
	op    int // index of its operation on the seen set
}

// hostChange is the counts of a host as this commit leaves them.
type hostChange struct {
	counts  counts
	before  counts
	name    string
	present bool // had counts before
}

// splitRecords bounds how many records of a coarse slot one commit moves into finer ones: some 20 ms. It belongs to the
// format: where it differs, the same batches make another state.
const splitRecords = 4096

func (c *commit) run() error {
	p := c.partition
	if err := p.queue.Begin(c.tx, c.batch.opened); err != nil {
		return err
	}
	c.fresh = newFreshWriter(c.tx.Bucket(bucketFresh))
	var err error
	if c.totals, err = readTotals(c.tx); err != nil {
		return err
	}
	before := c.totals
	steps := []func() error{
		c.noteDomains, c.rejudge, c.findOrigins, func() error { return p.seen.Apply(c.tx, c.ops) },
		c.storeVisits, c.storeMoves, c.storeDrops, c.storeRenews, c.storeForgets, c.storeAdmits,
		c.storeHosts, c.storeLeases, c.storeOutbox, c.storeRelaxed, c.storeStops, c.storeMeta,
	}
	for _, step := range steps {
		if err := step(); err != nil {
			return err
		}
	}
	if c.out.Splits, _, err = p.queue.Split(splitRecords); err != nil {
		return err
	}
	if err := p.queue.Flush(); err != nil {
		return err
	}
	if err := c.fresh.flush(); err != nil {
		return err
	}
	if err := c.storeCounts(); err != nil {
		return err
	}
	c.out.Relaxations = int(c.totals.relaxations)
	if c.totals == before {
		return nil
	}
	return writeTotals(c.tx, c.totals)
}

// noteDomains notes that hosts are divided by another list of registrable domains than those before.
func (c *commit) noteDomains() error {
	if c.domains == c.batch.domains || c.domains == mixedDomains {
		return nil
	}
	c.domains = mixedDomains
	return c.partition.writeIdentity(c.tx, c.domains)
}

// rejudge puts all visited pages with links down to have them judged again, and passes over numbers that were given.
// How far a page leads is what the seen set says: its record is of its last visit, and a shorter way may have been
// found since.
func (c *commit) rejudge() error {
	if !c.batch.rejudge {
		return nil
	}
	c.totals.serial = max(c.totals.serial, c.batch.given)
	known, err := seen.Read(c.tx)
	if err != nil {
		return err
	}
	return eachVisited(c.tx, func(page Page, _ Place) error {
		host, fp := IDOf(weburl.HostOf(page.URL)), fingerprint.URL(page.URL)
		entry, _, err := known.Get(uint64(host), fp)
		if err != nil {
			return err
		}
		return c.relax(&Relaxation{Host: host, URL: page.URL, Depth: page.Depth,
			DepthLeft: max(page.DepthLeft, entry.DepthLeft()), Redirects: page.Redirects}, fp)
	})
}

// hostOf names the host of a URL; runs of one host cost one digest.
func (c *commit) hostOf(url, host string) (HostID, string) {
	if host == "" {
		host = weburl.HostOf(url)
	}
	if host != c.lastHost {
		c.lastHost, c.lastID = host, IDOf(host)
	}
	return c.lastID, c.lastHost
}

// findOrigins ends the positions of visits, moves and drops, and lists what is to be asked of the seen set.
func (c *commit) findOrigins() error {
	b, orders := c.batch, c.orders()
	if err := c.endAll(orders); err != nil {
		return err
	}
	c.ops = make([]seen.Op, 0, len(orders)+len(b.forgets)+len(b.admits))
	for i := range orders {
		o := &orders[i]
		if o.stale {
			continue
		}
		reach := seen.Reach(o.page.Flags.Requisite() == 0, o.page.DepthLeft)
		if i >= len(b.visits) {
			reach = 0
		}
		o.op = len(c.ops)
		c.ops = append(c.ops, seen.Op{Host: uint64(o.host), URL: fingerprint.URL(o.page.URL), Reach: reach,
			Action: o.action})
	}
	if err := c.findForgets(); err != nil {
		return err
	}
	c.firstAdmit = len(c.ops)
	for i := range b.admits {
		a := &b.admits[i]
		id, _ := c.hostOf(a.URL, a.Host)
		c.ops = append(c.ops, seen.Op{Host: uint64(id), URL: fingerprint.URL(a.URL), Reach: a.Reach(),
			Action: seen.Know})
	}
	return nil
}

// orders are the visits, then the moves, the drops and the renewals.
func (c *commit) orders() []order {
	b := c.batch
	c.visits, c.moves, c.drops, c.renews = make([]origin, len(b.visits)), make([]origin, len(b.moves)),
		make([]origin, len(b.drops)), make([]origin, len(b.renews))
	orders := make([]order, 0, len(b.visits)+len(b.moves)+len(b.drops)+len(b.renews))
	for i := range b.visits {
		v := &b.visits[i]
		action := seen.Visit
		if v.Retry {
			action = seen.Peek
			if len(v.Position) == 0 {
				action = seen.Know
			}
		}
		orders = append(orders, order{&c.visits[i], v.Position, &v.Page, action})
	}
	for i := range b.moves {
		orders = append(orders, order{&c.moves[i], b.moves[i].Position, &b.moves[i].Page, seen.Peek})
	}
	for i := range b.drops {
		orders = append(orders, order{&c.drops[i], b.drops[i].Position, &b.drops[i].Page, seen.Visit})
	}
	for i := range b.renews {
		orders = append(orders, order{&c.renews[i], b.renews[i].Position, &b.renews[i].Page, seen.Renew})
	}
	return orders
}

// endAll ends the positions of all orders. Records of one chunk are taken together; of two orders for one position, the
// first is served.
func (c *commit) endAll(orders []order) error {
	type turn struct {
		queue uint64 // order of the record in the queue
		index int
	}
	turns := make([]turn, len(orders))
	for i := range orders {
		turns[i].index = i
		if ref, _ := parsePosition(orders[i].position); ref != nil {
			turns[i].queue = uint64(ref.Slot.Opens)<<32 | uint64(ref.Ordinal)
		}
	}
	slices.SortFunc(turns, func(a, b turn) int { return cmp.Or(cmp.Compare(a.queue, b.queue), a.index-b.index) })
	for _, t := range turns {
		if err := c.end(&orders[t.index]); err != nil {
			return err
		}
	}
	return nil
}

// findForgets lists what is to be forgotten and is still there.
func (c *commit) findForgets() error {
	c.forgets = make([]origin, len(c.batch.forgets))
	for i, pos := range c.batch.forgets {
		o := &c.forgets[i]
		o.stale = true
		if _, ref := parsePosition(pos); ref != nil {
			rec, err := c.fresh.get(*ref)
			if err != nil {
				return err
			}
			if rec != nil {
				url := string(urlOf(rec))
				o.stale, o.fresh, o.op = false, ref, len(c.ops)
				c.ops = append(c.ops, seen.Op{Host: uint64(ref.key.host()), URL: fingerprint.URL(url),
					Action: seen.Peek})
			}
		}
	}
	return nil
}

// order is a visit, move or drop on its way to its origin.
type order struct {
	*origin
	position Position
	page     *Page
	action   seen.Action // on the seen set
}

// end ends a position, if it is the page's.
func (c *commit) end(o *order) error {
	o.host, o.name = c.hostOf(o.page.URL, "")
	if len(o.position) == 0 {
		return nil
	}
	ours := func(rec []byte) bool { return string(urlOf(rec)) == o.page.URL }
	queue, fresh := parsePosition(o.position)
	var rec []byte
	var err error
	switch {
	case queue != nil:
		rec, err = c.partition.queue.Take(*queue, ours)
		o.queue = rec != nil
	case fresh != nil && o.action != seen.Renew: // what waits has nothing to be renewed
		if rec, err = c.fresh.get(*fresh); rec != nil {
			if ours(rec) {
				o.fresh = fresh
				c.fresh.end(*fresh)
			} else {
				rec = nil
			}
		}
	}
	if err != nil {
		return err
	}
	if rec == nil {
		o.stale = true
		return nil
	}
	if o.old, err = remainsOf(rec); err != nil || !o.queue {
		return err
	}
	return c.leave(o.origin)
}

// host loads the counts of a host into this commit.
func (c *commit) host(id HostID, name string) (*hostChange, error) {
	if h := c.hosts[id]; h != nil {
		return h, nil
	}
	h := &hostChange{name: name}
	key := key64(uint64(id))
	if v := c.tx.Bucket(bucketCounts).Get(key); v != nil {
		var err error
		if h.counts, err = decodeCounts(key, v); err != nil {
			return nil, err
		}
		h.before, h.present = h.counts, true
	}
	c.hosts[id] = h
	return h, nil
}

// leave takes a record out of the sums of queue and rest.
func (c *commit) leave(o *origin) error {
	h, err := c.host(o.host, o.name)
	if err != nil {
		return err
	}
	h.counts.load -= o.old.load
	if o.old.resting {
		c.totals.resting--
		if o.old.dropped {
			c.totals.dropped--
		}
	} else {
		c.totals.queued--
	}
	return nil
}

// enter puts a page into the queue or to rest, and into the sums.
func (c *commit) enter(o *origin, page *Page) error {
	if err := c.number(o, page); err != nil {
		return err
	}
	h, err := c.host(o.host, o.name)
	if err != nil {
		return err
	}
	h.counts.load += page.loadIn()
	if page.Next.IsZero() {
		c.totals.resting++
		if page.Flags&Dropped != 0 {
			c.totals.dropped++
		}
	} else {
		c.totals.queued++
	}
	c.record = appendPage(c.record[:0], page)
	c.partition.queue.Put(c.record)
	return nil
}

// wait puts a page into fresh.
func (c *commit) wait(o *origin, page *Page, band uint8) error {
	if err := c.number(o, page); err != nil {
		return err
	}
	if err := c.moved(o.host, fingerprint.URL(page.URL), band); err != nil {
		return err
	}
	c.record = appendPage(c.record[:0], page)
	return c.fresh.put(o.host, band, c.record)
}

// number gives the page its number: the one it had, or the next.
func (c *commit) number(o *origin, page *Page) error {
	if page.Number == 0 && o.old.number != 0 {
		page.Number, page.From = o.old.number, o.old.from
	}
	if page.Number == 0 {
		c.totals.serial++
		page.Number = c.totals.serial*uint64(c.partition.of) + uint64(c.partition.index)
	}
	return nil
}

// settle counts a page that the seen set now has as visited, and reports whether it had been so before.
func (c *commit) settle(o *origin) (before bool, err error) {
	op := &c.ops[o.op]
	if op.Found && op.Old.Visited() {
		return true, nil
	}
	h, err := c.host(o.host, o.name)
	if err != nil {
		return false, err
	}
	if op.Found {
		h.counts.waiting--
		c.totals.waiting--
	} else {
		h.counts.known++
		c.totals.known++
	}
	h.counts.visited++
	c.totals.visited++
	return false, c.had(o.host, op.URL)
}

func (c *commit) storeVisits() error {
	for i := range c.visits {
		var first firstPage
		if i < len(c.batch.firsts) {
			first = c.batch.firsts[i]
		}
		if v := &c.batch.visits[i]; first.claim { // until it is stored
			c.gone[v.Page.MainDigest] = v.Near
		}
		if err := c.storeVisit(&c.batch.visits[i], &c.visits[i], first); err != nil {
			return err
		}
	}
	return nil
}

func (c *commit) storeVisit(v *Visited, o *origin, first firstPage) error {
	if o.stale {
		c.out.Replayed++
		return nil
	}
	page := v.Page
	if v.Retry && page.Next.IsZero() {
		page.Next = c.batch.now
	}
	op := &c.ops[o.op]
	visited := op.Found && op.Old.Visited()
	switch {
	case o.queue:
		// Live in the queue, so it is the page's only record, whatever comes of the visit.
	case visited, v.Retry && o.fresh == nil && op.Found:
		// Visited meanwhile inside a lease, or known already: there is a record of it elsewhere.
		c.out.Replayed++
		return c.raised(op, page.URL, page.Depth, page.Redirects)
	case v.Retry:
		if again, err := c.waitsAgain(o, op.URL); err != nil || again {
			c.out.Replayed++
			return err
		}
		if !op.Found {
			h, err := c.host(o.host, o.name)
			if err != nil {
				return err
			}
			h.counts.known++
			h.counts.waiting++
			c.totals.known++
			c.totals.waiting++
		}
		c.out.Visited++
		return c.wait(o, &page, RetryBand)
	}
	if !v.Retry {
		if _, err := c.settle(o); err != nil {
			return err
		}
	}
	c.out.Visited++
	left, reach := min(page.DepthLeft, outlink.UnlimitedDepth), op.Reach
	if !v.Retry && v.Links != nil {
		if err := c.storeLinks(o.host, op.URL, v); err != nil {
			return err
		}
	}
	if !v.Retry && op.Found && op.Old.Reach() > reach {
		// The caller judged the links by the depth it knew of.
		left, reach = op.Old.DepthLeft(), op.Old.Reach()
		if err := c.relax(&Relaxation{Host: o.host, URL: page.URL, Depth: page.Depth, DepthLeft: left,
			Redirects: page.Redirects}, op.URL); err != nil {
			return err
		}
	} else if v.Links == nil {
		// It did not judge them at all.
		if err := c.raised(op, page.URL, page.Depth, page.Redirects); err != nil {
			return err
		}
	}
	page.DepthLeft, page.Flags, page.Via = left, page.Flags.linked(reach > 0), ""
	if v.Retry { // which does not count: the page has the text that it had
		return c.enter(o, &page)
	}
	if err := c.storeContent(&page, o.old.content, first, v.Near); err != nil {
		return err
	}
	if first.known || first.claim || first.url != "" {
		c.out.Texts = append(c.out.Texts, Text{page.URL, first.url, !visited})
	}
	return c.enter(o, &page)
}

// raised puts a page down to be relaxed when an operation on the seen set found it visited and raised its reach.
func (c *commit) raised(op *seen.Op, url string, depth, redirects uint8) error {
	if op.Action == seen.Peek || !op.Found || op.Old.Reach() >= op.Reach {
		return nil
	}
	c.out.Raised++
	if !op.Old.Visited() {
		return nil
	}
	return c.relax(&Relaxation{Host: HostID(op.Host), URL: url, Depth: depth, DepthLeft: op.DepthLeft(),
		Redirects: redirects}, op.URL)
}

func (c *commit) storeLinks(host HostID, fp uint64, v *Visited) error {
	key := key128(host, fp)
	if len(v.Links) == 0 {
		return c.deleteLinks(key, v.Page.URL)
	}
	old := c.tx.Bucket(bucketLinks).Get(key)
	if old == nil {
		c.totals.linked++
	}
	if err := putLinks(c.tx, key, old, v.Links); err != nil {
		return fmt.Errorf("links of %s: %w", v.Page.URL, err)
	}
	return nil
}

func (c *commit) deleteLinks(key []byte, url string) error {
	had, err := deleteLinks(c.tx, key)
	if err != nil {
		return fmt.Errorf("links of %s: %w", url, err)
	}
	if had {
		c.totals.linked--
	}
	return nil
}

// relax puts a page down for its links, if it has any, to be admitted again with more depth left.
func (c *commit) relax(to *Relaxation, fp uint64) error {
	relax, key := c.tx.Bucket(bucketRelax), key128(to.Host, fp)
	if c.tx.Bucket(bucketLinks).Get(key) == nil {
		return nil
	}
	if v := relax.Get(key); v != nil {
		r, err := decodeRelaxation(key, v)
		if err != nil {
			return err
		}
		if r.DepthLeft >= to.DepthLeft {
			return nil
		}
	} else {
		c.totals.relaxations++
	}
	return put(relax, key, encodeRelaxation(to))
}

func (c *commit) storeMoves() error {
	for i := range c.moves {
		o, page := &c.moves[i], c.batch.moves[i].Page
		switch {
		case o.stale:
			c.out.Replayed++
		case o.queue:
			if err := c.enter(o, &page); err != nil {
				return err
			}
		case o.fresh != nil:
			if op := &c.ops[o.op]; op.Found && op.Old.Visited() {
				c.out.Replayed++
			} else if err := c.wait(o, &page, page.Band); err != nil {
				return err
			}
		}
	}
	return nil
}

func (c *commit) storeDrops() error {
	for i := range c.drops {
		o, page := &c.drops[i], c.batch.drops[i].Page
		if o.stale || !o.queue && o.fresh == nil {
			c.out.Replayed++
			continue
		}
		before, err := c.settle(o)
		if err != nil {
			return err
		}
		if before && !o.queue {
			c.out.Replayed++
			continue
		}
		page.Next = moment(0)
		page.Flags |= Dropped
		page.SameAs, page.Near = "", ""
		if err := c.leaveContent(page.URL, o.old.content); err != nil {
			return err
		}
		if err := c.enter(o, &page); err != nil {
			return err
		}
	}
	return nil
}

func (c *commit) storeRenews() error {
	for i := range c.renews {
		if err := c.storeRenew(&c.batch.renews[i].Page, &c.renews[i]); err != nil {
			return err
		}
	}
	return nil
}

func (c *commit) storeRenew(old *Page, o *origin) error {
	if o.stale || !o.queue {
		c.out.Replayed++
		return nil
	}
	if err := c.leaveContent(old.URL, o.old.content); err != nil {
		return err
	}
	op := &c.ops[o.op]
	h, err := c.host(o.host, o.name)
	if err != nil {
		return err
	}
	h.counts.visited--
	c.totals.visited--
	h.counts.waiting++
	c.totals.waiting++
	key := key128(o.host, op.URL)
	if err := c.deleteLinks(key, old.URL); err != nil {
		return err
	}
	relax := c.tx.Bucket(bucketRelax)
	if relax.Get(key) != nil {
		c.totals.relaxations--
	}
	if err := relax.Delete(key); err != nil {
		return fmt.Errorf("relaxation of %s: %w", old.URL, err)
	}
	// The ghost of a page that was visited inside a lease is its waiting record again.
	err = eachFresh(c.tx.Bucket(bucketFresh), key64(uint64(o.host)), nil, func(ref freshRef, rec []byte) error {
		if string(urlOf(rec)) != old.URL {
			return nil
		}
		if live, err := c.fresh.get(ref); err != nil || live == nil { // a visit of this batch has ended it
			return err
		}
		if c.tx.Bucket(bucketRaised) != nil { // there may be more of them
			if err := c.raiseTo(o.host, op.URL, ref.key.band()); err != nil {
				return err
			}
		}
		return errStop
	})
	if err == errStop {
		return nil
	}
	if err != nil {
		return err
	}
	return c.wait(o, &Page{URL: old.URL, From: old.From, Depth: old.Depth, DepthLeft: op.Old.DepthLeft(),
		Band: min(old.Band, LastBand), Flags: Flags(0).Wishing(old.Flags.Wish()).AsRequisite(old.Flags.Requisite())},
		min(old.Band, LastBand))
}

func (c *commit) storeForgets() error {
	for i := range c.forgets {
		o := &c.forgets[i]
		if o.stale {
			continue
		}
		op := &c.ops[o.op]
		ghost := op.Found && op.Old.Visited()
		if !ghost {
			var err error
			if ghost, err = superseded(c.tx, *o.fresh, op.URL); err != nil {
				return err
			}
		}
		if ghost {
			c.fresh.end(*o.fresh)
		}
	}
	return nil
}

func (c *commit) storeAdmits() error {
	for i := range c.batch.admits {
		a, op := &c.batch.admits[i], &c.ops[c.firstAdmit+i]
		id := HostID(op.Host)
		if op.Found {
			if err := c.raised(op, a.URL, a.Depth, a.Redirects); err != nil {
				return err
			}
			if a.Rises && !op.Old.Visited() {
				if err := c.rise(a, id, max(op.Old.DepthLeft(), op.DepthLeft())); err != nil {
					return err
				}
			}
			continue
		}
		_, name := c.hostOf(a.URL, a.Host)
		h, err := c.host(id, name)
		if err != nil {
			return err
		}
		h.counts.known++
		h.counts.waiting++
		c.totals.known++
		c.totals.waiting++
		if a.Rises { // and waits there already when the batch comes again
			if err := c.raiseTo(id, op.URL, a.Band); err != nil {
				return err
			}
		}
		if err := c.newRecord(a, id, op.DepthLeft()); err != nil {
			return err
		}
		at, ok := c.admitted[id]
		if !ok {
			at = len(c.out.Admitted)
			c.admitted[id] = at
			c.out.Admitted = append(c.out.Admitted, Admission{Host: id, Name: name})
		}
		c.out.Admitted[at].Count++
	}
	return nil
}

func (c *commit) storeHosts() error {
	hosts, robots := c.tx.Bucket(bucketHosts), c.tx.Bucket(bucketRobots)
	for i := range c.batch.hosts {
		h := &c.batch.hosts[i]
		id := h.ID
		if id == 0 {
			id = IDOf(h.Name)
		}
		key := key64(uint64(id))
		if hosts.Get(key) == nil {
			c.totals.hosts++
		}
		if err := put(hosts, key, encodeHost(h)); err != nil {
			return fmt.Errorf("host %s: %w", h.Name, err)
		}
		old := robots.Get(key)
		switch {
		case len(h.Robots) == 0 && old == nil, len(old) > 4 && bytes.Equal(old[4:], h.Robots):
		case len(h.Robots) == 0:
			if err := robots.Delete(key); err != nil {
				return fmt.Errorf("robots of %s: %w", h.Name, err)
			}
		default:
			if err := put(robots, key, append(make([]byte, 4, 4+len(h.Robots)), h.Robots...)); err != nil {
				return fmt.Errorf("robots of %s: %w", h.Name, err)
			}
		}
	}
	return nil
}

// storeCounts stores the counts of hosts, and the hosts that were unknown.
func (c *commit) storeCounts() error {
	bucket, hosts := c.tx.Bucket(bucketCounts), c.tx.Bucket(bucketHosts)
	for _, id := range slices.Sorted(maps.Keys(c.hosts)) {
		h, key := c.hosts[id], key64(uint64(id))
		if h.present && h.counts == h.before {
			continue
		}
		if !h.present && hosts.Get(key) == nil {
			if err := put(hosts, key, encodeHost(&HostRecord{Name: h.name})); err != nil {
				return fmt.Errorf("host %s: %w", h.name, err)
			}
			c.totals.hosts++
		}
		if err := put(bucket, key, h.counts.encode()); err != nil {
			return fmt.Errorf("counts of %s: %w", h.name, err)
		}
	}
	return nil
}

func (c *commit) storeLeases() error {
	leases := c.tx.Bucket(bucketLeases)
	for i := range c.batch.leases {
		l := &c.batch.leases[i]
		key := key64(l.ID)
		if leases.Get(key) == nil {
			c.totals.leases++
		}
		if err := put(leases, key, encodeLease(l)); err != nil {
			return fmt.Errorf("lease %d: %w", l.ID, err)
		}
	}
	for _, id := range c.batch.ended {
		key := key64(id)
		if leases.Get(key) == nil {
			continue
		}
		c.totals.leases--
		if err := leases.Delete(key); err != nil {
			return fmt.Errorf("lease %d: %w", id, err)
		}
	}
	return nil
}

func (c *commit) storeOutbox() error {
	outbox := c.tx.Bucket(bucketOutbox)
	for i := range c.batch.sends {
		number, err := outbox.NextSequence()
		if err == nil {
			err = put(outbox, key64(number), encodeParcel(&c.batch.sends[i]))
		}
		if err != nil {
			return fmt.Errorf("outbox: %w", err)
		}
		c.totals.parcels++
	}
	for _, key := range c.batch.sent {
		if outbox.Get(key) == nil {
			continue
		}
		c.totals.parcels--
		if err := outbox.Delete(key); err != nil {
			return fmt.Errorf("outbox: %w", err)
		}
	}
	return nil
}

func (c *commit) storeRelaxed() error {
	relax := c.tx.Bucket(bucketRelax)
	for i := range c.batch.relaxed {
		r := &c.batch.relaxed[i]
		key := key128(r.Host, fingerprint.URL(r.URL))
		v := relax.Get(key)
		if v == nil {
			continue
		}
		stored, err := decodeRelaxation(key, v)
		if err != nil {
			return err
		}
		if stored.DepthLeft > r.DepthLeft {
			continue
		}
		c.totals.relaxations--
		if err := relax.Delete(key); err != nil {
			return fmt.Errorf("relaxation of %s: %w", r.URL, err)
		}
	}
	return nil
}

func (c *commit) storeStops() error {
	stops := c.tx.Bucket(bucketStop)
	for i := range c.batch.stops {
		e := &c.batch.stops[i]
		if err := put(stops, []byte(e.Prefix), encodeStop(e)); err != nil {
			return fmt.Errorf("stop %q: %w", e.Prefix, err)
		}
	}
	for _, prefix := range c.batch.unstops {
		if err := stops.Delete([]byte(prefix)); err != nil {
			return fmt.Errorf("unstop %q: %w", prefix, err)
		}
	}
	return nil
}

func (c *commit) storeMeta() error {
	meta := c.tx.Bucket(bucketMeta)
	for i, name := range c.batch.metaKeys {
		key := []byte(ownMeta + name)
		var err error
		if v := c.batch.metas[i]; v == nil {
			err = meta.Delete(key)
		} else {
			err = put(meta, key, append(make([]byte, 4, 4+len(v)), v...))
		}
		if err != nil {
			return fmt.Errorf("meta %s: %w", name, err)
		}
	}
	return nil
}

func hostKey(k []byte) HostID {
	if len(k) < 8 {
		return 0
	}
	return HostID(binary.BigEndian.Uint64(k))
}

func key64(n uint64) []byte { return binary.BigEndian.AppendUint64(make([]byte, 0, 8), n) }

func key128(host HostID, fp uint64) []byte {
	return binary.BigEndian.AppendUint64(binary.BigEndian.AppendUint64(make([]byte, 0, 16), uint64(host)), fp)
}

// totals are the counts of a partition.
type totals struct {
	serial                           uint64 // pages numbered so far
	hosts, known, visited, waiting   uint64
	queued, resting, dropped, linked uint64
	leases, parcels, relaxations     uint64
}

func (t *totals) fields() []*uint64 {
	return []*uint64{&t.serial, &t.hosts, &t.known, &t.visited, &t.waiting, &t.queued, &t.resting, &t.dropped,
		&t.linked,
		&t.leases, &t.parcels, &t.relaxations}
}

var totalsKey = []byte("totals")

func readTotals(tx *bbolt.Tx) (t totals, err error) {
	b, err := unseal(totalsKey, tx.Bucket(bucketMeta).Get(totalsKey))
	if err != nil {
		return t, fmt.Errorf("totals: %w", err)
	}
	s := scanner{rest: b}
	for _, f := range t.fields() {
		*f = s.u64()
	}
	return t, s.err("totals")
}

func writeTotals(tx *bbolt.Tx, t totals) error {
	b := make([]byte, 4, 4+8*12)
	for _, f := range t.fields() {
		b = binary.LittleEndian.AppendUint64(b, *f)
	}
	return put(tx.Bucket(bucketMeta), totalsKey, b)
}
