package store

import (
	"errors"
	"runtime"
	"time"
)

// Options say how a state is opened.
type Options struct {
	// Partitions is the number of files the host space is divided into, fixed when the state is created. Default 0: as
	// many as there are, 4 in a new state: two writers per core overlap computing with syncing, and every file more
	// makes each flush smaller (at 16 files a flush of 6 s costs 3 × as much per record as at 4).
	Partitions int

	// LockTimeout is how long to wait for another process to let go of the files. Default 2 s; zero does not wait.
	LockTimeout time.Duration

	// MaxBytes bounds the file of one partition; a commit that would make it larger gives ErrTooLarge. Default 0: no
	// bound.
	MaxBytes int

	// MapBytes is how much address space is reserved for the file of one partition. A file that outgrows it is mapped
	// again, and that waits for open readers. Default 1 GiB (0 on Windows, where the file would be extended to it).
	MapBytes int

	// Contents bounds how many main contents the index of one partition holds, some 200 bytes of its file each; those
	// beyond it are not found again. Default 4,000,000; 0: contents are not compared.
	Contents int

	// ReadOnly opens without the right to write, beside other readers.
	ReadOnly bool

	// NoSync leaves out fsync. For tests and benchmarks: a power failure may then destroy the state.
	NoSync bool

	// Replica opens one copy of several, whose batches are in a log too: see replica.go.
	Replica bool

	// inspect looks through all pages of files that are as the last close left them, too.
	inspect bool
}

// DefaultOptions returns the options a crawl starts from.
func DefaultOptions() Options {
	o := Options{LockTimeout: 2 * time.Second, MapBytes: 1 << 30, Contents: 4_000_000}
	if runtime.GOOS == "windows" {
		o.MapBytes = 0
	}
	return o
}

// newPartitions is the number of partitions of a new state that was not asked for another; maxPartitions is bounded by
// open files.
const (
	newPartitions = 4
	maxPartitions = 256
)

// Validate reports the first setting that makes no sense.
func (o *Options) Validate() error {
	switch {
	case o.Partitions < 0 || o.Partitions > maxPartitions:
		return errors.New("state partitions: from 1 to 256")
	case o.LockTimeout < 0:
		return errors.New("state lock timeout: not negative")
	case o.MaxBytes < 0 || o.MapBytes < 0:
		return errors.New("state sizes: not negative")
	case o.Contents < 0:
		return errors.New("state contents: not negative")
	}
	return nil
}
