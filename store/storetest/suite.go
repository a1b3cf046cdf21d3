package storetest

import (
	"errors"
	"fmt"
	"maps"
	"math"
	"math/rand/v2"
	"slices"
	"testing"
	"time"

	"henro/messages/outlink"
	"henro/messages/weburl"
	"henro/store"
	"henro/store/fingerprint"
)

// Options say what to test.
type Options struct {
	Seed  uint64
	Steps int

	// Open opens the partition under test, the same one again after Close.
	Open func(testing.TB) *store.Partition

	// FailWrite makes the n-th write to the disk from now on fail, counted from 1, after writing half of it; a negative
	// n lets the write pass and fails the sync behind it. It returns a function that ends this and says whether the
	// failure has happened. Nil: no failures.
	FailWrite func(p *store.Partition, n int) (heal func() (happened bool))

	// Committed is called with each batch that has been committed, before anything else is. Nil: nothing is.
	Committed func(*store.Batch)

	// Check is called with the partition closed: the whole file is to be consistent.
	Check func(testing.TB)
}

var errInjected = errors.New("injected")

// ErrInjected is what FailWrite makes writes fail with.
func ErrInjected() error { return errInjected }

// Run drives a partition and its twin with random steps.
func Run(t testing.TB, o Options) {
	t.Helper()
	d := &driver{t: t, o: o, rnd: rand.New(rand.NewPCG(o.Seed, 3)), twin: NewTwin(),
		now: time.Date(2026, 3, 1, 22, 40, 0, 0, time.UTC), p: o.Open(t)}
	t.Logf("seed %d", o.Seed)
	for d.step = range o.Steps {
		d.advance()
	}
	d.reopen()
}

type driver struct {
	t        testing.TB
	o        Options
	rnd      *rand.Rand
	twin     *Twin
	p        *store.Partition
	now      time.Time
	step     int
	handed   []store.Entry // to be visited, moved, dropped, renewed; live or not
	ghosts   []store.Entry // to be forgotten, or visited by the positions that were read
	relaxed  []store.Relaxation
	due      []store.Entry // read by Due since the partition was opened
	until    time.Time     // up to which due was read
	cursor   store.Position
	lastStep *Step
}

func (d *driver) fatal(doing string, err error) {
	d.t.Helper()
	if err != nil {
		d.t.Fatalf("step %d, %s: %v", d.step, doing, err)
	}
}

func (d *driver) advance() {
	d.now = d.now.Add(time.Duration(d.rnd.ExpFloat64() * float64(5*time.Minute)))
	if d.rnd.IntN(40) == 0 {
		d.now = d.now.Add(time.Duration(d.rnd.ExpFloat64() * float64(30*time.Hour)))
	}
	d.read()
	s := d.fill()
	d.commit(s)
	switch d.rnd.IntN(12) {
	case 0:
		d.reopen()
	case 1:
		if len(s.Sends) == 0 {
			d.replay(s)
		}
	case 2:
		if d.lastStep != nil {
			d.replay(d.lastStep.ended())
		}
	}
	d.lastStep = s
}

// commit stores a step in both. With FailWrite each write fails once before the commit succeeds.
func (d *driver) commit(s *Step) {
	d.t.Helper()
	before := d.twin.Clone()
	want := d.twin.Apply(s)
	if d.o.FailWrite != nil {
		for n := 1; ; n++ {
			if d.failOnce(s, before, n) || d.failOnce(s, before, -n) {
				return
			}
		}
	}
	b := s.Batch()
	got, err := d.p.Commit(b)
	d.fatal("commit", err)
	d.committed(b)
	got.Splits = 0
	d.fatal("outcome", same("it", fmt.Sprintf("%+v", got), fmt.Sprintf("%+v", want)))
	d.fatal("compare", d.twin.Differ(d.p))
}

func (d *driver) committed(b *store.Batch) {
	if d.o.Committed != nil {
		d.o.Committed(b)
	}
}

// failOnce commits with a failure at the n-th write, and reports whether the step is stored for good.
func (d *driver) failOnce(s *Step, before *Twin, n int) (stored bool) {
	heal := d.o.FailWrite(d.p, n)
	_, err := d.p.Commit(s.Batch())
	happened := heal()
	if !happened {
		d.fatal("commit without a failure", err)
		d.fatal("compare", d.twin.Differ(d.p))
		return true
	}
	if err == nil {
		d.t.Fatalf("step %d: write %d failed, and the commit did not say so", d.step, n)
	}
	was := before.Differ(d.p)
	if was == nil {
		return false
	}
	if is := d.twin.Differ(d.p); is != nil {
		d.t.Fatalf("step %d: after write %d failed the store is neither as before (%v) nor as after (%v)", d.step, n,
			was, is)
	}
	// The transaction was whole on disk before its last sync failed. Storing it again must change nothing, unless it
	// sends.
	if len(s.Sends) == 0 {
		_, err = d.p.Commit(s.Batch())
		d.fatal("commit again", err)
		d.fatal("compare", d.twin.Differ(d.p))
	}
	return true
}

// replay commits a step again, which must change nothing.
func (d *driver) replay(s *Step) {
	b := s.Batch()
	_, err := d.p.Commit(b)
	d.fatal("replay", err)
	d.committed(b)
	d.fatal("compare after replay", d.twin.Differ(d.p))
}

// ended are the changes of a step that change nothing even after another one: their positions have ended.
func (s *Step) ended() *Step {
	e := &Step{Now: s.Now, Moves: s.Moves, Drops: s.Drops, Renews: s.Renews}
	for _, v := range s.Visits {
		if len(v.Position) > 0 {
			e.Visits = append(e.Visits, v)
		}
	}
	return e
}

func (d *driver) reopen() {
	d.fatal("close", d.p.Close())
	if d.o.Check != nil {
		d.o.Check(d.t)
	}
	d.p = d.o.Open(d.t)
	d.cursor, d.due, d.until, d.twin.opened = nil, nil, time.Time{}, 0
	d.fatal("compare after opening again", d.twin.Differ(d.p))
}

// read takes tasks out of fresh and out of the queue.
func (d *driver) read() {
	for _, name := range slices.Sorted(maps.Keys(d.twin.hosts)) {
		if d.rnd.IntN(3) > 0 {
			continue
		}
		w, err := d.p.Fresh.Of(store.IDOf(name), nil, 1+d.rnd.IntN(20))
		d.fatal("fresh", err)
		for _, e := range w.Entries {
			d.twin.Learn(e)
			d.handed = append(d.handed, e)
		}
		for _, ghost := range w.Ghosts {
			e, err := d.p.Pages.At(ghost)
			d.fatal("read a ghost", err)
			d.twin.Learn(e)
			d.ghosts = append(d.ghosts, e)
		}
	}
	// Pages are read before they are due, by up to three minutes.
	if until := d.now.Add(time.Duration(d.rnd.IntN(4)) * time.Minute); until.After(d.until) {
		d.until = until
	}
	opened := d.until.Unix() / 60
	for {
		limit := 1 + d.rnd.IntN(50)
		entries, next, err := d.p.Due(d.until, d.cursor, limit)
		d.fatal("due", err)
		d.twin.Opened(d.until)
		for _, e := range entries {
			p := d.twin.pages[e.Page.URL]
			if p == nil || p.live().place != store.InQueue {
				d.t.Fatalf("step %d: %s is due but not queued", d.step, e.Page.URL)
			}
			if due := p.live().due; due > opened {
				d.t.Fatalf("step %d: %s is due %d minutes early", d.step, e.Page.URL, due-opened)
			}
			d.twin.Learn(e)
			d.handed = append(d.handed, e)
			d.due = append(d.due, e)
		}
		d.cursor = next
		if len(entries) < limit {
			break
		}
	}
	handed := map[string]bool{}
	for _, e := range d.due {
		if d.twin.find(e.Position) != nil {
			handed[e.Page.URL] = true
		}
	}
	for url, p := range d.twin.pages {
		// A slot that was not split in time is handed out as a whole at its end.
		if r := p.live(); r.place == store.InQueue && r.due+24*60 <= opened && !handed[url] {
			d.t.Fatalf("step %d: %s was due %d minutes ago and has not been handed out", d.step, url, opened-r.due)
		}
	}
}

func (d *driver) url() string {
	host := []string{"http://a.example", "https://b.example:8443", "http://c.example"}[d.rnd.IntN(3)]
	return fmt.Sprintf("%s/%d", host, d.rnd.IntN(40+d.step))
}

// candidate draws a candidate of a URL.
func (d *driver) candidate(s *Step, url string) store.Candidate {
	drawn := slices.ContainsFunc(s.Admits, func(c store.Candidate) bool { return c.URL == url })
	c := store.Candidate{URL: url, DepthLeft: uint8(d.rnd.IntN(6)), Depth: uint8(d.rnd.IntN(6)),
		Redirects: uint8(d.rnd.IntN(3)), Band: uint8(d.rnd.IntN(4)), From: uint64(d.rnd.IntN(9)),
		Priority: outlink.Priority(d.rnd.IntN(2)), Frequency: outlink.Frequency(d.rnd.IntN(4))}
	if d.rnd.IntN(8) == 0 {
		c.DepthLeft = outlink.UnlimitedDepth
	}
	switch d.rnd.IntN(6) {
	case 0:
		c.Requisite, c.DepthLeft, c.Via = uint8(1+d.rnd.IntN(5)), 0, c.URL+"/by"
	case 1:
		c.Requisite, c.Via = outlink.PageToo, c.URL+"/by"
	}
	// A page rises from a worse band only.
	may := !drawn
	if p := d.twin.pages[url]; p != nil {
		may = !p.visited && p.live().band > c.Band && p.live().band < store.AwaitBand
	}
	c.Rises = may && d.rnd.IntN(2) == 0
	return c
}

// handedURL is the URL of a page that was handed out, if there is one.
func (d *driver) handedURL() string {
	if len(d.handed) == 0 {
		return d.url()
	}
	return d.handed[d.rnd.IntN(len(d.handed))].Page.URL
}

func (d *driver) fill() *Step {
	s := &Step{Now: d.now, Meta: map[string][]byte{}}
	if d.rnd.IntN(20) == 0 {
		return s
	}
	for range d.rnd.IntN(12) {
		s.Admits = append(s.Admits, d.candidate(s, d.url()))
	}
	for range d.rnd.IntN(4) {
		s.Admits = append(s.Admits, d.candidate(s, d.handedURL()))
	}
	if d.rnd.IntN(8) == 0 {
		s.Rejudge = 1 + uint64(d.rnd.IntN(2))*(d.twin.serial+uint64(d.rnd.IntN(9)))
	} else {
		d.fillPages(s)
	}
	for _, name := range slices.Sorted(maps.Keys(d.twin.hosts)) {
		if d.rnd.IntN(8) == 0 {
			s.Hosts = append(s.Hosts, d.hostRecord(name))
		}
	}
	if d.rnd.IntN(4) == 0 {
		s.Leases = append(s.Leases, store.Lease{ID: uint64(d.rnd.IntN(9)), Host: 7, HostName: "h", Slave: "s",
			Boot: "b", Until: d.now.Truncate(time.Millisecond), Seq: uint64(d.step), Data: []byte("x")})
		s.Ended = append(s.Ended, uint64(d.rnd.IntN(9)))
	}
	d.fillMail(s)
	return s
}

// fillPages has pages visited, moved, dropped, renewed and forgotten.
func (d *driver) fillPages(s *Step) {
	for range d.rnd.IntN(10) {
		if len(d.handed) == 0 {
			break
		}
		i := d.rnd.IntN(len(d.handed))
		e := d.handed[i]
		if d.rnd.IntN(4) > 0 { // else it comes again, ended
			d.handed[i] = d.handed[len(d.handed)-1]
			d.handed = d.handed[:len(d.handed)-1]
		}
		switch n := d.rnd.IntN(12); {
		case n < 7:
			s.Visits = append(s.Visits, d.visit(e))
		case n == 7:
			e.Page.Next = e.Page.Next.Add(time.Hour)
			if r := d.twin.find(e.Position); r != nil && r.place == store.InFresh {
				e.Page.Next = time.Time{}
			}
			e.Page.Attempts++
			s.Moves = append(s.Moves, e)
		case n == 8:
			e.Page.Reason = 4
			s.Drops = append(s.Drops, e)
		case n == 9:
			v := d.visit(e)
			v.Page.URL += "/wrong"
			s.Visits = append(s.Visits, v)
		default:
			s.Renews = append(s.Renews, e)
		}
	}
	for range d.rnd.IntN(4) {
		c := d.candidate(s, d.url())
		v := d.visit(store.Entry{Page: store.Page{URL: c.URL, Depth: c.Depth, DepthLeft: c.DepthLeft, Via: c.Via,
			Redirects: c.Redirects, Flags: store.Flags(0).AsRequisite(c.Requisite)}})
		s.Visits = append(s.Visits, v)
	}
	s.Renews = slices.DeleteFunc(s.Renews, func(e store.Entry) bool { return visitedInLease(s, e.Page.URL) })
	for _, e := range d.ghosts {
		if d.rnd.IntN(8) == 0 && !visitedInLease(s, e.Page.URL) {
			page, _, err := d.p.Pages.Lookup(e.Page.URL)
			d.fatal("look up", err)
			d.twin.Learn(page)
			s.Renews = append(s.Renews, page)
		}
		switch d.rnd.IntN(8) {
		case 0, 1:
			s.Visits = append(s.Visits, d.visit(e))
		case 2, 3, 4:
			s.Forgets = append(s.Forgets, e.Position)
		}
	}
	if d.ghosts = nil; len(d.handed) > 0 { // what is no ghost stays
		e := d.handed[d.rnd.IntN(len(d.handed))]
		if !slices.ContainsFunc(s.Admits, func(c store.Candidate) bool { return c.Rises && c.URL == e.Page.URL }) {
			s.Forgets = append(s.Forgets, e.Position) // else it would be one when the batch comes again
		}
	}
}

// visitedInLease reports whether a step visits a page without a position. Committed again, the step would first renew
// and then visit it.
func visitedInLease(s *Step, url string) bool {
	return slices.ContainsFunc(s.Visits, func(v store.Visited) bool {
		return len(v.Position) == 0 && v.Page.URL == url
	})
}

// visit draws what came of a visit, with one of a few texts that several pages have.
func (d *driver) visit(e store.Entry) store.Visited {
	v := store.Visited{Position: e.Position, Page: d.visited(e.Page), Retry: d.rnd.IntN(5) == 0}
	if v.Retry { // which says nothing of its text
		v.Page.Next = d.now.Add(time.Hour * time.Duration(d.rnd.IntN(2))).Truncate(time.Second)
		if d.rnd.IntN(4) == 0 {
			v.Page.Next = time.Time{}
		}
		if d.rnd.IntN(2) == 0 {
			v.Page.Flags |= store.Awaits
		}
		return v
	}
	v.Links = d.links()
	text := d.rnd.IntN(16)
	v.Page.MainDigest, v.Page.SimHash = uint64(text)+1, uint64(text)+1
	if family := text / 4; family > 0 { // those of the first one have few words
		near := fingerprint.Near{Odd: [4]uint64{1<<[]int{0, 1, 3, 7}[text%4] - 1}, Count: 300}
		near.Odd[family] = math.MaxUint64 // unlike any of another family
		for i := range near.Bands {
			near.Bands[i] = uint32(4*family + i)
		}
		v.Near = near.Append(nil)
	}
	switch d.rnd.IntN(12) {
	case 0:
		v.Page.Status = 404
	case 1:
		v.Page.Flags |= store.Listing
	case 2:
		v.Page.Reason, v.Page.Says = 3, "no route"
	}
	return v
}

func (d *driver) hostRecord(name string) store.HostRecord {
	at := d.now.Truncate(time.Second)
	return store.HostRecord{Name: name, ID: store.IDOf(name) * store.HostID(d.rnd.IntN(2)),
		NextAllowed: d.now.Truncate(time.Millisecond), Flags: uint32(d.step),
		Rates: []uint32{1, uint32(d.step)}, Politeness: []byte{1, 2}, Robots: make([]byte, d.rnd.IntN(2)*50),
		RobotsUntil: at, AskedAt: at, GivenUp: uint64(d.rnd.IntN(3)), Errors: map[string]uint64{"gone": 1},
		Failure: store.Failure{At: at, Since: at.Add(-time.Duration(d.rnd.IntN(2)) * time.Hour), Status: 503,
			Reason: 1, Says: "no"}, Cookies: make([]byte, d.rnd.IntN(2)*7),
		Waiting: 99, Known: 99, Visited: 99, Load: 99}
}

// fillMail takes up relaxations and parcels.
func (d *driver) fillMail(s *Step) {
	most := d.rnd.IntN(5)
	if s.Rejudge > 0 {
		most, d.relaxed = 0, nil // what is ticked off would be judged again when the batch comes again
	}
	relaxations, err := d.p.Relaxations.First(most)
	d.fatal("relaxations", err)
	for _, r := range relaxations {
		for _, l := range r.Links {
			s.Admits = append(s.Admits, store.Candidate{URL: l.URL, DepthLeft: outlink.DepthAfter(r.DepthLeft),
				Depth: r.Depth + 1})
		}
	}
	if s.Relaxed = relaxations; d.rnd.IntN(4) == 0 { // else they come again, when they may have been raised
		d.relaxed = append(d.relaxed, relaxations...)
	}
	if len(d.relaxed) > 0 && d.rnd.IntN(4) == 0 {
		s.Relaxed = append(s.Relaxed, d.relaxed[d.rnd.IntN(len(d.relaxed))])
	}
	if d.rnd.IntN(3) == 0 {
		url := d.url()
		s.Sends = append(s.Sends, store.Parcel{Partition: 3,
			Candidates: []store.Candidate{{URL: url, Host: weburl.HostOf(url), DepthLeft: 3, From: 9},
				{URL: url + "/b", Host: weburl.HostOf(url)},
				{URL: url + "/c", Host: weburl.HostOf(url), Requisite: 2, Via: url},
				{URL: url + "/d", Host: weburl.HostOf(url), Requisite: outlink.PageToo, Via: url + "/b"}}})
	}
	if d.rnd.IntN(3) == 0 {
		parcels, err := d.p.Outbox.Within(4, math.MaxInt)
		d.fatal("outbox", err)
		for _, p := range parcels {
			if d.rnd.IntN(2) == 0 {
				s.Sent = append(s.Sent, p.Key, p.Key)
			}
		}
	}
	if d.rnd.IntN(6) == 0 {
		s.Meta["pause"] = []byte(fmt.Sprint(d.step))
	}
	if d.rnd.IntN(6) == 0 {
		s.Meta["pause"], s.Meta["empty"] = nil, []byte{}
	}
}

func (d *driver) visited(p store.Page) store.Page {
	p.LastVisit = d.now.Truncate(time.Second)
	p.CapturedAt, p.LastModified = p.LastVisit.Add(time.Second), p.LastVisit.Add(-time.Hour)
	p.Status, p.Reason, p.Says, p.Attempts = 200, 0, "", 0
	p.ETag, p.Digest[3] = fmt.Sprint("e", d.step), byte(d.step)
	p.Next = d.now.Add(time.Duration(d.rnd.ExpFloat64() * float64([]time.Duration{time.Minute, time.Hour,
		20 * time.Hour, 90 * 24 * time.Hour}[d.rnd.IntN(4)]))).Truncate(time.Second)
	p.Timing = store.Timing{Interval: float32(p.Next.Sub(d.now).Seconds()), Total: 2, Stable: 3, ChangedMin: 4,
		Changes: 5, Visits: 6, Mean: 7, Drifting: 8}
	if d.rnd.IntN(20) == 0 {
		p.Next = time.Time{}
	}
	return p
}

func (d *driver) links() []outlink.Outlink {
	if d.rnd.IntN(4) == 0 {
		return nil
	}
	links := []outlink.Outlink{}
	for range d.rnd.IntN(5) {
		links = append(links, outlink.Outlink{URL: d.url(), Kind: outlink.Anchor, Anchor: "go",
			Flags: outlink.Flags(d.rnd.IntN(2))})
	}
	return links
}
