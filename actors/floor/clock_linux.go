package floor

import (
	"time"

	"golang.org/x/sys/unix"
)

// When this process began, by the wall clock and by that of the machine.
var begunAt, bootedFor = time.Now().Round(0), sinceBoot()

// Now is the moment by which the Master, the Hosts and the Partitions plan: the wall clock as it was when the process
// began, and the time that has passed since, also while the machine slept. So a wall clock that is set makes no host
// wait longer, and none be asked sooner. What is dated for others, as a record of the archive, has the wall clock.
func Now() time.Time {
	if now := time.Now(); now == now.Round(0) { // the virtual time of a test is one clock
		return now
	}
	return begunAt.Add(sinceBoot() - bootedFor)
}

// sinceBoot is for how long the machine is on: nobody sets this clock, and it goes on while the machine sleeps.
func sinceBoot() time.Duration {
	var passed unix.Timespec
	if err := unix.ClockGettime(unix.CLOCK_BOOTTIME, &passed); err != nil {
		panic(err)
	}
	return time.Duration(passed.Nano())
}
