package admission

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"

	"henro/store/fingerprint"
)

// LogName is the file in the directory of a crawl that tells what was not taken, one Skipped a line; the lines before
// those lie in the file with ".1" before its suffix.
const (
	LogName    = "skipped.jsonl"
	oldLogName = "skipped.1.jsonl"
)

// DefaultLogBytes is the size at which the file gives way to a new one: some 400,000 lines. There is one older file at
// most, so twice this is all that a trap can write.
const DefaultLogBytes = 64 << 20

// Log appends to skipped.jsonl. One goroutine uses it.
//
// Invariant: at any moment, after any crash, all lines but the last are whole, and Open makes the last one so.
type Log struct {
	path, old string
	most      int64
	file      *os.File
	size      int64
	buffer    bytes.Buffer
	told      []uint64 // direct-mapped: URLs and reasons that were written lately
}

// toldSlots is how many lines are remembered so as not to be written again: half a megabyte.
const toldSlots = 1 << 16

// OpenLog opens skipped.jsonl in a directory and cuts off a line that was not finished.
func OpenLog(dir string, most int64) (*Log, error) {
	l := &Log{path: dir + string(os.PathSeparator) + LogName, old: dir + string(os.PathSeparator) + oldLogName,
		most: most, told: make([]uint64, toldSlots)}
	if err := l.open(); err != nil {
		return nil, fmt.Errorf("open %s: %w", l.path, err)
	}
	return l, nil
}

func (l *Log) open() (err error) {
	if l.file, err = os.OpenFile(l.path, os.O_RDWR|os.O_CREATE, 0o644); err != nil {
		return err
	}
	if l.size, err = mend(l.file); err != nil {
		return errors.Join(err, l.file.Close())
	}
	return nil
}

// mend finds the end of the last whole line and cuts the file there.
func mend(f *os.File) (int64, error) {
	end, err := f.Seek(0, io.SeekEnd)
	if err != nil {
		return 0, err
	}
	block := make([]byte, 4096)
	for from := end; from > 0; {
		n := min(from, int64(len(block)))
		from -= n
		if _, err := f.ReadAt(block[:n], from); err != nil {
			return 0, err
		}
		if i := bytes.LastIndexByte(block[:n], '\n'); i >= 0 {
			whole := from + int64(i) + 1
			if whole == end {
				return end, nil
			}
			return whole, f.Truncate(whole)
		}
	}
	return 0, f.Truncate(0)
}

// Add adds a line, unless the same URL was written for the same reason lately. It is in memory until Flush.
func (l *Log) Add(s *Skipped) error {
	key := fingerprint.URL(s.URL) + 2*uint64(s.Reason) | 1
	slot := &l.told[(key>>1)%toldSlots]
	if *slot == key {
		return nil
	}
	*slot = key
	line, err := json.Marshal(s)
	if err != nil {
		return fmt.Errorf("write %s: %w", l.path, err)
	}
	l.buffer.Write(append(line, '\n'))
	if l.buffer.Len() >= 64<<10 {
		return l.Flush()
	}
	return nil
}

// Flush writes what is in memory. What cannot be written is dropped: it is not worth the crawl.
func (l *Log) Flush() error {
	if l.buffer.Len() == 0 {
		return nil
	}
	defer l.buffer.Reset()
	if l.size > 0 && l.size+int64(l.buffer.Len()) > l.most {
		if err := l.turn(); err != nil {
			return fmt.Errorf("turn %s over: %w", l.path, err)
		}
	}
	n, err := l.file.WriteAt(l.buffer.Bytes(), l.size)
	if err != nil {
		if n > 0 { // on a full disk: the next write begins at the end of the last whole line
			err = errors.Join(err, l.file.Truncate(l.size))
		}
		return fmt.Errorf("write %s: %w", l.path, err)
	}
	l.size += int64(n)
	return nil
}

func (l *Log) turn() error {
	err := errors.Join(l.file.Close(), os.Rename(l.path, l.old))
	return errors.Join(err, l.open())
}

// Close writes what is in memory and closes the file.
func (l *Log) Close() error { return errors.Join(l.Flush(), l.file.Close()) }
