package partition_test

import (
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"henro/actors/actortest"
	"henro/actors/partition"
	"henro/actors/protocol"
	"henro/store"
)

// roomy is a gate that takes all, and remembers what it heard. before is called by an offer.
type roomy struct {
	before func(c *store.Candidate)
	heard  []uint64
}

func (r *roomy) Offer(c *store.Candidate, _ bool) partition.Offered {
	r.before(c)
	return partition.Offered{}
}
func (r *roomy) Raise(*store.Candidate) {}
func (r *roomy) Stored(_ map[uint64]store.HostID, waiting map[store.HostID]uint64) {
	for _, urls := range waiting {
		r.heard = append(r.heard, urls)
	}
}

// The gate hears how many URLs of a host wait after each commit that changes it, and also after one that finds on disk
// what it was to store: it was stored by a commit that was said to have failed.
func TestTheGateHearsWhatWaits(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		state := openState(t, 1)
		defer state.Close()
		system := actortest.System(t)
		around := actortest.NewProbe(t, system, "around")
		gate := &roomy{before: func(*store.Candidate) {}}
		pid := around.Spawn(t, partition.Props(partition.DefaultOptions(), partition.Steering{Gate: gate}, state, 0,
			around.PID, around.PID, actortest.Log()), "partition")
		find := func(urls ...string) {
			w := &protocol.Write{Urgent: true}
			for _, url := range urls {
				w.Candidates = append(w.Candidates, store.Candidate{URL: url, Host: lone, Depth: 1})
			}
			around.Tell(pid, w)
			actortest.Pass(time.Second)
		}
		find(lone+"/1", lone+"/2")
		find(lone + "/1")
		gate.before = func(c *store.Candidate) {
			b := store.NewBatch(time.Now())
			b.Admit(*c)
			if _, err := state.Partitions[0].Commit(b); err != nil {
				t.Error(err)
			}
		}
		find(lone + "/3")
		if err := system.Root.PoisonFuture(pid).Wait(); err != nil {
			t.Error(err)
		}
		if want := []uint64{2, 3}; !slices.Equal(gate.heard, want) {
			t.Errorf("the gate heard %v, want %v", gate.heard, want)
		}
	})
}
