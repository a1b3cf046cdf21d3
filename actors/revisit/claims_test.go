package revisit

import (
	"math"
	"math/rand/v2"
	"testing"
	"time"
)

// claimant is a host of pages that change every mean, with what it says of the changes.
type claimant struct {
	// seconds; changed: moment of the last change, visited: of the last visit
	says func(rnd *rand.Rand, now, changed, visited float64) (modified float64)
}

var claimants = map[string]claimant{
	// made at the moment of asking: says nothing
	"silent": {func(_ *rand.Rand, now, _, _ float64) float64 { return now }},
	"honest": {func(_ *rand.Rand, _, changed, _ float64) float64 { return changed }},
	"deaf":   {func(*rand.Rand, float64, float64, float64) float64 { return -1e9 }}, // the day it was installed
	"random": {func(rnd *rand.Rand, now, _, _ float64) float64 { return now - rnd.ExpFloat64()*5*86400 }},
	// a cache that is filled at times
	"fresh": {func(rnd *rand.Rand, now, _, visited float64) float64 { return now - rnd.Float64()*(now-visited) }},
	// rebuilt every night
	"daily": {func(_ *rand.Rand, now, _, _ float64) float64 { return math.Floor(now/86400) * 86400 }},
}

// settle visits the pages of one host by its timetable and returns the bias and the sd of ln I in the end, and after so
// many visits. Its host lets no page be visited sooner than after stretch times its interval.
func (c claimant) settle(mean time.Duration, visits int, stretch float64) (bias, sd, early float64) {
	o := DefaultOptions()
	rnd := rand.New(rand.NewPCG(*seed, 11))
	var late, first stats
	var record Claims
	const pages = 1000
	type page struct {
		h             History
		at            float64 // now
		changed, next float64 // the last change, and the one to come
	}
	all := make([]page, pages)
	for v := range visits {
		for i := range all {
			p := &all[i]
			before := p.at
			if v == 0 {
				p.changed, p.next = -rnd.ExpFloat64()*mean.Seconds(), rnd.ExpFloat64()*mean.Seconds()
			} else {
				p.at += float64(p.h.Interval) * stretch
			}
			changed := false
			for p.next <= p.at {
				p.changed, changed = p.next, true
				p.next += rnd.ExpFloat64() * mean.Seconds()
			}
			gap := span(p.at - before)
			age := record.ModifiedAge(span(p.at-c.says(rnd, p.at, p.changed, before)), gap, o.Estimate(&p.h), changed)
			p.h.Saw(&o, Visit{Gap: gap, Changed: changed, Age: age})
			o.Next(&p.h, Prior{}, rnd)
			if v == 10 {
				first.add(math.Log(float64(p.h.Interval) / mean.Seconds()))
			}
			if v > visits*3/4 {
				late.add(math.Log(float64(p.h.Interval) / mean.Seconds()))
			}
		}
	}
	return math.Exp(late.mean()) - 1, late.sd(), first.sd()
}

// Last-Modified, where it is honest, makes estimates better; where it is not, no worse: go test -run
// TestLastModifiedOfHosts -v ./actors/revisit
func TestLastModifiedOfHosts(t *testing.T) {
	for _, stretch := range []float64{1, 1.4, 3} {
		bias, sd, early := claimants["silent"].settle(5*day, 60, stretch)
		t.Logf("visited after %v mean intervals, no Last-Modified: bias %+.1f %%, sd of ln I %.3f, %.3f after ten "+
			"visits", stretch, 100*bias, sd, early)
		for name, c := range claimants {
			if name == "silent" {
				continue
			}
			b, s, e := c.settle(5*day, 60, stretch)
			t.Logf("%s: bias %+.1f %%, sd %.3f, %.3f after ten visits", name, 100*b, s, e)
			switch {
			case name == "honest":
				if s > sd+0.01 || math.Abs(b) > math.Abs(bias)+0.02 || stretch == 1.4 && e > 0.95*early {
					t.Errorf("%s Last-Modified does not help", name)
				}
			case math.Abs(b) > math.Abs(bias)+0.03 || s > sd+0.03:
				t.Errorf("%s Last-Modified does harm", name)
			}
		}
	}
}

// A record of hints comes to what they are worth, whatever happens on the host anyway.
func TestClaimsLearnWhatHintsAreWorth(t *testing.T) {
	for _, c := range []struct {
		sentence  string
		right     float64 // chance that a hint is right
		x         float64 // gap of the visit in mean intervals
		low, high float64
	}{
		{"always right", 1, 0.2, 0.9, 1},
		{"right half of the time", 0.5, 0.3, 0.3, 0.65},
		{"never right, on a host where little happens", 0, 0.1, 0, 0.1},
		{"never right, on a host where much happens", 0, 1, 0, 0.25},
	} {
		rnd := rand.New(rand.NewPCG(*seed, 12))
		var sum stats
		for range 200 {
			var record Claims
			for range 150 {
				changed := rnd.Float64() < c.right || rnd.Float64() < -math.Expm1(-c.x)
				record.Found(changed, span(c.x*86400), day)
			}
			sum.add(record.Chance())
		}
		if t.Logf("%s: p = %.2f, sd %.2f", c.sentence, sum.mean(), sum.sd()); sum.mean() < c.low ||
			sum.mean() > c.high {
			t.Errorf("%s: p = %.2f, want %v to %v", c.sentence, sum.mean(), c.low, c.high)
		}
	}
}

func TestAdvance(t *testing.T) {
	for _, c := range []struct {
		sentence string
		p        float64
		interval time.Duration
		want     time.Duration
	}{
		{"no hint", 0, 10 * day, 10 * day},
		{"right in 63 of 100: as sure as the timetable wants it", 1 - math.Exp(-1), 10 * day, 0},
		{"certain", 1, 10 * day, 0},
		{"a liar", 0.02, 10 * day, 235 * time.Hour},
		{"a page stretched by relief", 0.5, 30 * day, 554 * time.Hour},
	} {
		if got := Advance(c.interval, 10*day, c.p); max(got-c.want, c.want-got) > time.Hour {
			t.Errorf("%s: due after %v, want %v", c.sentence, got, c.want)
		}
	}
}

// Pages that are visited when they are said to have changed, and at their own time otherwise, are estimated right: a
// change that was announced is a waiting time.
func TestVisitsAfterHintsDoNotBiasTheEstimate(t *testing.T) {
	o := DefaultOptions()
	rnd := rand.New(rand.NewPCG(*seed, 13))
	for _, waited := range []bool{true, false} {
		var late stats
		for range 400 {
			var h History
			h.Saw(&o, Visit{})
			o.Next(&h, Prior{}, rnd)
			for v := range 60 {
				gap, wait := float64(h.Interval), rnd.ExpFloat64()*(5*day).Seconds()
				changed := wait < gap
				if changed {
					gap = wait + 600 // ten minutes until somebody comes
				}
				h.Saw(&o, Visit{Gap: span(gap), Changed: changed, Waited: changed && waited})
				o.Next(&h, Prior{}, rnd)
				if v > 30 {
					late.add(math.Log(float64(h.Interval) / (5 * day).Seconds()))
				}
			}
		}
		bias := math.Exp(late.mean()) - 1
		t.Logf("known to be a waiting time %v: bias %+.1f %%, sd %.3f", waited, 100*bias, late.sd())
		if waited && math.Abs(bias) > 0.04 {
			t.Errorf("bias %v", bias)
		}
	}
}

func TestClaimsAreReadAsTheyWereWritten(t *testing.T) {
	c := Claims{right: 3.5, wrong: 0.25}
	b, err := c.AppendBinary([]byte{9})
	if err != nil {
		t.Fatal(err)
	}
	var back Claims
	rest, err := back.Decode(append(b[1:], 7))
	if err != nil || back != c || len(rest) != 1 {
		t.Errorf("%v, %v, %v", back, rest, err)
	}
	for _, bad := range [][]byte{nil, make([]byte, 7), {0, 0, 192, 127, 0, 0, 0, 0}, {0, 0, 0, 0, 0, 0, 128, 191}} {
		if _, err := back.Decode(bad); err == nil {
			t.Errorf("%x is read", bad)
		}
	}
	if (&Claims{}).Most() != claimsTrial || (&Claims{right: 20}).Most() != math.MaxInt ||
		(&Claims{wrong: 40}).Most() != 2 {
		t.Error("hints of one reading that are followed")
	}
}

func TestWishesMoveTheFirstIntervalMildly(t *testing.T) {
	o := DefaultOptions()
	for _, c := range []struct{ interval, wish, want time.Duration }{
		{8 * day, 0, 8 * day}, {8 * day, 8 * day, 8 * day}, {16 * day, day, 8 * day}, {day, 16 * day, 2 * day},
		{day, 1 << 62, 400 * day},
	} {
		if got := o.Wished(c.interval, c.wish); c.wish != 1<<62 && max(got-c.want, c.want-got) > time.Minute ||
			got > o.Max {
			t.Errorf("%v with a wish for %v: %v, want %v", c.interval, c.wish, got, c.want)
		}
	}
}
