package revisit

import (
	"encoding/binary"
	"errors"
	"fmt"
	"math"
	"time"
)

// ErrRates is returned by Rates.UnmarshalBinary for bytes that MarshalBinary cannot have made.
var ErrRates = errors.New("revisit: corrupt histogram of rates")

// RateBins is the number of bins of Rates.
const RateBins = 44

// Rates counts the pages of one host by their estimated mean interval between changes, 1/λ: bin i holds those from
// 2^(i/2) to 2^((i+1)/2) minutes, the first and the last whatever lies beyond (one minute; 5.7 years). Half octaves are
// finer than the estimates (sd of ln I 0.2) and 44 numbers are all that the best relief of a host and the prior of a
// page need.
type Rates [RateBins]uint32

// bin returns where a mean interval belongs.
func bin(mean time.Duration) int {
	if mean < time.Minute {
		return 0
	}
	return min(RateBins-1, int(2*math.Log2(mean.Minutes())))
}

// BinMean returns the geometric middle of a bin.
func BinMean(i int) time.Duration {
	return time.Duration(math.Exp2((float64(i)+0.5)/2) * float64(time.Minute))
}

// Add counts a page. A mean of 0 is a page whose rate is not known: it is not counted.
func (r *Rates) Add(mean time.Duration) {
	if mean > 0 {
		r[bin(mean)]++
	}
}

// Remove takes back what Add counted with the same mean.
func (r *Rates) Remove(mean time.Duration) {
	if mean > 0 && r[bin(mean)] > 0 {
		r[bin(mean)]--
	}
}

// Move counts a page whose estimate changed.
func (r *Rates) Move(from, to time.Duration) {
	r.Remove(from)
	r.Add(to)
}

// Pages returns the number of pages counted.
func (r *Rates) Pages() int {
	n := 0
	for _, c := range r {
		n += int(c)
	}
	return n
}

// Prior returns what the pages counted suggest for one more page of the host.
func (r *Rates) Prior() Prior {
	var n, sum, squares float64
	for i, c := range r {
		mu := math.Log(BinMean(i).Seconds())
		n += float64(c)
		sum += float64(c) * mu
		squares += float64(c) * mu * mu
	}
	if n == 0 {
		return Prior{}
	}
	mu := sum / n
	return Prior{Mean: span(math.Exp(mu)), Spread: math.Sqrt(max(0, squares/n-mu*mu)), Pages: int(n)}
}

// Prior is what is believed of a page before it was visited twice. The zero value is a host about which nothing is
// known.
type Prior struct {
	Mean   time.Duration // geometric mean of 1/λ over the host's pages
	Spread float64       // sd of its logarithm
	Pages  int           // how many pages stand behind it
}

// Center returns the mean interval about which the host's pages lie, drawn to Options.PriorMean while few are known.
func (p Prior) Center(o *Options) time.Duration { return span(p.mean(o)) }

// doubt is how many pages of a host weigh as much as Options.PriorMean and PriorSpread.
const doubt = 4

// mean returns the prior mean in seconds: that of the host, drawn to the general one while few pages are known.
func (p Prior) mean(o *Options) float64 {
	general := math.Log(o.PriorMean.Seconds())
	if p.Pages <= 0 || p.Mean <= 0 {
		return math.Exp(general)
	}
	n := float64(p.Pages)
	return math.Exp((n*math.Log(p.Mean.Seconds()) + doubt*general) / (n + doubt))
}

// spread returns the prior spread, never below 0.7: pages of one host are alike, but not the same (a factor of 2 either
// way).
func (p Prior) spread(o *Options) float64 {
	if p.Pages <= 0 || p.Mean <= 0 {
		return o.PriorSpread
	}
	n := float64(p.Pages)
	apart := math.Log(p.Mean.Seconds()) - math.Log(o.PriorMean.Seconds())
	variance := (n*p.Spread*p.Spread + doubt*o.PriorSpread*o.PriorSpread + n*doubt/(n+doubt)*apart*apart) / (n + doubt)
	return max(0.7, math.Sqrt(variance))
}

// MarshalBinary returns the counts, runs of empty bins shortened: uvarint (empty bins before), uvarint count, and so
// on.
func (r *Rates) MarshalBinary() ([]byte, error) { return r.AppendBinary(nil) }

// AppendBinary appends what MarshalBinary returns.
func (r *Rates) AppendBinary(b []byte) ([]byte, error) {
	empty := uint64(0)
	for _, c := range r {
		if c == 0 {
			empty++
			continue
		}
		b = binary.AppendUvarint(b, empty)
		b = binary.AppendUvarint(b, uint64(c))
		empty = 0
	}
	return b, nil
}

// UnmarshalBinary reads what MarshalBinary returned.
func (r *Rates) UnmarshalBinary(b []byte) error {
	var n Rates
	for i := 0; len(b) > 0; i++ {
		empty, used := binary.Uvarint(b)
		if used <= 0 || empty >= RateBins {
			return fmt.Errorf("%w: bin", ErrRates)
		}
		b = b[used:]
		count, used := binary.Uvarint(b)
		if i += int(empty); used <= 0 || i >= RateBins || count == 0 || count > math.MaxUint32 {
			return fmt.Errorf("%w: bin %d", ErrRates, i)
		}
		b = b[used:]
		n[i] = uint32(count)
	}
	*r = n
	return nil
}
