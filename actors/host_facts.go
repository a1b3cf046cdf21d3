package actors

import (
	"math"
	"time"

	"github.com/asynkron/protoactor-go/actor"

	"henro/actors/politeness"
	"henro/actors/revisit"
	"henro/actors/robots"
	"henro/messages"
	"henro/messages/outlink"
	"henro/store"
	"henro/store/fingerprint"
)

// refuse answers what belongs to a lease that is over: its holder need not say it again.
func (h *Host) refuse(ctx actor.Context) {
	switch m := ctx.Message().(type) {
	case *HostFacts:
		ctx.Send(h.master, &FactsStored{Lease: m.Lease, Seq: math.MaxUint64, Closed: true})
	case *LeaseVoid:
		ctx.Send(h.master, &FactsStored{Lease: m.Lease, Seq: math.MaxUint64, Closed: true})
	}
}

// takeFacts takes what is due next out of the queue: the decisions about each visit, then one question to Revisit for
// all.
func (h *Host) takeFacts(ctx actor.Context) {
	l := h.lease
	if l.asked || l.over {
		return
	}
	var unknown []store.Position
	for _, fact := range l.queue {
		if v := fact.Visited; v != nil && len(v.Position) > 0 && fact.Seq > l.processed {
			if _, ok := l.pages[string(v.Position)]; !ok {
				unknown = append(unknown, v.Position)
				l.pages[string(v.Position)] = store.Page{} // asked for once: what is not there is stored already
			}
		}
	}
	if len(unknown) > 0 {
		l.asked = true
		ctx.Request(h.partition, &EntriesAsked{Positions: unknown})
		return
	}
	now := time.Now()
	asked := &pagesVisited{
		lease: l.ID, prior: h.politeness.Rates().Prior(), plan: h.plan, hints: *h.politeness.Hints(),
		modified: *h.politeness.Modified(),
	}
	for _, fact := range l.queue {
		if fact.Seq != l.processed+1 {
			continue
		}
		l.processed++
		asked.pressing = asked.pressing || fact.Pressing
		if fact.More != nil {
			l.parts++
		} else {
			l.parts = 0
		}
		switch {
		case fact.More != nil:
			l.more = appendLinks(l.more, fact.More)
		case fact.Robots != nil:
			h.takeRobots(ctx, fact.Robots, now)
		case fact.Visited != nil:
			asked.visits = append(asked.visits, h.takeVisit(fact.Visited, now))
		case fact.Finished != nil:
			asked.finished = true
			if idle := fact.Finished.IdleNs; idle >= 0 {
				h.ended(now.Add(-time.Duration(idle)))
			}
		}
	}
	l.queue = nil
	asked.seq = l.processed - l.parts
	if asked.finished {
		l.over = true
	}
	ctx.Request(h.revisit, asked)
}

// takeVisit lets the host's schedule learn from a visit, and finds the record that it is about.
func (h *Host) takeVisit(v *messages.PageVisited, now time.Time) visitMade {
	started := now.Add(-time.Duration(v.AgoNs))
	if v.Reason != messages.Reason_ROBOTS_DENIED {
		h.observe(v.Status, v.Reason, started, politeness.Visit{Took: time.Duration(v.TookNs),
			RetryAfter: time.Duration(v.RetryAfterNs)})
	}
	if v.Reason != messages.Reason_NONE {
		h.lastReason = v.Reason
	}
	made := visitMade{fact: v, started: started, links: h.lease.more}
	h.lease.more = nil
	if v.Links != nil {
		made.links = appendLinks(made.links, v.Links)
		if made.links == nil {
			made.links = []outlink.Outlink{}
		}
	}
	h.hear(made.links)
	if len(v.Position) == 0 {
		made.wish = h.lease.wishes[fingerprint.URL(v.Url)]
	}
	if page, ok := h.lease.pages[string(v.Position)]; ok && len(v.Position) > 0 {
		made.old = page
	}
	return made
}

func appendLinks(links []outlink.Outlink, set *messages.LinkSet) []outlink.Outlink {
	if links == nil {
		links = make([]outlink.Outlink, 0, len(set.Urls))
	}
	for i, url := range set.Urls {
		l := outlink.Outlink{URL: url}
		if i < len(set.Kinds) {
			l.Kind = outlink.Kind(set.Kinds[i])
		}
		if i < len(set.Flags) {
			l.Flags = outlink.Flags(set.Flags[i])
		}
		if i < len(set.Anchors) {
			l.Anchor = set.Anchors[i]
		}
		links = append(links, l)
	}
	return links
}

// outcomeOf puts what came of a visit into the words of politeness.
func outcomeOf(status uint32, reason messages.Reason) politeness.Outcome {
	switch reason {
	case messages.Reason_NONE:
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

// ended lets the interval run from the end of a request, for this host and for those who share its clock. Of its rests
// only those that it asked for, being asked too much, are theirs too: that nobody answers under one name says nothing
// of the others.
func (h *Host) ended(at time.Time) {
	h.politeness.Allow(at.Add(h.politeness.Interval(&h.Politeness)))
	if others := at.Add(h.politeness.Pace(&h.Politeness)); others.After(h.othersAt) {
		h.othersAt = others
	}
}

// observe lets the host's schedule learn from one request.
func (h *Host) observe(status uint32, reason messages.Reason, started time.Time, v politeness.Visit) {
	v.Outcome = outcomeOf(status, reason)
	h.politeness.Observe(&h.Politeness, v, started.Add(v.Took))
	h.ended(started.Add(v.Took))
	if until := h.politeness.BackoffUntil(); v.Outcome == politeness.Throttled && until.After(h.othersAt) {
		h.othersAt = until
	}
}

// takeRobots takes new rules, or notes that there are none to be had.
func (h *Host) takeRobots(ctx actor.Context, m *messages.RobotsVisited, now time.Time) {
	h.observe(m.Status, m.Reason, now.Add(-time.Duration(m.AgoNs)), politeness.Visit{Took: time.Duration(m.TookNs),
		RetryAfter: time.Duration(m.RetryAfterNs), OwnRetry: h.Continuous})
	if len(m.Rules) == 0 && m.Location == "" {
		return // one step of a redirect on this host
	}
	if m.Location != "" {
		h.askRobots(ctx, m.Location)
		return
	}
	rules := new(robots.Rules)
	if err := rules.UnmarshalBinary(m.Rules); err != nil {
		h.log.WithField("err", err).Warn("the rules of robots.txt cannot be read")
		return
	}
	h.settleRobots(ctx, rules, m.Rules, m.Reason)
}

// settleRobots takes rules, of this host's own robots.txt or of the one it redirects to, and passes them on to hosts
// that wait.
func (h *Host) settleRobots(ctx actor.Context, rules *robots.Rules, bytes []byte, reason messages.Reason) {
	now := time.Now()
	h.answerAskers(ctx, rules, bytes, reason)
	if rules.Unreachable() {
		h.lastReason = messages.Reason_ROBOTS_UNREACHABLE
		h.robotsFail++
		if reason == messages.Reason_DNS_NOT_FOUND {
			h.robotsFail = math.MaxInt32 // no name, no host: no need to wait
		}
		h.outlast(now)
		return
	}
	h.robotsFail = 0
	h.setOutage(time.Time{})
	h.obey(rules, bytes, now.Add(robots.Fresh))
}

// outlast decides when a robots.txt that cannot be had is asked for again, and what holds meanwhile. A crawl that is to
// end asks as for any page that failed. A continuous one goes by robots.Retry, and by the host's back-off if nobody is
// there; after robots.GivenUp pages are asked for again, unless the host is dead: then robots.txt remains the probe.
func (h *Host) outlast(now time.Time) {
	if !h.Continuous {
		h.politeness.Allow(now.Add(h.retryWait(h.robotsFail)))
		return
	}
	since := h.outageSince()
	if since.IsZero() {
		since = now
		h.setOutage(since)
	}
	outage := now.Sub(since)
	rules := robots.Unreached()
	if !h.politeness.Dead() {
		var kept *robots.Rules
		if len(h.record.Robots) > 0 {
			kept = new(robots.Rules)
			if err := kept.UnmarshalBinary(h.record.Robots); err != nil {
				kept = nil
			}
		}
		rules = robots.Settle(rules, kept, outage)
	}
	if rules.Unreachable() {
		h.politeness.AllowAfter(&h.Politeness, robots.Retry(outage), now)
		return
	}
	bytes, err := rules.MarshalBinary()
	if err != nil {
		panic(err)
	}
	// counted from when the host may be asked at all, or a long rest would leave time for nothing but robots.txt
	h.obey(rules, bytes, later(now, h.politeness.NextAllowed()).Add(robots.Fresh))
}

// later returns the later of two moments.
func later(a, b time.Time) time.Time {
	if b.After(a) {
		return b
	}
	return a
}

// obey goes by rules until a moment.
func (h *Host) obey(rules *robots.Rules, bytes []byte, until time.Time) {
	h.robots, h.named = rules, 0
	h.record.Robots, h.record.RobotsUntil = bytes, until
	delay, _ := rules.CrawlDelay()
	h.politeness.SetCrawlDelay(delay)
}

// outageSince is since when robots.txt could not be had; zero: it could, or was not asked for. A whole minute, as it is
// kept in HostRecord.Flags above the verdict.
func (h *Host) outageSince() time.Time {
	minutes := h.record.Flags >> verdictBits
	if minutes == 0 {
		return time.Time{}
	}
	return time.Unix(int64(minutes)*60, 0)
}

func (h *Host) setOutage(since time.Time) {
	h.record.Flags &= verdictFlags
	if !since.IsZero() {
		h.record.Flags |= uint32(since.Unix()/60) << verdictBits
	}
}

// storeTimed writes what came of a group of facts, all of it or nothing: the pages, their candidates, the host, the
// lease.
func (h *Host) storeTimed(ctx actor.Context, m *pagesTimed) {
	l := h.lease
	w := &Write{
		Visits: m.visits, Urgent: m.asked.finished || m.asked.pressing,
		Tag: &factsTag{lease: l.ID, seq: m.asked.seq, visits: len(m.visits), closed: m.asked.finished},
	}
	for i := range m.visits {
		v := &m.visits[i]
		if v.Retry {
			continue
		}
		h.learn(&m.asked.visits[i].old, m.found[i])
		h.retime(&m.asked.visits[i].old, &v.Page)
		h.judge.begin(v.Page.URL, v.Page.Depth, v.Page.DepthLeft, v.Page.Redirects, v.Page.Number)
		h.blame(w, &m.asked.visits[i], v.Links)
		for j := range v.Links {
			h.judge.link(&v.Links[j])
		}
		h.heed(ctx, &m.asked.visits[i].old, v)
	}
	h.judged(ctx, w)
	w.Host = h.row()
	w.Totals.Add(&m.totals)
	if m.asked.finished {
		w.EndLease, w.Sessions = l.ID, h.newSessions()
	} else {
		l.Seq = m.asked.seq
		lease := l.Lease
		w.Lease = &lease
	}
	w.Evidence = h.newEvidence(m.asked.finished)
	h.countVerdict(w)
	h.write(ctx, w)
}

// retime keeps the load index and the histogram of change rates in step with a page's new timing.
func (h *Host) retime(old, page *store.Page) {
	seconds := func(s float32) time.Duration { return time.Duration(float64(s) * float64(time.Second)) }
	before, now := seconds(old.Timing.Interval), seconds(page.Timing.Interval)
	oldHistory, history := revisit.History(old.Timing), revisit.History(page.Timing)
	mean := h.Revisit.Estimate(&history)
	known, planned := !old.LastVisit.IsZero(), !page.Next.IsZero()
	switch {
	case known && planned:
		h.politeness.Retime(before, now)
	case known:
		h.politeness.RemovePage(before)
		mean = 0
	case planned:
		h.politeness.AddPage(now)
	default:
		mean = 0
	}
	h.politeness.Rates().Move(h.Revisit.Estimate(&oldHistory), mean)
}

// void ends a lease of which nobody can say when its last request was: the interval runs from now.
func (h *Host) void(ctx actor.Context) {
	if h.lease.over {
		return
	}
	h.lease.over = true
	h.ended(time.Now())
	// behind what is with it already
	ctx.Request(h.revisit, &pagesVisited{lease: h.lease.ID, seq: h.lease.processed, finished: true})
}
