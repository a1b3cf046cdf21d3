package ledger_test

import (
	"maps"
	"math/rand/v2"
	"slices"
	"testing"
	"time"

	"henro/master/ledger"
)

var noon = time.Date(2026, 1, 2, 12, 0, 0, 0, time.UTC)

func book(facts ...any) ledger.Ledger {
	var l ledger.Ledger
	for _, fact := range facts {
		l = l.Updated(fact)
	}
	return l
}

func lease(id uint64, host, slave, boot string) ledger.Lease {
	return ledger.Lease{ID: id, Host: host, Slave: slave, Boot: boot, Until: noon}
}

func TestAHostIsLentOnce(t *testing.T) {
	l := book(
		ledger.SlaveWelcomed{Slave: "s1", Boot: "a"}, ledger.SlotsSet{Slave: "s1", Boot: "a", Slots: 2},
		ledger.LeaseGranted{Lease: lease(1, "http://a.test", "s1", "a")},
		ledger.LeaseGranted{Lease: lease(2, "http://a.test", "s2", "b")})
	if got, _ := l.OfHost("http://a.test"); got.ID != 1 || l.OpenCount() != 1 {
		t.Errorf("the second lease of a host was taken: %+v", got)
	}
	if room(l, "s1") != 1 || room(l, "s2") != 0 {
		t.Errorf("room: s1 %d, s2 %d", room(l, "s1"), room(l, "s2"))
	}
}

func TestANewerBootOrphansTheLeasesOfTheOlder(t *testing.T) {
	l := book(
		ledger.SlaveWelcomed{Slave: "s1", Boot: "a"},
		ledger.LeaseGranted{Lease: lease(1, "http://a.test", "s1", "a")},
		ledger.SlaveWelcomed{Slave: "s1", Boot: "b"}, ledger.SlotsSet{Slave: "s1", Boot: "b", Slots: 3},
		ledger.LeasesRenewed{Slave: "s1", Boot: "a", IDs: []uint64{1}, Until: noon.Add(time.Hour)})
	orphans := l.Orphaned("s1")
	if len(orphans) != 1 || orphans[0].ID != 1 {
		t.Fatalf("orphans: %+v", orphans)
	}
	if room(l, "s1") != 2 {
		t.Errorf("an orphan still counts against the window: room %d, want 2", room(l, "s1"))
	}
	l = l.Updated(ledger.LeaseEnded{ID: 1}).Updated(ledger.LeaseEnded{ID: 1})
	if room(l, "s1") != 3 || l.OpenCount() != 0 {
		t.Errorf("after its end: room %d, open %d", room(l, "s1"), l.OpenCount())
	}
}

func TestRenewalMovesTheEndForwardOnlyAndForTheHolderOnly(t *testing.T) {
	l := book(ledger.SlaveWelcomed{Slave: "s1", Boot: "a"},
		ledger.LeaseGranted{Lease: lease(1, "http://a.test", "s1", "a")})
	for _, c := range []struct {
		sentence string
		fact     ledger.LeasesRenewed
		expired  int
	}{
		{"another slave's renewal does nothing", ledger.LeasesRenewed{Slave: "s2", Boot: "a", IDs: []uint64{1},
			Until: noon.Add(time.Hour)}, 1},
		{"an older boot's renewal does nothing", ledger.LeasesRenewed{Slave: "s1", Boot: "0", IDs: []uint64{1},
			Until: noon.Add(time.Hour)}, 1},
		{"the holder's renewal moves the end", ledger.LeasesRenewed{Slave: "s1", Boot: "a", IDs: []uint64{1, 7},
			Until: noon.Add(time.Hour)}, 0},
		{"a late duplicate does not move it back", ledger.LeasesRenewed{Slave: "s1", Boot: "a", IDs: []uint64{1},
			Until: noon}, 0},
	} {
		l = l.Updated(c.fact)
		if got := len(l.Expired(noon.Add(time.Minute))); got != c.expired {
			t.Errorf("%s: %d expired, want %d", c.sentence, got, c.expired)
		}
	}
}

// What is noted of a lease goes with it, and counts for open leases alone.
func TestWhatIsNotedOfALeaseEndsWithIt(t *testing.T) {
	l := book(
		ledger.LeaseGranted{Lease: lease(1, "http://a.test", "s1", "a")},
		ledger.LeaseGranted{Lease: lease(2, "http://b.test", "s1", "a")},
		ledger.LeaseBudgeted{ID: 1, Visits: 10}, ledger.LeaseBudgeted{ID: 2, Visits: 5},
		ledger.LeaseMoving{ID: 1}, ledger.LeaseRecalled{ID: 2}, ledger.LeaseBudgeted{ID: 9, Visits: 100},
		ledger.VisitsStored{ID: 1, Visits: 4}, ledger.VisitsStored{ID: 2, Visits: 7})
	one, _ := l.Lease(1)
	two, _ := l.Lease(2)
	if one.Budget != 6 || !one.Moving || one.Recalled || two.Budget != 0 || two.Moving || !two.Recalled {
		t.Errorf("leases %+v and %+v", one, two)
	}
	if l.Budget() != 6 {
		t.Errorf("open leases may make %d visits, want 6", l.Budget())
	}
	l = l.Updated(ledger.LeaseEnded{ID: 1}).Updated(ledger.VisitsStored{ID: 1, Visits: 1})
	if l.Budget() != 0 || l.OpenCount() != 1 {
		t.Errorf("after the end of the first: %d visits, %d open", l.Budget(), l.OpenCount())
	}
}

// A plain twin of maps must agree after any sequence of facts, and old values must stay as they were.
func TestLedgerAgreesWithAPlainTwin(t *testing.T) {
	const seed = 7
	rnd := rand.New(rand.NewPCG(seed, seed))
	hosts := []string{"a", "b", "c", "d"}
	slaves := []string{"s1", "s2"}
	open := map[uint64]ledger.Lease{}
	var l ledger.Ledger
	for step := range 20_000 {
		before, count := l, l.OpenCount()
		id := rnd.Uint64N(12)
		switch rnd.IntN(3) {
		case 0:
			if _, used := open[id]; used {
				continue // ids are never given twice
			}
			g := lease(id, hosts[rnd.IntN(len(hosts))], slaves[rnd.IntN(len(slaves))], "x")
			taken := false
			for _, o := range open {
				taken = taken || o.Host == g.Host
			}
			if !taken {
				open[id] = g
			}
			l = l.Updated(ledger.LeaseGranted{Lease: g})
		case 1:
			delete(open, id)
			l = l.Updated(ledger.LeaseEnded{ID: id})
		case 2:
			l = l.Updated(ledger.SlotsSet{Slave: slaves[0], Boot: "x", Slots: 4})
		}
		if before.OpenCount() != count {
			t.Fatalf("seed %d step %d: an old value changed", seed, step)
		}
		held := map[string]int{}
		for id, want := range open {
			got, ok := l.Lease(id)
			if !ok || got != want {
				t.Fatalf("seed %d step %d: lease %d is %+v, want %+v", seed, step, id, got, want)
			}
			held[want.Slave]++
		}
		for _, name := range slaves {
			if s, _ := l.Slave(name); s.Held != held[name] {
				t.Fatalf("seed %d step %d: %s holds %d, want %d", seed, step, name, s.Held, held[name])
			}
			var leases []ledger.Lease
			for _, id := range slices.Sorted(maps.Keys(open)) {
				if open[id].Slave == name {
					leases = append(leases, open[id])
				}
			}
			if got := l.HeldBy(name, "x"); !slices.Equal(got, leases) {
				t.Fatalf("seed %d step %d: %s holds %+v, want %+v", seed, step, name, got, leases)
			}
		}
		if l.OpenCount() != len(open) || len(l.All()) != len(open) {
			t.Fatalf("seed %d step %d: %d open, want %d", seed, step, l.OpenCount(), len(open))
		}
	}
}

// room is how many more leases a slave is willing to hold.
func room(l ledger.Ledger, name string) int {
	s, _ := l.Slave(name)
	return max(0, s.Slots-s.Held)
}
