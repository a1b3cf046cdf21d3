package revisit

import (
	"fmt"
	"strconv"
	"strings"
	"time"

	"github.com/spf13/pflag"

	"henro/messages/speech"
)

// Flags adds a flag for each choice that an operator may make, with its value as it is for a default.
func (o *Options) Flags(f *pflag.FlagSet) {
	f.Float64Var(&o.Aim, "aim", o.Aim,
		"revisit interval in mean intervals between changes: with 1, 63 of 100 visits find a change; smaller finds "+
			"more of the versions with more visits")
	f.Var(estimatorFlag{o}, "estimator",
		"how the mean interval between changes is estimated: drift, eq4 (equation (4) of the paper, forgetting 0.90 a "+
			"visit) or eq4-cumulative (nothing forgotten)")
	f.Var((*Span)(&o.Min), "revisit-min", "shortest revisit interval, 1m at least")
	f.Var((*Span)(&o.Max), "revisit-max",
		"longest revisit interval; a page that seems to change less often is visited after three quarters of it or "+
			"more, at random")
	f.Var(rangeFlag{o}, "revisit-first",
		"interval after the first visit of a page, drawn at random from this range, while nothing is known of its "+
			"host: 1d-14d, or one span; pages are then believed to change every four times as long in the mean")
}

// Setting is one choice as flags and reports name it.
type Setting struct {
	Name  string `json:"name"`
	Value string `json:"value"`
}

// Settings lists the choices that an operator may make, as they are.
func (o *Options) Settings() []Setting {
	f, copied := pflag.NewFlagSet("", pflag.ContinueOnError), *o
	f.SortFlags = false
	copied.Flags(f)
	var all []Setting
	f.VisitAll(func(f *pflag.Flag) { all = append(all, Setting{f.Name, f.Value.String()}) })
	if o.Objective != Versions {
		all = append(all, Setting{"relief", o.Objective.String()})
	}
	return all
}

// Span is a time.Duration that people write with days and weeks too: 90m, 7d, 2w, 1d12h.
type Span time.Duration

// ParseSpan reads such a span.
func ParseSpan(text string) (time.Duration, error) {
	var whole time.Duration
	rest := text
	for _, unit := range []struct {
		name string
		size time.Duration
	}{{"w", 7 * day}, {"d", day}} {
		count, after, ok := strings.Cut(rest, unit.name)
		if !ok {
			continue
		}
		n, err := strconv.ParseFloat(count, 64)
		if err != nil || !(n >= 0 && n < 1e4) {
			return 0, fmt.Errorf("%q is no span: want 10m, 12h, 7d or 2w", text)
		}
		whole, rest = whole+time.Duration(n*float64(unit.size)), after
	}
	if rest == "" && whole > 0 {
		return whole, nil
	}
	d, err := time.ParseDuration(rest)
	if err != nil || d < 0 {
		return 0, fmt.Errorf("%q is no span: want 10m, 12h, 7d or 2w", text)
	}
	return whole + d, nil
}

// Set reads a span.
func (s *Span) Set(text string) error {
	d, err := ParseSpan(text)
	if err == nil {
		*s = Span(d)
	}
	return err
}

// String writes the span as it is read.
func (s *Span) String() string { return speech.Span(time.Duration(*s)) }

func (*Span) Type() string { return "span" }

// rangeFlag is FirstMin and FirstMax as two spans, FROM-TO, or one for both. PriorMean follows them: a crawl that has
// pages asked for again after minutes believes that they change within minutes, and with 30 days a page that has
// changed after one minute would wait for half a day.
type rangeFlag struct{ o *Options }

// priorOfFirst is PriorMean in the middles of FirstMin and FirstMax: 30 days for 1 to 14 days.
const priorOfFirst = 4

func (r rangeFlag) Set(text string) error {
	low, high, both := strings.Cut(text, "-")
	if !both {
		high = low
	}
	from, err := ParseSpan(low)
	if err != nil {
		return err
	}
	to, err := ParseSpan(high)
	if err != nil {
		return err
	}
	if to < from {
		return fmt.Errorf("%q ends before it begins", text)
	}
	if to == 0 {
		return fmt.Errorf("%q: want a span above 0", text)
	}
	r.o.FirstMin, r.o.FirstMax, r.o.PriorMean = from, to, priorOfFirst*(from+to)/2
	return nil
}

func (r rangeFlag) String() string {
	if r.o == nil {
		return ""
	}
	return speech.Span(r.o.FirstMin) + "-" + speech.Span(r.o.FirstMax)
}

func (rangeFlag) Type() string { return "span-span" }

// estimators are what --estimator knows. Forgetting belongs to the estimator: see the package comment.
var estimators = []struct {
	name      string
	estimator Estimator
	forget    float64
}{{"drift", Drift, 0.97}, {"eq4", Equation4, 0.9}, {"eq4-cumulative", Equation4, 1}}

// EstimatorName is the name of the estimator for flags and reports.
func (o *Options) EstimatorName() string {
	for _, e := range estimators {
		if e.estimator == o.Estimator && e.forget == o.Forget {
			return e.name
		}
	}
	return fmt.Sprintf("%s forgetting %g", estimators[min(o.Estimator, Equation4)].name, o.Forget)
}

type estimatorFlag struct{ o *Options }

func (e estimatorFlag) Set(text string) error {
	for _, known := range estimators {
		if known.name == text {
			e.o.Estimator, e.o.Forget = known.estimator, known.forget
			return nil
		}
	}
	return fmt.Errorf("%q: want drift, eq4 or eq4-cumulative", text)
}

func (e estimatorFlag) String() string {
	if e.o == nil {
		return ""
	}
	return e.o.EstimatorName()
}

func (estimatorFlag) Type() string { return "string" }
