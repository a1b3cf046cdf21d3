package slave

import (
	"context"
	"fmt"
	"sync"
	"sync/atomic"
	"time"

	"github.com/asynkron/protoactor-go/actor"
	"github.com/sirupsen/logrus"

	"henro/actors/admission"
	"henro/actors/floor"
	"henro/actors/politeness"
	"henro/messages"
	"henro/messages/posted"
	"henro/slave/cookies"
	"henro/slave/fetch"
	"henro/slave/owed"
	"henro/slave/recall"
	"henro/slave/render"
	"henro/slave/walk"
)

// assignment is a lease as its Fetcher and the Parsers of its answers have it.
type assignment struct {
	task     *messages.HostTask
	until    time.Time
	settings *settings
	parsers  parsers
	slave    *actor.PID
	kept     *account
	gate     *gate
	log      *logrus.Entry

	begun   bool                  // a Fetcher has been at it
	broke   *messages.PageVisited // the visit under way when that one panicked; nil: there was none
	fetcher *actor.PID
	links   *admission.Options // of the crawl, for this lease
	scripts *render.Lease      // nil: they are not run here
	book    *recall.Book
	regions *admission.Lent
}

type (
	renew  struct{ until time.Time } // the lease lasts on
	finish struct {                  // make an end after the request under way; cut: without it
		why string
		cut bool
	}
	goOn    struct{} // a rest or the lease is over, or there is a connection
	fetched struct {
		response *fetch.Response
		lane     *lane
		page     *render.Page  // where nothing was asked for: what the archive has; else nil
		recalled *recall.Place // likewise, of what is answered from the archive and not stored again; else nil
	}
	parsed struct { // by a Parser
		file   *walk.File   // of the host's rules; nil: it was a page
		follow []walk.Visit // links on this host that the page's depth allows
		wall   bool         // a wall stood in the page's place: the host is to rest
		render *walk.Visit  // the page again, for its scripts to be run; nil: they are not
	}
)

// maxLight is the largest page in bytes that is dealt to the Parsers in turn; 98 of 100 are smaller. One of 27 MB takes
// half a second, for which the next request of an ordinary host waited when both had the same Parser.
const maxLight = 256 << 10

// fullRest is how long a lease that keeps too much waits before it looks again.
const fullRest = 50 * time.Millisecond

// Fetcher is the actor that works on one host under one lease, as package walk decides, one request at a time, but for
// hosts that consent to several. For each it is queued for a connection of the slave, which it holds for the time of
// the request.
//
//	          goOn              goOn             fetched
//	resting ─────────► queued ──────► fetching ────────► resting
//	   ▲ ▲                               │               │ too many pages unparsed, too many facts unstored
//	   │ └───────────────────────────────┼─ waiting ◄────┘
//	   └─────────────────────────────────┘     │ nothing left, all parsed; or asked to end; or the lease ended
//	                                           ▼
//	                                        finished
//
// A Fetcher that restarts after a panic does not know any more what it has visited: it gives the lease back. The visit
// that was under way counts as one that failed, so that a page which breaks every Fetcher is given up after a few.
type Fetcher struct {
	*assignment
	log *logrus.Entry

	walk     *walk.Walk
	order    uint64       // of the last fact
	jar      *cookies.Jar // nil: the host's cookies are not kept
	closes   bool         // the host closed a kept connection instead of answering
	finished bool

	heldUntil atomic.Pointer[time.Time] // the lease's end, for the goroutine of a request
	lanes     []lane                    // as many as requests may be under way
	next      *lane                     // of the next request; nil: none is free
	timer     floor.Timer
	context   context.Context    // of the requests under way
	cancel    context.CancelFunc // ends them, and with them the lease
	flying    sync.WaitGroup
}

// lane is the way of one request at a time.
type lane struct {
	place             // at the gate
	visit *walk.Visit // under way; nil: none is
}

func fetcherProps(a *assignment) *actor.Props {
	return actor.PropsFromProducer(func() actor.Actor { return newFetcher(a) })
}

func newFetcher(a *assignment) *Fetcher {
	f := &Fetcher{assignment: a,
		log: a.log.WithFields(logrus.Fields{"actor": "fetcher", "host": a.task.Host, "lease": a.task.Lease})}
	f.context, f.cancel = context.WithCancel(context.Background())
	return f
}

// Receive is the table of contents.
func (f *Fetcher) Receive(ctx actor.Context) {
	switch ctx.Message().(type) {
	case *actor.Started:
		f.start(ctx)
	case *actor.Stopping, *actor.Restarting:
		f.stop() // the request under way too, before another can be made
	case *renew, *finish, *parsed, *fetched, *goOn:
		if !f.finished {
			f.hear(ctx)
			f.goOn(ctx)
		}
	default:
		floor.Unhandled(ctx, f.log)
	}
}

// hear tells the walk what has come.
func (f *Fetcher) hear(ctx actor.Context) {
	switch m := ctx.Message().(type) {
	case *renew:
		f.walk.Until = m.until
		f.heldUntil.Store(&m.until)
	case *finish:
		f.walk.Finish(m.why)
		if m.cut {
			f.cancel()
		}
	case *parsed:
		if m.wall {
			f.walk.Finish("failing")
		}
		f.walk.Parsed(time.Now(), m.file, m.follow)
		if m.render != nil {
			f.walk.Render(*m.render, m.follow)
		}
	case *fetched:
		v := m.lane.visit
		m.lane.visit = nil
		if m.response == nil {
			f.walk.Absent(v)
			return
		}
		f.take(ctx, v, m)
	}
}

// Failed implements floor.Restartable: the next start gives the lease back.
func (f *Fetcher) Failed(_ actor.Context, message any) {
	if f.walk == nil || len(f.walk.Asked()) == 0 {
		return
	}
	v := f.walk.Asked()[0]
	if m, ok := message.(*fetched); ok && m.lane.visit != nil {
		v = m.lane.visit
	}
	if v.File == nil {
		f.broke = v.Visited(messages.Reason_NOT_PARSED)
	}
}

func (f *Fetcher) start(ctx actor.Context) {
	if f.begun {
		ctx.Send(f.slave, &fetcherGone{lease: f.task.Lease, failed: true, broke: f.broke})
		f.finished = true
		return
	}
	f.begun = true
	links := f.settings.admission
	links.MaxRedirects = int(f.task.MaxRedirects)
	f.links, f.fetcher = &links, ctx.Self()
	f.regions = &admission.Lent{Host: f.task.Host, Part: f.settings.scope.Part(f.task.Prefixes, f.task.Stops)}
	var malformed []*messages.PageVisited
	f.walk, malformed = walk.New(time.Now(), walk.Lease{Task: f.task, Until: f.until, Links: f.links})
	root, self := ctx.ActorSystem().Root, ctx.Self()
	f.lanes = make([]lane, min(max(1, f.task.Parallel), politeness.MaxParallel))
	for i := range f.lanes {
		f.lanes[i].place = place{gate: f.gate, called: func() { root.Send(self, &goOn{}) }}
	}
	f.heldUntil.Store(&f.until)
	f.jar = f.settings.jar(f.task, time.Now())
	for _, v := range malformed {
		f.log.WithField("url", v.Url).Warn("the URL of a task cannot be read")
		f.made(ctx, &messages.Fact{Visited: v})
	}
	f.goOn(ctx)
}

func (f *Fetcher) stop() {
	f.timer.Stop()
	f.cancel()
	f.flying.Wait()
	for i := range f.lanes {
		f.lanes[i].move(away)
	}
}

// leave gives up the connection that the next request has or waits for; the host rests, or it is away.
func (f *Fetcher) leave(to standing) {
	if f.next != nil {
		f.next.move(to)
	}
}

// goOn does what is next, whatever has come.
func (f *Fetcher) goOn(ctx actor.Context) {
	for i := range f.lanes {
		if l := &f.lanes[i]; f.next == nil && l.visit == nil {
			f.next = l
		}
	}
	now := time.Now()
	switch f.walk.Step(now, f.kept.window.behind() || f.settings.client.Scarce()) {
	case walk.Await: // the lease ends with the request under way, unless it is renewed meanwhile
		f.leave(away)
		if walk.Held(now, f.walk.Until) {
			f.timer.After(ctx, f.walk.Until.Sub(now), &goOn{})
		} else {
			f.cancel()
		}
	case walk.Rest:
		rest := f.walk.At().Sub(now)
		f.settings.client.Rests(f.task.Host, rest)
		f.leave(rests)
		if len(f.walk.Asked()) > 0 { // they end with the lease
			rest = min(rest, f.walk.Until.Sub(now))
		}
		f.timer.After(ctx, rest, &goOn{})
	case walk.Ask:
		switch {
		case f.kept.full():
			f.leave(away)
			f.timer.After(ctx, fullRest, &goOn{})
		case f.walk.Renders() || f.next.take(f.walk.At()):
			f.ask(ctx, now)
		default:
			f.timer.After(ctx, f.walk.Until.Sub(now), &goOn{})
		}
	case walk.Wait:
		f.leave(away)
	case walk.End:
		f.leave(away)
		f.made(ctx, &messages.Fact{Finished: f.walk.Finished()})
		f.settings.client.Forget(f.task.Host) // perhaps another slave comes next
		ctx.Send(f.slave, &fetcherGone{lease: f.task.Lease})
		f.finished = true
	}
}

// ask starts a request, if one of what waits may be made.
func (f *Fetcher) ask(ctx actor.Context, now time.Time) {
	next, denied := f.walk.Ask(now)
	for _, v := range denied {
		f.made(ctx, &messages.Fact{Visited: v})
	}
	if next != nil {
		f.request(ctx, next)
	}
	f.goOn(ctx)
}

// made reports a fact that needs no Parser.
func (f *Fetcher) made(ctx actor.Context, m *messages.Fact) {
	f.order++
	ctx.Send(f.slave, &factMade{lease: f.task.Lease, Fact: owed.Fact{Order: f.order, Message: m}})
}

// request gives the blocking to a goroutine, which answers with fetched.
func (f *Fetcher) request(ctx actor.Context, v *walk.Visit) {
	l := f.next
	f.next = nil
	root, self, client := ctx.ActorSystem().Root, ctx.Self(), f.settings.client
	l.visit = v
	if v.Render {
		never := f.never(v)
		f.flying.Go(func() { root.Send(self, f.show(v, l, never)) })
		return
	}
	if f.closes {
		client.Forget(f.task.Host)
	}
	if !f.walk.Waits() {
		f.kept.arrive()
	}
	if v.Task.GetRender() { // a 304 would bring nothing to be shown
		v.Task.Etag, v.Task.LastModified = "", ""
	}
	request := fetch.Request{URL: v.URL, ETag: v.Task.GetEtag(), LastModified: v.Task.GetLastModified(),
		Fields: f.settings.secrets(v.URL.String(), f.jar), Served: f.kept.served.Load(),
		// the process may be stopped between here and the writing
		Permit: func() bool { return walk.Held(time.Now(), *f.heldUntil.Load()) }}
	if posted.Is(v.URL.String()) {
		posts(&request, v, f.settings.sent)
	}
	f.flying.Go(func() {
		m := &fetched{lane: l}
		m.response, m.recalled = f.book.Answer(f.context, v, func() *fetch.Response {
			return f.fetch(f.context, client, request)
		})
		l.move(away)
		root.Send(self, m)
	})
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

// take hands a response to a Parser, if it is an answer.
func (f *Fetcher) take(ctx actor.Context, v *walk.Visit, m *fetched) {
	r := m.response
	f.closes = f.closes || r.Stale // such a host gets a new connection for each request: this happens once a lease
	if !f.walk.Answered(time.Now(), v, answer(r)) {
		return
	}
	if f.jar != nil && m.page == nil {
		f.jar.Set(r.URL.String(), r.Header["Set-Cookie"], time.Now())
	}
	f.order++
	job := &parse{assignment: f.assignment, order: f.order, fetched: m, started: v.At, visit: v}
	if v.File == nil {
		job.visited = v.Visited(r.Reason)
		if f.jar != nil {
			job.visited.Cookies = f.jar.Kept()
		}
		job.follow, job.usage = f.walk.Follows(), f.walk.Usage(r.URL)
	}
	f.kept.fetched(r.Held())
	if max(len(r.RawBody), len(r.Body)) > maxLight {
		ctx.Send(f.parsers.heavy, job)
		return
	}
	ctx.Send(f.parsers.all[(f.task.Lease+f.order)%uint64(len(f.parsers.all))], job)
}

// answer is what a walk looks at of a response.
func answer(r *fetch.Response) *walk.Answer {
	return &walk.Answer{URL: r.URL, Reason: r.Reason, Status: r.Status, Location: r.Header.Get("Location"),
		Body: r.Body, Took: r.Took, Stale: r.Stale}
}
