package main

import (
	"bytes"
	"encoding/csv"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"henro/cmd/config"
)

func simulateFrontier(t *testing.T, arguments ...string) (string, error) {
	t.Helper()
	cmd := newFrontierCommand()
	var out, progress bytes.Buffer
	cmd.SetOut(&out)
	cmd.SetErr(&progress)
	cmd.SetArgs(arguments)
	cmd.SilenceErrors, cmd.SilenceUsage = true, true
	err := cmd.ExecuteContext(t.Context())
	return out.String(), err
}

func TestSimulateFrontierDrawsTheFigures(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "figures")
	out, err := simulateFrontier(t, "--web", "4000", "--seeds", "10", "--out", dir)
	if err != nil {
		t.Fatal(err)
	}
	for _, order := range []string{"| OPT |", "| fifo |", "| irlbot |", "| slots ", "| ranked, "} {
		if !strings.Contains(out, order) {
			t.Errorf("no row of %s in\n%s", order, out)
		}
	}
	for _, name := range []string{"figure2", "figure3", "figure4", "figure5", "figure6"} {
		f, err := os.Open(filepath.Join(dir, name+".csv"))
		if err != nil {
			t.Fatal(err)
		}
		rows, err := csv.NewReader(f).ReadAll()
		f.Close()
		if err != nil || len(rows) < 5 {
			t.Errorf("%s: %d rows, %v", name, len(rows), err)
		}
		if svg, err := os.ReadFile(filepath.Join(dir, name+".svg")); err != nil ||
			!bytes.Contains(svg, []byte("</svg>")) {
			t.Errorf("%s.svg: %v", name, err)
		}
	}
}

func TestSimulateFrontierCrawlsOnce(t *testing.T) {
	graph := filepath.Join(t.TempDir(), "edges.txt")
	if err := os.WriteFile(graph, []byte("x a b\nx b c\nx c a\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	out, err := simulateFrontier(t, "--graph", graph, "--columns", "2,3", "--policy", "slots", "-B", "4", "-H", "4")
	if err != nil {
		t.Fatal(err)
	}
	if want := "pages,mass,stored,step\n1,0.333333,1,0\n2,0.666667,1,"; !strings.HasPrefix(out, want) {
		t.Errorf("got\n%s\nwant\n%s…", out, want)
	}
}

func TestSimulateFrontierMeasuresCosts(t *testing.T) {
	dir := t.TempDir()
	out, err := simulateFrontier(t, "--cost", "--cost-urls", "10000", "-B", "64", "--out", dir)
	if err != nil {
		t.Fatal(err)
	}
	if !strings.Contains(out, "| 10000 | slots |") || !strings.Contains(out, "| 10000 | heap of URLs |") {
		t.Errorf("got\n%s", out)
	}
	if _, err := os.Stat(filepath.Join(dir, "cost.svg")); err != nil {
		t.Error(err)
	}
}

func TestSimulateFrontierRefuses(t *testing.T) {
	for name, arguments := range map[string][]string{
		"unknown policy": {"--policy", "lifo"},
		"unknown order":  {"--order", "age"},
		"odd B":          {"-B", "3"},
		"one column":     {"--columns", "2"},
		"no seeds":       {"--seeds", "0"},
		"no sketch":      {"--sketch", "0"},
		"no web":         {"--web", "0"},
	} {
		t.Run(name, func(t *testing.T) {
			if _, err := simulateFrontier(t, arguments...); config.Code(err) != config.ExitUsage {
				t.Errorf("error %v", err)
			}
		})
	}
	if _, err := simulateFrontier(t, "--graph", filepath.Join(t.TempDir(),
		"none")); config.Code(err) != config.ExitFailed {
		t.Errorf("missing file: %v", err)
	}
}
