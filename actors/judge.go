package actors

import (
	"strings"

	"henro/actors/scope"
	"henro/actors/traps"
	"henro/messages/outlink"
	"henro/messages/weburl"
	"henro/store"
)

// judge turns the outlinks of one host's pages into candidates: what may be followed, is in scope and has depth left. Most links
// stay on the host or go to few others, so what the scope says of a host is remembered and no URL is parsed.
type judge struct {
	rules  *scope.Rules
	traps  *traps.Options
	host   string
	reach  map[string][]string // prefixes in scope, by host
	totals *Totals

	depth, left, redirects uint8 // of the page
	number                 uint64
	url                    string
	sessions               traps.Sessions // of this host
	candidates             []store.Candidate
}

// reachKept bounds how many other hosts are remembered.
const reachKept = 4096

// maxRedirects is how many redirects in a row lead to a page of their own: more are a loop.
const maxRedirects = 20

func newJudge(rules *scope.Rules, bounds *traps.Options, host string) *judge {
	return &judge{rules: rules, traps: bounds, host: host, reach: map[string][]string{}, totals: new(Totals)}
}

// page begins the links of the next page.
func (j *judge) page(url string, depth, left, redirects uint8, number uint64) {
	j.url, j.depth, j.left, j.redirects, j.number = url, depth, left, redirects, number
}

// link judges one link.
func (j *judge) link(url string, kind outlink.Kind, flags outlink.Flags) {
	if !kind.Navigates() {
		return
	}
	c := store.Candidate{URL: url, From: j.number}
	if kind == outlink.Redirect { // the page itself has moved: no link was followed
		if j.redirects >= maxRedirects {
			return
		}
		c.Depth, c.DepthLeft, c.Redirects = j.depth, j.left, j.redirects+1
	} else {
		if j.left == 0 {
			return
		}
		c.Depth, c.DepthLeft = min(j.depth+1, 254), store.DepthAfter(j.left)
	}
	c.Host = store.HostOf(url)
	prefixes, ok := j.reach[c.Host]
	if !ok {
		if len(j.reach) >= reachKept {
			clear(j.reach)
		}
		prefixes = j.rules.Prefixes(c.Host)
		j.reach[c.Host] = prefixes
	}
	reached := false
	for _, prefix := range prefixes {
		if reached = strings.HasPrefix(url, prefix); reached {
			break
		}
	}
	if !reached {
		j.totals.OutOfScope++
		return
	}
	if j.rules.HasPatterns() {
		switch u, err := weburl.Parse(url); {
		case err != nil:
			return
		default:
			if verdict := j.rules.Decide(u); verdict != scope.In {
				if verdict == scope.StopListed {
					j.totals.StopListed++
				} else {
					j.totals.OutOfScope++
				}
				return
			}
		}
	}
	if j.trapped(&c) != traps.Fine {
		j.totals.Trapped++
		return
	}
	c.Band = min(c.Depth, store.LastBand)
	j.candidates = append(j.candidates, c)
}

// trapped says whether a candidate leads into a trap. Session ids are remembered for links within the host: mazes are made of those.
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

// take returns the candidates so far and what was counted, and begins anew.
func (j *judge) take() ([]store.Candidate, Totals) {
	candidates, totals := j.candidates, *j.totals
	j.candidates, *j.totals = nil, Totals{}
	return candidates, totals
}
