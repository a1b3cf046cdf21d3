package main

import (
	"bufio"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
)

// plot draws the results in a file of rows.
func plot(b *bench) error {
	f, err := os.Open(b.in)
	if err != nil {
		return err
	}
	defer f.Close()
	var rows [][]string
	for lines := bufio.NewScanner(f); lines.Scan(); {
		rows = append(rows, strings.Split(lines.Text(), "\t"))
	}
	for _, c := range []struct {
		file, title, y string
		column         int
	}{
		{"state-buffer-us.svg", "Processor time of a revisit by write buffer", "µs per revisit", 6},
		{"state-buffer-bytes.svg", "Bytes written per revisit by write buffer", "bytes per revisit", 7},
	} {
		for _, n := range []string{"1000000", "17500000"} {
			chart := newChart(fmt.Sprintf("%s, %s URLs", c.title, map[string]string{"1000000": "1 million", "17500000": "17.5 million"}[n]), "write buffer, MB", c.y, true, true)
			for _, r := range rows {
				if r[0] == "queue" && r[1] == n {
					chart.add(map[string]string{"hier": "hierarchical", "minute": "1 minute", "hour": "1 hour", "day": "1 day"}[r[2]], number(r[3]), number(r[c.column]))
				}
				if r[0] == "keyed" && r[1] == n {
					chart.add("keyed, due index", number(r[3])*155/1e6, number(r[c.column]))
				}
			}
			name := strings.Replace(c.file, ".svg", map[string]string{"1000000": "-1M.svg", "17500000": "-17M.svg"}[n], 1)
			if err := chart.write(filepath.Join(b.out, name)); err != nil {
				return err
			}
		}
	}
	chart := newChart("File size while 1 million URLs are turned over", "million visits", "MB", false, false)
	for _, r := range rows {
		if r[0] == "stable" {
			chart.add(fmt.Sprintf("file, buffer %g MB", number(r[3])), number(r[4])/1e6, number(r[8]))
			chart.add(fmt.Sprintf("in use, buffer %g MB", number(r[3])), number(r[4])/1e6, number(r[9]))
		}
	}
	return chart.write(filepath.Join(b.out, "state-size.svg"))
}

func number(s string) float64 {
	v, _ := strconv.ParseFloat(s, 64)
	return v
}

// chart is a line drawing.
type chart struct {
	title, x, y string
	logX, logY  bool
	names       []string
	points      map[string][][2]float64
}

func newChart(title, x, y string, logX, logY bool) *chart {
	return &chart{title: title, x: x, y: y, logX: logX, logY: logY, points: map[string][][2]float64{}}
}

func (c *chart) add(name string, x, y float64) {
	if c.points[name] == nil {
		c.names = append(c.names, name)
	}
	c.points[name] = append(c.points[name], [2]float64{x, y})
}

var colours = []string{"#0072b2", "#d55e00", "#009e73", "#cc79a7", "#555555", "#e69f00"}

// axis maps values to a line of so many pixels, with ticks at round values.
type axis struct {
	low, high float64
	log       bool
	from, to  float64
}

func newAxis(values []float64, log bool, from, to float64) axis {
	a := axis{slices.Min(values), slices.Max(values), log, from, to}
	if log {
		a.low, a.high = math.Pow(10, math.Floor(math.Log10(a.low))), math.Pow(10, math.Ceil(math.Log10(a.high)))
	} else {
		a.low = 0
		step := a.step()
		a.high = math.Ceil(a.high/step) * step
	}
	return a
}

func (a axis) step() float64 {
	raw := (a.high - a.low) / 6
	p := math.Pow(10, math.Floor(math.Log10(raw)))
	for _, m := range []float64{1, 2, 5, 10} {
		if raw <= m*p {
			return m * p
		}
	}
	return 10 * p
}

func (a axis) at(v float64) float64 {
	low, high := a.low, a.high
	if a.log {
		low, high, v = math.Log10(low), math.Log10(high), math.Log10(v)
	}
	return a.from + (v-low)/(high-low)*(a.to-a.from)
}

func (a axis) ticks() (all []float64) {
	if a.log {
		for v := a.low; v <= a.high*1.001; v *= 10 {
			all = append(all, v)
		}
		return all
	}
	for v := a.low; v <= a.high*1.001; v += a.step() {
		all = append(all, v)
	}
	return all
}

func (c *chart) write(path string) error {
	if len(c.names) == 0 {
		return nil
	}
	var xs, ys []float64
	for _, points := range c.points {
		for _, p := range points {
			xs, ys = append(xs, p[0]), append(ys, p[1])
		}
	}
	const width, height = 760, 440
	x, y := newAxis(xs, c.logX, 70, width-190), newAxis(ys, c.logY, height-50, 40)
	var s strings.Builder
	fmt.Fprintf(&s, `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 %d %d" font-family="sans-serif" font-size="12">`+"\n", width, height)
	fmt.Fprintf(&s, `<rect width="%d" height="%d" fill="white"/>`+"\n", width, height)
	fmt.Fprintf(&s, `<text x="70" y="22" font-size="15">%s</text>`+"\n", c.title)
	for _, v := range x.ticks() {
		fmt.Fprintf(&s, `<path d="M%.1f %.0fV%.0f" stroke="#ddd"/><text x="%.1f" y="%.0f" text-anchor="middle">%g</text>`+"\n", x.at(v), y.from, y.to, x.at(v), y.from+18, v)
	}
	for _, v := range y.ticks() {
		fmt.Fprintf(&s, `<path d="M%.0f %.1fH%.0f" stroke="#ddd"/><text x="%.0f" y="%.1f" text-anchor="end">%g</text>`+"\n", x.from, y.at(v), x.to, x.from-6, y.at(v)+4, v)
	}
	fmt.Fprintf(&s, `<text x="%.0f" y="%.0f" text-anchor="middle">%s</text>`+"\n", (x.from+x.to)/2, y.from+38, c.x)
	fmt.Fprintf(&s, `<text transform="translate(18 %.0f) rotate(-90)" text-anchor="middle">%s</text>`+"\n", (y.from+y.to)/2, c.y)
	for i, name := range c.names {
		points := c.points[name]
		slices.SortFunc(points, func(a, b [2]float64) int {
			if a[0] < b[0] {
				return -1
			}
			return 1
		})
		colour := colours[i%len(colours)]
		var path strings.Builder
		for j, p := range points {
			fmt.Fprintf(&path, "%c%.1f %.1f", "ML"[min(j, 1)], x.at(p[0]), y.at(p[1]))
			fmt.Fprintf(&s, `<circle cx="%.1f" cy="%.1f" r="3" fill="%s"/>`+"\n", x.at(p[0]), y.at(p[1]), colour)
		}
		fmt.Fprintf(&s, `<path d="%s" fill="none" stroke="%s" stroke-width="2"/>`+"\n", path.String(), colour)
		fmt.Fprintf(&s, `<path d="M%d %dh18" stroke="%s" stroke-width="2"/><text x="%d" y="%d">%s</text>`+"\n", width-178, 56+20*i, colour, width-154, 60+20*i, name)
	}
	s.WriteString("</svg>\n")
	return os.WriteFile(path, []byte(s.String()), 0o644)
}
