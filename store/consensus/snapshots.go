package consensus

import (
	"encoding/json"
	"errors"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"github.com/hashicorp/raft"

	"henro/store"
	"henro/store/fsync"
)

// snapshots is raft.SnapshotStore. There is one snapshot, the last checkpoint: its files are those of the state.
type snapshots struct {
	group *Group
	dir   string
}

func (s *snapshots) path() string { return filepath.Join(s.dir, "snapshot.json") }

// checkpointID is that of every snapshot.
const checkpointID = "checkpoint"

// Create begins a snapshot: a checkpoint of this member, to which nothing is written, or one with files of the leader.
func (s *snapshots) Create(version raft.SnapshotVersion, index, term uint64, members raft.Configuration,
	membersIndex uint64, _ raft.Transport) (raft.SnapshotSink, error) {
	return &sink{snapshots: s, meta: raft.SnapshotMeta{Version: version, ID: checkpointID, Index: index, Term: term,
		Configuration: members, ConfigurationIndex: membersIndex}}, nil
}

// List is the last snapshot.
func (s *snapshots) List() ([]*raft.SnapshotMeta, error) {
	b, err := os.ReadFile(s.path())
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	meta := new(raft.SnapshotMeta)
	if err == nil {
		err = json.Unmarshal(b, meta)
	}
	if err == nil && meta.ID != checkpointID {
		err = store.ErrCorrupt
	}
	return []*raft.SnapshotMeta{meta}, ofLog(s.dir, err)
}

// Open streams the files of the state, as they are now. Only the leader does: Raft (1.8, replicateTo) goes on for some
// 10 s after the lead was lost, and a member that came back got the files from both leaders.
func (s *snapshots) Open(string) (*raft.SnapshotMeta, io.ReadCloser, error) {
	all, err := s.List()
	if err != nil || len(all) == 0 {
		return nil, nil, errors.Join(err, fs.ErrNotExist)
	}
	if store.Received(s.group.o.State) { // the files are here, and Restore is about to open them
		return all[0], io.NopCloser(strings.NewReader("")), nil
	}
	<-s.group.port.ready
	if s.group.raft.State() != raft.Leader {
		return nil, nil, store.ErrNotLeader
	}
	r, w := io.Pipe()
	size, failed := make(chan int64), make(chan error, 1)
	go func() {
		err := s.group.machine.stream(w, size)
		failed <- err
		w.CloseWithError(err)
	}()
	select {
	case all[0].Size = <-size:
		return all[0], r, nil
	case err := <-failed:
		return nil, nil, err
	}
}

// sink takes one snapshot.
type sink struct {
	*snapshots
	meta  raft.SnapshotMeta
	files *io.PipeWriter // nil: nothing was written
	done  chan error     // the error of what reads from files
	whole func() error   // gives the files their names
}

func (s *sink) ID() string { return s.meta.ID }

func (s *sink) Write(b []byte) (int, error) {
	if s.files == nil {
		var r *io.PipeReader
		r, s.files = io.Pipe()
		s.done = make(chan error, 1)
		go func() {
			var err error
			s.whole, err = store.Receive(s.group.o.State, r)
			r.CloseWithError(err)
			s.done <- err
		}()
	}
	return s.files.Write(b)
}

// Close gives the files their names, when all of them are on disk.
func (s *sink) Close() error {
	if s.files != nil {
		if err := errors.Join(s.files.Close(), <-s.done); err != nil {
			return err
		}
		if err := s.whole(); err != nil {
			return err
		}
	}
	b, err := json.Marshal(&s.meta)
	if err != nil {
		return err
	}
	return fsync.WriteFile(s.path(), b, 0o666)
}

// Cancel forgets what was written.
func (s *sink) Cancel() error {
	if s.files != nil {
		s.files.CloseWithError(errors.New("given up"))
		<-s.done
	}
	return nil
}
