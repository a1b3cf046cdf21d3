// Package urlrules learns which differences between URLs of one host do not change the page: a parameter, the default
// document of a folder, a slash at the end, the case of the path, the order of parameters.
//
// The evidence is pages that were fetched under two URLs which differ in one of these alone, and which the host itself
// names: others could make URLs up so that a rule hides pages. The same text confirms the rule, once for each text;
// different texts within a Period, or a page on one side and a 404 on the other, contradict it. A rule is applied after
// so many confirmations in a row, and after twice as many for each contradiction. Of a parameter only those values are
// passed over that were seen to change nothing, until many different ones were: a language or a sort order has few
// values, and each may be another page.
//
// Applied rules make a key of a URL. A URL with the key of a page that was visited is not visited (Set.Spares), but for
// some that test the rules: each fourth at first, after as many tests as confirmations were needed each 64th. What was
// not visited by a rule that a test contradicts is to be visited (Set.Lifted).
//
// A person may say that a rule holds, or that it does not, whatever the pages show (Set.Order).
//
// Keys are compared and never requested. What is remembered of a host is bounded: MaxRules rules with MaxValues values
// each, and tableMost URLs with their texts.
package urlrules

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"henro/messages/weburl"
	"henro/store/fingerprint"
)

// Kind is in what two URLs differ.
type Kind uint8

// The kinds. What is written has their words.
const (
	Parameter Kind = iota // one parameter of the query, or of the last segment as in /a;id=1: there or not, its values
	Document              // the default document of a folder: /a/index.html for /a/
	Slash                 // a slash at the end of the path
	Case                  // upper and lower case of the path
	Order                 // the order of the parameters
)

var kinds = [...]string{"parameter", "document", "slash", "case", "order"}

// MarshalText writes the word.
func (k Kind) MarshalText() ([]byte, error) { return []byte(kinds[k]), nil }

// UnmarshalText reads the word.
func (k *Kind) UnmarshalText(text []byte) error {
	i := slices.Index(kinds[:], string(text))
	if i < 0 {
		return fmt.Errorf("%q is no kind of URL rule", text)
	}
	*k = Kind(i)
	return nil
}

// documents are names of default documents that servers come with.
var documents = []string{"index.html", "index.htm", "index.php", "index.shtml", "index.asp", "index.aspx", "index.jsp",
	"index.cgi", "default.htm", "default.html", "default.asp", "default.aspx", "home.html"}

// Bounds and counts.
const (
	MaxRules  = 32 // of a host
	MaxValues = 24 // of a parameter, by their hashes
	maxName   = 48 // bytes of the name of a parameter; longer ones are not learnt

	// Confirmations that a rule needs, and each value of a parameter. A value that changes one page of four passes 16
	// in a row by chance once in a hundred times, and is tested at once. Names that say what they are for, and default
	// documents, need 4.
	enough      = 16
	enoughKnown = 4
	maxDoubled  = 6 // times that contradictions double that of the rule

	openValues = 8 // different values that changed nothing: all others are taken to do the same

	// Period is how far apart two visits may be for different texts to contradict a rule: longer, and the page may have
	// changed.
	Period = 24 * time.Hour

	tableMost = 8192 // entries of the table of texts
	testsMost = 256  // tests under way
)

// Rule is a difference that may not change pages, with its evidence.
type Rule struct {
	Kind         Kind     `json:"kind"`
	Name         string   `json:"name,omitempty"`         // of a Parameter or Document
	Confirmed    uint32   `json:"confirmed"`              // in a row, each by another text until it is applied
	Contradicted uint32   `json:"contradicted,omitempty"` // ever
	Spared       uint32   `json:"spared,omitempty"`       // URLs that were not visited
	Tested       uint32   `json:"tested,omitempty"`       // URLs that were visited although it applies
	Texts        []uint32 `json:"texts,omitempty"`        // that have confirmed it, while it is not applied
	Values       []Value  `json:"values,omitempty"`       // of a Parameter
	Person       Word     `json:"person,omitempty"`       // overrules the evidence

	hashed uint32 // id
	fresh  bool   // it has become applied, or so to one more value, and pages are not noted by it yet
}

// Word is what a person says about a rule.
type Word string

// The words; empty: none, the evidence decides.
const (
	Apply  Word = "apply"
	Forget Word = "forget" // it is not applied
)

// Value is one value of a parameter, by its hash; 0: the parameter is not there.
type Value struct {
	Hash  uint32   `json:"hash"`
	Texts []uint32 `json:"texts"` // that have confirmed it, as many as it needs at most
}

// Needs is how many confirmations the rule needs.
func (r *Rule) Needs() uint32 { return r.first() << min(r.Contradicted, maxDoubled) }

// first is how many confirmations the rule needs before it is contradicted, and each value in any case.
func (r *Rule) first() uint32 {
	if r.Kind == Document || r.Kind == Parameter && weburl.Tracks(r.Name) {
		return enoughKnown
	}
	return enough
}

// Applied reports whether the rule is confirmed as often as it needs, or a person has said that it holds.
func (r *Rule) Applied() bool {
	if r.Person != "" {
		return r.Person == Apply
	}
	return r.Confirmed >= r.Needs()
}

// Says names the rule as people read it.
func (r *Rule) Says() string {
	if r.Name != "" {
		return said[r.Kind] + " " + r.Name
	}
	return said[r.Kind]
}

var said = [...]string{"parameter", "default document", "slash at the end", "case of the path", "order of parameters"}

// ParseRule reads what Says gives.
func ParseRule(says string) (Rule, error) {
	for kind := range said {
		r := Rule{Kind: Kind(kind)}
		if named := r.Kind <= Document; !named && says == said[kind] {
			return r, nil
		} else if name, is := strings.CutPrefix(says, said[kind]+" "); named && is && name != "" &&
			len(name) <= maxName {
			r.Name = name
			return r, nil
		}
	}
	return Rule{}, fmt.Errorf("%q: want %s NAME, %s NAME, %s, %s or %s", says, said[Parameter], said[Document],
		said[Slash], said[Case], said[Order])
}

func (r *Rule) id() uint32 {
	if r.hashed == 0 {
		r.hashed = hash(kinds[r.Kind] + " " + r.Name)
	}
	return r.hashed
}

// open reports that openValues different values changed nothing, so that every value is taken to change nothing.
func (r *Rule) open() bool {
	n := 0
	for _, v := range r.Values {
		if v.Hash != 0 {
			n++
		}
	}
	return n >= openValues
}

func (r *Rule) passes(value uint32) bool {
	if r.Kind != Parameter || r.Person == Apply || value != 0 && r.open() {
		return true
	}
	i := slices.IndexFunc(r.Values, func(v Value) bool { return v.Hash == value })
	return i >= 0 && len(r.Values[i].Texts) >= int(r.first())
}

// Missing is the text of a page that is not there (404, 410).
const Missing = 1

// Form is a page that was visited, as the state keeps it under the key of its URL.
type Form struct {
	Text uint64 // of its main content
	At   time.Time
	Left uint8    // links that could be followed from it
	URL  uint32   // which page it is: as ShortURL has it
	By   []uint32 // rules by which its URL differs from the key
}

// ShortURL is a fingerprint of a URL that tells the forms of one page apart.
func ShortURL(url string) uint32 { return uint32(fingerprint.URL(url)) }

// Set is what is known of the URLs of one host. The zero value knows nothing.
type Set struct {
	rules   []Rule
	table   table
	tests   map[uint64]test // of URLs that are being visited to test rules
	keys    *Keys
	stale   bool // the rules have changed since keys were made
	changed bool
	lifted  bool // a rule that was applied is not any more
	gained  bool // a rule has become applied, or likely
	noting  bool // pages are noted under their keys: there is evidence
}

// test is a URL that is one page with a form, if rules are right.
type test struct {
	Form
	by []uint32 // rules by which the URL differs from its key
}

// about reports whether a rule that is applied is one of those.
func (t *test) about(r *Rule) bool {
	return r.Applied() && (slices.Contains(t.by, r.id()) || slices.Contains(t.By, r.id()))
}

// Saw learns from a visit of a URL that the host itself has named, from which so many links may be followed. Text 0:
// the page was not had, or nothing is known of its text.
func (s *Set) Saw(url string, text uint64, left uint8, now time.Time) {
	s.saw(url, text, left, now, true)
}

// Met is Saw of a URL that varies (Varies) and that no page of the host has named: another host may have made it up so
// that a rule is learnt which hides other pages. It may contradict rules, and confirms none.
func (s *Set) Met(url string, text uint64, left uint8, now time.Time) {
	s.saw(url, text, left, now, false)
}

// Varies reports whether a URL has something that rules are about.
func Varies(url string) bool {
	u := split(url)
	_, _, parameter := u.segment()
	name := u.path[strings.LastIndexByte(u.path, '/')+1:]
	return parameter || len(u.query) > 0 || name == "" && u.path != "/" ||
		slices.Contains(documents, strings.ToLower(name)) || strings.ToLower(u.path) != u.path
}

func (s *Set) saw(url string, text uint64, left uint8, now time.Time, named bool) {
	fp := fingerprint.URL(url)
	t, tested := s.tests[fp]
	delete(s.tests, fp)
	if text == 0 {
		return
	}
	u := split(url)
	if text != Missing {
		s.note(&u)
	}
	page := entry{text: text, url: uint32(fp), at: minutes(now), left: left}
	s.table.compare(s.rules, &u, fp, page, named, func(r *Rule, a, b *entry) {
		if !tested && (named || a.text != b.text) {
			s.judge(r, a, b)
		}
	})
	for i := range s.rules {
		r := &s.rules[i]
		switch {
		case !tested || !t.about(r) || now.Sub(t.At) > Period:
		case text != t.Text:
			s.contradict(r)
		case named:
			r.Confirmed++
			s.changed = true
		}
	}
}

// note makes rules of what a URL has that may not matter.
func (s *Set) note(u *parts) {
	s.begin()
	for _, p := range u.query {
		s.add(Parameter, nameOf(p))
	}
	if _, p, ok := u.segment(); ok {
		s.add(Parameter, ";"+nameOf(p))
	}
	if name := u.path[strings.LastIndexByte(u.path, '/')+1:]; slices.Contains(documents, strings.ToLower(name)) {
		s.add(Document, name)
	}
}

// begin makes the rules that every host may have.
func (s *Set) begin() {
	if len(s.rules) == 0 {
		s.rules = []Rule{{Kind: Slash}, {Kind: Case}, {Kind: Order}}
	}
}

func (s *Set) add(kind Kind, name string) {
	if name == "" || len(name) > maxName ||
		slices.ContainsFunc(s.rules, func(r Rule) bool { return r.Kind == kind && r.Name == name }) {
		return
	}
	if len(s.rules) < MaxRules {
		s.rules = append(s.rules, Rule{Kind: kind, Name: name})
	} else if i := slices.IndexFunc(s.rules, func(r Rule) bool {
		return r.Kind == Parameter && !r.evident()
	}); i >= 0 { // at the end, so that the others have their turn
		s.rules = append(slices.Delete(s.rules, i, i+1), Rule{Kind: kind, Name: name})
	}
}

// Order takes what an operator decided about a rule, whose evidence is forgotten. It fails when there are MaxRules
// other rules with evidence.
func (s *Set) Order(of Rule, word Word) error {
	s.begin()
	s.add(of.Kind, of.Name)
	r := s.rule(of.id())
	if r == nil {
		return fmt.Errorf("%d rules of this host have evidence: forget one of them first", MaxRules)
	}
	s.lifted, s.gained = s.lifted || r.Applied() && word != Apply, s.gained || word == Apply
	*r = Rule{Kind: of.Kind, Name: of.Name, Person: word}
	s.changed, s.stale = true, true
	return nil
}

// Lifted reports whether a rule that was applied is not any more, since it was last asked.
func (s *Set) Lifted() bool {
	lifted := s.lifted
	s.lifted = false
	return lifted
}

// Gained reports whether a rule is applied, or has become likely, since it was last asked.
func (s *Set) Gained() bool {
	gained := s.gained
	s.gained = false
	return gained
}

// Note returns the forms to be kept after a visit, by the fingerprints of their keys; nil in place of a form: it goes.
// There are none while no rule has evidence. With the first evidence they are all pages that are remembered, and from
// then on the page that was visited. When a rule becomes applied, the pages that are remembered follow under the keys
// that it makes. Text 0, or Missing: the form of the page goes.
func (s *Set) Note(url string, text uint64, left uint8, now time.Time) (forms map[uint64]*Form) {
	if !s.noting {
		if !slices.ContainsFunc(s.rules, func(r Rule) bool { return r.evident() }) {
			return nil
		}
		s.noting = true
		forms = s.table.forms(nil)
	}
	key, by := s.Keys().Key(url)
	if forms == nil {
		forms = map[uint64]*Form{}
	}
	for i := range s.rules {
		if r := &s.rules[i]; r.fresh {
			r.fresh = false
			maps.Copy(forms, s.table.forms(r))
		}
	}
	if forms[key] = nil; text > Missing {
		forms[key] = &Form{Text: text, At: now, Left: left, URL: ShortURL(url), By: by}
	}
	return forms
}

func (s *Set) rule(id uint32) *Rule {
	for i := range s.rules {
		if s.rules[i].id() == id {
			return &s.rules[i]
		}
	}
	return nil
}

// judge takes two pages whose URLs differ by a rule alone. Those of long ago say nothing, the same or not: else a rule
// would be confirmed by pages that are far apart and contradicted by none of them.
func (s *Set) judge(r *Rule, a, b *entry) {
	switch {
	case a.text == Missing && b.text == Missing:
	case max(a.at, b.at)-min(a.at, b.at) > uint32(Period/time.Minute):
	case a.text == b.text:
		s.confirm(r, a, b)
	default:
		s.contradict(r)
	}
}

func (s *Set) confirm(r *Rule, a, b *entry) {
	text := uint32(a.text ^ a.text>>32)
	if r.Kind == Parameter {
		s.confirmValue(r, a.value, text)
		s.confirmValue(r, b.value, text)
	}
	if r.Applied() || slices.Contains(r.Texts, text) {
		return
	}
	r.Texts = append(r.Texts, text)
	r.Confirmed++
	s.changed, s.gained = true, s.gained || r.Confirmed == promising && r.likely()
	if r.Applied() {
		r.Texts, r.fresh, s.stale, s.gained = nil, true, true, true
	}
}

func (s *Set) confirmValue(r *Rule, value, text uint32) {
	i := slices.IndexFunc(r.Values, func(v Value) bool { return v.Hash == value })
	switch {
	case i < 0 && len(r.Values) < MaxValues:
		r.Values = append(r.Values, Value{Hash: value, Texts: []uint32{text}})
	case i >= 0 && len(r.Values[i].Texts) < int(r.first()) && !slices.Contains(r.Values[i].Texts, text):
		r.Values[i].Texts = append(r.Values[i].Texts, text)
	default:
		return
	}
	s.changed, s.stale = true, true
	r.fresh = r.fresh || r.Applied() && r.passes(value)
}

func (s *Set) contradict(r *Rule) {
	s.stale, s.lifted = true, s.lifted || r.Applied() && r.Person == ""
	if r.Confirmed > 0 || r.Contradicted <= maxDoubled {
		s.changed = true
	}
	r.Confirmed, r.Contradicted, r.Texts, r.Values = 0, min(r.Contradicted+1, 1<<30), nil, nil
	r.Spared, r.Tested = 0, 0
}

// Spares reports whether a URL is not visited whose key is that of a page which was visited. Some are visited all the
// same, to test the rules.
func (s *Set) Spares(url string, form *Form) bool {
	fp := fingerprint.URL(url)
	if _, tested := s.tests[fp]; tested {
		return false
	}
	of := test{Form: *form}
	_, of.by = s.Keys().key(url)
	var about []*Rule
	wanted := false
	for i := range s.rules {
		if r := &s.rules[i]; of.about(r) {
			about, wanted = append(about, r), wanted || r.Tested < r.wanted()
		}
	}
	if len(about) == 0 {
		return false
	}
	s.changed = true
	if wanted && len(s.tests) < testsMost {
		if s.tests == nil {
			s.tests = map[uint64]test{}
		}
		s.tests[fp] = of
		for _, r := range about {
			r.Tested++
		}
		return false
	}
	for _, r := range about {
		r.Spared++
	}
	return true
}

// Between names the rules by which a URL is the page of a form.
func (s *Set) Between(url string, form *Form) (names []string) {
	of := test{Form: *form}
	_, of.by = s.Keys().key(url)
	for i := range s.rules {
		if r := &s.rules[i]; of.about(r) {
			names = append(names, r.Says())
		}
	}
	return names
}

// wanted is how many tests a rule wants that has spared so many URLs.
func (r *Rule) wanted() uint32 {
	if r.Person == Apply {
		return 0
	}
	return min(1+r.Spared/4, r.first()) + r.Spared/64
}

// evident reports whether anything is known of the rule.
func (r *Rule) evident() bool { return r.Confirmed+r.Contradicted > 0 || r.Person != "" }

// Rules are the rules with any evidence, the most confirmed first.
func (s *Set) Rules() []Rule {
	rules := slices.DeleteFunc(slices.Clone(s.rules), func(r Rule) bool { return !r.evident() })
	slices.SortStableFunc(rules, func(a, b Rule) int { return cmp.Compare(b.Confirmed, a.Confirmed) })
	return rules
}

// Keys are the rules that are applied, as they are now; nil: none is.
func (s *Set) Keys() *Keys {
	if !s.stale {
		return s.keys
	}
	k := &Keys{}
	s.keys, s.stale = nil, false
	for i := range s.rules {
		if r := s.rules[i]; r.Applied() {
			r.Values = slices.Clone(r.Values)
			k.rules = append(k.rules, r)
		}
	}
	if len(k.rules) == 0 {
		return nil
	}
	slices.SortStableFunc(k.rules, func(a, b Rule) int { return cmp.Compare(rank[a.Kind], rank[b.Kind]) })
	s.keys = k
	return k
}

// rank is the order in which rules are applied: the slash before a default document goes too.
var rank = [...]int{Parameter: 0, Order: 1, Document: 2, Case: 3, Slash: 4}

// Keys make keys of URLs. They are immutable; nil makes the URL itself.
type Keys struct{ rules []Rule }

// Of is the fingerprint of the key of a URL.
func (k *Keys) Of(url string) uint64 {
	key, _ := k.Key(url)
	return key
}

// Key is the fingerprint of the key of a URL, with the rules by which it differs from the URL.
func (k *Keys) Key(url string) (key uint64, by []uint32) {
	text, by := k.key(url)
	return fingerprint.URL(text), by
}

// key gives the key, and the rules by which it differs from the URL.
func (k *Keys) key(url string) (key string, by []uint32) {
	if k == nil {
		return url, nil
	}
	u := split(url)
	marks := ""
	for i := range k.rules {
		r := &k.rules[i]
		reduced, value := u.without(r)
		switch {
		case !r.passes(value):
			continue
		case r.Kind == Parameter && value != 0 && !r.passes(0): // the page without it may be another
			marks += "\x00" + r.Name
		}
		if value != 0 {
			u, by = reduced, append(by, r.id())
		}
	}
	return u.String() + marks, by
}
