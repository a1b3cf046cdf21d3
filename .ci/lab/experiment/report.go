package main

import (
	"bytes"
	"cmp"
	"encoding/csv"
	"errors"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strconv"

	"henro/store/report/chart"
	"henro/store/report/survey"
)

// slaveCounts are the rows of most tables.
var slaveCounts = [...]int{2, 5, 10}

// report leaves the tables beside the thesis' own, the figures, and every run.
func (o *Options) report(samples []sample, planned int, l load) error {
	var text bytes.Buffer
	fmt.Fprintf(&text,
		"# The thesis' experiments, repeated\n\nTime ran %g times as fast; %d runs of each setting, %d at a time. In "+
			"brackets what the thesis printed. This program kept %.2f of %d processors busy, in the mean; with what "+
			"else ran, they were busy %.0f %% of the time.\n", o.Scale, o.Repeats, o.Parallel, l.own, processors(),
		100*l.busy)
	if len(samples) < planned {
		fmt.Fprintf(&text, "\nInterrupted: %d of %d runs had ended; – stands where none of a setting had.\n",
			len(samples), planned)
	}
	if o.Whole {
		shares(&text, samples)
		return errors.Join(os.WriteFile(filepath.Join(o.Dir, "report.md"), text.Bytes(), 0o644), o.writeRuns(samples))
	}
	stats(&text, samples)
	minutes := []string{"30 min", "60 min", "90 min"}
	table(&text, "Pages a minute (table 4.9)", minutes, overTime(samples,
		func(s *sample, i int) float64 { return s.at[i].pages / float64(s.minutes[i]) }), published.perMinute)
	perSlave := overTime(samples,
		func(s *sample, i int) float64 { return s.at[i].pages / float64(s.minutes[i]) / float64(s.slaves) })
	table(&text, "Pages a minute and slave (table 4.10)", minutes, perSlave, published.perSlave)
	fall(&text, samples, published.perSlave, func(s *sample, i int) (float64, bool) {
		if s.name != "time" {
			return 0, false
		}
		return s.at[i].pages / float64(s.minutes[i]) / float64(s.slaves), true
	})
	table(&text, "Links collected (figure 4.4)", minutes,
		overTime(samples, func(s *sample, i int) float64 { return s.at[i].links }), published.links)
	pages := func(s *sample) float64 { return s.at[0].pages }
	each := func(s *sample) float64 { return s.at[0].pages / float64(s.slaves) }
	tasks, depths := []string{"1 task URL", "5", "10"}, []string{"depth 2", "4", "6"}
	byTasks, byDepth := func(s *sample) int { return s.tasks }, func(s *sample) int { return s.depth }
	tasksSlave := over(samples, "tasks", [3]int{1, 5, 10}, byTasks, each)
	depthsSlave := over(samples, "depth", [3]int{2, 4, 6}, byDepth, each)
	table(&text, "Pages in 60 minutes by task URLs (table 4.11)", tasks,
		over(samples, "tasks", [3]int{1, 5, 10}, byTasks, pages), published.tasks)
	table(&text, "The same for one slave (table 4.12)", tasks, tasksSlave, published.tasksSlave)
	fall(&text, samples, published.tasksSlave, func(s *sample, i int) (float64, bool) {
		return each(s), s.name == "tasks" && s.tasks == [...]int{1, 5, 10}[i]
	})
	table(&text, "Pages in 60 minutes by depth (table 4.13)", depths,
		over(samples, "depth", [3]int{2, 4, 6}, byDepth, pages), published.depths)
	table(&text, "The same for one slave (table 4.14)", depths, depthsSlave, published.depthsSlave)
	fall(&text, samples, published.depthsSlave, func(s *sample, i int) (float64, bool) {
		return each(s), s.name == "depth" && s.depth == [...]int{2, 4, 6}[i]
	})
	spendings(&text, samples)
	crews(&text, samples)
	hours := []float64{30, 60, 90}
	parsed := overTime(samples, func(s *sample, i int) float64 { return s.at[i].pages })
	stopped := overTime(samples, func(s *sample, i int) float64 { return s.at[i].stopped })
	var then [3][3]float64 // the thesis draws pages and prints pages a minute
	for row := range then {
		for column := range then[row] {
			then[row][column] = published.perMinute[row][column] * hours[column]
		}
	}
	return errors.Join(
		os.WriteFile(filepath.Join(o.Dir, "report.md"), text.Bytes(), 0o644),
		o.writeRuns(samples),
		o.scatter("figure-4.1", "Pages parsed and links collected, each count of each run", "links", samples,
			func(c count) float64 { return c.links }),
		o.scatter("figure-4.2", "Pages parsed and pages stop-listed, each count of each run", "stop-listed", samples,
			func(c count) float64 { return c.stopped }),
		o.draw("figure-4.3", "Pages parsed", "minutes", hours, parsed, then),
		o.draw("figure-4.5", "Pages stop-listed, which the thesis only draws", "minutes", hours, stopped,
			[3][3]float64{}),
		o.draw("figure-4.7", "Pages a minute and slave", "minutes", []float64{30, 60, 90}, perSlave,
			published.perSlave),
		o.draw("figure-4.9", "Pages of a slave in 60 minutes", "task URLs", []float64{1, 5, 10}, tasksSlave,
			published.tasksSlave),
		o.draw("figure-4.11", "Pages of a slave in 60 minutes", "depth", []float64{2, 4, 6}, depthsSlave,
			published.depthsSlave),
	)
}

// overTime averages a figure of experiment 1: rows are slaves, columns minutes.
func overTime(samples []sample, of func(*sample, int) float64) (grid [3][3]float64) {
	for row, slaves := range slaveCounts {
		for column := range grid[row] {
			grid[row][column] = mean(samples, func(s *sample) (float64, bool) {
				if s.name != "time" || s.slaves != slaves {
					return 0, false
				}
				return of(s, column), true
			})
		}
	}
	return grid
}

// over averages a figure of experiment 2: rows are slaves, columns what is varied.
func over(samples []sample, name string, values [3]int, varied func(*sample) int,
	of func(*sample) float64) (grid [3][3]float64) {
	for row, slaves := range slaveCounts {
		for column, value := range values {
			grid[row][column] = mean(samples, func(s *sample) (float64, bool) {
				return of(s), s.name == name && s.slaves == slaves && varied(s) == value
			})
		}
	}
	return grid
}

func mean(samples []sample, of func(*sample) (float64, bool)) float64 {
	sum, n := 0.0, 0.0
	for i := range samples {
		if v, ok := of(&samples[i]); ok {
			sum, n = sum+v, n+1
		}
	}
	return sum / n
}

func table(text *bytes.Buffer, title string, columns []string, grid, then [3][3]float64) {
	fmt.Fprintf(text, "\n## %s\n\n| slaves | %s | %s | %s |\n|---|---|---|---|\n", title, columns[0], columns[1],
		columns[2])
	for row, slaves := range slaveCounts {
		fmt.Fprintf(text, "| %d |", slaves)
		for column := range grid[row] {
			fmt.Fprintf(text, " %s (%s) |", short(grid[row][column]), short(then[row][column]))
		}
		text.WriteByte('\n')
	}
}

// fall says how far a slave's pages change from 2 slaves to 10, with the standard error, here and in the thesis.
func fall(text *bytes.Buffer, samples []sample, then [3][3]float64, of func(s *sample, column int) (float64, bool)) {
	fmt.Fprint(text, "\nFrom 2 to 10 slaves:")
	for column := range then[0] {
		var two, ten survey.Spread
		for i := range samples {
			v, ok := of(&samples[i], column)
			switch {
			case ok && samples[i].slaves == 2:
				two.Add(v)
			case ok && samples[i].slaves == 10:
				ten.Add(v)
			}
		}
		change, noise := "–", math.Hypot(two.SD/two.Mean/math.Sqrt(float64(two.N)),
			ten.SD/ten.Mean/math.Sqrt(float64(ten.N)))
		if two.Mean > 0 && ten.Mean > 0 {
			change = fmt.Sprintf("%+.0f", 100*(ten.Mean/two.Mean-1))
		}
		if two.Mean > 0 && ten.Mean > 0 && min(two.N, ten.N) > 1 {
			change += fmt.Sprintf(" ± %.0f", 100*noise*ten.Mean/two.Mean)
		}
		fmt.Fprintf(text, "%s %s %% (%+.0f %%)", [...]string{"", ",", ","}[column], change,
			100*(then[2][column]/then[0][column]-1))
	}
	fmt.Fprintln(text, ".")
}

// spendings says where the time of a slave went, by experiment and slaves.
func spendings(text *bytes.Buffer, samples []sample) {
	fmt.Fprint(text, "\n## Where the time of a slave went\n\n| experiment | slaves | pages | robots.txt | what "+
		"failed | between requests | seconds a page | pages in 60 minutes |\n|---|---|---|---|---|---|---|---|\n")
	for _, name := range []string{"time", "tasks", "depth", "crews", "shared"} {
		for _, slaves := range []int{2, 5, 8, 10} {
			of := func(value func(*sample) float64) float64 {
				return mean(samples, func(s *sample) (float64, bool) {
					return value(s), s.name == name && s.slaves == slaves
				})
			}
			pages := of(func(s *sample) float64 { return s.spent.pages })
			if math.IsNaN(pages) {
				continue
			}
			robots := of(func(s *sample) float64 { return s.spent.robots })
			failed := of(func(s *sample) float64 { return s.spent.failed })
			last := of(func(s *sample) float64 {
				i := len(s.at) - 1
				return s.at[i].pages * 60 / float64(s.minutes[i]) / float64(s.masters*s.slaves)
			})
			fmt.Fprintf(text, "| %s | %d | %.1f %% | %.1f %% | %.1f %% | %.1f %% | %s | %.0f |\n", name, slaves,
				100*pages, 100*robots, 100*failed, 100*(1-pages-robots-failed),
				decimals(60*of(func(s *sample) float64 { return s.spent.each }), 2), last)
		}
	}
}

func short(v float64) string {
	if v < 100 {
		return decimals(v, 1)
	}
	return decimals(v, 0)
}

// decimals writes a number, and a dash where nothing was counted.
func decimals(v float64, places int) string {
	if math.IsNaN(v) {
		return "–"
	}
	return strconv.FormatFloat(v, 'f', places, 64)
}

// stats is table 4.8 with what the thesis concludes from it. Each count of each run is one observation.
func stats(text *bytes.Buffer, samples []sample) {
	var columns [3][]float64
	for i := range samples {
		if samples[i].name == "crews" || samples[i].name == "shared" {
			continue
		}
		for _, c := range samples[i].at {
			for j, v := range [...]float64{c.pages, c.links, c.stopped} {
				columns[j] = append(columns[j], v)
			}
		}
	}
	var d [3]survey.Spread
	for i, column := range columns {
		d[i] = describe(column)
	}
	fmt.Fprint(text, "\n## All runs (table 4.8)\n\n| | pages | links | stop-listed |\n|---|---|---|---|\n")
	for _, row := range []struct {
		name string
		of   func(survey.Spread) float64
	}{
		{"mean", func(d survey.Spread) float64 { return d.Mean }},
		{"sd", func(d survey.Spread) float64 { return d.SD }},
		{"range", func(d survey.Spread) float64 { return d.Most - d.Least }},
		{"least", func(d survey.Spread) float64 { return d.Least }},
		{"most", func(d survey.Spread) float64 { return d.Most }},
		{"total", func(d survey.Spread) float64 { return d.Total }},
		{"counts", func(d survey.Spread) float64 { return float64(d.N) }},
	} {
		fmt.Fprintf(text, "| %s |", row.name)
		for i := range d {
			fmt.Fprintf(text, " %s (%s) |", short(row.of(d[i])), short(published.stats[row.name][i]))
		}
		text.WriteByte('\n')
	}
	fmt.Fprintf(text,
		"\nLinks a page: %s (%.2f). Stop-listed: %s %% of the pages met (%.1f %%). Correlation of pages with "+
			"links %s (%.2f), with the stop list %s (%.2f).\n",
		decimals(d[1].Total/d[0].Total, 2), published.linksPerPage,
		decimals(100*d[2].Total/(d[0].Total+d[2].Total), 1), 100*published.stopShare,
		decimals(correlation(columns[0], columns[1]), 2), published.pagesLinks,
		decimals(correlation(columns[0], columns[2]), 2), published.pagesStopped)
}

// describe gives the basic statistics.
func describe(values []float64) (d survey.Spread) {
	for _, v := range values {
		d.Add(v)
	}
	return d
}

// correlation is Pearson's r.
func correlation(x, y []float64) float64 {
	dx, dy := describe(x), describe(y)
	sum := 0.0
	for i := range x {
		sum += (x[i] - dx.Mean) * (y[i] - dy.Mean)
	}
	return sum / float64(dx.N-1) / dx.SD / dy.SD
}

// crews compares one master of many slaves with masters of few, which the thesis names as worth comparing and did not.
func crews(text *bytes.Buffer, samples []sample) {
	fmt.Fprint(text,
		"\n## One master with 8 slaves, and four with 2 (60 minutes)\n\n| masters × slaves | pages "+
			"| links | pages fetched twice |\n|---|---|---|---|\n")
	for _, row := range []struct {
		says, name string
		masters    int
	}{{"1 × 8", "crews", 1}, {"4 × 2", "crews", 4}, {"4 × 2, masters that share the crawl", "shared", 1}} {
		of := func(value func(*sample) float64) float64 {
			return mean(samples, func(s *sample) (float64, bool) {
				return value(s), s.name == row.name && s.masters == row.masters
			})
		}
		fmt.Fprintf(text, "| %s | %s | %s | %s |\n", row.says,
			short(of(func(s *sample) float64 { return s.at[0].pages })),
			short(of(func(s *sample) float64 { return s.at[0].links })),
			short(of(func(s *sample) float64 { return float64(s.twice) })))
	}
	twice := 0
	for i := range samples {
		if samples[i].masters == 1 {
			twice += samples[i].twice
		}
	}
	fmt.Fprintf(text, "\nUnder one master %d pages were fetched twice, in all runs together.\n", twice)
}

// shares compares tasks that are lent whole with tasks that slaves share, with the standard error of the pages.
func shares(text *bytes.Buffer, samples []sample) {
	fmt.Fprint(text, "\n| depth | slaves | tasks | pages in 60 minutes | of each slave | links | tasks drawn | "+
		"leases | robots.txt | between requests | fetched twice |\n|---|---|---|---|---|---|---|---|---|---|---|\n")
	names := map[bool]string{false: "shared", true: "whole"}
	for _, row := range lent() {
		of := func(value func(*sample) float64) survey.Spread {
			var values []float64
			for i := range samples {
				s := &samples[i]
				if s.whole == row.whole && s.slaves == row.slaves && s.depth == row.depth {
					values = append(values, value(s))
				}
			}
			return describe(values)
		}
		pages := of(func(s *sample) float64 { return s.at[0].pages })
		fmt.Fprintf(text,
			"| %d | %d | %s | %.0f ± %.0f | %.0f | %.0f | %.0f | %.0f | %.1f %% | %.1f %% | %.1f |\n",
			row.depth, row.slaves, names[row.whole], pages.Mean, pages.SD/math.Sqrt(float64(pages.N)),
			pages.Mean/float64(row.slaves), of(func(s *sample) float64 { return s.at[0].links }).Mean,
			of(func(s *sample) float64 { return float64(s.drawn) }).Mean,
			of(func(s *sample) float64 { return float64(s.leases) }).Mean,
			100*of(func(s *sample) float64 { return s.spent.robots }).Mean,
			100*of(func(s *sample) float64 { return 1 - s.spent.pages - s.spent.robots - s.spent.failed }).Mean,
			of(func(s *sample) float64 { return float64(s.twice) }).Mean)
	}
}

// draw leaves one figure: this henro and the thesis, a line for each number of slaves.
func (o *Options) draw(name, title, x string, values []float64, grid, then [3][3]float64) error {
	c := chart.Chart{Title: title, X: x, Y: "pages", Dots: true}
	for row, slaves := range slaveCounts {
		c.Series = append(c.Series, chart.Series{Name: fmt.Sprintf("%d slaves", slaves), X: values, Y: grid[row][:]})
	}
	for row, slaves := range slaveCounts {
		if then != ([3][3]float64{}) {
			name := fmt.Sprintf("%d, thesis", slaves)
			c.Series = append(c.Series, chart.Series{Name: name, X: values, Y: then[row][:]})
		}
	}
	return o.write(name, &c)
}

// scatter leaves one figure: a line through the counts of each experiment, in the order of their pages.
func (o *Options) scatter(name, title, y string, samples []sample, of func(count) float64) error {
	c := chart.Chart{Title: title, X: "pages", Y: y, Dots: true}
	for _, experiment := range []struct{ name, title string }{{"time", "30 to 90 minutes"}, {"tasks", "task URLs"},
		{"depth", "depth"}} {
		var counts []count
		for i := range samples {
			if samples[i].name == experiment.name {
				counts = append(counts, samples[i].at...)
			}
		}
		slices.SortFunc(counts, func(a, b count) int { return cmp.Compare(a.pages, b.pages) })
		line := chart.Series{Name: experiment.title}
		for _, at := range counts {
			line.X, line.Y = append(line.X, at.pages), append(line.Y, of(at))
		}
		c.Series = append(c.Series, line)
	}
	return o.write(name, &c)
}

func (o *Options) write(name string, c *chart.Chart) error {
	f, err := os.Create(filepath.Join(o.Dir, name+".svg"))
	if err != nil {
		return err
	}
	return errors.Join(c.WriteSVG(f), f.Close())
}

// writeRuns leaves every count of every run.
func (o *Options) writeRuns(samples []sample) error {
	f, err := os.Create(filepath.Join(o.Dir, "runs.csv"))
	if err != nil {
		return err
	}
	w := csv.NewWriter(f)
	w.Write([]string{"experiment", "repeat", "masters", "slaves", "task_urls", "depth", "minutes", "pages", "links",
		"stop_listed", "twice", "waits_pages", "waits_robots", "waits_failed", "seconds_a_page"})
	for i := range samples {
		s := &samples[i]
		for j, c := range s.at {
			w.Write([]string{
				s.name, strconv.Itoa(s.repeat), strconv.Itoa(s.masters), strconv.Itoa(s.slaves), strconv.Itoa(s.tasks),
				strconv.Itoa(s.depth),
				strconv.Itoa(s.minutes[j]), number(c.pages), number(c.links), number(c.stopped), strconv.Itoa(s.twice),
				share(s.spent.pages), share(s.spent.robots), share(s.spent.failed), share(60 * s.spent.each),
			})
		}
	}
	w.Flush()
	return errors.Join(w.Error(), f.Close())
}

func share(v float64) string { return strconv.FormatFloat(v, 'f', 4, 64) }

func number(v float64) string { return strconv.FormatFloat(v, 'f', 0, 64) }
