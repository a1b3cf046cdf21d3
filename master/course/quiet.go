package course

import (
	"maps"

	"henro/actors/protocol"
)

// rounds ask the Partitions whether anything is left to do. A URL on its way from one partition to another is in the
// outbox of the first until the second has it on disk, so at every moment somebody counts it; but the answers are given
// at different moments. So one quiet round proves nothing, and a second one does if no partition committed anything in
// between. The answers are the figures of the crawl, too.
type rounds struct {
	partitions int
	number     uint64
	asked      bool                            // an answer is awaited
	answers    map[int]*protocol.QuietReported // by partition
	before     map[int]uint64                  // commits at the last quiet round; nil: that was not quiet

	requisites bool // the round asks for requisites that wait
	whole      bool // by the last round, none does
	unsettled  int  // writes, by the last round

	last     Figures // of the last round
	measured bool
	earlier  uint64 // pages and revisits of earlier runs
}

// ask begins a round, unless one is under way.
func (r *rounds) ask(requisites bool) *protocol.QuietAsked {
	if r.asked {
		return nil
	}
	r.asked, r.requisites = true, requisites
	r.number++
	r.answers = map[int]*protocol.QuietReported{}
	return &protocol.QuietAsked{Round: r.number, Requisites: requisites}
}

// take notes an answer and reports whether it was the last of its round, whose figures are in last then.
func (r *rounds) take(msg *protocol.QuietReported) (complete bool) {
	if msg.Round != r.number {
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

// prove says of a round that was quiet or not whether the end is proven by it, and whether another could.
func (r *rounds) prove(quiet bool) (proven, again bool) {
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
