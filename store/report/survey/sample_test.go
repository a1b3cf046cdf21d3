package survey

import (
	"testing"

	"henro/store/archive/cdxj"
)

// A sample is as large as was asked for, or all there is, and lies evenly, however many there are.
func TestASampleIsSpreadEvenly(t *testing.T) {
	for _, most := range []int{0, 1, 7, 500} {
		for _, n := range []int{0, 1, 6, 7, 13, 14, 15, 999, 1000, 1001, 40_000} {
			s := sampler{most: most, every: 1}
			made := 0
			for i := range n {
				s.add(func() cdxj.Entry {
					made++
					return cdxj.Entry{Offset: int64(i)}
				})
			}
			sample := thinned(s.kept, most)
			if want := min(most, n); len(sample) != want {
				t.Fatalf("%d of %d are in a sample of %d", len(sample), n, most)
			}
			last := int64(-1)
			for i := range sample {
				at := sample[i].Offset
				if at <= last || at-last > int64(2*n/most+2) {
					t.Errorf("sample %d of %d among %d is %d, behind %d", i, most, n, at, last)
				}
				last = at
			}
			if most > 0 && n-1-int(last) > 2*n/most+2 {
				t.Errorf("the last sample of %d among %d is %d", most, n, last)
			}
			if made > 2*most*20 {
				t.Errorf("%d were copied for a sample of %d among %d", made, most, n)
			}
		}
	}
}
