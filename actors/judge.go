package actors

import (
	"math"
	"strings"
	"time"

	"henro/actors/skip"
	"henro/actors/stoplist"
	"henro/actors/traps"
	"henro/messages/outlink"
	"henro/messages/weburl"
	"henro/store"
	"henro/store/fingerprint"
)

// judge turns the outlinks of one host's pages into candidates: what may be followed, is in scope and has depth left.
// Most links stay on the host or go to few others, so what the scope says of a host is remembered (reaches) and no URL
// is parsed. What it does not take is counted by reason, and told, but not again and again.
type judge struct {
	scope   *reaches
	traps   *traps.Options
	manners *Manners
	stops   *stoplist.List // of this host
	host    string
	totals  *Totals

	depth, left, redirects uint8 // of the page
	number                 uint64
	url                    string
	sessions               traps.Sessions // of this host
	candidates             []store.Candidate
	skipped                []skip.Skipped
	told                   map[uint64]struct{} // of what was skipped, by URL and reason
	// entries of the page, a sitemap, by the hosts that must vouch for them
	elsewhere map[string][]outlink.Outlink
}

// Bounds of what a judge remembers.
const (
	elseKept = 64 // hosts that one sitemap may name beside its own
	// skipped URLs that are told of one host while it is awake: more say nothing new, and a trap has no end
	toldKept = 500
)

// maxRedirects is how many redirects in a row lead to a page of their own: more are a loop.
const maxRedirects = 20

func newJudge(scope *reaches, o *HostOptions, host string) *judge {
	return &judge{scope: scope, traps: &o.Traps, manners: &o.Manners, stops: &stoplist.List{}, host: host,
		totals: new(Totals), told: map[uint64]struct{}{}}
}

// inherit takes over what another judge of the same host has learned, when the rules change.
func (j *judge) inherit(other *judge) {
	j.sessions, j.stops, j.told = other.sessions, other.stops, other.told
}

// page begins the links of the next page.
func (j *judge) page(url string, depth, left, redirects uint8, number uint64) {
	j.url, j.depth, j.left, j.redirects, j.number = url, depth, left, redirects, number
	j.elsewhere = nil
}

// link judges one link.
func (j *judge) link(l *outlink.Outlink) {
	url, kind, flags := l.URL, l.Kind, l.Flags
	if !kind.Navigates() {
		return
	}
	if j.manners.ObeyNofollow && flags&outlink.NoFollow != 0 && kind != outlink.Redirect {
		j.skip(url, skip.NoFollow)
		return
	}
	left := j.manners.left(j.left, j.depth, flags)
	c := store.Candidate{URL: url, From: j.number}
	// the page itself has moved, or goes on elsewhere: no link was followed
	if kind == outlink.Redirect || kind == outlink.Part {
		if j.redirects >= maxRedirects {
			j.skip(url, skip.Redirects)
			return
		}
		c.Depth, c.DepthLeft, c.Redirects = j.depth, left, j.redirects+1
	} else {
		if left == 0 {
			j.totals.Skipped[skip.Depth]++ // not told: it would be every link of the last pages
			return
		}
		c.Depth, c.DepthLeft = min(j.depth+1, 254), store.DepthAfter(left)
	}
	c.Host = store.HostOf(url)
	if reason := j.outside(url, c.Host); reason != skip.None {
		if reason == skip.Portal {
			j.totals.StopListed++
		} else {
			j.totals.OutOfScope++
		}
		return
	}
	if kind == outlink.Sitemap && !sameName(c.Host, j.host) { // a sitemap speaks for its own host
		j.refer(c.Host, l)
		return
	}
	if verdict := j.trapped(&c); verdict != traps.Fine {
		j.totals.Trapped++
		j.skip(url, skip.OfTrap(verdict))
		return
	}
	if c.Host == j.host {
		if _, stopped := j.stops.Stopped(url, time.Now()); stopped {
			j.totals.StopListed++
			j.skip(url, skip.StopList)
			return
		}
	}
	c.Band = min(c.Depth, store.LastBand)
	if kind == outlink.Sitemap && l.Anchor != "" {
		hint := outlink.ParseHint(l.Anchor)
		c.Priority, c.Frequency = hint.Priority, hint.Frequency
		// as frontier.Ranker has it
		c.Band = uint8(min(max(float64(c.Depth)+math.Round(float64(0.5-hint.Priority.Value())*4), 0), store.LastBand))
	}
	j.candidates = append(j.candidates, c)
}

// refer keeps an entry of a sitemap for the host that it is of.
func (j *judge) refer(host string, l *outlink.Outlink) {
	if j.elsewhere == nil {
		j.elsewhere = map[string][]outlink.Outlink{}
	}
	if _, known := j.elsewhere[host]; known || len(j.elsewhere) < elseKept {
		j.elsewhere[host] = append(j.elsewhere[host], *l)
	}
}

// sameName reports whether two hosts differ in scheme or port only.
func sameName(a, b string) bool { return a == b || weburl.HostName(a) == weburl.HostName(b) }

// outside says why a link does not belong to the crawl. Of a host of which nothing does, one link is told.
func (j *judge) outside(url, host string) skip.Reason {
	r := j.scope.ask(url, host)
	if r.reason != skip.None {
		j.noteLike(skip.Skipped{URL: url, Reason: r.reason, From: j.url, Depth: int(j.depth) + 1}, host)
		return r.reason
	}
	for _, prefix := range r.prefixes {
		if !strings.HasPrefix(url, prefix) {
			continue
		}
		if !j.scope.rules.HasPatterns() {
			return skip.None
		}
		u, err := weburl.Parse(url)
		if err != nil {
			return skip.Scope
		}
		reason := skip.OfScope(j.scope.rules.Decide(u))
		if reason != skip.None {
			j.skip(url, reason)
		}
		return reason
	}
	j.skip(url, skip.Scope)
	return skip.Scope
}

// skip counts a link that is not taken, and tells it.
func (j *judge) skip(url string, reason skip.Reason) {
	j.note(skip.Skipped{URL: url, Reason: reason, From: j.url, Depth: int(j.depth) + 1})
}

// note counts a URL that is not taken, and tells it unless it was told before.
func (j *judge) note(s skip.Skipped) { j.noteLike(s, s.URL) }

// noteLike counts a URL that is not taken, and tells it unless one like it was told before.
func (j *judge) noteLike(s skip.Skipped, like string) {
	j.totals.Skipped[s.Reason]++
	key := fingerprint.URL(like) ^ uint64(s.Reason)
	if _, told := j.told[key]; told || len(j.told) >= toldKept {
		return
	}
	j.told[key] = struct{}{}
	s.At = time.Now()
	j.skipped = append(j.skipped, s)
}

// trapped says whether a candidate leads into a trap. Session ids are remembered for links within the host: mazes are
// made of those.
func (j *judge) trapped(c *store.Candidate) traps.Verdict {
	verdict := j.traps.Judge(c.URL)
	if verdict == traps.Fine && c.Redirects == 0 && j.traps.Growing(j.url, c.URL, int(c.Depth)) {
		verdict = traps.Growing
	}
	if verdict == traps.Fine && c.Host == j.host {
		verdict = j.sessions.Judge(j.traps, c.URL)
	}
	return verdict
}

// take returns the candidates so far, what was skipped and what was counted, and begins anew.
func (j *judge) take() ([]store.Candidate, []skip.Skipped, Totals) {
	candidates, skipped, totals := j.candidates, j.skipped, *j.totals
	j.candidates, j.skipped, *j.totals = nil, nil, Totals{}
	return candidates, skipped, totals
}
