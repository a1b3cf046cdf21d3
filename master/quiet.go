package master

import (
	"maps"
	"path/filepath"
	"time"

	"github.com/asynkron/protoactor-go/actor"
	"github.com/sirupsen/logrus"

	"henro/actors/floor"
	"henro/actors/protocol"
)

// rounds ask the Partitions whether anything is left to do. A URL on its way from one partition to another is in the
// outbox of the first until the second has it on disk, so at every moment somebody counts it; but the answers are given
// at different moments. So one quiet round proves nothing, and a second one does if no partition committed anything in
// between. The answers are the figures of the crawl, too.
type rounds struct {
	number  uint64
	asked   bool
	answers map[int]*protocol.QuietReported // by partition
	before  map[int]uint64                  // commits at the last quiet round; nil: that was not quiet

	requisites bool // the round asks for requisites that wait
	whole      bool // by the last round, none does

	last     Status // figures of the last round
	measured bool
	earlier  uint64 // pages and revisits of earlier runs
}

// ask begins a round, unless one is under way.
func (r *rounds) ask(ctx actor.Context, partitions []*actor.PID, requisites bool) {
	if r.asked {
		return
	}
	r.asked, r.requisites = true, requisites
	r.number++
	r.answers = map[int]*protocol.QuietReported{}
	for _, partition := range partitions {
		ctx.Request(partition, &protocol.QuietAsked{Round: r.number, Requisites: requisites})
	}
}

// take notes an answer and reports whether it was the last of its round, whose figures are in last then, and how many
// writes are unsettled.
func (r *rounds) take(msg *protocol.QuietReported, partitions int) (unsettled int, complete bool) {
	if msg.Round != r.number {
		return 0, false
	}
	r.answers[msg.Partition] = msg
	if len(r.answers) < partitions {
		return 0, false
	}
	r.asked = false
	s := Status{}
	r.whole = r.requisites
	for _, answer := range r.answers {
		r.whole = r.whole && !answer.Requisites
		unsettled += answer.Unsettled
		s.Totals.Add(&answer.Totals)
		s.Hosts += answer.Stats.Hosts
		s.Known += answer.Stats.Known
		s.Waiting += answer.Stats.Waiting
		s.Queued += answer.Stats.Queued
		s.Due += answer.Due
	}
	r.last = s
	if !r.measured {
		r.measured, r.earlier = true, s.Totals.Visits()
	}
	return unsettled, true
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

// askQuiet looks for the end.
func (m *Master) askQuiet(ctx actor.Context) {
	if m.phase != Ended {
		m.rounds.ask(ctx, m.partitions, m.closing() && m.ledger.OpenCount() == 0)
	}
}

// lookForEnd asks at once when no lease is left open: perhaps the one that was closed was the last.
func (m *Master) lookForEnd(ctx actor.Context) {
	if m.ledger.OpenCount() == 0 {
		m.askQuiet(ctx)
	}
}

// takeQuiet ends the crawl when nothing is left to do.
func (m *Master) takeQuiet(ctx actor.Context, msg *protocol.QuietReported) {
	unsettled, complete := m.rounds.take(msg, len(m.partitions))
	if !complete {
		return
	}
	last := &m.rounds.last
	if m.o.MaxBytes > 0 && last.Totals.Bytes >= m.o.MaxBytes {
		m.wind(ctx, SizeLimit)
	}
	ending, ready := m.phase == Ending, m.begun && m.restored() && m.seeding == 0
	idle := ready && m.ledger.OpenCount() == 0 && unsettled == 0
	nothing := last.Waiting == 0 && !m.o.Hosts.Continuous
	if m.o.Hosts.Again {
		if ready && !ending {
			m.series.advance(ctx, &m.o, m.partitions, &last.Totals, m.log)
		}
		nothing = nothing && last.Due == 0 && m.series.going && m.series.marking == 0
	}
	if m.closing() {
		nothing = m.rounds.whole
	}
	if m.tasks != nil && idle && nothing {
		nothing = m.tasks.exhausted()
	}
	proven, again := m.rounds.prove(idle && (ending || nothing))
	switch {
	case again:
		m.askQuiet(ctx)
	case proven && !ending && m.o.Hosts.Again && !m.closing() && m.series.end(&m.o, &last.Totals, m.log):
		m.rounds.before = nil
	case proven && ending:
		m.finish()
	case proven:
		m.end = Finished
		if m.closing() {
			m.end = PageLimit
		}
		m.finish()
	}
}

// status is how the crawl goes, by the latest round of questions.
func (m *Master) status() *Status {
	s := m.rounds.last
	s.Totals = m.rounds.last.Totals.Clone()
	s.State, s.End = m.phase, m.end
	if m.o.defined != nil {
		s.Seeds, s.SeedCount = m.o.defined.named()
		s.Dir, _ = filepath.Abs(m.o.Dir) // else it stays empty
	}
	if m.phase == Closed {
		s.Opens = m.opensAt
	}
	s.Leases, s.Ready = m.ledger.OpenCount(), m.ready.count()
	if m.tasks != nil {
		s.Tasks = m.tasks.drawn
	}
	if at, ok := m.ready.next(); ok {
		s.NextReady = at
	}
	s.Slaves = m.slaves.statuses(m.ledger)
	s.Connections, s.Busy = m.slaves.connections()
	s.Memory, s.Routines = floor.Footprint()
	if m.ready.order != nil {
		s.Frontier = m.ready.order.status()
	}
	s.Seconds = time.Since(m.startedAt).Seconds()
	if s.Seconds > 0 {
		s.PerSecond = float64(s.Totals.Visits()-m.rounds.earlier) / s.Seconds
	}
	s.Failures, s.Whole = m.latest.clone(), m.resources.seen.whole.Load()
	if m.phase == Running {
		s.Forecast = m.resources.seen.forecast.Load()
	}
	if len(m.series.all) > 0 && m.o.Hosts.Again {
		round := *m.series.last()
		if m.series.going {
			round.count(&s.Totals)
		}
		s.Round = &round
	}
	m.stalls.explain(&s)
	return &s
}

// finish ends the crawl, and hands over its last status.
func (m *Master) finish() {
	if m.phase == Ended {
		return
	}
	m.phase = Ended
	status := m.status()
	m.log.WithFields(logrus.Fields{"end": m.end, "pages": status.Totals.Pages,
		"links": status.Totals.Links}).Info("the crawl has ended")
	m.done <- *status
}
