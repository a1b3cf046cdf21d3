package ring_test

import (
	"slices"
	"testing"

	"henro/messages/ring"
)

func TestTheLatestAreKept(t *testing.T) {
	r := ring.Of[int](3)
	if r.Last() != nil {
		t.Error("an empty ring has a latest value")
	}
	for i := range 8 {
		r.Add(i)
		var want, back []int
		for j := max(0, i-2); j <= i; j++ {
			want = append(want, j)
		}
		for v := range r.Backward() {
			back = append(back, *v)
		}
		slices.Reverse(back)
		if got := slices.Collect(r.All()); !slices.Equal(got, want) || !slices.Equal(back, want) || *r.Last() != i {
			t.Errorf("after %d: %v, and backwards %v with %d last; want %v", i, got, back, *r.Last(), want)
		}
	}
}
