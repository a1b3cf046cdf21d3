package partition_test

import (
	"fmt"
	"sync/atomic"
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
			pids = append(pids, around.Spawn(t, partition.Props(partition.DefaultOptions(), partition.Steering{},
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
			around.Tell(pid, &protocol.QuietAsked{Survey: 1})
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

// A URL that its owner has on disk, with at least as many links left to follow, needs no parcel.
func TestWhatAnOwnerHasIsNotSent(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		state := openState(t, 2)
		defer state.Close()
		host := "http://h.example.test"
		for i := 0; state.PartitionOf(host) != 1; i++ {
			host = fmt.Sprintf("http://h%d.example%d.test", i, i)
		}
		known := store.NewBatch(time.Now())
		known.Admit(store.Candidate{URL: host + "/", Host: host, DepthLeft: 3})
		if _, err := state.Partitions[1].Commit(known); err != nil {
			t.Fatal(err)
		}
		system := actortest.System(t)
		around, owner := actortest.NewProbe(t, system, "around"), actortest.NewProbe(t, system, "owner")
		sender := around.Spawn(t, partition.Props(partition.DefaultOptions(), partition.Steering{}, state, 0,
			around.PID, around.PID, actortest.Log()), "sender")
		partition.Introduce(func(to *actor.PID, message any) {
			if to == sender {
				system.Root.Send(to, message)
			}
		}, []*actor.PID{sender, owner.PID})
		for _, step := range []struct {
			path string
			left uint8
			sent int
		}{{"/", 3, 0}, {"/", 2, 0}, {"/", 4, 1}, {"/new", 3, 1}} {
			around.Tell(sender, &protocol.Write{Urgent: true, Candidates: []store.Candidate{{URL: host + step.path,
				Host: host, DepthLeft: step.left}}})
			actortest.Pass(time.Second)
			sent := actortest.TakeOf[*protocol.CandidatesSent](owner)
			if len(sent) != step.sent {
				t.Errorf("%s with %d links left: %d messages to its owner, want %d", step.path, step.left, len(sent),
					step.sent)
			}
			for _, m := range sent {
				around.Tell(sender, &protocol.CandidatesStored{Parcels: m.Parcels})
			}
			actortest.Pass(time.Second)
		}
		if err := system.Root.PoisonFuture(sender).Wait(); err != nil {
			t.Error(err)
		}
	})
}

// Parcels wait for others to share a commit with, as long as the last one took four times; so do leases when many are
// open, and a second at least. Else a lease does not wait, nor do facts of a slave that will soon have no room.
func TestWhatCanWaitSharesCommits(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		state := openState(t, 1)
		defer state.Close()
		system := actortest.System(t)
		around, writer := actortest.NewProbe(t, system, "around"), actortest.NewProbe(t, system, "writer")
		o := partition.DefaultOptions()
		var commits atomic.Int32
		o.Committed = func(time.Duration) { // a disk that takes its time
			commits.Add(1)
			time.Sleep(100 * time.Millisecond)
		}
		pid := around.Spawn(t, partition.Props(o, partition.Steering{}, state, 0, around.PID, around.PID,
			actortest.Log()), "partition")
		number := uint64(0)
		lease := func() {
			number++
			host := fmt.Sprintf("http://h%d.example.test", number)
			writer.Tell(pid, &protocol.Write{Urgent: true, Tag: number, Lease: &store.Lease{ID: number,
				Host: store.IDOf(host), HostName: host}})
		}
		parcels := func(d time.Duration) {
			for range d / (20 * time.Millisecond) {
				number++
				host := fmt.Sprintf("http://h%d.example.test", number)
				around.Tell(pid, &protocol.CandidatesSent{Parcels: []store.Parcel{{Candidates: []store.Candidate{
					{URL: host + "/", Host: host}}}}})
				actortest.Pass(20 * time.Millisecond)
			}
		}
		parcels(4 * time.Second)
		if n := commits.Swap(0); n < 8 || n > 12 {
			t.Errorf("%d commits in 4 s of parcels alone, want 10 or so", n)
		}
		for leases := 1; leases <= 32; leases *= 2 {
			lease()
			parcels(220 * time.Millisecond) // behind a commit under way
			if n := len(actortest.TakeOf[*protocol.Written](writer)); n != 1 && leases < 16 {
				t.Errorf("lease %d waits for parcels", leases)
			}
			for range leases - 1 {
				lease()
			}
			actortest.Pass(2 * time.Second)
			actortest.TakeOf[*protocol.Written](writer)
		}
		commits.Store(0)
		for range 100 {
			lease()
			actortest.Pass(20 * time.Millisecond)
		}
		if n := commits.Load(); n < 2 || n > 3 {
			t.Errorf("%d commits in 2 s of one lease of many after another, want one a second", n)
		}
		actortest.Pass(2 * time.Second)
		lease() // is committed at once, since nothing was for long
		actortest.Pass(150 * time.Millisecond)
		actortest.TakeOf[*protocol.Written](writer)
		for _, pressing := range []bool{false, true} {
			writer.Tell(pid, &protocol.Write{Urgent: true, Tag: number,
				Facts: &protocol.FactsStored{Lease: 1000, Pressing: pressing}, Host: &store.HostRecord{
					ID: store.IDOf("http://h1.example.test"), Name: "http://h1.example.test"}})
			actortest.Pass(250 * time.Millisecond)
			if n := len(actortest.TakeOf[*protocol.Written](writer)); (n > 0) != pressing {
				t.Errorf("pressing %v: %d answers after 250 ms", pressing, n)
			}
		}
		if err := system.Root.PoisonFuture(pid).Wait(); err != nil {
			t.Error(err)
		}
	})
}

// What nobody waits for is committed half a second after the last commit, and no later for being alone, so that little
// is asked again after a crash. Where commits take long they take a twentieth of the time, and none waits five seconds.
func TestWhatNobodyWaitsForIsCommittedSoon(t *testing.T) {
	for _, c := range []struct {
		took        time.Duration
		least, most int32 // commits in 60 s, a write every 100 ms
	}{
		{5 * time.Millisecond, 100, 120},
		{100 * time.Millisecond, 27, 30},
		{2 * time.Second, 11, 13},
	} {
		synctest.Test(t, func(t *testing.T) {
			state := openState(t, 1)
			defer state.Close()
			system := actortest.System(t)
			around := actortest.NewProbe(t, system, "around")
			o := partition.DefaultOptions()
			var commits atomic.Int32
			o.Committed = func(time.Duration) {
				time.Sleep(c.took)
				commits.Add(1)
			}
			pid := around.Spawn(t, partition.Props(o, partition.Steering{}, state, 0, around.PID, around.PID,
				actortest.Log()), "partition")
			write := func() {
				host := "http://h.example.test"
				around.Tell(pid, &protocol.Write{Host: &store.HostRecord{ID: store.IDOf(host), Name: host}})
			}
			for range 600 {
				write()
				actortest.Pass(100 * time.Millisecond)
			}
			if n := commits.Load(); n < c.least || n > c.most {
				t.Errorf("a commit takes %v: %d in a minute, want %d to %d", c.took, n, c.least, c.most)
			}
			actortest.Pass(10 * time.Second)
			commits.Store(0)
			write()
			actortest.Pass(c.took + 20*time.Millisecond)
			if n := commits.Load(); n != 1 {
				t.Errorf("a commit takes %v: %d of a write that comes alone, at once", c.took, n)
			}
			if err := system.Root.PoisonFuture(pid).Wait(); err != nil {
				t.Error(err)
			}
		})
	}
}

// Parcels of several owners are under way at once, and each is sent once, also when its sender commits meanwhile.
func TestParcelsAreSentOnce(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		const owners = 4
		state := openState(t, owners)
		defer state.Close()
		system := actortest.System(t)
		around := actortest.NewProbe(t, system, "around")
		o := partition.DefaultOptions()
		o.Committed = func(time.Duration) { time.Sleep(20 * time.Millisecond) } // a disk that takes its time
		sender := around.Spawn(t, partition.Props(o, partition.Steering{}, state, 0, around.PID, around.PID,
			actortest.Log()), "sender")
		peers, pids := []*actortest.Probe{nil}, []*actor.PID{sender}
		for i := 1; i < owners; i++ {
			peers = append(peers, actortest.NewProbe(t, system, fmt.Sprint("peer", i)))
			pids = append(pids, peers[i].PID)
		}
		partition.Introduce(func(to *actor.PID, message any) {
			if to == sender {
				system.Root.Send(to, message)
			}
		}, pids)
		host := 0
		write := func(urls int) {
			w := &protocol.Write{Urgent: true}
			for range urls {
				host++
				at := fmt.Sprintf("http://h%d.example%d.test", host, host)
				w.Candidates = append(w.Candidates, store.Candidate{URL: at + "/", Host: at})
			}
			around.Tell(sender, w)
			actortest.Pass(50 * time.Millisecond)
		}
		for range 300 {
			write(8)
		}
		sent := map[string]int{}
		for round := 0; ; round++ {
			var answers []*protocol.CandidatesStored
			for i := 1; i < owners; i++ {
				for _, m := range actortest.TakeOf[*protocol.CandidatesSent](peers[i]) {
					for _, parcel := range m.Parcels {
						sent[string(parcel.Key)]++
					}
					answers = append(answers, &protocol.CandidatesStored{Parcels: m.Parcels})
				}
			}
			if len(answers) == 0 {
				break
			}
			if round == 1 && len(answers) != owners-1 {
				t.Errorf("%d of %d owners are sent parcels at once", len(answers), owners-1)
			}
			for _, answer := range answers { // while a commit is under way
				around.Tell(sender, &protocol.Write{Urgent: true, Candidates: []store.Candidate{{URL: "http://a.test/",
					Host: "http://a.test"}}})
				actortest.Pass(15 * time.Millisecond)
				around.Tell(sender, answer)
			}
			actortest.Pass(time.Second)
		}
		if len(sent) < 3*300/2 {
			t.Errorf("%d parcels were sent: too few to see anything", len(sent))
		}
		for key, times := range sent {
			if times > 1 {
				t.Errorf("parcel %x was sent %d times", key, times)
			}
		}
		around.Tell(sender, &protocol.QuietAsked{Survey: 1})
		if q := actortest.TakeOf[*protocol.QuietReported](around); len(q) != 1 || q[0].Stats.Parcels > 0 {
			t.Errorf("left in the outbox: %+v", q)
		}
		if err := system.Root.PoisonFuture(sender).Wait(); err != nil {
			t.Error(err)
		}
	})
}
