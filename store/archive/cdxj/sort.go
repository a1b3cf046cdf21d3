package cdxj

import (
	"bufio"
	"bytes"
	"crypto/rand"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"sort"
	"strings"

	"henro/store/archive/warc"
	"henro/store/fsync"
	"henro/store/sorter"
)

const (
	sortBytes  = 16 << 20 // of lines in memory while a file is sorted
	lineBytes  = 1 << 20  // of one line at most
	fanIn      = 64       // files merged at a time
	tempSuffix = ".tmp"   // of a file that gets its name once it is whole, and of a folder to sort in
)

// SortFile writes the lines of the file src to dst in order, each once. dst appears whole or not at all, and on the
// disk.
func SortFile(dst, src string) error { return sortFile(dst, src, sortBytes) }

// sortFile is SortFile with so many bytes of lines in memory.
func sortFile(dst, src string, memory int) (err error) {
	in, err := os.Open(src)
	if err != nil {
		return fmt.Errorf("sort: %w", err)
	}
	defer in.Close()
	temp, err := os.MkdirTemp(filepath.Dir(dst), filepath.Base(dst)+".*"+tempSuffix)
	if err != nil {
		return fmt.Errorf("sort: %w", err)
	}
	s := sorter.New(temp, memory)
	defer func() { err = errors.Join(err, s.Close(), os.RemoveAll(temp)) }()
	lines := bufio.NewReaderSize(in, lineBytes)
	for last := false; !last; {
		line, err := lines.ReadSlice('\n')
		if last = err == io.EOF; last && len(line) > 0 {
			line, err = append(slices.Clone(line), '\n'), nil // the last one may lack its end
		}
		if err == nil {
			err = s.Add(line)
		}
		if err != nil && err != io.EOF {
			return fmt.Errorf("sort %s: %w", src, err)
		}
	}
	return replace(dst, func(w io.Writer) error { return s.Each(once(w)) })
}

// once returns what writes sorted lines, each once.
func once(w io.Writer) func(line []byte) error {
	var before []byte
	return func(line []byte) error {
		switch order := bytes.Compare(line, before); {
		case order < 0: // of the same input, whose line before was the last that was written
			return fmt.Errorf("%w: %.80q after %.80q", ErrUnsorted, line, before)
		case order == 0:
			return nil
		}
		before = append(before[:0], line...)
		_, err := w.Write(line)
		return err
	}
}

// replace writes a file beside dst, of a name of its own, since another process may do so too, and gives it that name
// once it is whole and on the disk.
func replace(dst string, write func(io.Writer) error) error {
	return fsync.Replace(dst, dst+"."+rand.Text()+tempSuffix, 0o644, write)
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
		defer f.Close() // for the ways out by an error
		files[i], lines[i] = f, f
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
func Merge(w io.Writer, inputs ...io.Reader) error {
	sources := make([]sorter.Source, len(inputs))
	for i, input := range inputs {
		in := bufio.NewReaderSize(input, 64<<10)
		sources[i] = func([]byte) ([]byte, error) { return readLine(in) }
	}
	return sorter.Merge(sources, once(w))
}

// readLine reads a line with its end, which the last one may lack. It is valid until the next is read.
func readLine(in *bufio.Reader) ([]byte, error) {
	var line []byte
	for {
		part, err := in.ReadSlice('\n')
		if err == nil && line == nil {
			return part, nil
		}
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

// ScanFile shows the lines of the index of a WARC file that begin with a prefix, until visit returns false: of a
// finished one in order; of one that still grows as ScanOpen does, and in order if it was finished meanwhile.
func ScanFile(path string, prefix []byte, visit func(line []byte) bool) error {
	f, err := os.Open(path)
	finished, grows := strings.CutSuffix(path, warc.OpenSuffix)
	switch {
	case grows && errors.Is(err, fs.ErrNotExist):
		return ScanFile(finished, prefix, visit)
	case err != nil:
		return err
	}
	defer f.Close()
	if grows {
		return ScanOpen(f, func(line []byte) bool { return !bytes.HasPrefix(line, prefix) || visit(line) })
	}
	info, err := f.Stat()
	if err != nil {
		return err
	}
	return Scan(f, info.Size(), prefix, func(line []byte) bool { return bytes.HasPrefix(line, prefix) && visit(line) })
}

// search returns the offset of a line that is not above the first one that is not below want.
func search(f io.ReaderAt, size int64, want []byte) (int64, error) {
	// line returns the first line that begins at or behind offset, reading little at a time as a binary search does.
	line := func(offset int64) ([]byte, error) {
		behind := max(offset-1, 0) // a line that begins right at offset counts
		in := bufio.NewReaderSize(io.NewSectionReader(f, behind, size-behind), 1<<10)
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
