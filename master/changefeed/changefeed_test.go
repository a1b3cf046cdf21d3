package changefeed

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/asynkron/protoactor-go/actor"

	"henro/master/lending"
	"henro/messages"
	"henro/store/journal"
	"henro/store/report/changes"
)

// add writes down changes of a source, by numbers.
func add(t *testing.T, dir string, numbers ...int) {
	t.Helper()
	var all []changes.Change
	for _, n := range numbers {
		all = append(all, changes.Change{ID: idOf(n), Letters: n})
	}
	if err := changes.Append(dir, all); err != nil {
		t.Fatal(err)
	}
}

func idOf(n int) string { return changes.IDOf(fmt.Sprint("https://a.test/", n), time.Unix(0, 0), "") }

// reader gets lines of a stream, and is gone after so many.
type reader struct {
	most   int
	end    context.CancelFunc
	got    []int
	cursor string
}

var errGone = errors.New("the reader is gone")

func (r *reader) take(c *changes.Change) error {
	if r.most--; r.most < 0 {
		r.end()
		return errGone
	}
	if r.got, r.cursor = append(r.got, c.Letters), c.Cursor; c.Cursor == "" {
		r.cursor = c.ID
	}
	return nil
}

// read reads a stream with a cursor, until it ends, for a while or for so many changes.
func (r *reader) read(t *testing.T, s *stream, since string, long time.Duration) {
	ctx, end := context.WithTimeout(t.Context(), long)
	defer end()
	r.end = end
	s.system = actor.NewActorSystem()
	defer s.system.Shutdown()
	s.cursor, s.answers, s.asking, s.take = parseCursor(since), make(chan answer), map[string]bool{}, r.take
	s.flush = func(string) error { return nil }
	if s.slaves == nil {
		s.slaves = func(context.Context) ([]lending.SlaveStatus, error) { return nil, nil }
	}
	s.run(ctx)
}

// Who follows one directory gets each change once, in order, over a rotation too, and from where it was left.
func TestChangesAreFollowed(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		dir := t.TempDir()
		r := &reader{most: 100}
		go func() {
			time.Sleep(time.Second)
			add(t, dir, 1, 2)
			time.Sleep(time.Second)
			older := filepath.Join(dir, journal.OlderName(changes.LinesName, 1))
			if err := os.Rename(filepath.Join(dir, changes.LinesName), older); err != nil {
				t.Error(err)
			}
			add(t, dir, 3)
		}()
		r.read(t, &stream{own: &book{dir: dir}, follow: true}, "", 3*time.Second)
		if fmt.Sprint(r.got) != "[1 2 3]" {
			t.Errorf("as they came: %v", r.got)
		}
		for since, want := range map[string]string{"": "[1 2 3]", idOf(1): "[2 3]", idOf(3): "[]", idOf(9): "[1 2 3]"} {
			r = &reader{most: 100}
			r.read(t, &stream{own: &book{dir: dir}, fresh: earliest}, since, time.Minute)
			if fmt.Sprint(r.got) != want {
				t.Errorf("since %q: %v, want %s", since, r.got, want)
			}
		}
	})
}

// A reader that goes from one master to another with its cursor gets each change of each slave once, whichever slave is
// away meanwhile.
func TestACursorIsKnownByEveryMaster(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		random := rand.New(rand.NewPCG(1, 2))
		books, away := map[string]*book{}, map[string]bool{}
		var mu sync.Mutex // of the books and away: who asked last may still read when the next stream begins
		var there []lending.SlaveStatus
		for _, name := range []string{"a", "b, or c", "d"} {
			books["at "+name] = &book{dir: t.TempDir()}
			there = append(there, lending.SlaveStatus{Name: name, Address: "at " + name})
		}
		names := slices.Sorted(maps.Keys(books))
		r, told, empty := &reader{}, 0, t.TempDir()
		cursor := "all"
		for round := range 300 {
			mu.Lock()
			for _, name := range names {
				away[name] = random.IntN(3) == 0 && round < 299
				for range random.IntN(4) {
					told++
					add(t, books[name].dir, told)
				}
			}
			mu.Unlock()
			r.most = random.IntN(6)
			if round == 299 {
				r.most = told
			}
			r.read(t, &stream{own: &book{dir: empty}, follow: true, fresh: earliest,
				slaves: func(context.Context) ([]lending.SlaveStatus, error) { return there, nil },
				slave: func(address, since string) *messages.ChangesTold {
					mu.Lock()
					defer mu.Unlock()
					if away[address] {
						return nil
					}
					return books[address].told(since)
				}}, cursor, 4*time.Second)
			if r.cursor != "" {
				cursor = r.cursor
			}
		}
		slices.Sort(r.got)
		for i, n := range r.got {
			if n != i+1 {
				t.Fatalf("change %d is told, want %d", n, i+1)
			}
		}
		if len(r.got) != told {
			t.Errorf("%d of %d changes are told", len(r.got), told)
		}
	})
}

// What a slave tells at once fits into a message, however much it is, and who asks on gets it all.
func TestWhatIsToldAtOnceIsBounded(t *testing.T) {
	dir, long := t.TempDir(), strings.Repeat("\x01", changes.MaxDiff)
	for n := range 3 {
		c := changes.Change{ID: idOf(n), Letters: n, Diff: long, Title: strings.Repeat("<", 30_000)}
		if err := changes.Append(filepath.Join(dir, changes.Folder), []changes.Change{c}); err != nil {
			t.Fatal(err)
		}
	}
	for n := range 250 {
		add(t, filepath.Join(dir, changes.Folder), n+3)
	}
	system := actor.NewActorSystem()
	defer system.Shutdown()
	if err := Start(system, dir, nil); err != nil {
		t.Fatal(err)
	}
	place, got := earliest, 0
	for more := true; more; {
		said, err := system.Root.RequestFuture(actor.NewPID(system.Address(), actorName),
			&messages.ChangesAsked{Since: place}, time.Minute).Result()
		if err != nil {
			t.Fatal(err)
		}
		told := said.(*messages.ChangesTold)
		if size := len(bytes.Join(told.Changes, nil)); size > 128<<10 {
			t.Fatalf("%d bytes at once", size)
		}
		for _, line := range told.Changes {
			var c changes.Change
			if err := json.Unmarshal(line, &c); err != nil || c.ID != idOf(got) || (got < 3) != c.Cut {
				t.Errorf("change %d: %v, %v, cut %v", got, err, c.ID, c.Cut)
			}
			got++
		}
		place, more = told.Last, told.More
	}
	if got != 253 || place != placeOf(idOf(252)) {
		t.Errorf("%d changes, the last %s", got, place)
	}
}

// What is no cursor is read as the beginning of all.
func FuzzCursors(f *testing.F) {
	for _, text := range []string{"", "all", "a:0123,b%2C:-", idOf(1), ":0,x:1", "a:b:c"} {
		f.Add(text)
	}
	f.Fuzz(func(t *testing.T, text string) {
		c := parseCursor(text)
		if again := c.String(); again != "" && !maps.Equal(c, parseCursor(again)) {
			t.Errorf("%q: %v becomes %q", text, c, again)
		}
	})
}
