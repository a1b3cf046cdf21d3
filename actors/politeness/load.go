package politeness

import (
	"math"
	"math/bits"
	"time"
)

// Load is the load index of a host,
//
//	L = Σ 1/T_j                                                  (6)
//
// over its pages j, in visits per second, kept as a whole number of 2⁻⁶⁴ s⁻¹ in 128 bits. A page's share is rounded the
// same way when it is added and when it is taken away, so that the sum is exact whatever the order and the number of
// changes: no drift, no need to add up again. (Floats were tried with 10⁷ changes of 1,000 pages, T from 1 ms to 400
// days: when the last page has gone 10⁻¹⁰ s⁻¹ is left with float64, 2·10⁻¹² with a compensated sum, −0.16 with float32:
// a host of one yearly page, 3·10⁻⁸, would hardly notice the first, but never is the sum 0 again.) It holds 10⁹ pages a
// nanosecond apart.
type Load struct{ high, low uint64 }

// share returns 1/T in 2⁻⁶⁴ s⁻¹. Intervals below a nanosecond count as one.
func share(t time.Duration) Load {
	d := uint64(max(t, 1))
	high, rest := uint64(time.Second)/d, uint64(time.Second)%d
	low, _ := bits.Div64(rest, 0, d)
	return Load{high, low}
}

// Add counts a page visited every t.
func (l *Load) Add(t time.Duration) {
	s := share(t)
	var carry uint64
	l.low, carry = bits.Add64(l.low, s.low, 0)
	l.high, carry = bits.Add64(l.high, s.high, carry)
	if carry != 0 {
		*l = Load{math.MaxUint64, math.MaxUint64}
	}
}

// Remove takes back a page that was counted with the same t. It reports false, and leaves 0, when more would be taken
// than is there: a page was removed that was never added.
func (l *Load) Remove(t time.Duration) bool {
	s := share(t)
	low, borrow := bits.Sub64(l.low, s.low, 0)
	high, borrow := bits.Sub64(l.high, s.high, borrow)
	if borrow != 0 {
		*l = Load{}
		return false
	}
	*l = Load{high, low}
	return true
}

// PerSecond returns L.
func (l Load) PerSecond() float64 { return float64(l.high) + float64(l.low)*0x1p-64 }

// Upper returns 1/L, the longest access interval that still meets the timetable of all pages; the longest
// duration there is when there is no load.
func (l Load) Upper() time.Duration { return inverse(l.PerSecond()) }

// inverse returns 1/rate as a duration, rounded down.
func inverse(rate float64) time.Duration {
	if t := float64(time.Second) / rate; t < math.MaxInt64 {
		return time.Duration(t)
	}
	return math.MaxInt64
}
