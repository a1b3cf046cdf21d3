package master

import (
	"testing"

	"henro/actors/protocol"
	"henro/master/ledger"
)

// One quiet round proves nothing: what was on its way between two partitions may have been counted by neither.
func TestTheEndIsProvenByTwoQuietRoundsWithoutACommitBetween(t *testing.T) {
	var r rounds
	for i, step := range []struct {
		sentence string
		commits  uint64
		quiet    bool
		proven   bool
		again    bool
	}{
		{"something is left", 1, false, false, false},
		{"a first quiet round", 1, true, false, true},
		{"a second, but something was committed", 2, true, false, true},
		{"something is left again", 2, false, false, false},
		{"a first one", 2, true, false, true},
		{"a second, and nothing was committed", 2, true, true, false},
	} {
		r.answers = map[int]*protocol.QuietReported{}
		r.number = uint64(i)
		r.take(&protocol.QuietReported{Partition: 0, Round: r.number, Commits: 7}, 2)
		if _, complete := r.take(&protocol.QuietReported{Partition: 1, Round: r.number, Commits: step.commits},
			2); !complete {
			t.Fatalf("%s: the round is not complete", step.sentence)
		}
		if proven, again := r.prove(step.quiet); proven != step.proven || again != step.again {
			t.Errorf("%s: proven %v, again %v", step.sentence, proven, again)
		}
	}
	if _, complete := r.take(&protocol.QuietReported{Round: r.number - 1}, 1); complete {
		t.Error("an answer to an earlier round completes one")
	}
}

func TestWhatOpenLeasesMayVisitCountsAgainstTheLimit(t *testing.T) {
	o := DefaultOptions()
	o.MaxPages, o.Hosts.PageBudget = 10, 5
	var book ledger.Ledger
	c := course{visits: 2}
	for _, want := range []int{5, 3, protocol.NoPages} {
		pages, ok := c.pageLimit(&o, book)
		if pages != want || ok != (want > 0) {
			t.Errorf("the next lease may visit %d pages (%v), want %d", pages, ok, want)
		}
		id := uint64(book.OpenCount() + 1)
		book = book.Updated(ledger.LeaseGranted{Lease: ledger.Lease{ID: id, Host: string(rune('a' + id)),
			Budget: uint64(max(pages, 0))}})
	}
}
