package store

import (
	"slices"
	"testing"
	"time"
)

// raising is a partition with pages of one host that wait in bands 100, 101, …
type raising struct {
	*testing.T
	state *State
	p     *Partition
	dir   string
	at    time.Time
}

const raisingHost = "http://a.example"

func newRaising(t *testing.T, pages ...string) *raising {
	r := &raising{T: t, dir: t.TempDir(), at: time.Unix(1e9, 0)}
	r.open()
	t.Cleanup(func() { r.state.Close() })
	r.commit(func(b *Batch) {
		for i, page := range pages {
			b.Admit(Candidate{URL: raisingHost + page, DepthLeft: 5, Band: uint8(100 + i)})
		}
	})
	return r
}

func (r *raising) open() {
	o := DefaultOptions()
	o.Partitions = 1
	var err error
	if r.state, err = OpenState(r.dir, o); err != nil {
		r.Fatal(err)
	}
	r.p = r.state.Partitions[0]
}

func (r *raising) commit(fill func(*Batch)) {
	r.Helper()
	b := NewBatch(r.at)
	fill(b)
	if _, err := r.p.Commit(b); err != nil {
		r.Fatal(err)
	}
}

func (r *raising) raise(page string, band uint8) {
	r.Helper()
	r.commit(func(b *Batch) {
		b.Admit(Candidate{URL: raisingHost + page, Depth: 3, DepthLeft: 2, Band: band, Rises: true})
	})
}

// waiting are the pages that wait, in order; what is read as a ghost is forgotten. It is the same after a restart, and
// the partition is without damage.
func (r *raising) waiting(want ...string) []Entry {
	r.Helper()
	var entries []Entry
	for range 2 {
		found, err := r.p.Fresh.Of(IDOf(raisingHost), nil, 100)
		if err != nil {
			r.Fatal(err)
		}
		r.commit(func(b *Batch) { b.Forget(found.Ghosts...) })
		var got []string
		for _, e := range found.Entries {
			got = append(got, e.Page.URL[len(raisingHost):])
		}
		if entries = found.Entries; !slices.Equal(got, want) {
			r.Fatalf("%v wait, want %v", got, want)
		}
		each := 0
		if err := r.p.Pages.Each(func(_ Page, place Place) error {
			if place == InFresh {
				each++
			}
			return nil
		}); err != nil || each != len(want) {
			r.Fatalf("%d of %d pages are read, %v", each, len(want), err)
		}
		if err := r.state.Close(); err != nil {
			r.Fatal(err)
		}
		report, err := Check(r.dir, nil)
		if err == nil && len(report.Problems) > 0 {
			r.Fatalf("damaged: %v", report.Problems)
		}
		r.open()
	}
	return entries
}

func (r *raising) visit(e Entry, retry bool) {
	r.Helper()
	page := e.Page
	page.LastVisit, page.Status = r.at, 200
	if retry {
		page.LastVisit, page.Next, page.Attempts = time.Time{}, r.at.Add(time.Hour), 1
	}
	r.commit(func(b *Batch) { b.Visit(Visited{Position: e.Position, Page: page, Retry: retry}) })
}

// A page that waits comes to stand where a better link puts it, once, with the depth left that it had; a worse link
// changes nothing.
func TestAWaitingPageRises(t *testing.T) {
	r := newRaising(t, "/1", "/2", "/3")
	before := r.waiting("/1", "/2", "/3")
	r.raise("/3", 50)
	r.raise("/2", 60)
	r.raise("/2", 40)
	r.raise("/3", 90)
	after := r.waiting("/2", "/3", "/1")
	if page := after[1].Page; page.Band != 50 || page.DepthLeft != 5 {
		t.Errorf("it waits as %+v", page)
	}
	r.visit(after[0], false)
	r.visit(before[1], false) // the same page, from its first record: stored already
	lent := r.waiting("/3", "/1")[1]
	r.raise("/1", 20)
	r.visit(lent, false) // it rose meanwhile
	r.waiting("/3")
	r.raise("/1", 10)
	r.waiting("/3")
}

// A page that rose while it was lent, and is to be tried again, waits for that.
func TestAPageThatRoseIsTriedAgainLater(t *testing.T) {
	r := newRaising(t, "/1", "/2")
	lent := r.waiting("/1", "/2")
	r.raise("/2", 50)
	r.visit(lent[1], true)
	r.raise("/2", 40)
	last := r.waiting("/1", "/2")[1]
	if last.Page.Next.IsZero() {
		t.Error("it is tried at once")
	}
	r.visit(last, true)
	r.visit(r.waiting("/1", "/2")[1], false)
	r.waiting("/1")
}

// A page that rose, was visited and is to be visited anew waits once.
func TestAPageThatRoseIsRenewed(t *testing.T) {
	r := newRaising(t, "/1", "/2")
	lent := r.waiting("/1", "/2")
	r.raise("/2", 70)
	r.raise("/2", 50)
	r.visit(lent[1], false)
	e, place, err := r.p.Pages.Lookup(raisingHost + "/2")
	if err != nil || place != InRest {
		t.Fatalf("%v, %v", place, err)
	}
	r.commit(func(b *Batch) { b.Renew(e.Position, e.Page) })
	r.visit(r.waiting("/2", "/1")[0], false)
	r.waiting("/1")
}
