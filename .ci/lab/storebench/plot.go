package main

import (
	"bufio"
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"henro/store/report/chart"
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
			figure := newFigure(fmt.Sprintf("%s, %s URLs", c.title,
				map[string]string{"1000000": "1 million", "17500000": "17.5 million"}[n]), "write buffer, MB", c.y,
				true)
			for _, r := range rows {
				if r[0] == "queue" && r[1] == n {
					figure.add(map[string]string{"hier": "hierarchical", "minute": "1 minute", "hour": "1 hour",
						"day": "1 day"}[r[2]], number(r[3]), number(r[c.column]))
				}
				if r[0] == "keyed" && r[1] == n {
					figure.add("keyed, due index", number(r[3])*155/1e6, number(r[c.column]))
				}
			}
			name := strings.Replace(c.file, ".svg", map[string]string{"1000000": "-1M.svg", "17500000": "-17M.svg"}[n],
				1)
			if err := figure.write(filepath.Join(b.out, name)); err != nil {
				return err
			}
		}
	}
	figure := newFigure("File size while 1 million URLs are turned over", "million visits", "MB", false)
	for _, r := range rows {
		if r[0] == "stable" {
			figure.add(fmt.Sprintf("file, buffer %g MB", number(r[3])), number(r[4])/1e6, number(r[8]))
			figure.add(fmt.Sprintf("in use, buffer %g MB", number(r[3])), number(r[4])/1e6, number(r[9]))
		}
	}
	return figure.write(filepath.Join(b.out, "state-size.svg"))
}

func number(s string) float64 {
	v, _ := strconv.ParseFloat(s, 64)
	return v
}

// figure is a chart that is filled point by point.
type figure struct{ chart.Chart }

func newFigure(title, x, y string, logarithmic bool) *figure {
	return &figure{chart.Chart{Title: title, X: x, Y: y, LogX: logarithmic, LogY: logarithmic, Dots: true}}
}

func (f *figure) add(name string, x, y float64) {
	i := slices.IndexFunc(f.Series, func(l chart.Series) bool { return l.Name == name })
	if i < 0 {
		i = len(f.Series)
		f.Series = append(f.Series, chart.Series{Name: name})
	}
	l := &f.Series[i]
	at, _ := slices.BinarySearch(l.X, x)
	l.X, l.Y = slices.Insert(l.X, at, x), slices.Insert(l.Y, at, y)
}

func (f *figure) write(path string) error {
	if len(f.Series) == 0 {
		return nil
	}
	var svg bytes.Buffer
	if err := f.WriteSVG(&svg); err != nil {
		return err
	}
	return os.WriteFile(path, svg.Bytes(), 0o644)
}
