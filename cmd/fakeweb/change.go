package fakeweb

import (
	"math"
	"slices"
	"time"
)

// process is the Poisson process of one page's changes, readable at any moment without a history.
//
// Time is cut into eras of 2^56 ns (834 days). The number of changes in an era is one Poisson draw; how many of them
// fall into its first half is a binomial draw, and so on down until a stretch holds few enough to place them one by
// one, evenly. Counting up to a moment follows one path of that tree, and every path sees the same changes. That is
// exact: a Poisson process, given its number of points, has them scattered evenly.
type process struct {
	seed, host, page uint64
	rate             float64 // λ, changes per nanosecond; zero: never changes
}

const (
	eraBits  = 56
	firstEra = -16 // nothing changes before it, which is the year 1963
	few      = 8   // points of a stretch that are placed one by one
)

// epoch is the moment from which eras are counted: the moment at which a synctest bubble begins.
var epoch = time.Date(2000, 1, 1, 0, 0, 0, 0, time.UTC)

// changes gives the process of page p.
func (w *Web) changes(h *Host, p int) process {
	c := &h.Changes
	pr := process{seed: w.o.Seed, host: uint64(h.Index), page: uint64(p)}
	if c.Share == 0 || h.shares(p) {
		return pr
	}
	if h.Templated && p > 0 {
		if p&1 == 0 {
			pr.rate = 1 / float64(c.Fastest)
		}
		return pr
	}
	r := draw(w.o.Seed, forRate, pr.host, pr.page)
	if r.chance(c.Share) {
		fast, slow := math.Log(float64(c.Fastest)), math.Log(float64(c.Slowest))
		pr.rate = math.Exp(-fast - (slow-fast)*r.unit())
	}
	return pr
}

// moment splits a time into its era and the nanoseconds into it.
func moment(t time.Time) (era int64, into int64) {
	const span = 1 << eraBits
	sec := t.Unix() - epoch.Unix()
	// An int64 of nanoseconds reaches 292 years on either side of the epoch.
	ns := max(min(sec, 9e9), -9e9)*1e9 + int64(t.Nanosecond())
	return ns >> eraBits, ns & (span - 1)
}

func instant(era, into int64) time.Time {
	ns := era<<eraBits + into
	return epoch.Add(time.Duration(ns))
}

// stretch is one node of the tree: n changes in [from, from+2^bits) of an era.
type stretch struct {
	node uint64 // number of the node in its era's tree, the root being 1
	from int64
	bits int
	n    int
}

func (pr *process) root(era int64) stretch {
	if era < firstEra {
		return stretch{node: 1, bits: eraBits}
	}
	r := draw(pr.seed, forCount, pr.host, pr.page, uint64(era))
	return stretch{node: 1, bits: eraBits, n: r.poisson(pr.rate * (1 << eraBits))}
}

func (pr *process) halves(era int64, s stretch) (left, right stretch) {
	r := draw(pr.seed, forSplit, pr.host, pr.page, uint64(era), s.node)
	n := r.half(s.n)
	left = stretch{node: 2 * s.node, from: s.from, bits: s.bits - 1, n: n}
	right = stretch{node: 2*s.node + 1, from: s.from + 1<<(s.bits-1), bits: s.bits - 1, n: s.n - n}
	return left, right
}

// each calls f with every change of a stretch that is placed one by one, in no order.
func (pr *process) each(era int64, s stretch, f func(into int64)) {
	r := draw(pr.seed, forPlace, pr.host, pr.page, uint64(era), s.node)
	for range s.n {
		f(s.from + int64(r.next()>>(64-s.bits)))
	}
}

// upTo counts the changes of an era up to a moment in it, the moment included.
func (pr *process) upTo(era, into int64) int {
	if pr.rate == 0 {
		return 0
	}
	count, s := 0, pr.root(era)
	for s.n > few && s.bits > 1 {
		left, right := pr.halves(era, s)
		if into < right.from {
			s = left
		} else {
			count += left.n
			s = right
		}
	}
	pr.each(era, s, func(at int64) {
		if at <= into {
			count++
		}
	})
	return count
}

// version names the text of a page at a moment, by the era of the newest change and its number in that era: it grows
// with every change and with nothing else.
func (pr *process) version(t time.Time) uint64 {
	if pr.rate == 0 {
		return 0
	}
	era, into := moment(t)
	for n := pr.upTo(era, into); era >= firstEra; n = pr.root(era).n {
		if n > 0 {
			return uint64(era-firstEra+1)<<32 + uint64(n)
		}
		era--
	}
	return 0
}

// count counts the changes in (from, to].
func (pr *process) count(from, to time.Time) int {
	if pr.rate == 0 || !from.Before(to) {
		return 0
	}
	first, a := moment(from)
	last, b := moment(to)
	n := pr.upTo(last, b) - pr.upTo(first, a)
	for era := first; era < last; era++ {
		n += pr.root(era).n
	}
	return n
}

// list gives the changes in (from, to], in order.
func (pr *process) list(from, to time.Time) []time.Time {
	if pr.rate == 0 || !from.Before(to) {
		return nil
	}
	first, a := moment(from)
	last, b := moment(to)
	var list []time.Time
	for era := first; era <= last; era++ {
		low, high := int64(-1), int64(1<<eraBits)
		if era == first {
			low = a
		}
		if era == last {
			high = b
		}
		var walk func(s stretch)
		walk = func(s stretch) {
			if s.n == 0 || s.from > high || s.from+1<<s.bits <= low {
				return
			}
			if s.n > few && s.bits > 1 {
				left, right := pr.halves(era, s)
				walk(left)
				walk(right)
				return
			}
			pr.each(era, s, func(at int64) {
				if at > low && at <= high {
					list = append(list, instant(era, at))
				}
			})
		}
		walk(pr.root(era))
	}
	slices.SortFunc(list, time.Time.Compare)
	return list
}

// last gives the newest change at or before t, or, when there is none since the first era, the birth of the page in the
// twenty years before the epoch.
func (pr *process) last(t time.Time) time.Time {
	era, into := moment(t)
	for back := era; pr.rate > 0 && back >= firstEra; back-- {
		if at := pr.newest(back, pr.root(back), into); at >= 0 {
			return instant(back, at)
		}
		into = 1 << eraBits
	}
	r := draw(pr.seed, forBirth, pr.host, pr.page)
	return epoch.Add(-time.Duration(r.below(20*365*24)) * time.Hour)
}

func (pr *process) newest(era int64, s stretch, into int64) int64 {
	newest := int64(-1)
	if s.n == 0 || s.from > into {
		return newest
	}
	if s.n > few && s.bits > 1 {
		left, right := pr.halves(era, s)
		if newest = pr.newest(era, right, into); newest < 0 {
			newest = pr.newest(era, left, into)
		}
		return newest
	}
	pr.each(era, s, func(at int64) {
		if at <= into {
			newest = max(newest, at)
		}
	})
	return newest
}

// poisson draws from the Poisson distribution of mean μ by inversion, beginning at the mode and walking outwards.
func (r *random) poisson(mean float64) int {
	if mean <= 0 {
		return 0
	}
	mode := math.Floor(mean)
	lg, _ := math.Lgamma(mode + 1)
	up := math.Exp(mode*math.Log(mean) - mean - lg) // P(mode)
	down := up
	u := r.unit() - up
	if u < 0 {
		return int(mode)
	}
	for i := 1.0; i < 1e6; i++ {
		up *= mean / (mode + i)
		if u -= up; u < 0 {
			return int(mode + i)
		}
		if low := mode - i; low >= 0 {
			down *= (low + 1) / mean
			if u -= down; u < 0 {
				return int(low)
			}
		}
		if up+down < 1e-18 {
			break
		}
	}
	return int(mode)
}

// half draws from the binomial distribution of n coins: as the number of ones in n random bits, or, for very many, by
// the normal distribution (beyond 16,384 its skew of zero and excess of 2/n are no longer to be told apart).
func (r *random) half(n int) int {
	if n > 1<<14 {
		return max(0, min(n, int(math.Round(float64(n)/2+math.Sqrt(float64(n))/2*r.normal()))))
	}
	return r.ones(n)
}
