package master_test

import (
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

// TestALeaseUnderWhichNothingIsReportedIsTakenBack, however often it is renewed, and its slave is lent nothing for a
// while: without it a slave that only renews keeps a host for ever.
func TestALeaseUnderWhichNothingIsReportedIsTakenBack(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		node, slave, end := restarted(t, "http://a.test")
		defer end()
		actortest.Pass(0)
		slave.Tell(node.PID(), &messages.SlaveRegistered{Slave: "s", Boot: "b", Held: []uint64{1}})
		fact := []*messages.Fact{{Lease: 1, Seq: 1, Host: "http://a.test", More: &messages.LinkSet{}}}
		revokedAfter := 0
		for second := range 1000 {
			slave.Tell(node.PID(), &messages.WorkRequested{Slave: "s", Boot: "b", Serial: uint64(second + 1),
				HostSlots: 1, PageSlots: 9, Held: []uint64{1}})
			slave.Tell(node.PID(), &messages.Report{Slave: "s", Boot: "b", Facts: fact}) // again and again
			actortest.Pass(time.Second)
			for _, batch := range actortest.TakeOf[*messages.TaskBatch](slave) {
				if len(batch.Revoked) > 0 && revokedAfter == 0 {
					revokedAfter = second
				}
			}
		}
		if revokedAfter < 600 || revokedAfter > 800 {
			t.Errorf("taken back after %d s", revokedAfter)
		}
		if n := leases(t, node); n != 0 {
			t.Errorf("%d leases are open a while after it", n)
		}
		if _, err := master.Ask[*master.SeedsAdded](t.Context(), node, &master.AddSeeds{Seeds: []reading.Seed{
			{URL: weburl.MustParse("http://b.test/")}}}); err != nil {
			t.Fatal(err)
		}
		for serial, want := range []int{0, 1} {
			slave.Tell(node.PID(), &messages.WorkRequested{Slave: "s", Boot: "b", Serial: uint64(2000 + serial),
				HostSlots: 1, PageSlots: 9})
			actortest.Pass(time.Second)
			if n := leases(t, node); n != want {
				t.Errorf("%d leases of a slave at rest, want %d", n, want)
			}
			actortest.Pass(15 * time.Minute)
		}
	})
}

// TestNobodySpeaksInTheNameOfAnotherSlave: its leases last on, it is not barred, and the hosts that it is lent are sent
// to it.
func TestNobodySpeaksInTheNameOfAnotherSlave(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		system := actortest.System(t)
		node, honest, end := restartedIn(t, system, "http://a.test")
		defer end()
		cheat := actortest.NewProbe(t, system, "cheat")
		actortest.Pass(0)
		honest.Tell(node.PID(), &messages.SlaveRegistered{Slave: "s", Boot: "b", Held: []uint64{1}})
		honest.Tell(node.PID(), &messages.WorkRequested{Slave: "s", Boot: "b", Serial: 1, HostSlots: 8, PageSlots: 9,
			Held: []uint64{1}})
		cheat.Tell(node.PID(), &messages.SlaveRegistered{Slave: "cheat", Boot: "b"})
		for range 2 {
			for _, lie := range []any{
				&messages.SlaveRegistered{Slave: "s", Boot: "b"},
				&messages.WorkRequested{Slave: "s", Boot: "b", Serial: 2, HostSlots: 8, PageSlots: 9},
				&messages.TaskRefused{Slave: "s", Boot: "b", Lease: 1, Host: "http://a.test"},
				&messages.Report{Slave: "s", Boot: "b", Facts: []*messages.Fact{{Lease: 1, Seq: 1,
					Host: "http://elsewhere.test", Finished: &messages.LeaseFinished{}}}},
				&messages.Report{Slave: "s", Boot: "b", Facts: []*messages.Fact{{Lease: 1, Seq: 1,
					Host: "http://a.test", Finished: &messages.LeaseFinished{}}}},
			} {
				cheat.Tell(node.PID(), lie)
			}
		}
		system.Root.Send(node.PID(), &messages.SlaveRegistered{Slave: "s", Boot: "c"}) // of nobody
		if _, err := master.Ask[*master.SeedsAdded](t.Context(), node, &master.AddSeeds{Seeds: []reading.Seed{
			{URL: weburl.MustParse("http://b.test/")}}}); err != nil {
			t.Fatal(err)
		}
		actortest.Pass(time.Second)
		if n := len(actortest.TakeOf[*messages.TaskBatch](cheat)); n > 0 {
			t.Errorf("%d batches of the honest slave were sent to the other", n)
		}
		status, err := master.Ask[*master.Status](t.Context(), node, &master.StatusAsked{})
		if err != nil {
			t.Fatal(err)
		}
		states := map[string]lending.SlaveStatus{}
		for _, s := range status.Slaves {
			states[s.Name] = s
		}
		if s := states["s"]; s.State != lending.Working || s.Impossible != 0 || s.Leases != 2 {
			t.Errorf("the honest slave: %+v", s)
		}
		if s := states["cheat"]; s.Impossible != 3 || s.Why != "a message in the name of another slave" {
			t.Errorf("the other: %+v", s)
		}
	})
}

// TestTheLeasesOfABarredSlaveRunOut: it may ask their hosts until then, so nobody else is lent them sooner.
func TestTheLeasesOfABarredSlaveRunOut(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		node, slave, end := restarted(t, "http://a.test", "http://b.test")
		defer end()
		actortest.Pass(0)
		slave.Tell(node.PID(), &messages.SlaveRegistered{Slave: "s", Boot: "b", Held: []uint64{1, 2}})
		for seq := range uint64(3) {
			slave.Tell(node.PID(), &messages.Report{Slave: "s", Boot: "b", Facts: []*messages.Fact{
				{Lease: 1, Seq: 1 + seq, Host: "http://elsewhere.test", Finished: &messages.LeaseFinished{}}}})
		}
		slave.Tell(node.PID(), &messages.WorkRequested{Slave: "s", Boot: "b", Serial: 1, Held: []uint64{1, 2}})
		actortest.Pass(61 * time.Second)
		if n := leases(t, node); n != 2 {
			t.Errorf("%d leases are open before they have run out, want 2", n)
		}
		actortest.Pass(2 * time.Second)
		if n := leases(t, node); n != 0 {
			t.Errorf("%d leases are open when they have run out", n)
		}
	})
}
