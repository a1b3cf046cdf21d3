package host

import (
	"fmt"
	"slices"
	"time"

	"henro/actors/admission"
	"henro/actors/protocol"
	"henro/actors/urlrules"
	"henro/messages"
	"henro/messages/outlink"
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

// ruleRoom are the URL rules of the host. Beside its note it keeps one, under another name, for each page that was
// visited: its form, by the fingerprint of its URL or of the key of that.
type ruleRoom struct {
	silent
	*judge
}

// The names of the notes of URL rules and of the forms of pages.
const (
	URLRulesNote = "urlrules"
	FormsNote    = "form"
)

// FormKey is the key of the note of a form.
func FormKey(key uint64) string { return fmt.Sprintf("%016x", key) }

func (r *ruleRoom) Name() string              { return URLRulesNote }
func (r *ruleRoom) Restore(note []byte) error { return r.known.URLRules.UnmarshalBinary(note) }

// Follows reports that no page may be one that was visited under another form, which is known here alone.
func (r *ruleRoom) Follows() bool { return !r.ruled() }

func (r *ruleRoom) Changed(bool) (note []byte, is bool) {
	if !r.known.URLRules.Changed() {
		return nil, false
	}
	note, _ = r.known.URLRules.MarshalBinary() // never fails
	return note, true
}

// Saw lets the URL rules learn from a visit of a page, and notes the page under its URL and its key.
func (r *ruleRoom) Saw(v *Visit) {
	j, page, w := r.judge, v.Page, v.Write
	if j.o.URLRules == NoURLRules || page.Flags.Embedded() > 0 {
		return
	}
	if v.Fact.Unchanged {
		j.known.URLRules.Saw(page.URL, 0, 0, j.now) // if it was a test, that is over
		return
	}
	text := textOf(v.Fact, page, v.Links)
	j.known.URLRules.Saw(page.URL, text, page.DepthLeft, j.now)
	if j.o.URLRules != ApplyURLRules {
		return
	}
	for key, form := range j.known.URLRules.Note(page.URL, text, page.DepthLeft, j.now) {
		var note []byte
		if form != nil {
			note, _ = form.MarshalBinary() // never fails
		}
		w.Notes = append(w.Notes, protocol.Note{Host: j.name, Name: FormsNote, Key: FormKey(key), Bytes: note})
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
		form := formOf(m, &entry)
		if form != nil && page.Flags.Embedded() == 0 && page.Depth > 0 && form.URL != urlrules.ShortURL(page.URL) &&
			b.judge.known.Spares(page.URL, page.DepthLeft, form) == admission.Duplicate {
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

// setURLRule takes the order of a person about a rule.
func (b *Book) setURLRule(order *protocol.SetURLRule, reply any) error {
	err := b.judge.known.URLRules.Order(order.Rule, order.Word)
	if err != nil {
		return err
	}
	w := &protocol.Write{Host: b.row(), Urgent: true, Tag: &protocol.OrderDone{Reply: reply}}
	b.noteChanges(w, false)
	b.judge.reviveForms(w)
	b.write(w)
	b.splitLease()
	return nil
}

// reviveForms has pages wait again if a rule is not applied any more by which they were given up.
func (j *judge) reviveForms(w *protocol.Write) {
	if j.o.URLRules == ApplyURLRules && j.known.URLRules.Lifted() {
		w.Sweeps = append(w.Sweeps, protocol.Sweep{Host: j.name, Says: admission.Duplicate.String(),
			Spares: sparesBy(j.known.URLRules)})
	}
}

// sparesBy reports, by rules as they are now, whether a page was visited under another form.
func sparesBy(now *urlrules.Set) func(url string, note func(name, key string) []byte) bool {
	var rules urlrules.Set
	bytes, _ := now.MarshalBinary() // never fails
	if err := rules.UnmarshalBinary(bytes); err != nil {
		panic(fmt.Errorf("URL rules as they were written: %w", err))
	}
	keys := rules.Keys()
	return func(url string, note func(name, key string) []byte) bool {
		form := ReadForm(note(FormsNote, FormKey(keys.Of(url))))
		return form != nil && len(rules.Between(url, form)) > 0
	}
}

// ReadForm reads a form as it was noted; nil: there is none, or it cannot be read, which costs a visit.
func ReadForm(note []byte) *urlrules.Form {
	form := &urlrules.Form{}
	if note == nil || form.UnmarshalBinary(note) != nil {
		return nil
	}
	return form
}

// formOf is the form of a page that waits or is due; nil: it was not visited under any.
func formOf(m *protocol.PagesLoaded, e *store.Entry) *urlrules.Form {
	return ReadForm(m.Notes[string(e.Position)])
}

// formNotes asks for the forms of pages; nil: URLs are visited whatever their form.
func (j *judge) formNotes() *protocol.PageNotes {
	keys := j.urlKeys()
	if keys == nil {
		return nil
	}
	return &protocol.PageNotes{Name: FormsNote, KeyOf: func(page *store.Page) string {
		if page.Flags.Embedded() > 0 {
			return ""
		}
		return FormKey(keys.Of(page.URL))
	}}
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

// urlKeys are the keys of URLs of this host; nil: URLs are visited whatever their form.
func (j *judge) urlKeys() *urlrules.Keys {
	if j.o.URLRules != ApplyURLRules {
		return nil
	}
	return j.known.URLRules.Keys()
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
		if j.known.Spares(page.URL, page.DepthLeft, formOf(m, &entry)) == admission.Duplicate {
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
