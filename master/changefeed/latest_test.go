package changefeed

import (
	"context"
	"path/filepath"
	"sync"
	"testing"
	"testing/synctest"

	"github.com/asynkron/protoactor-go/actor"

	"henro/master/lending"
	"henro/messages"
	"henro/store/report/changes"
)

// A page shows the latest of the crawl and of all its slaves, and a slave that is silent is asked by the next call.
func TestTheLatestOfAllSlavesAreShown(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		dir := t.TempDir()
		own, other := filepath.Join(dir, changes.Folder), t.TempDir()
		system := actor.NewActorSystem()
		defer system.Shutdown()
		l := NewLatest(dir, system, func(context.Context) ([]lending.SlaveStatus, error) {
			return []lending.SlaveStatus{{Name: "bee", Address: "bee:1"}}, nil
		})
		b, silent := &book{dir: other}, true
		var one sync.Mutex // as a slave's actor, which is asked again while an answer that nobody waits for is made
		l.stream.slave = func(address, since string) *messages.ChangesTold {
			one.Lock()
			defer one.Unlock()
			if silent || address != "bee:1" {
				return nil
			}
			return b.told(since)
		}
		add(t, own, 1)
		add(t, other, 2)
		want := func(count int) {
			t.Helper()
			ids := map[string]bool{}
			for _, c := range l.Get(t.Context()) {
				ids[c.ID] = true
			}
			if len(ids) != count {
				t.Errorf("%d changes, want %d", len(ids), count)
			}
		}
		want(1)
		want(1)
		silent = false
		want(2)
		add(t, own, 3)
		want(3)
		add(t, other, 4, 5)
		want(5)
		for most, count := range map[int]int{100: 5, 2: 2} {
			read := 0
			l.Each(t.Context(), func(*changes.Change) bool { read++; return read < most })
			if read != count {
				t.Errorf("%d changes were handed over of at most %d, want %d", read, most, count)
			}
		}
	})
}
