package floor

import (
	"cmp"
	"context"
	"fmt"
	"math/rand/v2"
	"reflect"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/asynkron/protoactor-go/actor"
	"github.com/sirupsen/logrus"
	"golang.org/x/time/rate"

	"henro/messages/ring"
	"henro/messages/ticks"
)

// Tracer looks into the mailboxes of one running system.
//
// Every actor's mailbox lies in a box that sees a message when it is posted and when the actor takes it. While no
// trace runs, a box costs an atomic load on each side and counts the messages taken. While one does, messages that a
// filter wants are stamped with their time at the door, and when they have been handled a TraceEvent goes to the
// followers. protoactor's own middleware was tried and dropped: a receiver middleware
// allocates an envelope for each message even when it has nothing to do, and a mailbox middleware sees a message
// only after it was handled.
//
// What went wrong is always kept in a ring of the latest events: failures, restarts, dead letters, and messages that an
// actor left behind unread when it stopped, of which protoactor says nothing. Nothing here waits for a reader, and all
// memory is bounded: a follower that is too slow loses events and is sent their number.
type Tracer struct {
	o      TracerOptions
	active atomic.Pointer[sinkSet] // nil: no reader
	seq    atomic.Uint64

	system *actor.ActorSystem // set once, before the first spawn
	log    *logrus.Entry
	crash  func(Crash) // of SystemOptions
	panics *rate.Limiter

	mu     sync.Mutex
	follow []*Follower
	latest ring.Ring[TraceEvent]

	boxesMu sync.Mutex
	boxes   box // head of the ring list of all boxes
	count   int
	kinds   map[string]*kindSum
}

// TracerOptions size a tracer; zero fields have defaults.
type TracerOptions struct {
	Node      string                                            // put into every event
	Ring      int                                               // events kept; default 1024, some 300 kB
	Followers int                                               // followers at once; default 16
	About     func(message any, each func(string, string) bool) // what a message is about; default About
	Lines     func(most int) [][]byte                           // latest of the log as JSON, oldest first; nil: none
}

// maxFollowers is set by the bits of a mask; one bit is the ring's.
const maxFollowers = 63

// NewTracer returns a tracer for one system, to be handed to NewSystem.
func NewTracer(o TracerOptions) *Tracer {
	o.Ring, o.Followers = cmp.Or(max(o.Ring, 0), 1024), min(cmp.Or(max(o.Followers, 0), 16), maxFollowers)
	if o.About == nil {
		o.About = About
	}
	t := &Tracer{o: o, latest: ring.Of[TraceEvent](o.Ring), panics: rate.NewLimiter(1, 5), kinds: map[string]*kindSum{}}
	t.boxes.next, t.boxes.prev = &t.boxes, &t.boxes
	return t
}

func (t *Tracer) attach(system *actor.ActorSystem, log *logrus.Entry, crash func(Crash)) {
	t.system, t.log, t.crash = system, log, crash
	if t.o.Node == "" {
		t.o.Node, _ = log.Data["node"].(string)
	}
}

// Kinds of events.
const (
	Handled    = "handled"     // a message was handled
	Failed     = "failed"      // an actor panicked at a message
	Started    = "started"     // an actor began, or began again
	Restarted  = "restarted"   // an actor was restarted after a failure
	Stopped    = "stopped"     // an actor is gone
	DeadLetter = "dead letter" // the actor addressed is gone
	Unknown    = "unhandled"   // an actor did not know the message
)

// TraceEvent is what happened in one mailbox.
type TraceEvent struct {
	Seq     uint64    `json:"seq"` // counts up in one process
	At      time.Time `json:"at"`  // when it was over
	Node    string    `json:"node"`
	Kind    string    `json:"kind"`
	Actor   string    `json:"actor"`             // receiver
	Sender  string    `json:"sender,omitempty"`  // with its address, when it is in another process
	Message string    `json:"message,omitempty"` // type
	// key=value of lease, batch, host, URL …: the thread from node to node
	About string `json:"about,omitempty"`
	// messages waiting when this one was posted, itself included; of a stopped actor, those left
	Queue int           `json:"queue"`
	Dwell time.Duration `json:"dwell_ns"` // in the mailbox; -1: posted before anybody looked
	Took  time.Duration `json:"took_ns"`  // in the hands of the actor
	Err   string        `json:"err,omitempty"`
	Stack string        `json:"stack,omitempty"`
}

// Filter says which events are wanted. Patterns may hold * for any letters and ? for one; empty means all. A pattern
// without a slash at its beginning also fits the end of an actor's name that begins after a slash: host/*.example.com.
type Filter struct {
	Actor   string `json:"actor,omitempty"`   // name of the receiver
	Message string `json:"message,omitempty"` // type of the message, without its package
	// a value that the message is about, whole: a URL, a host, the number of a lease
	About string `json:"about,omitempty"`
	URL   string `json:"url,omitempty"`   // the life of one URL: also messages about its host and its leases
	Every int    `json:"every,omitempty"` // one in so many messages, by chance; 0 and 1: all
}

// sinkSet is where events go now. It never changes: a new one takes its place.
type sinkSet struct {
	sinks []sink
	types sync.Map // reflect.Type → uint64, the sinks that want messages of the type
}

// sink is where events go.
type sink struct {
	filter   Filter
	chain    *chain // of the filter's URL; nil: it has none
	follower *Follower
}

func newSink(f Filter, follower *Follower) sink {
	s := sink{filter: f, follower: follower}
	if f.URL != "" {
		s.chain = newChain(f.URL)
	}
	return s
}

// wants reports whether the message is about what is wanted.
func (s *sink) wants(t *Tracer, message any) bool {
	if s.filter.About != "" && !t.isAbout(message, s.filter.About) {
		return false
	}
	return s.chain == nil || message != nil && s.chain.fits(func(each func(string, string) bool) {
		t.o.About(message, each)
	})
}

// Recent are the events of the ring, oldest first.
func (t *Tracer) Recent() []TraceEvent {
	t.mu.Lock()
	defer t.mu.Unlock()
	return slices.Collect(t.latest.All())
}

// Follower receives events as they happen.
type Follower struct {
	tracer  *Tracer
	sink    sink
	events  chan TraceEvent
	dropped atomic.Uint64
}

// Follow begins to follow the events that fit; up to buffer of them wait for a slow reader. An error says that there
// are too many followers.
func (t *Tracer) Follow(f Filter, buffer int) (*Follower, error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if len(t.follow) >= t.o.Followers {
		return nil, fmt.Errorf("follow trace: %d others follow already", len(t.follow))
	}
	w := &Follower{tracer: t, events: make(chan TraceEvent, max(buffer, 1))}
	w.sink = newSink(f, w)
	t.follow = append(t.follow, w)
	t.look()
	return w, nil
}

// Events is where they come; it is never closed.
func (w *Follower) Events() <-chan TraceEvent { return w.events }

// Dropped counts events that came while the reader had no room.
func (w *Follower) Dropped() uint64 { return w.dropped.Load() }

// Close ends the following.
func (w *Follower) Close() {
	t := w.tracer
	t.mu.Lock()
	defer t.mu.Unlock()
	t.follow = slices.DeleteFunc(t.follow, func(other *Follower) bool { return other == w })
	t.look()
}

// look makes the sinkSet of those who look now. t.mu is held.
func (t *Tracer) look() {
	w := &sinkSet{}
	for _, f := range t.follow {
		w.sinks = append(w.sinks, f.sink)
	}
	if len(w.sinks) == 0 {
		w = nil
	}
	t.active.Store(w)
}

// wants is the set of sinks that want messages of this type, by its bits.
func (w *sinkSet) wants(message any) uint64 {
	key := reflect.TypeOf(message)
	if mask, ok := w.types.Load(key); ok {
		return mask.(uint64)
	}
	name, mask := messageName(message), uint64(0)
	for i, s := range w.sinks {
		if s.filter.Message == "" || glob(s.filter.Message, name) {
			mask |= 1 << i
		}
	}
	w.types.Store(key, mask)
	return mask
}

// watching is the present sinkSet, if there is one, and the set of its sinks that want messages to the actor.
func (t *Tracer) watching(name string) (w *sinkSet, mask uint64) {
	if w = t.active.Load(); w != nil {
		mask = w.toActor(name)
	}
	return w, mask
}

// toActor is the set of sinks that want messages to the actor.
func (w *sinkSet) toActor(name string) uint64 {
	var mask uint64
	for i, s := range w.sinks {
		if s.filter.Actor == "" || globPath(s.filter.Actor, name) {
			mask |= 1 << i
		}
	}
	return mask
}

// sampled leaves in the mask the sinks whose turn it is.
func (w *sinkSet) sampled(mask uint64) uint64 {
	for i, s := range w.sinks {
		if s.filter.Every > 1 && mask&(1<<i) != 0 && rand.IntN(s.filter.Every) != 0 {
			mask &^= 1 << i
		}
	}
	return mask
}

// deadLetter notes a message to an actor that is gone.
func (t *Tracer) deadLetter(e *actor.DeadLetterEvent) {
	if _, known := e.Message.(actor.IgnoreDeadLetterLogging); known {
		return
	}
	w, mask := t.watching(e.PID.GetId())
	t.emit(w, mask, e.Message, TraceEvent{At: time.Now(), Kind: DeadLetter, Actor: t.pidWord(e.PID),
		Sender: t.pidWord(e.Sender), Dwell: -1})
}

// unhandled notes a message that its receiver did not know.
func (t *Tracer) unhandled(u *unhandled) {
	w, mask := t.watching(u.actor.GetId())
	t.emit(w, mask, u.message, TraceEvent{At: time.Now(), Kind: Unknown, Actor: t.pidWord(u.actor),
		Sender: t.pidWord(u.sender), Dwell: -1})
}

// emit hands the event to the sinks of the mask that want what it is about.
func (t *Tracer) emit(w *sinkSet, mask uint64, message any, e TraceEvent) {
	always := e.Kind == Failed || e.Kind == DeadLetter || e.Kind == Unknown || e.Kind == Restarted ||
		e.Kind == Stopped && e.Queue > 0
	if mask == 0 && !always {
		return
	}
	e.Seq, e.Node = t.seq.Add(1), t.o.Node
	if message != nil {
		e.Message = messageName(message)
		e.About = t.about(message)
	}
	if w != nil {
		for i, s := range w.sinks {
			if mask&(1<<i) == 0 || !s.wants(t, message) {
				continue
			}
			select {
			case s.follower.events <- e:
			default:
				s.follower.dropped.Add(1)
			}
		}
	}
	if always {
		t.keep(e)
	}
}

func (t *Tracer) keep(e TraceEvent) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.latest.Add(e)
}

// pidWord is an actor's name, with its address when that is another process.
func (t *Tracer) pidWord(pid *actor.PID) string {
	if pid == nil {
		return ""
	}
	if pid.Address == "" || pid.Address == t.system.Address() || pid.Address == "nonhost" {
		return pid.Id
	}
	return pid.Address + "/" + pid.Id
}

func (t *Tracer) enter(b *box) {
	t.boxesMu.Lock()
	defer t.boxesMu.Unlock()
	b.prev, b.next = t.boxes.prev, &t.boxes
	b.prev.next, b.next.prev = b, b
	t.count++
	if b.sum = t.kinds[b.kind]; b.sum == nil {
		b.sum = &kindSum{}
		t.kinds[b.kind] = b.sum
	}
}

// leave takes the box out of the list and reports whether it was in it.
func (t *Tracer) leave(b *box) bool {
	t.boxesMu.Lock()
	defer t.boxesMu.Unlock()
	if b.next == nil {
		return false
	}
	b.prev.next, b.next.prev = b.next, b.prev
	b.prev, b.next = nil, nil
	b.sum.gone += b.taken.Load()
	t.count--
	return true
}

// Row is what is known of one actor.
type Row struct {
	Actor string `json:"actor"`
	Queue int    `json:"queue"` // messages that wait now
	Taken uint64 `json:"taken"` // messages the actor began with since its start
}

func (b *box) row() Row {
	return Row{Actor: b.name, Queue: b.UserMessageCount(), Taken: b.taken.Load()}
}

// Actors names the actors that live, the oldest first.
func (t *Tracer) Actors() []string {
	var names []string
	for _, b := range t.all() {
		names = append(names, b.name)
	}
	return names
}

// Table is the limit actors (0: all) whose names fit the pattern, longest mailbox first, then the busiest.
func (t *Tracer) Table(pattern string, limit int) []Row {
	var rows []Row
	for _, b := range t.all() {
		if pattern == "" || globPath(pattern, b.name) {
			rows = append(rows, b.row())
		}
	}
	slices.SortFunc(rows, func(a, b Row) int {
		return cmp.Or(cmp.Compare(b.Queue, a.Queue), cmp.Compare(b.Taken, a.Taken), cmp.Compare(a.Actor, b.Actor))
	})
	if limit > 0 && len(rows) > limit {
		rows = rows[:limit]
	}
	return rows
}

func (t *Tracer) all() []*box {
	t.boxesMu.Lock()
	defer t.boxesMu.Unlock()
	all := make([]*box, 0, t.count)
	for b := t.boxes.next; b != &t.boxes; b = b.next {
		all = append(all, b)
	}
	return all
}

// Troubled are the actors that have fallen behind since the last call: those that took nothing although messages wait,
// and those with at least limit messages waiting, no fewer than before.
func (t *Tracer) Troubled(limit int) (stuck, growing []Row) {
	t.boxesMu.Lock()
	defer t.boxesMu.Unlock()
	for b := t.boxes.next; b != &t.boxes; b = b.next {
		queue, taken := uint64(b.UserMessageCount()), b.taken.Load()
		switch {
		case queue > 0 && b.lastQueue > 0 && taken == b.lastTaken:
			stuck = append(stuck, b.row())
		case queue >= uint64(limit) && b.lastQueue >= uint64(limit) && queue >= b.lastQueue:
			growing = append(growing, b.row())
		}
		b.lastQueue, b.lastTaken = queue, taken
	}
	return stuck, growing
}

// Watch logs every so often which actors are stuck and which mailboxes grow, until the context ends.
func (t *Tracer) Watch(ctx context.Context, every time.Duration, limit int) {
	for range ticks.Every(ctx, every) {
		stuck, growing := t.Troubled(limit)
		t.complain("actor is stuck", stuck)
		t.complain("mailbox grows", growing)
	}
}

// complain names at most ten.
func (t *Tracer) complain(phrase string, rows []Row) {
	for _, r := range rows[:min(len(rows), 10)] {
		t.log.WithFields(logrus.Fields{"actor": r.Actor, "queue": r.Queue, "taken": r.Taken,
			"others": len(rows) - 1}).Warn(phrase)
	}
}
