package changefeed

import (
	"context"
	"fmt"
	"path/filepath"
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
		l.stream.slave = func(address, since string) *messages.ChangesTold {
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

func TestRowsOfADifference(t *testing.T) {
	const diff = "--- a\n+++ b\n@@ -1,3 +1,4 @@\n kept\n-Salt costs 1 € today\n-gone\n+Salt costs 2 € today\n" +
		" other\n+new\n@@ -9 +9 @@\n-x\n+y z\n+"
	got := ""
	for _, r := range Rows(diff) {
		got += fmt.Sprintf("%q\n", []string{r.Went.Begin, r.Went.Middle, r.Went.End, r.Came.Begin, r.Came.Middle,
			r.Came.End})
	}
	if want := `["Salt costs " "1" " € today" "Salt costs " "2" " € today"]
["" "gone" "" "" "" ""]
["" "" "" "" "new" ""]
["" "x" "" "" "y z" ""]
`; got != want {
		t.Errorf("%s\nwant\n%s", got, want)
	}
}

func FuzzRows(f *testing.F) {
	f.Add("a b", "a c")
	f.Add("é", "è \xff")
	f.Fuzz(func(t *testing.T, went, came string) {
		for _, l := range []struct {
			text string
			line Line
		}{{went, beside(went, came).Went}, {came, beside(went, came).Came}} {
			if l.line.Begin+l.line.Middle+l.line.End != l.text {
				t.Errorf("%q becomes %q", l.text, l.line)
			}
		}
		Rows(went + "\n" + came)
	})
}
