package bucket

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"iter"
	"os"
	"path/filepath"
	"sync"
	"time"

	"henro/store/archive/cdxj"
	"henro/store/archive/warc"
)

// Archive is what a bucket holds: its WARC files, and their lines. Lines that the index of the bucket does not have are
// in a folder here. Its methods may be called from any goroutine.
type Archive struct {
	b   *Bucket
	dir string

	mu      sync.Mutex
	objects map[string]Object
	index   *Index
}

// OpenArchive returns an archive; dir is an empty folder. Refresh comes first.
func OpenArchive(where Where, dir string) (*Archive, error) {
	b, err := Open(where, nil)
	return &Archive{b: b, dir: dir}, err
}

// Refresh lists the bucket, and fetches the lines that its index does not have; note is told what has no lines.
func (a *Archive) Refresh(ctx context.Context, note func(what string)) (m cdxj.Merged, err error) {
	for range 3 { // a node may write another list of parts meanwhile
		if m, err = a.refresh(ctx, note); !errors.Is(err, ErrChanged) {
			break
		}
	}
	return m, err
}

func (a *Archive) refresh(ctx context.Context, note func(what string)) (cdxj.Merged, error) {
	m := cdxj.Merged{Path: filepath.Join(a.dir, cdxj.MergedName)}
	objects, err := a.b.List(ctx)
	if err != nil {
		return m, err
	}
	index, err := a.b.Index(objects)
	if err != nil {
		return m, err
	}
	fresh, err := index.Fetch(objects, a.dir)
	if err != nil {
		return m, err
	}
	for name := range objects {
		if _, is := warc.CutSuffix(name); !is {
			continue
		}
		m.Files = append(m.Files, name)
		if _, indexed := objects[cdxj.Path(name)]; indexed || index.has[name] != "" {
			continue
		} else if a.b.arriving(objects, name) {
			note(fmt.Sprintf("%v: %s is being brought, and is left out until its index has come", a.b, name))
		} else {
			note(fmt.Sprintf("%v: %s has no index beside it, and is left out", a.b, name))
		}
	}
	if len(m.Files) == 0 {
		return m, fmt.Errorf("%v holds no WARC files", a.b)
	}
	var paths []string
	for _, name := range fresh {
		paths = append(paths, filepath.Join(a.dir, cdxj.Path(name)))
	}
	m.Added = len(fresh)
	a.mu.Lock()
	defer a.mu.Unlock()
	if err := cdxj.MergeFiles(m.Path, paths...); err != nil {
		return m, err
	}
	a.objects, a.index = objects, index
	return m, nil
}

// Lines are those of the index of the bucket from the first that is not below from.
func (a *Archive) Lines(from string, failed *error) iter.Seq[[]byte] {
	a.mu.Lock()
	defer a.mu.Unlock()
	return a.index.Lines(from, failed)
}

// File reads a WARC file by ranges.
func (a *Archive) File(name string) (*io.SectionReader, error) {
	a.mu.Lock()
	o, there := a.objects[name]
	a.mu.Unlock()
	if !there {
		return nil, fmt.Errorf("%v: %s: %w", a.b, name, fs.ErrNotExist)
	}
	return a.b.File(o), nil
}

// Open is File with a Close, which does nothing.
func (a *Archive) Open(name string) (io.ReadSeekCloser, error) {
	f, err := a.File(name)
	return struct {
		io.ReadSeeker
		io.Closer
	}{f, io.NopCloser(nil)}, err
}

// AddToIndex takes what came since into the index of a bucket, and writes tables that are missing, once no other node
// is at it.
func AddToIndex(ctx context.Context, where Where) (done Added, err error) {
	k, err := NewKeeper(where)
	if err != nil {
		return done, err
	}
	if objects, err := k.b.List(ctx); err != nil || len(objects) == 0 { // which nobody is to begin by a wrong name
		return done, cmp.Or(err, fmt.Errorf("%v holds no WARC files", k.b))
	}
	for {
		if done, err = k.Pass(ctx); !errors.Is(err, ErrHeld) {
			return done, err
		}
		if err := k.wait(ctx, 5*time.Second); err != nil {
			return done, err
		}
	}
}

// ScanFile are the lines of a sorted index from the first that is not below from.
func ScanFile(f *os.File, from string, failed *error) iter.Seq[[]byte] {
	return func(yield func([]byte) bool) {
		info, err := f.Stat()
		if err == nil {
			err = cdxj.Scan(f, info.Size(), []byte(from), yield)
		}
		*failed = errors.Join(*failed, err)
	}
}
