package lacks

import (
	"fmt"
	"slices"
	"testing"
)

// always is a page that asks each time for what it asked for before.
func always(string) bool { return true }

func TestWhatAPageLacksIsWhatItLackedLast(t *testing.T) {
	var b Book
	if len(b.Now(1)) > 0 {
		t.Error("a page that was never shown lacks something")
	}
	b.Note(1, []string{"one", "two"}, always)
	b.Note(1, []string{"three"}, always)
	if !slices.Equal(b.Now(1), []string{"three"}) || len(b.Now(2)) > 0 {
		t.Errorf("it lacks %v, another %v", b.Now(1), b.Now(2))
	}
	b.Note(1, nil, always)
	if len(b.pages) > 0 {
		t.Error("a page that lacks nothing is remembered")
	}
}

// A page that shows more of itself part by part goes on, and one that lacks the same again does not, nor one without
// end.
func TestAPageIsStuck(t *testing.T) {
	var b Book
	if b.Note(1, []string{"one"}, always) || b.Note(1, []string{"two"}, always) {
		t.Error("stuck, though each time it lacks something new")
	}
	if !b.Note(1, []string{"three", "one"}, always) {
		t.Error("it lacks what it lacked before the last time, and goes on")
	}
	for i := range maxEver {
		if b.Note(2, []string{fmt.Sprint(i)}, always) {
			t.Fatalf("stuck after %d", i)
		}
	}
	if !b.Note(2, []string{"one more"}, always) {
		t.Error("a page without end goes on")
	}
	b.Note(3, []string{"by lot", "as ever"}, always)
	if b.Note(3, []string{"the next"}, func(url string) bool { return url == "as ever" }) {
		t.Error("stuck, though it asks again for some of what it lacked")
	}
	if !b.Note(3, []string{"another by lot"}, func(string) bool { return false }) {
		t.Error("a page goes on that asks each time for something else")
	}
	for page := range uint64(2 * maxPages) {
		b.Note(page, []string{"x"}, always)
	}
	if len(b.pages) > maxPages {
		t.Errorf("%d pages are remembered", len(b.pages))
	}
}

// A page whose list goes on part by part waits as if each part were the first, for as long as there is more.
func TestAPageThatGoesOnWaitsInVainForNothing(t *testing.T) {
	var b Book
	for attempt := range uint16(20) {
		b.Note(1, []string{fmt.Sprint(attempt)}, always)
		if b.Went(1, attempt); b.Vain(1, attempt) != 0 || b.Vain(1, attempt+3) != 3 {
			t.Fatalf("attempt %d: in vain %d, %d", attempt, b.Vain(1, attempt), b.Vain(1, attempt+3))
		}
	}
	if b.Note(1, []string{"3"}, always); b.Vain(1, 20) != 1 || b.Vain(2, 20) != 20 || b.Vain(1, 5) != 0 {
		t.Errorf("in vain %d, another page %d, one that begins anew %d", b.Vain(1, 20), b.Vain(2, 20), b.Vain(1, 5))
	}
	b.Note(1, nil, always)
	if b.Went(1, 21); len(b.pages) > 0 {
		t.Error("a page that lacks nothing is remembered")
	}
}
