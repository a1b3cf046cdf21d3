package consensus

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"time"

	"github.com/hashicorp/raft"

	"henro/store"
	"henro/store/fsync"
)

// Recovered is what Recover found.
type Recovered struct {
	Last    uint64   // index of the last entry of the log, which is in the state now
	Members []string // of the group that was given up, as this member knew it
}

// Recover gives the group up, and makes this member's copy of the state that of a master alone. What the log of this
// member has is in it, whether or not a majority had it; what only others have is not. No process may have the state
// open. The log is kept beside it as masters.old.
func Recover(state string, o store.Options) (r Recovered, err error) {
	if !Started(state) || !store.HasReplica(state) {
		return r, fmt.Errorf("recover %s: this master has had no others, or no state yet", state)
	}
	o.Replica, o.Partitions = true, 0
	m := &machine{o: &Options{State: state, Store: o}}
	dir := store.LogDir(state)
	if m.log, err = openLog(dir); err == nil {
		m.state, err = store.OpenState(state, o)
	}
	if err == nil {
		r, err = m.takeLog(dir)
	}
	if err = errors.Join(err, m.close()); err != nil {
		return r, fmt.Errorf("recover %s: %w", state, err)
	}
	old := dir + ".old"
	if err := os.RemoveAll(old); err != nil {
		return r, err
	}
	if err := os.Rename(dir, old); err != nil {
		return r, err
	}
	return r, fsync.Dir(filepath.Dir(dir))
}

// LastEntry is the index of the last entry in the log of a member that does not run.
func LastEntry(state string) (uint64, error) {
	log, err := openLog(store.LogDir(state))
	if err != nil {
		return 0, err
	}
	last, err := log.LastIndex()
	return last, errors.Join(err, log.Close())
}

// takeLog applies all entries of the log, and forgets who the members were: none of them may come back with its log.
func (m *machine) takeLog(dir string) (r Recovered, err error) {
	kept, err := (&snapshots{dir: dir}).List()
	if err != nil {
		return r, err
	}
	members := func(c raft.Configuration) {
		r.Members = nil
		for _, server := range c.Servers {
			r.Members = append(r.Members, string(server.ID))
		}
	}
	for _, snapshot := range kept {
		members(snapshot.Configuration)
	}
	first, err := m.log.FirstIndex()
	if err != nil {
		return r, err
	}
	if r.Last, err = m.log.LastIndex(); err != nil {
		return r, err
	}
	for i := first; i > 0 && i <= r.Last; i++ {
		var entry raft.Log
		if err := m.log.GetLog(i, &entry); err != nil {
			return r, err
		}
		switch entry.Type {
		case raft.LogConfiguration:
			members(raft.DecodeConfiguration(entry.Data))
		case raft.LogCommand:
			if done := m.apply(&entry); done.err != nil && !errors.Is(done.err, store.ErrNotLeader) {
				return r, done.err
			}
		}
	}
	b := store.NewBatch(time.Now())
	b.PutMeta(membersMeta, nil)
	_, err = m.state.Partitions[0].Commit(b)
	return r, err
}
