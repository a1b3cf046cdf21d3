// Package folder keeps the folder of an archive in order, into which one process writes while others read.
//
// A process that writes WARC files of a prefix claims the prefix by a lock, which ends with the process. What such a
// process leaves open when it dies is repaired by whoever comes next: the one that claims the prefix to write, or one
// that only reads (Recover, Refresh).
//
// # Invariants
//
//   - Files are repaired only under a claim to their prefix, so never while their writer lives. Open files of a prefix
//     that nobody ever claimed here are those of other programs, and are left alone.
//   - After Refresh every finished WARC file that can be read has its index, and cdxj.MergedName lists the captures of
//     all of them.
package folder

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"github.com/gofrs/flock"

	"henro/store/archive/cdxj"
	"henro/store/archive/warc"
)

// ErrInUse is returned while another process writes files of the same prefix into the folder.
var ErrInUse = errors.New("archive is in use by another process")

const lockSuffix = ".lock"

// Claim takes the files of a prefix for this process, until the claim is closed or the process ends.
func Claim(dir, prefix string) (io.Closer, error) {
	lock := flock.New(filepath.Join(dir, "."+prefix+lockSuffix))
	switch ok, err := lock.TryLock(); {
	case err != nil:
		return nil, fmt.Errorf("lock archive: %w", err)
	case !ok:
		return nil, fmt.Errorf("%w: %s", ErrInUse, dir)
	}
	return lock, nil
}

// Repaired is a file that a process which died had left open or without an index.
type Repaired struct {
	warc.Repaired
	File string // its name, without folder
	Err  error  // why it is still as it was; nil: it is finished
}

// String says it in a sentence.
func (r Repaired) String() string {
	if r.Err != nil {
		return fmt.Sprintf("%s was left by a process that died, and cannot be repaired: %v", r.File, r.Err)
	}
	return fmt.Sprintf("%s was left open by a process that died; it is finished now: %d records, %d bytes that "+
		"belong to none taken out", r.File, r.Records, r.Cut)
}

// RecoverPrefix repairs what a process that died left of the files of a prefix, which the caller has claimed: it
// finishes those that are open, and makes the indexes that are missing.
func RecoverPrefix(dir, prefix string) (found []Repaired, err error) {
	paths, err := warc.Leftovers(dir, prefix)
	if err != nil {
		return nil, err
	}
	for _, path := range paths {
		done, err := cdxj.Repair(path)
		found = append(found, Repaired{done, filepath.Base(path), err})
	}
	if err := cdxj.RemoveUnfinished(dir, prefix); err != nil {
		return found, err
	}
	paths, err = cdxj.Unindexed(dir, prefix)
	for _, path := range paths {
		if err := cdxj.IndexFile(path); err != nil {
			found = append(found, Repaired{File: filepath.Base(path), Err: fmt.Errorf("index: %w", err)})
		}
	}
	return found, err
}

// Recover repairs what processes that died left open in a folder, and brings the merged index up to date if there was
// something. Files of a process that lives are left alone. A folder that is not there holds nothing.
func Recover(dir string) (found []Repaired, err error) {
	entries, err := os.ReadDir(dir)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	} else if err != nil {
		return nil, err
	}
	for _, e := range entries {
		prefix, ok := strings.CutSuffix(strings.TrimPrefix(e.Name(), "."), lockSuffix)
		if !ok || !strings.HasPrefix(e.Name(), ".") {
			continue
		}
		some, err := recoverClaimed(dir, prefix)
		if found = append(found, some...); err != nil {
			return found, err
		}
	}
	if len(found) > 0 {
		_, err = cdxj.MergeDir(dir)
	}
	return found, err
}

// recoverClaimed is RecoverPrefix under a claim of its own, if something is open and nobody else has the claim.
func recoverClaimed(dir, prefix string) (found []Repaired, err error) {
	if open, err := warc.Leftovers(dir, prefix); err != nil || len(open) == 0 {
		return nil, err
	}
	claim, err := Claim(dir, prefix)
	if errors.Is(err, ErrInUse) {
		return nil, nil
	} else if err != nil {
		return nil, err
	}
	found, err = RecoverPrefix(dir, prefix)
	return found, errors.Join(err, claim.Close())
}

// Refreshed says what Refresh found and did.
type Refreshed struct {
	cdxj.Merged
	Repaired []Repaired
}

// Refresh brings the archive in a folder up to date: it does what Recover does, and merges the indexes of all finished
// files (cdxj.MergeDir).
func Refresh(dir string) (r Refreshed, err error) {
	if r.Repaired, err = Recover(dir); err != nil {
		return r, err
	}
	r.Merged, err = cdxj.MergeDir(dir)
	return r, err
}
