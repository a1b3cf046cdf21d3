package fakeweb

import (
	"math"
	"math/bits"
)

// Every decision of the web is one draw from a stream named by a purpose, so that a decision added later leaves the
// others as they were.
type purpose uint64

const (
	forHost purpose = iota + 1
	forPages
	forLatency
	forState
	forRobots
	forValidator
	forCharset
	forTrivial
	forTrap
	forPath
	forAlias
	forError
	forFlaky
	forLinks
	forText
	forTitle
	forSize
	forJitter
	forRate
	forCount
	forSplit
	forPlace
	forBirth
	forMaze
	forDeath
	forOutage
	forHints
	forTemplate
	forTwins
	forDust
	forNear
	forVariants
	forMoved
)

// mix spreads two words over one: the multiply and fold of wyhash.
func mix(a, b uint64) uint64 {
	hi, lo := bits.Mul64(a^0xa0761d6478bd642f, b^0xe7037ed1a0b428db)
	return hi ^ lo
}

// random is a stream of pseudo-random words (splitmix64). The zero stream is as good as any other.
type random uint64

// draw names a stream by what it is for and whom it concerns.
func draw(seed uint64, why purpose, who ...uint64) random {
	s := mix(seed, uint64(why)*0x9e3779b97f4a7c15)
	for _, w := range who {
		s = mix(s, w+0x632be59bd9b4e019)
	}
	return random(s)
}

func (r *random) next() uint64 {
	*r += 0x9e3779b97f4a7c15
	z := uint64(*r)
	z = (z ^ z>>30) * 0xbf58476d1ce4e5b9
	z = (z ^ z>>27) * 0x94d049bb133111eb
	return z ^ z>>31
}

// below gives a whole number in [0, n).
func (r *random) below(n int) int {
	hi, _ := bits.Mul64(r.next(), uint64(n))
	return int(hi)
}

// unit gives a number in (0, 1), never either end.
func (r *random) unit() float64 {
	return (float64(r.next()>>12) + 0.5) / (1 << 52)
}

// chance is true with probability p.
func (r *random) chance(p float64) bool {
	return p > 0 && r.unit() < p
}

// normal gives a standard normal number (Box and Muller).
func (r *random) normal() float64 {
	return math.Sqrt(-2*math.Log(r.unit())) * math.Cos(2*math.Pi*r.unit())
}

// ones counts the ones among n random bits.
func (r *random) ones(n int) int {
	count := 0
	for ; n >= 64; n -= 64 {
		count += bits.OnesCount64(r.next())
	}
	if n > 0 {
		count += bits.OnesCount64(r.next() >> (64 - n))
	}
	return count
}
