// Package seen answers whether a URL is known: exactly, on disk, in the transaction that stores the page.
//
// The fingerprints of one host lie packed and sorted in blocks of a page's size, keyed by host and by the least fingerprint that
// belongs in the block. A page's links are mostly links to its own host, so one block answers many of them. That takes 12 to 13
// bytes per URL, where a key per URL takes 36 to 48, and no memory at all; a Bloom filter in front was measured and dropped: 85 % of
// the links are known, a positive of a filter must be looked up anyway, and a false one would lose a URL.
//
// An entry is 8 bytes: the upper 56 bits of the URL's fingerprint, then one bit that says whether the page was visited (or given up),
// then 7 bits of depth left, 127 for unlimited. Invariants:
//
//   - within a host, entries ascend strictly, over blocks too;
//   - the first block of a host has the key 0, so every fingerprint belongs in exactly one block;
//   - the depth left of an entry never falls, and visited is never taken back.
package seen

import (
	"cmp"
	"encoding/binary"
	"errors"
	"fmt"
	"hash/crc32"
	"slices"

	"go.etcd.io/bbolt"
)

// ErrDamaged is returned when a block is not what was written.
var ErrDamaged = errors.New("block of seen URLs is damaged")

var bucketName = []byte("seen")

// MaxBlock is the most entries a block holds; with checksum and key it then fills 3.9 kB of a page of 4 kB.
const MaxBlock = 486

const (
	keyLen = 16 // host8 ‖ least fingerprint8, big-endian
	sumLen = 4
)

// Entry is what is kept of one URL.
type Entry uint64

const (
	visitedBit = 0x80
	depthBits  = 0x7f
)

// Fingerprint is the fingerprint of the URL without its lowest eight bits.
func (e Entry) Fingerprint() uint64 { return uint64(e) &^ 0xff }

// Visited reports whether the page was visited or given up.
func (e Entry) Visited() bool { return e&visitedBit != 0 }

// DepthLeft is the largest number of links that may be followed from the page, 127: unlimited.
func (e Entry) DepthLeft() uint8 { return uint8(e & depthBits) }

// Action is what an operation does to an entry.
type Action uint8

// The actions.
const (
	Peek  Action = iota // only read it
	Know                // insert it, or raise its depth left
	Visit               // likewise, and mark it visited
)

// Op is one operation on the set. Operations on the same URL take effect in the order in which they were handed in.
type Op struct {
	Host      uint64
	URL       uint64 // fingerprint
	DepthLeft uint8
	Action    Action

	Old   Entry // what was there before, when Found
	Found bool
}

func (o *Op) apply(old Entry, found bool) Entry {
	o.Old, o.Found = old, found
	if o.Action == Peek {
		return old
	}
	e := Entry(o.URL&^0xff) | Entry(max(min(o.DepthLeft, depthBits), old.DepthLeft()))
	if o.Action == Visit || old.Visited() {
		e |= visitedBit
	}
	return e
}

// Create makes the bucket of an empty set.
func Create(tx *bbolt.Tx) error {
	_, err := tx.CreateBucketIfNotExists(bucketName)
	return err
}

// Writer applies operations within one transaction at a time. Its memory is kept from one to the next.
type Writer struct {
	order   []order
	entries []Entry
	merged  []Entry
	key     [keyLen]byte
}

type order struct {
	host, url uint64
	index     int
}

// Apply does all operations and fills in what each found.
func (w *Writer) Apply(tx *bbolt.Tx, ops []Op) error {
	bucket := tx.Bucket(bucketName)
	if bucket == nil {
		return fmt.Errorf("bucket is missing: %w", ErrDamaged)
	}
	w.order = w.order[:0]
	for i := range ops {
		w.order = append(w.order, order{ops[i].Host, ops[i].URL &^ 0xff, i})
	}
	slices.SortFunc(w.order, func(a, b order) int {
		switch {
		case a.host != b.host:
			return cmp.Compare(a.host, b.host)
		case a.url != b.url:
			return cmp.Compare(a.url, b.url)
		}
		return a.index - b.index
	})
	c := bucket.Cursor()
	for i := 0; i < len(w.order); {
		n, err := w.block(bucket, c, ops, w.order[i:])
		if err != nil {
			return err
		}
		i += n
	}
	return nil
}

// block applies the operations that fall into the block of the first of them, and returns how many that were.
func (w *Writer) block(bucket *bbolt.Bucket, c *bbolt.Cursor, ops []Op, todo []order) (int, error) {
	host := todo[0].host
	k, v, err := find(c, host, todo[0].url)
	if err != nil {
		return 0, err
	}
	var least uint64 // key of the block
	var end uint64   // fingerprints from here on belong in the next block; 0: no next block
	w.entries = w.entries[:0]
	if k != nil {
		if err := verify(k, v); err != nil {
			return 0, err
		}
		least = binary.BigEndian.Uint64(k[8:])
		if nk, _ := c.Next(); len(nk) == keyLen && binary.BigEndian.Uint64(nk) == host {
			end = binary.BigEndian.Uint64(nk[8:])
		}
		// Most links are known, so most blocks stay as they are.
		if n, changed := same(v[sumLen:], ops, todo, end); !changed {
			return n, nil
		}
		w.entries = decode(w.entries, v)
	}
	// Both lists ascend: merge them.
	out, n, changed := w.merged[:0], 0, k == nil
	rest := w.entries
	for n < len(todo) && todo[n].host == host && (end == 0 || todo[n].url < end) {
		url := todo[n].url
		at, found := slices.BinarySearchFunc(rest, url, func(e Entry, u uint64) int { return cmp.Compare(e.Fingerprint(), u) })
		out = append(out, rest[:at]...)
		rest = rest[at:]
		var entry Entry
		if found {
			entry, rest = rest[0], rest[1:]
		}
		before, was := entry, found
		for ; n < len(todo) && todo[n].host == host && todo[n].url == url; n++ {
			op := &ops[todo[n].index]
			entry = op.apply(entry, found)
			found = found || op.Action != Peek
		}
		if found {
			out = append(out, entry)
			changed = changed || !was || entry != before
		}
	}
	out = append(out, rest...)
	w.merged = out
	if !changed || len(out) == 0 {
		return n, nil
	}
	return n, w.store(bucket, host, least, out)
}

// same applies the operations that fall into a block as long as they change nothing.
func same(block []byte, ops []Op, todo []order, end uint64) (n int, changed bool) {
	host := todo[0].host
	for ; n < len(todo) && todo[n].host == host && (end == 0 || todo[n].url < end); n++ {
		entry, found := search(block, todo[n].url)
		op := &ops[todo[n].index]
		if op.apply(entry, found) != entry || !found && op.Action != Peek {
			return 0, true
		}
	}
	return n, false
}

// search finds the entry of a fingerprint in the entries of a block.
func search(block []byte, url uint64) (Entry, bool) {
	low, high := 0, len(block)/8
	for low < high {
		mid := int(uint(low+high) / 2)
		if Entry(binary.LittleEndian.Uint64(block[8*mid:])).Fingerprint() < url {
			low = mid + 1
		} else {
			high = mid
		}
	}
	if low == len(block)/8 {
		return 0, false
	}
	e := Entry(binary.LittleEndian.Uint64(block[8*low:]))
	return e, e.Fingerprint() == url
}

// store writes the entries of what was one block, in as many as they need.
func (w *Writer) store(bucket *bbolt.Bucket, host, least uint64, entries []Entry) error {
	blocks := (len(entries) + MaxBlock - 1) / MaxBlock
	for i := range blocks {
		part := entries[i*len(entries)/blocks : (i+1)*len(entries)/blocks]
		if i > 0 {
			least = part[0].Fingerprint()
		}
		binary.BigEndian.PutUint64(w.key[:], host)
		binary.BigEndian.PutUint64(w.key[8:], least)
		if err := bucket.Put(w.key[:], encode(w.key[:], part)); err != nil {
			return fmt.Errorf("store block: %w", err)
		}
	}
	return nil
}

// find positions the cursor at the block to which a fingerprint belongs, nil when the host has none.
func find(c *bbolt.Cursor, host, url uint64) (k, v []byte, err error) {
	var key [keyLen]byte
	binary.BigEndian.PutUint64(key[:], host)
	binary.BigEndian.PutUint64(key[8:], url&^0xff)
	k, v = c.Seek(key[:])
	if k == nil || string(k) != string(key[:]) {
		if k == nil {
			k, v = c.Last()
		} else {
			k, v = c.Prev()
		}
	}
	if k == nil {
		return nil, nil, nil
	}
	if len(k) != keyLen {
		return nil, nil, fmt.Errorf("key %x: %w", k, ErrDamaged)
	}
	if binary.BigEndian.Uint64(k) != host {
		return nil, nil, nil
	}
	return k, v, nil
}

// A block is crc4 ‖ entry8…, little-endian; the CRC32C is over key and entries.
func encode(key []byte, entries []Entry) []byte {
	b := make([]byte, sumLen, sumLen+8*len(entries))
	for _, e := range entries {
		b = binary.LittleEndian.AppendUint64(b, uint64(e))
	}
	binary.LittleEndian.PutUint32(b, sum(key, b[sumLen:]))
	return b
}

// decode reads a verified block.
func decode(entries []Entry, v []byte) []Entry {
	for v = v[sumLen:]; len(v) > 0; v = v[8:] {
		entries = append(entries, Entry(binary.LittleEndian.Uint64(v)))
	}
	return entries
}

func verify(k, v []byte) error {
	if len(v) < sumLen+8 || len(v)%8 != sumLen || binary.LittleEndian.Uint32(v) != sum(k, v[sumLen:]) {
		return fmt.Errorf("block %x: %w", k, ErrDamaged)
	}
	return nil
}

func sum(key, value []byte) uint32 {
	return crc32.Update(crc32.Checksum(key, castagnoli), castagnoli, value)
}

var castagnoli = crc32.MakeTable(crc32.Castagnoli)

// Set reads the set within one transaction.
type Set struct {
	cursor *bbolt.Cursor
	host   uint64
	least  uint64
	end    uint64
	block  []byte // verified
}

// Read starts reading.
func Read(tx *bbolt.Tx) (*Set, error) {
	bucket := tx.Bucket(bucketName)
	if bucket == nil {
		return nil, fmt.Errorf("bucket is missing: %w", ErrDamaged)
	}
	return &Set{cursor: bucket.Cursor()}, nil
}

// Get reads one entry. Successive questions about one block cost no look-up.
func (s *Set) Get(host, url uint64) (Entry, bool, error) {
	url &^= 0xff
	if s.block == nil || host != s.host || url < s.least || s.end != 0 && url >= s.end {
		k, v, err := find(s.cursor, host, url)
		s.block = nil
		if err != nil || k == nil {
			return 0, false, err
		}
		if err := verify(k, v); err != nil {
			return 0, false, err
		}
		s.host, s.least, s.end, s.block = host, binary.BigEndian.Uint64(k[8:]), 0, v[sumLen:]
		if nk, _ := s.cursor.Next(); len(nk) == keyLen && binary.BigEndian.Uint64(nk) == host {
			s.end = binary.BigEndian.Uint64(nk[8:])
		}
	}
	if e, found := search(s.block, url); found {
		return e, true, nil
	}
	return 0, false, nil
}

// Host calls fn for the entries of one host, ascending, until it returns false.
func (s *Set) Host(host uint64, fn func(Entry) bool) error {
	var key [keyLen]byte
	binary.BigEndian.PutUint64(key[:], host)
	s.block = nil
	for k, v := s.cursor.Seek(key[:]); len(k) == keyLen && binary.BigEndian.Uint64(k) == host; k, v = s.cursor.Next() {
		if err := verify(k, v); err != nil {
			return err
		}
		for v = v[sumLen:]; len(v) > 0; v = v[8:] {
			if !fn(Entry(binary.LittleEndian.Uint64(v))) {
				return nil
			}
		}
	}
	return nil
}

// Each calls fn for every entry, host by host, after checking that the blocks are in order.
func Each(tx *bbolt.Tx, fn func(host uint64, e Entry) error) error {
	bucket := tx.Bucket(bucketName)
	if bucket == nil {
		return fmt.Errorf("bucket is missing: %w", ErrDamaged)
	}
	var last Entry
	var lastHost uint64
	started := false
	return bucket.ForEach(func(k, v []byte) error {
		if len(k) != keyLen {
			return fmt.Errorf("key %x: %w", k, ErrDamaged)
		}
		if err := verify(k, v); err != nil {
			return err
		}
		host, least := binary.BigEndian.Uint64(k), binary.BigEndian.Uint64(k[8:])
		first := !started || host != lastHost
		if first != (least == 0) {
			return fmt.Errorf("block %x is not the first of its host: %w", k, ErrDamaged)
		}
		for v = v[sumLen:]; len(v) > 0; v = v[8:] {
			e := Entry(binary.LittleEndian.Uint64(v))
			if e.Fingerprint() < least || !first && e.Fingerprint() <= last.Fingerprint() {
				return fmt.Errorf("block %x is not in order: %w", k, ErrDamaged)
			}
			if err := fn(host, e); err != nil {
				return err
			}
			last, first = e, false
		}
		lastHost, started = host, true
		return nil
	})
}
