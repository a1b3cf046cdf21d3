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
	if err != nil || !strings.Contains(out, "chosen") || !strings.Contains(out, "for 1 of the sites") {
		t.Errorf("%v\n%s", err, out)
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
