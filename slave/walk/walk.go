// Package walk decides what a slave asks a host under a lease, in which order and when, and when the lease is over.
//
// Four things, each by itself: the File of the host's rules, which comes first; the queue of what waits, the pages that
// were lent and the links that are followed from them, requisites before new pages; the pace; and the end. A Walk is a
// value: moments and answers come in with the calls, what is to be done comes out. Who calls it makes the requests and
// has the answers parsed.
//
// Invariants:
//   - one request is under way at a time, or as many as the lease allows while none fails, and none is made before the
//     host's interval is over;
//   - nothing is asked but the rules until they are known, and nothing that they forbid;
//   - no more visits are made than the budget allows, and none once the lease is over.
package walk

import (
	"cmp"
	"slices"
	"time"

	"henro/actors/admission"
	"henro/actors/robots"
	"henro/actors/traps"
	"henro/messages"
	"henro/messages/weburl"
)

const (
	// MaxAhead is how many pages of one lease may wait to be parsed while the next is fetched: enough to keep the host
	// busy, few enough that a slow parser holds a fast host back.
	MaxAhead = 4
	// maxFailures in a row that are the host's fault end a lease: the master decides when to come back.
	maxFailures = 3
	maxRest     = 365 * 24 * time.Hour // bounds the arithmetic of a rest
	longRests   = 2 * time.Minute      // of a lease, after which its pages would be visited late
)

// Lease is what a walk begins with.
type Lease struct {
	Task  *messages.HostTask
	Until time.Time
	Links *admission.Options // of the crawl, for this lease
}

// Walk is how far a lease has come.
type Walk struct {
	Lease
	file  File           // of the host's rules
	known admission.Host // what the host has shown under this lease; no rules: they are not known yet
	queue queue

	at    time.Time     // when the host may be asked again
	begun time.Time     // the latest request
	slow  time.Duration // what the latest answer asks for
	took  time.Duration // for the latest answer

	asked    []*Visit // the requests under way
	visits   uint32
	unparsed int    // answers
	failures int    // in a row
	why      string // set when an end is to be made
}

// Answer is what came of a request.
type Answer struct {
	URL      weburl.URL
	Reason   messages.Reason
	Status   int
	Location string
	Body     []byte
	Took     time.Duration
	Stale    bool // the host saw the request and closed the connection: it is to be made again
}

// New begins the walk of a lease. Tasks that are no URLs have failed already.
func New(now time.Time, l Lease) (w *Walk, malformed []*messages.PageVisited) {
	w = &Walk{Lease: l, known: admission.Host{Sessions: &traps.Sessions{}}}
	w.at = now.Add(time.Duration(l.Task.FirstAfterNs))
	malformed = w.queue.fill(l.Task)
	if len(l.Task.Robots) > 0 {
		w.known.Robots = new(robots.Rules)
		if w.known.Robots.UnmarshalBinary(l.Task.Robots) != nil {
			w.known.Robots = nil // they are asked for again
		}
	}
	if w.known.Robots == nil {
		w.file.Ask, _ = weburl.Parse(l.Task.Host + "/robots.txt")
	}
	return w, malformed
}

// Step is what is to be done next.
type Step uint8

// The steps.
const (
	Await Step = iota // the answer that is under way
	Rest              // until At
	Ask               // one request
	Wait              // until something is parsed
	End               // the lease is over
)

// Step says what is to be done. Where room is scarce nothing is asked while an answer waits to be parsed. A lease that
// has nothing left to ask ends at once, for the master to know what came of it and not after a rest that may take a
// week.
func (w *Walk) Step(now time.Time, scarce bool) Step {
	switch {
	case len(w.asked) >= w.parallel():
		return Await
	case w.why != "":
	case now.Before(w.At()) && !w.done() && (len(w.asked) == 0 || Held(now, w.Until)):
		return Rest
	case !Held(now, w.Until):
		w.why = "ended"
	case w.failures >= maxFailures:
		w.why = "failing"
	case w.queue.budget <= 0 && w.known.Robots != nil && !w.Renders():
		w.why = "budget"
	case w.asks() && w.unparsed < MaxAhead && (w.unparsed == 0 || !scarce && !w.Renders()):
		return Ask
	}
	switch {
	case len(w.asked) > 0:
		return Await
	case w.unparsed > 0:
		return Wait
	}
	return End
}

// parallel is how many requests may be under way at once: one while the rules are not known, and while the host fails.
func (w *Walk) parallel() int {
	if w.known.Robots == nil || w.failures > 0 {
		return 1
	}
	return max(1, int(w.Task.Parallel))
}

// At is when the next step may be made: at once where it asks the host for nothing.
func (w *Walk) At() time.Time {
	if w.Renders() {
		return time.Time{}
	}
	return w.at
}

// asks reports that there is something to ask for: the rules, unless they are being parsed, or what waits.
func (w *Walk) asks() bool {
	if w.known.Robots == nil {
		return !w.file.Ask.IsZero()
	}
	return len(w.queue.visits) > 0
}

// done reports that there is nothing left to ask for, and that nothing can come.
func (w *Walk) done() bool {
	return w.known.Robots != nil && w.unparsed == 0 && (len(w.queue.visits) == 0 || w.queue.budget <= 0 && !w.Renders())
}

// Ask returns the next request, nil if the rules forbid all that waits, and the visits that they forbid. A link that
// was followed is not among these: its page reports it, and the master lends it if it is allowed.
func (w *Walk) Ask(now time.Time) (v *Visit, denied []*messages.PageVisited) {
	if w.known.Robots == nil {
		file := w.file
		return w.ask(now, &Visit{URL: file.Ask, File: &file}), nil
	}
	for len(w.queue.visits) > 0 {
		next := w.queue.visits[0]
		w.queue.visits = w.queue.visits[1:]
		if w.known.Allowed(next.URL.String()) {
			if !next.Render {
				w.queue.budget--
				w.visits++
			}
			return w.ask(now, &next), denied
		}
		if next.Task != nil {
			denied = append(denied, next.Visited(messages.Reason_ROBOTS_DENIED))
		}
	}
	return nil, denied
}

// ask notes that a request is under way. Where others may be beside it, the interval runs from its start.
func (w *Walk) ask(now time.Time, v *Visit) *Visit {
	v.At, w.asked = now, append(w.asked, v)
	if v.Render {
		return v
	}
	w.begun = now
	if w.parallel() > 1 {
		w.rest(now, max(w.slow, time.Duration(w.Task.IntervalNs)))
	}
	return v
}

// rest lets an interval run from a moment.
func (w *Walk) rest(from time.Time, interval time.Duration) {
	if at := from.Add(interval); at.After(w.at) {
		w.at = at
	}
}

// Render has the scripts of a page run once its requisites, which are among its links, were asked for under this lease.
func (w *Walk) Render(v Visit, links []Visit) { w.queue.render(&v, links) }

// Renders reports that the next visit is one that asks the host for nothing.
func (w *Walk) Renders() bool { return w.known.Robots != nil && w.queue.first().Render }

// Absent has a page asked for after all, whose capture was not found.
func (w *Walk) Absent(v *Visit) {
	w.asked = slices.DeleteFunc(w.asked, func(other *Visit) bool { return other == v })
	if v.Render = false; v.Task != nil {
		w.queue.visits = slices.Insert(w.queue.visits, 0, *v)
	}
}

// Asked are the requests under way.
func (w *Walk) Asked() []*Visit { return w.asked }

// Answered takes what came of a request under way. It reports whether that is to be parsed: not what is asked for
// again, by this lease or, where the visit was canceled, by another.
func (w *Walk) Answered(now time.Time, v *Visit, a *Answer) bool {
	w.asked = slices.DeleteFunc(w.asked, func(other *Visit) bool { return other == v })
	canceled := a.Reason == messages.Reason_CANCELED
	if v.Render { // it cost the host nothing
		if !canceled {
			w.unparsed++
		}
		return !canceled
	}
	// The host measures the interval by its own clock, and saw the request begin some time after us: so the interval
	// runs from the end. (From the start it was too short by as long as connecting took: the log of a busy host showed
	// 13 ms for 20.) Where the next need not wait for the end that is not to be had.
	from := now
	if w.parallel() > 1 && a.Reason == messages.Reason_NONE {
		from = w.begun
	}
	w.rest(from, w.interval(now, a))
	if (a.Stale || canceled) && v.File == nil {
		w.visits--
	}
	switch {
	case a.Stale && v.File != nil:
		return false
	case a.Stale:
		w.queue.putBack(v)
		return false
	case canceled:
		w.Finish("ended")
		return false
	case a.Reason != messages.Reason_NONE:
		w.failures++
	case a.Status == 429 || a.Status == 503:
		w.failures, w.why = 0, "failing"
	default:
		w.failures = 0
	}
	if v.File != nil {
		w.file.Ask = weburl.URL{} // until it is parsed
	}
	w.unparsed++
	return true
}

// interval is what the host is owed after a request that took e: that of the lease, or Ratio·e, (S/C − 1)·e, if it has
// become slower (10). A rest that outlasts the lease is left to the master; so are rests that come to longRests and to
// twice the time that the lease was to take, after which its pages would be visited late.
func (w *Walk) interval(now time.Time, a *Answer) time.Duration {
	interval, ratio, failed := time.Duration(w.Task.IntervalNs), w.Task.Ratio, a.Reason != messages.Reason_NONE
	if n := float64(w.Task.Parallel); n > 1 && (failed || w.failures > 0) { // it is asked alone now
		ratio = max(0, n*ratio-1)
		interval = max(interval, time.Duration(min(ratio*float64(w.took), float64(maxRest))))
	}
	if failed { // what took time was the crawler's patience
		return interval
	}
	w.took = a.Took
	slow := time.Duration(min(ratio*float64(a.Took), float64(maxRest)))
	w.slow = slow
	if slow <= interval {
		return interval
	}
	rests := float64(slow) * float64(w.queue.budget)
	if rests >= max(float64(longRests), 2*float64(interval)*float64(w.Task.PageBudget)) ||
		!now.Add(slow).Before(w.Until) {
		w.Finish("slow")
	}
	return slow
}

// Parsed takes what came of an answer: of one for the rules how far they are known by it, or else links that are to be
// followed. Those of neighbouring visits may come in another order.
func (w *Walk) Parsed(now time.Time, file *File, links []Visit) {
	w.unparsed--
	if file != nil {
		w.learn(file)
	}
	for i := range links {
		w.queue.follow(&links[i], func(url string) bool { // what is not taken is reported by the page that has the link
			return w.known.Takes(w.Links, url, now) == admission.None
		})
	}
}

// learn takes the rules, or the next step to them.
func (w *Walk) learn(file *File) {
	w.file = *file
	switch {
	case file.Elsewhere:
		w.why = "robots elsewhere"
	case file.Rules != nil:
		w.known.Robots = file.Rules
		if file.Rules.Unreachable() {
			w.why = "failing"
		}
		// the interval of this lease was chosen before it was known
		if delay, ok := file.Rules.CrawlDelay(); ok && delay > time.Duration(w.Task.IntervalNs) {
			w.Finish("crawl-delay")
		}
	}
}

// Waits reports that answers wait to be parsed.
func (w *Walk) Waits() bool { return w.unparsed > 0 }

// Allows returns what robots.txt, as it is known now, allows of paths with their queries, for any goroutine.
func (w *Walk) Allows() func(requestURI string) bool { return w.known.Robots.Allowed }

// Usage is what the rules say of the use of a page.
func (w *Walk) Usage(u weburl.URL) []string { return w.known.Robots.Usage(u.RequestURI()) }

// Follows reports that links of the host are wanted.
func (w *Walk) Follows() bool { return w.queue.seen != nil && w.why == "" }

// Finish has an end made after the request under way.
func (w *Walk) Finish(why string) { w.why = cmp.Or(w.why, why) }

// Finished is the last fact of the lease.
func (w *Walk) Finished() *messages.LeaseFinished {
	w.Finish("done")
	return &messages.LeaseFinished{Visits: w.visits, Why: w.why}
}

// Held looks at both clocks whether a lease lasts: the monotonic one stands still while a machine sleeps, the wall
// clock may be set.
func Held(now, until time.Time) bool {
	return now.Before(until) && now.Round(0).Before(until.Round(0))
}
