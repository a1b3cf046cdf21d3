package chart

import (
	"bytes"
	"encoding/csv"
	"encoding/xml"
	"errors"
	"flag"
	"io"
	"math"
	"os"
	"testing"
)

var update = flag.Bool("update", false, "rewrite the files in testdata")

func sample() *Chart {
	return &Chart{
		Title: "Cost & room", X: "URLs, all", Y: "ns", LogX: true, Dots: true,
		Series: []Series{
			{Name: "<slots>", X: []float64{1e4, 1e5, 1e6}, Y: []float64{20, 21, 22}},
			{Name: "heap", X: []float64{1e4, 1e6}, Y: []float64{40, 160}},
		},
	}
}

func spansSample() *Chart {
	return &Chart{
		Title: "Intervals", X: "interval", Y: "pages", Spans: true, Bars: true, Narrow: true,
		Series: []Series{{Name: "pages", X: []float64{600, 3600, 86400, 30 * 86400}, Y: []float64{3, 10, 5, 0}}},
	}
}

func TestGolden(t *testing.T) {
	for file, write := range map[string]func(io.Writer) error{"testdata/chart.svg": sample().WriteSVG,
		"testdata/chart.csv": sample().WriteCSV, "testdata/spans.svg": spansSample().WriteSVG} {
		var got bytes.Buffer
		if err := write(&got); err != nil {
			t.Fatal(err)
		}
		if *update {
			if err := os.WriteFile(file, got.Bytes(), 0o644); err != nil {
				t.Fatal(err)
			}
		}
		want, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		if !bytes.Equal(got.Bytes(), want) {
			t.Errorf("%s: got\n%s", file, got.Bytes())
		}
	}
}

// Whatever the points, the drawing is well-formed XML without numbers that are none, and the table is CSV.
// Points that lie on each other are drawn once, but the last one always.
func TestPointsThatCannotBeToldApartAreDrawnOnce(t *testing.T) {
	var many Series
	for i := range 100_000 {
		many.X, many.Y = append(many.X, float64(i)), append(many.Y, float64(i%2)/1e6)
	}
	many.Y[0] = 1
	var b bytes.Buffer
	if err := (&Chart{Series: []Series{many}}).WriteSVG(&b); err != nil || b.Len() > 100_000 {
		t.Errorf("100,000 points are drawn in %d bytes, %v", b.Len(), err)
	}
}

func TestOddCharts(t *testing.T) {
	for name, c := range map[string]*Chart{
		"no lines":       {},
		"no points":      {Series: []Series{{Name: "a"}}},
		"one point":      {Series: []Series{{Name: "a", X: []float64{3}, Y: []float64{0}}}},
		"one point, log": {LogX: true, LogY: true, Series: []Series{{Name: "a", X: []float64{10}, Y: []float64{10}}}},
		"zero on log": {LogX: true, LogY: true, Series: []Series{{Name: "a", X: []float64{0, 1, 2},
			Y: []float64{-1, 0, 5}}}},
		"not numbers": {Series: []Series{{Name: "a", X: []float64{math.NaN(), 1}, Y: []float64{1, math.Inf(1)}}}},
		"below zero":  {Series: []Series{{Name: "a", X: []float64{-5, 5}, Y: []float64{-7, 9}}}},
		"tiny":        {Series: []Series{{Name: "a", X: []float64{0, 1e-9}, Y: []float64{0, 1e-12}}}},
		"bars of spans": {Spans: true, Bars: true, Narrow: true,
			Series: []Series{{Name: "a", X: []float64{0, 60, 3600, 1e9}, Y: []float64{3, 1, 2, 0}}}},
		"one span":          {Spans: true, Narrow: true, Series: []Series{{"a", []float64{5}, []float64{1}}}},
		"spans beyond all":  {Spans: true, Series: []Series{{Name: "a", X: []float64{1e-9, 1e15}, Y: []float64{1, 2}}}},
		"one bar":           {Bars: true, Series: []Series{{Name: "a", X: []float64{1}, Y: []float64{1}}}},
		"more than colours": {Series: make([]Series, 12)},
	} {
		t.Run(name, func(t *testing.T) {
			var svg, table bytes.Buffer
			if err := errors.Join(c.WriteSVG(&svg), c.WriteCSV(&table)); err != nil {
				t.Fatal(err)
			}
			if bytes.Contains(svg.Bytes(), []byte("NaN")) || bytes.Contains(svg.Bytes(), []byte("Inf")) {
				t.Errorf("no numbers in\n%s", svg.Bytes())
			}
			d := xml.NewDecoder(&svg)
			for {
				if _, err := d.Token(); err == io.EOF {
					break
				} else if err != nil {
					t.Fatal(err)
				}
			}
			if _, err := csv.NewReader(&table).ReadAll(); err != nil {
				t.Error(err)
			}
		})
	}
}
