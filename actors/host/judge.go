package host

import (
	"math"

	"henro/actors/admission"
	"henro/actors/protocol"
	"henro/actors/scope"
	"henro/actors/stoplist"
	"henro/actors/traps"
	"henro/actors/urlrules"
	"henro/messages/outlink"
	"henro/messages/weburl"
	"henro/store"
	"henro/store/fingerprint"
)

// judge turns the outlinks of one host's pages into candidates: package admission decides, and the judge counts what
// is not taken and reports it, each URL and reason once. It holds what decides about the host's own URLs: the stop
// list, the session ids and the URL rules.
type judge struct {
	*base

	regions admission.Regions
	known   admission.Host // this host, without robots.txt: the slave asks that, whose rules are certain to be new

	page       admission.Page // whose links are being judged
	number     uint64         // of the page
	candidates []store.Candidate
	skipped    []admission.Skipped
	totals     protocol.Totals
	reported   map[uint64]struct{} // of what was skipped, by URL and reason
	unreadable bool                // a link was no URL: no parser of henro finds such a link
	// URLs of this host, by fingerprint, that its own pages have named and that URL rules may learn from; namedKept
	named map[uint64]struct{}
	// of a sitemap: its entries for other hosts, by host; the robots.txt of a host must name the sitemap
	elsewhere map[string][]outlink.Outlink
}

// Bounds of what a judge remembers.
const (
	elsewhereKept = 64 // hosts that one sitemap may name beside its own
	// candidatesBegun is how many candidates a Write has room for at first: an ordinary page has so many links
	candidatesBegun = 16
	// reportedKept bounds the skipped URLs that a host reports while it is awake: a trap has no end of them
	reportedKept = 500
	// namedKept bounds the URLs that are known to be named by the host itself; then they are forgotten
	namedKept = 1 << 16
)

func newJudge(b *base, regions admission.Regions) *judge {
	return &judge{base: b, regions: regions, reported: map[uint64]struct{}{},
		known: admission.Host{Stops: &stoplist.List{}, Sessions: &traps.Sessions{},
			URLRules: &urlrules.Set{}}}
}

// begin begins the links of the next page.
func (j *judge) begin(url string, depth, left, redirects uint8, number uint64) {
	j.page = admission.Page{URL: url, Host: j.name, Depth: depth, DepthLeft: left, Redirects: redirects}
	j.number, j.elsewhere = number, nil
}

// beginVisited begins the links of a page that was visited.
func (j *judge) beginVisited(p *store.Page) {
	j.begin(p.URL, p.Depth, p.DepthLeft, p.Redirects, p.Number)
	j.page.Embed(uint32(p.Flags.Embedded()))
	j.page.Failed = p.Status >= 400
	j.page.Topic = j.o.Admission.Topic.Score(p.Band)
}

// link judges one link.
func (j *judge) link(l *outlink.Outlink) {
	if l.Kind == outlink.Alias {
		j.toRepresentative(l)
		return
	}
	to, reason := j.o.Admission.Link(j.regions, &j.page, l)
	if reason == admission.None && to.Host == j.name {
		for i := 0; i < len(j.features) && reason == admission.None; i++ {
			reason = j.features[i].Refuses(l.URL, j.now)
		}
	}
	switch {
	case reason == admission.None:
		j.take(l, &to)
	case reason == admission.NoPage, reason == admission.LeftOut:
	case reason == admission.Elsewhere:
		j.refer(to.Host, l)
	default:
		j.skip(l.URL, &to, reason)
	}
}

// take makes a candidate of a link.
func (j *judge) take(l *outlink.Outlink, to *admission.Place) {
	if u, err := weburl.Parse(l.URL); err != nil || u.Host() != to.Host {
		j.unreadable = true // no request for it is possible
		return
	}
	if to.Host == j.name && j.o.URLRules != NoURLRules && urlrules.Varies(l.URL) {
		if j.named == nil || len(j.named) >= namedKept {
			j.named = map[uint64]struct{}{}
		}
		j.named[fingerprint.URL(l.URL)] = struct{}{}
	}
	c := store.Candidate{URL: l.URL, Host: to.Host, From: j.number, Depth: to.Depth, DepthLeft: to.DepthLeft,
		Redirects: to.Redirects, Requisite: to.Requisite, Band: min(to.Depth, store.LastBand)}
	if j.o.Admission.Topic != nil {
		c.Band = j.o.Admission.Topic.Band(to.Topic)
	}
	if to.Requisite > 0 {
		c.Band, c.Via = 0, j.page.URL // before new pages, so that a page is whole soon
	}
	if l.Kind == outlink.Sitemap && l.Anchor != "" && j.o.Admission.Topic == nil {
		hint := outlink.ParseHint(l.Anchor)
		c.Priority, c.Frequency = hint.Priority, hint.Frequency
		// as frontier.Ranker has it
		c.Band = uint8(min(max(float64(c.Depth)+math.Round(float64(0.5-hint.Priority.Value())*4), 0), store.LastBand))
	}
	if to.Requisite == 0 && to.Host == j.name && j.o.Admission.Topic == nil &&
		j.clock.timetable().Groups().Sample(l.URL) {
		c.Band = 0
	}
	if j.candidates == nil {
		j.candidates = make([]store.Candidate, 0, candidatesBegun)
	}
	j.candidates = append(j.candidates, c)
}

// refer keeps an entry of a sitemap for the host that it is of.
func (j *judge) refer(host string, l *outlink.Outlink) {
	if j.elsewhere == nil {
		j.elsewhere = map[string][]outlink.Outlink{}
	}
	if _, known := j.elsewhere[host]; known || len(j.elsewhere) < elsewhereKept {
		j.elsewhere[host] = append(j.elsewhere[host], *l)
	}
}

// skip counts a link that is not taken, and reports it. Of a host of which nothing is in scope one link is reported,
// and of links that are too deep none: they would be all links of the last pages.
func (j *judge) skip(url string, to *admission.Place, reason admission.Reason) {
	like := url
	switch reason {
	case admission.Depth:
		j.totals.Skipped[reason]++
		return
	case admission.Scope, admission.TLD, admission.NotIncluded, admission.Excluded, admission.Portal:
		if j.regions.Of(to.Host).Outside != scope.In {
			like = to.Host
		}
	}
	switch {
	case reason == admission.NoFollow || reason == admission.Redirects || reason == admission.Language ||
		reason == admission.OffTopic:
	case reason == admission.Portal || reason == admission.StopList:
		j.totals.StopListed++
	case reason.Trap():
		j.totals.Trapped++
	default:
		j.totals.OutOfScope++
	}
	j.noteLike(admission.Skipped{URL: url, Reason: reason, From: j.page.URL, Depth: int(j.page.Depth) + 1}, like)
}

// note counts a URL that is not taken, and reports it unless it was reported before.
func (j *judge) note(s admission.Skipped) { j.noteLike(s, s.URL) }

// noteLike counts a URL that is not taken, and reports it unless one like it was reported before.
func (j *judge) noteLike(s admission.Skipped, like string) {
	j.totals.Skipped[s.Reason]++
	key := fingerprint.URL(like) ^ uint64(s.Reason)
	if _, known := j.reported[key]; known || len(j.reported) >= reportedKept {
		return
	}
	j.reported[key] = struct{}{}
	s.At = j.now
	j.skipped = append(j.skipped, s)
}
