// Package slave crawls what it is lent.
//
// A Slave asks its master for hosts, gives each to a Fetcher of its own, and reports what came of it. It keeps nothing
// that is not in a WARC or with the master: facts wait here, in order, until the master says they are stored.
//
//	          TaskBatch            HostTask              bytes as they came           records
//	Master ─────────────► Slave ─────────────► Fetcher ───────────────────► Parser ────────────► Archivist
//	   ▲                    ▲   a Fetcher a lease  ▲  links to follow          │                     │ synced
//	   └────────────────────┴──────────────────────┴───────────────────────────┴─────────────────────┘
//	      facts, until stored
//
// Invariants:
//   - one lease, one Fetcher, one request at a time but for hosts that consent to several, and no more requests than
//     connections;
//   - the lease's end is looked at on the monotonic and the wall clock right before each request, since the monotonic
//     clock stands still while a machine sleeps;
//   - a lease counts from the moment this slave asked for it, so it never ends later here than at the master;
//   - a fact is sent only once its WARC record is synced, in the order of the visits of its lease, and again until
//     stored;
//   - at most UnstoredFacts facts are kept, and KeptBytes of responses, records and facts: at the bound nothing more is
//     fetched, of bytes by those leases that keep more than their share.
//
// Memory that actors share: the window belongs to the Slave. It holds atomic counts alone, which Fetchers read before
// each request, and which change with each response; as messages they would be as many as the pages.
package slave

import (
	"maps"
	"math"
	"slices"
	"strconv"
	"time"

	"github.com/asynkron/protoactor-go/actor"
	"github.com/sirupsen/logrus"

	"henro/actors/archivist"
	"henro/actors/floor"
	"henro/messages"
	"henro/slave/owed"
	"henro/slave/recall"
	"henro/slave/render"
	"henro/slave/walk"
	"henro/slave/walls/alike"
)

// Messages that the node around a slave sends it.
type (
	// MasterSeen says where a master is, and what it claims: a fact of the gossip, or of the process that embeds both.
	// Of the masters of a crawl a slave works for the one with the greatest term.
	MasterSeen struct {
		PID *actor.PID
		messages.Claim
	}
	// MasterLost says that the gossip lost a master. Leases run on until they end.
	MasterLost struct{ Boot string }
	// Drain asks the slave to finish or return its leases, and to take no more; it answers Drained once all is stored,
	// or once all is finished and no master takes it.
	Drain struct{}
	// Drained answers Drain. What is unstored is lost with the slave, and will be fetched again.
	Drained struct{ Unstored int }
	// CountsAsked asks for Counts.
	CountsAsked struct{}
	// Counts is what a slave has done since its start.
	Counts struct {
		Leases   int   `json:"leases"`
		Unstored int   `json:"unstored"` // facts not acknowledged yet
		Visits   int64 `json:"visits"`
		Bytes    int64 `json:"bytes"`
		// Identical counts answers whose payload the archive held already, perhaps of another URL, and IdenticalBytes
		// their payloads, which were not stored again.
		Identical      int64  `json:"identical"`
		IdenticalBytes int64  `json:"identical_bytes"`
		Master         string `json:"master,omitempty"` // boot of the one that welcomed it; empty: none has
	}
)

type (
	askTick struct{}
	// factMade is sent by a Fetcher or a Parser: a fact of a lease, whole and durable. From then on the Slave owes it.
	factMade struct {
		owed.Fact
		lease uint64
		bytes int      // of links and of records on their way to the archive, counted by kept
		kept  *account // nil: nothing is counted
	}
	fetcherGone struct { // by a Fetcher that has made its end
		lease  uint64
		failed bool                  // it panicked: what it had not reported was not visited
		broke  *messages.PageVisited // with failed: the visit under way, as one that failed; nil: there was none
	}
)

// count counts bytes of a fact that is on its way to the Slave.
func (m *factMade) count(bytes int) {
	m.bytes += bytes
	m.kept.Keep(0, bytes)
}

// ActorName is where other nodes find the Slave.
const ActorName = "slave"

// masterSilence is how many requests for work may go unanswered before the slave registers again.
const masterSilence = 5

// farewell is how long a slave that has finished everything waits for a master to take its facts: as long as a master
// needs to be started again.
const farewell = 10 * time.Second

// Slave is the actor that holds leases and owes facts.
type Slave struct {
	o   Options
	log *logrus.Entry

	archivist *actor.PID
	parsers   parsers
	window    *window // how many facts are kept: written here, read by the fetchers
	gate      *gate   // the connections, which the fetchers take

	bond     bond
	settings *settings
	renderer *render.Renderer // nil: no scripts are run
	book     *recall.Book     // what the process before had archived last
	leases   map[uint64]*lent
	// leases that are over, by the serial of the latest request then: a copy of their task may still be under way
	ended    map[uint64]uint64
	ticking  floor.Timer
	room     room
	draining bool
	ending   bool         // its children end, and none may be added
	drainers []*actor.PID // who asked, and was not answered yet
	counts   Counts
}

// lent is one lease as this slave sees it.
type lent struct {
	host    string
	kept    *account
	fetcher *actor.PID // nil when it has finished
	owed    owed.Lease
}

// tell sends the Fetcher of a lease something, if it has not finished.
func (l *lent) tell(ctx actor.Context, message any) {
	if l != nil && l.fetcher != nil {
		ctx.Send(l.fetcher, message)
	}
}

// parsers are those of a slave.
type parsers struct {
	all   []*actor.PID
	heavy *actor.PID // that of large pages, for which no other page shall wait
}

// Props makes a slave.
func Props(o Options, log *logrus.Entry) (*actor.Props, error) {
	if err := o.Validate(); err != nil {
		return nil, err
	}
	seen := &gossip{}
	return actor.PropsFromProducer(func() actor.Actor {
		return &Slave{
			o: o, log: log.WithField("actor", "slave"), window: newWindow(&o), gate: &gate{free: o.Connections},
			bond: newBond(seen), leases: map[uint64]*lent{}, ended: map[uint64]uint64{},
		}
	}), nil
}

// Receive is the table of contents.
func (s *Slave) Receive(ctx actor.Context) {
	if _, counted := ctx.Message().(*CountsAsked); s.ending && !counted {
		s.Failed(ctx, ctx.Message()) // the gossip says it only once, and the Slave after a restart must know it
		if batch, ok := ctx.Message().(*messages.TaskBatch); ok {
			s.refuse(ctx, batch.Tasks...)
		}
		return
	}
	switch m := ctx.Message().(type) {
	case *actor.Started:
		s.start(ctx)
	case *actor.Stopping, *actor.Restarting:
		s.ticking.Stop()
		s.room.sought.Wait()
		s.settings.close()
		closeRenderer(s)
		s.ending = true
	case *MasterSeen:
		s.bond.see(m)
		s.choose(ctx)
	case *MasterLost:
		s.bond.lose(m)
		s.choose(ctx)
	case *messages.NotLeading:
		s.follow(ctx, m)
	case *messages.SlaveWelcomed:
		s.welcome(ctx, m)
	case *messages.TaskBatch:
		s.takeBatch(ctx, m)
	case *messages.Stored:
		s.forget(ctx, m)
	case *factMade:
		s.keep(ctx, m)
	case *archivist.ArchivedBatch:
		s.keepArchived(ctx, m)
	case *archivist.Failed:
		s.keepFailed(ctx, m)
	case *askTick:
		s.tick(ctx)
	case *roomSought:
		s.takeRoom(ctx, m)
	case *fetcherGone:
		s.releaseFetcher(ctx, m)
	case *Drain:
		s.drain(ctx)
	case *CountsAsked:
		counts := s.counts
		counts.Leases, counts.Unstored, counts.Master = len(s.leases), s.window.used(), s.bond.boot()
		ctx.Respond(&counts)
	case *actor.DeadLetterResponse: // the master is gone: everything is sent again to the next
	default:
		floor.Unhandled(ctx, s.log)
	}
}

// Failed implements floor.Restartable. All leases end by themselves, unrenewed, and what was not reported under them is
// visited again.
func (s *Slave) Failed(_ actor.Context, message any) {
	switch m := message.(type) {
	case *MasterSeen:
		s.bond.see(m)
	case *MasterLost:
		s.bond.lose(m)
	}
}

func (s *Slave) start(ctx actor.Context) {
	s.book = recall.Of(&s.o.Archive, s.o.UnstoredFacts, s.log)
	s.archivist = floor.SpawnAs(ctx, archivist.Props(s.o.Archive, s.log), "archivist")
	hosts := &alike.Hosts{}
	parser := func(name string) *actor.PID {
		return floor.SpawnAs(ctx, parserProps(s.o, s.archivist, ctx.Self(), s.log, hosts), "parser/"+name)
	}
	for i := range s.o.Parsers {
		s.parsers.all = append(s.parsers.all, parser(strconv.Itoa(i)))
	}
	s.parsers.heavy = parser("large")
	s.ticking.After(ctx, s.o.AskEvery, &askTick{})
	s.choose(ctx)
}

// tick asks for work, renews, and repeats what was not acknowledged.
func (s *Slave) tick(ctx actor.Context) {
	s.ticking.After(ctx, s.o.AskEvery, &askTick{})
	s.checkDrained(ctx)
	s.seekRoom(ctx)
	if s.choose(ctx) || s.bond.master == nil {
		return
	}
	if time.Since(s.bond.heardAt) > masterSilence*s.o.AskEvery {
		s.bond.welcomed = false // it may have been restarted and not know this slave
	}
	if !s.bond.welcomed {
		s.register(ctx)
		return
	}
	s.ask(ctx)
	s.repeat(ctx, s.o.ResendAfter)
}

// repeat reports again what was reported so long ago and is not stored.
func (s *Slave) repeat(ctx actor.Context, after time.Duration) {
	for _, l := range s.leases {
		l.owed.Repeat(time.Now(), after)
		s.report(ctx, l)
	}
}

// register says who this is and what it holds. What was asked for before is asked for no more: a batch that is still on
// its way is refused, so that the master may take a lease that is not held now to be lost.
func (s *Slave) register(ctx actor.Context) {
	clear(s.bond.asked)
	ctx.Request(s.bond.master, &messages.SlaveRegistered{
		Slave: s.o.Name, Boot: s.o.Boot, Version: s.o.Version, Address: s.o.Address,
		Connections: uint32(s.o.Connections), Held: s.heldLeases(),
		Crawl: s.bond.latest.Crawl, Term: s.bond.latest.Term,
	})
}

func (s *Slave) heldLeases() []uint64 { return slices.Collect(maps.Keys(s.leases)) }

// welcome takes the master's settings. A master that was restarted gets again what it may have missed.
func (s *Slave) welcome(ctx actor.Context, m *messages.SlaveWelcomed) {
	if !s.bond.mayWelcome(m) {
		return
	}
	made, err := makeSettings(m.Fetch, s.o, s.log)
	if err != nil {
		s.log.WithField("err", err).Error("the master's settings of fetching cannot be used here")
		return
	}
	s.settings.close()
	s.settings = made
	openRenderer(s)
	s.bond.tie(m)
	for _, id := range m.Unknown {
		s.drop(ctx, id)
	}
	ctx.Send(s.archivist, &archivist.Describe{Operator: m.Fetch.Operator, UserAgent: m.Fetch.UserAgent})
	s.log.WithFields(logrus.Fields{"master": m.MasterBoot, "term": m.Term, "lease": s.bond.leaseFor}).Info("welcomed")
	s.repeat(ctx, 0)
	s.ask(ctx)
}

// turnover is for how many requests for work a lease that has ended counts beside those that are held: its successor
// is on its way. To store the end of one and the beginning of the next takes up to a second each.
const turnover = 4

func (s *Slave) ask(ctx actor.Context) {
	use := s.gate.use()
	slots := min(s.o.Leases(), 2*s.o.Connections+use.resting+turnover*len(s.ended)/askedKept)
	if s.room.wait(s.o.Waits, s.log) {
		s.finishAll(ctx, "archive")
	}
	if s.room.waits != "" || s.draining || s.room.lacking {
		slots = 0
	}
	serial := s.bond.ask()
	maps.DeleteFunc(s.ended, func(_, then uint64) bool { return then+askedKept <= serial })
	memory, goroutines := floor.Footprint()
	ctx.Request(s.bond.master, &messages.WorkRequested{
		Slave: s.o.Name, Boot: s.o.Boot, Serial: serial, HostSlots: uint32(slots),
		PageSlots: uint32(s.window.free()), Held: s.heldLeases(),
		Unstored: uint32(s.window.used()), MemoryBytes: memory, Goroutines: uint32(goroutines),
		Mailboxes: s.o.mailboxes(), Term: s.bond.term,
		BusyNs: int64(use.busy), UnderWay: uint32(use.underWay), Queued: uint32(use.waiting), Waits: s.room.waits,
	})
}

func (s *Slave) takeBatch(ctx actor.Context, m *messages.TaskBatch) {
	askedAt, ok := s.bond.answered(m, s.log)
	if !ok {
		s.refuse(ctx, m.Tasks...)
		return
	}
	until := askedAt.Add(s.bond.leaseFor)
	for _, id := range m.Renewed {
		s.leases[id].tell(ctx, &renew{until: until})
	}
	for _, id := range m.Revoked {
		s.leases[id].tell(ctx, &finish{why: "revoked", cut: m.Cut})
	}
	for _, task := range m.Tasks {
		s.takeTask(ctx, task, until)
	}
}

func (s *Slave) takeTask(ctx actor.Context, task *messages.HostTask, until time.Time) {
	if _, over := s.ended[task.Lease]; over || s.leases[task.Lease] != nil {
		return // sent twice
	}
	if s.draining || s.room.lacking || !walk.Held(time.Now(), until) {
		s.refuse(ctx, task)
		return
	}
	kept := s.window.open(task.Host)
	props := fetcherProps(&assignment{task: task, until: until, settings: s.settings, parsers: s.parsers,
		slave: ctx.Self(), kept: kept, gate: s.gate, log: s.log, scripts: scriptsOf(s, task), book: s.book})
	s.leases[task.Lease] = &lent{host: task.Host, kept: kept, owed: owed.New(task.Lease, task.Host, kept),
		fetcher: floor.SpawnAs(ctx, props, "fetcher/"+task.Host)}
}

// refuse answers the sender of tasks, which may be a master that is gone by now.
func (s *Slave) refuse(ctx actor.Context, tasks ...*messages.HostTask) {
	for _, task := range tasks {
		ctx.Request(ctx.Sender(), &messages.TaskRefused{Slave: s.o.Name, Boot: s.o.Boot, Lease: task.Lease,
			Host: task.Host})
	}
}

// keep puts durable facts in order and sends what has become whole, each lease's together: what a sync has covered is
// one Report of a lease, and one message from actor to actor until it is stored.
func (s *Slave) keep(ctx actor.Context, made ...*factMade) {
	for _, m := range made {
		if m.kept != nil {
			m.kept.Keep(0, -m.bytes) // its fact is counted from now on
		}
		if l := s.leases[m.lease]; l != nil && l.owed.Put(&m.Fact) && m.Message.Visited != nil {
			s.count(m.Message.Visited)
		}
		failed(s, m.Message, s.leases[m.lease])
	}
	for _, m := range made {
		if l := s.leases[m.lease]; l != nil {
			s.report(ctx, l)
		}
	}
}

func (s *Slave) count(v *messages.PageVisited) {
	s.counts.Visits++
	s.counts.Bytes += int64(v.BodyBytes)
	if v.IdenticalBytes > 0 {
		s.counts.Identical++
		s.counts.IdenticalBytes += int64(v.IdenticalBytes)
	}
	if s.o.Fetched != nil {
		s.o.Fetched(time.Duration(v.TookNs))
	}
}

func (s *Slave) keepArchived(ctx actor.Context, m *archivist.ArchivedBatch) {
	made := make([]*factMade, len(m.Captures))
	for i, a := range m.Captures {
		made[i] = a.Tag.(*factMade)
		if v := made[i].Message.Visited; v != nil {
			v.WarcFile, v.WarcOffset, v.WarcBytes = a.File, uint64(a.Offset), uint64(a.Length)
			if !v.Unasked {
				s.renderer.Archived(v.Url, time.Unix(v.CapturedUnix, 0), a.File, a.Offset)
			}
		}
	}
	s.keep(ctx, made...)
}

// report sends the facts of a lease that are not under way.
func (s *Slave) report(ctx actor.Context, l *lent) {
	if !s.bond.welcomed {
		return
	}
	for _, facts := range l.owed.Report(time.Now()) {
		ctx.Request(s.bond.master, &messages.Report{Slave: s.o.Name, Boot: s.o.Boot, Facts: facts, Term: s.bond.term})
	}
}

// forget drops what is on the master's disk. What a master has stored that does not lead any more is not on the disk of
// the one that does.
func (s *Slave) forget(ctx actor.Context, m *messages.Stored) {
	if !s.bond.ofThisTerm(m.Term, s.log) {
		return
	}
	for i, id := range m.Leases {
		if l := s.leases[id]; l != nil && l.owed.Forget(m.Seqs[i]) {
			s.drop(ctx, id)
		}
	}
	s.window.storedAt.Store(time.Now().UnixNano())
	s.checkDrained(ctx)
}

// drop forgets a lease and all that is owed under it.
func (s *Slave) drop(ctx actor.Context, id uint64) {
	l := s.leases[id]
	if l == nil {
		return
	}
	l.tell(ctx, &finish{why: "unknown", cut: true}) // the master does not know it: it may be lent to another
	l.owed.Forget(math.MaxUint64)
	s.window.close(l.host, l.kept)
	delete(s.leases, id)
	s.ended[id] = s.bond.serial
	s.checkDrained(ctx)
}

// releaseFetcher ends a Fetcher that has finished. Its last captures may wait for others to share a sync. When fewer
// hosts are asked than there are Parsers, that wait only costs time, since the host's next lease comes after the sync:
// so the Archivist is asked to sync now.
func (s *Slave) releaseFetcher(ctx actor.Context, m *fetcherGone) {
	l := s.leases[m.lease]
	if l == nil || l.fetcher == nil {
		return
	}
	ctx.Poison(l.fetcher)
	l.fetcher = nil
	if m.failed {
		l.owed.Break(time.Now(), m.broke)
		s.report(ctx, l)
	}
	if l.owed.Waiting() && s.idle() {
		ctx.Send(s.archivist, &archivist.Sync{})
	}
}

// idle reports that fewer hosts are being asked than there are Parsers.
func (s *Slave) idle() bool {
	busy := 0
	for _, l := range s.leases {
		if l.fetcher == nil {
			continue
		}
		if busy++; busy >= len(s.parsers.all) {
			return false
		}
	}
	return true
}

func (s *Slave) drain(ctx actor.Context) {
	s.draining, s.drainers = true, append(s.drainers, ctx.Sender())
	s.finishAll(ctx, "draining")
	s.checkDrained(ctx)
}

// finishAll has all leases end.
func (s *Slave) finishAll(ctx actor.Context, why string) {
	for _, l := range s.leases {
		l.tell(ctx, &finish{why: why})
	}
}

// checkDrained answers who asked for the draining, when nothing is left to wait for.
func (s *Slave) checkDrained(ctx actor.Context) {
	for _, l := range s.leases {
		if l.fetcher != nil || time.Since(s.bond.heardAt) < farewell {
			return
		}
	}
	for _, who := range s.drainers {
		ctx.Send(who, &Drained{Unstored: s.window.used()})
	}
	s.drainers = nil
}
