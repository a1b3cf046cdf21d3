package revisitsim

import (
	"cmp"
	"math"
	"slices"
)

// replay visits a page k times, evenly spaced over its life, and adds what that captures to score.
func replay(p *Page, k int, score *Score) {
	step := float64(p.End-p.Born) / float64(k)
	next, seen := 0, 0
	for i := 1; i <= k && next < len(p.Changes); i++ {
		at := float64(p.Born) + step*float64(i)
		first := next
		if gap := float64(p.Changes[next]); gap > at { // skip the visits that find nothing
			i = max(i, int(math.Ceil((gap-float64(p.Born))/step-1e-9)))
			if i > k {
				break
			}
			at = float64(p.Born) + step*float64(i)
		}
		for next < len(p.Changes) && float64(p.Changes[next]) <= at+1e-6 {
			next++
		}
		if next > first {
			score.Captured++
			score.LagSum += max(0, at-float64(p.Changes[next-1]))
			score.shown(p, seen)
			seen = next
			score.missed(p.Changes[first:next], at)
		}
	}
	score.Requests += k
	score.missed(p.Changes[next:], float64(p.End))
	score.shown(p, seen)
}

// oracleRates visits each page in proportion to its number of changes.
func oracleRates(site *Site, requests float64, score *Score) {
	share := requests / float64(site.Versions())
	carry := 0.0
	for i := range site.Pages {
		p := &site.Pages[i]
		carry += share * float64(len(p.Changes))
		k := int(carry)
		carry -= float64(k)
		replay(p, k, score)
	}
}

// oracleStatic finds, for each page, the upper concave hull of captured versions over numbers of visits, and
// takes the steepest pieces of all pages until the budget is spent.
func oracleStatic(site *Site, requests float64, score *Score) {
	type piece struct {
		page, visits, more int
		slope              float64
	}
	var pieces []piece
	for i := range site.Pages {
		p := &site.Pages[i]
		if len(p.Changes) == 0 || p.End == p.Born {
			continue
		}
		type point struct{ k, captured int }
		hull := []point{{}}
		most := 8*len(p.Changes) + 1
		for k := 1; k <= most; k = max(k+1, int(float64(k)*1.15)) {
			var trial Score
			replay(p, k, &trial)
			q := point{k, trial.Captured}
			for len(hull) > 1 {
				a, b := hull[len(hull)-2], hull[len(hull)-1]
				if (b.captured-a.captured)*(q.k-b.k) > (q.captured-b.captured)*(b.k-a.k) {
					break
				}
				hull = hull[:len(hull)-1]
			}
			if q.captured > hull[len(hull)-1].captured {
				hull = append(hull, q)
			}
			if q.captured == len(p.Changes) {
				break
			}
		}
		for j := 1; j < len(hull); j++ {
			a, b := hull[j-1], hull[j]
			pieces = append(pieces, piece{i, b.k, b.k - a.k, float64(b.captured-a.captured) / float64(b.k-a.k)})
		}
	}
	slices.SortStableFunc(pieces, func(a, b piece) int { return cmp.Compare(b.slope, a.slope) })
	left, visits := int(requests), make([]int, len(site.Pages))
	for _, p := range pieces { // of one page the steeper pieces come first, since its hull is concave
		if p.more > left || visits[p.page] != p.visits-p.more { // too many, or the piece before was
			continue
		}
		left -= p.more
		visits[p.page] = p.visits
	}
	for i := range site.Pages {
		replay(&site.Pages[i], visits[i], score)
	}
}
