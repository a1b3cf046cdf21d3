package store

import (
	"crypto/rand"
	"encoding/binary"
	"errors"
	"sync/atomic"
	"time"
)

// Reconciled is what Reconcile did.
type Reconciled struct {
	Why   error  // the files could not be opened as one state
	Pages uint64 // visited pages whose links will be judged again
}

// Reconcile makes one state of the files of one crawl that are of different days, as when one of them was restored from
// a backup; nil: nothing was to be done.
//
// An older file lacks what came to it since. What it was sent by other files is in their links, so every page with
// links is put down to have them judged again (Relaxation), which asks no host for anything: what the file does not
// know is admitted. A page that was visited since waits, by the older file, for the visit that it had, and is visited
// again. Page numbers that the older file has not given yet, and to which others refer, are passed over.
//
// Each file has a session of its own until all are done, so that a crash leaves files that do not belong together, for
// the next Reconcile. Each file is changed in one transaction, with some 100 bytes of memory for each page.
func Reconcile(dir string) (done *Reconciled, err error) {
	s := &State{moved: map[HostID]int{}}
	defer func() {
		if err != nil {
			for _, p := range s.Partitions {
				p.progress = nil // closing must not say that the files belong together
			}
		}
		err = errors.Join(err, s.Close())
	}()
	if err := s.openFiles(dir, DefaultOptions()); err != nil {
		return nil, err
	}
	files, err := s.notes()
	if err != nil {
		return nil, err
	}
	done = &Reconciled{Why: s.compare(files)}
	if done.Why == nil {
		return nil, nil
	}
	g := &progress{commits: make([]atomic.Uint64, len(s.Partitions)), term: latestTerm(files, len(s.Partitions))}
	for i, p := range s.Partitions {
		g.commits[i].Store(files[i].of(i))
		p.progress = g
	}
	given, err := s.numbersUsed()
	if err != nil {
		return nil, err
	}
	for i, p := range s.Partitions {
		g.begin()
		b := NewBatch(time.Now())
		b.Rejudge(given[i])
		out, err := p.Commit(b)
		if err != nil {
			return nil, err
		}
		done.Pages += uint64(out.Relaxations)
	}
	g.begin()
	for _, p := range s.Partitions {
		if err := p.note(); err != nil {
			return nil, err
		}
	}
	return done, nil
}

// begin begins a session that nothing came before.
func (g *progress) begin() {
	var b [8]byte
	rand.Read(b[:]) // never fails
	g.session = binary.LittleEndian.Uint64(b[:])
	g.before = g.session
}

// numbersUsed is, for each partition, how many page numbers it has given, as far as any file knows.
func (s *State) numbersUsed() ([]uint64, error) {
	of := uint64(len(s.Partitions))
	given := make([]uint64, of)
	for _, p := range s.Partitions {
		if err := p.Pages.Each(func(page Page, _ Place) error {
			given[page.From%of] = max(given[page.From%of], page.From/of)
			return nil
		}); err != nil {
			return nil, err
		}
	}
	return given, nil
}
