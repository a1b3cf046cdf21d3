// Package cmd_test keeps the shape of the tree: who may import whom, what stays pure, what every package says of
// itself.
//
// It reads the source files themselves and asks no tool about them, so that the test cache notices a change in any of
// them. Files of every platform are read, whatever their build tags. What a rule names must exist: a rule about a
// package that is gone, or about an import that nobody needs any more, fails until it is struck out.
package cmd_test

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
	"regexp"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"unicode/utf8"
)

// below says which directories each directory at the top of the tree may import, beside itself: arrows only point down.
//
//	         cmd
//	 master       slave
//	cluster │ actors
//	        │ store
//	     messages
//
// Master and slave meet in messages alone, so that neither can lean on being in one process with the other; cluster
// knows who is alive and nothing of what is on disk. The programs show some pages of docs.
var below = map[string][]string{
	"cmd":      {"master", "slave", "cluster", "actors", "store", "messages", "docs"},
	"master":   {"cluster", "actors", "store", "messages"},
	"slave":    {"cluster", "actors", "store", "messages"},
	"actors":   {"store", "messages"},
	"cluster":  {"messages"},
	"store":    {"messages"},
	"messages": {},
	"docs":     {"."},
	".":        {"cmd", "master", "actors", "store", "messages"},
}

// pure are the packages that decide, parse or write formats, and nothing else: they import the standard library without
// sockets, databases and loggers, each other, and the modules named here. So they can be tested with tables and
// simulated by the million. What they may import of this module beside each other are plain structs: the records of the
// store and the messages.
var pure = []struct{ dir, why, mayImport string }{
	{"messages/visible", "text in, text out, the same wherever it is shown", ""},
	{"store/report/chart", "a figure is a function from points to text", ""},
	{"messages/outlink", "the words for links stand on nothing", ""},
	{"messages/speech", "what is said is facts, put into words where somebody reads them", ""},
	{"messages/posted", "one name for a request by POST, whoever asks", "henro/messages/weburl"},
	{"messages/weburl", "one form per URL, whoever asks",
		"golang.org/x/net/idna golang.org/x/net/publicsuffix golang.org/x/text"},
	{"store/fingerprint", "the same URL has the same fingerprint everywhere and for ever",
		"github.com/cespare/xxhash/v2"},
	{"store/report/news", "two versions of a page in, what is news out, judged by pairs with labels",
		"golang.org/x/net/html github.com/andybalholm/cascadia github.com/cespare/xxhash/v2 go.yaml.in/yaml/v3"},
	{"store/fsync", "one system call for a name", ""},
	{"store/archive/warc", "a format, written to any file", "github.com/klauspost/compress"},
	{"store/archive/cdxj", "a format, sorted and merged in files", ""},
	{"store/journal", "lines, in files of bounded size", ""},
	{"store/sorter", "bytes in any order in, in order out", ""},
	{"actors/figures", "the same pages and hosts give the same figures, wherever they are read", ""},
	{"store/archive/wacz", "a format, written to anything that takes bytes", "github.com/klauspost/compress"},
	{"actors/protocol", "messages are plain structs, which name no actor", "henro/messages henro/store"},
	{"actors/host", "whole lives of a host are scripts", "henro/messages henro/store"},
	{"actors/politeness", "equations (9) and (10), proved by simulation", ""},
	{"actors/revisit", "equations (1) to (4), proved by simulation", "github.com/spf13/pflag"},
	{"actors/robots", "RFC 9309 is a function from bytes to yes and no", ""},
	{"actors/scope", "master and slaves must judge a URL alike", ""},
	{"actors/admission", "master, slaves and henro why must judge a URL alike", "github.com/spf13/pflag"},
	{"actors/template", "URLs in, groups out, judged by simulation", ""},
	{"actors/living", "findings in, rules out, the same on master and slaves", ""},
	{"actors/stoplist", "evidence is proved by tables", ""},
	{"actors/topic", "every slave must score a page alike, and henro why as well", ""},
	{"actors/urlrules", "the same evidence gives the same rules", ""},
	{"actors/alias", "evidence is proved by tables", ""},
	{"actors/traps", "master and slaves must judge a link alike", ""},
	{"slave/botauth", "a key and an authority in, lines of a header out", ""},
	{"slave/links", "a page in, links out, thousands a second", ""},
	{"slave/mediatype", "a header field and some bytes in, a type out, as browsers have it", ""},
	{"slave/sitemap", "a sitemap or a feed in, entries out, whatever is wrong with it", "golang.org/x/text"},
	{"slave/owed", "what is owed under a lease is a script", "henro/messages google.golang.org/protobuf"},
	{"slave/walk", "whole leases of a host are scripts", "henro/messages"},
	{"slave/render/lacks", "what a shown page lacks in, whether to wait on out", ""},
	{"slave/walls", "an answer in, a kind of wall out, judged by pages of real form", "henro/messages"},
	{"slave/walls/alike", "what hosts answered in a row is a script", "github.com/hashicorp/golang-lru/v2"},
	{"slave/charset", "bytes in, text out, the same on every slave", "golang.org/x/text"},
	{"master/window", "hours are proved by tables", ""},
	{"master/forecast", "an end is foreseen from figures", ""},
	{"master/frontier", "orders of URLs, compared by simulation", ""},
	{"master/ledger", "the book of leases is a value", "github.com/benbjohnson/immutable"},
	{"master/lending", "who is lent which host is a value, whole crawls are scripts", "henro/messages"},
	{"master/course", "the end of a crawl is a value, whole courses are scripts", "henro/store"},
}

// denied are imports that lead to what was tried and found wanting, or that belong to one package alone. An import
// ending in /... stands for all packages below it.
var denied = []struct{ path, why, except string }{
	{"github.com/asynkron/protoactor-go/cluster/...",
		"a pause of 12 s left a cluster split for good, with one identity alive twice", ""},
	{"github.com/asynkron/protoactor-go/router", "its group routers race", ""},
	{"github.com/asynkron/protoactor-go/remote",
		"unguarded, a stranger spawns and stops actors: cluster puts a guard in front", "cluster"},
	{"github.com/hashicorp/memberlist", "membership is one package's business", "cluster cluster/clustertest"},
	{"github.com/gocolly/colly/v2/...", "what colly does of its own accord is switched off in one place; callbacks " +
		"are handed on", "slave/fetch slave cmd/embedded ."},
	{"modernc.org/sqlite/...", "questions and databases are made in two places",
		"store/report/query store/report/search"},
	{"go.etcd.io/bbolt", "a file of the state has one writer",
		"store store/consensus store/timequeue store/seen store/archive/payloads cmd/watch"},
	{"github.com/knadh/koanf/...", "nothing is read from files and environment behind the caller's back", "cmd/config"},
	{"log", "we log with logrus; memberlist wants one of these", "cluster"},
	{"log/slog", "we log with logrus; protoactor wants one of these", "actors/floor cluster"},
	{"math/rand", "math/rand/v2 has seeded sources that are values", ""},
	{"io/ioutil", "package io and os have it all", ""},
}

// deniedNames are functions and variables that only the packages named may use, outside of tests; main stands for all
// programs.
var deniedNames = []struct{ name, why, except string }{
	{"os.Getenv", "nothing is read from the environment behind the caller's back", "cmd/config"},
	{"os.LookupEnv", "nothing is read from the environment behind the caller's back", "cmd/config"},
	{"os.Environ", "nothing is read from the environment behind the caller's back", "cmd/config"},
	// cmd/config ends a process in which an actor panicked: there, deferred calls must be skipped
	{"os.Stdout", "what the web says steers terminals: print to what cobra has, which cmd/config shows",
		"cmd/service docs/examples/linkcheck docs/examples/ownrule docs/examples/changes docs/examples/results"},
	{"os.Stderr", "what the web says steers terminals: print to what cobra has, which cmd/config shows",
		"cmd/config cmd/embedded/crawltest cmd/service store/consensus docs/examples/linkcheck docs/examples/ownrule " +
			"docs/examples/changes docs/examples/results docs/examples/webhook"},
	{"fmt.Print", "it goes past package visible", ""},
	{"fmt.Printf", "it goes past package visible", ""},
	{"fmt.Println", "it goes past package visible", ""},
	{"henro/messages/visible.Behind", "it goes past package visible: config.Terminal is for live lines", "cmd/config"},
	{"os.Exit", "deferred calls are skipped: return an error to main", "main cmd/config"},
	{"time.Sleep", "an actor never waits: send yourself a message later", "actors/actortest cmd/embedded/crawltest"},
	{"net/http.Get", "it has no time limit and obeys HTTP_PROXY", ""},
	{"net/http.Post", "it has no time limit and obeys HTTP_PROXY", ""},
	// shoutrrr sends by it: cmd/telling puts one in its place that obeys none, and has the guard of addresses
	{"net/http.DefaultTransport", "it obeys HTTP_PROXY", "cmd/telling"},
}

// drawers are names under which anything is put and nothing is found.
var drawers = []string{"util", "utils", "common", "helper", "helpers", "types", "models", "base", "misc", "shared",
	"lib"}

func TestArrowsOnlyPointDown(t *testing.T) {
	for _, f := range tree(t) {
		allowed, known := below[f.top()]
		if !known {
			t.Errorf("%s: %q is no directory of the tree; add it to the drawing above, with its arrows", f.path,
				f.top())
			continue
		}
		for _, imported := range f.ours() {
			to := strings.Split(within(imported), "/")[0]
			if f.isTest() && under(within(imported), "cmd/fakeweb") {
				continue // crawls need a web
			}
			if to != f.top() && !slices.Contains(allowed, to) {
				t.Errorf("%s imports %s: %s may import %v only", f.path, imported, f.top(), allowed)
			}
		}
	}
}

func TestPurePackagesArePure(t *testing.T) {
	files := tree(t)
	isPure := map[string]bool{}
	for _, p := range pure {
		isPure[p.dir] = true
	}
	for _, p := range pure {
		modules := strings.Fields(p.mayImport)
		needed := map[string]bool{}
		for _, f := range files {
			if f.dir() != p.dir || f.isTest() {
				continue
			}
			for imported := range f.imports {
				module := slices.IndexFunc(modules, func(m string) bool {
					return imported == m || !isOurs(m) && under(imported, m)
				})
				switch {
				case module >= 0:
					needed[modules[module]] = true
				case isOurs(imported):
					if to := within(imported); !isPure[to] {
						t.Errorf("%s imports %s, which is not pure; but %s is: %s", f.path, to, p.dir, p.why)
					}
				case isStandard(imported):
					if reachesOut(imported) {
						t.Errorf("%s imports %s; but %s is pure: %s", f.path, imported, p.dir, p.why)
					}
				default:
					t.Errorf("%s imports %s; but %s is pure and may import %q only: %s", f.path, imported, p.dir,
						p.mayImport, p.why)
				}
			}
		}
		for _, m := range modules {
			if !needed[m] {
				t.Errorf("%s does not import %s any more: strike it from the list of pure packages", p.dir, m)
			}
		}
	}
}

// reachesOut reports whether a package of the standard library is a socket, a database or a logger.
func reachesOut(standard string) bool {
	switch standard {
	case "net/netip", "net/url": // words, not sockets
		return false
	}
	return under(standard, "net") || under(standard, "database") || under(standard, "log") || standard == "os/exec"
}

func TestWhatIsDeniedIsNotImported(t *testing.T) {
	for _, f := range tree(t) {
		for _, d := range denied {
			for imported := range f.imports {
				below, all := strings.CutSuffix(d.path, "/...")
				hit := imported == d.path || all && under(imported, below)
				if hit && !f.isTest() && !slices.Contains(strings.Fields(d.except), f.dir()) {
					t.Errorf("%s imports %s: %s", f.path, imported, d.why)
				}
			}
		}
	}
}

// A Partition keeps notes of hosts and bands of pages, and knows of none what it says.
func TestThePartitionImportsNoFeature(t *testing.T) {
	known := map[string]bool{} // of features: whether anybody imports it
	for _, feature := range []string{"alias", "living", "stoplist", "template", "topic", "traps", "urlrules"} {
		known["actors/"+feature] = false
	}
	for _, f := range tree(t) {
		for _, imported := range f.ours() {
			to := within(imported)
			if _, feature := known[to]; !feature || f.isTest() {
				continue
			}
			if known[to] = true; f.dir() == "actors/partition" {
				t.Errorf("%s imports %s: its notes and bands are the Host's business", f.path, imported)
			}
		}
	}
	for feature, is := range known {
		if !is {
			t.Errorf("%s is no feature any more: nothing imports it", feature)
		}
	}
}

func TestWhatIsDeniedIsNotCalled(t *testing.T) {
	for _, f := range tree(t) {
		if f.isTest() {
			continue
		}
		for name, position := range f.namesOfOthers() {
			for _, d := range deniedNames {
				excepted := strings.Fields(d.except)
				if name == d.name && !slices.Contains(excepted, f.dir()) &&
					!slices.Contains(excepted, f.ast.Name.Name) {
					t.Errorf("%s: %s: %s", position, d.name, d.why)
				}
			}
		}
	}
}

func TestEveryPackageSaysWhatItIs(t *testing.T) {
	said := map[string][]string{} // by directory, the files with a package comment
	for _, f := range tree(t) {
		switch {
		case f.isTest():
			continue
		case f.ast.Doc == nil:
			said[f.dir()] = slices.Clip(said[f.dir()]) // known, and perhaps silent
			continue
		}
		said[f.dir()] = append(said[f.dir()], f.path)
		want := "Package " + f.ast.Name.Name + " "
		if f.ast.Name.Name == "main" {
			want = "Command " + path.Base(f.dir()) + " "
		}
		if text := f.ast.Doc.Text(); !strings.HasPrefix(text, want) {
			t.Errorf("%s: the package comment begins %.40q, want %q", f.path, text, want)
		}
	}
	for _, dir := range slices.Sorted(maps.Keys(said)) {
		if len(said[dir]) != 1 {
			t.Errorf("%s has %d package comments, want one: %v", dir, len(said[dir]), said[dir])
		}
	}
}

func TestNoPackageIsADrawer(t *testing.T) {
	for _, f := range tree(t) {
		for _, word := range append(strings.Split(f.dir(), "/"), f.ast.Name.Name) {
			if slices.Contains(drawers, strings.TrimSuffix(word, "_test")) {
				t.Errorf("%s: a package called %q says nothing; put each thing beside its only caller, or name what "+
					"it does", f.path, word)
			}
		}
	}
}

var leftToDo = regexp.MustCompile(`\b(TODO|FIXME|XXX)\b`)

func TestNothingIsLeftToDo(t *testing.T) {
	for _, f := range tree(t) {
		for _, group := range f.ast.Comments {
			for _, c := range group.List {
				if word := leftToDo.FindString(c.Text); word != "" {
					t.Errorf("%s: %s: do it, or write down as a limit what is not done", f.at(c.Pos()), word)
				}
			}
		}
	}
}

// A tab is as wide as four columns, any other rune is one. Generated code is as its generator writes it.
func TestLinesEndAt120Columns(t *testing.T) {
	const columns, tab = 120, 4
	for _, f := range tree(t) {
		if ast.IsGenerated(f.ast) {
			continue
		}
		text, err := os.ReadFile(filepath.Join("..", f.path))
		if err != nil {
			t.Fatal(err)
		}
		for i, line := range strings.Split(string(text), "\n") {
			if n := utf8.RuneCountInString(line) + (tab-1)*strings.Count(line, "\t"); n > columns &&
				!strings.HasPrefix(line, "//go:") {
				t.Errorf("%s:%d: %d columns, want at most %d", f.path, i+1, n, columns)
			}
		}
	}
}

func TestNoTestIsSkipped(t *testing.T) {
	for _, f := range tree(t) {
		if !f.isTest() {
			continue
		}
		ast.Inspect(f.ast, func(n ast.Node) bool {
			if s, ok := n.(*ast.SelectorExpr); ok && strings.HasPrefix(s.Sel.Name, "Skip") {
				if x, ok := s.X.(*ast.Ident); ok && slices.Contains([]string{"t", "b", "f", "tb"}, x.Name) {
					t.Errorf("%s: %s.%s: a test that is skipped fails in secret; give it a smaller table instead",
						f.at(s.Pos()), x.Name, s.Sel.Name)
				}
			}
			return true
		})
	}
}

func TestWhatTheRulesNameExists(t *testing.T) {
	files := tree(t)
	dirs, imports := map[string]bool{}, map[string]bool{}
	for _, f := range files {
		for dir := f.dir(); !dirs[dir]; dir = path.Dir(dir) {
			dirs[dir] = true
		}
		for imported := range f.imports {
			imports[imported] = true
		}
	}
	exists := func(rule, names string) {
		for dir := range strings.FieldsSeq(names) {
			if !dirs[dir] && dir != "main" {
				t.Errorf("%s names %s, which is no package any more", rule, dir)
			}
		}
	}
	for dir, allowed := range below {
		exists("the drawing", dir+" "+strings.Join(allowed, " "))
	}
	for _, p := range pure {
		exists("the list of pure packages", p.dir)
	}
	required := requirements(t)
	for _, d := range denied {
		exists("the rule about "+d.path, d.except)
		denied := strings.TrimSuffix(d.path, "/...")
		if !isStandard(denied) && !slices.ContainsFunc(required,
			func(module string) bool { return under(denied, module) || under(module, denied) }) {
			t.Errorf("nothing in go.mod has %s any more: strike out the rule about it", denied)
		}
	}
	for _, d := range deniedNames {
		exists("the rule about "+d.name, d.except)
	}
}

// file is one source file of the tree.
type file struct {
	path    string            // from the root, with slashes
	imports map[string]string // local name by path; a name that follows from the path is its last word
	ast     *ast.File
	set     *token.FileSet
}

// ours is the path of this module, as go.mod has it.
var ours = sync.OnceValue(func() string {
	text, err := os.ReadFile("../go.mod")
	if err != nil {
		panic(err)
	}
	line, _, _ := strings.Cut(string(text), "\n")
	return strings.TrimPrefix(line, "module ")
})

func isOurs(imported string) bool { return under(imported, ours()) }
func isStandard(imported string) bool {
	return !strings.Contains(strings.Split(imported, "/")[0], ".") && !isOurs(imported)
}
func under(p, dir string) bool { return p == dir || strings.HasPrefix(p, dir+"/") }
func within(imported string) string {
	return cmp.Or(strings.TrimPrefix(strings.TrimPrefix(imported, ours()), "/"), ".")
}

func (f *file) dir() string  { return path.Dir(f.path) }
func (f *file) top() string  { return strings.Split(f.dir(), "/")[0] }
func (f *file) isTest() bool { return strings.HasSuffix(f.path, "_test.go") }

func (f *file) at(p token.Pos) string { return fmt.Sprintf("%s:%d", f.path, f.set.Position(p).Line) }

// ours are the packages of this module that the file imports.
func (f *file) ours() []string {
	var ours []string
	for imported := range f.imports {
		if isOurs(imported) {
			ours = append(ours, imported)
		}
	}
	slices.Sort(ours)
	return ours
}

// namesOfOthers lists what the file uses of the packages it imports, as "net/http.Get", with one place of each.
func (f *file) namesOfOthers() map[string]string {
	byName := map[string]string{}
	for imported, name := range f.imports {
		byName[name] = imported
	}
	used := map[string]string{}
	ast.Inspect(f.ast, func(n ast.Node) bool {
		if s, ok := n.(*ast.SelectorExpr); ok {
			if x, ok := s.X.(*ast.Ident); ok && byName[x.Name] != "" {
				used[byName[x.Name]+"."+s.Sel.Name] = f.at(s.Pos())
			}
		}
		return true
	})
	return used
}

// tree returns all source files, in the order of their paths.
func tree(t *testing.T) []*file {
	t.Helper()
	files, err := readTree()
	if err != nil {
		t.Fatal(err)
	}
	if len(files) < 100 {
		t.Fatalf("only %d source files found: is this the root of the tree?", len(files))
	}
	return files
}

var readTree = sync.OnceValues(func() ([]*file, error) {
	root := ".." // this package is one step below it
	var files []*file
	err := filepath.WalkDir(root, func(name string, entry fs.DirEntry, err error) error {
		switch {
		case err != nil:
			return err
		case entry.IsDir() && name != root && (entry.Name() == "testdata" || strings.HasPrefix(entry.Name(), ".") ||
			strings.HasPrefix(entry.Name(), "_")):
			return fs.SkipDir // as the go tool does
		case entry.IsDir() || !strings.HasSuffix(name, ".go"):
			return nil
		}
		relative, err := filepath.Rel(root, name)
		if err != nil {
			return err
		}
		f := &file{path: filepath.ToSlash(relative), imports: map[string]string{}, set: token.NewFileSet()}
		if f.ast,
			err = parser.ParseFile(f.set, name, nil, parser.ParseComments|parser.SkipObjectResolution); err != nil {
			return err
		}
		for _, spec := range f.ast.Imports {
			imported, err := strconv.Unquote(spec.Path.Value)
			if err != nil {
				return err
			}
			f.imports[imported] = path.Base(imported)
			if spec.Name != nil {
				f.imports[imported] = spec.Name.Name
			}
		}
		files = append(files, f)
		return nil
	})
	slices.SortFunc(files, func(a, b *file) int { return cmp.Compare(a.path, b.path) })
	return files, err
})

var requirement = regexp.MustCompile(`(?m)^\s*(?:require )?(\S+\.\S+/\S+) v\S+`)

// requirements lists the modules of go.mod.
func requirements(t *testing.T) []string {
	t.Helper()
	text, err := os.ReadFile("../go.mod")
	if err != nil {
		t.Fatal(err)
	}
	var modules []string
	for _, match := range requirement.FindAllStringSubmatch(string(text), -1) {
		modules = append(modules, match[1])
	}
	return modules
}

// What is planned in the Master, the Hosts and the Partitions, and in what they are made of, is planned by floor.Now:
// the wall clock may be set while they run. What reads the wall clock all the same is named here, with what for.
func TestWhatIsPlannedFollowsNoClockThatIsSet(t *testing.T) {
	reads := map[string]int{ // spans are measured by the monotonic clock
		"actors/groupcommit/groupcommit.go": 5, // how long a commit is waited for, and takes
		"actors/partition/due.go":           1, // that commit
		"actors/partition/finder.go":        4, // how long it searches, and rests
		"actors/partition/partition.go":     2, // how long a commit is waited for, and takes
		"master/alias.go":                   1, // dates of what people do and look at
		"master/api.go":                     1,
		"master/changed.go":                 1,
		"master/definition.go":              2,
		"master/foresight.go":               2, // how long it reckons
		"master/master.go":                  4, // hours of the crawl, how long it runs, clocks held against another
		"master/node.go":                    2,
		"master/crawlfrontier.go":           1, // how long the crawl runs
		"master/round.go":                   3, // when a round began
		"master/run.go":                     1,
		"master/status.go":                  1,
	}
	for _, dir := range []string{"actors/host", "actors/hosts", "actors/partition", "actors/groupcommit", "master",
		"master/course", "master/lending", "master/frontier"} {
		files, err := filepath.Glob(filepath.Join("..", dir, "*.go"))
		if err != nil || len(files) == 0 {
			t.Fatalf("no files in %s, %v", dir, err)
		}
		for _, file := range files {
			text, err := os.ReadFile(file)
			if err != nil {
				t.Fatal(err)
			}
			name := strings.TrimPrefix(filepath.ToSlash(file), "../")
			found := len(regexp.MustCompile(`\btime\.(Now|Since|Until)\(`).FindAll(text, -1))
			if !strings.HasSuffix(name, "_test.go") && found != reads[name] {
				t.Errorf("%s reads the wall clock in %d places, and %d are named", name, found, reads[name])
			}
		}
	}
}
