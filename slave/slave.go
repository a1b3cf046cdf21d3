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
//   - one lease, one Fetcher, one request at a time, and no more requests than connections;
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
	"fmt"
	"maps"
	"math"
	"sync"
	"time"

	"github.com/asynkron/protoactor-go/actor"
	"github.com/sirupsen/logrus"
	"google.golang.org/protobuf/proto"

	"henro/actors/admission"
	"henro/actors/archivist"
	"henro/actors/floor"
	"henro/actors/scope"
	"henro/messages"
	"henro/slave/cookies"
	"henro/slave/fetch"
	"henro/store/archive/warc"
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
	// factMade is sent by a Fetcher or a Parser: the order-th fact of a lease, whole and durable. From then on the
	// Slave owns it, until it is stored.
	factMade struct {
		lease, order uint64
		fact         *messages.Fact
		started      time.Time // of the request: its age is sent
		bytes        int       // of links and of records on their way to the archive, counted by kept
		kept         *account  // nil: nothing is counted

		size int  // bytes of fact once it has its number
		aged bool // its age has been set, and the master of this process may be reading it
		sent bool
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
	m.kept.keep(bytes)
}

// ActorName is where other nodes find the Slave.
const ActorName = "slave"

// archiveRest is how long no work is asked for after captures could not be written, until room is looked for again.
const archiveRest = 3 * time.Second

// archiveRoom is how much can be written before work is asked for again: some hundred captures, so that a disk that has
// room for a few bytes does not have pages fetched that it cannot hold.
const archiveRoom = 8 << 20

// roomSought says whether there is room in the archive again.
type roomSought struct{ err error }

// masterSilence is how many requests for work may go unanswered before the slave registers again.
const masterSilence = 5

// farewell is how long a slave that has finished everything waits for a master to take it: as long as one needs to be
// started again.
const farewell = 10 * time.Second

// maxServed bounds the hosts whose service tags are known beyond their leases, at some 100 bytes each; when there are
// more, all of them start again.
const maxServed = 4096

// maxReport is how large one message may become: far under the 16 MB that a batch of 64 may have.
const maxReport = 128 << 10

// Slave is the actor that holds leases and owes facts.
type Slave struct {
	o   Options
	log *logrus.Entry

	archivist *actor.PID
	parsers   []*actor.PID
	heavy     *actor.PID // the Parser of large pages, for which no other page shall wait
	window    *window    // how many facts are kept: written here, read by the fetchers
	gate      *gate      // the connections, which the fetchers take

	gossip     *gossip
	master     *actor.PID     // nil: none known
	claim      messages.Claim // of it, as the gossip says
	masterBoot string         // that welcomed this slave; "": not welcomed yet
	term       uint64         // of the messages that are taken: that of the master
	heardAt    time.Time      // of the master
	leaseFor   time.Duration
	rules      *rules
	leases     map[uint64]*lent
	// leases that are over, by the serial of the latest request then: a copy of their task may still be under way
	ended    map[uint64]uint64
	served   map[string]int64 // service tags of hosts whose leases are over, where they are beyond the virtual time
	serial   uint64
	asked    map[uint64]time.Time // when a WorkRequested was sent, by serial; the last few
	ticking  floor.Timer
	draining bool
	drainers []*actor.PID // who asked, and was not answered yet
	stopped  bool         // captures could not be written, and no room was found since
	seeking  bool         // room is looked for
	sought   sync.WaitGroup
	resting  time.Time // no room is looked for until then
	counts   Counts
}

// lent is one lease as this slave sees it.
type lent struct {
	host     string
	kept     *account
	fetcher  *actor.PID // nil when it has finished
	made     map[uint64]*factMade
	next     uint64      // order of the fact that is due next
	seq      uint64      // of the last fact given a number
	unstored []*factMade // numbered, and not acknowledged
	sentAt   time.Time
}

// unsent reports that facts have got their number and were not sent.
func (l *lent) unsent() bool { return len(l.unstored) > 0 && !l.unstored[len(l.unstored)-1].sent }

// rules are the master's, with what is made of them.
type rules struct {
	*messages.FetchRules
	client     *fetch.Client
	scope      *scope.Rules    // the patterns alone: regions come with each lease
	admission  admission.Rules // but for MaxRedirects, which comes with each lease
	cookieFile *cookies.File   // nil: none
}

// Props makes a slave.
func Props(o Options, log *logrus.Entry) (*actor.Props, error) {
	if err := o.Validate(); err != nil {
		return nil, err
	}
	seen := &gossip{}
	return actor.PropsFromProducer(func() actor.Actor {
		return &Slave{
			o: o, gossip: seen, log: log.WithField("actor", "slave"), leases: map[uint64]*lent{},
			ended: map[uint64]uint64{}, served: map[string]int64{}, window: newWindow(&o),
			gate: &gate{free: o.Connections},
			// a batch for an older boot at this address is answered by no serial of this one
			asked: map[uint64]time.Time{}, serial: uint64(time.Now().UnixNano()),
		}
	}), nil
}

// Receive is the table of contents.
func (s *Slave) Receive(ctx actor.Context) {
	switch m := ctx.Message().(type) {
	case *actor.Started:
		s.start(ctx)
	case *actor.Stopping, *actor.Restarting:
		s.ticking.Stop()
		s.sought.Wait()
		s.forgetRules()
	case *MasterSeen:
		s.gossip.see(m)
		s.choose(ctx)
	case *MasterLost:
		s.gossip.lose(m)
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
		counts.Leases, counts.Unstored, counts.Master = len(s.leases), s.window.used(), s.masterBoot
		ctx.Respond(&counts)
	case *actor.DeadLetterResponse: // the master is gone: everything is sent again to the next
	case actor.SystemMessage, actor.AutoReceiveMessage:
	default:
		floor.Unhandled(ctx, s.log)
	}
}

// Failed implements floor.Restartable. All leases end by themselves, unrenewed, and what was not reported under them is
// visited again.
func (s *Slave) Failed(_ actor.Context, message any) {
	switch m := message.(type) {
	case *MasterSeen:
		s.gossip.see(m)
	case *MasterLost:
		s.gossip.lose(m)
	}
}

func (s *Slave) start(ctx actor.Context) {
	s.archivist = floor.SpawnAs(ctx, archivist.Props(s.o.Archive, s.log), "archivist")
	for i := range s.o.Parsers {
		s.parsers = append(s.parsers, floor.SpawnAs(ctx, parserProps(s.o, s.archivist, ctx.Self(), s.log),
			fmt.Sprintf("parser/%d", i)))
	}
	s.heavy = floor.SpawnAs(ctx, parserProps(s.o, s.archivist, ctx.Self(), s.log), "parser/large")
	s.ticking.After(ctx, s.o.AskEvery, &askTick{})
	s.choose(ctx)
}

// askedKept is how many requests may be answered: an answer to an older one comes too late.
const askedKept = 16

// tick asks for work, renews, and repeats what was not acknowledged.
func (s *Slave) tick(ctx actor.Context) {
	s.ticking.After(ctx, s.o.AskEvery, &askTick{})
	s.checkDrained(ctx)
	s.seekRoom(ctx)
	if s.choose(ctx) || s.master == nil {
		return
	}
	if s.masterBoot != "" && time.Since(s.heardAt) > masterSilence*s.o.AskEvery {
		s.masterBoot = "" // it may have been restarted and not know this slave
	}
	if s.masterBoot == "" {
		s.register(ctx)
		return
	}
	s.ask(ctx)
	for _, l := range s.leases {
		if len(l.unstored) > 0 && time.Since(l.sentAt) >= s.o.ResendAfter {
			for _, fact := range l.unstored {
				fact.sent = false
			}
			s.report(ctx, l)
		}
	}
}

// register says who this is and what it holds. What was asked for before is asked for no more: a batch that is still on
// its way is refused, so that the master may take a lease that is not held now to be lost.
func (s *Slave) register(ctx actor.Context) {
	clear(s.asked)
	ctx.Request(s.master, &messages.SlaveRegistered{
		Slave: s.o.Name, Boot: s.o.Boot, Version: s.o.Version, Address: s.o.Address,
		Connections: uint32(s.o.Connections), Held: s.heldLeases(),
		Crawl: s.gossip.latest.Crawl, Term: s.gossip.latest.Term,
	})
}

func (s *Slave) heldLeases() []uint64 {
	held := make([]uint64, 0, len(s.leases))
	for id := range s.leases {
		held = append(held, id)
	}
	return held
}

// welcome takes the master's rules. A master that was restarted gets again what it may have missed.
func (s *Slave) welcome(ctx actor.Context, m *messages.SlaveWelcomed) {
	claim := messages.Claim{Crawl: m.Crawl, Term: m.Term, Boot: m.MasterBoot}
	if m.MasterBoot == s.masterBoot || m.MasterBoot != s.claim.Boot || s.gossip.latest.Beats(claim) {
		return // it has, or it was given up meanwhile
	}
	made, err := s.makeRules(m.Fetch)
	if err != nil {
		s.log.WithField("err", err).Error("the master's rules of fetching cannot be used here")
		return
	}
	s.forgetRules()
	s.heardAt = time.Now()
	s.rules, s.masterBoot, s.leaseFor = made, m.MasterBoot, time.Duration(m.LeaseNs)
	s.claim, s.term = claim, m.Term
	s.gossip.follow(s.master, claim)
	for _, id := range m.Unknown {
		s.drop(ctx, id)
	}
	ctx.Send(s.archivist, &archivist.Describe{Operator: m.Fetch.Operator, UserAgent: m.Fetch.UserAgent,
		Standing: made.client.Standing()})
	s.log.WithFields(logrus.Fields{"master": m.MasterBoot, "term": m.Term, "lease": s.leaseFor}).Info("welcomed")
	for _, l := range s.leases {
		for _, fact := range l.unstored {
			fact.sent = false
		}
		s.report(ctx, l)
	}
	s.ask(ctx)
}

func (s *Slave) ask(ctx actor.Context) {
	use := s.gate.use()
	slots := min(s.o.Leases(), 2*s.o.Connections+use.resting)
	if s.draining || s.rules == nil || s.stopped {
		slots = 0
	}
	s.serial++
	s.asked[s.serial] = time.Now()
	delete(s.asked, s.serial-askedKept)
	maps.DeleteFunc(s.ended, func(_, serial uint64) bool { return serial+askedKept <= s.serial })
	memory, goroutines := floor.Footprint()
	ctx.Request(s.master, &messages.WorkRequested{
		Slave: s.o.Name, Boot: s.o.Boot, Serial: s.serial, HostSlots: uint32(slots),
		PageSlots: uint32(s.window.free()), Held: s.heldLeases(),
		Unstored: uint32(s.window.used()), MemoryBytes: memory, Goroutines: uint32(goroutines),
		Mailboxes: s.mailboxes(), Term: s.term,
		BusyNs: int64(use.busy), UnderWay: uint32(use.underWay), Queued: uint32(use.waiting),
	})
}

// kindsReported bounds the kinds of actors in a request for work.
const kindsReported = 16

// mailboxes are how long those of this process are.
func (s *Slave) mailboxes() []*messages.Mailboxes {
	if s.o.Mailboxes == nil {
		return nil
	}
	var reported []*messages.Mailboxes
	for _, k := range s.o.Mailboxes() {
		if k.Actors > 0 && len(reported) < kindsReported {
			reported = append(reported, &messages.Mailboxes{
				Kind: k.Kind, Actors: uint32(k.Actors), Waiting: uint32(k.Queue), Longest: uint32(k.Longest),
				Taken: k.Taken,
			})
		}
	}
	return reported
}

func (s *Slave) takeBatch(ctx actor.Context, m *messages.TaskBatch) {
	askedAt, ok := s.asked[m.Serial]
	if s.ofThisTerm(m.Term) {
		s.heardAt = time.Now()
	} else {
		ok = false
	}
	if !ok || s.rules == nil {
		for _, task := range m.Tasks {
			s.refuse(ctx, task)
		}
		return
	}
	until := askedAt.Add(s.leaseFor)
	for _, id := range m.Renewed {
		if l := s.leases[id]; l != nil && l.fetcher != nil {
			ctx.Send(l.fetcher, &renew{until: until})
		}
	}
	for _, id := range m.Revoked {
		if l := s.leases[id]; l != nil && l.fetcher != nil {
			ctx.Send(l.fetcher, &finish{why: "revoked"})
		}
	}
	for _, task := range m.Tasks {
		s.takeTask(ctx, task, until)
	}
}

func (s *Slave) takeTask(ctx actor.Context, task *messages.HostTask, until time.Time) {
	if _, over := s.ended[task.Lease]; over || s.leases[task.Lease] != nil {
		return // sent twice
	}
	if s.draining || s.stopped || !stillHeld(until) {
		s.refuse(ctx, task)
		return
	}
	l := &lent{host: task.Host, kept: s.accountOf(task.Host), made: map[uint64]*factMade{}, next: 1}
	s.leases[task.Lease] = l
	props := fetcherProps(&assignment{task: task, until: until, rules: s.rules, parsers: s.parsers, heavy: s.heavy,
		slave: ctx.Self(), kept: l.kept, gate: s.gate, log: s.log})
	l.fetcher = floor.SpawnAs(ctx, props, "fetcher/"+task.Host)
}

// refuse answers the sender of the task, which may be a master that is gone by now.
func (s *Slave) refuse(ctx actor.Context, task *messages.HostTask) {
	ctx.Request(ctx.Sender(), &messages.TaskRefused{Slave: s.o.Name, Boot: s.o.Boot, Lease: task.Lease,
		Host: task.Host})
}

// keep puts durable facts in order and sends what has become whole, each lease's together: what a sync has covered is
// one Report of a lease, and one message from actor to actor until it is stored.
func (s *Slave) keep(ctx actor.Context, made ...*factMade) {
	for _, m := range made {
		s.put(m)
	}
	for _, m := range made {
		if l := s.leases[m.lease]; l != nil && l.unsent() {
			s.report(ctx, l)
		}
	}
}

// put puts a durable fact in order.
func (s *Slave) put(m *factMade) {
	if m.kept != nil {
		m.kept.keep(-m.bytes) // its fact is counted from now on
	}
	l := s.leases[m.lease]
	if l == nil || m.order < l.next || l.made[m.order] != nil {
		return
	}
	l.made[m.order] = m
	for l.made[l.next] != nil {
		s.number(l, l.made[l.next])
		delete(l.made, l.next)
		l.next++
	}
}

// number gives a fact its place under the lease; a link set too large for one message goes ahead in parts.
func (s *Slave) number(l *lent, m *factMade) {
	if v := m.fact.Visited; v != nil {
		s.counts.Visits++
		if s.o.Fetched != nil {
			s.o.Fetched(time.Duration(v.TookNs))
		}
		s.counts.Bytes += int64(v.BodyBytes)
		if v.IdenticalBytes > 0 {
			s.counts.Identical++
			s.counts.IdenticalBytes += int64(v.IdenticalBytes)
		}
		for _, part := range splitLinks(v, maxReport/2) {
			s.append(l, &factMade{lease: m.lease, fact: &messages.Fact{More: part}})
		}
	}
	s.append(l, m)
}

func (s *Slave) append(l *lent, m *factMade) {
	l.seq++
	m.fact.Lease, m.fact.Seq, m.fact.Host, m.fact.Pressing = m.lease, l.seq, l.host, s.window.filling()
	m.size = proto.Size(m.fact)
	l.unstored = append(l.unstored, m)
	s.window.add(1)
	l.kept.keep(m.size)
}

func (s *Slave) keepArchived(ctx actor.Context, m *archivist.ArchivedBatch) {
	made := make([]*factMade, len(m.Captures))
	for i, a := range m.Captures {
		made[i] = a.Tag.(*factMade)
		if v := made[i].fact.Visited; v != nil {
			v.WarcFile, v.WarcOffset, v.WarcBytes = a.File, uint64(a.Offset), uint64(a.Length)
		}
	}
	s.keep(ctx, made...)
}

// keepFailed reports visits whose records could not be written: they do not count, and will be tried again.
func (s *Slave) keepFailed(ctx actor.Context, m *archivist.Failed) {
	if !s.stopped {
		s.log.WithField("err",
			m.Err).Error("the archive cannot be written: make room on the disk; giving the leases back until then")
		s.tellStopped(m.Err)
	}
	s.stopped, s.resting = true, time.Now().Add(archiveRest)
	for _, l := range s.leases {
		if l.fetcher != nil {
			ctx.Send(l.fetcher, &finish{why: "archive"})
		}
	}
	made := make([]*factMade, len(m.Tags))
	for i, tag := range m.Tags {
		made[i] = tag.(*factMade)
		if v := made[i].fact.Visited; v != nil {
			v.Status, v.Reason, v.Links = 0, messages.Reason_NOT_ARCHIVED, nil
		}
	}
	s.keep(ctx, made...)
}

// tellStopped says that the archive cannot be written, or, with nil, that it can be again.
func (s *Slave) tellStopped(err error) {
	if s.o.ArchiveStopped != nil {
		s.o.ArchiveStopped(err)
	}
}

// seekRoom looks whether the archive can be written again, beside the mailbox.
func (s *Slave) seekRoom(ctx actor.Context) {
	if !s.stopped || s.seeking || time.Now().Before(s.resting) {
		return
	}
	s.seeking = true
	root, self, o := ctx.ActorSystem().Root, ctx.Self(), s.o.Archive.Writer
	s.sought.Go(func() {
		defer floor.Guard(root.ActorSystem(), "the search for room")
		root.Send(self, &roomSought{warc.Probe(o.Disk, o.Dir, archiveRoom)})
	})
}

func (s *Slave) takeRoom(ctx actor.Context, m *roomSought) {
	s.seeking, s.resting = false, time.Now().Add(archiveRest)
	if m.err != nil {
		return
	}
	s.stopped = false
	s.log.Info("the archive can be written again")
	s.tellStopped(nil)
	s.ask(ctx)
}

// report sends the facts of a lease that are not under way, in messages of bounded size.
func (s *Slave) report(ctx actor.Context, l *lent) {
	if s.master == nil || s.masterBoot == "" {
		return
	}
	now := time.Now()
	var facts []*messages.Fact
	size := 0
	send := func() {
		if len(facts) > 0 {
			ctx.Request(s.master, &messages.Report{Slave: s.o.Name, Boot: s.o.Boot, Facts: facts, Term: s.term})
			facts, size, l.sentAt = nil, 0, now
		}
	}
	for _, made := range l.unstored {
		if made.sent {
			continue
		}
		if size > 0 && size+made.size > maxReport {
			send()
		}
		facts = append(facts, made.withAge(now))
		size += made.size
		made.sent = true
	}
	send()
}

// withAge returns the fact with its age as of now. A fact that was sent before may be read in this process meanwhile,
// so it is copied.
func (m *factMade) withAge(now time.Time) *messages.Fact {
	if m.started.IsZero() {
		return m.fact
	}
	fact := m.fact
	if m.aged {
		fact = proto.Clone(fact).(*messages.Fact)
	}
	m.aged = true
	ago := max(0, int64(now.Sub(m.started)))
	switch {
	case fact.Visited != nil:
		fact.Visited.AgoNs = ago
	case fact.Robots != nil:
		fact.Robots.AgoNs = ago
	}
	return fact
}

// forget drops what is on the master's disk. What a master has stored that does not lead any more is not on the disk of
// the one that does.
func (s *Slave) forget(ctx actor.Context, m *messages.Stored) {
	if !s.ofThisTerm(m.Term) {
		return
	}
	for i, id := range m.Leases {
		l := s.leases[id]
		if l == nil {
			continue
		}
		n := 0
		for n < len(l.unstored) && l.unstored[n].fact.Seq <= m.Seqs[i] {
			l.kept.keep(-l.unstored[n].size)
			n++
		}
		s.window.add(-n)
		finished := n > 0 && l.unstored[n-1].fact.Finished != nil
		clear(l.unstored[:n]) // the array stays, and their links may be megabytes
		l.unstored = l.unstored[n:]
		if finished {
			s.drop(ctx, id)
		}
	}
	s.window.storedAt.Store(time.Now().UnixNano())
	s.checkDrained(ctx)
}

// accountOf opens the account of a host that is lent.
func (s *Slave) accountOf(host string) *account {
	kept := &account{window: s.window}
	kept.served.Store(s.served[host])
	delete(s.served, host)
	return kept
}

// drop forgets a lease and all that is owed under it.
func (s *Slave) drop(ctx actor.Context, id uint64) {
	l := s.leases[id]
	if l == nil {
		return
	}
	if l.fetcher != nil {
		ctx.Send(l.fetcher, &finish{why: "unknown"})
	}
	s.window.add(-len(l.unstored))
	for _, fact := range l.unstored {
		l.kept.keep(-fact.size)
	}
	if served := l.kept.served.Load(); served > s.window.served.Load() {
		if len(s.served) >= maxServed {
			clear(s.served)
		}
		s.served[l.host] = served
	}
	delete(s.leases, id)
	s.ended[id] = s.serial
	s.checkDrained(ctx)
}

// releaseFetcher is done with a Fetcher that has made its end. What it fetched last may wait for others to share a sync
// with; when there are fewer others than processors, waiting is all that is done meanwhile, for the host's next lease
// comes after the sync.
func (s *Slave) releaseFetcher(ctx actor.Context, m *fetcherGone) {
	l := s.leases[m.lease]
	if l == nil || l.fetcher == nil {
		return
	}
	ctx.Poison(l.fetcher)
	l.fetcher = nil
	if m.failed {
		l.next = math.MaxUint64 // facts still on their way come too late
		clear(l.made)
		if m.broke != nil {
			s.append(l, &factMade{lease: m.lease, fact: &messages.Fact{Visited: m.broke}, started: time.Now()})
		}
		s.append(l, &factMade{lease: m.lease, fact: &messages.Fact{Finished: &messages.LeaseFinished{Why: "failing"}},
			started: time.Now()})
		s.report(ctx, l)
	}
	if len(l.made) > 0 && s.idle() {
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
		if busy++; busy >= len(s.parsers) {
			return false
		}
	}
	return true
}

func (s *Slave) drain(ctx actor.Context) {
	s.draining, s.drainers = true, append(s.drainers, ctx.Sender())
	for _, l := range s.leases {
		if l.fetcher != nil {
			ctx.Send(l.fetcher, &finish{why: "draining"})
		}
	}
	s.checkDrained(ctx)
}

// checkDrained answers who asked for the draining, when nothing is left to wait for.
func (s *Slave) checkDrained(ctx actor.Context) {
	for _, l := range s.leases {
		if l.fetcher != nil || time.Since(s.heardAt) < farewell {
			return
		}
	}
	for _, who := range s.drainers {
		ctx.Send(who, &Drained{Unstored: s.window.used()})
	}
	s.drainers = nil
}

func (s *Slave) makeRules(f *messages.FetchRules) (*rules, error) {
	r := &rules{FetchRules: f}
	if len(f.Admission) > 0 {
		r.admission = admission.DefaultRules() // of rules that an older master does not know
		if err := r.admission.UnmarshalBinary(f.Admission); err != nil {
			return nil, err
		}
	}
	r.admission.Admit = s.o.Admit
	var err error
	if r.scope, err = scope.New(scope.Options{Include: f.Include, Exclude: f.Exclude}); err != nil {
		return nil, err
	}
	if len(f.CookieFile) > 0 {
		if r.cookieFile, err = cookies.ParseFile(f.CookieFile); err != nil {
			return nil, err
		}
	}
	if r.client, err = newClient(f, s.o); err != nil {
		return nil, err
	}
	if f.Proxy != "" {
		s.log.Warn("fetching through a proxy, which looks names up: the guard judges names of hosts and no addresses")
	}
	return r, nil
}

func (s *Slave) forgetRules() {
	if s.rules != nil {
		s.rules.client.Close()
		s.rules = nil
	}
}

// stillHeld looks at both clocks: the monotonic one stands still while a machine sleeps, the wall clock may be set.
func stillHeld(until time.Time) bool {
	now := time.Now()
	return now.Before(until) && now.Round(0).Before(until.Round(0))
}
