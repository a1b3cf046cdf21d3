// Command reading compares how henro reads with readers that know nothing of it: encodings and links of made-up pages
// with Chromium, links, frames and bases of mutilated pages with parse5, and broken WARC files of other writers with
// warcio and gowarc. Every difference is printed.
package main

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
)

func main() {
	l := lab{}
	flag.StringVar(&l.dir, "dir", "", "for what is written")
	flag.StringVar(&l.henro, "henro", "", "the program")
	flag.StringVar(&l.modules, "scripts", "", "the folder of the scripts and their modules")
	flag.IntVar(&l.pages, "pages", 4000, "how many pages are mutilated")
	flag.IntVar(&l.shown, "shown", 3, "of the differences of one kind printed")
	flag.Uint64Var(&l.seed, "seed", 1, "of the mutations")
	flag.BoolVar(&l.all, "all", false, "every label in every way, not one of each encoding")
	flag.StringVar(&l.only, "only", "", "labels, pages or warcs")
	flag.Parse()
	failed := false
	for _, part := range []struct {
		name string
		run  func(context.Context) (bool, error)
	}{
		{"labels", l.labels},
		{"pages", func(ctx context.Context) (bool, error) { return l.mutilated(ctx, flag.Args()) }},
		{"warcs", l.warcs},
	} {
		if l.only != "" && l.only != part.name {
			continue
		}
		ok, err := part.run(context.Background())
		if err != nil {
			fmt.Printf("FAIL  %s: %v\n", part.name, err)
		}
		failed = failed || err != nil || !ok
	}
	if failed {
		os.Exit(1)
	}
}

type lab struct {
	dir, henro, modules string
	pages, shown        int
	seed                uint64
	all                 bool
	only                string
}

// node runs one of the scripts.
func (l *lab) node(ctx context.Context, script, input string, arguments ...string) ([]byte, error) {
	cmd := exec.CommandContext(ctx, "node", append([]string{filepath.Join(l.modules, script)}, arguments...)...)
	var complaint bytes.Buffer
	cmd.Stdin, cmd.Stderr = strings.NewReader(input), &complaint
	out, err := cmd.Output()
	if err != nil {
		return nil, fmt.Errorf("%s: %w: %s", script, err, complaint.Bytes())
	}
	return out, nil
}

// lines decodes lines of JSON.
func lines[T any](out []byte) (all []T, err error) {
	for line := range bytes.Lines(out) {
		var value T
		if err := json.Unmarshal(line, &value); err != nil {
			return nil, err
		}
		all = append(all, value)
	}
	return all, nil
}

var errCount = errors.New("another number of answers than of questions")

func verdict(ok bool, format string, values ...any) bool {
	word := "ok   "
	if !ok {
		word = "FAIL "
	}
	fmt.Println(word, fmt.Sprintf(format, values...))
	return ok
}
