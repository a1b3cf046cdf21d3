package cmd_test

import (
	"flag"
	"go/ast"
	"maps"
	"os"
	"path"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/spf13/pflag"

	"henro/cmd/config"
)

var update = flag.Bool("update", false, "write the list of flags anew")

// families are the flags by who has them.
var families = []family{
	{"A crawl", "`henro crawl`, `henro-master`", func(f *pflag.FlagSet) { new(config.Crawl).Register(f) }},
	{"Fetching and archiving", "`henro crawl`, `henro-slave`", func(f *pflag.FlagSet) { new(config.Work).Register(f) }},
	{"Collecting", "`henro-slave`", func(f *pflag.FlagSet) { new(config.Collect).Register(f) }},
	{"Nodes", "`henro-master`, `henro-slave` (which takes free ports)", func(f *pflag.FlagSet) {
		new(config.Peers).Register(f, "127.0.0.1:7781", "127.0.0.1:7782")
	}},
	{"Several masters", "`henro-master`", func(f *pflag.FlagSet) { new(config.Masters).Register(f) }},
	{"Control",
		"`henro crawl`, `henro-master`; `henro-slave` has `--listen-http`, off unless given, `--token-file` and " +
			"`--config`", func(f *pflag.FlagSet) { new(config.Run).Register(f) }},
	{"Logging", "all programs", func(f *pflag.FlagSet) { new(config.Log).Register(f) }},
}

type family struct {
	title, who string
	register   func(*pflag.FlagSet)
}

func (y *family) flags() *pflag.FlagSet {
	f := pflag.NewFlagSet(y.title, pflag.ContinueOnError)
	f.SortFlags = false
	y.register(f)
	return f
}

// row is one flag in the list: its default and its meaning are the ones that --help shows. Those of every day are bold.
func row(f *pflag.Flag) string {
	value, meaning := pflag.UnquoteUsage(f)
	standard := f.DefValue
	switch {
	case f.Name == "name":
		standard = " (host name)"
	case standard == "", standard == "[]", slices.Contains([]string{"0", "0s"}, standard) &&
		!strings.Contains(meaning, "0 is"):
		standard = ""
	case standard == "false":
		standard = " (off)"
	case strings.HasSuffix(standard, "m0s"):
		standard = " (" + strings.TrimSuffix(standard, "0s") + ")"
	default:
		standard = " (" + standard + ")"
	}
	name := "--" + f.Name
	if value != "" && value == strings.ToUpper(value) {
		name += " " + value
	}
	name = "`" + name + "`"
	if slices.Contains(config.Everyday, f.Name) {
		name = "**" + name + "**"
	}
	return item(name + standard + ": " + strings.ReplaceAll(meaning, "*", `\*`))
}

// columns is how wide a line of the documents may be.
const columns = 120

// item is an item of a list, in lines of at most so many columns.
func item(text string) string {
	var lines strings.Builder
	line := "-"
	for _, word := range strings.Fields(text) {
		if utf8.RuneCountInString(line)+1+utf8.RuneCountInString(word) > columns {
			lines.WriteString(line + "\n")
			line = " "
		}
		line += " " + word
	}
	return lines.String() + line + "\n"
}

func TestListOfFlags(t *testing.T) {
	list := ""
	all := map[string]bool{}
	for _, y := range families {
		list += "\n## " + y.title + "\n\nOf " + y.who + ".\n\n"
		y.flags().VisitAll(func(f *pflag.Flag) {
			all[f.Name] = true
			list += row(f)
		})
	}
	for _, name := range config.Everyday {
		if !all[name] {
			t.Errorf("there is no flag --%s any more", name)
		}
	}
	const path = "../docs/flags.md"
	text, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	before, rest, begun := strings.Cut(string(text), "<!-- flags -->\n")
	_, after, ended := strings.Cut(rest, "<!-- end of flags -->\n")
	if !begun || !ended {
		t.Fatalf("%s: the marks around the list of flags are gone", path)
	}
	want := before + "<!-- flags -->\n" + list + "<!-- end of flags -->\n" + after
	if want == string(text) {
		return
	}
	if !*update {
		t.Fatalf("%s: the list of flags is not what the programs have: go test ./cmd -run TestListOfFlags -update",
			path)
	}
	if err := os.WriteFile(path, []byte(want), 0o644); err != nil {
		t.Fatal(err)
	}
}

func TestExitCodesOfTheREADME(t *testing.T) {
	text, err := os.ReadFile("../README.md")
	if err != nil {
		t.Fatal(err)
	}
	_, rest, _ := strings.Cut(string(text), "Exit codes:")
	line, _, _ := strings.Cut(rest, "\n\n")
	var said []int
	for _, digits := range regexp.MustCompile(`\b\d+\b`).FindAllString(line, -1) {
		code, err := strconv.Atoi(digits)
		if err != nil {
			t.Fatal(err)
		}
		said = append(said, code)
	}
	want := []int{
		config.ExitFinished, config.ExitFailed, config.ExitUsage, config.ExitDiskFull, config.ExitDamaged,
		config.ExitPanicked, config.ExitSeedsFailed,
		config.ExitSizeLimit, config.ExitTimeLimit, config.ExitPageLimit, config.ExitInterrupted,
	}
	if !slices.Equal(said, want) {
		t.Errorf("README.md says %v, the programs end with %v", said, want)
	}
}

var (
	methodNamed = regexp.MustCompile("`(\\w+)\\.(\\w+)`")
	methodFound = regexp.MustCompile("((?:`\\w+\\.\\w+`(?:,| and)?\\s+)+)in\\s+`([a-z/]+\\.go)`")
	testNamed   = regexp.MustCompile("`((?:Test|Fuzz)[A-Z]\\w*)`")
	placed      = regexp.MustCompile("((?:`(?:Test|Fuzz)[A-Z]\\w*`,?\\s+)+)\\(([a-z/]+)\\)")
	linked      = regexp.MustCompile(`\]\(([^)#:]+)\)`)
	coded       = regexp.MustCompile("`((?:" + strings.Join(slices.Sorted(maps.Keys(below))[1:], "|") + // but "."
		")(?:/[\\w.-]+)*)`")
)

func TestDocsNameWhatExists(t *testing.T) {
	tests := map[string]map[string]bool{} // the folders of the tests of a name
	for _, f := range tree(t) {
		for _, declaration := range f.ast.Decls {
			if function, ok := declaration.(*ast.FuncDecl); ok && f.isTest() {
				name := function.Name.Name
				if tests[name] == nil {
					tests[name] = map[string]bool{}
				}
				tests[name][path.Dir(f.path)] = true
			}
		}
	}
	docs, err := filepath.Glob("../docs/*.md")
	if err != nil {
		t.Fatal(err)
	}
	measured, err := filepath.Glob("../docs/measured/*.md")
	if err != nil || len(measured) == 0 {
		t.Fatal(measured, err)
	}
	docs = append(append(docs, measured...), "../README.md", "../CHANGELOG.md", "../CONTRIBUTING.md", "../SECURITY.md")
	for _, file := range docs {
		data, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		for _, match := range testNamed.FindAllStringSubmatch(string(data), -1) {
			if tests[match[1]] == nil {
				t.Errorf("%s names %s, which is no test any more", file, match[1])
			}
		}
		for _, match := range placed.FindAllStringSubmatch(string(data), -1) {
			for _, name := range testNamed.FindAllStringSubmatch(match[1], -1) {
				if places := tests[name[1]]; places != nil && !places[match[2]] {
					t.Errorf("%s says that %s is in %s; it is in %v", file, name[1], match[2], places)
				}
			}
		}
		for _, match := range linked.FindAllStringSubmatch(string(data), -1) {
			if _, err := os.Stat(filepath.Join(filepath.Dir(file), match[1])); err != nil {
				t.Errorf("%s has a link to nowhere: %v", file, err)
			}
		}
		for _, match := range coded.FindAllStringSubmatch(string(data), -1) {
			if _, err := os.Stat(filepath.Join("..", match[1])); err != nil {
				t.Errorf("%s names what is not there: %v", file, err)
			}
		}
	}
}

// TestTheMapNamesMethodsThatExist: what the pages for engineers call a method of a type is one, in the file they say.
func TestTheMapNamesMethodsThatExist(t *testing.T) {
	methods, types := map[string][]string{}, map[string]bool{} // the files of the methods of a name
	for _, f := range tree(t) {
		for _, declaration := range f.ast.Decls {
			function, ok := declaration.(*ast.FuncDecl)
			if !ok || function.Recv == nil || f.isTest() {
				continue
			}
			of := receiver(function)
			name := of + "." + function.Name.Name
			types[of], methods[name] = true, append(methods[name], f.path)
		}
	}
	for _, path := range []string{"../docs/architecture.md", "../docs/a-batch-out.md", "../docs/where.md",
		"../CONTRIBUTING.md"} {
		data, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		for _, match := range methodNamed.FindAllStringSubmatch(string(data), -1) {
			if named := match[1] + "." + match[2]; types[match[1]] && methods[named] == nil {
				t.Errorf("%s names %s, which is no method", path, named)
			}
		}
		for _, match := range methodFound.FindAllStringSubmatch(string(data), -1) {
			for _, named := range methodNamed.FindAllStringSubmatch(match[1], -1) {
				name := named[1] + "." + named[2]
				if files := methods[name]; files != nil && !slices.Contains(files, match[2]) {
					t.Errorf("%s says that %s is in %s; it is in %v", path, name, match[2], files)
				}
			}
		}
	}
}

// receiver is the name of the type that a method is of.
func receiver(method *ast.FuncDecl) string {
	of := method.Recv.List[0].Type
	for {
		switch e := of.(type) {
		case *ast.StarExpr:
			of = e.X
		case *ast.IndexExpr:
			of = e.X
		case *ast.Ident:
			return e.Name
		default:
			return ""
		}
	}
}

// Every promise of docs/security.md names a test, and each check of the lab that it names is there.
func TestEveryPromiseOfSecurityHasItsTest(t *testing.T) {
	data, err := os.ReadFile("../docs/security.md")
	if err != nil {
		t.Fatal(err)
	}
	lab, err := os.ReadFile("../.ci/lab/trust.sh")
	if err != nil {
		t.Fatal(err)
	}
	_, promises, found := strings.Cut(string(data), "\n## Promises\n")
	promises, _, ended := strings.Cut(promises, "\n## ")
	if !found || !ended {
		t.Fatal("docs/security.md has no chapter of promises")
	}
	for promise := range strings.SplitSeq(promises, "\n- ") {
		if !strings.HasPrefix(promise, "**") { // what stands before the first
			continue
		}
		if !strings.Contains(promise, "`Test") { // TestDocsNameWhatExists looks whether it is there
			t.Errorf("no test keeps %s", promise)
		}
		for _, word := range strings.Split(promise, "`") {
			if strings.HasPrefix(word, "check_") && !strings.Contains(string(lab), "\n"+word+"() {") {
				t.Errorf("%s is no check of trust.sh", word)
			}
		}
	}
}
