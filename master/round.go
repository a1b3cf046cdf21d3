package master

import (
	"fmt"
	"path/filepath"
	"time"

	"github.com/asynkron/protoactor-go/actor"
	"github.com/sirupsen/logrus"

	"henro/actors/partition"
	"henro/actors/protocol"
	"henro/store"
)

// Round is one visit of all that a crawl knows, and of what is found new on the way. Rounds are kept in rounds.json of
// the crawl's directory; the last has not ended when the crawl was interrupted, and goes on at the next start.
type Round struct {
	Number int       `json:"number"`
	Begun  time.Time `json:"begun"`
	Ended  time.Time `json:"ended,omitzero"`
	RoundCounts
	Before RoundCounts `json:"before"` // of the crawl when the round began
}

// RoundCounts are visits by what came of them.
type RoundCounts struct {
	New       uint64 `json:"new"` // pages and requisites visited for the first time
	Changed   uint64 `json:"changed"`
	Unchanged uint64 `json:"unchanged"`
	Gone      uint64 `json:"gone"` // known pages that could not be had
}

// countsOf are those of a crawl since it began.
func countsOf(t *protocol.Totals) RoundCounts {
	return RoundCounts{New: t.Pages + t.Requisites, Changed: t.Changed, Unchanged: t.Unchanged, Gone: t.Gone}
}

// count sets the figures of the round from the totals of the crawl.
func (r *Round) count(t *protocol.Totals) {
	all := countsOf(t)
	r.RoundCounts = RoundCounts{New: all.New - r.Before.New, Changed: all.Changed - r.Before.Changed,
		Unchanged: all.Unchanged - r.Before.Unchanged, Gone: all.Gone - r.Before.Gone}
}

// roundsKept bounds rounds.json: an hourly round for a year.
const roundsKept = 10_000

const roundsName = "rounds.json"

func roundsPath(dir string) string { return filepath.Join(dir, roundsName) }

// ReadRounds reads the rounds of the crawl in a directory, the last one last.
func ReadRounds(dir string) ([]Round, error) {
	var all []Round
	if err := readJSON(roundsPath(dir), &all); err != nil {
		return nil, fmt.Errorf("read the rounds of the crawl from %s: %w", roundsPath(dir), err)
	}
	return all, nil
}

// series is the rounds of a crawl as its Master knows them.
type series struct {
	all     []Round
	opening *Round    // the moment and the counts with which the first round of this run begins; nil: it has begun
	going   bool      // the last of all is under way
	marking int       // partitions that have not yet made their pages due
	nextAt  time.Time // when the next begins; zero: at once
}

// openSeries returns the rounds of a crawl that starts with a state. Its first round begins now, before anything of it
// is visited: the Master learns the counts of the Partitions only when the first pages may be stored already.
func openSeries(dir string, state *store.State, again bool) (*series, error) {
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
	return &series{all: all, opening: &Round{Begun: time.Now().Truncate(time.Second), Before: countsOf(&totals)}}, nil
}

// advance begins the round whose time has come.
func (s *series) advance(ctx actor.Context, o *Options, partitions []*actor.PID, totals *protocol.Totals,
	log *logrus.Entry) {
	now := time.Now()
	if s.going || now.Before(s.nextAt) {
		return
	}
	if n := len(s.all); n == 0 || !s.all[n-1].Ended.IsZero() {
		r := Round{Begun: now.Truncate(time.Second), Before: countsOf(totals)} // as the store keeps moments
		if s.opening != nil {
			r = *s.opening
		}
		if n > 0 {
			r.Number = s.all[n-1].Number
		}
		r.Number++
		s.all = append(s.all[max(0, n+1-roundsKept):], r)
	}
	s.opening, s.going, s.marking = nil, true, len(partitions)
	last := s.last()
	for _, partition := range partitions {
		ctx.Request(partition, &protocol.RoundBegun{At: last.Begun})
	}
	s.write(o, log)
	log.WithField("round", last.Number).Info("a round begins")
}

// end ends the round under way, and reports whether others follow.
func (s *series) end(o *Options, totals *protocol.Totals, log *logrus.Entry) (goesOn bool) {
	r := s.last()
	r.count(totals)
	r.Ended, s.going = time.Now().Truncate(time.Second), false
	s.nextAt = r.Begun.Add(o.RoundEvery)
	s.write(o, log)
	log.WithFields(logrus.Fields{"round": r.Number, "new": r.New, "changed": r.Changed, "unchanged": r.Unchanged,
		"gone": r.Gone}).Info("a round has ended")
	return o.RoundEvery > 0
}

func (s *series) last() *Round { return &s.all[len(s.all)-1] }

// write leaves the rounds in the directory of the crawl. Without them an interrupted round begins again.
func (s *series) write(o *Options, log *logrus.Entry) {
	if err := o.writeJSON(roundsName, s.all); err != nil {
		log.WithField("err", err).Error("the rounds cannot be written down")
	}
}
