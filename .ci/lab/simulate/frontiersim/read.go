package frontiersim

import (
	"bufio"
	"bytes"
	"compress/gzip"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strconv"
	"strings"
)

// ErrFormat is returned for a file that is not the graph it is taken for.
var ErrFormat = errors.New("not a graph")

// MaxPages bounds the graphs that are read: page numbers have 32 bits.
const MaxPages = 1 << 31

// Open reads a graph file, gunzipping it where its name ends in .gz. The rest of the name tells the form:
//
//	.delta       ReadDelta
//	.graph-txt   ReadASCII, as WebGraph's ASCIIGraph writes it
//	others       ReadEdges with the given columns
//
// A file hosts.gz, hosts or *.hosts beside one of the first two gives the hosts of its pages, see ReadHosts; without
// one every page is a host of its own.
func Open(path string, columns [2]int) (*Graph, error) {
	var g *Graph
	err := open(path, func(r io.Reader) (err error) {
		switch name := strings.TrimSuffix(path, ".gz"); {
		case strings.HasSuffix(name, ".delta"):
			g, err = ReadDelta(r)
		case strings.HasSuffix(name, ".graph-txt"):
			g, err = ReadASCII(r)
		default:
			g, err = ReadEdges(r, columns)
		}
		return err
	})
	if err != nil {
		return nil, fmt.Errorf("read graph %s: %w", path, err)
	}
	g.Name = filepath.Base(filepath.Dir(path))
	if g.names != nil {
		return g, nil
	}
	stem := strings.TrimSuffix(strings.TrimSuffix(path, ".gz"), ".graph-txt")
	for _, beside := range []string{filepath.Join(filepath.Dir(path), "hosts.gz"),
		filepath.Join(filepath.Dir(path), "hosts"), stem + ".hosts", stem + ".hosts.gz"} {
		err := open(beside, func(r io.Reader) error { return g.ReadHosts(r) })
		if errors.Is(err, os.ErrNotExist) {
			continue
		}
		if err != nil {
			return nil, fmt.Errorf("read hosts %s: %w", beside, err)
		}
		break
	}
	return g, nil
}

func open(path string, read func(io.Reader) error) error {
	f, err := os.Open(path)
	if err != nil {
		return err
	}
	defer f.Close()
	if !strings.HasSuffix(path, ".gz") {
		return read(f)
	}
	z, err := gzip.NewReader(f)
	if err != nil {
		return err
	}
	return read(z)
}

// lines calls line for each line of at most 64 MB, without its end.
func lines(r io.Reader, line func([]byte) error) error {
	s := bufio.NewScanner(r)
	s.Buffer(make([]byte, 1<<20), 64<<20)
	for n := 1; s.Scan(); n++ {
		if err := line(s.Bytes()); err != nil {
			return fmt.Errorf("line %d: %w", n, err)
		}
	}
	return s.Err()
}

// ReadASCII reads the number of pages, and for each page a line of the pages it links to.
func ReadASCII(r io.Reader) (*Graph, error) { return readLists(r, false) }

// ReadDelta reads the number of pages, and for each page a line of the pages it links to: the first by its number, each
// further one by its distance from the one before.
func ReadDelta(r io.Reader) (*Graph, error) { return readLists(r, true) }

func readLists(r io.Reader, delta bool) (*Graph, error) {
	pages := -1
	b := newBuilder(0, 0)
	err := lines(r, func(line []byte) error {
		if pages < 0 {
			n, err := strconv.Atoi(string(bytes.TrimSpace(line)))
			if err != nil || n < 0 || n > MaxPages {
				return fmt.Errorf("number of pages %q: %w", line, ErrFormat)
			}
			pages = n
			return nil
		}
		if len(b.g.starts) > pages {
			if len(bytes.TrimSpace(line)) == 0 {
				return nil
			}
			return fmt.Errorf("more than %d pages: %w", pages, ErrFormat)
		}
		last := 0
		for len(line) > 0 {
			if line[0] == ' ' || line[0] == '\t' || line[0] == '\r' {
				line = line[1:]
				continue
			}
			v, size := 0, 0
			for size < len(line) && size < 11 && line[size] >= '0' && line[size] <= '9' {
				v = 10*v + int(line[size]-'0')
				size++
			}
			if delta {
				v += last
			}
			if size == 0 || v >= pages {
				return fmt.Errorf("link to page %.20q of %d: %w", line, pages, ErrFormat)
			}
			last = v
			b.g.links = append(b.g.links, uint32(v))
			line = line[size:]
		}
		b.add()
		return nil
	})
	if err != nil {
		return nil, err
	}
	if pages < 0 || b.g.Pages() < pages {
		return nil, fmt.Errorf("%d of %d pages: %w", b.g.Pages(), pages, ErrFormat)
	}
	g := b.g
	g.setHosts(nil, nil)
	return &g, nil
}

// ReadHosts reads the hosts of the pages in their order: a line "host<TAB>number of pages" for each run of pages.
func (g *Graph) ReadHosts(r io.Reader) error {
	host := make([]uint32, 0, g.Pages())
	var names []string
	number := map[string]uint32{}
	err := lines(r, func(line []byte) error {
		name, run, ok := strings.Cut(strings.TrimSpace(string(line)), "\t")
		if name == "" {
			return nil
		}
		n, err := strconv.Atoi(run)
		if !ok || err != nil || n < 0 || n > g.Pages()-len(host) {
			return fmt.Errorf("run of pages %q: %w", line, ErrFormat)
		}
		if _, ok := number[name]; !ok {
			number[name] = uint32(len(names))
			names = append(names, name)
		}
		for range n {
			host = append(host, number[name])
		}
		return nil
	})
	if err != nil {
		return err
	}
	if len(host) != g.Pages() {
		return fmt.Errorf("hosts of %d of %d pages: %w", len(host), g.Pages(), ErrFormat)
	}
	g.setHosts(host, names)
	// Hosts named for an empty run have no pages and must still have a domain.
	for len(g.domain) < len(names) {
		g.domain = append(g.domain, uint32(g.domains))
		g.domains++
	}
	return nil
}

// ReadEdges reads a link a line: two fields between blanks, tabs, commas, semicolons or bars, taken from the given
// columns (from 1; zeros mean 1 and 2). Lines that begin with # or % are comments. A page is a number, a name or a URL;
// the host is what stands between :// and the next slash, in a name without :// the whole.
func ReadEdges(r io.Reader, columns [2]int) (*Graph, error) {
	if columns == [2]int{} {
		columns = [2]int{1, 2}
	}
	if columns[0] < 1 || columns[1] < 1 {
		return nil, fmt.Errorf("columns %v are not counted from 1", columns)
	}
	number := map[string]uint32{}
	var pages []string
	page := func(name []byte) uint32 {
		if u, ok := number[string(name)]; ok {
			return u
		}
		u := uint32(len(pages))
		pages = append(pages, string(name))
		number[pages[u]] = u
		return u
	}
	var from, to []uint32
	err := lines(r, func(line []byte) error {
		line = bytes.TrimSpace(line)
		if len(line) == 0 || line[0] == '#' || line[0] == '%' {
			return nil
		}
		fields := bytes.FieldsFunc(line, func(c rune) bool { return strings.ContainsRune(" \t,;|", c) })
		if len(fields) < max(columns[0], columns[1]) {
			return fmt.Errorf("%d fields instead of %d: %w", len(fields), max(columns[0], columns[1]), ErrFormat)
		}
		from = append(from, page(fields[columns[0]-1]))
		to = append(to, page(fields[columns[1]-1]))
		return nil
	})
	if err != nil {
		return nil, err
	}
	// Sorting by page is counting: how many links each has, then where each goes.
	next := make([]int, len(pages)+1)
	for _, u := range from {
		next[u+1]++
	}
	for u := range pages {
		next[u+1] += next[u]
	}
	sorted := make([]uint32, len(to))
	for i, u := range from {
		sorted[next[u]] = to[i]
		next[u]++
	}
	b := newBuilder(len(pages), len(to))
	start := 0
	for u := range pages {
		b.g.links = append(b.g.links, sorted[start:next[u]]...)
		start = next[u]
		b.add()
	}
	host := make([]uint32, len(pages))
	hosts := map[string]uint32{}
	names := []string{}
	for u, name := range pages {
		if _, rest, ok := strings.Cut(name, "://"); ok {
			name, _, _ = strings.Cut(rest, "/")
		}
		if _, ok := hosts[name]; !ok {
			hosts[name] = uint32(len(names))
			names = append(names, name)
		}
		host[u] = hosts[name]
	}
	g := b.g
	g.setHosts(host, names)
	return &g, nil
}
