package host

import (
	"cmp"
	"math/rand/v2"
	"slices"
	"time"

	"henro/actors/admission"
	"henro/actors/living"
	"henro/actors/politeness"
	"henro/actors/protocol"
	"henro/actors/revisit"
	"henro/messages"
	"henro/messages/outlink"
	"henro/messages/posted"
	"henro/store"
)

type (
	// visitMade is one visit that is to be judged.
	visitMade struct {
		fact    *messages.PageVisited
		old     store.Page // as lent; zero when the page was followed inside the lease
		started time.Time
		links   []outlink.Outlink // nil: none were looked for
		wish    outlink.Frequency // changefreq of a page that was followed inside the lease
	}
	// visitsMade is a group of visits that are judged and stored together.
	visitsMade struct {
		seq      uint64 // of the last fact in the group
		finished bool   // the lease ended with it
		pressing bool   // the slave waits for it to be stored
		visits   []visitMade
	}
)

// schedule is the timetable of one host's pages: it judges what a visit says about its page, whether it changed, and
// when it is due next.
type schedule struct {
	*base
	rnd *rand.Rand // which pages are explored, and when

	plan      politeness.Plan        // of the host's relief
	replanIn  int                    // visits until the plan is made again
	replanned bool                   // the verdict on the host has not followed yet
	load      float64                // visits per second that the pages ask for without relief
	spare     float64                // visits per second that the host has for known pages
	rules     revisit.FixedIntervals // intervals that persons have set
}

// restore begins with the timetable on disk.
func (s *schedule) restore(spare float64) {
	s.rnd = rand.New(rand.NewPCG(uint64(s.record.ID), uint64(s.now.UnixNano())))
	s.spare = spare
	s.clock.timetable().Group(s.o.Continuous && s.o.Relief == politeness.Template, s.now)
	s.replan()
}

// finding is what one visit showed of its page's changes.
type finding struct {
	gap     time.Duration // since the visit before; 0: nothing was learned
	changed bool
	// mean interval between changes as estimated before; that of the host's pages if nothing was known of this one
	mean   time.Duration
	since  time.Duration // from Last-Modified to Date; 0: they were not sent
	hinted bool          // a sitemap or a feed had brought the visit forward
	told   bool          // a notice had
	listed bool          // the page is a sitemap or a feed
	waited bool          // the visit was brought forward, and what announced a change was most likely right
	// changes of this page were announced before, and this visit was not
	silent bool
}

// earlyShare of the planned interval is the gap below which a visit that finds no change shows nothing of the page: it
// would find none in nine of ten cases even if the page changed as often as it is planned to be visited.
const earlyShare = 0.1

// early reports that a visit, of a page planned to be visited after an interval, came too soon to show anything, as
// when a seed is given again. Such a visit leaves the history, the interval and LastVisit as they were, so that the
// next gap covers both. (One that a hint brought forward shows whether the hint was right: it counts.)
func (f *finding) early(planned time.Duration) bool {
	return f.gap > 0 && !f.changed && f.gap < time.Duration(earlyShare*float64(planned))
}

// prospect is what the host's record foretells of a page, as of the start of a group of visits.
type prospect struct {
	prior    revisit.Prior  // what the host's pages suggest for one that is new
	hints    revisit.Claims // how often the host's sitemaps and feeds were right
	modified revisit.Claims // and its Last-Modified
	told     revisit.Claims // and notices
	recall   revisit.Claims // how many of the changes found sitemaps, feeds and notices had announced
	foretold revisit.Claims // and how many of them notices had
}

// visited judges a group of visits by what was known before, then learns from them. spare is how many visits per second
// the host has for known pages.
func (s *schedule) visited(made []visitMade, spare float64) (visits []store.Visited, totals protocol.Totals) {
	s.spare = spare
	t := s.clock.timetable()
	before := &prospect{prior: t.Rates().Prior(), hints: *t.Hints(), modified: *t.Modified(), recall: *t.Recall(),
		told: *t.Told(), foretold: *t.Foretold()}
	found := make([]finding, len(made))
	for i := range made {
		var visited store.Visited
		visited, found[i] = s.judge(before, &made[i], &totals)
		visits = append(visits, visited)
	}
	for i := range visits {
		if v := &visits[i]; !v.Retry {
			if old := &made[i].old; s.o.Continuous && old.Timing.Interval > 0 && !old.Next.IsZero() {
				late := made[i].started.Sub(old.Next).Seconds()
				s.clock.timetable().Kept(late <= float64(old.Timing.Interval))
			}
			s.learn(&made[i].old, found[i])
			s.retime(&made[i], &v.Page)
		}
	}
	return visits, totals
}

// captured is the moment that the archive has for the capture, by the slave's clock: the report may have waited in
// mailboxes after its slave reckoned how long ago the request was. A clock that is an hour off is not followed.
func (m *visitMade) captured() time.Time {
	if at := time.Unix(m.fact.CapturedUnix, 0); at.Sub(m.started).Abs() < time.Hour {
		return at
	}
	return m.started
}

// judge makes the page's new record out of the old one and what the visit found.
func (s *schedule) judge(known *prospect, made *visitMade, totals *protocol.Totals) (store.Visited, finding) {
	v := made.fact
	page := pageBefore(made)
	out := store.Visited{Position: v.Position, Links: made.links, Near: v.Near}
	visited := !page.LastVisit.IsZero()
	if v.Status != notModified || !visited { // of what is archived
		page.Status = uint16(v.Status)
	}
	page.Reason, page.Says = uint8(v.Reason), says(v, page.Says)

	ours := v.Reason == messages.Reason_NOT_ARCHIVED || v.Reason == messages.Reason_CANCELED // not the page's fault
	if ours || passing(v) && int(page.Attempts) < s.o.Retries {
		if !ours {
			page.Attempts++
		}
		page.Next = s.now.Add(s.o.retryWait(int(page.Attempts)))
		out.Page, out.Retry, out.Links = page, true, nil
		return out, finding{}
	}
	if s.awaits(&page, v) {
		out.Page, out.Retry = page, true
		return out, finding{}
	}
	page.Flags &^= store.Dropped
	if v.Reason != messages.Reason_NONE {
		out.Links = nil
		if revisits := s.o.Continuous || s.o.Again && visited; !revisits ||
			v.Reason == messages.Reason_ROBOTS_DENIED {
			page.Flags |= store.Dropped
		}
	}
	tally(totals, v, visited, page.Flags.Requisite() > 0)
	totals.Links += uint64(len(out.Links))

	announced := page.Flags & (store.Hinted | store.Told)
	page.Attempts, page.Flags = 0, page.Flags&^(store.Hinted|store.Told)
	failed := v.Reason != messages.Reason_NONE || v.Status >= 400
	if visited && failed {
		totals.Gone++
	}
	if (s.o.Continuous || s.o.Again) && visited && failed {
		out.Links = nil
		s.backOff(&page, made)
		out.Page = page
		return out, finding{}
	}
	found := s.time(&page, made, known, announced)
	switch {
	case !visited || failed:
	case found.changed:
		totals.Changed++
	default:
		totals.Unchanged++
	}
	if (s.o.Continuous || s.o.Again) && v.Status == gone {
		page.Next, page.Timing.Interval = time.Time{}, 0
	}
	out.Page = page
	return out, found
}

// says is what is kept of the words for a visit. What scripts try of a page that is as it was is as before.
func says(v *messages.PageVisited, before string) string {
	switch {
	case v.Reason != messages.Reason_NONE || v.Truncated || v.Rendered || living.Counted(v.Says):
		return messages.Says(v.Says)
	case v.Status == notModified && living.Counted(before):
		return before
	}
	return ""
}

// awaits reports that the scripts of a page are still to be run, and notes when; else that they were, or never will be.
func (s *schedule) awaits(page *store.Page, v *messages.PageVisited) bool {
	page.Flags &^= store.Awaits | store.Rendered
	if v.RenderAfterNs > 0 && page.Attempts < maxRenderings {
		page.Attempts++
		page.Flags |= store.Awaits
		page.Next = s.now.Add(min(time.Duration(v.RenderAfterNs), maxRenderWait))
		return true
	}
	if v.Rendered {
		page.Flags |= store.Rendered
	}
	return false
}

const (
	// maxRenderings is how often a page waits for what it is made of, beside its failed visits: the slave ends it
	// earlier where no more comes.
	maxRenderings = 50
	maxRenderWait = time.Hour // each time, whatever the slave says
)

// pageBefore is what the state knows of a page before its visit, or what its task has of it if it was not visited yet.
func pageBefore(made *visitMade) store.Page {
	if made.old.URL != "" {
		return made.old
	}
	v := made.fact
	embedded := min(v.Requisite, admission.MaxRequisite)
	if v.Requisite == outlink.PageToo {
		embedded = outlink.PageToo
	}
	return store.Page{
		URL: v.Url, Depth: uint8(min(v.Depth, 255)), DepthLeft: admission.DepthLeft(v.DepthLeft),
		Redirects: uint8(min(v.Redirects, 255)), Attempts: uint8(min(v.Attempts, 255)),
		Flags: store.Flags(0).Wishing(made.wish).AsRequisite(uint8(embedded)), Via: v.Via,
	}
}

// tally counts one visit that is over.
func tally(totals *protocol.Totals, v *messages.PageVisited, visited, requisite bool) {
	switch {
	case v.Reason != messages.Reason_NONE:
	case visited:
		totals.Revisits++
	case requisite:
		totals.Requisites++
	default:
		totals.Pages++
		if v.Status >= 300 && v.Status < 400 {
			totals.Redirects++
		}
	}
	totals.Bytes += v.BodyBytes
	if v.IdenticalBytes > 0 && v.Reason == messages.Reason_NONE {
		totals.Identical++
		totals.IdenticalBytes += min(v.IdenticalBytes, v.BodyBytes)
	}
}

// backOff times a known page that could not be had. What is known of it stays: its history, its validators and
// digests, so that a page which returns unchanged is seen to be unchanged, and LastVisit, from which the gap to the
// next change is reckoned. It is asked for again when a person has set that, else after twice as long each time, from
// a day on; one that is gone (410) is asked for no more.
func (s *schedule) backOff(page *store.Page, made *visitMade) {
	if made.fact.Status == gone {
		page.Next, page.Timing.Interval = time.Time{}, 0
		return
	}
	twice := max(time.Duration(2*float64(page.Timing.Interval)*float64(time.Second)), aDay)
	wait := cmp.Or(s.rules.Of(page.URL), min(twice, s.o.Revisit.Max))
	page.Timing.Interval = float32(wait.Seconds())
	page.Next = made.started.Add(wait)
}

// The statuses that a schedule heeds.
const (
	notModified = 304
	gone        = 410
)

// parseDate reads a date of HTTP in any of the three forms that RFC 9110 5.6.7 has recipients accept.
func parseDate(text string) (time.Time, bool) {
	if text == "" { // most often: saves the making of three errors
		return time.Time{}, false
	}
	for _, layout := range []string{httpTime, time.RFC850, time.ANSIC} {
		if at, err := time.Parse(layout, text); err == nil {
			return at, true
		}
	}
	return time.Time{}, false
}

// passing reports that a visit failed in a way that may pass.
func passing(v *messages.PageVisited) bool {
	switch v.Reason {
	case messages.Reason_NONE, messages.Reason_WALL:
		return v.Status == 429 || v.Status >= 502 && v.Status <= 504
	case messages.Reason_CONNECTION_LOST, messages.Reason_TIMEOUT:
		return !posted.Is(v.Url) // the host may have seen it
	case messages.Reason_DNS_NOT_FOUND, messages.Reason_ADDRESS_FORBIDDEN, messages.Reason_MALFORMED,
		messages.Reason_HEADERS_TOO_LARGE,
		messages.Reason_ROBOTS_DENIED:
		return false
	}
	return true
}

// time decides when the page is due next, from what is known of its changes and from what had announced the visit.
func (s *schedule) time(page *store.Page, made *visitMade, known *prospect, announced store.Flags) (found finding) {
	v := made.fact
	history := revisit.History(page.Timing)
	if v.Reason == messages.Reason_NONE {
		// of an imported page whose digest is of another kind nothing is known that could have changed
		foreign := page.Flags&store.Imported != 0 && page.CapturedAt.IsZero() && page.Digest == [20]byte{}
		if !page.LastVisit.IsZero() && !foreign {
			found = finding{
				gap: made.started.Sub(page.LastVisit), changed: s.changed(page, made, known),
				hinted: announced&store.Hinted != 0 && !lists(made.links), told: announced&store.Told != 0,
				since: time.Duration(v.ModifiedBeforeNs),
				mean: cmp.Or(s.o.Revisit.Estimate(&history), s.clock.timetable().Groups().Center(page.URL,
					known.prior.Center(&s.o.Revisit))),
				silent: announced == 0 && page.Flags&store.Announced != 0, listed: page.Flags&store.Listing != 0,
			}
			if announced&store.Hinted != 0 {
				found.waited = known.hints.Found(found.changed, found.gap, found.mean) >= 0.5
			}
			if found.told && known.told.Found(found.changed, found.gap, found.mean) >= 0.5 {
				found.waited = true
			}
			if found.waited && (found.hinted || found.told) {
				page.Flags |= store.Announced
			}
		}
		history.Saw(&s.o.Revisit, revisit.Visit{
			Gap: found.gap, Changed: found.changed, Waited: found.waited,
			Age: known.modified.ModifiedAge(time.Duration(v.ModifiedBeforeNs), found.gap, found.mean, found.changed),
		})
		if !v.Unchanged {
			copy(page.Digest[:], v.Digest)
			page.MainDigest, page.SimHash, page.CapturedAt = v.MainDigest, v.Simhash, made.captured()
			page.Flags &^= store.Listing | store.Scripted
			if lists(made.links) {
				page.Flags |= store.Listing
			}
			if v.Scripted {
				page.Flags |= store.Scripted
			}
		}
		if v.Status != notModified || v.Etag != "" {
			page.ETag = v.Etag
		}
		if v.Status != notModified || v.LastModified != "" {
			page.LastModified = time.Time{}
		}
		if modified, ok := parseDate(v.LastModified); ok {
			page.LastModified = modified
		}
		page.Flags &^= store.NoIndex | store.NoFollow | store.Truncated
		for _, f := range []struct {
			set  bool
			flag store.Flags
		}{{v.Noindex, store.NoIndex}, {v.Nofollow, store.NoFollow}, {v.Truncated, store.Truncated}} {
			if f.set {
				page.Flags |= f.flag
			}
		}
	}
	last := time.Duration(float64(history.Interval) * float64(time.Second))
	every := s.rules.Of(page.URL)
	well := made.old.Reason == 0 && made.old.Status < 400 && made.old.Says != admission.Duplicate.String() // it rested
	if well && announced == 0 && !s.o.Again && found.early(last) {
		if page.Next = page.LastVisit.Add(last); every > 0 {
			page.Next, page.Timing.Interval = made.started.Add(every), float32(every.Seconds())
		}
		return finding{}
	}
	page.LastVisit = made.started
	interval := s.o.Revisit.Next(&history, s.clock.timetable().Groups().Prior(page.URL, known.prior), s.rnd)
	if made.old.LastVisit.IsZero() {
		interval = s.o.Revisit.Wished(interval, page.Flags.Wish().Interval())
	}
	interval = s.relieved(page.URL, interval, s.o.Revisit.Estimate(&history), last)
	if page.Flags&store.Announced != 0 {
		interval = min(time.Duration(float64(interval)*known.recall.Silence()), max(interval, s.o.Revisit.Max))
	}
	if page.Flags&store.Listing != 0 {
		interval = min(time.Duration(float64(interval)*known.foretold.Rest()), max(interval, s.o.Revisit.Max))
	}
	if every > 0 {
		interval = every
	}
	history.Interval = float32(interval.Seconds())
	page.Timing = store.Timing(history)
	page.Next = made.started.Add(interval)
	return found
}

// changed compares what the visit found with what the record says. A sitemap or a feed has changed when it names other
// pages; that it says another moment of one counts as far as this host's moments are believed, or one that always says
// "now" would be read every time.
func (s *schedule) changed(page *store.Page, made *visitMade, known *prospect) bool {
	v := made.fact
	if v.Unchanged || v.Noise {
		return false
	}
	if lists(made.links) && page.SimHash != 0 && v.Simhash != 0 {
		return page.SimHash != v.Simhash || page.MainDigest != v.MainDigest && known.hints.Believed()
	}
	old := revisit.Evidence{Digest: page.Digest, Main: page.MainDigest, Sim: page.SimHash}
	now := revisit.Evidence{Main: v.MainDigest, Sim: v.Simhash}
	if !v.Rendered { // its scripts show what they fetch, in an unchanged frame
		copy(now.Digest[:], v.Digest)
	}
	return revisit.Changed(old, now, &s.o.Revisit).Significant()
}

// lists reports whether these are the links of a sitemap or a feed.
func lists(links []outlink.Outlink) bool {
	return slices.ContainsFunc(links, func(l outlink.Outlink) bool { return l.Kind.Hints() })
}

// replan finds the relief that the host needs, from what its pages ask for and what it bears. The plan is made again
// after visits of a twentieth of the pages, at most 100; each page follows when it is timed next.
func (s *schedule) replan() {
	if !s.o.Continuous {
		return
	}
	demand := s.clock.timetable().Demand(&s.o.Revisit)
	s.load = s.clock.timetable().Asked(&s.o.Revisit).Load
	s.plan, _ = politeness.Relieve(s.o.Relief, demand, s.spare)
	s.replanned = true
	s.replanIn = min(int(s.clock.timetable().Known())/20, 100)
}

// learn lets the host's track record and its plan learn from a visit of a known page.
func (s *schedule) learn(old *store.Page, found finding) {
	if s.replanIn--; s.replanIn <= 0 {
		s.replan()
	}
	if found.gap <= 0 {
		return
	}
	if found.told {
		s.clock.timetable().Told().Found(found.changed, found.gap, found.mean)
	}
	if found.hinted {
		s.clock.timetable().Hints().Found(found.changed, found.gap, found.mean)
	}
	if found.changed && !found.listed && s.clock.timetable().Told().Judged() > 0 {
		s.clock.timetable().Foretold().Note(found.told && found.waited)
	}
	if found.changed && ((found.hinted || found.told) && found.waited || found.silent) {
		s.clock.timetable().Recall().Note(!found.silent)
	}
	s.clock.timetable().Modified().ModifiedAge(found.since, found.gap, found.mean, found.changed)
	if found.waited { // a visit at a moment that the page chose is no test of the estimates
		return
	}
	history := revisit.History(old.Timing)
	center := s.clock.timetable().Groups().Center(old.URL, s.clock.timetable().Rates().Prior().Center(&s.o.Revisit))
	s.clock.timetable().Trust().Saw(cmp.Or(s.o.Revisit.Estimate(&history), center), center, found.gap, found.changed)
}

// retime keeps the load index and the histogram of change rates in step with a page's new timing.
func (s *schedule) retime(made *visitMade, page *store.Page) {
	old := &made.old
	seconds := func(n float32) time.Duration { return time.Duration(float64(n) * float64(time.Second)) }
	before, now := seconds(old.Timing.Interval), seconds(page.Timing.Interval)
	oldHistory, history := revisit.History(old.Timing), revisit.History(page.Timing)
	mean := s.o.Revisit.Estimate(&history)
	known, planned := !old.LastVisit.IsZero(), !page.Next.IsZero()
	was, is := 0, 0 // requisites
	if old.Flags.Requisite() > 0 {
		was = 1
	}
	if page.Flags.Requisite() > 0 {
		is = 1
	}
	switch {
	case known && planned:
		s.clock.timetable().Retime(before, now)
		s.clock.timetable().CountRequisites(is - was)
	case known:
		s.clock.timetable().RemovePage(before)
		s.clock.timetable().CountRequisites(-was)
		mean = 0
	case planned:
		s.clock.timetable().AddPage(now)
		s.clock.timetable().CountRequisites(is)
	default:
		mean = 0
	}
	s.clock.timetable().Rates().Move(s.o.Revisit.Estimate(&oldHistory), mean)
	s.regroup(made, page, mean)
}

// hintSlack is how far ahead of our clock a lastmod may be: a day ends later elsewhere.
const hintSlack = 24 * time.Hour

// follow brings forward the visits of pages that were reported as changed since their last, as far as the track record
// of this host's hints allows.
func (s *schedule) follow(m *protocol.PagesFound) (moves []store.Entry) {
	now, chance, by := s.now, s.clock.timetable().Hints().Chance(), store.Hinted
	if m.Notice != nil {
		chance, by = s.clock.timetable().Told().Chance(), store.Told
	}
	center := s.clock.timetable().Rates().Prior().Center(&s.o.Revisit)
	for i := range m.Entries {
		page, hint := &m.Entries[i].Page, &m.Hints[i]
		if !hint.Until.After(page.LastVisit) || hint.From.After(now.Add(hintSlack)) || page.Flags&store.Dropped != 0 ||
			!page.Next.After(now) || s.rules.Of(page.URL) > 0 {
			continue // seen already, a mistake, given up or gone, due in any case, or a person has set its interval
		}
		history := revisit.History(page.Timing)
		interval := time.Duration(float64(page.Timing.Interval) * float64(time.Second))
		if page.Flags&store.Announced != 0 {
			interval = time.Duration(float64(interval) / s.clock.timetable().Recall().Silence())
		}
		due := page.LastVisit.Add(revisit.Advance(interval, cmp.Or(s.o.Revisit.Estimate(&history),
			s.clock.timetable().Groups().Center(page.URL, center)), chance))
		if due.Before(now) {
			due = now
		}
		// a page that the other kind of announcement has brought forward is evidence of this kind too
		evidence := page.Flags&(store.Hinted|store.Told)&^by != 0 && page.Flags&by == 0
		if page.Next.Sub(due) < interval/50 && !evidence { // not worth a write
			continue
		}
		if due.Before(page.Next) {
			page.Next = due
		}
		page.Flags |= by
		moves = append(moves, m.Entries[i])
	}
	return moves
}
