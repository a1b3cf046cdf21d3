package orders

import (
	"fmt"
	"math/rand/v2"
	"testing"

	"henro/master/frontier"
)

// One URL through the scheduler: an Add for each URL, a Next and a Done for each that is not dropped, with numbers of
// hosts drawn at random. At B = H = 2048 about two million places are in use.
func BenchmarkSlots(b *testing.B) {
	for _, size := range []int{256, 2048} {
		b.Run(fmt.Sprintf("B=H=%d/enqueue", size), func(b *testing.B) {
			s, hosts := fullSlots(size)
			b.ReportAllocs()
			b.ResetTimer()
			taken := 0
			for i := 0; b.Loop(); i++ {
				if _, dropped := s.Add(frontier.Item[uint64]{Key: uint64(i), Host: hosts[i&(len(hosts)-1)]}); !dropped {
					taken++
				}
				if i%size == size-1 {
					b.StopTimer()
					drainSteps(s, 2)
					b.StartTimer()
				}
			}
			b.ReportMetric(float64(taken)/float64(b.N), "taken/op")
		})
		b.Run(fmt.Sprintf("B=H=%d/whole", size), func(b *testing.B) {
			s, hosts := fullSlots(size)
			b.ReportAllocs()
			b.ResetTimer()
			for i := 0; b.Loop(); i++ {
				s.Add(frontier.Item[uint64]{Key: uint64(i), Host: hosts[i&(len(hosts)-1)]})
				if i%size == size-1 {
					drainSteps(s, 2)
				}
			}
		})
	}
}

// fullSlots returns a scheduler whose rings have the size they need, half full.
func fullSlots(size int) (*Slots[uint64], []uint64) {
	o := DefaultOptions()
	o.Policy, o.Interval, o.SlotsB, o.SlotsH = PolicySlots, 0, size, size
	s := NewSlots[uint64](o)
	rnd := rand.New(rand.NewPCG(1, 0))
	hosts := make([]uint64, 1<<16)
	for i := range hosts {
		hosts[i] = rnd.Uint64()
	}
	for i := range size * size {
		s.Add(frontier.Item[uint64]{Key: uint64(i), Host: hosts[i&(len(hosts)-1)]})
	}
	drainSteps(s, size/2)
	return s, hosts
}

func drainSteps(s *Slots[uint64], steps int) {
	var batch []frontier.Item[uint64]
	for range steps {
		batch = s.Next(0, len(s.lines), batch[:0])
		for _, item := range batch {
			s.Done(item.Host, 0, 0)
		}
	}
}
