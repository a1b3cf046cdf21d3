//go:build unix

package consensus

import (
	"encoding/binary"
	"errors"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/hashicorp/raft"
	"go.etcd.io/bbolt"

	"henro/store"
)

// TestOnlyWholeIdentitiesAreRead: others send them.
func TestOnlyWholeIdentitiesAreRead(t *testing.T) {
	for digits, whole := range map[string]bool{strings.Repeat("a9", 16): true, "": false,
		strings.Repeat("a", 31):  false,
		strings.Repeat("a", 33):  false,
		strings.Repeat("a9", 15): false, strings.Repeat("a9", 17): false,
		strings.Repeat("a9", 4096): false, strings.Repeat("x9", 16): false} {
		var i identity
		if err := i.UnmarshalText([]byte(digits)); (err == nil) != whole {
			t.Errorf("%.40s: %v, %v", digits, i, err)
		}
	}
}

// TestACallerThatKnowsNoIdentityIsHeardOnceAnotherKnewIt: and one that knows another identity never is.
func TestACallerThatKnowsNoIdentityIsHeardOnceAnotherKnewIt(t *testing.T) {
	l := openLogged(t, t.TempDir(), 0)
	defer l.Close()
	var o own
	if err := o.read(l.log); err != nil {
		t.Fatal(err)
	}
	other := o.identity
	other[0] ^= 1
	for i, c := range []struct {
		expected identity
		heard    bool
	}{{identity{}, false}, {other, false}, {identity{}, false}, {o.identity, true}, {identity{}, true},
		{other, false}} {
		if heard := o.isCalled(c.expected); heard != c.heard {
			t.Errorf("call %d is heard: %v", i, heard)
		}
	}
}

// held is a machine with a state of its own.
func held(t *testing.T) *machine {
	t.Helper()
	o := options(t.TempDir(), true)
	o.Store.NoSync, o.Store.Replica = true, true
	state, err := store.OpenState(o.State, o.Store)
	if err != nil {
		t.Fatal(err)
	}
	m := &machine{o: &o, state: state}
	t.Cleanup(func() { m.close() })
	return m
}

// TestAnEntryThatIsNoneIsNotApplied: nor does it end the process.
func TestAnEntryThatIsNoneIsNotApplied(t *testing.T) {
	m := held(t)
	whole, err := store.NewBatch(noon).MarshalBinary()
	if err != nil {
		t.Fatal(err)
	}
	none := &machine{o: m.o}
	for sentence, c := range map[string]struct {
		m    *machine
		data []byte
		want error
	}{
		"of nothing":                   {m, nil, store.ErrCorrupt},
		"of half a head":               {m, entry(7, 0, nil)[:entryHead-1], store.ErrCorrupt},
		"of a leadership that ended":   {m, entry(6, 0, whole), store.ErrNotLeader},
		"of a partition that is none":  {m, entry(7, len(m.state.Partitions), whole), store.ErrMismatch},
		"where no state was received":  {none, entry(7, 0, whole), store.ErrMismatch},
		"of what there is, of nothing": {m, entry(7, 0, whole), nil},
	} {
		if r := c.m.apply(&raft.Log{Index: 9, Term: 7, Data: c.data}); !errors.Is(r.err, c.want) {
			t.Errorf("%s: %v, want %v", sentence, r.err, c.want)
		}
	}
	if _, err := none.Snapshot(); !errors.Is(err, ErrNoState) {
		t.Errorf("a checkpoint of nothing: %v", err)
	}
	if err := none.stream(io.Discard, nil); !errors.Is(err, ErrNoState) {
		t.Errorf("a copy of nothing: %v", err)
	}
}

// TestNothingIsRecoveredOfALogThatCannotBeApplied: what the state lacks then would be lost without a word.
func TestNothingIsRecoveredOfALogThatCannotBeApplied(t *testing.T) {
	m := held(t)
	dir := t.TempDir()
	l := openLogged(t, dir, 0)
	m.log = l.log
	whole, err := store.NewBatch(noon).MarshalBinary()
	if err != nil {
		t.Fatal(err)
	}
	late := &raft.Log{Index: 1, Term: 8, Type: raft.LogCommand, Data: entry(7, 0, whole)}
	bad := &raft.Log{Index: 2, Term: 8, Type: raft.LogCommand, Data: binary.LittleEndian.AppendUint64(nil, 8)}
	if err := l.StoreLogs([]*raft.Log{late, bad}); err != nil {
		t.Fatal(err)
	}
	if _, err := m.takeLog(dir); !errors.Is(err, store.ErrCorrupt) {
		t.Errorf("recovered: %v", err)
	}
	alone := filepath.Join(t.TempDir(), "state")
	if _, err := Recover(alone, store.DefaultOptions()); err == nil {
		t.Error("what was never of a group is recovered")
	}
	if _, err := os.Stat(store.LogDir(alone)); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("a log is made: %v", err)
	}
	if err := os.MkdirAll(store.LogDir(alone), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := openLogged(t, store.LogDir(alone), 0).Close(); err != nil {
		t.Fatal(err)
	}
	if _, err := Recover(alone, store.DefaultOptions()); err == nil || store.HasReplica(alone) {
		t.Errorf("a member that has received no state yet is recovered: %v", err)
	}
}

// TestWhoIsKnownIsNotForgottenForOneThatIsNew: where the list of members cannot be read, none is written over it.
func TestWhoIsKnownIsNotForgottenForOneThatIsNew(t *testing.T) {
	m := held(t)
	b := store.NewBatch(noon)
	b.PutMeta(membersMeta, []byte("{"))
	if r := m.apply(&raft.Log{Index: 9, Term: 7, Data: entry(7, 0, must(b.MarshalBinary()))}); r.err != nil {
		t.Fatal(r.err)
	}
	l := &Leadership{Group: &Group{machine: m}, State: m.state}
	if err := l.introduce("gamma", identity{1}); err == nil {
		t.Error("introduced")
	}
	if text, err := m.meta(membersMeta); err != nil || string(text) != "{" {
		t.Errorf("known are %q, %v", text, err)
	}
}

// TestNothingIsCutOffALogThatMayNotBeWritten: an error of the disk is said.
func TestNothingIsCutOffALogThatMayNotBeWritten(t *testing.T) {
	l := openLogged(t, t.TempDir(), 0)
	defer l.Close()
	if err := l.store(3, 10); err != nil {
		t.Fatal(err)
	}
	cut := func(tx *bbolt.Tx) error { return remove(tx.Bucket(entriesBucket), 1, 2) }
	if err := l.db.View(cut); err == nil {
		t.Error("it was cut")
	}
}

// TestAVoterThatIsGoneIsRemovedWhereOthersAreLeft: with two that are there nothing would be won.
func TestAVoterThatIsGoneIsRemovedWhereOthersAreLeft(t *testing.T) {
	for count, left := range map[int]int{3: 3, 4: 3} {
		groups := several(t, count, func(o *Options) { o.Store.NoSync = true })
		if err := groups[count-1].Close(); err != nil {
			t.Fatal(err)
		}
		leaders := all(groups[:count-1])
		defer leaders.end()
		until(t, "tended", func() bool {
			for _, l := range leaders {
				if l.lead() == nil {
					l.now.lostAt[groups[count-1].o.Name] = time.Now().Add(-goneAfter)
					return l.now.Tend(t.Context(), nil) == nil
				}
			}
			return false
		})
		for _, l := range leaders {
			if l.now == nil {
				continue
			}
			if members, err := l.Members(t.Context()); err != nil || len(members) != left {
				t.Errorf("of %d masters %d are left, %v, want %d", count, len(members), err, left)
			}
		}
	}
}

// TestWhatALeaderRefuses: itself, strangers, and all once it has ended; without a checkpoint there is nothing to copy.
func TestWhatALeaderRefuses(t *testing.T) {
	g := several(t, 1, func(o *Options) { o.Store.NoSync = true })[0]
	if err := g.Remove(g.o.Name); err == nil || !strings.Contains(err.Error(), "cannot be removed") {
		t.Errorf("it removes itself: %v", err)
	}
	if err := g.Move("nobody"); err == nil || !strings.Contains(err.Error(), "no master nobody") {
		t.Errorf("it hands over to nobody: %v", err)
	}
	for range 2 {
		if err := g.Checkpoint(); err != nil {
			t.Errorf("a checkpoint, of nothing new perhaps: %v", err)
		}
	}
	empty := &snapshots{group: g, dir: t.TempDir()}
	if _, _, err := empty.Open(checkpointID); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("no checkpoint is opened: %v", err)
	}
	if err := g.Close(); err != nil {
		t.Fatal(err)
	}
	if err := g.Checkpoint(); err == nil {
		t.Error("a checkpoint after the end")
	}
}
