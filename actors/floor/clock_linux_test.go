package floor

import (
	"testing"
	"time"
)

func TestTheSleepOfTheMachineIsFoundAndNeverLost(t *testing.T) {
	var s slept
	for _, c := range []struct{ awake, there, found time.Duration }{
		{99 * time.Millisecond, time.Hour, 0}, // it is not looked at so soon
		{100 * time.Millisecond, time.Hour, time.Hour},
		{199 * time.Millisecond, 2 * time.Hour, time.Hour},
		{200 * time.Millisecond, time.Minute, time.Hour}, // read too late: the clock does not go back
		{400 * time.Millisecond, 2 * time.Hour, 2 * time.Hour},
	} {
		if found := s.after(c.awake, func() time.Duration { return c.there }); found != c.found {
			t.Errorf("awake for %v, asleep for %v: found %v, want %v", c.awake, c.there, found, c.found)
		}
	}
}

func BenchmarkNow(b *testing.B) {
	for b.Loop() {
		Now()
	}
}
