package admission

import (
	"bytes"
	"encoding/json"
	"path/filepath"

	"henro/store/fingerprint"
	"henro/store/journal"
)

// LogName is the file in the directory of a crawl that lists what was not taken, one Skipped a line.
const LogName = "skipped.jsonl"

// DefaultLogBytes is the size at which the file is rotated: some 400,000 lines. There is one older file at most, so
// twice this is all that a trap can write.
const DefaultLogBytes = 64 << 20

// Log appends to skipped.jsonl. One goroutine uses it.
type Log struct {
	*journal.Journal
	written []uint64 // direct-mapped: URLs and reasons that were written lately
}

// writtenSlots is how many lines are remembered so as not to be written again: half a megabyte.
const writtenSlots = 1 << 16

// OpenLog opens skipped.jsonl in a directory. The file is rotated when it has grown to most bytes.
func OpenLog(dir string, most int64) (*Log, error) {
	j, err := journal.Open(filepath.Join(dir, LogName), journal.Options{Bytes: most, Older: 1})
	if err != nil {
		return nil, err
	}
	return &Log{j, make([]uint64, writtenSlots)}, nil
}

// Add adds a line, unless the same URL was written for the same reason lately. It is in memory until Flush.
func (l *Log) Add(s *Skipped) error {
	key := fingerprint.URL(s.URL) + 2*uint64(s.Reason) | 1
	slot := &l.written[(key>>1)%writtenSlots]
	if *slot == key {
		return nil
	}
	*slot = key
	return l.Append(func(b *bytes.Buffer) error { return json.NewEncoder(b).Encode(s) })
}
