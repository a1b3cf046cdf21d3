package host

import (
	"fmt"
	"math"
	"slices"
	"strings"
	"time"

	"henro/actors/politeness"
	"henro/actors/protocol"
	"henro/actors/robots"
	"henro/messages"
	"henro/messages/weburl"
	"henro/store"
)

// A robots.txt that redirects to another host is asked for there, in that host's own time (RFC 9309 2.3.1.2): the Host
// sends its question to the other Host, which answers from what it knows, or once it has asked. A chain of such
// redirects is a chain of questions, ended after maxRobotsChain.
type (
	robotsAsked struct {
		asker string
		hops  int
	}
	robotsReported struct {
		rules   *robots.Rules
		bytes   []byte
		failure store.Failure // why there are none
	}
	robotsLate struct{} // no answer came
)

const maxRobotsChain = 5

// robotsAgain is how long an answer is awaited until the question is sent again: the Host that was asked may have
// failed over it.
const robotsAgain = time.Minute

// robotsBook is what is known of the robots.txt of a host.
type robotsBook struct {
	*base

	rules     *robots.Rules // nil: not asked yet, or too long ago
	failures  int           // times in a row that it was unreachable
	elsewhere string        // the host that it redirects to, while its answer is awaited
	askers    []string      // hosts whose robots.txt redirects to this one, and that wait for an answer
	hops      int           // length of the longest chain of them
	// the sitemaps of robots.txt were admitted as links of a page with so much depth left, plus one; 0: of none
	named int
}

// wanted reports that another host wants the rules, so that they are asked for even if no page is.
func (r *robotsBook) wanted() bool { return len(r.askers) > 0 }

// known reports that rules are known, not too long ago.
func (r *robotsBook) known() bool { return r.rules != nil && r.now.Before(r.record.RobotsUntil) }

// awaited reports that the answer of another host is awaited.
func (r *robotsBook) awaited() bool { return r.elsewhere != "" }

// follow asks the host that robots.txt redirects to. A file of another name is no host's rules: it counts as
// unavailable.
func (r *robotsBook) follow(location string) {
	to, err := weburl.Parse(location)
	if err != nil || to.RequestURI() != "/robots.txt" || r.hops >= maxRobotsChain || r.awaited() {
		r.allowAll()
		return
	}
	r.elsewhere = to.Host()
	r.request()
}

// request asks the other host, again if its answer is still awaited.
func (r *robotsBook) request() {
	if !r.awaited() {
		return
	}
	r.send(Hosts, &protocol.ToHost{Host: r.elsewhere,
		Message: &robotsAsked{asker: r.name, hops: r.hops + 1}})
	r.sendLater(&robotsLate{}, robotsAgain)
}

func (r *robotsBook) allowAll() {
	rules := robots.AllowAll()
	bytes, err := rules.MarshalBinary()
	if err != nil {
		panic(err)
	}
	r.settle(rules, bytes, store.Failure{})
}

// answer sends another host the rules here, at once or when they are known.
func (r *robotsBook) answer(m *robotsAsked) {
	if strings.EqualFold(m.asker, r.elsewhere) { // a circle: both wait
		r.allowAll()
	}
	if r.rules != nil {
		r.send(Hosts, &protocol.ToHost{Host: m.asker,
			Message: &robotsReported{rules: r.rules, bytes: r.record.Robots}})
		return
	}
	if !slices.Contains(r.askers, m.asker) {
		r.askers = append(r.askers, m.asker)
	}
	r.hops = max(r.hops, m.hops)
}

// answerAskers sends the rules found here to the hosts that wait for them.
func (r *robotsBook) answerAskers(rules *robots.Rules, bytes []byte, failure store.Failure) {
	for _, asker := range r.askers {
		r.send(Hosts, &protocol.ToHost{Host: asker,
			Message: &robotsReported{rules: rules, bytes: bytes, failure: failure}})
	}
	r.askers = nil
}

// takeRedirected takes the rules of the host that robots.txt redirected to.
func (r *robotsBook) takeRedirected(m *robotsReported) {
	if !r.awaited() {
		return
	}
	failure := m.failure
	if !failure.At.IsZero() {
		failure.Says = messages.Says(fmt.Sprintf("its robots.txt is that of %s: %s", r.elsewhere, failure.Says))
	}
	r.elsewhere = ""
	r.settle(m.rules, m.bytes, failure)
}

// take takes new rules, or notes that there are none to be had.
func (r *robotsBook) take(m *messages.RulesVisited) {
	r.clock.observe(m.Status, m.Reason, r.now.Add(-time.Duration(m.AgoNs)), politeness.Visit{
		Took: time.Duration(m.TookNs), RetryAfter: time.Duration(m.RetryAfterNs), OwnRetry: r.o.Continuous})
	failure := RobotsFailure(m, r.now)
	if !failure.At.IsZero() {
		r.countError(failure.Cause().Word)
	}
	if len(m.Rules) == 0 && m.Location == "" {
		return // one step of a redirect on this host
	}
	if m.Location != "" {
		r.follow(m.Location)
		return
	}
	rules := new(robots.Rules)
	if err := rules.UnmarshalBinary(m.Rules); err != nil {
		r.send(Log, fmt.Errorf("rules of robots.txt from a slave: %w", err))
		return
	}
	r.settle(rules, m.Rules, failure)
}

// RobotsFailure is why robots.txt could not be had; zero: it could, or there is none.
func RobotsFailure(m *messages.RulesVisited, now time.Time) store.Failure {
	failure := store.Failure{At: now, Status: uint16(m.Status), Reason: uint8(m.Reason), Says: messages.Says(m.Says)}
	if m.Path != "" { // of another file: robots.txt itself was read before
		return store.Failure{}
	}
	switch m.Reason {
	case messages.Reason_NONE:
		if m.Status >= 200 && m.Status < 500 && m.Status != 429 {
			return store.Failure{}
		}
		failure.Reason = uint8(messages.Reason_ROBOTS_UNREACHABLE)
		failure.Says = fmt.Sprintf("robots.txt answers HTTP %d", m.Status)
	case messages.Reason_TIMEOUT, messages.Reason_CONNECTION_LOST, messages.Reason_MALFORMED,
		messages.Reason_HEADERS_TOO_LARGE:
		failure.Says = messages.Says("robots.txt: " + failure.Says)
	}
	return failure
}

// settle takes the rules of this host's own robots.txt, or of the one that it redirects to, and passes them on to the
// hosts that wait for them.
func (r *robotsBook) settle(rules *robots.Rules, bytes []byte, failure store.Failure) {
	now := r.now
	r.answerAskers(rules, bytes, failure)
	if rules.Unreachable() {
		r.fail(failure)
		r.failures++
		if failure.Reason == uint8(messages.Reason_DNS_NOT_FOUND) {
			r.failures = math.MaxInt32 // there is no such host: nothing to wait for
		}
		r.outlast(now)
		return
	}
	r.failures = 0
	r.setOutage(time.Time{})
	r.obey(rules, bytes, now.Add(robots.Fresh))
}

// kept are the rules on disk, however old; nil: none.
func (r *robotsBook) kept() *robots.Rules {
	rules := new(robots.Rules)
	if len(r.record.Robots) == 0 || rules.UnmarshalBinary(r.record.Robots) != nil {
		return nil
	}
	return rules
}

// outlast decides when a robots.txt that cannot be had is asked for again, and what holds meanwhile. A crawl that is to
// end asks as for any page that failed. A continuous one goes by robots.Retry, and by the host's back-off if it cannot
// be reached; after robots.GivenUp pages are asked for again, unless the host is dead: then robots.txt remains the
// probe.
func (r *robotsBook) outlast(now time.Time) {
	if !r.o.Continuous {
		r.clock.polite.Allow(now.Add(r.o.retryWait(r.failures)))
		return
	}
	since := r.outageSince()
	if since.IsZero() {
		since = now
		r.setOutage(since)
	}
	outage := now.Sub(since)
	rules := robots.Unreached()
	if !r.clock.polite.Dead() {
		rules = robots.Settle(rules, r.kept(), outage)
	}
	if rules.Unreachable() {
		r.clock.polite.AllowAfter(&r.o.Politeness, robots.Retry(outage), now)
		return
	}
	bytes, err := rules.MarshalBinary()
	if err != nil {
		panic(err)
	}
	// counted from when the host may be asked at all, or a long rest would leave time for nothing but robots.txt
	r.obey(rules, bytes, later(now, r.clock.polite.NextAllowed()).Add(robots.Fresh))
}

// obey goes by rules until a moment.
func (r *robotsBook) obey(rules *robots.Rules, bytes []byte, until time.Time) {
	r.rules, r.named = rules, 0
	r.record.Robots, r.record.RobotsUntil = bytes, until
	delay, _ := rules.CrawlDelay()
	r.clock.polite.SetCrawlDelay(delay)
}

// sitemaps are those that robots.txt names, absolute.
func (r *robotsBook) sitemaps() (urls []string) {
	base, err := weburl.Parse(r.name + "/robots.txt")
	if err != nil {
		return nil
	}
	for _, ref := range r.rules.Sitemaps() {
		if u, err := base.Resolve(ref); err == nil {
			urls = append(urls, u.String())
		}
	}
	return urls
}

// outageSince is since when robots.txt could not be had; zero: it could, or was not asked for. A whole minute, as it is
// kept in HostRecord.Flags above the verdict.
func (r *robotsBook) outageSince() time.Time {
	minutes := r.record.Flags >> verdictBits
	if minutes == 0 {
		return time.Time{}
	}
	return time.Unix(int64(minutes)*60, 0)
}

func (r *robotsBook) setOutage(since time.Time) {
	r.record.Flags &= verdictFlags
	if !since.IsZero() {
		r.record.Flags |= uint32(since.Unix()/60) << verdictBits
	}
}
