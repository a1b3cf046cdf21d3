package cdxj

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"unicode"

	"henro/store/archive/warc"
)

// MergedName is the name of the index of all finished WARC files of a directory; beside it mergedList says which these
// were.
const (
	MergedName = "index" + Suffix
	mergedList = "index.files"
)

// Merged says what MergeDir found and did.
type Merged struct {
	Path    string   // of the merged index
	Files   []string // names of the WARC files in it
	Added   int      // of these, new in it; all of them when it was rebuilt
	Indexed int      // of these, without an index of their own until now
	Unread  []string // what could not be read while files were indexed: file, place and why
}

// MergeDir brings the merged index of a directory up to date. Files that came since are merged into it; it is rebuilt
// when one that was in it is gone or has another size. A file without an index of its own is read and gets one, and an
// index whose lines others left out of order is made again. A file that cannot be read is left out, and tried again the
// next time. Memory is bounded by what Merge needs for 64 files.
//
// The list is written after the index and names its size. A crash in between, or another process that did the same at
// the same time, leaves an index that the list does not fit, and the next call rebuilds it.
func MergeDir(dir string) (Merged, error) {
	m := Merged{Path: filepath.Join(dir, MergedName)}
	paths, err := warc.Files(dir)
	if err != nil {
		return m, fmt.Errorf("index: %w", err)
	}
	sizes := map[string]int64{}
	for _, path := range paths {
		info, err := os.Stat(path)
		if err != nil {
			return m, fmt.Errorf("index: %w", err)
		}
		sizes[filepath.Base(path)] = info.Size()
		m.Files = append(m.Files, filepath.Base(path))
	}
	unindexed, err := Unindexed(dir, "")
	if err != nil {
		return m, err
	}
	for _, path := range unindexed {
		if m.index(path) {
			m.Indexed++
		} else {
			paths = slices.DeleteFunc(paths, func(p string) bool { return p == path })
			m.Files = slices.DeleteFunc(m.Files, func(name string) bool { return name == filepath.Base(path) })
		}
	}

	merged, err := readMerged(dir, sizes)
	if err != nil {
		return m, err
	}
	var sources []string
	for _, path := range paths {
		if !merged[filepath.Base(path)] {
			sources = append(sources, Path(path))
		}
	}
	m.Added = len(sources)
	if merged != nil && m.Added == 0 {
		return m, nil
	}
	if merged != nil {
		sources = append(sources, m.Path)
	}
	if err = MergeFiles(m.Path, sources...); errors.Is(err, ErrUnsorted) || errors.Is(err, ErrLine) {
		sources = nil
		for _, path := range paths {
			if inOrder(Path(path)) || m.index(path) {
				sources = append(sources, Path(path))
			}
		}
		err = MergeFiles(m.Path, sources...)
	}
	if err != nil {
		return m, err
	}
	return m, writeMerged(dir, paths, sizes)
}

// index makes the index of a file, and reports whether it could; what it could not read is in Unread.
func (m *Merged) index(path string) bool {
	unread, err := indexFile(path)
	if m.Unread = append(m.Unread, unread...); err != nil {
		m.Unread = append(m.Unread, fmt.Sprint(filepath.Base(path), ": ", err))
	}
	return err == nil
}

// inOrder reports whether an index can be merged.
func inOrder(path string) bool {
	f, err := os.Open(path)
	if err == nil {
		err = errors.Join(Merge(io.Discard, f), f.Close())
	}
	return err == nil
}

// readMerged returns the files that the merged index holds, or nil when it must be rebuilt.
func readMerged(dir string, sizes map[string]int64) (map[string]bool, error) {
	list, err := os.ReadFile(filepath.Join(dir, mergedList))
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	} else if err != nil {
		return nil, fmt.Errorf("index: %w", err)
	}
	merged := map[string]bool{}
	for line := range strings.Lines(string(list)) {
		var size int64
		var name string
		if _, err := fmt.Sscanf(line, "%d %s\n", &size, &name); err != nil {
			return nil, nil
		}
		if name == MergedName {
			if info, err := os.Stat(filepath.Join(dir, name)); err != nil || info.Size() != size {
				return nil, nil
			}
			continue
		}
		if now, ok := sizes[name]; !ok || now != size {
			return nil, nil
		}
		merged[name] = true
	}
	return merged, nil
}

func writeMerged(dir string, paths []string, sizes map[string]int64) error {
	info, err := os.Stat(filepath.Join(dir, MergedName))
	if err != nil {
		return fmt.Errorf("index: %w", err)
	}
	return replace(filepath.Join(dir, mergedList), func(w io.Writer) error {
		if _, err := fmt.Fprintf(w, "%d %s\n", info.Size(), MergedName); err != nil {
			return err
		}
		for _, path := range paths {
			name := filepath.Base(path)
			if strings.ContainsFunc(name, unicode.IsSpace) {
				continue // it cannot be named here; its lines are merged again each time, to no effect
			}
			if _, err := fmt.Fprintf(w, "%d %s\n", sizes[name], name); err != nil {
				return err
			}
		}
		return nil
	})
}

// Scan shows the lines of the sorted index f of size bytes from the first one that is not below from, until visit
// returns false. A line is the bytes of an entry, valid until visit returns; Parse reads it.
func Scan(f io.ReaderAt, size int64, from []byte, visit func(line []byte) bool) error {
	offset, err := search(f, size, from)
	if err != nil {
		return err
	}
	in := bufio.NewReaderSize(io.NewSectionReader(f, offset, size-offset), 64<<10)
	for {
		line, err := readLine(in)
		if err == io.EOF {
			return nil
		}
		if err != nil {
			return err
		}
		if bytes.Compare(line, from) < 0 {
			continue
		}
		if !visit(line) {
			return nil
		}
	}
}
