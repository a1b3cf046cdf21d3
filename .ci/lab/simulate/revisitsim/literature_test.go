package revisitsim

import (
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"testing"
	"time"
)

// Each allocation does best by its own objective: moving visits from any page to any other gains nothing, the capacity
// is used, and the fastest pages are given up by the two that count freshness alone.
func TestAllocationsAreOptimal(t *testing.T) {
	rnd := rand.New(rand.NewPCG(1, 20))
	poissonly := func(lambda, rho float64) float64 { return rho / (rho + lambda) }
	evenly := func(lambda, f float64) float64 {
		if f == 0 {
			return 0
		}
		return -math.Expm1(-lambda/f) * f / lambda
	}
	age := func(lambda, f float64) float64 { // negative: the largest is the least
		x := lambda / f
		if x < 0.01 { // where the terms cancel out
			return -(x/6 - x*x/24 + x*x*x/120 - x*x*x*x/720) / f
		}
		return -(0.5 - 1/x - math.Expm1(-x)/x/x) / f
	}
	penalty := func(lambda, rho float64) float64 { return math.Log(rho / (lambda + rho)) }
	for name, c := range map[string]struct {
		share   Allocation
		value   func(lambda, rate float64) float64
		givesUp bool
	}{
		"Cho and Garcia-Molina": {ChoGarciaMolina, evenly, true},
		"the same, for age":     {ChoGarciaMolinaAge, age, false},
		"Azar":                  {Azar, poissonly, true},
		"LambdaCrawl":           {LambdaCrawl, penalty, false},
	} {
		for range 20 {
			lambdas, pages := make([]float64, 30), make([]float64, 30)
			for i := range lambdas {
				lambdas[i], pages[i] = math.Exp(3*rnd.NormFloat64()), 1
			}
			const capacity = 8.0
			mu := c.share.Fill(lambdas, pages, capacity)
			sum := 0.0
			for i, lambda := range lambdas {
				rate := c.share(lambda, mu)
				sum += rate
				for j, other := range lambdas {
					const step = 1e-5
					there := c.share(other, mu)
					if i == j || rate < 2*step {
						continue
					}
					gain := c.value(other, there+step) - c.value(other, there) + c.value(lambda, rate-step) -
						c.value(lambda, rate)
					if gain > 1e-9 {
						t.Fatalf("%s: moving visits from λ = %v to λ = %v gains %v", name, lambda, other, gain)
					}
				}
			}
			if math.Abs(sum-capacity) > 0.01*capacity { // Cho and Garcia-Molina's share ends steeply at λμ = 1
				t.Errorf("%s: %v visits of %v", name, sum, capacity)
			}
			if fastest := c.share(slices.Max(lambdas)*1e6, mu); (fastest == 0) != c.givesUp {
				t.Errorf("%s: a page that always changes is visited %v times", name, fastest)
			}
		}
	}
}

// When the rates are known, the simulated visits reach what Azar et al. and Kolobov et al. derive for them: freshness
// Σ ρ/(ρ + λ), harmonic penalty Σ ln((λ + ρ)/ρ), within 1 %.
func TestKnownRatesReachTheOptimumOfThePapers(t *testing.T) {
	site := Poisson("poisson", 300, 2000*86400, 86400, 100*86400, rand.New(rand.NewPCG(1, 21)))
	life := float64(2000 * 86400)
	for _, budget := range []float64{0.5, 1, 2} {
		r := run(t, []Site{site}, []float64{budget}, "oracle-azar", "oracle-lambdacrawl")
		var lambdas, pages []float64
		for _, p := range site.Pages {
			if n := len(p.Changes); n > 0 {
				lambdas, pages = append(lambdas, float64(n)/life), append(pages, 1)
			}
		}
		capacity := budget * float64(site.Versions()) / life
		var fresh, penalty float64
		azar, lambdaCrawl := Allocation(Azar).Fill(lambdas, pages, capacity),
			Allocation(LambdaCrawl).Fill(lambdas, pages, capacity)
		for _, lambda := range lambdas {
			rho := Azar(lambda, azar)
			fresh += rho / (rho + lambda)
			rho = LambdaCrawl(lambda, lambdaCrawl)
			penalty += math.Log((lambda + rho) / rho)
		}
		n := float64(len(lambdas))
		fresh, penalty = fresh/n, penalty/n
		a, l := scoreOf(r.Totals, "oracle-azar", budget, ""), scoreOf(r.Totals, "oracle-lambdacrawl", budget, "")
		t.Logf("budget %v: freshness %.4f, Azar's optimum %.4f; penalty %.4f, LambdaCrawl's optimum %.4f", budget,
			a.Freshness(), fresh, l.Harmonic(), penalty)
		if a.Freshness() < 0.99*fresh {
			t.Errorf("budget %v: freshness %v, more than 1 %% below %v", budget, a.Freshness(), fresh)
		}
		if l.Harmonic() > 1.01*penalty {
			t.Errorf("budget %v: penalty %v, more than 1 %% above %v", budget, l.Harmonic(), penalty)
		}
	}
}

// The measures of a page are those that looking at it every second would find.
func TestMeasuresAgainstLookingEverySecond(t *testing.T) {
	site := Site{Name: "s", Pages: []Page{
		{End: 4000, Changes: []int64{400, 500, 900, 2500, 3990}},
		{Born: 1000, End: 3000, Deleted: true, Changes: []int64{1500, 3000}},
		{Born: 10, End: 4000},
	}}
	for _, name := range []string{"fixed", "oracle-rates", "oracle-static"} {
		r := run(t, []Site{site}, []float64{1.5}, name)
		s := r.Totals[0]
		if s.Life != 3990+2000+4000 || s.Stale <= 0 || s.Stale > s.Life || s.BlurSum < s.HarmonicSum ||
			s.HarmonicSum < s.Stale {
			t.Errorf("%s: %+v", name, s)
		}
	}
	p := &site.Pages[0]
	var got, want Score
	replay(p, 4, &got)                                         // at 1000, 2000, 3000 and 4000
	if want := 400. + 1600 + 1490 + 10; got.ShownSum != want { // the versions from 400 and 500 on were not captured
		t.Errorf("%v seconds are shown as they were, %v would be", got.ShownSum, want)
	}
	for at := range 4000 {
		visit := int64(at / 1000 * 1000)
		missed, first := 0, 0
		for _, c := range p.Changes {
			if c > visit && c <= int64(at) {
				if missed++; missed == 1 {
					first = int(c)
				}
				want.HarmonicSum += 1 / float64(missed)
			}
		}
		if missed > 0 {
			want.Stale++
			want.AgeSum += float64(at-first) + 0.5
			want.BlurSum += float64(missed)
		}
	}
	for _, c := range [][2]float64{{got.Stale, want.Stale}, {got.AgeSum, want.AgeSum},
		{got.HarmonicSum, want.HarmonicSum}, {got.BlurSum, want.BlurSum}} {
		if math.Abs(c[0]-c[1]) > 1e-6*c[1] {
			t.Errorf("%v, every second %v", c[0], c[1])
		}
	}
}

// How the estimators of the literature do on Poisson pages visited at gaps of one mean interval, drawn from the
// exponential distribution for which three of them are made and evenly: go test -run TestEstimators -v
// ./actors/revisit/revisitsim
// Signals of which all are true save visits that find nothing; such of which none is are found out by henro.
func TestSignalsAreHeededAsFarAsTheyAreTrue(t *testing.T) {
	sites := []Site{Poisson("poisson", 200, 1000*86400, 5*86400, 50*86400, rand.New(rand.NewPCG(1, 23)))}
	share := func(s Signals, name string) float64 {
		o := DefaultOptions()
		o.Sites, o.Policies, o.Budgets, o.Signals = sites, []string{name}, []float64{1}, s
		r, err := Run(t.Context(), o)
		if err != nil {
			t.Fatal(err)
		}
		return r.Totals[0].Share()
	}
	base := share(Signals{}, "drift+optimal")
	for _, name := range []string{"drift+optimal+hints", "noisy-signals"} {
		honest, partly, lying := share(Signals{Recall: 1}, name), share(Signals{Recall: 0.5, Noise: 0.2}, name),
			share(Signals{Noise: 5}, name)
		t.Logf("%s captures %.3f, %.3f and %.3f, %.3f without signals", name, honest, partly, lying, base)
		if honest < base+0.15 || name == "drift+optimal+hints" && honest < 0.9 || partly < base+0.03 {
			t.Errorf("%s: %v of the versions by honest signals, %v by half of them, %v without", name, honest, partly,
				base)
		}
		if lying < 0.9*base {
			t.Errorf("%s: %v of the versions by lies, %v without", name, lying, base)
		}
	}
}

// What an archive tells beforehand is worth visits: of pages of rates far apart more versions are captured.
func TestAnArchiveIsAHeadStart(t *testing.T) {
	sites := SecondHalves([]Site{Poisson("poisson", 300, 400*86400, 86400, 200*86400, rand.New(rand.NewPCG(1, 24)))},
		10*24*time.Hour)
	for _, p := range sites[0].Pages {
		if len(p.Archive) == 0 || p.Born < 190*86400 || p.Born > 200*86400 ||
			len(p.Changes) > 0 && p.Changes[0] <= p.Born {
			t.Fatalf("born at %d with %d captures before, first change %v", p.Born, len(p.Archive), p.Changes)
		}
	}
	r := run(t, sites, []float64{1}, "drift+optimal", "drift+optimal+archive")
	cold, warm := r.Totals[0], r.Totals[1]
	if t.Logf("%.3f, with the archive %.3f", cold.Share(), warm.Share()); warm.Share() < cold.Share()+0.01 {
		t.Errorf("%v of the versions, %v with an archive", cold.Share(), warm.Share())
	}
}

func TestEstimators(t *testing.T) {
	for name, c := range map[string]struct{ random, even, spread float64 }{ // bias of ln I that is borne, sd
		"naive":                {0.8, 0.6, 0.2}, // it sees one change per visit at most
		"cho-garcia-molina":    {0.5, 0.03, 0.2},
		"lambdacrawl":          {0.1, 0.1, 0.35},
		"avrachenkov-lln":      {0.03, 0.65, 0.25},
		"avrachenkov-sa":       {0.1, 0.7, 0.5},
		"avrachenkov-momentum": {0.1, 0.7, 0.5},
	} {
		var bias [2]float64
		for i, even := range []bool{false, true} {
			rnd := rand.New(rand.NewPCG(1, 22))
			var sum, squares float64
			const pages = 2000
			for range pages {
				e := Estimators()[name]()
				for range 100 {
					gap := 1.0
					if !even {
						gap = rnd.ExpFloat64()
					}
					e.Saw(gap*86400, rnd.Float64() < -math.Expm1(-gap))
				}
				ln := math.Log(e.Mean() / 86400)
				sum += ln
				squares += ln * ln
			}
			bias[i] = sum / pages
			sd := math.Sqrt(max(0, squares/pages-bias[i]*bias[i]))
			t.Logf("%s, even gaps %v: bias of ln I %+.3f, sd %.3f", name, even, bias[i], sd)
			if sd > c.spread {
				t.Errorf("%s: sd of ln I %v above %v", name, sd, c.spread)
			}
		}
		if math.Abs(bias[0]) > c.random || math.Abs(bias[1]) > c.even {
			t.Errorf("%s: bias of ln I %+.3f at random gaps, %+.3f at even ones", name, bias[0], bias[1])
		}
	}
}

// A site has no part in the choice by which it is judged: each is scored by what is best on the others.
func TestLeaveOneSiteOut(t *testing.T) {
	score := func(site, policy string, captured int) Score {
		return Score{Site: site, Policy: policy, Budget: 1, Versions: 100, Captured: captured}
	}
	r := Result{Scores: []Score{
		score("a", "x", 90), score("b", "x", 10), score("c", "x", 30),
		score("a", "y", 20), score("b", "y", 50), score("c", "y", 40),
		score("a", "oracle-rates", 99), score("b", "oracle-rates", 99), score("c", "oracle-rates", 99),
	}}
	choice := r.LeaveOneSiteOut(false) // a: y (90 of x's 40), b and c: x
	of := func(site string) string { return choice.BySite[site] }
	if of("a") != "y" || of("b") != "x" || of("c") != "x" || choice.Overall != "x" {
		t.Errorf("%+v", choice)
	}
	if shares := r.Chosen(of, "", false); !slices.Equal(shares, []float64{0.2}) { // 20, 10 and 30 of 300
		t.Errorf("captured: %v", shares)
	}
}

// A large site decides what captures most of all versions, and has one voice where sites count alike.
func TestLeaveOneSiteOutWithSitesAlike(t *testing.T) {
	score := func(site, class, policy string, versions, captured int) Score {
		return Score{Site: site, Class: class, Policy: policy, Budget: 1, Versions: versions, Captured: captured}
	}
	r := Result{Scores: []Score{
		score("large", "l", "x", 1000, 900), score("a", "s", "x", 10, 1), score("b", "s", "x", 10, 1),
		score("large", "l", "y", 1000, 800), score("a", "s", "y", 10, 9), score("b", "s", "y", 10, 9),
	}}
	for alike, want := range map[bool]string{false: "x", true: "y"} {
		choice := r.LeaveOneSiteOut(alike, "x", "y")
		if choice.Overall != want || choice.BySite["a"] != want || choice.BySite["large"] != "y" {
			t.Errorf("alike %t: %+v", alike, choice)
		}
	}
	small := r.Chosen(func(string) string { return "y" }, "s", true)
	if len(small) != 1 || math.Abs(small[0]-0.9) > 1e-9 {
		t.Errorf("captured on small sites: %v", small)
	}
}

func TestPoliciesWithOtherConstants(t *testing.T) {
	site := Poisson("poisson", 30, 300*86400, 86400, 100*86400, rand.New(rand.NewPCG(1, 23)))
	r := run(t, []Site{site}, []float64{1}, "drift+optimal", "drift+optimal:forget=0.5:prior=1d",
		"drift+optimal:prior=30d")
	if r.Totals[0].LagSum == r.Totals[1].LagSum || r.Totals[0].LagSum != r.Totals[2].LagSum {
		t.Errorf("%+v", r.Totals)
	}
	for _, name := range []string{"drift:forget=2", "drift:forget", "drift:mood=1", "nutch:forget=0.5",
		"drift:prior=x"} {
		o := DefaultOptions()
		o.Sites, o.Policies = []Site{site}, []string{name}
		if o.Validate() == nil {
			t.Errorf("%q is taken", name)
		}
	}
}

// On a site whose folders change in releases, pages that follow the clock of their folder capture more than pages that
// follow the calendar; and on one of constant rates, about as much.
func TestRoundsFollowReleases(t *testing.T) {
	rnd := rand.New(rand.NewPCG(1, 31))
	released := Site{Name: "released", Class: "made"}
	for folder := range 10 {
		var releases []int64
		for at := rnd.ExpFloat64() * 100; at < 2000; at += 5 + rnd.ExpFloat64()*100 {
			releases = append(releases, int64(at*86400)+1)
		}
		for page := range 30 {
			released.Pages = append(released.Pages, Page{Name: fmt.Sprintf("%d/%d", folder, page), End: 2000 * 86400,
				Changes: releases})
		}
	}
	constant := Poisson("constant", 300, 400*86400, 86400, 200*86400, rnd)
	r := run(t, []Site{released, constant}, []float64{1}, "drift+optimal", "drift+optimal+rounds")
	calendar, clock := r.Scores[0].Share(), r.Scores[2].Share()
	if clock < calendar+0.01 {
		t.Errorf("releases: captured %.3f by the clock, %.3f by the calendar", clock, calendar)
	}
	calendar, clock = r.Scores[1].Share(), r.Scores[3].Share()
	if clock < calendar-0.02 {
		t.Errorf("constant rates: captured %.3f by the clock, %.3f by the calendar", clock, calendar)
	}
}

// Where the depth of a page says how often it changes, a host that has learnt so captures more, and most if the
// archives of others have taught it beforehand.
func TestCovariatesAreLearntPerHostAndAcrossHosts(t *testing.T) {
	rnd := rand.New(rand.NewPCG(1, 32))
	site := func(name string) Site {
		s := Site{Name: name, Class: "made"}
		for i := range 400 {
			mean, path := 400.*86400, "a/b/c/"
			if i%4 == 0 {
				mean, path = 10.*86400, ""
			}
			p := Page{Name: path + string(rune('a'+i%26)) + "x", End: 1000 * 86400}
			for at := rnd.ExpFloat64() * mean; at < 1000*86400; at += 60 + rnd.ExpFloat64()*mean {
				p.Changes = append(p.Changes, int64(at)+1)
			}
			s.Pages = append(s.Pages, p)
		}
		return s
	}
	sites := SecondHalves([]Site{site("a"), site("b"), site("c")}, 30*24*time.Hour)
	weights := weightsOfOthers(sites, "a")
	if weights[1] > -0.5 { // three more slashes: a fortieth of the changes
		t.Errorf("weights of others: %v", weights)
	}
	if none := weightsOfOthers(sites[:1], "a"); none != ([kinds]float64{}) {
		t.Errorf("weights without others: %v", none)
	}
	r := run(t, sites, []float64{0.5}, "drift+optimal", "drift+optimal+covariates:across=0", "drift+optimal+covariates")
	plain, host, across := r.Totals[0].Share(), r.Totals[1].Share(), r.Totals[2].Share()
	if host < plain+0.01 || across < host+0.01 {
		t.Errorf("captured %.3f without covariates, %.3f with the host's, %.3f with those of others", plain, host,
			across)
	}
}

// The two halves of a site's time have each version once, but for those that the archive's latest captures show.
func TestHalvesOfTime(t *testing.T) {
	site := Poisson("poisson", 50, 400*86400, 86400, 200*86400, rand.New(rand.NewPCG(1, 33)))
	first, second := FirstHalves([]Site{site}), SecondHalves([]Site{site}, 24*time.Hour)
	middle := site.middle()
	for i, p := range site.Pages {
		n := 0
		for _, c := range p.Changes {
			if c <= middle {
				n++
			}
		}
		if got := first[0].Pages[i]; len(got.Changes) != n || got.End != middle || got.Deleted {
			t.Fatalf("page %d: %d changes of %d until the middle, end %d", i, len(got.Changes), n, got.End)
		}
		if rest := second[0].Pages[i].Changes; len(rest) < len(p.Changes)-n {
			t.Fatalf("page %d: %d changes after the middle, %d in all", i, len(rest), len(p.Changes))
		}
	}
	sample := Sample([]Site{site}, 100)
	if n := sample[0].Versions(); n < 100 || n > 150 || len(sample[0].Pages) >= len(site.Pages) {
		t.Errorf("a sample of 100 versions has %d of %d pages", n, len(sample[0].Pages))
	}
	if again := Sample([]Site{site}, 100); again[0].Pages[0].Name != sample[0].Pages[0].Name {
		t.Error("another sample")
	}
}
