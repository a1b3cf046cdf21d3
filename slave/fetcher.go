package slave

import (
	"context"
	"fmt"
	"math"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/asynkron/protoactor-go/actor"
	"github.com/sirupsen/logrus"

	"henro/actors/admission"
	"henro/actors/floor"
	"henro/actors/robots"
	"henro/actors/traps"
	"henro/messages"
	"henro/messages/outlink"
	"henro/messages/weburl"
	"henro/slave/cookies"
	"henro/slave/fetch"
	"henro/slave/owed"
	"henro/store/fingerprint"
)

// assignment is what a Fetcher is born with.
type assignment struct {
	task    *messages.HostTask
	until   time.Time
	rules   *rules
	parsers parsers
	slave   *actor.PID
	kept    *account
	gate    *gate
	log     *logrus.Entry
	begun   bool                  // a Fetcher has been at it
	broke   *messages.PageVisited // the visit under way when that one panicked; nil: there was none
}

type (
	renew    struct{ until time.Time } // the lease lasts on
	finish   struct{ why string }      // make an end after the request under way
	restOver struct{}                  // the host may be asked again
	placed   struct{}                  // there is a connection for its next request
	fetched  struct{ response *fetch.Response }
	parsed   struct { // by a Parser; those of neighbouring visits may come in another order
		follow    []visit       // links on this host that the page's depth allows
		robots    *robots.Rules // when robots.txt was parsed
		next      weburl.URL    // of robots.txt: what is to be asked before the rules are whole, on this host
		elsewhere bool          // robots.txt redirects to another host: the master asks there
	}
)

// What a Fetcher remembers of one URL to visit.
type visit struct {
	url       weburl.URL
	task      *messages.Task // nil: followed inside the lease
	left      int32
	depth     int32
	hops      uint32
	attempts  uint16
	requisite uint8  // how far from a page; 0: a page; outlink.PageToo: both
	via       string // of a requisite: the URL that names it; empty: unknown
}

// isRequisite reports that it is no page by itself.
func (v *visit) isRequisite() bool { return v.requisite > 0 && v.requisite != outlink.PageToo }

// maxAhead is how many pages of one lease may wait to be parsed while the next is fetched: enough to keep the host
// busy, few enough that a slow parser holds a fast host back.
const maxAhead = 4

// maxLight is how large a page may be that goes to a Parser with others: 98 of 100 are smaller. One of 27 MB takes half
// a second, for which an ordinary host's next request waited if both had the same Parser.
const maxLight = 256 << 10

// maxFailures in a row that are the host's fault end a lease: the master decides when to come back.
const maxFailures = 3

// maxRobotsHops is RFC 9309 2.3.1.2: at least five consecutive redirects are followed.
const maxRobotsHops = 5

// Fetcher is the actor that works on one host under one lease: it visits the tasks, and the links found on the way as
// far as the lease allows, one request at a time.
//
//	         restOver         placed            fetched
//	resting ─────────► queued ──────► fetching ────────► resting
//	   ▲ ▲                               │ nothing       │ no room: too many pages unparsed, too many facts unstored
//	   │ └───────────────────────────────┼─ waiting ◄────┘
//	   └─────────────────────────────────┘     │ nothing left, all parsed; or asked to end; or the lease ended
//	                                           ▼
//	                                        finished
//
// It is queued for a connection of the slave, which it holds for the time of one request.
//
// A Fetcher that restarts after a panic does not know any more what it has visited: it gives the lease back. The visit
// that was under way counts as one that failed, so that a page which breaks every Fetcher is given up after a few.
type Fetcher struct {
	*assignment
	behavior actor.Behavior
	log      *logrus.Entry

	hops     int           // redirects of robots.txt followed
	found    *robots.Rules // of robots.txt, while tdmrep.json is asked
	queue    []visit
	seen     map[uint64]struct{} // fingerprints of this host's URLs that need no visit, while following
	budget   int
	pages    int    // that may still be followed to; negative: as many as the budget allows
	order    uint64 // of the last visit handed on
	visits   uint32
	unparsed int
	failures int              // in a row
	closes   bool             // the host closed a kept connection instead of answering
	known    admission.Host   // what the host has shown under this lease
	links    *admission.Rules // of the crawl, for this lease
	regions  *admission.Lent
	jar      *cookies.Jar // nil: the host's cookies are not kept
	why      string       // set when an end is to be made

	heldUntil atomic.Pointer[time.Time] // until, for the goroutine of a request

	startedAt time.Time // of the last request
	endedAt   time.Time // of the last request; zero: none was made
	notBefore time.Time // of the next, of a page or robots.txt
	// requisiteAt is notBefore for the next request of a requisite
	requisiteAt time.Time
	current     visit
	pending     bool // current is not reported and with no Parser
	robotsNow   bool // the request under way is for robots.txt
	robotsURL   weburl.URL
	place       place // at the gate
	timer       floor.Timer
	cancel      context.CancelFunc // ends the request under way
	flying      sync.WaitGroup
}

func fetcherProps(a *assignment) *actor.Props {
	return actor.PropsFromProducer(func() actor.Actor { return newFetcher(a) })
}

func newFetcher(a *assignment) *Fetcher {
	f := &Fetcher{
		assignment: a, behavior: actor.NewBehavior(), budget: int(a.task.PageBudget),
		log: a.log.WithFields(logrus.Fields{"actor": "fetcher", "host": a.task.Host, "lease": a.task.Lease}),
	}
	f.place.gate = a.gate
	f.behavior.Become(f.resting)
	return f
}

// Receive is the table of contents; the states below see what is theirs.
func (f *Fetcher) Receive(ctx actor.Context) {
	switch m := ctx.Message().(type) {
	case *actor.Started:
		f.start(ctx)
	case *actor.Stopping, *actor.Restarting:
		f.stop() // the request under way too, before another can be made
	case *renew:
		f.until = m.until
		f.heldUntil.Store(&m.until)
	case *finish:
		f.end(ctx, m.why)
	case *parsed:
		f.unparsed--
		f.follow(m)
		f.behavior.Receive(ctx)
	case *fetched, *restOver, *placed:
		f.behavior.Receive(ctx)
	case actor.SystemMessage, actor.AutoReceiveMessage:
	default:
		floor.Unhandled(ctx, f.log)
	}
}

// Failed implements floor.Restartable: the next start gives the lease back.
func (f *Fetcher) Failed(actor.Context, any) {
	if f.pending && !f.robotsNow {
		f.broke = f.visited(messages.Reason_NOT_PARSED)
	}
}

func (f *Fetcher) start(ctx actor.Context) {
	if f.begun {
		ctx.Send(f.slave, &fetcherGone{lease: f.task.Lease, failed: true, broke: f.broke})
		f.behavior.Become(f.finished)
		return
	}
	f.begun = true
	root, self := ctx.ActorSystem().Root, ctx.Self()
	f.place.called = func() { root.Send(self, &placed{}) }
	f.notBefore = time.Now().Add(time.Duration(f.task.FirstAfterNs))
	f.requisiteAt = f.notBefore
	switch limit := int(f.task.PageLimit); {
	case limit == 0:
		f.pages = -1
	case limit > 0:
		f.pages = limit
	}
	until := f.until
	f.heldUntil.Store(&until)
	links := f.rules.admission
	links.MaxRedirects = int(f.task.MaxRedirects)
	f.links, f.known.Sessions = &links, &traps.Sessions{}
	f.regions = &admission.Lent{Host: f.task.Host, Part: f.rules.scope.Part(f.task.Prefixes, f.task.Stops)}
	f.jar = f.rules.jar(f.task, time.Now())
	if f.task.Follow {
		f.seen = make(map[uint64]struct{}, len(f.task.Known)/8+len(f.task.Tasks))
		for known := f.task.Known; len(known) >= 8; known = known[8:] {
			f.seen[be64(known)] = struct{}{}
		}
	}
	f.enqueue(ctx, f.task.Tasks)
	if len(f.task.Robots) > 0 {
		f.known.Robots = new(robots.Rules)
		if err := f.known.Robots.UnmarshalBinary(f.task.Robots); err != nil {
			f.log.WithField("err", err).Warn("the rules of robots.txt cannot be read; asking again")
			f.known.Robots = nil
		}
	}
	if f.known.Robots == nil {
		f.robotsURL, _ = weburl.Parse(f.task.Host + "/robots.txt")
	}
	f.rest(ctx)
}

// enqueue queues the pages that are lent.
func (f *Fetcher) enqueue(ctx actor.Context, tasks []*messages.Task) {
	for _, task := range tasks {
		u, err := weburl.Parse(task.Url)
		if err != nil {
			f.log.WithFields(logrus.Fields{"url": task.Url, "err": err}).Warn("the URL of a task cannot be read")
			f.refuse(ctx, task)
			continue
		}
		f.queue = append(f.queue, visit{url: u, task: task, left: task.DepthLeft, depth: task.Depth,
			hops: task.Redirects, attempts: uint16(min(task.Attempts, math.MaxUint16)),
			requisite: uint8(min(task.Requisite, outlink.PageToo)), via: task.Via})
		if f.seen != nil {
			f.seen[fingerprint.URL(u.String())&^0xff] = struct{}{}
		}
		if f.pages > 0 && !f.queue[len(f.queue)-1].isRequisite() {
			f.pages--
		}
	}
}

func (f *Fetcher) stop() {
	f.timer.Stop()
	if f.cancel != nil {
		f.cancel()
	}
	f.flying.Wait()
	f.place.move(away)
}

// rest waits until the host may be asked again, then goes on; it is also where an end is seen: a lease that has nothing
// left to ask ends at once, for the master to know what came of it and not after a rest that may take a week.
func (f *Fetcher) rest(ctx actor.Context) {
	f.behavior.Become(f.resting)
	if d := time.Until(f.nextAt()); d > 0 && f.why == "" && !f.done() {
		f.rules.client.Rests(f.task.Host, d)
		f.place.move(rests)
		f.timer.After(ctx, d, &restOver{})
		return
	}
	f.next(ctx)
}

// nextAt is when the next request may be made, as it is now known which that is.
func (f *Fetcher) nextAt() time.Time {
	if f.known.Robots != nil && len(f.queue) > 0 && f.queue[0].isRequisite() {
		return f.requisiteAt
	}
	return f.notBefore
}

func (f *Fetcher) resting(ctx actor.Context) {
	switch ctx.Message().(type) {
	case *restOver, *parsed:
		f.rest(ctx)
	}
}

// done reports that there is nothing left to ask, and that nothing can come.
func (f *Fetcher) done() bool {
	return f.known.Robots != nil && f.unparsed == 0 &&
		(len(f.queue) == 0 || f.budget <= 0)
}

// next starts the next request, if there is one, all bounds allow it and a connection is free.
func (f *Fetcher) next(ctx actor.Context) {
	switch {
	case f.why == "" && !stillHeld(f.until):
		f.why = "ended"
	case f.why == "" && f.failures >= maxFailures:
		f.why = "failing"
	case f.why == "" && f.budget <= 0 && f.known.Robots != nil:
		f.why = "budget"
	}
	switch {
	case f.why != "", !f.asks(),
		f.unparsed >= maxAhead || f.unparsed > 0 && (f.kept.window.behind() || f.rules.client.Scarce()):
		f.wait(ctx)
	case f.kept.full():
		f.place.move(away)
		f.behavior.Become(f.resting)
		f.timer.After(ctx, 50*time.Millisecond, &restOver{})
	case !f.place.take(f.nextAt()):
		f.behavior.Become(f.queued)
		f.timer.After(ctx, time.Until(f.until), &restOver{})
	case !f.ask(ctx):
		f.wait(ctx)
	}
}

// asks reports that there is something to ask: robots.txt, unless it is being parsed, or what waits.
func (f *Fetcher) asks() bool {
	return f.known.Robots == nil && !f.robotsURL.IsZero() ||
		f.known.Robots != nil && len(f.queue) > 0
}

// queued waits for a connection, longest until the lease ends.
func (f *Fetcher) queued(ctx actor.Context) {
	switch ctx.Message().(type) {
	case *placed, *restOver, *parsed:
		f.rest(ctx)
	}
}

// ask starts a request, if one of what waits may be made.
func (f *Fetcher) ask(ctx actor.Context) bool {
	if f.known.Robots == nil {
		f.robotsNow = true
		f.request(ctx, fetch.Request{URL: f.robotsURL})
		return true
	}
	for len(f.queue) > 0 {
		f.current, f.queue, f.pending = f.queue[0], f.queue[1:], true
		if !f.known.Allowed(f.current.url.String()) {
			f.deny(ctx, messages.Reason_ROBOTS_DENIED)
			continue
		}
		request := fetch.Request{URL: f.current.url}
		if t := f.current.task; t != nil {
			request.ETag, request.LastModified = t.Etag, t.LastModified
		}
		f.budget--
		f.visits++
		f.request(ctx, request)
		return true
	}
	return false
}

// deny reports a visit that robots.txt forbids: no request is made for it.
func (f *Fetcher) deny(ctx actor.Context, reason messages.Reason) {
	f.pending = false
	if f.current.task == nil {
		return // its page reports the link; the master admits it, and lends it if it is allowed
	}
	ctx.Send(f.slave, f.made(&messages.Fact{Visited: f.visited(reason)}))
}

// refuse reports a task whose URL cannot be parsed: no request for it is possible.
func (f *Fetcher) refuse(ctx actor.Context, task *messages.Task) {
	ctx.Send(f.slave, f.made(&messages.Fact{
		Visited: &messages.PageVisited{Url: task.Url, DepthLeft: task.DepthLeft, Depth: task.Depth,
			Redirects: task.Redirects, Attempts: task.Attempts, Requisite: task.Requisite,
			Reason: messages.Reason_MALFORMED, Position: task.Position}}))
}

// made is a fact that comes next and needs no Parser.
func (f *Fetcher) made(m *messages.Fact) *factMade {
	f.order++
	return &factMade{lease: f.task.Lease, Fact: owed.Fact{Order: f.order, Message: m}}
}

func (f *Fetcher) visited(reason messages.Reason) *messages.PageVisited {
	v := &messages.PageVisited{
		Url: f.current.url.String(), DepthLeft: f.current.left, Depth: f.current.depth,
		Redirects: f.current.hops, Attempts: uint32(f.current.attempts),
		Requisite: uint32(f.current.requisite), Reason: reason,
	}
	if f.current.task != nil {
		v.Position = f.current.task.Position
	}
	if reason != messages.Reason_NONE {
		v.Via = f.current.via // it will be asked for again
	}
	return v
}

// request gives the blocking to a goroutine, which answers with fetched.
func (f *Fetcher) request(ctx actor.Context, request fetch.Request) {
	f.startedAt = time.Now()
	f.behavior.Become(f.fetching)
	root, self, client := ctx.ActorSystem().Root, ctx.Self(), f.rules.client
	var fetchContext context.Context
	fetchContext, f.cancel = context.WithCancel(context.Background())
	f.timer.After(ctx, time.Until(f.until), &restOver{})
	if f.closes {
		client.Forget(f.task.Host)
	}
	request.Fields = f.rules.secrets(request.URL.String(), f.jar)
	if f.unparsed == 0 {
		f.kept.arrive()
	}
	request.Served = f.kept.served.Load()
	// the process may be stopped between here and the writing
	request.Permit = func() bool { return stillHeld(*f.heldUntil.Load()) }
	f.flying.Add(1)
	go func() {
		defer f.flying.Done()
		response := f.fetch(fetchContext, client, request)
		f.place.move(away)
		root.Send(self, &fetched{response})
	}()
}

// fetch makes a request, on a goroutine of its own. An answer that makes it panic is a visit that failed.
func (f *Fetcher) fetch(ctx context.Context, client *fetch.Client, request fetch.Request) (r *fetch.Response) {
	begun := time.Now()
	defer func() {
		if reason := recover(); reason != nil {
			f.log.WithFields(logrus.Fields{"url": request.URL.String(), "err": reason, "stack": floor.PanicStack()}).
				Error("a fetch panicked; the visit counts as failed")
			client.Forget(f.task.Host)
			r = &fetch.Response{URL: request.URL, Reason: messages.Reason_NOT_PARSED,
				Err: fmt.Errorf("panic: %v", reason), Started: begun, Took: time.Since(begun)}
		}
	}()
	return client.Fetch(ctx, request)
}

func (f *Fetcher) fetching(ctx actor.Context) {
	switch m := ctx.Message().(type) {
	case *restOver: // the lease ends with the request under way, unless it was renewed meanwhile
		if stillHeld(f.until) {
			f.timer.After(ctx, time.Until(f.until), &restOver{})
			return
		}
		f.cancel()
	case *fetched:
		f.timer.Stop()
		f.cancel()
		// The interval is owed to the host by the host's own clock, which saw the request begin some time after us: so
		// it runs from the end. (From the start it was undercut by as much as connecting took: 13 ms for 20 were seen
		// in the log of a busy host.)
		f.endedAt = time.Now()
		f.notBefore = f.endedAt.Add(f.interval(m.response, f.task.IntervalNs))
		f.requisiteAt = f.endedAt.Add(f.interval(m.response, f.task.RequisiteIntervalNs))
		if m.response.Stale {
			f.again()
		} else {
			f.take(ctx, m.response)
		}
		f.rest(ctx)
	}
}

// again puts back the visit whose request a host saw and closed the connection, to be asked after the interval. Such a
// host gets a new connection for each request, so that this happens once a lease.
func (f *Fetcher) again() {
	f.closes = true
	if f.robotsNow {
		f.robotsNow = false
		return // robotsURL still says what to ask
	}
	f.budget++
	f.visits--
	f.pending = false
	f.queue = slices.Insert(f.queue, 0, f.current)
}

// interval is what the host is owed after a request that took e: that of the lease, or (S/C)·e if it has become slower
// (10). A rest that outlasts the lease is left to the master; so are rests that come to longRests and to twice the time
// that the lease was to take, after which its pages would be visited late.
func (f *Fetcher) interval(r *fetch.Response, owed int64) time.Duration {
	interval := time.Duration(owed)
	if r.Reason != messages.Reason_NONE { // what took time was the crawler's patience
		return interval
	}
	if slow := time.Duration(min(f.task.Ratio*float64(r.Took), float64(maxRest))); slow > interval {
		rests := float64(slow) * float64(f.budget)
		long := rests >= max(float64(longRests), 2*float64(interval)*float64(f.task.PageBudget))
		if interval = slow; f.why == "" && (long || !f.endedAt.Add(slow).Before(f.until)) {
			f.why = "slow"
		}
	}
	return interval
}

const (
	maxRest   = 365 * 24 * time.Hour // bounds the arithmetic of a rest
	longRests = 2 * time.Minute
)

// take hands a response to the Parser and learns from it whether to go on.
func (f *Fetcher) take(ctx actor.Context, r *fetch.Response) {
	switch r.Reason {
	case messages.Reason_NONE:
		f.failures = 0
		if r.Status == 429 || r.Status == 503 {
			f.why = "failing"
		}
	case messages.Reason_CANCELED:
		if f.why == "" {
			f.why = "ended"
		}
		if f.pending {
			f.visits--
		}
		f.robotsNow, f.pending = false, false
		return // not visited: the master lends it again
	default:
		f.failures++
	}
	if f.jar != nil {
		f.jar.Set(r.URL.String(), r.Header["Set-Cookie"], time.Now())
	}
	f.order++
	job := &parse{
		lease: f.task.Lease, order: f.order, response: r, fetcher: ctx.Self(), started: f.startedAt,
		rules: f.rules, kept: f.kept, host: f.task.Host, verdict: f.task.Verdict,
	}
	if f.robotsNow {
		f.robotsNow = false
		job.robots = true
		job.hops, job.found = uint32(f.hops), f.found
		f.robotsURL = weburl.URL{}
	} else {
		job.visited = f.visited(r.Reason)
		if f.jar != nil {
			job.visited.Cookies = f.jar.Kept()
		}
		job.task, job.via = f.current.task, f.current.via
		job.follow = f.task.Follow && f.why == ""
		job.links, job.regions = f.links, f.regions
		job.usage = f.known.Robots.Usage(r.URL.RequestURI())
		f.pending = false
	}
	f.unparsed++
	f.kept.fetched(r.Held())
	if max(len(r.RawBody), len(r.Body)) > maxLight {
		ctx.Send(f.parsers.heavy, job)
		return
	}
	ctx.Send(f.parsers.all[(f.task.Lease+f.order)%uint64(len(f.parsers.all))], job)
}

// follow queues what the Parser found, as far as the lease allows.
func (f *Fetcher) follow(m *parsed) {
	switch {
	case !m.next.IsZero():
		f.hops++
		f.robotsURL, f.found = m.next, m.robots
	case m.elsewhere:
		f.why = "robots elsewhere"
	case m.robots != nil:
		f.known.Robots = m.robots
		if f.known.Robots.Unreachable() {
			f.why = "failing"
		}
		if delay, ok := f.known.Robots.CrawlDelay(); ok && delay > time.Duration(f.task.IntervalNs) && f.why == "" {
			f.why = "crawl-delay" // the interval of this lease was chosen before it was known
		}
	}
	if f.seen == nil {
		return
	}
	now := time.Now()
	for _, v := range m.follow {
		key := fingerprint.URL(v.url.String()) &^ 0xff
		if _, known := f.seen[key]; known {
			f.link(&v)
			continue
		}
		if len(f.queue) >= f.budget {
			continue
		}
		// what is not taken is reported by the page that has the link
		if f.known.Takes(f.links, v.url.String(), now) != admission.None {
			continue
		}
		if !v.isRequisite() {
			if f.pages == 0 {
				continue
			}
			f.pages--
		}
		f.seen[key] = struct{}{}
		at := len(f.queue)
		if v.requisite > 0 { // before new pages, so that a page is whole soon
			if i := slices.IndexFunc(f.queue, func(v visit) bool { return v.requisite == 0 }); i >= 0 {
				at = i
			}
		}
		f.queue = slices.Insert(f.queue, at, v)
	}
}

// link makes a page of a requisite that waits, when a link leads there.
func (f *Fetcher) link(to *visit) {
	if to.isRequisite() || f.pages == 0 {
		return
	}
	for i := range f.queue { // requisites stand before pages
		switch v := &f.queue[i]; {
		case v.requisite == 0:
			return
		case v.task == nil && v.isRequisite() && v.url == to.url:
			v.left, v.depth, v.hops, v.requisite = to.left, to.depth, to.hops, outlink.PageToo
			f.pages--
			return
		}
	}
}

// end makes an end after the request under way; a lease that the master does not know must not wait even for that.
func (f *Fetcher) end(ctx actor.Context, why string) {
	if f.why == "" {
		f.why = why
	}
	if why == "unknown" && f.cancel != nil {
		f.cancel()
	}
	ctx.Send(ctx.Self(), &restOver{})
}

// wait stands still until all that was fetched is parsed, then goes on or gives the host back.
func (f *Fetcher) wait(ctx actor.Context) {
	f.place.move(away)
	if f.unparsed > 0 {
		f.behavior.Become(f.waiting)
		return
	}
	why := f.why
	if why == "" {
		why = "done"
	}
	ctx.Send(f.slave, f.made(&messages.Fact{Finished: &messages.LeaseFinished{Visits: f.visits, Why: why}}))
	f.rules.client.Forget(f.task.Host) // perhaps another slave comes next
	ctx.Send(f.slave, &fetcherGone{lease: f.task.Lease})
	f.behavior.Become(f.finished)
}

func (f *Fetcher) waiting(ctx actor.Context) {
	switch ctx.Message().(type) {
	case *parsed, *restOver:
		f.rest(ctx)
	}
}

// finished is the last state: nothing is done any more.
func (f *Fetcher) finished(actor.Context) {}
