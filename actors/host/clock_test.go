package host

import (
	"testing"
	"time"

	"henro/actors/politeness"
	"henro/messages"
)

// A request that took a minute ended a minute after it began: from then on run the interval, the rests, and how long
// ago the host was well.
func TestWhatARequestTookCountsOnce(t *testing.T) {
	const took = time.Minute
	o := DefaultOptions()
	ended := begun.Add(took)
	tired := clock{o: &o}
	tired.observe(503, messages.Reason_NONE, begun, politeness.Visit{Took: took, RetryAfter: time.Hour})
	if want := ended.Add(time.Hour); !tired.polite.BackoffUntil().Equal(want) ||
		!tired.polite.NextAllowed().Equal(want) || !tired.othersAt.Equal(want) {
		t.Errorf("rests until %v, next at %v, others at %v, want %v", tired.polite.BackoffUntil(),
			tired.polite.NextAllowed(), tired.othersAt, want)
	}
	well := clock{o: &o}
	well.observe(200, messages.Reason_NONE, begun, politeness.Visit{Took: took})
	if !well.polite.LastOK().Equal(ended) || !well.askedAt.Equal(ended) {
		t.Errorf("well at %v, asked at %v, want %v", well.polite.LastOK(), well.askedAt, ended)
	}
	if want := ended.Add(well.interval()); !well.polite.NextAllowed().Equal(want) {
		t.Errorf("next at %v, want %v", well.polite.NextAllowed(), want)
	}
}
