package reading

import (
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"os"
	"slices"

	"henro/store"
	"henro/store/fingerprint"
	"henro/store/sorter"
)

// failures are the URLs of a state whose last visit gave no good answer, with what came of it: a temporary file of rows
// in the order of their fingerprints.
//
//	row  fingerprint8 ‖ status u16 ‖ reason1 ‖ dropped1, big-endian
//
// Most visits do not fail, so this is small; memory has the first fingerprint of each block.
type failures struct {
	file   *os.File
	firsts []uint64
	rows   int64
	block  []byte // read last
	at     int    // its number; -1: none
}

const (
	failureLen   = 12
	failureBlock = 256 // rows
)

// sortFailures reads all visited records of a state.
func sortFailures(state *store.State, temp string) (f *failures, err error) {
	sorted := sorter.New(temp, sorter.Memory/4)
	defer func() { err = errors.Join(err, sorted.Close()) }()
	for _, p := range state.Partitions {
		if err := p.Pages.EachVisited(func(page store.Page, _ store.Place) error {
			what, failed := failureOf(&page)
			if !failed {
				return nil
			}
			row := binary.BigEndian.AppendUint64(make([]byte, 0, failureLen), fingerprint.URL(page.URL))
			row = append(binary.BigEndian.AppendUint16(row, what.status), what.reason, 0)
			if what.dropped {
				row[failureLen-1] = 1
			}
			return sorted.Add(row)
		}); err != nil {
			return nil, err
		}
	}
	rows, err := sorted.Sorted()
	if err != nil {
		return nil, err
	}
	f = &failures{at: -1}
	if f.file, err = os.CreateTemp(temp, "henro-failures-*"); err != nil {
		return nil, err
	}
	if err := f.write(rows); err != nil {
		return nil, errors.Join(err, f.Close())
	}
	return f, nil
}

func (f *failures) write(rows *sorter.Reader) error {
	block := make([]byte, 0, failureBlock*failureLen)
	for {
		row, err := rows.Next()
		if err != nil && err != io.EOF {
			return err
		}
		if err == io.EOF || len(block) == cap(block) {
			if _, err := f.file.Write(block); err != nil {
				return fmt.Errorf("write %s: %w", f.file.Name(), err)
			}
			block = block[:0]
		}
		if err == io.EOF {
			return nil
		}
		if f.rows%failureBlock == 0 {
			f.firsts = append(f.firsts, binary.BigEndian.Uint64(row))
		}
		f.rows++
		block = append(block, row...)
	}
}

// of looks one URL up.
func (f *failures) of(url string) (failure, bool, error) {
	fp := fingerprint.URL(url)
	at, exact := slices.BinarySearch(f.firsts, fp)
	if !exact {
		at--
	}
	if at < 0 {
		return failure{}, false, nil
	}
	if at != f.at {
		n := min(failureBlock, f.rows-int64(at)*failureBlock)
		f.block = slices.Grow(f.block[:0], failureBlock*failureLen)[:n*failureLen]
		if _, err := f.file.ReadAt(f.block, int64(at)*failureBlock*failureLen); err != nil {
			return failure{}, false, fmt.Errorf("read %s: %w", f.file.Name(), err)
		}
		f.at = at
	}
	low, high := 0, len(f.block)/failureLen
	for low < high {
		middle := (low + high) / 2
		row := f.block[middle*failureLen:]
		switch key := binary.BigEndian.Uint64(row); {
		case key == fp:
			return failure{status: binary.BigEndian.Uint16(row[8:]), reason: row[10], dropped: row[11] == 1}, true, nil
		case key < fp:
			low = middle + 1
		default:
			high = middle
		}
	}
	return failure{}, false, nil
}

// Close removes the file.
func (f *failures) Close() error { return errors.Join(f.file.Close(), os.Remove(f.file.Name())) }
