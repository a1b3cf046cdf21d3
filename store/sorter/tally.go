package sorter

import (
	"bytes"
	"container/heap"
	"encoding/binary"
	"errors"
	"hash/maphash"
	"io"
	"runtime"
	"slices"
	"sync"
)

// Tally counts records that are equal: 9 million links by where they lead, 2 million records, take 180 MB or, where
// there is less, files.
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

// shard is a table with open addressing over records that lie one behind the other.
type shard struct {
	mu     sync.Mutex
	memory int
	text   []byte
	counts []count
	slots  []uint32 // index in counts + 1; at most half of them are used
	over   *Sorter  // record ‖ count8; what was more than memory holds, and at the end all
	_      [64]byte // so that the locks of two shards do not lie in one line of the processor's cache
}

type count struct {
	hash uint32
	from uint32 // its end is the beginning of the next
	n    uint64
}

// NewTally returns an empty one that writes to a directory ("" is that of the system) what does not fit into memory
// bytes.
func NewTally(dir string, memory int) *Tally {
	t := &Tally{seed: maphash.MakeSeed()}
	for i := range t.shards {
		s := &t.shards[i]
		s.memory = memory / shardCount / 2
		s.over = New(dir, memory/shardCount/2)
		s.slots = make([]uint32, 64)
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
		i := int(s.slots[at] - 1)
		if c := &s.counts[i]; c.hash == hash && bytes.Equal(s.record(i), record) {
			c.n += n
			return nil
		}
	}
	if len(s.counts) > 0 && len(s.text)+len(record)+24*(len(s.counts)+1) > s.memory {
		if err := s.spill(); err != nil {
			return err
		}
		return s.add(record, hash, n)
	}
	s.counts = append(s.counts, count{hash, uint32(len(s.text)), n})
	s.text = append(s.text, record...)
	s.slots[at] = uint32(len(s.counts))
	if 2*len(s.counts) > len(s.slots) {
		s.grow()
	}
	return nil
}

func (s *shard) record(i int) []byte {
	if i+1 < len(s.counts) {
		return s.text[s.counts[i].from:s.counts[i+1].from]
	}
	return s.text[s.counts[i].from:]
}

func (s *shard) grow() {
	s.slots = make([]uint32, 2*len(s.slots))
	mask := uint32(len(s.slots) - 1)
	for i, c := range s.counts {
		at := c.hash & mask
		for s.slots[at] != 0 {
			at = (at + 1) & mask
		}
		s.slots[at] = uint32(i + 1)
	}
}

func (s *shard) spill() error {
	var both []byte
	for i, c := range s.counts {
		both = binary.BigEndian.AppendUint64(append(both[:0], s.record(i)...), c.n)
		if err := s.over.Add(both); err != nil {
			return err
		}
	}
	s.text, s.counts = s.text[:0], s.counts[:0]
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
	c := &counted{shard: s, order: make([]int32, len(s.counts))}
	for i := range c.order {
		c.order[i] = int32(i)
	}
	slices.SortFunc(c.order, func(a, b int32) int { return bytes.Compare(s.record(int(a)), s.record(int(b))) })
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
		s.text, s.counts, s.slots = nil, nil, nil
	}
	return err
}

// counted is the records of one shard in order, each with its whole count.
type counted struct {
	shard  *shard // of one in memory
	order  []int32
	reader *Reader // of one with a file
	ahead  []byte  // read from it, and not yet counted

	record []byte
	n      uint64
}

func (c *counted) advance() (err error) {
	if c.reader == nil {
		if len(c.order) == 0 {
			return io.EOF
		}
		i := int(c.order[0])
		c.record, c.n, c.order = c.shard.record(i), c.shard.counts[i].n, c.order[1:]
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
