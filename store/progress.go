package store

import (
	"encoding/binary"
	"fmt"
	"os"
	"path/filepath"
	"sync/atomic"

	"go.etcd.io/bbolt"
)

// The files of a state commit by themselves. With every commit a file notes how many commits of the others are on disk,
// so a file of an earlier day than the others is found when the state is opened: another file knows of commits that it
// lacks. Each opening for writing is a session with a random number, so files of two continuations of one backup are
// found too; sessions are counted, and the count is the term of the master that opened the state. The last file leads:
// its session is noted before any other file commits, and closed after all others. A file also notes its own length:
// most of it may be room to grow, and a file that was cut off there still has all of its pages.
//
// # Invariants
//
//   - A file never notes more commits of another one than are on that one's disk.
//   - Every file is of the session of the last file, or, while that is open, of the one before it, whatever crashes.
//   - When a state has been closed, all files note the same commits.
//   - The term of a session is greater than that of every session that any file notes.

// progressKey lies beside the totals in the order of keys, since every commit writes both: "own/…" lies before it.
var progressKey = []byte("progress")

// progress is how far the files of a state have come. Partitions share it.
type progress struct {
	session, before uint64          // this session, and the one before it; the same when it is closed
	term            uint64          // of this session: how many there were with it
	commits         []atomic.Uint64 // on the disk of each partition
}

// noted is what one file says about itself and the others; all zero in a file without a commit.
type noted struct {
	size            int64 // of the file, in bytes
	session, before uint64
	commits         []uint64 // of each partition, in order; missing ones count as 0. Behind them, the term
}

func (n *noted) of(partition int) uint64 {
	if partition < len(n.commits) {
		return n.commits[partition]
	}
	return 0
}

func readProgress(tx *bbolt.Tx) (n noted, err error) {
	v := tx.Bucket(bucketMeta).Get(progressKey)
	if v == nil {
		return n, nil
	}
	b, err := unseal(progressKey, v)
	if err != nil || len(b) < 24 || len(b)%8 != 0 {
		return n, fmt.Errorf("progress: %w", ErrCorrupt)
	}
	n.size = int64(binary.LittleEndian.Uint64(b))
	n.session, n.before = binary.LittleEndian.Uint64(b[8:]), binary.LittleEndian.Uint64(b[16:])
	for b = b[24:]; len(b) > 0; b = b[8:] {
		n.commits = append(n.commits, binary.LittleEndian.Uint64(b))
	}
	return n, nil
}

// write notes how far all files have come; own stands for the commits of the file itself.
func (g *progress) write(tx *bbolt.Tx, index int, own uint64) error {
	info, err := os.Stat(tx.DB().Path())
	if err != nil {
		return err
	}
	b := make([]byte, 4, 36+8*len(g.commits))
	for _, n := range []uint64{uint64(info.Size()), g.session, g.before} {
		b = binary.LittleEndian.AppendUint64(b, n)
	}
	for i := range g.commits {
		n := own
		if i != index {
			n = g.commits[i].Load()
		}
		b = binary.LittleEndian.AppendUint64(b, n)
	}
	b = binary.LittleEndian.AppendUint64(b, g.term)
	return put(tx.Bucket(bucketMeta), progressKey, b)
}

// whole compares a file with the length that it noted. A backup has no room to grow: it ends with its last page.
func (n *noted) whole(tx *bbolt.Tx) error {
	info, err := os.Stat(tx.DB().Path())
	if err != nil {
		return err
	}
	if size := info.Size(); size < n.size && size != tx.Size() {
		return fmt.Errorf("cut off at %d of %d bytes: %w", size, n.size, ErrCorrupt)
	}
	return nil
}

// beginSession compares what the files note, and begins a session. A state that was not closed is settled first.
func (s *State) beginSession(o Options) error {
	files, err := s.notes()
	if err != nil {
		return err
	}
	g := &progress{commits: make([]atomic.Uint64, s.Partitions[0].of), term: latestTerm(files, s.Partitions[0].of)}
	for i := range s.Partitions {
		for j := range g.commits {
			g.commits[j].Store(max(g.commits[j].Load(), files[i].of(j)))
		}
	}
	// After a power failure the files of a replica are of their checkpoints; its log makes them one state again.
	if err := s.compare(files); err != nil && !o.Replica {
		return err
	}
	for _, p := range s.Partitions {
		p.progress = g
	}
	if o.ReadOnly {
		return nil
	}
	last := files[len(files)-1]
	g.session, g.before = last.session, last.before
	if err := s.settle(); err != nil {
		return err
	}
	g.begin()
	g.before = last.session
	if !o.Replica { // a replica has the terms of its log
		g.term++
	}
	return s.Partitions[len(files)-1].note()
}

// notes are what the files note.
func (s *State) notes() ([]noted, error) {
	files := make([]noted, len(s.Partitions))
	for i, p := range s.Partitions {
		if err := p.view("read progress", func(tx *bbolt.Tx) (err error) {
			files[i], err = readProgress(tx)
			return err
		}); err != nil {
			return nil, err
		}
	}
	return files, nil
}

// latestTerm is the greatest that any file notes; 0: none has a commit.
func latestTerm(files []noted, partitions int) (term uint64) {
	for i := range files {
		term = max(term, files[i].of(partitions))
	}
	return term
}

// compare refuses files that do not belong together.
func (s *State) compare(files []noted) error {
	for i, p := range s.Partitions {
		own := files[i].of(p.index)
		for j := range files {
			if known := files[j].of(p.index); known > own {
				return fmt.Errorf("open state: %s is older than %s: it has %d commits, and the other knows of %d: %w",
					p.path, filepath.Base(s.Partitions[j].path), own, known, ErrMixed)
			}
		}
	}
	last := files[len(files)-1]
	for i, p := range s.Partitions {
		if session := files[i].session; session != last.session && session != last.before {
			return fmt.Errorf("open state: %s is of another day than %s: %w", p.path,
				filepath.Base(s.Partitions[len(files)-1].path), ErrMixed)
		}
	}
	return nil
}

// endSession closes the session.
func (s *State) endSession() error {
	if len(s.Partitions) == 0 || s.Partitions[0].progress == nil || s.Partitions[0].options.ReadOnly {
		return nil
	}
	g := s.Partitions[0].progress
	if err := s.settle(); err != nil {
		return err
	}
	g.before = g.session
	return s.Partitions[len(s.Partitions)-1].note()
}

// settle makes all files but the last note the session and how far all have come, where they do not yet.
func (s *State) settle() error {
	for _, p := range s.Partitions[:len(s.Partitions)-1] {
		behind := false
		if err := p.view("read progress", func(tx *bbolt.Tx) error {
			n, err := readProgress(tx)
			behind = n.session != p.progress.session
			for j := range p.progress.commits {
				behind = behind || n.of(j) != p.progress.commits[j].Load()
			}
			return err
		}); err != nil {
			return err
		}
		if behind {
			if err := p.note(); err != nil {
				return err
			}
		}
	}
	return nil
}

// note writes how far all files have come, without a commit of its own.
func (p *Partition) note() error {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.update("note progress", func(tx *bbolt.Tx) error {
		return p.progress.write(tx, p.index, p.progress.commits[p.index].Load())
	})
}
