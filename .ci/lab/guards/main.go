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
	"strings"
	"time"
)

// options are what to try, by which tests.
type options struct {
	list, more, hold bool
	only, with       string
	limit            time.Duration
}

func main() {
	var o options
	flag.BoolVar(&o.list, "list", false, "list guards, and try none")
	flag.BoolVar(&o.more, "more", false, "try those alone of which no test is known that misses them")
	flag.BoolVar(&o.hold, "hold", false, "only see which guards hold in no test: they survive")
	flag.StringVar(&o.only, "run", ".", "only tests that match; what these do not miss is not noted")
	flag.StringVar(&o.with, "with", "", "packages, spaces between, whose tests too are tried")
	flag.DurationVar(&o.limit, "limit", 10*time.Minute, "leave tests out that take longer")
	flag.Parse()
	if err := o.run(flag.Args()); err != nil {
		fmt.Fprintln(os.Stderr, "guards:", err)
		os.Exit(1)
	}
}

func (o *options) run(patterns []string) error {
	guards, err := find(patterns)
	if err != nil {
		return err
	}
	if o.list {
		for _, g := range guards {
			fmt.Printf("%s:%d\t%s\t%s\n", g.file, g.line, g.function, g.condition)
		}
		fmt.Printf("%d guards\n", len(guards))
		return nil
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
	tests, err := o.record(append(patterns, strings.Fields(o.with)...), overlay)
	if err != nil {
		return err
	}
	return o.tryAll(guards, tests)
}

// tryAll tries guards by tests and notes the results: first those that hold in none, which takes no time.
func (o *options) tryAll(guards []guard, tests []test) error {
	known, err := read(guards)
	if err != nil {
		return err
	}
	for _, seen := range []bool{false, true} {
		for n, g := range guards {
			before := known[g.key()]
			if holds(n, tests) != seen || seen && o.hold || o.more && killed(before) {
				continue
			}
			result := unseen
			if seen {
				if result, err = try(n, g, tests); err != nil {
					return err
				}
			}
			if !killed(result) && (o.only != "." || strings.HasPrefix(before, equal)) {
				continue
			}
			known[g.key()] = result
			fmt.Printf("%s\t%s\n", g.key(), result)
			if err := write(known); err != nil {
				return err
			}
		}
	}
	survived := 0
	for _, g := range guards {
		if !killed(known[g.key()]) {
			survived++
		}
	}
	fmt.Printf("%d guards, %d survive or were not tried\n", len(guards), survived)
	return nil
}
