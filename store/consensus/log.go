package consensus

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	stdlog "log"
	"os"
	"path/filepath"
	"sync"
	"sync/atomic"

	"github.com/hashicorp/go-hclog"
	"github.com/hashicorp/raft"
	wal "github.com/hashicorp/raft-wal"
	"github.com/hashicorp/raft-wal/segment"
	"github.com/hashicorp/raft-wal/types"
	"go.etcd.io/bbolt"

	"henro/store"
	"henro/store/fsync"
)

// Files of a log, beside its segments.
const (
	marksName  = "marks.db" // term, vote, identity, and which segments there are
	oneSegment = 16 << 20   // bytes of a file of entries: a file is removed as a whole when none of it is needed
)

// What marks.db holds: one bucket.
var (
	marksBucket = []byte("marks")
	segmentMark = []byte("henro segments")
)

// damagedLog is the error of a log, or of a copy of the state, that cannot be read. It is store.ErrCorrupt.
type damagedLog struct {
	dir   string
	cause error
}

func (d *damagedLog) Error() string {
	return fmt.Sprintf("what this master keeps in %s is damaged (%v): give it up (henro masters remove), set its "+
		"--dir aside and start it with --standby and an empty one, into which the master that leads copies the crawl; "+
		"if there is no other master, restore a backup", d.dir, d.cause)
}

func (d *damagedLog) Is(target error) bool { return target == store.ErrCorrupt }

// ofLog makes a damagedLog of an error that means damage; other errors stay as they are.
func ofLog(dir string, err error) error {
	var words *json.SyntaxError
	var kind *json.UnmarshalTypeError
	if errors.Is(err, types.ErrCorrupt) || errors.Is(err, store.ErrCorrupt) || errors.Is(err, io.EOF) ||
		errors.Is(err, io.ErrUnexpectedEOF) || errors.As(err, &words) || errors.As(err, &kind) {
		return &damagedLog{dir, err}
	}
	return err
}

// Started reports whether a group was begun, or joined, beside the state in a directory.
func Started(state string) bool {
	_, err := os.Stat(filepath.Join(store.LogDir(state), marksName))
	return err == nil
}

// init gives the standard logger its output and flags back. A module that raft-wal imports (coreos/pkg/capnslog), and
// that henro does not use, takes the logger over in every program that is linked with it.
func init() {
	stdlog.SetOutput(os.Stderr)
	stdlog.SetFlags(stdlog.LstdFlags)
}

// log has the entries of a member in files to which they are appended (hashicorp/raft-wal), and beside them a bbolt
// file of what changes with an election or a new file. Entries are not in bbolt: one of 400 kB that shares a leaf with
// others would be written again with each of them.
type log struct {
	*wal.WAL
	lost   func(error)           // takes the reason when nothing can be appended before a new start
	broken atomic.Pointer[error] // that reason; nil: entries can be appended
}

// StoreLogs appends entries. If there is a gap before them, a copy of the state was received that has all entries of
// the log: they were to be removed then, but the process died or the disk was full, so they are removed now. If the
// next file cannot be begun, nothing more can be appended.
func (l *log) StoreLogs(entries []*raft.Log) error {
	if broken := l.broken.Load(); broken != nil {
		return *broken
	}
	last, err := l.LastIndex()
	if err == nil && last > 0 && len(entries) > 0 && entries[0].Index > last+1 {
		err = l.WAL.DeleteRange(1, last)
	}
	if err == nil {
		err = l.WAL.StoreLogs(entries)
	}
	if errors.Is(err, wal.ErrSealed) {
		err = l.breaks(fmt.Errorf("the log of masters could not begin another file: %w", err))
	}
	return err
}

// StoreLog is StoreLogs of one.
func (l *log) StoreLog(entry *raft.Log) error { return l.StoreLogs([]*raft.Log{entry}) }

// DeleteRange cuts the log off at one end. If cutting off the last entries fails before the index of a file is written,
// raft-wal 0.4 (ForceSeal) takes the index for written the next time, and the file could not be read after a new start:
// so nothing more is written.
func (l *log) DeleteRange(from, to uint64) error {
	if broken := l.broken.Load(); broken != nil {
		return *broken
	}
	first, err := l.FirstIndex()
	if err != nil {
		return err
	}
	err = l.WAL.DeleteRange(from, to)
	if err != nil && from > first {
		err = l.breaks(fmt.Errorf("the log of masters could not be cut off at %d: %w", from, err))
	}
	return err
}

// breaks notes why nothing more is written until the log is opened again.
func (l *log) breaks(err error) error {
	l.broken.Store(&err)
	l.lost(err)
	return err
}

// GetLog reads an entry. An entry that was cut off is not found even while its file is there: whether a member is
// behind the log does not depend on whether the log was opened since.
func (l *log) GetLog(index uint64, entry *raft.Log) error {
	first, err := l.FirstIndex()
	if err == nil && index < first {
		err = raft.ErrLogNotFound
	}
	if err == nil {
		err = l.WAL.GetLog(index, entry)
	}
	return err
}

func openLog(dir string, says hclog.Logger, lost func(error)) (*log, error) {
	m := &marks{}
	entries, err := wal.Open(dir, wal.WithMetaStore(m), wal.WithSegmentFiler(segments{segment.NewFiler(dir, files{})}),
		wal.WithSegmentSize(oneSegment), wal.WithLogger(says))
	if err != nil {
		return nil, errors.Join(fmt.Errorf("open the log in %s: %w", dir, ofLog(dir, err)), m.Close())
	}
	return &log{WAL: entries, lost: lost}, nil
}

// marks is types.MetaStore: a bbolt file, opened as every other in henro. (raft-wal's own waits without end for another
// process that has the file open, and flushes directories, which Windows refuses.)
type marks struct{ db *bbolt.DB }

// Load implements types.MetaStore.
func (m *marks) Load(dir string) (s types.PersistentState, err error) {
	path := filepath.Join(dir, marksName)
	if err := store.Inspect(path, lockTimeout); err != nil {
		return s, err
	}
	m.db, err = bbolt.Open(path, 0o600,
		&bbolt.Options{Timeout: lockTimeout, FreelistType: bbolt.FreelistMapType, NoFreelistSync: true})
	if err != nil {
		return s, err
	}
	b, err := m.GetStable(segmentMark)
	if err == nil && b != nil {
		err = json.Unmarshal(b, &s)
	}
	if err == nil {
		err = m.unseal(dir, &s)
	}
	return s, errors.Join(err, fsync.Dir(dir))
}

// unseal copies the last file if it was full when the process died, before the marks had the next one: raft-wal 0.4
// opens such a file, and then refuses every entry. Its whole entries go into a new file, which takes more.
func (m *marks) unseal(dir string, s *types.PersistentState) error {
	if len(s.Segments) == 0 || !s.Segments[len(s.Segments)-1].SealTime.IsZero() {
		return nil
	}
	last, names := &s.Segments[len(s.Segments)-1], segment.NewFiler(dir, files{})
	full, err := names.RecoverTail(*last)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return err
	}
	defer full.Close() // it was only read
	if sealed, _, err := full.Sealed(); err != nil || !sealed {
		return err
	}
	last.BaseIndex, last.ID = last.MinIndex, s.NextSegmentID
	last.SizeLimit = 4 * oneSegment // the last entries go beyond the limit of a file
	s.NextSegmentID++
	var entries []types.LogEntry
	for i := last.MinIndex; i <= full.LastIndex(); i++ {
		b, err := full.GetLog(i)
		if err != nil {
			return err
		}
		entries = append(entries, types.LogEntry{Index: i, Data: bytes.Clone(b.Bs)})
		b.Close()
	}
	whole, err := names.Create(*last)
	if err == nil {
		err = errors.Join(whole.Append(entries), whole.Close())
	}
	if err != nil {
		return err
	}
	return m.CommitState(*s)
}

// CommitState implements types.MetaStore.
func (m *marks) CommitState(s types.PersistentState) error {
	b, err := json.Marshal(s)
	if err != nil {
		return err
	}
	return m.SetStable(segmentMark, b)
}

// GetStable implements types.MetaStore.
func (m *marks) GetStable(key []byte) (value []byte, err error) {
	err = m.db.View(func(tx *bbolt.Tx) error {
		if bucket := tx.Bucket(marksBucket); bucket != nil {
			value = bytes.Clone(bucket.Get(key))
		}
		return nil
	})
	return value, err
}

// SetStable implements types.MetaStore.
func (m *marks) SetStable(key, value []byte) error {
	return m.db.Update(func(tx *bbolt.Tx) error {
		bucket, err := tx.CreateBucketIfNotExists(marksBucket)
		if err == nil {
			err = bucket.Put(key, value)
		}
		return err
	})
}

// Close implements types.MetaStore.
func (m *marks) Close() error {
	if m.db == nil {
		return nil
	}
	return m.db.Close()
}

// segments is types.SegmentFiler whose files are opened anew for reading when they are full. raft-wal 0.4 reads a full
// file through its writer, which holds a buffer for its largest append until the file is removed: 40 MB of heap for 540
// MB of entries in a crawl of 260 pages/s, and as much as the files if appends are as large.
type segments struct{ *segment.Filer }

// Create implements types.SegmentFiler.
func (s segments) Create(info types.SegmentInfo) (types.SegmentWriter, error) {
	w, err := s.Filer.Create(info)
	if err != nil {
		return nil, err
	}
	return &filling{SegmentWriter: w, names: s.Filer, info: info}, nil
}

// RecoverTail implements types.SegmentFiler.
func (s segments) RecoverTail(info types.SegmentInfo) (types.SegmentWriter, error) {
	w, err := s.Filer.RecoverTail(info)
	if err != nil {
		return nil, err
	}
	return &filling{SegmentWriter: w, names: s.Filer, info: info}, nil
}

// filling is types.SegmentWriter of a file that is read while it is written, and when it is full.
type filling struct {
	types.SegmentWriter // changes once, to full
	names               *segment.Filer
	info                types.SegmentInfo
	changes             sync.RWMutex
}

// GetLog implements types.SegmentReader.
func (f *filling) GetLog(index uint64) (*types.PooledBuffer, error) {
	f.changes.RLock()
	defer f.changes.RUnlock()
	return f.SegmentWriter.GetLog(index)
}

// LastIndex implements types.SegmentWriter.
func (f *filling) LastIndex() uint64 {
	f.changes.RLock()
	defer f.changes.RUnlock()
	return f.SegmentWriter.LastIndex()
}

// Sealed implements types.SegmentWriter. raft-wal calls it after each append.
func (f *filling) Sealed() (sealed bool, index uint64, err error) {
	sealed, index, err = f.SegmentWriter.Sealed()
	if _, before := f.SegmentWriter.(*full); err != nil || !sealed || before {
		return sealed, index, err
	}
	info := f.info
	info.IndexStart, info.MaxIndex = index, f.SegmentWriter.LastIndex()
	r, err := f.names.Open(info)
	if err != nil { // it can be read as before
		return true, index, nil
	}
	f.changes.Lock()
	defer f.changes.Unlock()
	_ = f.SegmentWriter.Close() // an error loses nothing: all of it is synced
	f.SegmentWriter = &full{SegmentReader: r, last: info.MaxIndex, index: index}
	return true, index, nil
}

// full is types.SegmentWriter of a file that takes no more entries.
type full struct {
	types.SegmentReader
	last, index uint64
}

// Append implements types.SegmentWriter.
func (*full) Append([]types.LogEntry) error { return types.ErrSealed }

// Sealed implements types.SegmentWriter.
func (f *full) Sealed() (bool, uint64, error) { return true, f.index, nil }

// ForceSeal implements types.SegmentWriter.
func (f *full) ForceSeal() (uint64, error) { return f.index, nil }

// LastIndex implements types.SegmentWriter.
func (f *full) LastIndex() uint64 { return f.last }

// files is types.VFS. It takes no room for a file ahead: on a full disk the next file can be begun all the same, and
// entries are appended once there is room.
type files struct{}

// ListDir implements types.VFS.
func (files) ListDir(dir string) (names []string, err error) {
	all, err := os.ReadDir(dir)
	for _, entry := range all {
		names = append(names, entry.Name())
	}
	return names, err
}

// Create implements types.VFS. A file of the name is from a process that died before the marks had it.
func (files) Create(dir, name string, _ uint64) (types.WritableFile, error) {
	f, err := os.OpenFile(filepath.Join(dir, name), os.O_RDWR|os.O_CREATE|os.O_TRUNC, 0o666)
	if err != nil {
		return nil, err
	}
	if err := fsync.Dir(dir); err != nil {
		return nil, errors.Join(err, f.Close())
	}
	return &tail{File: f}, nil
}

// Delete implements types.VFS.
func (files) Delete(dir, name string) error {
	return errors.Join(os.Remove(filepath.Join(dir, name)), fsync.Dir(dir))
}

// OpenReader implements types.VFS.
func (files) OpenReader(dir, name string) (types.ReadableFile, error) {
	return os.Open(filepath.Join(dir, name))
}

// OpenWriter implements types.VFS.
func (files) OpenWriter(dir, name string) (types.WritableFile, error) {
	f, err := os.OpenFile(filepath.Join(dir, name), os.O_RDWR, 0)
	if err != nil {
		return nil, err
	}
	return &tail{File: f}, nil
}

// tail is the file to which entries are appended. A piece of an entry behind its end, from a crash or a full disk, is
// cut off before more is written: otherwise it might be read as the next entry.
type tail struct {
	*os.File
	ends bool // with the last whole write
}

// WriteAt implements io.WriterAt.
func (t *tail) WriteAt(b []byte, at int64) (n int, err error) {
	if !t.ends {
		if err := t.Truncate(at); err != nil {
			return 0, err
		}
	}
	n, err = t.File.WriteAt(b, at)
	t.ends = err == nil
	return n, err
}
