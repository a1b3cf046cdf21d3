package master

import (
	"io"
	"math/rand/v2"
	"testing"
	"time"

	"github.com/sirupsen/logrus"

	"henro/master/ledger"
)

func TestReadyHostsComeInTheOrderOfTheirMoments(t *testing.T) {
	const seed = 3
	rnd := rand.New(rand.NewPCG(seed, seed))
	start := time.Unix(0, 0)
	ready := newReadyHosts()
	latest := map[string]time.Time{}
	hosts := []string{"a", "b", "c", "d", "e", "f"}
	for range 10_000 {
		host := hosts[rnd.IntN(len(hosts))]
		if rnd.IntN(3) > 0 {
			at := start.Add(time.Duration(rnd.IntN(1000)) * time.Second)
			ready.put(host, at) // a later word replaces an earlier
			latest[host] = at
		} else {
			by := start.Add(time.Duration(rnd.IntN(1000)) * time.Second)
			got, _, ok := ready.take(by)
			first := ""
			for h, at := range latest {
				if !at.After(by) && (first == "" || at.Before(latest[first])) {
					first = h
				}
			}
			if ok != (first != "") || ok && !latest[got].Equal(latest[first]) {
				t.Fatalf("seed %d: took %q (%v), want %q", seed, got, ok, first)
			}
			delete(latest, got)
		}
		if ready.count() != len(latest) {
			t.Fatalf("seed %d: %d hosts, want %d", seed, ready.count(), len(latest))
		}
	}
}

// TestAMasterThatStoodStillHonoursAllLeasesAnew, since it did not hear who would have renewed them.
func TestAMasterThatStoodStillHonoursAllLeasesAnew(t *testing.T) {
	logger := logrus.New()
	logger.SetOutput(io.Discard)
	o := DefaultOptions()
	m := newLending(&o, nil, 0, nil, logrus.NewEntry(logger))
	now := time.Date(2026, 1, 2, 12, 0, 0, 0, time.UTC)
	m.forgive(now)
	m.ledger = m.ledger.Updated(ledger.LeaseGranted{Lease: ledger.Lease{ID: 1, Host: "http://a.test", Slave: "s",
		Boot: "b", Until: m.o.leaseEnd(now)}})
	for range 70 { // nobody renews it
		now = now.Add(time.Second)
		m.forgive(now)
	}
	if len(m.ledger.Expired(now)) != 1 {
		t.Error("a lease that nobody renews does not end")
	}
	now = now.Add(4 * time.Second)
	m.forgive(now)
	if len(m.ledger.Expired(now)) != 0 || len(m.ledger.Expired(now.Add(m.o.LeaseFor+m.o.LeaseMargin+1))) != 1 {
		t.Error("after it stood still the lease does not last for one more")
	}
}
