package main

import (
	"bytes"
	"cmp"
	"errors"
	"fmt"
	"go/ast"
	"go/parser"
	"go/printer"
	"go/token"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
)

// guard is an if that only leaves.
type guard struct {
	dir, function, condition string
	pkg, file                string
	line                     int
	from, to                 int // where the condition stands, in bytes
}

func (g guard) key() string { return g.dir + "\t" + g.function + "\t" + g.condition }

// find lists the guards of packages in the order of their keys: those of tests, and of packages for tests, aside.
func find(patterns []string) ([]guard, error) {
	const files = `{{$d := .Dir}}{{range .GoFiles}}{{$d}}/{{.}}{{"\n"}}{{end}}`
	names, err := goList(files, patterns)
	if err != nil {
		return nil, err
	}
	here, err := os.Getwd()
	if err != nil {
		return nil, err
	}
	var all []guard
	for _, name := range names {
		name, err := filepath.Rel(here, name)
		if err != nil {
			return nil, err
		}
		if strings.HasSuffix(filepath.Dir(name), "test") {
			continue
		}
		some, err := guardsOf(name)
		if err != nil {
			return nil, err
		}
		all = append(all, some...)
	}
	slices.SortStableFunc(all, func(a, b guard) int { return cmp.Compare(a.key(), b.key()) })
	for i, same := 1, 1; i < len(all); i++ { // a function may ask the same twice
		if same++; all[i].key() != all[i-same+1].key() {
			same = 1
		} else {
			all[i].condition += fmt.Sprintf(" (%d)", same)
		}
	}
	return all, nil
}

// goList asks go list for lines about packages.
func goList(format string, patterns []string) ([]string, error) {
	out, err := exec.Command("go", append([]string{"list", "-f", format}, patterns...)...).Output()
	if err != nil {
		return nil, fmt.Errorf("go list: %w", err)
	}
	return strings.Fields(string(out)), nil
}

var generated = regexp.MustCompile(`(?m)^// Code generated .* DO NOT EDIT\.$`)

// guardsOf lists the guards of a file in the order in which they stand.
func guardsOf(name string) ([]guard, error) {
	text, err := os.ReadFile(name)
	if err != nil || generated.Match(text) {
		return nil, err
	}
	set := token.NewFileSet()
	parsed, err := parser.ParseFile(set, name, text, 0)
	if err != nil {
		return nil, err
	}
	var all []guard
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
				from, to := set.Position(i.Cond.Pos()), set.Position(i.Cond.End())
				all = append(all, guard{
					dir: filepath.ToSlash(filepath.Dir(name)), function: nameOf(f),
					condition: strings.Join(strings.Fields(condition.String()), " "),
					pkg:       parsed.Name.Name, file: name, line: from.Line, from: from.Offset, to: to.Offset,
				})
			}
			return true
		})
	}
	return all, err
}

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
