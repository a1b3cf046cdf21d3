// Package payloads keeps on disk which payloads an archive holds already, and in which capture, so that one that comes
// again under whatever URL is written as a revisit record and not a second time.
//
// The index is a bbolt file with one bucket: the SHA-1 of a payload leads to the moment of its capture and its URL,
// which is what WARC-Refers-To-Date and WARC-Refers-To-Target-URI name. It does not say in which file the capture lies,
// so files may be moved, collected and packed.
//
// # Invariants
//
//   - A payload is added only once its capture is synced, and only by the actor that synced it, so whatever Find
//     returns is in the archive, also after kill -9. What was added and not yet flushed is forgotten then, and stored
//     once more.
//   - A capture that is a revisit itself is never added, so a revisit refers to a capture that holds the payload.
//   - Memory is bounded: at most maxWaiting bytes of captures wait while as much is being written; the rest is on disk.
package payloads

import (
	"bufio"
	"bytes"
	"encoding/base32"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"time"

	"go.etcd.io/bbolt"
	berrors "go.etcd.io/bbolt/errors"

	"henro/store/archive/cdxj"
	"henro/store/archive/wacz"
	"henro/store/archive/warc"
)

// maxWaiting bounds the bytes of what was added and is not on disk: some 10,000 captures. bbolt writes 4 KiB for each,
// fewer the more are written at once.
const maxWaiting = 1 << 20

// FlushAfter is how long what was added waits at most, as long as more is added.
const FlushAfter = 10 * time.Second

var (
	captures = []byte("captures") // digest -> moment in seconds (varint), URL
	sources  = []byte("sources")  // path of what was imported -> its size and the moment of its change (varints)
)

// commitKeys bounds what one transaction writes, in the order of keys: bbolt holds every page that a transaction
// changes in memory, and digests are anywhere.
const commitKeys = 1000

// Index is the index of one archive. It is safe for use by several goroutines. A nil Index knows nothing and keeps
// nothing; so does one that is not open.
type Index struct {
	path string

	flushing sync.Mutex // held by the one who writes or opens or closes the file; taken before mu
	mu       sync.RWMutex
	db       *bbolt.DB
	waiting  map[warc.Digest]capture
	writing  map[warc.Digest]capture // what a flush is writing, not changed before it is done

	bytes     int // of waiting
	flushedAt time.Time
}

type capture struct {
	at  int64 // in seconds
	url string
}

// New returns the index of a file, which is not opened yet.
func New(path string) *Index { return &Index{path: path} }

// Path is where the index of the archive with this prefix in dir lies.
func Path(dir, prefix string) string { return filepath.Join(dir, "."+prefix+".payloads") }

// Open opens the file, or makes it. A damaged one is replaced by an empty one: it only saves room.
func (x *Index) Open() error {
	if x == nil {
		return nil
	}
	x.flushing.Lock()
	defer x.flushing.Unlock()
	if x.db != nil {
		return nil
	}
	db, err := open(x.path)
	if errors.Is(err, berrors.ErrInvalid) || errors.Is(err, berrors.ErrChecksum) ||
		errors.Is(err, berrors.ErrVersionMismatch) {
		if err = os.Remove(x.path); err == nil {
			db, err = open(x.path)
		}
	}
	if err != nil {
		return fmt.Errorf("open index of payloads: %w", err)
	}
	x.mu.Lock()
	defer x.mu.Unlock()
	x.db, x.waiting, x.bytes, x.flushedAt = db, map[warc.Digest]capture{}, 0, time.Now()
	return nil
}

func open(path string) (*bbolt.DB, error) {
	db, err := bbolt.Open(path, 0o644, &bbolt.Options{Timeout: time.Second, NoFreelistSync: true,
		FreelistType: bbolt.FreelistMapType})
	if err != nil {
		return nil, err
	}
	if err := db.Update(func(tx *bbolt.Tx) error {
		_, err := tx.CreateBucketIfNotExists(captures)
		if err == nil {
			_, err = tx.CreateBucketIfNotExists(sources)
		}
		return err
	}); err != nil {
		return nil, errors.Join(err, db.Close())
	}
	return db, nil
}

// Close flushes and closes the file; the index knows nothing then.
func (x *Index) Close() error {
	if x == nil {
		return nil
	}
	x.flushing.Lock()
	defer x.flushing.Unlock()
	if x.db == nil {
		return nil
	}
	err := x.flush()
	x.mu.Lock()
	defer x.mu.Unlock()
	err = errors.Join(err, x.db.Close())
	x.db, x.waiting = nil, nil
	return err
}

// Find returns the capture that holds a payload.
func (x *Index) Find(d warc.Digest) (e warc.Earlier, ok bool) {
	if x == nil || d.IsZero() {
		return e, false
	}
	x.mu.RLock()
	defer x.mu.RUnlock()
	if x.db == nil {
		return e, false
	}
	c, ok := x.waiting[d]
	if !ok {
		c, ok = x.writing[d]
	}
	if !ok {
		// The only error is that the file was closed, which the lock forbids.
		_ = x.db.View(func(tx *bbolt.Tx) error {
			value := tx.Bucket(captures).Get(d[:])
			var n int
			if c.at, n = binary.Varint(value); n > 0 {
				c.url, ok = string(value[n:]), true
			}
			return nil
		})
	}
	return warc.Earlier{URI: c.url, At: time.Unix(c.at, 0), Digest: d}, ok
}

// Add notes a capture that is on the disk. Of a payload that is known the earlier capture stays. Revisits and captures
// without a digest are passed over. When enough waits, it is written before Add returns.
func (x *Index) Add(e *cdxj.Entry) error {
	if x == nil {
		return nil
	}
	d, ok := digestOf(e)
	if !ok || !x.add(d, capture{e.At.Unix(), e.URL}) {
		return nil
	}
	x.flushing.Lock()
	defer x.flushing.Unlock()
	x.mu.RLock()
	still := x.db != nil && x.due() // else another has written it meanwhile
	x.mu.RUnlock()
	if !still {
		return nil
	}
	return x.flush()
}

// add has a capture wait and reports whether a flush is due. Whether the file knows the payload is looked up by the
// flush, which reads those pages anyway.
func (x *Index) add(d warc.Digest, c capture) (due bool) {
	x.mu.Lock()
	defer x.mu.Unlock()
	if x.db == nil {
		return false
	}
	for _, known := range []map[warc.Digest]capture{x.waiting, x.writing} {
		if _, ok := known[d]; ok {
			return false
		}
	}
	x.waiting[d] = c
	x.bytes += len(d) + len(c.url) + 64
	return x.due()
}

// due reports that what waits is to be written. The caller holds x.mu.
func (x *Index) due() bool {
	return x.bytes >= maxWaiting || x.bytes > 0 && time.Since(x.flushedAt) >= FlushAfter
}

// flush writes what waits; Find and Add go on meanwhile. What cannot be written is forgotten, or it would grow. The
// caller holds x.flushing.
func (x *Index) flush() error {
	x.mu.Lock()
	x.writing, x.waiting = x.waiting, map[warc.Digest]capture{}
	x.bytes, x.flushedAt = 0, time.Now()
	x.mu.Unlock()
	digests := slices.SortedFunc(maps.Keys(x.writing), func(a, b warc.Digest) int { return bytes.Compare(a[:], b[:]) })
	var err error
	for part := range slices.Chunk(digests, commitKeys) {
		if err = x.db.Update(func(tx *bbolt.Tx) error { return x.put(tx.Bucket(captures), part) }); err != nil {
			err = fmt.Errorf("write index of payloads: %w", err)
			break
		}
	}
	x.mu.Lock()
	defer x.mu.Unlock()
	x.writing = nil
	return err
}

// put writes the captures with these digests, but those that are there.
func (x *Index) put(b *bbolt.Bucket, digests []warc.Digest) error {
	for _, d := range digests {
		if b.Get(d[:]) != nil {
			continue
		}
		c := x.writing[d]
		if err := b.Put(d[:], append(binary.AppendVarint(nil, c.at), c.url...)); err != nil {
			return err
		}
	}
	return nil
}

// digestOf returns the digest of a capture that holds its payload itself.
func digestOf(e *cdxj.Entry) (d warc.Digest, ok bool) {
	if e.Mime == cdxj.Revisit || e.URL == "" || e.At.IsZero() {
		return d, false
	}
	raw, err := base32.StdEncoding.DecodeString(strings.ToUpper(e.Digest))
	return d, err == nil && copy(d[:], raw) == len(d) && len(raw) == len(d)
}

// Import adds the captures of an earlier crawl: of a CDXJ index, of a WARC file, or of all of these in a folder, but of
// no WARC file that has its index beside it. The index must be closed. What was imported before and has not changed
// since is passed over; added is the number of captures read.
func (x *Index) Import(from string) (added int, err error) {
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
	if err := x.Open(); err != nil {
		return 0, err
	}
	defer func() { err = errors.Join(err, x.Close()) }()
	for _, path := range paths {
		n, err := x.importFile(path)
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
		if filepath.Base(path) != cdxj.MergedName || len(indexes) == 1 { // else all of it is in the others
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

func (x *Index) importFile(path string) (added int, err error) {
	info, err := os.Stat(path)
	if err != nil {
		return 0, err
	}
	absolute, err := filepath.Abs(path)
	if err != nil {
		return 0, err
	}
	state := binary.AppendVarint(binary.AppendVarint(nil, info.Size()), info.ModTime().UnixNano())
	known := false
	if err := x.db.View(func(tx *bbolt.Tx) error {
		known = string(tx.Bucket(sources).Get([]byte(absolute))) == string(state)
		return nil
	}); err != nil || known {
		return 0, err
	}
	f, err := os.Open(path)
	if err != nil {
		return 0, err
	}
	defer f.Close()
	if _, isWARC := warc.CutSuffix(path); isWARC {
		added, err = x.importWARC(f)
	} else if strings.HasSuffix(path, wacz.Suffix) {
		added, err = x.importWACZ(path)
	} else {
		added, err = x.importCDXJ(f)
	}
	if err != nil {
		return added, err
	}
	x.flushing.Lock()
	defer x.flushing.Unlock()
	return added, errors.Join(x.flush(), x.db.Update(func(tx *bbolt.Tx) error {
		return tx.Bucket(sources).Put([]byte(absolute), state)
	}))
}

func (x *Index) importWARC(f *os.File) (added int, err error) {
	_, err = warc.Walk(f, func(r *warc.Entry) error {
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
	return added, err
}

func (x *Index) importWACZ(path string) (added int, err error) {
	p, err := wacz.Open(path)
	if err != nil {
		return 0, err
	}
	defer p.Close()
	err = p.EachIndex(func(_ string, lines io.Reader) error {
		n, err := x.importCDXJ(lines)
		added += n
		return err
	})
	return added, err
}

// maxLine bounds a line of an index; a longer one is no line of any.
const maxLine = 1 << 20

func (x *Index) importCDXJ(f io.Reader) (added int, err error) {
	lines := bufio.NewScanner(f)
	lines.Buffer(nil, maxLine)
	for lines.Scan() {
		if line := lines.Bytes(); len(line) == 0 || line[0] == '!' || line[0] == ' ' { // a header
			continue
		}
		e, err := cdxj.Parse(lines.Bytes())
		if err != nil {
			return added, err
		}
		if err := x.Add(&e); err != nil {
			return added, err
		}
		added++
	}
	return added, lines.Err()
}

// Imported reports whether an archive in a folder knows what an earlier crawl holds: its revisits may refer to
// captures that are there.
func Imported(dir string) (imported bool, err error) {
	paths, err := filepath.Glob(filepath.Join(dir, ".*.payloads"))
	if err != nil {
		return false, fmt.Errorf("look for indexes of payloads: %w", err)
	}
	for _, path := range paths {
		db, err := bbolt.Open(path, 0o644, &bbolt.Options{Timeout: time.Second, ReadOnly: true})
		if err != nil {
			continue // the next crawl replaces a damaged one
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
