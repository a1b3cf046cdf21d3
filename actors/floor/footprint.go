package floor

import (
	"runtime"
	"runtime/metrics"
)

// Footprint is what the Go runtime of this process holds of the machine's memory, in bytes, and how many goroutines
// there are.
func Footprint() (memory uint64, goroutines int) {
	held := []metrics.Sample{{Name: "/memory/classes/total:bytes"}, {Name: "/memory/classes/heap/released:bytes"}}
	metrics.Read(held)
	return held[0].Value.Uint64() - held[1].Value.Uint64(), runtime.NumGoroutine()
}
