package master

import (
	"testing"

	"henro/actors/protocol"
	"henro/store"
)

// TestTheEndIsLookedForWhenTheLastLeaseCloses, also when there was nothing to lend, and not at the next tick.
func TestTheEndIsLookedForWhenTheLastLeaseCloses(t *testing.T) {
	for _, closed := range []any{&protocol.LendRefused{Lease: 2},
		&protocol.FactsCommitted{Facts: []*protocol.FactsStored{{Lease: 2, Closed: true}}}} {
		x, w := newExploring(t), &world{}
		w.master = newMaster(x.options(), &store.State{}, nil, make(chan Status, 1), nil, &seen{}, x.log)
		w.master.partitions = slavePIDs[:1] // what is sent there is kept
		x.receive(w, nil, &protocol.LeasesFound{Leases: []store.Lease{{ID: 1, HostName: "http://a.test"},
			{ID: 2, HostName: "http://b.test"}}})
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
