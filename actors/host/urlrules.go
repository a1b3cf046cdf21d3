package host

import (
	"slices"
	"time"

	"henro/actors/admission"
	"henro/actors/protocol"
	"henro/actors/urlrules"
	"henro/messages"
	"henro/messages/outlink"
	"henro/messages/weburl"
	"henro/store"
)

// URLRules say what is made of differences between URLs that do not change the page (package urlrules).
type URLRules uint8

// What is made of them.
const (
	NoURLRules    URLRules = iota
	LearnURLRules          // they are learnt
	ApplyURLRules          // and URLs of pages that were visited under another form are not visited
)

// ruledTasks bounds the tasks of a lease of a host with URL rules that are applied, or likely: what is learnt in a
// lease is applied from the next one on. At an interval of a second a lease has 30. They are chosen from ruledWaiting
// URLs.
const (
	ruledTasks   = 100
	ruledWaiting = 4 * ruledTasks
	// ruledLeast is how many tasks a lease has if so many URLs wait, also those of which it is not known yet whether
	// they are duplicates
	ruledLeast = 16
)

// ParseURLRules reads off, learn or apply.
func ParseURLRules(word string) (URLRules, error) {
	return oneOf[URLRules](word, "off", "learn", "apply")
}

// learnURLRules lets the URL rules learn from a visit of a page, and notes the page under its URL and its key.
func (j *judge) learnURLRules(w *protocol.Write, made *visitMade, page *store.Page, links []outlink.Outlink) {
	if j.o.URLRules == NoURLRules || page.Flags.Embedded() > 0 {
		return
	}
	if made.fact.Unchanged {
		j.known.URLRules.Saw(page.URL, 0, 0, j.now) // if it was a test, that is over
		return
	}
	text := textOf(made.fact, page, links)
	j.known.URLRules.Saw(page.URL, text, page.DepthLeft, j.now)
	if j.o.URLRules != ApplyURLRules {
		return
	}
	for key, form := range j.known.URLRules.Note(page.URL, text, page.DepthLeft, j.now) {
		w.Forms = append(w.Forms, protocol.Form{Key: key, Form: form})
	}
	j.reviveForms(w)
}

// restForms has known pages rest that are due and are visited under another form, and reports whether there are some:
// the lease is refused then, and the pages are loaded again.
func (b *Book) restForms(m *protocol.PagesLoaded) (rested bool) {
	if b.judge.urlKeys() == nil || !b.o.Continuous {
		return false
	}
	var resting []store.Entry
	for _, entry := range m.Due {
		page := &entry.Page
		form, visited := m.Forms[string(entry.Position)]
		if visited && page.Flags.Embedded() == 0 && page.Depth > 0 && form.URL != urlrules.ShortURL(page.URL) &&
			b.judge.known.Spares(page.URL, page.DepthLeft, &form) == admission.Duplicate {
			resting = append(resting, entry)
		}
	}
	if len(resting) == 0 {
		return false
	}
	moves := b.schedule.rest(resting)
	b.write(&protocol.Write{Moves: moves, Host: b.row(), Urgent: true, Tag: &refusedTag{}})
	return true
}

// formRest is until when a page rests that is visited under another form: it is asked then whether that is still so.
const formRest = 30 * aDay

// rest has pages rest that are visited under another form. What is known of their changes stays.
func (s *schedule) rest(entries []store.Entry) (moves []store.Entry) {
	for _, entry := range entries {
		page := &entry.Page
		s.timetable.Retime(time.Duration(float64(page.Timing.Interval)*float64(time.Second)), formRest)
		page.Timing.Interval, page.Next = float32(formRest.Seconds()), s.now.Add(formRest)
		page.Says = admission.Duplicate.String()
		moves = append(moves, entry)
	}
	return moves
}

// takeURLRule takes the word of a person about a rule, if the fact is one.
func (b *Book) takeURLRule(fact any) bool {
	m, is := fact.(*protocol.URLRuleOrdered)
	if !is {
		return false
	}
	stored := &protocol.URLRuleStored{Reply: m.Reply, Err: b.judge.known.URLRules.Order(m.Rule, m.Word)}
	if stored.Err != nil {
		b.send(Master, stored)
		return true
	}
	w := &protocol.Write{Host: b.row(), URLRules: b.judge.newURLRules(), Urgent: true, Tag: stored}
	b.judge.reviveForms(w)
	b.write(w)
	b.splitLease()
	return true
}

// reviveForms has pages wait again if a rule is not applied any more by which they were given up.
func (j *judge) reviveForms(w *protocol.Write) {
	if j.o.URLRules == ApplyURLRules && j.known.URLRules.Lifted() {
		w.Revive = append(w.Revive, protocol.Revive{Host: j.name, Why: admission.Duplicate})
	}
}

// splitLease asks the lease back if a rule is applied that was not: there may be URLs in it that are one page by it.
func (b *Book) splitLease() {
	if b.o.URLRules == ApplyURLRules && b.judge.known.URLRules.Gained() && b.phase == lent && b.lease.phase != over {
		b.send(Master, &protocol.LeaseUnwanted{Lease: b.lease.ID})
	}
}

// textOf is the text of a page as URL rules compare it; 0: it was not had as a whole, or has no words.
func textOf(fact *messages.PageVisited, page *store.Page, links []outlink.Outlink) uint64 {
	switch {
	case fact.Reason != messages.Reason_NONE:
	case fact.Status == 404 || fact.Status == 410:
		return urlrules.Missing
	case fact.Status == 200 && !fact.Truncated && fact.Skipped == "" && fact.Simhash != 0 &&
		page.Flags&store.Listing == 0:
		return likeness(fact, links)
	}
	return 0
}

// newURLRules are the URL rules, if there is anything new since they were written.
func (j *judge) newURLRules() []byte {
	if !j.known.URLRules.Changed() {
		return nil
	}
	rules, _ := j.known.URLRules.MarshalBinary() // never fails
	return rules
}

// urlKeys are the keys of URLs of this host; nil: URLs are visited whatever their form.
func (j *judge) urlKeys() *urlrules.Keys {
	if j.o.URLRules != ApplyURLRules {
		return nil
	}
	return j.known.URLRules.Keys()
}

// Returned has a page wait again that was given up as a duplicate, or be due that rests as one, unless it is one still,
// and reports whether it was.
func Returned(page *store.Page, host string, spared func(url string) bool, now time.Time) bool {
	switch {
	case page.Says != admission.Duplicate.String(), weburl.HostOf(page.URL) != host:
		return false
	case page.LastVisit.IsZero():
		return page.Flags&store.Dropped != 0 && !spared(page.URL)
	case !page.Next.After(now), spared(page.URL):
		return false
	}
	page.Next = now.Truncate(time.Second) // as the store keeps it: moved once
	return true
}

// ruled reports whether URLs of this host may turn out to be pages that were visited under another form.
func (j *judge) ruled() bool { return j.o.URLRules == ApplyURLRules && j.known.URLRules.Promising() }

// spareForms gives up waiting pages that were visited under another form, and reports that there were some, in which
// case the lease waits until that is written. Otherwise it returns the pages of the lease: of those that are one page
// the first, the others wait for what comes of it. Evidence for rules comes first, and what a rule would spare that is
// not applied yet waits until that is known. Seeds are visited in any case.
func (j *judge) spareForms(waiting []store.Entry, m *protocol.PagesLoaded) (kept []store.Entry, spared bool) {
	if j.o.URLRules != ApplyURLRules {
		return waiting, false
	}
	keys, plan := j.urlKeys(), j.known.URLRules.Plan()
	var duplicates, evidence, ordinary, suspected []store.Entry
	lent := map[uint64]uint8{} // links that may be followed from the pages of the lease, by their keys
	for _, entry := range waiting {
		page := &entry.Page
		if page.Flags.Embedded() > 0 || page.Depth == 0 {
			kept = append(kept, entry)
			continue
		}
		if form, visited := m.Forms[string(entry.Position)]; visited &&
			j.known.Spares(page.URL, page.DepthLeft, &form) == admission.Duplicate {
			duplicates = append(duplicates, entry)
			continue
		}
		key := keys.Of(page.URL)
		if left, known := lent[key]; known && left >= page.DepthLeft {
			continue
		}
		lent[key] = page.DepthLeft
		switch plan.Turn(page.URL) {
		case urlrules.Evidence:
			evidence = append(evidence, entry)
		case urlrules.Suspected:
			suspected = append(suspected, entry)
		default:
			ordinary = append(ordinary, entry)
		}
	}
	if len(duplicates) == 0 {
		kept = slices.Concat(kept, evidence, ordinary)
		return append(kept, suspected[:min(len(suspected), max(0, ruledLeast-len(kept)))]...), false
	}
	j.giveUp(duplicates, nil, admission.Duplicate)
	return nil, true
}
