package store

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"maps"
	"slices"

	"go.etcd.io/bbolt"

	"henro/store/timequeue"
)

// Fresh records lie in chunks, keyed by host, band and a number that is never given twice. Before the chunk stand 64
// bits that say which of its records have ended; when all have, the chunk is deleted.
const (
	freshKeyLen   = 8 + 1 + 8
	freshHeader   = 8 + 4 // bits8 ‖ crc4 of the bits
	freshMaxCount = 64
	freshMaxLen   = freshHeader + timequeue.MaxChunk
)

type freshKey [freshKeyLen]byte

func freshKeyOf(host HostID, band uint8, number uint64) (k freshKey) {
	binary.BigEndian.PutUint64(k[:], uint64(host))
	k[8] = band
	binary.BigEndian.PutUint64(k[9:], number)
	return k
}

func (k freshKey) host() HostID { return HostID(binary.BigEndian.Uint64(k[:])) }

func (k freshKey) band() uint8 { return k[8] }

// freshRef is where a fresh record lies.
type freshRef struct {
	key   freshKey
	index uint8
}

// freshChunk is a chunk in memory, changed by one commit.
type freshChunk struct {
	key   freshKey
	value []byte
	dirty bool
}

func (c *freshChunk) ended() uint64          { return binary.LittleEndian.Uint64(c.value) }
func (c *freshChunk) chunk() timequeue.Chunk { return timequeue.Chunk(c.value[freshHeader:]) }
func (c *freshChunk) done() bool {
	n := c.chunk().Count()
	return c.ended() == ^uint64(0)>>(64-n)
}

// openFresh checks a stored chunk and returns its bits and its records.
func openFresh(k, v []byte) (ended uint64, chunk timequeue.Chunk, err error) {
	if len(k) != freshKeyLen || len(v) < freshHeader || binary.LittleEndian.Uint32(v[8:]) != timequeue.Sum(k, v[:8]) {
		return 0, nil, fmt.Errorf("fresh %x: %w", k, ErrCorrupt)
	}
	chunk = timequeue.Chunk(v[freshHeader:])
	if err := chunk.Verify(k); err != nil {
		return 0, nil, fmt.Errorf("fresh %x: %w", k, err)
	}
	if n := chunk.Count(); n == 0 || n > freshMaxCount {
		return 0, nil, fmt.Errorf("fresh %x: %d records: %w", k, n, ErrCorrupt)
	}
	return binary.LittleEndian.Uint64(v), chunk, nil
}

// freshWriter changes the fresh records within one commit.
type freshWriter struct {
	tx     *bbolt.Tx
	bucket *bbolt.Bucket
	chunks map[freshKey]*freshChunk
	tails  map[freshKey]*freshChunk // by host and band, number 0
}

func newFreshWriter(tx *bbolt.Tx) *freshWriter {
	return &freshWriter{tx, tx.Bucket(bucketFresh), map[freshKey]*freshChunk{}, map[freshKey]*freshChunk{}}
}

func (w *freshWriter) load(key freshKey) (*freshChunk, error) {
	if c := w.chunks[key]; c != nil {
		return c, nil
	}
	v := w.bucket.Get(key[:])
	if v == nil {
		return nil, nil
	}
	if _, _, err := openFresh(key[:], v); err != nil {
		return nil, err
	}
	c := &freshChunk{key: key, value: append(make([]byte, 0, max(len(v), freshMaxLen)), v...)}
	w.chunks[key] = c
	return c, nil
}

// get returns a live record, nil when it has ended.
func (w *freshWriter) get(ref freshRef) ([]byte, error) {
	c, err := w.load(ref.key)
	if err != nil || c == nil || int(ref.index) >= c.chunk().Count() || c.ended()>>ref.index&1 != 0 {
		return nil, err
	}
	rec := c.chunk().At(int(ref.index))
	if rec == nil {
		return nil, fmt.Errorf("fresh %x, record %d: %w", ref.key, ref.index, ErrCorrupt)
	}
	return rec, nil
}

// end marks a record, which get returned, as ended.
func (w *freshWriter) end(ref freshRef) {
	c := w.chunks[ref.key]
	binary.LittleEndian.PutUint64(c.value, c.ended()|1<<ref.index)
	c.dirty = true
}

// put adds a record at the end of a band of a host.
func (w *freshWriter) put(host HostID, band uint8, record []byte) error {
	line := freshKeyOf(host, band, 0)
	tail := w.tails[line]
	if tail == nil {
		var err error
		if tail, err = w.tail(line); err != nil {
			return err
		}
	}
	if tail == nil || tail.chunk().Count() == freshMaxCount || len(tail.value)+len(record)+3 > freshMaxLen {
		number, err := w.bucket.NextSequence()
		if err != nil {
			return fmt.Errorf("number fresh chunk: %w", err)
		}
		tail = &freshChunk{key: freshKeyOf(host, band, number),
			value: make([]byte, freshHeader, max(freshMaxLen, len(record)+freshHeader+16))}
		tail.value = append(tail.value, timequeue.NewChunk(nil)...)
		w.chunks[tail.key] = tail
	}
	w.tails[line] = tail
	tail.value = append(tail.value[:freshHeader], tail.chunk().Add(record)...)
	tail.dirty = true
	return nil
}

// tail finds the last chunk of a band of a host, nil when there is none.
func (w *freshWriter) tail(line freshKey) (*freshChunk, error) {
	for i := 9; i < freshKeyLen; i++ {
		line[i] = 0xff
	}
	c := w.bucket.Cursor()
	k, _ := c.Seek(line[:])
	if k == nil {
		k, _ = c.Last()
	} else {
		k, _ = c.Prev()
	}
	if len(k) != freshKeyLen || !bytes.Equal(k[:9], line[:9]) {
		return nil, nil
	}
	return w.load(freshKey(k))
}

// flush stores what was changed, in the order of keys.
func (w *freshWriter) flush() error {
	for _, key := range slices.SortedFunc(maps.Keys(w.chunks),
		func(a, b freshKey) int { return bytes.Compare(a[:], b[:]) }) {
		c := w.chunks[key]
		if !c.dirty {
			continue
		}
		var err error
		if c.done() {
			err = w.bucket.Delete(key[:])
		} else {
			binary.LittleEndian.PutUint32(c.value[8:], timequeue.Sum(key[:], c.value[:8]))
			c.chunk().Seal(key[:])
			err = w.bucket.Put(key[:], c.value)
		}
		if err != nil {
			return fmt.Errorf("fresh %x: %w", key, err)
		}
	}
	return nil
}

// eachFresh calls fn for every live fresh record behind a position, host by host and band by band, within the prefix of
// a key.
func eachFresh(bucket *bbolt.Bucket, prefix []byte, after *freshRef, fn func(freshRef, []byte) error) error {
	c := bucket.Cursor()
	start := prefix
	if after != nil {
		start = after.key[:]
	}
	for k, v := c.Seek(start); k != nil && bytes.HasPrefix(k, prefix); k, v = c.Next() {
		ended, chunk, err := openFresh(k, v)
		if err != nil {
			return err
		}
		ref := freshRef{key: freshKey(k)}
		records := chunk.Records()
		for i := range chunk.Count() {
			rec := records.Next() // nil, where the chunk makes no sense, is a damaged page to whoever reads it
			if ended>>i&1 != 0 || after != nil && ref.key == after.key && i <= int(after.index) {
				continue
			}
			ref.index = uint8(i)
			if err := fn(ref, rec); err != nil {
				return err
			}
		}
	}
	return nil
}

// The first byte of a position names the place.
const (
	kindQueue = 'q'
	kindFresh = 'f'
)

func queuePosition(r timequeue.Ref) Position {
	return r.Append(append(make(Position, 0, 1+timequeue.RefLen), kindQueue))
}

func freshPosition(r freshRef) Position {
	p := append(make(Position, 0, 2+freshKeyLen), kindFresh)
	return append(append(p, r.key[:]...), r.index)
}

// parsePosition returns what a position points at; both are nil when it is not valid.
func parsePosition(p Position) (*timequeue.Ref, *freshRef) {
	if len(p) == 0 {
		return nil, nil
	}
	switch p[0] {
	case kindQueue:
		if ref, ok := timequeue.ParseRef(p[1:]); ok {
			return &ref, nil
		}
	case kindFresh:
		if len(p) == 2+freshKeyLen {
			return nil, &freshRef{freshKey(p[1 : 1+freshKeyLen]), p[1+freshKeyLen]}
		}
	}
	return nil, nil
}
