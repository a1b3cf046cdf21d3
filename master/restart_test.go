package master_test

import (
	"context"
	"path/filepath"
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"github.com/asynkron/protoactor-go/actor"

	"henro/actors/actortest"
	"henro/actors/floor"
	"henro/actors/reading"
	"henro/master"
	"henro/master/lending"
	"henro/messages"
	"henro/messages/weburl"
	"henro/store"
)

// restarted starts a master on a state that was left with open leases of slave s, boot b: host n has lease n.
func restarted(t *testing.T, hosts ...string) (*master.Node, *actortest.Probe, func()) {
	t.Helper()
	return restartedIn(t, actortest.System(t), hosts...)
}

func restartedIn(t *testing.T, system *actor.ActorSystem, hosts ...string) (*master.Node, *actortest.Probe, func()) {
	t.Helper()
	o := master.DefaultOptions()
	o.Dir, o.Name, o.Boot = t.TempDir(), "m", "2"
	o.Store.NoSync, o.Store.Partitions = true, 2
	state, err := store.OpenState(filepath.Join(o.Dir, "state"), o.Store)
	if err != nil {
		t.Fatal(err)
	}
	for i, host := range hosts {
		b := store.NewBatch(time.Now())
		b.PutHost(store.HostRecord{ID: store.IDOf(host), Name: host})
		b.PutLease(store.Lease{ID: uint64(i + 1), Host: store.IDOf(host), HostName: host, Slave: "s", Boot: "b",
			Until: time.Now()})
		if _, err := state.Partitions[state.PartitionOf(host)].Commit(b); err != nil {
			t.Fatal(err)
		}
	}
	if err := state.Close(); err != nil {
		t.Fatal(err)
	}
	node, err := master.Start(system, o, actortest.Log())
	if err != nil {
		t.Fatal(err)
	}
	return node, actortest.NewProbe(t, system, "slave"), func() {
		if err := node.Close(); err != nil {
			t.Error(err)
		}
	}
}

// freeze stops a master for two leases, as a machine that sleeps.
type freeze struct{}

func TestAMasterThatStoodStillHonoursItsLeases(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		freezing := func(next actor.ReceiverFunc) actor.ReceiverFunc {
			return func(c actor.ReceiverContext, e *actor.MessageEnvelope) {
				if _, frozen := e.Message.(*freeze); frozen {
					time.Sleep(2 * time.Minute)
					return
				}
				next(c, e)
			}
		}
		system := actortest.SystemWith(t, floor.SystemOptions{Receive: freezing})
		node, slave, end := restartedIn(t, system, "http://a.test")
		defer end()
		actortest.Pass(0)
		slave.Tell(node.PID(), &messages.SlaveRegistered{Slave: "s", Boot: "b", Held: []uint64{1}})
		actortest.Pass(time.Second)
		system.Root.Send(node.PID(), &freeze{})
		actortest.Pass(2*time.Minute + time.Second)
		if open := leases(t, node); open != 1 {
			t.Errorf("%d leases are open right after it, want 1", open)
		}
		actortest.Pass(time.Minute + 5*time.Second)
		if open := leases(t, node); open != 0 {
			t.Errorf("%d leases are open a lease later, which nobody renewed", open)
		}
	})
}

func TestASlaveThatSaysNothingIsLentNothing(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		node, slave, end := restarted(t)
		defer end()
		actortest.Pass(0)
		slave.Tell(node.PID(), &messages.SlaveRegistered{Slave: "s", Boot: "b", Connections: 8})
		request := &messages.WorkRequested{Slave: "s", Boot: "b", Serial: 1, HostSlots: 8, PageSlots: 100}
		slave.Tell(node.PID(), request)
		actortest.Pass(10 * time.Second) // and the gossip has not noticed
		seed := reading.Seed{URL: weburl.MustParse("http://a.test/")}
		if _, err := master.Ask[*master.SeedsAdded](t.Context(), node,
			&master.AddSeeds{Seeds: []reading.Seed{seed}}); err != nil {
			t.Fatal(err)
		}
		actortest.Pass(time.Second)
		if got := leases(t, node); got != 0 {
			t.Errorf("%d hosts were lent to a slave that was not heard of for 11 s", got)
		}
		request.Serial++
		slave.Tell(node.PID(), request)
		actortest.Pass(time.Second)
		if got := leases(t, node); got != 1 {
			t.Errorf("%d hosts are lent to a slave that asks, want 1", got)
		}
	})
}

// A master that has just been started does not know yet which leases were open; a slave that registers meanwhile is
// answered once it does, not when it says so again.
func TestASlaveThatRegistersEarlyIsWelcomed(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		node, slave, end := restarted(t, "http://a.test")
		defer end()
		slave.Tell(node.PID(), &messages.SlaveRegistered{Slave: "s", Boot: "b", Connections: 8, Held: []uint64{1, 7}})
		actortest.Pass(0)
		welcomed := actortest.TakeOf[*messages.SlaveWelcomed](slave)
		if len(welcomed) != 1 || len(welcomed[0].Unknown) != 1 || welcomed[0].Unknown[0] != 7 {
			t.Errorf("answered with %v, want one welcome that knows lease 1 and not lease 7", welcomed)
		}
	})
}

// A slave is frozen, started anew under its name, and thawed: only the newer boot is lent anything.
func TestAnOlderBootIsNotTakenInWhileTheNewerIsThere(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		node, slave, end := restarted(t, "http://a.test")
		defer end()
		actortest.Pass(0)
		welcomed := func() int { return len(actortest.TakeOf[*messages.SlaveWelcomed](slave)) }
		slave.Tell(node.PID(), &messages.SlaveRegistered{Slave: "s", Boot: "b", Held: []uint64{1}})
		slave.Tell(node.PID(), &messages.SlaveRegistered{Slave: "s", Boot: "a"})
		actortest.Pass(time.Second)
		if n, open := welcomed(), leases(t, node); n != 1 || open != 1 {
			t.Errorf("%d boots welcomed, want the newer; %d of its leases are open, want 1", n, open)
		}
		slave.Tell(node.PID(), &lending.SlaveLost{Slave: "s", Boot: "a"}) // the gossip says so late
		for range 90 {
			slave.Tell(node.PID(), &messages.WorkRequested{Slave: "s", Boot: "b", Held: []uint64{1}})
			actortest.Pass(time.Second)
			slave.Tell(node.PID(), &messages.SlaveRegistered{Slave: "s", Boot: "a"})
		}
		if n, open := welcomed(), leases(t, node); n != 0 || open != 1 {
			t.Errorf("the older boot was welcomed %d times; %d leases of the newer are open, want 1", n, open)
		}
		actortest.Pass(63 * time.Second) // the newer one says nothing more, and its lease ends
		slave.Tell(node.PID(), &messages.SlaveRegistered{Slave: "s", Boot: "a"})
		if n, open := welcomed(), leases(t, node); n != 1 || open != 0 {
			t.Errorf("with the newer gone: welcomed %d times, %d leases open", n, open)
		}
	})
}

// A lease of a host that was excluded is not renewed: it ends, whatever its holder says.
func TestALeaseOfAnExcludedHostIsNotRenewed(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		node, slave, end := restarted(t, "http://a.test", "http://b.example")
		defer end()
		actortest.Pass(0)
		slave.Tell(node.PID(), &messages.SlaveRegistered{Slave: "s", Boot: "b", Held: []uint64{1, 2}})
		if _, err := node.Exclude(t.Context(), "http://a.test", true); err != nil {
			t.Fatal(err)
		}
		actortest.TakeOf[*messages.TaskBatch](slave)
		slave.Tell(node.PID(), &messages.WorkRequested{Slave: "s", Boot: "b", Serial: 1, Held: []uint64{1, 2}})
		batches := actortest.TakeOf[*messages.TaskBatch](slave)
		if len(batches) != 1 || !slices.Equal(batches[0].Revoked, []uint64{1}) ||
			!slices.Equal(batches[0].Renewed, []uint64{2}) {
			t.Errorf("answered with %v, want lease 1 revoked and lease 2 renewed", batches)
		}
	})
}

// The end of a crawl does not wait for ever for slaves that are gone; what they hold stays on disk.
func TestTheEndDoesNotWaitForSlavesThatAreGone(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		node, slave, end := restarted(t, "http://a.test")
		defer end()
		actortest.Pass(0)
		slave.Tell(node.PID(), &messages.SlaveRegistered{Slave: "s", Boot: "b", Held: []uint64{1}})
		asked, ask := context.WithCancel(t.Context())
		start := time.Now()
		time.AfterFunc(time.Second, ask)
		status, err := node.Run(asked, t.Context(), nil)
		if err != nil || status.End != master.Stopped || status.Leases != 1 {
			t.Errorf("ended with %q and %d leases: %v", status.End, status.Leases, err)
		}
		if took := time.Since(start); took > 17*time.Second {
			t.Errorf("the end took %v", took)
		}
	})
}

func leases(t *testing.T, node *master.Node) int {
	t.Helper()
	status, err := master.Ask[*master.Status](t.Context(), node, &master.StatusAsked{})
	if err != nil {
		t.Fatal(err)
	}
	return status.Leases
}

func TestAfterARestartLeasesAreHonouredUntilTheirHolderSaysOtherwise(t *testing.T) {
	for _, c := range []struct {
		sentence string
		register *messages.SlaveRegistered
		soon     int // leases open two seconds later
		renewed  int // and when a lease's length is over, of those that are asked for every second
	}{
		{"its holder names both: they last on", &messages.SlaveRegistered{Slave: "s", Boot: "b", Held: []uint64{1, 2}},
			2, 2},
		{"its holder names one: the other was lost on its way and ends at once",
			&messages.SlaveRegistered{Slave: "s", Boot: "b", Held: []uint64{2}}, 1, 1},
		{"a newer boot of its holder registers: both end at once", &messages.SlaveRegistered{Slave: "s", Boot: "c"}, 0,
			0},
		{"another slave registers: both wait for their end", &messages.SlaveRegistered{Slave: "other", Boot: "a"}, 2,
			0},
		{"nobody registers: both wait for their end", nil, 2, 0},
	} {
		t.Run(c.sentence, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				node, slave, end := restarted(t, "http://a.test", "http://b.example")
				defer end()
				actortest.Pass(0)
				if c.register != nil {
					slave.Tell(node.PID(), c.register)
				}
				actortest.Pass(2 * time.Second)
				if got := leases(t, node); got != c.soon {
					t.Errorf("%d leases open after two seconds, want %d", got, c.soon)
				}
				for serial := range uint64(70) {
					if c.register != nil {
						slave.Tell(node.PID(), &messages.WorkRequested{Slave: c.register.Slave, Boot: c.register.Boot,
							Serial: serial + 1, Held: c.register.Held})
					}
					actortest.Pass(time.Second)
				}
				if got := leases(t, node); got != c.renewed {
					t.Errorf("%d leases open after 72 s, want %d", got, c.renewed)
				}
			})
		})
	}
}
