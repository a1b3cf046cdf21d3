package warc

import (
	"errors"
	"fmt"
	"io"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"henro/store/fsync"
)

// Repaired says what Repair did.
type Repaired struct {
	Path    string // of the finished file; "" when nothing whole was in it, and it is gone
	Records int    // whole ones
	Kept    int64  // bytes, to the end of the last of them
	Cut     int64  // bytes of no whole record, before and behind it, which are gone
}

// Leftovers returns the paths of the files in dir that begin with prefix, if it is not empty, and still carry
// OpenSuffix, the oldest first.
func Leftovers(dir, prefix string) ([]string, error) {
	entries, err := os.ReadDir(dir)
	if err != nil {
		return nil, fmt.Errorf("look for open files: %w", err)
	}
	var paths []string
	for _, e := range entries {
		name, open := strings.CutSuffix(e.Name(), OpenSuffix)
		if _, ok := CutSuffix(name); open && ok && (prefix == "" || strings.HasPrefix(name, prefix+"-")) {
			paths = append(paths, filepath.Join(dir, e.Name()))
		}
	}
	slices.Sort(paths)
	return paths, nil
}

// Repair finishes a file that was left open by a process that died: it takes out what is no whole record and takes away
// OpenSuffix. A loss of power leaves holes among records that were not synced, and so of which nobody was told. On the
// way Repair shows every whole record to visit, as Walk does, where it lies in the finished file, so that the file is
// read only once; visit may be nil. The file must belong to no living process.
func Repair(path string, visit func(*Entry) error) (Repaired, error) {
	final, open := strings.CutSuffix(path, OpenSuffix)
	if !open {
		return Repaired{}, fmt.Errorf("repair %s: its name does not end in %s", path, OpenSuffix)
	}
	f, err := os.OpenFile(path, os.O_RDWR, 0)
	if err != nil {
		return Repaired{}, fmt.Errorf("repair: %w", err)
	}
	defer f.Close()
	walked, err := walk(f, visit, true, strictly)
	if err != nil {
		return Repaired{}, fmt.Errorf("repair %s: %w", path, err)
	}
	size, err := f.Seek(0, io.SeekEnd)
	if err != nil {
		return Repaired{}, fmt.Errorf("repair: %w", err)
	}
	done := Repaired{Path: final, Records: walked.Records, Kept: walked.End, Cut: size - walked.End}
	whole := path // a file of the whole records alone
	switch {
	case walked.Records == 0:
		done.Path = ""
	case len(walked.Damaged) > 0 && walked.Damaged[0].Offset < walked.End:
		whole += ".tmp"
		err = squeeze(f, whole, walked)
	default:
		if done.Cut > 0 {
			err = f.Truncate(walked.End)
		}
		err = errors.Join(err, f.Sync())
	}
	err = errors.Join(err, f.Close())
	if err == nil && done.Path != "" {
		err = os.Rename(whole, final)
	}
	if err == nil && (done.Path == "" || whole != path) {
		err = os.Remove(path)
	}
	if err != nil {
		return Repaired{}, fmt.Errorf("repair %s: %w", path, err)
	}
	return done, fsync.Dir(filepath.Dir(path))
}

// squeeze copies a file without its damaged stretches.
func squeeze(f io.ReaderAt, to string, w Walked) error {
	out, err := os.Create(to)
	if err != nil {
		return err
	}
	from, left := int64(0), w.End
	for _, span := range append(w.Damaged, Span{Offset: math.MaxInt64}) {
		n := min(span.Offset-from, left)
		if _, err = io.Copy(out, io.NewSectionReader(f, from, n)); err != nil {
			break
		}
		from, left = span.Offset+span.Length, left-n
	}
	return errors.Join(err, out.Sync(), out.Close())
}
