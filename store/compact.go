package store

import (
	"errors"
	"fmt"
	"os"
	"runtime/debug"

	"go.etcd.io/bbolt"

	"henro/store/fsync"
)

// Compact rewrites every file of a state without its free pages and half-empty ones. No crawl may be running. A file is
// replaced when its copy is whole and on disk, so Compact may be broken off at any moment. It returns the bytes before
// and after.
func Compact(dir string, progress func(done, all int)) (before, after int64, err error) {
	if !Exists(dir) { // opening for writing would make it
		return 0, 0, fmt.Errorf("%w: %s", ErrNoState, dir)
	}
	s, err := OpenState(dir, DefaultOptions())
	if err != nil {
		return 0, 0, err
	}
	defer func() { err = errors.Join(err, s.Close()) }()
	for i, p := range s.Partitions {
		b, a, err := p.compact()
		if err != nil {
			return before, after, err
		}
		before, after = before+b, after+a
		if progress != nil {
			progress(i+1, len(s.Partitions))
		}
	}
	return before, after, diagnose("compact", fsync.Dir(dir))
}

// compactBytes bounds one transaction of a compaction.
const compactBytes = 8 << 20

func (p *Partition) compact() (before, after int64, err error) {
	doing := "compact " + p.path
	p.sound.Store(false) // the pages of the copy were not looked through
	defer debug.SetPanicOnFault(debug.SetPanicOnFault(true))
	defer rescue(doing, &err)
	temporary := p.path + ".compact"
	if err := removeIfThere(temporary); err != nil {
		return 0, 0, diagnose(doing, err)
	}
	defer os.Remove(temporary) // nothing to remove once it is renamed
	copied, err := bbolt.Open(temporary, 0o644, &bbolt.Options{Timeout: p.options.LockTimeout,
		FreelistType: bbolt.FreelistMapType, NoSync: true})
	if err != nil {
		return 0, 0, diagnose(doing, err)
	}
	err = bbolt.Compact(copied, p.db, compactBytes)
	if err == nil { // the copy is shorter than the length that the file noted
		err = copied.Update(func(tx *bbolt.Tx) error {
			return p.progress.write(tx, p.index, p.progress.commits[p.index].Load())
		})
	}
	if err == nil {
		err = copied.Sync()
	}
	if err = errors.Join(err, copied.Close()); err != nil {
		return 0, 0, diagnose(doing, err)
	}
	was, err := os.Stat(p.path)
	if err != nil {
		return 0, 0, diagnose(doing, err)
	}
	is, err := os.Stat(temporary)
	if err != nil {
		return 0, 0, diagnose(doing, err)
	}
	return was.Size(), is.Size(), diagnose(doing, os.Rename(temporary, p.path))
}
