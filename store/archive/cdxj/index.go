package cdxj

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"henro/store/archive/warc"
)

// Suffix ends the name of the index of one WARC file, which is otherwise called like it.
const Suffix = ".cdxj"

// Path returns the path of the index of a WARC file.
func Path(warcPath string) string {
	stem, _ := warc.CutSuffix(strings.TrimSuffix(warcPath, warc.OpenSuffix))
	return stem + Suffix
}

// lines returns a visitor of records that writes the line of each.
func lines(w io.Writer, filename string) func(*warc.Entry) error {
	var line []byte
	return func(r *warc.Entry) error {
		e, listed, err := Of(r, filename)
		if err != nil || !listed {
			return err
		}
		if line = e.Append(line[:0]); len(line) >= lineBytes {
			return fmt.Errorf("%w: its line of the index has %d bytes", warc.ErrTooLarge, len(line))
		}
		_, err = w.Write(line)
		return err
	}
}

// IndexFile writes the sorted index of a finished WARC file beside it, or none if the file is taken away meanwhile.
// Records that cannot be read are not in it.
func IndexFile(path string) error {
	_, err := indexFile(path)
	return err
}

// indexFile is IndexFile, and names what it could not read.
func indexFile(path string) (unread []string, err error) {
	err = indexWith(path, func(visit func(*warc.Entry) error) error {
		f, err := os.Open(path)
		if err != nil {
			return err
		}
		walked, err := warc.List(f, visit)
		for _, span := range slices.Concat(walked.Damaged, walked.Unread) {
			unread = append(unread, fmt.Sprint(filepath.Base(path), ": ", span))
		}
		return errors.Join(err, f.Close())
	})
	if _, gone := os.Stat(path); err == nil && errors.Is(gone, fs.ErrNotExist) {
		err = os.RemoveAll(Path(path)) // which whoever took the file may have done
	}
	return unread, err
}

// indexWith writes the sorted index of the records that walk shows.
func indexWith(path string, walk func(visit func(*warc.Entry) error) error) error {
	// beside the index of a process that has just finished the file, and may be sorting it
	f, err := os.CreateTemp(filepath.Dir(path), filepath.Base(Path(path))+".*"+tempSuffix)
	if err != nil {
		return fmt.Errorf("index %s: %w", path, err)
	}
	w := bufio.NewWriter(f)
	err = errors.Join(walk(lines(w, filepath.Base(path))), w.Flush(), f.Close())
	if err == nil {
		err = SortFile(Path(path), f.Name())
	}
	if grown := os.Remove(Path(path) + warc.OpenSuffix); !errors.Is(grown, fs.ErrNotExist) {
		err = errors.Join(err, grown)
	}
	return errors.Join(err, os.Remove(f.Name()))
}

// Repair repairs a WARC file left open by a process that died, as warc.Repair does, and rewrites its index in the
// same pass. Should the process die in between, Unindexed finds the file at the next start.
func Repair(path string) (done warc.Repaired, err error) {
	final := strings.TrimSuffix(path, warc.OpenSuffix)
	err = indexWith(final, func(visit func(*warc.Entry) error) error {
		done, err = warc.Repair(path, visit)
		return err
	})
	if err == nil && done.Path == "" {
		err = os.Remove(Path(final))
	}
	return done, err
}

// RemoveUnfinished removes what a process that died was writing beside the indexes of WARC files in dir that begin with
// prefix. No other process may be writing these.
func RemoveUnfinished(dir, prefix string) error {
	entries, err := os.ReadDir(dir)
	if err != nil {
		return fmt.Errorf("look for unfinished indexes: %w", err)
	}
	for _, e := range entries {
		if name := e.Name(); strings.HasPrefix(name, prefix+"-") && strings.Contains(name, ".cdxj.") &&
			strings.HasSuffix(name, tempSuffix) {
			err = errors.Join(err, os.RemoveAll(filepath.Join(dir, name)))
		}
	}
	return err
}

// Unindexed returns the paths of the finished WARC files in dir that begin with prefix, if it is not empty, and have no
// index beside them.
func Unindexed(dir, prefix string) ([]string, error) {
	entries, err := os.ReadDir(dir)
	if err != nil {
		return nil, fmt.Errorf("look for files without index: %w", err)
	}
	var paths []string
	for _, e := range entries {
		name := e.Name()
		if _, ok := warc.CutSuffix(name); !ok || prefix != "" && !strings.HasPrefix(name, prefix+"-") {
			continue
		}
		path := filepath.Join(dir, name)
		if _, err := os.Stat(Path(path)); errors.Is(err, fs.ErrNotExist) {
			paths = append(paths, path)
		}
	}
	return paths, nil
}
