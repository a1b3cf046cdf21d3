package service

import (
	"context"
	"runtime/debug"
	"runtime/metrics"
	"time"

	"henro/messages/ticks"
)

// restAfter is how long nothing must be collected before a program counts as at rest: a crawl at work fills what it
// has freed within seconds.
const restAfter = 20 * time.Second

// giveBack returns memory to the system once a program rests. The collector runs when the heap has doubled, so one
// that has stopped growing keeps what its last busy minute left: a crawl 380 MB where 60 are in use.
func giveBack(ctx context.Context) {
	cycles, given := uint64(0), true
	for range ticks.Every(ctx, restAfter) {
		sample := []metrics.Sample{{Name: "/gc/cycles/automatic:gc-cycles"}}
		metrics.Read(sample)
		switch now := sample[0].Value.Uint64(); {
		case now > cycles+1: // one may be that of the timer
			cycles, given = now, false
		case !given:
			debug.FreeOSMemory() // collects everything: some 100 ms for 500 MB
			given = true
			fallthrough
		default:
			cycles = now
		}
	}
}
