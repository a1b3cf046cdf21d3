// Package master hands out work and knows when there is none left.
//
// The Master lends hosts to slaves, takes seeds and commands, and sees the end of a crawl.
// What a host needs is decided by its Host actor, what is on disk by the Partitions; the Master only brings them
// together:
//
//	slaves ── WorkRequested ──► Master ── Lend ───────► Hosts/Host ── Write ──► Partition
//	       ◄── TaskBatch ───────       ◄── Lent ───────            ◄── Written ──
//	       ── Report ──────────►       ── HostFacts ──►            ── Write ──►
//	       ◄── Stored ──────────       ◄─────────────── FactsCommitted ─────────
//
// It decides nothing itself: package lending decides which host goes to which slave and what to do with what comes
// back, and package course when the crawl ends. Their invariants are stated there.
//
// Memory that actors share: frontier and ranks belong to the Master, and the Partitions call them, under their locks. A
// Partition must know whether a URL has room before it takes the next message; with a question to the Master the batch
// would wait for an answer in the middle of a Write. Under the locks nothing is read from disk. Lookups of names are
// goroutines that only read, and send what they found.
package master

import (
	"fmt"
	"maps"
	"slices"
	"time"

	"github.com/asynkron/protoactor-go/actor"
	"github.com/sirupsen/logrus"

	"henro/actors/floor"
	"henro/actors/hosts"
	"henro/actors/known"
	"henro/actors/partition"
	"henro/actors/protocol"
	"henro/actors/reading"
	"henro/master/course"
	"henro/master/frontier"
	"henro/master/lending"
	"henro/messages"
	"henro/messages/outlink"
	"henro/messages/posted"
	"henro/messages/weburl"
	"henro/store"
)

// Commands to the Master. Begin is not answered; Pause, Resume and Stop are answered by a *Status.
type (
	Begin  = course.Begin
	Pause  = course.Pause
	Resume = course.Resume
	Stop   = course.Stop

	// AddSeeds admits seeds while the crawl runs. SeedsAdded answers it when they are on disk; under the policy thesis
	// when they are among those that are drawn from.
	AddSeeds struct{ Seeds []reading.Seed }
	// SeedsAdded answers AddSeeds.
	SeedsAdded struct{ Count int }
	// StatusAsked asks how the crawl goes.
	StatusAsked struct{}
)

// candidate is a seed as a partition admits it.
func candidate(s reading.Seed) store.Candidate {
	left := uint8(outlink.UnlimitedDepth)
	if s.Depth >= 0 {
		left = uint8(min(s.Depth, outlink.UnlimitedDepth-1))
	}
	return store.Candidate{URL: s.URL.String(), Host: s.URL.Host(), DepthLeft: left}
}

type (
	seedsTag struct {
		reply *actor.PID
		count int
		left  int // partitions that have not answered
	}
)

// Master is the actor at the head of a crawl. Its desk decides what is lent to whom, and its course when the crawl
// ends; the Master brings messages to them, and their effects to others.
type Master struct {
	o     Options
	log   *logrus.Entry
	state *store.State
	done  chan<- Status // gets the last status, once
	seen  *seen

	hosts      *actor.PID
	partitions []*actor.PID
	fetches    *actor.PID     // the fetch log
	tasks      *actor.PID     // draws tasks, under the policy thesis; nil: what seeds lead to is crawled
	frontier   *crawlFrontier // nil: the Hosts take turns

	lending lending.Options
	desk    *lending.Desk
	rounds  *course.Series
	course  *course.Course
	begun   time.Time      // when the run began, perhaps under another master
	drawn   int            // tasks drawn in this run
	leader  messages.Claim // claim of the master that leads this crawl, if it is another
	latest  latestFailures
	timer   floor.Timer
	lookups lookups
}

// Props makes the Master of an opened state.
func Props(o Options, state *store.State, clocks *lending.Clocks, done chan<- Status, rounds *course.Series,
	seen *seen, log *logrus.Entry) *actor.Props {
	return actor.PropsFromProducer(func() actor.Actor {
		return newMaster(o, state, clocks, done, rounds, seen, log.WithField("actor", "master"))
	})
}

func newMaster(o Options, state *store.State, clocks *lending.Clocks, done chan<- Status, rounds *course.Series,
	seen *seen, log *logrus.Entry) *Master {
	m := &Master{o: o, log: log, state: state, done: done, seen: seen,
		lookups: lookups{o: &o, slots: make(chan struct{}, namesAtOnce)}}
	claim := o.claim
	claim.Boot = o.Boot
	m.lending = lending.Options{Claim: claim, LeaseFor: o.LeaseFor, LeaseMargin: o.LeaseMargin, TickEvery: o.TickEvery,
		LookAhead: o.Hosts.LookAhead, Fetch: o.Fetch, LeasePages: o.Hosts.SharedBudget(), MaxPages: o.MaxPages,
		Requisites: o.Hosts.Admission.Requisites != 0, Visited: o.visited, Partitions: len(state.Partitions),
		Drained: o.Run.Drained, Clocks: clocks, Names: o.Unit == UnitIP,
		Debug: log.Logger.IsLevelEnabled(logrus.DebugLevel)}
	m.desk = lending.New(&m.lending, floor.Now())
	if m.begun = o.Run.Begun; m.begun.IsZero() {
		m.begun = time.Now()
	}
	co := course.Options{Begun: m.begun, Paused: o.Run.Paused, End: o.Run.End, For: o.For, Hours: o.Hours,
		MaxBytes: o.MaxBytes, StallAfter: o.StallAfter, StallLimit: o.StallLimit, Continuous: o.Hosts.Continuous,
		RoundEvery: o.RoundEvery, Tasks: o.TaskURLs > 0, Partitions: len(state.Partitions)}
	if o.Hosts.Again {
		co.Series = rounds
	}
	m.rounds, m.course = rounds, course.New(co, m.desk)
	return m
}

// Receive is the table of contents.
func (m *Master) Receive(ctx actor.Context) {
	switch msg := ctx.Message().(type) {
	case *actor.Started:
		m.start(ctx)
	case *actor.Stopping:
		m.timer.Stop()
		m.lookups.flying.Wait()
	case *messages.Greeting:
		ctx.Respond(&messages.Greeted{UnixMs: time.Now().UnixMilli()})
	case *messages.SlaveRegistered, *messages.WorkRequested, *messages.Report, *messages.TaskRefused,
		*lending.SlaveLost, *lending.SlaveRefused, *lending.DrainSlave, *lending.ResumeSlave, *lending.Named,
		*protocol.HostReady, *protocol.Lent, *protocol.LendRefused, *protocol.LeasesFound, *protocol.FactsRefused,
		*protocol.LeaseUnwanted, *protocol.FactsCommitted, *protocol.FactsStored:
		m.lend(ctx, msg)
	case *protocol.QuietReported, *protocol.StoreStalled, *protocol.StoreResumed, *course.DrawnOut:
		m.tell(ctx, msg)
	case *Begin:
		m.tell(ctx, msg)
		m.drawTasks(ctx)
	case *drawn:
		for urls := range slices.Chunk(msg.urls, m.o.TaskURLs) {
			m.begin(ctx, urls, msg.slaves[0])
			msg.slaves = msg.slaves[1:]
		}
		m.plant(ctx, msg.urls, &seedsTag{})
		m.tell(ctx, &course.SeedsStored{})
	case *Pause, *Resume, *Stop:
		m.tell(ctx, msg)
		ctx.Respond(m.status())
	case *StatusAsked:
		ctx.Respond(m.status())
	case *runAsked:
		status := m.course.Status()
		ctx.Respond(&Run{Paused: status.State == Paused, End: status.End, Drained: maps.Clone(m.desk.Drained())})
	case *clocksAsked:
		ctx.Respond(sharedBy(m.lending.Clocks, msg.hosts))
	case *RivalSeen:
		m.meet(ctx, msg)
	case *protocol.Written:
		if tag, ok := msg.Tag.(*seedsTag); ok {
			m.tell(ctx, &course.SeedsStored{})
			tag.stored(ctx)
		}
	case *protocol.Ordered:
		ctx.Send(m.hosts, &protocol.ToHost{Host: msg.Host, Message: &protocol.Ordered{Order: msg.Order,
			Reply: ctx.Sender()}})
	case *protocol.OrderDone:
		if pid, ok := msg.Reply.(*actor.PID); ok {
			ctx.Send(pid, msg)
		} else {
			m.tell(ctx, msg)
		}
	case *protocol.Notice:
		ctx.Forward(m.partitions[m.state.PartitionOf(msg.Host)])
	case *AddSeeds:
		m.addSeeds(ctx, msg)
	case *FetchesAsked:
		ctx.Forward(m.fetches)
	case *course.Tick:
		m.timer.After(ctx, m.o.TickEvery, msg)
		m.tell(ctx, msg)
		m.drawTasks(ctx)
		m.lend(ctx, &lending.Tick{Storing: m.course.Storing()})
	case *actor.DeadLetterResponse: // the actor of a slave is gone: its leases end by themselves
	default:
		floor.Unhandled(ctx, m.log)
	}
}

func (m *Master) start(ctx actor.Context) {
	if m.o.Partition.Rounds = m.o.Hosts.Again; !m.o.Hosts.Continuous && !m.o.Hosts.Again {
		m.o.Partition.DueAhead = 0
	}
	steering, err := m.steer(ctx)
	floor.Need(err, "begin the crawl")
	m.hosts = floor.SpawnAs(ctx, hosts.Props(m.o.Hosts, ctx.Self(), m.log), "hosts")
	for i := range m.state.Partitions {
		m.partitions = append(m.partitions, floor.SpawnAs(ctx,
			partition.Props(m.o.Partition, steering, m.state, i, m.hosts, ctx.Self(), m.log),
			fmt.Sprintf("partition/%d", i)))
	}
	partition.Introduce(ctx.Send, m.partitions)
	ctx.Send(m.hosts, &protocol.ScopeChanged{Scope: m.seen.scope.Load()})
	ctx.Send(m.hosts, &hosts.Introduction{Partitions: m.partitions, PartitionOf: m.state.PartitionOf,
		Skips: floor.SpawnAs(ctx, hosts.SkipsProps(m.o.Dir, m.log), "skips")})
	m.fetches = floor.SpawnAs(ctx, fetchLogProps(m.o.Dir, m.log), "fetches")
	m.tell(ctx, &course.Opened{})
	m.timer.After(ctx, m.o.TickEvery, &course.Tick{})
}

// steer makes what has the crawl go otherwise than breadth-first. It reads what waits, before more can be admitted.
func (m *Master) steer(ctx actor.Context) (partition.Steering, error) {
	var o partition.Steering
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
	if m.o.TaskURLs > 0 {
		t := newTasks(&m.o, m.state, m.seen.scope.Load())
		if err := t.begin(); err != nil {
			return o, err
		}
		m.tasks = floor.SpawnAs(ctx, actor.PropsFromProducer(func() actor.Actor { return t }), "tasks")
		o.Collector = collector{ctx.ActorSystem().Root, m.tasks}
	}
	if about := m.o.Hosts.Admission.Topic; about != nil {
		m.log.WithField("terms", about.Terms()).Info("crawl has a topic")
		m.o.Hosts.Follow = false // a slave follows links in the order of its pages
		o.Rising = true
	}
	if m.o.Frontier.Policy == "" || m.o.Frontier.Policy == frontier.PolicyHost {
		return o, nil
	}
	m.o.Hosts.Follow = false // pages that are followed are not handed out by the frontier
	if m.frontier, err = newCrawlFrontier(&m.o, m.state, ranks); err == nil {
		o.Gate, m.lending.Frontier = m.frontier, m.frontier
	}
	return o, err
}

// lend tells the desk a fact, and carries out what follows.
func (m *Master) lend(ctx actor.Context, fact any) {
	var from lending.Address
	if sender := ctx.Sender(); sender != nil {
		from = sender
	}
	open := m.desk.OpenCount()
	effects, known := m.desk.Updated(floor.Now(), from, fact)
	if !known {
		panic(fmt.Errorf("the lending does not know %T", fact))
	}
	for i := range effects {
		m.carry(ctx, &effects[i])
	}
	if open > 0 && m.desk.OpenCount() == 0 {
		m.tell(ctx, &course.LastClosed{})
	}
	if m.desk.Spent() {
		m.tell(ctx, &Stop{Why: PageLimit})
	}
}

// carry carries out one effect of the desk.
func (m *Master) carry(ctx actor.Context, e *lending.Effect) {
	switch msg := e.Message.(type) {
	case *lending.Sought:
		m.lookups.begin(ctx, msg.Host)
	case *lending.Heard:
		m.tell(ctx, msg)
	case *lending.Reported:
		now := time.Now()
		for _, fact := range msg.Facts {
			m.latest.note(now, msg.Host, fact)
		}
		ctx.Send(m.fetches, &fetchesReported{slave: msg.Slave, at: now, facts: msg.Facts})
	case *lending.RunChanged:
		m.keepRun()
	case *lending.Said:
		m.write(msg)
	case *protocol.ResourcesChanged:
		m.seen.sent.Store(msg)
		m.seen.most.Store(max(m.seen.most.Load(), int64(msg.Connections)))
		ctx.Send(m.hosts, msg)
	default:
		to := m.hosts
		if e.To == lending.Actor {
			to = e.Address.(*actor.PID)
		}
		ctx.Request(to, msg)
	}
}

// write writes a line of the log.
func (m *Master) write(said *lending.Said) {
	level, err := logrus.ParseLevel(said.Level)
	floor.Need(err, "write a line of the log")
	m.log.WithFields(said.Fields).Log(level, said.Phrase)
}

// tell tells the course a fact, and carries out what follows.
func (m *Master) tell(ctx actor.Context, fact any) {
	for _, effect := range m.course.Updated(time.Now(), fact) {
		switch msg := effect.(type) {
		case *lending.Halted, *lending.Resumed:
			m.lend(ctx, msg)
		case *lending.Said:
			m.write(msg)
		case *course.RunChanged:
			m.keepRun()
		case *course.RoundsChanged: // if they are lost, an interrupted round begins again
			if err := m.o.writeJSON(roundsName, m.rounds.All()); err != nil {
				m.log.WithField("err", err).Error("the rounds cannot be written down")
			}
		case *course.DrawnOutAsked:
			ctx.Request(m.tasks, msg)
		case *course.CrawlEnded:
			status := m.status()
			m.log.WithFields(logrus.Fields{"end": status.End, "pages": status.Totals.Pages,
				"links": status.Totals.Links}).Info("the crawl has ended")
			m.done <- *status
		default: // for all Partitions
			for _, partition := range m.partitions {
				ctx.Request(partition, msg)
			}
		}
	}
}

// RivalSeen says that another master of the same crawl is there, or that its term is another than before.
type RivalSeen struct {
	messages.Claim
	Name, Address string
}

// meet decides which of two masters leads. The other lends nothing and takes no facts. It does not end by itself: if
// something started it again, it would open its state in a greater term, and lead.
func (m *Master) meet(ctx actor.Context, msg *RivalSeen) {
	log := m.log.WithFields(logrus.Fields{"master": msg.Name, "address": msg.Address, "its": msg.Term,
		"term": m.o.claim.Term})
	switch {
	case msg.Beats(m.o.claim) && (m.leader.Boot == "" || msg.Beats(m.leader)):
		m.leader = msg.Claim
		m.lend(ctx, &lending.Deposed{By: msg.Claim})
		m.tell(ctx, &course.RivalLeads{})
		log.Error("another master leads this crawl: this one lends nothing more and stores nothing more. " +
			"Keep one of the two states, and end this master")
	case m.o.claim.Beats(msg.Claim):
		log.Warn("another master has this crawl open, in a smaller term: slaves ignore it. End it")
	}
}

// drawTasks draws a task for each connection for which there is no host to ask. A host that is ready within the
// shortest interval counts as one; no connection waits for a host that rests after failures, or by its Crawl-delay.
func (m *Master) drawTasks(ctx actor.Context) {
	if m.tasks == nil || !m.course.Draws() {
		return
	}
	soon := floor.Now().Add(m.o.Hosts.Politeness.Floor + m.o.Hosts.LookAhead)
	connections, _ := m.desk.Connections()
	slaves := make([]string, max(0, connections-m.desk.OpenCount()-m.desk.ReadyBefore(soon)))
	if m.o.Whole {
		slaves = m.desk.Lacking(soon)
	}
	if len(slaves) > 0 {
		m.tell(ctx, &course.SeedsSent{Writes: 1})
		ctx.Request(m.tasks, &draw{slaves})
	}
}

// begin counts a task that was drawn for a slave. One that is lent whole is bound to it.
func (m *Master) begin(ctx actor.Context, urls []reading.Seed, slave string) {
	m.drawn++
	task := &lending.TaskDrawn{Slave: slave}
	for i := 0; m.o.Whole && i < len(urls); i++ {
		task.Hosts = append(task.Hosts, urls[i].URL.Host())
	}
	m.lend(ctx, task)
}

// addSeeds widens the scope by seeds, keeps them in the definition of the crawl, and admits them.
func (m *Master) addSeeds(ctx actor.Context, msg *AddSeeds) {
	msg.Seeds = slices.DeleteFunc(msg.Seeds, func(s reading.Seed) bool { return posted.Is(s.URL.String()) })
	if m.o.defined != nil {
		if err := m.o.defined.keep(msg.Seeds); err != nil {
			m.log.WithField("err", err).Error("seeds cannot be written to the definition of the crawl: their links " +
				"will be out of scope when it is resumed")
		}
	}
	urls := make([]weburl.URL, len(msg.Seeds))
	for i, seed := range msg.Seeds {
		urls[i] = seed.URL
	}
	rules := m.seen.scope.Load().With(urls...)
	m.seen.scope.Store(rules)
	ctx.Send(m.hosts, &protocol.ScopeChanged{Scope: rules})
	tag := &seedsTag{reply: ctx.Sender(), count: len(msg.Seeds)}
	if m.tasks != nil {
		ctx.Send(m.tasks, &widened{rules, msg.Seeds})
		tag.answer(ctx)
		return
	}
	m.plant(ctx, msg.Seeds, tag)
}

// plant admits URLs to begin from.
func (m *Master) plant(ctx actor.Context, seeds []reading.Seed, tag *seedsTag) {
	candidates := make([][]store.Candidate, len(m.partitions))
	for _, seed := range seeds {
		owner := m.state.PartitionOf(seed.URL.Host())
		candidates[owner] = append(candidates[owner], candidate(seed))
	}
	for i, group := range candidates {
		if len(group) > 0 {
			tag.left++
			m.tell(ctx, &course.SeedsSent{Writes: 1})
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
