// Guards tries away, one at a time, the guards of packages, and names the test that fails. A guard is an if whose body
// only leaves: it returns, goes on with the next round, or breaks off. Its condition becomes false.
//
//	go run ./.ci/lab/guards ./cluster ./actors/collect     tries all guards of these packages by their own tests
//	go run ./.ci/lab/guards -list ./store/...              lists them
//	go run ./.ci/lab/guards -more ./cmd/replay ./store/... tries those alone that results.tsv has no line of
//
// Results are kept in .ci/lab/guards/results.tsv, a line for each guard: package, function, condition, and the test
// that fails, or "survives". A guard whose text changes is tried anew, and lines of guards that are gone go. A guard
// that only passes an error on (if err != nil) is left out: what it guards is tried by the tests of failures.
//
// The tree stays as it is: the compiler reads the changed file from elsewhere (go test -overlay).
package main

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"go/ast"
	"go/format"
	"go/parser"
	"go/printer"
	"go/token"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"time"
)

const results = ".ci/lab/guards/results.tsv"

// guard is an if that only leaves.
type guard struct {
	dir, function, condition string
	file                     string
	from, to                 int // where the condition stands, in bytes
}

func (g guard) key() string { return g.dir + "\t" + g.function + "\t" + g.condition }

func main() {
	list := flag.Bool("list", false, "list guards, and try none")
	more := flag.Bool("more", false, "try those alone of which there is no result")
	limit := flag.Duration("limit", 5*time.Minute, "how long the tests of a package may take")
	flag.Parse()
	if err := run(flag.Args(), *list, *more, *limit); err != nil {
		fmt.Fprintln(os.Stderr, "guards:", err)
		os.Exit(1)
	}
}

func run(patterns []string, list, more bool, limit time.Duration) error {
	guards, err := find(patterns)
	if err != nil {
		return err
	}
	if list {
		for _, g := range guards {
			fmt.Printf("%s:%s\t%s\n", g.file, g.function, g.condition)
		}
		fmt.Printf("%d guards\n", len(guards))
		return nil
	}
	known, err := read()
	if err != nil {
		return err
	}
	there := map[string]bool{}
	for _, g := range guards {
		there[g.key()] = true
		there[g.dir] = true
	}
	for key := range known { // of the packages that were asked for, those that are gone
		if dir, _, _ := strings.Cut(key, "\t"); there[dir] && !there[key] {
			delete(known, key)
		}
	}
	survived := 0
	for i, g := range guards {
		if known[g.key()] == "" || !more {
			if known[g.key()], err = try(g, limit); err != nil {
				return err
			}
			if err := write(known); err != nil {
				return err
			}
			fmt.Printf("%d of %d\t%s\t%s\n", i+1, len(guards), g.key(), known[g.key()])
		}
		if known[g.key()] == survives {
			survived++
		}
	}
	fmt.Printf("%d guards, %d survive\n", len(guards), survived)
	return nil
}

// find lists the guards of packages, those of tests aside.
func find(patterns []string) ([]guard, error) {
	const files = `{{$d := .Dir}}{{range .GoFiles}}{{$d}}/{{.}}{{"\n"}}{{end}}`
	args := append([]string{"list", "-f", files}, patterns...)
	out, err := exec.Command("go", args...).Output()
	if err != nil {
		return nil, fmt.Errorf("go list: %w", err)
	}
	here, err := os.Getwd()
	if err != nil {
		return nil, err
	}
	var all []guard
	for name := range strings.FieldsSeq(string(out)) {
		text, err := os.ReadFile(name)
		if err != nil {
			return nil, err
		}
		if generated.Match(text) {
			continue
		}
		set := token.NewFileSet()
		parsed, err := parser.ParseFile(set, name, text, 0)
		if err != nil {
			return nil, err
		}
		relative, err := filepath.Rel(here, name)
		if err != nil {
			return nil, err
		}
		for _, d := range parsed.Decls {
			f, ok := d.(*ast.FuncDecl)
			if !ok || f.Body == nil {
				continue
			}
			ast.Inspect(f.Body, func(n ast.Node) bool {
				i, ok := n.(*ast.IfStmt)
				if ok && leaves(i) && !passesOn(i.Cond) {
					var condition bytes.Buffer
					err = errors.Join(err, printer.Fprint(&condition, set, i.Cond))
					all = append(all, guard{filepath.ToSlash(filepath.Dir(relative)), nameOf(f),
						strings.Join(strings.Fields(condition.String()), " "), relative,
						set.Position(i.Cond.Pos()).Offset, set.Position(i.Cond.End()).Offset})
				}
				return true
			})
		}
		if err != nil {
			return nil, err
		}
	}
	slices.SortStableFunc(all, func(a, b guard) int { return cmp.Compare(a.key(), b.key()) })
	return slices.CompactFunc(all, func(a, b guard) bool { return a.key() == b.key() }), nil
}

var generated = regexp.MustCompile(`(?m)^// Code generated .* DO NOT EDIT\.$`)

// leaves reports whether an if does nothing but leave.
func leaves(i *ast.IfStmt) bool {
	if i.Else != nil || len(i.Body.List) != 1 {
		return false
	}
	switch i.Body.List[0].(type) {
	case *ast.ReturnStmt, *ast.BranchStmt:
		return true
	}
	return false
}

// passesOn reports whether a condition is err != nil.
func passesOn(e ast.Expr) bool {
	b, ok := e.(*ast.BinaryExpr)
	if !ok || b.Op != token.NEQ {
		return false
	}
	x, isName := b.X.(*ast.Ident)
	y, isNil := b.Y.(*ast.Ident)
	return isName && isNil && x.Name == "err" && y.Name == "nil"
}

func nameOf(f *ast.FuncDecl) string {
	if f.Recv == nil {
		return f.Name.Name
	}
	t := f.Recv.List[0].Type
	if s, ok := t.(*ast.StarExpr); ok {
		t = s.X
	}
	if s, ok := t.(*ast.IndexExpr); ok {
		t = s.X
	}
	if name, ok := t.(*ast.Ident); ok {
		return name.Name + "." + f.Name.Name
	}
	return f.Name.Name
}

const survives = "survives"

var failing = regexp.MustCompile(`(?m)^\s*--- FAIL: (\S+)`)

// try runs the tests of a guard's package without it.
func try(g guard, limit time.Duration) (string, error) {
	text, err := os.ReadFile(g.file)
	if err != nil {
		return "", err
	}
	scratch, err := os.MkdirTemp("", "guards")
	if err != nil {
		return "", err
	}
	defer os.RemoveAll(scratch)
	// The condition is still computed, since it may be the only place that uses a name; what it says is ignored.
	changed := slices.Concat(text[:g.from], []byte("false && ("), text[g.from:g.to], []byte(")"), text[g.to:])
	if changed, err = format.Source(changed); err != nil {
		return "", fmt.Errorf("%s: %w", g.key(), err)
	}
	path, err := filepath.Abs(g.file)
	if err != nil {
		return "", err
	}
	other, overlay := filepath.Join(scratch, "changed.go"), filepath.Join(scratch, "overlay.json")
	replace, err := json.Marshal(map[string]any{"Replace": map[string]string{path: other}})
	if err = errors.Join(err, os.WriteFile(other, changed, 0o600), os.WriteFile(overlay, replace, 0o600)); err != nil {
		return "", err
	}
	ctx, cancel := context.WithTimeout(context.Background(), limit+time.Minute)
	defer cancel()
	cmd := exec.CommandContext(ctx, "go", "test", "-failfast", "-timeout", limit.String(), "-overlay", overlay,
		"./"+g.dir)
	out, err := cmd.CombinedOutput()
	failed := failing.FindSubmatch(out)
	switch {
	case err == nil:
		return survives, nil
	case failed != nil:
		return string(failed[1]), nil
	case bytes.Contains(out, []byte("panic: test timed out")):
		return "the tests hang", nil
	case bytes.Contains(out, []byte("panic:")):
		return "the tests panic", nil
	case bytes.Contains(out, []byte("[build failed]")):
		return "the compiler", nil
	}
	return "", fmt.Errorf("%s: go test: %w\n%s", g.key(), err, out)
}

func read() (map[string]string, error) {
	text, err := os.ReadFile(results)
	if err != nil && !errors.Is(err, os.ErrNotExist) {
		return nil, err
	}
	known := map[string]string{}
	for line := range strings.Lines(string(text)) {
		if at := strings.LastIndexByte(line, '\t'); at > 0 {
			known[line[:at]] = strings.TrimSpace(line[at+1:])
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
