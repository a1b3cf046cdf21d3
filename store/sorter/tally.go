package sorter

import (
	"bytes"
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
// counting one that is there waits for memory twice: for its slot, and for the record.
type shard struct {
	mu      sync.Mutex
	memory  int
	text    []byte // (count8 ‖ length4 ‖ record)*
	records int
	slots   []uint64 // hash ‖ place in text + 1, 32 bits each; at most half of them are used
	over    *Sorter  // record ‖ count8; what was more than memory holds, and at the end all
	_       [64]byte // so that the locks of two shards do not lie in one line of the processor's cache
}

const (
	tallyHeader = 8 + 4
	// slotsBytes is what a record takes in slots, of which a quarter to a half are used, in the mean.
	slotsBytes = 24
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

// Add counts a record n times more, and copies it if it is new. It may be called from several goroutines.
func (t *Tally) Add(record []byte, n uint64) error {
	hash := maphash.Bytes(t.seed, record)
	s := &t.shards[hash%shardCount]
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.add(record, uint32(hash>>32), n)
}

func (s *shard) add(record []byte, hash uint32, n uint64) error {
	mask := uint32(len(s.slots) - 1)
	at := hash & mask
	for ; s.slots[at] != 0; at = (at + 1) & mask {
		if uint32(s.slots[at]>>32) != hash {
			continue
		}
		entry := s.text[uint32(s.slots[at])-1:]
		if r, _ := recordOf(entry); bytes.Equal(r, record) {
			binary.LittleEndian.PutUint64(entry, countOf(entry)+n)
			return nil
		}
	}
	if s.records > 0 && len(s.text)+tallyHeader+len(record)+slotsBytes*(s.records+1) > s.memory {
		if err := s.spill(); err != nil {
			return err
		}
		return s.add(record, hash, n)
	}
	s.slots[at] = uint64(hash)<<32 | uint64(len(s.text)+1)
	s.text = binary.LittleEndian.AppendUint64(s.text, n)
	s.text = binary.LittleEndian.AppendUint32(s.text, uint32(len(record)))
	s.text = append(s.text, record...)
	if s.records++; 2*s.records > len(s.slots) {
		s.grow()
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
	for rest := s.text; len(rest) > 0; {
		n := countOf(rest)
		var record []byte
		record, rest = recordOf(rest)
		both = binary.BigEndian.AppendUint64(append(both[:0], record...), n)
		if err := s.over.Add(both); err != nil {
			return err
		}
	}
	s.text, s.records = s.text[:0], 0
	clear(s.slots)
	return nil
}

// sorted ends the adding to a shard. What never was more than memory holds is sorted where it lies.
func (s *shard) sorted() (*counted, error) {
	if len(s.over.refs) > 0 || s.over.file != nil {
		if err := s.spill(); err != nil {
			return nil, err
		}
		r, err := s.over.Sorted()
		return &counted{reader: r}, err
	}
	s.slots = nil
	c := &counted{text: s.text, order: make([]uint32, 0, s.records)}
	for rest := s.text; len(rest) > 0; {
		c.order = append(c.order, uint32(len(s.text)-len(rest)))
		_, rest = recordOf(rest)
	}
	slices.SortFunc(c.order, func(a, b uint32) int { return bytes.Compare(c.at(a), c.at(b)) })
	return c, nil
}

// Sorted ends the adding and returns the records in the order of their bytes.
func (t *Tally) Sorted() (*TallyReader, error) {
	r := &TallyReader{}
	all, failed := make([]*counted, shardCount), make([]error, shardCount)
	var wait sync.WaitGroup
	turns := make(chan struct{}, runtime.GOMAXPROCS(0))
	for i := range t.shards {
		turns <- struct{}{}
		wait.Go(func() {
			all[i], failed[i] = t.shards[i].sorted()
			<-turns
		})
	}
	wait.Wait()
	if err := errors.Join(failed...); err != nil {
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

// Close removes the temporary files.
func (t *Tally) Close() error {
	var err error
	for i := range t.shards {
		s := &t.shards[i]
		err = errors.Join(err, s.over.Close())
		s.text, s.slots = nil, nil
	}
	return err
}

// counted is the records of one shard in order, each with its whole count.
type counted struct {
	text   []byte   // of one in memory, as in shard
	order  []uint32 // likewise: places in text
	reader *Reader  // of one with a file
	ahead  []byte   // read from it, and not yet counted

	record []byte
	n      uint64
}

func (c *counted) at(place uint32) []byte {
	record, _ := recordOf(c.text[place:])
	return record
}

func (c *counted) advance() (err error) {
	if c.reader == nil {
		if len(c.order) == 0 {
			return io.EOF
		}
		c.record, c.n, c.order = c.at(c.order[0]), countOf(c.text[c.order[0]:]), c.order[1:]
		return nil
	}
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

func (s shards) Len() int           { return len(s) }
func (s shards) Less(i, j int) bool { return bytes.Compare(s[i].record, s[j].record) < 0 }
func (s shards) Swap(i, j int)      { s[i], s[j] = s[j], s[i] }
func (s *shards) Push(x any)        { *s = append(*s, x.(*counted)) }
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
