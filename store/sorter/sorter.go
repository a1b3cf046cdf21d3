// Package sorter puts more records in order than memory holds.
//
// Records are gathered in memory up to a bound, sorted, and written as a run behind one another into one temporary
// file; reading merges the runs. Joining two tables of a crawl, each in the order of the key, then needs memory for
// neither.
//
// # Invariants
//
//   - Records come back in the order of their bytes, each as often as it was added.
//   - Memory is bounded by the option, plus one record; what does not fit is in one file, which Close removes.
package sorter

import (
	"bufio"
	"bytes"
	"cmp"
	"container/heap"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"os"
	"slices"
)

// Memory is how many bytes of records a sorter gathers by default: a run of 10 million links then is 16 MB of
// references.
const Memory = 64 << 20

// Sorter takes records. It is used by one goroutine.
type Sorter struct {
	dir    string
	memory int
	text   []byte // records that were added since the last run, one behind the other
	refs   []ref
	file   *os.File
	size   int64
	runs   []span
}

// ref is where a record lies in text. Its first eight bytes decide most comparisons without touching the text.
type ref struct {
	head     uint64
	from, to uint32
}

// span is where a run lies in the file.
type span struct{ from, to int64 }

// New returns an empty sorter that writes to a directory ("" is that of the system) what does not fit into memory
// bytes.
func New(dir string, memory int) *Sorter { return &Sorter{dir: dir, memory: min(memory, 1<<30)} }

// Add adds one record and copies it.
func (s *Sorter) Add(record []byte) error {
	if len(s.text)+len(record)+24*(len(s.refs)+1) > s.memory && len(s.refs) > 0 {
		if err := s.spill(); err != nil {
			return err
		}
	}
	from := len(s.text)
	s.text = append(s.text, record...)
	s.refs = append(s.refs, ref{head(record), uint32(from), uint32(len(s.text))})
	return nil
}

func head(record []byte) uint64 {
	if len(record) >= 8 {
		return binary.BigEndian.Uint64(record)
	}
	var b [8]byte
	copy(b[:], record)
	return binary.BigEndian.Uint64(b[:])
}

func (s *Sorter) sort() {
	slices.SortFunc(s.refs, func(a, b ref) int {
		if a.head != b.head {
			return cmp.Compare(a.head, b.head)
		}
		return bytes.Compare(s.text[a.from:a.to], s.text[b.from:b.to])
	})
}

// spill writes what is in memory as a run.
func (s *Sorter) spill() (err error) {
	if s.file == nil {
		if s.file, err = os.CreateTemp(s.dir, "henro-sort-*.tmp"); err != nil {
			return fmt.Errorf("sort: %w", err)
		}
	}
	s.sort()
	w := bufio.NewWriterSize(s.file, 1<<18)
	start := s.size
	var length [binary.MaxVarintLen64]byte
	for _, r := range s.refs {
		n := binary.PutUvarint(length[:], uint64(r.to-r.from))
		w.Write(length[:n])
		w.Write(s.text[r.from:r.to]) // an error stays with the writer
		s.size += int64(n) + int64(r.to-r.from)
	}
	if err := w.Flush(); err != nil {
		return fmt.Errorf("sort: %w", err)
	}
	s.runs = append(s.runs, span{start, s.size})
	s.text, s.refs = s.text[:0], s.refs[:0]
	return nil
}

// Sorted ends the adding and returns the records in order.
func (s *Sorter) Sorted() (*Reader, error) {
	s.sort()
	sources := []Source{s.fromMemory()}
	each := max(4<<10, min(1<<18, s.memory/(len(s.runs)+1)))
	for _, r := range s.runs {
		in := bufio.NewReaderSize(io.NewSectionReader(s.file, r.from, r.to-r.from), each)
		sources = append(sources, fromFile(in))
	}
	return newReader(sources)
}

// Each ends the adding and calls fn for the records in order, each valid until fn returns, until it returns an error.
func (s *Sorter) Each(fn func(record []byte) error) error {
	r, err := s.Sorted()
	if err != nil {
		return err
	}
	return r.each(fn)
}

// Close removes the temporary file.
func (s *Sorter) Close() error {
	s.text, s.refs = nil, nil
	if s.file == nil {
		return nil
	}
	err := errors.Join(s.file.Close(), os.Remove(s.file.Name()))
	s.file = nil
	return err
}

func (s *Sorter) fromMemory() Source {
	i := 0
	return func([]byte) ([]byte, error) {
		if i == len(s.refs) {
			return nil, io.EOF
		}
		r := s.refs[i]
		i++
		return s.text[r.from:r.to], nil
	}
}

func fromFile(in *bufio.Reader) Source {
	return func(buffer []byte) ([]byte, error) {
		n, err := binary.ReadUvarint(in)
		if err == io.EOF {
			return nil, err
		}
		if err == nil {
			buffer = slices.Grow(buffer[:0], int(n))[:n]
			_, err = io.ReadFull(in, buffer)
		}
		if err != nil {
			return nil, fmt.Errorf("sort: %w", errors.Join(io.ErrUnexpectedEOF, err))
		}
		return buffer, nil
	}
}

// Source gives the records of a sorted sequence, one at a time, and io.EOF behind the last. It may put a record into
// the room of the one before, which it is given.
type Source func(before []byte) ([]byte, error)

// Merge calls fn for the records of sources in order, each valid until fn returns, until it returns an error.
func Merge(sources []Source, fn func(record []byte) error) error {
	r, err := newReader(sources)
	if err != nil {
		return err
	}
	return r.each(fn)
}

// run is one sorted sequence while it is merged.
type run struct {
	next   Source
	head   uint64
	record []byte
}

func (r *run) advance() (err error) {
	if r.record, err = r.next(r.record); err == nil {
		r.head = head(r.record)
	}
	return err
}

type merge []*run

func (m merge) Len() int      { return len(m) }
func (m merge) Swap(i, j int) { m[i], m[j] = m[j], m[i] }
func (m *merge) Push(x any)   { *m = append(*m, x.(*run)) }
func (m *merge) Pop() any {
	last := (*m)[len(*m)-1]
	*m = (*m)[:len(*m)-1]
	return last
}
func (m merge) Less(i, j int) bool {
	if m[i].head != m[j].head {
		return m[i].head < m[j].head
	}
	return bytes.Compare(m[i].record, m[j].record) < 0
}

// Reader gives records in order.
type Reader struct {
	runs    merge
	started bool
}

func newReader(sources []Source) (*Reader, error) {
	r := &Reader{}
	for _, source := range sources {
		one := &run{next: source}
		if err := one.advance(); err == nil {
			r.runs = append(r.runs, one)
		} else if err != io.EOF {
			return nil, err
		}
	}
	heap.Init(&r.runs)
	return r, nil
}

func (r *Reader) each(fn func(record []byte) error) error {
	for {
		record, err := r.Next()
		if err == io.EOF {
			return nil
		}
		if err == nil {
			err = fn(record)
		}
		if err != nil {
			return err
		}
	}
}

// Next returns the next record, valid until the call after it, or io.EOF.
func (r *Reader) Next() ([]byte, error) {
	if r.started && len(r.runs) > 0 {
		switch err := r.runs[0].advance(); err {
		case nil:
			heap.Fix(&r.runs, 0)
		case io.EOF:
			heap.Pop(&r.runs)
		default:
			return nil, err
		}
	}
	r.started = true
	if len(r.runs) == 0 {
		return nil, io.EOF
	}
	return r.runs[0].record, nil
}
