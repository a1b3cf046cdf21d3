package revisit

import (
	"flag"
	"fmt"
	"math"
	"math/rand/v2"
	"testing"
	"time"
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
	return fmt.Sprintf("bias %+.1f %% (geometric) %+.1f %% (arithmetic), sd of ln I %.3f; re-adapts after ×10 in %d visits (pages: half %d, nine tenths %d), after ÷10 in %d (%d, %d)",
		100*q.geometric, 100*q.arithmetic, q.sd, q.faster, q.halfFaster, q.mostFaster, q.slower, q.halfSlower, q.mostSlower)
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
		if q.faster > 25 || q.slower > 25 || q.halfFaster > 25 || q.halfSlower > 25 || q.mostFaster > 25 || q.mostSlower > 25 {
			t.Errorf("re-adapts in more than 25 visits")
		}
	}
	for _, f := range []float64{1, 0.97, 0.95, 0.9} {
		o := Equation4Options()
		o.Forget = f
		t.Logf("(4), forgetting %v: %v", f, measure(o, 1000, 20*day))
	}
	o := DefaultOptions()
	o.DriftThreshold = 0
	t.Logf("Drift without its test: %v", measure(o, 1000, 20*day))
}
