package timequeue

import (
	"encoding/binary"
	"fmt"
	"maps"
	"math"
	"slices"

	"go.etcd.io/bbolt"
)

// Writer changes the queue within one transaction at a time. Its memory is kept from one to the next.
type Writer struct {
	resolution Resolution
	opened     uint32
	queue      *bbolt.Bucket
	done       *bbolt.Bucket
	buffers    map[Slot]*buffer
	idle       []*buffer
	touched    map[Slot]*touched
	last       *touched // the slot touched last, since records are taken in their order; nil: none
	arena      arena
}

// buffer is the write buffer of one slot.
type buffer struct {
	records []byte // (length ‖ record)…
	count   int
}

// touched is a slot of which bits are read or set in this transaction.
type touched struct {
	slot       Slot
	bucket     *bbolt.Bucket
	generation uint32
	total      uint32 // records put into the slot, the ended ones too
	done       uint32 // bits set
	blocks     map[uint32]*block
	dirty      bool
	cursor     *bbolt.Cursor
	first      uint32 // ordinal of the first record of the chunk read last, at which the cursor stands
	chunk      Chunk  // nil: none was read, or the bucket has changed since
}

type block struct {
	value []byte
	dirty bool
}

// NewWriter returns a writer for a resolution.
func NewWriter(r Resolution) *Writer {
	return &Writer{resolution: r, buffers: map[Slot]*buffer{}, touched: map[Slot]*touched{}}
}

// Begin starts working in a transaction, once in each, since bbolt holds on to the writer's memory until it ends.
// opened is the minute up to which slots have opened; it must not be before any given to Read.
func (w *Writer) Begin(tx *bbolt.Tx, opened uint32) error {
	w.opened = opened
	w.queue, w.done = tx.Bucket(queueBucket), tx.Bucket(doneBucket)
	if w.queue == nil || w.done == nil {
		return fmt.Errorf("time queue: buckets are missing: %w", ErrDamaged)
	}
	for slot, b := range w.buffers {
		w.release(slot, b)
	}
	clear(w.touched)
	w.last = nil
	w.arena.reset()
	return nil
}

func (w *Writer) release(slot Slot, b *buffer) {
	delete(w.buffers, slot)
	b.records, b.count = b.records[:0], 0
	w.idle = append(w.idle, b)
}

// Put adds a record to the slot of its due time; it is copied. Flush stores it.
func (w *Writer) Put(record []byte) {
	slot := w.resolution.Slot(DueOf(record), w.opened)
	b := w.buffers[slot]
	if b == nil {
		if n := len(w.idle); n > 0 {
			b, w.idle = w.idle[n-1], w.idle[:n-1]
		} else {
			b = new(buffer)
		}
		w.buffers[slot] = b
	}
	b.records = binary.AppendUvarint(b.records, uint64(len(record)))
	b.records = append(b.records, record...)
	b.count++
}

// touch loads a slot, nil when it does not exist.
func (w *Writer) touch(slot Slot) (*touched, error) {
	if w.last != nil && w.last.slot == slot {
		return w.last, nil
	}
	if t, ok := w.touched[slot]; ok {
		w.last = t
		return t, nil
	}
	key := slot.key()
	bucket := w.queue.Bucket(key)
	if bucket == nil {
		return nil, nil
	}
	t := &touched{slot: slot, bucket: bucket, generation: uint32(bucket.Sequence()), blocks: map[uint32]*block{},
		cursor: bucket.Cursor()}
	if k, v := t.cursor.Last(); k != nil {
		first, c, err := verify(slot, t.generation, k, v)
		if err != nil {
			return nil, err
		}
		t.total = first + uint32(c.Count())
	}
	var err error
	if t.done, err = countOf(w.done, slot); err != nil {
		return nil, err
	}
	w.touched[slot], w.last = t, t
	return t, nil
}

// countOf reads how many bits of a slot are set.
func countOf(done *bbolt.Bucket, slot Slot) (uint32, error) {
	key := slot.key()
	v := done.Get(key)
	switch {
	case v == nil:
		return 0, nil
	case !guarded(key, v, countLen):
		return 0, fmt.Errorf("bits of slot %v: %w", slot, ErrDamaged)
	}
	return binary.LittleEndian.Uint32(v[4:]), nil
}

func (w *Writer) block(slot Slot, t *touched, n uint32) (*block, error) {
	if b := t.blocks[n]; b != nil {
		return b, nil
	}
	b := &block{value: w.arena.take(blockLen)}
	key := blockKey(slot, n)
	v := w.done.Get(key)
	switch {
	case v == nil:
		clear(b.value)
	case !guarded(key, v, blockLen):
		return nil, fmt.Errorf("bits of slot %v: %w", slot, ErrDamaged)
	default:
		copy(b.value, v)
	}
	t.blocks[n] = b
	return b, nil
}

func blockKey(slot Slot, n uint32) []byte { return binary.BigEndian.AppendUint32(slot.key(), n) }

// get returns the live record at a reference and the block with its bit; nil when the reference has ended.
func (w *Writer) get(ref Ref) ([]byte, *touched, *block, error) {
	t, err := w.touch(ref.Slot)
	if err != nil || t == nil || t.generation != ref.Generation || ref.Ordinal >= t.total {
		return nil, nil, nil, err
	}
	b, err := w.block(ref.Slot, t, ref.Ordinal/blockBits)
	if err != nil {
		return nil, nil, nil, err
	}
	if b.value[4+ref.Ordinal%blockBits/8]&(1<<(ref.Ordinal%8)) != 0 {
		return nil, nil, nil, nil
	}
	if t.chunk == nil || ref.Ordinal < t.first || ref.Ordinal >= t.first+uint32(t.chunk.Count()) {
		k, v := t.seek(ref.Ordinal)
		t.chunk = nil
		if t.first, t.chunk, err = verify(ref.Slot, t.generation, k, v); err != nil {
			return nil, nil, nil, err
		}
	}
	rec := t.chunk.At(int(ref.Ordinal - t.first))
	if rec == nil {
		return nil, nil, nil, fmt.Errorf("slot %v, record %d: %w", ref.Slot, ref.Ordinal, ErrDamaged)
	}
	return rec, t, b, nil
}

// nearby is how many chunks are stepped over before the tree is searched from its root: records are taken in their
// order, and of a slot whose visits end over minutes every second chunk or third is wanted.
const nearby = 3

// seek finds the chunk that holds an ordinal, from where the cursor stands if that is near.
func (t *touched) seek(ordinal uint32) (k, v []byte) {
	if t.chunk != nil && ordinal > t.first {
		for range nearby {
			k, v = t.cursor.Next()
			if len(k) != 4 || len(v) < chunkHeader {
				break
			}
			if first := binary.BigEndian.Uint32(k); ordinal-first < uint32(Chunk(v).Count()) {
				return k, v
			}
		}
	}
	return seekChunk(t.cursor, ordinal)
}

// seekChunk finds the chunk that holds an ordinal.
func seekChunk(c *bbolt.Cursor, ordinal uint32) (k, v []byte) {
	var key [4]byte
	binary.BigEndian.PutUint32(key[:], ordinal)
	k, v = c.Seek(key[:])
	switch {
	case k == nil:
		k, v = c.Last()
	case binary.BigEndian.Uint32(k) != ordinal:
		k, v = c.Prev()
	}
	return k, v
}

// Take returns the live record at a reference and ends it, if ours says that it is the right one; nil when it is not,
// or has ended before.
func (w *Writer) Take(ref Ref, ours func(record []byte) bool) ([]byte, error) {
	rec, t, b, err := w.get(ref)
	if rec != nil {
		if !ours(rec) {
			return nil, nil
		}
		b.value[4+ref.Ordinal%blockBits/8] |= 1 << (ref.Ordinal % 8)
		b.dirty, t.dirty = true, true
		t.done++
	}
	return rec, err
}

// Pending reports whether coarse slots wait to be split.
func (w *Writer) Pending() bool {
	return slices.ContainsFunc(w.resolution.splits(w.opened),
		func(s Slot) bool { return w.queue.Bucket(s.key()) != nil })
}

// Split moves up to max records from coarse slots that have come near into finer ones, and reports how many it moved
// and whether any remain.
func (w *Writer) Split(max int) (moved int, remain bool, err error) {
	for _, slot := range w.resolution.splits(w.opened) {
		t, err := w.touch(slot)
		if err != nil {
			return moved, false, err
		}
		if t == nil || t.done == t.total {
			continue
		}
		n, err := w.split(slot, t, max-moved)
		moved += n
		if err != nil {
			return moved, false, err
		}
		if t.done < t.total {
			return moved, true, nil
		}
	}
	return moved, false, nil
}

func (w *Writer) split(slot Slot, t *touched, max int) (moved int, err error) {
	start, err := w.firstLive(slot, t)
	if err != nil {
		return 0, err
	}
	c := t.bucket.Cursor()
	for k, v := seekChunk(c, start); k != nil && moved < max; k, v = c.Next() {
		ord, chunk, err := verify(slot, t.generation, k, v)
		if err != nil {
			return moved, err
		}
		records := chunk.Records()
		for ; ; ord++ {
			rec := records.Next()
			if rec == nil {
				break
			}
			b, err := w.block(slot, t, ord/blockBits)
			if err != nil {
				return moved, err
			}
			bit := byte(1) << (ord % 8)
			if b.value[4+ord%blockBits/8]&bit != 0 {
				continue
			}
			b.value[4+ord%blockBits/8] |= bit
			b.dirty, t.dirty = true, true
			t.done++
			w.Put(rec)
			moved++
		}
	}
	return moved, nil
}

// firstLive finds where the first record whose bit is not set lies, or at most seven records before it.
func (w *Writer) firstLive(slot Slot, t *touched) (uint32, error) {
	for n := uint32(0); n*blockBits < t.total; n++ {
		b, err := w.block(slot, t, n)
		if err != nil {
			return 0, err
		}
		for i, x := range b.value[4:] {
			if x != 0xff {
				return min(n*blockBits+uint32(i*8), t.total-1), nil
			}
		}
	}
	return 0, nil
}

// Flush stores what was put and taken, slots in the order of time, and deletes the slots that have nothing live any
// more.
func (w *Writer) Flush() error {
	slots := slices.SortedFunc(maps.Keys(w.buffers), Slot.compare)
	for _, slot := range slots {
		b := w.buffers[slot]
		if err := w.append(slot, b); err != nil {
			return err
		}
		w.release(slot, b)
	}
	slots = slots[:0]
	for slot, t := range w.touched {
		if t.dirty {
			slots = append(slots, slot)
		}
	}
	slices.SortFunc(slots, Slot.compare)
	for _, slot := range slots {
		if err := w.settle(slot, w.touched[slot]); err != nil {
			return err
		}
	}
	return nil
}

// append stores a buffer at the end of its slot, filling the last chunk first.
func (w *Writer) append(slot Slot, b *buffer) error {
	key := slot.key()
	bucket := w.queue.Bucket(key)
	if bucket == nil {
		var err error
		if bucket, err = w.queue.CreateBucket(key); err != nil {
			return fmt.Errorf("make slot %v: %w", slot, err)
		}
		generation, err := w.queue.NextSequence()
		if err == nil {
			err = bucket.SetSequence(generation)
		}
		if err != nil {
			return fmt.Errorf("number slot %v: %w", slot, err)
		}
	}
	bucket.FillPercent = 1
	generation := uint32(bucket.Sequence())
	var first uint32
	var last Chunk
	if k, v := bucket.Cursor().Last(); k != nil {
		var err error
		if first, last, err = verify(slot, generation, k, v); err != nil {
			return err
		}
	}
	if uint64(first)+uint64(last.count())+uint64(b.count) > math.MaxUint32 {
		return fmt.Errorf("slot %v is full", slot)
	}
	chunk := Chunk(nil)
	for rest := b.records; len(rest) > 0; {
		n, k := binary.Uvarint(rest)
		whole := k + int(n)
		if chunk == nil {
			if last != nil && len(last)+whole <= MaxChunk && last.Count() < maxCount {
				chunk = append(w.arena.take(MaxChunk)[:0], last...)
			} else {
				if last != nil {
					first += uint32(last.Count())
				}
				chunk = NewChunk(w.arena.take(max(MaxChunk, chunkHeader+whole)))
			}
		} else if len(chunk)+whole > MaxChunk || chunk.Count() == maxCount {
			if err := putChunk(bucket, Ref{slot, generation, first}, chunk); err != nil {
				return err
			}
			first += uint32(chunk.Count())
			chunk = NewChunk(w.arena.take(max(MaxChunk, chunkHeader+whole)))
		}
		chunk = append(chunk, rest[:whole]...)
		binary.LittleEndian.PutUint16(chunk[6:], uint16(chunk.Count()+1))
		rest = rest[whole:]
	}
	if err := putChunk(bucket, Ref{slot, generation, first}, chunk); err != nil {
		return err
	}
	if t := w.touched[slot]; t != nil {
		t.total = first + uint32(chunk.Count())
		t.chunk = nil
	}
	return nil
}

func (c Chunk) count() int {
	if c == nil {
		return 0
	}
	return c.Count()
}

func putChunk(bucket *bbolt.Bucket, first Ref, chunk Chunk) error {
	var key [RefLen]byte
	chunk.Seal(first.Append(key[:0]))
	if err := bucket.Put(key[RefLen-4:], chunk); err != nil {
		return fmt.Errorf("slot %v: %w", first.Slot, err)
	}
	return nil
}

// settle stores the bits of a slot, or deletes it when they are all set.
func (w *Writer) settle(slot Slot, t *touched) error {
	key := slot.key()
	if t.done == t.total {
		if err := w.queue.DeleteBucket(key); err != nil {
			return fmt.Errorf("delete slot %v: %w", slot, err)
		}
		if err := w.done.Delete(key); err != nil {
			return fmt.Errorf("delete bits of slot %v: %w", slot, err)
		}
		for n := uint32(0); n*blockBits < t.total; n++ {
			if err := w.done.Delete(blockKey(slot, n)); err != nil {
				return fmt.Errorf("delete bits of slot %v: %w", slot, err)
			}
		}
		delete(w.touched, slot)
		w.last = nil
		return nil
	}
	count := w.arena.take(countLen)
	binary.LittleEndian.PutUint32(count[4:], t.done)
	binary.LittleEndian.PutUint32(count, Sum(key, count[4:]))
	if err := w.done.Put(key, count); err != nil {
		return fmt.Errorf("bits of slot %v: %w", slot, err)
	}
	for n, b := range t.blocks {
		if !b.dirty {
			continue
		}
		key := blockKey(slot, n)
		binary.LittleEndian.PutUint32(b.value, Sum(key, b.value[4:]))
		if err := w.done.Put(key, b.value); err != nil {
			return fmt.Errorf("bits of slot %v: %w", slot, err)
		}
		b.dirty = false
	}
	t.dirty = false
	return nil
}

// arena hands out memory that bbolt holds on to until the transaction ends.
type arena struct {
	blocks [][]byte
	used   int // blocks in use; the last of them is being filled
	fill   int
}

const arenaBlock = 1 << 18

func (a *arena) reset() { a.used, a.fill = 0, arenaBlock }

func (a *arena) take(n int) []byte {
	if n > arenaBlock {
		return make([]byte, n)
	}
	if a.used == 0 || a.fill+n > arenaBlock {
		if a.used == len(a.blocks) {
			a.blocks = append(a.blocks, make([]byte, arenaBlock))
		}
		a.used++
		a.fill = 0
	}
	b := a.blocks[a.used-1][a.fill : a.fill+n : a.fill+n]
	a.fill += n
	return b
}
