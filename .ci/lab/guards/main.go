// Guards tries away, one at a time, the guards of packages, and names the test that fails. A guard is an if whose body
// only leaves: it returns, goes on with the next round, or breaks off. Its condition becomes false.
//
//	go run ./.ci/lab/guards ./cluster ./actors/collect     tries all guards of these packages by their tests
//	go run ./.ci/lab/guards -list ./store/...              lists them
//	go run ./.ci/lab/guards -more ./cmd/replay ./store/... tries those alone that no test is known to miss
//	go run ./.ci/lab/guards -with ./cmd/embedded ./store   survivors are tried by the tests of that package too
//	go run ./.ci/lab/guards -run Forged ./store            tries by some tests alone, as by those that are new
//	go run ./.ci/lab/guards -hold ./store                  only sees which guards hold in no test
//
// Results are kept in .ci/lab/guards/results.tsv, a line for each guard: package, function, condition, and the test
// that fails, or "survives"; a guard without a line has not been tried. A person who has looked at a survivor may write
// "equal: why" instead, which stays as long as the guard survives. A guard whose text changes is tried anew, and lines
// of guards that are gone go. A guard that only passes an error on (if err != nil) is left out: what it guards is tried
// by the tests of failures.
//
// The packages are compiled once, with every guard's condition handed through tried.Guard. One run of each test alone
// tells how long it takes and which guards hold in it: no other test can miss a guard. A guard that holds in none
// survives at once; for each other one its tests run without it, the quickest first. The tree stays as it is: the
// compiler reads the changed files from elsewhere (go test -overlay).
package main

import (
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"time"
)

func main() {
	list := flag.Bool("list", false, "list guards, and try none")
	more := flag.Bool("more", false, "try those alone of which no test is known that misses them")
	hold := flag.Bool("hold", false, "only see which guards hold in no test: they survive")
	limit := flag.Duration("limit", 10*time.Minute, "leave tests out that take longer")
	only := flag.String("run", ".", "only tests that match; what these do not miss is not noted")
	with := flag.String("with", "", "packages, spaces between, whose tests too are tried")
	flag.Parse()
	if err := run(flag.Args(), strings.Fields(*with), *list, *more, *hold, *limit, *only); err != nil {
		fmt.Fprintln(os.Stderr, "guards:", err)
		os.Exit(1)
	}
}

func run(patterns, with []string, list, more, hold bool, limit time.Duration,
	only string) error {
	guards, err := find(patterns)
	if err != nil {
		return err
	}
	if list {
		for _, g := range guards {
			fmt.Printf("%s:%d\t%s\t%s\n", g.file, g.line, g.function, g.condition)
		}
		fmt.Printf("%d guards\n", len(guards))
		return nil
	}
	known, err := read(guards)
	if err != nil {
		return err
	}
	scratch, err := os.MkdirTemp("", "guards")
	if err != nil {
		return err
	}
	defer os.RemoveAll(scratch)
	overlay, err := instrument(guards, scratch)
	if err != nil {
		return err
	}
	tests, err := record(append(patterns, with...), overlay, filepath.Join(scratch, "seen"), only, limit)
	if err != nil {
		return err
	}
	note := func(g guard, result string) error {
		if only != "." && !killed(result) {
			return nil
		}
		if killed(result) || !strings.HasPrefix(known[g.key()], equal) {
			known[g.key()] = result
		}
		fmt.Printf("%s\t%s\n", g.key(), known[g.key()])
		return write(known)
	}
	for n, g := range guards {
		if !holds(n, tests) {
			if err := note(g, unseen); err != nil {
				return err
			}
		}
	}
	survived := 0
	for n, g := range guards {
		if !hold && holds(n, tests) && !(more && killed(known[g.key()])) {
			result, err := try(n, g, tests)
			if err == nil {
				err = note(g, result)
			}
			if err != nil {
				return err
			}
		}
		if !killed(known[g.key()]) {
			survived++
		}
	}
	fmt.Printf("%d guards, %d survive\n", len(guards), survived)
	return nil
}
