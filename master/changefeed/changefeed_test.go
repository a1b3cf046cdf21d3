package changefeed

import (
	"os"
	"path/filepath"
	"testing"

	"henro/store/journal"
	"henro/store/report/changes"
)

// Who follows gets each change once, in order, over a rotation too, and from where it was left.
func TestChangesAreFollowed(t *testing.T) {
	dir := t.TempDir()
	add := func(ids ...string) {
		var all []changes.Change
		for _, id := range ids {
			all = append(all, changes.Change{ID: id})
		}
		if err := changes.Append(dir, all); err != nil {
			t.Fatal(err)
		}
	}
	follow := func(since string, looks int, come func(look int)) (got string) {
		look := 0
		visit := func(c *changes.Change) error { got += c.ID; return nil }
		if err := Follow(t.Context(), dir, since, visit, func() error {
			if look++; look > looks {
				return os.ErrClosed
			}
			come(look)
			return nil
		}); err != nil {
			t.Fatal(err)
		}
		return got
	}
	come := func(look int) {
		switch look {
		case 1:
			add("a", "b")
		case 2:
			older := filepath.Join(dir, journal.OlderName(changes.LinesName, 1))
			if err := os.Rename(filepath.Join(dir, changes.LinesName), older); err != nil {
				t.Fatal(err)
			}
			add("c")
		}
	}
	if got := follow("", 3, come); got != "abc" {
		t.Errorf("from the beginning: %q", got)
	}
	nothing := func(int) {}
	for since, want := range map[string]string{"": "", "a": "bc", "c": "", "unknown": "abc"} {
		if got := follow(since, 1, nothing); got != want {
			t.Errorf("since %q: %q, want %q", since, got, want)
		}
	}
}
