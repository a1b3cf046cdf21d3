package warc

import (
	"errors"
	"fmt"
	"io"
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
	Kept    int64  // bytes up to the end of the last whole record
	Cut     int64  // bytes behind it, which are gone
	Damaged []Span // stretches before the last whole record that cannot be read; they are left as they are
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

// Repair finishes a file that was left open by a process that died: it cuts off what stands behind the last whole
// record and takes away OpenSuffix. On the way it shows every whole record to visit, as Walk does, so that the file is
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
	walked, err := Walk(f, visit)
	if err != nil {
		return Repaired{}, fmt.Errorf("repair %s: %w", path, err)
	}
	size, err := f.Seek(0, io.SeekEnd)
	if err != nil {
		return Repaired{}, fmt.Errorf("repair: %w", err)
	}
	done := Repaired{Records: walked.Records, Kept: walked.End, Cut: size - walked.End}
	for _, span := range walked.Damaged {
		if span.Offset < walked.End {
			done.Damaged = append(done.Damaged, span)
		}
	}
	if walked.Records == 0 {
		f.Close()
		if err := os.Remove(path); err != nil {
			return Repaired{}, fmt.Errorf("repair: %w", err)
		}
		return done, fsync.Dir(filepath.Dir(path))
	}
	if done.Cut > 0 {
		if err := f.Truncate(walked.End); err != nil {
			return Repaired{}, fmt.Errorf("repair: %w", err)
		}
	}
	if err := errors.Join(f.Sync(), f.Close()); err != nil {
		return Repaired{}, fmt.Errorf("repair %s: %w", path, err)
	}
	if err := os.Rename(path, final); err != nil {
		return Repaired{}, fmt.Errorf("repair: %w", err)
	}
	done.Path = final
	return done, fsync.Dir(filepath.Dir(path))
}
