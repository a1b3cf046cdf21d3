// Package mirrors finds folders that have the same pages under the same rest of the path: http://a/doc/ is a mirror of
// http://b/pub/doc/ when http://a/doc/x.html has the text of http://b/pub/doc/x.html, for most x.
//
// Pages are put in order by their text and the last segment of their path; what then stands together is compared in
// pairs. Of each pair the longest common end of the paths is cut off, and what remains is a pair of folders. The pages
// of a pair of folders are counted along the tree of what was cut off, and each folder of that tree whose same pages
// do not all lie in one folder below it is a candidate.
//
// # Invariants
//
//   - Memory does not grow with the crawl: two sorters of Source.Memory bytes, and the candidates pairs of folders with
//     the most pages that are the same.
//   - A mirror within another one, under the same rest of the path, is not reported by itself.
//   - Nor is one that follows from others: of n folders that are all the same, n − 1 pairs are reported.
package mirrors

import (
	"bytes"
	"cmp"
	"container/heap"
	"context"
	"errors"
	"slices"
	"strings"

	"henro/store/report/tables"
	"henro/store/sorter"
)

// Options say what is a mirror.
type Options struct {
	// Pages is the least number of pages that both folders have. Default 10: front pages and notices of a few pages are
	// the same on many hosts.
	Pages int
	// Coverage is the least share of the pages of one of the folders that the other has too. Default 0.8.
	Coverage float64
}

// DefaultOptions are those of henro mirrors.
func DefaultOptions() Options { return Options{Pages: 10, Coverage: 0.8} }

const (
	// window is how many pages before it, by URL, each page is compared with, of those with its text and last segment.
	// So n equal pages cost 16 n pairs, and chains of mirrors are found however many there are.
	window = 16
	// candidates bounds the pairs of folders in memory, some 300 bytes each with the usual paths.
	candidates = 100_000
)

// Folder is one side of a mirror.
type Folder struct {
	URL      string
	Pages    int64   // with a text; those of the other side are left out, if it lies within this one
	Coverage float64 // share of them that the other folder has too
}

// Mirror is two folders with the same pages. The first has more of them.
type Mirror struct {
	Same          int64 // pages with the same text under the same rest of the path
	First, Second Folder
}

// Find returns the mirrors of a crawl, those with the most pages first. progress is called now and then;
// it may be nil.
func Find(ctx context.Context, source *tables.Source, o Options, progress func(table string, rows int64)) ([]Mirror,
	error) {
	f := finder{ctx: ctx, source: source, Options: o, progress: progress}
	if f.memory = source.Memory; f.memory == 0 {
		f.memory = sorter.Memory
	}
	texts, pairs := sorter.New(source.Temp, f.memory), sorter.New(source.Temp, f.memory)
	err := f.each(func(digest, url string) error {
		_, name := cut(url)
		return texts.Add(slices.Concat([]byte(digest), []byte(name), []byte{0}, []byte(url)))
	})
	if err == nil {
		err = f.compare(texts, pairs)
	}
	err = errors.Join(err, texts.Close())
	if err == nil {
		err = f.gather(pairs)
	}
	if err = errors.Join(err, pairs.Close()); err != nil {
		return nil, err
	}
	pages := map[string]int64{}
	for _, c := range f.best {
		pages[c.a], pages[c.b] = 0, 0
	}
	err = f.each(func(_, url string) error {
		folder, _ := cut(url)
		for root := rootOf(url); len(folder) >= root; folder = parent(folder) {
			if n, known := pages[folder]; known {
				pages[folder] = n + 1
			}
		}
		return nil
	})
	return f.choose(pages), err
}

type finder struct {
	Options
	ctx      context.Context
	source   *tables.Source
	progress func(table string, rows int64)
	memory   int
	best     best
	top      uint32 // number of the pair of folders whose tree is being gathered
}

// each reads the pages that have a text.
func (f *finder) each(fn func(digest, url string) error) error {
	table, q := tables.Pages(), tables.Query{}
	column := func(name string) int {
		i := table.Column(name)
		q.Columns |= 1 << i
		return i
	}
	url, status, reason, role := column("url"), column("status"), column("reason"), column("role")
	digest, words, dropped := column("main_digest"), column("simhash"), column("dropped")
	return table.Watched(f.ctx, f.source, q, f.progress, func(row tables.Row) error {
		if row.Value(status).Int != 200 || row.Value(reason).Kind != tables.Empty || row.Value(dropped).Int != 0 ||
			row.Value(words).Kind == tables.Empty || row.Value(digest).Kind == tables.Empty ||
			row.Value(role).Text != "page" {
			return nil
		}
		return fn(row.Value(digest).Text, row.Value(url).Text)
	})
}

// rootOf is the length of a URL as far as its root, the slash behind the host included.
func rootOf(url string) int {
	from := strings.Index(url, "://") + 3
	return from + strings.IndexByte(url[from:], '/') + 1
}

// cut divides a URL behind the last slash of its path.
func cut(url string) (folder, name string) {
	path, _, _ := strings.Cut(url, "?")
	at := strings.LastIndexByte(path, '/') + 1
	return url[:at], url[at:]
}

// parent is the folder above a folder.
func parent(folder string) string {
	return folder[:strings.LastIndexByte(folder[:len(folder)-1], '/')+1]
}

// apart cuts off two URLs, whose last segments are the same, the end that their paths have in common.
func apart(x, y string) (a, b, rest string) {
	a, _ = cut(x)
	b, _ = cut(y)
	for rootA, rootB := rootOf(x), rootOf(y); len(a) > rootA && len(b) > rootB; {
		aboveA, aboveB := parent(a), parent(b)
		if a[len(aboveA):] != b[len(aboveB):] {
			break
		}
		a, b = aboveA, aboveB
	}
	return a, b, x[len(a):]
}

// compare writes the folders of the pages with the same text and the same last segment, and the rest of their paths.
func (f *finder) compare(texts, pairs *sorter.Sorter) error {
	var of []byte
	var before []string
	return f.eachRecord(texts, func(key, value []byte) error {
		url := string(value)
		if !bytes.Equal(of, key) {
			of, before = append(of[:0], key...), append(before[:0], url)
			return nil
		}
		for _, earlier := range before {
			a, b, rest := apart(earlier, url)
			if a > b {
				a, b = b, a
			}
			if strings.HasPrefix(a+rest, b) {
				continue // the page of a lies within b itself
			}
			if err := pairs.Add([]byte(a + "\x00" + b + "\x00" + rest)); err != nil {
				return err
			}
		}
		before = append(before[max(0, len(before)-window+1):], url)
		return nil
	})
}

// eachRecord calls fn with every record in order, cut at its last zero.
func (f *finder) eachRecord(records *sorter.Sorter, fn func(key, value []byte) error) error {
	return records.Each(func(record []byte) error {
		if err := f.ctx.Err(); err != nil {
			return err
		}
		at := bytes.LastIndexByte(record, 0)
		return fn(record[:at], record[at+1:])
	})
}

// gather counts the pages of each pair of folders along the tree of what they have in common.
func (f *finder) gather(pairs *sorter.Sorter) error {
	var of string
	tree := tree{closed: func(rest string, same int64) {
		a, b, _ := strings.Cut(of, "\x00")
		f.add(pair{a: a + rest, b: b + rest, rest: len(rest), top: f.top, same: same})
	}}
	err := f.eachRecord(pairs, func(key, value []byte) error {
		if of != string(key) {
			tree.leave(0, "")
			f.top++
			of, tree.open = string(key), append(tree.open, node{})
		}
		tree.add(string(value))
		return nil
	})
	if err == nil {
		tree.leave(0, "")
	}
	return err
}

// node is a folder that is open.
type node struct {
	folder  string
	same    int64 // pages counted in it
	largest int64 // the same of that folder below it which has most
}

// tree counts pages, which come in order, by folder. Of the folders that are open the first is the root.
type tree struct {
	open   []node
	closed func(folder string, same int64) // gets the folders whose pages do not all lie in one folder below
}

// add counts a page.
func (t *tree) add(page string) {
	folder, _ := cut(page)
	t.leave(1, folder)
	for at := len(t.open[len(t.open)-1].folder); at < len(folder); {
		at += strings.IndexByte(folder[at:], '/') + 1
		t.open = append(t.open, node{folder: folder[:at]})
	}
	t.open[len(t.open)-1].same++
}

// leave closes the folders that do not hold a folder, but for the first ones.
func (t *tree) leave(first int, folder string) {
	for n := len(t.open) - 1; n >= first && (first == 0 || !strings.HasPrefix(folder, t.open[n].folder)); n-- {
		last := t.open[n]
		if t.open = t.open[:n]; last.same > last.largest {
			t.closed(last.folder, last.same)
		}
		if n > 0 {
			above := &t.open[n-1]
			above.same, above.largest = above.same+last.same, max(above.largest, last.same)
		}
	}
}

// pair is two folders that may be mirrors.
type pair struct {
	a, b string
	rest int    // length of the end that both have in common
	top  uint32 // pairs of the same tree have the same number
	same int64
}

// less says which pair is worth less.
func (p *pair) less(other *pair) bool {
	return cmp.Or(cmp.Compare(p.same, other.same), cmp.Compare(len(other.a)+len(other.b), len(p.a)+len(p.b)),
		strings.Compare(other.a, p.a), strings.Compare(other.b, p.b)) < 0
}

// best holds the pairs with the most pages, the least of them first.
type best []pair

func (b best) Len() int           { return len(b) }
func (b best) Swap(i, j int)      { b[i], b[j] = b[j], b[i] }
func (b best) Less(i, j int) bool { return b[i].less(&b[j]) }
func (b *best) Push(x any)        { *b = append(*b, x.(pair)) }
func (b *best) Pop() any {
	last := (*b)[len(*b)-1]
	*b = (*b)[:len(*b)-1]
	return last
}

func (f *finder) add(p pair) {
	switch {
	case p.same < int64(f.Pages):
	case len(f.best) < candidates:
		heap.Push(&f.best, p)
	case f.best[0].less(&p):
		f.best[0] = p
		heap.Fix(&f.best, 0)
	}
}

// choose returns those of the best pairs that are mirrors, do not lie within another one, and do not follow from
// others.
func (f *finder) choose(pages map[string]int64) []Mirror {
	slices.SortFunc(f.best, func(x, y pair) int {
		if y.less(&x) {
			return -1
		}
		return 1
	})
	type mirror struct {
		Mirror
		rest   string
		within []pair // mirrors by themselves
	}
	var highest []*mirror
	trees := map[uint32][]*mirror{}
	for _, p := range f.best { // a folder comes before those below it, which have fewer pages
		first, second := Folder{URL: p.a, Pages: pages[p.a]}, Folder{URL: p.b, Pages: pages[p.b]}
		if strings.HasPrefix(p.b, p.a) {
			first.Pages -= second.Pages
		}
		first.Coverage = float64(p.same) / float64(first.Pages)
		second.Coverage = float64(p.same) / float64(second.Pages)
		if max(first.Coverage, second.Coverage) < f.Coverage {
			continue
		}
		rest := p.a[len(p.a)-p.rest:]
		within := func(above *mirror) bool { return strings.HasPrefix(rest, above.rest) }
		if i := slices.IndexFunc(trees[p.top], within); i >= 0 {
			trees[p.top][i].within = append(trees[p.top][i].within, p)
			continue
		}
		if cmp.Or(cmp.Compare(first.Pages, second.Pages), cmp.Compare(len(p.b), len(p.a)),
			cmp.Compare(p.b, p.a)) < 0 {
			first, second = second, first
		}
		m := &mirror{Mirror: Mirror{p.same, first, second}, rest: rest}
		highest, trees[p.top] = append(highest, m), append(trees[p.top], m)
	}
	of := map[string]string{} // a folder with the same pages; none: the folder stands for itself and those that name it
	join := func(a, b string) bool {
		for of[a] != "" {
			a = of[a]
		}
		for of[b] != "" {
			b = of[b]
		}
		if a != b {
			of[b] = a
		}
		return a != b
	}
	var found []Mirror
	for _, m := range highest {
		if join(m.First.URL, m.Second.URL) {
			found = append(found, m.Mirror)
		}
		for _, p := range m.within {
			join(p.a, p.b)
		}
	}
	return found
}
