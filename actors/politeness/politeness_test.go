package politeness

import (
	"errors"
	"fmt"
	"math"
	"math/big"
	"math/rand/v2"
	"slices"
	"testing"
	"time"

	"henro/actors/revisit"
	"henro/actors/template"
)

const day = 24 * time.Hour

var start = time.Date(2025, 1, 1, 0, 0, 0, 0, time.UTC)

// exact is Σ 1/T in 2⁻⁶⁴ s⁻¹, each share rounded down, added up from scratch.
func exact(intervals map[int]time.Duration) *big.Int {
	sum := new(big.Int)
	unit := new(big.Int).Lsh(big.NewInt(int64(time.Second)), 64)
	for _, t := range intervals {
		sum.Add(sum, new(big.Int).Div(unit, big.NewInt(int64(t))))
	}
	return sum
}

func (l Load) whole() *big.Int {
	n := new(big.Int).SetUint64(l.high)
	return n.Lsh(n, 64).Add(n, new(big.Int).SetUint64(l.low))
}

// Invariant: L equals the sum recomputed from scratch, exactly, after any number of changes.
func TestLoadEqualsTheSumRecomputed(t *testing.T) {
	rnd := rand.New(rand.NewPCG(1, 2))
	// from a millisecond to 400 days, each order of magnitude alike; now and then below
	random := func() time.Duration {
		if rnd.IntN(1000) == 0 {
			return time.Duration(1 + rnd.IntN(1000))
		}
		return time.Duration(1e6 * math.Exp(rnd.Float64()*math.Log(400*86400*1e3)))
	}
	var s State
	pages := map[int]time.Duration{}
	for i := range 3_000_000 {
		page := rnd.IntN(1000)
		old, ok := pages[page]
		switch {
		case !ok:
			pages[page] = random()
			s.Timetable.AddPage(pages[page])
		case rnd.IntN(10) == 0:
			s.Timetable.RemovePage(old)
			delete(pages, page)
		default:
			pages[page] = random()
			s.Timetable.Retime(old, pages[page])
		}
		if i%500_000 == 0 || i == 2_999_999 {
			if want := exact(pages); want.Cmp(s.Timetable.load.whole()) != 0 {
				t.Fatalf("after %d changes: %v, recomputed %v", i+1, s.Timetable.load.whole(), want)
			}
		}
	}
	if s.Timetable.Pages() != uint64(len(pages)) {
		t.Errorf("%d pages, want %d", s.Timetable.Pages(), len(pages))
	}
	for _, old := range pages {
		s.Timetable.RemovePage(old)
	}
	if s.Timetable.Load() != 0 || s.Timetable.Pages() != 0 || s.Timetable.Upper() != math.MaxInt64 {
		t.Errorf("with the last page gone: L = %v, %d pages, 1/L = %v", s.Timetable.Load(), s.Timetable.Pages(),
			s.Timetable.Upper())
	}
	var l Load
	if l.Add(time.Hour); l.Remove(time.Minute) || l.PerSecond() != 0 {
		t.Error("more was removed than was there")
	}
}

func TestLoadIndex(t *testing.T) {
	var s State
	for range 86_400 {
		s.Timetable.AddPage(24 * time.Hour)
	}
	if l := s.Timetable.Load(); math.Abs(l-1) > 1e-12 {
		t.Errorf("86,400 pages a day: L = %v", l)
	}
	if u := s.Timetable.Upper(); u < time.Second-time.Microsecond || u > time.Second+time.Microsecond {
		t.Errorf("1/L = %v", u)
	}
}

func TestInterval(t *testing.T) {
	polite := DefaultOptions()
	archive, err := Profile("archive")
	if err != nil {
		t.Fatal(err)
	}
	busy := polite
	busy.Servers, busy.Connections = 3_200_000, 32_000
	own := polite
	own.Floor = 0
	for _, c := range []struct {
		name  string
		o     Options
		pages int
		took  time.Duration
		delay time.Duration
		want  time.Duration
	}{
		{"a host never asked has the floor", polite, 0, 0, 0, 5 * time.Second},
		{"a fast host has the floor", polite, 0, 100 * time.Millisecond, 0, 5 * time.Second},
		{"a slow host rests twice as long as it works", polite, 0, 20 * time.Second, 0, 40 * time.Second},
		{"(9): S/C = 100 and the paper's mean fetch time, 84.5 s from start to start", busy, 0, 845 * time.Millisecond,
			0, 83655 * time.Millisecond},
		{"Crawl-delay above the floor", polite, 0, 0, 30 * time.Second, 30 * time.Second},
		{"Crawl-delay below the floor", polite, 0, 0, time.Second, 5 * time.Second},
		{"Crawl-delay beyond its bound", polite, 0, 0, time.Hour, 5 * time.Minute},
		{"archive: a minute", archive, 10_000, 0, 0, time.Minute},
		{"archive: 5 s above 10,000 pages", archive, 10_001, 0, 0, 5 * time.Second},
		{"hosts of one's own are not paced", own, 0, 20 * time.Second, 30 * time.Second, 0},
	} {
		if err := c.o.Validate(); err != nil {
			t.Errorf("%s: %v", c.name, err)
		}
		var s State
		for range c.pages {
			s.Timetable.AddPage(time.Hour)
		}
		s.SetCrawlDelay(c.delay)
		if c.took > 0 {
			s.Observe(&c.o, Visit{Took: c.took}, start)
			if want := start.Add(c.took + c.want); !s.NextAllowed().Equal(want) {
				t.Errorf("%s: next at %v, want %v", c.name, s.NextAllowed(), want)
			}
		}
		if got := s.Interval(&c.o); got != c.want {
			t.Errorf("%s: %v, want %v", c.name, got, c.want)
		}
	}
}

func TestVerdict(t *testing.T) {
	for _, c := range []struct {
		name               string
		servers, conns     int
		floor              time.Duration
		took, every, delay time.Duration
		want               Verdict
	}{
		{"no pages", 1, 1, time.Second, time.Second, 0, 0, Feasible},
		{"a page a minute, half a second each", 1, 1, time.Second, 500 * time.Millisecond, time.Minute, 0, Feasible},
		{"R = 60 below S/C = 100", 3200, 32, time.Second, time.Second, time.Minute, 0, NeedsConnections},
		{"R = 60 at S/C = 61", 61, 1, time.Second, time.Second, time.Minute, 0, NeedsConnections},
		{"R = 60 at S/C = 60", 60, 1, time.Second, time.Second, time.Minute, 0, Feasible},
		{"1/L between the floor and the floor with e", 1, 1, 5 * time.Second, time.Second, 5500 * time.Millisecond, 0,
			NeedsInterval},
		{"R < 1", 1, 1, time.Millisecond, 2 * time.Minute, time.Minute, 0, Overloaded},
		{"R < 1 and few connections", 100, 1, time.Millisecond, 2 * time.Minute, time.Minute, 0, Overloaded},
		{"1/L below the floor", 1, 1, 5 * time.Second, time.Millisecond, 4 * time.Second, 0,
			NeedsInterval},
		{"1/L at the floor and e", 1, 1, 5 * time.Second, time.Millisecond, 5001 * time.Millisecond, 0, Feasible},
		{"few connections, and a floor that is too long", 100, 1, 5 * time.Second, time.Second, 4 * time.Second, 0,
			NeedsConnections},
		{"1/L below the Crawl-delay", 1, 1, time.Second, time.Millisecond, 4 * time.Second, 10 * time.Second,
			NeedsInterval},
		{"a host of one's own that is too slow", 1, 1, 0, 2 * time.Second, time.Second, 0, Overloaded},
	} {
		o := DefaultOptions()
		o.Floor, o.Servers, o.Connections, o.LeastRatio = c.floor, c.servers, c.conns, 1
		var s State
		s.SetCrawlDelay(c.delay)
		s.Observe(&o, Visit{Took: c.took}, start)
		if c.every > 0 {
			s.Timetable.AddPage(c.every)
		}
		if got := s.Judge(&o, s.Timetable.Load(), false); got != c.want {
			t.Errorf("%s: %v, want %v (R = %v)", c.name, got, c.want, s.R())
		}
	}
}

// Of a host that is asked n requests at once each is one of a host of its own (9); what is owed to it holds between
// starts. What was under way when it began to rest neither lengthens the rest nor forgives it.
func TestAHostThatIsAskedSeveralTimesAtOnce(t *testing.T) {
	o := DefaultOptions()
	o.Floor, o.Jitter = time.Second, 0
	var s State
	s.Timetable.AddPage(4 * time.Second)
	s.Observe(&o, Visit{Took: 6 * time.Second}, start)
	if got := s.Judge(&o, s.Timetable.Load(), false); got != Overloaded || s.R() >= 1 {
		t.Errorf("asked alone it is %v, R = %v", got, s.R())
	}
	s.SetParallel(5)
	b, err := s.MarshalBinary()
	if err != nil {
		t.Fatal(err)
	}
	if err := s.UnmarshalBinary(b); err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		floor, delay, cycle time.Duration
		verdict             Verdict
	}{
		{time.Second, 0, 3600 * time.Millisecond, Feasible}, // (S/C)·e/5
		{5 * time.Second, 0, 5 * time.Second, NeedsInterval},
		{time.Second, 10 * time.Second, 10 * time.Second, NeedsInterval},
		{0, 0, 1200 * time.Millisecond, Feasible},
	} {
		o := o
		o.Floor = c.floor
		s.SetCrawlDelay(c.delay)
		if got := s.Judge(&o, s.Timetable.Load(), false); got != c.verdict || s.Cycle(&o, 6*time.Second) != c.cycle {
			t.Errorf("floor %v, Crawl-delay %v: one every %v, %v", c.floor, c.delay, s.Cycle(&o, 6*time.Second), got)
		}
	}
	s.SetCrawlDelay(0)
	s.Observe(&o, Visit{Took: time.Second, Outcome: Throttled}, start)
	for i, outcome := range []Outcome{Throttled, OK, Throttled, OK} {
		s.Observe(&o, Visit{Took: 2 * time.Second, Outcome: outcome}, start.Add(time.Duration(i)*time.Second/4))
	}
	if s.Failures() != 1 || s.Parallel() != 1 {
		t.Errorf("one 429 and what was under way beside it: level %d, %d at once", s.Failures(), s.Parallel())
	}
	s.Observe(&o, Visit{Took: time.Second}, s.NextAllowed())
	if s.Failures() != 0 || s.Parallel() != 5 {
		t.Errorf("it answers again: level %d, %d at once", s.Failures(), s.Parallel())
	}
}

func TestBackOffDoublesAndIsForgiven(t *testing.T) {
	o := DefaultOptions()
	o.Jitter = 0
	for _, outcome := range []Outcome{Throttled, TimedOut, Refused, Unreachable} {
		var s State
		now := start
		for n := range 14 {
			s.Observe(&o, Visit{Took: time.Second, Outcome: outcome}, now)
			want := min(time.Minute<<n, 24*time.Hour)
			if s.Dead() {
				want = o.ProbeEvery
			}
			if got := s.NextAllowed().Sub(now); got != want+time.Second {
				t.Errorf("%v, failure %d: rests %v, want %v", outcome, n+1, got, want)
			}
			if dead := outcome != Throttled && n+1 >= o.DeadAfter; s.Dead() != dead {
				t.Errorf("%v, failure %d: dead = %v", outcome, n+1, s.Dead())
			}
			now = s.NextAllowed()
		}
		var total time.Duration
		visits := 0
		for ; s.Interval(&o) > o.Floor; visits++ {
			s.Observe(&o, Visit{}, now)
			total += s.NextAllowed().Sub(now)
			now = s.NextAllowed()
		}
		if s.Dead() || visits > 5 || total > 2*time.Hour {
			t.Errorf("%v: full pace after %d successes and %v, dead %v", outcome, visits, total, s.Dead())
		}
	}
}

func TestFailuresOfPagesDoNotSlowAHostDown(t *testing.T) {
	o := DefaultOptions()
	var s State
	for i := range 100 {
		s.Observe(&o, Visit{Took: 10 * time.Millisecond, Outcome: ClientError}, start.Add(time.Duration(i)*o.Floor))
	}
	if got := s.Interval(&o); got != o.Floor || s.Failures() != 0 {
		t.Errorf("after a hundred 404s: interval %v, %d failures", got, s.Failures())
	}
}

func TestRetryAfter(t *testing.T) {
	o := DefaultOptions()
	o.Jitter = 0
	for _, c := range []struct {
		name             string
		outcome          Outcome
		retryAfter, want time.Duration
	}{
		{"longer than the back-off", Throttled, time.Hour, time.Hour},
		{"shorter than the back-off", Throttled, time.Second, time.Minute},
		{"beyond its bound", Throttled, 365 * 24 * time.Hour, o.MaxRetryAfter},
		{"negative", Throttled, -time.Hour, time.Minute},
		{"not asked for with a page", OK, time.Hour, o.Floor},
	} {
		var s State
		s.Observe(&o, Visit{Outcome: c.outcome, RetryAfter: c.retryAfter}, start)
		if got := s.NextAllowed().Sub(start); got != c.want {
			t.Errorf("%s: %v, want %v", c.name, got, c.want)
		}
	}
}

func TestJitterSpreadsReturns(t *testing.T) {
	o := DefaultOptions()
	seen := map[time.Duration]bool{}
	for i := range 100 {
		var s State
		now := start.Add(time.Duration(i) * time.Microsecond)
		s.Observe(&o, Visit{Outcome: TimedOut}, now)
		rest := s.NextAllowed().Sub(now)
		if rest < time.Minute || rest > time.Minute*12/10+time.Millisecond {
			t.Errorf("rests %v", rest)
		}
		seen[rest.Truncate(time.Millisecond)] = true
	}
	if len(seen) < 90 {
		t.Errorf("%d different rests of 100", len(seen))
	}
}

// Invariants: NextAllowed never moves back, and after a visit is at least one interval after its start.
func TestNextAllowedNeverMovesBack(t *testing.T) {
	rnd := rand.New(rand.NewPCG(3, 4))
	o := DefaultOptions()
	for range 200 {
		var s State
		now := start
		for range 100 {
			before := s.NextAllowed()
			switch rnd.IntN(2) {
			case 0:
				s.Allow(now.Add(time.Duration(rnd.IntN(1e9)) * 100))
			default:
				v := Visit{Took: time.Duration(rnd.IntN(3e9)), Outcome: Outcome(rnd.IntN(int(outcomes))),
					RetryAfter: time.Duration(rnd.IntN(1e9)) * 100}
				s.Observe(&o, v, now)
				if s.NextAllowed().Before(now.Add(v.Took + s.Interval(&o))) {
					t.Fatalf("next at %v, less than %v after %v + %v", s.NextAllowed(), s.Interval(&o), now, v.Took)
				}
			}
			if s.NextAllowed().Before(before) {
				t.Fatalf("moved back from %v to %v", before, s.NextAllowed())
			}
			now = now.Add(time.Duration(rnd.IntN(1e10)))
			same(t, &s)
		}
	}
}

func same(t testing.TB, s *State) {
	t.Helper()
	b, err := s.MarshalBinary()
	if err != nil {
		t.Fatal(err)
	}
	var back State
	if err := back.UnmarshalBinary(b); err != nil {
		t.Fatal(err)
	}
	if back != *s {
		t.Fatalf("%+v became %+v", s, back)
	}
}

func FuzzUnmarshal(f *testing.F) {
	var s State
	b, _ := s.MarshalBinary()
	f.Add(b)
	o := DefaultOptions()
	s.Timetable.AddPage(time.Hour)
	s.Timetable.Rates().Add(time.Hour)
	s.Timetable.Trust().Saw(time.Hour, 2*time.Hour, time.Hour, true)
	s.SetCrawlDelay(time.Second)
	s.Observe(&o, Visit{Took: time.Second, Outcome: Throttled}, start)
	b, _ = s.MarshalBinary()
	f.Add(b)
	f.Fuzz(func(t *testing.T, b []byte) {
		var s State
		if s.UnmarshalBinary(b) != nil {
			return
		}
		same(t, &s)
		o := DefaultOptions()
		s.Observe(&o, Visit{Took: time.Second, Outcome: TimedOut, RetryAfter: time.Hour}, start)
		s.Timetable.Retime(time.Hour, time.Minute)
		if i := s.Interval(&o); i < o.Floor || s.Judge(&o, s.Timetable.Load(), false) >= Verdicts {
			t.Fatalf("interval %v", i)
		}
		same(t, &s)
	})
}

// brute tries every combination of intervals from a grid and returns the most versions captured within capacity.
func brute(rates *revisit.Rates, capacity float64, grid []time.Duration) float64 {
	best := 0.0
	var try func(bin int, load, captured float64)
	try = func(bin int, load, captured float64) {
		for bin < len(rates) && rates[bin] == 0 {
			bin++
		}
		if load > capacity*(1+1e-9) {
			return
		}
		if bin == len(rates) {
			best = max(best, captured)
			return
		}
		n := float64(rates[bin])
		for _, t := range grid {
			x := t.Seconds() / revisit.BinMean(bin).Seconds()
			try(bin+1, load+n/t.Seconds(), captured-n*math.Expm1(-x)/t.Seconds())
		}
	}
	try(0, 0, 0)
	return best
}

func TestOptimalReliefAgainstEveryCombination(t *testing.T) {
	rnd := rand.New(rand.NewPCG(5, 6))
	low, high := time.Hour, 400*24*time.Hour
	var grid []time.Duration
	for i := range 60 {
		grid = append(grid, time.Duration(float64(low)*math.Pow(float64(high)/float64(low), float64(i)/59)))
	}
	better := 0
	for range 40 {
		var rates revisit.Rates
		for range 3 {
			rates[4+rnd.IntN(revisit.RateBins-4)] += uint32(1 + rnd.IntN(1000))
		}
		demand := Demand{Rates: &rates, Center: day, Trust: 1, Aim: 1, Min: low, Max: high}
		before := Price(demand, Plan{Min: low, Max: high})
		capacity := before.Load * (0.05 + 0.9*rnd.Float64())
		optimal, cost := Relieve(Optimal, demand, capacity)
		if optimal.Max == 0 {
			continue // the bound itself is too much
		}
		if cost.Load > capacity*(1+1e-6) || cost.Load < capacity*(1-1e-6) {
			t.Errorf("load %v for a capacity of %v", cost.Load, capacity)
		}
		if b := brute(&rates, capacity, grid); cost.Captured < b*(1-1e-9) {
			t.Errorf("captures %v, a combination from the grid %v: %v", cost.Captured, b, rates)
		}
		for _, kind := range []Relief{Stretch, Delay} {
			_, other := Relieve(kind, demand, capacity)
			if other.Load > capacity*(1+1e-6) {
				t.Errorf("%v: load %v for a capacity of %v", kind, other.Load, capacity)
			}
			if other.Captured > cost.Captured*(1+1e-9) {
				t.Errorf("%v captures %v, optimal %v", kind, other.Captured, cost.Captured)
			}
			if other.Captured < cost.Captured*(1-1e-3) {
				better++
			}
		}
		if cost.Share() > 1 || cost.Captured > before.Captured {
			t.Errorf("relief captures %v of %v", cost.Captured, before.Captured)
		}
	}
	if better < 20 {
		t.Errorf("optimal is the better one only %d times", better)
	}
}

func TestReliefOfAHostThatNeedsNone(t *testing.T) {
	var rates revisit.Rates
	rates.Add(24 * time.Hour)
	for _, kind := range []Relief{NoRelief, Stretch, Delay, Optimal} {
		plan, _ := Relieve(kind, Demand{Rates: &rates, Center: day, Trust: 1, Aim: 1, Min: time.Hour, Max: 400 * day},
			1)
		if got := plan.Interval(time.Hour, time.Hour, 0); got != time.Hour {
			t.Errorf("%v: an hour became %v", kind, got)
		}
		if back, err := ParseRelief(kind.String()); err != nil || back != kind {
			t.Errorf("%v: %v, %v", kind, back, err)
		}
	}
}

// Freshness and age share out the visits that the timetable asks for, or that the host bears if these are fewer, and
// each is better at its own than a timetable in proportion to the rates.
func TestObjectivesUseTheSameVisits(t *testing.T) {
	var rates revisit.Rates
	for i, mean := range []time.Duration{time.Hour, day, 10 * day, 60 * day} {
		for range 10 * (i + 1) {
			rates.Add(mean)
		}
	}
	demand := Demand{Rates: &rates, Center: day, Trust: 1, Aim: 1, Min: time.Minute, Max: 400 * day}
	asked := Price(demand, Plan{Min: demand.Min, Max: demand.Max})
	for _, share := range []float64{10, 1, 0.3} {
		demand.Objective = revisit.Versions
		_, versions := Relieve(Optimal, demand, share*asked.Load)
		demand.Objective = revisit.Freshness
		freshness, fresh := Relieve(Optimal, demand, share*asked.Load)
		demand.Objective = revisit.Age
		_, young := Relieve(Optimal, demand, share*asked.Load)
		for _, cost := range []Cost{versions, fresh, young} {
			if want := min(1, share) * asked.Load; math.Abs(cost.Load/want-1) > 1e-6 {
				t.Errorf("%v visits a second of %v", cost.Load, want)
			}
		}
		if fresh.Fresh < 1.02*versions.Fresh || fresh.Captured > versions.Captured || fresh.Age < young.Age {
			t.Errorf("freshness %+v, versions %+v, age %+v", fresh, versions, young)
		}
		// LambdaCrawl's shares are no optimum of freshness where rates are known, and within 1 % of it
		if young.Age > 0.98*versions.Age || young.Captured > fresh.Captured || young.Fresh > 1.01*fresh.Fresh {
			t.Errorf("age %+v, versions %+v, freshness %+v", young, versions, fresh)
		}
		// pages of seconds are visited as often as each other, and never given up
		seconds, halfAMinute := freshness.Interval(time.Second, time.Second, 400*day),
			freshness.Interval(30*time.Second, 30*time.Second, 400*day)
		if ratio := seconds.Seconds() / halfAMinute.Seconds(); ratio < 0.9 || ratio > 1.01 ||
			seconds > 20*freshness.Even {
			t.Errorf("pages of 1 and 30 s are visited every %v and %v, all alike would be every %v", seconds,
				halfAMinute, freshness.Even)
		}
		// a page of which nothing is known keeps a first interval that is shorter than its fair share, if the host
		// bears that, and gets its fair share else
		for _, first := range []time.Duration{time.Minute, 400 * day} {
			want := min(first, freshness.Even)
			if share < 1 {
				want = freshness.Even
			}
			if got := freshness.Interval(first, 0, 0); got != want {
				t.Errorf("share %v: the first interval of %v became %v, all alike would be visited every %v", share,
					first, got, freshness.Even)
			}
		}
	}
}

// A host that is asked for more than it bears gets a plan whose intervals, page by page, add up to what it bears.
func TestReliefOfAHost(t *testing.T) {
	o, timing := DefaultOptions(), revisit.DefaultOptions()
	rnd := rand.New(rand.NewPCG(7, 8))
	var s State
	s.Observe(&o, Visit{Took: time.Second}, start)
	var means []time.Duration
	for range 3000 {
		mean := time.Duration(float64(time.Hour) * math.Exp(2*rnd.Float64()))
		means = append(means, mean)
		s.Timetable.AddPage(mean)
		s.Timetable.Rates().Add(mean)
		s.Timetable.Trust().Saw(mean, 3*time.Hour, mean, rnd.Float64() < 0.63)
	}
	if s.Judge(&o, s.Timetable.Load(), false) != Overloaded {
		t.Fatalf("%v", s.Judge(&o, s.Timetable.Load(), false))
	}
	for _, kind := range []Relief{Stretch, Delay, Optimal} {
		plan, cost := Relieve(kind, s.Timetable.Demand(&timing), s.Capacity(&o))
		relieved := s
		for _, mean := range means {
			relieved.Timetable.Retime(mean, plan.Interval(mean, mean, 400*day))
		}
		// The histogram knows rates to half an octave, so that a few percent may be missing or too much.
		if r := relieved.Timetable.Load() / s.Capacity(&o); r < 0.95 || r > 1.05 {
			t.Errorf("%v: load is %.3f of what the host bears", kind, r)
		}
		if cost.Share() <= 0 || cost.Share() >= 1 || cost.Lag <= 0 {
			t.Errorf("%v: %+v", kind, cost)
		}
	}
}

func TestExplain(t *testing.T) {
	o := DefaultOptions()
	own := o
	own.Floor = 0
	for _, c := range []struct {
		name string
		o    Options
		do   func(s *State)
		want string
	}{
		{"new", o, func(*State) {}, "one request in 5s: the floor; 0 pages, none with a timetable"},
		{"one's own", own, func(*State) {},
			"one request in 0s: hosts of one's own are not paced; 0 pages, none with a timetable"},
		{
			"slow", o, func(s *State) {
				s.Observe(&o, Visit{Took: 4 * time.Second}, start)
				s.Timetable.AddPage(20 * time.Second)
			},
			"one request in 8s: 2 times the 4s that the latest fetch took; the timetable of 1 pages needs one in " +
				"20s: feasible (R = 5, S/C = 3)",
		},
		{
			"infeasible", o, func(s *State) {
				s.SetCrawlDelay(10 * time.Second)
				s.Timetable.AddPage(8 * time.Second)
			},
			"one request in 10s: its Crawl-delay; the timetable of 1 pages needs one in 8s: needs a shorter " +
				"interval",
		},
		{"resting", o, func(s *State) { s.Observe(&o, Visit{Outcome: Throttled}, start) },
			"one request in 1m: it rests, at level 1 of failures; 0 pages, none with a timetable"},
		{
			"dead", o, func(s *State) {
				for range o.DeadAfter {
					s.Observe(&o, Visit{Outcome: Refused}, start)
				}
			},
			"one request in 7d: 12 visits in a row found no host: it is given up, but for probes; 0 " +
				"pages, none with a timetable",
		},
	} {
		var s State
		c.do(&s)
		if got := s.Explain(&c.o, s.Judge(&c.o, s.Timetable.Load(), false)).String(); got != c.want {
			t.Errorf("%s:\n%s\nwant\n%s", c.name, got, c.want)
		}
	}
}

// The verdict is on what the pages ask for: a host whose pages were relieved is as overloaded as before.
func TestVerdictIsThatBeforeRelief(t *testing.T) {
	o, timetable := DefaultOptions(), revisit.DefaultOptions()
	var s State
	s.Observe(&o, Visit{Took: time.Second}, start)
	for range 1000 {
		s.Timetable.AddPage(2 * time.Hour) // as relieved: one in 7.2 s, which the host bears
		s.Timetable.Rates().Add(10 * time.Minute)
	}
	if s.Judge(&o, s.Timetable.Load(), false) != Feasible {
		t.Fatal("the relieved timetable is not kept")
	}
	if got := s.Judge(&o, s.Timetable.Wanted(&timetable), false); got != Overloaded {
		t.Errorf("a host whose 1,000 pages change every ten minutes is %v", got)
	}
}

// TestAHostWhoseVisitsCameLateIsNotFeasible, whatever it bears, until as many have come in time.
func TestAHostWhoseVisitsCameLateIsNotFeasible(t *testing.T) {
	o := DefaultOptions()
	var s State
	s.Observe(&o, Visit{Took: time.Second}, start)
	s.Timetable.AddPage(time.Minute)
	judged := func() Verdict { return s.Judge(&o, s.Timetable.Load(), false) }
	s.Timetable.Kept(false)
	if judged() != Feasible {
		t.Errorf("after one late visit of 32: %v", judged())
	}
	s.Timetable.Kept(false)
	if judged() != Behind {
		t.Errorf("after two: %v, %.3f late", judged(), s.Timetable.Late())
	}
	b, err := s.MarshalBinary()
	if err != nil {
		t.Fatal(err)
	}
	if s = (State{}); s.UnmarshalBinary(b) != nil || judged() != Behind {
		t.Errorf("read again: %v", judged())
	}
	for range 1000 {
		s.Timetable.Kept(false)
	}
	if late := s.Timetable.Late(); late < 0.95 || late > 1 {
		t.Errorf("all late: %v", late)
	}
	for range 150 {
		s.Timetable.Kept(true)
	}
	if judged() != Feasible {
		t.Errorf("in time for long: %v, %.3f late", judged(), s.Timetable.Late())
	}
	o.At = s.NextAllowed().Add(2 * time.Minute)
	if judged() != Feasible {
		t.Errorf("not asked for two intervals of its page: %v", judged())
	}
	if o.At = o.At.Add(time.Second); judged() != Behind {
		t.Errorf("not asked for longer: %v", judged())
	}
	o.At = time.Time{}
	if s.Judge(&o, 1./11, true) != NeedsInterval || s.Judge(&o, 1./13, true) != Feasible {
		t.Errorf("while new pages take every other turn: %v, %v", s.Judge(&o, 1./11, true), s.Judge(&o, 1./13, true))
	}
}

// Template believes a page without an estimate to be as its group is, and lets a sample keep its timetable.
func TestTemplateSharesVisitsOutByGroup(t *testing.T) {
	groups := template.New(time.Unix(1e9, 0))
	var rates revisit.Rates
	for i := range 1000 {
		groups.Of(fmt.Sprintf("http://a.test/list?p=%d", i))
		item := groups.Of(fmt.Sprintf("http://a.test/item/%d", i))
		list := groups.Of(fmt.Sprintf("http://a.test/list?p=%d", i)) // pointers hold until a group is added
		if i%2 == 0 {
			list.Add(day)
			item.Add(100 * day)
			rates.Add(day)
			rates.Add(100 * day)
			continue
		}
		list.Add(0)
		item.Add(0)
	}
	demand := Demand{Rates: &rates, Unknown: 1000, Center: 10 * day, Trust: 0.5, Aim: 1, Min: time.Hour, Max: 400 * day,
		Groups: groups}
	capacity := 0.3 * Price(demand, Plan{Min: demand.Min, Max: demand.Max}).Load
	plan, cost := Relieve(Template, demand, capacity)
	if math.Abs(cost.Load/capacity-1) > 0.01 || plan.Sample == 0 {
		t.Errorf("%v of %v visits a second, samples of %d", cost.Load, capacity, plan.Sample)
	}
	interval := func(shape int) time.Duration {
		p := plan
		p.Center = groups.All()[shape].Center(demand.Center)
		return p.Interval(p.Center, 0, 400*day)
	}
	if list, item := interval(0), interval(1); item < 50*list {
		t.Errorf("a list without an estimate is visited every %v, an item every %v", list, item)
	}
	var sample, all float64
	for _, g := range demand.groups(plan.Sample) {
		all += g.pages
		if g.sample {
			sample += g.pages
		}
	}
	if all != 2000 || sample != float64(2*plan.Sample) {
		t.Errorf("%v pages, %v of them a sample of %d each", all, sample, plan.Sample)
	}
}

// A host of another version is not read.
func TestAnotherVersionIsNotRead(t *testing.T) {
	var s, read State
	s.Timetable.Group(true, time.Unix(1e9, 0))
	want, err := s.MarshalBinary()
	if err != nil {
		t.Fatal(err)
	}
	for _, other := range []byte{0, version - 1, version + 1} {
		if err := read.UnmarshalBinary(slices.Concat([]byte{other}, want[1:])); !errors.Is(err, ErrVersion) {
			t.Errorf("version %d: %v", other, err)
		}
	}
}

// The groups of a host are kept with it.
func TestGroupsAreKept(t *testing.T) {
	var s, read State
	s.Timetable.Group(true, time.Unix(1e9, 0))
	s.Timetable.Groups().Of("http://a.test/item/1").Add(day)
	b, err := s.MarshalBinary()
	if err != nil {
		t.Fatal(err)
	}
	if err := read.UnmarshalBinary(b); err != nil || len(read.Timetable.Groups().All()) != 1 ||
		read.Timetable.Groups().All()[0] != s.Timetable.Groups().All()[0] {
		t.Errorf("%+v is read, %v", read.Timetable.Groups(), err)
	}
}
