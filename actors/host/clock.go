package host

import (
	"math"
	"slices"
	"time"

	"henro/actors/politeness"
	"henro/actors/protocol"
	"henro/messages"
	"henro/store"
)

// clock says when a host may be asked, how often, and how many visits a lease may have.
type clock struct {
	polite politeness.State // with the timetable, which the schedule keeps

	o       *Options           // of base
	verdict politeness.Verdict // on the timetable, when it was planned last
	askedAt time.Time          // end of the latest request
	// no host that shares this host's clock may be asked before: its pace counts for them, its back-off does not
	othersAt time.Time
}

// timetable is what the pages ask for.
func (c *clock) timetable() *politeness.Timetable { return &c.polite.Timetable }

func (c *clock) interval() time.Duration { return c.polite.Interval(&c.o.Politeness) }

// observe lets the clock learn from one request.
func (c *clock) observe(status uint32, reason messages.Reason, started time.Time, v politeness.Visit) {
	v.Outcome = outcomeOf(status, reason)
	c.polite.Observe(&c.o.Politeness, v, started)
	c.ended(started.Add(v.Took))
	if until := c.polite.BackoffUntil(); v.Outcome == politeness.Throttled && until.After(c.othersAt) {
		c.othersAt = until
	}
}

// ended lets the interval run from the end of a request, for this host and for those that share its clock. These keep
// no rest of this host but one that it asked for because it is asked too much (observe): that one name does not answer
// says nothing of the others.
func (c *clock) ended(at time.Time) {
	c.askedAt = later(c.askedAt, at)
	c.polite.Allow(at.Add(c.interval()))
	c.othersAt = later(c.othersAt, at.Add(c.polite.Pace(&c.o.Politeness)))
}

// outcomeOf is what package politeness makes of a status, or of the reason that there is none.
func outcomeOf(status uint32, reason messages.Reason) politeness.Outcome {
	switch reason {
	case messages.Reason_NONE, messages.Reason_WALL:
	case messages.Reason_TIMEOUT, messages.Reason_CONNECT_TIMEOUT:
		return politeness.TimedOut
	case messages.Reason_CONNECT_REFUSED, messages.Reason_CONNECTION_LOST:
		return politeness.Refused
	case messages.Reason_DNS_NOT_FOUND, messages.Reason_DNS_FAILED, messages.Reason_CONNECT_FAILED,
		messages.Reason_TLS_FAILED:
		return politeness.Unreachable
	case messages.Reason_MALFORMED, messages.Reason_HEADERS_TOO_LARGE:
		return politeness.Broken
	default: // not the host's fault
		return politeness.OK
	}
	switch {
	case status == 429 || status == 503:
		return politeness.Throttled
	case status >= 500:
		return politeness.ServerError
	case status >= 400:
		return politeness.ClientError
	default:
		return politeness.OK
	}
}

// budget is how many visits a lease is filled with.
func (c *clock) budget(m *protocol.Lend) int {
	budget := c.o.PageBudget
	if !m.Few {
		budget = c.o.SharedBudget()
	}
	if interval := c.interval(); interval > 0 {
		budget = min(budget, max(1, int(c.o.LeaseSpan/interval)))
	}
	if m.Budget > 0 {
		budget = min(budget, m.Budget)
	}
	return budget
}

// pageLimit is how many of the visits may be of pages: 0 is no limit, protocol.NoPages none. Their requisites are
// fetched beyond every limit, so that the last pages are whole too.
func (c *clock) pageLimit(m *protocol.Lend) int {
	known := c.timetable().Pages()
	switch {
	case m.PageLimit == protocol.NoPages || c.full():
		return protocol.NoPages
	case c.o.MaxPages <= known:
		return m.PageLimit
	}
	left := int(min(c.o.MaxPages-known, math.MaxInt32))
	if m.PageLimit > 0 {
		left = min(left, m.PageLimit)
	}
	return left
}

// limit leaves out the pages beyond the limit of a lease. Requisites do not count.
func (c *clock) limit(due []store.Entry, m *protocol.Lend) []store.Entry {
	left := c.pageLimit(m)
	if left == 0 {
		return due
	}
	return slices.DeleteFunc(due, func(e store.Entry) bool {
		if isRequisite(e) {
			return false
		}
		left--
		return left < 0
	})
}

// full reports that as many pages of the host were visited as are wanted. A crawl that visits known pages again has no
// such limit.
func (c *clock) full() bool {
	return !c.o.Continuous && !c.o.Again && c.o.MaxPages > 0 && c.timetable().Pages() >= c.o.MaxPages
}

// restsLong reports that the host rests after failures, for longer than a lease.
func (c *clock) restsLong() bool {
	interval := c.interval()
	return interval > c.o.LeaseSpan && interval > c.polite.Pace(&c.o.Politeness)
}

// givenUp reports that a crawl that is to end should not wait for the host any longer: the host, or its robots.txt, has
// failed too often, or it rests longer than Options.Patience, since it asked for that or by its back-off.
func (c *clock) givenUp(now time.Time, robotsFailures int) bool {
	if c.o.Continuous {
		return false
	}
	rests := c.polite.BackoffUntil().Sub(now)
	if c.o.Again && rests <= 0 { // a round asks once more
		return false
	}
	outwaits := c.o.Patience > 0 && rests > c.o.Patience
	return outwaits || c.polite.Failures() > 2*c.o.Retries || robotsFailures > c.o.Retries
}

// later returns the later of two moments.
func later(a, b time.Time) time.Time {
	if b.After(a) {
		return b
	}
	return a
}
