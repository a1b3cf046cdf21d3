package store

import (
	"bytes"
	"errors"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"testing"
	"time"

	"go.etcd.io/bbolt"
	berrors "go.etcd.io/bbolt/errors"
)

// TestAPageIsLookedUpAmongOthers: among those of its host, and where it waits now, not where it waited before.
func TestAPageIsLookedUpAmongOthers(t *testing.T) {
	r := newRaising(t, "/1", "/2", "/3")
	look := func(page string) Position {
		t.Helper()
		e, place, err := r.p.Pages.Lookup(raisingHost + page)
		if err != nil || place != InFresh || e.Page.URL != raisingHost+page {
			t.Fatalf("%s is %+v, %v, %v", page, e, place, err)
		}
		return e.Position
	}
	where := func(page string) Position {
		t.Helper()
		w, err := r.p.Fresh.Of(IDOf(raisingHost), nil, 100)
		if err != nil {
			t.Fatal(err)
		}
		for _, e := range w.Entries {
			if e.Page.URL == raisingHost+page {
				return e.Position
			}
		}
		t.Fatalf("%s does not wait", page)
		return nil
	}
	for _, page := range []string{"/1", "/2", "/3"} {
		look(page)
	}
	r.raise("/3", 10)
	e, _, err := r.p.Pages.Lookup(raisingHost + "/3")
	if err != nil {
		t.Fatal(err)
	}
	r.visit(e, true) // it waits behind the place from which it rose
	for _, page := range []string{"/1", "/2", "/3"} {
		if got, want := look(page), where(page); string(got) != string(want) {
			t.Errorf("%s waits at %x, and is found at %x", page, want, got)
		}
	}
}

// TestNoMoreIsReadThanIsAskedFor, and what is asked for behind a position begins there.
func TestNoMoreIsReadThanIsAskedFor(t *testing.T) {
	r := newRaising(t)
	const hosts = 9
	r.commit(func(b *Batch) {
		for i := range hosts {
			b.Visit(Visited{Page: Page{URL: fmt.Sprintf("http://h%d.example/", i), Status: 200, LastVisit: r.at,
				Next: r.at.Add(time.Duration(i) * time.Hour)}})
		}
	})
	for limit := 1; limit <= hosts+1; limit++ {
		if some, err := r.p.Hosts.First(limit); err != nil || len(some) != min(limit, hosts) {
			t.Errorf("of %d hosts %d, %v", limit, len(some), err)
		}
	}
	if some, err := r.p.Hosts.Within(math.MaxInt, 1); err != nil || len(some) != 1 {
		t.Errorf("of hosts of a byte %d, %v", len(some), err)
	}
	seen := map[string]int{}
	var at Position
	for range hosts {
		entries, next, err := r.p.Pages.Visited(at, 2, nil)
		if err != nil {
			t.Fatal(err)
		}
		for _, e := range entries {
			seen[e.Page.URL]++
		}
		if at = next; at == nil {
			break
		}
	}
	due := 0
	at = nil
	for range hosts {
		entries, next, err := r.p.Due(r.at.Add(365*24*time.Hour), at, 2)
		if err != nil {
			t.Fatal(err)
		}
		at, due = next, due+len(entries)
	}
	if len(seen) != hosts || seen["http://h0.example/"] != 1 || due != hosts {
		t.Errorf("visited were %v, and %d are due", seen, due)
	}
}

// TestNothingIsCommittedForNothing: an empty batch costs a write only where slots are to be split.
func TestNothingIsCommittedForNothing(t *testing.T) {
	r := newRaising(t, "/1")
	before, err := r.p.Commits()
	if err != nil {
		t.Fatal(err)
	}
	r.commit(func(*Batch) {})
	if after, err := r.p.Commits(); err != nil || after != before {
		t.Errorf("%d commits, %d before, %v", after, before, err)
	}
}

// TestASnapshotStaysAsItWas, whatever is committed meanwhile.
func TestASnapshotStaysAsItWas(t *testing.T) {
	r := newRaising(t, "/1")
	if err := r.state.Snapshot(func(s *State) error {
		done := make(chan struct{})
		go func() {
			defer close(done)
			r.commit(func(b *Batch) { b.Admit(Candidate{URL: raisingHost + "/2", DepthLeft: 5}) })
		}()
		<-done
		pages := 0
		err := s.Partitions[0].Pages.Each(func(Page, Place) error { pages++; return nil })
		if _, _, missing := s.Partitions[0].Pages.Lookup(raisingHost + "/2"); !errors.Is(missing, ErrNotFound) {
			t.Errorf("what came since is found: %v", missing)
		}
		if pages != 1 {
			t.Errorf("%d pages, 1 before", pages)
		}
		return err
	}); err != nil {
		t.Fatal(err)
	}
}

// TestAFileThatAnotherHasOpenIsInUse, whatever is read of it meanwhile: a damaged one would be set aside.
func TestAFileThatAnotherHasOpenIsInUse(t *testing.T) {
	path := filepath.Join(t.TempDir(), "a.db")
	db, err := bbolt.Open(path, 0o600, nil)
	if err != nil {
		t.Fatal(err)
	}
	defer db.Close()
	f, err := os.OpenFile(path, os.O_WRONLY, 0)
	if err == nil {
		_, err = f.WriteAt(make([]byte, 2*os.Getpagesize()), 0)
	}
	if err = errors.Join(err, f.Close()); err != nil {
		t.Fatal(err)
	}
	if err := Inspect(path, 10*time.Millisecond); !errors.Is(err, ErrInUse) || errors.Is(err, ErrCorrupt) {
		t.Errorf("%v, want one like %v", err, berrors.ErrTimeout)
	}
}

// TestAMetaPageIsWhereItSaysItIs: bbolt sums up what stands behind the head of a page alone.
func TestAMetaPageIsWhereItSaysItIs(t *testing.T) {
	path := filepath.Join(t.TempDir(), "a.db")
	db, err := bbolt.Open(path, 0o600, nil)
	if err == nil {
		err = db.Close()
	}
	if err != nil {
		t.Fatal(err)
	}
	whole, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	for _, at := range []int{-1, 0, 8, os.Getpagesize(), os.Getpagesize() + 8} { // number and kind of both
		file := bytes.Clone(whole)
		if at >= 0 {
			file[at] ^= 8
		}
		if err := os.WriteFile(path, file, 0o600); err != nil {
			t.Fatal(err)
		}
		if err := Inspect(path, time.Second); errors.Is(err, ErrCorrupt) != (at >= 0) {
			t.Errorf("byte %d: %v", at, err)
		}
	}
}

// TestAnAppliedIndexIsOfEightBytes: a sound value of another length is damage, too.
func TestAnAppliedIndexIsOfEightBytes(t *testing.T) {
	r := newRaising(t)
	for _, length := range []int{0, 7, 9, 16} {
		if err := r.p.update("forge", func(tx *bbolt.Tx) error {
			return put(tx.Bucket(bucketMeta), appliedKey, make([]byte, 4+length))
		}); err != nil {
			t.Fatal(err)
		}
		if index, err := r.p.Applied(); !errors.Is(err, ErrCorrupt) {
			t.Errorf("of %d bytes: %d, %v", length, index, err)
		}
	}
}

// TestAnIndexOfContentsThatIsOffIsNotRead: pages are compared with none.
func TestAnIndexOfContentsThatIsOffIsNotRead(t *testing.T) {
	dir := t.TempDir()
	s := contentsState(t, dir, nil)
	text := words(1, 300)
	visitTexts(t, s, [2]string{"http://a.example/1", text})
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	s = contentsState(t, dir, func(o *Options) { o.Contents = 0 })
	if p := visitTexts(t, s, [2]string{"http://a.example/2", text})["http://a.example/2"]; p.SameAs != "" {
		t.Errorf("it is the same as %q", p.SameAs)
	}
}
