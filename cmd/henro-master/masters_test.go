package main

import (
	"context"
	"errors"
	"fmt"
	"net"
	"path/filepath"
	"testing"
	"time"

	"henro/actors/actortest"
	"henro/actors/floor"
	"henro/cluster"
	"henro/cmd/config"
	"henro/master"
	"henro/store"
	"henro/store/consensus"
)

// newMasters is a master on loopback that can open its part of a group.
func newMasters(t *testing.T, change func(*master.Options)) *masters {
	t.Helper()
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	o := master.DefaultOptions()
	o.Dir, o.Name, o.Boot, o.Store.NoSync = t.TempDir(), "alpha", cluster.NewBoot(), true
	change(&o)
	f := &flags{peers: config.Peers{Name: "alpha", Gossip: "127.0.0.1:0", Actors: "127.0.0.1:0"}}
	f.crawl.ListenPings = "off"
	return &masters{flags: f, o: o, log: actortest.Log(), listening: listener,
		address: listener.Addr().String(), second: make(chan struct{}, 1), present: map[string]cluster.Member{},
		telemetry: config.NewTelemetry("test", "alpha", actortest.Log(), floor.SystemOptions{})}
}

// start founds a group, and opens what others would meet.
func (m *masters) start(t *testing.T) {
	t.Helper()
	if err := m.open(true); err != nil {
		t.Fatal(err)
	}
	var err error
	m.joined, err = m.peers.Meet(m.telemetry.System, cluster.Options{Role: cluster.Standby, Boot: m.o.Boot,
		Consensus: m.address, Notify: m.notify}, func(*cluster.Options) error { return nil }, m.log)
	if err != nil {
		t.Fatal(errors.Join(err, m.group.Close()))
	}
}

func within(t *testing.T, what string, done func() bool) {
	t.Helper()
	for end := time.Now().Add(time.Minute); !done(); time.Sleep(20 * time.Millisecond) {
		if time.Now().After(end) {
			t.Fatalf("%s: not within a minute", what)
		}
	}
}

// TestAMasterThatLeadsAndCannotApplyEnds, as one does whose disk is full: it would follow, and hear nobody. It leads
// although the news that it was elected are over, as for one that was elected again while it ended.
func TestAMasterThatLeadsAndCannotApplyEnds(t *testing.T) {
	m := newMasters(t, func(o *master.Options) {
		o.Store.MaxBytes, o.Store.Partitions, o.Hosts.Continuous = 16<<20, 1, true
	})
	m.start(t)
	defer m.joined.Leave()
	<-m.group.Elected()
	over := make(chan error, 1)
	go func() {
		_, err := m.run(context.Background())
		over <- err
	}()
	within(t, "it leads", func() bool { return m.node.Load() != nil })
	l, err := m.group.Lead()
	if err != nil {
		t.Fatal(err)
	}
	for i := 0; err == nil; i++ {
		b := store.NewBatch(time.Now())
		b.PutMeta(fmt.Sprint("filler ", i), make([]byte, 1<<20))
		_, err = l.State.Partitions[0].Commit(b)
	}
	l.End()
	select {
	case end := <-over:
		if !errors.Is(end, store.ErrTooLarge) {
			t.Errorf("it ended with %v, after %v", end, err)
		}
	case <-time.After(time.Minute):
		t.Fatal("it goes on")
	}
}

// TestAMasterOfTheSameGroupIsNoRival, also for the one that led alone before it had others, and whose gossip goes on.
func TestAMasterOfTheSameGroupIsNoRival(t *testing.T) {
	m := newMasters(t, func(*master.Options) {})
	o := m.o
	own := &cluster.MemberUpdated{Member: cluster.Member{Name: "alpha", Role: cluster.Master, Consensus: m.address}}
	if !m.noticeAlone(own) {
		t.Error("a master that leads alone is not told")
	}
	if err := m.open(true); err != nil {
		t.Fatal(err)
	}
	defer func() {
		if err := m.group.Close(); err != nil {
			t.Error(err)
		}
	}()
	within(t, "a leader", func() bool { return m.group.Status().Leader != "" })
	if m.noticeAlone(own) {
		t.Error("a master with others is told what only one that leads alone is")
	}
	elsewhere := own.Member
	elsewhere.Consensus = "127.0.0.1:1"
	for says, c := range map[string]struct {
		event cluster.Event
		want  bool
	}{
		"a member that leads":              {own, true},
		"one that appears":                 {&cluster.MemberUp{Member: own.Member}, true},
		"a copy elsewhere, under its name": {&cluster.MemberUp{Member: elsewhere}, false},
		"a master without others":          {&cluster.MemberUp{Member: cluster.Member{Name: "alpha"}}, false},
		"a member that is lost":            {&cluster.MemberDown{Member: own.Member}, false},
	} {
		if got := m.isOfGroup(c.event); got != c.want {
			t.Errorf("%s: of the group %v, want %v", says, got, c.want)
		}
	}
	if !consensus.Started(filepath.Join(o.Dir, "state")) {
		t.Error("no group was founded")
	}
}
