package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"
)

// What tried.go reads from the environment.
const (
	offVariable  = "GUARDS_OFF"
	seenVariable = "GUARDS_SEEN"
)

// test is a test in its package's binary.
type test struct {
	binary, dir string // dir is where it runs
	name        string
	usual       time.Duration // what it takes alone
	holds       map[int]bool  // the guards that hold in it
}

// record compiles the tests of packages and runs each alone, once. What fails is left out, with a word.
func (o *options) record(patterns []string, overlay string) ([]test, error) {
	seen := filepath.Join(filepath.Dir(overlay), "seen")
	dirs, err := goList(`{{if or .TestGoFiles .XTestGoFiles}}{{.Dir}}{{end}}`, patterns)
	if err != nil {
		return nil, err
	}
	var all []test
	for i, dir := range dirs {
		binary := filepath.Join(filepath.Dir(overlay), fmt.Sprintf("%d.test", i))
		compile := exec.Command("go", "test", "-c", "-vet", "off", "-overlay", overlay, "-o", binary, dir)
		if out, err := compile.CombinedOutput(); err != nil {
			return nil, fmt.Errorf("go test -c %s: %w\n%s", dir, err, out)
		}
		listing := exec.Command(binary, "-test.list", o.only)
		listing.Dir = dir
		names, err := listing.Output()
		if err != nil {
			return nil, fmt.Errorf("tests of %s: %w", dir, err)
		}
		for name := range strings.FieldsSeq(string(names)) {
			if strings.HasPrefix(name, "Benchmark") {
				continue
			}
			t := test{binary: binary, dir: dir, name: name, usual: o.limit / 4}
			began := time.Now()
			out, err := runTests([]test{t}, seenVariable+"="+seen)
			if err != nil {
				fmt.Printf("%s fails with all guards, and is left out:\n%s", name, out)
				continue
			}
			t.usual = time.Since(began)
			if t.holds, err = held(seen); err != nil {
				return nil, err
			}
			all = append(all, t)
		}
		fmt.Printf("%s: %d tests so far\n", dir, len(all))
	}
	slices.SortStableFunc(all, func(a, b test) int { return int(a.usual - b.usual) })
	return all, nil
}

// held takes what the processes of one test have written.
func held(seen string) (map[int]bool, error) {
	text, err := os.ReadFile(seen)
	if errors.Is(err, os.ErrNotExist) {
		return nil, nil
	}
	holds := map[int]bool{}
	for line := range strings.FieldsSeq(string(text)) {
		n, wrong := strconv.Atoi(line)
		err = errors.Join(err, wrong)
		holds[n] = true
	}
	return holds, errors.Join(err, os.Remove(seen))
}

// runTests runs tests of one binary. They may take four times as long as usual, and five
// seconds.
func runTests(some []test, variable string) ([]byte, error) {
	limit := 5 * time.Second
	names := make([]string, len(some))
	for i, t := range some {
		names[i] = t.name
		limit += 4 * t.usual
	}
	ctx, cancel := context.WithTimeout(context.Background(), limit+10*time.Second)
	defer cancel()
	cmd := exec.CommandContext(ctx, some[0].binary, "-test.failfast", "-test.timeout", limit.String(),
		"-test.run", "^("+strings.Join(names, "|")+")$")
	cmd.Dir, cmd.Env = some[0].dir, append(os.Environ(), variable)
	return cmd.CombinedOutput()
}

// holds reports whether a guard holds in a test.
func holds(n int, tests []test) bool {
	return slices.ContainsFunc(tests, func(t test) bool { return t.holds[n] })
}

// try runs the tests in which a guard holds without it, those of its own package first.
func try(n int, g guard, tests []test) (string, error) {
	own, err := filepath.Abs(g.dir)
	if err != nil {
		return "", err
	}
	var binaries []string
	byBinary := map[string][]test{}
	for _, t := range tests {
		if !t.holds[n] {
			continue
		}
		if byBinary[t.binary] == nil && t.dir == own {
			binaries = slices.Insert(binaries, 0, t.binary)
		} else if byBinary[t.binary] == nil {
			binaries = append(binaries, t.binary)
		}
		byBinary[t.binary] = append(byBinary[t.binary], t)
	}
	for _, binary := range binaries {
		if name := missedBy(byBinary[binary], offVariable+"="+strconv.Itoa(n)); name != "" {
			return name, nil
		}
	}
	return survives, nil
}

// missedBy names the test that fails when a variable takes a guard away. The quickest go first, several in one process:
// half a second of them, then a second, and so on. The one that fails must fail alone, and pass with the guard, so that
// a busy machine misses nothing.
func missedBy(some []test, without string) string {
	for room := 500 * time.Millisecond; len(some) > 0; room *= 2 {
		k := 1
		for sum := some[0].usual; k < len(some) && sum+some[k].usual <= room; k++ {
			sum += some[k].usual
		}
		together := slices.Clone(some[:k])
		some = some[k:]
		out, err := runTests(together, without)
		if err == nil {
			continue
		}
		if named := named(out); named != "" { // it is the first to be asked alone
			slices.SortStableFunc(together, func(a, b test) int { return rank(b, named) - rank(a, named) })
		}
		for _, t := range together {
			if len(together) > 1 {
				if _, err := runTests([]test{t}, without); err == nil {
					continue
				}
			}
			if _, err := runTests([]test{t}, offVariable+"="); err == nil {
				return t.name
			}
			fmt.Printf("%s fails with all guards, too\n", t.name)
		}
	}
	return ""
}

var (
	failing = regexp.MustCompile(`(?m)^\s*--- FAIL: ([^\s/]+)`)
	hanging = regexp.MustCompile(`(?m)^running tests:\n\t([^\s/]+)`)
)

// named is the test that the output of several calls failed, or that was running when their time was over.
func named(out []byte) string {
	for _, r := range []*regexp.Regexp{failing, hanging} {
		if found := r.FindSubmatch(out); found != nil {
			return string(found[1])
		}
	}
	return ""
}

func rank(t test, named string) int {
	if t.name == named {
		return 1
	}
	return 0
}
