package store

import (
	"errors"
	"fmt"
	"io/fs"
	"syscall"

	berrors "go.etcd.io/bbolt/errors"

	"henro/store/seen"
	"henro/store/timequeue"
)

// These errors can be returned when opening a state directory or a partition.
var (
	// ErrInUse is returned when another process holds the lock of a partition.
	ErrInUse = errors.New("the state is in use by another process: stop that crawl first, or ask it with henro status")

	// ErrNewerSchema is returned when the state was written by a newer henro. Nothing has been touched.
	ErrNewerSchema = errors.New("the state was written by a newer henro: use that version or a newer one")

	// ErrOlderSchema is returned when the state was written by an older henro, in a form that is not read any more.
	// Nothing has been touched.
	ErrOlderSchema = errors.New("the state was written by an older henro, in a form that is not read any more: use " +
		"that version, or begin a new crawl with another --dir")

	// ErrMismatch is returned when the files of a state directory do not belong together, or to the number of
	// partitions asked for.
	ErrMismatch = errors.New("the files of the state do not belong together: restore state/ as a whole from one backup")

	// ErrReplica is returned when a state that several masters have copies of is opened by itself for writing.
	ErrReplica = errors.New("the state is one of several copies: start henro-master with this --dir, or take it as " +
		"the only one with henro nodes recover")

	// ErrMixed is returned when files of one crawl are of different days, as after one of them was restored from a
	// backup. It is an ErrMismatch.
	ErrMixed = fmt.Errorf("%w, or let henro check --repair make one state of them", ErrMismatch)
)

// These errors can be returned by any read or write.
var (
	// ErrNotFound is returned when the thing asked for is not in the store.
	ErrNotFound = errors.New("not found")

	// ErrNoState is returned when there is no state in a directory. It is an ErrNotFound.
	ErrNoState = fmt.Errorf("%w", ErrNotFound)

	// ErrCorrupt is returned when bytes on disk are not what was written: a failed checksum, a truncated file, a broken
	// page.
	ErrCorrupt = errors.New("the state is damaged: run henro check to see what is lost, then restore a backup")

	// ErrDiskFull is returned when a write found no room. Nothing of the batch was stored; the same batch may be
	// committed again.
	ErrDiskFull = errors.New("the disk is full: make room, the crawl goes on where it was")

	// ErrReadOnly is returned when the disk or the directory may not be written.
	ErrReadOnly = errors.New("the state cannot be written: check owner and mount options of the directory")

	// ErrTooLarge is returned when a partition reached Options.MaxBytes.
	ErrTooLarge = errors.New("a partition reached its largest size: run henro check --repair, or raise the limit")

	// ErrNotLeader is returned by one of several masters when another one leads, or none. Nothing was done.
	ErrNotLeader = errors.New("this master does not lead")

	// ErrClosed is returned after Close.
	ErrClosed = errors.New("the state is closed")
)

// diagnose wraps an error of bbolt or of the system in the sentinel whose text says what to do.
func diagnose(doing string, err error) error {
	var known error
	switch {
	case err == nil:
		return nil
	case errors.Is(err, berrors.ErrTimeout):
		known = ErrInUse
	case errors.Is(err, berrors.ErrInvalid), errors.Is(err, berrors.ErrChecksum),
		errors.Is(err, berrors.ErrVersionMismatch),
		errors.Is(err, timequeue.ErrDamaged), errors.Is(err, seen.ErrDamaged):
		known = ErrCorrupt
	case errors.Is(err, berrors.ErrMaxSizeReached):
		known = ErrTooLarge
	case errors.Is(err, berrors.ErrDatabaseNotOpen):
		known = ErrClosed
	case errors.Is(err, syscall.ENOSPC), errors.Is(err, syscall.EDQUOT), errors.Is(err, syscall.EFBIG):
		known = ErrDiskFull
	case errors.Is(err, syscall.EROFS), errors.Is(err, fs.ErrPermission), errors.Is(err, berrors.ErrDatabaseReadOnly):
		known = ErrReadOnly
	default:
		return fmt.Errorf("%s: %w", doing, err)
	}
	return fmt.Errorf("%s: %w (%w)", doing, known, err)
}
