package revisit

import (
	"flag"
	"fmt"
	"math"
	"math/rand/v2"
	"testing"
	"time"

	"henro/actors/revisit/revisittest"
)

var seed = flag.Uint64("seed", 1, "of the simulated visits")

// stats of ln(estimate/truth) over many pages.
type stats struct{ n, sum, squares, linear float64 }

func (s *stats) add(ln float64) { s.n++; s.sum += ln; s.squares += ln * ln; s.linear += math.Exp(ln) }
func (s *stats) mean() float64  { return s.sum / s.n }
func (s *stats) sd() float64    { return math.Sqrt(s.squares/s.n - s.mean()*s.mean()) }

// quality of a timetable on Poisson pages: bias of I (geometric and arithmetic mean) and sd of ln I after 150 visits,
// and how many visits after a change of λ until the mean of ln I is within 0.2 of the truth, and stays.
type quality struct {
	geometric, arithmetic, sd float64
	faster, slower            int
	// visits until half and nine tenths of the pages came within a factor of 1.5
	halfFaster, halfSlower, mostFaster, mostSlower int
}

const patience = 60

func (q quality) String() string {
	return fmt.Sprintf("bias %+.1f %% (geometric) %+.1f %% (arithmetic), sd of ln I %.3f; re-adapts after ×10 in %d "+
		"visits (pages: half %d, nine tenths %d), after ÷10 in %d (%d, %d)",
		100*q.geometric, 100*q.arithmetic, q.sd, q.faster, q.halfFaster, q.mostFaster, q.slower, q.halfSlower,
		q.mostSlower)
}

// measure runs pages through 150 visits at the intervals that o chooses, then multiplies or divides λ by 10.
func measure(o Options, pages int, mean time.Duration) quality {
	rnd := rand.New(rand.NewPCG(*seed, 2))
	var settled stats
	var after [2][patience + 1]stats
	var hits [2][patience + 1]int
	truth := mean.Seconds()
	for page := range pages {
		var h History
		i := truth
		visit := func() float64 {
			gap := o.Next(&h, Prior{}, rnd)
			h.Visited(&o, gap, rnd.Float64() < -math.Expm1(-gap.Seconds()/i))
			return math.Log(o.Estimate(&h).Seconds() / i)
		}
		for v := range 150 {
			if ln := visit(); v == 149 {
				settled.add(ln)
			}
		}
		way := page % 2
		i *= []float64{0.1, 10}[way]
		found := false
		for v := 1; v <= patience; v++ {
			ln := visit()
			after[way][v].add(ln)
			if !found && math.Abs(ln) < math.Log(1.5) {
				hits[way][v]++
				found = true
			}
		}
	}
	q := quality{geometric: math.Exp(settled.mean()) - 1, arithmetic: settled.linear/settled.n - 1, sd: settled.sd()}
	for way, first := range []*int{&q.faster, &q.slower} {
		*first = patience + 1
		for v := patience; v > 0 && math.Abs(after[way][v].mean()) <= 0.2; v-- {
			*first = v
		}
	}
	for way, places := range [][2]*int{{&q.halfFaster, &q.mostFaster}, {&q.halfSlower, &q.mostSlower}} {
		*places[0], *places[1] = patience+1, patience+1
		sum := 0
		for v := patience; v > 0; v-- {
			sum = 0
			for _, n := range hits[way][1 : v+1] {
				sum += n
			}
			if sum*2 >= pages/2 {
				*places[0] = v
			}
			if sum*10 >= pages/2*9 {
				*places[1] = v
			}
		}
	}
	return q
}

// The numbers in the package comment: go test -run TestEstimators -v ./actors/revisit
func TestEstimators(t *testing.T) {
	for _, mean := range []time.Duration{6 * time.Hour, 20 * day} {
		q := measure(DefaultOptions(), 4000, mean)
		t.Logf("Drift, 1/λ = %v: %v", mean, q)
		if math.Abs(q.geometric) > 0.03 || math.Abs(q.arithmetic) > 0.03 {
			t.Errorf("bias above 3 %%")
		}
		if q.sd > 0.20 {
			t.Errorf("sd of ln I above 0.20")
		}
		if q.faster > 25 || q.slower > 25 || q.halfFaster > 25 || q.halfSlower > 25 || q.mostFaster > 25 ||
			q.mostSlower > 25 {
			t.Errorf("re-adapts in more than 25 visits")
		}
	}
	for _, f := range []float64{1, 0.97, 0.95, 0.9} {
		o := equation4()
		o.Forget = f
		t.Logf("(4), forgetting %v: %v", f, measure(o, 1000, 20*day))
	}
	o := DefaultOptions()
	o.DriftThreshold = 0
	t.Logf("Drift without its test: %v", measure(o, 1000, 20*day))
}

// numeric finds the maximum of ln likelihood (1) by trying ln λ in small steps.
func numeric(changed, unchanged []float64) float64 {
	best, at := math.Inf(-1), 0.0
	for ln := -12.0; ln < 12; ln += 0.001 {
		lambda, sum := math.Exp(ln), 0.0
		for _, t := range changed {
			sum += math.Log(-math.Expm1(-lambda * t))
		}
		for _, t := range unchanged {
			sum -= lambda * t
		}
		if sum > best {
			best, at = sum, ln
		}
	}
	return math.Exp(-at)
}

func TestMLEIsTheMaximumOfTheLikelihood(t *testing.T) {
	rnd := rand.New(rand.NewPCG(*seed, 3))
	for range 20 {
		changed, unchanged := []float64{0.1 + rnd.ExpFloat64()}, []float64{0.1 + rnd.ExpFloat64()}
		for range rnd.IntN(20) {
			if t := rnd.ExpFloat64() * 3; rnd.IntN(2) == 0 {
				changed = append(changed, t)
			} else {
				unchanged = append(unchanged, t)
			}
		}
		got, want := revisittest.MLE(changed, unchanged), numeric(changed, unchanged)
		if math.Abs(math.Log(got/want)) > 0.002 {
			t.Errorf("%v, want %v: changed %v, unchanged %v", got, want, changed, unchanged)
		}
	}
	if got := revisittest.MLE(nil, []float64{1}); !math.IsInf(got, 1) {
		t.Errorf("nothing changed: %v", got)
	}
	if got := revisittest.MLE([]float64{1}, nil); got != 0 {
		t.Errorf("everything changed: %v", got)
	}
}

func TestEquation4(t *testing.T) {
	o := equation4()
	o.Forget = 1
	visits := func(list ...float64) *History { // hours; below 0: unchanged
		var h History
		for _, v := range list {
			h.Visited(&o, time.Duration(math.Abs(v)*float64(time.Hour)), v > 0)
			h.Interval = float32(math.Abs(v) * 3600)
		}
		return &h
	}
	t.Run("equals eq. (2) when all tc are equal: (3)", func(t *testing.T) {
		h := visits(24, -24, 24, -12, 24, -48)
		want := revisittest.MLE([]float64{24, 24, 24}, []float64{24, 12, 48})
		if got := o.Estimate(h).Hours(); math.Abs(got/want-1) > 1e-5 {
			t.Errorf("%v h, want %v h", got, want)
		}
	})
	t.Run("takes the geometric mean of the least and the average tc: (4)", func(t *testing.T) {
		h := visits(4, -6, 16, -10)
		want := math.Sqrt(4*10) / math.Log(36.0/16)
		if got := o.Estimate(h).Hours(); math.Abs(got/want-1) > 1e-5 {
			t.Errorf("%v h, want %v h", got, want)
		}
	})
	for _, c := range []struct {
		name string
		h    *History
		want time.Duration
	}{
		{"never changed: the last interval is doubled", visits(-10, -20), 40 * time.Hour},
		{"always changed: the last interval is halved", visits(20, 10), 5 * time.Hour},
		{"never changed, often: no more than Max, at random from 300 days", visits(-24 * 390), 0},
		{"always changed, often: no less than Min", visits(1.0 / 30), 10 * time.Minute},
	} {
		for i := range 50 {
			h := *c.h
			got := o.Next(&h, Prior{}, rand.New(rand.NewPCG(uint64(i), 1)))
			if c.want != 0 && math.Abs(got.Seconds()-c.want.Seconds()) > 1e-3*c.want.Seconds() || c.want == 0 &&
				(got < 300*day || got > 400*day) {
				t.Errorf("%s: %v", c.name, got)
			}
			if float32(got.Seconds()) != h.Interval {
				t.Errorf("%s: the interval is not noted", c.name)
			}
		}
	}
}

// The few running values follow the exact maximum of the likelihood of everything that was seen.
func TestDriftFollowsTheExactMaximum(t *testing.T) {
	o := DefaultOptions()
	o.Forget, o.DriftThreshold, o.PriorSpread = 1, 0, 100
	rnd := rand.New(rand.NewPCG(*seed, 4))
	var apart stats
	for range 300 {
		var h History
		var changed, unchanged []float64
		for range 60 {
			gap := (0.3 + 2*rnd.Float64()) * 86400
			if c := rnd.Float64() < -math.Expm1(-gap/86400); c {
				changed = append(changed, gap)
				h.Saw(&o, Visit{Gap: span(gap), Changed: true})
			} else {
				unchanged = append(unchanged, gap)
				h.Saw(&o, Visit{Gap: span(gap)})
			}
		}
		apart.add(math.Log(o.Estimate(&h).Seconds() / revisittest.MLE(changed, unchanged)))
	}
	if t.Logf("mean of ln(estimate/maximum) %.3f, sd %.3f", apart.mean(), apart.sd()); math.Abs(apart.mean()) > 0.05 ||
		apart.sd() > 0.06 {
		t.Error("too far from the maximum")
	}
}

func TestFirstVisits(t *testing.T) {
	o := DefaultOptions()
	rnd := rand.New(rand.NewPCG(*seed, 5))
	var least, most time.Duration = math.MaxInt64, 0
	for range 1000 {
		var h History
		got := o.Next(&h, Prior{}, rnd)
		least, most = min(least, got), max(most, got)
	}
	if least < o.FirstMin || most > o.FirstMax || least > o.FirstMin+day || most < o.FirstMax-day {
		t.Errorf("without a prior: from %v to %v", least, most)
	}
	host := Prior{Mean: 2 * time.Hour, Spread: 0.5, Pages: 1000}
	for range 100 {
		var h History
		if got := o.Next(&h, host, rnd); got < time.Hour || got > 3*time.Hour+10*time.Minute {
			t.Errorf("on a host whose pages change every 2 h: %v", got)
		}
	}
	var quiet, young History
	quiet.Saw(&o, Visit{Age: 1000 * day})
	young.Saw(&o, Visit{Age: time.Hour})
	if q, y := o.Next(&quiet, Prior{}, rnd), o.Next(&young, Prior{}, rnd); q < 3*y {
		t.Errorf("a page a thousand days old is visited after %v, one an hour old after %v", q, y)
	}
}

func TestPriorShortensLearning(t *testing.T) {
	o := DefaultOptions()
	truth := 3 * time.Hour
	after := func(prior Prior) float64 {
		rnd := rand.New(rand.NewPCG(*seed, 6))
		var s stats
		for range 1000 {
			var h History
			for range 5 {
				gap := o.Next(&h, prior, rnd)
				h.Visited(&o, gap, rnd.Float64() < -math.Expm1(-gap.Seconds()/truth.Seconds()))
			}
			s.add(math.Log(o.Estimate(&h).Seconds() / truth.Seconds()))
		}
		return math.Sqrt(s.squares / s.n)
	}
	without, with := after(Prior{}), after(Prior{Mean: 4 * time.Hour, Spread: 0.5, Pages: 50})
	if t.Logf("error of ln I after five visits: %.2f, with the host's prior %.2f", without, with); with > without/2 {
		t.Error("the prior does not help")
	}
}

// Last-Modified tells more than a changed digest: the estimate is better after as many visits.
func TestLastModifiedIsEvidence(t *testing.T) {
	for _, o := range []Options{DefaultOptions(), equation4()} {
		sd := func(use bool) (float64, float64) {
			rnd := rand.New(rand.NewPCG(*seed, 7))
			var s stats
			for range 1000 {
				var h History
				for range 40 {
					gap := 2 * day // too long on purpose: most visits find a change
					age := time.Duration(rnd.ExpFloat64() * float64(day))
					v := Visit{Gap: gap, Changed: age < gap}
					if use && v.Changed {
						v.Age = age
					}
					h.Saw(&o, v)
				}
				s.add(math.Log(o.Estimate(&h).Seconds() / day.Seconds()))
			}
			return s.mean(), s.sd()
		}
		_, without := sd(false)
		bias, with := sd(true)
		t.Logf("estimator %d: sd of ln I %.3f, with Last-Modified %.3f, bias %.3f", o.Estimator, without, with, bias)
		if o.Estimator == Drift && (with > 0.9*without || math.Abs(bias) > 0.05) || math.Abs(bias) > 0.2 {
			t.Error("Last-Modified does not help")
		}
	}
	o := DefaultOptions()
	for name, v := range map[string]Visit{
		"in the future":                   {Gap: day, Changed: true, Age: -time.Hour},
		"before the gap":                  {Gap: day, Changed: true, Age: 2 * day},
		"at the moment of asking":         {Gap: day, Changed: true, Age: time.Second},
		"within the gap without a change": {Gap: day, Age: time.Hour},
	} {
		var with, without History
		with.Saw(&o, v)
		without.Visited(&o, v.Gap, v.Changed)
		if with != without {
			t.Errorf("a Last-Modified %s is believed", name)
		}
	}
}

func TestNextIsBoundedWhateverHappened(t *testing.T) {
	rnd := rand.New(rand.NewPCG(*seed, 8))
	narrow := DefaultOptions()
	narrow.Min, narrow.Max = time.Minute, time.Minute+time.Second
	narrow.FirstMin, narrow.FirstMax = narrow.Min, narrow.Min
	for _, o := range []Options{DefaultOptions(), equation4(), narrow} {
		if err := o.Validate(); err != nil {
			t.Fatal(err)
		}
		for range 300 {
			var h History
			p := rnd.Float64()
			for range 300 {
				got := o.Next(&h, Prior{}, rnd)
				if got < o.Min || got > o.Max {
					t.Fatalf("%v: %+v", got, h)
				}
				gap := span(min(got.Seconds()*math.Exp(3*rnd.NormFloat64()), 1e9))
				h.Saw(&o, Visit{Gap: gap, Changed: rnd.Float64() < p, Age: time.Duration(rnd.Int64N(int64(gap) + 2))})
			}
		}
	}
}

func FuzzNext(f *testing.F) {
	f.Add(float32(1), float32(2), float32(1), float32(1), float32(1), float32(3), float32(4), float32(0), int64(1e15),
		int64(0), true)
	f.Fuzz(func(t *testing.T, interval, total, stable, least, changes, visits, mean, drifting float32, gap, age int64,
		changed bool) {
		for _, o := range []Options{DefaultOptions(), equation4()} {
			h := History{interval, total, stable, least, changes, visits, mean, drifting}
			for range 3 {
				h.Saw(&o, Visit{Gap: time.Duration(gap), Changed: changed, Age: time.Duration(age)})
				if got := o.Next(&h, Prior{}, rand.New(rand.NewPCG(1, 2))); got < o.Min || got > o.Max {
					t.Fatalf("%v: %+v", got, h)
				}
			}
		}
	})
}

func TestChanged(t *testing.T) {
	o := DefaultOptions()
	page := Evidence{Status: 200, Digest: [20]byte{1}, Main: 2, Sim: 0b1111}
	with := func(change func(e *Evidence)) Evidence {
		e := page
		change(&e)
		return e
	}
	for _, c := range []struct {
		name        string
		old, new    Evidence
		want        Change
		significant bool
	}{
		{"first visit", Evidence{}, page, First, false},
		{"304", page, Evidence{Status: 304}, NotModified, false},
		{"the same bytes", page, page, Identical, false},
		{"another date in the footer", page, with(func(e *Evidence) { e.Digest[0]++ }), Trivial, false},
		{"a word changed", page, with(func(e *Evidence) { e.Digest[0]++; e.Main++; e.Sim ^= 0b111 }), Slight, false},
		{"a paragraph changed", page, with(func(e *Evidence) { e.Digest[0]++; e.Main++; e.Sim ^= 0b1111 << 8 }),
			Substantial, true},
		{"an image changed", Evidence{Status: 200, Digest: [20]byte{1}}, Evidence{Status: 200, Digest: [20]byte{2}},
			Substantial, true},
		{"records without a status", Evidence{Digest: [20]byte{1}}, Evidence{Digest: [20]byte{2}}, Substantial, true},
		{"gone", page, Evidence{Status: 404, Digest: [20]byte{9}}, Vanished, true},
		{"back", Evidence{Status: 404, Digest: [20]byte{9}}, page, Vanished, true},
		{"still gone, with another date", Evidence{Status: 404, Digest: [20]byte{9}},
			Evidence{Status: 404, Digest: [20]byte{8}}, Identical, false},
		{"gone in another way", Evidence{Status: 404}, Evidence{Status: 410}, Slight, false},
	} {
		if got := Changed(c.old, c.new, &o); got != c.want || got.Significant() != c.significant {
			t.Errorf("%s: %v, significant %v", c.name, got, got.Significant())
		}
	}
}

func TestRates(t *testing.T) {
	rnd := rand.New(rand.NewPCG(*seed, 9))
	var r Rates
	var means []time.Duration
	for range 2000 {
		mean := span(math.Exp(math.Log(86400) + 1.5*rnd.NormFloat64()))
		means = append(means, mean)
		r.Add(mean)
	}
	p := r.Prior()
	if p.Pages != 2000 || math.Abs(math.Log(p.Mean.Seconds()/86400)) > 0.1 || math.Abs(p.Spread-1.5) > 0.1 {
		t.Errorf("prior %+v", p)
	}
	b, err := r.MarshalBinary()
	if err != nil {
		t.Fatal(err)
	}
	var back Rates
	if err := back.UnmarshalBinary(b); err != nil || back != r {
		t.Errorf("%v: %v became %v", err, r, back)
	}
	for _, mean := range means {
		r.Move(mean, 0)
	}
	if r != (Rates{}) || r.Prior() != (Prior{}) {
		t.Errorf("with the last page gone: %v", r)
	}
	for i := range RateBins {
		if got := bin(BinMean(i)); got != i {
			t.Errorf("the middle of bin %d lies in bin %d", i, got)
		}
	}
	if bin(1) != 0 || bin(math.MaxInt64) != RateBins-1 {
		t.Error("means beyond the bins")
	}
}

// The record finds out whether estimates foretell anything.
func TestTrust(t *testing.T) {
	for _, c := range []struct {
		name        string
		true        float64 // how far pages really lie from the center, as a power
		least, most float64
	}{
		{"the estimates are right", 1, 0.85, 1},
		{"the pages are half as different", 0.5, 0.35, 0.65},
		{"the pages are all alike", 0, 0, 0.15},
	} {
		rnd := rand.New(rand.NewPCG(*seed, 10))
		var trust Trust
		if s := trust.Share(); s != 0.5 {
			t.Errorf("without a record: %v", s)
		}
		center := 3 * day
		for range 3000 {
			apart := 2 * rnd.NormFloat64()
			mean := span(center.Seconds() * math.Exp(apart))
			truth := 2 * center.Seconds() * math.Exp(c.true*apart) // and all change half as often as estimated
			gap := 5 * day * time.Duration(1+rnd.IntN(3))
			trust.Saw(mean, center, gap, rnd.Float64() < -math.Expm1(-gap.Seconds()/truth))
		}
		if s := trust.Share(); s < c.least || s > c.most {
			t.Errorf("%s: %v", c.name, s)
		}
		b, err := trust.AppendBinary(nil)
		if err != nil {
			t.Fatal(err)
		}
		var back Trust
		if rest, err := back.Decode(append(b, 7)); err != nil || back != trust || len(rest) != 1 {
			t.Errorf("%v: %+v became %+v", err, trust, back)
		}
	}
}

func FuzzDecode(f *testing.F) {
	var r Rates
	r.Add(day)
	var trust Trust
	trust.Saw(day, 2*day, day, true)
	b, _ := trust.AppendBinary(nil)
	b, _ = r.AppendBinary(b)
	f.Add(b)
	f.Fuzz(func(t *testing.T, b []byte) {
		var trust Trust
		rest, err := trust.Decode(b)
		if err != nil {
			return
		}
		if s := trust.Share(); !(s >= 0 && s <= 1) {
			t.Fatalf("share %v", s)
		}
		trust.Saw(day, day, day, true)
		var r Rates
		if r.UnmarshalBinary(rest) != nil {
			return
		}
		if got := Believe(r.Prior().Mean, day, trust.Share()); got <= 0 {
			t.Fatalf("believed %v", got)
		}
	})
}

func TestExplain(t *testing.T) {
	o := DefaultOptions()
	year := float32((500 * day).Seconds())
	for _, c := range []struct {
		h    History
		want string
	}{
		{History{}, "was never visited"},
		{History{Interval: 3 * 86400},
			"was visited once, so nothing is known of its changes: the second visit comes after 3d"},
		{
			History{Interval: 86400, Total: 1e6, Stable: 4e5, Changes: 8, Visits: 12.34, Mean: 86400, Drifting: 4},
			"changes about every 1d, as far as 12.3 visits' worth of evidence tells (of late: 8 changes found, " +
				"unchanged for 40 % of the time); " +
				"it is visited every 1d, when 63 in 100 visits should find a change; it seems to change faster than " +
				"that now",
		},
		{
			History{Interval: 350 * 86400, Total: year, Stable: year, Visits: 3, Mean: year},
			"changes about every 500d, as far as 3 visits' worth of evidence tells (of late: 0 changes found, " +
				"unchanged for 100 % of the time); " +
				"that is beyond 400d, so it is visited after 350d, in case it vanishes",
		},
	} {
		if got := o.Explain(&c.h).String(); got != c.want {
			t.Errorf("%+v:\n%s\nwant\n%s", c.h, got, c.want)
		}
	}
}

// String returns the change in words.
func (c Change) String() string {
	return [...]string{"first visit", "not modified", "identical", "trivial change", "slight change",
		"substantial change", "vanished or back"}[min(c, Vanished)]
}

// equation4 is the paper's own timetable, with the exponential forgetting that it names as an option.
func equation4() Options {
	o := DefaultOptions()
	o.Estimator, o.Forget = Equation4, 0.9
	return o
}
