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
	if want := ended.Add(time.Hour); !tired.BackoffUntil().Equal(want) || !tired.NextAllowed().Equal(want) ||
		!tired.othersAt.Equal(want) {
		t.Errorf("rests until %v, next at %v, others at %v, want %v", tired.BackoffUntil(), tired.NextAllowed(),
			tired.othersAt, want)
	}
	well := clock{o: &o}
	well.observe(200, messages.Reason_NONE, begun, politeness.Visit{Took: took})
	if !well.LastOK().Equal(ended) || !well.askedAt.Equal(ended) {
		t.Errorf("well at %v, asked at %v, want %v", well.LastOK(), well.askedAt, ended)
	}
	if want := ended.Add(well.interval()); !well.NextAllowed().Equal(want) {
		t.Errorf("next at %v, want %v", well.NextAllowed(), want)
	}
}
