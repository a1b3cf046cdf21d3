package admission

import (
	"strings"
	"time"

	"henro/actors/scope"
	"henro/actors/stoplist"
	"henro/actors/traps"
	"henro/actors/urlrules"
	"henro/messages/speech"
	"henro/messages/weburl"
)

// Question is a URL with all that decides about it. What is nil is not known.
type Question struct {
	URL     weburl.URL
	From    string // the page that links to it; empty: none is named
	Depth   int    // links from its seed; 0: not known
	Failure string // why robots.txt of its host could not be had; empty: it was not asked for, or is there
	// it is known as a requisite, which may lie outside of the scope
	Requisite bool
	Scope     *scope.Scope
	Options   *Options
	Host
	Form *urlrules.Form // the page that was visited under another form of the URL; nil: none was
	Now  time.Time
}

// Finding is what one rule says of a URL.
type Finding struct {
	Rule   string          `json:"rule"`   // scope, trap, stop list, robots
	Reason Reason          `json:"reason"` // None: it may be taken
	Says   speech.Sentence `json:"says"`
}

// Why asks every rule, and goes on after the first that is against the URL: a person who asks why a page is missing
// wants all reasons at once.
func Why(q *Question) []Finding {
	return []Finding{q.scope(), q.trap(), q.stopList(), q.robots(), q.urlRules()}
}

func (q *Question) scope() Finding {
	f := Finding{Rule: "scope"}
	if q.Scope == nil {
		f.Says = speech.Say("the seeds and the scope are not known here")
		return f
	}
	part := q.Scope.Of(q.URL.Host())
	var verdict scope.Verdict
	if q.Requisite {
		verdict = part.Refuses(q.URL.String())
	} else {
		verdict = part.Decide(q.URL.String())
	}
	f.Reason, f.Says = OfScope(verdict), speech.Say(verdict.String())
	return f
}

func (q *Question) trap() Finding {
	f := Finding{Rule: "trap"}
	if q.Options == nil {
		f.Says = speech.Say("the bounds of traps are not known here")
		return f
	}
	url := q.URL.String()
	verdict := q.Options.trap(q.From, url, q.Depth)
	if verdict == traps.Fine {
		verdict = q.session(q.Options, url)
	}
	f.Reason, f.Says = ofTrap(verdict), speech.Say(verdict.String())
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
	case q.Robots == nil && q.Failure != "":
		f.Reason = Robots
		f.Says = speech.Say("robots.txt could not be fetched, which forbids everything for now: %s", q.Failure)
	case q.Robots == nil:
		f.Says = speech.Say("robots.txt of the host was not asked for yet, or its rules have expired")
	case q.Robots.Unreachable():
		f.Reason, f.Says = Robots, speech.Say("robots.txt does not answer, which forbids everything for now")
	case !q.Allowed(q.URL.String()):
		f.Reason, f.Says = Robots, speech.Say("robots.txt forbids it")
	default:
		f.Says = speech.Say("allowed")
		if use := q.Robots.Usage(q.URL.RequestURI()); len(use) > 0 {
			f.Says = speech.Say("allowed; of its use its host says: %s", strings.Join(use, "; "))
		}
	}
	return f
}

// urlRules says whether the page was visited under another form of the URL, and by which rules: those by which either
// form differs from the key that both have.
func (q *Question) urlRules() Finding {
	f := Finding{Rule: "URL rules", Says: speech.Say("no other form of it was visited")}
	if q.URLRules == nil {
		f.Says = speech.Say("the host is not known here")
	}
	if q.Form != nil {
		f.Reason = Duplicate
		f.Says = speech.Say("visited under another form at %s; it is the same page by these rules of its host: %s",
			q.Form.At, strings.Join(q.URLRules.Between(q.URL.String(), q.Form), ", "))
	}
	return f
}
