// Package chart draws lines and bars as SVG: the figures of the report and the statistics of a crawl, of the simulators
// and the benchmarks.
//
// It is small on purpose. gonum/plot draws the same and more, and makes a stripped program 8 MB larger, a third of all
// of henro; what the figures need is two axes, either of them logarithmic, and a legend. The text stays text, so that a
// chart can be searched, and the points are listed nowhere but in the CSV file beside it.
//
// Invariant: the same chart gives the same bytes.
package chart

import (
	"fmt"
	"html"
	"io"
	"math"
	"slices"
	"strings"
)

// Series is one series of points, drawn in their order.
type Series struct {
	Name string
	X, Y []float64
}

// Chart is one drawing.
type Chart struct {
	Title      string
	X, Y       string // names of the axes
	LogX, LogY bool
	Spans      bool // x is in seconds, on a logarithmic axis: its ticks are a minute, an hour, a day
	Dots       bool // mark every point
	Bars       bool // each point is a bar that reaches to the x of the next; the last point only ends the one before
	Narrow     bool // to be read on a phone: the legend is below the title, not beside the lines
	Series     []Series
}

const legendStep = 20

// layout is where things are, in pixels.
type layout struct {
	width, height            int
	left, right, top, bottom int
	legendX, legendY         int
}

func (c *Chart) layout() layout {
	if !c.Narrow {
		return layout{width: 790, height: 440, left: 76, right: 236, top: 40, bottom: 52, legendX: 790 - 236 + 16,
			legendY: 52}
	}
	l := layout{width: 480, height: 320, left: 64, right: 14, top: 36, bottom: 50, legendX: 64, legendY: 40}
	if len(c.Series) > 1 {
		l.top += legendStep * len(c.Series)
		l.height += legendStep * len(c.Series)
	}
	return l
}

// colours can be told apart by the colour-blind (Okabe & Ito); lines beyond them are dashed.
var colours = [...]string{"#0072b2", "#d55e00", "#009e73", "#cc79a7", "#555555", "#e69f00", "#56b4e9"}

// axis maps values to pixels.
type axis struct {
	low, high float64
	log       bool
	from, to  float64
	ticks     []float64
	spans     bool
}

// newAxis fits an axis to the finite values it can show.
func newAxis(values []float64, log, spans bool, from, to int) axis {
	a := axis{low: math.Inf(1), high: math.Inf(-1), log: log || spans, from: float64(from), to: float64(to),
		spans: spans}
	for _, v := range values {
		if a.shows(v) {
			a.low, a.high = min(a.low, v), max(a.high, v)
		}
	}
	if a.low > a.high {
		a.low, a.high = 1, 10
	}
	if spans {
		a.ticks = a.roundSpans()
		return a
	}
	if log {
		a.low, a.high = math.Pow(10, math.Floor(math.Log10(a.low)+1e-9)),
			math.Pow(10, math.Ceil(math.Log10(a.high)-1e-9))
		if a.low == a.high {
			a.high *= 10
		}
		for v := a.low; v < a.high*1.5; v *= 10 {
			a.ticks = append(a.ticks, v)
		}
		return a
	}
	a.low = min(a.low, 0)
	if a.low == a.high {
		a.high = a.low + 1
	}
	step := roundStep((a.high - a.low) / 6)
	a.low, a.high = math.Floor(a.low/step+1e-9)*step, math.Ceil(a.high/step-1e-9)*step
	for i := 0; a.low+float64(i)*step <= a.high+step/2; i++ {
		a.ticks = append(a.ticks, a.low+float64(i)*step)
	}
	return a
}

// spans are the round times that an axis may be marked at, in seconds.
var spans = []struct {
	seconds float64
	name    string
}{
	{1e-6, "1 µs"}, {1e-5, "10 µs"}, {1e-4, "0.1 ms"}, {1e-3, "1 ms"}, {1e-2, "10 ms"}, {0.1, "0.1 s"}, {1, "1 s"},
	{10, "10 s"}, {60, "1 min"},
	{600, "10 min"}, {3600, "1 h"}, {6 * 3600, "6 h"}, {86400, "1 d"}, {7 * 86400, "7 d"}, {30 * 86400, "30 d"},
	{365 * 86400, "1 a"},
	{3650 * 86400, "10 a"}, {36500 * 86400, "100 a"}, {1e12, "30 ka"},
}

// roundSpans widens the axis to round times, and returns those on it.
func (a *axis) roundSpans() (ticks []float64) {
	first, last := 0, len(spans)-1
	for first < last-1 && spans[first+1].seconds <= a.low {
		first++
	}
	for last > first+1 && spans[last-1].seconds >= a.high {
		last--
	}
	a.low, a.high = min(a.low, spans[first].seconds), max(a.high, spans[last].seconds)
	for _, s := range spans[first : last+1] {
		ticks = append(ticks, s.seconds)
	}
	return ticks
}

// tick names a mark.
func (a *axis) tick(v float64) string {
	for _, s := range spans {
		if a.spans && s.seconds == v {
			return s.name
		}
	}
	return number(v)
}

// roundStep is the next of 1, 2, 5 times a power of ten.
func roundStep(least float64) float64 {
	p := math.Pow(10, math.Floor(math.Log10(least)))
	for _, m := range []float64{1, 2, 5} {
		if least <= m*p*(1+1e-9) {
			return m * p
		}
	}
	return 10 * p
}

func (a *axis) shows(v float64) bool {
	return !math.IsNaN(v) && !math.IsInf(v, 0) && (!a.log || v > 0)
}

func (a *axis) at(v float64) float64 {
	low, high := a.low, a.high
	if a.log {
		low, high, v = math.Log10(low), math.Log10(high), math.Log10(v)
	}
	return a.from + (v-low)/(high-low)*(a.to-a.from)
}

// number writes a tick: 20k, 5M.
func number(v float64) string {
	for _, unit := range []struct {
		size float64
		name string
	}{{1e9, "G"}, {1e6, "M"}, {1e4, "k"}} {
		if math.Abs(v) >= unit.size {
			if unit.name == "k" {
				unit.size = 1e3
			}
			return fmt.Sprintf("%.4g%s", v/unit.size, unit.name)
		}
	}
	return fmt.Sprintf("%.4g", v)
}

// WriteSVG draws the chart.
func (c *Chart) WriteSVG(w io.Writer) error {
	var xs, ys []float64
	for _, l := range c.Series {
		xs, ys = append(xs, l.X...), append(ys, l.Y...)
	}
	o := c.layout()
	x, y := newAxis(xs, c.LogX, c.Spans, o.left, o.width-o.right), newAxis(ys, c.LogY, false, o.height-o.bottom, o.top)
	var s strings.Builder
	fmt.Fprintf(&s,
		`<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 %d %d" font-family="sans-serif" font-size="12">`+"\n",
		o.width, o.height)
	fmt.Fprintf(&s, `<rect width="%d" height="%d" fill="white"/>`+"\n", o.width, o.height)
	fmt.Fprintf(&s, `<text x="%d" y="24" font-size="15">%s</text>`+"\n", o.left, html.EscapeString(c.Title))
	room := -math.MaxFloat64
	for _, v := range x.ticks {
		fmt.Fprintf(&s, `<path d="M%.1f %dV%d" stroke="#ddd"/>`, x.at(v), o.height-o.bottom, o.top)
		if x.at(v) >= room { // names of marks that are close stand in each other's way
			fmt.Fprintf(&s, `<text x="%.1f" y="%d" text-anchor="middle">%s</text>`, x.at(v), o.height-o.bottom+18,
				x.tick(v))
			room = x.at(v) + 38
		}
		s.WriteString("\n")
	}
	for _, v := range y.ticks {
		fmt.Fprintf(&s, `<path d="M%d %.1fH%d" stroke="#ddd"/><text x="%d" y="%.1f" text-anchor="end">%s</text>`+"\n",
			o.left, y.at(v), o.width-o.right, o.left-6, y.at(v)+4, y.tick(v))
	}
	fmt.Fprintf(&s, `<text x="%d" y="%d" text-anchor="middle">%s</text>`+"\n", (o.left+o.width-o.right)/2, o.height-12,
		html.EscapeString(c.X))
	fmt.Fprintf(&s, `<text transform="translate(18 %d) rotate(-90)" text-anchor="middle">%s</text>`+"\n",
		(o.top+o.height-o.bottom)/2, html.EscapeString(c.Y))
	for i, l := range c.Series {
		colour, dash := colours[i%len(colours)], ""
		if i >= len(colours) {
			dash = ` stroke-dasharray="6 4"`
		}
		if c.Bars {
			fmt.Fprintf(&s, `<path d="%s" fill="%s"/>`+"\n", bars(l, &x, &y), colour)
		} else {
			fmt.Fprintf(&s, `<path d="%s" fill="none" stroke="%s" stroke-width="2"%s/>`+"\n", path(l, &x, &y), colour,
				dash)
		}
		if c.Dots {
			for j := range l.X {
				if x.shows(l.X[j]) && y.shows(l.Y[j]) {
					fmt.Fprintf(&s, `<circle cx="%.1f" cy="%.1f" r="3" fill="%s"/>`+"\n", x.at(l.X[j]), y.at(l.Y[j]),
						colour)
				}
			}
		}
		if c.Narrow && len(c.Series) == 1 {
			continue // its title says what it is
		}
		at := o.legendY + legendStep*i
		fmt.Fprintf(&s, `<path d="M%d %dh18" stroke="%s" stroke-width="2"%s/><text x="%d" y="%d">%s</text>`+"\n",
			o.legendX, at, colour, dash, o.legendX+24, at+4, html.EscapeString(l.Name))
	}
	s.WriteString("</svg>\n")
	_, err := io.WriteString(w, s.String())
	return err
}

// bars draws a rectangle from each point to the x of the next, a pixel apart.
func bars(l Series, x, y *axis) string {
	var s strings.Builder
	for i := range max(0, len(l.X)-1) {
		if !x.shows(l.X[i]) || !x.shows(l.X[i+1]) || !y.shows(l.Y[i]) {
			continue
		}
		from, to := x.at(l.X[i]), x.at(l.X[i+1])
		fmt.Fprintf(&s, "M%.1f %.1fV%.1fH%.1fV%.1fZ", from, y.from, y.at(l.Y[i]), max(from, to-1), y.from)
	}
	return s.String()
}

// path leaves out points that move by less than half a pixel, and those an axis cannot show.
func path(l Series, x, y *axis) string {
	var s strings.Builder
	last := [2]float64{math.Inf(1), math.Inf(1)}
	for i := range l.X {
		if !x.shows(l.X[i]) || !y.shows(l.Y[i]) {
			continue
		}
		p := [2]float64{x.at(l.X[i]), y.at(l.Y[i])}
		if math.Abs(p[0]-last[0])+math.Abs(p[1]-last[1]) < 0.5 && i < len(l.X)-1 {
			continue
		}
		fmt.Fprintf(&s, "%c%.1f %.1f", "ML"[min(s.Len(), 1)], p[0], p[1])
		last = p
	}
	return s.String()
}

// WriteCSV writes the points: one row for each x that some line has, one column for each line.
func (c *Chart) WriteCSV(w io.Writer) error {
	var xs []float64
	for _, l := range c.Series {
		xs = append(xs, l.X...)
	}
	slices.Sort(xs)
	xs = slices.Compact(xs)
	var s strings.Builder
	s.WriteString(quote(c.X))
	for _, l := range c.Series {
		s.WriteString("," + quote(l.Name))
	}
	s.WriteString("\n")
	next := make([]int, len(c.Series))
	for _, x := range xs {
		fmt.Fprintf(&s, "%.8g", x)
		for i, l := range c.Series {
			s.WriteString(",")
			if n := next[i]; n < len(l.X) && l.X[n] == x {
				fmt.Fprintf(&s, "%.6g", l.Y[n])
				for next[i] < len(l.X) && l.X[next[i]] == x {
					next[i]++
				}
			}
		}
		s.WriteString("\n")
	}
	_, err := io.WriteString(w, s.String())
	return err
}

func quote(field string) string {
	if !strings.ContainsAny(field, ",\"\n") {
		return field
	}
	return `"` + strings.ReplaceAll(field, `"`, `""`) + `"`
}
