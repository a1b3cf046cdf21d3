// Package storetest holds what a state store must do: a plain slow twin of it, and a suite in which both must agree.
//
// The twin keeps everything in maps and follows the sentences of package store's documentation one by one. The suite
// drives both with random batches, with positions that ended long ago, with the file closed and opened again at any
// moment, and with each single write to the disk failing once; after every batch both must tell the same. It draws
// every change that a batch can hold, which Drawn shows.
package storetest

import (
	"cmp"
	"encoding/binary"
	"maps"
	"slices"
	"time"

	"henro/messages/outlink"
	"henro/messages/weburl"
	"henro/store"
	"henro/store/fingerprint"
)

// Twin is a partition in plain maps.
type Twin struct {
	pages     map[string]*known
	positions map[string]place
	hosts     map[string]*store.HostRecord
	leases    map[uint64]store.Lease
	outbox    []store.Parcel
	parcels   uint64 // numbered so far
	meta      map[string][]byte
	contents  map[uint64]content // by digest
	serial    uint64             // pages numbered so far
	clock     int                // counts records written, so that first come is first out
	opened    int64              // minute up to which Due has read
}

// known is one URL: what the seen set says, and its records. Of these one is live.
type known struct {
	queue   *record   // in the queue or at rest, once it was visited
	fresh   []*record // waiting for the first visit; one is live unless it was visited, the others are ghosts
	rose    int       // band of the live record, if there are several in fresh; -1: there is at most one
	visited bool
	reach   int // links that may be followed from the page; -1: it is a requisite only
	links   []outlink.Outlink
	relax   *store.Relaxation // its links wait to be admitted again; nil: they do not
}

// record is a page at one position.
type record struct {
	store.Page
	place store.Place
	id    int   // rises with every record written
	band  uint8 // in which it waits
	due   int64 // minute at which it may be handed out
}

// place is what a position stands for.
type place struct {
	url string
	id  int // of the record
}

// content is the page that had a main content first.
type content struct {
	url  string
	near fingerprint.Near
}

// left is how many links may be followed.
func (p *known) left() uint8 { return uint8(max(p.reach, 0)) }

// live is the record by which the page is handed out.
func (p *known) live() *record {
	if p.visited {
		return p.queue
	}
	for _, r := range p.fresh {
		if p.rose < 0 || int(r.band) == p.rose {
			return r
		}
	}
	return nil
}

// at finds a record, nil when it has ended.
func (p *known) at(id int) *record {
	if p == nil {
		return nil
	}
	if p.queue != nil && p.queue.id == id {
		return p.queue
	}
	for _, r := range p.fresh {
		if r.id == id {
			return r
		}
	}
	return nil
}

// end ends a record.
func (p *known) end(r *record) {
	if p.queue == r {
		p.queue = nil
	}
	p.fresh = slices.DeleteFunc(slices.Clone(p.fresh), func(f *record) bool { return f == r })
}

// reachOf is how far the crawl goes from a URL with so many links left and these flags.
func reachOf(left uint8, f store.Flags) int {
	if left = min(left, outlink.UnlimitedDepth); left == 0 && f.Requisite() > 0 {
		return -1
	}
	return int(left)
}

// linked returns the flags of a requisite that can be reached as a page.
func linked(reach int, f store.Flags) store.Flags {
	if reach >= 0 && f.Requisite() > 0 {
		return f.AsRequisite(outlink.PageToo)
	}
	return f
}

// hasText reports whether the text of a page is compared with others.
func hasText(p *store.Page) bool {
	return p.Status == 200 && p.Reason == 0 && p.SimHash != 0 && p.MainDigest != 0 && p.Flags.Requisite() == 0 &&
		p.Flags&(store.Listing|store.Dropped) == 0
}

// NewTwin returns an empty twin.
func NewTwin() *Twin {
	return &Twin{pages: map[string]*known{}, positions: map[string]place{}, hosts: map[string]*store.HostRecord{},
		leases: map[uint64]store.Lease{}, meta: map[string][]byte{},
		contents: map[uint64]content{}}
}

// Clone copies the twin.
func (t *Twin) Clone() *Twin {
	c := *t
	c.pages = map[string]*known{}
	for url, p := range t.pages {
		q := *p
		c.pages[url] = &q
	}
	c.hosts = map[string]*store.HostRecord{}
	for name, h := range t.hosts {
		q := *h
		c.hosts[name] = &q
	}
	c.positions, c.leases, c.meta, c.contents = maps.Clone(t.positions), maps.Clone(t.leases), maps.Clone(t.meta),
		maps.Clone(t.contents)
	c.outbox = slices.Clone(t.outbox)
	return &c
}

// Learn gives the twin the position that the store gave a record; the number of the page tells which.
func (t *Twin) Learn(e store.Entry) {
	p := t.pages[e.Page.URL]
	if p == nil {
		return
	}
	for _, r := range append(slices.Clone(p.fresh), p.queue) {
		if r != nil && r.Number == e.Page.Number {
			t.positions[string(e.Position)] = place{e.Page.URL, r.id}
		}
	}
}

// Opened notes that slots up to this time were handed out.
func (t *Twin) Opened(now time.Time) { t.opened = now.Unix() / 60 }

// find returns the record of a position, nil when it has ended.
func (t *Twin) find(pos store.Position) *record {
	at := t.positions[string(pos)]
	return t.pages[at.url].at(at.id)
}

func (t *Twin) host(url string) *store.HostRecord {
	name := weburl.HostOf(url)
	if t.hosts[name] == nil {
		t.hosts[name] = &store.HostRecord{ID: store.IDOf(name), Name: name}
	}
	return t.hosts[name]
}

// write gives a page its new live record, in the place of one that was ended, or of none.
func (t *Twin) write(p *known, page store.Page, before *record, fresh bool, band uint8, now time.Time) {
	if page.Number == 0 && before != nil {
		page.Number, page.From = before.Number, before.From
	}
	if page.Number == 0 {
		t.serial++
		page.Number = t.serial
	}
	t.clock++
	r := &record{Page: page, id: t.clock}
	if fresh {
		r.place, r.band = store.InFresh, band
		if p.rose >= 0 {
			p.rose = int(band)
		}
		p.fresh = append(slices.Clone(p.fresh), r)
		return
	}
	r.place = store.InQueue
	if page.Next.IsZero() {
		r.place = store.InRest
	}
	minute := (page.Next.Unix() + 59) / 60
	r.due = min(max(minute, max(t.opened, now.Unix()/60)+1), max(t.opened, now.Unix()/60)+400*24*60)
	p.queue = r
}

// Apply does what Commit does. It does not foretell the splits of slots.
func (t *Twin) Apply(s *Step) store.Outcome {
	out, before := store.Outcome{Waiting: map[store.HostID]uint64{}}, t.counts()
	if s.Rejudge > 0 {
		t.rejudge(s.Rejudge - 1)
	}
	firsts := t.firsts(s.Visits)
	visits := make([]*record, len(s.Visits))
	for i, v := range s.Visits {
		visits[i] = t.take(v.Position, v.Page.URL)
	}
	moves, drops, renews := t.takeAll(s.Moves), t.takeAll(s.Drops), t.renewable(s.Renews)
	for i, v := range s.Visits {
		t.visit(&v, visits[i], firsts[i], s.Now, &out)
	}
	for i, e := range s.Moves {
		t.move(e.Page, moves[i], s.Now, &out)
	}
	for i, e := range s.Drops {
		t.drop(e.Page, drops[i], s.Now, &out)
	}
	for i, e := range s.Renews {
		t.renew(e.Page, renews[i], s.Now, &out)
	}
	for _, pos := range s.Forgets {
		if r := t.find(pos); r != nil && r.place == store.InFresh && t.pages[r.URL].live() != r {
			t.pages[r.URL].end(r)
		}
	}
	for _, c := range s.Admits {
		t.admit(c, s.Now, &out)
	}
	t.keep(s)
	for _, p := range t.pages {
		if p.relax != nil {
			out.Relaxations++
		}
	}
	for host, n := range t.counts() {
		if n != before[host] {
			out.Waiting[host] = n
		}
	}
	return out
}

// counts are the pages of each host that wait.
func (t *Twin) counts() map[store.HostID]uint64 {
	counts := map[store.HostID]uint64{}
	for url, p := range t.pages {
		if id := store.IDOf(weburl.HostOf(url)); p.visited {
			counts[id] += 0
		} else {
			counts[id]++
		}
	}
	return counts
}

// keep stores what is no page.
func (t *Twin) keep(s *Step) {
	for _, h := range s.Hosts {
		h.ID = t.host(h.Name).ID
		*t.host(h.Name) = h
	}
	for _, l := range s.Leases {
		t.leases[l.ID] = l
	}
	for _, id := range s.Ended {
		delete(t.leases, id)
	}
	for _, p := range s.Sends {
		t.parcels++
		p.Key = binary.BigEndian.AppendUint64(nil, t.parcels)
		t.outbox = append(t.outbox, p)
	}
	for _, key := range s.Sent {
		t.outbox = slices.DeleteFunc(slices.Clone(t.outbox), func(p store.Parcel) bool {
			return slices.Equal(p.Key, key)
		})
	}
	for _, r := range s.Relaxed {
		if p := t.pages[r.URL]; p != nil && p.relax != nil && p.relax.DepthLeft <= r.DepthLeft {
			p.relax = nil
		}
	}
	for name, v := range s.Meta {
		if v == nil {
			delete(t.meta, name)
		} else {
			t.meta[name] = v
		}
	}
}

// rejudge has the links of all visited pages admitted again, and passes over page numbers.
func (t *Twin) rejudge(given uint64) {
	t.serial = max(t.serial, given)
	for _, p := range t.pages {
		if p.visited {
			p.relaxLinks(&p.queue.Page, max(p.queue.DepthLeft, p.left()))
		}
	}
}

// raise lets the crawl go farther from a page; if it was visited before, its links are to be admitted again.
func (p *known) raise(reach int, by *store.Page, out *store.Outcome) {
	if reach <= p.reach {
		return
	}
	p.reach = reach
	out.Raised++
	if p.visited {
		p.relaxLinks(by, p.left())
	}
}

func (p *known) relaxLinks(by *store.Page, left uint8) {
	if len(p.links) > 0 && (p.relax == nil || p.relax.DepthLeft < left) {
		p.relax = &store.Relaxation{Host: store.IDOf(weburl.HostOf(by.URL)), URL: by.URL, Depth: by.Depth,
			DepthLeft: left, Redirects: by.Redirects}
	}
}

// take ends a position that is this URL's: its record is returned once.
func (t *Twin) take(pos store.Position, url string) *record {
	r := t.find(pos)
	if r == nil || r.URL != url {
		return nil
	}
	t.pages[url].end(r)
	return r
}

func (t *Twin) takeAll(entries []store.Entry) []*record {
	all := make([]*record, len(entries))
	for i, e := range entries {
		all[i] = t.take(e.Position, e.Page.URL)
	}
	return all
}

// renewable is takeAll of those that were visited.
func (t *Twin) renewable(entries []store.Entry) []*record {
	all := make([]*record, len(entries))
	for i, e := range entries {
		if r := t.find(e.Position); r != nil && r.place != store.InFresh {
			all[i] = t.take(e.Position, e.Page.URL)
		}
	}
	return all
}

// first is what is known of the text of a visit before it is stored.
type first struct {
	known, claim bool   // the page is the first with the text; it becomes the first
	url, near    string // otherwise which one is, or which one has nearly the same
}

// firsts decides which pages are the first with the texts of visits. Of two in one batch the first counts, even if its
// position has ended.
func (t *Twin) firsts(visits []store.Visited) []first {
	all, held := make([]first, len(visits)), maps.Clone(t.contents)
	for i := range visits {
		v, f := &visits[i], &all[i]
		if v.Retry || !hasText(&v.Page) {
			continue
		}
		if c, ok := held[v.Page.MainDigest]; ok {
			if f.url = c.url; c.url == v.Page.URL {
				f.known, f.url = true, ""
			}
			continue
		}
		near, _ := fingerprint.NearOf(v.Near)
		best := 0.0
		for _, c := range held {
			if like := near.Likeness(&c.near); like > fingerprint.LeastLikeness && like > best {
				best, f.near = like, c.url
			}
		}
		if f.near == v.Page.URL {
			f.near = ""
		}
		f.claim = true
		held[v.Page.MainDigest] = content{v.Page.URL, near}
	}
	return all
}

// text notes which page had the text of a visit first. before is the digest of the page's text until now.
func (t *Twin) text(page *store.Page, before uint64, f first, near []byte) {
	if before != page.MainDigest || !hasText(page) {
		t.leave(page.URL, before)
	}
	if f.known {
		return
	}
	page.SameAs, page.Near = f.url, f.near
	if _, held := t.contents[page.MainDigest]; f.claim && !held {
		sketch, _ := fingerprint.NearOf(near)
		t.contents[page.MainDigest] = content{page.URL, sketch}
	}
}

// leave notes that a page no longer has a text.
func (t *Twin) leave(url string, digest uint64) {
	if t.contents[digest].url == url {
		delete(t.contents, digest)
	}
}

func (t *Twin) visit(v *store.Visited, r *record, f first, now time.Time, out *store.Outcome) {
	page := v.Page
	if len(v.Position) > 0 && r == nil {
		out.Replayed++
		return
	}
	if v.Retry && page.Next.IsZero() {
		page.Next = now.Add(time.Second - 1).Truncate(time.Second)
	}
	page.DepthLeft = min(page.DepthLeft, outlink.UnlimitedDepth)
	reach := reachOf(page.DepthLeft, page.Flags)
	p := t.pages[page.URL]
	unknown := p == nil
	if unknown {
		p = &known{reach: reach, rose: -1}
		t.pages[page.URL] = p
		t.host(page.URL)
	}
	queued := r != nil && r.place != store.InFresh
	switch {
	case queued:
	case p.visited, v.Retry && r == nil && !unknown && page.Flags&store.Awaits == 0:
		out.Replayed++
		if !v.Retry || r == nil {
			p.raise(reach, &page, out)
		}
		return
	case v.Retry && r == nil && !unknown:
		if p.raise(reach, &page, out); p.rose >= store.AwaitBand {
			out.Replayed++
			return
		}
	case v.Retry && r != nil && p.rose >= store.AwaitBand && int(r.band) != p.rose:
		out.Replayed++ // it is to be tried again already
		return
	}
	out.Visited++
	if v.Retry {
		if queued {
			page.Flags, page.Via = linked(reach, page.Flags), ""
		}
		band := uint8(store.RetryBand)
		if page.Flags&store.Awaits != 0 {
			band = store.AwaitBand
		}
		if !queued {
			p.rose = int(band)
		}
		t.write(p, page, r, !queued, band, now)
		return
	}
	if v.Links != nil {
		p.links = v.Links
	}
	if p.reach > reach {
		page.DepthLeft = p.left()
		p.relaxLinks(&page, p.left())
	} else if v.Links == nil {
		p.raise(reach, &page, out)
	}
	p.reach = max(p.reach, reach)
	page.Flags, page.Via = linked(p.reach, page.Flags), ""
	before := uint64(0)
	if r != nil {
		before = r.MainDigest
	}
	t.text(&page, before, f, v.Near)
	if f != (first{}) {
		out.Texts = append(out.Texts, store.Text{URL: page.URL, First: f.url, New: !p.visited})
	}
	p.visited, p.rose = true, -1
	t.write(p, page, r, false, 0, now)
}

func (t *Twin) move(page store.Page, r *record, now time.Time, out *store.Outcome) {
	if r == nil || r.place == store.InFresh && t.pages[r.URL].visited {
		out.Replayed++
		return
	}
	p, band := t.pages[r.URL], page.Band
	if r.place == store.InFresh && p.rose >= 0 && int(r.band) != p.rose {
		out.Replayed++ // another record of the page waits in its place
		return
	}
	if r.place == store.InFresh && r.band >= store.AwaitBand {
		band = r.band
	}
	t.write(p, page, r, r.place == store.InFresh, band, now)
}

func (t *Twin) drop(page store.Page, r *record, now time.Time, out *store.Outcome) {
	if r == nil || r.place == store.InFresh && t.pages[r.URL].visited {
		out.Replayed++
		return
	}
	p := t.pages[r.URL]
	page.Next, page.Flags, page.SameAs, page.Near = time.Time{}, page.Flags|store.Dropped, "", ""
	t.leave(page.URL, r.MainDigest)
	p.visited, p.rose = true, -1
	t.write(p, page, r, false, 0, now)
}

func (t *Twin) renew(page store.Page, r *record, now time.Time, out *store.Outcome) {
	if r == nil {
		out.Replayed++
		return
	}
	p := t.pages[r.URL]
	t.leave(page.URL, r.MainDigest)
	p.visited, p.links, p.relax = false, nil, nil
	if len(p.fresh) > 0 { // a ghost is its record again
		if len(p.fresh) > 1 {
			p.rose = int(p.inLine()[0].band)
		}
		return
	}
	band := min(page.Band, store.LastBand)
	t.write(p, store.Page{URL: page.URL, From: page.From, Depth: page.Depth, DepthLeft: p.left(), Band: band,
		Flags: store.Flags(0).Wishing(page.Flags.Wish()).AsRequisite(page.Flags.Requisite())}, r, true, band, now)
}

func (t *Twin) admit(c store.Candidate, now time.Time, out *store.Outcome) {
	as := store.Flags(0).Wishing(c.Frequency).AsRequisite(c.Requisite)
	reach := reachOf(c.DepthLeft, as)
	page := store.Page{URL: c.URL, From: c.From, Depth: c.Depth, Flags: as, Via: c.Via,
		Band: min(c.Band, store.LastBand), Redirects: c.Redirects}
	p := t.pages[c.URL]
	if p == nil {
		p = &known{reach: reach, rose: -1}
		t.pages[c.URL] = p
		t.host(c.URL)
		out.Admitted = count(out.Admitted, c.URL)
	} else {
		p.raise(reach, &page, out)
		if !c.Rises || p.visited || p.rose >= 0 && (p.rose <= int(c.Band) || p.rose >= store.AwaitBand) {
			return
		}
	}
	if c.Rises {
		p.rose = int(c.Band)
	}
	page.DepthLeft = p.left()
	t.write(p, page, nil, true, page.Band, now)
}

func count(all []store.Admission, url string) []store.Admission {
	name := weburl.HostOf(url)
	for i := range all {
		if all[i].Name == name {
			all[i].Count++
			return all
		}
	}
	return append(all, store.Admission{Host: store.IDOf(name), Name: name, Count: 1})
}

// inLine lists the records that wait in their order.
func (p *known) inLine() []*record {
	return slices.SortedFunc(slices.Values(p.fresh), (*record).compare)
}

func (r *record) compare(s *record) int {
	return cmp.Or(cmp.Compare(r.band, s.band), cmp.Compare(r.id, s.id))
}

// waiting lists the pages of a host that wait, in their order, as they are handed out.
func (t *Twin) waiting(host string) (all []*record) {
	for url, p := range t.pages {
		if !p.visited && weburl.HostOf(url) == host {
			all = append(all, p.live())
		}
	}
	slices.SortFunc(all, (*record).compare)
	return all
}

// shown is a record as it is read: one that waits shows how far the crawl goes from it now.
func (p *known) shown(r *record) store.Page {
	page := r.Page
	if r.place == store.InFresh {
		page.DepthLeft, page.Flags = max(page.DepthLeft, p.left()), linked(p.reach, page.Flags)
	}
	return page
}
