package warc

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"time"

	"henro/store/fsync"
)

// Disk is where a Writer keeps its files: the operating system's (OS), or in tests one that fails.
type Disk interface {
	// Create makes a file that did not exist.
	Create(name string) (DiskFile, error)
	Rename(from, to string) error
	Remove(name string) error
	// SyncDir makes creations and renames within dir survive a loss of power, where the system can do that.
	SyncDir(dir string) error
}

// DiskFile is one growing file, written at its end.
type DiskFile interface {
	io.Writer
	io.Closer
	Truncate(size int64) error
	Sync() error
}

// OS is the disk of the operating system.
type OS struct{}

// Create makes a file that did not exist, readable by everyone.
func (OS) Create(name string) (DiskFile, error) {
	f, err := os.OpenFile(name, os.O_CREATE|os.O_EXCL|os.O_RDWR, 0o644)
	if err != nil {
		return nil, err
	}
	return f, nil
}

// Rename renames a file.
func (OS) Rename(from, to string) error { return os.Rename(from, to) }

// Remove removes a file.
func (OS) Remove(name string) error { return os.Remove(name) }

// MakeDir makes a directory, and those above it that are missing, so that they survive a loss of power: the name of
// each is in the one above it, which is synced. (One above that may not be read cannot be synced.)
func MakeDir(dir string) error {
	var missing []string
	for at := filepath.Clean(dir); ; at = filepath.Dir(at) {
		if _, err := os.Stat(at); !errors.Is(err, fs.ErrNotExist) {
			break
		}
		missing = append(missing, at)
	}
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return err
	}
	for _, made := range missing {
		if err := fsync.Dir(filepath.Dir(made)); err != nil && !errors.Is(err, fs.ErrPermission) {
			return err
		}
	}
	return nil
}

// SyncDir syncs a directory.
func (OS) SyncDir(dir string) error { return fsync.Dir(dir) }

// Probe reports whether n bytes can be written into a directory, by writing them to a file that it removes again.
func Probe(d Disk, dir string, n int) error {
	name := filepath.Join(dir, fmt.Sprintf(".probe-%d", time.Now().UnixNano()))
	f, err := d.Create(name)
	if err != nil {
		return err
	}
	block := make([]byte, 1<<20)
	for ; n > 0 && err == nil; n -= len(block) {
		_, err = f.Write(block[:min(n, len(block))])
	}
	if err == nil {
		err = f.Sync()
	}
	return errors.Join(err, f.Close(), d.Remove(name))
}
