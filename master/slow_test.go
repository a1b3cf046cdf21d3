package master_test

import (
	"fmt"
	"runtime"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"henro/actors/actortest"
	"henro/actors/reading"
	"henro/master"
	"henro/messages"
	"henro/messages/weburl"
)

// TestAPartitionThatCannotStoreHoldsWhatSlavesKeepAndNoMore: slaves repeat what is not stored every five seconds for as
// long as it takes, and the master must not keep each time anew. How much there is at all is bounded by the room of
// the slaves.
func TestAPartitionThatCannotStoreHoldsWhatSlavesKeepAndNoMore(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		o := master.DefaultOptions()
		o.Dir, o.Name, o.Boot, o.StallLimit = t.TempDir(), "m", "1", 0
		o.Store.NoSync, o.Store.Partitions, o.Store.MaxBytes = true, 1, 256<<10
		system := actortest.System(t)
		node, err := master.Start(system, o, actortest.Log())
		if err != nil {
			t.Fatal(err)
		}
		defer node.Close()
		slave := actortest.NewProbe(t, system, "slave")
		actortest.Pass(0)
		slave.Tell(node.PID(), &messages.SlaveRegistered{Slave: "s", Boot: "b", Connections: 8})
		request := &messages.WorkRequested{Slave: "s", Boot: "b", Serial: 1, HostSlots: 8, PageSlots: 1000}
		slave.Tell(node.PID(), request)
		seed := reading.Seed{URL: weburl.MustParse("http://a.test/"), Depth: 5}
		if _, err := master.Ask[*master.SeedsAdded](t.Context(), node,
			&master.AddSeeds{Seeds: []reading.Seed{seed}}); err != nil {
			t.Fatal(err)
		}
		actortest.Pass(time.Second)
		batches := actortest.TakeOf[*messages.TaskBatch](slave)
		if len(batches) == 0 || len(batches[len(batches)-1].Tasks) != 1 {
			t.Fatalf("lent: %v", batches)
		}
		lease := batches[len(batches)-1].Tasks[0].Lease
		report := &messages.Report{Slave: "s", Boot: "b"}
		for seq := range uint64(60) { // 600 kB, which is more than the partition's file may have
			links := &messages.LinkSet{}
			for i := range 20 {
				links.Urls = append(links.Urls, fmt.Sprintf("http://a.test/%d/%d/%s", seq, i, strings.Repeat("x", 480)))
				links.Kinds, links.Flags, links.Anchors = append(links.Kinds, 1), append(links.Flags, 0),
					append(links.Anchors, "")
			}
			report.Facts = append(report.Facts, &messages.Fact{Lease: lease, Seq: seq + 1, Host: "http://a.test",
				Visited: &messages.PageVisited{
					Url: fmt.Sprintf("http://a.test/%d", seq), DepthLeft: 4, Status: 200, TookNs: 1e6, Links: links}})
		}
		repeat := func(times int) uint64 {
			for range times {
				slave.Tell(node.PID(), report)
				request.Serial++
				request.Held = []uint64{lease}
				slave.Tell(node.PID(), request)
				actortest.Pass(5 * time.Second)
				slave.Take()
			}
			runtime.GC()
			var m runtime.MemStats
			runtime.ReadMemStats(&m)
			return m.HeapAlloc
		}
		before := repeat(5)
		after := repeat(60)
		status, err := master.Ask[*master.Status](t.Context(), node, &master.StatusAsked{})
		if err != nil || status.Stalled.IsZero() {
			t.Fatalf("the partition can store: %+v, %v", status, err)
		}
		if after > before+4<<20 {
			t.Errorf("the heap grew from %d to %d kB while the same 600 kB were said 60 times", before>>10, after>>10)
		}
	})
}
