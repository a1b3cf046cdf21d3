package embedded_test

import (
	"context"
	"fmt"
	"maps"
	"net/http"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/asynkron/protoactor-go/actor"

	"henro/actors/floor"
	"henro/actors/scope"
	"henro/cmd/embedded/crawltest"
	"henro/master"
	"henro/messages"
	"henro/slave"
)

// granted is a host as it was lent.
type granted struct {
	host, slave string
	at          time.Time
}

// grants are what all witnesses note.
type grants struct {
	sync.Mutex
	made []granted
}

// witness carries the messages of one slave, notes what that is lent, and carries nothing any more once it is cut.
type witness struct {
	master, slave *actor.PID
	name          string
	all           *grants
	cutAt         time.Time // zero: never
}

func (w *witness) Receive(ctx actor.Context) {
	if !w.cutAt.IsZero() && time.Now().After(w.cutAt) {
		return
	}
	root, self := ctx.ActorSystem().Root, ctx.Self()
	switch m := ctx.Message().(type) {
	case actor.SystemMessage, actor.AutoReceiveMessage, *actor.DeadLetterResponse:
	case *messages.SlaveRegistered, *messages.WorkRequested, *messages.TaskRefused, *messages.Report:
		root.RequestWithCustomSender(w.master, m, self)
	case *messages.TaskBatch:
		for _, task := range m.Tasks {
			w.all.Lock()
			w.all.made = append(w.all.made, granted{task.Host, w.name, time.Now()})
			w.all.Unlock()
		}
		root.RequestWithCustomSender(w.slave, m, self)
	default:
		root.RequestWithCustomSender(w.slave, m, self)
	}
}

// islands is a web of islands of five hosts: the first host leads to the others, which lead to each other, and to no
// other island.
func islands(w http.ResponseWriter, r *http.Request) {
	time.Sleep(2 * time.Second)
	w.Header().Set("Content-Type", "text/html")
	island, _, _ := strings.Cut(r.Host, "-")
	for host := range 5 {
		for page := range 3 {
			fmt.Fprintf(w, "<a href=http://%s-%d.example/%d>", island, host, page)
		}
	}
}

// lendIslands crawls the islands with three slaves, each of which gets a task that begins on one of them and is lent
// whole, and gives what was lent. After so long the messages of the first slave are lost.
func lendIslands(t *testing.T, cutAfter time.Duration) (all []granted, begun time.Time, pages uint64) {
	const islandsCount = 8
	var noted grants
	synctest.Test(t, func(t *testing.T) {
		begun = time.Now()
		var seeds []string
		for i := range islandsCount {
			seeds = append(seeds, fmt.Sprintf("http://i%d-0.example/", i))
		}
		e := crawltest.At(t, t.TempDir(), http.HandlerFunc(islands), func(o *master.Options) {
			o.TaskURLs, o.Whole, o.Depth, o.Name, o.Boot = 1, true, 3, "m", "1"
			o.Scope.Mode = scope.Any
		}, seeds...)
		e.Work.Connections = 1
		system := floor.NewSystem("henro", e.Log, floor.SystemOptions{})
		node, err := master.Start(system, e.Options, e.Log)
		if err != nil {
			t.Fatal(err)
		}
		var pids []*actor.PID
		for i := range 3 {
			o, err := e.Work.Options(t.TempDir(), nil)
			if err != nil {
				t.Fatal(err)
			}
			o.Name, o.Boot, o.Dial = fmt.Sprint("s", i), "1", e.Dial
			props, err := slave.Props(o, e.Log)
			if err != nil {
				t.Fatal(err)
			}
			w := &witness{master: node.PID(), slave: system.Root.Spawn(props), name: o.Name, all: &noted}
			if i == 0 && cutAfter > 0 {
				w.cutAt = begun.Add(cutAfter)
			}
			to := system.Root.Spawn(actor.PropsFromProducer(func() actor.Actor { return w }))
			system.Root.Send(w.slave, &slave.MasterSeen{PID: to, Claim: node.Claim()})
			pids = append(pids, w.slave, to)
		}
		ctx, cancel := context.WithTimeout(t.Context(), time.Hour)
		defer cancel()
		status, err := node.Run(ctx, ctx, e.Seeds)
		if err != nil || status.End != master.Finished {
			t.Errorf("ended with %q: %v", status.End, err)
		}
		pages = status.Totals.Pages
		for _, pid := range pids {
			if err := system.Root.PoisonFuture(pid).Wait(); err != nil {
				t.Error(err)
			}
		}
		if err := node.Close(); err != nil {
			t.Error(err)
		}
		time.Sleep(2 * time.Minute)
	})
	if want := uint64(islandsCount * (5*3 + 1)); pages != want {
		t.Errorf("%d pages, want %d", pages, want)
	}
	return noted.made, begun, pages
}

// holders are the slaves that were lent hosts of each island.
func holders(all []granted) map[string]map[string]bool {
	of := map[string]map[string]bool{}
	for _, g := range all {
		island, _, _ := strings.Cut(g.host, "-")
		if of[island] == nil {
			of[island] = map[string]bool{}
		}
		of[island][g.slave] = true
	}
	return of
}

// A task that is lent whole goes to one slave, with every host that it leads to, and each slave has some.
func TestATaskThatIsLentWholeGoesToOneSlave(t *testing.T) {
	all, _, _ := lendIslands(t, 0)
	used := map[string]bool{}
	for island, slaves := range holders(all) {
		if len(slaves) > 1 {
			t.Errorf("hosts of %s were lent to %v", island, slices.Sorted(maps.Keys(slaves)))
		}
		maps.Copy(used, slaves)
	}
	if len(used) != 3 {
		t.Errorf("tasks went to %v", used)
	}
}

// A slave that is gone in the middle of a task is lent nothing more, and what is left of the task goes to one other.
func TestTheTaskOfASlaveThatIsGoneMovesToOneOther(t *testing.T) {
	const cutAfter = 30 * time.Second
	all, begun, _ := lendIslands(t, cutAfter)
	gone := begun.Add(cutAfter + 4*time.Second)
	i := slices.IndexFunc(all, func(g granted) bool { return g.at.After(gone) })
	before, after := holders(all[:i]), holders(all[i:])
	moved := 0
	for island, slaves := range after {
		if len(slaves) > 1 || slaves["s0"] {
			t.Errorf("hosts of %s were lent to %v", island, slices.Sorted(maps.Keys(slaves)))
		}
		if before[island]["s0"] {
			moved++
		}
	}
	if moved == 0 {
		t.Error("no task was in the hands of the slave that is gone")
	}
}
