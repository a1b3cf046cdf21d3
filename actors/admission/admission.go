// Package admission decides whether a URL is taken, and says why not.
//
// Every rule about URLs is asked here and nowhere else: by the Host that admits the links of a page, by the slave that
// follows links inside a lease, when stored links are judged again because their page came closer to a seed, and by
// henro why. A link is judged in two steps. Options.Link looks at the link, its page and the scope: any process can
// take that step, in any order of links. Host.Takes looks at what one host has shown so far, so it is taken where that
// is known: robots.txt by the slave, the stop list and the session ids by the Host.
//
// Reasons are a closed set with one word each: those of skipped.jsonl, of the counts in the status, and of henro why.
//
// Invariants: what is not known (robots.txt of a host that was never asked, say) is not judged; two callers that know
// the same decide the same.
package admission

import (
	"encoding/json"
	"fmt"
	"time"

	"github.com/spf13/pflag"

	"henro/actors/robots"
	"henro/actors/scope"
	"henro/actors/stoplist"
	"henro/actors/topic"
	"henro/actors/traps"
	"henro/actors/urlrules"
	"henro/messages/outlink"
	"henro/messages/posted"
	"henro/messages/weburl"
)

// Options are what a crawl demands of links, beside its scope. They are immutable.
type Options struct {
	Traps        traps.Options
	MaxRedirects int  // in a row that lead to a page; 0: none is followed
	ObeyNofollow bool // links marked rel=nofollow are not followed, nor those of pages that say nofollow

	// Selective is a crawl by language: pages in other languages are not kept, and their links are followed as far as
	// Beyond links from a page that is kept. Behind such a page, Depth counts from the seed again.
	Selective bool
	Beyond    int
	Depth     int // of the crawl; negative: unlimited

	// Requisites are what a browser loads to show a page: its images, styles, scripts, frames … They cost no depth and
	// may lie anywhere. What they link to is not followed, and what they load themselves (a sheet its fonts, a frame
	// its images) as far as MaxRequisite from the page.
	Requisites outlink.Classes

	// Topic is what the crawl is about: links are scored by it, and those below TopicMin are not taken. nil: the crawl
	// has no topic
	Topic    *topic.Topic `json:",omitempty"`
	TopicMin float64      `json:",omitempty"`

	// Admit is a rule of the program that embeds the crawl: whether a link from one URL to another, which all other
	// rules take, is taken. It is asked by several goroutines at once and must not wait. Slaves in other processes do
	// not know it. nil: there is none.
	Admit func(from, to string) bool `json:"-"`
}

// MaxRequisite is how far from a page a requisite may be: a page, its frame, the sheet of that, a sheet which that
// imports, the font of that, and one more. It must fit into three bits (store.Flags).
const MaxRequisite = 5

// DefaultOptions lose no page that a person could have reached. Browsers follow 20 redirects in a row: more are a loop.
func DefaultOptions() Options {
	return Options{Traps: traps.DefaultOptions(), MaxRedirects: 20, Beyond: 1, Depth: -1,
		Requisites: outlink.AllClasses}
}

// Flags adds a flag for each option that an operator may set, with its value as it is for a default.
func (r *Options) Flags(f *pflag.FlagSet) {
	f.Var(&r.Requisites, "requisites",
		"what to fetch of what a browser loads to show a page, from any host and whatever the --depth: all, off, or a "+
			"list such as all,-media of image, style, script, font, frame, media, object and icon")
	f.Float64Var(&r.TopicMin, "topic-min", r.TopicMin,
		"with --topic: least score of a link that is taken, 0 to 1: half is from its page, half from its anchor text "+
			"and its URL, or from the text around it")
}

// MarshalBinary writes the options for slaves: JSON, so that an older slave passes over one that it does not know, and
// a newer one keeps its default.
func (r *Options) MarshalBinary() ([]byte, error) { return json.Marshal(r) }

// UnmarshalBinary reads what MarshalBinary wrote.
func (r *Options) UnmarshalBinary(b []byte) error {
	if err := json.Unmarshal(b, r); err != nil {
		return fmt.Errorf("rules of links: %w", err)
	}
	return r.Validate()
}

// Validate says what makes no sense.
func (r *Options) Validate() error {
	if r.MaxRedirects < 0 || r.MaxRedirects > outlink.MaxRedirects {
		return fmt.Errorf("redirects in a row %d: want 0 to %d", r.MaxRedirects, outlink.MaxRedirects)
	}
	if r.Beyond < 0 {
		return fmt.Errorf("links followed beyond the language %d: want 0 or more", r.Beyond)
	}
	if r.TopicMin < 0 || r.TopicMin >= 1 {
		return fmt.Errorf("least score of a link %v: want 0 or more, below 1", r.TopicMin)
	}
	return r.Traps.Validate()
}

// Regions say what of a host belongs to the crawl. The answer is never nil.
type Regions interface {
	Of(host string) *scope.Part
}

// Page is the page on which links are found.
type Page struct {
	URL       string
	Host      string // "scheme://name[:port]", that of URL
	Depth     uint8  // links from its seed
	DepthLeft uint8  // links that may still be followed from it
	Redirects uint8  // in a row that led to it
	Requisite uint8  // how far from the page that it is a requisite of; 0: it is a page itself
	Embedded  bool   // it is a page, and a requisite of another page as well
	Failed    bool   // answered with an error
	// the score for the topic of the crawl that it hands on to its links, 0 to 1
	Topic float64
}

// hostOf is the host of a URL that the page links to: most links stay within theirs.
func (p *Page) hostOf(url string) string {
	if n := len(p.Host); len(url) > n && url[n] == '/' && url[:n] == p.Host {
		return p.Host
	}
	return weburl.HostOf(url)
}

// Embed sets Requisite and Embedded as the record of a page, or a message of it, has them. A distance beyond
// MaxRequisite, which only another version can have sent, counts as MaxRequisite.
func (p *Page) Embed(from uint32) {
	p.Embedded = from == outlink.PageToo
	p.Requisite = uint8(min(from, MaxRequisite))
	if p.Embedded {
		p.Requisite = 0
	}
}

// Place is where a link leads, and the place among pages that it has if it is taken.
type Place struct {
	Host             string
	Depth, DepthLeft uint8
	Redirects        uint8
	Requisite        uint8 // how far from the page that it is a requisite of; 0: a page; outlink.PageToo: both
	Topic            float64
}

// Link judges one link by itself, its page and the scope. Host.Takes comes after it.
func (r *Options) Link(in Regions, page *Page, l *outlink.Outlink) (Place, Reason) {
	to, reason := r.link(in, page, l)
	if reason == None && r.Admit != nil && !r.Admit(page.URL, l.URL) {
		reason = OwnRule
	}
	return to, reason
}

func (r *Options) link(in Regions, page *Page, l *outlink.Outlink) (Place, Reason) {
	moved := page.Requisite > 0 && l.Kind == outlink.Redirect // a requisite has another URL
	if posted.Is(l.URL) && l.Kind != outlink.Post && !(moved && posted.Same(page.URL, l.URL)) {
		return Place{}, NoPage // no page writes the name of a POST: what is shown in the browser makes it
	}
	if !l.Kind.Navigates() || moved {
		return r.requisite(in, page, l, moved)
	}
	to, reason := r.page(in, page, l)
	moved = page.Embedded && l.Kind == outlink.Redirect
	switch {
	case !moved && !r.Requisites.Has(l.Kind):
	case reason == None: // a page, and a frame
		to.Requisite = outlink.PageToo
	default: // a frame that is not a page by itself
		if as, against := r.requisite(in, page, l, moved); against == None {
			return as, None
		}
	}
	return to, reason
}

// requisite judges a link to a requisite, or with moved the redirect of one.
func (r *Options) requisite(in Regions, page *Page, l *outlink.Outlink, moved bool) (Place, Reason) {
	to := Place{Depth: page.Depth, Requisite: page.Requisite + 1}
	switch {
	case moved:
		to.Requisite, to.Redirects = max(1, page.Requisite), page.Redirects+1
		if int(page.Redirects) >= r.MaxRedirects {
			return to, Redirects
		}
	case l.Kind.Class() == 0, page.Requisite > 0 && page.Failed: // an error page is shown in no page
		return to, NoPage
	case !r.Requisites.Has(l.Kind):
		return to, LeftOut
	case page.Requisite >= MaxRequisite:
		return to, Depth
	case l.Flags&outlink.Foreign != 0:
		return to, Language // as is its page
	}
	to.Host = page.hostOf(l.URL)
	if verdict := in.Of(to.Host).Refuses(posted.Bare(l.URL)); verdict != scope.In {
		return to, OfScope(verdict)
	}
	return to, ofTrap(r.trap("", l.URL, int(to.Depth)))
}

// page judges a link to a page.
func (r *Options) page(in Regions, page *Page, l *outlink.Outlink) (Place, Reason) {
	if r.ObeyNofollow && l.Flags&outlink.NoFollow != 0 && l.Kind != outlink.Redirect {
		return Place{}, NoFollow
	}
	left := r.left(page, l.Flags)
	to := Place{Depth: page.Depth, DepthLeft: left, Redirects: page.Redirects + 1}
	// a redirect and the next part of a list are the page itself, at another URL: no link was followed
	moved := l.Kind == outlink.Redirect || l.Kind == outlink.Part && page.Requisite == 0
	switch {
	case moved && int(page.Redirects) >= r.MaxRedirects:
		return to, Redirects
	case moved:
	case left == 0:
		return to, Depth
	default:
		to = Place{Depth: min(page.Depth+1, outlink.MaxDepth), DepthLeft: outlink.DepthAfter(left)}
	}
	to.Host = page.hostOf(l.URL)
	if verdict := in.Of(to.Host).Decide(l.URL); verdict != scope.In {
		return to, OfScope(verdict)
	}
	if l.Kind == outlink.Sitemap && !sameName(to.Host, page.Host) { // a sitemap speaks for its own host
		return to, Elsewhere
	}
	from := page.URL
	if moved {
		from = ""
	}
	if r.Topic != nil {
		if to.Topic = page.Topic; !moved {
			to.Topic = r.Topic.Link(page.Topic, l.Anchor, l.URL, l.Around)
		}
		if to.Topic < r.TopicMin {
			return to, OffTopic
		}
	}
	return to, ofTrap(r.trap(from, l.URL, int(to.Depth)))
}

// left is how many links may still be followed from a page, by the language that the flags of its links tell.
func (r *Options) left(page *Page, flags outlink.Flags) uint8 {
	switch {
	case !r.Selective:
		return page.DepthLeft
	case flags&outlink.Foreign != 0:
		return min(page.DepthLeft, uint8(min(r.Beyond, outlink.UnlimitedDepth-1)))
	case r.Depth < 0:
		return outlink.UnlimitedDepth
	}
	return max(page.DepthLeft, uint8(max(0, min(r.Depth, outlink.UnlimitedDepth-1)-int(page.Depth))))
}

// trap says whether a URL leads into a trap. From is the page that links to it; empty: none does, or it is that page
// itself at another URL.
func (r *Options) trap(from, url string, depth int) traps.Verdict {
	verdict := r.Traps.Judge(url)
	if verdict == traps.Fine && from != "" && r.Traps.Growing(from, url, depth) {
		verdict = traps.Growing
	}
	return verdict
}

// DepthLeft reads the links that may still be followed from a page, as messages have them: negative is unlimited.
func DepthLeft(wire int32) uint8 {
	if wire < 0 || wire >= outlink.UnlimitedDepth {
		return outlink.UnlimitedDepth
	}
	return uint8(wire)
}

// WireDepthLeft is the number that DepthLeft reads.
func WireDepthLeft(left uint8) int32 {
	if left >= outlink.UnlimitedDepth {
		return -1
	}
	return int32(left)
}

// sameName reports whether two hosts differ in scheme or port only.
func sameName(a, b string) bool { return a == b || weburl.HostName(a) == weburl.HostName(b) }

// Host is what is known of one host, and decides about its URLs. What is nil is not known here, and not judged.
type Host struct {
	Robots   *robots.Rules
	Stops    *stoplist.List
	Sessions *traps.Sessions // those of URLs that were taken are remembered
	URLRules *urlrules.Set
}

// Takes says why a URL of the host is not taken, by what the host has shown so far.
// Only links within the host are asked about: mazes of session ids are made of those.
func (h *Host) Takes(r *Options, url string, now time.Time) Reason {
	if !h.Allowed(url) {
		return Robots
	}
	if h.Stops != nil {
		if _, stopped := h.Stops.Stopped(url, now); stopped {
			return StopList
		}
	}
	return ofTrap(h.session(r, url))
}

// Spares returns Duplicate for a URL that is not visited: by the URL rules of its host it is the page of visited, from
// which at least as many links could be followed. For some such URLs it returns None, to test the rules.
func (h *Host) Spares(url string, left uint8, visited *urlrules.Form) Reason {
	if visited == nil || visited.Left < left || !h.URLRules.Spares(url, visited) {
		return None
	}
	return Duplicate
}

// session says whether a URL is a page that was taken under too many session ids, and remembers it if not.
func (h *Host) session(r *Options, url string) traps.Verdict {
	if h.Sessions == nil {
		return traps.Fine
	}
	return h.Sessions.Judge(&r.Traps, url)
}

// Allowed reports whether robots.txt, if it is known, lets a URL of the host be asked for.
func (h *Host) Allowed(url string) bool {
	return h.Robots == nil || h.Robots.Allowed(posted.Bare(url)[len(weburl.HostOf(url)):])
}
