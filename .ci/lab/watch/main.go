// Watch measures whether changes that matter are told from noise. Pages are those of documentation packages in two
// versions: what differs between them is news. Into each one of fifteen kinds of noise is put, other at each visit.
//
//	go run ./.ci/lab/watch [-visits N] [-pages N] OLD=NEW …     folders of the two versions of a package
//
// Each page is visited -visits times in its old version, and then once in its new one. Half of the pages have the
// manner of noise for choosing, the others that for judging. The rival is a difference of plain text, with the filters
// that changedetection.io documents.
package main

import (
	"errors"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"

	"github.com/cespare/xxhash/v2"

	"henro/store/report/news"
)

// page is one page in two versions.
type page struct {
	name      string
	old, now  string // files
	group     string // package
	kind      int
	manner    int // 0 for choosing, 1 for judging
	first     bool
	seed      uint64
	numbers   bool // only numbers differ
	own       *news.Record
	template  *news.Record
	last      *news.Page
	history   [rivals]map[uint64]bool
	lastRival [rivals][]uint64
}

func main() {
	visits := flag.Int("visits", 6, "of the old version of each page, which differ in noise alone")
	most := flag.Int("pages", 2400, "at most")
	others := flag.Bool("held", false, "the ten kinds of noise of held.go")
	verbose := flag.Bool("v", false, "name each page that is missed, or told wrongly")
	flag.Parse()
	if *others {
		kinds = held
	}
	if err := run(*visits, *most, *verbose, flag.Args()); err != nil {
		fmt.Fprintln(os.Stderr, "watch:", err)
		os.Exit(1)
	}
}

// Filters of the rival: plain; what is a number left out; lines with numbers left out; and each of these with only
// lines counting that were never there before.
const rivals = 6

var rivalNames = [rivals]string{"plain", "numbers ignored", "lines with numbers ignored", "unique lines",
	"unique lines, numbers ignored", "unique lines, lines with numbers ignored"}

// tally counts alarms.
type tally struct{ alarms, of int }

func (t *tally) add(alarm bool) {
	t.of++
	if alarm {
		t.alarms++
	}
}

func (t tally) share() float64 { return float64(t.alarms) / float64(max(1, t.of)) }

// result is of one manner.
type result struct {
	news, noise [rivals + 1]tally // ours is the last
	numbers     [rivals + 1]tally // of news, where only numbers differ
	byKind      [][rivals + 1]tally
	byVisit     []tally
	newsByKind  []tally
}

func run(visits, most int, verbose bool, pairs []string) error {
	pages, err := collect(pairs, most)
	if err != nil {
		return err
	}
	var results [2]*result
	for i := range results {
		results[i] = &result{byVisit: make([]tally, visits), newsByKind: make([]tally, len(kinds)),
			byKind: make([][rivals + 1]tally, len(kinds))}
	}
	templates := map[string]*news.Record{}
	for _, p := range pages {
		key := fmt.Sprint(p.group, p.kind, p.manner)
		if templates[key] == nil {
			templates[key] = news.NewTemplate()
		}
		p.own, p.template = news.NewRecord(), templates[key]
	}
	for visit := range visits + 1 {
		for _, p := range pages {
			alarms, err := p.visit(visit, visit == visits)
			if err != nil {
				return err
			}
			if visit == 0 {
				continue
			}
			r := results[p.manner]
			if verbose && p.manner == 0 && (visit == visits && !alarms[rivals] || visit == visits-1 && alarms[rivals]) {
				fmt.Println(visit == visits, kinds[p.kind].name, p.name)
			}
			for i, alarm := range alarms {
				switch visit {
				case visits:
					r.news[i].add(alarm)
					if p.numbers {
						r.numbers[i].add(alarm)
					}
				case visits - 1:
					r.noise[i].add(alarm)
					r.byKind[p.kind][i].add(alarm)
				}
			}
			if visit == visits {
				r.newsByKind[p.kind].add(alarms[rivals])
			} else {
				r.byVisit[visit].add(alarms[rivals])
			}
		}
	}
	return report(pages, results)
}

// visit reads a page with the noise of one visit, and says who gives alarm: the rivals, and henro.
func (p *page) visit(visit int, now bool) (alarms [rivals + 1]bool, err error) {
	name := p.old
	if now {
		name = p.now
	}
	text, err := os.ReadFile(name)
	if err != nil {
		return alarms, err
	}
	html := []byte(disturb(string(text), p.kind, p.manner, p.first, p.seed, visit))
	read := news.Read(html, 200, "", nil)
	for i := range rivals {
		lines := linesOf(read, i)
		alarms[i] = visit > 0 && p.rivalTells(i, lines)
		p.lastRival[i] = lines
		if p.history[i] == nil {
			p.history[i] = map[uint64]bool{}
		}
		for _, line := range lines {
			p.history[i][line] = true
		}
	}
	if p.last != nil {
		c := news.Compare(p.last, read)
		news.Judge(c, p.seed, p.own, p.template, news.DefaultLimits())
		alarms[rivals] = c.Told(nil)
	}
	p.last = read
	return alarms, nil
}

var digits = regexp.MustCompile(`\d+`)

func linesOf(p *news.Page, rival int) (lines []uint64) {
	for i := range p.Blocks {
		b := &p.Blocks[i]
		if b.Kind != news.Text && b.Kind != news.Title {
			continue
		}
		text := b.Text
		switch rival % 3 {
		case 1:
			text = digits.ReplaceAllString(text, "")
		case 2:
			if digits.MatchString(text) {
				continue
			}
		}
		lines = append(lines, xxhash.Sum64String(strings.Join(strings.Fields(text), "")))
	}
	return lines
}

func (p *page) rivalTells(rival int, lines []uint64) bool {
	if rival < 3 {
		return !slices.Equal(lines, p.lastRival[rival])
	}
	return slices.ContainsFunc(lines, func(line uint64) bool { return !p.history[rival][line] })
}

// collect finds the pages whose two versions differ in more than what is alike on many pages of the package.
func collect(pairs []string, most int) (pages []*page, err error) {
	for _, pair := range pairs {
		old, now, ok := strings.Cut(pair, "=")
		if !ok {
			return nil, fmt.Errorf("%q: want OLD=NEW", pair)
		}
		some, err := collectPair(old, now)
		if err != nil {
			return nil, err
		}
		fmt.Fprintf(os.Stderr, "%s: %d pages with news\n", filepath.Base(old), len(some))
		pages = append(pages, some...)
	}
	if len(pages) == 0 {
		return nil, errors.New("no page differs")
	}
	slices.SortFunc(pages, func(a, b *page) int {
		if a.seed < b.seed {
			return -1
		}
		return 1
	})
	return pages[:min(len(pages), most)], nil
}

// maxPage is how many bytes a page may have.
const maxPage = 200 << 10

func collectPair(old, now string) (pages []*page, err error) {
	changed := map[*page]map[string]int{}
	often := map[string]int{}
	err = filepath.WalkDir(old, func(path string, d os.DirEntry, err error) error {
		if err != nil || !d.Type().IsRegular() || !strings.Contains(d.Name(), ".htm") {
			return err
		}
		rel, _ := filepath.Rel(old, path)
		p := &page{name: rel, old: path, now: filepath.Join(now, rel), group: old}
		before, err := os.ReadFile(p.old)
		if err != nil {
			return err
		}
		after, err := os.ReadFile(p.now)
		if err != nil || len(before) > maxPage || len(after) > maxPage || string(before) == string(after) {
			return nil
		}
		c := news.Compare(news.Read(before, 200, "", nil), news.Read(after, 200, "", nil))
		lines := map[string]int{}
		for i := range c.Blocks {
			if b := &c.Blocks[i]; b.Kind == news.Text || b.Kind == news.Title {
				lines[b.Text] = 1
			}
		}
		for line := range lines {
			often[line]++
		}
		if len(lines) > 0 {
			changed[p] = lines
		}
		return nil
	})
	if err != nil {
		return nil, err
	}
	for p, lines := range changed {
		letters := map[string]int{}
		left := 0
		for line := range lines {
			if often[line] < max(5, len(changed)/50) {
				left++
				letters[digits.ReplaceAllString(line, "")]++
			}
		}
		if left == 0 {
			continue
		}
		p.numbers = true
		for _, n := range letters {
			p.numbers = p.numbers && n == 2
		}
		h := xxhash.Sum64String(p.group + p.name)
		p.seed, p.kind, p.manner = h, int(h%uint64(len(kinds))), int(h>>20%2)
		p.first = xxhash.Sum64String(fmt.Sprint(p.group, p.kind))%2 == 0
		pages = append(pages, p)
	}
	return pages, nil
}

func report(pages []*page, results [2]*result) error {
	fmt.Printf("%d pages: as many pairs of news, and as many of noise alone at the last visit\n\n", len(pages))
	for manner, r := range results {
		fmt.Printf("%s: recall, false alarms\n", []string{"for choosing", "for judging"}[manner])
		for i := range rivals + 1 {
			name := "henro"
			if i < rivals {
				name = "rival: " + rivalNames[i]
			}
			fmt.Printf("  %-50s %6.3f %6.3f   of %d; news of numbers alone %.3f of %d\n", name, r.news[i].share(),
				r.noise[i].share(), r.news[i].of, r.numbers[i].share(), r.numbers[i].of)
		}
		fmt.Print("  false alarms of henro by visit:")
		for _, t := range r.byVisit[1:] {
			fmt.Printf(" %.3f", t.share())
		}
		fmt.Println()
	}
	choosing, judging := results[0], results[1]
	best := 0
	for i := range rivals {
		if choosing.news[i].share() >= 0.97 && choosing.noise[i].share() < choosing.noise[best].share() {
			best = i
		}
	}
	fmt.Printf("\nrival chosen: %s\n\n", rivalNames[best])
	fmt.Println("| kind of noise, judged | pairs | henro | rival | recall of henro | for choosing |")
	fmt.Println("|---|---:|---:|---:|---:|---:|")
	for kind := range kinds {
		t := judging.byKind[kind]
		fmt.Printf("| %s | %d | %.3f | %.3f | %.3f | %.3f |\n", kinds[kind].name, t[rivals].of, t[rivals].share(),
			t[best].share(), judging.newsByKind[kind].share(), choosing.byKind[kind][rivals].share())
	}
	ours, theirs := judging.noise[rivals].share(), judging.noise[best].share()
	fmt.Printf("| all | %d | %.3f | %.3f | %.3f |\n", judging.noise[rivals].of, ours, theirs,
		judging.news[rivals].share())
	if recall := judging.news[rivals].share(); recall < 0.97 || ours > theirs/2 {
		return fmt.Errorf("recall %.3f, want 0.97; false alarms %.3f, want half of %.3f at most", recall, ours, theirs)
	}
	return nil
}
