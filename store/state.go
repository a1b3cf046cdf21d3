package store

import (
	"archive/tar"
	"crypto/rand"
	"crypto/sha256"
	"encoding/binary"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"runtime"
	"runtime/debug"
	"strings"
	"sync"
	"time"

	"go.etcd.io/bbolt"

	"golang.org/x/net/publicsuffix"
	"golang.org/x/sync/errgroup"

	"henro/messages/weburl"
	"henro/store/fingerprint"
	"henro/store/fsync"
)

// State is all partitions of one crawl.
//
// Which partition a host belongs to follows from its registrable domain, and what is a registrable domain follows from
// a list that changes over the years. A state remembers the version of the list by which it was divided, and from the
// first commit under another one, that there were several. Hosts that today's list would put elsewhere are found when
// the state is opened, and stay where they are.
type State struct {
	Partitions []*Partition
	moved      map[HostID]int // hosts that are not where today's list would put them
}

// mixedDomains stands for a state that was written under several versions of the list.
const mixedDomains = "several"

// partitionPath is the file of one partition.
func partitionPath(dir string, index int) string {
	return filepath.Join(dir, fmt.Sprintf("p%03d.db", index))
}

// Term is how often the state was opened for writing, the present opening counted, which is on disk: of two masters on
// copies of one state, the one whose copy was opened later in its life has the greater term.
func (s *State) Term() uint64 { return s.Partitions[0].progress.term }

// Crawl names the crawl whose state this is: random, the same in every copy.
func (s *State) Crawl() string { return hex.EncodeToString(s.Partitions[0].crawl[:8]) }

// Exists reports whether a directory holds a state.
func Exists(dir string) bool {
	_, err := os.Stat(partitionPath(dir, 0))
	return err == nil
}

// OpenState opens the state in a directory, creating it when the directory is missing or empty. Options.Partitions
// counts when it is created; later it must be the same, or zero.
func OpenState(dir string, o Options) (*State, error) {
	if err := o.Validate(); err != nil {
		return nil, err
	}
	if o.Replica {
		if err := openReplica(dir, &o); err != nil {
			return nil, err
		}
	} else if err := refuseReplica(dir); err != nil && !o.ReadOnly {
		return nil, err
	}
	first := partitionPath(dir, 0)
	if _, err := os.Stat(first); errors.Is(err, fs.ErrNotExist) {
		if o.ReadOnly {
			return nil, fmt.Errorf("open state %s: %w", dir, ErrNoState)
		}
		if err := createState(dir, o); err != nil {
			return nil, err
		}
	}
	s := &State{moved: map[HostID]int{}}
	if err := s.open(dir, o); err != nil {
		s.Close()
		return nil, err
	}
	return s, nil
}

// createState makes all files under another name first, so that a state is there as a whole or not at all.
func createState(dir string, o Options) error {
	if names, err := filepath.Glob(filepath.Join(dir, "p*.db")); err != nil || len(names) > 0 {
		return fmt.Errorf("open state %s: %s is missing: %w", dir, partitionPath("", 0), ErrMismatch)
	}
	of := o.Partitions
	if of == 0 {
		of = newPartitions
	}
	fresh := strings.TrimRight(dir, string(filepath.Separator)) + ".new"
	if err := os.RemoveAll(fresh); err != nil {
		return diagnose("create state", err)
	}
	if err := os.MkdirAll(fresh, 0o755); err != nil {
		return diagnose("create state", err)
	}
	id := identity{domains: publicsuffix.List.String()}
	if _, err := rand.Read(id.crawl[:]); err != nil {
		return fmt.Errorf("create state: %w", err)
	}
	for i := range of {
		p, err := open(partitionPath(fresh, i), o, i, of, id)
		if err != nil {
			return err
		}
		if err := p.Close(); err != nil {
			return err
		}
	}
	if err := fsync.Dir(fresh); err != nil {
		return diagnose("create state", err)
	}
	if err := removeIfThere(dir); err != nil {
		return diagnose("create state", err)
	}
	if err := os.Rename(fresh, dir); err != nil {
		return diagnose("create state", err)
	}
	return diagnose("create state", fsync.Dir(filepath.Dir(dir)))
}

func (s *State) open(dir string, o Options) error {
	if err := s.openFiles(dir, o); err != nil {
		return err
	}
	if err := s.beginSession(o); err != nil {
		return err
	}
	if !o.Replica { // a replica compares contents when it leads
		s.shareContents(o)
	} else if err := s.Checkpoint(); err != nil {
		return err
	}
	return s.findMoved()
}

// openFiles opens the files, as many at once as there are processors: each is read as a whole.
func (s *State) openFiles(dir string, o Options) error {
	first, err := openOf(dir, o, 0, nil)
	if err != nil {
		return err
	}
	s.Partitions = []*Partition{first}
	if o.Partitions != 0 && o.Partitions != first.of {
		return fmt.Errorf("open state: it has %d partitions, not %d: %w", first.of, o.Partitions, ErrMismatch)
	}
	others, errs := make([]*Partition, first.of-1), make([]error, first.of-1)
	var opening sync.WaitGroup
	turns := make(chan struct{}, runtime.GOMAXPROCS(0))
	for i := range others {
		turns <- struct{}{}
		opening.Go(func() {
			others[i], errs[i] = openOf(dir, o, i+1, first)
			<-turns
		})
	}
	opening.Wait()
	for _, p := range others {
		if p != nil {
			s.Partitions = append(s.Partitions, p)
		}
	}
	for _, err := range errs {
		if err != nil {
			return err
		}
	}
	return nil
}

// openOf opens one file of a state, which must belong to the first.
func openOf(dir string, o Options, index int, first *Partition) (*Partition, error) {
	path := partitionPath(dir, index)
	if info, err := os.Stat(path); err != nil {
		return nil, fmt.Errorf("open state: %w (%w)", ErrMismatch, err)
	} else if info.Size() == 0 {
		return nil, fmt.Errorf("open state: %s is empty: %w", path, ErrCorrupt)
	}
	p, err := open(path, o, index, 1, identity{})
	if err != nil {
		return nil, err
	}
	if p.index != index || first != nil && p.crawl != first.crawl {
		err := fmt.Errorf("open state: %s is partition %d of %d of another state: %w", path, p.index, p.of, ErrMismatch)
		return nil, errors.Join(err, p.Close())
	}
	return p, nil
}

// findMoved lists the hosts that today's list of registrable domains would put into another partition, when it is not
// the list the state was divided by. All partitions are read at once, of their hosts the names alone.
func (s *State) findMoved() error {
	today, moved := publicsuffix.List.String(), make([][]HostID, len(s.Partitions))
	var reading errgroup.Group
	for i, p := range s.Partitions {
		if p.domains == today {
			continue
		}
		reading.Go(func() error {
			return p.Hosts.eachName(func(id HostID, name string) {
				if s.computed(name) != i {
					moved[i] = append(moved[i], id)
				}
			})
		})
	}
	if err := reading.Wait(); err != nil {
		return err
	}
	for i, hosts := range moved {
		for _, id := range hosts {
			s.moved[id] = i
		}
	}
	return nil
}

// PartitionOf says which partition a host, "scheme://name[:port]", belongs to. All hosts of a registrable domain share
// one. It may be called from any goroutine.
func (s *State) PartitionOf(host string) int {
	if len(s.moved) > 0 {
		if i, ok := s.moved[IDOf(host)]; ok {
			return i
		}
	}
	return s.computed(host)
}

func (s *State) computed(host string) int {
	return int(fingerprint.Host(DomainOf(host)) % uint64(len(s.Partitions)))
}

// DomainOf is the registrable domain of a host; an address or a name without one stands for itself.
func DomainOf(host string) string {
	name := strings.TrimSuffix(weburl.HostName(host), ".")
	if domain, ok := weburl.RegistrableDomain(name); ok {
		return domain
	}
	return name
}

// Backup writes a tar archive of all files, as of one moment between commits, while the crawl runs: a candidate that is
// in no outbox any more has been admitted. Unpacked into an empty directory it is a state. Commits wait only for the
// moment, not for the writing; what they free meanwhile stays in the files.
func (s *State) Backup(w io.Writer) (n int64, err error) {
	defer debug.SetPanicOnFault(debug.SetPanicOnFault(true))
	defer rescue("back up", &err)
	snapshots, err := s.begin()
	defer func() { err = errors.Join(err, rollback(snapshots)) }()
	if err != nil {
		return 0, err
	}
	archive := tar.NewWriter(w)
	for i, tx := range snapshots {
		if err := archive.WriteHeader(&tar.Header{Name: partitionPath("", i), Mode: 0o644, Size: tx.Size(),
			ModTime: time.Now()}); err != nil {
			return n, diagnose("back up", err)
		}
		k, err := tx.WriteTo(archive)
		n += k
		if err != nil {
			return n, diagnose("back up", err)
		}
	}
	return n, diagnose("back up", archive.Close())
}

// Unpack writes the files of a backup into a folder.
func Unpack(backup io.Reader, dir string) error {
	archive := tar.NewReader(backup)
	for {
		header, err := archive.Next()
		if err == io.EOF {
			_, err = io.Copy(io.Discard, backup) // what pads the archive
			return err
		}
		if err != nil {
			return err
		}
		f, err := os.OpenFile(filepath.Join(dir, filepath.Base(header.Name)), os.O_CREATE|os.O_EXCL|os.O_WRONLY, 0o644)
		if err != nil {
			return err
		}
		_, err = io.Copy(f, archive)
		if err := errors.Join(err, f.Close()); err != nil {
			return err
		}
	}
}

// Snapshot calls fn with the state as of one moment, while the crawl runs. Reads of it may be made within each other,
// by one goroutine; nothing can be committed to it, and it ends with fn. What commits free meanwhile stays in the
// files.
func (s *State) Snapshot(fn func(*State) error) (err error) {
	snapshots, err := s.begin()
	defer func() { err = errors.Join(err, rollback(snapshots)) }()
	if err != nil {
		return err
	}
	frozen := &State{moved: s.moved}
	for i, p := range s.Partitions {
		frozen.Partitions = append(frozen.Partitions, p.at(snapshots[i]))
	}
	return fn(frozen)
}

// begin begins to read all partitions between two commits.
func (s *State) begin() (snapshots []*bbolt.Tx, err error) {
	for _, p := range s.Partitions {
		p.mu.Lock()
		defer p.mu.Unlock()
	}
	for _, p := range s.Partitions {
		tx, err := p.db.Begin(false)
		if err != nil {
			return snapshots, diagnose("begin a snapshot", err)
		}
		snapshots = append(snapshots, tx)
	}
	return snapshots, nil
}

// rollback ends what begin began.
func rollback(snapshots []*bbolt.Tx) (err error) {
	for _, tx := range snapshots {
		err = errors.Join(err, tx.Rollback())
	}
	return err
}

// Generation names what the state holds. Every commit changes it, so what was derived from the state holds as long as
// this is the same.
func (s *State) Generation() (name string, err error) {
	h := sha256.New()
	for _, p := range s.Partitions {
		h.Write(p.crawl[:])
		if err := p.view("read generation", func(tx *bbolt.Tx) error {
			return binary.Write(h, binary.BigEndian, uint64(tx.ID()))
		}); err != nil {
			return "", err
		}
	}
	return hex.EncodeToString(h.Sum(nil)[:8]), nil
}

// Close closes all partitions.
func (s *State) Close() error {
	// Where the session cannot be closed, no commit went through before; the files belong together without it.
	_ = s.endSession()
	readOnly := len(s.Partitions) > 0 && s.Partitions[0].options.ReadOnly
	if readOnly {
		s.noteClosed()
	}
	var all error
	for _, p := range s.Partitions {
		all = errors.Join(all, p.Close())
	}
	if all == nil && !readOnly {
		s.noteClosed()
	}
	return all
}
