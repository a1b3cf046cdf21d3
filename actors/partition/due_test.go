package partition_test

import (
	"errors"
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

// alone has a partition with a state of its own, whose Hosts and Master the test plays. end ends it.
func alone(t *testing.T, o partition.Options) (around *actortest.Probe, pid *actor.PID, end func()) {
	t.Helper()
	state, system := openState(t, 1), actortest.System(t)
	around = actortest.NewProbe(t, system, "around")
	pid = around.Spawn(t, partition.Props(o, partition.Steering{}, state, 0, around.PID, around.PID,
		actortest.Log()), "partition")
	return around, pid, func() {
		if err := errors.Join(system.Root.PoisonFuture(pid).Wait(), state.Close()); err != nil {
			t.Error(err)
		}
	}
}

// Eight times as many pages fall due as may stand in line: the lines keep their bound, what is beyond waits in the time
// queue, and as room appears every page comes to its host, once.
func TestDuePagesBeyondTheBoundComeAsRoomAppears(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		const hosts, pages, ahead, batch = 5, 1600, 1000, 1000 // batch: what is read at once
		options := partition.DefaultOptions()
		options.DueAhead = ahead
		around, partition, end := alone(t, options)
		defer end()

		begun := time.Now()
		for h := range hosts {
			write := &protocol.Write{Host: &store.HostRecord{ID: store.IDOf(hostNumber(h)), Name: hostNumber(h)},
				Urgent: true}
			for n := range pages {
				page := store.Page{
					URL: fmt.Sprintf("%s/%d", hostNumber(h), n), Number: uint64(h*pages + n), Status: 200,
					LastVisit: begun,
					Next:      begun.Add(time.Hour + time.Duration(n)*time.Second),
					Timing:    store.Timing{Interval: 3600},
				}
				write.Visits = append(write.Visits, store.Visited{Page: page})
			}
			around.Tell(partition, write)
		}
		around.Tell(partition, &protocol.WaitingHostsAsked{})
		actortest.Pass(3 * time.Hour)

		line := func() int {
			around.Take()
			around.Tell(partition, &protocol.QuietAsked{})
			reports := actortest.TakeOf[*protocol.QuietReported](around)
			if len(reports) != 1 {
				t.Fatalf("%d reports", len(reports))
			}
			if reports[0].Due > ahead+batch {
				t.Fatalf("%d pages stand in line, the bound is %d and a batch", reports[0].Due, ahead)
			}
			return reports[0].Due
		}
		if n := line(); n < ahead {
			t.Errorf("%d pages of %d that are due stand in line", n, hosts*pages)
		}
		seen := map[string]int{}
		for came := true; came && len(seen) <= hosts*pages; {
			came = false
			for h := range hosts {
				around.Take()
				around.Tell(partition, &protocol.PagesAsked{Host: hostNumber(h), Limit: 1, Due: 100})
				loaded := actortest.TakeOf[*protocol.PagesLoaded](around)
				if len(loaded) != 1 {
					t.Fatalf("%d answers", len(loaded))
				}
				write := &protocol.Write{Urgent: true}
				for _, entry := range loaded[0].Due {
					seen[entry.Page.URL]++
					came = true
					entry.Page.LastVisit, entry.Page.Next = time.Now(), time.Now().Add(30*24*time.Hour)
					write.Visits = append(write.Visits, store.Visited{Page: entry.Page, Position: entry.Position})
				}
				around.Tell(partition, write)
			}
			line()
			actortest.Pass(time.Minute)
		}
		for url, n := range seen {
			if n != 1 {
				t.Errorf("%s came %d times", url, n)
			}
		}
		if n := line(); len(seen) != hosts*pages || n != 0 {
			t.Errorf("%d of %d pages came, %d still stand in line", len(seen), hosts*pages, n)
		}
	})
}

func hostNumber(n int) string { return fmt.Sprintf("http://host%d.test", n) }

// A page is in its host's line at the second in which it is due, whatever the minute, and one that somebody asks for is
// there at once.
func TestAPageIsInLineAtItsSecond(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		around, partition, end := alone(t, partition.DefaultOptions())
		defer end()
		around.Tell(partition, &protocol.WaitingHostsAsked{})
		begun := time.Now()
		page := func(n int, due time.Duration) store.Page {
			return store.Page{URL: hostNumber(n) + "/", Number: uint64(n + 1), Status: 200, LastVisit: begun,
				Next: begun.Add(due), Timing: store.Timing{Interval: float32(due.Seconds())}}
		}
		write := &protocol.Write{Urgent: true}
		dues := []time.Duration{61 * time.Second, 97 * time.Second, 10*time.Minute + 11*time.Second, 90 * time.Minute}
		for n, due := range append(dues, 50*24*time.Hour) {
			write.Visits = append(write.Visits, store.Visited{Page: page(n, due)})
		}
		around.Tell(partition, write)
		came := map[string]time.Duration{}
		look := func() {
			for _, m := range actortest.TakeOf[*protocol.HostDue](around) {
				came[m.Host] = time.Since(begun)
			}
		}
		for range 2 * 3600 {
			look()
			actortest.Pass(time.Second)
		}
		for n, due := range dues {
			if at := came[hostNumber(n)]; at < due || at > due+time.Second {
				t.Errorf("due after %v, in line after %v", due, at)
			}
		}
		asked := time.Since(begun)
		around.Tell(partition, &protocol.PlantSeeds{
			Candidates: []store.Candidate{{URL: hostNumber(len(dues)) + "/", Host: hostNumber(len(dues))}}})
		actortest.Pass(6 * time.Second) // what is written waits for others up to five
		look()
		if at := came[hostNumber(len(dues))]; at < asked || at > asked+6*time.Second {
			t.Errorf("asked for after %v, in line after %v", asked, at)
		}
	})
}

// What a round waits for alone comes at its second, whatever lies in the slots before, and however often it is tried
// again; so the round does not take minutes.
func TestARoundDoesNotWaitForSlots(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		options := partition.DefaultOptions()
		options.Rounds = true
		around, partition, end := alone(t, options)
		defer end()
		around.Tell(partition, &protocol.WaitingHostsAsked{})
		begun := time.Now()
		page := store.Page{URL: hostNumber(1) + "/", Number: 1, Status: 200, LastVisit: begun.Add(-time.Hour),
			Next: begun.Add(100 * 24 * time.Hour)}
		around.Tell(partition, &protocol.Write{Urgent: true, Visits: []store.Visited{{Page: page}}})
		around.Tell(partition, &protocol.RoundBegun{At: begun})
		for tried := range 10 {
			actortest.Pass(4 * time.Second)
			around.Take()
			around.Tell(partition, &protocol.PagesAsked{Host: hostNumber(1), Limit: 1, Due: 100})
			loaded := actortest.TakeOf[*protocol.PagesLoaded](around)
			if len(loaded) != 1 || len(loaded[0].Due) != 1 {
				t.Fatalf("tried %d times: %d answers, %+v", tried, len(loaded), loaded)
			}
			again := loaded[0].Due[0]
			again.Page.Next = time.Now().Add(2 * time.Second)
			around.Tell(partition, &protocol.Write{Urgent: true, Visits: []store.Visited{{Page: again.Page,
				Position: again.Position, Retry: true}}})
			actortest.Pass(time.Second)
			around.Tell(partition, &protocol.PagesAsked{Host: hostNumber(1), Limit: 1, Due: 100})
		}
	})
}
