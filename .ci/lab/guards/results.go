package main

import (
	"errors"
	"os"
	"slices"
	"strings"
)

const results = ".ci/lab/guards/results.tsv"

// What a result may be beside the name of the test that fails.
const (
	survives = "survives"
	unseen   = "survives: it holds in no test"
	equal    = "equal: "
)

func killed(result string) bool {
	return result != "" && !strings.HasPrefix(result, survives) && !strings.HasPrefix(result, equal)
}

// read reads the results, those of guards aside that their packages no longer have.
func read(guards []guard) (map[string]string, error) {
	text, err := os.ReadFile(results)
	if err != nil && !errors.Is(err, os.ErrNotExist) {
		return nil, err
	}
	there := map[string]bool{}
	for _, g := range guards {
		there[g.key()], there[g.dir] = true, true
	}
	known := map[string]string{}
	for line := range strings.Lines(string(text)) {
		at := strings.LastIndexByte(line, '\t')
		if at < 0 {
			continue
		}
		key := line[:at]
		if dir, _, _ := strings.Cut(key, "\t"); there[key] || !there[dir] {
			known[key] = strings.TrimSpace(line[at+1:])
		}
	}
	return known, nil
}

func write(known map[string]string) error {
	var lines []string
	for key, result := range known {
		lines = append(lines, key+"\t"+result+"\n")
	}
	slices.Sort(lines)
	return os.WriteFile(results, []byte(strings.Join(lines, "")), 0o644)
}
