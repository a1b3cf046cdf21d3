package crowdsim

import (
	"encoding/binary"
	"fmt"
	"hash/fnv"
	"runtime/pprof"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/asynkron/protoactor-go/actor"
	"google.golang.org/protobuf/proto"

	"henro/actors/floor"
	"henro/actors/robots"
	"henro/messages"
	"henro/messages/outlink"
	"henro/store/fingerprint"
)

// web is what the slaves fetch: hosts of so many pages, of which each links to the first ones, to four that are new,
// and to two of other hosts.
type web struct {
	t        *testing.T
	hosts    int
	pages    int // of a host
	interval time.Duration

	mu   sync.Mutex
	asks map[string]*asking // by host
}

// asking is who may ask a host, and when it was asked last.
type asking struct {
	by    uint64 // lease; 0: nobody
	ended time.Time
}

func (w *web) host(i int) string { return fmt.Sprintf("http://h%05d.example", i) }

func (w *web) url(host string, page int) string {
	if page == 0 {
		return host + "/"
	}
	return fmt.Sprintf("%s/chapter-%d/page-%d.html", host, page%7, page)
}

// pageOf is which page of its host a URL is.
func pageOf(url string) (page int) {
	if _, name, ok := strings.Cut(url, "/page-"); ok {
		_, _ = fmt.Sscanf(name, "%d", &page)
	}
	return page
}

// draw is a number below n that follows from a text.
func draw(text string, n uint64) uint64 {
	h := fnv.New64a()
	h.Write([]byte(text))
	return h.Sum64() >> 8 % n
}

func (w *web) links(host string, page int) *messages.LinkSet {
	set := &messages.LinkSet{}
	link := func(url string, to int) {
		set.Urls = append(set.Urls, url)
		set.Anchors = append(set.Anchors, fmt.Sprintf("Page %d of it", to))
		set.Kinds, set.Flags = append(set.Kinds, byte(outlink.Anchor)), append(set.Flags, 0)
	}
	for i := range 14 {
		link(w.url(host, i%w.pages), i)
	}
	for i := 4*page + 1; i <= 4*page+4; i++ {
		if i < w.pages && i >= 14 {
			link(w.url(host, i), i)
		}
	}
	for i := range 2 {
		key := fmt.Sprint(host, page, i)
		to := int(draw(key, uint64(w.pages)))
		link(w.url(w.host(int(draw(key, uint64(w.hosts)))), to), to)
	}
	return set
}

// begin notes that a host is asked under a lease.
func (w *web) begin(host string, lease uint64) {
	w.mu.Lock()
	defer w.mu.Unlock()
	a := w.asks[host]
	if a == nil {
		a = &asking{}
		w.asks[host] = a
	}
	if a.by != 0 {
		w.t.Errorf("%s is asked under lease %x and under %x", host, a.by, lease)
	}
	if gap := time.Since(a.ended); gap < w.interval {
		w.t.Errorf("%s is asked under lease %x after %v", host, lease, gap)
	}
	a.by = lease
}

func (w *web) end(host string) {
	w.mu.Lock()
	defer w.mu.Unlock()
	*w.asks[host] = asking{ended: time.Now()}
}

// tally counts what slaves and the master say to each other.
type tally struct {
	mu     sync.Mutex
	counts counts
}

type counts struct {
	messages map[string]int // by kind
	bytes    int
	leases   int
	pages    int
}

func (t *tally) counted() counts {
	t.mu.Lock()
	defer t.mu.Unlock()
	was := t.counts
	t.counts = counts{messages: map[string]int{}}
	return was
}

func (t *tally) note(kind string, bytes, leases, pages int) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.counts.messages[kind]++
	t.counts.bytes += bytes
	t.counts.leases += leases
	t.counts.pages += pages
}

const (
	connections = 256                    // of a slave, as by default
	archived    = 100 * time.Millisecond // how long captures are gathered
	slowest     = 5 * time.Second        // robots.txt, so that hosts do not go in step
	askEvery    = time.Second
)

// slave is a slave as its master sees it.
type slave struct {
	*web
	tally  *tally
	name   string
	master *actor.PID

	term     uint64
	leaseFor time.Duration
	welcomed bool
	serial   uint64
	asked    map[uint64]time.Time
	leases   map[uint64]*lease
	ticking  floor.Timer
	flushing bool // facts are being gathered
	flusher  floor.Timer
}

type lease struct {
	task     *messages.HostTask
	until    time.Time
	robots   bool // the rules are known
	seen     map[uint64]struct{}
	queue    []*visit
	budget   int
	asking   *visit // under way; nil: none
	started  time.Time
	why      string // of the end
	finished bool
	timer    floor.Timer

	seq      uint64
	stored   uint64
	unsent   []*messages.Fact
	lastSeq  uint64 // of the end; 0: none yet
	startsOf map[uint64]time.Time
}

type visit struct {
	url      string
	position []byte
	left     int32
	depth    int32
	robots   bool
}

type (
	tick    struct{}
	step    struct{ lease uint64 }
	flush   struct{}
	crowded struct{} // the run is over: nothing more is said
)

func (s *slave) Receive(ctx actor.Context) {
	switch m := ctx.Message().(type) {
	case *actor.Started:
		s.asked, s.leases = map[uint64]time.Time{}, map[uint64]*lease{}
		s.ticking.After(ctx, time.Duration(draw(s.name, uint64(askEvery))), &tick{})
	case *tick:
		s.ticking.After(ctx, askEvery, &tick{})
		if s.welcomed {
			s.ask(ctx)
		} else {
			s.say(ctx, &messages.SlaveRegistered{Slave: s.name, Boot: "1", Version: "model",
				Address: "10.0.0.1:7782", Connections: connections})
		}
	case *messages.SlaveWelcomed:
		s.hear(m, 0)
		s.welcomed, s.term, s.leaseFor = true, m.Term, time.Duration(m.LeaseNs)
		s.ask(ctx)
	case *messages.TaskBatch:
		s.takeBatch(ctx, m)
	case *messages.Stored:
		s.hear(m, 0)
		s.forget(m)
	case *step:
		if l := s.leases[m.lease]; l != nil && !l.finished {
			s.step(ctx, l)
		}
	case *flush:
		s.report(ctx)
	case *crowded:
		s.stop()
	case *actor.Stopping:
		s.stop()
	}
}

func (s *slave) stop() {
	s.ticking.Stop()
	s.flusher.Stop()
	for _, l := range s.leases {
		l.timer.Stop()
	}
}

// say sends the master a message as a network does: it is encoded here, and decoded there.
func (s *slave) say(ctx actor.Context, m proto.Message) {
	b, err := proto.Marshal(m)
	if err != nil {
		s.t.Error(err)
	}
	pprof.SetGoroutineLabels(workOf(leader))
	read := m.ProtoReflect().New().Interface()
	if err := proto.Unmarshal(b, read); err != nil {
		s.t.Error(err)
	}
	pprof.SetGoroutineLabels(workOf(crowd))
	s.tally.note(kindOf(m), len(b), 0, 0)
	ctx.Request(s.master, read)
}

// hear takes note of a message of the master, who encodes it.
func (s *slave) hear(m proto.Message, leases int) {
	pprof.SetGoroutineLabels(workOf(leader))
	b, err := proto.Marshal(m)
	if err != nil {
		s.t.Error(err)
	}
	pprof.SetGoroutineLabels(workOf(crowd))
	s.tally.note(kindOf(m), len(b), leases, 0)
}

func kindOf(m proto.Message) string {
	if batch, ok := m.(*messages.TaskBatch); ok && len(batch.Tasks) > 0 {
		return "TaskBatch, lends"
	} else if ok {
		return "TaskBatch, renews"
	}
	return string(m.ProtoReflect().Descriptor().Name())
}

func (s *slave) ask(ctx actor.Context) {
	s.serial++
	s.asked[s.serial] = time.Now()
	delete(s.asked, s.serial-16)
	held, unstored := make([]uint64, 0, len(s.leases)), 0
	for id, l := range s.leases {
		held = append(held, id)
		unstored += int(l.seq - l.stored)
	}
	s.say(ctx, &messages.WorkRequested{Slave: s.name, Boot: "1", Serial: s.serial, HostSlots: connections,
		PageSlots: uint32(4096 - unstored), Held: held, Unstored: uint32(unstored), MemoryBytes: 30 << 20,
		Goroutines: 60, Term: s.term})
}

func (s *slave) takeBatch(ctx actor.Context, m *messages.TaskBatch) {
	s.hear(m, len(m.Tasks))
	askedAt, ok := s.asked[m.Serial]
	if !ok {
		for _, task := range m.Tasks {
			s.say(ctx, &messages.TaskRefused{Slave: s.name, Boot: "1", Lease: task.Lease, Host: task.Host})
		}
		return
	}
	until := askedAt.Add(s.leaseFor)
	for _, id := range m.Renewed {
		if l := s.leases[id]; l != nil {
			l.until = until
		}
	}
	for _, id := range m.Revoked {
		if l := s.leases[id]; l != nil && l.why == "" {
			if l.why = "revoked"; l.asking == nil {
				s.step(ctx, l)
			}
		}
	}
	for _, task := range m.Tasks {
		s.takeTask(ctx, task, until)
	}
}

func (s *slave) takeTask(ctx actor.Context, task *messages.HostTask, until time.Time) {
	if s.leases[task.Lease] != nil {
		return
	}
	l := &lease{task: task, until: until, robots: len(task.Robots) > 0, seen: map[uint64]struct{}{},
		budget: int(task.PageBudget), startsOf: map[uint64]time.Time{}}
	for known := task.Known; len(known) >= 8; known = known[8:] {
		l.seen[binary.BigEndian.Uint64(known)] = struct{}{}
	}
	l.enqueue(task)
	s.leases[task.Lease] = l
	l.timer.After(ctx, time.Duration(task.FirstAfterNs), &step{task.Lease})
}

func (l *lease) enqueue(task *messages.HostTask) {
	for _, t := range task.Tasks {
		l.seen[fingerprint.URL(t.Url)&^0xff] = struct{}{}
		l.queue = append(l.queue, &visit{url: t.Url, position: t.Position, left: t.DepthLeft, depth: t.Depth})
	}
}

// step ends the request under way, or begins the next one.
func (s *slave) step(ctx actor.Context, l *lease) {
	if l.asking != nil {
		s.answered(ctx, l)
		return
	}
	switch {
	case l.why != "":
	case time.Now().After(l.until):
		l.why = "ended"
	case l.robots && l.budget <= 0:
		l.why = "budget"
	case l.robots && len(l.queue) == 0:
		l.why = "done"
	}
	if l.why != "" {
		l.finished = true
		l.add(&messages.Fact{Finished: &messages.LeaseFinished{Why: l.why}})
		l.lastSeq = l.seq
		s.gather(ctx)
		return
	}
	took := 200 * time.Millisecond
	if !l.robots {
		l.asking = &visit{url: l.task.Host + "/robots.txt", robots: true}
		took += time.Duration(draw(l.task.Host, uint64(slowest)))
	} else {
		l.asking, l.queue = l.queue[0], l.queue[1:]
		l.budget--
	}
	s.begin(l.task.Host, l.task.Lease)
	l.started = time.Now()
	l.timer.After(ctx, took, &step{l.task.Lease})
}

func (s *slave) answered(ctx actor.Context, l *lease) {
	s.end(l.task.Host)
	took := time.Since(l.started)
	v := l.asking
	l.asking = nil
	if v.robots {
		rules, err := robots.Parse([]byte("User-agent: *\nDisallow: /private/\n"), "henro").MarshalBinary()
		if err != nil {
			s.t.Error(err)
		}
		l.robots = true
		l.add(&messages.Fact{Rules: &messages.RulesVisited{Status: 200, TookNs: int64(took), Rules: rules}})
	} else {
		s.tally.note("a page", 0, 0, 1)
		links := s.links(l.task.Host, pageOf(v.url))
		digest := draw(v.url, 1<<56)
		l.add(&messages.Fact{Visited: &messages.PageVisited{Url: v.url, Position: v.position, DepthLeft: v.left,
			Depth: v.depth, Status: 200, TookNs: int64(took),
			Digest:     binary.LittleEndian.AppendUint64(make([]byte, 12, 20), digest),
			MainDigest: digest, Simhash: draw(v.url+"#", 1<<56), BodyBytes: 20_000, WarcBytes: 6_000,
			Mime: "text/html", Charset: "utf-8", Language: "en", WarcFile: s.name + "-20260101000000-00000.warc.gz",
			WarcOffset: uint64(6_000 * l.seq), Links: links, Title: "A page of " + l.task.Host,
			Etag: fmt.Sprintf("%x", digest), CapturedUnix: time.Now().Unix()}})
		if l.task.Follow {
			s.follow(l, v, links)
		}
	}
	s.gather(ctx)
	rest := max(time.Duration(l.task.IntervalNs), time.Duration(l.task.Ratio*float64(took)))
	if l.done() { // it ends without a rest, which the master gives the host
		rest = 0
	}
	l.timer.After(ctx, rest, &step{l.task.Lease})
}

// done reports that there is nothing left to ask.
func (l *lease) done() bool { return l.robots && (l.budget <= 0 || len(l.queue) == 0) }

// follow queues the links of a page on the same host that nobody knows.
func (s *slave) follow(l *lease, from *visit, links *messages.LinkSet) {
	for _, url := range links.Urls {
		key := fingerprint.URL(url) &^ 0xff
		if _, known := l.seen[key]; known || !strings.HasPrefix(url, l.task.Host+"/") || len(l.queue) >= l.budget {
			continue
		}
		l.seen[key] = struct{}{}
		left := from.left
		if left > 0 {
			left--
		}
		l.queue = append(l.queue, &visit{url: url, left: left, depth: from.depth + 1})
	}
}

func (l *lease) add(f *messages.Fact) {
	l.seq++
	f.Lease, f.Seq, f.Host = l.task.Lease, l.seq, l.task.Host
	l.unsent = append(l.unsent, f)
	l.startsOf[l.seq] = l.started
}

// gather has facts reported when their captures are synced.
func (s *slave) gather(ctx actor.Context) {
	if !s.flushing {
		s.flushing = true
		s.flusher.After(ctx, archived, &flush{})
	}
}

func (s *slave) report(ctx actor.Context) {
	s.flushing = false
	for _, l := range s.leases {
		if len(l.unsent) == 0 {
			continue
		}
		for _, f := range l.unsent {
			ago := int64(time.Since(l.startsOf[f.Seq]))
			switch {
			case f.Visited != nil:
				f.Visited.AgoNs = ago
			case f.Rules != nil:
				f.Rules.AgoNs = ago
			}
			delete(l.startsOf, f.Seq)
		}
		s.say(ctx, &messages.Report{Slave: s.name, Boot: "1", Facts: l.unsent, Term: s.term})
		l.unsent = nil
	}
}

func (s *slave) forget(m *messages.Stored) {
	for i, id := range m.Leases {
		if l := s.leases[id]; l != nil {
			l.stored = max(l.stored, min(m.Seqs[i], l.seq))
			if l.lastSeq > 0 && m.Seqs[i] >= l.lastSeq {
				l.timer.Stop()
				delete(s.leases, id)
			}
		}
	}
}
