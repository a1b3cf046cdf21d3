package lending

import (
	"math/rand/v2"
	"testing"
	"time"
)

func TestReadyHostsComeInTheOrderOfTheirMoments(t *testing.T) {
	const seed = 3
	rnd := rand.New(rand.NewPCG(seed, seed))
	start := time.Unix(0, 0)
	ready := queueOf(nil)
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
