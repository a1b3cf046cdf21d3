package timequeue

import (
	"cmp"
	"encoding/binary"
	"fmt"

	"go.etcd.io/bbolt"
)

// The names of the two buckets in a partition's file.
var (
	queueBucket = []byte("queue")
	doneBucket  = []byte("done")
)

// Ref is where a record lies: the ordinal-th of a slot.
type Ref struct {
	Slot       Slot
	Generation uint32 // of the slot: one that was deleted and made again has another
	Ordinal    uint32
}

// RefLen is the length of a Ref as bytes.
const RefLen = slotKeyLen + 8

// Append writes the reference behind b. References sort in the order of Read.
func (r Ref) Append(b []byte) []byte {
	b = append(binary.BigEndian.AppendUint32(b, r.Slot.Opens), byte(r.Slot.Level))
	b = binary.BigEndian.AppendUint32(b, r.Generation)
	return binary.BigEndian.AppendUint32(b, r.Ordinal)
}

// Compare orders references as Read does. Taking records in this order finds those of one chunk together.
func (r Ref) Compare(o Ref) int {
	switch { // cmp.Or would compare all three, and commits sort thousands
	case r.Slot != o.Slot:
		return r.Slot.compare(o.Slot)
	case r.Generation != o.Generation:
		return cmp.Compare(r.Generation, o.Generation)
	}
	return cmp.Compare(r.Ordinal, o.Ordinal)
}

// ParseRef reads what Append wrote.
func ParseRef(b []byte) (Ref, bool) {
	if len(b) != RefLen || b[4] > byte(Rest) {
		return Ref{}, false
	}
	return Ref{slotOf(b), binary.BigEndian.Uint32(b[5:]), binary.BigEndian.Uint32(b[9:])}, true
}

// DueOf reads the due time off a record: the first four bytes of every record are its due time, in seconds since 1970.
func DueOf(record []byte) uint32 {
	if len(record) < 4 {
		return 0
	}
	return binary.LittleEndian.Uint32(record)
}

// Create makes the buckets of an empty queue.
func Create(tx *bbolt.Tx) error {
	for _, name := range [][]byte{queueBucket, doneBucket} {
		if _, err := tx.CreateBucketIfNotExists(name); err != nil {
			return err
		}
	}
	return nil
}

// blockBits is how many records share one bitmap value: 512 bytes, so that a day's slot of 350,000 records does not
// rewrite 44 kB with every commit.
const blockBits = 4096

const (
	blockLen = 4 + blockBits/8 // crc4 ‖ bits
	countLen = 4 + 4           // crc4 ‖ bits set in all blocks of a slot
)

// guarded checks a value of fixed length that begins with its checksum.
func guarded(key, v []byte, length int) bool {
	return len(v) == length && binary.LittleEndian.Uint32(v) == Sum(key, v[4:])
}

// verify checks a chunk of a slot under its key, the ordinal of its first record, and returns that.
func verify(slot Slot, generation uint32, k, v []byte) (first uint32, c Chunk, err error) {
	if len(k) != 4 {
		return 0, nil, fmt.Errorf("slot %v, key %x: %w", slot, k, ErrDamaged)
	}
	first, c = binary.BigEndian.Uint32(k), Chunk(v)
	var key [RefLen]byte
	if err := c.Verify(Ref{slot, generation, first}.Append(key[:0])); err != nil {
		return 0, nil, fmt.Errorf("slot %v, record %d: %w", slot, first, err)
	}
	return first, c, nil
}
