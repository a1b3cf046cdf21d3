// Package ring decides which master owns which partition, from their names alone.
//
// Every node that knows the same masters comes to the same answer, without a coordinator. It is rendezvous hashing
// (Thaler and Ravishankar 1998) with a bound: each pair of master and partition has a score, and pairs are taken from
// the highest score down, unless the partition is taken or the master has its share already, ⌈P/M⌉ of P partitions for
// M masters. Without the bound few partitions fall badly: 8 over 3 masters give one of them 6 or more every sixteenth
// time, and its disk does most of the work.
//
// Invariants: every partition has exactly one owner, as long as there is a master; no master owns more than ⌈P/M⌉; the
// order in which masters are named does not matter. When a master comes or goes, little more moves than must.
package ring

import (
	"cmp"
	"slices"
)

// Owners returns for each of the partitions 0 … partitions−1 the name of the master that owns it; nil without masters.
// A name given twice counts once.
func Owners(partitions int, masters []string) []string {
	masters = slices.Compact(slices.Sorted(slices.Values(masters)))
	if len(masters) == 0 || partitions <= 0 {
		return nil
	}
	type pair struct {
		score     uint64
		master    int
		partition int
	}
	pairs := make([]pair, 0, partitions*len(masters))
	for m, name := range masters {
		h := hash(name)
		for p := range partitions {
			pairs = append(pairs, pair{score: mix(h ^ mix(uint64(p)+1)), master: m, partition: p})
		}
	}
	slices.SortFunc(pairs, func(a, b pair) int {
		return cmp.Or(cmp.Compare(b.score, a.score), cmp.Compare(a.partition, b.partition),
			cmp.Compare(a.master, b.master))
	})
	share := (partitions + len(masters) - 1) / len(masters)
	owned := make([]int, len(masters))
	owners := make([]string, partitions)
	taken := make([]bool, partitions)
	for _, p := range pairs {
		if !taken[p.partition] && owned[p.master] < share {
			taken[p.partition], owners[p.partition] = true, masters[p.master]
			owned[p.master]++
		}
	}
	return owners
}

// hash is FNV-1a, and mix the finalizer of SplitMix64, which FNV needs: its high bits hardly know of a short name's
// last letter.
func hash(s string) uint64 {
	h := uint64(14695981039346656037)
	for i := range len(s) {
		h = (h ^ uint64(s[i])) * 1099511628211
	}
	return h
}

func mix(x uint64) uint64 {
	x += 0x9e3779b97f4a7c15
	x = (x ^ x>>30) * 0xbf58476d1ce4e5b9
	x = (x ^ x>>27) * 0x94d049bb133111eb
	return x ^ x>>31
}
