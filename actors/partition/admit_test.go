package partition

import (
	"testing"
	"time"

	"henro/store"
)

// A URL that many pages link to is in a batch once, and again only if more links may be followed from it. Batches are
// stored in order, so a URL that is in an earlier batch need not be in this one.
func TestWhatIsInABatchIsAdmittedOnce(t *testing.T) {
	p := &Partition{}
	p.group.Next = newTurn(time.Now())
	p.intake = intake{steering: &p.steering, group: &p.group, outbox: newOutbox(p.state.PartitionOf, false)}
	admit := func(url string, left, requisite uint8) {
		p.intake.admit(&store.Candidate{URL: url, Host: "http://a", DepthLeft: left, Requisite: requisite}, false)
	}
	for _, step := range []struct {
		sentence        string
		url             string
		left, requisite uint8
		orders          int
	}{
		{"a page", "http://a/1", 3, 0, 1},
		{"the same", "http://a/1", 3, 0, 1},
		{"with fewer links left", "http://a/1", 2, 0, 1},
		{"as a requisite", "http://a/1", 0, 1, 1},
		{"with more links left", "http://a/1", 4, 0, 2},
		{"another", "http://a/2", 4, 0, 3},
		{"a requisite", "http://a/3", 0, 1, 4},
		{"now a page", "http://a/3", 0, 0, 5},
		{"a requisite again", "http://a/3", 0, 1, 5},
	} {
		if admit(step.url, step.left, step.requisite); p.group.Next.Len() != step.orders {
			t.Fatalf("%s: %d orders, want %d", step.sentence, p.group.Next.Len(), step.orders)
		}
	}
	p.group.Next = newTurn(time.Now())
	if admit("http://a/2", 4, 0); !p.group.Next.Empty() {
		t.Error("what the batch before has is in this one too")
	}
	p.intake.outbox.again = true
	if admit("http://a/2", 4, 0); p.group.Next.Empty() {
		t.Error("a better link to what waits would not be seen")
	}
}
