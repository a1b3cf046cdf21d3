package tables

import (
	"cmp"
	"encoding/binary"
	"errors"
	"fmt"
	"hash/maphash"
	"math"
	"strings"

	"henro/store"
	"henro/store/sorter"
)

// Term is a column that rows are put in order by.
type Term struct {
	Column int
	Desc   bool // the largest first
}

// orderMemory is how many bytes InOrder takes by default before it writes to a temporary file: as much as the targets
// of 9 million links.
const orderMemory = 256 << 20

// InOrder reads rows, of which only the columns that are terms are wanted, and shows them in the order of these: empty
// values first, then numbers by size, then texts by their bytes, as SQL sorts. Rows that are equal are gathered as one
// with their number, so that the links to a page take the room of one.
func InOrder(s *Source, terms []Term, each func(func(Row) error) error,
	fn func(row Row, count uint64) error) (err error) {
	memory := cmp.Or(s.Memory, orderMemory)
	sorted := sorter.New(s.Temp, min(memory, sorter.Memory))
	defer func() { err = errors.Join(err, sorted.Close()) }()
	gathered := newGroups()
	var key []byte
	if err := each(func(row Row) error {
		key = key[:0]
		for _, t := range terms {
			from := len(key)
			if key = row.Value(t.Column).appendKey(key); t.Desc {
				turn(key[from:])
			}
		}
		if gathered.add(key); gathered.size > memory {
			return gathered.moveTo(sorted)
		}
		return nil
	}); err != nil {
		return err
	}
	if err := gathered.moveTo(sorted); err != nil {
		return err
	}
	gathered = nil
	return sorted.Each(func(record []byte) error {
		row, err := rowOf(terms, record[:len(record)-8])
		if err != nil {
			return err
		}
		return fn(row, binary.BigEndian.Uint64(record[len(record)-8:]))
	})
}

// groups are keys, each once, with how many there were. They are told apart by two 64-bit hashes with random seeds, of
// which no two keys share both but by a chance too small to count: comparing the keys themselves would wait for memory
// once more, for each of millions.
type groups struct {
	seeds  [2]maphash.Seed
	counts map[[2]uint64]uint64
	keys   [][]byte // parts of (length uv ‖ key)*
	size   int      // bytes in memory, about
}

const (
	// groupBytes is what a key takes in memory beside its text.
	groupBytes = 48
	// keysPart is how long a part of keys is, so that they grow without being copied. A longer key has its own.
	keysPart = 1 << 20
)

func newGroups() *groups {
	return &groups{seeds: [2]maphash.Seed{maphash.MakeSeed(), maphash.MakeSeed()}, counts: map[[2]uint64]uint64{}}
}

func (g *groups) hash(key []byte) [2]uint64 {
	return [2]uint64{maphash.Bytes(g.seeds[0], key), maphash.Bytes(g.seeds[1], key)}
}

func (g *groups) add(key []byte) {
	before := len(g.counts)
	g.counts[g.hash(key)]++
	if len(g.counts) == before {
		return
	}
	length := len(key) + binary.MaxVarintLen64
	last := len(g.keys) - 1
	if last < 0 || cap(g.keys[last])-len(g.keys[last]) < length {
		last++
		g.keys = append(g.keys, make([]byte, 0, max(length, keysPart)))
	}
	g.keys[last] = append(binary.AppendUvarint(g.keys[last], uint64(len(key))), key...)
	g.size += len(key) + groupBytes
}

// moveTo gives the keys to a sorter, each with its number in eight bytes behind it, and begins anew.
func (g *groups) moveTo(sorted *sorter.Sorter) error {
	var record []byte
	for _, part := range g.keys {
		for len(part) > 0 {
			length, n := binary.Uvarint(part)
			key := part[n:][:length]
			part = part[n+len(key):]
			record = binary.BigEndian.AppendUint64(append(record[:0], key...), g.counts[g.hash(key)])
			if err := sorted.Add(record); err != nil {
				return err
			}
		}
	}
	clear(g.counts)
	g.keys, g.size = nil, 0
	return nil
}

// turn changes bytes so that they sort the other way round.
func turn(b []byte) {
	for i := range b {
		b[i] = ^b[i]
	}
}

// ordered is a row whose values were read from its key.
type ordered struct {
	terms  []Term
	values []Value
}

func rowOf(terms []Term, key []byte) (*ordered, error) {
	o := &ordered{terms, make([]Value, len(terms))}
	for i, t := range terms {
		var err error
		if t.Desc {
			turn(key)
		}
		if o.values[i], key, err = takeKey(key); err != nil {
			return nil, err
		}
		if t.Desc {
			turn(key)
		}
	}
	return o, nil
}

func (o *ordered) Value(column int) Value {
	for i, t := range o.terms {
		if t.Column == column {
			return o.values[i]
		}
	}
	return Value{}
}

// The kinds of values in a key, in the order in which they sort.
const (
	keyEmpty  = 0
	keyNumber = 1
	keyReal   = 2
	keyText   = 3
)

// appendKey writes the value so that bytes sort as values do, and no key is the beginning of another: a byte that tells
// the kind; then numbers as eight bytes, big-endian, with the sign turned over; texts, and moments as texts, with 0 ‖
// 255 for a zero byte and a zero byte at the end.
func (v Value) appendKey(b []byte) []byte {
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

// takeKey reads a value off the front of a key. A Boolean comes back as Integer, a Moment as Text.
func takeKey(key []byte) (v Value, rest []byte, err error) {
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
