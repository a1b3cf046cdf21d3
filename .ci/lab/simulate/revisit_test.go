package main

import (
	"bytes"
	"encoding/csv"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"henro/cmd/config"
)

func simulateRevisit(t *testing.T, arguments ...string) (string, error) {
	t.Helper()
	cmd := newRevisitCommand()
	var out bytes.Buffer
	cmd.SetOut(&out)
	cmd.SetErr(&out)
	cmd.SilenceErrors, cmd.SilenceUsage = true, true
	cmd.SetArgs(arguments)
	err := cmd.ExecuteContext(t.Context())
	return out.String(), err
}

func TestSimulateRevisitScoresEveryPolicyAskedFor(t *testing.T) {
	dir := t.TempDir()
	scores, shares, traces := filepath.Join(dir, "scores.csv"), filepath.Join(dir, "shares.svg"),
		filepath.Join(dir, "traces.tsv")
	if err := os.WriteFile(traces,
		[]byte("# made by hand\nsite\tp\t1000\t900000\tA\t100000 200000 400000 "+
			"800000\nsite\tq\t1000\t900000\tD\t900000\n"), 0o644); err != nil {
		t.Fatal(err)
	}
	for _, arguments := range [][]string{{"--made-pages", "20"}, {"--made-pages", "20", "--half", "2"},
		{"--traces", traces}} {
		out, err := simulateRevisit(t, append(arguments, "--policy", "nutch,drift+optimal", "--budget", "1,2", "--csv",
			scores, "--plot", shares)...)
		if err != nil {
			t.Fatal(err)
		}
		for _, word := range []string{"nutch", "drift+optimal", "share"} {
			if !strings.Contains(out, word) {
				t.Errorf("%v: no %q in\n%s", arguments, word, out)
			}
		}
		f, err := os.Open(scores)
		if err != nil {
			t.Fatal(err)
		}
		lines, err := csv.NewReader(f).ReadAll()
		f.Close()
		if err != nil || len(lines) != 1+2*2*3 { // two policies, two budgets, of the site, of its class, in total
			t.Errorf("%v: %d lines of scores, %v", arguments, len(lines), err)
		}
		drawing, err := os.ReadFile(shares)
		if err != nil {
			t.Fatal(err)
		}
		for _, name := range []string{"nutch", "drift+optimal"} {
			if n := strings.Count(string(drawing), ">"+name+"<"); n != 1 {
				t.Errorf("%v: %q is drawn %d times", arguments, name, n)
			}
		}
	}
}

func TestSimulateRevisitLeavesOneSiteOut(t *testing.T) {
	out, err := simulateRevisit(t, "--made-pages", "20", "--policy", "fixed,drift+optimal:prior=10d", "--budget", "1",
		"--leave-one-site-out")
	if err != nil || !strings.Contains(out, "chosen") || !strings.Contains(out, "fixed: 1") {
		t.Errorf("%v\n%s", err, out)
	}
}

// A comparison that keeps its scores writes the same tables again without simulating, also when its last line was cut.
func TestTablesFromKeptScores(t *testing.T) {
	dir := t.TempDir()
	kept, tables := filepath.Join(dir, "kept"), filepath.Join(dir, "tables")
	var first []byte
	for round := range 3 {
		if _, err := simulateRevisit(t, "--made-pages", "20", "--policy", "fixed,drift+optimal", "--budget", "1,2",
			"--kept",
			kept, "--tables", tables); err != nil {
			t.Fatal(err)
		}
		scores, err := os.ReadFile(filepath.Join(tables, "scores.csv"))
		// two policies, two budgets, of the class, in total
		if err != nil || bytes.Count(scores, []byte("\n")) != 1+2*2*2 {
			t.Fatalf("%s, %v", scores, err)
		}
		if first == nil {
			first = scores
		}
		if !bytes.Equal(scores, first) {
			t.Errorf("round %d:\n%s\nat first:\n%s", round, scores, first)
		}
		lines, err := os.ReadFile(kept)
		if err != nil || bytes.Count(lines, []byte("\n")) != 4 {
			t.Errorf("round %d: %s, %v", round, lines, err)
		}
		if err := os.WriteFile(kept, lines[:len(lines)-10], 0o600); err != nil {
			t.Fatal(err)
		}
	}
	for _, m := range measures {
		drawing, err := os.ReadFile(filepath.Join(tables, m.name+".svg"))
		if err != nil || strings.Count(string(drawing), ">drift+optimal<") != 1 {
			t.Errorf("%s: %v", m.name, err)
		}
	}
}

func TestConstantsAreChosenByOtherSites(t *testing.T) {
	dir := t.TempDir()
	path, traces := filepath.Join(dir, "constants.csv"), filepath.Join(dir, "traces.tsv")
	var lines strings.Builder
	for _, site := range []string{"a", "b", "c"} {
		for page := range 5 {
			fmt.Fprintf(&lines, "%s\t%d\t1000\t9000000\tA\t%d %d 4000000 8000000\n", site, page, 100000+page, 2000000)
		}
	}
	if err := os.WriteFile(traces, []byte(lines.String()), 0o600); err != nil {
		t.Fatal(err)
	}
	if _, err := simulateRevisit(t, "--traces", traces, "--policy", "nutch,drift+optimal,fixed", "--budget", "1",
		"--constants", path); err != nil {
		t.Fatal(err)
	}
	f, err := os.Open(path)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	rows, err := csv.NewReader(f).ReadAll()
	// each policy as it is, by each constant, and any of them; any policy; each for every class; counted in two ways
	if err != nil || len(rows) != 1+(1+3+1+1+8+1+1+2)*4*2 {
		t.Fatalf("%d rows, %v", len(rows), err)
	}
	for _, row := range rows[1:] {
		if row[3] != "*" {
			continue
		}
		chosen := 0
		for _, choice := range strings.Split(row[5], ", ") {
			_, n, _ := strings.Cut(choice, ": ")
			n, _, _ = strings.Cut(n, " ")
			count, err := strconv.Atoi(n)
			if err != nil {
				t.Errorf("%q: %v", row, err)
			}
			chosen += count
		}
		if chosen != 3 {
			t.Errorf("chosen for %d of 3 sites: %q", chosen, row)
		}
	}
}

func TestSimulateRevisitRefusesWhatItCannotRead(t *testing.T) {
	bad := filepath.Join(t.TempDir(), "bad.tsv")
	if err := os.WriteFile(bad, []byte("one field\n"), 0o644); err != nil {
		t.Fatal(err)
	}
	for _, arguments := range [][]string{{"--policy", "psychic"}, {"--budget", "-1"}, {"--made-pages", "0"},
		{"--half", "3"}, {"--traces", "no such file"}, {"--traces", bad}} {
		if _, err := simulateRevisit(t, arguments...); config.Code(err) != config.ExitUsage {
			t.Errorf("%v: %v", arguments, err)
		}
	}
}
