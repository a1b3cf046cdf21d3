package master

import (
	"fmt"
	"path/filepath"
	"time"

	"henro/actors/partition"
	"henro/actors/reading"
	"henro/master/course"
	"henro/store"
)

const roundsName = "rounds.json"

func roundsPath(dir string) string { return filepath.Join(dir, roundsName) }

// ReadRounds reads the rounds of the crawl in a directory, the last one last.
func ReadRounds(dir string) ([]course.Round, error) {
	var all []course.Round
	if err := reading.ReadJSON(roundsPath(dir), &all); err != nil {
		return nil, fmt.Errorf("read the rounds of the crawl from %s: %w", roundsPath(dir), err)
	}
	return all, nil
}

// openSeries returns the rounds of a crawl that starts with a state. Its first round begins now, before anything of it
// is visited: the Master learns the counts of the Partitions only when the first pages may be stored already.
func openSeries(dir string, state *store.State, again bool) (*course.Series, error) {
	all, err := ReadRounds(dir)
	if err != nil {
		return nil, err
	}
	totals, err := partition.TotalsOf(state)
	if err != nil {
		return nil, err
	}
	if again && totals.Pages > 0 {
		// The store keeps whole seconds: what the run before visited in this one must lie before the round.
		<-time.After(time.Until(time.Now().Truncate(time.Second).Add(time.Second))) // no actor has begun
	}
	return course.NewSeries(all, course.Round{Begun: time.Now().Truncate(time.Second),
		Before: course.CountsOf(&totals)}), nil
}
