package main

import (
	"encoding/csv"
	"fmt"
	"os"
	"strconv"
	"strings"

	"henro/store/report/chart"
)

// draw makes the figures of a soak out of its CSV, beside it: memory and goroutines over the minutes.
func draw(path string) error {
	in, err := os.Open(path)
	if err != nil {
		return err
	}
	defer in.Close()
	rows, err := csv.NewReader(in).ReadAll()
	if err != nil {
		return fmt.Errorf("read %s: %w", path, err)
	}
	if len(rows) == 0 {
		return fmt.Errorf("%s is empty", path)
	}
	for _, figure := range []struct{ suffix, unit, title string }{
		{"_mb", "MB", "A slave of ten dies every 20 s: own memory"},
		{"_heap", "MB", "A slave of ten dies every 20 s: heap after a collection"},
		{"_goroutines", "goroutines", "A slave of ten dies every 20 s: goroutines"},
	} {
		c := chart.Chart{Title: figure.title, X: "minutes", Y: figure.unit}
		for i, name := range rows[0] {
			name, ok := strings.CutSuffix(name, figure.suffix)
			if !ok {
				continue
			}
			line := chart.Series{Name: name}
			for _, row := range rows[1:] {
				x, _ := strconv.ParseFloat(row[0], 64)
				y, _ := strconv.ParseFloat(row[i], 64)
				line.X, line.Y = append(line.X, x/60), append(line.Y, y)
			}
			c.Series = append(c.Series, line)
		}
		out, err := os.Create(strings.TrimSuffix(path, ".csv") + "-" + strings.TrimPrefix(figure.suffix, "_") + ".svg")
		if err != nil {
			return err
		}
		if err := c.WriteSVG(out); err != nil {
			out.Close()
			return err
		}
		if err := out.Close(); err != nil {
			return err
		}
	}
	return nil
}
