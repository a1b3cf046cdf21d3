package master_test

import (
	"encoding/json"
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

// TestTheNextMasterKnowsWhatWasOrderedOfTheRun: that it is paused, and which slaves are to be lent nothing.
func TestTheNextMasterKnowsWhatWasOrderedOfTheRun(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		system := actortest.System(t)
		var kept master.Run
		o := master.DefaultOptions()
		o.Dir, o.Name, o.Boot, o.Store.NoSync = t.TempDir(), "m", "1", true
		o.Keep = func(name string, content []byte) error {
			if name != master.RunName {
				return nil
			}
			kept = master.Run{}
			return json.Unmarshal(content, &kept)
		}
		slave := actortest.NewProbe(t, system, "slave")
		start := func(boot string) *master.Node {
			t.Helper()
			node, err := master.Start(system, o, actortest.Log())
			if err != nil {
				t.Fatal(err)
			}
			actortest.Pass(0)
			slave.Tell(node.PID(), &messages.SlaveRegistered{Slave: "s", Boot: boot, Connections: 8})
			actortest.Pass(time.Second)
			return node
		}
		serial := uint64(0)
		lent := func(node *master.Node, boot string) (lent int) {
			for range 10 { // a host rests between two leases
				serial++
				slave.Tell(node.PID(), &messages.WorkRequested{Slave: "s", Boot: boot, Serial: serial, HostSlots: 8,
					PageSlots: 100})
				actortest.Pass(time.Second)
			}
			for _, batch := range actortest.TakeOf[*messages.TaskBatch](slave) {
				lent += len(batch.Tasks)
			}
			return lent
		}
		order := func(node *master.Node, command any) {
			t.Helper()
			if answer, err := master.Ask[*lending.SlaveAnswered](t.Context(), node, command); err != nil ||
				answer.Slave == nil {
				t.Fatalf("%T: %+v, %v", command, answer, err)
			}
		}
		end := func(node *master.Node) {
			t.Helper()
			if err := node.Close(); err != nil {
				t.Fatal(err)
			}
		}

		node := start("a")
		if _, err := master.Ask[*master.SeedsAdded](t.Context(), node, &master.AddSeeds{Seeds: []reading.Seed{
			{URL: weburl.MustParse("http://a.test/")}}}); err != nil {
			t.Fatal(err)
		}
		order(node, &lending.DrainSlave{Slave: "s"})
		if run, err := node.Handover(t.Context()); err != nil || run.Drained["s"] != "a" || run.Begun.IsZero() {
			t.Errorf("to those that follow a master that led alone it gives %+v, %v", run, err)
		}
		end(node)

		o.Run, o.Boot = kept, "2"
		node = start("a")
		if n := lent(node, "a"); n != 0 {
			t.Errorf("the next master lends %d hosts to a drained slave", n)
		}
		order(node, &lending.ResumeSlave{Slave: "s"})
		if len(kept.Drained) != 0 {
			t.Errorf("after it was resumed, drained are %v", kept.Drained)
		}
		order(node, &lending.DrainSlave{Slave: "s"})
		end(node)

		o.Run, o.Boot = kept, "3"
		node = start("b")
		if lent(node, "b") == 0 {
			t.Error("a drained slave that was started anew under the next master is lent nothing")
		}
		if _, err := master.Ask[*master.Status](t.Context(), node, &master.Pause{}); err != nil {
			t.Fatal(err)
		}
		if len(kept.Drained) != 0 || !kept.Paused {
			t.Errorf("known of the run: %+v", kept)
		}
		end(node)
	})
}
