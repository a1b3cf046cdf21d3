package master

import (
	"strconv"
	"testing"

	"henro/actors/protocol"
	"henro/master/ledger"
	"henro/store"
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

// TestTheEndIsLookedForWhenTheLastLeaseCloses, also when there was nothing to lend, and not at the next tick.
func TestTheEndIsLookedForWhenTheLastLeaseCloses(t *testing.T) {
	for _, closed := range []any{&protocol.LendRefused{Lease: 2},
		&protocol.FactsCommitted{Facts: []*protocol.FactsStored{{Lease: 2, Closed: true}}}} {
		x, w := newExploring(t), &world{}
		w.master = newMaster(x.options(), &store.State{}, nil, x.rules, make(chan Status, 1), nil, &seenResources{},
			x.log)
		w.master.partitions = slavePIDs[:1] // what is sent there is kept
		for id := range uint64(2) {
			w.master.ledger = w.master.ledger.Updated(ledger.LeaseGranted{Lease: ledger.Lease{ID: id + 1,
				Host: "http://" + strconv.FormatUint(id, 10) + ".test"}})
		}
		x.receive(w, nil, &protocol.LendRefused{Lease: 1})
		if len(w.net) > 0 {
			t.Errorf("%T: a partition is asked while a lease is open", closed)
		}
		x.receive(w, nil, closed)
		if len(w.net) != 1 {
			t.Errorf("%T: %d messages to the partition, want one question", closed, len(w.net))
		} else if _, ok := w.net[0].message.(*protocol.QuietAsked); !ok {
			t.Errorf("%T: the partition is sent %T", closed, w.net[0].message)
		}
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
