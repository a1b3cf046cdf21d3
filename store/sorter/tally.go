package sorter

import (
	"bytes"
	"cmp"
	"container/heap"
	"encoding/binary"
	"errors"
	"hash/maphash"
	"io"
	"math"
	"runtime"
	"slices"
	"sync"
)

// Tally counts records that are equal: 9 million links by where they lead, 2 million records of 60 bytes, take 170 MB
// or, where there is less, files.
//
// A record is counted in the shard that its hash names, so that several goroutines may add at once; a shard that is
// full gives its counts to a sorter of its own, where a record may then be several times until it is merged. No record
// may be the beginning of another.
type Tally struct {
	seed   maphash.Seed
	shards [shardCount]shard
}

// shardCount is how many goroutines do not get in each other's way, and how many files there may be.
const shardCount = 32

// shard is a table with open addressing over records that lie one behind the other, each with its count, so that
// counting one that is there waits for memory twice: for its slot, and for the record. Records wait until there are
// some hundred: all their slots are looked at first, then all the records there, so that the processor waits for many
// at once.
type shard struct {
	mu      sync.Mutex
	memory  int
	pending []byte   // (hash4 ‖ length4 ‖ count8 ‖ record)*
	chunks  [][]byte // of (count8 ‖ length4 ‖ record)*: those in use, and behind them those of before
	used    int      // chunks
	size    int      // bytes in them
	places  []uint32 // where the records that wait may lie, + 1
	touched byte     // what was read there ahead of time
	records int
	slots   []uint64 // hash ‖ place + 1, 32 bits each; at most half of them are used
	over    *Sorter  // record ‖ count8; what was more than memory holds, and at the end all
	_       [64]byte // so that the locks of two shards do not lie in one line of the processor's cache
}

const (
	pendingHeader = 4 + 4 + 8
	tallyHeader   = 8 + 4
	// slotsBytes is what a record takes in slots, of which a quarter to a half are used, in the mean.
	slotsBytes = 24
	// pendingMost is how many bytes of records wait. Their slots and records must fit into the second cache.
	pendingMost = 32 << 10
	// chunkBits are those of a place that say where in a chunk. A longer record has a chunk of its own.
	chunkBits = 16
)

// NewTally returns an empty one that writes to a directory ("" is that of the system) what does not fit into memory
// bytes. Three quarters of them are for counting, the rest is for sorting what did not fit.
func NewTally(dir string, memory int) *Tally {
	t := &Tally{seed: maphash.MakeSeed()}
	each := min(memory/shardCount, math.MaxInt32)
	for i := range t.shards {
		s := &t.shards[i]
		s.memory = each * 3 / 4
		s.over = New(dir, each-s.memory)
		s.slots = make([]uint64, 64)
	}
	return t
}

// Add counts a record n times more, and copies it. It may be called from several goroutines.
func (t *Tally) Add(record []byte, n uint64) error {
	hash := maphash.Bytes(t.seed, record)
	s := &t.shards[hash%shardCount]
	s.mu.Lock()
	s.pending = binary.LittleEndian.AppendUint32(s.pending, uint32(hash>>32))
	s.pending = binary.LittleEndian.AppendUint32(s.pending, uint32(len(record)))
	s.pending = binary.LittleEndian.AppendUint64(s.pending, n)
	s.pending = append(s.pending, record...)
	var err error
	if len(s.pending) >= min(pendingMost, s.memory/8) {
		err = s.settle()
	}
	s.mu.Unlock()
	return err
}

// settle counts what waits.
func (s *shard) settle() error {
	mask := uint32(len(s.slots) - 1)
	s.places = s.places[:0]
	for rest := s.pending; len(rest) > 0; {
		hash := binary.LittleEndian.Uint32(rest)
		rest = rest[pendingHeader+binary.LittleEndian.Uint32(rest[4:]):]
		if slot := s.slots[hash&mask]; uint32(slot>>32) == hash {
			s.places = append(s.places, uint32(slot))
		}
	}
	for _, place := range s.places {
		if place != 0 {
			entry := s.at(place - 1)
			s.touched += entry[0] + entry[min(64, len(entry)-1)]
		}
	}
	for rest := s.pending; len(rest) > 0; {
		hash, length := binary.LittleEndian.Uint32(rest), binary.LittleEndian.Uint32(rest[4:])
		n := binary.LittleEndian.Uint64(rest[8:])
		rest = rest[pendingHeader:]
		if err := s.add(rest[:length], hash, n); err != nil {
			return err
		}
		rest = rest[length:]
	}
	s.pending = s.pending[:0]
	return nil
}

// at is what begins at a place.
func (s *shard) at(place uint32) []byte { return s.chunks[place>>chunkBits][place&(1<<chunkBits-1):] }

func (s *shard) add(record []byte, hash uint32, n uint64) error {
	mask := uint32(len(s.slots) - 1)
	at := hash & mask
	for ; s.slots[at] != 0; at = (at + 1) & mask {
		if uint32(s.slots[at]>>32) != hash {
			continue
		}
		entry := s.at(uint32(s.slots[at]) - 1)
		if r, _ := recordOf(entry); bytes.Equal(r, record) {
			binary.LittleEndian.PutUint64(entry, countOf(entry)+n)
			return nil
		}
	}
	length := tallyHeader + len(record)
	if s.records > 0 && s.size+length+slotsBytes*(s.records+1) > s.memory {
		if err := s.spill(); err != nil {
			return err
		}
		return s.add(record, hash, n)
	}
	chunk := s.room(length)
	s.slots[at] = uint64(hash)<<32 | uint64((s.used-1)<<chunkBits+len(*chunk)+1)
	*chunk = binary.LittleEndian.AppendUint64(*chunk, n)
	*chunk = binary.LittleEndian.AppendUint32(*chunk, uint32(len(record)))
	*chunk = append(*chunk, record...)
	s.size += length
	if s.records++; 2*s.records > len(s.slots) {
		s.grow()
	}
	return nil
}

// room is a chunk with room for so many bytes. What is in a chunk never moves.
func (s *shard) room(length int) *[]byte {
	if s.used > 0 {
		if c := &s.chunks[s.used-1]; len(*c)+length <= cap(*c) && len(*c) < 1<<chunkBits {
			return c
		}
	}
	if s.used == len(s.chunks) {
		s.chunks = append(s.chunks, nil)
	}
	c := &s.chunks[s.used]
	if cap(*c) < length {
		*c = make([]byte, 0, max(length, min(1<<chunkBits, max(64, s.memory/16))))
	}
	s.used++
	*c = (*c)[:0]
	return c
}

// each shows the places of all records.
func (s *shard) each(fn func(place uint32) error) error {
	for i, chunk := range s.chunks[:s.used] {
		for rest := chunk; len(rest) > 0; {
			if err := fn(uint32(i<<chunkBits + len(chunk) - len(rest))); err != nil {
				return err
			}
			_, rest = recordOf(rest)
		}
	}
	return nil
}

// countOf and recordOf read what stands at the beginning of text; next is what stands behind it.
func countOf(text []byte) uint64 { return binary.LittleEndian.Uint64(text) }

func recordOf(text []byte) (record, next []byte) {
	end := tallyHeader + int(binary.LittleEndian.Uint32(text[8:]))
	return text[tallyHeader:end], text[end:]
}

func (s *shard) grow() {
	old := s.slots
	s.slots = make([]uint64, 2*len(old))
	mask := uint32(len(s.slots) - 1)
	for _, slot := range old {
		if slot == 0 {
			continue
		}
		at := uint32(slot>>32) & mask
		for s.slots[at] != 0 {
			at = (at + 1) & mask
		}
		s.slots[at] = slot
	}
}

func (s *shard) spill() error {
	var both []byte
	if err := s.each(func(place uint32) error {
		entry := s.at(place)
		record, _ := recordOf(entry)
		both = binary.BigEndian.AppendUint64(append(both[:0], record...), countOf(entry))
		return s.over.Add(both)
	}); err != nil {
		return err
	}
	s.used, s.size, s.records = 0, 0, 0
	clear(s.slots)
	return nil
}

// end ends the adding to a shard, and returns what all its records begin with; nothing if some are in a file.
func (s *shard) end() (prefix []byte, err error) {
	if err := s.settle(); err != nil {
		return nil, err
	}
	s.pending, s.slots = nil, nil
	if s.spilled() {
		return nil, s.spill()
	}
	return prefix, s.each(func(place uint32) error {
		if r, _ := recordOf(s.at(place)); prefix == nil {
			prefix = r
		} else {
			prefix = r[:sharedLen(prefix, r)]
		}
		return nil
	})
}

func (s *shard) spilled() bool { return len(s.over.refs) > 0 || s.over.file != nil }

func sharedLen(a, b []byte) int {
	n := 0
	for n < min(len(a), len(b)) && a[n] == b[n] {
		n++
	}
	return n
}

// sorted puts the records of a shard, which all begin with the same skip bytes, in order. What never was more than
// memory holds is sorted where it lies.
func (s *shard) sorted(skip int) (*counted, error) {
	c := &counted{shard: s}
	if s.spilled() {
		r, err := s.over.Sorted()
		c.reader = r
		return c, err
	}
	c.order = make([]placed, 0, s.records)
	err := s.each(func(place uint32) error {
		record, _ := recordOf(s.at(place))
		c.order = append(c.order, placed{head(record[skip:]), place})
		return nil
	})
	slices.SortFunc(c.order, func(a, b placed) int {
		if a.head != b.head {
			return cmp.Compare(a.head, b.head)
		}
		x, _ := recordOf(s.at(a.place))
		y, _ := recordOf(s.at(b.place))
		return bytes.Compare(x[skip:], y[skip:])
	})
	return c, err
}

// Sorted ends the adding and returns the records in the order of their bytes.
func (t *Tally) Sorted() (*TallyReader, error) {
	var prefixes [shardCount][]byte
	if err := t.eachShard(func(i int) (err error) {
		prefixes[i], err = t.shards[i].end()
		return err
	}); err != nil {
		return nil, err
	}
	var prefix []byte
	for i := range t.shards {
		switch s := &t.shards[i]; {
		case s.spilled():
			prefix = []byte{}
		case s.records == 0:
		case prefix == nil:
			prefix = prefixes[i]
		default:
			prefix = prefix[:sharedLen(prefix, prefixes[i])]
		}
	}
	r, all := &TallyReader{}, make([]*counted, shardCount)
	if err := t.eachShard(func(i int) (err error) {
		all[i], err = t.shards[i].sorted(len(prefix))
		return err
	}); err != nil {
		return nil, err
	}
	for _, c := range all {
		if err := c.advance(); err == nil {
			r.shards = append(r.shards, c)
		} else if err != io.EOF {
			return nil, err
		}
	}
	heap.Init(&r.shards)
	return r, nil
}

// eachShard calls fn for the numbers of all shards, on all processors.
func (t *Tally) eachShard(fn func(i int) error) error {
	var wait sync.WaitGroup
	var failed [shardCount]error
	turns := make(chan struct{}, runtime.GOMAXPROCS(0))
	for i := range t.shards {
		turns <- struct{}{}
		wait.Go(func() {
			failed[i] = fn(i)
			<-turns
		})
	}
	wait.Wait()
	return errors.Join(failed[:]...)
}

// Close removes the temporary files.
func (t *Tally) Close() error {
	var err error
	for i := range t.shards {
		s := &t.shards[i]
		err = errors.Join(err, s.over.Close())
		s.chunks, s.used, s.slots, s.pending = nil, 0, nil, nil
	}
	return err
}

// aheadOf is how many records before its turn one is touched, so that it is in the cache when it is wanted.
const aheadOf = 8

// placed is a record of a shard, with the first eight bytes in which records may differ.
type placed struct {
	head  uint64
	place uint32
}

// counted is the records of one shard in order, each with its whole count.
type counted struct {
	shard  *shard
	order  []placed // of one in memory
	reader *Reader  // of one with a file
	ahead  []byte   // read from it, and not yet counted

	head   uint64 // the first eight bytes in which the records of all shards may differ
	record []byte
	n      uint64
}

func (c *counted) advance() error {
	if c.reader != nil {
		err := c.merge()
		c.head = head(c.record)
		return err
	}
	if len(c.order) == 0 {
		return io.EOF
	}
	c.shard.touched += c.shard.at(c.order[min(aheadOf, len(c.order)-1)].place)[0]
	entry := c.shard.at(c.order[0].place)
	c.record, _ = recordOf(entry)
	c.head, c.n, c.order = c.order[0].head, countOf(entry), c.order[1:]
	return nil
}

// merge reads the next record of a file, and adds up its counts.
func (c *counted) merge() (err error) {
	if c.ahead == nil {
		if c.ahead, err = c.reader.Next(); err != nil {
			return err
		}
	}
	split := len(c.ahead) - 8
	c.record, c.n = append(c.record[:0], c.ahead[:split]...), binary.BigEndian.Uint64(c.ahead[split:])
	for {
		if c.ahead, err = c.reader.Next(); err == io.EOF {
			c.ahead = nil
			return nil
		} else if err != nil {
			return err
		}
		split := len(c.ahead) - 8
		if !bytes.Equal(c.ahead[:split], c.record) {
			return nil
		}
		c.n += binary.BigEndian.Uint64(c.ahead[split:])
	}
}

type shards []*counted

func (s shards) Len() int      { return len(s) }
func (s shards) Swap(i, j int) { s[i], s[j] = s[j], s[i] }
func (s *shards) Push(x any)   { *s = append(*s, x.(*counted)) }
func (s shards) Less(i, j int) bool {
	if s[i].head != s[j].head {
		return s[i].head < s[j].head
	}
	return bytes.Compare(s[i].record, s[j].record) < 0
}
func (s *shards) Pop() any {
	last := (*s)[len(*s)-1]
	*s = (*s)[:len(*s)-1]
	return last
}

// TallyReader gives records in order.
type TallyReader struct {
	shards  shards
	started bool
}

// Next returns the next record, valid until the call after it, and how often it was added; or io.EOF.
func (r *TallyReader) Next() (record []byte, n uint64, err error) {
	if r.started && len(r.shards) > 0 {
		switch err := r.shards[0].advance(); err {
		case nil:
			heap.Fix(&r.shards, 0)
		case io.EOF:
			heap.Pop(&r.shards)
		default:
			return nil, 0, err
		}
	}
	r.started = true
	if len(r.shards) == 0 {
		return nil, 0, io.EOF
	}
	return r.shards[0].record, r.shards[0].n, nil
}
