// Package living is what rendering showed of the pages of a host, template by template, and what follows from it: which
// pages a browser must show, which need rules alone, and the rules.
//
// A slave that has rendered a page makes a Finding of it: for each URL that the browser asked for and the static scan
// had not named, the rules that would have named it, from the page's address and what stands in its HTML. The Host
// keeps the findings of the last pages of each template. A rule counts as soon as enough of these agree. Where rules
// explain all that was asked for, and the page says without scripts what it says with them, its template needs no
// browser; some of its pages are rendered nevertheless, ever fewer of them, for as long as they show nothing else.
//
// What all templates of the host have shown together decides about those that have shown too little.
//
// Invariants: everything kept is bounded; what is decided depends on which samples are kept and not on their order;
// rules are no patterns of strangers: they are made here, and what they make is an http or https URL.
package living

import (
	"cmp"
	"iter"
	"slices"
	"strings"

	"henro/actors/template"
	"henro/store/fingerprint"
)

// Decision is what a page needs.
type Decision uint8

// The decisions.
const (
	Sampled Decision = iota // a rendering: more is to be learnt of the template
	Static                  // nothing beyond the static scan
	Rules                   // what Expand names
	Render                  // a rendering, like every page of the template
)

// String is the decision in a word.
func (d Decision) String() string {
	return [...]string{"sampled", "static", "rules", "render", "unknown"}[min(d, Render+1)]
}

// Bounds of what is known of a host.
const (
	templatesMost = 64 // the last of them takes what belongs to none
	samplesMost   = 8  // of one template, the last ones
	together      = 16 // samples of all templates, at most perShape of each
	perShape      = 2
	rulesMost     = 32 // of one template
	droppedMost   = 32
	missedMost    = 64
)

// When something is known.
const (
	agree      = 3  // samples of a template, before anything is decided; and of a rule, before it counts
	hostAgrees = 6  // samples of the host, of three templates at least, before they decide about others
	oddShare   = 8  // one in so many samples may be of another kind
	missesMost = 4  // of a rule in a row: it is dropped
	fails      = 6  // renderings that failed: the template is left alone
	spotFirst  = 16 // one in so many pages is rendered though its template is known; doubled with every second sample
	spotLast   = 256
	spotDoubt  = 4 // the same while a sample that is kept was of another kind
	plainShare = 16
	newFirst   = 8 // the same of pages of a new template that is taken for what the host is; growing to 64
)

// sample is what one rendering showed.
type sample struct {
	shape   uint16 // hash of its template's, among those of the whole host
	asks    [][]string
	dynamic bool
}

// kind is the pages of one template.
type kind struct {
	shape   string
	samples []sample
	seen    uint16 // good samples, also those that are not kept
	failed  uint8
	plan    *plan // what follows; nil: to be made
}

// plan is what follows from samples.
type plan struct {
	decision Decision
	rules    []string
	odd      bool // a sample is of another kind
	counts   map[string]bool
}

// Host is what is known of the pages of one host. The zero value knows nothing. It is not for use by several goroutines
// at once. A slave may let its own copy learn from what it renders within a lease.
type Host struct {
	kinds   []*kind // the one that learnt last is the last
	all     kind    // samples of all templates
	dropped []string
	missed  map[string]uint8 // by rule
	changed bool
}

// shapeOf returns the shape of a page's URL: a page whose URL ends in a slash is a page, and its last word a value.
func shapeOf(url string) string {
	if plain, slash := strings.CutSuffix(url, "/"); slash {
		return strings.TrimSuffix(template.Shape(plain), "/") + "/"
	}
	return template.Shape(url)
}

// find returns what is known of a URL's template, nil if nothing is.
func (h *Host) find(url string) (*kind, string) {
	shape := shapeOf(url)
	i := slices.IndexFunc(h.kinds, func(k *kind) bool { return k.shape == shape })
	if i < 0 {
		return nil, shape
	}
	return h.kinds[i], shape
}

// Decide returns what a page needs. scripted and runs are what its static scan says: scripts make it, or some run in
// it. What these do is seen on the first page of a template; where it shows no more than the scan, some are looked at.
func (h *Host) Decide(url string, scripted, runs bool) Decision {
	k, _ := h.find(url)
	all := h.planOf(&h.all).decision
	switch {
	case k != nil && h.planOf(k).decision != Sampled:
		if d := h.planOf(k).decision; d == Render || !h.isSpot(url, k) {
			return d
		}
		return Sampled
	case k != nil && k.failed >= fails && !chosen(url, uint64(k.failed), spotFirst):
		return Static
	case all == Rules || all == Static && !scripted: // as far as is known, this template is like the others
		if k != nil && len(k.samples) > 0 && !h.isOdd(&k.samples[0], h.planOf(&h.all)) && len(k.samples) < agree {
			return all
		}
		if k == nil && !chosen(url, 0, newFirst<<min(h.all.seen/together, 3)) {
			return all
		}
	}
	plain := k != nil && len(k.samples) > 0 && !h.planOf(k).odd
	if scripted || runs && (!plain || chosen(url, uint64(h.all.seen), plainShare)) {
		return Sampled
	}
	return Static
}

// isSpot reports whether a page is rendered though its template is known.
func (h *Host) isSpot(url string, k *kind) bool {
	n := spotDoubt
	if !h.planOf(k).odd {
		n = min(spotLast, spotFirst<<min((k.seen-min(k.seen, agree))/2, 8))
	}
	return chosen(url, uint64(k.seen), uint64(n))
}

// chosen reports one in n pages, by chance, always the same ones for the same salt.
func chosen(url string, salt, n uint64) bool {
	x := (fingerprint.URL(url) ^ salt*0x9e3779b97f4a7c15) * 0xff51afd7ed558ccd
	return (x>>32)%n == 0
}

// Learn takes what a rendering of the page showed.
func (h *Host) Learn(url string, f *Finding) {
	k, shape := h.find(url)
	if k == nil {
		if k = (&kind{shape: shape}); len(h.kinds) == templatesMost {
			h.kinds = h.kinds[1:]
		}
	} else {
		h.kinds = slices.DeleteFunc(h.kinds, func(other *kind) bool { return other == k })
	}
	h.kinds, h.changed = append(h.kinds, k), true
	if f.failed {
		k.failed = min(k.failed, 254) + 1
		return
	}
	k.failed = 0
	k.add(sample{asks: f.asks, dynamic: f.dynamic}, samplesMost)
	mark := uint16(fingerprint.URL(shape))
	h.all.add(sample{shape: mark, asks: f.asks, dynamic: f.dynamic}, together)
	of, first := 0, -1
	for i := range h.all.samples {
		if h.all.samples[i].shape == mark {
			if of++; first < 0 {
				first = i
			}
		}
	}
	if of > perShape {
		h.all.samples = slices.Delete(h.all.samples, first, first+1)
	}
	h.forget()
}

func (k *kind) add(s sample, most int) {
	k.seen = min(k.seen, 1<<16-2) + 1
	k.samples = append(k.samples, s)
	k.samples = k.samples[max(0, len(k.samples)-most):]
}

// forget lets all plans be made again.
func (h *Host) forget() {
	h.all.plan = nil
	for _, k := range h.kinds {
		k.plan = nil
	}
}

// planOf returns what follows from the samples of a template, or of all.
func (h *Host) planOf(k *kind) *plan {
	if k.plan == nil {
		k.plan = h.conclude(k)
	}
	return k.plan
}

// conclude decides.
func (h *Host) conclude(k *kind) *plan {
	p := &plan{counts: map[string]bool{}}
	if k != &h.all {
		for rule := range h.planOf(&h.all).counts {
			p.counts[rule] = true
		}
	}
	asking := 0
	for i := range k.samples {
		asking += min(len(k.samples[i].asks), 1)
	}
	for rule, n := range support(k.samples) {
		of := len(k.samples)
		if rule[0] == each { // whether links are in sight is another matter
			of = asking
		}
		if n >= agree && (isConstant(rule) || n*4 >= of*3) && !slices.Contains(h.dropped, rule) {
			p.counts[rule] = true
		}
	}
	p.rules = cover(k.samples, p.counts)
	n, odd := len(k.samples), 0
	for i := range k.samples {
		if h.isOdd(&k.samples[i], p) {
			odd++
		}
	}
	p.odd = odd > 0
	switch {
	case n < agree, k == &h.all && n < hostAgrees:
		return p
	case odd == n, odd*2 > n && n > agree+1, odd*oddShare > n && n >= samplesMost:
		p.decision = Render
	case odd*oddShare > n:
	case len(p.rules) > 0:
		p.decision = Rules
	default:
		p.decision = Static
	}
	return p
}

// isOdd reports whether rules that count do not suffice for a sample.
func (h *Host) isOdd(s *sample, p *plan) bool {
	return s.dynamic || slices.ContainsFunc(s.asks, func(rules []string) bool {
		return !slices.ContainsFunc(rules, func(rule string) bool { return p.counts[rule] })
	})
}

// support returns in how many samples a rule explains something.
func support(samples []sample) map[string]int {
	n, in := map[string]int{}, map[string]int{}
	for i := range samples {
		for _, rules := range samples[i].asks {
			for _, rule := range rules {
				if in[rule] != i+1 {
					in[rule] = i + 1
					n[rule]++
				}
			}
		}
	}
	return n
}

// cover returns rules that count and together explain what any of them explains: always the one that explains most of
// what is left, the simplest of these.
func cover(samples []sample, counts map[string]bool) (chosen []string) {
	var left [][]string
	for i := range samples {
		for _, rules := range samples[i].asks {
			if slices.ContainsFunc(rules, func(rule string) bool { return counts[rule] }) {
				left = append(left, rules)
			}
		}
	}
	for len(left) > 0 && len(chosen) < rulesMost {
		n := map[string]int{}
		for _, rules := range left {
			for _, rule := range rules {
				if counts[rule] {
					n[rule]++
				}
			}
		}
		best := ""
		for rule := range n {
			if best == "" || cmp.Or(n[best]-n[rule], rank(rule)-rank(best), cmp.Compare(rule, best)) < 0 {
				best = rule
			}
		}
		chosen = append(chosen, best)
		left = slices.DeleteFunc(left, func(rules []string) bool { return slices.Contains(rules, best) })
	}
	return chosen
}

// Expand bounds.
const expandMost = 200

// Expand returns the URLs that the rules of a page's template name for it: at most 200, each once, of http or https.
// html is the page as its host sent it, decoded. What is decided does not matter: of a page that is to be rendered,
// what the browser will ask for may be fetched before.
func (h *Host) Expand(url string, html []byte) (urls []string) {
	rules := h.rules(url)
	g, ok := newPage(url, html)
	if !ok || len(rules) == 0 {
		return nil
	}
	links := g.links()
	for _, rule := range rules {
		g.follow(rule, links, func(made string) {
			if len(urls) < expandMost && made != plain(url) && !slices.Contains(urls, made) {
				urls = append(urls, made)
			}
		})
	}
	return urls
}

// rules returns the rules of a page's template, and those of the host while they are not known.
func (h *Host) rules(url string) []string {
	k, _ := h.find(url)
	if k == nil || h.planOf(k).decision == Sampled {
		rules := h.planOf(&h.all).rules
		if k != nil {
			rules = slices.Concat(h.planOf(k).rules, rules)
		}
		return rules[:min(len(rules), rulesMost)]
	}
	return h.planOf(k).rules
}

// Answered takes how a host answered a URL that is part of pages. A rule that may have named it is dropped once four
// such URLs in a row were not there.
func (h *Host) Answered(url string, status uint32) {
	switch {
	case status == 404 || status == 410:
		for rule := range h.naming(url) {
			h.miss(rule)
		}
	case status == 200 && len(h.missed) > 0:
		for rule := range h.naming(url) {
			h.changed = h.changed || h.missed[rule] > 0
			delete(h.missed, rule)
		}
	}
}

// miss counts that a rule has named what is not there.
func (h *Host) miss(rule string) {
	if h.missed == nil || len(h.missed) >= missedMost {
		h.missed = map[string]uint8{}
	}
	h.changed = true
	if h.missed[rule]++; h.missed[rule] < missesMost {
		return
	}
	delete(h.missed, rule)
	h.dropped = append(h.dropped, rule)
	h.dropped = h.dropped[max(0, len(h.dropped)-droppedMost):]
	h.forget()
}

// naming hands on the rules that may have named a URL.
func (h *Host) naming(url string) iter.Seq[string] {
	rules := map[string]bool{}
	for _, k := range append(h.kinds[:len(h.kinds):len(h.kinds)], &h.all) {
		for _, rule := range h.planOf(k).rules {
			if matches(rule, url) {
				rules[rule] = true
			}
		}
	}
	return func(yield func(string) bool) {
		for rule := range rules {
			if !yield(rule) {
				return
			}
		}
	}
}

// Template is what is known of the pages of a template, for people.
type Template struct {
	Shape    string // of their URLs; "*" for all of the host
	Decision Decision
	Samples  int // renderings that taught something
	Failed   int // renderings that failed since
	Rules    []string
}

// Templates returns what is known, what was learnt last at the end.
func (h *Host) Templates() (list []Template) {
	for _, k := range append([]*kind{&h.all}, h.kinds...) {
		if k.seen == 0 && k.failed == 0 {
			continue
		}
		p := h.planOf(k)
		t := Template{Shape: cmp.Or(k.shape, "*"), Decision: p.decision, Samples: int(k.seen), Failed: int(k.failed)}
		for _, rule := range p.rules {
			t.Rules = append(t.Rules, show(rule))
		}
		list = append(list, t)
	}
	return list
}

// Changed reports whether there is something that MarshalBinary has not returned yet.
func (h *Host) Changed() bool { return h.changed }
