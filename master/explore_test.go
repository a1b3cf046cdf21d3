package master

import (
	"cmp"
	"encoding/binary"
	"flag"
	"fmt"
	"hash/maphash"
	"io"
	"maps"
	"math"
	"reflect"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"
	"unsafe"

	"github.com/asynkron/protoactor-go/actor"
	"github.com/sirupsen/logrus"
	"google.golang.org/protobuf/runtime/protoimpl"

	"henro/actors/admission"
	"henro/actors/host"
	"henro/actors/politeness"
	"henro/actors/protocol"
	"henro/actors/robots"
	"henro/actors/scope"
	"henro/master/course"
	"henro/master/ledger"
	"henro/master/lending"
	"henro/messages"
	"henro/messages/weburl"
	"henro/store"
)

// The explorer searches what can happen to the lease of one host, exhaustively up to a depth: the Master, its ledger,
// and the Book and Schedule of the host are the real ones; the partition's file, the network, the slaves and the clocks
// are the plain models below. Between any two events the Master can be killed, a slave started anew, a message lost,
// repeated or overtaken, and time can pass; the clocks of the slaves run at speeds of their own. A state that was seen
// before is not looked at again.
//
// Looked for in every state (the numbers are those of the promises in docs/architecture.md):
//   - one at a time: no two slaves may ask the host;
//   - interval: two requests are an interval apart, by the slower of the clocks that count it;
//   - nothing archived is lost: what a slave forgets because it was acknowledged is on disk;
//   - exactly once: a page is stored once, and no page is asked for twice under one lease;
//   - the crawl ends: from the last states of the search, when nothing fails any more, all pages are visited and no
//     lease stays open.

const (
	exploredHost = "http://a.test"
	exploreStep  = 2 * time.Second // what time passes by
	exploreFor   = 6 * time.Second // lease
	exploreSlack = time.Second     // margin
	exploreRest  = 3 * time.Second // interval
)

// instance is a small world to search.
type instance struct {
	name     string
	speeds   []float64 // of the clocks of the slaves, by the master's
	pages    int
	kills    int // of the master
	restarts int // of slaves
	lost     int // messages
	repeated int
	depth    int // events
	from     outset
	budget   int // pages of a lease; 0: all
}

// outset is where the search begins.
type outset int

const (
	nothing outset = iota // no slave is known yet
	held                  // a slave has a lease
	asked                 // and has made the first request under it
	ended                 // and the lease has ended, with pages left
)

// reached reports whether the search begins here.
func (w *world) reached(m outset) bool {
	switch {
	case m == nothing:
		return true
	case m == ended:
		return w.askedBy >= 0 && w.lease == nil
	}
	for _, s := range w.slaves {
		for _, l := range s.leases {
			if m == held || len(l.asked) > 0 {
				return true
			}
		}
	}
	return false
}

// world is one state.
type world struct {
	in     *instance
	start  time.Time
	master *Master
	book   *host.Book
	starts uint64 // of the master

	// the partition: what is on disk, and what waits for the next commit
	row     store.HostRecord
	polite  politeness.State // in row
	lease   *store.Lease
	visited []bool // by page
	pending []*protocol.Write

	net    []letter
	slaves []*fakeSlave

	askedAt  time.Time // the latest request of anybody
	askedBy  int
	lost     int
	repeated int
	kills    int
	restarts int
	wrong    string
}

// letter is a message on its way; to is a slave, or -1 for the master.
type letter struct {
	from, to int
	message  any
	twice    bool // a copy
}

// fakeSlave is a slave that does as package slave does, one step at a time.
type fakeSlave struct {
	number int
	boot   int
	born   time.Time
	speed  float64
	master string // boot of the master that welcomed it; "": none
	seen   string // of the master that is there
	serial uint64
	asked  map[uint64]time.Duration // by serial, on its own clock
	leases map[uint64]*fakeLease
	ended  map[uint64]bool
}

type fakeLease struct {
	until    time.Duration // on its own clock
	next     time.Duration // request
	interval time.Duration
	tasks    []*messages.Task
	seq      uint64
	unstored []*messages.Fact
	asked    []string // pages
	over     bool
}

func (s *fakeSlave) name() string   { return "s" + strconv.Itoa(s.number) }
func (s *fakeSlave) bootID() string { return strconv.Itoa(s.boot) }

// now is its own clock.
func (s *fakeSlave) now() time.Duration { return time.Duration(float64(time.Since(s.born)) * s.speed) }

// exploring is what all worlds share.
type exploring struct {
	system  *actor.ActorSystem
	regions *admission.Known
	rules   *scope.Scope
	log     *logrus.Entry
	robots  []byte
	queue   []func() // messages within the master's process
	busy    bool
	settled map[uint64]bool // worlds that come to a good end by themselves
}

func newExploring(t *testing.T) *exploring {
	rules, err := scope.New(scope.DefaultOptions())
	if err != nil {
		t.Fatal(err)
	}
	rules = rules.With(weburl.MustParse(exploredHost + "/"))
	logger := logrus.New()
	logger.SetOutput(io.Discard)
	logger.SetLevel(logrus.PanicLevel)
	free, err := robots.AllowAll().MarshalBinary()
	if err != nil {
		t.Fatal(err)
	}
	return &exploring{system: actor.NewActorSystem(), rules: rules, regions: admission.Remember(rules),
		log: logrus.NewEntry(logger), robots: free, settled: map[uint64]bool{}}
}

func (x *exploring) options() Options {
	o := DefaultOptions()
	o.Name, o.LeaseFor, o.LeaseMargin, o.TickEvery = "m", exploreFor, exploreSlack, 1000*time.Hour
	o.StallAfter, o.Hosts.Follow = 0, false
	o.Hosts.Politeness.Floor, o.Hosts.Politeness.Jitter = exploreRest, 0
	o.Hosts.Stop.MinBroken = 1000
	return o
}

// startMaster makes the Master anew, of what is on disk.
func (x *exploring) startMaster(w *world) {
	w.starts++
	o := x.options()
	if w.in.budget > 0 {
		o.Hosts.PageBudget = w.in.budget
	}
	o.Boot = strconv.FormatUint(w.starts, 10)
	w.master = newMaster(o, &store.State{Partitions: make([]*store.Partition, 1)}, nil, make(chan Status, 1), nil,
		&seen{}, x.log)
	w.master.fetches = actor.NewPID("", "fetches")
	w.master.hosts, w.master.partitions = actor.NewPID("", "hosts"), []*actor.PID{actor.NewPID("", "partition")}
	w.master.course.Updated(time.Now(), &course.Begin{})
	*inside[*uint64](w.master.desk, "lastID") = w.starts * 1000
	w.pending = nil
	w.book = host.New(o.Hosts, exploredHost, x.regions)
	found := &protocol.LeasesFound{}
	restored := &protocol.HostRestored{Record: w.row}
	restored.Record.Politeness, _ = w.polite.MarshalBinary() // its moments have moved with the world
	restored.Record.Waiting = uint64(w.waiting())
	if w.lease != nil {
		lease, again := *w.lease, *w.lease
		found.Leases, restored.Lease = append(found.Leases, lease), &again
	}
	x.toMaster(w, -1, found)
	x.toBook(w, restored)
	for _, s := range w.slaves { // the gossip says so
		s.seen = o.Boot
	}
}

func (w *world) waiting() int {
	n := 0
	for _, done := range w.visited {
		if !done {
			n++
		}
	}
	return n
}

func pageOf(i int) string { return exploredHost + "/" + strconv.Itoa(i) }

// mail is the context that the Master sees: what it sends goes into the world.
type mail struct {
	actor.Context
	x       *exploring
	w       *world
	message any
	sender  *actor.PID
}

var slavePIDs = []*actor.PID{actor.NewPID("", "0"), actor.NewPID("", "1"), actor.NewPID("", "2")}
var masterPID, hostPID = actor.NewPID("", "master"), actor.NewPID("", "host")

func (m *mail) Message() any                       { return m.message }
func (m *mail) Sender() *actor.PID                 { return m.sender }
func (m *mail) Self() *actor.PID                   { return masterPID }
func (m *mail) ActorSystem() *actor.ActorSystem    { return m.x.system }
func (m *mail) Respond(message any)                { m.send(m.sender, message, nil) }
func (m *mail) Send(to *actor.PID, message any)    { m.send(to, message, nil) }
func (m *mail) Request(to *actor.PID, message any) { m.send(to, message, masterPID) }
func (m *mail) RequestWithCustomSender(to *actor.PID, message any, from *actor.PID) {
	m.send(to, message, from)
}

func (m *mail) send(to *actor.PID, message any, from *actor.PID) {
	switch to.GetId() {
	case "host":
		m.x.toBook(m.w, message)
	case "hosts":
		if h, ok := message.(*protocol.ToHost); ok {
			m.x.toBook(m.w, h.Message)
		}
	case "partition", "fetches":
	case "master":
		m.x.receive(m.w, from, message)
	default:
		n, _ := strconv.Atoi(to.GetId())
		m.w.post(letter{from: -1, to: n, message: message})
	}
}

// post puts a message on its way.
func (w *world) post(l letter) { w.net = append(w.net, l) }

func (x *exploring) toMaster(w *world, from int, message any) {
	var sender *actor.PID
	if from >= 0 {
		sender = slavePIDs[from]
	}
	x.receive(w, sender, message)
}

func (x *exploring) receive(w *world, sender *actor.PID, message any) {
	x.enqueue(w, func() { w.master.Receive(&mail{x: x, w: w, message: message, sender: sender}) })
}

// enqueue has the actors of the master's process take their messages one after the other. All of these are taken within
// one event.
func (x *exploring) enqueue(w *world, take func()) {
	x.queue = append(x.queue, take)
	if x.busy {
		return
	}
	x.busy = true
	for len(x.queue) > 0 {
		take, x.queue = x.queue[0], x.queue[1:]
		take()
	}
	x.busy = false
}

// toBook has the Book take a fact, and does what follows.
func (x *exploring) toBook(w *world, fact any) { x.enqueue(w, func() { x.update(w, fact) }) }

func (x *exploring) update(w *world, fact any) {
	effects, known := w.book.Updated(time.Now(), fact)
	if !known {
		w.wrong = fmt.Sprintf("the book does not know %T", fact)
	}
	for _, e := range slices.Clone(effects) {
		switch e.To {
		case host.Master:
			x.receive(w, hostPID, e.Message)
		case host.Partition:
			x.toPartition(w, e.Message)
		}
	}
}

// toPartition answers from what is on disk; writes wait for the next commit.
func (x *exploring) toPartition(w *world, message any) {
	switch m := message.(type) {
	case *protocol.Write:
		w.pending = append(w.pending, m)
	case *protocol.PagesAsked:
		loaded := &protocol.PagesLoaded{Whole: true}
		for i, done := range w.visited {
			if !done {
				loaded.Entries = append(loaded.Entries, store.Entry{Page: store.Page{URL: pageOf(i), DepthLeft: 3},
					Position: store.Position(strconv.Itoa(i))})
			}
		}
		x.toBook(w, loaded)
	case *protocol.EntriesAsked:
		loaded := &protocol.EntriesLoaded{}
		for _, position := range m.Positions {
			if i, err := strconv.Atoi(string(position)); err == nil && i < len(w.visited) && !w.visited[i] {
				loaded.Entries = append(loaded.Entries, store.Entry{Page: store.Page{URL: pageOf(i), DepthLeft: 3},
					Position: position})
			}
		}
		x.toBook(w, loaded)
	}
}

// commit writes what waits, whole, and says so.
func (x *exploring) commit(w *world) {
	writes := w.pending
	w.pending = nil
	for _, write := range writes {
		for i := range write.Visits {
			n, err := strconv.Atoi(string(write.Visits[i].Position))
			switch {
			case err != nil || n >= len(w.visited):
				w.wrong = "a visit of a page that was never lent is stored"
			case write.Visits[i].Retry:
			case w.visited[n]:
				w.wrong = fmt.Sprintf("the visit of page %d is stored twice", n)
			default:
				w.visited[n] = true
			}
		}
		if len(write.Drops) > 0 {
			w.wrong = "a page was given up"
		}
		if write.Host != nil {
			w.row, w.polite = *write.Host, politeness.State{}
			if err := w.polite.UnmarshalBinary(w.row.Politeness); err != nil {
				w.wrong = err.Error()
			}
		}
		if write.Lease != nil {
			if w.lease != nil && w.lease.ID != write.Lease.ID {
				w.wrong = "a second lease is on disk"
			}
			lease := *write.Lease
			w.lease = &lease
		}
		if write.Facts != nil && write.Facts.Closed && w.lease != nil && w.lease.ID == write.Facts.Lease {
			w.lease = nil
		}
	}
	for _, write := range writes {
		if write.Facts != nil {
			x.toMaster(w, -1, write.Facts)
		}
		if write.Answered() {
			x.toBook(w, &protocol.Written{Tag: write.Tag})
		}
	}
}

// kill ends the master; what it had not committed is gone.
func (x *exploring) kill(w *world) {
	w.kills++
	x.startMaster(w)
}

func (w *world) restart(s *fakeSlave) {
	w.restarts++
	*s = fakeSlave{number: s.number, boot: s.boot + 1, born: time.Now(), speed: s.speed, seen: s.seen,
		serial: s.serial + 100, asked: map[uint64]time.Duration{}, leases: map[uint64]*fakeLease{},
		ended: map[uint64]bool{}}
}

// tick is that of package slave: it registers or asks for work, and repeats what was not acknowledged.
func (w *world) tick(s *fakeSlave) {
	if s.master != "" && s.master != s.seen { // the gossip saw another
		s.master = ""
	}
	if s.master == "" {
		clear(s.asked)
		w.post(letter{from: s.number, to: -1, message: &messages.SlaveRegistered{Slave: s.name(), Boot: s.bootID(),
			Connections: 1, Held: s.held()}})
		return
	}
	s.serial++
	s.asked[s.serial] = s.now()
	delete(s.asked, s.serial-2)
	w.post(letter{from: s.number, to: -1, message: &messages.WorkRequested{Slave: s.name(), Boot: s.bootID(),
		Serial: s.serial, HostSlots: 1, PageSlots: 9, Held: s.held()}})
	for _, id := range s.held() {
		if facts := s.leases[id].unstored; len(facts) > 0 {
			w.report(s, facts)
		}
	}
}

func (w *world) report(s *fakeSlave, facts []*messages.Fact) {
	w.post(letter{from: s.number, to: -1, message: &messages.Report{Slave: s.name(), Boot: s.bootID(),
		Facts: slices.Clone(facts)}})
}

func (s *fakeSlave) held() []uint64 {
	var ids []uint64
	for id := range s.leases {
		ids = append(ids, id)
	}
	slices.Sort(ids)
	return ids
}

func (w *world) finish(s *fakeSlave, id uint64) {
	l := s.leases[id]
	if l.over {
		return
	}
	l.over = true
	l.seq++
	l.unstored = append(l.unstored, &messages.Fact{Lease: id, Seq: l.seq, Host: exploredHost,
		Finished: &messages.LeaseFinished{Why: "done"}})
	w.report(s, l.unstored)
}

// holds reports that a slave believes that it may ask the host under a lease.
func (s *fakeSlave) holds(l *fakeLease) bool { return !l.over && s.now() < l.until }

// ask makes one request, if a slave may.
func (w *world) ask(s *fakeSlave, id uint64) {
	l := s.leases[id]
	task := l.tasks[0]
	l.tasks = l.tasks[1:]
	for _, other := range w.slaves {
		for _, of := range other.leases {
			if of != l && other.holds(of) {
				w.wrong = fmt.Sprintf("two may ask: %s and %s", s.name(), other.name())
			}
		}
	}
	// one who counts the interval on a clock that runs fast ends it early, and so does a master whose clock is slower
	if since := time.Since(w.askedAt); !w.askedAt.IsZero() &&
		float64(since) < float64(exploreRest)/max(1, s.speed)-float64(time.Millisecond) {
		w.wrong = fmt.Sprintf("%s asks %v after s%d did", s.name(), since, w.askedBy)
	}
	if slices.Contains(l.asked, task.Url) {
		w.wrong = "asked twice under one lease: " + task.Url
	}
	l.asked = append(l.asked, task.Url)
	w.askedAt, w.askedBy = time.Now(), s.number
	l.next = s.now() + l.interval
	l.seq++
	l.unstored = append(l.unstored, &messages.Fact{Lease: id, Seq: l.seq, Host: exploredHost,
		Visited: &messages.PageVisited{Url: task.Url, Position: task.Position, Status: 200, Depth: task.Depth,
			DepthLeft: task.DepthLeft}})
	if len(l.tasks) == 0 {
		w.finish(s, id)
		return
	}
	w.report(s, l.unstored)
}

// deliver hands a message over.
func (x *exploring) deliver(w *world, l letter) {
	if l.to < 0 {
		x.toMaster(w, l.from, l.message)
		return
	}
	s := w.slaves[l.to]
	switch m := l.message.(type) {
	case *messages.SlaveWelcomed:
		if m.MasterBoot == s.master {
			return
		}
		s.master = m.MasterBoot
		for _, id := range m.Unknown {
			if s.leases[id] != nil {
				delete(s.leases, id)
				s.ended[id] = true
			}
		}
	case *messages.TaskBatch:
		at, ok := s.asked[m.Serial]
		if !ok || s.master == "" {
			for _, task := range m.Tasks {
				w.refuse(s, task)
			}
			return
		}
		until := at + exploreFor
		for _, id := range m.Renewed {
			if of := s.leases[id]; of != nil && !of.over {
				of.until = max(of.until, until)
			}
		}
		for _, id := range m.Revoked {
			if s.leases[id] != nil {
				w.finish(s, id)
			}
		}
		for _, task := range m.Tasks {
			switch {
			case s.ended[task.Lease] || s.leases[task.Lease] != nil:
			case s.now() >= until:
				w.refuse(s, task)
			default:
				s.leases[task.Lease] = &fakeLease{until: until, next: s.now() + time.Duration(task.FirstAfterNs),
					interval: time.Duration(task.IntervalNs), tasks: task.Tasks}
			}
		}
	case *messages.Stored:
		for i, id := range m.Leases {
			w.stored(s, id, m.Seqs[i])
		}
	}
}

func (w *world) refuse(s *fakeSlave, task *messages.HostTask) {
	w.post(letter{from: s.number, to: -1, message: &messages.TaskRefused{Slave: s.name(), Boot: s.bootID(),
		Lease: task.Lease, Host: task.Host}})
}

// stored forgets what is on the master's disk. Of a lease that is over for the master nothing need be there.
func (w *world) stored(s *fakeSlave, id, seq uint64) {
	l := s.leases[id]
	if l == nil {
		return
	}
	for len(l.unstored) > 0 && l.unstored[0].Seq <= seq {
		f := l.unstored[0]
		l.unstored = l.unstored[1:]
		if v := f.Visited; v != nil && w.lease != nil && w.lease.ID == id {
			if n, _ := strconv.Atoi(string(v.Position)); !w.visited[n] {
				w.wrong = fmt.Sprintf("page %d was acknowledged and is not on disk", n)
			}
		}
		if f.Finished != nil {
			delete(s.leases, id)
			s.ended[id] = true
		}
	}
}

// event is one thing that may happen next.
type event struct {
	name string
	do   func(x *exploring, w *world)
}

// events are all that may happen next. Without faults only what happens by itself.
func (w *world) events(faults bool) (all []event) {
	add := func(name string, do func(x *exploring, w *world)) { all = append(all, event{name, do}) }
	var sent []string
	for i, l := range w.net {
		text := fmt.Sprintf("%T %d→%d %v", l.message, l.from, l.to, l.message)
		if slices.Contains(sent, text) {
			continue // as good as the other
		}
		sent = append(sent, text)
		what := strings.TrimPrefix(fmt.Sprintf("%T %d→%d", l.message, l.from, l.to), "*messages.")
		take := func(w *world) letter {
			l := w.net[i]
			w.net = slices.Delete(slices.Clone(w.net), i, i+1)
			return l
		}
		add("deliver "+what, func(x *exploring, w *world) { x.deliver(w, take(w)) })
		if !faults {
			continue
		}
		if w.lost < w.in.lost {
			add("lose "+what, func(_ *exploring, w *world) { take(w); w.lost++ })
		}
		if w.repeated < w.in.repeated && !l.twice {
			add("repeat "+what, func(x *exploring, w *world) {
				l := w.net[i]
				w.net[i].twice = true
				w.repeated++
				x.deliver(w, l)
			})
		}
	}
	if len(w.pending) > 0 {
		add("commit", func(x *exploring, w *world) { x.commit(w) })
	}
	for n, s := range w.slaves {
		for _, id := range s.held() {
			l := s.leases[id]
			switch {
			case !l.over && s.now() >= l.until:
				add("lease of "+s.name()+" runs out", func(_ *exploring, w *world) { w.finish(w.slaves[n], id) })
			case s.holds(l) && len(l.tasks) > 0 && s.now() >= l.next:
				add("request of "+s.name(), func(_ *exploring, w *world) { w.ask(w.slaves[n], id) })
			}
		}
		if !slices.ContainsFunc(w.net, func(l letter) bool { return l.from == n }) {
			add("tick of "+s.name(), func(_ *exploring, w *world) { w.tick(w.slaves[n]) })
		}
		if faults && w.restarts < w.in.restarts {
			add("restart of "+s.name(), func(_ *exploring, w *world) { w.restart(w.slaves[n]) })
		}
	}
	if faults && w.kills < w.in.kills {
		add("kill of the master", func(x *exploring, w *world) { x.kill(w) })
	}
	add("time", func(x *exploring, w *world) {
		time.Sleep(exploreStep)
		x.receive(w, nil, &course.Tick{}) // the Master looks for ends all the time
	})
	return all
}

// explore searches one instance and returns how many states, events and last states it looked at, and the first fault.
func (x *exploring) explore(in *instance) (states, steps, ends int, fault string) {
	w := &world{in: in, start: time.Now(), visited: make([]bool, in.pages), askedBy: -1}
	w.row = store.HostRecord{ID: store.IDOf(exploredHost), Name: exploredHost, Robots: x.robots,
		RobotsUntil: time.Now().Add(1000 * time.Hour)}
	for i, speed := range in.speeds {
		w.slaves = append(w.slaves, &fakeSlave{number: i, boot: 1, born: time.Now(), speed: speed,
			asked: map[uint64]time.Duration{}, leases: map[uint64]*fakeLease{}, ended: map[uint64]bool{}})
	}
	x.startMaster(w)
	for i := 0; !w.reached(in.from); i++ {
		if x.step(w); w.wrong != "" || i == 100 {
			return 0, 0, 0, "before the search: " + w.wrong
		}
	}
	if fault = twofold(w); fault != "" {
		return 0, 0, 0, fault
	}
	seen := map[uint64]int8{} // depth that was left when it was looked at
	var path []string
	var search func(w *world, at time.Time, left int) bool
	search = func(w *world, at time.Time, left int) bool {
		key := x.hash(w)
		if before, ok := seen[key]; ok && int(before) >= left {
			return true
		} else if !ok {
			states++
		}
		seen[key] = int8(left)
		if left == 0 {
			ends++
			if fault = x.settle(clone(w, time.Since(at))); fault != "" {
				fault = "when nothing fails any more: " + fault
				return false
			}
			return true
		}
		for _, e := range clone(w, time.Since(at)).events(true) {
			next := clone(w, time.Since(at))
			path = append(path, e.name)
			e.do(x, next)
			steps++
			if next.wrong != "" {
				fault = next.wrong
				return false
			}
			if !search(next, time.Now(), left-1) {
				return false
			}
			path = path[:len(path)-1]
		}
		return true
	}
	if !search(w, time.Now(), in.depth) {
		fault += "\n" + strings.Join(path, "\n")
	}
	return states, steps, ends, fault
}

// step lets one thing happen that happens by itself: messages, commits and requests first; when there are none, slaves
// ask and time passes.
func (x *exploring) step(w *world) string {
	all := w.events(false)
	i := slices.IndexFunc(all, func(e event) bool { return !strings.HasPrefix(e.name, "tick of") })
	if i == len(all)-1 {
		for i := range w.slaves {
			w.tick(w.slaves[i])
		}
		for len(w.net) > 0 {
			l := w.net[0]
			w.net = slices.Clone(w.net[1:])
			x.deliver(w, l)
		}
	}
	all[i].do(x, w)
	return all[i].name
}

// settle lets everything happen that happens by itself, in turns, and says what is wrong at the end.
func (x *exploring) settle(w *world) string {
	var trail []string
	var passed []uint64
	for range 400 {
		key := x.hash(w)
		if x.settled[key] || w.waiting() == 0 && w.lease == nil && w.master.desk.OpenCount() == 0 &&
			len(w.pending) == 0 {
			for _, key := range passed {
				x.settled[key] = true
			}
			return ""
		}
		passed = append(passed, key)
		trail = append(trail, x.step(w))
		if w.wrong != "" {
			return w.wrong + ", after " + strings.Join(trail, ", ")
		}
	}
	return fmt.Sprintf("%d pages wait, lease on disk %+v, %d open; %s", w.waiting(), w.lease,
		w.master.desk.OpenCount(), strings.Join(trail[len(trail)-20:], ", "))
}

// shared are the types of which a clone has the same values: they do not change.
var shared = map[reflect.Type]bool{
	reflect.TypeFor[*actor.PID](): true, reflect.TypeFor[*logrus.Entry](): true, reflect.TypeFor[*instance](): true,
	reflect.TypeFor[*admission.Known](): true, reflect.TypeFor[*scope.Scope](): true,
	reflect.TypeFor[*robots.Rules](): true, reflect.TypeFor[*store.State](): true, reflect.TypeFor[*time.Timer](): true,
	reflect.TypeFor[*messages.FetchSettings](): true, reflect.TypeFor[*messages.HostTask](): true,
	reflect.TypeFor[*messages.Task](): true, reflect.TypeFor[*messages.Fact](): true,
	reflect.TypeFor[*messages.SlaveRegistered](): true, reflect.TypeFor[*messages.WorkRequested](): true,
	reflect.TypeFor[*messages.Report](): true, reflect.TypeFor[*messages.TaskRefused](): true,
	reflect.TypeFor[*messages.SlaveWelcomed](): true, reflect.TypeFor[*messages.TaskBatch](): true,
	reflect.TypeFor[*seen](): true, reflect.TypeFor[*lending.Options](): true,
	reflect.TypeFor[protoimpl.MessageState](): true, // it leads to all that protobuf knows of all messages
}

var timeType = reflect.TypeFor[time.Time]()

// inside leads to a field of a value of another package, by the names on the way.
func inside[P any](of any, names ...string) P {
	v := reflect.ValueOf(of)
	for _, name := range names {
		v = reflect.Indirect(v).FieldByName(name)
	}
	return reflect.NewAt(v.Type(), v.Addr().UnsafePointer()).Interface().(P)
}

// clone copies a world, unexported fields too, to a moment that is later: all moments in it move with it.
func clone(w *world, shift time.Duration) *world {
	c := cloner{shift, map[unsafe.Pointer]reflect.Value{}}
	return c.of(reflect.ValueOf(w)).Interface().(*world)
}

// twofold names a pointer of a world that leads into what another pointer leads to. Of that a clone has two: what is
// changed by the one way is not seen by the other.
func twofold(w *world) string {
	c := cloner{0, map[unsafe.Pointer]reflect.Value{}}
	c.of(reflect.ValueOf(w))
	ways := slices.SortedFunc(maps.Keys(c.known), func(a, b unsafe.Pointer) int {
		return cmp.Compare(uintptr(a), uintptr(b))
	})
	for i := range len(ways) - 1 {
		whole, part := c.known[ways[i]].Type(), c.known[ways[i+1]].Type()
		if uintptr(ways[i])+whole.Elem().Size() > uintptr(ways[i+1]) {
			return fmt.Sprintf("a %v leads into a %v, and a clone would have two", part, whole)
		}
	}
	return ""
}

type cloner struct {
	shift time.Duration
	known map[unsafe.Pointer]reflect.Value
}

// politeType counts its moments in milliseconds since 1970.
var politeType = reflect.TypeFor[politeness.State]()

// plain reports that a type holds nothing that must be copied deeply.
func plain(t reflect.Type) bool {
	switch t.Kind() {
	case reflect.Pointer, reflect.Map, reflect.Slice, reflect.Interface:
		return false
	case reflect.Struct:
		flat, ok := plains.Load(t)
		if !ok {
			is := t != timeType && t != politeType
			for i := range t.NumField() {
				is = is && plain(t.Field(i).Type)
			}
			flat, _ = plains.LoadOrStore(t, is)
		}
		return flat.(bool)
	case reflect.Array:
		return plain(t.Elem())
	}
	return true
}

var plains sync.Map

func (c *cloner) of(v reflect.Value) reflect.Value {
	t := v.Type()
	if shared[t] || plain(t) {
		return v
	}
	switch t.Kind() {
	case reflect.Pointer:
		if v.IsNil() {
			return v
		}
		if done, ok := c.known[v.UnsafePointer()]; ok && done.Type() == t {
			return done
		} else if ok && t.Elem().Size() > 0 {
			panic(fmt.Sprintf("%v and %v lead to one place, and a clone would have two", done.Type(), t))
		}
		out := reflect.New(t.Elem())
		c.known[v.UnsafePointer()] = out
		c.into(out.Elem(), v.Elem())
		return out
	case reflect.Interface:
		if v.IsNil() {
			return v
		}
		out := reflect.New(t).Elem()
		out.Set(c.of(v.Elem()))
		return out
	case reflect.Slice:
		if v.IsNil() || plain(t.Elem()) && t.Elem().Kind() == reflect.Uint8 {
			return v // bytes are not written to
		}
		out := reflect.MakeSlice(t, v.Len(), v.Len())
		for i := range v.Len() {
			out.Index(i).Set(c.of(v.Index(i)))
		}
		return out
	case reflect.Map:
		if v.IsNil() {
			return v
		}
		out := reflect.MakeMapWithSize(t, v.Len())
		for it := v.MapRange(); it.Next(); {
			out.SetMapIndex(it.Key(), c.of(it.Value()))
		}
		return out
	default:
		out := reflect.New(t).Elem()
		if !v.CanAddr() {
			copied := reflect.New(t).Elem()
			copied.Set(v)
			v = copied
		}
		c.into(out, v)
		return out
	}
}

// deep is a field that is not copied with its struct.
type deep struct {
	is reflect.Type
	at uintptr
}

var deeps sync.Map

func deepOf(t reflect.Type) []deep {
	if known, ok := deeps.Load(t); ok {
		return known.([]deep)
	}
	var all []deep
	for i := range t.NumField() {
		if f := t.Field(i); !plain(f.Type) && !shared[f.Type] {
			all = append(all, deep{f.Type, f.Offset})
		}
	}
	deeps.Store(t, all)
	return all
}

// into copies a value into another that can be set, through fields that are not exported.
func (c *cloner) into(out, v reflect.Value) {
	t := v.Type()
	switch {
	case t == timeType:
		moment := *(*time.Time)(v.Addr().UnsafePointer())
		if !moment.IsZero() {
			moment = moment.Add(c.shift)
		}
		*(*time.Time)(out.Addr().UnsafePointer()) = moment
	case t.Kind() == reflect.Struct:
		out.Set(v)
		if t == politeType {
			for _, name := range []string{"next", "rest", "lastOK"} {
				f := out.FieldByName(name)
				if at := (*int64)(f.Addr().UnsafePointer()); *at != 0 {
					*at += c.shift.Milliseconds()
				}
			}
			return
		}
		for _, i := range deepOf(t) {
			f := reflect.NewAt(i.is, unsafe.Add(v.Addr().UnsafePointer(), i.at)).Elem()
			to := reflect.NewAt(i.is, unsafe.Add(out.Addr().UnsafePointer(), i.at)).Elem()
			if i.is.Kind() == reflect.Struct {
				c.into(to, f)
				continue
			}
			to.Set(c.of(f))
		}
	default:
		out.Set(c.of(v))
	}
}

// hash tells states apart. Moments count from now; what is long ago is all the same.
func (x *exploring) hash(w *world) uint64 {
	h := hasher{now: time.Now(), known: map[unsafe.Pointer]bool{}}
	h.hash.SetSeed(hashSeed)
	h.words(w.lost, w.repeated, w.kills, w.restarts)
	book := *inside[*ledger.Ledger](w.master.desk, "base", "ledger")
	for _, lease := range book.All() {
		h.of(reflect.ValueOf(&lease))
	}
	for _, s := range book.Slaves() {
		h.of(reflect.ValueOf(&s))
	}
	desk := reflect.ValueOf(w.master.desk).Elem()
	h.of(desk.FieldByName("queue").FieldByName("ready"))
	known := desk.FieldByName("slaves").FieldByName("known")
	for _, s := range w.slaves {
		if of := known.MapIndex(reflect.ValueOf(s.name())); of.IsValid() {
			of = of.Elem()
			h.words(int(of.FieldByName("serial").Uint()-s.serial), int(of.FieldByName("declined").Int()),
				int(of.FieldByName("impossible").Int()))
			h.of(of.FieldByName("restUntil"))
			if !of.FieldByName("at").IsNil() {
				h.words(1)
			}
		}
		h.words(s.boot, len(s.asked), len(s.leases))
		h.text(s.master, s.seen)
		for back := range uint64(3) {
			if at, ok := s.asked[s.serial-back]; ok {
				h.words(int(back), int((s.now()-at)/time.Millisecond))
			}
		}
		for _, id := range s.held() {
			l := s.leases[id]
			h.words(int(id), int((l.until-s.now())/time.Millisecond),
				int(max(0, l.next-s.now())/time.Millisecond), len(l.tasks), len(l.unstored), int(l.seq))
			if l.over {
				h.words(1)
			}
		}
		// of this start: of others nothing is under way for long
		for id := range *inside[*uint64](w.master.desk, "lastID") + 1 - w.starts*1000 {
			if s.ended[w.starts*1000+id] {
				h.words(int(id))
			}
		}
	}
	h.of(reflect.ValueOf(w.book))
	clock := reflect.ValueOf(w.book).Elem().FieldByName("base").Elem().FieldByName("clock")
	polite := clock.FieldByName("polite")
	h.moment((*politeness.State)(polite.Addr().UnsafePointer()).NextAllowed())
	h.moment(w.polite.NextAllowed())
	h.of(reflect.ValueOf(&w.lease))
	h.moment(w.row.NextAllowed)
	h.words(len(w.pending))
	for _, write := range w.pending {
		h.words(len(write.Visits))
		if write.Facts != nil && write.Facts.Closed {
			h.words(int(write.Facts.Lease))
		}
		h.text(fmt.Sprintf("%T", write.Tag))
		if write.Lease != nil {
			h.words(int(write.Lease.ID), int(write.Lease.Seq))
		}
	}
	for _, done := range w.visited {
		h.text(strconv.FormatBool(done))
	}
	h.moment(w.askedAt)
	var sum uint64 // messages overtake each other: their order is nothing
	for _, l := range w.net {
		one := hasher{now: h.now, known: map[unsafe.Pointer]bool{}}
		one.hash.SetSeed(hashSeed)
		one.words(l.from, l.to)
		text := fmt.Sprintf("%T ", l.message)
		switch m := l.message.(type) {
		case *messages.WorkRequested:
			text += fmt.Sprint(m.Serial-w.slaves[l.from].serial, m.Boot, m.Held)
		case *messages.TaskBatch:
			text += fmt.Sprint(m.Serial-w.slaves[l.to].serial, m.Renewed, m.Revoked)
			for _, task := range m.Tasks {
				text += fmt.Sprint(task.Lease, task.FirstAfterNs/1e6, len(task.Tasks))
			}
		case *messages.SlaveWelcomed:
			text += fmt.Sprint(m.MasterBoot, m.Unknown)
		case fmt.Stringer:
			text += m.String()
		}
		one.text(text)
		if l.twice {
			one.words(2)
		}
		sum += one.hash.Sum64()
	}
	h.words(int(sum))
	return h.hash.Sum64()
}

var hashSeed = maphash.MakeSeed()

type hasher struct {
	hash  maphash.Hash
	now   time.Time
	known map[unsafe.Pointer]bool
}

func (h *hasher) words(all ...int) {
	for _, n := range all {
		var b [8]byte
		binary.LittleEndian.PutUint64(b[:], uint64(n))
		h.hash.Write(b[:])
	}
}

func (h *hasher) text(all ...string) {
	for _, s := range all {
		h.words(len(s))
		h.hash.WriteString(s)
	}
}

// longAgo is beyond every wait of these instances.
const longAgo = 30 * time.Second

func (h *hasher) moment(at time.Time) {
	if at.IsZero() {
		h.words(math.MinInt)
		return
	}
	h.words(int(min(max(at.Sub(h.now), -longAgo), longAgo) / time.Millisecond))
}

// skipped are fields of which nothing follows here.
var skipped = map[string]bool{"o": true, "judge": true, "out": true, "now": true, "record": true, "polite": true,
	"askedAt": true, "FactBy": true, "since": true, "sizeCache": true, "unknownFields": true}

// told are the fields of a struct of which something follows.
func told(t reflect.Type) []int {
	if known, ok := toldOf.Load(t); ok {
		return known.([]int)
	}
	var fields []int
	for i := range t.NumField() {
		// What protobuf keeps in a message beside its fields leads to all that it knows of all messages.
		if field := t.Field(i); !skipped[field.Name] && field.Type != reflect.TypeFor[protoimpl.MessageState]() {
			fields = append(fields, i)
		}
	}
	toldOf.Store(t, fields)
	return fields
}

var toldOf sync.Map

func (h *hasher) of(v reflect.Value) {
	t := v.Type()
	switch t.Kind() {
	case reflect.Bool:
		h.text(strconv.FormatBool(v.Bool()))
	case reflect.Int, reflect.Int8, reflect.Int16, reflect.Int32, reflect.Int64:
		h.words(int(v.Int()))
	case reflect.Uint, reflect.Uint8, reflect.Uint16, reflect.Uint32, reflect.Uint64:
		h.words(int(v.Uint()))
	case reflect.String:
		h.text(v.String())
	case reflect.Pointer, reflect.Interface:
		if v.IsNil() {
			h.words(-1)
			return
		}
		if t.Kind() == reflect.Pointer {
			if h.known[v.UnsafePointer()] {
				return
			}
			h.known[v.UnsafePointer()] = true
		}
		h.of(v.Elem())
	case reflect.Slice:
		h.words(v.Len())
		for i := range v.Len() {
			h.of(v.Index(i))
		}
	case reflect.Map:
		h.words(v.Len())
		var sum uint64
		for it := v.MapRange(); it.Next(); {
			one := hasher{now: h.now, known: h.known}
			one.hash.SetSeed(hashSeed)
			one.of(it.Key())
			sum += one.hash.Sum64()
		}
		h.words(int(sum))
	case reflect.Struct:
		if t == timeType {
			if v.CanAddr() {
				h.moment(*(*time.Time)(v.Addr().UnsafePointer()))
			}
			return
		}
		for _, i := range told(t) {
			h.of(v.Field(i))
		}
	}
}

var deeper = flag.Int("deeper", 0, "events by which the search goes deeper; each takes 2.5 times as long")

// TestLeasesExplored searches small instances of the protocol between master and slaves.
func TestLeasesExplored(t *testing.T) {
	for _, in := range []*instance{
		{name: "two slaves, a message lost", speeds: []float64{1, 1}, pages: 2, lost: 1, depth: 8},
		{name: "the master is killed", speeds: []float64{1, 1}, pages: 1, kills: 1, depth: 8},
		{name: "a slave is restarted, a message comes twice", speeds: []float64{1, 1}, pages: 1, restarts: 1,
			repeated: 1, depth: 7},
		{name: "clocks run at different speeds", speeds: []float64{1.1, 0.9}, pages: 2, depth: 10},
		{name: "held: the master is killed, a message lost", speeds: []float64{1.1, 0.9}, pages: 2, kills: 1, lost: 1,
			from: held, depth: 5},
		{name: "asked: both sides are restarted", speeds: []float64{1, 1}, pages: 2, kills: 1, restarts: 1, from: asked,
			depth: 5},
		{name: "asked: messages come twice and are lost", speeds: []float64{1, 1}, pages: 2, repeated: 2, lost: 1,
			from: asked, depth: 4},
		{name: "ended: the master is killed twice", speeds: []float64{1, 1}, pages: 2, kills: 2, from: ended, budget: 1,
			depth: 5},
	} {
		t.Run(in.name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				x := newExploring(t)
				in.depth += *deeper
				if testing.Short() { // with the detector of races
					in.depth--
				}
				states, steps, ends, fault := x.explore(in)
				t.Logf("%d states, %d steps, %d ends", states, steps, ends)
				if fault != "" {
					t.Error(fault)
				}
			})
		})
	}
}
