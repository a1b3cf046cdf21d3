package revisitsim

import (
	"cmp"
	"encoding/binary"
	"fmt"
	"maps"
	"math"
	"slices"
	"strconv"
	"strings"
	"time"

	"henro/actors/politeness"
	"henro/actors/revisit"
	"henro/actors/revisit/revisittest"
	"henro/actors/template"
)

// entry is a policy by name: one that learns from visits, or an oracle.
type entry struct {
	name      string
	constants []Constant
	make      func(w *world, c constants) policy
	oracle    func(site *Site, requests float64, score *Score)

	chosen constants // the constants that the policy is run with
}

// Constant is a number that somebody chose for a policy.
type Constant struct {
	Name    string
	Default float64
	Others  []float64 // what else it might be, to be chosen by the sites that are not left out
}

// constants are the values of an entry's constants.
type constants map[string]float64

// timetable is the choices of henro's own policies.
type timetable struct {
	o        revisit.Options
	relief   politeness.Relief
	modified bool // Last-Modified is there and true
	archive  bool // what Page.Archive tells is known beforehand
}

const day = 86400.0

// with returns the timetable with other constants.
func (t timetable) with(c constants) timetable {
	t.o.Forget, t.o.PriorSpread = c["forget"], c["spread"]
	t.o.PriorMean = time.Duration(c["prior"] * day * 1e9)
	t.o.DriftThreshold, t.o.DriftFactor = c["threshold"], c["factor"]
	return t
}

// own returns one of henro's own policies.
func own(name string, t timetable) entry {
	e := entry{name: name, make: func(w *world, c constants) policy { return newHenro(w, t.with(c), c) },
		constants: []Constant{
			{"forget", t.o.Forget, []float64{0.8, 0.9, 0.95, 0.985}},
			{"prior", t.o.PriorMean.Hours() / 24, []float64{10, 90}},
			{"spread", t.o.PriorSpread, []float64{1, 3}},
			{"threshold", t.o.DriftThreshold, []float64{5, 8}},
			{"factor", t.o.DriftFactor, []float64{3, 6}},
		}}
	if t.relief == politeness.Optimal {
		e.constants = append(e.constants,
			Constant{"growth", defaultGrowth, []float64{1.2, 2, 3}},
			Constant{"lean", 0, []float64{-1, -3}},
			Constant{"memory", defaultMemory, []float64{500, 10000}})
	}
	return e
}

// published returns a policy of the literature: an allocation with rates learnt by an estimator.
func published(name string, share Allocation, estimator func(constants) func() Estimator, more ...Constant) entry {
	return entry{name: name, constants: append([]Constant{{"explore", 0.05, []float64{0, 0.01, 0.2, 0.5}}}, more...),
		make: func(w *world, c constants) policy { return newAllocating(w, share, estimator(c), c["explore"]) }}
}

// plain returns a policy without constants.
func plain(name string, make func(w *world) policy) entry {
	return entry{name: name, make: func(w *world, _ constants) policy { return make(w) }}
}

var policies = []entry{
	plain("fixed", func(*world) policy { return fixed{} }),
	{name: "nutch", make: newNutch, constants: []Constant{{"increase", 0.4, []float64{0.2, 0.8}},
		{"decrease", 0.2, []float64{0.1, 0.4}}, {"sync", 0.3, []float64{0, 0.6}}}},
	{name: "stormcrawler", make: newStorm, constants: []Constant{{"rate", 0.5, []float64{0.25, 0.75}},
		{"most", 14, []float64{90, 400}}, {"first", 1, []float64{7, 30}}}},
	plain("eq2", newExact),
	own("eq4-cumulative", timetable{o: cumulative()}),
	own("eq4", timetable{o: equation4()}),
	own("eq4+optimal", timetable{o: equation4(), relief: politeness.Optimal}),
	own("drift", timetable{o: revisit.DefaultOptions()}),
	own("drift+stretch", timetable{o: revisit.DefaultOptions(), relief: politeness.Stretch}),
	own("drift+delay", timetable{o: revisit.DefaultOptions(), relief: politeness.Delay}),
	own("drift+optimal", byDefault),
	own("drift+template", timetable{o: revisit.DefaultOptions(), relief: politeness.Template}),
	own("drift+optimal+modified", timetable{o: byDefault.o, relief: byDefault.relief, modified: true}),
	own("drift+optimal+archive", timetable{o: byDefault.o, relief: byDefault.relief, archive: true}),
	plain("drift+optimal+hints", newHinted),
	plain("noisy-signals", newNoisy),
	own("drift+freshness", timetable{o: aimedAt(revisit.Freshness), relief: politeness.Optimal}),
	own("drift+age", timetable{o: aimedAt(revisit.Age), relief: politeness.Optimal}),
	{name: "drift+optimal+noise", make: newNoisily, constants: []Constant{{"share", 0.3, []float64{0.1, 1}},
		{"left", 0, []float64{1}}}},
	plain("drift+optimal+releases", newReleases),
	{name: "drift+optimal+covariates", make: newCovariates, constants: []Constant{{"host", 20, []float64{5, 100}},
		{"folder", 5, []float64{1, 20, 1e6}}, {"across", 1, []float64{0}}, {"own", 0, []float64{1}}}},
	{name: "drift+optimal+rounds", make: newRounds, constants: []Constant{{"site", 4, []float64{1, 16}},
		{"folder", 2, []float64{1, 8}}, {"clock", -1, []float64{0.25, 0.5, 0.75}}}},
	published("cho-garcia-molina", ChoGarciaMolina, always("cho-garcia-molina")),
	published("cho-garcia-molina-age", ChoGarciaMolinaAge, always("cho-garcia-molina")),
	published("azar", Azar, always("cho-garcia-molina")),
	published("lambdacrawl", LambdaCrawl, func(c constants) func() Estimator {
		return func() Estimator { return &smoothedMLE{window: int(c["window"])} }
	}, Constant{"window", window, []float64{5, 10, 50}}),
	published("avrachenkov-lln", Azar, always("avrachenkov-lln")),
	published("avrachenkov-sa", Azar, approximation(false), Constant{"exponent", 0.75, []float64{0.6, 0.9}}),
	published("avrachenkov-momentum", Azar, approximation(true), Constant{"exponent", 0.75, []float64{0.6, 0.9}}),
	plain("oracle-azar", newKnowing(Azar)),
	plain("oracle-lambdacrawl", newKnowing(LambdaCrawl)),
	{name: "oracle-rates", oracle: oracleRates},
	{name: "oracle-static", oracle: oracleStatic},
}

// byDefault is the timetable of a crawl without options.
var byDefault = timetable{o: revisit.DefaultOptions(), relief: politeness.Optimal}

func always(name string) func(constants) func() Estimator {
	return func(constants) func() Estimator { return Estimators()[name] }
}

func approximation(momentum bool) func(constants) func() Estimator {
	return func(c constants) func() Estimator {
		return func() Estimator { return &sa{momentum: momentum, exponent: c["exponent"]} }
	}
}

func aimedAt(objective revisit.Objective) revisit.Options {
	o := revisit.DefaultOptions()
	o.Objective = objective
	return o
}

// equation4 is the paper's own timetable, with the exponential forgetting that it names as an option.
func equation4() revisit.Options {
	o := revisit.DefaultOptions()
	o.Estimator, o.Forget = revisit.Equation4, 0.9
	return o
}

func cumulative() revisit.Options {
	o := equation4()
	o.Forget = 1
	return o
}

// find returns the policy of a name, which may have other constants than the default ones:
// "drift+optimal:forget=0.95:prior=10d".
func find(name string) (entry, error) {
	base, varied, _ := strings.Cut(name, ":")
	i := slices.IndexFunc(policies, func(e entry) bool { return e.name == base })
	if i < 0 {
		return entry{}, fmt.Errorf("revisitsim: no policy %q: there are %v", base, Policies())
	}
	e := policies[i]
	e.name, e.chosen = name, constants{}
	for _, c := range e.constants {
		e.chosen[c.Name] = c.Default
	}
	for _, constant := range strings.FieldsFunc(varied, func(r rune) bool { return r == ':' }) {
		key, value, _ := strings.Cut(constant, "=")
		if _, ok := e.chosen[key]; !ok {
			return entry{}, fmt.Errorf("revisitsim: policy %q: no constant %q: there are %v", name, key,
				slices.Sorted(maps.Keys(e.chosen)))
		}
		number, err := strconv.ParseFloat(strings.TrimSuffix(value, "d"), 64)
		if err != nil || !(math.Abs(number) <= 1e6) {
			return entry{}, fmt.Errorf("revisitsim: policy %q: %q: want a number, times in days", name, constant)
		}
		e.chosen[key] = number
	}
	if _, ok := e.chosen["forget"]; ok {
		t := byDefault.with(e.chosen)
		if err := t.o.Validate(); err != nil {
			return entry{}, fmt.Errorf("revisitsim: policy %q: %w", name, err)
		}
	}
	return e, nil
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
	interval, modified           []float64
	increase, decrease, syncRate float64
}

func newNutch(w *world, c constants) policy {
	n := len(w.site.Pages)
	return &nutch{make([]float64, n), make([]float64, n), c["increase"], c["decrease"], c["sync"]}
}

func (p *nutch) next(v visit) float64 {
	const (
		initial     = 30 * day
		least, most = 60, 365 * day
	)
	t, modified := &p.interval[v.page], &p.modified[v.page]
	switch {
	case *t == 0:
		*t, *modified = initial, v.at
		return *t
	case v.changed:
		*t *= 1 - p.decrease
		*modified = v.at
	default:
		*t *= 1 + p.increase
	}
	delta := v.at - *modified
	*t = max(*t, delta)
	*t = min(max(*t, least), most)
	return max(*t-delta*p.syncRate, least)
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
	switch mean := revisittest.MLE(p.changed[v.page], p.unchanged[v.page]); {
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
type storm struct {
	interval          []float64
	first, rate, most float64
}

func newStorm(w *world, c constants) policy {
	return &storm{make([]float64, len(w.site.Pages)), c["first"] * day, c["rate"], c["most"] * day}
}

func (p *storm) next(v visit) float64 {
	const least = 3600
	t := &p.interval[v.page]
	switch {
	case *t == 0:
		*t = p.first
	case v.changed:
		*t = max(*t*(1-p.rate), least)
	default:
		*t = min(*t*(1+p.rate), p.most)
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
	grows   float64          // growth in defaultGrowth
	keeps   float64          // what is kept of the track record at a visit, beside what it forgets itself
	waited  bool             // the visit waited for the change that a signal announced
	foreign bool             // the visit was not at the page's own time: it is no evidence of its rate
	asked   float64          // what the timetable asks for without relief, visits per second
	offset  float64          // ln of how much faster a page of this kind changes than one in the middle of the host
	groups  *template.Groups // of the pages by the shapes of their names, of the relief template
}

// The constants of henro's relief that are none of its options: see politeness.Plan and revisit.Trust.
const (
	defaultGrowth = 1.5  // how much longer an interval may be than the last one, or than the even one
	defaultMemory = 2000 // visits over which the track record of a host is forgotten
)

func newHenro(w *world, t timetable, c constants) *henro {
	p := &henro{w: w, timetable: t, pages: make([]revisit.History, len(w.site.Pages)),
		mean: make([]time.Duration, len(w.site.Pages)), grows: 1, keeps: 1}
	if t.relief == politeness.Template {
		p.groups = template.New(time.Time{})
	}
	if growth, ok := c["growth"]; ok {
		p.grows = growth / defaultGrowth
		p.keeps = (1 - 1/c["memory"]) / (1 - 1./defaultMemory)
		p.weighTrust(func(i int, _ float32) float32 { return float32(c["lean"] * float64(i)) })
	}
	return p
}

// weighTrust changes the ln likelihood that the host's track record has for each κ, in the form in which it is stored.
func (p *henro) weighTrust(change func(i int, ln float32) float32) {
	b, err := p.trust.AppendBinary(nil)
	if err != nil {
		panic(err)
	}
	if b[0] == 0 { // no record
		b = make([]byte, 1+4*13)
		b[0] = 1
	}
	for i := range 6 {
		place := b[1+4+8*i:]
		binary.LittleEndian.PutUint32(place,
			math.Float32bits(change(i, math.Float32frombits(binary.LittleEndian.Uint32(place)))))
	}
	if slices.Max(b[1:]) == 0 {
		b = b[:1]
		b[0] = 0
	}
	if _, err := p.trust.Decode(b); err != nil {
		panic(err)
	}
}

// group returns the group of a page; nil: there are none.
func (p *henro) group(page int) *template.Group {
	if p.groups == nil {
		return nil
	}
	return p.groups.Of(p.w.site.Pages[page].Name)
}

// center returns the mean interval about which pages of the kind of the page visited lie.
func (p *henro) center(page int) time.Duration {
	center := p.prior.Center(&p.o)
	if group := p.group(page); group != nil {
		return group.Center(center)
	}
	if p.offset == 0 {
		return center
	}
	return time.Duration(float64(center) * math.Exp(-p.offset))
}

func (p *henro) next(v visit) float64 {
	h := &p.pages[v.page]
	mean := &p.mean[v.page]
	seen := revisit.Visit{Gap: time.Duration(v.gap * 1e9), Changed: v.changed, Waited: p.waited}
	if p.modified {
		seen.Age = time.Duration(v.age * 1e9)
	}
	if !p.waited { // which is no test of the estimates
		if p.keeps != 1 {
			p.weighTrust(func(_ int, ln float32) float32 { return ln * float32(p.keeps) })
		}
		center := p.center(v.page)
		p.trust.Saw(cmp.Or(*mean, center), center, seen.Gap, v.changed)
	}
	if !p.foreign {
		h.Saw(&p.o, seen)
	}
	group, prior := p.group(v.page), p.prior
	if group != nil {
		prior = group.Prior(prior)
		if v.gap > 0 {
			group.Remove(*mean)
		}
	}
	if v.gone {
		p.rates.Remove(*mean)
		return math.Inf(1)
	}
	t := p.o.Next(h, prior, p.w.rnd)
	if archived := p.w.site.Pages[v.page].Archive; p.archive && v.gap == 0 && len(archived) > 0 {
		for _, a := range archived { // as henro import takes them
			h.Visited(&p.o, a.Gap, a.Changed)
		}
		t = p.o.Next(h, prior, p.w.rnd)
	}
	estimate := p.o.Estimate(h)
	if group != nil {
		group.Add(estimate)
	}
	p.rates.Move(*mean, estimate)
	*mean = estimate
	if p.visits%max(1, min(p.w.alive/20, 100)) == 0 {
		p.prior = p.rates.Prior()
		demand := politeness.Demand{
			Rates: &p.rates, Unknown: p.w.alive - p.rates.Pages(), Center: p.prior.Center(&p.o), Trust: p.trust.Share(),
			Aim: p.o.Aim, Min: p.o.Min, Max: p.o.Max, Objective: p.o.Objective, Groups: p.groups,
		}
		if p.w.spare > 0 {
			p.asked = politeness.Price(demand, politeness.Plan{Min: demand.Min, Max: demand.Max}).Load
			p.plan, _ = politeness.Relieve(p.relief, demand, p.w.spare)
		} else {
			p.plan = politeness.Fit(p.relief, demand, p.w.capacity())
		}
		if p.relief == politeness.Delay { // which cannot shorten: then the timetable holds
			p.plan.By = max(p.plan.By, 0)
		}
	}
	p.visits++
	plan := p.plan
	if group != nil {
		if group.Representative(p.w.site.Pages[v.page].Name, plan.Sample) {
			return t.Seconds()
		}
		plan.Center = group.Center(plan.Center)
	}
	if p.offset != 0 {
		plan.Center = p.center(v.page)
		estimate = cmp.Or(estimate, plan.Center)
	}
	plan.Even = time.Duration(plan.Even.Seconds() * p.grows * 1e9)
	return plan.Interval(t, estimate, time.Duration(v.gap*p.grows*1e9)).Seconds()
}
