package admission

import (
	"fmt"
	"time"

	"henro/actors/scope"
	"henro/actors/traps"
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
	NoFollow    // the link, or its page, asks not to be followed, and that is obeyed
	Robots      // robots.txt forbids it
	HostPages   // its host has had as many pages as are wanted
	HostFailing // its host does not answer, and was given up
	Mime        // not of a kind that is archived
	NoIndex     // it asks not to be archived, and that is obeyed
	Reserved    // its publisher says no to a use of it, and that is obeyed
	Language    // of a language that is not kept
	Size        // longer than bodies are kept: the rest is cut off
	Elsewhere   // the sitemap of another host names it, and a sitemap speaks for its own host
	NoPage      // the link names no page
	LeftOut     // a requisite of a class that is not fetched
	OffTopic    // too little about the topic of the crawl
	OwnRule     // the rule of the program that embeds the crawl refuses it
	Duplicate   // a URL rule of its host says that it is a page that was visited
	AliasHost   // its host is another under a second name, where the page was visited
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
	Mime:        "mime", NoIndex: "noindex", Reserved: "reserved", Language: "language", Size: "size",
	Elsewhere: "sitemap of another host", NoPage: "no page", LeftOut: "class left out", OffTopic: "off topic",
	OwnRule: "own rule", Duplicate: "duplicate by rule", AliasHost: "alias of another host",
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

// Trap reports whether the reason is a rule of package traps.
func (r Reason) Trap() bool { return r >= TrapLength && r <= TrapSession }

// OfScope is the reason that a verdict of the scope gives.
func OfScope(v scope.Verdict) Reason {
	return [...]Reason{scope.In: None, scope.OutOfReach: Scope, scope.WrongTLD: TLD, scope.NotIncluded: NotIncluded,
		scope.Excluded: Excluded, scope.StopListed: Portal}[v]
}

// ofTrap is the reason that a verdict on traps gives.
func ofTrap(v traps.Verdict) Reason {
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
