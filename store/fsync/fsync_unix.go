//go:build unix

// Package fsync flushes directories, so that making, renaming and removing files in them survives a loss of power, and
// replaces files so that this does.
package fsync

import (
	"errors"
	"io/fs"
	"os"
)

// Dir flushes a directory. File systems that cannot do that say so; their journal has to do.
func Dir(dir string) error {
	d, err := os.Open(dir)
	if err != nil {
		return err
	}
	if err = d.Sync(); errors.Is(err, errors.ErrUnsupported) || errors.Is(err, fs.ErrInvalid) {
		err = nil
	}
	return errors.Join(err, d.Close())
}
