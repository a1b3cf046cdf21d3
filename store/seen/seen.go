// Package seen answers whether a URL is known: exactly, on disk, in the transaction that stores the page.
//
// The fingerprints of one host lie packed and sorted in blocks of a page's size, keyed by host and by the least
// fingerprint that belongs in the block. A page's links are mostly links to its own host, so one block answers many of
// them. That takes 11 to 13 bytes per URL, where a key per URL takes 36 to 48, and no memory at all. A Bloom filter in
// front was measured and dropped: 85 % of the links are known, and a positive must be looked up all the same, since a
// false one would lose a URL.
//
// The new URLs of a page would fall into as many blocks as there are, each a page to be written. So a host of more than
// one block has a tail, where they gather until it is as long as a block and is dealt out.
//
// An entry is 8 bytes: the upper 56 bits of the URL's fingerprint, then one bit that says whether the page was visited
// (or given up), then 7 bits of reach: 0 of a requisite that is no page by itself, n + 1 of a page from which n links
// may be followed, 127 without limit. Invariants:
//
//   - within a host, entries ascend strictly, over blocks too; those of the tail ascend by themselves and are in no
//     block;
//   - the first block of a host has the key 0, so every fingerprint belongs in exactly one block;
//   - the reach of an entry never falls, and visited is taken back by Renew alone.
package seen

import (
	"bytes"
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
	reachBits  = 0x7f
)

// Reach is how far the crawl goes from a URL, in one number: 0 for a requisite, depthLeft + 1 for a page, at most 126;
// 127 for a page without limit.
func Reach(page bool, depthLeft uint8) uint8 {
	switch {
	case depthLeft >= reachBits:
		return reachBits
	case depthLeft == 0 && !page:
		return 0
	}
	return min(depthLeft+1, reachBits-1)
}

func depthLeft(reach uint8) uint8 {
	if reach == 0 || reach >= reachBits {
		return min(reach, reachBits)
	}
	return reach - 1
}

// Fingerprint is the fingerprint of the URL without its lowest eight bits.
func (e Entry) Fingerprint() uint64 { return uint64(e) &^ 0xff }

// Visited reports whether the page was visited or given up.
func (e Entry) Visited() bool { return e&visitedBit != 0 }

// Reach is the largest that was given for the URL.
func (e Entry) Reach() uint8 { return uint8(e & reachBits) }

// IsPage reports whether the URL is a page by itself, and not only a requisite of pages.
func (e Entry) IsPage() bool { return e.Reach() > 0 }

// DepthLeft is the largest number of links that may be followed from the page, 127: unlimited.
func (e Entry) DepthLeft() uint8 { return depthLeft(e.Reach()) }

// Action is what an operation does to an entry.
type Action uint8

// The actions.
const (
	Peek  Action = iota // only read it
	Know                // insert it, or raise its reach
	Visit               // likewise, and mark it visited
	Renew               // mark what is there as not visited
)

// Op is one operation on the set. Operations on the same URL take effect in the order in which they were handed in.
type Op struct {
	Host   uint64
	URL    uint64 // fingerprint
	Reach  uint8
	Action Action

	Old   Entry // what was there before, when Found
	Found bool
}

// DepthLeft is that of Reach.
func (o *Op) DepthLeft() uint8 { return depthLeft(o.Reach) }

func (o *Op) apply(old Entry, found bool) Entry {
	o.Old, o.Found = old, found
	if o.Action == Peek {
		return old
	}
	if o.Action == Renew {
		return old &^ visitedBit
	}
	e := Entry(o.URL&^0xff) | Entry(max(min(o.Reach, reachBits), old.Reach()))
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
	bucket *bbolt.Bucket
	cursor *bbolt.Cursor
	ops    []Op
	sorted []keyed
	merged []Entry
	key    [keyLen]byte

	// The tail of the host at hand, read when something is not in its block.
	tail    []Entry
	read    bool
	added   []Entry // ascending, not in the tail yet
	changed bool    // an entry of the tail has changed
}

type keyed struct {
	host, url uint64
	index     int
}

// Apply does all operations and fills in what each found.
func (w *Writer) Apply(tx *bbolt.Tx, ops []Op) error {
	if w.bucket = tx.Bucket(bucketName); w.bucket == nil {
		return fmt.Errorf("bucket is missing: %w", ErrDamaged)
	}
	w.cursor, w.ops = w.bucket.Cursor(), ops
	w.sorted = w.sorted[:0]
	for i := range ops {
		w.sorted = append(w.sorted, keyed{ops[i].Host, ops[i].URL &^ 0xff, i})
	}
	slices.SortFunc(w.sorted, func(a, b keyed) int {
		switch {
		case a.host != b.host:
			return cmp.Compare(a.host, b.host)
		case a.url != b.url:
			return cmp.Compare(a.url, b.url)
		}
		return a.index - b.index
	})
	for i := 0; i < len(w.sorted); {
		n := i + 1
		for n < len(w.sorted) && w.sorted[n].host == w.sorted[i].host {
			n++
		}
		if err := w.host(w.sorted[i:n]); err != nil {
			return err
		}
		i = n
	}
	w.bucket, w.cursor, w.ops = nil, nil, nil
	return nil
}

// host applies the operations on one host.
func (w *Writer) host(todo []keyed) error {
	host := todo[0].host
	w.tail, w.read, w.added, w.changed = w.tail[:0], false, w.added[:0], false
	for len(todo) > 0 {
		n, err := w.block(todo)
		if err != nil {
			return err
		}
		todo = todo[n:]
	}
	if len(w.added) == 0 && !w.changed {
		return nil
	}
	w.merged = merge(w.merged[:0], w.tail, w.added)
	if len(w.merged) <= MaxBlock {
		return w.put(host, tailLeast, w.merged)
	}
	w.tail = append(w.tail[:0], w.merged...)
	return w.deal(host)
}

// block applies the operations that fall into the block of the first of them, and returns how many that were.
func (w *Writer) block(todo []keyed) (n int, err error) {
	host := todo[0].host
	b, err := find(w.cursor, host, todo[0].url)
	if err != nil {
		return 0, err
	}
	// Most links are known, so most blocks stay as they are.
	gathers := b.least != 0 || b.end != 0 // a host of one block has no tail
	w.merged = w.merged[:0]
	taken, changed := 0, false // entries of the block that stand in merged
	for n < len(todo) && (b.end == 0 || todo[n].url < b.end) {
		url := todo[n].url
		at, found := b.search(url)
		entry, tailAt, inTail := Entry(0), 0, false
		if found {
			entry = b.at(at)
		} else if gathers {
			if err := w.readTail(host); err != nil {
				return 0, err
			}
			if tailAt, inTail = slices.BinarySearchFunc(w.tail, url, compareURL); inTail {
				entry = w.tail[tailAt]
			}
		}
		before, known := entry, found || inTail
		for is := known; n < len(todo) && todo[n].url == url; n++ {
			op := &w.ops[todo[n].index]
			entry = op.apply(entry, is)
			is = is || op.Action == Know || op.Action == Visit
			if n+1 == len(todo) || todo[n+1].url != url {
				switch {
				case known && entry == before, !is:
				case inTail:
					w.tail[tailAt], w.changed = entry, true
				case !known && gathers:
					w.added = append(w.added, entry)
				default:
					w.merged = append(b.append(w.merged, taken, at), entry)
					if taken = at; known {
						taken++
					}
					changed = true
				}
			}
		}
	}
	if !changed {
		return n, nil
	}
	w.merged = b.append(w.merged, taken, b.len())
	return n, w.put(host, b.least, w.merged)
}

func (w *Writer) readTail(host uint64) error {
	if w.read {
		return nil
	}
	tail, err := readTail(w.bucket, host)
	if err != nil {
		return err
	}
	w.tail, w.read = tail.append(w.tail, 0, tail.len()), true
	return nil
}

// deal puts the entries of the tail into their blocks and deletes it.
func (w *Writer) deal(host uint64) error {
	for rest := w.tail; len(rest) > 0; {
		b, err := find(w.cursor, host, rest[0].Fingerprint())
		if err != nil {
			return err
		}
		n := len(rest)
		if b.end != 0 {
			n, _ = slices.BinarySearchFunc(rest, b.end, compareURL)
		}
		w.added = b.append(w.added[:0], 0, b.len())
		w.merged = merge(w.merged[:0], w.added, rest[:n])
		if err := w.put(host, b.least, w.merged); err != nil {
			return err
		}
		rest = rest[n:]
	}
	key := keyOf(host, tailLeast)
	if err := w.bucket.Delete(key[:]); err != nil {
		return fmt.Errorf("delete tail: %w", err)
	}
	return nil
}

// put writes the entries of what was one block, in as many as they need.
func (w *Writer) put(host, least uint64, entries []Entry) error {
	blocks := (len(entries) + MaxBlock - 1) / MaxBlock
	for i := range blocks {
		part := entries[i*len(entries)/blocks : (i+1)*len(entries)/blocks]
		if i > 0 {
			least = part[0].Fingerprint()
		}
		w.key = keyOf(host, least)
		if err := w.bucket.Put(w.key[:], encode(w.key[:], part)); err != nil {
			return fmt.Errorf("store block: %w", err)
		}
	}
	return nil
}

// merge appends two ascending lists as one.
func merge(out, a, b []Entry) []Entry {
	for len(a) > 0 && len(b) > 0 {
		if a[0] < b[0] {
			out, a = append(out, a[0]), a[1:]
		} else {
			out, b = append(out, b[0]), b[1:]
		}
	}
	return append(append(out, a...), b...)
}

func compareURL(e Entry, url uint64) int { return cmp.Compare(e.Fingerprint(), url) }

// tailLeast stands in the key of a tail, behind every fingerprint.
const tailLeast = 1<<64 - 1

func keyOf(host, least uint64) (key [keyLen]byte) {
	binary.BigEndian.PutUint64(key[:], host)
	binary.BigEndian.PutUint64(key[8:], least)
	return key
}

// block is one verified block as it lies on disk, and the range of fingerprints that belong in it.
type block struct {
	entries    []byte
	least, end uint64 // from least to before end; end 0: to the last
}

func (b *block) len() int { return len(b.entries) / 8 }

func (b *block) at(i int) Entry { return Entry(binary.LittleEndian.Uint64(b.entries[8*i:])) }

func (b *block) append(out []Entry, from, to int) []Entry {
	for i := from; i < to; i++ {
		out = append(out, b.at(i))
	}
	return out
}

// search finds where a fingerprint is or would be.
func (b *block) search(url uint64) (at int, found bool) {
	low, high := 0, b.len()
	for low < high {
		mid := int(uint(low+high) / 2)
		if b.at(mid).Fingerprint() < url {
			low = mid + 1
		} else {
			high = mid
		}
	}
	return low, low < b.len() && b.at(low).Fingerprint() == url
}

// find reads the block to which a fingerprint belongs, an empty one when the host has none.
func find(c *bbolt.Cursor, host, url uint64) (b block, err error) {
	key := keyOf(host, url&^0xff)
	k, v := c.Seek(key[:])
	if k == nil {
		k, v = c.Last()
	} else if string(k) != string(key[:]) {
		k, v = c.Prev()
	}
	if k == nil {
		return b, nil
	}
	if len(k) != keyLen {
		return b, fmt.Errorf("key %x: %w", k, ErrDamaged)
	}
	if binary.BigEndian.Uint64(k) != host {
		return b, nil
	}
	if err := verify(k, v); err != nil {
		return b, err
	}
	b.entries, b.least = v[sumLen:], binary.BigEndian.Uint64(k[8:])
	if nk, _ := c.Next(); len(nk) == keyLen && binary.BigEndian.Uint64(nk) == host {
		if end := binary.BigEndian.Uint64(nk[8:]); end != tailLeast {
			b.end = end
		}
	}
	return b, nil
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
	bucket *bbolt.Bucket
	cursor *bbolt.Cursor
	host   uint64
	block  block
	read   bool // block is one of host
	tail   block
	tailOf uint64
	tailed bool // tail is the one of tailOf
}

// Read starts reading.
func Read(tx *bbolt.Tx) (*Set, error) {
	bucket := tx.Bucket(bucketName)
	if bucket == nil {
		return nil, fmt.Errorf("bucket is missing: %w", ErrDamaged)
	}
	return &Set{bucket: bucket, cursor: bucket.Cursor()}, nil
}

// Get reads one entry. Successive questions about one block cost no look-up.
func (s *Set) Get(host, url uint64) (Entry, bool, error) {
	url &^= 0xff
	if !s.read || host != s.host || url < s.block.least || s.block.end != 0 && url >= s.block.end {
		var err error
		s.read = false
		if s.block, err = find(s.cursor, host, url); err != nil {
			return 0, false, err
		}
		s.host, s.read = host, true
	}
	if at, found := s.block.search(url); found {
		return s.block.at(at), true, nil
	}
	if s.block.least == 0 && s.block.end == 0 {
		return 0, false, nil
	}
	if !s.tailed || s.tailOf != host {
		var err error
		s.tailed = false
		if s.tail, err = readTail(s.bucket, host); err != nil {
			return 0, false, err
		}
		s.tailOf, s.tailed = host, true
	}
	if at, found := s.tail.search(url); found {
		return s.tail.at(at), true, nil
	}
	return 0, false, nil
}

func readTail(bucket *bbolt.Bucket, host uint64) (b block, err error) {
	key := keyOf(host, tailLeast)
	if v := bucket.Get(key[:]); v != nil {
		if err := verify(key[:], v); err != nil {
			return b, err
		}
		b.entries = v[sumLen:]
	}
	return b, nil
}

// Host calls fn for the entries of one host, ascending, until it returns false.
func (s *Set) Host(host uint64, fn func(Entry) bool) error {
	key := keyOf(host, 0)
	err := each(s.bucket, key[:8], func(_ uint64, e Entry) error {
		if !fn(e) {
			return errEnough
		}
		return nil
	})
	if err == errEnough {
		return nil
	}
	return err
}

var errEnough = errors.New("enough")

// Each calls fn for every entry, host by host, ascending, after checking that the blocks are in order.
func Each(tx *bbolt.Tx, fn func(host uint64, e Entry) error) error {
	bucket := tx.Bucket(bucketName)
	if bucket == nil {
		return fmt.Errorf("bucket is missing: %w", ErrDamaged)
	}
	return each(bucket, nil, fn)
}

func each(bucket *bbolt.Bucket, prefix []byte, fn func(host uint64, e Entry) error) error {
	w := walk{fn: fn}
	c := bucket.Cursor()
	for k, v := c.Seek(prefix); k != nil && bytes.HasPrefix(k, prefix); k, v = c.Next() {
		if len(k) != keyLen {
			return fmt.Errorf("key %x: %w", k, ErrDamaged)
		}
		if err := verify(k, v); err != nil {
			return err
		}
		host, b := binary.BigEndian.Uint64(k), block{entries: v[sumLen:], least: binary.BigEndian.Uint64(k[8:])}
		first := !w.started || host != w.host
		if first != (b.least == 0) {
			return fmt.Errorf("block %x is not the first of its host: %w", k, ErrDamaged)
		}
		if b.least == tailLeast {
			continue
		}
		if first {
			if err := w.endHost(); err != nil {
				return err
			}
			tail, err := readTail(bucket, host)
			if err != nil {
				return err
			}
			w.host, w.started, w.tail, w.some = host, true, tail, false
		}
		for i := range b.len() {
			e := b.at(i)
			if err := w.tailBefore(e.Fingerprint()); err != nil {
				return err
			}
			if e.Fingerprint() < b.least {
				return fmt.Errorf("block %x is not in order: %w", k, ErrDamaged)
			}
			if err := w.next(e); err != nil {
				return err
			}
		}
	}
	return w.endHost()
}

// walk goes through blocks and tail of a host side by side.
type walk struct {
	fn      func(uint64, Entry) error
	started bool
	host    uint64
	tail    block
	last    Entry
	some    bool // last is one of the host
}

// tailBefore walks the entries of the tail below a fingerprint.
func (w *walk) tailBefore(url uint64) error {
	for w.tail.len() > 0 && w.tail.at(0).Fingerprint() < url {
		e := w.tail.at(0)
		w.tail.entries = w.tail.entries[8:]
		if err := w.next(e); err != nil {
			return err
		}
	}
	return nil
}

func (w *walk) endHost() error { return w.tailBefore(tailLeast) }

func (w *walk) next(e Entry) error {
	if w.some && e.Fingerprint() <= w.last.Fingerprint() {
		return fmt.Errorf("host %016x is not in order at %x: %w", w.host, e.Fingerprint(), ErrDamaged)
	}
	w.last, w.some = e, true
	return w.fn(w.host, e)
}
