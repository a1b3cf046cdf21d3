package consensus

import (
	"fmt"
	"io"
	"testing"
	"testing/synctest"
	"time"

	"github.com/hashicorp/go-hclog"
	"github.com/hashicorp/raft"
)

// fsm is a state machine that has no state.
type fsm struct{}

func (fsm) Apply(*raft.Log) any                  { return nil }
func (fsm) Snapshot() (raft.FSMSnapshot, error)  { return nil, raft.ErrNothingNewToSnapshot }
func (fsm) Restore(received io.ReadCloser) error { return received.Close() }

// voters are members of a group in memory, each watched.
func voters(t *testing.T, count int, timeout time.Duration) (all []*raft.Raft, wires []*raft.InmemTransport) {
	var members raft.Configuration
	for i := range count {
		address, wire := raft.NewInmemTransport(raft.ServerAddress(fmt.Sprint(i)))
		wires = append(wires, wire)
		members.Servers = append(members.Servers, raft.Server{ID: raft.ServerID(address), Address: address})
	}
	done := make(chan struct{})
	for i, wire := range wires {
		for _, other := range wires {
			wire.Connect(other.LocalAddr(), other)
		}
		c := raft.DefaultConfig()
		c.LocalID, c.Logger = members.Servers[i].ID, hclog.NewNullLogger()
		c.HeartbeatTimeout, c.ElectionTimeout, c.LeaderLeaseTimeout = timeout, timeout, timeout*9/10
		kept, log := raft.NewInmemSnapshotStore(), raft.NewInmemStore()
		if err := raft.BootstrapCluster(c, log, log, kept, wire, members); err != nil {
			t.Fatal(err)
		}
		r, err := raft.NewRaft(c, fsm{}, log, log, kept, wire)
		if err != nil {
			t.Fatal(err)
		}
		all = append(all, r)
		go (&electionTimer{raft: r, self: c.LocalID, timeout: timeout}).run(done)
	}
	t.Cleanup(func() {
		close(done)
		for _, r := range all {
			if err := r.Shutdown().Error(); err != nil {
				t.Error(err)
			}
		}
	})
	return all, wires
}

// leader waits until one leads, another than the given one.
func leader(t *testing.T, all []*raft.Raft, lost int) int {
	for end := time.Now().Add(time.Minute); time.Now().Before(end); time.Sleep(10 * time.Millisecond) {
		for i, r := range all {
			if i != lost && r.State() == raft.Leader {
				return i
			}
		}
	}
	t.Fatal("nobody leads")
	return 0
}

// TestALeaderIsReplacedAfterATimeoutAndATurn, of three and of five: not sooner than after a timeout, and not as much
// later as Raft by itself would.
func TestALeaderIsReplacedAfterATimeoutAndATurn(t *testing.T) {
	for _, count := range []int{3, 5} {
		for range 20 {
			synctest.Test(t, func(t *testing.T) {
				const timeout = time.Second
				all, wires := voters(t, count, timeout)
				first := leader(t, all, -1)
				time.Sleep(5 * timeout)
				if now := leader(t, all, -1); now != first {
					t.Fatalf("%d leads instead of %d, which was there", now, first)
				}
				for i, wire := range wires {
					if wire.DisconnectAll(); i != first {
						for j, other := range wires {
							if j != first {
								wire.Connect(other.LocalAddr(), other)
							}
						}
					}
				}
				at := time.Now()
				leader(t, all, first)
				// heartbeats come each fifth of a timeout, so the last one was a while ago
				if took := time.Since(at); took < timeout*8/10 || took > timeout*3/2 {
					t.Fatalf("of %d, another one leads after %v", count, took)
				}
			})
		}
	}
}

// TestAMemberThatStoodStillDoesNotTakeTheLeaderForLost: what came meanwhile is read first.
func TestAMemberThatStoodStillDoesNotTakeTheLeaderForLost(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		all, wires := voters(t, 3, time.Second)
		first := leader(t, all, -1)
		time.Sleep(5 * time.Second)
		i := (first + 1) % 3
		w := &electionTimer{raft: all[i], self: raft.ServerID(wires[i].LocalAddr()), timeout: time.Second}
		if w.silent(time.Now()) {
			t.Error("the leader is there")
		}
		now := time.Now().Add(10 * time.Second)
		if w.silent(now) {
			t.Error("it has not looked for ten seconds")
		}
		if !w.silent(now.Add(time.Millisecond)) {
			t.Error("nothing came in ten seconds")
		}
	})
}

func TestTurn(t *testing.T) {
	all := []raft.Server{{ID: "a"}, {ID: "b"}, {ID: "c"}}
	for _, c := range []struct {
		self, leader raft.ServerID
		want         int
	}{{"b", "a", 0}, {"c", "a", 1}, {"a", "c", 0}, {"b", "c", 1}, {"a", "b", 1}, {"a", "gone", 0}} {
		if got := turn(all, c.self, c.leader); got != c.want {
			t.Errorf("%s after %s: %d, want %d", c.self, c.leader, got, c.want)
		}
	}
}
