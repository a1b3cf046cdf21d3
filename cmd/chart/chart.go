// Package chart draws lines as SVG: the figures of the simulators.
//
// It is small on purpose. gonum/plot draws the same and more, and makes a stripped program 8 MB larger, a third of all of
// henro; what the figures need is two axes, either of them logarithmic, and a legend. The text stays text, so that a chart
// can be searched, and the points are listed nowhere but in the CSV file beside it.
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

// Line is one series of points, drawn in their order.
type Line struct {
	Name string
	X, Y []float64
}

// Chart is one drawing.
type Chart struct {
	Title      string
	X, Y       string // what the axes tell
	LogX, LogY bool
	Dots       bool // mark every point
	Lines      []Line
}

const (
	width, height       = 790, 440
	left, right         = 76, 236
	top, bottom         = 40, 52
	legendX, legendStep = width - right + 16, 20
)

// colours can be told apart by the colour-blind (Okabe & Ito); lines beyond them are dashed.
var colours = [...]string{"#0072b2", "#d55e00", "#009e73", "#cc79a7", "#555555", "#e69f00", "#56b4e9"}

// axis maps values to pixels.
type axis struct {
	low, high float64
	log       bool
	from, to  float64
	ticks     []float64
}

// newAxis fits an axis to the finite values it can show.
func newAxis(values []float64, log bool, from, to float64) axis {
	a := axis{low: math.Inf(1), high: math.Inf(-1), log: log, from: from, to: to}
	for _, v := range values {
		if a.shows(v) {
			a.low, a.high = min(a.low, v), max(a.high, v)
		}
	}
	if a.low > a.high {
		a.low, a.high = 1, 10
	}
	if log {
		a.low, a.high = math.Pow(10, math.Floor(math.Log10(a.low)+1e-9)), math.Pow(10, math.Ceil(math.Log10(a.high)-1e-9))
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
	for _, l := range c.Lines {
		xs, ys = append(xs, l.X...), append(ys, l.Y...)
	}
	x, y := newAxis(xs, c.LogX, left, width-right), newAxis(ys, c.LogY, height-bottom, top)
	var s strings.Builder
	fmt.Fprintf(&s, `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 %d %d" font-family="sans-serif" font-size="12">`+"\n", width, height)
	fmt.Fprintf(&s, `<rect width="%d" height="%d" fill="white"/>`+"\n", width, height)
	fmt.Fprintf(&s, `<text x="%d" y="24" font-size="15">%s</text>`+"\n", left, html.EscapeString(c.Title))
	for _, v := range x.ticks {
		fmt.Fprintf(&s, `<path d="M%.1f %dV%d" stroke="#ddd"/><text x="%.1f" y="%d" text-anchor="middle">%s</text>`+"\n", x.at(v), height-bottom, top, x.at(v), height-bottom+18, number(v))
	}
	for _, v := range y.ticks {
		fmt.Fprintf(&s, `<path d="M%d %.1fH%d" stroke="#ddd"/><text x="%d" y="%.1f" text-anchor="end">%s</text>`+"\n", left, y.at(v), width-right, left-6, y.at(v)+4, number(v))
	}
	fmt.Fprintf(&s, `<text x="%d" y="%d" text-anchor="middle">%s</text>`+"\n", (left+width-right)/2, height-12, html.EscapeString(c.X))
	fmt.Fprintf(&s, `<text transform="translate(18 %d) rotate(-90)" text-anchor="middle">%s</text>`+"\n", (top+height-bottom)/2, html.EscapeString(c.Y))
	for i, l := range c.Lines {
		colour, dash := colours[i%len(colours)], ""
		if i >= len(colours) {
			dash = ` stroke-dasharray="6 4"`
		}
		fmt.Fprintf(&s, `<path d="%s" fill="none" stroke="%s" stroke-width="2"%s/>`+"\n", path(l, &x, &y), colour, dash)
		if c.Dots {
			for j := range l.X {
				if x.shows(l.X[j]) && y.shows(l.Y[j]) {
					fmt.Fprintf(&s, `<circle cx="%.1f" cy="%.1f" r="3" fill="%s"/>`+"\n", x.at(l.X[j]), y.at(l.Y[j]), colour)
				}
			}
		}
		at := top + 12 + legendStep*i
		fmt.Fprintf(&s, `<path d="M%d %dh18" stroke="%s" stroke-width="2"%s/><text x="%d" y="%d">%s</text>`+"\n", legendX, at, colour, dash, legendX+24, at+4, html.EscapeString(l.Name))
	}
	s.WriteString("</svg>\n")
	_, err := io.WriteString(w, s.String())
	return err
}

// path leaves out points that move by less than half a pixel, and those an axis cannot show.
func path(l Line, x, y *axis) string {
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
	for _, l := range c.Lines {
		xs = append(xs, l.X...)
	}
	slices.Sort(xs)
	xs = slices.Compact(xs)
	var s strings.Builder
	s.WriteString(quote(c.X))
	for _, l := range c.Lines {
		s.WriteString("," + quote(l.Name))
	}
	s.WriteString("\n")
	next := make([]int, len(c.Lines))
	for _, x := range xs {
		fmt.Fprintf(&s, "%.8g", x)
		for i, l := range c.Lines {
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
