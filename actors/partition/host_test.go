package partition_test

import (
	"fmt"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"henro/actors/actortest"
	"henro/actors/partition"
	"henro/actors/protocol"
	"henro/messages/outlink"
	"henro/store"
)

const lone = "http://lone.test"

// A Host that is started anew in the middle of a lease must find it, or it would announce itself and be lent a second
// time.
func TestAPartitionKnowsTheOpenLeaseOfAHost(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		state := openState(t, 1)
		defer state.Close()
		system := actortest.System(t)
		around := actortest.NewProbe(t, system, "around")
		partition := around.Spawn(t, partition.Props(partition.DefaultOptions(), partition.Steering{}, state, 0,
			around.PID, around.PID, actortest.Log()), "partition")
		open := func() *store.Lease {
			around.Tell(partition, &protocol.HostAsked{Host: lone})
			restored := actortest.TakeOf[*protocol.HostRestored](around)
			if len(restored) != 1 {
				t.Fatalf("%d answers", len(restored))
			}
			return restored[0].Lease
		}
		row := &store.HostRecord{ID: store.IDOf(lone), Name: lone}
		for _, step := range []struct {
			sentence string
			write    *protocol.Write
			lease    uint64
		}{
			{"nothing is written", &protocol.Write{}, 0},
			{"a lease is written", &protocol.Write{Host: row,
				Lease: &store.Lease{ID: 7, Host: store.IDOf(lone), HostName: lone, Slave: "s", Boot: "b"}}, 7},
			{"another's lease ends",
				&protocol.Write{Host: &store.HostRecord{ID: 1, Name: "http://x.test"},
					Facts: &protocol.FactsStored{Lease: 6, Closed: true}}, 7},
			{"the lease ends", &protocol.Write{Host: row, Facts: &protocol.FactsStored{Lease: 7, Closed: true}},
				0},
		} {
			around.Tell(partition, step.write)
			if lease := open(); (lease == nil) != (step.lease == 0) || lease != nil && lease.ID != step.lease {
				t.Errorf("%s: the open lease is %+v, want %d", step.sentence, lease, step.lease)
			}
		}
		if err := system.Root.PoisonFuture(partition).Wait(); err != nil {
			t.Error(err)
		}
	})
}

// A page that turns out to be closer to a seed has its links judged again by its Host. One that fails before it has
// answered is asked again when it is back, or the crawl would never end.
func TestAHostThatFailedJudgesLinksAgainThatItOwed(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		state := openState(t, 1)
		defer state.Close()
		system := actortest.System(t)
		around := actortest.NewProbe(t, system, "around")
		partition := around.Spawn(t, partition.Props(partition.DefaultOptions(), partition.Steering{}, state, 0,
			around.PID, around.PID, actortest.Log()), "partition")
		owed := func() (found []store.Relaxation) {
			for _, m := range actortest.TakeOf[*protocol.ToHost](around) {
				if r, ok := m.Message.(*protocol.RelaxationsFound); ok && m.Host == lone {
					found = append(found, r.Relaxations...)
				}
			}
			return found
		}
		unsettled := func() int {
			around.Tell(partition, &protocol.QuietAsked{})
			return actortest.TakeOf[*protocol.QuietReported](around)[0].Unsettled
		}
		page := store.Page{URL: lone + "/a", Depth: 1, Status: 200, LastVisit: time.Now()}
		around.Tell(partition, &protocol.Write{Urgent: true, Visits: []store.Visited{{Page: page,
			Links: []outlink.Outlink{{URL: lone + "/b", Kind: outlink.Anchor}}}}})
		actortest.Pass(time.Second)
		around.Tell(partition, &protocol.Write{Urgent: true,
			Candidates: []store.Candidate{{URL: page.URL, Host: lone, DepthLeft: 2}}})
		actortest.Pass(time.Second)
		first := owed()
		if len(first) != 1 || first[0].URL != page.URL || first[0].DepthLeft != 2 || unsettled() == 0 {
			t.Fatalf("to be judged again: %+v", first)
		}
		around.Tell(partition, &protocol.HostAsked{Host: lone})
		if again := owed(); len(again) != 1 || again[0].URL != page.URL {
			t.Errorf("to be judged by a host that is new: %+v", again)
		}
		around.Tell(partition, &protocol.Write{Urgent: true, Relaxed: first})
		actortest.Pass(time.Second)
		if more := owed(); len(more) > 0 || unsettled() != 0 {
			t.Errorf("to be judged after all was: %+v, %d unsettled", more, unsettled())
		}
		if err := system.Root.PoisonFuture(partition).Wait(); err != nil {
			t.Error(err)
		}
	})
}

// The Master learns that a lease has ended before its Host does, which then announces itself: an announcement that
// comes while the Master still has the lease in its ledger is passed over, and the host would never be lent again.
func TestTheMasterLearnsOfACommitBeforeTheHosts(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		state := openState(t, 1)
		defer state.Close()
		system := actortest.System(t)
		around := actortest.NewProbe(t, system, "around")
		partition := around.Spawn(t, partition.Props(partition.DefaultOptions(), partition.Steering{}, state, 0,
			around.PID, around.PID, actortest.Log()), "partition")
		type ended uint64
		for lease := range uint64(2) {
			around.Tell(partition, &protocol.Write{Host: &store.HostRecord{ID: store.HostID(lease + 1), Name: lone},
				Facts: &protocol.FactsStored{Lease: lease + 1, Closed: true},
				Tag:   ended(lease + 1), Urgent: true})
		}
		around.Tell(partition, &protocol.Write{Facts: &protocol.FactsStored{Lease: 3}})
		actortest.Pass(10 * time.Second)
		// How many commits the three writes take depends on when the partition gets to each.
		known := map[uint64]bool{}
		hosts := 0
		for _, m := range around.Take() {
			switch m := m.(type) {
			case *protocol.FactsCommitted:
				for _, f := range m.Facts {
					known[f.Lease] = true
				}
			case *protocol.Written:
				hosts++
				if lease := uint64(m.Tag.(ended)); !known[lease] {
					t.Errorf("the host of lease %d heard of its end before the Master", lease)
				}
			}
		}
		if hosts != 2 || len(known) != 3 {
			t.Errorf("%d hosts heard of their writes, want 2; the Master of %d leases, want 3", hosts, len(known))
		}
		if err := system.Root.PoisonFuture(partition).Wait(); err != nil {
			t.Error(err)
		}
	})
}

// More sweeps than are carried out side by side: each is, and is answered with how many pages it has moved.
func TestSweepsBeyondThoseSideBySideWait(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		const pages, sweeps = 30, 30
		state := openState(t, 1)
		defer state.Close()
		system := actortest.System(t)
		around := actortest.NewProbe(t, system, "around")
		partition := around.Spawn(t, partition.Props(partition.DefaultOptions(), partition.Steering{}, state, 0,
			around.PID, around.PID, actortest.Log()), "partition")
		write := &protocol.Write{Urgent: true}
		for n := range pages {
			write.Visits = append(write.Visits, store.Visited{Page: store.Page{URL: fmt.Sprintf("http://a.test/%d", n),
				Number: uint64(n + 1), Status: 200, LastVisit: time.Now(), Next: time.Now().Add(10 * 24 * time.Hour)}})
		}
		around.Tell(partition, write)
		at := time.Now().Add(20 * 24 * time.Hour).Truncate(time.Second)
		for n := range sweeps {
			around.Tell(partition, &protocol.Write{Urgent: true, Sweeps: []protocol.Sweep{{Reply: n,
				Moves: func(page *store.Page) bool {
					moves := strings.HasSuffix(page.URL, fmt.Sprintf("/%d", n)) && !page.Next.Equal(at)
					if moves {
						page.Next = at
					}
					return moves
				}}}})
		}
		actortest.Pass(time.Minute)
		answered := map[any]int{}
		for _, done := range actortest.TakeOf[*protocol.OrderDone](around) {
			answered[done.Reply] += done.Count
		}
		for n := range sweeps {
			if answered[n] != 1 {
				t.Errorf("sweep %d has moved %d pages", n, answered[n])
			}
		}
		if err := system.Root.PoisonFuture(partition).Wait(); err != nil {
			t.Error(err)
		}
	})
}
