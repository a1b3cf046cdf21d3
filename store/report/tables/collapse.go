package tables

import (
	"cmp"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"math"
	"strings"
	"sync/atomic"

	"henro/store"
	"henro/store/sorter"
)

// TallyMemory is how many bytes Collapse takes by default before it writes to temporary files: as much as the targets
// of 9 million links.
const TallyMemory = 256 << 20

// Collapse counts the rows that are equal in some columns, all partitions at once, and shows for each kind of them the
// key that AppendKey makes of these columns, and how many rows there are. Keys come in order: by the first column, then
// the next; empty values first, then numbers by size, then texts by their bytes, as SQL sorts. progress is called from
// several goroutines how many rows were read, now and then; it may be nil.
func (t *Table) Collapse(s *Source, q Query, columns []int, progress func(rows uint64) error,
	fn func(key []byte, rows uint64) error) (err error) {
	if progress == nil {
		progress = func(uint64) error { return nil }
	}
	q.Columns, q.Parallel, q.Passing = 0, true, true
	for _, c := range columns {
		q.Columns |= 1 << c
	}
	if len(columns) == 0 {
		return t.collapseAll(s, q, progress, fn)
	}
	tally := sorter.NewTally(s.Temp, cmp.Or(s.Memory, TallyMemory))
	defer func() { err = errors.Join(err, tally.Close()) }()
	var rows atomic.Uint64
	if err := t.each(s, q, func(row Row) error {
		if n := rows.Add(1); n%progressRows == 0 {
			if err := progress(n); err != nil {
				return err
			}
		}
		var space [256]byte
		key := space[:0]
		for _, c := range columns {
			key = row.Value(c).AppendKey(key)
		}
		return tally.Add(key, 1)
	}); err != nil {
		return err
	}
	sorted, err := tally.Sorted()
	if err != nil {
		return err
	}
	for {
		key, n, err := sorted.Next()
		if err == io.EOF {
			return nil
		}
		if err == nil {
			err = fn(key, n)
		}
		if err != nil {
			return err
		}
	}
}

// progressRows is how many rows lie between two calls of progress.
const progressRows = 1 << 16

// collapseAll counts all rows.
func (t *Table) collapseAll(s *Source, q Query, progress func(rows uint64) error,
	fn func(key []byte, rows uint64) error) error {
	if q.Host == nil && q.URL == nil && t.count != nil {
		n, _, err := t.count(s)
		if err != nil || n == 0 {
			return err
		}
		return fn(nil, uint64(n))
	}
	var rows atomic.Uint64
	err := t.each(s, q, func(Row) error {
		if n := rows.Add(1); n%progressRows == 0 {
			return progress(n)
		}
		return nil
	})
	if err != nil || rows.Load() == 0 {
		return err
	}
	return fn(nil, rows.Load())
}

// The kinds of values in a key, in the order in which they sort.
const (
	keyEmpty  = 0
	keyNumber = 1
	keyReal   = 2
	keyText   = 3
)

// AppendKey writes the value so that bytes sort as values do, and no key is the beginning of another: a byte that tells
// the kind; then numbers as eight bytes, big-endian, with the sign turned over; texts, and moments as texts, with 0 ‖
// 255 for a zero byte and a zero byte at the end.
func (v Value) AppendKey(b []byte) []byte {
	switch v.Kind {
	case Integer, Boolean:
		return binary.BigEndian.AppendUint64(append(b, keyNumber), uint64(v.Int)^1<<63)
	case Real:
		if math.IsNaN(v.Real) {
			return append(b, keyEmpty)
		}
		bits := math.Float64bits(v.Real + 0) // -0 is 0
		if bits>>63 == 1 {
			bits = ^bits
		} else {
			bits |= 1 << 63
		}
		return binary.BigEndian.AppendUint64(append(b, keyReal), bits)
	case Text:
		b = append(b, keyText)
		if strings.IndexByte(v.Text, 0) < 0 {
			return append(append(b, v.Text...), 0)
		}
		for i := range len(v.Text) {
			if b = append(b, v.Text[i]); v.Text[i] == 0 {
				b = append(b, 255)
			}
		}
		return append(b, 0)
	case Moment:
		return append(v.Append(append(b, keyText)), 0)
	}
	return append(b, keyEmpty)
}

// TakeKey reads a value off the front of a key. A Boolean comes back as Integer, a Moment as Text.
func TakeKey(key []byte) (v Value, rest []byte, err error) {
	damaged := func() (Value, []byte, error) {
		return Value{}, nil, fmt.Errorf("key %.20x: %w", key, store.ErrCorrupt)
	}
	if len(key) == 0 {
		return damaged()
	}
	kind, rest := key[0], key[1:]
	switch {
	case kind == keyEmpty:
		return Value{}, rest, nil
	case kind == keyNumber && len(rest) >= 8:
		return Value{Kind: Integer, Int: int64(binary.BigEndian.Uint64(rest) ^ 1<<63)}, rest[8:], nil
	case kind == keyReal && len(rest) >= 8:
		bits := binary.BigEndian.Uint64(rest)
		if bits>>63 == 1 {
			bits &^= 1 << 63
		} else {
			bits = ^bits
		}
		return Value{Kind: Real, Real: math.Float64frombits(bits)}, rest[8:], nil
	case kind == keyText:
		end := 0
		for end < len(rest) && (rest[end] != 0 || end+1 < len(rest) && rest[end+1] == 255) {
			if rest[end] == 0 {
				end++
			}
			end++
		}
		if end >= len(rest) {
			return damaged()
		}
		text := string(rest[:end])
		if strings.IndexByte(text, 0) >= 0 {
			text = strings.ReplaceAll(text, "\x00\xff", "\x00")
		}
		return Value{Kind: Text, Text: text}, rest[end+1:], nil
	}
	return damaged()
}
