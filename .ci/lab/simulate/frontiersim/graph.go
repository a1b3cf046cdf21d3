// Package frontiersim crawls a graph of the web in memory and tells how a frontier does: how much PageRank is collected
// by how many pages, and how many URLs wait meanwhile.
//
// A crawl is simulated as the experiments of Morimoto et al. do it: pages are visited in the order in which the
// frontier hands them out, in no time, and the links of each are offered to it one after the other unless they are
// seen. A URL is seen from when the frontier takes it; one that is dropped is unseen again.
//
// Graphs come from files (edge lists, the ASCII form of the Laboratory for Web Algorithmics, successor lists by
// differences) or are made: webs of any size with hosts, in which the sizes of hosts, the in-links and the out-links
// follow power laws.
//
// Invariants: the same graph, options and seed give the same crawl; a page is visited once; PageRank sums to one over
// the pages that can be reached from the seeds.
package frontiersim

import (
	"cmp"
	"math/rand/v2"
	"slices"
	"strings"

	"golang.org/x/net/publicsuffix"
)

// Graph is a web: pages 0 … n−1 with their hosts and the pages they link to.
type Graph struct {
	Name   string
	starts []int64  // links of page u are links[starts[u]:starts[u+1]]
	links  []uint32 // successors, ascending within a page, no page twice

	host    []uint32 // page → host
	domain  []uint32 // host → pay-level domain
	names   []string // host → name, nil in synthetic webs
	domains int
}

// Pages returns the number of pages.
func (g *Graph) Pages() int { return len(g.starts) - 1 }

// Arcs returns the number of links.
func (g *Graph) Arcs() int { return len(g.links) }

// Hosts returns the number of hosts.
func (g *Graph) Hosts() int { return len(g.domain) }

// Links returns the pages that a page links to.
func (g *Graph) Links(page uint32) []uint32 { return g.links[g.starts[page]:g.starts[page+1]] }

// setHosts gives the pages their hosts; names may be nil. Without a list of pages each is a host of its own.
func (g *Graph) setHosts(host []uint32, names []string) {
	if host == nil {
		host = make([]uint32, g.Pages())
		for u := range host {
			host[u] = uint32(u)
		}
	}
	count := uint32(0)
	for _, h := range host {
		count = max(count, h+1)
	}
	g.host, g.names, g.domain = host, names, make([]uint32, count)
	if names == nil {
		for h := range g.domain {
			g.domain[h] = uint32(h)
		}
		g.domains = int(count)
		return
	}
	number := map[string]uint32{}
	for h := range g.domain {
		name := payLevelDomain(names[h])
		if _, ok := number[name]; !ok {
			number[name] = uint32(len(number))
		}
		g.domain[h] = number[name]
	}
	g.domains = len(number)
}

// payLevelDomain is the registrable domain of a host name, or the name where it has none.
func payLevelDomain(host string) string {
	name, err := publicsuffix.EffectiveTLDPlusOne(strings.ToLower(strings.Trim(host, ".")))
	if err != nil {
		return host
	}
	return name
}

// builder takes the pages of a graph one after the other.
type builder struct{ g Graph }

func newBuilder(pages, links int) *builder {
	return &builder{Graph{starts: append(make([]int64, 0, pages+1), 0), links: make([]uint32, 0, links)}}
}

// add ends a page whose links were appended to links: it sorts them and takes out what is there twice.
func (b *builder) add() {
	from := b.g.starts[len(b.g.starts)-1]
	own := b.g.links[from:]
	slices.Sort(own)
	b.g.links = b.g.links[:from+int64(len(slices.Compact(own)))]
	b.g.starts = append(b.g.starts, int64(len(b.g.links)))
}

// Components returns one page of each of the largest strongly connected components, at most limit, the largest first:
// the seeds of the paper, which took 1024. The page is drawn at random.
func (g *Graph) Components(limit int, seed uint64) []uint32 {
	component, count := g.stronglyConnected()
	size := make([]int, count)
	for _, c := range component {
		size[c]++
	}
	order := make([]uint32, count)
	for c := range order {
		order[c] = uint32(c)
	}
	slices.SortFunc(order, func(a, b uint32) int { return cmp.Or(size[b]-size[a], int(a)-int(b)) })
	order = order[:min(limit, count)]
	rnd := rand.New(rand.NewPCG(seed, 0))
	wanted := make(map[uint32]int, len(order)) // component → pages of it until the drawn one
	for _, c := range order {
		wanted[c] = rnd.IntN(size[c])
	}
	page := make(map[uint32]uint32, len(order))
	for u, c := range component {
		left, ok := wanted[c]
		if !ok {
			continue
		}
		if left == 0 {
			page[c] = uint32(u)
			delete(wanted, c)
		} else {
			wanted[c] = left - 1
		}
	}
	seeds := make([]uint32, len(order))
	for i, c := range order {
		seeds[i] = page[c]
	}
	return seeds
}

// stronglyConnected numbers the strongly connected components: Tarjan's algorithm, with a stack of its own in place of
// recursion.
func (g *Graph) stronglyConnected() (component []uint32, count int) {
	n := g.Pages()
	component = make([]uint32, n)
	index := make([]uint32, n) // order of discovery + 1, 0 for not discovered
	low := make([]uint32, n)   // least index reachable through the tree below and one link more
	done := make([]bool, n)
	var open, path []uint32 // pages whose component is not known; the way from the root to the page in work
	next := make([]uint32, n)
	discovered := uint32(0)
	for root := range uint32(n) {
		if index[root] != 0 {
			continue
		}
		path = append(path, root)
		for len(path) > 0 {
			u := path[len(path)-1]
			if index[u] == 0 {
				discovered++
				index[u], low[u] = discovered, discovered
				open = append(open, u)
			}
			links := g.Links(u)
			deeper := false
			for int(next[u]) < len(links) {
				v := links[next[u]]
				next[u]++
				if index[v] == 0 {
					path = append(path, v)
					deeper = true
					break
				}
				if !done[v] {
					low[u] = min(low[u], index[v])
				}
			}
			if deeper {
				continue
			}
			path = path[:len(path)-1]
			if len(path) > 0 {
				parent := path[len(path)-1]
				low[parent] = min(low[parent], low[u])
			}
			if low[u] != index[u] {
				continue
			}
			for {
				v := open[len(open)-1]
				open = open[:len(open)-1]
				component[v], done[v] = uint32(count), true
				if v == u {
					break
				}
			}
			count++
		}
	}
	return component, count
}

// Reachable returns the part of the graph that can be reached from the seeds, and the seeds in it.
func (g *Graph) Reachable(seeds []uint32) (*Graph, []uint32) {
	reached := make([]bool, g.Pages())
	queue := make([]uint32, 0, g.Pages())
	reach := func(v uint32) {
		if !reached[v] {
			reached[v] = true
			queue = append(queue, v)
		}
	}
	for _, s := range seeds {
		reach(s)
	}
	for i := 0; i < len(queue); i++ {
		for _, v := range g.Links(queue[i]) {
			reach(v)
		}
	}
	number := make([]uint32, g.Pages())
	count := uint32(0)
	for u, r := range reached {
		if r {
			number[u] = count
			count++
		}
	}
	b := newBuilder(len(queue), len(g.links))
	host := make([]uint32, 0, len(queue))
	for u, r := range reached {
		if !r {
			continue
		}
		for _, v := range g.Links(uint32(u)) {
			b.g.links = append(b.g.links, number[v])
		}
		b.add()
		host = append(host, g.host[u])
	}
	part := b.g
	part.Name, part.host, part.domain, part.names, part.domains = g.Name, host, g.domain, g.names, g.domains
	own := make([]uint32, len(seeds))
	for i, s := range seeds {
		own[i] = number[s]
	}
	return &part, own
}
