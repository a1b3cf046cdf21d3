package revisitsim

import (
	"cmp"
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"
	"time"

	"henro/actors/politeness"
	"henro/actors/revisit"
)

// entry is a policy by name: one of henro's own, another that learns from visits, or an oracle.
type entry struct {
	name   string
	own    *timetable
	make   func(w *world) policy
	oracle func(site *Site, requests float64, score *Score)
}

// timetable is the choices of henro's own policies.
type timetable struct {
	o        revisit.Options
	relief   politeness.Relief
	modified bool // Last-Modified is there and true
	archive  bool // what Page.Archive tells is known beforehand
}

const day = 86400.0

var policies = []entry{
	{name: "fixed", make: func(*world) policy { return fixed{} }},
	{name: "nutch", make: newNutch},
	{name: "stormcrawler", make: newStorm},
	{name: "eq2", make: newExact},
	{name: "eq4-cumulative", own: &timetable{o: cumulative()}},
	{name: "eq4", own: &timetable{o: revisit.Equation4Options()}},
	{name: "eq4+optimal", own: &timetable{o: revisit.Equation4Options(), relief: politeness.Optimal}},
	{name: "drift", own: &timetable{o: revisit.DefaultOptions()}},
	{name: "drift+stretch", own: &timetable{o: revisit.DefaultOptions(), relief: politeness.Stretch}},
	{name: "drift+delay", own: &timetable{o: revisit.DefaultOptions(), relief: politeness.Delay}},
	{name: "drift+optimal", own: &timetable{o: revisit.DefaultOptions(), relief: politeness.Optimal}},
	{name: "drift+optimal+modified", own: &timetable{o: revisit.DefaultOptions(), relief: politeness.Optimal,
		modified: true}},
	{name: "drift+optimal+archive", own: &timetable{o: revisit.DefaultOptions(), relief: politeness.Optimal,
		archive: true}},
	{name: "drift+optimal+hints", make: newHinted},
	{name: "noisy-signals", make: newNoisy},
	{name: "drift+freshness", own: &timetable{o: aimedAt(revisit.Freshness), relief: politeness.Optimal}},
	{name: "drift+age", own: &timetable{o: aimedAt(revisit.Age), relief: politeness.Optimal}},
	{name: "drift+optimal+releases", make: newReleases},
	{name: "cho-garcia-molina", make: newAllocating(ChoGarciaMolina, Estimators()["cho-garcia-molina"])},
	{name: "cho-garcia-molina-age", make: newAllocating(ChoGarciaMolinaAge, Estimators()["cho-garcia-molina"])},
	{name: "azar", make: newAllocating(Azar, Estimators()["cho-garcia-molina"])},
	{name: "lambdacrawl", make: newAllocating(LambdaCrawl, Estimators()["lambdacrawl"])},
	{name: "avrachenkov-lln", make: newAllocating(Azar, Estimators()["avrachenkov-lln"])},
	{name: "avrachenkov-sa", make: newAllocating(Azar, Estimators()["avrachenkov-sa"])},
	{name: "avrachenkov-momentum", make: newAllocating(Azar, Estimators()["avrachenkov-momentum"])},
	{name: "oracle-azar", make: newKnowing(Azar)},
	{name: "oracle-lambdacrawl", make: newKnowing(LambdaCrawl)},
	{name: "oracle-rates", oracle: oracleRates},
	{name: "oracle-static", oracle: oracleStatic},
}

func aimedAt(objective revisit.Objective) revisit.Options {
	o := revisit.DefaultOptions()
	o.Objective = objective
	return o
}

func cumulative() revisit.Options {
	o := revisit.Equation4Options()
	o.Forget = 1
	return o
}

// find returns the policy of a name. One of henro's own may have other constants than the default ones:
// "drift+optimal:forget=0.95:prior=10d".
func find(name string) (entry, error) {
	base, constants, varied := strings.Cut(name, ":")
	i := slices.IndexFunc(policies, func(e entry) bool { return e.name == base })
	switch {
	case i < 0:
		return entry{}, fmt.Errorf("revisitsim: no policy %q: there are %v", name, Policies())
	case !varied && policies[i].own == nil:
		return policies[i], nil
	case policies[i].own == nil:
		return entry{}, fmt.Errorf("revisitsim: policy %q: only eq4 and drift have constants to vary", name)
	}
	own := *policies[i].own
	for _, constant := range strings.FieldsFunc(constants, func(r rune) bool { return r == ':' }) {
		key, value, _ := strings.Cut(constant, "=")
		number, err := strconv.ParseFloat(strings.TrimSuffix(value, "d"), 64)
		if err != nil {
			return entry{}, fmt.Errorf("revisitsim: policy %q: %q: want a number, prior in days", name, constant)
		}
		switch key {
		case "forget":
			own.o.Forget = number
		case "prior":
			own.o.PriorMean = time.Duration(number * day * 1e9)
		case "spread":
			own.o.PriorSpread = number
		case "threshold":
			own.o.DriftThreshold = number
		default:
			return entry{}, fmt.Errorf(
				"revisitsim: policy %q: no constant %q: there are forget, prior, spread and threshold", name, key)
		}
	}
	if err := own.o.Validate(); err != nil {
		return entry{}, fmt.Errorf("revisitsim: policy %q: %w", name, err)
	}
	return entry{name: name, own: &own,
		make: func(w *world) policy { return newHenro(w, &own) }}, nil
}

// Policies returns the names of all policies.
func Policies() []string {
	names := make([]string, len(policies))
	for i, p := range policies {
		names[i] = p.name
	}
	return names
}

// fixed visits all pages in turn.
type fixed struct{}

func (fixed) next(visit) float64 { return 30 * day }

// nutch is Apache Nutch's AdaptiveFetchSchedule with the values of its nutch-default.xml.
type nutch struct {
	interval, modified []float64
}

func newNutch(w *world) policy {
	n := len(w.site.Pages)
	return &nutch{make([]float64, n), make([]float64, n)}
}

func (p *nutch) next(v visit) float64 {
	const (
		initial     = 30 * day
		increase    = 0.4
		decrease    = 0.2
		least, most = 60, 365 * day
		syncRate    = 0.3
	)
	t, modified := &p.interval[v.page], &p.modified[v.page]
	switch {
	case *t == 0:
		*t, *modified = initial, v.at
		return *t
	case v.changed:
		*t *= 1 - decrease
		*modified = v.at
	default:
		*t *= 1 + increase
	}
	delta := v.at - *modified
	*t = max(*t, delta)
	*t = min(max(*t, least), most)
	return max(*t-delta*syncRate, least)
}

// exact is eq. (2), solved again at each visit from the latest intervals of the page, with the paper's singular cases.
type exact struct {
	changed, unchanged [][]float64
	interval           []float64
}

const window = 20 // intervals kept of each kind

func newExact(w *world) policy {
	n := len(w.site.Pages)
	return &exact{make([][]float64, n), make([][]float64, n), make([]float64, n)}
}

func (p *exact) next(v visit) float64 {
	t := &p.interval[v.page]
	if v.gap == 0 {
		*t = 7 * day
		return *t
	}
	kind := &p.unchanged[v.page]
	if v.changed {
		kind = &p.changed[v.page]
	}
	if len(*kind) == window {
		*kind = append((*kind)[:0], (*kind)[1:]...)
	}
	*kind = append(*kind, v.gap)
	switch mean := revisit.MLE(p.changed[v.page], p.unchanged[v.page]); {
	case math.IsInf(mean, 1):
		*t *= 2
	case mean == 0:
		*t /= 2
	default:
		*t = mean
	}
	*t = min(max(*t, 600), 400*day)
	return *t
}

// storm is StormCrawler's AdaptiveScheduler with its default values.
type storm struct{ interval []float64 }

func newStorm(w *world) policy { return &storm{make([]float64, len(w.site.Pages))} }

func (p *storm) next(v visit) float64 {
	const initial, rate, least, most = day, 0.5, 3600, 14 * day
	t := &p.interval[v.page]
	switch {
	case *t == 0:
		*t = initial
	case v.changed:
		*t = max(*t*(1-rate), least)
	default:
		*t = min(*t*(1+rate), most)
	}
	return *t
}

// henro is package revisit with a relief of package politeness, used as a host uses it that visits its pages as
// often as the budget allows.
type henro struct {
	timetable
	w       *world
	plan    politeness.Plan
	pages   []revisit.History
	mean    []time.Duration // as counted in rates
	rates   revisit.Rates
	trust   revisit.Trust
	prior   revisit.Prior
	visits  int
	waited  bool // the visit waited for the change that a signal announced
	foreign bool // the visit was not at the page's own time: it is no evidence of its rate
}

func newHenro(w *world, t *timetable) policy {
	return &henro{w: w, timetable: *t, pages: make([]revisit.History, len(w.site.Pages)),
		mean: make([]time.Duration, len(w.site.Pages))}
}

func (p *henro) next(v visit) float64 {
	h := &p.pages[v.page]
	mean := &p.mean[v.page]
	seen := revisit.Visit{Gap: time.Duration(v.gap * 1e9), Changed: v.changed, Waited: p.waited}
	if p.modified {
		seen.Age = time.Duration(v.age * 1e9)
	}
	if !p.waited { // which is no test of the estimates
		p.trust.Saw(cmp.Or(*mean, p.prior.Center(&p.o)), p.prior.Center(&p.o), seen.Gap, v.changed)
	}
	if !p.foreign {
		h.Saw(&p.o, seen)
	}
	if v.gone {
		p.rates.Remove(*mean)
		return math.Inf(1)
	}
	t := p.o.Next(h, p.prior, p.w.rnd)
	if archived := p.w.site.Pages[v.page].Archive; p.archive && v.gap == 0 && len(archived) > 0 {
		for _, a := range archived { // as henro import takes them
			h.Visited(&p.o, a.Gap, a.Changed)
		}
		t = p.o.Next(h, p.prior, p.w.rnd)
	}
	estimate := p.o.Estimate(h)
	p.rates.Move(*mean, estimate)
	*mean = estimate
	if p.visits%max(1, min(p.w.alive/20, 100)) == 0 {
		p.prior = p.rates.Prior()
		p.plan = politeness.Fit(p.relief, politeness.Demand{
			Rates: &p.rates, Unknown: p.w.alive - p.rates.Pages(), Center: p.prior.Center(&p.o), Trust: p.trust.Share(),
			Aim: p.o.Aim, Min: p.o.Min, Max: p.o.Max, Objective: p.o.Objective,
		}, p.w.capacity())
		if p.relief == politeness.Delay { // which cannot shorten: then the timetable holds
			p.plan.By = max(p.plan.By, 0)
		}
	}
	p.visits++
	return p.plan.Interval(t, estimate, seen.Gap).Seconds()
}
