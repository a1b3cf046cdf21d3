package frontier

import (
	"cmp"
	"math/rand/v2"
	"slices"
	"testing"
	"time"
)

// small are options at which everything happens: drops.
func small() Options {
	return Options{Policy: PolicyRanked, Interval: time.Second, SlotsB: 16, SlotsH: 12}
}

// The best band goes first. Without room the longest line loses its newest URL of its worst band, unless the new URL
// would make its own line the longest and is no better: against a list of what waits.
func TestRankedGivesTheBestAndShortensTheLongest(t *testing.T) {
	o := small()
	o.SlotsB, o.SlotsH, o.Interval = 40, 2, 0
	f := NewRanked[uint64](o)
	rnd := rand.New(rand.NewPCG(5, 0))
	var waiting []Item[uint64] // in order of arrival
	for key := range uint64(20_000) {
		item := Item[uint64]{Key: key, Host: uint64(rnd.ExpFloat64() * 4), Band: uint8(rnd.IntN(Bands))}
		count := map[uint64]int{}
		longest := 0
		for _, other := range waiting {
			count[other.Host]++
			longest = max(longest, count[other.Host])
		}
		newest := func(host uint64) (worst Item[uint64]) {
			for _, other := range waiting {
				if other.Host == host && other.Band >= worst.Band {
					worst = other
				}
			}
			return worst
		}
		lost, dropped := f.Add(item)
		waiting = append(waiting, item)
		switch full := len(waiting) > o.SlotsB*o.SlotsH/2; {
		case dropped != full:
			t.Fatalf("URL %d: dropped %v with %d waiting", key, dropped, len(waiting))
		case !full:
		case lost != item:
			if count[lost.Host] != longest || lost != newest(lost.Host) {
				t.Fatalf("URL %d: lost %v of a line of %d, the longest having %d, the newest of its worst band "+
					"being %v", key, lost, count[lost.Host], longest, newest(lost.Host))
			}
			if count[item.Host]+1 >= longest && item.Band >= lost.Band {
				t.Fatalf("URL %d: %v went for %v, which is no better", key, lost, item)
			}
		case count[item.Host]+1 < longest:
			t.Fatalf("URL %d: lost %v of a line of %d, the longest having %d", key, item, count[item.Host], longest)
		}
		if dropped {
			waiting = slices.Delete(waiting, slices.Index(waiting, lost), slices.Index(waiting, lost)+1)
		}
		if rnd.IntN(3) == 0 {
			got := f.Next(0, 1, nil)
			best := slices.MinFunc(waiting, func(a, b Item[uint64]) int { return cmp.Compare(a.Band, b.Band) })
			if len(got) != 1 || got[0].Band != best.Band {
				t.Fatalf("got %v, the best waiting is %v", got, best)
			}
			i := slices.Index(waiting, got[0])
			waiting = slices.Delete(waiting, i, i+1)
			f.Done(got[0].Host, 0, 0)
		}
	}
}

// A lease takes no URL that is worse than one of a host that may be asked; where no other may be, it takes any.
func TestMoreTakesNothingWorseThanWhatOthersHave(t *testing.T) {
	o := small()
	o.Interval = 0
	f := NewRanked[uint64](o)
	for i, item := range []Item[uint64]{{Host: 1, Band: 1}, {Host: 1, Band: 2}, {Host: 1, Band: 4}, {Host: 2, Band: 2},
		{Host: 2, Band: 3}} {
		item.Key = uint64(i + 1)
		f.Add(item)
	}
	keys := func(items []Item[uint64]) (keys []uint64) {
		for _, item := range items {
			keys = append(keys, item.Key)
		}
		return keys
	}
	if got := keys(f.More(1, 9, f.Next(0, 1, nil))); !slices.Equal(got, []uint64{1, 2}) {
		t.Errorf("the first lease takes %v", got)
	}
	if got := keys(f.More(2, 9, f.Next(0, 1, nil))); !slices.Equal(got, []uint64{4, 5}) {
		t.Errorf("the second lease, while the other host is out, takes %v", got)
	}
}

// A host comes from a rest of any length not early, and at most a slot of the wheel late.
func TestRankedRests(t *testing.T) {
	for _, rest := range []time.Duration{0, time.Millisecond, time.Second, 3 * time.Second, 4 * time.Second,
		time.Minute, 20 * time.Hour} {
		o := small()
		f := NewRanked[uint64](o)
		f.Add(Item[uint64]{Key: 1})
		f.Add(Item[uint64]{Key: 2})
		start := 90*time.Minute + 7*time.Millisecond
		if got := f.Next(start, 9, nil); len(got) != 1 {
			t.Fatalf("%v at first", got)
		}
		f.Done(0, start, rest)
		due := start + max(rest, o.Interval)
		for now := start; now < due; now += o.Interval {
			if got := f.Next(now, 9, nil); len(got) > 0 {
				t.Fatalf("rest of %v: asked again after %v", rest, now-start)
			}
		}
		if got := f.Next(due-1, 9, nil); len(got) > 0 {
			t.Errorf("rest of %v: asked too early", rest)
		}
		if got := f.Next(due+o.Interval/64, 9, nil); len(got) != 1 {
			t.Errorf("rest of %v: not asked when it is over", rest)
		}
	}
}

// No operation allocates once the rings and the pool have the size that the load needs.
func TestSteadyStateDoesNotAllocate(t *testing.T) {
	o := small()
	o.SlotsB, o.SlotsH, o.Interval = 64, 256, 0
	f := NewRanked[uint64](o)
	rnd := rand.New(rand.NewPCG(9, 0))
	var key uint64
	batch := make([]Item[uint64], 0, o.SlotsH)
	run := func() {
		for range 200 {
			key++
			f.Add(Item[uint64]{Key: key, Host: rnd.Uint64(), Band: uint8(key % Bands)})
		}
		batch = f.Next(0, o.SlotsH, batch[:0])
		for _, item := range batch {
			f.Done(item.Host, 0, 0)
		}
	}
	for range 2000 {
		run()
	}
	if n := testing.AllocsPerRun(100, run); n != 0 {
		t.Errorf("%v allocations in 200 operations", n)
	}
}
