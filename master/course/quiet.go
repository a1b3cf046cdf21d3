package course

import (
	"maps"

	"henro/actors/protocol"
)

// surveys ask all Partitions whether anything is left to do. A URL on its way from one partition to another is in the
// outbox of the first until the second has it on disk, so at every moment one of them counts it; but they answer at
// different moments. So one quiet survey proves nothing, and a second one does if no partition has committed anything
// in between. The answers are the figures of the crawl, too.
type surveys struct {
	partitions int
	number     uint64
	asked      bool                            // an answer is awaited
	answers    map[int]*protocol.QuietReported // by partition
	before     map[int]uint64                  // commits by partition as of the last survey; nil: that was not quiet

	requisites bool // the survey asks whether requisites wait
	whole      bool // by the last survey that asked, none does
	unsettled  int  // sum of QuietReported.Unsettled of the last survey

	last     Figures // of the last survey
	measured bool    // there was one
	earlier  uint64  // visits of earlier runs
}

// ask begins a survey, unless one is under way.
func (r *surveys) ask(requisites bool) *protocol.QuietAsked {
	if r.asked {
		return nil
	}
	r.asked, r.requisites = true, requisites
	r.number++
	r.answers = map[int]*protocol.QuietReported{}
	return &protocol.QuietAsked{Survey: r.number, Requisites: requisites}
}

// take notes an answer and reports whether it was the last of its survey, whose figures are in last then.
func (r *surveys) take(msg *protocol.QuietReported) (complete bool) {
	if msg.Survey != r.number {
		return false
	}
	r.answers[msg.Partition] = msg
	if len(r.answers) < r.partitions {
		return false
	}
	r.last = Figures{}
	s := &r.last
	r.whole, r.unsettled = r.requisites, 0
	for _, answer := range r.answers {
		r.whole = r.whole && !answer.Requisites
		r.unsettled += answer.Unsettled
		s.Totals.Add(&answer.Totals)
		s.Hosts += answer.Stats.Hosts
		s.Known += answer.Stats.Known
		s.Waiting += answer.Stats.Waiting
		s.Queued += answer.Stats.Queued
		s.Due += answer.Due
	}
	if !r.measured {
		r.measured, r.earlier = true, s.Totals.Visits()
	}
	return true
}

// prove takes whether the survey that is complete was quiet, and says whether that proves the end, or whether the next
// survey could.
func (r *surveys) prove(quiet bool) (proven, again bool) {
	if !quiet {
		r.before = nil
		return false, false
	}
	commits := map[int]uint64{}
	for i, answer := range r.answers {
		commits[i] = answer.Commits
	}
	if r.before != nil && maps.Equal(r.before, commits) {
		return true, false
	}
	r.before = commits
	return false, true
}
