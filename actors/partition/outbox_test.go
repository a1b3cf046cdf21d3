package partition_test

import (
	"fmt"
	"testing"
	"testing/synctest"
	"time"

	"github.com/asynkron/protoactor-go/actor"

	"henro/actors/actortest"
	"henro/actors/partition"
	"henro/actors/protocol"
	"henro/store"
)

// A URL of another partition goes through the outbox: its owner has it in the end, and nothing is left on its way.
func TestCandidatesOfOtherPartitionsReachTheirOwners(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		state := openState(t, 2)
		defer state.Close()
		system := actortest.System(t)
		around := actortest.NewProbe(t, system, "around")
		var pids []*actor.PID
		for i := range state.Partitions {
			pids = append(pids, around.Spawn(t, partition.Props(partition.DefaultOptions(), partition.Order{},
				state, i, around.PID, around.PID, actortest.Log()), fmt.Sprint(i)))
		}
		partition.Introduce(system.Root.Send, pids)
		write := &protocol.Write{Urgent: true}
		var owned [2]uint64
		for i := range 10 {
			host := fmt.Sprintf("http://h%d.example%d.test", i, i)
			owned[state.PartitionOf(host)]++
			write.Candidates = append(write.Candidates, store.Candidate{URL: host + "/", Host: host})
		}
		if owned[0] == 0 || owned[1] == 0 {
			t.Fatal("all hosts are of one partition")
		}
		around.Tell(pids[0], write)
		actortest.Pass(time.Minute)
		for i, pid := range pids {
			around.Tell(pid, &protocol.QuietAsked{Round: 1})
			q := actortest.TakeOf[*protocol.QuietReported](around)
			if len(q) != 1 || q[0].Stats.Waiting != owned[i] || q[0].Unsettled > 0 {
				t.Errorf("partition %d of %d URLs: %+v", i, owned[i], q[0])
			}
		}
		for i := len(pids) - 1; i >= 0; i-- {
			if err := system.Root.PoisonFuture(pids[i]).Wait(); err != nil {
				t.Error(err)
			}
		}
	})
}
