//go:build !linux

package floor

import "time"

// Now is the moment by which the Master, the Hosts and the Partitions plan: here the wall clock, since the monotonic
// one stands still on some of these systems while the machine sleeps.
func Now() time.Time { return time.Now() }
