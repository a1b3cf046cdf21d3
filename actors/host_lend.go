package actors

import (
	"encoding/binary"
	"time"

	"github.com/asynkron/protoactor-go/actor"

	"henro/actors/admission"
	"henro/actors/scope"
	"henro/messages"
	"henro/store"
)

// budget is how many visits a lease is filled with.
func (h *Host) budget(m *Lend) int {
	budget := h.PageBudget
	if interval := h.politeness.Interval(&h.Politeness); interval > 0 {
		budget = min(budget, max(1, int(h.LeaseSpan/interval)))
	}
	if m.PageBudget > 0 {
		budget = min(budget, m.PageBudget)
	}
	if known := h.politeness.Pages(); h.MaxPages > known && h.MaxPages-known < uint64(budget) {
		budget = int(h.MaxPages - known)
	}
	return budget
}

// prepare makes the lease of what was loaded and has it written.
func (h *Host) prepare(ctx actor.Context, m *PagesLoaded) {
	now := time.Now()
	var due []store.Entry
	h.nextRetry = time.Time{}
	h.politeness.Allow(h.asking.NotBefore)
	first := h.politeness.NextAllowed()
	for _, entry := range m.Entries {
		if entry.Page.Next.After(now.Add(h.LookAhead)) && !h.givenUp() {
			if h.nextRetry.IsZero() || entry.Page.Next.Before(h.nextRetry) {
				h.nextRetry = entry.Page.Next
			}
			continue
		}
		due = append(due, entry)
		if entry.Page.Next.After(first) {
			first = entry.Page.Next
		}
	}
	h.due, h.newWait = m.DueCount, len(m.Entries) > 0
	h.empty = len(m.Entries) == 0 && len(m.Ghosts) == 0 && m.DueCount == 0
	if h.hold(ctx, m, due, now) {
		return
	}
	if h.leave(ctx, due, now) {
		return
	}
	due = h.share(due, m.Due)
	if len(due) > 0 {
		h.nextRetry = time.Time{}
	}
	if h.givenUp() && len(due) > 0 {
		h.giveUp(ctx, due)
		return
	}
	if h.full() && len(due) > 0 {
		h.dropAll(ctx, due, messages.Reason_NONE, admission.HostPages)
		return
	}
	if h.voided || len(due) == 0 && !h.wanted {
		if len(m.Ghosts) > 0 { // to be asked again once they are gone
			h.write(ctx, &Write{Ghosts: m.Ghosts, Urgent: true, Tag: &refusedTag{}})
			return
		}
		h.refuseLend(ctx)
		return
	}
	if h.probes(now) {
		due = nil
	}
	task := h.makeTask(due, m)
	if first.After(now) {
		task.FirstAfterNs = int64(first.Sub(now))
	}
	lend := h.asking
	h.lease = &openLease{
		Lease: store.Lease{ID: lend.Lease, Host: h.record.ID, HostName: h.name, Slave: lend.Slave, Boot: lend.Boot,
			Until: lend.Until},
		pages: make(map[string]store.Page, len(task.Tasks)),
	}
	for _, entry := range due[:len(task.Tasks)] {
		h.lease.pages[string(entry.Position)] = entry.Page
	}
	if len(m.Due) > 0 && len(task.Tasks)%2 == 1 {
		h.knownFirst = !h.knownFirst
	}
	h.lease.task = task
	lease := h.lease.Lease
	h.write(ctx, &Write{Host: h.row(), Lease: &lease, Ghosts: m.Ghosts, Urgent: true, Tag: &lentTag{lend}})
}

// probes reports that this host rests after failures, for longer than a lease, and that its robots.txt must be read
// anew. Then that is all it is asked for: the answer may shorten the rest, and a lease waits between two requests as
// long as was owed when it began.
func (h *Host) probes(now time.Time) bool {
	interval := h.politeness.Interval(&h.Politeness)
	known := h.robots != nil && now.Before(h.record.RobotsUntil)
	return !known && interval > h.LeaseSpan && interval > h.politeness.Pace(&h.Politeness)
}

// refuseLend tells the Master that there is nothing to lend now.
func (h *Host) refuseLend(ctx actor.Context) {
	lend := h.asking
	h.asking = nil
	ctx.Send(h.master, &LendRefused{Lease: lend.Lease, NextAt: h.politeness.NextAllowed()})
	h.becomeReady(ctx)
}

// Bounds of the message of one lease, with room for rules of robots.txt beside it.
const (
	maxTaskBytes = 100 << 10
	maxStopBytes = 16 << 10 // of the stop list; with a longer one links are not followed inside leases
)

func (h *Host) makeTask(due []store.Entry, m *PagesLoaded) *messages.HostTask {
	budget := h.budget(h.asking)
	region := h.regions.Of(h.name)
	stops := append(h.judge.known.Stops.Prefixes(time.Now()), region.Closed...)
	listed := 0
	for _, stop := range stops {
		listed += len(stop) + 4
	}
	task := &messages.HostTask{
		Lease: h.asking.Lease, Host: h.name,
		IntervalNs: int64(h.politeness.Interval(&h.Politeness)), PageBudget: uint32(budget),
		Verdict: h.politeness.Verdict(&h.Politeness).String(),
		Ratio:   h.Politeness.Pace(), Prefixes: region.Prefixes, MaxRedirects: uint32(h.Admission.MaxRedirects),
		// which session ids were taken is known here alone
		Follow: h.Follow && m.Whole && region.Outside == scope.In && listed <= maxStopBytes &&
			!h.judge.known.Sessions.Found(),
	}
	if h.robots != nil && time.Now().Before(h.record.RobotsUntil) {
		task.Robots = h.record.Robots
	}
	size := len(task.Robots)
	if task.Follow {
		task.Stops = stops
		size += listed
		task.Known = make([]byte, 0, 8*len(m.Known))
		for _, fp := range m.Known {
			task.Known = binary.BigEndian.AppendUint64(task.Known, fp)
		}
		size += len(task.Known)
	}
	for _, entry := range due {
		page := &entry.Page
		size += len(page.URL) + 100
		if len(task.Tasks) > 0 && (size > maxTaskBytes || len(task.Tasks) >= min(budget, h.TaskBudget)) {
			break
		}
		t := &messages.Task{
			Url: page.URL, Depth: int32(page.Depth), DepthLeft: admission.WireDepthLeft(page.DepthLeft),
			Position:  entry.Position,
			Redirects: uint32(page.Redirects), Attempts: uint32(page.Attempts),
		}
		if !page.CapturedAt.IsZero() {
			t.Etag, t.Digest, t.CapturedUnix = page.ETag, page.Digest[:], page.CapturedAt.Unix()
			if !page.LastModified.IsZero() {
				t.LastModified = page.LastModified.UTC().Format(httpTime)
			}
		}
		task.Tasks = append(task.Tasks, t)
	}
	return task
}

// httpTime is the IMF-fixdate of RFC 9110 5.6.7.
const httpTime = "Mon, 02 Jan 2006 15:04:05 GMT"

func (h *Host) retryWait(attempt int) time.Duration {
	return h.RetryWait << min(max(attempt, 1)-1, 10)
}

// full reports that as many pages of this host were visited as are wanted. Known pages are still visited again.
func (h *Host) full() bool {
	return !h.Continuous && h.MaxPages > 0 && h.politeness.Pages() >= h.MaxPages
}

// givenUp reports that a crawl that is to end should not wait for this host any longer: it has failed too often, or
// rests after a failure for longer than the crawl has patience, which is how long it asked for or the back-off has
// become.
func (h *Host) givenUp() bool {
	if h.Continuous {
		return false
	}
	outwaits := h.Patience > 0 && time.Until(h.politeness.BackoffUntil()) > h.Patience
	return outwaits || h.politeness.Failures() > 2*h.Retries || h.robotsFail > h.Retries
}

// giveUp records the reason for pages that will not be asked for, a batch at a time, in the place of a lease.
func (h *Host) giveUp(ctx actor.Context, due []store.Entry) {
	reason := h.lastReason
	if h.robotsFail > h.Retries {
		reason = messages.Reason_ROBOTS_UNREACHABLE
	}
	h.dropAll(ctx, due, reason, admission.HostFailing)
}

// dropAll gives up pages that wait, and tells why.
func (h *Host) dropAll(ctx actor.Context, due []store.Entry, reason messages.Reason, why admission.Reason) {
	w := &Write{Urgent: true, Tag: &refusedTag{}, Host: h.row()}
	for _, entry := range due {
		page := entry.Page
		page.Reason, page.Flags, page.Next = uint8(reason), page.Flags|store.Dropped, time.Time{}
		w.Drops = append(w.Drops, store.Entry{Page: page, Position: entry.Position})
		h.judge.note(admission.Skipped{URL: page.URL, Reason: why, Depth: int(page.Depth)})
	}
	h.judged(ctx, w)
	word := why.String()
	if reason != messages.Reason_NONE {
		word = reason.String()
	}
	w.Totals.err(word, uint64(len(due)))
	if why == admission.StopList {
		w.Totals.Tried += uint64(len(due))
		w.Totals.Broken += uint64(len(due))
	}
	h.write(ctx, w)
}
