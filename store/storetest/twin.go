// Package storetest holds what a state store must do: a plain slow twin of it, and a suite in which both must agree.
//
// The twin keeps everything in maps and follows the sentences of package store's documentation one by one. The suite
// drives both with random batches, with positions that ended long ago, with the file closed and opened again at any
// moment, and with each single write to the disk failing once; after every batch both must tell the same.
package storetest

import (
	"cmp"
	"fmt"
	"maps"
	"math"
	"slices"
	"time"

	"henro/messages/outlink"
	"henro/messages/weburl"
	"henro/store"
	"henro/store/fingerprint"
)

// Step is one batch, before it is filled into a store.Batch.
type Step struct {
	Now     time.Time
	Visits  []store.Visited
	Admits  []store.Candidate
	Moves   []store.Entry
	Drops   []store.Entry
	Forgets []store.Position
	Hosts   []store.HostRecord
	Leases  []store.Lease
	Ended   []uint64
	Sends   []store.Parcel
	Sent    [][]byte
	Relaxed []store.Relaxation
	Stops   []store.StopEntry
	Meta    map[string][]byte
}

// Batch fills the step into a batch.
func (s *Step) Batch() *store.Batch {
	b := store.NewBatch(s.Now)
	for _, v := range s.Visits {
		b.Visit(v)
	}
	for _, c := range s.Admits {
		b.Admit(c)
	}
	for _, e := range s.Moves {
		b.Move(e.Position, e.Page)
	}
	for _, e := range s.Drops {
		b.Drop(e.Position, e.Page)
	}
	b.Forget(s.Forgets...)
	for _, h := range s.Hosts {
		b.PutHost(h)
	}
	for _, l := range s.Leases {
		b.PutLease(l)
	}
	for _, id := range s.Ended {
		b.DeleteLease(id)
	}
	for _, p := range s.Sends {
		b.Send(p.Partition, p.Candidates)
	}
	b.Sent(s.Sent...)
	for _, r := range s.Relaxed {
		b.Relaxed(r)
	}
	for _, e := range s.Stops {
		b.Stop(e)
	}
	for _, name := range slices.Sorted(maps.Keys(s.Meta)) {
		b.PutMeta(name, s.Meta[name])
	}
	return b
}

// Twin is a partition in plain maps.
type Twin struct {
	pages     map[string]*page
	positions map[string]version
	hosts     map[string]*store.HostRecord
	leases    map[uint64]store.Lease
	outbox    []store.Parcel
	stops     map[string]store.StopEntry
	meta      map[string][]byte
	serial    uint64
	clock     int // counts records written, so that first come is first out
	opened    int64
}

// page is one URL: what the seen set says, and its one live record.
type page struct {
	record  store.Page
	place   store.Place
	version int   // rises with every record written for it
	due     int64 // minute at which it may be handed out
	visited bool
	reach   int // links that may be followed from the page; -1: it is a requisite only
	links   []outlink.Outlink
	relaxed uint8 // depth left to be passed on; none when relax is false
	relax   bool
	depth   uint8
}

// left is how many links may be followed.
func (p *page) left() uint8 { return uint8(max(p.reach, 0)) }

// reachOf is how far the crawl goes from what has so many links left, and these flags.
func reachOf(left uint8, f store.Flags) int {
	if left = min(left, outlink.UnlimitedDepth); left == 0 && f.Requisite() > 0 {
		return -1
	}
	return int(left)
}

// linked are the flags of a page whose record has f.
func (p *page) linked(f store.Flags) store.Flags {
	if p.reach >= 0 && f.Requisite() > 0 {
		return f.AsRequisite(outlink.PageToo)
	}
	return f
}

type version struct {
	url     string
	version int
}

// NewTwin returns an empty twin.
func NewTwin() *Twin {
	return &Twin{pages: map[string]*page{}, positions: map[string]version{}, hosts: map[string]*store.HostRecord{},
		leases: map[uint64]store.Lease{}, stops: map[string]store.StopEntry{}, meta: map[string][]byte{}}
}

// Clone copies the twin.
func (t *Twin) Clone() *Twin {
	c := *t
	c.pages = map[string]*page{}
	for url, p := range t.pages {
		q := *p
		c.pages[url] = &q
	}
	c.hosts = map[string]*store.HostRecord{}
	for name, h := range t.hosts {
		q := *h
		c.hosts[name] = &q
	}
	c.positions, c.leases, c.stops, c.meta = maps.Clone(t.positions), maps.Clone(t.leases), maps.Clone(t.stops),
		maps.Clone(t.meta)
	c.outbox = slices.Clone(t.outbox)
	return &c
}

// Learn gives the twin the position that the store gave a live record.
func (t *Twin) Learn(e store.Entry) {
	t.positions[string(e.Position)] = version{e.Page.URL, t.pages[e.Page.URL].version}
}

// Opened notes that slots up to this time were handed out.
func (t *Twin) Opened(now time.Time) { t.opened = now.Unix() / 60 }

// live finds the page of a position that has not ended and is this URL's.
func (t *Twin) live(pos store.Position, url string) *page {
	v, ok := t.positions[string(pos)]
	if !ok || v.url != url || t.pages[url].version != v.version {
		return nil
	}
	return t.pages[url]
}

func (t *Twin) host(url string) *store.HostRecord {
	name := weburl.HostOf(url)
	if t.hosts[name] == nil {
		t.hosts[name] = &store.HostRecord{ID: store.IDOf(name), Name: name}
	}
	return t.hosts[name]
}

// write gives a page its new live record.
func (t *Twin) write(p *page, r store.Page, place store.Place, now time.Time) {
	if r.Number == 0 && p.record.Number != 0 {
		r.Number, r.From = p.record.Number, p.record.From
	}
	if r.Number == 0 {
		t.serial++
		r.Number = t.serial
	}
	if place == store.InQueue && r.Next.IsZero() {
		place = store.InRest
	}
	t.clock++
	p.record, p.place, p.version = r, place, t.clock
	minute := (r.Next.Unix() + 59) / 60
	p.due = min(max(minute, max(t.opened, now.Unix()/60)+1), max(t.opened, now.Unix()/60)+400*24*60)
}

// Apply does what Commit does.
func (t *Twin) Apply(s *Step) store.Outcome {
	var out store.Outcome
	origins := make([]taken, len(s.Visits))
	for i, v := range s.Visits {
		origins[i] = t.take(v.Position, v.Page.URL)
	}
	moves := make([]taken, len(s.Moves))
	for i, e := range s.Moves {
		moves[i] = t.take(e.Position, e.Page.URL)
	}
	drops := make([]taken, len(s.Drops))
	for i, e := range s.Drops {
		drops[i] = t.take(e.Position, e.Page.URL)
	}
	for i, v := range s.Visits {
		if t.visit(v, origins[i], s.Now, &out) {
			out.Visited++
		}
	}
	for i, e := range s.Moves {
		if p := moves[i]; p.page != nil {
			place := store.InQueue
			if p.from == store.InFresh {
				if p.visited {
					continue
				}
				place = store.InFresh
			}
			t.write(p.page, e.Page, place, s.Now)
		}
	}
	for i, e := range s.Drops {
		if p := drops[i]; p.page != nil && (p.from != store.InFresh || !p.visited) {
			r := e.Page
			r.Next, r.Flags = time.Time{}, r.Flags|store.Dropped
			p.visited = true
			t.write(p.page, r, store.InRest, s.Now)
		}
	}
	for _, c := range s.Admits {
		as := store.Flags(0).AsRequisite(c.Requisite)
		reach := reachOf(c.DepthLeft, as)
		p := t.pages[c.URL]
		if p == nil {
			p = &page{reach: reach}
			t.pages[c.URL] = p
			t.host(c.URL)
			t.write(p, store.Page{URL: c.URL, From: c.From, Depth: c.Depth, DepthLeft: p.left(), Flags: as, Via: c.Via,
				Band: min(c.Band, store.LastBand), Redirects: c.Redirects}, store.InFresh, s.Now)
			out.Admitted = count(out.Admitted, c.URL)
			continue
		}
		p.raise(reach, c.Depth, &out)
	}
	for _, h := range s.Hosts {
		own := t.host(h.Name)
		h.ID = own.ID
		*own = h
	}
	for _, l := range s.Leases {
		t.leases[l.ID] = l
	}
	for _, id := range s.Ended {
		delete(t.leases, id)
	}
	t.outbox = append(t.outbox, s.Sends...)
	for range s.Sent {
		t.outbox = t.outbox[1:]
	}
	for _, r := range s.Relaxed {
		if p := t.pages[r.URL]; p != nil && p.relax && p.relaxed <= r.DepthLeft {
			p.relax = false
		}
	}
	for _, e := range s.Stops {
		t.stops[e.Prefix] = e
	}
	for name, v := range s.Meta {
		if v == nil {
			delete(t.meta, name)
		} else {
			t.meta[name] = v
		}
	}
	return out
}

// raise lets the crawl go farther from a page; if it was visited before, its links are to be admitted again.
func (p *page) raise(reach int, depth uint8, out *store.Outcome) {
	if reach <= p.reach {
		return
	}
	p.reach = reach
	out.Raised++
	if p.visited {
		p.relaxLinks(depth)
	}
}

func (p *page) relaxLinks(depth uint8) {
	if len(p.links) > 0 && (!p.relax || p.relaxed < p.left()) {
		p.relax, p.relaxed, p.depth = true, p.left(), depth
	}
}

// taken is a page whose position was ended, and the place it was taken from.
type taken struct {
	*page
	from store.Place
}

// take ends a position: the page is returned once.
func (t *Twin) take(pos store.Position, url string) taken {
	p := t.live(pos, url)
	if p == nil {
		return taken{}
	}
	t.clock++
	p.version = t.clock
	return taken{p, p.place}
}

func (t *Twin) visit(v store.Visited, o taken, now time.Time, out *store.Outcome) bool {
	p := o.page
	r := v.Page
	if v.Retry && r.Next.IsZero() {
		r.Next = now.Add(time.Second - 1).Truncate(time.Second)
	}
	left := min(r.DepthLeft, outlink.UnlimitedDepth)
	reach := reachOf(left, r.Flags)
	if len(v.Position) > 0 {
		if p == nil {
			return false
		}
		if o.from == store.InFresh && p.visited {
			if !v.Retry {
				p.raise(reach, r.Depth, out)
			}
			return false
		}
	} else {
		p = t.pages[r.URL]
		switch {
		case p == nil:
			p = &page{reach: reach}
			t.pages[r.URL] = p
			t.host(r.URL)
		case p.visited, v.Retry:
			p.raise(reach, r.Depth, out)
			return false
		default:
			// The waiting record becomes a ghost, and its number goes with it.
			p.record.Number = 0
		}
	}
	if v.Retry && !p.visited {
		t.write(p, r, store.InFresh, now)
		p.record.Band = store.RetryBand
		return true
	}
	if v.Retry {
		r.DepthLeft = left
		t.write(p, r, store.InQueue, now)
		return true
	}
	if v.Links != nil {
		p.links = v.Links
	}
	switch {
	case p.reach > reach:
		left = p.left()
		p.relaxLinks(r.Depth)
	case v.Links == nil:
		p.raise(reach, r.Depth, out)
	}
	p.visited, p.reach = true, max(p.reach, reach)
	r.DepthLeft, r.Flags, r.Via = left, p.linked(r.Flags), ""
	t.write(p, r, store.InQueue, now)
	return true
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

// waiting lists the pages of a host that wait in fresh, in their order.
func (t *Twin) waiting(host string) []*page {
	var all []*page
	for url, p := range t.pages {
		if p.place == store.InFresh && weburl.HostOf(url) == host {
			all = append(all, p)
		}
	}
	slices.SortFunc(all, func(a, b *page) int {
		return cmp.Or(cmp.Compare(a.record.Band, b.record.Band), cmp.Compare(a.version, b.version))
	})
	return all
}

// Differ compares everything that can be read from a partition with the twin, and returns the first difference.
func (t *Twin) Differ(p *store.Partition) error {
	if err := t.differPages(p); err != nil {
		return err
	}
	if err := t.differHosts(p); err != nil {
		return err
	}
	leases, err := p.Leases()
	if err != nil {
		return err
	}
	if len(leases) != len(t.leases) {
		return fmt.Errorf("%d leases, not %d", len(leases), len(t.leases))
	}
	for _, l := range leases {
		if want := t.leases[l.ID]; fmt.Sprint(l) != fmt.Sprint(want) {
			return fmt.Errorf("lease %v, not %v", l, want)
		}
	}
	parcels, err := p.Outbox(math.MaxInt, math.MaxInt)
	if err != nil {
		return err
	}
	if len(parcels) != len(t.outbox) {
		return fmt.Errorf("%d parcels, not %d", len(parcels), len(t.outbox))
	}
	for i, got := range parcels {
		want := t.outbox[i]
		if got.Partition != want.Partition || !slices.Equal(got.Candidates, want.Candidates) {
			return fmt.Errorf("parcel %v, not %v", got, want)
		}
	}
	stops := 0
	if err := p.EachStop(func(e store.StopEntry) error {
		stops++
		if want := t.stops[e.Prefix]; fmt.Sprint(e) != fmt.Sprint(want) {
			return fmt.Errorf("stop entry %v, not %v", e, want)
		}
		return nil
	}); err != nil {
		return err
	}
	if stops != len(t.stops) {
		return fmt.Errorf("%d stop entries, not %d", stops, len(t.stops))
	}
	if below, err := p.Stops("http", stops+1); err != nil || len(below) != stops {
		return fmt.Errorf("%d stop entries below http: %w, not %d", len(below), err, stops)
	}
	for name, want := range t.meta {
		if got, err := p.Meta(name); err != nil || string(got) != string(want) {
			return fmt.Errorf("meta %s: %q %w, not %q", name, got, err, want)
		}
	}
	return t.differRelaxations(p)
}

func (t *Twin) differPages(p *store.Partition) error {
	found := 0
	if err := p.EachPage(func(got store.Page, place store.Place) error {
		found++
		want := t.pages[got.URL]
		if want == nil {
			return fmt.Errorf("%s is a page", got.URL)
		}
		record := want.record
		if place == store.InFresh {
			record.DepthLeft, record.Flags = max(record.DepthLeft, want.left()), want.linked(record.Flags)
		}
		if got.Number == 0 {
			return fmt.Errorf("%s has no number", got.URL)
		}
		record.Number, record.Band, got.Number, got.Band = 0, 0, 0, 0
		if place != want.place || fmt.Sprint(got) != fmt.Sprint(record) {
			return fmt.Errorf("%s: in %v %v, not in %v %v", got.URL, place, got, want.place, record)
		}
		return nil
	}); err != nil {
		return err
	}
	if found != len(t.pages) {
		return fmt.Errorf("%d pages, not %d", found, len(t.pages))
	}
	linked := 0
	for url, page := range t.pages {
		left, visited, known, err := p.Seen(url)
		if err != nil {
			return err
		}
		if !known || left != page.left() || visited != page.visited {
			return fmt.Errorf("%s: seen %v %v %v, not %v %v", url, left, visited, known, page.left(), page.visited)
		}
		is, err := p.IsPage(&store.Page{URL: url, Flags: store.Flags(0).AsRequisite(1)})
		if err != nil || is != (page.reach >= 0) {
			return fmt.Errorf("%s: a page %v %w, not %v", url, is, err, page.reach >= 0)
		}
		links, err := p.Outlinks(store.IDOf(weburl.HostOf(url)), fingerprint.URL(url))
		if err != nil && len(page.links) > 0 || !slices.Equal(links, page.links) {
			return fmt.Errorf("%s: links %v %w, not %v", url, links, err, page.links)
		}
		if len(links) > 0 {
			linked++
		}
	}
	stats, err := p.Stats()
	if err != nil {
		return err
	}
	if stats.Known != uint64(len(t.pages)) || stats.Linked != uint64(linked) || stats.Hosts != uint64(len(t.hosts)) {
		return fmt.Errorf("stats %+v: not %d known, %d linked, %d hosts", stats, len(t.pages), linked, len(t.hosts))
	}
	return nil
}

func (t *Twin) differHosts(p *store.Partition) error {
	for name, h := range t.hosts {
		want, load := *h, 0.0
		want.Waiting, want.Known, want.Visited = 0, 0, 0
		for url, page := range t.pages {
			if weburl.HostOf(url) != name {
				continue
			}
			want.Known++
			if page.visited {
				want.Visited++
			} else {
				want.Waiting++
			}
			if page.place == store.InQueue && page.record.Timing.Interval > 0 {
				load += 1 / float64(max(page.record.Timing.Interval, 1))
			}
		}
		got, err := p.Host(store.IDOf(name))
		if err != nil {
			return fmt.Errorf("%s: %w", name, err)
		}
		if math.Abs(got.Load-load) > 1e-9 {
			return fmt.Errorf("%s: load %v, not %v", name, got.Load, load)
		}
		got.Load, want.Load = 0, 0
		if fmt.Sprint(got) != fmt.Sprint(want) {
			return fmt.Errorf("host %v, not %v", got, want)
		}
		wantWaiting := t.waiting(name)
		waiting, err := p.Fresh(got.ID, nil, math.MaxInt)
		if err != nil {
			return err
		}
		for i := range max(len(wantWaiting), len(waiting.Entries)) {
			if i >= len(wantWaiting) || i >= len(waiting.Entries) ||
				waiting.Entries[i].Page.URL != wantWaiting[i].record.URL {
				return fmt.Errorf("%s: the %d-th waiting is not the twin's", name, i)
			}
		}
	}
	return nil
}

func (t *Twin) differRelaxations(p *store.Partition) error {
	relaxations, err := p.Relaxations(math.MaxInt)
	if err != nil {
		return err
	}
	want := 0
	for _, page := range t.pages {
		if page.relax {
			want++
		}
	}
	if len(relaxations) != want {
		return fmt.Errorf("%d relaxations, not %d", len(relaxations), want)
	}
	for _, r := range relaxations {
		page := t.pages[r.URL]
		if page == nil || !page.relax || page.relaxed != r.DepthLeft || page.depth != r.Depth ||
			!slices.Equal(page.links, r.Links) {
			return fmt.Errorf("relaxation %v, not %v", r, page)
		}
	}
	return nil
}
