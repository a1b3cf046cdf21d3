package host

import (
	"testing"
	"time"

	"henro/messages"
)

// The state names a capture by the moment that stands in the archive, however long the message waited on its way.
func TestACaptureIsKnownByItsMomentInTheArchive(t *testing.T) {
	started := time.Date(2026, 3, 1, 12, 0, 0, 500e6, time.UTC)
	for captured, want := range map[int64]time.Time{
		started.Unix() - 9:      started.Add(-9500 * time.Millisecond), // the message waited for 9 s
		0:                       started,                               // of a slave that does not say it
		started.Unix() + 7*3600: started,                               // a clock that is wrong
	} {
		m := visitMade{fact: &messages.PageVisited{CapturedUnix: captured}, started: started}
		if got := m.captured(); !got.Equal(want) {
			t.Errorf("captured at %d: %v, not %v", captured, got, want)
		}
	}
}
