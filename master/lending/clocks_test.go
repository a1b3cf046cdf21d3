package lending

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"time"
)

// Hosts with one or several clocks, some shared: never are two lent that share one, none is lent before its clocks
// allow it, all that is ready is lent in the end, and whoever is not lent when there is room waits for a clock.
func TestHostsThatShareAClockAreKeptApart(t *testing.T) {
	rnd := rand.New(rand.NewPCG(7, 8))
	start := time.Unix(1e9, 0)
	for round := range 200 {
		ready := queueOf(NewClocks(strings.Clone))
		keys := map[string][]string{}
		waiting := map[string]time.Time{} // ready and not lent
		lent := map[string]bool{}
		next := map[string]time.Time{}
		turns := map[string]int{}
		for i := range 1 + rnd.IntN(20) {
			host := fmt.Sprint("h", i)
			for range 1 + rnd.IntN(3) {
				keys[host] = append(keys[host], fmt.Sprint("k", rnd.IntN(8)))
			}
			slices.Sort(keys[host])
			keys[host] = slices.Compact(keys[host])
			ready.clocks.Know(host, keys[host])
			waiting[host] = start.Add(time.Duration(rnd.IntN(20)) * time.Second)
			ready.put(host, waiting[host])
		}
		blocked := func(host string, by time.Time) bool {
			for _, key := range keys[host] {
				for other := range lent {
					if slices.Contains(keys[other], key) {
						return true
					}
				}
				if next[key].After(by) {
					return true
				}
			}
			return false
		}
		now := start
		for step := range 400 {
			for {
				host, notBefore, ok := ready.take(now)
				if !ok {
					break
				}
				if at, known := waiting[host]; !known || at.After(now) || blocked(host, now) || notBefore.After(now) {
					t.Fatalf("round %d: %s lent at %v: ready %v, clocks %v", round, host, now, at, keys[host])
				}
				delete(waiting, host)
				lent[host] = true
				turns[host]++
			}
			for host, at := range waiting {
				if !at.After(now) && !blocked(host, now) {
					t.Fatalf("round %d: %s could be lent and is not", round, host)
				}
			}
			if want := len(waiting); ready.count() != want {
				t.Fatalf("round %d: counted %d hosts, %d wait", round, ready.count(), want)
			}
			for host := range lent {
				if rnd.IntN(3) > 0 {
					continue
				}
				at := now.Add(time.Duration(rnd.IntN(8)) * time.Second)
				delete(lent, host)
				for _, key := range keys[host] {
					if at.After(next[key]) {
						next[key] = at
					}
				}
				ready.giveBack(host, at)
				if step < 300 {
					waiting[host] = at
					ready.put(host, at)
				}
			}
			for host := range waiting { // a later word replaces the earlier, wherever the host is
				if rnd.IntN(20) == 0 && step < 300 {
					waiting[host] = now.Add(time.Duration(rnd.IntN(20)-10) * time.Second)
					ready.put(host, waiting[host])
				}
			}
			now = now.Add(time.Second)
			ready.clocks.sweep(now)
		}
		if len(waiting) > 0 {
			t.Fatalf("round %d: never lent: %v", round, waiting)
		}
		for host := range keys {
			if turns[host] < 1 {
				t.Errorf("round %d: %s had %d turns", round, host, turns[host])
			}
		}
	}
}

// queueOf is an empty queue under some clocks.
func queueOf(clocks *Clocks) *queue {
	q := newQueue(&base{o: &Options{Clocks: clocks}})
	return &q
}
