package main

import (
	"net"
	"path/filepath"
	"testing"
	"time"

	"henro/actors/actortest"
	"henro/actors/floor"
	"henro/cluster"
	"henro/cmd/config"
	"henro/master"
	"henro/store/consensus"
)

// TestAMasterOfTheSameGroupIsNoRival, also for the one that led alone before it had others, and whose gossip goes on.
func TestAMasterOfTheSameGroupIsNoRival(t *testing.T) {
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	o := master.DefaultOptions()
	o.Dir, o.Name, o.Store.NoSync = t.TempDir(), "alpha", true
	m := &masters{flags: &flags{}, o: o, log: actortest.Log(), listening: listener,
		address: listener.Addr().String(), second: make(chan struct{}, 1), present: map[string]cluster.Member{},
		telemetry: config.NewTelemetry("test", "alpha", actortest.Log(), floor.SystemOptions{})}
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
	for end := time.Now().Add(time.Minute); m.group.Status().Leader == ""; time.Sleep(20 * time.Millisecond) {
		if time.Now().After(end) {
			t.Fatal("nobody leads after a minute")
		}
	}
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
