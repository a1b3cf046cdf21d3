package host

import (
	"encoding/binary"
	"math"
	"slices"
	"time"

	"henro/actors/admission"
	"henro/actors/politeness"
	"henro/actors/protocol"
	"henro/actors/scope"
	"henro/messages"
	"henro/store"
)

// prepare asks for the pages of a lease.
func (b *Book) prepare(m *protocol.Lend) {
	if b.loan.phase != idle && b.loan.phase != announced {
		return
	}
	b.loan.phase, b.loan.lend = preparing, &preparation{order: m}
	asked := &protocol.PagesAsked{Host: b.name, Limit: b.clock.budget(m), Due: b.clock.budget(m)}
	if m.PageLimit == protocol.NoPages {
		asked.Due, asked.Requisites = 0, true
	}
	asked.Notes = b.rules.formNotes()
	if b.rules.ruled() {
		asked.Limit = min(4*asked.Limit, ruledWaiting)
	}
	if b.second.of != "" {
		asked.Limit, asked.Due = max(asked.Limit, aliasBatch), max(asked.Due, min(asked.Due, 1)*aliasBatch)
	}
	if b.o.Follow {
		asked.Known = b.o.KnownBudget
	}
	b.send(Partition, asked)
}

// loaded makes the lease of what was loaded and has it written.
func (b *Book) loaded(m *protocol.PagesLoaded) {
	if b.loan.phase != preparing {
		return
	}
	now := b.now
	b.clock.polite.Allow(b.loan.lend.order.NotBefore)
	due, first := b.ripe(m.Entries)
	b.queue.known, b.queue.fresh = m.DueCount, len(m.Entries)+len(m.Ghosts)
	if b.stopExcluded(m, due, now) || b.judge.turnAway(due, m.Due, now) {
		return
	}
	due, spared := b.rules.spareForms(due, m)
	if spared || b.restForms(m) {
		return
	}
	fresh, known := b.second.hold(due, m.Due)
	asked := max(b.schedule.load, b.clock.polite.Timetable.Load())
	part := politeness.KnownShare(asked, b.clock.polite.Capacity(&b.o.Politeness))
	due = b.queue.share(fresh, known, part)
	if b.loan.lend.order.PageLimit == protocol.NoPages { // its pages wait for another crawl
		b.queue.known = 0
	}
	if len(due) > 0 {
		b.queue.retryAt = time.Time{}
	}
	if b.clock.givenUp(b.now, b.robots.failures) && len(due) > 0 {
		b.judge.giveUp(due, &b.record.Failure, admission.HostFailing)
		return
	}
	if b.clock.full() { // requisites of the pages that it gave go on
		if pages := slices.DeleteFunc(slices.Clone(due), isRequisite); len(pages) > 0 {
			b.judge.giveUp(pages, nil, admission.HostPages)
			return
		}
	}
	if b.loan.lend.void || len(due) == 0 && !b.robots.wanted() {
		if len(m.Ghosts) > 0 { // to be asked again once they are gone
			b.write(&protocol.Write{Ghosts: m.Ghosts, Urgent: true, Tag: &refusedTag{}})
			return
		}
		b.loan.refuseLend()
		return
	}
	// A host that rests after failures is asked for its robots.txt alone, if that must be read again: the answer may
	// shorten the rest, and a lease waits between two requests as long as was owed when it began.
	if !b.robots.known() && b.clock.restsLong() {
		due = nil
	}
	due = b.clock.limit(due, b.loan.lend.order)
	if len(due) > 0 && isRequisite(due[0]) {
		first = later(first, b.clock.askedAt.Add(b.clock.interval()))
	}
	task := b.task(due, m)
	if first.After(now) {
		task.FirstAfterNs = int64(first.Sub(now))
	}
	order := b.loan.lend.order
	b.loan.lend.task = task
	b.loan.lease = &openLease{
		Lease: store.Lease{ID: order.Lease, Host: b.record.ID, HostName: b.name, Slave: order.Slave, Boot: order.Boot,
			Until: order.Until},
		pages: make(map[string]store.Page, len(task.Tasks)),
	}
	for _, entry := range due[:len(task.Tasks)] {
		b.loan.lease.pages[string(entry.Position)] = entry.Page
	}
	b.loan.lease.terms = termsOf(task, b.loan.lease.pages, now)
	if len(m.Due) > 0 {
		b.queue.turn = math.Mod(b.queue.turn+part*float64(len(task.Tasks)), 1)
	}
	lease := b.loan.lease.Lease
	b.write(&protocol.Write{Host: b.row(), Lease: &lease, Ghosts: m.Ghosts, Urgent: true, Tag: &LentTag{lease.ID}})
}

// ripe returns the waiting pages that may be asked for within Options.LookAhead, and from when on all of them may be;
// first of all those whose scripts are to be run, which cost the host nothing: a page is whole soon. Of the others it
// notes when the first may be tried again.
func (b *Book) ripe(entries []store.Entry) (due []store.Entry, first time.Time) {
	var shown []store.Entry
	b.queue.retryAt, first = time.Time{}, b.clock.polite.NextAllowed()
	for _, entry := range entries {
		next := entry.Page.Next
		if next.After(b.now.Add(b.o.LookAhead)) && !b.clock.givenUp(b.now, b.robots.failures) {
			if b.queue.retryAt.IsZero() || next.Before(b.queue.retryAt) {
				b.queue.retryAt = next
			}
			continue
		}
		if entry.Page.Flags&store.Awaits != 0 {
			shown = append(shown, entry)
			continue
		}
		due, first = append(due, entry), later(first, next)
	}
	return append(shown, due...), first
}

// Bounds of the message of one lease, rules of robots.txt and all.
const (
	maxTaskBytes = 100 << 10
	longTask     = 4        // times as many bytes and tasks while few hosts have pages: messages are few then
	maxStopBytes = 16 << 10 // of the stop list; with a longer one links are not followed inside leases
)

// task is what the slave gets.
func (b *Book) task(due []store.Entry, m *protocol.PagesLoaded) *messages.HostTask {
	budget := b.clock.budget(b.loan.lend.order)
	region := b.judge.regions.Of(b.name)
	stops := append(b.judge.known.Stops.Prefixes(b.now), region.Closed...)
	listed := 0
	for _, stop := range stops {
		listed += len(stop) + 4
	}
	clock := &b.clock.polite
	task := &messages.HostTask{
		Lease: b.loan.lend.order.Lease, Host: b.name,
		IntervalNs: int64(b.clock.interval()), PageBudget: uint32(budget),
		PageLimit: int32(b.clock.pageLimit(b.loan.lend.order)),
		Ratio:     b.o.Politeness.Pace(clock.Parallel()), Prefixes: region.Prefixes,
		Parallel:     uint32(clock.Parallel()),
		MaxRedirects: uint32(b.o.Admission.MaxRedirects),
		Cookies:      b.record.Cookies,
		Living:       b.living.note,
		Follow: b.o.Follow && m.Whole && region.Outside == scope.In && listed <= maxStopBytes &&
			!slices.ContainsFunc(b.features, func(f Feature) bool { return !f.Follows() }),
	}
	if b.robots.known() {
		task.Robots = b.record.Robots
	}
	size, most, bytes := len(task.Robots), b.o.TaskBudget, maxTaskBytes
	if b.loan.lend.order.Few {
		most, bytes = longTask*most, longTask*bytes
	}
	if b.rules.ruled() {
		most = min(most, ruledTasks)
	}
	most = min(most, budget)
	if task.Follow {
		task.Stops = stops
		size += listed
		task.Known = make([]byte, 0, 8*len(m.Known))
		for _, fp := range m.Known {
			task.Known = binary.BigEndian.AppendUint64(task.Known, fp)
		}
		size += len(task.Known)
	}
	task.Tasks = tasksOf(due, most, bytes-size)
	return task
}

// tasksOf are the tasks of pages, as many as fit, and one in any case.
func tasksOf(due []store.Entry, most, bytes int) (tasks []*messages.Task) {
	for _, entry := range due {
		page := &entry.Page
		bytes -= len(page.URL) + 100
		if len(tasks) > 0 && (bytes < 0 || len(tasks) >= most) {
			break
		}
		t := &messages.Task{
			Url: page.URL, Depth: int32(page.Depth), DepthLeft: admission.WireDepthLeft(page.DepthLeft),
			Position: entry.Position, Redirects: uint32(page.Redirects), Attempts: uint32(page.Attempts),
			Requisite: uint32(page.Flags.Embedded()), Via: page.Via, Render: page.Flags&store.Awaits != 0,
		}
		if !page.CapturedAt.IsZero() {
			t.Etag, t.Digest, t.CapturedUnix = page.ETag, page.Digest[:], page.CapturedAt.Unix()
			if !page.LastModified.IsZero() {
				t.LastModified = page.LastModified.UTC().Format(httpTime)
			}
		}
		tasks = append(tasks, t)
	}
	return tasks
}

// httpTime is the IMF-fixdate of RFC 9110 5.6.7.
const httpTime = "Mon, 02 Jan 2006 15:04:05 GMT"

// isRequisite reports what is lent beyond every limit of pages: also a page that was fetched within it, and whose
// scripts are to be run.
func isRequisite(e store.Entry) bool {
	return e.Page.Flags.Requisite() > 0 || e.Page.Flags&store.Awaits != 0
}
