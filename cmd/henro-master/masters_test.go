package main

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/spf13/pflag"

	"henro/actors/actortest"
	"henro/actors/floor"
	"henro/cluster"
	"henro/cmd/config"
	"henro/master"
	"henro/messages"
	"henro/messages/speech"
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
	given := pflag.NewFlagSet("test", pflag.ContinueOnError)
	f.crawl.Register(given)
	if err := given.Parse([]string{"--continuous", "--allow-private", "--dir", o.Dir}); err != nil {
		t.Fatal(err)
	}
	return &masters{flags: f, o: o, given: given, log: actortest.Log(), listening: listener,
		address: listener.Addr().String(), others: newOthers(),
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

// leave has the state keep how a run ended.
func (m *masters) leave(t *testing.T, run master.Run, end master.Summary) *store.State {
	t.Helper()
	<-m.group.Elected()
	l, err := m.group.Lead()
	if err != nil {
		t.Fatal(err)
	}
	defer l.End()
	err = errors.Join(keep(l.State, master.SummaryName, []byte(asJSON(t, end))), keepRun(l.State, run))
	if err != nil {
		t.Fatal(err)
	}
	return l.State
}

func asJSON(t *testing.T, v any) string {
	t.Helper()
	b, err := json.Marshal(v)
	if err != nil {
		t.Fatal(err)
	}
	return string(b)
}

// TestAMasterElectedAtTheEndEnds as the one did that recorded the end and died, and begins nothing.
func TestAMasterElectedAtTheEndEnds(t *testing.T) {
	m := newMasters(t, func(o *master.Options) { o.Store.Partitions = 1 })
	if err := m.open(true); err != nil {
		t.Fatal(err)
	}
	defer func() {
		if err := m.group.Close(); err != nil {
			t.Error(err)
		}
	}()
	want := master.Summary{Pages: 7, End: master.Damaged, Stalled: speech.Say("a page is not there"),
		FailedSeeds: []master.FailedVisit{{URL: "http://a.test/", Cause: messages.Cause{Word: "HTTP 404"}}}}
	m.leave(t, master.Run{Begun: time.Now(), Over: true}, want)
	m.met = true
	got, err := m.lead(t.Context())
	if g, w := asJSON(t, got), asJSON(t, want); err != nil || g != w {
		t.Errorf("it ends with %s, %v, want %s", g, err, w)
	}
	if code := config.Code(config.EndError(t.Context(), got)); code != config.ExitDamaged {
		t.Errorf("exit code %d", code)
	}
	b, err := os.ReadFile(filepath.Join(m.o.Dir, master.SummaryName))
	if err != nil || !bytes.Contains(b, []byte("a page is not there")) {
		t.Errorf("the summary beside its copy: %s, %v", b, err)
	}
}

// TestAStandbyGoesOnWithTheCrawlsSeeds, at their depths, and not with those that it was given.
func TestAStandbyGoesOnWithTheCrawlsSeeds(t *testing.T) {
	m := newMasters(t, func(*master.Options) {})
	m.masters.Standby, m.crawl.Dir = true, m.o.Dir
	if err := m.given.Parse([]string{"--depth", "7"}); err != nil {
		t.Fatal(err)
	}
	if err := m.crawl.Define(m.given, true, func(string) {}); err != nil || m.crawl.Depth != 7 {
		t.Errorf("before it knows the crawl its depth is %d, %v", m.crawl.Depth, err)
	}
	kept := `{"version":1,"seeds":[{"url":"http://a.test/","depth":5}],"settings":{"depth":["5"]},"judged":"x"}`
	if err := os.WriteFile(filepath.Join(m.o.Dir, "crawl.json"), []byte(kept), 0o666); err != nil {
		t.Fatal(err)
	}
	var err error
	if m.seeds, err = m.crawl.Seeds([]string{"http://a.test/", "http://b.test/"}, nil); err != nil {
		t.Fatal(err)
	}
	o, end, err := m.goOn(false, master.Run{Begun: time.Now()})
	if err != nil {
		t.Fatal(err)
	}
	end()
	if len(m.seeds) != 1 || m.seeds[0].URL.String() != "http://a.test/" || m.seeds[0].Depth != 5 || o.Depth != 5 {
		t.Errorf("it goes on with the seeds %v and depth %d", m.seeds, o.Depth)
	}
}

// TestAMasterThatLeadsAndCannotApplyEnds, as one does whose disk is full: it would follow, and hear nobody. It leads
// although the news that it was elected are over, as for one that was elected again while it ended; and it begins a run
// after one that was over before this process began, of which its copy learns when it is elected.
func TestAMasterThatLeadsAndCannotApplyEnds(t *testing.T) {
	m := newMasters(t, func(o *master.Options) {
		o.Store.MaxBytes, o.Store.Partitions, o.Hosts.Continuous = 16<<20, 1, true
	})
	m.start(t)
	defer m.joined.Leave()
	state := m.leave(t, master.Run{Begun: time.Now(), Over: true}, master.Summary{End: master.Finished})
	over := make(chan error, 1)
	go func() {
		_, err := m.run(context.Background())
		over <- err
	}()
	within(t, "it leads", func() bool { return m.node.Load() != nil })
	var err error
	for i := 0; err == nil; i++ {
		b := store.NewBatch(time.Now())
		b.PutMeta(fmt.Sprint("filler ", i), make([]byte, 1<<20))
		_, err = state.Partitions[0].Commit(b)
	}
	select {
	case end := <-over:
		if !errors.Is(end, store.ErrTooLarge) {
			t.Errorf("it ended with %v, after %v", end, err)
		}
	case <-time.After(time.Minute):
		t.Fatalf("it goes on, after %v", err)
	}
}

// TestTheNewsOfALeadDoNotEndIt: a master that finds that it leads before it hears of it hears of it while it leads.
func TestTheNewsOfALeadDoNotEndIt(t *testing.T) {
	m := newMasters(t, func(o *master.Options) { o.Store.Partitions, o.Hosts.Continuous = 1, true })
	m.start(t)
	defer func() {
		m.joined.Leave()
		if err := m.group.Close(); err != nil {
			t.Error(err)
		}
	}()
	within(t, "it is elected", m.group.Leads)
	over := make(chan error, 1)
	go func() {
		_, err := m.lead(context.Background())
		over <- err
	}()
	within(t, "it leads", func() bool { return m.node.Load() != nil })
	node := m.node.Load()
	within(t, "it has heard of it", func() bool { return len(m.group.Elected()) == 0 })
	if _, err := master.Ask[*master.Status](t.Context(), node, &master.Stop{Why: master.Stopped}); err != nil {
		t.Error(err)
	}
	if err := <-over; err != nil {
		t.Errorf("it ended with %v", err)
	}
}

// TestAMasterMakesRoomWhenItCan: what fails at first is tried again, as the other master waits.
func TestAMasterMakesRoomWhenItCan(t *testing.T) {
	m := newMasters(t, func(o *master.Options) { o.Store.Partitions, o.Hosts.Continuous = 1, true })
	m.masters.Bind = m.address // in use until this closes:
	taken := m.listening
	m.listening = nil
	m.others.second <- struct{}{}
	over := make(chan error, 1)
	go func() {
		_, err := m.leadAlone(context.Background(), func() error { return nil })
		over <- err
	}()
	select {
	case err := <-over:
		t.Fatalf("without an address for the consensus it ended: %v", err)
	case <-time.After(tendEvery / 2):
	}
	if err := taken.Close(); err != nil {
		t.Fatal(err)
	}
	select {
	case err := <-over:
		if !errors.Is(err, errSecond) || m.begun.Begun.IsZero() {
			t.Fatalf("it ended with %v, the run %+v", err, m.begun)
		}
		m.joined.Leave()
		if err := m.listening.Close(); err != nil {
			t.Error(err)
		}
	case <-time.After(time.Minute):
		t.Fatal("it leads on alone")
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
