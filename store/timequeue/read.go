package timequeue

import (
	"fmt"
	"math"
	"math/bits"
	"time"

	"go.etcd.io/bbolt"
)

// reader reads the live records of one slot within one transaction.
type reader struct {
	done  *bbolt.Bucket
	slot  Slot
	n     uint32
	block []byte
	valid bool
}

func (r *reader) live(ordinal uint32) (bool, error) {
	if n := ordinal / blockBits; !r.valid || n != r.n {
		key := blockKey(r.slot, n)
		v := r.done.Get(key)
		if v != nil && !guarded(key, v, blockLen) {
			return false, fmt.Errorf("bits of slot %v: %w", r.slot, ErrDamaged)
		}
		r.n, r.block, r.valid = n, v, true
	}
	return r.block == nil || r.block[4+ordinal%blockBits/8]&(1<<(ordinal%8)) == 0, nil
}

// errEnough ends a walk.
var errEnough = fmt.Errorf("enough")

// walk calls fn for the live records of one slot from an ordinal on.
func walk(queue, done *bbolt.Bucket, slot Slot, from Ref, fn func(Ref, []byte) error) error {
	bucket := queue.Bucket(slot.key())
	if bucket == nil {
		return fmt.Errorf("slot %v is no bucket: %w", slot, ErrDamaged)
	}
	ref := Ref{Slot: slot, Generation: uint32(bucket.Sequence())}
	start := uint32(0)
	if from.Slot == slot && from.Generation == ref.Generation {
		start = from.Ordinal + 1
	}
	r := reader{done: done, slot: slot}
	c := bucket.Cursor()
	for k, v := seekChunk(c, start); k != nil; k, v = c.Next() {
		first, chunk, err := verify(slot, ref.Generation, k, v)
		if err != nil {
			return err
		}
		ref.Ordinal = first
		records := chunk.Records()
		for rec := records.Next(); rec != nil; rec = records.Next() {
			if ref.Ordinal >= start {
				ok, err := r.live(ref.Ordinal)
				if err != nil {
					return err
				}
				if ok {
					if err := fn(ref, rec); err != nil {
						return err
					}
				}
			}
			ref.Ordinal++
		}
	}
	return nil
}

// Read calls fn for up to limit live records of slots that have opened by a minute, behind a reference (zero: from the
// start), in the order of slots. It returns the reference of the last one, or the one given. Records are valid until
// the transaction ends.
func Read(tx *bbolt.Tx, opened uint32, after Ref, limit int, fn func(Ref, []byte) error) (Ref, error) {
	queue, done := tx.Bucket(queueBucket), tx.Bucket(doneBucket)
	if queue == nil || done == nil {
		return after, fmt.Errorf("time queue: buckets are missing: %w", ErrDamaged)
	}
	last := after
	c := queue.Cursor()
	for k, _ := c.Seek(after.Slot.key()); k != nil && limit > 0; k, _ = c.Next() {
		slot, err := parseSlot(k)
		if err != nil {
			return last, err
		}
		if slot.Opens > opened {
			break
		}
		err = walk(queue, done, slot, after, func(ref Ref, rec []byte) error {
			if limit == 0 {
				return errEnough
			}
			limit--
			last = ref
			return fn(ref, rec)
		})
		if err != nil && err != errEnough {
			return last, err
		}
	}
	return last, nil
}

func parseSlot(k []byte) (Slot, error) {
	if len(k) != slotKeyLen || k[4] > byte(Rest) {
		return Slot{}, fmt.Errorf("slot key %x: %w", k, ErrDamaged)
	}
	return slotOf(k), nil
}

// Each calls fn for every live record, whenever due, until it returns an error.
func Each(tx *bbolt.Tx, fn func(Ref, []byte) error) error {
	_, err := Read(tx, math.MaxUint32, Ref{}, math.MaxInt, fn)
	return err
}

// At returns the live record at a reference, nil when it has ended.
func At(tx *bbolt.Tx, ref Ref) ([]byte, error) {
	queue, done := tx.Bucket(queueBucket), tx.Bucket(doneBucket)
	if queue == nil || done == nil {
		return nil, fmt.Errorf("time queue: buckets are missing: %w", ErrDamaged)
	}
	bucket := queue.Bucket(ref.Slot.key())
	if bucket == nil || uint32(bucket.Sequence()) != ref.Generation {
		return nil, nil
	}
	r := reader{done: done, slot: ref.Slot}
	if ok, err := r.live(ref.Ordinal); err != nil || !ok {
		return nil, err
	}
	k, v := seekChunk(bucket.Cursor(), ref.Ordinal)
	first, chunk, err := verify(ref.Slot, ref.Generation, k, v)
	if err != nil {
		return nil, err
	}
	return chunk.At(int(ref.Ordinal - first)), nil
}

// Next is the earliest moment at which a slot behind a reference opens or wants to be split; zero: none ever does.
func Next(tx *bbolt.Tx, after Ref) (time.Time, error) {
	queue := tx.Bucket(queueBucket)
	if queue == nil {
		return time.Time{}, fmt.Errorf("time queue: buckets are missing: %w", ErrDamaged)
	}
	next := uint32(math.MaxUint32)
	c := queue.Cursor()
	for k, _ := c.Seek(after.Slot.key()); k != nil; k, _ = c.Next() {
		slot, err := parseSlot(k)
		if err != nil {
			return time.Time{}, err
		}
		if slot.Level == Rest || slot.Opens > next && slot.Opens-next > 2*day {
			break
		}
		if slot != after.Slot {
			next = min(next, slot.wakes())
		}
	}
	if next == math.MaxUint32 {
		return time.Time{}, nil
	}
	return moment(next), nil
}

// Slots calls fn for every slot with the counts of its records and of those that have ended, after comparing them with
// the bits.
func Slots(tx *bbolt.Tx, fn func(slot Slot, total, ended uint32) error) error {
	queue, done := tx.Bucket(queueBucket), tx.Bucket(doneBucket)
	if queue == nil || done == nil {
		return fmt.Errorf("time queue: buckets are missing: %w", ErrDamaged)
	}
	c := queue.Cursor()
	for k, _ := c.First(); k != nil; k, _ = c.Next() {
		slot, err := parseSlot(k)
		if err != nil {
			return err
		}
		bucket := queue.Bucket(k)
		if bucket == nil {
			return fmt.Errorf("slot %v is no bucket: %w", slot, ErrDamaged)
		}
		total := uint32(0)
		if err := bucket.ForEach(func(k, v []byte) error {
			first, chunk, err := verify(slot, uint32(bucket.Sequence()), k, v)
			if err != nil {
				return err
			}
			if first != total {
				return fmt.Errorf("slot %v: chunk %d does not follow record %d: %w", slot, first, total, ErrDamaged)
			}
			records, n := chunk.Records(), 0
			for records.Next() != nil {
				n++
			}
			if n != chunk.Count() || n == 0 {
				return fmt.Errorf("slot %v, chunk %d: %d records of %d: %w", slot, first, n, chunk.Count(), ErrDamaged)
			}
			total += uint32(n)
			return nil
		}); err != nil {
			return err
		}
		ended := uint32(0)
		dc := done.Cursor()
		for dk, dv := dc.Seek(k); dk != nil && string(dk[:min(len(dk), slotKeyLen)]) == string(k); dk, dv = dc.Next() {
			if len(dk) == slotKeyLen {
				continue
			}
			if !guarded(dk, dv, blockLen) {
				return fmt.Errorf("bits of slot %v: %w", slot, ErrDamaged)
			}
			for _, x := range dv[4:] {
				ended += uint32(bits.OnesCount8(x))
			}
		}
		stored, err := countOf(done, slot)
		if err != nil {
			return err
		}
		if stored != ended || ended >= total {
			return fmt.Errorf("slot %v: %d records, %d bits set, %d counted: %w", slot, total, ended, stored,
				ErrDamaged)
		}
		if err := fn(slot, total, ended); err != nil {
			return err
		}
	}
	return nil
}
