package main

import (
	"bytes"
	"context"
	"errors"
	"math"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

func TestStatistics(t *testing.T) {
	d := describe([]float64{2, 4, 4, 4, 5, 5, 7, 9})
	if d.N != 8 || d.Total != 40 || d.Mean != 5 || d.Least != 2 || d.Most != 9 || math.Abs(d.SD-2.13809) > 1e-5 {
		t.Errorf("described as %+v", d)
	}
	if r := correlation([]float64{1, 2, 3, 4}, []float64{2, 4, 6, 9}); math.Abs(r-0.99438) > 1e-4 {
		t.Errorf("correlation %v", r)
	}
	if r := correlation([]float64{1, 2, 3}, []float64{3, 2, 1}); math.Abs(r+1) > 1e-12 {
		t.Errorf("correlation of opposites %v", r)
	}
}

func TestThePlanIsThatOfTheThesis(t *testing.T) {
	counts := map[string]int{}
	for _, s := range plan() {
		counts[s.name] += len(s.minutes)
	}
	if counts["time"] != 9 || counts["tasks"] != 9 || counts["depth"] != 9 || counts["crews"] != 2 ||
		counts["shared"] != 1 {
		t.Errorf("the plan counts %v", counts)
	}
}

// The report holds every table, its numbers are those of the runs, and no cell is empty.
func TestTheReportHoldsEveryTable(t *testing.T) {
	var samples []sample
	for _, s := range plan() {
		got := sample{setting: s, repeat: 1}
		for i, minutes := range s.minutes {
			pages := 8.7 * float64(minutes*s.slaves*s.masters)
			got.at = append(got.at, count{pages, 12 * pages, pages/20 + float64(i)})
		}
		samples = append(samples, got)
	}
	o := Options{Dir: t.TempDir(), Scale: 100, Repeats: 1}
	if err := o.report(samples, len(samples), load{}); err != nil {
		t.Fatal(err)
	}
	text, err := os.ReadFile(filepath.Join(o.Dir, "report.md"))
	if err != nil {
		t.Fatal(err)
	}
	for _, words := range []string{"table 4.8", "table 4.9", "table 4.10", "table 4.11", "table 4.12", "table 4.13",
		"table 4.14", "Where the time of a slave went", "| 10 | 8.7 (8.8) | 8.7 (5.9) | 8.7 (7.0) |",
		"| 4 × 2 | 4176 |", "| 4 × 2, masters that share the crawl | 4176 |"} {
		if !strings.Contains(string(text), words) {
			t.Errorf("no %q in the report", words)
		}
	}
	if bytes.Contains(text, []byte("NaN")) {
		t.Errorf("an empty cell:\n%s", text)
	}
	runs, err := os.ReadFile(filepath.Join(o.Dir, "runs.csv"))
	if err != nil || bytes.Count(runs, []byte("\n")) != 1+9+9+9+2+1 {
		t.Errorf("%d lines of runs, %v", bytes.Count(runs, []byte("\n")), err)
	}
	for _, name := range []string{"figure-4.1.svg", "figure-4.2.svg", "figure-4.3.svg", "figure-4.5.svg",
		"figure-4.7.svg",
		"figure-4.9.svg", "figure-4.11.svg"} {
		if _, err := os.Stat(filepath.Join(o.Dir, name)); err != nil {
			t.Error(err)
		}
	}
}

// An experiment that is interrupted by a signal leaves a report of the runs that had ended.
func TestAnInterruptedExperimentReportsWhatItHas(t *testing.T) {
	o := Options{Dir: t.TempDir(), Scale: 2000, Repeats: 1, Parallel: 1}
	if err := run(o, signalAfter("1 of 24")); !errors.Is(err, context.Canceled) {
		t.Fatalf("ended with %v", err)
	}
	text, err := os.ReadFile(filepath.Join(o.Dir, "report.md"))
	if err != nil {
		t.Fatal(err)
	}
	if !bytes.Contains(text, []byte("Interrupted: 1 of 24 runs")) || bytes.Contains(text, []byte("NaN")) {
		t.Errorf("the report of one run:\n%s", text)
	}
}

// signalAfter interrupts this process when a line of progress holds these words.
type signalAfter string

func (words signalAfter) Write(line []byte) (int, error) {
	if !strings.Contains(string(line), string(words)) {
		return len(line), nil
	}
	process, err := os.FindProcess(os.Getpid())
	if err != nil {
		return 0, err
	}
	return len(line), process.Signal(os.Interrupt)
}
