package master

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"

	"henro/store"
	"henro/store/archive/warc"
)

// reserveLen is how many bytes a crawl keeps free on its disk for what it writes at its end: the summary, the settings
// and the log in the archive, and the results of the last seconds.
const reserveLen = 2 << 20

// reservePath is the file that takes up the room until the end.
func reservePath(dir string) string { return filepath.Join(dir, "reserve") }

// keepReserve takes the room up.
func keepReserve(dir string) error {
	f, err := os.Create(reservePath(dir))
	if err == nil {
		err = errors.Join(takeRoom(f, reserveLen), f.Close())
	}
	if err == nil {
		return nil
	}
	err = errors.Join(err, releaseReserve(dir))
	if warc.DiskFull(err) {
		return fmt.Errorf("keep %d MB for the end of the crawl: %w (%w)", reserveLen>>20, store.ErrDiskFull, err)
	}
	return fmt.Errorf("keep room for the end of the crawl: %w", err)
}

// writeRoom takes up room by writing, since a file with holes has none.
func writeRoom(f *os.File, length int64) error {
	_, err := f.Write(make([]byte, length))
	return err
}

// releaseReserve gives the room up.
func releaseReserve(dir string) error {
	if err := os.Remove(reservePath(dir)); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	return nil
}
