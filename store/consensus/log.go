package consensus

import (
	"bytes"
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"hash/crc32"
	"io"
	"path/filepath"

	"github.com/hashicorp/raft"
	"go.etcd.io/bbolt"
	berrors "go.etcd.io/bbolt/errors"

	"henro/store"
	"henro/store/fsync"
)

// logName is the file of the log, beside the checkpoint.
const logName = "entries.db"

// The buckets of a log.
var (
	marksBucket   = []byte("marks")   // term, vote, identity
	entriesBucket = []byte("entries") // by index8, a bucket with one value
	entryKey      = []byte("entry")   // of that value: term8 ‖ type1 ‖ data ‖ CRC-32C of index8 and all that
)

var castagnoli = crc32.MakeTable(crc32.Castagnoli)

// damagedLog is the error of a log, or of a copy of the state, that cannot be read. It is store.ErrCorrupt.
type damagedLog struct {
	dir   string
	cause error
}

func (d *damagedLog) Error() string {
	return fmt.Sprintf("what this master keeps in %s is damaged (%v): give it up (henro nodes remove), set its "+
		"--dir aside and start it with --standby and an empty one, into which the master that leads copies the crawl; "+
		"if there is no other master, restore a backup", d.dir, d.cause)
}

func (d *damagedLog) Is(target error) bool { return target == store.ErrCorrupt }

// ofLog makes a damagedLog of an error that means damage; other errors stay as they are.
func ofLog(dir string, err error) error {
	var words *json.SyntaxError
	var kind *json.UnmarshalTypeError
	if errors.Is(err, store.ErrCorrupt) || errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF) ||
		errors.As(err, &words) || errors.As(err, &kind) {
		return &damagedLog{dir, err}
	}
	return err
}

// errEarlierLog is what becomes of a log that an earlier henro has written.
var errEarlierLog = errors.New("the log is of an earlier henro: have that one make the copy of one master the only " +
	"one (henro nodes recover), and start the others with --standby and an empty --dir")

// Started reports whether a group was begun, or joined, beside the state in a directory.
func Started(state string) bool {
	found, err := filepath.Glob(filepath.Join(store.LogDir(state), "*.db"))
	return err == nil && len(found) > 0
}

// log has the entries of a member, and what changes with an election, in a bbolt file. Each entry has a bucket, and so
// pages of its own: as a value among others, one of 400 kB would be written again with each of its neighbours. The
// room of entries that were cut off is used again; the file does not shrink.
type log struct{ db *bbolt.DB }

func openLog(dir string) (l *log, err error) {
	path := filepath.Join(dir, logName)
	if found, _ := filepath.Glob(filepath.Join(dir, "*.db")); len(found) > 0 && found[0] != path {
		return nil, fmt.Errorf("open %s: %w", found[0], errEarlierLog)
	}
	l = new(log)
	if err = store.Inspect(path, lockTimeout); err == nil {
		l.db, err = bbolt.Open(path, 0o600,
			&bbolt.Options{Timeout: lockTimeout, FreelistType: bbolt.FreelistMapType, NoFreelistSync: true})
	}
	if err == nil {
		err = l.db.View(examine)
	}
	if errors.Is(err, errNew) {
		err = errors.Join(l.db.Update(prepare), fsync.Dir(dir), fsync.Dir(filepath.Dir(dir)))
	}
	if err != nil {
		return nil, errors.Join(fmt.Errorf("open %s: %w", path, ofLog(dir, err)), l.Close())
	}
	return l, nil
}

// errNew is what examine returns for a file that has no bucket yet.
var errNew = errors.New("a new log")

// examine looks whether a log has its buckets, and entries without a gap.
func examine(tx *bbolt.Tx) error {
	marks, entries := tx.Bucket(marksBucket), tx.Bucket(entriesBucket)
	switch {
	case marks == nil && entries == nil:
		return errNew
	case marks == nil || entries == nil:
		return fmt.Errorf("a bucket is missing: %w", store.ErrCorrupt)
	}
	var last []byte
	return entries.ForEach(func(key, value []byte) error {
		if value != nil || len(key) != 8 || last != nil && indexOf(key) != indexOf(last)+1 {
			return fmt.Errorf("entry %x: %w", key, store.ErrCorrupt)
		}
		last = key
		return nil
	})
}

func prepare(tx *bbolt.Tx) error {
	_, err := tx.CreateBucket(marksBucket)
	if err == nil {
		_, err = tx.CreateBucket(entriesBucket)
	}
	return err
}

// indexOf is the index of an entry by its key; 0: there is none.
func indexOf(key []byte) uint64 {
	if key == nil {
		return 0
	}
	return binary.BigEndian.Uint64(key)
}

func keyOf(index uint64) []byte { return binary.BigEndian.AppendUint64(nil, index) }

// ends are the indexes of the first entry and the last one.
func ends(entries *bbolt.Bucket) (first, last uint64) {
	c := entries.Cursor()
	from, _ := c.First()
	to, _ := c.Last()
	return indexOf(from), indexOf(to)
}

// Close closes the file.
func (l *log) Close() error {
	if l.db == nil {
		return nil
	}
	return l.db.Close()
}

// FirstIndex implements raft.LogStore.
func (l *log) FirstIndex() (first uint64, err error) {
	err = l.db.View(func(tx *bbolt.Tx) error {
		first, _ = ends(tx.Bucket(entriesBucket))
		return nil
	})
	return first, err
}

// LastIndex implements raft.LogStore.
func (l *log) LastIndex() (last uint64, err error) {
	err = l.db.View(func(tx *bbolt.Tx) error {
		_, last = ends(tx.Bucket(entriesBucket))
		return nil
	})
	return last, err
}

// IsMonotonic implements raft.MonotonicLogStore: behind a copy of the state that is received, the log begins anew.
func (*log) IsMonotonic() bool { return true }

// GetLog implements raft.LogStore.
func (l *log) GetLog(index uint64, entry *raft.Log) error {
	return l.db.View(func(tx *bbolt.Tx) error {
		kept := tx.Bucket(entriesBucket).Bucket(keyOf(index))
		if kept == nil {
			return raft.ErrLogNotFound
		}
		b := kept.Get(entryKey)
		at := len(b) - crc32.Size
		if at < 9 || binary.LittleEndian.Uint32(b[at:]) != checksum(index, b[:at]) {
			return fmt.Errorf("entry %d: %w", index, store.ErrCorrupt)
		}
		*entry = raft.Log{Index: index, Term: binary.LittleEndian.Uint64(b), Type: raft.LogType(b[8]),
			Data: bytes.Clone(b[9:at])}
		return nil
	})
}

func checksum(index uint64, b []byte) uint32 {
	return crc32.Update(crc32.Checksum(keyOf(index), castagnoli), castagnoli, b)
}

// StoreLog is StoreLogs of one.
func (l *log) StoreLog(entry *raft.Log) error { return l.StoreLogs([]*raft.Log{entry}) }

// StoreLogs appends entries. Entries that do not end just before them are removed. If they end sooner, a copy of the
// state was received that has all of them; if later, the disk failed while they were written, and Raft has none.
func (l *log) StoreLogs(added []*raft.Log) error {
	return l.db.Update(func(tx *bbolt.Tx) error {
		entries := tx.Bucket(entriesBucket)
		first, last := ends(entries)
		if last >= added[0].Index {
			first = max(first, added[0].Index)
		}
		if last > 0 && last+1 != added[0].Index {
			if err := remove(entries, first, last); err != nil {
				return err
			}
		}
		for _, entry := range added {
			own, err := entries.CreateBucket(keyOf(entry.Index))
			if err != nil {
				return err
			}
			b := binary.LittleEndian.AppendUint64(make([]byte, 0, 9+len(entry.Data)+crc32.Size), entry.Term)
			b = append(append(b, byte(entry.Type)), entry.Data...)
			b = binary.LittleEndian.AppendUint32(b, checksum(entry.Index, b))
			if err := own.Put(entryKey, b); err != nil {
				return err
			}
		}
		return nil
	})
}

// DeleteRange implements raft.LogStore.
func (l *log) DeleteRange(from, to uint64) error {
	return l.db.Update(func(tx *bbolt.Tx) error {
		entries := tx.Bucket(entriesBucket)
		first, last := ends(entries)
		return remove(entries, max(first, from), min(last, to))
	})
}

func remove(entries *bbolt.Bucket, from, to uint64) error {
	for i := from; i > 0 && i <= to; i++ {
		if err := entries.DeleteBucket(keyOf(i)); err != nil && !errors.Is(err, berrors.ErrBucketNotFound) {
			return err
		}
	}
	return nil
}

// Get implements raft.StableStore. What was never set is nil.
func (l *log) Get(key []byte) (value []byte, err error) {
	err = l.db.View(func(tx *bbolt.Tx) error {
		value = bytes.Clone(tx.Bucket(marksBucket).Get(key))
		return nil
	})
	return value, err
}

// Set implements raft.StableStore.
func (l *log) Set(key, value []byte) error {
	return l.db.Update(func(tx *bbolt.Tx) error { return tx.Bucket(marksBucket).Put(key, value) })
}

// GetUint64 implements raft.StableStore.
func (l *log) GetUint64(key []byte) (uint64, error) {
	value, err := l.Get(key)
	if err != nil || len(value) != 8 {
		return 0, err
	}
	return binary.LittleEndian.Uint64(value), nil
}

// SetUint64 implements raft.StableStore.
func (l *log) SetUint64(key []byte, value uint64) error {
	return l.Set(key, binary.LittleEndian.AppendUint64(nil, value))
}
