package host

import (
	"encoding/binary"
	"time"

	"henro/actors/admission"
	"henro/actors/protocol"
	"henro/actors/scope"
	"henro/actors/stoplist"
	"henro/messages"
	"henro/messages/outlink"
	"henro/store"
	"henro/store/fingerprint"
)

// Saw lets the stop list learn from a visit of a page.
func (r *stopFeature) Saw(visit *Visit) {
	j, fact, first, w := r.judge, visit.Fact, visit.First, visit.Write
	v := stoplist.Visit{URL: fact.Url, Outcome: StopOutcome(fact.Status, fact.Reason)}
	if j.o.Stop.Thesis() {
		v.Outcome = thesisOutcome(fact.Status, fact.Reason)
	}
	if first {
		v.Main = likeness(fact, visit.Links)
	}
	if reason := skippedOf(fact); reason != admission.None {
		j.note(admission.Skipped{URL: fact.Url, Reason: reason, Depth: int(fact.Depth)})
	}
	if visit.Page.Flags.Requisite() > 0 {
		return // a page with dead images is a page, and so are those beside them
	}
	outcome := j.known.Stops.Saw(&j.o.Stop, v, j.now)
	if !first {
		return
	}
	w.Totals.Tried++
	if outcome != stoplist.Good && outcome != stoplist.Silent {
		w.Totals.Broken++
	}
	if outcome == stoplist.Alike {
		w.Totals.Alike++
	}
}

// skippedOf says why a page that a slave has reported is not archived, or not whole.
func skippedOf(fact *messages.PageVisited) (reason admission.Reason) {
	if fact.Reason == messages.Reason_ROBOTS_DENIED {
		return admission.Robots
	}
	if fact.Skipped != "" && reason.UnmarshalText([]byte(fact.Skipped)) != nil {
		return admission.None // a reason of another version
	}
	return reason
}

// likeness is the same for pages with the same words and the same pictures; 0 if there are no words. Links do not
// count: a host without a proper 404 puts the URL that was asked for into them. Pictures do: the pages of a gallery
// have few words and the same.
func likeness(fact *messages.PageVisited, links []outlink.Outlink) uint64 {
	if fact.MainDigest == 0 || fact.MainDigest == noWords {
		return 0
	}
	b := binary.LittleEndian.AppendUint64(nil, fact.MainDigest)
	for i := range links {
		if !links[i].Kind.Navigates() {
			b = append(b, links[i].URL...)
		}
	}
	return fingerprint.Main(b)
}

var noWords = fingerprint.Main(nil)

// StopOutcome is what a visit shows about its folder.
func StopOutcome(status uint32, reason messages.Reason) stoplist.Outcome {
	switch messages.Broken(status, reason) {
	case messages.Missing:
		return stoplist.Missing
	case messages.Failing:
		return stoplist.Failing
	case messages.Slow:
		return stoplist.Slow
	}
	if reason == messages.Reason_NONE && (status == 304 || status >= 200 && status < 300) {
		return stoplist.Good
	}
	return stoplist.Silent
}

// thesisOutcome is what a visit shows about its folder by the rule of the thesis: a redirect is broken, and so is a
// page to whose host no connection comes in time.
func thesisOutcome(status uint32, reason messages.Reason) stoplist.Outcome {
	switch {
	case reason == messages.Reason_NONE && status >= 300 && status < 400 && status != 304:
		return stoplist.Moved
	case reason == messages.Reason_CONNECT_TIMEOUT:
		return stoplist.Slow
	}
	return StopOutcome(status, reason)
}

// turnAway leaves pages alone that the crawl took once and would not take now: those that wait in a folder of the stop
// list, and all that an exclude pattern or a portal refuses; but a seed is visited once, for its links. They are left
// alone for good if the crawl is to end, otherwise until the entry of the stop list does, or for heldOff. It reports
// that there were some, in which case the lease waits until that is written.
func (j *judge) turnAway(waiting, known []store.Entry, now time.Time) bool {
	var turned []store.Entry
	var because admission.Reason // of one reason at a time
	turn := func(entry store.Entry, reason admission.Reason, until time.Time) {
		if because == admission.None {
			because = reason
		}
		if reason == because {
			entry.Page.Next = until
			turned = append(turned, entry)
		}
	}
	region := j.regions.Of(j.name)
	refuse := func(entry store.Entry) {
		verdict := region.Refuses(entry.Page.URL)
		seed := entry.Page.Depth == 0 && (verdict != scope.Excluded || entry.Page.LastVisit.IsZero())
		if verdict != scope.In && !seed {
			turn(entry, admission.OfScope(verdict), now.Add(heldOff))
		}
	}
	for _, entry := range waiting {
		if e, found := j.known.Stops.Stopped(entry.Page.URL, now); found {
			turn(entry, admission.StopList, e.Until)
		} else {
			refuse(entry)
		}
	}
	for _, entry := range known {
		refuse(entry)
	}
	if len(turned) == 0 {
		return false
	}
	if !j.o.Continuous {
		j.giveUp(turned, nil, because)
		return true
	}
	w := &protocol.Write{Urgent: true, Tag: &refusedTag{}}
	for _, entry := range turned {
		if entry.Page.LastVisit.IsZero() {
			w.Visits = append(w.Visits, store.Visited{Position: entry.Position, Page: entry.Page, Retry: true})
		} else {
			w.Moves = append(w.Moves, entry)
		}
		j.note(admission.Skipped{URL: entry.Page.URL, Reason: because, Depth: int(entry.Page.Depth)})
	}
	j.report(w)
	j.write(w)
	return true
}

// giveUp gives up pages that wait, with the reason: the host has failed, or another than a failure.
func (j *judge) giveUp(due []store.Entry, failure *store.Failure, why admission.Reason) {
	w := &protocol.Write{Urgent: true, Tag: &refusedTag{}}
	for _, entry := range due {
		page := entry.Page
		if !page.LastVisit.IsZero() {
			w.Totals.Gone++
		}
		if page.Flags&store.Dropped == 0 {
			j.record.GivenUp++
		}
		if page.Says = why.String(); failure != nil {
			page.Status, page.Reason, page.Says = failure.Status, failure.Reason, failure.Says
		}
		page.Flags, page.Next = page.Flags|store.Dropped, time.Time{}
		w.Drops = append(w.Drops, store.Entry{Page: page, Position: entry.Position})
		j.note(admission.Skipped{URL: page.URL, Reason: why, Depth: int(page.Depth)})
	}
	j.report(w)
	j.noteChanges(w, false)
	if why == admission.StopList {
		w.Totals.Tried += uint64(len(due))
		w.Totals.Broken += uint64(len(due))
	}
	w.Host = j.row()
	j.write(w)
}

// report puts what the judge has found so far into a write, reports what was skipped, and begins again.
func (j *judge) report(w *protocol.Write) {
	w.Candidates = j.candidates
	w.Totals.Add(&j.totals)
	if len(j.skipped) > 0 {
		j.send(Skips, &protocol.URLsSkipped{URLs: j.skipped})
	}
	j.candidates, j.skipped, j.totals = nil, nil, protocol.Totals{}
}

// Changed gives the evidence of the stop list: with what spoke against a folder at once, with good pages at the end of
// a lease. If they are lost, the folder needs less to be stopped than it would; if broken pages were, a folder of them
// would never be.
func (r *stopFeature) Changed(leaseEnds bool) (note []byte, is bool) {
	stops := r.judge.known.Stops
	changes := stops.Changed() &^ stoplist.Listed
	if changes == 0 || !leaseEnds && changes&stoplist.Grave == 0 {
		return nil, false
	}
	note, _ = stops.MarshalBinary() // never fails
	return note, true
}
