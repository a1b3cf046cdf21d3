package store

import (
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"runtime"
	"strings"

	"go.etcd.io/bbolt"

	"henro/store/fsync"
)

// A replica is a state whose batches are also in a log that is synced, so its own commits need not be. The death of the
// process loses nothing of what was written; a power failure may leave any of it. So a replica has a checkpoint: its
// files as they were synced last, of which no page is written over until the next checkpoint. After a power failure the
// files are taken back to the checkpoint, and the log is applied from there.
//
// bbolt writes a page only where nobody can read the one before. A checkpoint is a read transaction that stays open,
// and a copy of its meta page in a file of its own. What commits free meanwhile stays in the file until the next one.
//
// A file that outgrows its mapping waits until no reader is open, and a checkpoint always is. So replicas need a
// mapping that no file outgrows (Options.MapBytes). Windows cannot reserve one: there each commit is synced, and is a
// checkpoint by itself.

// replicaMapBytes is the address space for the file of a replica.
const replicaMapBytes = 1 << 38

// checkpointNote is beside the file, and says how to get back to the checkpoint.
type checkpointNote struct {
	Boot string // of the machine that wrote the file since; of another boot, what was not synced may be lost
	Page []byte // the meta page of the checkpoint: header and meta
	Size int64  // of a page
}

func checkpointPath(path string) string { return path + ".checkpoint" }

var appliedKey = []byte("applied")

// LogDir is where a replica has its log, beside the directory of its state.
func LogDir(dir string) string { return filepath.Join(filepath.Dir(filepath.Clean(dir)), "masters") }

// refuseReplica refuses to open a replica as if it were the only copy: it would hold what the others do not.
func refuseReplica(dir string) error {
	if _, err := os.Stat(LogDir(dir)); err == nil {
		return fmt.Errorf("open state %s: %w", dir, ErrReplica)
	}
	return nil
}

// openReplica prepares the files of a replica for being opened.
func openReplica(dir string, o *Options) error {
	o.NoSync, o.MapBytes = true, replicaMapBytes
	if runtime.GOOS == "windows" {
		o.NoSync, o.MapBytes = false, 0
	}
	if Received(dir) {
		if err := takeReceived(dir); err != nil {
			return diagnose("open replica "+dir, err)
		}
	}
	files, err := filepath.Glob(filepath.Join(dir, "p*.db"))
	for _, path := range files {
		err = errors.Join(err, rewind(path))
	}
	return diagnose("open replica "+dir, err)
}

// A state that is to replace the one in a directory is written beside it, and has the name of wholePath as soon as all
// of it is on disk.
func receivedPath(dir string) string { return dir + ".received" }
func wholePath(dir string) string    { return dir + ".whole" }

// Received reports whether a state lies ready that OpenState will put in the place of the one in a directory.
func Received(dir string) bool {
	_, err := os.Stat(wholePath(dir))
	return err == nil
}

// HasReplica reports whether OpenState has a replica to open in a directory, or would make a new one.
func HasReplica(dir string) bool { return Exists(dir) || Received(dir) }

// takeReceived puts a received state in the place of the one in the directory.
func takeReceived(dir string) error {
	if err := os.RemoveAll(dir); err != nil {
		return err
	}
	if err := os.Rename(wholePath(dir), dir); err != nil {
		return err
	}
	return fsync.Dir(filepath.Dir(dir))
}

// Receive writes the copy of a state that Stream made. Once whole was called, the next opening of a replica in the
// directory takes it.
func Receive(dir string, r io.Reader) (whole func() error, err error) {
	if err := os.RemoveAll(receivedPath(dir)); err != nil {
		return nil, diagnose("receive a state", err)
	}
	if err := os.MkdirAll(receivedPath(dir), 0o755); err != nil {
		return nil, diagnose("receive a state", err)
	}
	var head [streamHead]byte
	if _, err := io.ReadFull(r, head[:2]); err != nil {
		return nil, fmt.Errorf("receive a state: %w", err)
	}
	count := int(binary.LittleEndian.Uint16(head[:]))
	if count == 0 || count > maxPartitions {
		return nil, fmt.Errorf("receive a state: %d partitions: %w", count, ErrCorrupt)
	}
	for i := range count {
		if _, err := io.ReadFull(r, head[:8]); err != nil {
			return nil, fmt.Errorf("receive a state: %w", err)
		}
		size := int64(binary.LittleEndian.Uint64(head[:]))
		if err := receiveFile(partitionPath(receivedPath(dir), i), r, size); err != nil {
			return nil, diagnose("receive a state", err)
		}
	}
	return func() error {
		if err := fsync.Dir(receivedPath(dir)); err != nil {
			return diagnose("receive a state", err)
		}
		if err := os.RemoveAll(wholePath(dir)); err != nil {
			return diagnose("receive a state", err)
		}
		if err := os.Rename(receivedPath(dir), wholePath(dir)); err != nil {
			return diagnose("receive a state", err)
		}
		return diagnose("receive a state", fsync.Dir(filepath.Dir(dir)))
	}, nil
}

func receiveFile(path string, r io.Reader, size int64) error {
	f, err := os.Create(path)
	if err != nil {
		return err
	}
	if _, err = io.CopyN(f, r, size); err == nil {
		err = f.Sync()
	}
	return errors.Join(err, f.Close())
}

func removeIfThere(path string) error {
	if err := os.Remove(path); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	return nil
}

// rewind takes a file back to its checkpoint if the machine was started again since.
func rewind(path string) error {
	b, err := os.ReadFile(checkpointPath(path))
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return err
	}
	var note checkpointNote
	if err := json.Unmarshal(b, &note); err != nil {
		return fmt.Errorf("checkpoint: %w (%w)", ErrCorrupt, err)
	}
	if boot := bootID(); boot != "" && note.Boot == boot {
		return nil
	}
	page := append(note.Page, make([]byte, metaLen)...) // cut short, it has another sum
	own := int64(binary.LittleEndian.Uint64(page))
	if m, ok := parseMeta(page); !ok || m.size != note.Size || own&^1 != 0 {
		return fmt.Errorf("checkpoint: %w", ErrCorrupt)
	}
	f, err := os.OpenFile(path, os.O_RDWR, 0)
	if err != nil {
		return err
	}
	// The other meta page is of a later commit, or torn: it must not win.
	_, err = f.WriteAt(make([]byte, metaLen), (1-own)*note.Size)
	if err == nil {
		_, err = f.WriteAt(note.Page, own*note.Size)
	}
	if err == nil {
		err = f.Sync()
	}
	return errors.Join(err, f.Close())
}

// bootID names the time since which the machine has run; "": unknown.
func bootID() string {
	b, _ := os.ReadFile("/proc/sys/kernel/random/boot_id") // elsewhere each opening rewinds, which costs time only
	return strings.TrimSpace(string(b))
}

// Checkpoint syncs all files and begins the next checkpoint. It belongs to the one that applies the log.
func (s *State) Checkpoint() error {
	for _, p := range s.Partitions {
		if err := p.checkpoint(); err != nil {
			return err
		}
	}
	return nil
}

func (p *Partition) checkpoint() error {
	if !p.options.NoSync {
		return nil
	}
	doing := "make a checkpoint of " + p.path
	if err := p.db.Sync(); err != nil {
		return diagnose(doing, err)
	}
	tx, err := p.db.Begin(false)
	if err != nil {
		return diagnose(doing, err)
	}
	if err := p.noteCheckpoint(tx); err != nil {
		return errors.Join(diagnose(doing, err), tx.Rollback())
	}
	before := p.pinned
	p.pinned = tx
	if before != nil {
		return diagnose(doing, before.Rollback())
	}
	return nil
}

// Outgrown reports whether the file has grown by more than so many bytes, and by more than a quarter, since the
// checkpoint. Then another one is due: pages that commits since then took from the free list are used again as soon as
// they are free, but pages that were added at the end of the file are not. In a crawl of 80 pages/s these were 1.4 GB
// after 2,048 entries, for 60 MB of state.
func (p *Partition) Outgrown(least int64) (outgrown bool, err error) {
	if p.pinned == nil {
		return false, nil
	}
	err = p.view("measure the file", func(tx *bbolt.Tx) error {
		was := p.pinned.Size()
		outgrown = tx.Size()-was > max(least, was/4)
		return nil
	})
	return outgrown, err
}

// noteCheckpoint writes down the meta page of a transaction that is on disk.
func (p *Partition) noteCheckpoint(tx *bbolt.Tx) error {
	size := int64(p.db.Info().PageSize)
	f, err := os.Open(p.path)
	if err != nil {
		return err
	}
	defer f.Close()
	page := make([]byte, metaLen)
	for own := range int64(2) { // in a copy, the place of a meta page does not follow from its transaction
		if _, err := f.ReadAt(page, own*size); err != nil {
			return err
		}
		if m, ok := parseMeta(page); ok && m.number == uint64(tx.ID()) {
			return p.writeCheckpoint(page, size)
		}
	}
	return fmt.Errorf("meta page of transaction %d: %w", tx.ID(), ErrCorrupt)
}

func (p *Partition) writeCheckpoint(page []byte, size int64) error {
	b, err := json.Marshal(checkpointNote{Boot: bootID(), Page: page, Size: size})
	if err != nil {
		return err
	}
	return fsync.WriteFile(checkpointPath(p.path), b, 0o666)
}

// streamHead is the longest number before a part of a stream.
const streamHead = 8

// Stream calls fn with the size of a copy of the whole state as of now, and with what writes it, while commits go on.
// No commit may be made before fn is called.
//
//	partitions u16 ‖ for each: bytes u64 ‖ the file
func (s *State) Stream(fn func(size int64, write func(io.Writer) error) error) (err error) {
	snapshots := make([]*bbolt.Tx, 0, len(s.Partitions))
	defer func() { err = errors.Join(err, rollback(snapshots)) }()
	size := int64(2)
	for _, p := range s.Partitions {
		tx, err := p.db.Begin(false)
		if err != nil {
			return diagnose("stream the state", err)
		}
		snapshots = append(snapshots, tx)
		size += streamHead + tx.Size()
	}
	return fn(size, func(w io.Writer) error {
		if _, err := w.Write(binary.LittleEndian.AppendUint16(nil, uint16(len(snapshots)))); err != nil {
			return err
		}
		for _, tx := range snapshots {
			if _, err := w.Write(binary.LittleEndian.AppendUint64(nil, uint64(tx.Size()))); err != nil {
				return err
			}
			if _, err := tx.WriteTo(w); err != nil {
				return diagnose("stream the state", err)
			}
		}
		return nil
	})
}

// closeReplica leaves a replica in order: all of it is on disk, and it needs no checkpoint.
func (p *Partition) closeReplica() error {
	err := errors.Join(p.db.Sync(), p.pinned.Rollback())
	p.pinned = nil
	if err == nil {
		err = removeIfThere(checkpointPath(p.path))
	}
	return err
}

// Applied is the index of the last entry of the log that changed the partition; 0: none.
func (p *Partition) Applied() (index uint64, err error) {
	err = p.view("read the applied index", func(tx *bbolt.Tx) error {
		index, err = readApplied(tx)
		return err
	})
	return index, err
}

func readApplied(tx *bbolt.Tx) (uint64, error) {
	v := tx.Bucket(bucketMeta).Get(appliedKey)
	if v == nil {
		return 0, nil
	}
	b, err := unseal(appliedKey, v)
	if err != nil || len(b) != 8 {
		return 0, fmt.Errorf("applied index: %w", ErrCorrupt)
	}
	return binary.LittleEndian.Uint64(b), nil
}

// Replicate sends every Commit through a log, in this term: commit is given the completed batch, and has Apply apply it
// here and on the other replicas. nil: no more commits are to come. The index of contents begins anew, since Apply does
// not keep it up to date.
func (s *State) Replicate(term uint64, commit func(partition int, b *Batch) (Outcome, error)) error {
	s.Partitions[0].progress.term = term
	if commit != nil {
		s.shareContents(s.Partitions[0].options)
	}
	for _, p := range s.Partitions {
		p.mu.Lock()
		if p.replicate = commit; commit == nil {
			p.contents = nil
		}
		p.mu.Unlock()
	}
	return nil
}

// Apply does what an entry of the log says, unless it was done before, and notes its index and its term in the same
// transaction. It belongs to the one that reads the log.
func (p *Partition) Apply(index, term uint64, b *Batch) (Outcome, error) {
	applied, err := p.Applied()
	if err != nil || index <= applied {
		return Outcome{}, err
	}
	if b.index = index; p.progress.term != term { // State.Term may be asked for meanwhile
		p.progress.term = term
	}
	return p.apply(b)
}
