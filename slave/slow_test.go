package slave

import (
	"testing"
	"time"

	"henro/actors/actortest"
	"henro/cmd/fakeweb"
	"henro/messages"
)

// TestAHostThatTurnsOutSlowIsGivenItsRestWithinTheLease: (S/C)·e after each request (10); a rest that would outlast the
// lease is left to the master.
func TestAHostThatTurnsOutSlowIsGivenItsRestWithinTheLease(t *testing.T) {
	web := fakeweb.Options{Seed: 1, Hosts: 2, Pages: 6,
		Shape: func(h *fakeweb.Host) { h.Latency = time.Duration(1+2*h.Index) * time.Second }}
	inSchool(t, web, func(*Options) {}, func(s *school) {
		s.ratio = 30
		s.lend(7, 0, 3) // e is 1 s
		actortest.Pass(time.Second)
		s.lend(8, 1, 3) // e is 3 s: a rest of 90 s, in a lease of 60
		actortest.Pass(10 * time.Minute)
		log := map[string][]fakeweb.Entry{}
		for _, e := range s.web.Log() {
			log[e.Host] = append(log[e.Host], e)
		}
		first, second := log[s.web.Host(0).Name], log[s.web.Host(1).Name]
		if len(first) != 4 || len(second) != 1 { // robots.txt and three pages; robots.txt alone
			t.Fatalf("asked %d and %d times", len(first), len(second))
		}
		for i := range first[1:] {
			if gap := first[i+1].Start.Sub(first[i].Start); gap < 30*time.Second || gap > 32*time.Second {
				t.Errorf("asked again after %v: %s", gap, first[i+1].Path)
			}
		}
		var why []string
		for _, report := range actortest.TakeOf[*messages.Report](s.master) {
			for _, fact := range report.Facts {
				if fact.Finished != nil && fact.Lease == 8 {
					why = append(why, fact.Finished.Why)
				}
			}
		}
		if len(why) == 0 || why[0] != "slow" {
			t.Errorf("the lease of the slower host ended because of %v", why)
		}
	})
}
