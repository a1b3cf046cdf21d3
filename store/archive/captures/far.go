package captures

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"iter"
	"os"
	"path/filepath"
	"sync"

	"henro/store/archive/bucket"
	"henro/store/archive/cdxj"
	"henro/store/archive/warc"
)

// far is what is known of an archive in a bucket.
type far struct {
	*bucket.Bucket

	mu      sync.Mutex
	objects map[string]bucket.Object
	index   *bucket.Index
	fresh   []string // WARC files that the index does not have; dir of the Archive has their lines
}

// openBucket lists a bucket. The lines of WARC files that its index does not have come into a temporary folder.
func openBucket(address string, unread func(what string)) (*Archive, error) {
	where, err := bucket.Find(address)
	if err != nil {
		return nil, err
	}
	b, err := bucket.Open(where, nil)
	if err != nil {
		return nil, err
	}
	a := &Archive{unread: unread, far: &far{Bucket: b}}
	if a.dir, err = os.MkdirTemp("", "henro-bucket-"); err == nil {
		if a.root, err = os.OpenRoot(a.dir); err == nil {
			err = a.refreshFar()
		}
	}
	if err != nil {
		return nil, errors.Join(err, a.Close())
	}
	return a, nil
}

// refreshFar lists the bucket again, and fetches the lines that its index does not have.
func (a *Archive) refreshFar() error {
	b := a.far.Bucket
	objects, err := b.List(context.Background())
	if err != nil {
		return err
	}
	index, err := b.Index(objects)
	if err != nil {
		return err
	}
	fresh, err := index.Fetch(objects, a.dir)
	if err != nil {
		return err
	}
	merged := cdxj.Merged{Path: filepath.Join(a.dir, cdxj.MergedName), Added: len(fresh)}
	for name := range objects {
		if _, is := warc.CutSuffix(name); !is {
			continue
		}
		merged.Files = append(merged.Files, name)
		if _, indexed := objects[cdxj.Path(name)]; !indexed && !index.Has[name] {
			a.note(fmt.Sprintf("%v: %s has no index beside it, and is left out", b, name))
		}
	}
	if len(merged.Files) == 0 {
		return fmt.Errorf("%v holds no WARC files", b)
	}
	var paths []string
	for _, name := range fresh {
		paths = append(paths, filepath.Join(a.dir, cdxj.Path(name)))
	}
	a.mu.Lock()
	defer a.mu.Unlock()
	if err := cdxj.MergeFiles(merged.Path, paths...); err != nil {
		return err
	}
	a.merged = merged
	a.far.mu.Lock()
	defer a.far.mu.Unlock()
	a.far.objects, a.far.index, a.far.fresh = objects, index, fresh
	return nil
}

func (f *far) lines(from string, failed *error) iter.Seq[[]byte] {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.index.Lines(from, failed)
}

// file reads a WARC file by ranges.
func (f *far) file(name string) (io.ReadSeeker, error) {
	f.mu.Lock()
	o, there := f.objects[name]
	f.mu.Unlock()
	if !there {
		return nil, fmt.Errorf("%v: %s: %w", f.Bucket, name, fs.ErrNotExist)
	}
	return f.File(o), nil
}

// AddToIndex takes the lines of the WARC files that came since into the index of a bucket.
func (a *Archive) AddToIndex(ctx context.Context) (done bucket.Added, err error) {
	f, err := a.root.Open(cdxj.MergedName)
	if err != nil {
		return done, err
	}
	defer f.Close()
	var failed error
	done, err = a.far.index.Add(ctx, a.dir, a.far.fresh, scan(f, "", &failed), &failed)
	if err == nil {
		err = a.refreshFar()
	}
	return done, err
}
