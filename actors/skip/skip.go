// Package skip says why a URL is not taken.
//
// Reasons are a closed set with one word each: those of skipped.jsonl, of the counts in the status, and of henro why.
// Why asks every rule about one URL, in the order in which they are asked during a crawl, and goes on after the first
// that is against it: whoever wants to know why a page is missing wants all reasons at once.
//
// Invariant: what is not known (rules of a host that was never asked, say) is not judged, and a finding says so.
package skip

import (
	"fmt"
	"time"

	"henro/actors/robots"
	"henro/actors/scope"
	"henro/actors/stoplist"
	"henro/actors/traps"
	"henro/messages/speech"
	"henro/messages/weburl"
)

// Reason says why a URL was not taken. Words are what is written; numbers are of this process alone.
type Reason uint8

// The reasons. Those from Mime on are of pages that were visited and are not archived, or not whole.
const (
	None        Reason = iota
	Scope              // no seed's region contains it
	TLD                // its top-level domain is not wanted
	NotIncluded        // no --include matches
	Excluded           // an --exclude matches
	Portal             // of the stop list given beforehand
	StopList           // in a folder where nothing was to be had
	TrapLength         // the rules of package traps
	TrapSegments
	TrapRepeats
	TrapPairs
	TrapGrowth
	TrapSession
	Depth       // too many links from its seed
	Redirects   // too many redirects in a row
	NoFollow    // the link, or its page, asks not to be followed, and that is heeded
	Robots      // robots.txt forbids it
	HostPages   // its host has had as many pages as are wanted
	HostFailing // its host does not answer, and was given up
	Mime        // not of a kind that is archived
	NoIndex     // it asks not to be archived, and that is heeded
	Language    // of a language that is not kept
	Size        // longer than bodies are kept: the rest is cut off
	reasons
)

var words = [reasons]string{
	None: "none", Scope: "scope", TLD: "tld", NotIncluded: "not included", Excluded: "excluded", Portal: "portal",
	StopList:   "stop list",
	TrapLength: "trap: too long", TrapSegments: "trap: too many segments", TrapRepeats: "trap: repeats itself",
	TrapPairs: "trap: too many parameters", TrapGrowth: "trap: grows without end",
	TrapSession: "trap: another session id",
	Depth:       "depth", Redirects: "redirects", NoFollow: "nofollow", Robots: "robots", HostPages: "host page limit",
	HostFailing: "host failing",
	Mime:        "mime", NoIndex: "noindex", Language: "language", Size: "size",
}

// String returns the word that is written.
func (r Reason) String() string { return words[min(r, reasons-1)] }

// MarshalText writes the word.
func (r Reason) MarshalText() ([]byte, error) { return []byte(r.String()), nil }

// UnmarshalText reads the word.
func (r *Reason) UnmarshalText(text []byte) error {
	for i, word := range words {
		if word == string(text) {
			*r = Reason(i)
			return nil
		}
	}
	return fmt.Errorf("%q is not a reason for skipping", text)
}

// All are the reasons, in order, without None.
func All() []Reason {
	all := make([]Reason, 0, reasons-1)
	for r := None + 1; r < reasons; r++ {
		all = append(all, r)
	}
	return all
}

// OfScope is the reason that a verdict of the scope gives.
func OfScope(v scope.Verdict) Reason {
	return [...]Reason{scope.In: None, scope.OutOfReach: Scope, scope.WrongTLD: TLD, scope.NotIncluded: NotIncluded,
		scope.Excluded: Excluded, scope.StopListed: Portal}[v]
}

// OfTrap is the reason that a verdict on traps gives.
func OfTrap(v traps.Verdict) Reason {
	return [...]Reason{traps.Fine: None, traps.TooLong: TrapLength, traps.TooDeep: TrapSegments,
		traps.Repeating: TrapRepeats,
		traps.TooMany:   TrapPairs, traps.Growing: TrapGrowth, traps.Session: TrapSession}[v]
}

// Skipped is one URL that was not taken: a line of skipped.jsonl.
type Skipped struct {
	URL    string    `json:"url"`
	Reason Reason    `json:"reason"`
	From   string    `json:"from,omitempty"` // the page that links to it
	Depth  int       `json:"depth"`          // links from its seed
	At     time.Time `json:"ts"`
}

// Question is a URL with all that decides about it. What is nil is not known.
type Question struct {
	URL      weburl.URL
	From     string // the page that links to it; empty: none is named
	Depth    int    // links from its seed; 0: not known
	Scope    *scope.Rules
	Traps    *traps.Options
	Sessions *traps.Sessions
	Stops    *stoplist.List
	Robots   *robots.Rules
	Now      time.Time
}

// Finding is what one rule says of a URL.
type Finding struct {
	Rule   string          `json:"rule"`   // scope, trap, stop list, robots
	Reason Reason          `json:"reason"` // None: it may be taken
	Says   speech.Sentence `json:"says"`
}

// Why asks every rule.
func Why(q *Question) []Finding {
	return []Finding{q.scope(), q.trap(), q.stopList(), q.robots()}
}

func (q *Question) scope() Finding {
	f := Finding{Rule: "scope"}
	if q.Scope == nil {
		f.Says = speech.Say("the seeds and the scope are not known here")
		return f
	}
	verdict := q.Scope.Decide(q.URL)
	f.Reason, f.Says = OfScope(verdict), speech.Say(verdict.String())
	return f
}

func (q *Question) trap() Finding {
	f := Finding{Rule: "trap"}
	if q.Traps == nil {
		f.Says = speech.Say("the bounds of traps are not known here")
		return f
	}
	url := q.URL.String()
	verdict := q.Traps.Judge(url)
	if verdict == traps.Fine && q.From != "" && q.Traps.Growing(q.From, url, q.Depth) {
		verdict = traps.Growing
	}
	if verdict == traps.Fine && q.Sessions != nil {
		verdict = q.Sessions.Judge(q.Traps, url)
	}
	f.Reason, f.Says = OfTrap(verdict), speech.Say(verdict.String())
	return f
}

func (q *Question) stopList() Finding {
	f := Finding{Rule: "stop list", Says: speech.Say("not on it")}
	if q.Stops == nil {
		f.Says = speech.Say("the host is not known here")
		return f
	}
	if e, stopped := q.Stops.Stopped(q.URL.String(), q.Now); stopped {
		f.Reason = StopList
		if says := stoplist.Says(e.Evidence); e.Until.IsZero() {
			f.Says = speech.Say("%s since %s, for good: %s", e.Prefix, e.At, says)
		} else {
			f.Says = speech.Say("%s since %s, until %s: %s", e.Prefix, e.At, e.Until, says)
		}
	}
	return f
}

func (q *Question) robots() Finding {
	f := Finding{Rule: "robots"}
	switch {
	case q.Robots == nil:
		f.Says = speech.Say("robots.txt of the host was not asked for yet, or its rules have expired")
	case q.Robots.Unreachable():
		f.Reason, f.Says = Robots, speech.Say("robots.txt does not answer, which forbids everything for now")
	case !q.Robots.Allowed(q.URL.RequestURI()):
		f.Reason, f.Says = Robots, speech.Say("robots.txt forbids it")
	default:
		f.Says = speech.Say("allowed")
	}
	return f
}
