// Package figures sums up the timetable of a crawl: the figures that Tamura and Kitsuregawa report of theirs [1], and
// what overload costs, for the crawl at hand.
//
// A Collector is shown every page and every host once, in any order, and keeps histograms only; Report turns them into
// numbers, which Charts draws and WriteHTML shows. Figures are numbered as in the paper:
//
//	3  pages by revisit interval T; pages visited only once are left out
//	4  how often a visit finds a change, mean and standard deviation over the pages of one interval
//	5  hosts by 1/L, the longest access interval that keeps the timetable of all their pages
//	6  hosts by the mean time a fetch takes
//	7  hosts by R, 1/L over the longest time of a fetch of late (11): feasible where it is at least S/C
//
// The paper divides, for figure 4, versions by visits. A page's record keeps no list of visits but running sums of its
// access intervals, so here it is the share of the time between visits that ended with a change, 1 − T_stable/T_total:
// the same where the intervals are equal.
//
// Invariants: memory does not grow with the pages, and with the hosts only in their number of infeasible ones up to
// Options.Worst; the order of the calls does not matter.
//
// [1] Design and implementation of an incremental crawler for large scale web archives, §6.
package figures

import (
	"cmp"
	"math"
	"slices"
	"strconv"
	"time"

	"henro/actors/politeness"
	"henro/actors/revisit"
	"henro/messages/speech"
)

// Options are what the crawl goes by, and when it is looked at.
type Options struct {
	Now        time.Time
	Politeness politeness.Options // with S and C, as far as they are known
	Revisit    revisit.Options
	Relief     politeness.Relief
	Continuous bool
	Worst      int // infeasible hosts that are listed, the worst first. Default 50
}

// Page is what the figures need of one page that was visited.
type Page struct {
	Timing    revisit.History
	LastVisit time.Time
	Next      time.Time // zero: no visit is planned
}

// Host is what they need of one host.
type Host struct {
	Name    string
	Waiting uint64 // pages waiting for their first visit
	State   *politeness.State
}

// Collector gathers pages and hosts.
type Collector struct {
	o      Options
	report Report

	intervals [revisit.RateBins + 8]binned
	access    Spread
	fetches   Spread
	ratios    Spread
	ages      Spread
	late      Spread
	worst     []Infeasible
}

// binned sums the detection rates of the pages of one bin.
type binned struct {
	pages        int
	sum, squares float64
}

// New returns an empty collector.
func New(o Options) *Collector {
	o.Worst = cmp.Or(o.Worst, 50)
	return &Collector{o: o}
}

// intervalBin returns the bin of a revisit interval: half octaves of minutes, as in revisit.Rates.
func (c *Collector) intervalBin(t float64) int {
	return min(max(0, int(2*math.Log2(t/60))), len(c.intervals)-1)
}

func binStart(i int) float64 { return 60 * math.Exp2(float64(i)/2) }

// Page takes one page that was visited at least once.
func (c *Collector) Page(p Page) {
	r := &c.report
	r.Pages.Visited++
	c.ages.Add(c.o.Now.Sub(p.LastVisit).Seconds())
	if p.Next.IsZero() {
		r.Pages.Resting++
		return
	}
	if late := c.o.Now.Sub(p.Next); late > 0 {
		r.Pages.Late++
		c.late.Add(late.Seconds())
	}
	if !p.Timing.Known() {
		r.Pages.Once++
		return
	}
	r.Pages.Timed++
	b := &c.intervals[c.intervalBin(float64(p.Timing.Interval))]
	rate := 1 - float64(p.Timing.Stable)/float64(p.Timing.Total)
	b.pages++
	b.sum += rate
	b.squares += rate * rate
}

// Host takes one host.
func (c *Collector) Host(h Host) {
	r, s := &c.report, h.State
	r.Hosts.Known++
	r.Pages.Waiting += h.Waiting
	if s.Dead() {
		r.Hosts.Dead++
	}
	if _, mean, _ := s.Took(); mean > 0 {
		c.fetches.Add(mean.Seconds())
	}
	load := s.Timetable.Load()
	if load <= 0 {
		return
	}
	r.Hosts.Timed++
	r.Load += load
	c.access.Add(1 / load)
	if r := s.R(); !math.IsInf(r, 1) {
		c.ratios.Add(r)
	}
	if c.o.Continuous {
		c.judge(h, load)
	}
}

// judge compares what the host's pages ask for with what it bears.
func (c *Collector) judge(h Host, load float64) {
	o := &c.o
	demand := h.State.Timetable.Demand(&o.Revisit)
	asked := h.State.Timetable.Asked(&o.Revisit)
	verdict := h.State.Judge(&o.Politeness, max(asked.Load, load), h.Waiting > 0)
	row := &c.report.Verdicts[verdict]
	row.Verdict = verdict.String()
	row.Hosts++
	row.Pages += h.State.Timetable.Pages()
	row.Asked += asked.Load
	row.Scheduled += load
	row.Versions += asked.Versions
	capacity := h.State.Spare(&o.Politeness)
	row.Bears += capacity
	_, mean, _ := h.State.Took()
	c.report.Occupied.Asked += max(asked.Load, load) * mean.Seconds()
	c.report.Occupied.Scheduled += load * mean.Seconds()
	if asked.Load <= capacity {
		row.Captured += asked.Captured
		return
	}
	plan, cost := politeness.Relieve(o.Relief, demand, capacity)
	if o.Relief == politeness.NoRelief { // what is asked for too often waits in line: all visits come late alike
		_, cost = politeness.Relieve(politeness.Stretch, demand, capacity)
	}
	row.Captured += cost.Captured
	relief := &c.report.Relief
	relief.Hosts++
	relief.Versions += asked.Versions
	relief.Asked += asked.Captured
	for i, kind := range []politeness.Relief{politeness.Stretch, politeness.Delay, politeness.Optimal} {
		_, other := politeness.Relieve(kind, demand, capacity)
		relief.Captured[i] += other.Captured
	}
	x := Infeasible{
		Host: h.Name, Pages: h.State.Timetable.Pages(), Verdict: verdict.String(), Asked: asked.Load, Bears: capacity,
		Scheduled: load,
		Relief:    plan.Relief.String(), Versions: asked.Versions, Without: asked.Share(), With: cost.Share(),
		Lag: cost.Lag,
	}
	at, _ := slices.BinarySearchFunc(c.worst, x, byExcess)
	if c.worst = slices.Insert(c.worst, at, x); len(c.worst) > o.Worst {
		c.worst = c.worst[:o.Worst]
	}
}

// byExcess puts the host that is asked for the largest multiple of what it bears first.
func byExcess(a, b Infeasible) int {
	return cmp.Or(cmp.Compare(b.Asked/b.Bears, a.Asked/a.Bears), cmp.Compare(a.Host, b.Host))
}

// Report is the crawl in numbers. Rates are per second, times in seconds.
type Report struct {
	Taken      time.Time `json:"taken"`
	Continuous bool      `json:"continuous"`
	ReliefKind string    `json:"relief_kind"`
	Ratio      float64   `json:"s_over_c"` // S/C as reckoned with
	Load       float64   `json:"load"`     // visits per second that all timetables together ask for
	// what the timetable goes by, named as the flags are
	Settings []revisit.Setting `json:"settings"`
	// what persons have said of pages, as far as it is shown
	Rules []revisit.FixedInterval `json:"rules,omitempty"`

	Pages struct {
		Visited int    `json:"visited"`
		Timed   int    `json:"timed"`   // visited more than once, and to be again
		Once    int    `json:"once"`    // visited once, and to be again
		Resting int    `json:"resting"` // no further visit is planned
		Waiting uint64 `json:"waiting"` // for their first visit
		Late    int    `json:"late"`    // due, and not visited yet
	} `json:"pages"`
	Hosts struct {
		Known int `json:"known"`
		Timed int `json:"timed"` // with pages to be visited again
		Dead  int `json:"dead"`  // not reached for so long that they are only probed
	} `json:"hosts"`
	Verdicts [politeness.Verdicts]VerdictRow `json:"verdicts"`
	Occupied Occupied                        `json:"occupied"`
	Relief   ReliefCost                      `json:"relief"`
	Worst    []Infeasible                    `json:"worst"`

	Intervals []IntervalBin `json:"intervals"` // figures 3 and 4
	Access    []Point       `json:"access"`    // figure 5: 1/L in seconds
	Fetches   []Point       `json:"fetches"`   // figure 6: seconds
	Ratios    []Point       `json:"ratios"`    // figure 7: R
	Ages      []Point       `json:"ages"`      // pages by the time since their last visit
	Late      []Point       `json:"late"`      // due pages by how long they have been due
}

// Occupied is how many connections timetables keep busy in the mean: Σ e/τ of equations (7) and (8), which must not be
// more than C. Visits of new pages, and of robots.txt, come on top.
type Occupied struct {
	Connections int     `json:"connections"` // C; 0: it is not known
	Asked       float64 `json:"asked"`       // by what pages ask for without relief
	Scheduled   float64 `json:"scheduled"`   // as they are timed now
}

// Says is that in a sentence.
func (o *Occupied) Says() speech.Sentence {
	if o.Connections == 0 {
		return speech.Say("the timetables ask for %.3g connections, and have %.3g as they are relieved", o.Asked,
			o.Scheduled)
	}
	return speech.Say("the timetables ask for %.3g of %d connections, and have %.3g as they are relieved", o.Asked,
		o.Connections, o.Scheduled)
}

// VerdictRow sums up the hosts of one verdict, on what their pages ask for without relief.
type VerdictRow struct {
	Verdict   string  `json:"verdict"`
	Hosts     int     `json:"hosts"`
	Pages     uint64  `json:"pages"`
	Asked     float64 `json:"asked"`     // visits that the timetable alone asks for
	Bears     float64 `json:"bears"`     // visits of known pages that there is time for
	Scheduled float64 `json:"scheduled"` // visits as the pages are timed now: L
	Versions  float64 `json:"versions"`  // that are believed to come into being
	Captured  float64 `json:"captured"`  // of these, as far as the visits go
}

// Share returns the share of versions that is captured, 1 when there are none.
func (v VerdictRow) Share() float64 {
	return politeness.Cost{Captured: v.Captured, Versions: v.Versions}.Share()
}

// ReliefCost compares, over all hosts that do not bear their timetable, what each relief captures.
type ReliefCost struct {
	Hosts    int        `json:"hosts"`
	Versions float64    `json:"versions"`
	Asked    float64    `json:"asked"`    // captured if the timetable could be kept
	Captured [3]float64 `json:"captured"` // by stretch, delay, optimal
}

// Infeasible is one host that does not bear its timetable.
type Infeasible struct {
	Host      string        `json:"host"`
	Pages     uint64        `json:"pages"`
	Verdict   string        `json:"verdict"`
	Relief    string        `json:"relief"`
	Asked     float64       `json:"asked"`
	Bears     float64       `json:"bears"`
	Scheduled float64       `json:"scheduled"`
	Versions  float64       `json:"versions"`
	Without   float64       `json:"share_if_kept"` // share of versions that the timetable would capture
	With      float64       `json:"share"`         // and that the relieved one captures
	Lag       time.Duration `json:"lag_ns"`        // mean time from a change to the visit that finds it
}

// IntervalBin holds the pages of revisit intervals from From to To, in seconds.
type IntervalBin struct {
	From  float64 `json:"from"`
	To    float64 `json:"to"`
	Pages int     `json:"pages"`
	Mean  float64 `json:"detection_mean"`
	SD    float64 `json:"detection_sd"`
}

// Report returns the numbers so far.
func (c *Collector) Report() *Report {
	r := c.report
	r.Taken, r.Continuous, r.ReliefKind, r.Ratio = c.o.Now, c.o.Continuous, c.o.Relief.String(), c.o.Politeness.Ratio()
	for v := range r.Verdicts {
		r.Verdicts[v].Verdict = politeness.Verdict(v).String()
	}
	r.Occupied.Connections = c.o.Politeness.Connections
	r.Settings = append(c.o.Revisit.Settings(), revisit.Setting{Name: "relief", Value: r.ReliefKind},
		revisit.Setting{Name: "least-ratio", Value: strconv.FormatFloat(c.o.Politeness.LeastRatio, 'g', 4, 64)})
	r.Worst = slices.Clone(c.worst)
	first, last := len(c.intervals), 0
	for i, b := range c.intervals {
		if b.pages > 0 {
			first, last = min(first, i), i
		}
	}
	for i := first; i <= last; i++ {
		b, bin := &c.intervals[i], IntervalBin{From: binStart(i), To: binStart(i + 1), Pages: c.intervals[i].pages}
		if n := float64(b.pages); n > 0 {
			bin.Mean = b.sum / n
			bin.SD = math.Sqrt(max(0, b.squares/n-bin.Mean*bin.Mean))
		}
		r.Intervals = append(r.Intervals, bin)
	}
	r.Access, r.Fetches, r.Ratios, r.Ages, r.Late = c.access.Points(), c.fetches.Points(), c.ratios.Points(),
		c.ages.Points(), c.late.Points()
	return &r
}
