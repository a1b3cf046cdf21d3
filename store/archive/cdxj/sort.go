package cdxj

import (
	"bufio"
	"bytes"
	"cmp"
	"container/heap"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"sort"
	"strings"
)

const (
	runBytes   = 16 << 20 // of lines sorted at a time
	lineBytes  = 1 << 20  // of one line at most
	fanIn      = 64       // files merged at a time
	tempSuffix = ".tmp"   // of a file that gets its name once it is whole
	runSuffix  = ".run"   // of sorted lines that wait to be merged, in the stream format of S2: a third of their length
)

// SortFile writes the lines of the file src, a text or Growing, to dst in order, each once. dst appears whole or not at
// all, and on the disk.
func SortFile(dst, src string) error { return sortFile(dst, src, runBytes) }

// sortFile is SortFile with runs of size bytes.
func sortFile(dst, src string, size int) (err error) {
	in, err := os.Open(src)
	if err != nil {
		return fmt.Errorf("sort: %w", err)
	}
	defer in.Close()
	var runs []string
	defer func() {
		for _, run := range runs {
			err = errors.Join(err, os.Remove(run))
		}
	}()
	r, _ := plain(in, lineBytes)
	for {
		text, lines, last, err := readRun(r, size)
		if err != nil {
			return fmt.Errorf("sort %s: %w", src, err)
		}
		slices.SortFunc(lines, func(a, b [2]int) int { return bytes.Compare(text[a[0]:a[1]], text[b[0]:b[1]]) })
		write := func(w io.Writer) error {
			var before []byte
			for _, l := range lines {
				line := text[l[0]:l[1]]
				if bytes.Equal(line, before) {
					continue
				}
				if _, err := w.Write(line); err != nil {
					return err
				}
				before = line
			}
			return nil
		}
		if last && len(runs) == 0 {
			return replace(dst, write)
		}
		run := fmt.Sprintf("%s.%d%s", dst, len(runs), runSuffix)
		runs = append(runs, run)
		if err := spill(run, write); err != nil {
			return err
		}
		if last {
			return MergeFiles(dst, runs...)
		}
	}
}

// readRun reads lines of size bytes together, and says whether they were the last. The last line gets an end if it has
// none.
func readRun(r *bufio.Reader, size int) (text []byte, lines [][2]int, last bool, err error) {
	for len(text) < size {
		line, err := r.ReadSlice('\n')
		if len(line) > 0 && (err == nil || err == io.EOF) {
			from := len(text)
			text = append(text, line...)
			if err == io.EOF {
				text = append(text, '\n')
			}
			lines = append(lines, [2]int{from, len(text)})
		}
		if err == io.EOF {
			return text, lines, true, nil
		}
		if err != nil {
			return nil, nil, false, err
		}
	}
	return text, lines, false, nil
}

// spill writes a file that need not survive anything.
func spill(path string, write func(io.Writer) error) error {
	f, err := os.Create(path)
	if err != nil {
		return err
	}
	w := packer(f)
	if err := errors.Join(write(w), w.Close(), f.Close()); err != nil {
		return fmt.Errorf("write %s: %w", path, err)
	}
	return nil
}

// replace writes a file beside dst and gives it that name once it is whole and on the disk.
func replace(dst string, write func(io.Writer) error) (err error) {
	f, err := os.CreateTemp(filepath.Dir(dst), filepath.Base(dst)+".*"+tempSuffix)
	if err != nil {
		return err
	}
	defer func() {
		if err != nil {
			err = errors.Join(err, os.Remove(f.Name()))
		}
	}()
	w := bufio.NewWriterSize(f, 1<<16)
	err = errors.Join(write(w), w.Flush(), f.Chmod(0o644), f.Sync(), f.Close())
	if err != nil {
		return fmt.Errorf("write %s: %w", dst, err)
	}
	return os.Rename(f.Name(), dst)
}

// MergeFiles merges sorted files into the sorted file dst, which appears whole or not at all. dst may be one of them.
func MergeFiles(dst string, paths ...string) error { return mergeFiles(dst, fanIn, paths) }

// mergeFiles is MergeFiles of at most fan files at a time.
func mergeFiles(dst string, fan int, paths []string) (err error) {
	var parts []string // merged from more files than may be open at a time
	defer func() {
		for _, part := range parts {
			err = errors.Join(err, os.Remove(part))
		}
	}()
	for len(paths) > fan {
		part := fmt.Sprintf("%s.part%d", dst, len(parts))
		parts = append(parts, part)
		if err := mergeFiles(part, fan, paths[:fan]); err != nil {
			return err
		}
		paths = append(slices.Clone(paths[fan:]), part)
	}
	files, lines := make([]io.Closer, len(paths)), make([]io.Reader, len(paths))
	for i, path := range paths {
		f, err := os.Open(path)
		if err != nil {
			return fmt.Errorf("merge: %w", err)
		}
		defer f.Close() // again, on the ways out by an error
		files[i], lines[i] = f, f
		if strings.HasSuffix(path, runSuffix) {
			lines[i] = unpacker(f)
		}
	}
	return replace(dst, func(w io.Writer) error {
		err := Merge(w, lines...)
		for _, f := range files {
			// Before dst gets its name: not every system lets an open file be replaced.
			err = errors.Join(err, f.Close())
		}
		return err
	})
}

// Merge merges sorted lines, each once.
func Merge(w io.Writer, sources ...io.Reader) error {
	var m merge
	for i, src := range sources {
		s := &source{in: bufio.NewReaderSize(src, 64<<10), number: i}
		if err := s.next(); err == nil {
			m = append(m, s)
		} else if err != io.EOF {
			return err
		}
	}
	heap.Init(&m)
	var before []byte
	for len(m) > 0 {
		s := m[0]
		if !bytes.Equal(s.line, before) {
			if _, err := w.Write(s.line); err != nil {
				return err
			}
			before = append(before[:0], s.line...)
		}
		switch err := s.next(); {
		case err == nil:
			heap.Fix(&m, 0)
		case err == io.EOF:
			heap.Pop(&m)
		default:
			return err
		}
	}
	return nil
}

// source is one of the sorted inputs of a merge.
type source struct {
	in     *bufio.Reader
	line   []byte // its next
	number int
}

// next reads the next line into s.line.
func (s *source) next() error {
	before := s.line
	line, err := readLine(s.in)
	if err != nil {
		return err
	}
	if bytes.Compare(line, before) < 0 {
		return fmt.Errorf("%w: input %d: %.80q after %.80q", ErrUnsorted, s.number, line, before)
	}
	s.line = line
	return nil
}

// readLine reads a line with its end, which the last one may lack.
func readLine(in *bufio.Reader) ([]byte, error) {
	var line []byte
	for {
		part, err := in.ReadSlice('\n')
		line = append(line, part...)
		switch {
		case err == nil:
			return line, nil
		case err == io.EOF && len(line) > 0:
			return append(line, '\n'), nil
		case err != bufio.ErrBufferFull:
			return nil, err
		case len(line) > lineBytes:
			return nil, fmt.Errorf("%w: longer than %d bytes", ErrLine, lineBytes)
		}
	}
}

// merge is the heap of sources by their next line.
type merge []*source

func (m merge) Len() int { return len(m) }
func (m merge) Less(i, j int) bool {
	return cmp.Or(bytes.Compare(m[i].line, m[j].line), cmp.Compare(m[i].number, m[j].number)) < 0
}
func (m merge) Swap(i, j int) { m[i], m[j] = m[j], m[i] }
func (m *merge) Push(x any)   { *m = append(*m, x.(*source)) }
func (m *merge) Pop() any {
	last := len(*m) - 1
	s := (*m)[last]
	*m = (*m)[:last]
	return s
}

// Lookup shows the entries of a key in the sorted index f of size bytes, in the order of their times, until visit
// returns false.
func Lookup(f io.ReaderAt, size int64, key string, visit func(Entry) bool) error {
	want := append([]byte(key), ' ')
	var failed error
	err := Scan(f, size, want, func(line []byte) bool {
		if !bytes.HasPrefix(line, want) {
			return false
		}
		var e Entry
		if e, failed = Parse(line); failed != nil {
			return false
		}
		return visit(e)
	})
	return errors.Join(err, failed)
}

// search returns the offset of a line that is not above the first one that is not below want.
func search(f io.ReaderAt, size int64, want []byte) (int64, error) {
	// line returns the first line that begins at or behind offset, reading little at a time as a binary search does.
	line := func(offset int64) ([]byte, error) {
		if offset > 0 {
			offset-- // so that a line that begins right at offset counts
		}
		in := bufio.NewReaderSize(io.NewSectionReader(f, offset, size-offset), 1<<10)
		if offset > 0 {
			if _, err := readLine(in); err != nil {
				return nil, err
			}
		}
		return readLine(in)
	}
	var failed error
	at := sort.Search(int(size), func(i int) bool {
		l, err := line(int64(i))
		if err != nil {
			if err != io.EOF {
				failed = err
			}
			return true
		}
		return bytes.Compare(l, want) >= 0
	})
	// The search ends right behind the start of the line before, or at 0: the next line is the first that counts.
	return int64(max(at-1, 0)), failed
}
