package figures

import (
	"math/bits"
	"slices"

	"henro/actors/politeness"
	"henro/store/fingerprint"
)

// sample is the hosts on which all objectives are priced: every host up to Options.Priced, and of more those that are
// drawn by their names, the larger the likelier. A host of p pages, 2^size ≤ p, has the rank size + z, where z zeros
// end the digest of its name; it is drawn while its rank is at least the level, which is so with the probability
// 2^(size−level), and stands for the inverse of that [1].
//
// Invariant: what is drawn does not depend on the order of the hosts, for the level only rises with their number.
//
// [1] Horvitz and Thompson, A generalization of sampling without replacement from a finite universe, 1952.
type sample struct {
	most  int
	level int
	drawn []drawn
}

type drawn struct {
	rank, size int
	costs      [3]politeness.Cost // by objective
}

// rankOf returns the rank and the size of a host.
func rankOf(name string, pages uint64) (rank, size int) {
	size = max(0, bits.Len64(pages)-1)
	return size + bits.TrailingZeros64(fingerprint.Host(name)), size
}

// add takes a host that is drawn, and lets go of others where there are too many.
func (s *sample) add(d drawn) {
	for s.drawn = append(s.drawn, d); len(s.drawn) > s.most; {
		s.level++
		s.drawn = slices.DeleteFunc(s.drawn, func(d drawn) bool { return d.rank < s.level })
	}
}

// sum returns what an objective costs all hosts, as far as the sample says.
func (s *sample) sum(objective int) (all politeness.Cost) {
	for _, d := range s.drawn {
		cost := d.costs[objective]
		cost.Scale(float64(uint64(1) << max(0, s.level-d.size)))
		all.Add(cost)
	}
	return all
}
