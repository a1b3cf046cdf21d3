// Package payloads keeps on disk which payloads an archive holds already, and in which capture, so that one that comes
// again under whatever URL is written as a revisit record and not a second time.
//
// The index is a bbolt file: the SHA-1 of a payload leads to the moment of its capture and its URL, which is what
// WARC-Refers-To-Date and WARC-Refers-To-Target-URI name. It does not say in which file the capture lies, so files may
// be moved, collected and packed.
//
// Digests are spread evenly. In one tree each would be written with the 4 kB of its page, as soon as the tree has more
// pages than a transaction has digests. So each flush writes a run of its own, in the order of the digests, and a
// goroutine merges runs into longer ones: a capture is written once more each time the archive is mergeRuns times as
// large.
//
// # Invariants
//
//   - A payload is added only once its capture is synced, and only by the actor that synced it, so whatever Find
//     returns is in the archive, also after kill -9. What was added and not yet flushed is forgotten then, and stored
//     once more.
//   - A capture that is a revisit itself is never added, so a revisit refers to a capture that holds the payload.
//   - Memory is bounded: at most maxWaiting bytes of captures wait while as much is being written, and a merge changes
//     mergeBytes in one transaction; the rest is on disk.
package payloads

import (
	"bytes"
	"cmp"
	"encoding/base32"
	"encoding/binary"
	"errors"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"go.etcd.io/bbolt"

	"henro/store"
	"henro/store/archive/cdxj"
	"henro/store/archive/warc"
)

// maxWaiting bounds the bytes of what was added and is not on disk: some 10,000 captures.
const maxWaiting = 1 << 20

// FlushAfter is how long what was added waits at most, as long as more is added.
const FlushAfter = 10 * time.Second

var (
	runs     = []byte("runs")     // level and number of a run -> bucket: digest -> moment in seconds (varint), URL
	building = []byte("building") // likewise, the run that a merge has not finished
	sources  = []byte("sources")  // path of what was imported -> its size and the moment of its change (varints)
)

// Runs are found in the order of their keys: those of higher levels hold the earlier captures.
const (
	mergeRuns  = 4       // so many of a level become one of the next; with each a look-up takes longer
	mergeBytes = 1 << 20 // what a merge copies in one transaction
)

func runKey(level byte, number uint64) []byte {
	return binary.BigEndian.AppendUint64([]byte{^level}, number)
}
func levelOf(run []byte) byte { return ^run[0] }

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

	merger  sync.WaitGroup // the goroutine that merges runs
	merging atomic.Bool    // it is at work
	closing atomic.Bool    // it is to end
	failed  error          // of the last merge, for the next flush to report
}

type capture struct {
	at  int64 // in seconds
	url string
}

// New returns the index of a file, which is not opened yet.
func New(path string) *Index { return &Index{path: path} }

// Path is where the index of the archive with this prefix in dir lies.
func Path(dir, prefix string) string { return filepath.Join(dir, "."+prefix+".payloads") }

// Open opens the file. One that is not there, or is empty, is made from the indexes of the archive; payloads whose
// lines cannot be read are stored once more when they come again. A damaged file is set aside first; aside is where it
// lies, empty if there was none.
func (x *Index) Open() (aside string, err error) {
	if x == nil {
		return "", nil
	}
	aside, isNew, err := x.openFile()
	if err == nil && isNew {
		err = x.rebuild()
	}
	if err != nil {
		err = fmt.Errorf("open index of payloads: %w", err)
	}
	return aside, err
}

func (x *Index) openFile() (aside string, isNew bool, err error) {
	x.flushing.Lock()
	defer x.flushing.Unlock()
	if x.db != nil {
		return "", false, nil
	}
	isNew = isEmpty(x.path)
	db, err := open(x.path)
	if errors.Is(err, store.ErrCorrupt) {
		aside, isNew = x.path+DamagedSuffix, true
		if err = os.Rename(x.path, aside); err == nil {
			db, err = open(x.path)
		}
	}
	if err != nil {
		return "", false, err
	}
	x.mu.Lock()
	defer x.mu.Unlock()
	x.db, x.waiting, x.bytes, x.flushedAt = db, map[warc.Digest]capture{}, 0, time.Now()
	return aside, isNew, nil
}

// isEmpty reports whether a file has nothing in it, or is not there.
func isEmpty(path string) bool {
	info, err := os.Stat(path)
	return errors.Is(err, os.ErrNotExist) || err == nil && info.Size() == 0
}

// rebuild adds the captures of the archive that the file belongs to.
func (x *Index) rebuild() error {
	paths, err := importable(filepath.Dir(x.path))
	if err != nil {
		return err
	}
	for _, path := range paths {
		f, err := os.Open(path)
		if err != nil {
			continue
		}
		_, _ = x.importFrom(f, func(any) {}) // henro check names what is damaged in it
		f.Close()
	}
	return nil
}

// DamagedSuffix ends the name of an index that was set aside.
const DamagedSuffix = ".damaged"

const lockTimeout = time.Second

func open(path string) (db *bbolt.DB, err error) {
	if err := store.Inspect(path, lockTimeout); err != nil {
		return nil, err
	}
	db, err = bbolt.Open(path, 0o644, &bbolt.Options{Timeout: lockTimeout, NoFreelistSync: true,
		FreelistType: bbolt.FreelistMapType})
	if err != nil {
		return nil, err
	}
	if err := db.Update(func(tx *bbolt.Tx) error {
		if err := buckets(tx); err != nil {
			return err
		}
		_, err := tx.CreateBucketIfNotExists(runs)
		if err == nil {
			_, err = tx.CreateBucketIfNotExists(sources)
		}
		if tx.Bucket(building) != nil { // the process ended within a merge
			err = cmp.Or(err, tx.DeleteBucket(building))
		}
		return err
	}); err != nil {
		return nil, errors.Join(err, db.Close())
	}
	return db, nil
}

// buckets returns store.ErrCorrupt for a file in which something else stands where buckets belong.
func buckets(tx *bbolt.Tx) error {
	isBucket := func(in interface{ Bucket([]byte) *bbolt.Bucket }, kind string) func(key, value []byte) error {
		return func(key, value []byte) error {
			if value != nil || in.Bucket(key) == nil {
				return fmt.Errorf("%s %x is no bucket: %w", kind, key, store.ErrCorrupt)
			}
			return nil
		}
	}
	c := tx.Cursor()
	for key, value := c.First(); key != nil; key, value = c.Next() {
		if err := isBucket(tx, "root")(key, value); err != nil {
			return err
		}
	}
	all := tx.Bucket(runs)
	if all == nil {
		return nil
	}
	return all.ForEach(isBucket(all, "run"))
}

// Close flushes and closes the file. From then on the index knows nothing.
func (x *Index) Close() error {
	if x == nil {
		return nil
	}
	x.flushing.Lock()
	defer x.flushing.Unlock()
	if x.db == nil {
		return nil
	}
	x.closing.Store(true)
	x.merger.Wait()
	err := x.flush()
	x.closing.Store(false)
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
			value := find(tx, d)
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

// find returns what the earliest run that has a digest says of it, nil if none has it.
func find(tx *bbolt.Tx, d warc.Digest) (value []byte) {
	all := tx.Bucket(runs)
	c := all.Cursor()
	for key, _ := c.First(); key != nil && value == nil; key, _ = c.Next() {
		value = all.Bucket(key).Get(d[:])
	}
	return value
}

// add has a capture wait and reports whether a flush is due. Whether the file knows the payload is not looked up: the
// earlier capture is found first, and a merge keeps that one.
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

// flush writes what waits as one run; Find and Add go on meanwhile. What cannot be written is forgotten, so that memory
// stays bounded. The caller holds x.flushing.
func (x *Index) flush() error {
	x.mu.Lock()
	x.writing, x.waiting = x.waiting, map[warc.Digest]capture{}
	x.bytes, x.flushedAt = 0, time.Now()
	err := x.failed
	x.failed = nil
	x.mu.Unlock()
	if len(x.writing) > 0 {
		err = errors.Join(err, x.db.Update(x.put))
	}
	if err != nil {
		err = fmt.Errorf("write index of payloads: %w", err)
	} else if !x.closing.Load() && x.merging.CompareAndSwap(false, true) {
		x.merger.Go(x.merge)
	}
	x.mu.Lock()
	defer x.mu.Unlock()
	x.writing = nil
	return err
}

// put writes the captures that are being written as a run of level 0.
func (x *Index) put(tx *bbolt.Tx) error {
	all := tx.Bucket(runs)
	number, err := all.NextSequence()
	if err != nil {
		return err
	}
	run, err := all.CreateBucket(runKey(0, number))
	if err != nil {
		return err
	}
	run.FillPercent = 1 // nothing comes between its keys
	for _, d := range slices.SortedFunc(maps.Keys(x.writing),
		func(a, b warc.Digest) int { return bytes.Compare(a[:], b[:]) }) {
		c := x.writing[d]
		if err := run.Put(slices.Clone(d[:]), append(binary.AppendVarint(nil, c.at), c.url...)); err != nil {
			return err
		}
	}
	return nil
}

// merge makes one run of those of a level, as long as a level has mergeRuns. Closing the index ends it, and throws away
// the unfinished run.
func (x *Index) merge() {
	defer x.merging.Store(false)
	for merged := true; merged; {
		var err error
		if merged, err = x.mergeLevel(); err != nil {
			x.mu.Lock()
			x.failed = fmt.Errorf("merge runs: %w", err)
			x.mu.Unlock()
		}
	}
}

func (x *Index) mergeLevel() (merged bool, err error) {
	var level [][]byte
	if err := x.db.View(func(tx *bbolt.Tx) error {
		level = fullLevel(tx.Bucket(runs))
		return nil
	}); err != nil || level == nil {
		return false, err
	}
	if err := x.db.Update(func(tx *bbolt.Tx) error {
		built, err := tx.CreateBucketIfNotExists(building)
		if err == nil && built.Bucket(mergedKey(level)) != nil { // of a merge that has failed
			err = built.DeleteBucket(mergedKey(level))
		}
		if err == nil {
			_, err = built.CreateBucket(mergedKey(level))
		}
		return err
	}); err != nil {
		return false, err
	}
	var last []byte
	for more := true; more; {
		if x.closing.Load() {
			return false, nil
		}
		if err := x.db.Update(func(tx *bbolt.Tx) (err error) {
			last, more, err = mergeSome(tx, level, last)
			return err
		}); err != nil {
			return false, err
		}
	}
	err = x.db.Update(func(tx *bbolt.Tx) error {
		all := tx.Bucket(runs)
		err := tx.Bucket(building).MoveBucket(mergedKey(level), all)
		for _, key := range level {
			err = cmp.Or(err, all.DeleteBucket(key))
		}
		return err
	})
	return err == nil, err
}

// fullLevel returns the keys of the runs of a level that has mergeRuns or more, nil if none has.
func fullLevel(all *bbolt.Bucket) (level [][]byte) {
	c := all.Cursor()
	for key, _ := c.First(); key != nil; key, _ = c.Next() {
		if len(level) > 0 && levelOf(level[0]) != levelOf(key) {
			if len(level) >= mergeRuns {
				break
			}
			level = nil
		}
		level = append(level, slices.Clone(key))
	}
	if len(level) < mergeRuns {
		return nil
	}
	return level
}

// mergedKey is the key of the run that these become: behind those that were merged before.
func mergedKey(level [][]byte) []byte { return append([]byte{level[0][0] - 1}, level[0][1:]...) }

// mergeSome copies mergeBytes of captures behind that with the digest last, and returns the last that it has copied. Of
// a digest that several runs have the earliest is copied.
func mergeSome(tx *bbolt.Tx, level [][]byte, last []byte) (_ []byte, more bool, err error) {
	run := tx.Bucket(building).Bucket(mergedKey(level))
	run.FillPercent = 1
	cursors, keys, values := make([]*bbolt.Cursor, len(level)), make([][]byte, len(level)), make([][]byte, len(level))
	for i := range level {
		cursors[i] = tx.Bucket(runs).Bucket(level[i]).Cursor()
		if keys[i], values[i] = cursors[i].Seek(last); last != nil && bytes.Equal(keys[i], last) {
			keys[i], values[i] = cursors[i].Next()
		}
	}
	for copied := 0; copied < mergeBytes; {
		least := -1
		for i, key := range keys {
			if key != nil && (least < 0 || bytes.Compare(key, keys[least]) < 0) {
				least = i
			}
		}
		if least < 0 {
			return last, false, nil
		}
		last = slices.Clone(keys[least])
		if err := run.Put(last, values[least]); err != nil {
			return last, false, err
		}
		copied += len(last) + len(values[least])
		for i := range keys {
			if bytes.Equal(keys[i], last) {
				keys[i], values[i] = cursors[i].Next()
			}
		}
	}
	return last, true, nil
}

// digestOf returns the digest of a capture that holds its payload itself.
func digestOf(e *cdxj.Entry) (d warc.Digest, ok bool) {
	method, _ := e.Asked() // what was asked for by another method is not found by its URL
	if method != "" || e.Mime == cdxj.Revisit || e.URL == "" || e.At.IsZero() {
		return d, false
	}
	raw, err := base32.StdEncoding.DecodeString(strings.ToUpper(e.Digest))
	return d, err == nil && copy(d[:], raw) == len(d) && len(raw) == len(d)
}
