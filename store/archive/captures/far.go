package captures

import (
	"bufio"
	"context"
	"errors"
	"io"
	"os"
	"path/filepath"
	"slices"

	"henro/store/archive/bucket"
	"henro/store/archive/cdxj"
	"henro/store/report/tables"
)

// OpenBucket is Open for an archive in a bucket. The lines of WARC files that the index of the bucket does not have
// come into a temporary folder.
func OpenBucket(where bucket.Where, unread func(what string)) (_ *Archive, err error) {
	a := &Archive{unread: unread}
	if a.dir, err = os.MkdirTemp("", "henro-bucket-"); err != nil {
		return nil, err
	}
	if a.far, err = bucket.OpenArchive(where, a.dir); err == nil {
		if a.root, err = os.OpenRoot(a.dir); err == nil {
			err = a.refreshFar()
		}
	}
	if err != nil {
		err = errors.Join(err, a.Close(), os.RemoveAll(a.dir))
		return nil, err
	}
	return a, nil
}

func (a *Archive) refreshFar() error {
	m, err := a.far.Refresh(context.Background(), a.note)
	if err == nil {
		a.mu.Lock()
		a.merged = m
		a.mu.Unlock()
	}
	return err
}

// Packed is Merged with a file of all lines, and what opens the files of a bucket; nil: they are in Dir.
func (a *Archive) Packed() (m cdxj.Merged, open func(string) (io.ReadSeekCloser, error), err error) {
	if m = a.Merged(); a.far == nil {
		return m, nil, nil
	}
	m.Path, m.Files = filepath.Join(a.dir, "all"+cdxj.Suffix), slices.Sorted(slices.Values(m.Files))
	f, err := os.Create(m.Path)
	if err != nil {
		return m, nil, err
	}
	defer f.Close()
	out := bufio.NewWriter(f)
	err = a.Lines("", func(line []byte) bool { out.Write(line); return true })
	return m, a.far.Open, errors.Join(err, out.Flush())
}

// Edges shows the links of all pages of a bucket, or of a capture, as bucket.Archive.Edges has them.
func (a *Archive) Edges(of *cdxj.Entry, fn func(tables.Row) error) error { return a.far.Edges(of, fn) }
