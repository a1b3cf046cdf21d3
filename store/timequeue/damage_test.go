package timequeue

import (
	"bytes"
	"encoding/binary"
	"errors"
	"math"
	"slices"
	"testing"

	"go.etcd.io/bbolt"
)

// damaged is a queue of one slot with several chunks, some of whose records have ended, within one transaction.
type damaged struct {
	*testing.T
	tx                *bbolt.Tx
	queue, done, slot *bbolt.Bucket
	refs              []Ref // of the live records
}

// chunk is the n-th chunk of the slot.
func (d *damaged) chunk(n int) (key []byte, c Chunk) {
	cursor := d.slot.Cursor()
	k, v := cursor.First()
	for range n {
		k, v = cursor.Next()
	}
	return bytes.Clone(k), bytes.Clone(v)
}

// put stores a chunk with the right sum.
func (d *damaged) put(ordinal uint32, c Chunk) error {
	return putChunk(d.slot, Ref{d.refs[0].Slot, d.refs[0].Generation, ordinal}, c)
}

// bits stores a value of the bits with the right sum.
func (d *damaged) bits(key, v []byte) error {
	binary.LittleEndian.PutUint32(v, Sum(key, v[4:]))
	return d.done.Put(key, v)
}

// The ways to meet damage.
var meetings = map[string]func(*damaged) error{
	"slots": func(d *damaged) error { return Slots(d.tx, func(Slot, uint32, uint32) error { return nil }) },
	"each":  func(d *damaged) error { return Each(d.tx, func(Ref, []byte) error { return nil }) },
	"read": func(d *damaged) error {
		_, err := Read(d.tx, math.MaxUint32, Ref{}, 1000, func(Ref, []byte) error { return nil })
		return err
	},
	"next": func(d *damaged) error { _, err := Next(d.tx, Ref{}); return err },
	"at": func(d *damaged) (err error) {
		for _, ref := range d.refs {
			_, once := At(d.tx, ref)
			err = errors.Join(err, once)
		}
		return err
	},
	"take": func(d *damaged) error {
		w := NewWriter(ByMinute)
		err := w.Begin(d.tx, 1000)
		for _, ref := range d.refs {
			if err == nil {
				_, err = w.Take(ref, any)
			}
		}
		return err
	},
	"put": func(d *damaged) error {
		w := NewWriter(ByMinute)
		if err := w.Begin(d.tx, 1000); err != nil {
			return err
		}
		w.Put(record(1005*60, 100, 200))
		return w.Flush()
	},
}

// TestDamageOfTheQueueIsNamed: whatever is not as Flush leaves it is ErrDamaged to those who meet it, and to no other.
func TestDamageOfTheQueueIsNamed(t *testing.T) {
	db, w, rollback := openDB(t), NewWriter(ByMinute), errors.New("as before")
	var refs []Ref
	if err := db.Update(func(tx *bbolt.Tx) error {
		err := w.Begin(tx, 1000)
		for id := range uint32(60) {
			w.Put(record(1005*60, id, 200))
		}
		if err = errors.Join(err, w.Flush(), Each(tx, func(ref Ref, _ []byte) error {
			refs = append(refs, ref)
			return nil
		})); err != nil {
			return err
		}
		_, err = w.Take(refs[0], any)
		refs = refs[1:]
		return errors.Join(err, w.Flush())
	}); err != nil {
		t.Fatal(err)
	}
	slot := refs[0].Slot
	for name, c := range map[string]struct {
		damage func(*damaged) error
		meet   []string
	}{
		"nothing": {func(*damaged) error { return nil }, nil},
		"no slots": {func(d *damaged) error { return d.tx.DeleteBucket(queueBucket) },
			[]string{"slots", "each", "read", "next", "at", "take", "put"}},
		"no bits": {func(d *damaged) error { return d.tx.DeleteBucket(doneBucket) },
			[]string{"slots", "each", "read", "at", "take", "put"}},
		"a short key": {func(d *damaged) error { _, err := d.queue.CreateBucket([]byte{0, 0, 0, 1}); return err },
			[]string{"slots", "each", "read", "next"}},
		"no level": {func(d *damaged) error {
			_, err := d.queue.CreateBucket([]byte{0, 0, 0, 9, byte(Rest) + 1})
			return err
		}, []string{"slots", "each", "read", "next"}},
		"a slot is a value": {func(d *damaged) error { return d.queue.Put(Slot{9, Minutes}.key(), []byte{1}) },
			[]string{"slots", "each", "read"}},
		"an empty slot": {func(d *damaged) error {
			_, err := d.queue.CreateBucket(Slot{9, Minutes}.key())
			return err
		}, []string{"slots"}},
		"the slot is empty": {func(d *damaged) error {
			sequence := d.slot.Sequence()
			err := d.queue.DeleteBucket(slot.key())
			b, wrong := d.queue.CreateBucket(slot.key())
			return errors.Join(err, wrong, b.SetSequence(sequence))
		}, []string{"slots", "at"}},
		"a long key behind all chunks": {func(d *damaged) error { return d.slot.Put([]byte{0, 0, 1, 0, 0}, []byte{1}) },
			[]string{"slots", "each", "read", "take", "put"}},
		"a long key between chunks": {func(d *damaged) error {
			k, _ := d.chunk(1)
			return d.slot.Put(append(k, 1), []byte{1})
		}, []string{"slots", "each", "read", "at"}},
		"a letter": {func(d *damaged) error {
			k, c := d.chunk(1)
			c[len(c)-1] ^= 1
			return d.slot.Put(k, c)
		}, []string{"slots", "each", "read", "at", "take"}},
		"another slot's chunks": {func(d *damaged) error { return d.slot.SetSequence(d.slot.Sequence() + 1) },
			[]string{"slots", "each", "read", "take", "put"}},
		"a chunk of the future": {func(d *damaged) error {
			k, c := d.chunk(1)
			c[4]++
			return d.put(binary.BigEndian.Uint32(k), c)
		}, []string{"slots", "each", "read", "at", "take"}},
		"a chunk cut off": {func(d *damaged) error {
			k, c := d.chunk(1)
			return d.slot.Put(k, c[:chunkHeader-1])
		}, []string{"slots", "each", "read", "at", "take"}},
		"a chunk is missing": {func(d *damaged) error {
			k, _ := d.chunk(1)
			return d.slot.Delete(k)
		}, []string{"slots", "take"}},
		"a record is missing": {func(d *damaged) error {
			k, c := d.chunk(1)
			binary.LittleEndian.PutUint16(c[6:], uint16(c.Count()-1))
			records := c.Records()
			for range c.Count() {
				records.Next()
			}
			c = c[:len(c)-len(records.rest)]
			binary.LittleEndian.PutUint16(c[6:], uint16(c.Count()+1))
			return d.put(binary.BigEndian.Uint32(k), c)
		}, []string{"slots", "take"}},
		"a chunk without records": {func(d *damaged) error { return d.put(60, NewChunk(nil)) }, []string{"slots"}},
		"a bit": {func(d *damaged) error {
			key := blockKey(slot, 0)
			v := bytes.Clone(d.done.Get(key))
			v[len(v)-1] ^= 1
			return d.done.Put(key, v)
		}, []string{"slots", "each", "read", "at", "take"}},
		"a bit elsewhere": {func(d *damaged) error {
			key := blockKey(slot, 0)
			v := bytes.Clone(d.done.Get(key))
			v[4] ^= 3
			return d.done.Put(key, v)
		}, []string{"slots", "each", "read", "at", "take"}},
		"a bit of the count": {func(d *damaged) error {
			v := bytes.Clone(d.done.Get(slot.key()))
			v[4] ^= 8
			return d.done.Put(slot.key(), v)
		}, []string{"slots", "take"}},
		"another count": {func(d *damaged) error { return d.bits(slot.key(), []byte{0, 0, 0, 0, 2, 0, 0, 0}) },
			[]string{"slots"}},
		"all has ended": {func(d *damaged) error {
			v := bytes.Clone(d.done.Get(blockKey(slot, 0)))
			for i := range 60 {
				v[4+i/8] |= 1 << (i % 8)
			}
			return errors.Join(d.bits(blockKey(slot, 0), v), d.bits(slot.key(), []byte{0, 0, 0, 0, 60, 0, 0, 0}))
		}, []string{"slots"}},
	} {
		for meeting, meet := range meetings {
			if err := db.Update(func(tx *bbolt.Tx) error {
				d := &damaged{t, tx, tx.Bucket(queueBucket), tx.Bucket(doneBucket), nil, refs}
				d.slot = d.queue.Bucket(slot.key())
				if err := c.damage(d); err != nil {
					t.Fatal(name, err)
				}
				err := meet(d)
				if met := errors.Is(err, ErrDamaged); met != slices.Contains(c.meet, meeting) || !met && err != nil {
					t.Errorf("%s, %s: %v", name, meeting, err)
				}
				return rollback
			}); err != rollback {
				t.Fatal(err)
			}
		}
	}
}

// TestASlotThatIsFullTakesNoMore: ordinals do not begin anew.
func TestASlotThatIsFullTakesNoMore(t *testing.T) {
	db, rollback := openDB(t), errors.New("as before")
	for behind, full := range map[uint32]bool{math.MaxUint32 - 2: false, math.MaxUint32 - 1: true} {
		if err := db.Update(func(tx *bbolt.Tx) error {
			slot := Slot{1005, Minutes}
			b, err := tx.Bucket(queueBucket).CreateBucket(slot.key())
			if err == nil {
				err = putChunk(b, Ref{slot, 0, behind}, NewChunk(nil).Add(record(1005*60, 1, 0)))
			}
			if err != nil {
				t.Fatal(err)
			}
			if err := meetings["put"](&damaged{T: t, tx: tx}); (err != nil) != full {
				t.Errorf("behind record %d: %v", behind, err)
			}
			return rollback
		}); err != rollback {
			t.Fatal(err)
		}
	}
}

// TestARecordMayBeOfAnyLength: also longer than what the writer takes at once.
func TestARecordMayBeOfAnyLength(t *testing.T) {
	db, w := openDB(t), NewWriter(ByMinute)
	if err := db.Update(func(tx *bbolt.Tx) error {
		if err := w.Begin(tx, 1000); err != nil {
			return err
		}
		w.Put(record(1005*60, 1, 2*arenaBlock))
		if err := w.Flush(); err != nil {
			return err
		}
		return Each(tx, func(_ Ref, rec []byte) error {
			if len(rec) != 8+2*arenaBlock {
				t.Errorf("%d bytes", len(rec))
			}
			return nil
		})
	}); err != nil {
		t.Error(err)
	}
}

// TestWhatIsNoReferenceIsRefused: positions come back from masters and from parcels.
func TestWhatIsNoReferenceIsRefused(t *testing.T) {
	ref := Ref{RestSlot, 1, 2}
	whole := ref.Append(nil)
	if got, ok := ParseRef(whole); !ok || got != ref {
		t.Errorf("%v %v", got, ok)
	}
	noLevel := bytes.Clone(whole)
	noLevel[4]++
	for _, b := range [][]byte{nil, whole[1:], append(whole, 0), noLevel} {
		if got, ok := ParseRef(b); ok {
			t.Errorf("%x is %v", b, got)
		}
	}
	if due := DueOf([]byte{1, 2, 3}); due != 0 {
		t.Errorf("a record of three bytes is due at %d", due)
	}
}

// TestWhatIsNotAskedForStays: reading ends at its limit, and neither another generation nor another page ends a record.
func TestWhatIsNotAskedForStays(t *testing.T) {
	db, w := openDB(t), NewWriter(ByMinute)
	if err := db.Update(func(tx *bbolt.Tx) error {
		err := w.Begin(tx, 1000)
		for id := range uint32(5) {
			w.Put(record(1005*60, id, 0))
		}
		if err = errors.Join(err, w.Flush()); err != nil {
			return err
		}
		var refs []Ref
		last, err := Read(tx, 2000, Ref{}, 3, func(ref Ref, _ []byte) error {
			refs = append(refs, ref)
			return nil
		})
		if err != nil || len(refs) != 3 || last != refs[2] {
			t.Fatalf("%d records up to %v: %v", len(refs), last, err)
		}
		generation, slot, behind := last, last, last
		generation.Generation++
		slot.Slot.Opens++
		behind.Ordinal = 5
		for _, ref := range []Ref{generation, slot, behind} {
			at, err := At(tx, ref)
			taken, err2 := w.Take(ref, any)
			if at != nil || taken != nil || err != nil || err2 != nil {
				t.Errorf("%v: %x %v, taken %x %v", ref, at, err, taken, err2)
			}
		}
		if rec, err := w.Take(last, func([]byte) bool { return false }); rec != nil || err != nil {
			t.Errorf("another page takes %x, %v", rec, err)
		}
		if rec, err := At(tx, last); rec == nil || err != nil {
			t.Errorf("%v is gone: %v", last, err)
		}
		return w.Flush()
	}); err != nil {
		t.Fatal(err)
	}
	for _, r := range []Resolution{ByMinute, ByHour, ByDay} {
		if slots := r.splits(1000); slots != nil {
			t.Errorf("%d splits %v", r, slots)
		}
	}
	inOrder := []Slot{{1, Days}, {2, Minutes}, {2, Hours}, {3, Minutes}, RestSlot}
	if !slices.IsSortedFunc(inOrder, Slot.compare) {
		t.Errorf("%v are not in order", inOrder)
	}
}
