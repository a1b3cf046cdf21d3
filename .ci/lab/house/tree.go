package main

import (
	"cmp"
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"maps"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/fzipp/gocyclo"
)

// place is what a package is for.
type place int

const (
	inProduct place = iota // a program of cmd is built from it
	forTests               // only tests import it, or it is an example
	inLab                  // below .ci
	unused                 // nothing imports it
)

// tree is all Go source below a directory, of every platform, as it is written.
type tree struct {
	files []*file
	place map[string]place // of each package, by its directory
	kinds []*kind          // structs of the product
}

type file struct {
	name, dir string // relative to the tree
	test      bool
	generated bool
	text      []byte
	ast       *ast.File
	set       *token.FileSet
}

// kind is a struct type and what hangs on it.
type kind struct {
	name            string
	methods, fields int      // methods with those of the structs that it embeds
	embeds          []string // names of these
}

// state is the count of fields of a type that does something: a struct without methods is a record, options are read
// from flags.
func (k *kind) state() int {
	if k.methods < 3 || strings.HasSuffix(k.name, "Options") {
		return 0
	}
	return k.fields
}

func readTree(dir string) (*tree, error) {
	t := &tree{}
	err := filepath.WalkDir(dir, func(name string, entry fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		if entry.IsDir() && name != dir {
			if entry.Name() == ".git" || entry.Name() == "testdata" {
				return filepath.SkipDir
			}
			if _, err := os.Stat(filepath.Join(name, "go.mod")); err == nil { // a module of its own
				return filepath.SkipDir
			}
		}
		if entry.IsDir() || filepath.Ext(name) != ".go" {
			return nil
		}
		text, err := os.ReadFile(name)
		if err != nil {
			return err
		}
		relative, err := filepath.Rel(dir, name)
		if err != nil {
			return err
		}
		relative = filepath.ToSlash(relative)
		f := &file{name: relative, dir: path.Dir(relative), text: text, set: token.NewFileSet(),
			test: strings.HasSuffix(name, "_test.go")}
		f.ast, err = parser.ParseFile(f.set, relative, text, parser.ParseComments)
		if err != nil {
			return err
		}
		f.generated = ast.IsGenerated(f.ast)
		t.files = append(t.files, f)
		return nil
	})
	t.sort()
	t.countKinds()
	return t, err
}

// sort finds the place of each package from who imports it.
func (t *tree) sort() {
	imports := map[string]map[string]bool{} // of each package, without its tests
	tested := map[string]bool{}             // imported by tests
	for _, f := range t.files {
		if imports[f.dir] == nil {
			imports[f.dir] = map[string]bool{}
		}
		for _, spec := range f.ast.Imports {
			name, _ := strconv.Unquote(spec.Path.Value)
			name, own := strings.CutPrefix(name, "henro/")
			switch {
			case !own:
			case f.test:
				tested[name] = true
			default:
				imports[f.dir][name] = true
			}
		}
	}
	t.place = map[string]place{}
	var reach func(dir string, where place)
	reach = func(dir string, where place) {
		if old, known := t.place[dir]; known && old <= where {
			return
		}
		t.place[dir] = where
		for next := range imports[dir] {
			reach(next, where)
		}
	}
	dirs := slices.Sorted(maps.Keys(imports))
	for _, dir := range dirs {
		if strings.HasPrefix(dir, "cmd/") && t.isProgram(dir) || dir == "." { // the library
			reach(dir, inProduct)
		}
	}
	for _, dir := range dirs {
		if tested[dir] || strings.HasPrefix(dir, "docs/examples/") {
			reach(dir, forTests)
		}
	}
	for _, dir := range dirs {
		if strings.HasPrefix(dir, ".ci/") {
			t.place[dir] = inLab
		}
	}
	for _, dir := range dirs {
		if strings.HasPrefix(dir, ".ci/") && t.isProgram(dir) {
			reach(dir, inLab)
		}
	}
	for _, dir := range dirs {
		onlyTests := !slices.ContainsFunc(t.files, func(f *file) bool { return f.dir == dir && !f.test })
		if _, known := t.place[dir]; !known && !onlyTests {
			t.place[dir] = unused
		}
	}
}

func (t *tree) isProgram(dir string) bool {
	return slices.ContainsFunc(t.files, func(f *file) bool {
		return f.dir == dir && !f.test && f.ast.Name.Name == "main"
	})
}

// programs are all that are built from the modules of the product: what none of these calls is dead.
func (t *tree) programs() (out []string) {
	for _, dir := range slices.Sorted(maps.Keys(t.place)) {
		foreign := slices.ContainsFunc(t.files, func(f *file) bool {
			return f.dir == dir && slices.ContainsFunc(f.ast.Imports, func(s *ast.ImportSpec) bool {
				return strings.Contains(s.Path.Value, "chromedp") || strings.Contains(s.Path.Value, "gocyclo")
			})
		})
		if t.isProgram(dir) && !foreign {
			out = append(out, "./"+dir)
		}
	}
	return out
}

func (t *tree) packages(where place) (out []string) {
	for dir, p := range t.place {
		if p == where {
			out = append(out, dir)
		}
	}
	slices.SortFunc(out, func(a, b string) int {
		la, _ := t.linesOf(a)
		lb, _ := t.linesOf(b)
		return cmp.Or(lb-la, strings.Compare(a, b))
	})
	return out
}

func (t *tree) lines(where place) (lines, code int) {
	for _, dir := range t.packages(where) {
		l, c := t.linesOf(dir)
		lines, code = lines+l, code+c
	}
	return lines, code
}

func (t *tree) testLines() (n int) {
	for _, f := range t.files {
		if f.test && !f.generated {
			n += strings.Count(string(f.text), "\n")
		}
	}
	return n
}

// linesOf counts the lines of a package without its tests, and those of them that hold code.
func (t *tree) linesOf(dir string) (lines, code int) {
	for _, f := range t.files {
		if f.dir != dir || f.test || f.generated {
			continue
		}
		tf := f.set.File(f.ast.Pos())
		blank := make([]bool, tf.LineCount()+1)
		for i, line := range strings.Split(string(f.text), "\n")[:tf.LineCount()] {
			blank[i+1] = strings.TrimSpace(line) == ""
		}
		for _, group := range f.ast.Comments {
			for _, c := range group.List {
				first, last := tf.Position(c.Pos()), tf.Position(c.End()).Line
				start := tf.Offset(tf.LineStart(first.Line))
				if strings.TrimSpace(string(f.text[start:first.Offset])) == "" {
					for line := first.Line; line <= last; line++ {
						blank[line] = true
					}
				}
			}
		}
		n := strings.Count(string(f.text), "\n")
		lines += n
		for _, b := range blank[1:min(n+1, len(blank))] {
			if !b {
				code++
			}
		}
	}
	return lines, code
}

// longFunctions are those of the product that are too long or too branched, and those of them that are not allowed.
func (t *tree) longFunctions() (long, unlisted []string) {
	for _, f := range t.files {
		if f.test || f.generated || t.place[f.dir] != inProduct {
			continue
		}
		for _, d := range f.ast.Decls {
			fn, ok := d.(*ast.FuncDecl)
			if !ok || fn.Body == nil {
				continue
			}
			lines := f.set.Position(fn.End()).Line - f.set.Position(fn.Pos()).Line + 1
			complexity := gocyclo.Complexity(fn)
			if lines <= maxLines && complexity < maxComplexity {
				continue
			}
			name := f.dir + "." + receiver(fn) + fn.Name.Name
			reason, listed := allowed[name]
			long = append(long, fmt.Sprintf("%s: %d lines, complexity %d %s", name, lines, complexity, reason))
			if !listed {
				unlisted = append(unlisted, name)
			}
		}
	}
	return long, unlisted
}

// wideLines are all lines of Go that are too wide, tests and lab included.
func (t *tree) wideLines() (out []string) {
	for _, f := range t.files {
		if f.generated {
			continue
		}
		for i, line := range strings.Split(string(f.text), "\n") {
			if n := utf8.RuneCountInString(line) + (tabWidth-1)*strings.Count(line, "\t"); n > maxColumns &&
				!strings.HasPrefix(line, "//go:") {
				out = append(out, fmt.Sprintf("%s:%d: %d columns", f.name, i+1, n))
			}
		}
	}
	return out
}

// longestFile is the lines of the longest file of the product.
func (t *tree) longestFile() (most int) {
	for _, f := range t.files {
		if !f.test && !f.generated && t.place[f.dir] == inProduct {
			most = max(most, strings.Count(string(f.text), "\n"))
		}
	}
	return most
}

// countKinds counts the fields and methods of each struct of the product.
func (t *tree) countKinds() {
	byName := map[string]*kind{}
	methods := map[string]int{}
	for _, f := range t.files {
		if f.test || f.generated || t.place[f.dir] != inProduct {
			continue
		}
		ast.Inspect(f.ast, func(n ast.Node) bool {
			switch n := n.(type) {
			case *ast.FuncDecl:
				if n.Recv != nil {
					methods[f.dir+"."+strings.TrimSuffix(receiver(n), ".")]++
				}
			case *ast.TypeSpec:
				if s, ok := n.Type.(*ast.StructType); ok {
					k := &kind{name: f.dir + "." + n.Name.Name}
					for _, field := range s.Fields.List {
						k.fields += max(1, len(field.Names))
						if len(field.Names) == 0 {
							k.embeds = append(k.embeds, f.embedded(field.Type))
						}
					}
					byName[k.name] = k
				}
			}
			return true
		})
	}
	var count func(name string) int
	count = func(name string) int {
		n := methods[name]
		if k := byName[name]; k != nil {
			for _, inner := range k.embeds {
				n += count(inner)
			}
		}
		return n
	}
	for name, k := range byName {
		k.methods = count(name)
		t.kinds = append(t.kinds, k)
	}
}

// embedded is the name of the type of an embedded field, as kinds are named; of another module's, only the last part.
func (f *file) embedded(of ast.Expr) string {
	if star, ok := of.(*ast.StarExpr); ok {
		of = star.X
	}
	switch of := of.(type) {
	case *ast.Ident:
		return f.dir + "." + of.Name
	case *ast.SelectorExpr:
		for _, spec := range f.ast.Imports {
			name, _ := strconv.Unquote(spec.Path.Value)
			if own, ok := strings.CutPrefix(name, "henro/"); ok && path.Base(own) == of.X.(*ast.Ident).Name {
				return own + "." + of.Sel.Name
			}
		}
		return of.Sel.Name
	}
	return ""
}

func (t *tree) largest(n int, by func(*kind) int) []*kind {
	slices.SortFunc(t.kinds, func(a, b *kind) int { return cmp.Or(by(b)-by(a), strings.Compare(a.name, b.name)) })
	return t.kinds[:min(n, len(t.kinds))]
}

// fields counts those of a struct of the product.
func (t *tree) fields(name string) int {
	i := slices.IndexFunc(t.kinds, func(k *kind) bool { return k.name == name })
	if i < 0 {
		return 0
	}
	return t.kinds[i].fields
}

// receiver is the type of a method with a dot behind it, nothing for a function.
func receiver(fn *ast.FuncDecl) string {
	if fn.Recv == nil {
		return ""
	}
	at := fn.Recv.List[0].Type
	for {
		switch e := at.(type) {
		case *ast.StarExpr:
			at = e.X
		case *ast.IndexExpr:
			at = e.X
		case *ast.IndexListExpr:
			at = e.X
		case *ast.Ident:
			return e.Name + "."
		default:
			return ""
		}
	}
}
