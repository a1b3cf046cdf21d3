package main

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// Each split has its row, on histories and on a graph: new pages first has half of the pages visited sooner than known
// ones first.
func TestSimulateSplitComparesAll(t *testing.T) {
	traces := filepath.Join(t.TempDir(), "traces.tsv")
	var lines strings.Builder
	for page := range 300 {
		fmt.Fprintf(&lines, "site\t%d\t0\t200000000\tA\t", page)
		for change := range 8 {
			fmt.Fprintf(&lines, "%d ", 1+page*1000+change*24_000_000)
		}
		lines.WriteByte('\n')
	}
	if err := os.WriteFile(traces, []byte(lines.String()), 0o600); err != nil {
		t.Fatal(err)
	}
	for _, arguments := range [][]string{
		{"--traces", traces, "--budget", "0.5"},
		{"--graph", filepath.Join("frontiersim", "testdata", "four", "arcs.delta"), "--seeds", "1", "--budget", "0.5"},
	} {
		cmd := newSplitCommand()
		var out bytes.Buffer
		cmd.SetOut(&out)
		cmd.SetArgs(arguments)
		if err := cmd.ExecuteContext(t.Context()); err != nil {
			t.Fatal(err)
		}
		rows := map[string][]string{}
		for line := range strings.Lines(out.String()) {
			for _, split := range []string{"alternation", "known first, planned whole", "new first, planned whole",
				"henro"} {
				if _, rest, ok := strings.Cut(line, " "+split+" "); ok {
					rows[split] = strings.Fields(rest)
				}
			}
		}
		if len(rows) != 4 {
			t.Errorf("%v: rows of %v", arguments, rows)
		}
		const half = 9 // behind versions, and three shares with their signs
		if known, fresh := rows["known first, planned whole"], rows["new first, planned whole"]; arguments[0] ==
			"--traces" && (len(known) < half || len(fresh) < half || fresh[half] >= known[half]) {
			t.Errorf("half found after %v of the time, %v", fresh, known)
		}
	}
}
