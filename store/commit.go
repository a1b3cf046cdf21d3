package store

import (
	"cmp"
	"slices"

	"go.etcd.io/bbolt"

	"henro/messages/outlink"
	"henro/messages/weburl"
	"henro/store/fingerprint"
	"henro/store/seen"
)

// commit is the work of one Commit within its transaction: what the changes do to pages. Each table is changed by its
// writer.
type commit struct {
	partition *Partition
	tx        *bbolt.Tx
	batch     *Batch
	domains   string // of the partition's identity, after the commit
	out       Outcome

	tally    *tally
	fresh    *freshWriter
	links    linkWriter
	contents contentWriter

	changes  []change  // visits, then moves, drops and renewals
	ops      []seen.Op // of the changes, the ghosts and the candidates
	ghosts   []ghost
	admitted map[HostID]int // index into out.Admitted

	lastHost string
	lastID   HostID
	record   []byte
}

// change is what a batch says of a page that has a record, and where that was before.
type change struct {
	do       func(*commit, *change) error
	index    int // among the batch's changes of its kind
	position Position
	page     *Page
	action   seen.Action // on the seen set

	stale bool // the position has ended or is not this page's: the change is a replay
	fresh *freshRef
	queue bool // taken from the queue
	old   remains
	host  HostID
	name  string
	op    int // index of its operation on the seen set
}

// ghost is a record to be forgotten that is still there.
type ghost struct {
	freshRef
	op int // index of the question to the seen set
}

// splitRecords bounds how many records of a coarse slot one commit moves into finer ones: some 20 ms. It belongs to the
// format: where it differs, the same batches make another state.
const splitRecords = 4096

func (c *commit) run() (err error) {
	p, b := c.partition, c.batch
	if err := p.queue.Begin(c.tx, b.opened); err != nil {
		return err
	}
	if c.tally, err = newTally(c.tx); err != nil {
		return err
	}
	totals := &c.tally.totals
	c.fresh = newFreshWriter(c.tx)
	c.links = linkWriter{c.tx, totals}
	c.contents = contentWriter{c.tx.Bucket(bucketContents), map[uint64][]byte{}}
	for i, first := range b.firsts {
		if v := &b.visits[i]; first.claim { // until contents.put has stored it
			c.contents.gone[v.Page.MainDigest] = v.Near
		}
	}
	for _, step := range []func() error{
		c.noteDomains, c.rejudge, c.findOrigins, func() error { return p.seen.Apply(c.tx, c.ops) },
		c.storeChanges, c.forget, c.admit,
		func() error { return storeHosts(c.tx, b.hosts, totals) }, func() error { return storeLeases(c.tx, b, totals) },
		func() error { return storeOutbox(c.tx, b, totals) }, func() error { return c.links.relaxed(b.relaxed) },
		func() error { return storeMetas(c.tx, b) },
		func() error { c.out.Splits, _, err = p.queue.Split(splitRecords); return err },
		p.queue.Flush, c.fresh.flush, func() error { return c.tally.flush(&c.out) },
	} {
		if err := step(); err != nil {
			return err
		}
	}
	c.out.Relaxations = int(totals.relaxations)
	return nil
}

// noteDomains notes when hosts are divided by another list of registrable domains than before.
func (c *commit) noteDomains() error {
	if c.domains == c.batch.domains || c.domains == mixedDomains {
		return nil
	}
	c.domains = mixedDomains
	return c.partition.writeIdentity(c.tx, c.domains)
}

// rejudge does what Batch.Rejudge asks for. The depth left is at least that of the seen set: the record of a page is of
// its last visit, and a shorter way may have been found since.
func (c *commit) rejudge() error {
	if !c.batch.rejudge {
		return nil
	}
	c.tally.totals.serial = max(c.tally.totals.serial, c.batch.given)
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
		return c.links.relax(&Relaxation{Host: host, URL: page.URL, Depth: page.Depth,
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

// findOrigins ends the positions of the changes, and lists what is to be asked of the seen set.
func (c *commit) findOrigins() error {
	b := c.batch
	c.listChanges()
	if err := c.endAll(); err != nil {
		return err
	}
	c.ops = make([]seen.Op, 0, len(c.changes)+len(b.forgets)+len(b.admits))
	for i := range c.changes {
		o := &c.changes[i]
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
	for _, pos := range b.forgets {
		_, ref := parsePosition(pos)
		if ref == nil {
			continue
		}
		rec, err := c.fresh.get(*ref)
		if err != nil {
			return err
		}
		if rec != nil {
			c.ghosts = append(c.ghosts, ghost{*ref, len(c.ops)})
			c.ops = append(c.ops, seen.Op{Host: uint64(ref.key.host()), URL: fingerprint.URL(string(urlOf(rec))),
				Action: seen.Peek})
		}
	}
	for i := range b.admits {
		a := &b.admits[i]
		id, _ := c.hostOf(a.URL, a.Host)
		c.ops = append(c.ops, seen.Op{Host: uint64(id), URL: fingerprint.URL(a.URL), Reach: a.Reach(),
			Action: seen.Know})
	}
	return nil
}

func (c *commit) listChanges() {
	b := c.batch
	c.changes = make([]change, 0, len(b.visits)+len(b.moves)+len(b.drops)+len(b.renews))
	for i := range b.visits {
		v := &b.visits[i]
		action := seen.Visit
		if v.Retry {
			action = seen.Peek
			if len(v.Position) == 0 {
				action = seen.Know
			}
		}
		c.changes = append(c.changes, change{do: (*commit).visit, index: i, position: v.Position, page: &v.Page,
			action: action})
	}
	add := func(entries []Entry, action seen.Action, do func(*commit, *change) error) {
		for i := range entries {
			e := &entries[i]
			c.changes = append(c.changes, change{do: do, index: i, position: e.Position, page: &e.Page, action: action})
		}
	}
	add(b.moves, seen.Peek, (*commit).move)
	add(b.drops, seen.Visit, (*commit).drop)
	add(b.renews, seen.Renew, (*commit).renew)
}

// endAll ends the positions of all changes. Records of one chunk are taken together; of two changes for one position,
// the first is served.
func (c *commit) endAll() error {
	type turn struct {
		queue uint64 // order of the record in the queue
		index int
	}
	turns := make([]turn, len(c.changes))
	for i := range c.changes {
		turns[i].index = i
		if ref, _ := parsePosition(c.changes[i].position); ref != nil {
			turns[i].queue = uint64(ref.Slot.Opens)<<32 | uint64(ref.Ordinal)
		}
	}
	slices.SortFunc(turns, func(a, b turn) int { return cmp.Or(cmp.Compare(a.queue, b.queue), a.index-b.index) })
	for _, t := range turns {
		if err := c.end(&c.changes[t.index]); err != nil {
			return err
		}
	}
	return nil
}

// end ends a position, if it is the page's.
func (c *commit) end(o *change) error {
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
	return c.tally.leaves(o.host, o.name, &o.old)
}

// enter puts a page into the queue or to rest.
func (c *commit) enter(o *change, page *Page) error {
	c.number(o, page)
	if err := c.tally.enters(o.host, o.name, page); err != nil {
		return err
	}
	c.record = appendPage(c.record[:0], page)
	c.partition.queue.Put(c.record)
	return nil
}

// wait puts a page into fresh.
func (c *commit) wait(o *change, page *Page, band uint8) error {
	c.number(o, page)
	if err := c.fresh.moved(o.host, fingerprint.URL(page.URL), band); err != nil {
		return err
	}
	c.record = appendPage(c.record[:0], page)
	return c.fresh.put(o.host, band, c.record)
}

// number gives the page its number: the one it had, or the next.
func (c *commit) number(o *change, page *Page) {
	if page.Number == 0 && o.old.number != 0 {
		page.Number, page.From = o.old.number, o.old.from
	}
	if page.Number == 0 {
		page.Number = c.nextNumber()
	}
}

func (c *commit) nextNumber() uint64 {
	c.tally.totals.serial++
	return c.tally.totals.serial*uint64(c.partition.of) + uint64(c.partition.index)
}

// countVisited counts a page that the seen set now has as visited, and reports whether it was visited before.
func (c *commit) countVisited(o *change) (before bool, err error) {
	op := &c.ops[o.op]
	if op.Found && op.Old.Visited() {
		return true, nil
	}
	known, waiting := 1, 0
	if op.Found {
		known, waiting = 0, -1
	}
	return false, cmp.Or(c.tally.pages(o.host, o.name, known, waiting, 1), c.fresh.forgetRise(o.host, op.URL))
}

func (c *commit) storeChanges() error {
	for i := range c.changes {
		o := &c.changes[i]
		if o.stale {
			c.out.Replayed++
		} else if err := o.do(c, o); err != nil {
			return err
		}
	}
	return nil
}

func (c *commit) visit(o *change) error {
	v := &c.batch.visits[o.index]
	var first firstPage
	if o.index < len(c.batch.firsts) {
		first = c.batch.firsts[o.index]
	}
	page := v.Page
	if v.Retry && page.Next.IsZero() {
		page.Next = c.batch.now
	}
	op := &c.ops[o.op]
	visited := op.Found && op.Old.Visited()
	switch {
	case o.queue:
		// It was live in the queue, so it is the page's only record, whatever comes of the visit.
	case visited, v.Retry && o.fresh == nil && op.Found && page.Flags&Awaits == 0:
		// The page was visited meanwhile inside a lease, or is known already: its record is elsewhere.
		c.out.Replayed++
		return c.raised(op, page.URL, page.Depth, page.Redirects)
	case v.Retry && o.fresh == nil && op.Found:
		// It was fetched inside a lease. The record by which it waited gives way to one that knows so.
		band, rose, err := roseTo(c.tx, o.host, op.URL)
		if err = cmp.Or(err, c.raised(op, page.URL, page.Depth, page.Redirects)); err != nil {
			return err
		}
		if rose && band >= AwaitBand {
			c.out.Replayed++
			return nil
		}
		c.out.Visited++
		return c.stay(o, &page)
	case v.Retry:
		// The page may wait again, since a visit from another of its records failed.
		if again, err := c.fresh.waitsAgain(o.fresh, op.URL); err != nil || again {
			c.out.Replayed++
			return err
		}
		if !op.Found {
			if err := c.tally.pages(o.host, o.name, 1, 1, 0); err != nil {
				return err
			}
		}
		c.out.Visited++
		return c.stay(o, &page)
	}
	if !v.Retry {
		if _, err := c.countVisited(o); err != nil {
			return err
		}
	}
	c.out.Visited++
	left, reach := min(page.DepthLeft, outlink.UnlimitedDepth), op.Reach
	if !v.Retry && v.Links != nil {
		if err := c.links.put(key128(o.host, op.URL), page.URL, v.Links); err != nil {
			return err
		}
	}
	if !v.Retry && op.Found && op.Old.Reach() > reach {
		// The caller judged the links by less depth.
		left, reach = op.Old.DepthLeft(), op.Old.Reach()
		if err := c.links.relax(&Relaxation{Host: o.host, URL: page.URL, Depth: page.Depth, DepthLeft: left,
			Redirects: page.Redirects}, op.URL); err != nil {
			return err
		}
	} else if v.Links == nil {
		// The caller did not judge the links.
		if err := c.raised(op, page.URL, page.Depth, page.Redirects); err != nil {
			return err
		}
	}
	page.DepthLeft, page.Flags, page.Via = left, page.Flags.linked(reach > 0), ""
	if v.Retry { // the visit does not count: the page has the text that it had
		return c.enter(o, &page)
	}
	if err := c.contents.put(&page, o.old.content, first, v.Near); err != nil {
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
	return c.links.relax(&Relaxation{Host: HostID(op.Host), URL: url, Depth: depth, DepthLeft: op.DepthLeft(),
		Redirects: redirects}, op.URL)
}

func (c *commit) move(o *change) error {
	page := *o.page
	switch op := &c.ops[o.op]; {
	case o.queue:
		return c.enter(o, &page)
	case o.fresh == nil:
		return nil
	case op.Found && op.Old.Visited():
		c.out.Replayed++
		return nil
	}
	// Another record of the page may wait in its place.
	if gone, err := superseded(c.tx, *o.fresh, c.ops[o.op].URL); err != nil || gone {
		c.out.Replayed++
		return err
	}
	if o.fresh.key.band() >= AwaitBand {
		return c.wait(o, &page, o.fresh.key.band())
	}
	return c.wait(o, &page, page.Band)
}

func (c *commit) drop(o *change) error {
	if !o.queue && o.fresh == nil {
		c.out.Replayed++
		return nil
	}
	before, err := c.countVisited(o)
	if err != nil {
		return err
	}
	if before && !o.queue {
		c.out.Replayed++
		return nil
	}
	page := *o.page
	page.Next = moment(0)
	page.Flags |= Dropped
	page.SameAs, page.Near = "", ""
	if err := c.contents.leave(page.URL, o.old.content); err != nil {
		return err
	}
	return c.enter(o, &page)
}

func (c *commit) renew(o *change) error {
	if !o.queue {
		c.out.Replayed++
		return nil
	}
	old, op := o.page, &c.ops[o.op]
	key := key128(o.host, op.URL)
	if err := cmp.Or(c.contents.leave(old.URL, o.old.content), c.tally.pages(o.host, o.name, 0, 1, -1),
		c.links.delete(key, old.URL), c.links.unrelax(key, old.URL)); err != nil {
		return err
	}
	// A page that was visited inside a lease left a ghost, which becomes its waiting record again.
	err := eachFresh(c.tx.Bucket(bucketFresh), key64(uint64(o.host)), nil, func(ref freshRef, rec []byte) error {
		if string(urlOf(rec)) != old.URL {
			return nil
		}
		if live, err := c.fresh.get(ref); err != nil || live == nil { // a visit of this batch has ended it
			return err
		}
		if c.tx.Bucket(bucketRises) != nil { // there may be more ghosts
			if err := c.fresh.noteRise(o.host, op.URL, ref.key.band()); err != nil {
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

// forget ends the records of ghosts.
func (c *commit) forget() error {
	for _, g := range c.ghosts {
		op := &c.ops[g.op]
		gone := op.Found && op.Old.Visited()
		if !gone {
			var err error
			if gone, err = superseded(c.tx, g.freshRef, op.URL); err != nil {
				return err
			}
		}
		if gone {
			c.fresh.end(g.freshRef)
		}
	}
	return nil
}

// admit makes pages of the candidates that are unknown, and raises the others.
func (c *commit) admit() error {
	ops := c.ops[len(c.ops)-len(c.batch.admits):]
	for i := range c.batch.admits {
		a, op := &c.batch.admits[i], &ops[i]
		id := HostID(op.Host)
		if op.Found {
			if err := c.raised(op, a.URL, a.Depth, a.Redirects); err != nil {
				return err
			}
			if a.Rises && !op.Old.Visited() {
				if err := c.rise(a, op); err != nil {
					return err
				}
			}
			continue
		}
		_, name := c.hostOf(a.URL, a.Host)
		if err := c.tally.pages(id, name, 1, 1, 0); err != nil {
			return err
		}
		if a.Rises { // the same batch, coming again, does not let it rise once more
			if err := c.fresh.noteRise(id, op.URL, a.Band); err != nil {
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

// rise gives a waiting page a record in the better band of a candidate.
func (c *commit) rise(a *Candidate, op *seen.Op) error {
	host := HostID(op.Host)
	if band, rose, err := roseTo(c.tx, host, op.URL); err != nil || rose && (band <= a.Band || band >= AwaitBand) {
		return err
	}
	if err := c.fresh.noteRise(host, op.URL, a.Band); err != nil {
		return err
	}
	return c.newRecord(a, host, max(op.Old.DepthLeft(), op.DepthLeft()))
}

// newRecord puts a candidate into fresh.
func (c *commit) newRecord(a *Candidate, host HostID, left uint8) error {
	page := Page{URL: a.URL, Number: c.nextNumber(), From: a.From, Depth: a.Depth, DepthLeft: left,
		Band: min(a.Band, LastBand), Redirects: a.Redirects,
		Flags: Flags(0).Wishing(a.Frequency).AsRequisite(a.Requisite), Via: a.Via}
	c.record = appendPage(c.record[:0], &page)
	return c.fresh.put(host, page.Band, c.record)
}
