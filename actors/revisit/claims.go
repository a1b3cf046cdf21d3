package revisit

import (
	"encoding/binary"
	"errors"
	"fmt"
	"math"
	"time"
)

// ErrClaims is returned by Claims.Decode for bytes that AppendBinary cannot have made.
var ErrClaims = errors.New("revisit: corrupt record of claims")

// Claims is the track record of a host that says when its pages changed: one for its sitemaps and feeds, one for
// notices, another for its Last-Modified. The zero value is a host without claims.
//
// A hint says that a page has changed since its last visit. The chance p that it is right is the mean of a Beta
// distribution,
//
//	p = (right + 1) / (right + wrong + 2)
//
// whose counts forget: 0.98 of them stays with each further hint that is judged, so p follows the latest 50. A page
// that changes every M is found changed without any hint too, so a visit at x = gap/M that does find a change speaks
// for the hint only by
//
//	r = p / (1 − (1 − p)·e^(−x))
//
// the probability that the hint was right given the change (a step of expectation and maximisation); one that finds
// none speaks against it. So a sitemap that says "now" of every page, whatever becomes of it, ends with p near 0, on a
// host whose pages change often too.
type Claims struct {
	right, wrong float32
}

const (
	claimsForget = 0.98
	// hints of one reading that are followed while fewer than claimsFew were judged: liars are found out cheaply
	claimsTrial = 16
	claimsFew   = 8 // judged before the record counts
	// below this p, two hints of a reading are followed: a host that mends its ways is noticed. At 0.1, liars cost 36 %
	// more requests for pages
	claimsDoubt = 1.0 / 3
	claimsMost  = 0.98 // p that no record exceeds
)

// Chance returns p.
func (c *Claims) Chance() float64 {
	return min(claimsMost, (float64(c.right)+1)/(float64(c.right)+float64(c.wrong)+2))
}

// Believed reports whether what the host says counts as a change by itself: at first, and as long as one claim in three
// is right.
func (c *Claims) Believed() bool { return c.Chance() >= claimsDoubt }

// Judged returns how many claims the record stands on, as far as they are not forgotten.
func (c *Claims) Judged() float64 { return float64(c.right) + float64(c.wrong) }

// Most returns how many hints of one reading of a sitemap or feed are to be followed.
func (c *Claims) Most() int {
	switch {
	case c.Judged() < claimsFew:
		return claimsTrial
	case !c.Believed():
		return 2
	}
	return math.MaxInt
}

// Found judges the hint that brought a visit forward by what the visit found, gap after the one before, of a page that
// changes about every mean. It returns r.
func (c *Claims) Found(changed bool, gap, mean time.Duration) (r float64) {
	if changed {
		p, x := c.Chance(), max(0, gap.Seconds()/max(mean.Seconds(), 1))
		r = p / (1 - (1-p)*math.Exp(-x))
	}
	c.note(r)
	return r
}

// Note judges a claim that was plainly right or wrong.
func (c *Claims) Note(right bool) {
	if right {
		c.note(1)
	} else {
		c.note(0)
	}
}

func (c *Claims) note(r float64) {
	c.right = c.right*claimsForget + float32(r)
	c.wrong = c.wrong*claimsForget + float32(1-r)
}

// silenceMost bounds how much longer pages wait of which a host says nothing: whatever its record, a page that it
// forgets is found.
const silenceMost = 4

// Silence returns how many times as long a page may wait of which the host says nothing, for a record of which of the
// changes found it had announced. With a share r announced, those that are not come at a rate of (1 − r)·λ, so
//
//	t = T / (1 − r)
//
// 1 while the record does not count, 4 at most.
func (c *Claims) Silence() float64 {
	if c.Judged() < claimsFew {
		return 1
	}
	return min(silenceMost, 1/(1-c.Chance()))
}

// Rest returns how many times as long a sitemap or a feed may wait, for a record of which changes of its host's pages
// notices had announced: only the others make it worth a reading. As Silence, but bounded by the record alone, 50 times
// at most: 0.98 is the best chance that there is.
func (c *Claims) Rest() float64 {
	if c.Judged() < claimsFew {
		return 1
	}
	return 1 / (1 - c.Chance())
}

// Advance returns when a page is due, counted from its last visit, that a hint of chance p says to have changed. Its
// timetable visits it after T, when it has changed with probability 1 − e^(−T/M); with the hint that is so when
//
//	1 − (1 − p)·e^(−t/M) = 1 − e^(−T/M),   so   t = T − M·ln(1/(1−p))
//
// A host that is right most of the time has its pages visited at once, one that is right one time in two earlier by 0.7
// M. However often it speaks, a page comes no earlier for it, since t counts from the last visit.
func Advance(interval, mean time.Duration, p float64) time.Duration {
	return span(interval.Seconds() + mean.Seconds()*math.Log1p(-min(p, claimsMost)))
}

// Wished returns the first interval of a page whose sitemap wishes another (changefreq): a quarter of the way to it, in
// logarithms. The protocol calls changefreq a hint and not a command, and most are a default of the program that wrote
// the sitemap.
func (o *Options) Wished(interval, wish time.Duration) time.Duration {
	if wish <= 0 || interval <= 0 {
		return interval
	}
	t := interval.Seconds() * math.Pow(wish.Seconds()/interval.Seconds(), 0.25)
	return min(max(span(t), o.Min), o.Max)
}

// ModifiedAge returns how long ago a page changed by its Last-Modified, as far as it is worth believing: since is the
// time from Last-Modified to the host's own Date, below zero when there is none, gap the time since the visit
// before, 0 at the first. The record learns on the way: a page that changed must say so, one that did not must not.
//
// An age decides alone what is learnt from the last gap, and at a first visit how long the page is left in peace. So
// nine of ten claims must have been right: what is rebuilt every night, or filled into a cache at times, is caught by
// the third of all visits that find nothing new. And the gap may be no longer than 1.5 of what the page's mean is taken
// for: behind long gaps nearly every visit finds a change and no claim is caught, and ages spread evenly over the gap
// would then make the mean longer, and the next gap with it (tried without: +1240 %). So an honest age is worth a
// little on pages visited in time, 0.63 to 0.78 where the change alone gives 0.58 to 0.65, and most at the first visit
// (TestLastModifiedOfHosts).
func (c *Claims) ModifiedAge(since, gap, mean time.Duration, changed bool) time.Duration {
	const generated = 2 * time.Second // a page that is as old as its answer was made for it: that says nothing
	if since < generated {
		return 0
	}
	within := since < gap
	if gap > 0 && (within || changed) { // an old page that stayed as it was claims nothing
		c.Note(within == changed)
	}
	if c.Judged() < claimsFew || c.Chance() < 0.9 || gap > 0 && !(within && changed && gap <= mean+mean/2) {
		return 0
	}
	return since
}

// AppendBinary appends c: two floats of four bytes.
func (c *Claims) AppendBinary(b []byte) ([]byte, error) {
	b = binary.LittleEndian.AppendUint32(b, math.Float32bits(c.right))
	return binary.LittleEndian.AppendUint32(b, math.Float32bits(c.wrong)), nil
}

// Decode reads what AppendBinary appended and returns what follows it.
func (c *Claims) Decode(b []byte) ([]byte, error) {
	if len(b) < 8 {
		return nil, fmt.Errorf("%w: %d bytes", ErrClaims, len(b))
	}
	right, wrong := math.Float32frombits(binary.LittleEndian.Uint32(b)),
		math.Float32frombits(binary.LittleEndian.Uint32(b[4:]))
	if !(right >= 0 && right <= 100) || !(wrong >= 0 && wrong <= 100) {
		return nil, fmt.Errorf("%w: %v right, %v wrong", ErrClaims, right, wrong)
	}
	*c = Claims{right, wrong}
	return b[8:], nil
}
