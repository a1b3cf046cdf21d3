package master

import (
	"slices"
	"strconv"
	"testing"
	"time"

	"github.com/asynkron/protoactor-go/actor"

	"henro/actors/protocol"
	"henro/master/ledger"
	"henro/messages"
	"henro/store"
)

// TestALeaseThatIsToEndIsNotRenewed: that of a crawl which has been paused, whose slave may have missed that it is
// revoked; and one whose end is being written: its slave would go on asking the host when another may be lent it.
func TestALeaseThatIsToEndIsNotRenewed(t *testing.T) {
	x, w := newExploring(t), &world{}
	o := x.options()
	l := newLending(&o, nil, 0, &seenResources{}, x.log)
	l.hosts = actor.NewPID("", "partition")
	ctx := &mail{x: x, w: w, sender: slavePIDs[0]}
	l.welcome(ctx, &messages.SlaveRegistered{Slave: "s", Boot: "1"})
	l.ledger = l.ledger.Updated(ledger.LeaseGranted{Lease: ledger.Lease{ID: 1, Host: "http://a.test", Slave: "s",
		Boot: "1", Until: o.leaseEnd(time.Now())}})
	for serial, step := range []struct {
		sentence string
		before   func()
		running  bool
		renewed  bool
	}{
		{"while the crawl runs", func() {}, true, true},
		{"while it is paused", func() {}, false, false},
		{"when it runs again", func() {}, true, true},
		{"while its end is being written", func() { l.void(ctx, 1) }, true, false},
	} {
		step.before()
		l.serve(ctx, &messages.WorkRequested{Slave: "s", Boot: "1", Serial: uint64(serial), Held: []uint64{1}},
			step.running)
		batch := w.net[len(w.net)-1].message.(*messages.TaskBatch)
		if slices.Contains(batch.Renewed, 1) != step.renewed || slices.Contains(batch.Revoked, 1) == step.renewed {
			t.Errorf("%s: renewed %v, revoked %v", step.sentence, batch.Renewed, batch.Revoked)
		}
	}
}

// TestNoLeaseIsRecalledWhileNothingCanBeStored: that nothing is stored under it is not its slave's fault then.
func TestNoLeaseIsRecalledWhileNothingCanBeStored(t *testing.T) {
	x, w := newExploring(t), &world{}
	o := x.options()
	o.StallLimit = 0
	m := newMaster(o, &store.State{}, nil, x.rules, make(chan Status, 1), nil, &seenResources{}, x.log)
	m.hosts = actor.NewPID("", "partition")
	defer m.timer.Stop()
	now := time.Now()
	m.ledger = m.ledger.Updated(ledger.LeaseGranted{Lease: ledger.Lease{ID: 1, Host: "http://a.test", Slave: "s",
		Boot: "1", Until: o.leaseEnd(now), FactBy: now.Add(-time.Second)}})
	m.stalls.fail(&protocol.StoreStalled{Err: store.ErrDiskFull})
	for _, recalled := range []bool{false, true} {
		m.tick(&mail{x: x, w: w})
		if lease, _ := m.ledger.Lease(1); lease.Recalled != recalled {
			t.Errorf("recalled: %v, want %v", lease.Recalled, recalled)
		}
		clear(m.stalls.unstored)
	}
}

// TestLeasesAreLongWhileFewHostsHavePages, those that are lent and those that wait to be. Of a limited number of pages
// the first host would take too many.
func TestLeasesAreLongWhileFewHostsHavePages(t *testing.T) {
	x := newExploring(t)
	for _, of := range []struct {
		lent, ready, limit int
		few                bool
	}{{1, 0, 0, true}, {2, 2, 0, true}, {1, 4, 0, false}, {5, 0, 0, false}, {1, 0, 100, false}} {
		o, w := x.options(), &world{}
		l := newLending(&o, nil, 0, &seenResources{}, x.log)
		l.hosts = slavePIDs[0] // what is sent there is kept
		for i := range of.lent + of.ready {
			l.ready.put("http://h"+strconv.Itoa(i)+".test", time.Now())
		}
		var lend *protocol.Lend
		for range of.lent {
			l.lend(&mail{x: x, w: w}, "s", of.limit, time.Now())
			lend = w.net[len(w.net)-1].message.(*protocol.ToHost).Message.(*protocol.Lend)
		}
		if lend.Few != of.few {
			t.Errorf("%+v: the last of them is lent with few %v", of, lend.Few)
		}
	}
}
