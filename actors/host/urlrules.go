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
	"henro/store/fingerprint"
)

// URLRuleMode says what is made of differences between URLs that do not change the page (package urlrules).
type URLRuleMode uint8

// What is made of them: by --url-rules off, learn, apply.
const (
	NoURLRules    URLRuleMode = iota
	LearnURLRules             // rules are learnt from them
	ApplyURLRules             // and URLs of pages that were visited under another form are not visited
)

// ruledTasks bounds the tasks of a lease of a host with URL rules that are applied, or likely: what is learnt in a
// lease is applied from the next one on. At an interval of a second a lease has 30. They are chosen from ruledWaiting
// URLs.
const (
	ruledTasks   = 100
	ruledWaiting = 4 * ruledTasks
	// ruledLeast is how many tasks a lease is filled up to with URLs that may be duplicates
	ruledLeast = 16
)

// ruleFeature are the URL rules of the host. Beside their note there is one, under another name, for each page that was
// visited: its form, by the fingerprint of its URL and of the URL's key.
type ruleFeature struct {
	*base
	defaults
	judge *judge
	loan  *loan
}

// The names of the notes of URL rules and of the forms of pages.
const (
	URLRulesNote = "urlrules"
	FormsNote    = "form"
)

// FormKey is the key of the note of a form.
func FormKey(key uint64) string { return fmt.Sprintf("%016x", key) }

func (r *ruleFeature) Name() string              { return URLRulesNote }
func (r *ruleFeature) Restore(note []byte) error { return r.judge.known.URLRules.UnmarshalBinary(note) }

// Follows reports that no page may be one that was visited under another form, which is known here alone.
func (r *ruleFeature) Follows() bool { return !r.ruled() }

func (r *ruleFeature) Changed(bool) (note []byte, is bool) {
	if !r.judge.known.URLRules.Changed() {
		return nil, false
	}
	note, _ = r.judge.known.URLRules.MarshalBinary() // never fails
	return note, true
}

// Saw lets the URL rules learn from a visit of a page, and notes the page under its URL and its key.
func (r *ruleFeature) Saw(v *Visit) {
	rules, page, w := r.judge.known.URLRules, v.Page, v.Write
	if r.o.URLRules == NoURLRules || page.Flags.Embedded() > 0 {
		return
	}
	if v.Fact.Unchanged {
		rules.Saw(page.URL, 0, 0, r.now) // if it was a test, that is over
		return
	}
	text := textOf(v.Fact, page, v.Links)
	if _, named := r.judge.named[fingerprint.URL(page.URL)]; named || page.Depth == 0 || !urlrules.Varies(page.URL) {
		rules.Saw(page.URL, text, page.DepthLeft, r.now)
	} else {
		rules.Met(page.URL, text, page.DepthLeft, r.now)
	}
	if r.o.URLRules != ApplyURLRules {
		return
	}
	for key, form := range rules.Note(page.URL, text, page.DepthLeft, r.now) {
		var note []byte
		if form != nil {
			note, _ = form.MarshalBinary() // never fails
		}
		w.Notes = append(w.Notes, protocol.Note{Host: r.name, Name: FormsNote, Key: FormKey(key), Bytes: note})
	}
	r.reviveForms(w)
}

// restForms puts off due pages that are visited under another form, and reports whether there were some: the Lend is
// refused then, and the next one loads others.
func (b *Book) restForms(m *protocol.PagesLoaded) (rested bool) {
	if b.rules.urlKeys() == nil || !b.o.Continuous {
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

// formRest is how long a page rests that is visited under another form. Then it is looked at again.
const formRest = 30 * aDay

// rest puts off pages that are visited under another form. What is known of their changes stays.
func (s *schedule) rest(entries []store.Entry) (moves []store.Entry) {
	for _, entry := range entries {
		page := &entry.Page
		s.clock.timetable().Retime(time.Duration(float64(page.Timing.Interval)*float64(time.Second)), formRest)
		page.Timing.Interval, page.Next = float32(formRest.Seconds()), s.now.Add(formRest)
		page.Says = admission.Duplicate.String()
		moves = append(moves, entry)
	}
	return moves
}

// set takes what a person says of a rule.
func (r *ruleFeature) set(order *protocol.SetURLRule, reply any) error {
	err := r.judge.known.URLRules.Order(order.Rule, order.Word)
	if err != nil {
		return err
	}
	w := &protocol.Write{Host: r.row(), Urgent: true, Tag: &protocol.OrderDone{Reply: reply}}
	r.noteChanges(w, false)
	r.reviveForms(w)
	r.write(w)
	r.splitLease()
	return nil
}

// reviveForms has pages wait again that were given up by a rule which is not applied any more.
func (r *ruleFeature) reviveForms(w *protocol.Write) {
	if r.o.URLRules == ApplyURLRules && r.judge.known.URLRules.Lifted() {
		w.Sweeps = append(w.Sweeps, protocol.Sweep{Host: r.name, Says: admission.Duplicate.String(),
			Spares: sparesBy(r.judge.known.URLRules)})
	}
}

// sparesBy makes the test whether a page was visited under another form, by the rules as they are now: a copy, since a
// sweep calls it later.
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
func (r *ruleFeature) formNotes() *protocol.PageNotes {
	keys := r.urlKeys()
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

// splitLease asks the lease back if a rule is newly applied, by which some of its URLs may be one page.
func (r *ruleFeature) splitLease() {
	if r.o.URLRules == ApplyURLRules && r.judge.known.URLRules.Gained() {
		r.loan.recall()
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
func (r *ruleFeature) urlKeys() *urlrules.Keys {
	if r.o.URLRules != ApplyURLRules {
		return nil
	}
	return r.judge.known.URLRules.Keys()
}

// ruled reports whether URLs of this host may turn out to be pages that were visited under another form.
func (r *ruleFeature) ruled() bool {
	return r.o.URLRules == ApplyURLRules && r.judge.known.URLRules.Promising()
}

// spareForms gives up waiting pages that were visited under another form, and reports that there were some: the lease
// waits until that is written. Otherwise it returns the pages of the lease. Of URLs that are one page by the rules the
// first is in it; the others wait for what comes of it. URLs that tell whether a rule holds come first, and those that
// are duplicates if it does come last, few of them. Seeds are visited in any case.
func (r *ruleFeature) spareForms(waiting []store.Entry, m *protocol.PagesLoaded) (kept []store.Entry, spared bool) {
	if r.o.URLRules != ApplyURLRules {
		return waiting, false
	}
	keys, plan := r.urlKeys(), r.judge.known.URLRules.Plan()
	var duplicates, evidence, ordinary, suspected []store.Entry
	lent := map[uint64]uint8{} // links that may be followed from the pages of the lease, by their keys
	for _, entry := range waiting {
		page := &entry.Page
		if page.Flags.Embedded() > 0 || page.Depth == 0 {
			kept = append(kept, entry)
			continue
		}
		if r.judge.known.Spares(page.URL, page.DepthLeft, formOf(m, &entry)) == admission.Duplicate {
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
	r.judge.giveUp(duplicates, nil, admission.Duplicate)
	return nil, true
}
