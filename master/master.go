// Package master hands out work and knows when there is none left.
//
// The Master lends hosts to slaves, keeps the ledger of leases, takes seeds and commands, and sees the end of a crawl.
// What a host needs is decided by its Host actor, what is on disk by the Partitions; the Master only brings them
// together:
//
//	slaves ── WorkRequested ──► Master ── Lend ───────► Hosts/Host ── Write ──► Partition
//	       ◄── TaskBatch ───────       ◄── Lent ───────            ◄── Written ──
//	       ── Report ──────────►       ── HostFacts ──►            ── Write ──►
//	       ◄── Stored ──────────       ◄─────────────── FactsCommitted ─────────
//
// Invariants:
//   - a host is lent at most once at a time (package ledger);
//   - a lease ends here no sooner than at its holder;
//   - the end of a crawl is declared only when two rounds of questions, between which nothing was committed anywhere,
//     found no URL waiting, no write unsettled, no lease open and no seed on its way.
//
// Memory that actors share: order and ranks belong to the Master, and the Partitions call them under their locks. A
// Partition must know whether a URL has room before it takes the next message; a question to the Master would have the
// batch wait for an answer in the middle of a Write. Lookups of names (line) are goroutines that read and send only.
package master

import (
	"fmt"
	"maps"
	"time"

	"github.com/asynkron/protoactor-go/actor"
	"github.com/sirupsen/logrus"

	"henro/actors/floor"
	"henro/actors/hosts"
	"henro/actors/known"
	"henro/actors/partition"
	"henro/actors/protocol"
	"henro/actors/scope"
	"henro/master/forecast"
	"henro/master/frontier"
	"henro/master/ledger"
	"henro/messages"
	"henro/messages/outlink"
	"henro/messages/speech"
	"henro/messages/weburl"
	"henro/store"
)

// Commands to the Master; each is answered.
type (
	// AddSeeds admits seeds while the crawl runs. It is answered by SeedsAdded when they are on disk.
	AddSeeds struct{ Seeds []Seed }
	// SeedsAdded answers AddSeeds.
	SeedsAdded struct{ Count int }
	// Begin lets the crawl come to an end: the seeds it was started with are added.
	Begin struct{}
	// Pause takes all leases back and lends nothing until Resume. Both are answered by StatusReported.
	Pause struct{}
	// Resume ends Pause.
	Resume struct{}
	// Stop takes all leases back and ends the crawl; its state stays. Answered by StatusReported.
	Stop struct{ Why End }
	// StatusAsked asks how the crawl goes.
	StatusAsked struct{}
	// SlaveLost reports that the gossip lost a slave: nothing more is sent to it, its leases run on.
	SlaveLost struct{ Slave, Boot string }
	// SlaveRefused reports that a slave is there whose protocol is not understood, or that it is gone again. It is
	// shown, and lent nothing.
	SlaveRefused struct {
		Slave, Boot, Version, Address string
		Protocol                      int
		Gone                          bool
	}
)

// Seed is a URL to begin from.
type Seed struct {
	URL   weburl.URL
	Depth int // links followed from it; negative: without end
}

// candidate is the seed as a partition admits it.
func (s Seed) candidate() store.Candidate {
	left := uint8(outlink.UnlimitedDepth)
	if s.Depth >= 0 {
		left = uint8(min(s.Depth, outlink.UnlimitedDepth-1))
	}
	return store.Candidate{URL: s.URL.String(), Host: s.URL.Host(), DepthLeft: left}
}

// State is what a crawl is doing.
type State string

// The states of a crawl.
const (
	Running State = "running"
	Paused  State = "paused"
	Deposed State = "deposed" // another master leads: nothing is lent, and no fact taken
	Closed  State = "closed"  // leases are back, or being taken back, until Options.Hours open
	Ending  State = "ending"  // leases are being taken back
	Ended   State = "ended"
)

// End says why a crawl ended.
type End string

// The ends of a crawl.
const (
	Finished   End = "finished" // nothing left to do
	PageLimit  End = "page limit"
	TimeLimit  End = "time limit"
	SizeLimit  End = "size limit"
	Stopped    End = "stopped"
	DiskFull   End = "disk full"
	StoreFault End = "store fault"
	Damaged    End = "state damaged"
)

// Status is how a crawl goes.
type Status struct {
	Dir       string          `json:"dir"`        // of the crawl, from the root
	Seeds     []string        `json:"seeds"`      // the first of them
	SeedCount int             `json:"seed_count"` // all
	State     State           `json:"state"`
	End       End             `json:"end,omitempty"`
	Totals    protocol.Totals `json:"totals"`
	Hosts     uint64          `json:"hosts"`
	Waiting   uint64          `json:"waiting"` // URLs in the frontier
	Queued    uint64          `json:"queued"`  // known URLs with a timetable
	Due       int             `json:"due"`     // of these, in line to be visited now
	Known     uint64          `json:"known"`   // URLs ever admitted
	Ready     int             `json:"ready"`   // hosts that wait to be lent
	NextReady time.Time       `json:"next_ready,omitzero"`
	Opens     time.Time       `json:"opens,omitzero"` // when the hours of the crawl begin, outside of them
	Leases    int             `json:"leases"`
	Tasks     int             `json:"tasks,omitempty"`    // drawn in this run, under the policy thesis
	Frontier  *FrontierStatus `json:"frontier,omitempty"` // without one, the Hosts take turns
	Slaves    []SlaveStatus   `json:"slaves"`
	// C of all slaves that are there, and what part of it was in use in the last minutes: Σe/(C·τ)
	Connections int     `json:"connections"`
	Busy        float64 `json:"busy"`
	Memory      uint64  `json:"memory_bytes"` // of the master's process, as its runtime sees it
	Routines    int     `json:"goroutines"`
	Seconds     float64 `json:"seconds"` // of this run
	PerSecond   float64 `json:"pages_per_second"`
	// how many pages are whole, when that was counted last: at the end of a run, and while the dashboard shows it
	Whole *Wholeness `json:"whole,omitempty"`
	// why nothing can be stored, or nothing is fetched though there is work
	Stalled speech.Sentence `json:"stalled,omitzero"`
	// what keeps what from being fetched, by count; only when that is what is stalled
	Stalls map[string]int `json:"stalls,omitempty"`
	// when it will have ended, and what bounds its pace; nothing: it has just begun
	Forecast *forecast.Forecast `json:"forecast,omitempty"`
	// by the word of a cause, the latest visit that failed for it in this run
	Round    *Round                 `json:"round,omitempty"` // of a crawl that goes in rounds, the latest
	Failures map[string]FailedVisit `json:"failures,omitempty"`
	// of a crawl that finished, when every seed of this run failed: the first of them
	FailedSeeds []FailedVisit `json:"failed_seeds,omitempty"`
}

type (
	tick     struct{}
	seedsTag struct {
		reply *actor.PID
		count int
		left  int // partitions that have not answered
	}
)

// endWait bounds the wait for leases to come back at the end: a fetch under way may take a minute, and a slave may be
// gone.
const endWait = 15 * time.Second

// Master is the actor at the head of a crawl.
type Master struct {
	o     Options
	log   *logrus.Entry
	state *store.State
	done  chan<- Status // gets the last status, once

	partitions []*actor.PID
	scope      *scope.Rules

	lending
	course
	tasks  *tasks // nil: what seeds lead to is crawled
	series *series
	rounds rounds
	stalls stalls
	latest latestFailures
	noted  map[uint64]uint64 // by lease: the last fact that the fetch log was sent
	timer  floor.Timer

	fetches *actor.PID // the fetch log
}

// course is how far a crawl has come, in this run.
type course struct {
	phase     State
	end       End
	startedAt time.Time
	endingAt  time.Time // when the leases were begun to be taken back
	opensAt   time.Time // in Closed
	begun     bool      // the seeds it was started with are added
	seeding   int       // seeds not on disk yet
	visits    uint64    // stored
}

// Props makes the Master of an opened state.
func Props(o Options, state *store.State, clocks *clocks, rules *scope.Rules, done chan<- Status, rounds *series,
	seen *seenResources, log *logrus.Entry) *actor.Props {
	return actor.PropsFromProducer(func() actor.Actor {
		return newMaster(o, state, clocks, rules, done, rounds, seen, log.WithField("actor", "master"))
	})
}

func newMaster(o Options, state *store.State, clocks *clocks, rules *scope.Rules, done chan<- Status, rounds *series,
	seen *seenResources, log *logrus.Entry) *Master {
	m := &Master{
		o: o, log: log, state: state, scope: rules, done: done, series: rounds,
		noted: map[uint64]uint64{}, stalls: stalls{unstored: map[int]error{}},
		course: course{phase: Running, startedAt: time.Now(), visits: o.visited},
	}
	if !o.Run.Begun.IsZero() {
		m.startedAt = o.Run.Begun
	}
	m.lending = newLending(&m.o, clocks, len(state.Partitions), seen, log)
	if o.TaskURLs > 0 {
		m.tasks = newTasks(&m.o, state, rules)
	}
	return m
}

// Receive is the table of contents.
func (m *Master) Receive(ctx actor.Context) {
	switch msg := ctx.Message().(type) {
	case *actor.Started:
		m.start(ctx)
	case *actor.Stopping:
		m.timer.Stop()
		m.ready.flying.Wait()
	case *messages.SlaveRegistered:
		m.welcome(ctx, msg)
	case *messages.WorkRequested:
		m.serve(ctx, msg, m.phase == Running)
		m.dispatch(ctx)
	case *messages.Report:
		m.takeReport(ctx, msg)
	case *messages.Greeting:
		ctx.Respond(&messages.Greeted{UnixMs: time.Now().UnixMilli()})
	case *messages.TaskRefused:
		m.decline(ctx, msg)
	case *RivalSeen:
		m.meet(msg)
	case *SlaveLost:
		if m.slaves.lose(msg, m.ledger) {
			m.countResources(ctx)
		}
	case *SlaveRefused:
		m.slaves.refuse(msg)
	case *protocol.HostReady:
		m.ready.announce(ctx, msg.Host, msg.At)
		m.dispatch(ctx)
	case *named:
		m.ready.identify(msg)
		m.dispatch(ctx)
	case *protocol.Lent:
		m.send(ctx, msg, m.phase == Running)
	case *protocol.LendRefused:
		m.close(msg.Lease, msg.NextAt, time.Time{})
		m.dispatch(ctx)
		m.lookForEnd(ctx)
	case *protocol.LeasesFound:
		m.restoreLeases(ctx, msg)
	case *protocol.FactsRefused:
		if lease, ok := m.ledger.Lease(msg.Lease); ok {
			m.distrust(ctx, lease.Slave, lease.Boot, msg.Why)
			m.recall(ctx, lease)
		}
	case *protocol.LeaseUnwanted:
		if lease, ok := m.ledger.Lease(msg.Lease); ok {
			m.recall(ctx, lease)
		}
	case *protocol.FactsCommitted:
		for _, stored := range msg.Facts {
			m.acknowledge(ctx, stored)
		}
		m.slaves.flush(ctx)
	case *protocol.FactsStored:
		m.acknowledge(ctx, msg)
		m.slaves.flush(ctx)
	case *protocol.QuietReported:
		m.takeQuiet(ctx, msg)
	case *protocol.StoreStalled:
		m.stalls.fail(msg)
	case *protocol.StoreResumed:
		delete(m.stalls.unstored, msg.Partition)
	case *protocol.Written:
		switch tag := msg.Tag.(type) {
		case *seedsTag:
			m.seeding--
			tag.stored(ctx)
		case *excludeTag:
			m.excluded(ctx, tag)
		case *aliasTag:
			m.aliasWritten(ctx, tag)
		}
	case *protocol.Retimed:
		m.series.marking--
	case *protocol.Retime:
		m.retime(ctx, msg)
	case *protocol.Notice:
		m.notice(ctx, msg)
	case *ExcludeHost:
		m.exclude(ctx, msg)
	case *OrderAlias:
		m.orderAlias(ctx, msg)
	case *OrderURLRule:
		m.orderURLRule(ctx, msg)
	case *protocol.URLRuleStored:
		m.urlRuleStored(ctx, msg)
	case *AddSeeds:
		m.addSeeds(ctx, msg)
	case *Begin:
		m.begun = true
		m.stalls.reportedAt = time.Now()
		m.drawTasks(ctx)
	case *Pause:
		if m.phase == Running || m.phase == Closed {
			m.phase = Paused
			m.keepRun()
			m.slaves.revokeAll(ctx, m.ledger)
		}
		ctx.Respond(m.status())
	case *Resume:
		if m.phase == Paused {
			m.phase = Running
			m.keepRun()
			m.stalls.reportedAt = time.Now()
			m.keepHours(ctx, m.stalls.reportedAt)
		}
		ctx.Respond(m.status())
		m.dispatch(ctx)
	case *Stop:
		m.wind(ctx, msg.Why)
		ctx.Respond(m.status())
	case *StatusAsked:
		ctx.Respond(m.status())
	case *runAsked:
		ctx.Respond(&Run{Paused: m.phase == Paused, End: m.end, Drained: maps.Clone(m.slaves.drained)})
	case *clocksAsked:
		ctx.Respond(m.ready.clocks.sharedBy(msg.hosts))
	case *FetchesAsked:
		ctx.Forward(m.fetches)
	case *DrainSlave:
		m.drain(ctx, msg.Slave, true)
	case *ResumeSlave:
		m.drain(ctx, msg.Slave, false)
	case *ScopeAsked:
		ctx.Respond(&protocol.ScopeChanged{Rules: m.scope})
	case *tick:
		m.tick(ctx)
	case *actor.DeadLetterResponse: // a slave is gone: its leases end by themselves
	case actor.SystemMessage, actor.AutoReceiveMessage:
	default:
		floor.Unhandled(ctx, m.log)
	}
}

func (m *Master) start(ctx actor.Context) {
	if m.o.Partition.Rounds = m.o.Hosts.Again; !m.o.Hosts.Continuous && !m.o.Hosts.Again {
		m.o.Partition.DueAhead = 0
	}
	order, err := m.makeOrder()
	if err != nil {
		panic(err)
	}
	m.hosts = floor.SpawnAs(ctx, hosts.Props(m.o.Hosts, ctx.Self(), m.log), "hosts")
	for i := range m.state.Partitions {
		m.partitions = append(m.partitions, floor.SpawnAs(ctx,
			partition.Props(m.o.Partition, order, m.state, i, m.hosts, ctx.Self(), m.log),
			fmt.Sprintf("partition/%d", i)))
	}
	partition.Introduce(ctx.Send, m.partitions)
	ctx.Send(m.hosts, &protocol.ScopeChanged{Rules: m.scope})
	ctx.Send(m.hosts, &hosts.Introduction{Partitions: m.partitions, PartitionOf: m.state.PartitionOf,
		Skips: floor.SpawnAs(ctx, hosts.SkipsProps(m.o.Dir, m.log), "skips")})
	m.keepHours(ctx, time.Now())
	m.fetches = floor.SpawnAs(ctx, fetchLogProps(m.o.Dir, m.log), "fetches")
	m.askQuiet(ctx) // before anything is written: what was there is no work of this run
	m.timer.After(ctx, m.o.TickEvery, &tick{})
	if m.o.Run.Paused {
		m.phase = Paused
	}
	if m.o.Run.End != "" {
		m.wind(ctx, m.o.Run.End)
	}
}

// closeEarly is how long before their end the hours count as over: a slave learns it when it asks for work, once a
// second, and makes an end after the request under way.
const closeEarly = 3 * time.Second

// keepHours takes the leases back when the hours of the crawl end, and lends again when they begin.
func (m *Master) keepHours(ctx actor.Context, now time.Time) {
	open := m.o.Hours.Open(now) && m.o.Hours.Open(now.Add(closeEarly))
	switch {
	case m.phase == Running && !open:
		m.phase, m.opensAt = Closed, m.o.Hours.Turn(now.Add(closeEarly))
		m.log.WithField("until", m.opensAt).Info("outside the hours of the crawl: taking the leases back")
		m.slaves.revokeAll(ctx, m.ledger)
	case m.phase == Closed && open:
		m.phase, m.opensAt = Running, time.Time{}
		m.stalls.reportedAt = now
		m.log.Info("within the hours of the crawl again")
	}
}

// makeOrder reads what waits, before anything more can be admitted.
func (m *Master) makeOrder() (partition.Order, error) {
	var o partition.Order
	ranks, err := newRanks(m.o.Order, m.state)
	if err != nil {
		return o, err
	}
	if ranks != nil {
		o.Ranks = ranks
	}
	if o.Texts, err = known.CompareTexts(m.state); err != nil {
		return o, err
	}
	if m.tasks != nil {
		if err := m.tasks.begin(); err != nil {
			return o, err
		}
		o.Collector = m.tasks
	}
	if about := m.o.Hosts.Admission.Topic; about != nil {
		m.log.WithField("terms", about.Terms()).Info("crawl has a topic")
		m.o.Hosts.Follow = false // a slave follows links in the order of its pages
		o.Rising = true
	}
	if m.o.Frontier.Policy == "" || m.o.Frontier.Policy == frontier.PolicyHost {
		return o, nil
	}
	m.o.Hosts.Follow = false // it would go round the frontier
	if m.ready.order, err = newOrder(&m.o, m.state, ranks); err == nil {
		o.Gate = m.ready.order
		if m.ready.order.linked != nil {
			o.Collector = m.ready.order
		}
	}
	return o, err
}

func (m *Master) tick(ctx actor.Context) {
	m.timer.After(ctx, m.o.TickEvery, &tick{})
	now := time.Now()
	m.forgive(now)
	m.keepHours(ctx, now)
	w := work{book: m.ledger, slaves: m.slaves, ready: m.ready.readyHosts}
	if m.phase == Running && m.begun {
		w.waiting, w.due = m.rounds.last.Waiting, m.rounds.last.Due
	}
	if m.stalls.look(now, m.o.StallAfter, w, m.log) {
		for _, partition := range m.partitions {
			ctx.Send(partition, &protocol.WaitingDoubted{})
		}
	}
	for _, lease := range m.ledger.Expired(now) {
		if s := m.slaves.known[lease.Slave]; s != nil && !lease.Recalled {
			s.rest(now)
		}
		m.void(ctx, lease.ID)
	}
	if len(m.stalls.unstored) == 0 { // else this master is why nothing is stored
		m.recallIdle(ctx, now)
	}
	if m.o.For > 0 && now.Sub(m.startedAt) >= m.o.For {
		m.wind(ctx, TimeLimit)
	}
	if m.stalls.lasting(now, m.o.StallLimit) {
		m.end = m.stalls.end()
		m.finish()
		return
	}
	if m.phase == Ending && now.Sub(m.endingAt) >= endWait {
		m.log.WithField("leases",
			m.ledger.OpenCount()).Warn("not all leases came back; they stay on disk and are honoured at the next start")
		m.finish()
		return
	}
	if m.ready.clocks != nil {
		m.ready.clocks.sweep(now)
	}
	m.drawTasks(ctx)
	m.dispatch(ctx)
	m.countResources(ctx)
	if m.phase == Running {
		m.balance(ctx)
	}
	m.askQuiet(ctx)
}

// dispatch lends ready hosts to the slaves with the most room, in turns.
func (m *Master) dispatch(ctx actor.Context) {
	now := time.Now()
	for m.phase == Running && m.ready.may(now.Add(m.o.Hosts.LookAhead)) {
		name := m.slaves.roomiest(m.ledger, now)
		if name == "" {
			return
		}
		limit, ok := m.pageLimit(&m.o, m.ledger)
		if !ok && !m.closing() || !m.lend(ctx, name, limit, now) {
			return
		}
	}
}

// meet decides which of two masters leads. One that does not lead any more lends nothing and takes no facts. It does
// not end by itself: started again it would open its state in a greater term, and lead.
func (m *Master) meet(msg *RivalSeen) {
	log := m.log.WithFields(logrus.Fields{"master": msg.Name, "address": msg.Address, "its": msg.Term,
		"term": m.o.claim.Term})
	switch {
	case msg.Beats(m.o.claim) && (m.leader.Boot == "" || msg.Beats(m.leader)):
		m.leader = msg.Claim
		if m.phase != Ending && m.phase != Ended {
			m.phase = Deposed
		}
		log.Error("another master leads this crawl: this one lends nothing more and stores nothing more. " +
			"Keep one of the two states, and end this master")
	case m.o.claim.Beats(msg.Claim):
		log.Warn("another master has this crawl open, in a smaller term: slaves ignore it. End it")
	}
}

// pageLimit is how many pages the next lease may visit under --pages: 0 is no limit. What open leases may still visit
// is taken already.
func (c *course) pageLimit(o *Options, book ledger.Ledger) (pages int, ok bool) {
	if o.MaxPages == 0 {
		return 0, true
	}
	used := c.visits + book.Budget()
	if used >= o.MaxPages {
		return protocol.NoPages, false
	}
	return int(min(o.MaxPages-used, uint64(o.Hosts.SharedBudget()))), true
}

// closing reports that the crawl has as many pages as are wanted, and fetches what they are made of. A frontier does
// not tell the requisites from the pages that it keeps: with one, the crawl ends at once.
func (m *Master) closing() bool {
	return m.o.MaxPages > 0 && m.visits >= m.o.MaxPages && m.o.Hosts.Admission.Requisites != 0 && m.ready.order == nil
}

// takeReport gives the facts of each lease to its host.
func (m *Master) takeReport(ctx actor.Context, msg *messages.Report) {
	s := m.speaker(ctx, msg.Slave, msg.Boot)
	if s == nil || !m.leads(ctx, m.o.claim.Crawl, msg.Term) {
		return // it will register, and send them again
	}
	if !s.barred(msg.Boot) {
		m.stalls.fetched(time.Now(), m.log)
	}
	for len(msg.Facts) > 0 {
		n := 1
		for n < len(msg.Facts) && msg.Facts[n].Lease == msg.Facts[0].Lease &&
			msg.Facts[n].Host == msg.Facts[0].Host {
			n++
		}
		group := msg.Facts[:n]
		msg = &messages.Report{Slave: msg.Slave, Boot: msg.Boot, Facts: msg.Facts[n:]}
		lease, ok := m.ledger.Lease(group[0].Lease)
		mine := ok && lease.Slave == msg.Slave && lease.Boot == msg.Boot
		switch {
		case ok && !mine:
			m.distrust(ctx, msg.Slave, msg.Boot, "facts under a lease of another slave")
		case mine && group[0].Host != lease.Host:
			m.distrust(ctx, msg.Slave, msg.Boot, "facts of a host that was not lent")
			m.recall(ctx, lease)
		}
		if !mine || group[0].Host != lease.Host || s.barred(msg.Boot) {
			m.slaves.ack(s, group[0].Lease, group[n-1].Seq) // of a lease that is over: its slave need not send it again
			continue
		}
		m.note(ctx, &lease, group)
		m.toHost(ctx, lease, &protocol.HostFacts{Lease: group[0].Lease, Facts: group})
	}
	m.slaves.flush(ctx)
}

// acknowledge takes note of what is on disk. The slave that holds the lease is sent that with the next flush.
func (m *Master) acknowledge(ctx actor.Context, msg *protocol.FactsStored) {
	if msg.Visits > 0 && m.log.Logger.IsLevelEnabled(logrus.DebugLevel) {
		m.log.WithFields(logrus.Fields{"lease": msg.Lease, "seq": msg.Seq, "visits": msg.Visits,
			"term": m.o.claim.Term}).Debug("facts stored")
	}
	m.visits += uint64(msg.Visits)
	m.ledger = m.ledger.Updated(ledger.VisitsStored{ID: msg.Lease, Visits: uint64(msg.Visits)})
	lease, ok := m.ledger.Lease(msg.Lease)
	if ok {
		if s := m.slaves.known[lease.Slave]; s != nil {
			if msg.Seq > 0 {
				s.declined = 0
			}
			m.slaves.ack(s, msg.Lease, msg.Seq)
		}
		m.ledger = m.ledger.Updated(ledger.LeaseAdvanced{ID: msg.Lease, Seq: msg.Seq, FactBy: m.o.factBy(msg.NextAt)})
	}
	if msg.Closed {
		m.close(msg.Lease, msg.NextAt, msg.OthersAt)
		m.lookForEnd(ctx)
	}
	if m.o.MaxPages > 0 && m.visits >= m.o.MaxPages && !m.closing() {
		m.wind(ctx, PageLimit)
	}
}

// addSeeds widens the scope, for good, and admits the seeds.
func (m *Master) addSeeds(ctx actor.Context, msg *AddSeeds) {
	if m.o.defined != nil {
		if err := m.o.defined.keep(msg.Seeds); err != nil {
			m.log.WithField("err", err).Error("a crawl resumed without these seeds will not follow their links")
		}
	}
	urls := make([]weburl.URL, len(msg.Seeds))
	for i, seed := range msg.Seeds {
		urls[i] = seed.URL
	}
	m.scope = m.scope.With(urls...)
	ctx.Send(m.hosts, &protocol.ScopeChanged{Rules: m.scope})
	tag := &seedsTag{reply: ctx.Sender(), count: len(msg.Seeds)}
	if m.tasks != nil {
		m.tasks.widen(m.scope, msg.Seeds)
		tag.answer(ctx)
		return
	}
	m.plant(ctx, msg.Seeds, tag)
}

// plant admits URLs to begin from.
func (m *Master) plant(ctx actor.Context, seeds []Seed, tag *seedsTag) {
	candidates := make([][]store.Candidate, len(m.partitions))
	for _, seed := range seeds {
		owner := m.state.PartitionOf(seed.URL.Host())
		candidates[owner] = append(candidates[owner], seed.candidate())
	}
	for i, group := range candidates {
		if len(group) > 0 {
			tag.left++
			m.seeding++
			ctx.Request(m.partitions[i], &protocol.PlantSeeds{Candidates: group, Tag: tag})
		}
	}
}

// stored notes that one more partition has its seeds, and answers when all have.
func (tag *seedsTag) stored(ctx actor.Context) {
	if tag.left--; tag.left == 0 {
		tag.answer(ctx)
	}
}

func (tag *seedsTag) answer(ctx actor.Context) {
	if tag.reply != nil {
		ctx.Send(tag.reply, &SeedsAdded{Count: tag.count})
	}
}

// wind takes the leases back; the crawl ends when all are.
func (m *Master) wind(ctx actor.Context, why End) {
	if m.phase == Ending || m.phase == Ended {
		return
	}
	m.phase, m.end, m.endingAt = Ending, why, time.Now()
	m.keepRun()
	m.log.WithField("why", why).Info("ending: taking the leases back")
	m.slaves.revokeAll(ctx, m.ledger)
}
