package payloads

import (
	"cmp"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"go.etcd.io/bbolt"

	"henro/store"
	"henro/store/archive/cdxj"
	"henro/store/archive/wacz"
	"henro/store/archive/warc"
)

// Import adds the captures of an earlier crawl: of a CDXJ index, a WARC or WACZ file, or a folder of CDXJ indexes and
// of WARC files that have none. The index of payloads must be closed. What was imported before and has not changed
// since is passed over; added is the number of captures read. Reading goes on behind what cannot be read; unread is
// told of it, with its file and place.
func (x *Index) Import(from string, unread func(what string)) (added int, err error) {
	info, err := os.Stat(from)
	if err != nil {
		return 0, err
	}
	paths := []string{from}
	if info.IsDir() {
		if paths, err = importable(from); err != nil {
			return 0, err
		}
		if len(paths) == 0 {
			return 0, fmt.Errorf("%s holds neither CDXJ nor WARC files", from)
		}
	}
	if _, err := x.Open(); err != nil {
		return 0, err
	}
	defer func() { err = errors.Join(err, x.Close()) }()
	for _, path := range paths {
		n, err := x.importFile(path, func(what any) { unread(fmt.Sprint(path, ": ", what)) })
		if added += n; err != nil {
			return added, fmt.Errorf("%s: %w", path, err)
		}
	}
	return added, nil
}

// importable lists the files of a folder from which captures are read.
func importable(dir string) (paths []string, err error) {
	files, err := warc.Files(dir)
	if err != nil {
		return nil, err
	}
	indexes, err := filepath.Glob(filepath.Join(dir, "*"+cdxj.Suffix))
	if err != nil {
		return nil, err
	}
	indexed := map[string]bool{}
	for _, path := range indexes {
		if filepath.Base(path) != cdxj.MergedName || len(indexes) == 1 { // the others hold all of its lines
			paths = append(paths, path)
		}
		indexed[path] = true
	}
	for _, path := range files {
		if !indexed[cdxj.Path(path)] && !indexed[filepath.Join(dir, cdxj.MergedName)] {
			paths = append(paths, path)
		}
	}
	return paths, nil
}

func (x *Index) importFile(path string, unread func(what any)) (added int, err error) {
	info, err := os.Stat(path)
	if err != nil {
		return 0, err
	}
	absolute, err := filepath.Abs(path)
	if err != nil {
		return 0, err
	}
	state := binary.AppendVarint(binary.AppendVarint(nil, info.Size()), info.ModTime().UnixNano())
	return x.once(absolute, string(state), func() (int, error) {
		f, err := os.Open(path)
		if err != nil {
			return 0, err
		}
		defer f.Close()
		return x.importFrom(f, unread)
	})
}

// ImportLines is Import for lines of CDXJ that are in no file; name is their source, and state tells two of its states
// apart.
func (x *Index) ImportLines(name, state string, lines io.Reader, unread func(what any)) (added int, err error) {
	if _, err := x.Open(); err != nil {
		return 0, err
	}
	defer func() { err = errors.Join(err, x.Close()) }()
	return x.once(name, state, func() (int, error) { return x.importCDXJ(lines, unread) })
}

// once has a source read, unless it was read in this state already.
func (x *Index) once(name, state string, read func() (int, error)) (added int, err error) {
	known := false
	if err := x.db.View(func(tx *bbolt.Tx) error {
		known = string(tx.Bucket(sources).Get([]byte(name))) == state
		return nil
	}); err != nil || known {
		return 0, err
	}
	if added, err = read(); err != nil {
		return added, err
	}
	x.flushing.Lock()
	defer x.flushing.Unlock()
	return added, errors.Join(x.flush(), x.db.Update(func(tx *bbolt.Tx) error {
		return tx.Bucket(sources).Put([]byte(name), []byte(state))
	}))
}

// importFrom adds the captures of a file of any kind.
func (x *Index) importFrom(f *os.File, unread func(what any)) (added int, err error) {
	if _, isWARC := warc.CutSuffix(f.Name()); isWARC {
		return x.importWARC(f, unread)
	}
	if strings.HasSuffix(f.Name(), wacz.Suffix) {
		return x.importWACZ(f.Name(), unread)
	}
	return x.importCDXJ(f, unread)
}

func (x *Index) importWARC(f *os.File, unread func(what any)) (added int, err error) {
	walked, err := warc.Walk(f, func(r *warc.Entry) error {
		if r.Header.Get("WARC-Truncated") != "" {
			return r.Close()
		}
		e, listed, err := cdxj.Of(r, filepath.Base(f.Name()))
		if err != nil || !listed {
			return err
		}
		added++
		return x.Add(&e)
	})
	for _, span := range slices.Concat(walked.Damaged, walked.Unread) {
		unread(span)
	}
	return added, err
}

func (x *Index) importWACZ(path string, unread func(what any)) (added int, err error) {
	p, err := wacz.Open(path)
	if err != nil {
		return 0, err
	}
	defer p.Close()
	err = p.EachIndex(func(name string, lines io.Reader) error {
		n, err := x.importCDXJ(lines, func(what any) { unread(fmt.Sprintf("%q, %v", name, what)) })
		added += n
		return err
	})
	return added, err
}

func (x *Index) importCDXJ(f io.Reader, unread func(what any)) (added int, err error) {
	var first error // of the lines that cannot be read
	err = cdxj.Each(f, cdxj.Parse, func(e cdxj.Entry) error {
		added++
		return x.Add(&e)
	}, func(line int, err error) {
		err = fmt.Errorf("line %d: %w", line, err)
		first = cmp.Or(first, err)
		unread(err)
	})
	if err == nil && added == 0 {
		err = first // it is no index
	}
	return added, err
}

// Imported reports whether an archive in a folder knows what an earlier crawl holds: its revisits may refer to captures
// that are there. A damaged index, from which this cannot be told, is store.ErrCorrupt.
func Imported(dir string) (imported bool, err error) {
	paths, err := filepath.Glob(filepath.Join(dir, ".*.payloads"))
	if err != nil {
		return false, fmt.Errorf("look for indexes of payloads: %w", err)
	}
	for _, path := range paths {
		if isEmpty(path) { // emptied, or of a crawl that was killed when it began
			return false, fmt.Errorf("%s is empty: %w", path, store.ErrCorrupt)
		}
		err := store.Inspect(path, lockTimeout)
		if errors.Is(err, store.ErrInUse) {
			continue // a crawl runs, which has looked through it
		}
		if err != nil {
			return false, err
		}
		db, err := bbolt.Open(path, 0o644, &bbolt.Options{Timeout: lockTimeout, ReadOnly: true})
		if err != nil {
			return false, fmt.Errorf("open %s: %w", path, err)
		}
		err = db.View(func(tx *bbolt.Tx) error {
			if b := tx.Bucket(sources); b != nil {
				first, _ := b.Cursor().First()
				imported = imported || first != nil
			}
			return nil
		})
		if err = errors.Join(err, db.Close()); err != nil {
			return false, fmt.Errorf("read %s: %w", path, err)
		}
	}
	return imported, nil
}
