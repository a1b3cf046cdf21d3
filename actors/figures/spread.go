package figures

import (
	"maps"
	"math"
	"slices"
)

// perDecade is how finely a Spread tells values apart: each is known to 3.7 %, which is less than the width of a line.
const perDecade = 64

// Spread is the distribution of positive numbers, as counts in logarithmic bins. The zero value is empty.
type Spread struct {
	counts map[int]int
	n      int
}

// Add counts a value; what is not above 0 counts as the smallest there is.
func (s *Spread) Add(v float64) {
	if s.counts == nil {
		s.counts = map[int]int{}
	}
	bin := -12 * perDecade
	if v > 1e-12 {
		bin = min(int(math.Floor(math.Log10(v)*perDecade)), 15*perDecade)
	}
	s.counts[bin]++
	s.n++
}

// Point is one point of a cumulative distribution: Count values are at most Value.
type Point struct {
	Value float64 `json:"value"`
	Count int     `json:"count"`
}

// Points returns the cumulative distribution, by the upper ends of the bins.
func (s *Spread) Points() []Point {
	points := make([]Point, 0, len(s.counts))
	sum := 0
	for _, bin := range slices.Sorted(maps.Keys(s.counts)) {
		sum += s.counts[bin]
		points = append(points, Point{math.Pow(10, float64(bin+1)/perDecade), sum})
	}
	return points
}

// Below returns how many of the values of a cumulative distribution are below a limit.
func Below(points []Point, limit float64) int {
	n := 0
	for _, p := range points {
		if p.Value > limit*(1+1e-9) {
			break
		}
		n = p.Count
	}
	return n
}

// Median returns the value that half of a cumulative distribution does not exceed, 0 when there is none.
func Median(points []Point) float64 {
	if len(points) == 0 {
		return 0
	}
	half := (points[len(points)-1].Count + 1) / 2
	at, _ := slices.BinarySearchFunc(points, half, func(p Point, n int) int { return p.Count - n })
	return points[at].Value
}
