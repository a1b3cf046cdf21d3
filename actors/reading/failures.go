package reading

import (
	"bufio"
	"cmp"
	"encoding/binary"
	"errors"
	"fmt"
	"os"
	"slices"
	"sort"

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
	f = &failures{at: -1}
	if f.file, err = os.CreateTemp(temp, "henro-failures-*"); err != nil {
		return nil, err
	}
	out := bufio.NewWriter(f.file)
	err = sorted.Each(func(row []byte) error {
		if f.rows%failureBlock == 0 {
			f.firsts = append(f.firsts, binary.BigEndian.Uint64(row))
		}
		f.rows++
		_, err := out.Write(row)
		return err
	})
	if err = errors.Join(err, out.Flush()); err != nil {
		return nil, errors.Join(err, f.Close())
	}
	return f, nil
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
	row, found := sort.Find(len(f.block)/failureLen, func(i int) int {
		return cmp.Compare(fp, binary.BigEndian.Uint64(f.block[i*failureLen:]))
	})
	if !found {
		return failure{}, false, nil
	}
	b := f.block[row*failureLen:]
	return failure{status: binary.BigEndian.Uint16(b[8:]), reason: b[10], dropped: b[11] == 1}, true, nil
}

// Close removes the file.
func (f *failures) Close() error { return errors.Join(f.file.Close(), os.Remove(f.file.Name())) }
