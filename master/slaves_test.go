package master_test

import (
	"fmt"
	"maps"
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"henro/actors/actortest"
	"henro/actors/reading"
	"henro/master"
	"henro/master/lending"
	"henro/messages"
	"henro/messages/weburl"
)

func TestARefusedSlaveIsShownWhileItIsThere(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		node, probe, end := restarted(t)
		defer end()
		for _, c := range []struct {
			says string
			tell *lending.SlaveRefused
			want string
		}{
			{"one that is too new", &lending.SlaveRefused{Slave: "s", Boot: "1", Version: "v9", Protocol: 9}, "v9"},
			{"its next start, of another version", &lending.SlaveRefused{Slave: "s", Boot: "2", Version: "v8",
				Protocol: 8}, "v8"},
			{"the end of the first, late", &lending.SlaveRefused{Slave: "s", Boot: "1", Version: "v9", Protocol: 9,
				Gone: true}, "v8"},
			{"its end", &lending.SlaveRefused{Slave: "s", Boot: "2", Version: "v8", Protocol: 8, Gone: true}, ""},
		} {
			probe.Tell(node.PID(), c.tell)
			actortest.Pass(0)
			status, err := master.Ask[*master.Status](t.Context(), node, &master.StatusAsked{})
			if err != nil {
				t.Fatal(err)
			}
			shown := ""
			for _, s := range status.Slaves {
				if s.State == lending.Refused {
					shown += s.Version
				}
			}
			if shown != c.want {
				t.Errorf("%s: %q is shown, want %q", c.says, shown, c.want)
			}
		}
	})
}

// TestMailboxesOfASlaveAreShown, however many kinds of actors it claims to have.
func TestMailboxesOfASlaveAreShown(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		node, slave, end := restarted(t)
		defer end()
		actortest.Pass(0)
		slave.Tell(node.PID(), &messages.SlaveRegistered{Slave: "s", Boot: "b", Connections: 8})
		request := &messages.WorkRequested{Slave: "s", Boot: "b", Serial: 1}
		for range 1000 {
			request.Mailboxes = append(request.Mailboxes, &messages.Mailboxes{Kind: "fetcher", Actors: 40, Waiting: 7,
				Longest: 3, Taken: 900})
		}
		slave.Tell(node.PID(), request)
		actortest.Pass(0)
		status, err := master.Ask[*master.Status](t.Context(), node, &master.StatusAsked{})
		if err != nil {
			t.Fatal(err)
		}
		told := status.Slaves[0].Mailboxes
		if want := (lending.Mailboxes{Kind: "fetcher", Actors: 40, Waiting: 7, Longest: 3,
			Taken: 900}); len(told) != 32 || told[31] != want {
			t.Errorf("%d kinds are shown, the last as %+v", len(told), told[len(told)-1])
		}
	})
}

// TestADrainedSlaveGivesItsHostsBackAndIsLentNone, until it is resumed or started anew.
func TestADrainedSlaveGivesItsHostsBackAndIsLentNone(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		node, slave, end := restarted(t)
		defer end()
		actortest.Pass(0)
		slave.Tell(node.PID(), &messages.SlaveRegistered{Slave: "s", Boot: "b", Connections: 8})
		request := &messages.WorkRequested{Slave: "s", Boot: "b", HostSlots: 8, PageSlots: 100, Goroutines: 42,
			BusyNs: 1, UnderWay: 3, Queued: 5}
		ask := func(held ...uint64) *messages.TaskBatch {
			request.Serial++
			request.Held = held
			request.BusyNs += int64(50 * time.Millisecond)
			slave.Tell(node.PID(), request)
			actortest.Pass(100 * time.Millisecond)
			all := &messages.TaskBatch{}
			for _, batch := range actortest.TakeOf[*messages.TaskBatch](slave) {
				all.Tasks, all.Renewed, all.Revoked = append(all.Tasks, batch.Tasks...),
					append(all.Renewed, batch.Renewed...), append(all.Revoked, batch.Revoked...)
			}
			return all
		}
		drain := func(command any, want lending.SlaveState) {
			t.Helper()
			answer, err := master.Ask[*lending.SlaveAnswered](t.Context(), node, command)
			if err != nil {
				t.Fatal(err)
			}
			if answer.Slave == nil || answer.Slave.State != want || answer.Slave.Goroutines != 42 ||
				answer.Slave.UnderWay != 3 || answer.Slave.Queued != 5 || answer.Slave.Busy == 0 {
				t.Errorf("after %T: %+v, want %s", command, answer.Slave, want)
			}
		}
		ask()
		if _, err := master.Ask[*master.SeedsAdded](t.Context(), node, &master.AddSeeds{Seeds: []reading.Seed{
			{URL: weburl.MustParse("http://a.test/")}}}); err != nil {
			t.Fatal(err)
		}
		actortest.Pass(time.Second)
		batch := ask()
		if len(batch.Tasks) != 1 {
			t.Fatalf("lent: %v", batch)
		}
		lease := batch.Tasks[0].Lease

		drain(&lending.DrainSlave{Slave: "s"}, lending.Draining)
		if batch = ask(lease); len(batch.Renewed) > 0 || len(batch.Revoked) == 0 {
			t.Errorf("a lease of a draining slave: renewed %v, revoked %v", batch.Renewed, batch.Revoked)
		}
		slave.Tell(node.PID(), &messages.Report{Slave: "s", Boot: "b", Facts: []*messages.Fact{
			{Lease: lease, Seq: 1, Host: "http://a.test", Finished: &messages.LeaseFinished{Why: "revoked"}}}})
		actortest.Pass(10 * time.Second)
		if batch = ask(); len(batch.Tasks) > 0 {
			t.Errorf("a drained slave is lent %v", batch.Tasks)
		}
		drain(&lending.DrainSlave{Slave: "s"}, lending.Drained)

		drain(&lending.ResumeSlave{Slave: "s"}, lending.Working)
		actortest.Pass(time.Second)
		if batch = ask(); len(batch.Tasks) != 1 {
			t.Errorf("a resumed slave is lent %v", batch.Tasks)
		}
		drain(&lending.DrainSlave{Slave: "s"}, lending.Draining)
		request.Boot = "c"
		slave.Tell(node.PID(), &messages.SlaveRegistered{Slave: "s", Boot: "c", Connections: 8})
		actortest.Pass(10 * time.Second)
		if batch = ask(); len(batch.Tasks) != 1 {
			t.Errorf("a drained slave that was started anew is lent %v", batch.Tasks)
		}
		answer, err := master.Ask[*lending.SlaveAnswered](t.Context(), node, &lending.DrainSlave{Slave: "unknown"})
		if err != nil || answer.Slave != nil {
			t.Errorf("an unknown slave: %+v, %v", answer.Slave, err)
		}
	})
}

// TestASlaveThatJoinsABusyCrawlGetsItsShare, though no lease ends by itself and the first order to give one back is
// lost; a lease that is asked back is renewed until it comes.
func TestASlaveThatJoinsABusyCrawlGetsItsShare(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		node, probe, end := restarted(t)
		defer end()
		const hosts = 40
		var seeds []reading.Seed
		for i := range hosts {
			seeds = append(seeds, reading.Seed{URL: weburl.MustParse(fmt.Sprintf("http://h%d.test/", i))})
		}
		actortest.Pass(0)
		if _, err := master.Ask[*master.SeedsAdded](t.Context(), node, &master.AddSeeds{Seeds: seeds}); err != nil {
			t.Fatal(err)
		}
		const lateFrom = 1000 // serials of the late slave
		held := map[string]map[uint64]string{"early": {}, "late": {}}
		second := func(i uint64, slaves ...string) {
			for _, name := range slaves {
				serial := map[string]uint64{"early": i, "late": lateFrom + i}[name]
				if len(held[name]) == 0 {
					probe.Tell(node.PID(), &messages.SlaveRegistered{Slave: name, Boot: "b", Connections: hosts})
				}
				probe.Tell(node.PID(), &messages.WorkRequested{Slave: name, Boot: "b", Serial: serial, HostSlots: hosts,
					PageSlots: 1000,
					Held:      slices.Collect(maps.Keys(held[name]))})
			}
			actortest.Pass(time.Second)
			for _, batch := range actortest.TakeOf[*messages.TaskBatch](probe) {
				name := "early"
				if batch.Serial >= lateFrom {
					name = "late"
				}
				for _, task := range batch.Tasks {
					held[name][task.Lease] = task.Host
				}
				for _, id := range batch.Revoked {
					if slices.Contains(batch.Renewed, id) {
						probe.Tell(node.PID(), &messages.Report{Slave: name, Boot: "b", Facts: []*messages.Fact{
							{Lease: id, Seq: 1, Host: held[name][id],
								Finished: &messages.LeaseFinished{Why: "revoked"}}}})
						delete(held[name], id)
					}
				}
			}
		}
		for i := range uint64(3) {
			second(i, "early")
		}
		if len(held["early"]) != hosts {
			t.Fatalf("the only slave holds %d of %d hosts", len(held["early"]), hosts)
		}
		for i := range uint64(20) {
			second(3+i, "early", "late")
		}
		if n := len(held["late"]); n < hosts*3/8 || n > hosts/2 {
			t.Errorf("after 20 s the late slave holds %d of %d hosts", n, hosts)
		}
		if n := len(held["early"]) + len(held["late"]); n != hosts {
			t.Errorf("%d of %d hosts are lent", n, hosts)
		}
	})
}
