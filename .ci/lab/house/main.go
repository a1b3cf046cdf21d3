// House measures the tree: how much there is, what has grown large, what is never called. Its table is the same for any
// commit, so that two of them can be laid side by side:
//
//	go run -modfile=.ci/tools.mod ./.ci/lab/house                 this tree
//	go run -modfile=.ci/tools.mod ./.ci/lab/house -dir ../before  a worktree of another commit
//
// It fails when a function is dead, a line is longer than 120 columns, a function is long that is not listed in
// allowed, or a measure is beyond its bound.
package main

import (
	"bytes"
	"errors"
	"flag"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"unicode/utf8"
)

const (
	// maxColumns is how wide a line of Go may be. A tab is as wide as tabWidth columns, any other rune is one.
	maxColumns, tabWidth = 120, 4
	// maxLines and maxComplexity are how long and how branched a function may be, by its lines and by McCabe's count.
	maxLines, maxComplexity = 80, 30
)

// allowed are the functions that may be longer or more branched, each with its reason.
var allowed = map[string]string{
	"actors/robots.Parse":                "RFC 9309, line by line",
	"cluster.StartRemote":                "puts a guard in front of protoactor's remote, once",
	"cmd/config.Crawl.Options":           "a table: flags to options",
	"cmd/config.Crawl.Register":          "a table of flags",
	"cmd/henro-slave.run":                "a node's life, in order",
	"cmd/replay.attributes":              "a table: what of an element names a URL",
	"cmd/replay.rewriter.tag":            "a table: what is rewritten in an element",
	"cmd/replay.Server.capture":          "one answer, from request to body",
	"actors/partition.Partition.Receive": "a table of messages",
	"actors/reading.explainHost":         "a table: reasons in words",
	"actors/host.schedule.time":          "what one visit changes of a page's timetable, in order",
	"master/course.Course.judge":         "the conditions of the end of a crawl",
	"slave/links.References":             "a scanner's states",
	"actors/reading.explainPage":         "a table: reasons in words",
	"slave/charset.Language":             "a table of scripts",
	"cmd/henro.keyFileCommands":          "a table of verbs",
	"slave/links.Document.css":           "a scanner's states",
	"slave/links.Document.javaScript":    "a scanner's states",
	"slave/links.Document.element":       "a table of elements",
	"slave/sitemap.rfc822":               "a table of dates as they are written",
	"slave/sitemap.xmlReader.opens":      "a table of elements",
	"store.partitionCheck.pages":         "everything compared with everything else",
	"store.commit.visit":                 "all that one visit changes, in order",
	"store.Batch.UnmarshalBinary":        "the fields of a batch, in order",
}

// Measures that have a bound.
const (
	codeLines  = "… of these neither blank nor comment"
	houseLines = "… of these outside new rooms"
	crawlFlags = "flags that henro crawl --help all shows"
	docWords   = "words of README and docs"
	userWords  = "words of the pages for users"
	pageWords  = "words of the longest page for users"
	docColumns = "lines of documents over 120 columns"
	changeLog  = "lines of CHANGELOG.md"
	fileLines  = "lines of the longest file of the product"
	methods    = "methods of the type that has most, with what it embeds, parsers of a format aside"
)

// bounds are what measures may come to. A bound is only ever lowered.
var bounds = map[string]int{
	houseLines:                      70_164,
	methods:                         30,
	"fields of protocol.Write":      14,
	"verbs that henro --help shows": 34,
	crawlFlags:                      70,
	fileLines:                       600,
	docWords:                        73_500,
	userWords:                       25_000,
	pageWords:                       2_000,
	changeLog:                       200,
	docColumns:                      0,
}

// parsers read a format, an element a method.
var parsers = map[string]bool{"slave/links.Document": true}

// rooms are packages of features that came after the house was measured: each has a bound of code lines of its own, and
// what plugs it in counts among those of the house.
var rooms = map[string]int{
	"actors/living":        1_389,
	"actors/collect/spool": 119,
	"actors/reading/far":   169,
	"cluster/peers":        36,
	"cmd/feed/beside":      314,
	"cmd/proving":          160,
	"cmd/replay/cdx":       813,
	"cmd/replay/fields":    176,
	"cmd/replay/origin":    126,
	"cmd/replay/posts":     78,
	"cmd/replay/timeline":  142,
	"cmd/watch":            783,
	"cmd/telling":          550,
	"cmd/watching":         1_068,
	"store/report/ccindex": 280,
	"store/report/feeds":   105,
	"store/report/news":    911,
	"store/report/brought": 90,
	"store/report/looks":   176,
	"master/changefeed":    532,
	"master/pictures":      230,
	"master/watchlist":     207,
	"master/week":          175,
	"messages/posted":      313,
	"slave/browser":        1_104,
	"slave/recall":         235,
	"slave/render":         408,
	"slave/render/lacks":   34,
	"slave/render/lenders": 178,
	"slave/render/spoken":  86,
	"slave/render/wanted":  85,
	"slave/walls":          711,
	"slave/walls/alike":    121,
	"store/proof":          2_322,
	"store/proof/packed":   168,
	"store/archive/bucket": 2_311,
	"slave/graph":          247,
}

// forEngineers are pages of docs that are not for users, beside those of docs/measured.
var forEngineers = map[string]bool{
	"docs/architecture.md": true, "docs/a-batch-out.md": true, "docs/where.md": true,
}

// documents is what people are to read.
type documents struct {
	words, users, longest int      // words of README and docs; of the pages for users; of the longest of these
	changes               int      // lines of CHANGELOG.md
	wide                  []string // lines that are too wide
}

// readDocuments counts README, docs and the other pages at the root, of which only columns count.
func readDocuments(dir string) (*documents, error) {
	names := []string{"README.md", "CHANGELOG.md", "CONTRIBUTING.md", "SECURITY.md"}
	err := filepath.WalkDir(filepath.Join(dir, "docs"), func(name string, d fs.DirEntry, err error) error {
		if err != nil || filepath.Ext(name) != ".md" {
			return err
		}
		name, err = filepath.Rel(dir, name)
		names = append(names, filepath.ToSlash(name))
		return err
	})
	if err != nil {
		return nil, err
	}
	d := &documents{}
	for _, name := range names {
		text, err := os.ReadFile(filepath.Join(dir, name))
		if errors.Is(err, fs.ErrNotExist) { // an earlier commit
			continue
		} else if err != nil {
			return nil, err
		}
		measured := strings.HasPrefix(name, "docs/measured/")
		if strings.HasPrefix(name, "docs/") || name == "README.md" {
			words := len(bytes.Fields(text))
			d.words += words
			if !measured && !forEngineers[name] {
				d.users, d.longest = d.users+words, max(d.longest, words)
			}
		}
		if name == "CHANGELOG.md" {
			d.changes = bytes.Count(text, []byte("\n"))
		}
		d.measure(name, string(text), measured)
	}
	return d, nil
}

// measure notes the lines that are too wide. In docs/measured tables and blocks of code may be as wide as they are.
func (d *documents) measure(name, text string, measured bool) {
	code := false
	for i, line := range strings.Split(text, "\n") {
		fence := strings.HasPrefix(strings.TrimSpace(line), "```")
		code = code != fence
		n := utf8.RuneCountInString(line)
		if n > maxColumns && !(measured && (code || strings.HasPrefix(line, "|"))) {
			d.wide = append(d.wide, fmt.Sprintf("%s:%d: %d columns", name, i+1, n))
		}
	}
}

func main() {
	dir := flag.String("dir", ".", "measure the tree in `DIR`")
	all := flag.Bool("all", false, "list every package, and more of the largest types")
	flag.Parse()
	if err := run(*dir, *all); err != nil {
		fmt.Fprintln(os.Stderr, "house:", err)
		os.Exit(1)
	}
}

func run(dir string, all bool) error {
	tools, err := filepath.Abs(".ci/tools.mod") // the tools of this tree measure every other one
	if err != nil {
		return err
	}
	t, err := readTree(dir)
	if err != nil {
		return err
	}
	dead, err := deadFunctions(dir, tools, t)
	if err != nil {
		return err
	}
	arrows, err := upwardArrows(dir)
	if err != nil {
		return err
	}
	verbs, flags, err := shown(dir)
	if err != nil {
		return err
	}
	product, code := t.lines(inProduct)
	support, _ := t.lines(forTests)
	lab, _ := t.lines(inLab)
	tests := t.testLines()
	long, unlisted := t.longFunctions()
	wide := t.wideLines()
	orphans := t.packages(unused)

	docs, err := readDocuments(dir)
	if err != nil {
		return err
	}

	fmt.Println("| measure | value | at most |\n|---|---:|---:|")
	var beyond []string
	row := func(name string, value int) {
		bound, bounded := bounds[name]
		if !bounded {
			fmt.Printf("| %s | %d | |\n", name, value)
			return
		}
		fmt.Printf("| %s | %d | %d |\n", name, value, bound)
		if value > bound {
			beyond = append(beyond, fmt.Sprintf("%s: %d, at most %d", name, value, bound))
		}
	}
	row("lines of the product (no tests, no generated code, no lab)", product)
	row(codeLines, code)
	house := code
	for _, room := range slices.Sorted(maps.Keys(rooms)) {
		if where, known := t.place[room]; known && where == inProduct {
			_, n := t.linesOf(room)
			house -= n
			bounds["… of the room "+room] = rooms[room]
			row("… of the room "+room, n)
		}
	}
	row(houseLines, house)
	row("lines of packages that only tests import", support)
	row("lines of tests", tests)
	row("lines of the lab", lab)
	row("packages that nothing imports", len(orphans))
	row(fmt.Sprintf("functions over %d lines or of complexity %d and more", maxLines, maxComplexity), len(long))
	row(fmt.Sprintf("lines over %d columns", maxColumns), len(wide))
	row("dead functions", len(dead))
	row("upward arrows between files of a package", arrows.total)
	row(methods, t.largest(1, func(k *kind) int {
		if parsers[k.name] {
			return 0
		}
		return k.methods
	})[0].methods)
	row(fileLines, t.longestFile())
	row("fields of protocol.Write", t.fields("actors/protocol.Write"))
	row("verbs that henro --help shows", verbs)
	row(crawlFlags, flags)
	row(docWords, docs.words)
	row(userWords, docs.users)
	row(pageWords, docs.longest)
	row(docColumns, len(docs.wide))
	row(changeLog, docs.changes)

	few := 12
	if all {
		few = 40
	}
	fmt.Println("\n| largest types by methods | methods | fields |\n|---|---:|---:|")
	for _, k := range t.largest(few, func(k *kind) int { return k.methods }) {
		fmt.Printf("| %s | %d | %d |\n", k.name, k.methods, k.fields)
	}
	fmt.Println("\n| largest types by fields, options and rows aside | methods | fields |\n|---|---:|---:|")
	for _, k := range t.largest(few, (*kind).state) {
		fmt.Printf("| %s | %d | %d |\n", k.name, k.methods, k.fields)
	}
	if all {
		fmt.Println("\n| package | lines | code | upward arrows |\n|---|---:|---:|---:|")
		for _, p := range t.packages(inProduct) {
			lines, code := t.linesOf(p)
			fmt.Printf("| %s | %d | %d | %d |\n", p, lines, code, arrows.of[p])
		}
	}
	list := func(title string, what []string) {
		if len(what) > 0 {
			fmt.Printf("\n%s:\n  %s\n", title, strings.Join(what, "\n  "))
		}
	}
	list("Long functions", long)
	list("Long lines", append(wide, docs.wide...))
	list("Dead functions", dead)
	list("Packages that nothing imports", orphans)
	list("Beyond what is allowed", beyond)
	if faults := len(unlisted) + len(wide) + len(dead) + len(orphans) + len(beyond); faults > 0 {
		return fmt.Errorf("%d dead functions, %d packages that nothing imports, %d long lines, %d long functions that "+
			"are not listed, %d measures beyond their bounds", len(dead), len(orphans), len(wide), len(unlisted),
			len(beyond))
	}
	return nil
}

// deadFunctions are those that no program can reach, of the product and of the lab. What a program of the lab needs
// beside the product's own modules, as the browser does, is left out with it; so are packages that help tests, since no
// program reaches those.
func deadFunctions(dir, tools string, t *tree) ([]string, error) {
	cmd := exec.Command("go", append([]string{"tool", "-modfile=" + tools, "deadcode"}, t.programs()...)...)
	cmd.Dir, cmd.Stderr = dir, os.Stderr
	out, err := cmd.Output()
	if err != nil {
		return nil, fmt.Errorf("deadcode: %w", err)
	}
	var dead []string
	for line := range strings.Lines(string(out)) {
		if file, _, _ := strings.Cut(line, ":"); t.place[filepath.ToSlash(filepath.Dir(file))] != forTests {
			dead = append(dead, strings.TrimSpace(line))
		}
	}
	return dead, nil
}

// shown counts the verbs and flags that plain help shows.
func shown(dir string) (verbs, flags int, err error) {
	bin, err := os.MkdirTemp("", "house")
	if err != nil {
		return 0, 0, err
	}
	defer os.RemoveAll(bin)
	henro := filepath.Join(bin, "henro")
	build := exec.Command("go", "build", "-o", henro, "./cmd/henro")
	build.Dir, build.Stderr = dir, os.Stderr
	if err := build.Run(); err != nil {
		return 0, 0, fmt.Errorf("build henro: %w", err)
	}
	count := func(is func(line string) bool, arguments ...string) (n int, err error) {
		out, err := exec.Command(henro, arguments...).Output()
		for line := range strings.Lines(string(out)) {
			if is(line) {
				n++
			}
		}
		return n, err
	}
	verbs, err = count(func(line string) bool {
		return strings.HasPrefix(line, "  ") && len(line) > 13 && line[2] != ' ' && line[2] != '-' &&
			!strings.HasPrefix(line, "  henro ")
	}, "--help")
	if err != nil {
		return 0, 0, err
	}
	flags, err = count(func(line string) bool {
		return strings.HasPrefix(strings.TrimLeft(line, " "), "--")
	}, "crawl", "--help", "all")
	return verbs, flags, err
}
