package consensus

import (
	"crypto/rand"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"sync/atomic"
	"time"

	"github.com/hashicorp/raft"

	"henro/store"
)

// identity tells the log of one member from all others: random, kept in it. A member that comes back under its name
// with an empty disk has forgotten for whom it has voted, so it must not vote again. Members know each other's
// identities from the state, and call each other by them.
type identity [16]byte

// MarshalText implements encoding.TextMarshaler.
func (i identity) MarshalText() ([]byte, error) { return hex.AppendEncode(nil, i[:]), nil }

// UnmarshalText implements encoding.TextUnmarshaler.
func (i *identity) UnmarshalText(b []byte) error {
	if hex.DecodedLen(len(b)) != len(i) {
		return errors.New("an identity has 32 digits")
	}
	_, err := hex.Decode(i[:], b)
	return err
}

var identityLog, confirmedLog = []byte("henro identity"), []byte("henro confirmed")

// errAnotherDisk is what becomes of a member whose disk is not the one that the group knows under its name.
var errAnotherDisk = errors.New("its disk is not the one that the group knows under this name: if the other disk is " +
	"lost, give this member up (henro nodes remove), then it is added as a new one")

// errAnotherGroup is what becomes of a member that the group does not know, and which has a log.
var errAnotherGroup = errors.New("its log is of another group, or of the time before henro nodes recover: end it, " +
	"and start it with an empty --dir")

// own is the identity of this member, as its log has it.
type own struct {
	identity
	log       *log
	confirmed atomic.Bool // another member has called this one by its identity
}

// read reads the identity of a log, or gives it one.
func (o *own) read(log *log) error {
	o.log = log
	b, err := log.Get(identityLog)
	if err == nil && len(b) == len(o.identity) {
		copy(o.identity[:], b)
		confirmed, err := log.Get(confirmedLog)
		o.confirmed.Store(err == nil && len(confirmed) > 0)
		return nil
	}
	rand.Read(o.identity[:]) // never fails
	return log.Set(identityLog, o.identity[:])
}

// isCalled reports whether a member that calls expects this one. A caller that knows no identity of this member is
// heard only if another one has called it by its identity before.
func (o *own) isCalled(expected identity) bool {
	if expected == (identity{}) {
		return o.confirmed.Load()
	}
	if expected != o.identity {
		return false
	}
	if !o.confirmed.Load() && o.log.Set(confirmedLog, []byte{1}) == nil {
		o.confirmed.Store(true)
	}
	return true
}

// membersMeta is where the state has, as JSON, the identities of all members that there have been, by name.
const membersMeta = "masters"

// known are the identities of members as far as the log was applied here.
func (m *machine) known() (map[string]identity, error) {
	all := map[string]identity{}
	b, err := m.meta(membersMeta)
	if err == nil && b != nil {
		err = json.Unmarshal(b, &all)
	}
	return all, err
}

// identityOf is the identity of a member; none: it is not known.
func (m *machine) identityOf(name string) identity {
	all, err := m.known()
	if err != nil {
		return identity{}
	}
	return all[name]
}

func (g *Group) identityAt(address string) identity {
	if server, ok := g.member(func(s raft.Server) bool { return string(s.Address) == address }); ok {
		return g.machine.identityOf(string(server.ID))
	}
	return identity{}
}

// introduce has all members know the identity of one.
func (l *Leadership) introduce(name string, i identity) error {
	all, err := l.machine.known()
	if err != nil || all[name] == i {
		return err
	}
	all[name] = i
	text, err := json.Marshal(all)
	if err != nil {
		return err
	}
	b := store.NewBatch(time.Now())
	b.PutMeta(membersMeta, text)
	if _, err := l.State.Partitions[0].Commit(b); err != nil {
		return fmt.Errorf("introduce %s: %w", name, err)
	}
	return nil
}

// admit introduces a master that may become a member, or reports why it may not. One may if it was a member before, or
// its log is empty.
func (l *Leadership) admit(name string, s Status) error {
	switch known := l.machine.identityOf(name); {
	case s.Name != name:
		return fmt.Errorf("another master is there: %s", s.Name)
	case s.Identity == known:
		return nil
	case !s.Fresh:
		return errAnotherGroup
	}
	return l.introduce(name, s.Identity)
}

// differs reports that a member is not the one that the group knows.
func (m *machine) differs(name string, s Status) bool {
	known := m.identityOf(name)
	return known != identity{} && known != s.Identity
}
