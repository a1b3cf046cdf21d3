package reading

import (
	"cmp"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"henro/actors/admission"
	"henro/actors/living"
	"henro/actors/scope"
	"henro/messages"
	"henro/messages/outlink"
	"henro/messages/speech"
	"henro/messages/weburl"
	"henro/store"
	"henro/store/fingerprint"
)

// Requisite is what a browser loads to show a page, and whether the archive has it.
type Requisite struct {
	URL    string `json:"url"`
	Kind   string `json:"kind"`             // of the link that names it: image, style, script …
	From   string `json:"from,omitempty"`   // what names it, if that is not the page: a sheet, a frame
	Status uint16 `json:"status,omitempty"` // of HTTP at its last visit
	// Missing is why the archive lacks it, in a word; empty: it is there. It is that of a messages.Cause if a visit
	// failed, a word of package admission if a rule is against it, or one of those below.
	Missing string          `json:"missing,omitempty"`
	Says    speech.Sentence `json:"says,omitzero"` // likewise, in a sentence
}

// PageMissing is a page that is not whole.
type PageMissing struct {
	URL     string      `json:"url"`
	Missing []Requisite `json:"missing"`
	More    int         `json:"more,omitempty"` // that are not listed
}

// Wholeness says how many pages are whole: archived with all that a browser loads to show them, as far as it stands in
// them. So a page that scripts make is not whole while they were not run. What its host answers with 404 or the like
// counts as archived, since a browser gets no more; 429 and 5xx are failures.
type Wholeness struct {
	Pages  uint64 `json:"pages"` // visited, with a status of 2xx at the last visit
	Whole  uint64 `json:"whole"`
	Lacked uint64 `json:"lacked"` // requisites, once for each page
	// of these, by the word of Requisite.Missing
	Reasons map[string]uint64 `json:"reasons,omitempty"`
	Seconds float64           `json:"seconds"` // that the counting took
	At      time.Time         `json:"at"`
}

// Share is the share of pages that are whole; 1 if there are none.
func (w *Wholeness) Share() float64 {
	if w.Pages == 0 {
		return 1
	}
	return float64(w.Whole) / float64(w.Pages)
}

// Bounds of what is looked at and kept.
const (
	requisitesLooked = 10_000  // of one page, with what they load themselves
	requisitesListed = 1_000   // that one page lacks
	linksRemembered  = 200_000 // of sheets, frames and scripts, and records: some 30 MB
)

// NotRun is the word of Requisite.Missing for a page that scripts make of what they fetch: what that is, is known once
// they are run.
const NotRun = "scripts not run"

// NotReplayed is the word of Requisite.Missing for a page whose scripts tried what no archive can answer, such as
// WebSockets.
const NotReplayed = "cannot be replayed"

// The words of Requisite.Missing that are no failure.
const (
	missingWaiting = "waiting"    // it is known, and was not visited yet
	missingUnknown = "on its way" // nothing is against it, and it is not known where it belongs: it is being admitted
)

// Missing calls fn for each page below a prefix of URLs (empty: all) that is not whole, and counts. It reads the state
// twice and remembers linksRemembered at most; temp is the folder for the failures ("": that of the system).
func (c *Crawl) Missing(prefix, temp string, fn func(*PageMissing) error) (*Wholeness, error) {
	whole := &Wholeness{Reasons: map[string]uint64{}, At: time.Now()}
	err := c.State.Snapshot(func(state *store.State) (err error) {
		failures, err := sortFailures(state, temp)
		if err != nil {
			return err
		}
		defer func() { err = errors.Join(err, failures.Close()) }()
		s, err := newInspection(&Crawl{Dir: c.Dir, State: state, Settings: c.Settings, Scope: c.Scope}, failures.of)
		if err != nil {
			return err
		}
		for _, p := range state.Partitions {
			if err := p.Pages.EachVisited(func(page store.Page, _ store.Place) error {
				if page.Reason != 0 || page.Status < 200 || page.Status >= 300 || !strings.HasPrefix(page.URL, prefix) {
					return nil
				}
				if ok, err := p.Seen.IsPage(&page); !ok || err != nil {
					return err
				}
				return s.count(whole, &page, fn)
			}); err != nil {
				return err
			}
		}
		return nil
	})
	whole.Seconds = time.Since(whole.At).Seconds()
	if err != nil {
		return nil, fmt.Errorf("look for what pages lack: %w", err)
	}
	return whole, nil
}

// count looks at one page.
func (s *inspection) count(whole *Wholeness, page *store.Page, fn func(*PageMissing) error) error {
	whole.Pages++
	var lacks *PageMissing
	if err := s.walk(page, func(r *Requisite) {
		if r.Missing == "" {
			return
		}
		lacks = cmp.Or(lacks, &PageMissing{URL: page.URL})
		whole.Lacked++
		whole.Reasons[r.Missing]++
		if len(lacks.Missing) < requisitesListed {
			lacks.Missing = append(lacks.Missing, *r)
		} else {
			lacks.More++
		}
	}); err != nil {
		return err
	}
	if lacks == nil {
		whole.Whole++
		return nil
	}
	return fn(lacks)
}

// requisites adds what the page is made of, missing ones first, as far as requisitesListed. It reads the partitions
// of its requisites a few times.
func (c *Crawl) requisites(p *PageFound) error {
	p.Requisites, p.Lacks = nil, 0
	if p.Page.LastVisit.IsZero() || p.Page.Reason != 0 {
		return nil
	}
	s, err := newInspection(c, nil)
	if err != nil {
		return err
	}
	if err := s.walk(&p.Page, func(r *Requisite) {
		p.Requisites = append(p.Requisites, *r)
		if r.Missing != "" {
			p.Lacks++
		}
	}); err != nil {
		return fmt.Errorf("requisites of %s: %w", p.Page.URL, err)
	}
	slices.SortStableFunc(p.Requisites, func(a, b Requisite) int {
		return cmp.Compare(min(1, len(b.Missing)), min(1, len(a.Missing)))
	})
	p.Requisites = p.Requisites[:min(len(p.Requisites), requisitesListed)]
	return nil
}

// inspection follows pages to what they are made of.
type inspection struct {
	*Crawl
	regions admission.Regions
	// failureOf is what came of the last visit of a URL that was visited and has no good answer; nil: the records are
	// looked for, some at a time.
	failureOf func(url string) (failure, bool, error)
	reader    store.Links

	left    int // links and records that may still be remembered before all are forgotten
	links   map[string][]outlink.Outlink
	records map[string]record
}

// record is what is known of one URL.
type record struct {
	known, visited bool
	failure
}

// failure is what came of a last visit that gave no good answer.
type failure struct {
	status  uint16 // from 400 on
	reason  uint8  // messages.Reason
	dropped bool
}

func failureOf(p *store.Page) (failure, bool) {
	f := failure{reason: p.Reason, dropped: p.Flags&store.Dropped != 0}
	if p.Status >= 400 {
		f.status = p.Status
	}
	return f, f != failure{}
}

func newInspection(c *Crawl, failureOf func(string) (failure, bool, error)) (*inspection, error) {
	rules, err := scope.New(c.Settings.Scope) // what pages are made of may lie anywhere
	if err != nil {
		return nil, err
	}
	judged := &Crawl{State: c.State, Settings: c.Settings, Scope: rules}
	return &inspection{Crawl: judged, regions: admission.Remember(rules), failureOf: failureOf, left: linksRemembered,
		links: map[string][]outlink.Outlink{}, records: map[string]record{}}, nil
}

// node is something on the way from a page to what it is made of.
type node struct {
	url    string
	status uint16
	level  uint8 // how far from the page
	kind   outlink.Kind
	from   *node
}

// walk calls fn for everything that a page is made of, once, the nearest first.
func (s *inspection) walk(page *store.Page, fn func(*Requisite)) error {
	if page.Flags&store.Scripted != 0 {
		fn(&Requisite{URL: page.URL, Kind: outlink.Script.String(), Status: page.Status, Missing: NotRun,
			Says: speech.Say("it is made by scripts, which were not run")})
	}
	if page.Flags&store.Truncated == 0 && living.Lacks(page.Says) {
		fn(&Requisite{URL: page.URL, Kind: outlink.Script.String(), Status: page.Status, Missing: NotReplayed,
			Says: speech.Say("its scripts tried what cannot be replayed: %s", page.Says)})
	}
	links, err := s.outlinks(page.URL)
	if err != nil || len(links) == 0 {
		return err
	}
	met := map[string]bool{page.URL: true}
	wave := []*node{{url: page.URL, status: page.Status}}
	for len(wave) > 0 {
		var next []*node
		for _, from := range wave {
			if from.level > 0 {
				if links, err = s.remembered(from.url); err != nil {
					return err
				}
			}
			for i := range links {
				l := &links[i]
				if met[l.URL] || len(met) > requisitesLooked || !loads(from, l) {
					continue
				}
				met[l.URL] = true
				n := &node{url: l.URL, kind: l.Kind, from: from, level: from.level + 1}
				if l.Kind == outlink.Redirect {
					n.level = from.level
				}
				next = append(next, n)
			}
		}
		if err := s.lookUp(next); err != nil {
			return err
		}
		wave = wave[:0]
		for _, n := range next {
			r := s.records[n.url]
			found := &Requisite{URL: n.url, Kind: n.kind.String(), Status: r.status}
			if n.from.level > 0 {
				found.From = n.from.url
			}
			if err := s.judge(page, n, &r, found); err != nil {
				return err
			}
			fn(found)
			if found.Missing == "" && n.level <= admission.MaxRequisite {
				n.status = r.status
				wave = append(wave, n)
			}
		}
	}
	return nil
}

// loads reports whether a browser that shows the page loads what a link names, or follows it there.
func loads(from *node, l *outlink.Outlink) bool {
	if from.level == 0 {
		return l.Kind.Class() != 0
	}
	return l.Kind == outlink.Redirect || l.Kind.Class() != 0 && from.status < 400
}

// judge says whether something is there, and if not, why.
func (s *inspection) judge(page *store.Page, n *node, r *record, found *Requisite) error {
	missing := func(word string, says speech.Sentence) { found.Missing, found.Says = word, says }
	reason := messages.Reason(r.reason)
	switch {
	case r.visited && (reason != messages.Reason_NONE || r.status >= 500 || r.status == 429):
		cause := messages.CauseOf(int(r.status), reason, "")
		missing(cause.Word, speech.Say("its last visit failed: %s", cause.Word))
	case r.visited && !r.dropped:
	case r.known && !r.visited:
		missing(missingWaiting, speech.Say("it waits for its first visit"))
	default: // not known, or given up without a visit
		return s.why(page, n, r, missing)
	}
	return nil
}

// why says which rule keeps something out.
func (s *inspection) why(page *store.Page, n *node, r *record, missing func(string, speech.Sentence)) error {
	if !r.known {
		on := &admission.Page{URL: n.from.url, Host: weburl.HostOf(n.from.url), Depth: page.Depth,
			Requisite: n.from.level, Failed: n.from.status >= 400}
		if n.from.level == 0 {
			on.DepthLeft, on.Redirects = page.DepthLeft, page.Redirects
		}
		_, reason := s.Settings.Admission.Link(s.regions, on, &outlink.Outlink{URL: n.url, Kind: n.kind})
		switch {
		case reason == admission.LeftOut, n.kind.Class() != 0 && !s.Settings.Admission.Requisites.Has(n.kind):
			missing(admission.LeftOut.String(), leftOut(s.Settings.Admission.Requisites, n.kind))
			return nil
		case reason == admission.Depth:
			missing(reason.String(), speech.Say("it is more than %d steps from the page", admission.MaxRequisite))
			return nil
		case reason == admission.Redirects:
			missing(reason.String(), speech.Say("more than %d redirects lead there", s.Settings.Admission.MaxRedirects))
			return nil
		}
	}
	findings, err := s.Rules(&admission.Question{Requisite: true}, n.url)
	if err != nil {
		return err
	}
	for _, f := range findings {
		if f.Reason != admission.None {
			missing(f.Reason.String(), f.Says)
			return nil
		}
	}
	if r.dropped {
		missing(admission.HostPages.String(),
			speech.Say("it was given up: its host had reached the page limit of a host"))
	} else {
		missing(missingUnknown, speech.Say("no rule is against it, and it is being admitted"))
	}
	return nil
}

// leftOut says that requisites of a kind are not fetched.
func leftOut(fetched outlink.Classes, kind outlink.Kind) speech.Sentence {
	return speech.Say("requisites of class %s are not fetched: --requisites %s", kind.Class().String(),
		fetched.String())
}

// outlinks are the links of a URL at its last visit that a browser follows by itself.
func (s *inspection) outlinks(url string) (kept []outlink.Outlink, err error) {
	name := weburl.HostOf(url)
	at := s.State.Partitions[s.State.PartitionOf(name)]
	err = at.Links.Read(store.IDOf(name), fingerprint.URL(url), &s.reader, func(links *store.Links) error {
		for links.Next() {
			if links.Kind == outlink.Redirect || links.Kind.Class() != 0 {
				kept = append(kept, outlink.Outlink{URL: string(links.URL), Kind: links.Kind})
			}
		}
		return nil
	})
	if errors.Is(err, store.ErrNotFound) {
		return nil, nil
	}
	return kept, err
}

// remembered are the outlinks of a URL, read once while there is room for them.
func (s *inspection) remembered(url string) ([]outlink.Outlink, error) {
	if kept, ok := s.links[url]; ok {
		return kept, nil
	}
	kept, err := s.outlinks(url)
	if err != nil {
		return nil, err
	}
	s.room(len(kept) + 1)
	s.links[strings.Clone(url)] = kept
	return kept, nil
}

// room makes room for so many links or records.
func (s *inspection) room(n int) {
	if s.left -= n; s.left < 0 {
		clear(s.links)
		clear(s.records)
		s.left = linksRemembered - n
	}
}

// lookUp finds the records of some URLs.
func (s *inspection) lookUp(nodes []*node) error {
	wanted := make([]map[string]struct{}, len(s.State.Partitions)) // of visited ones, whose records are to be read
	s.room(len(nodes))
	for _, n := range nodes {
		if _, ok := s.records[n.url]; ok {
			continue
		}
		at := s.State.PartitionOf(weburl.HostOf(n.url))
		var r record
		var err error
		if _, r.visited, r.known, err = s.State.Partitions[at].Seen.Get(n.url); err != nil {
			return err
		}
		switch {
		case !r.visited:
		case s.failureOf != nil:
			if r.failure, _, err = s.failureOf(n.url); err != nil {
				return err
			}
		default:
			if wanted[at] == nil {
				wanted[at] = map[string]struct{}{}
			}
			wanted[at][n.url] = struct{}{}
		}
		s.records[strings.Clone(n.url)] = r
	}
	for at, urls := range wanted {
		if len(urls) == 0 {
			continue
		}
		found, err := s.State.Partitions[at].Pages.Find(urls)
		if err != nil {
			return err
		}
		for i := range found {
			page := &found[i].Page
			r := s.records[page.URL]
			r.failure, _ = failureOf(page)
			r.status = cmp.Or(r.status, page.Status)
			s.records[page.URL] = r
		}
	}
	return nil
}
