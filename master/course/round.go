package course

import (
	"time"

	"henro/actors/protocol"
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
	Gone      uint64 `json:"gone"` // known pages that failed
}

// CountsOf are the counts of a crawl since it began.
func CountsOf(t *protocol.Totals) RoundCounts {
	return RoundCounts{New: t.Pages + t.Requisites, Changed: t.Changed, Unchanged: t.Unchanged, Gone: t.Gone}
}

// count sets the figures of the round from the totals of the crawl.
func (r *Round) count(t *protocol.Totals) {
	all := CountsOf(t)
	r.RoundCounts = RoundCounts{New: all.New - r.Before.New, Changed: all.Changed - r.Before.Changed,
		Unchanged: all.Unchanged - r.Before.Unchanged, Gone: all.Gone - r.Before.Gone}
}

// roundsKept bounds rounds.json: an hourly round for a year.
const roundsKept = 10_000

// Series is the rounds of a crawl.
type Series struct {
	all     []Round
	opening *Round    // the moment and the counts with which the first round of this run begins; nil: it has begun
	going   bool      // a round is under way, the last one of all
	marking int       // partitions that have not yet made their pages due for it
	nextAt  time.Time // when the next round begins; zero: at once
}

// NewSeries is the series of a crawl that has had some rounds. The first round of the present run begins with opening.
func NewSeries(all []Round, opening Round) *Series { return &Series{all: all, opening: &opening} }

// All are the rounds, the latest last; what is older is forgotten.
func (s *Series) All() []Round { return s.all }

// beginRound begins the round whose time has come.
func (c *Course) beginRound() {
	s, totals := c.o.Series, &c.surveys.last.Totals
	if s.going || c.now.Before(s.nextAt) {
		return
	}
	if n := len(s.all); n == 0 || !s.all[n-1].Ended.IsZero() {
		r := Round{Begun: c.now.Truncate(time.Second), Before: CountsOf(totals)} // as the store keeps moments
		if s.opening != nil {
			r = *s.opening
		}
		if n > 0 {
			r.Number = s.all[n-1].Number
		}
		r.Number++
		s.all = append(s.all[max(0, n+1-roundsKept):], r)
	}
	s.opening, s.going, s.marking = nil, true, c.surveys.partitions
	last := s.last()
	c.say(&protocol.RoundBegun{At: last.Begun}, &RoundsChanged{})
	c.log("info", "a round begins", map[string]any{"round": last.Number})
}

// endRound ends the round under way, and reports whether others follow.
func (c *Course) endRound() (goesOn bool) {
	s, r := c.o.Series, c.o.Series.last()
	r.count(&c.surveys.last.Totals)
	r.Ended, s.going = c.now.Truncate(time.Second), false
	s.nextAt = r.Begun.Add(c.o.RoundEvery)
	c.say(&RoundsChanged{})
	c.log("info", "a round has ended", map[string]any{"round": r.Number, "new": r.New, "changed": r.Changed,
		"unchanged": r.Unchanged, "gone": r.Gone})
	return c.o.RoundEvery > 0
}

func (s *Series) last() *Round { return &s.all[len(s.all)-1] }
