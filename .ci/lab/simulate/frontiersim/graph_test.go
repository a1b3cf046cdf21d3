package frontiersim

import (
	"errors"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

func links(g *Graph) (all [][]uint32) {
	for u := range uint32(g.Pages()) {
		all = append(all, slices.Clone(g.Links(u)))
	}
	return all
}

func TestReaders(t *testing.T) {
	want := "[[1 2] [2] [0 3] []]"
	for name, read := range map[string]func() (*Graph, error){
		"lists": func() (*Graph,
			error) {
			return ReadASCII(strings.NewReader("4\n1 2\n2\n0 3\n\n"))
		},
		"lists, not sorted, repeated": func() (*Graph,
			error) {
			return ReadASCII(strings.NewReader("4\n2 1 2\n2\n3 0\n\n\n"))
		},
		"differences": func() (*Graph,
			error) {
			return ReadDelta(strings.NewReader("4\n1 1\n2\n0 3\n\n"))
		},
		"edges": func() (*Graph, error) {
			return ReadEdges(strings.NewReader("# a comment\na b\na c\na b\nb\tc\nc,a\nc;d\n"), [2]int{})
		},
		"edges in columns": func() (*Graph, error) {
			return ReadEdges(strings.NewReader("1996|a|b\t7\n1996|a|c\t1\n1996|b|c\t1\n1996|c|a\t1\n1996|c|d\t1\n"),
				[2]int{2, 3})
		},
		"a file":    func() (*Graph, error) { return Open("testdata/four/arcs.delta", [2]int{}) },
		"LAW ASCII": func() (*Graph, error) { return Open("testdata/four.graph-txt", [2]int{}) },
	} {
		t.Run(name, func(t *testing.T) {
			g, err := read()
			if err != nil {
				t.Fatal(err)
			}
			if got := fmt.Sprint(links(g)); got != want {
				t.Errorf("%s instead of %s", got, want)
			}
		})
	}
}

func TestReadersRefuse(t *testing.T) {
	for name, read := range map[string]func() error{
		"no number of pages": func() error { _, err := ReadASCII(strings.NewReader("x\n")); return err },
		"nothing":            func() error { _, err := ReadASCII(strings.NewReader("")); return err },
		"too few pages":      func() error { _, err := ReadASCII(strings.NewReader("3\n0\n")); return err },
		"too many pages":     func() error { _, err := ReadASCII(strings.NewReader("1\n0\n0\n")); return err },
		"far too many pages": func() error { _, err := ReadASCII(strings.NewReader("99999999999\n0\n")); return err },
		"link to no page":    func() error { _, err := ReadASCII(strings.NewReader("1\n1\n")); return err },
		"difference too far": func() error { _, err := ReadDelta(strings.NewReader("2\n1 1\n\n")); return err },
		"not a number":       func() error { _, err := ReadDelta(strings.NewReader("2\n1 -1\n\n")); return err },
		"missing column":     func() error { _, err := ReadEdges(strings.NewReader("a\n"), [2]int{}); return err },
		"hosts of too few": func() error {
			g, _ := ReadASCII(strings.NewReader("2\n\n\n"))
			return g.ReadHosts(strings.NewReader("h\t1\n"))
		},
		"hosts of too many": func() error {
			g, _ := ReadASCII(strings.NewReader("2\n\n\n"))
			return g.ReadHosts(strings.NewReader("h\t3\n"))
		},
	} {
		t.Run(name, func(t *testing.T) {
			if err := read(); !errors.Is(err, ErrFormat) {
				t.Errorf("error %v", err)
			}
		})
	}
	if _, err := ReadEdges(strings.NewReader("a b\n"), [2]int{0, 1}); err == nil {
		t.Error("column 0 was accepted")
	}
}

func TestHosts(t *testing.T) {
	g, err := ReadEdges(strings.NewReader("http://www.a.co.uk/1 https://b.a.co.uk/2\nhttp://www.a.co.uk/1 "+
		"http://www.a.co.uk\nhttps://b.a.co.uk/2 http://c.example/\n"), [2]int{})
	if err != nil {
		t.Fatal(err)
	}
	if got := fmt.Sprint(g.host, g.names, g.domain,
		g.domains); got != "[0 1 0 2] [www.a.co.uk b.a.co.uk c.example] [0 0 1] 2" {
		t.Error(got)
	}
	g, err = Open("testdata/four/arcs.delta", [2]int{})
	if err != nil {
		t.Fatal(err)
	}
	if got := fmt.Sprint(g.host, g.names, g.Hosts()); got != "[0 0 1 0] [a.example b.example] 2" {
		t.Error(got)
	}
}

// The largest components come first, and what cannot be reached from their pages is left out.
func TestComponentsAndReach(t *testing.T) {
	// 0 → 1 → 2 → 0, 3 ↔ 4, 5 → 0, 6 alone, 2 → 3
	g, err := ReadASCII(strings.NewReader("7\n1\n2\n0 3\n4\n3\n0\n\n"))
	if err != nil {
		t.Fatal(err)
	}
	seeds := g.Components(2, 1)
	if len(seeds) != 2 || seeds[0] > 2 || seeds[1] < 3 || seeds[1] > 4 {
		t.Errorf("seeds %v", seeds)
	}
	if all := g.Components(100, 1); len(all) != 4 {
		t.Errorf("%v are pages of four components", all)
	}
	part, own := g.Reachable([]uint32{4, 6})
	if got := fmt.Sprint(links(part), own, part.host); got != "[[1] [0] []] [1 2] [3 4 6]" {
		t.Error(got)
	}
}

// slowRank is the definition of PageRank, with a full matrix.
func slowRank(g *Graph, d float64) []float64 {
	n := g.Pages()
	rank := make([]float64, n)
	for u := range rank {
		rank[u] = 1 / float64(n)
	}
	for range 500 {
		next := make([]float64, n)
		for u := range n {
			for v := range n {
				p := (1 - d) / float64(n)
				switch l := g.Links(uint32(u)); {
				case len(l) == 0:
					p += d / float64(n)
				case slices.Contains(l, uint32(v)):
					p += d / float64(len(l))
				}
				next[v] += rank[u] * p
			}
		}
		rank = next
	}
	return rank
}

func TestPageRank(t *testing.T) {
	o := DefaultWebOptions()
	o.Pages, o.PagesPerHost = 60, 6
	g, err := Web(o)
	if err != nil {
		t.Fatal(err)
	}
	p := DefaultPageRankOptions()
	p.Tolerance = 1e-12
	p.Iterations = 1000
	rank, want := g.PageRank(p), slowRank(g, p.Damping)
	sum := 0.0
	for u := range rank {
		sum += rank[u]
		if math.Abs(rank[u]-want[u]) > 1e-9 {
			t.Errorf("page %d: %v instead of %v", u, rank[u], want[u])
		}
	}
	if math.Abs(sum-1) > 1e-9 {
		t.Errorf("the ranks add up to %v", sum)
	}
	needed := Needed(rank, []float64{0, 0.5, 1})
	mass := 0.0
	for _, u := range Optimal(rank)[:needed[1]] {
		mass += rank[u]
	}
	if needed[0] != 0 || mass < 0.5 || mass-rank[Optimal(rank)[needed[1]-1]] >= 0.5 {
		t.Errorf("%v pages for nothing, half (in truth %v) and all", needed, mass)
	}
}

// A made web has the size, links and hosts asked for, and its in-links and hosts follow power laws.
func TestWeb(t *testing.T) {
	o := DefaultWebOptions()
	o.Pages = 100_000
	g, err := Web(o)
	if err != nil {
		t.Fatal(err)
	}
	if mean := float64(g.Arcs()) / float64(g.Pages()); mean < 0.7*o.LinksPerPage || mean > 1.1*o.LinksPerPage {
		t.Errorf("%v links a page instead of %v", mean, o.LinksPerPage)
	}
	if mean := float64(g.Pages()) / float64(g.Hosts()); mean < 0.5*o.PagesPerHost || mean > 2*o.PagesPerHost {
		t.Errorf("%v pages a host instead of %v", mean, o.PagesPerHost)
	}
	in := make([]int, g.Pages())
	inside := 0
	for u := range uint32(g.Pages()) {
		for _, v := range g.Links(u) {
			in[v]++
			if g.host[u] == g.host[v] {
				inside++
			}
		}
	}
	if share := float64(inside) / float64(g.Arcs()); share < o.Inside-0.1 || share > o.Inside+0.1 {
		t.Errorf("%v of the links stay on their host instead of %v", share, o.Inside)
	}
	slices.Sort(in)
	top := 0
	for _, n := range in[len(in)-len(in)/100:] {
		top += n
	}
	if share := float64(top) / float64(g.Arcs()); share < 0.15 {
		t.Errorf("the first hundredth of the pages has %v of the links", share)
	}
	if _, seeds := g.Reachable(g.Components(1000, 1)); len(seeds) == 0 {
		t.Error("no seeds")
	}
	for name, spoil := range map[string]func(*WebOptions){
		"no pages":       func(o *WebOptions) { o.Pages = 0 },
		"tiny hosts":     func(o *WebOptions) { o.PagesPerHost = 1 },
		"no links":       func(o *WebOptions) { o.LinksPerPage = 0 },
		"share over one": func(o *WebOptions) { o.Inside = 1.5 },
	} {
		o := DefaultWebOptions()
		spoil(&o)
		if _, err := Web(o); err == nil {
			t.Errorf("%s: accepted", name)
		}
	}
}

// largeGraphs are the graphs of the folder that HENRO_DATA names; none without it.
func largeGraphs(t *testing.T) (graphs []*Graph) {
	dir := os.Getenv("HENRO_DATA")
	if dir == "" {
		return nil
	}
	files, err := filepath.Glob(filepath.Join(dir, "graphs", "*", "arcs.delta.gz"))
	if err != nil || len(files) == 0 {
		t.Fatalf("no graphs in %s: %v", dir, err)
	}
	for _, file := range files {
		g, err := Open(file, [2]int{})
		if err != nil {
			t.Fatal(err)
		}
		graphs = append(graphs, g)
	}
	return graphs
}

func FuzzRead(f *testing.F) {
	for _, text := range []string{"4\n1 2\n2\n0 3\n\n", "", "1\n0\n", "2\n1 1\n", "a b\nb,c\n", "x|y|z\t3"} {
		f.Add(text)
	}
	f.Fuzz(func(t *testing.T, text string) {
		for _, read := range []func() (*Graph, error){
			func() (*Graph, error) { return ReadASCII(strings.NewReader(text)) },
			func() (*Graph, error) { return ReadDelta(strings.NewReader(text)) },
			func() (*Graph, error) { return ReadEdges(strings.NewReader(text), [2]int{}) },
		} {
			g, err := read()
			if err != nil {
				continue
			}
			for u := range uint32(g.Pages()) {
				for _, v := range g.Links(u) {
					if int(v) >= g.Pages() {
						t.Fatalf("link to page %d of %d", v, g.Pages())
					}
				}
				if int(g.host[u]) >= g.Hosts() {
					t.Fatalf("page %d is of host %d of %d", u, g.host[u], g.Hosts())
				}
			}
			if err := g.ReadHosts(strings.NewReader(text)); err == nil && len(g.host) != g.Pages() {
				t.Fatal("hosts for other pages")
			}
		}
	})
}
