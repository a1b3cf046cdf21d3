package main

import (
	"cmp"
	"encoding/binary"
	"math"
	"math/rand/v2"
	"slices"
	"strconv"
)

// population is the set of URLs of one node: hosts with Pareto sizes (70 to 100,000 pages, some 500 on average), and
// revisit intervals of which the expected accesses per unit of time are those of table 1 of "time resolution of the
// archive": 17.5 million URLs give some 6,300 visits a minute.
type population struct {
	rnd   *rand.Rand
	host  []uint32  // of each URL
	every []float32 // revisit interval of each URL, seconds
	hosts int
}

func newPopulation(n int, seed uint64) *population {
	p := &population{rnd: rand.New(rand.NewPCG(seed, 7)), host: make([]uint32, 0, n), every: make([]float32, n)}
	for len(p.host) < n {
		size := int(70 * math.Pow(p.rnd.Float64(), -1/1.15))
		for range min(size, 100_000, n-len(p.host)) {
			p.host = append(p.host, uint32(p.hosts))
		}
		p.hosts++
	}
	for i := range p.every {
		p.every[i] = p.interval()
	}
	return p
}

// interval draws from the mixture of log-uniform classes.
func (p *population) interval() float32 {
	const h, d = 3600.0, 86400.0
	low, high := 30*d, 365*d
	switch x := p.rnd.Float64(); {
	case x < 0.0038:
		low, high = h/2, h
	case x < 0.0038+0.0362:
		low, high = h, d
	case x < 0.0038+0.0362+0.4055:
		low, high = d, 30*d
	}
	return float32(low * math.Pow(high/low, p.rnd.Float64()))
}

// residual is when a URL is due first, seconds from the start: the crawl has been running for long.
func (p *population) residual(i uint32) uint32 {
	return uint32(p.rnd.Float64() * float64(p.every[i]))
}

// next is when it is due after a visit, seconds from now.
func (p *population) next(i uint32) uint32 {
	return uint32(float64(p.every[i]) * (0.8 + 0.4*p.rnd.Float64()))
}

// byDue lists the URLs in the order of their first due times, and those times from the start.
func (p *population) byDue() (order, due []uint32) {
	type pair struct{ due, i uint32 }
	all := make([]pair, len(p.every))
	for i := range all {
		all[i] = pair{p.residual(uint32(i)), uint32(i)}
	}
	slices.SortFunc(all, func(a, b pair) int { return cmp.Compare(a.due, b.due) })
	order, due = make([]uint32, len(all)), make([]uint32, len(all))
	for k, a := range all {
		order[k], due[k] = a.i, a.due
	}
	return order, due
}

// appendURL writes the URL: 55 to 95 bytes.
func (p *population) appendURL(b []byte, i uint32) []byte {
	start := len(b)
	b = append(b, "https://www.host"...)
	b = strconv.AppendUint(b, uint64(p.host[i]), 10)
	b = append(b, ".example/articles/"...)
	b = strconv.AppendUint(b, uint64(i%97), 10)
	b = append(b, '/')
	b = strconv.AppendUint(b, uint64(i)*2654435761%1_000_000_007, 10)
	b = append(b, '-')
	b = strconv.AppendUint(b, uint64(i), 10)
	for want := start + 55 + int(uint64(i)*40503>>4%41); len(b) < want; {
		b = append(b, "the-title-of-a-page-as-it-is-written"[len(b)%36])
	}
	return b
}

// recordLen is what a record has beside its URL in the reference measurement; 155 bytes with it.
const recordLen = 80

// appendRecord writes a record as the reference measurement has it: due time, number, and the rest as digests and times
// look.
func (p *population) appendRecord(b []byte, i, due uint32) []byte {
	start := len(b)
	b = binary.LittleEndian.AppendUint32(b, due)
	b = binary.LittleEndian.AppendUint32(b, i)
	h := uint64(i)*0x9e3779b97f4a7c15 + 1
	for len(b) < start+recordLen {
		h ^= h << 13
		h ^= h >> 7
		h ^= h << 17
		b = binary.LittleEndian.AppendUint64(b, h)
	}
	return p.appendURL(b, i)
}

func idOf(record []byte) uint32 { return binary.LittleEndian.Uint32(record[4:]) }
