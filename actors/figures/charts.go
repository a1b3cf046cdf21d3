package figures

import (
	"encoding/csv"
	"fmt"
	"io"
	"strconv"

	"henro/messages/speech"
	"henro/store/report/chart"
)

// Figure is one drawing with the name of its files and what it says in words.
type Figure struct {
	Name  string // of its files: figure-3-intervals
	Title string
	Says  speech.Sentence
	Chart chart.Chart
}

// Figures draws all figures, for a phone if narrow. Those about which nothing is known yet are there too, empty.
func (r *Report) Figures(narrow bool) []Figure {
	all := []Figure{
		{"figure-3-intervals", "Revisit intervals", r.saysIntervals(), r.intervalChart()},
		{"figure-4-detection", "Visits that find a change",
			speech.Say("Near 1 a visit is seldom in vain, but versions may be lost between two of them; near 0 most " +
				"visits are in vain. " +
				"One mean interval between changes after the last visit, 63 % of the visits find a change."),
			r.detectionChart()},
		{"figure-5-access", "Access interval that each host's timetable needs", r.saysAccess(),
			cumulative("1/L", "1/L", "hosts", true, r.Access)},
		{"figure-6-fetches", "Mean time of a fetch", r.saysFetches(),
			cumulative("mean time", "mean time of a fetch", "hosts", true, r.Fetches)},
		{"figure-7-ratio", "Room of each host: 1/L over the longest time of a fetch", r.saysRatio(), r.ratioChart()},
		{"ages", "Age of what is archived", r.saysAges(), cumulative("age", "time since the last visit", "pages", true,
			r.Ages)},
	}
	for i := range all {
		all[i].Chart.Title, all[i].Chart.Narrow = all[i].Title, narrow
	}
	return all
}

func (r *Report) intervalChart() chart.Chart {
	line := chart.Series{Name: "pages"}
	for _, b := range r.Intervals {
		line.X, line.Y = append(line.X, b.From), append(line.Y, float64(b.Pages))
	}
	if n := len(r.Intervals); n > 0 {
		line.X, line.Y = append(line.X, r.Intervals[n-1].To), append(line.Y, 0)
	}
	return chart.Chart{X: "revisit interval", Y: "pages", Spans: true, Bars: true, Series: []chart.Series{line}}
}

func (r *Report) detectionChart() chart.Chart {
	lines := []chart.Series{{Name: "mean"}, {Name: "mean + standard deviation"}, {Name: "mean − standard deviation"}}
	for _, b := range r.Intervals {
		if b.Pages == 0 {
			continue
		}
		for i, y := range []float64{b.Mean, min(1, b.Mean+b.SD), max(0, b.Mean-b.SD)} {
			lines[i].X, lines[i].Y = append(lines[i].X, (b.From+b.To)/2), append(lines[i].Y, y)
		}
	}
	return chart.Chart{X: "revisit interval", Y: "share of visits", Spans: true, Dots: true, Series: lines}
}

// cumulative draws how many are at most so large.
func cumulative(name, x, y string, spans bool, points []Point) chart.Chart {
	line := chart.Series{Name: name}
	for _, p := range points {
		line.X, line.Y = append(line.X, p.Value), append(line.Y, float64(p.Count))
	}
	return chart.Chart{X: x, Y: y + ", cumulative", Spans: spans, LogX: true, Dots: len(points) < 12,
		Series: []chart.Series{line}}
}

func (r *Report) ratioChart() chart.Chart {
	c := cumulative("R", "R, seconds per second", "hosts", false, r.Ratios)
	if n := len(r.Ratios); n > 0 {
		c.Series = append(c.Series, chart.Series{Name: fmt.Sprintf("S/C = %.4g", r.Ratio),
			X: []float64{r.Ratio, r.Ratio}, Y: []float64{0, float64(r.Ratios[n-1].Count)}})
	}
	return c
}

func (r *Report) saysIntervals() speech.Sentence {
	if len(r.Intervals) == 0 {
		return speech.Say("No page was visited twice yet.")
	}
	week, tail := 0, 0
	for _, b := range r.Intervals {
		switch {
		case b.To <= 7.1*day:
			week += b.Pages
		case b.From >= 250*day:
			tail += b.Pages
		}
	}
	return speech.Say("%s pages have a timetable from at least two visits. %s of them are visited at least once a "+
		"week, %s less than every 250 days, in case they vanish. %d were visited once and have a date for the "+
		"second visit.",
		count(r.Pages.Timed), percent(week, r.Pages.Timed), percent(tail, r.Pages.Timed), r.Pages.Once)
}

func (r *Report) saysAccess() speech.Sentence {
	if r.Hosts.Timed == 0 {
		return speech.Say("No host has pages to be visited again.")
	}
	return speech.Say("%s hosts have pages to be visited again. %s of them need an access every minute or more "+
		"often; half of them need one every %s or more often. All together ask for %s visits a day.",
		count(r.Hosts.Timed), percent(Below(r.Access, 60), r.Hosts.Timed), Seconds(Median(r.Access)), PerDay(r.Load))
}

func (r *Report) saysFetches() speech.Sentence {
	if len(r.Fetches) == 0 {
		return speech.Say("No host has answered yet.")
	}
	return speech.Say("Half of the hosts answer within %s in the mean.", Seconds(Median(r.Fetches)))
}

func (r *Report) saysRatio() speech.Sentence {
	if len(r.Ratios) == 0 {
		return speech.Say("No host has both a timetable and answers.")
	}
	return speech.Say("R is how many times a host's slowest answer fits between two of the visits that its timetable "+
		"needs; S/C is how many hosts share a connection. %s hosts have R below 1: whatever the resources, their "+
		"pages cannot all be visited in time. %s have R below S/C = %.4g.",
		count(Below(r.Ratios, 1)), count(Below(r.Ratios, r.Ratio)), r.Ratio)
}

func (r *Report) saysAges() speech.Sentence {
	if r.Pages.Visited == 0 {
		return speech.Say("No page was visited yet.")
	}
	var late speech.Sentence
	if r.Pages.Late > 0 {
		late = speech.Say(" %s are due and wait their turn, half of them for %s or less.", count(r.Pages.Late),
			Seconds(Median(r.Late)))
	}
	return speech.Say("Half of the %s pages were visited within the last %s.%s", count(r.Pages.Visited),
		Seconds(Median(r.Ages)), late)
}

const day = 86400.0

// Seconds is a span as a fact of a sentence.
type Seconds float64

// String writes it as Span does.
func (s Seconds) String() string { return Span(float64(s)) }

// Span writes seconds as people say them, with two digits or so.
func Span(seconds float64) string {
	for _, u := range []struct {
		size float64
		name string
	}{{365 * day, "years"}, {day, "days"}, {3600, "hours"}, {60, "minutes"}, {1, "s"}, {1e-3, "ms"}, {1e-6, "µs"}} {
		if seconds >= 2*u.size || seconds >= u.size && u.size <= 1 {
			return fmt.Sprintf("%.3g %s", seconds/u.size, u.name)
		}
	}
	return "0 s"
}

func percent(part, of int) string {
	return fmt.Sprintf("%.3g %%", 100*float64(part)/float64(max(1, of)))
}

// count writes a number with commas between thousands.
func count[N int | uint64](n N) string {
	s := strconv.FormatUint(uint64(n), 10)
	for at := len(s) - 3; at > 0; at -= 3 {
		s = s[:at] + "," + s[at:]
	}
	return s
}

// WriteHosts writes the table of the worst infeasible hosts as CSV.
func (r *Report) WriteHosts(w io.Writer) error {
	out := csv.NewWriter(w)
	// an error stays with the writer
	_ = out.Write([]string{"host", "pages", "verdict", "relief", "asked_per_second", "bears_per_second",
		"scheduled_per_second", "versions_per_second", "share_if_kept", "share", "mean_lag_s"})
	for _, h := range r.Worst {
		_ = out.Write([]string{
			h.Host, strconv.FormatUint(h.Pages, 10), h.Verdict, h.Relief, rate(h.Asked), rate(h.Bears),
			rate(h.Scheduled), rate(h.Versions),
			rate(h.Without), rate(h.With), strconv.FormatFloat(h.Lag.Seconds(), 'f', 0, 64),
		})
	}
	out.Flush()
	return out.Error()
}

func rate(v float64) string { return strconv.FormatFloat(v, 'g', 5, 64) }

// PerDay writes a rate as visits a day.
func PerDay(perSecond float64) string {
	if n := perSecond * day; n >= 1000 {
		return count(uint64(n + 0.5))
	}
	return fmt.Sprintf("%.3g", perSecond*day)
}

// Every writes a rate as the time between two visits.
func Every(perSecond float64) string {
	if !(perSecond > 0) {
		return "never"
	}
	return Span(1 / perSecond)
}
