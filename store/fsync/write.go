package fsync

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
)

// WriteFile replaces a file: whole or not at all, whatever happens to the power.
func WriteFile(path string, data []byte, mode fs.FileMode) error {
	return Replace(path, path+".new", mode, func(w io.Writer) error {
		_, err := w.Write(data)
		return err
	})
}

// Replace is WriteFile of what write writes; until it is whole the file has another name.
func Replace(path, until string, mode fs.FileMode, write func(io.Writer) error) error {
	f, err := os.OpenFile(until, os.O_WRONLY|os.O_CREATE|os.O_TRUNC, mode)
	if err != nil {
		return fmt.Errorf("write %s: %w", path, err)
	}
	w := bufio.NewWriterSize(f, 1<<16)
	// synced first, since the name may be on disk before the data
	if err = errors.Join(write(w), w.Flush(), f.Sync(), f.Close()); err == nil {
		err = os.Rename(until, path)
	}
	if err != nil {
		err = errors.Join(err, os.Remove(until))
	} else {
		err = Dir(filepath.Dir(path))
	}
	if err != nil {
		return fmt.Errorf("write %s: %w", path, err)
	}
	return nil
}
