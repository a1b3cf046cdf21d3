package master

import (
	"errors"
	"maps"
	"time"

	"github.com/asynkron/protoactor-go/actor"
	"github.com/sirupsen/logrus"

	"henro/actors/floor"
	"henro/actors/protocol"
	"henro/messages/speech"
	"henro/store"
)

// askQuiet asks the Partitions whether anything is left to do. A URL on its way from one partition to another is in the
// outbox of the first until the second has it on disk, so at every moment somebody counts it; but the answers are given
// at different moments. So one quiet round proves nothing, and a second one does if no partition committed anything in
// between.
func (m *Master) askQuiet(ctx actor.Context) {
	if m.quiet.asked || m.phase == Ended {
		return
	}
	m.quiet.asked = true
	m.quiet.number++
	m.quiet.answers = map[int]*protocol.QuietReported{}
	for _, partition := range m.partitions {
		ctx.Request(partition, &protocol.QuietAsked{Round: m.quiet.number})
	}
}

func (m *Master) hearQuiet(ctx actor.Context, msg *protocol.QuietReported) {
	q := &m.quiet
	if msg.Round != q.number {
		return
	}
	q.answers[msg.Partition] = msg
	if len(q.answers) < len(m.partitions) {
		return
	}
	q.asked = false
	commits := map[int]uint64{}
	var waiting uint64
	unsettled := 0
	for i, answer := range q.answers {
		commits[i] = answer.Commits
		waiting += answer.Stats.Waiting
		unsettled += answer.Unsettled
	}
	m.measure()
	if m.o.MaxBytes > 0 && m.last.Totals.Bytes >= m.o.MaxBytes {
		m.wind(ctx, SizeLimit)
	}
	idle := m.ledger.OpenCount() == 0 && m.seeding == 0 && m.begun && m.restored()
	quiet := idle && unsettled == 0 && (waiting == 0 || m.phase == Ending)
	switch {
	case !quiet || m.o.Hosts.Continuous && m.phase != Ending:
		q.before = nil
	case q.before == nil || !same(q.before, commits):
		q.before = commits
		m.askQuiet(ctx)
	default:
		if m.phase != Ending {
			m.end = Finished
		}
		m.finish()
	}
}

func same(a, b map[int]uint64) bool {
	for i, n := range a {
		if b[i] != n {
			return false
		}
	}
	return len(a) == len(b)
}

// measure makes the figures of the status out of the answers of a round.
func (m *Master) measure() {
	s := Status{}
	for _, answer := range m.quiet.answers {
		s.Totals.Add(&answer.Totals)
		s.Hosts += answer.Stats.Hosts
		s.Known += answer.Stats.Known
		s.Waiting += answer.Stats.Waiting
		s.Queued += answer.Stats.Queued
		s.Due += answer.Due
	}
	m.last = s
	if !m.measured {
		m.measured, m.before = true, s.Totals.Pages+s.Totals.Revisits
	}
}

// status is how the crawl goes, by the latest round of questions.
func (m *Master) status() *Status {
	s := m.last
	s.Totals = m.last.Totals.Clone()
	s.State, s.End = m.phase, m.end
	s.Leases, s.Ready = m.ledger.OpenCount(), m.ready.count()
	if at, ok := m.ready.next(); ok {
		s.NextReady = at
	}
	s.Slaves = m.slaveStatuses()
	s.Memory, s.Routines = floor.Footprint()
	if m.order != nil {
		s.Frontier = m.order.status()
	}
	s.Seconds = time.Since(m.startedAt).Seconds()
	if s.Seconds > 0 {
		s.PerSecond = float64(s.Totals.Pages+s.Totals.Revisits-m.before) / s.Seconds
	}
	s.Stalled, s.Stalls = m.lull.says, maps.Clone(m.lull.reasons)
	for _, err := range m.stalled {
		s.Stalls = nil
		s.Stalled = speech.Say("%s", err.Error())
	}
	return &s
}

func (m *Master) stall(msg *protocol.StoreStalled) {
	if len(m.stalled) == 0 {
		m.stalledAt = time.Now()
	}
	m.stalled[msg.Partition] = msg.Err
	if errors.Is(msg.Err, store.ErrCorrupt) { // waiting mends nothing
		m.giveUpStore()
	}
}

// giveUpStore ends a crawl whose state cannot be written: what is not stored will be fetched again.
func (m *Master) giveUpStore() {
	m.end = StoreFault
	for _, err := range m.stalled {
		switch {
		case errors.Is(err, store.ErrCorrupt):
			m.end = Damaged
		case errors.Is(err, store.ErrDiskFull) || errors.Is(err, store.ErrTooLarge):
			m.end = DiskFull
		}
	}
	m.finish()
}

// finish says the last word.
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
