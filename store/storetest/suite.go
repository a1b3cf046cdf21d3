package storetest

import (
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
	"testing"
	"time"

	"henro/messages/outlink"
	"henro/messages/weburl"
	"henro/store"
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
	handed   []store.Entry // to be visited, moved, dropped; live or not
	due      []store.Entry // read by Due since the partition was opened
	until    time.Time     // and up to then
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
		if d.lastStep != nil && len(d.lastStep.Sends)+len(d.lastStep.Sent) == 0 {
			d.replay()
		}
	}
	d.lastStep = s
}

// commit stores a step in both, if asked with every write failing once before it succeeds.
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
	if fmt.Sprint(got.Admitted) != fmt.Sprint(want.Admitted) || got.Visited != want.Visited ||
		got.Raised != want.Raised {
		d.t.Fatalf("step %d: outcome %+v, not %+v", d.step, got, want)
	}
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

// replay commits the last step again, which must change nothing but what is absolute.
func (d *driver) replay() {
	s := *d.lastStep
	s.Now = d.now
	s.Hosts, s.Stops, s.Leases, s.Ended, s.Relaxed, s.Meta = nil, nil, nil, nil, nil, nil
	b := s.Batch()
	_, err := d.p.Commit(b)
	d.fatal("replay", err)
	d.committed(b)
	d.fatal("compare after replay", d.twin.Differ(d.p))
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
	for name := range d.twin.hosts {
		if d.rnd.IntN(3) > 0 {
			continue
		}
		w, err := d.p.Fresh(store.IDOf(name), nil, 1+d.rnd.IntN(20))
		d.fatal("fresh", err)
		for _, e := range w.Entries {
			d.twin.Learn(e)
			d.handed = append(d.handed, e)
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
			if p == nil || p.place != store.InQueue {
				d.t.Fatalf("step %d: %s is due but not queued", d.step, e.Page.URL)
			}
			if p.due > opened {
				d.t.Fatalf("step %d: %s is due %d minutes early", d.step, e.Page.URL, p.due-opened)
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
		if d.twin.live(e.Position, e.Page.URL) != nil {
			handed[e.Page.URL] = true
		}
	}
	for url, p := range d.twin.pages {
		// A slot that was not split in time is handed out as a whole at its end.
		if p.place == store.InQueue && p.due+24*60 <= opened && !handed[url] {
			d.t.Fatalf("step %d: %s was due %d minutes ago and has not been handed out", d.step, url, opened-p.due)
		}
	}
}

func (d *driver) url() string {
	host := []string{"http://a.example", "https://b.example:8443", "http://c.example"}[d.rnd.IntN(3)]
	return fmt.Sprintf("%s/%d", host, d.rnd.IntN(40+d.step))
}

// as makes one candidate in three a requisite, or a page that is one as well.
func (d *driver) as(c store.Candidate) store.Candidate {
	switch d.rnd.IntN(6) {
	case 0:
		c.Requisite, c.DepthLeft, c.Via = uint8(1+d.rnd.IntN(5)), 0, c.URL+"/by"
	case 1:
		c.Requisite, c.Via = outlink.PageToo, c.URL+"/by"
	}
	return c
}

func (d *driver) fill() *Step {
	s := &Step{Now: d.now, Meta: map[string][]byte{}}
	for range d.rnd.IntN(12) {
		s.Admits = append(s.Admits, d.as(store.Candidate{URL: d.url(), DepthLeft: uint8(d.rnd.IntN(6)),
			Depth: uint8(d.rnd.IntN(6)), Band: uint8(d.rnd.IntN(2)), From: uint64(d.rnd.IntN(9))}))
	}
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
		switch n := d.rnd.IntN(10); {
		case n < 7:
			v := store.Visited{Position: e.Position, Page: d.visited(e.Page), Retry: d.rnd.IntN(5) == 0}
			if !v.Retry {
				v.Links = d.links()
			} else {
				v.Page.Next = d.now.Add(time.Hour).Truncate(time.Second)
			}
			s.Visits = append(s.Visits, v)
		case n == 7:
			e.Page.Next = e.Page.Next.Add(time.Hour)
			if d.twin.pages[e.Page.URL].place == store.InFresh {
				e.Page.Next = time.Time{}
			}
			e.Page.Attempts++
			s.Moves = append(s.Moves, store.Entry{Page: e.Page, Position: e.Position})
		case n == 8:
			e.Page.Reason = 4
			s.Drops = append(s.Drops, store.Entry{Page: e.Page, Position: e.Position})
		case n == 9:
			e.Page.URL += "/wrong"
			s.Visits = append(s.Visits, store.Visited{Position: e.Position, Page: e.Page})
		}
	}
	for range d.rnd.IntN(4) {
		c := d.as(store.Candidate{URL: d.url(), DepthLeft: uint8(d.rnd.IntN(6))})
		s.Visits = append(s.Visits, store.Visited{Page: d.visited(store.Page{URL: c.URL, DepthLeft: c.DepthLeft,
			Via: c.Via, Flags: store.Flags(0).AsRequisite(c.Requisite)}), Links: d.links(), Retry: d.rnd.IntN(6) == 0})
	}
	for name := range d.twin.hosts {
		if d.rnd.IntN(8) == 0 {
			w, err := d.p.Fresh(store.IDOf(name), nil, 100)
			d.fatal("fresh", err)
			s.Forgets = append(s.Forgets, w.Ghosts...)
			s.Hosts = append(s.Hosts, store.HostRecord{Name: name, NextAllowed: d.now.Truncate(time.Millisecond),
				Flags: uint32(d.step), Rates: []uint32{1, uint32(d.step)},
				Politeness: []byte{1, 2}, Robots: make([]byte, d.rnd.IntN(2)*50),
				RobotsUntil: d.now.Truncate(time.Second)})
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

// fillMail takes up relaxations and parcels.
func (d *driver) fillMail(s *Step) {
	relaxations, err := d.p.Relaxations(d.rnd.IntN(5))
	d.fatal("relaxations", err)
	for _, r := range relaxations {
		for _, l := range r.Links {
			s.Admits = append(s.Admits, store.Candidate{URL: l.URL, DepthLeft: outlink.DepthAfter(r.DepthLeft),
				Depth: r.Depth + 1})
		}
		s.Relaxed = append(s.Relaxed, r)
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
		parcels, err := d.p.Outbox(d.rnd.IntN(3), math.MaxInt)
		d.fatal("outbox", err)
		for _, p := range parcels {
			s.Sent = append(s.Sent, p.Key)
		}
	}
	if d.rnd.IntN(6) == 0 {
		s.Stops = append(s.Stops, store.StopEntry{Prefix: d.url(), Reason: "missing", Evidence: "404",
			At:    d.now.Truncate(time.Second),
			Until: d.now.Add(time.Hour).Truncate(time.Second), Rounds: len(s.Stops)})
		s.Meta["pause"] = []byte(fmt.Sprint(d.step))
	}
}

func (d *driver) visited(p store.Page) store.Page {
	p.LastVisit = d.now.Truncate(time.Second)
	p.Status = 200
	p.Band = 0
	p.ETag = fmt.Sprint("e", d.step)
	p.MainDigest, p.SimHash, p.Digest[3] = d.rnd.Uint64(), d.rnd.Uint64(), byte(d.step)
	p.Next = d.now.Add(time.Duration(d.rnd.ExpFloat64() * float64([]time.Duration{time.Minute, time.Hour,
		20 * time.Hour, 90 * 24 * time.Hour}[d.rnd.IntN(4)]))).Truncate(time.Second)
	p.Timing = store.Timing{Interval: float32(p.Next.Sub(d.now).Seconds()), Visits: 1}
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
		links = append(links, outlink.Outlink{URL: d.url(), Kind: outlink.Anchor, Anchor: "go"})
	}
	return links
}
