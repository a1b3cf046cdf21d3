package embedded_test

import (
	"context"
	"path/filepath"
	"testing"
	"testing/synctest"
	"time"

	"henro/cmd/embedded/crawltest"
	"henro/cmd/fakeweb"
	"henro/master"
	"henro/store"
)

// Tasks reach all there is, also in a second run, and no page is farther from the URL of its task than the depth.
func TestTasksReachAllThereIsAtTheirOwnDepth(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w, err := fakeweb.New(fakeweb.Options{Seed: 26, Hosts: 6, Domains: 3, Pages: 40, Degree: 3, CrossShare: 0.3})
		if err != nil {
			t.Fatal(err)
		}
		defer w.Close()
		dir := t.TempDir()
		var status master.Status
		for i, want := range []master.End{master.TimeLimit, master.Finished} {
			status = crawltest.Run(t, crawltest.Of(t, dir, w, 1, func(o *master.Options) {
				o.TaskURLs = 2
				if i == 0 {
					o.For = 40 * time.Second
				}
			}))
			if status.End != want || status.Tasks < 2 {
				t.Errorf("run %d ended with %q after %d tasks", i, status.End, status.Tasks)
			}
		}
		crawltest.Compare(t, crawltest.Visited(t, dir), crawltest.Reachable(t, w, -1))
		checkPace(t, w)
		o := store.DefaultOptions()
		o.Partitions, o.ReadOnly = 0, true
		state, err := store.OpenState(filepath.Join(dir, "state"), o)
		if err != nil {
			t.Fatal(err)
		}
		defer state.Close()
		for _, p := range state.Partitions {
			err := p.Pages.Each(func(page store.Page, _ store.Place) error {
				if page.Depth > 1 {
					t.Errorf("%s is %d links from the URL of its task", page.URL, page.Depth)
				}
				return nil
			})
			if err != nil {
				t.Fatal(err)
			}
		}
	})
}

// A connection gets one task, and the next when there is no host of a task left to ask.
func TestAConnectionGetsATaskOfSoManyURLs(t *testing.T) {
	const seeds, urls = 30, 3
	synctest.Test(t, func(t *testing.T) {
		w, err := fakeweb.New(fakeweb.Options{Seed: 27, Hosts: seeds, Domains: seeds, Pages: 2, CrossShare: 0.3,
			Latency: fakeweb.Latency{Mean: 3 * time.Second}})
		if err != nil {
			t.Fatal(err)
		}
		defer w.Close()
		e := crawltest.Of(t, t.TempDir(), w, 0, func(o *master.Options) {
			o.TaskURLs, o.Hosts.Admission.Requisites = urls, 0
		})
		e.Work.Connections = 1
		most := uint64(0)
		status, err := e.Run(t.Context(), func(ctx context.Context, node *master.Node) error {
			for ctx.Err() == nil {
				now := crawltest.Ask(t, ctx, node, &master.StatusAsked{})
				most = max(most, now.Waiting)
				select {
				case <-ctx.Done():
				case <-time.After(time.Second):
				}
			}
			return nil
		})
		if err != nil {
			t.Fatal(err)
		}
		if status.Tasks < seeds/urls || status.Totals.Pages < seeds {
			t.Errorf("%d tasks, %d pages", status.Tasks, status.Totals.Pages)
		}
		if most != urls {
			t.Errorf("%d URLs waited at once, a task has %d", most, urls)
		}
	})
}

// No connection waits for a host that rests after a failure: it gets the next task.
func TestNoConnectionWaitsForAHostThatRests(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w, err := fakeweb.New(fakeweb.Options{Seed: 28, Hosts: 12, Domains: 12, Pages: 2,
			Faults: fakeweb.Faults{Dead: 0.5}})
		if err != nil {
			t.Fatal(err)
		}
		defer w.Close()
		e := crawltest.Of(t, t.TempDir(), w, 0, func(o *master.Options) {
			o.TaskURLs, o.For = 1, time.Minute
			o.Hosts.Politeness.BackoffBase, o.Hosts.RetryWait = 5*time.Minute, 5*time.Minute
		})
		e.Work.Connections = 1
		if status := crawltest.Run(t, e); status.Tasks < 12 {
			t.Errorf("%d tasks in a minute, of 12 hosts", status.Tasks)
		}
	})
}
