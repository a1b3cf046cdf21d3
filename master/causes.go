package master

import (
	"errors"
	"fmt"
	"maps"
	"time"

	"henro/actors/host"
	"henro/actors/reading"
	"henro/messages"
	"henro/store"
)

// FailedVisit is one visit that failed.
type FailedVisit struct {
	URL string    `json:"url"`
	At  time.Time `json:"at,omitzero"` // when it was reported
	messages.Cause
}

// latestFailures are the latest visits that failed, one of each cause, by its word; store.MaxErrors causes at most.
type latestFailures map[string]FailedVisit

// note keeps the failure that a slave reported of a host, if the fact is one.
func (f *latestFailures) note(now time.Time, name string, fact *messages.Fact) {
	var at FailedVisit
	switch {
	case fact.GetVisited() != nil:
		v := fact.Visited
		at = FailedVisit{v.Url, now, causeOf(v)}
	case fact.GetRules() != nil:
		failure := host.RobotsFailure(fact.Rules, now)
		at = FailedVisit{name + "/robots.txt", now, failure.Cause()}
	}
	if at.IsZero() {
		return
	}
	if *f == nil {
		*f = latestFailures{}
	}
	if _, known := (*f)[at.Word]; known || len(*f) < store.MaxErrors {
		(*f)[at.Word] = at
	}
}

// clone returns a copy that does not change with these.
func (f latestFailures) clone() map[string]FailedVisit { return maps.Clone(f) }

// failedSeedsShown bounds Status.FailedSeeds.
const failedSeedsShown = 5

// failedSeeds returns the first seeds with their causes if every one of them failed, and nothing otherwise.
func failedSeeds(state *store.State, seeds []reading.Seed) ([]FailedVisit, error) {
	var failed []FailedVisit
	for _, seed := range seeds {
		url := seed.URL.String()
		entry, _, err := state.Partitions[state.PartitionOf(seed.URL.Host())].Pages.Lookup(url)
		if errors.Is(err, store.ErrNotFound) {
			return nil, nil // it was not admitted: the scope or the stop list says why
		}
		if err != nil {
			return nil, fmt.Errorf("seed %s: %w", url, err)
		}
		cause := entry.Page.Cause()
		if cause.IsZero() || cause.Word == messages.Truncated {
			return nil, nil
		}
		if len(failed) < failedSeedsShown {
			failed = append(failed, FailedVisit{URL: url, At: entry.Page.LastVisit, Cause: cause})
		}
	}
	return failed, nil
}
