package frontiersim

import (
	"cmp"
	"math"
	"slices"
)

// PageRankOptions are those of the power iteration.
type PageRankOptions struct {
	Damping    float64 // share of readers who follow a link; default 0.85
	Tolerance  float64 // ends when the sum of the changes is below; default 1e-8
	Iterations int     // ends after so many anyway; default 100
}

// DefaultPageRankOptions are the usual ones.
func DefaultPageRankOptions() PageRankOptions {
	return PageRankOptions{Damping: 0.85, Tolerance: 1e-8, Iterations: 100}
}

// PageRank returns the rank of each page; the sum is one. A reader of a page without links goes anywhere.
func (g *Graph) PageRank(o PageRankOptions) []float64 {
	n := g.Pages()
	rank, next := make([]float64, n), make([]float64, n)
	for u := range rank {
		rank[u] = 1 / float64(n)
	}
	for range o.Iterations {
		clear(next)
		lost := 0.0
		for u := range rank {
			links := g.Links(uint32(u))
			if len(links) == 0 {
				lost += rank[u]
				continue
			}
			share := rank[u] / float64(len(links))
			for _, v := range links {
				next[v] += share
			}
		}
		base := (1 - o.Damping + o.Damping*lost) / float64(n)
		change := 0.0
		for u := range next {
			next[u] = base + o.Damping*next[u]
			change += math.Abs(next[u] - rank[u])
		}
		rank, next = next, rank
		if change < o.Tolerance {
			break
		}
	}
	return rank
}

// Optimal returns the pages in descending rank: OPT, the order that no crawler can have since it ignores the links.
func Optimal(rank []float64) []uint32 {
	order := make([]uint32, len(rank))
	for u := range order {
		order[u] = uint32(u)
	}
	slices.SortFunc(order, func(a, b uint32) int { return cmp.Or(cmp.Compare(rank[b], rank[a]), int(a)-int(b)) })
	return order
}

// Needed returns how many pages OPT needs for each of the given shares of the rank: figure 2.
func Needed(rank []float64, shares []float64) []int {
	needed := make([]int, 0, len(shares))
	sum, count := 0.0, 0
	for _, u := range Optimal(rank) {
		for len(needed) < len(shares) && sum >= shares[len(needed)] {
			needed = append(needed, count)
		}
		sum += rank[u]
		count++
	}
	for len(needed) < len(shares) {
		needed = append(needed, count)
	}
	return needed
}
