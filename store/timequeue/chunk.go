package timequeue

import (
	"encoding/binary"
	"errors"
	"hash/crc32"
)

// ErrDamaged is returned when a chunk is not what was written.
var ErrDamaged = errors.New("chunk is damaged")

// MaxChunk is the length a chunk is filled up to. bbolt keeps at least two values on a page of 4 kB: chunks of 1.9 kB
// fill it, and rewriting one dirties one page. At 16 kB a revisit writes 1.4 × as much, at 64 kB 2 ×.
const MaxChunk = 1900

// A chunk is crc4 ‖ version1 ‖ kind1 ‖ count2 ‖ (length ‖ record)…, little-endian, lengths as uvarints. The CRC32C is
// over the key under which the chunk is stored and all behind the sum, so that a chunk in the wrong place is found too.
const (
	chunkHeader  = 8
	chunkVersion = 1
	maxCount     = 1<<16 - 1
)

var castagnoli = crc32.MakeTable(crc32.Castagnoli)

// Sum is the CRC32C that guards values on disk, over key and value.
func Sum(key, value []byte) uint32 {
	return crc32.Update(crc32.Checksum(key, castagnoli), castagnoli, value)
}

// Chunk is a group of records as it lies on disk.
type Chunk []byte

// NewChunk starts an empty chunk in buf.
func NewChunk(buf []byte) Chunk {
	return append(buf[:0], 0, 0, 0, 0, chunkVersion, 0, 0, 0)
}

// Count is the number of records in the chunk.
func (c Chunk) Count() int { return int(binary.LittleEndian.Uint16(c[6:])) }

// Add puts a record behind the others. The chunk must be sealed afterwards.
func (c Chunk) Add(record []byte) Chunk {
	c = binary.AppendUvarint(c, uint64(len(record)))
	c = append(c, record...)
	binary.LittleEndian.PutUint16(c[6:], uint16(c.Count()+1))
	return c
}

// Seal writes the checksum for a key.
func (c Chunk) Seal(key []byte) { binary.LittleEndian.PutUint32(c, Sum(key, c[4:])) }

// Verify checks the checksum and the version.
func (c Chunk) Verify(key []byte) error {
	if len(c) < chunkHeader || c[4] != chunkVersion || binary.LittleEndian.Uint32(c) != Sum(key, c[4:]) {
		return ErrDamaged
	}
	return nil
}

// Records walks the records of a verified chunk.
type Records struct {
	rest []byte
	left int
}

// Records starts a walk.
func (c Chunk) Records() Records { return Records{c[chunkHeader:], c.Count()} }

// Next returns the next record, nil at the end or where the chunk makes no sense.
func (r *Records) Next() []byte {
	if r.left == 0 {
		return nil
	}
	n, k := binary.Uvarint(r.rest)
	if k <= 0 || n > uint64(len(r.rest)-k) {
		r.left = 0
		return nil
	}
	rec := r.rest[k : k+int(n) : k+int(n)]
	r.rest = r.rest[k+int(n):]
	r.left--
	return rec
}

// At returns the i-th record, nil when there is none.
func (c Chunk) At(i int) []byte {
	r := c.Records()
	for ; i > 0; i-- {
		if r.Next() == nil {
			return nil
		}
	}
	return r.Next()
}
