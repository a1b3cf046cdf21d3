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
	rules     *robots.Rules // nil: not asked yet, or too long ago
	failures  int           // times in a row that it was unreachable
	elsewhere string        // the host that it redirects to, while its answer is awaited
	askers    []string      // hosts whose robots.txt redirects to here
	hops      int           // length of the longest chain of them
	// depth left of the page for which the sitemaps of robots.txt were named last, plus one
	named int
}

// wanted reports that the rules are wanted, though no page may be.
func (r *robotsBook) wanted() bool { return len(r.askers) > 0 }

// awaited reports that the answer of another host is awaited.
func (r *robotsBook) awaited() bool { return r.elsewhere != "" }

// askRobots asks the host that robots.txt redirects to. A file of another name is no host's rules: it counts as
// unavailable.
func (b *Book) askRobots(location string) {
	to, err := weburl.Parse(location)
	if err != nil || to.RequestURI() != "/robots.txt" || b.robots.hops >= maxRobotsChain || b.robots.awaited() {
		b.allowAll()
		return
	}
	b.robots.elsewhere = to.Host()
	b.sendRobotsAsked()
}

func (b *Book) sendRobotsAsked() {
	b.send(Hosts, &protocol.ToHost{Host: b.robots.elsewhere,
		Message: &robotsAsked{asker: b.name, hops: b.robots.hops + 1}})
	b.out = append(b.out, Effect{To: Self, Message: &robotsLate{}, After: robotsAgain})
}

func (b *Book) allowAll() {
	rules := robots.AllowAll()
	bytes, err := rules.MarshalBinary()
	if err != nil {
		panic(err)
	}
	b.settleRobots(rules, bytes, store.Failure{})
}

// answerRobots sends another host the rules here, at once or when they are known.
func (b *Book) answerRobots(m *robotsAsked) {
	if strings.EqualFold(m.asker, b.robots.elsewhere) { // a circle: both wait
		b.allowAll()
	}
	if b.robots.rules != nil {
		b.send(Hosts, &protocol.ToHost{Host: m.asker,
			Message: &robotsReported{rules: b.robots.rules, bytes: b.record.Robots}})
		return
	}
	if !slices.Contains(b.robots.askers, m.asker) {
		b.robots.askers = append(b.robots.askers, m.asker)
	}
	b.robots.hops = max(b.robots.hops, m.hops)
}

// answerAskers sends the rules found here to the hosts that wait for them.
func (b *Book) answerAskers(rules *robots.Rules, bytes []byte, failure store.Failure) {
	for _, asker := range b.robots.askers {
		b.send(Hosts, &protocol.ToHost{Host: asker,
			Message: &robotsReported{rules: rules, bytes: bytes, failure: failure}})
	}
	b.robots.askers = nil
}

// takeRedirectedRobots takes the rules of the host that robots.txt redirected to.
func (b *Book) takeRedirectedRobots(m *robotsReported) {
	if !b.robots.awaited() {
		return
	}
	failure := m.failure
	if !failure.At.IsZero() {
		failure.Says = messages.Says(fmt.Sprintf("its robots.txt is that of %s: %s", b.robots.elsewhere, failure.Says))
	}
	b.robots.elsewhere = ""
	b.settleRobots(m.rules, m.bytes, failure)
}

// takeRobots takes new rules, or notes that there are none to be had.
func (b *Book) takeRobots(m *messages.RobotsVisited) {
	b.clock.observe(m.Status, m.Reason, b.now.Add(-time.Duration(m.AgoNs)), politeness.Visit{Took: time.Duration(m.TookNs),
		RetryAfter: time.Duration(m.RetryAfterNs), OwnRetry: b.o.Continuous})
	failure := RobotsFailure(m, b.now)
	if !failure.At.IsZero() {
		b.record.CountError(failure.Cause().Word, 1)
	}
	if len(m.Rules) == 0 && m.Location == "" {
		return // one step of a redirect on this host
	}
	if m.Location != "" {
		b.askRobots(m.Location)
		return
	}
	rules := new(robots.Rules)
	if err := rules.UnmarshalBinary(m.Rules); err != nil {
		b.send(Log, fmt.Errorf("rules of robots.txt from a slave: %w", err))
		return
	}
	b.settleRobots(rules, m.Rules, failure)
}

// RobotsFailure is why robots.txt could not be had; zero: it could, or there is none.
func RobotsFailure(m *messages.RobotsVisited, now time.Time) store.Failure {
	failure := store.Failure{At: now, Status: uint16(m.Status), Reason: uint8(m.Reason), Says: messages.Says(m.Says)}
	if m.Path != "" { // robots.txt was there before
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

// settleRobots takes rules, of this host's own robots.txt or of the one it redirects to, and passes them on to hosts
// that wait.
func (b *Book) settleRobots(rules *robots.Rules, bytes []byte, failure store.Failure) {
	now := b.now
	b.answerAskers(rules, bytes, failure)
	if rules.Unreachable() {
		b.fail(failure)
		b.robots.failures++
		if failure.Reason == uint8(messages.Reason_DNS_NOT_FOUND) {
			b.robots.failures = math.MaxInt32 // no name, no host: no need to wait
		}
		b.outlast(now)
		return
	}
	b.robots.failures = 0
	b.setOutage(time.Time{})
	b.obey(rules, bytes, now.Add(robots.Fresh))
}

// outlast decides when a robots.txt that cannot be had is asked for again, and what holds meanwhile. A crawl that is to
// end asks as for any page that failed. A continuous one goes by robots.Retry, and by the host's back-off if nobody is
// there; after robots.GivenUp pages are asked for again, unless the host is dead: then robots.txt remains the probe.
func (b *Book) outlast(now time.Time) {
	if !b.o.Continuous {
		b.clock.Allow(now.Add(b.o.retryWait(b.robots.failures)))
		return
	}
	since := b.outageSince()
	if since.IsZero() {
		since = now
		b.setOutage(since)
	}
	outage := now.Sub(since)
	rules := robots.Unreached()
	if !b.clock.Dead() {
		var kept *robots.Rules
		if len(b.record.Robots) > 0 {
			kept = new(robots.Rules)
			if err := kept.UnmarshalBinary(b.record.Robots); err != nil {
				kept = nil
			}
		}
		rules = robots.Settle(rules, kept, outage)
	}
	if rules.Unreachable() {
		b.clock.AllowAfter(&b.o.Politeness, robots.Retry(outage), now)
		return
	}
	bytes, err := rules.MarshalBinary()
	if err != nil {
		panic(err)
	}
	// counted from when the host may be asked at all, or a long rest would leave time for nothing but robots.txt
	b.obey(rules, bytes, later(now, b.clock.NextAllowed()).Add(robots.Fresh))
}

// obey goes by rules until a moment.
func (b *Book) obey(rules *robots.Rules, bytes []byte, until time.Time) {
	b.robots.rules, b.robots.named = rules, 0
	b.record.Robots, b.record.RobotsUntil = bytes, until
	delay, _ := rules.CrawlDelay()
	b.clock.SetCrawlDelay(delay)
}

// outageSince is since when robots.txt could not be had; zero: it could, or was not asked for. A whole minute, as it is
// kept in HostRecord.Flags above the verdict.
func (b *Book) outageSince() time.Time {
	minutes := b.record.Flags >> verdictBits
	if minutes == 0 {
		return time.Time{}
	}
	return time.Unix(int64(minutes)*60, 0)
}

func (b *Book) setOutage(since time.Time) {
	b.record.Flags &= verdictFlags
	if !since.IsZero() {
		b.record.Flags |= uint32(since.Unix()/60) << verdictBits
	}
}
