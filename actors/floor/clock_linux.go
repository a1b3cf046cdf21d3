package floor

import (
	"sync"
	"sync/atomic"
	"time"

	"golang.org/x/sys/unix"
)

// When this process began, by the wall clock and by that of the machine. The second is read last, so that what slept
// finds is never too much.
var begun, bootedFor = time.Now(), sinceBoot()

var asleep slept

// Now is the moment by which the Master, the Hosts and the Partitions plan: the wall clock as it was when the process
// began, and the time that has passed since, also while the machine slept. So a wall clock that is set makes no host
// wait longer, and none be asked sooner. What is dated for others, as a record of the archive, has the wall clock.
func Now() time.Time {
	now := time.Now()
	if now == now.Round(0) { // the virtual time of a test is one clock
		return now
	}
	awake := now.Sub(begun)
	return begun.Round(0).Add(awake + asleep.after(awake, sinceSlept))
}

// slept is for how long the machine slept since this process began. Its clock is a call of the kernel, and so is read
// every 100 ms at most; what was read late finds too little, and the next time finds the rest.
type slept struct {
	mu            sync.Mutex // of who looks
	looked, found atomic.Int64
}

func (s *slept) after(awake time.Duration, look func() time.Duration) time.Duration {
	if awake-time.Duration(s.looked.Load()) >= 100*time.Millisecond && s.mu.TryLock() {
		s.looked.Store(int64(awake))
		s.found.Store(max(s.found.Load(), int64(look())))
		s.mu.Unlock()
	}
	return time.Duration(s.found.Load())
}

func sinceSlept() time.Duration { return sinceBoot() - bootedFor - time.Since(begun) }

// sinceBoot is for how long the machine is on: nobody sets this clock, and it goes on while the machine sleeps.
func sinceBoot() time.Duration {
	var passed unix.Timespec
	if err := unix.ClockGettime(unix.CLOCK_BOOTTIME, &passed); err != nil {
		panic(err)
	}
	return time.Duration(passed.Nano())
}
