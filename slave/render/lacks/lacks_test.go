package lacks

import (
	"fmt"
	"testing"
)

// A page is shown again once something has come of what it lacked.
func TestAPageLacksUntilSomethingComes(t *testing.T) {
	var b Book
	come := map[string]bool{}
	has := func(url string) bool { return come[url] }
	if b.Still(1, has) {
		t.Error("a page that was never shown lacks something")
	}
	b.Note(1, []string{"one", "two"})
	if !b.Still(1, has) || b.Still(2, has) {
		t.Error("nothing has come, and it would be shown")
	}
	come["two"] = true
	if b.Still(1, has) {
		t.Error("something has come, and it is not shown")
	}
	b.Note(1, nil)
	if len(b.pages) > 0 {
		t.Error("a page that lacks nothing is remembered")
	}
}

// A page that shows more of itself part by part goes on, and one that lacks the same again does not, nor one without
// end.
func TestAPageIsStuck(t *testing.T) {
	var b Book
	if b.Note(1, []string{"one"}) || b.Note(1, []string{"two"}) {
		t.Error("stuck, though each time it lacks something new")
	}
	if !b.Note(1, []string{"three", "one"}) {
		t.Error("it lacks what it lacked before the last time, and goes on")
	}
	for i := range maxEver {
		if b.Note(2, []string{fmt.Sprint(i)}) {
			t.Fatalf("stuck after %d", i)
		}
	}
	if !b.Note(2, []string{"one more"}) {
		t.Error("a page without end goes on")
	}
	for page := range uint64(2 * maxPages) {
		b.Note(page, []string{"x"})
	}
	if len(b.pages) > maxPages {
		t.Errorf("%d pages are remembered", len(b.pages))
	}
}
