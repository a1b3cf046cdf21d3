package play

import (
	"errors"
	"fmt"
	"testing"
	"time"

	"henro/.ci/lab/process"
	"henro/.ci/lab/verdict"
)

func TestWhatMayBeTheMachinesFaultIsTriedAgain(t *testing.T) {
	late, twice, early := fmt.Errorf("%w by a second", verdict.ErrLate), fmt.Errorf("%w: a page", verdict.ErrTwice),
		fmt.Errorf("master: %w", process.ErrEarly)
	lost := errors.New("a page is missing")
	for _, c := range []struct {
		says  string
		err   error
		worst time.Duration
		want  bool
	}{
		{"work went on late", late, 0, true},
		{"nothing could be tried", early, 0, true},
		{"fetched twice on a machine that had time", twice, 0, false},
		{"fetched twice on one that stood still", twice, 5 * time.Second, true},
		{"several, all of the kind", errors.Join(late, errors.Join(early, twice)), 5 * time.Second, true},
		{"too soon on a machine that had time", fmt.Errorf("%w: a host", verdict.ErrSoon), 900 * time.Millisecond,
			false},
		{"too soon on one that stood still", fmt.Errorf("%w: a host", verdict.ErrSoon), 5 * time.Second, true},
		{"a page lost", lost, 5 * time.Second, false},
		{"a page lost beside them", errors.Join(late, lost), 5 * time.Second, false},
	} {
		if got := byChance(c.err, c.worst); got != c.want {
			t.Errorf("%s: %t", c.says, got)
		}
	}
}
