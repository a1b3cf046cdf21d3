package host

import (
	"math"
	"strings"
	"testing"
	"time"

	"henro/actors/admission"
	"henro/actors/robots"
	"henro/actors/scope"
	"henro/messages"
	"henro/messages/outlink"
	"henro/messages/weburl"
	"henro/store"
	"henro/store/fingerprint"
)

// Each thing that a slave cannot have seen is refused by its own words, and what is just within the bounds is taken.
func TestEveryFactThatCannotBeIsDoubted(t *testing.T) {
	const name = "http://a.example"
	all, err := scope.New(scope.Options{Mode: scope.Prefix})
	if err != nil {
		t.Fatal(err)
	}
	now := time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)
	const age = int64(10 * time.Second) // of the lease
	disallow, err := robots.Judge(200, false, []byte("User-agent: *\nDisallow: /x\n"), "henro").MarshalBinary()
	if err != nil {
		t.Fatal(err)
	}
	type (
		page       = messages.PageVisited
		robotsFile = messages.RulesVisited
	)
	type change struct {
		says   string // "": it is taken
		fact   func(*messages.Fact)
		before func(*openLease)
	}
	visit := func(f func(*messages.PageVisited)) func(*messages.Fact) {
		return func(fact *messages.Fact) { f(fact.Visited) }
	}
	followed := func(f func(*messages.PageVisited)) func(*messages.Fact) {
		return visit(func(v *messages.PageVisited) {
			v.Position, v.Url, v.Depth, v.DepthLeft = nil, name+"/in/next", 3, 1
			f(v)
		})
	}
	file := func(f func(*messages.RulesVisited)) func(*messages.Fact) {
		return func(fact *messages.Fact) {
			fact.Visited, fact.Rules = nil, &messages.RulesVisited{Status: 200, Rules: disallow}
			f(fact.Rules)
		}
	}
	more := func(fact *messages.Fact) { fact.Visited, fact.More = nil, &messages.LinkSet{} }
	for sentence, c := range map[string]change{
		"as it may be":         {"", func(*messages.Fact) {}, nil},
		"no number":            {"a number", func(f *messages.Fact) { f.Seq = 0 }, nil},
		"a number far ahead":   {"a number", func(f *messages.Fact) { f.Seq = 5 + maxSeqAhead }, nil},
		"one that overtook":    {"", func(f *messages.Fact) { f.Seq = 4 + maxSeqAhead; f.Visited = nil }, nil},
		"nothing":              {"says nothing", func(f *messages.Fact) { f.Visited = nil }, nil},
		"two things":           {"several", func(f *messages.Fact) { f.Finished = &messages.LeaseFinished{} }, nil},
		"the last part":        {"", more, func(l *openLease) { l.parts = maxParts - 1 }},
		"a part too many":      {"more links", more, func(l *openLease) { l.parts = maxParts }},
		"as old as the lease":  {"", visit(func(v *page) { v.AgoNs = age }), nil},
		"older than the lease": {"before the lease", visit(func(v *page) { v.AgoNs = age + int64(ageSlack) + 1 }), nil},
		"in the future":        {"in the future", visit(func(v *page) { v.AgoNs = -1 }), nil},
		"took no time":         {"before it began", visit(func(v *page) { v.TookNs = -1 }), nil},
		"takes until later":    {"ended in the future", visit(func(v *page) { v.TookNs = int64(ageSlack) + 1 }), nil},
		"a wait of a day":      {"", visit(func(v *page) { v.RetryAfterNs = int64(maxRetryAfter) }), nil},
		"a longer wait": {"Retry-After",
			visit(func(v *page) { v.RetryAfterNs = int64(maxRetryAfter) + 1 }), nil},
		"a wait until before": {"Retry-After", visit(func(v *page) { v.RetryAfterNs = -1 }), nil},
		"no status":           {"a status", visit(func(v *page) { v.Status = 0 }), nil},
		"no status, a reason": {"", visit(func(v *page) { v.Status, v.Reason = 0, messages.Reason_TIMEOUT }), nil},
		"a status of 1000":    {"a status", visit(func(v *page) { v.Status = 1000 }), nil},
		"a reason below 0":    {"a status", visit(func(v *page) { v.Reason = -1 }), nil},
		"a reason of 256":     {"a status", visit(func(v *page) { v.Reason = 256 }), nil},
		"another host":        {"no URL of the host", visit(func(v *page) { v.Url = "http://b.example/" }), nil},
		"no URL":              {"no URL of the host", visit(func(v *page) { v.Url = "" }), nil},
		"another form":        {"no URL of the host", visit(func(v *page) { v.Url = name + "/in/../in/page" }), nil},
		"no such position":    {"was not lent", visit(func(v *page) { v.Position = []byte("q") }), nil},
		"another page":        {"another page", visit(func(v *page) { v.Url = name + "/in/other" }), nil},
		"the visits of a lease": {"more visits", func(*messages.Fact) {}, func(l *openLease) {
			l.terms.visits = maxVisits
		}},
		"a large payload":   {"", visit(func(v *page) { v.BodyBytes = maxBodyBytes }), nil},
		"a larger payload":  {"a payload", visit(func(v *page) { v.BodyBytes = maxBodyBytes + 1 }), nil},
		"many cookies":      {"", visit(func(v *page) { v.Cookies = make([]byte, maxCookies) }), nil},
		"more cookies":      {"more cookies", visit(func(v *page) { v.Cookies = make([]byte, maxCookies+1) }), nil},
		"a depth below 0":   {"a depth that no page", visit(func(v *page) { v.Depth = -1 }), nil},
		"beyond all depths": {"a depth that no page", visit(func(v *page) { v.Depth = outlink.MaxDepth + 1 }), nil},
		"depth without end": {"a depth that no page",
			visit(func(v *page) { v.DepthLeft = outlink.UnlimitedDepth }), nil},
		"many redirects": {"a depth that no page", visit(func(v *page) { v.Redirects = math.MaxUint8 + 1 }), nil},
		"many attempts":  {"a depth that no page", visit(func(v *page) { v.Attempts = math.MaxUint8 + 1 }), nil},
		"a long via": {"a requisite",
			visit(func(v *page) { v.Via = strings.Repeat("x", weburl.MaxLength+1) }), nil},
		"followed": {"", followed(func(*page) {}), nil},
		"not to be followed": {"not to be followed", followed(func(*page) {}), func(l *openLease) {
			l.terms.follow = false
		}},
		"shown, as it was to be": {"", followed(func(v *page) { v.Unasked = true }), func(l *openLease) {
			l.terms.follow = false
			l.terms.awaiting = map[uint64]place{fingerprint.URL(name + "/in/next"): {3, 1}}
		}},
		"shown, at another depth": {"not to be followed", followed(func(v *page) { v.Unasked, v.Depth = true, 2 }),
			func(l *openLease) {
				l.terms.follow = false
				l.terms.awaiting = map[uint64]place{fingerprint.URL(name + "/in/next"): {3, 1}}
			}},
		"shown, and nothing awaited": {"not to be followed", followed(func(v *page) { v.Unasked = true }),
			func(l *openLease) { l.terms.follow = false }},
		"followed from nowhere": {"no link leads to", followed(func(v *page) { v.Depth = 1 }), nil},
		"deeper than it may be": {"no link leads to", followed(func(v *page) { v.DepthLeft = 2 }), nil},
		"followed out of scope": {"outside the scope", followed(func(v *page) { v.Url = name + "/out/page" }), nil},
		"robots.txt":            {"", file(func(*robotsFile) {}), nil},
		"robots.txt unasked": {"not to be asked for",
			file(func(*robotsFile) {}), func(l *openLease) { l.terms.robots = false }},
		"answers without end": {"not to be asked for", file(func(*robotsFile) {}), func(l *openLease) {
			l.terms.answers = maxRobotsAnswers
		}},
		"rules of garbage": {"cannot be read", file(func(v *robotsFile) { v.Rules = []byte("x") }), nil},
		"rules without a file": {"was not reached",
			file(func(v *robotsFile) { v.Reason, v.Status = messages.Reason_TIMEOUT, 0 }), nil},
		"a second robots.txt": {"a second",
			file(func(*robotsFile) {}), func(l *openLease) { l.terms.learned = true }},
		"robots.txt of tomorrow": {"in the future", file(func(v *robotsFile) { v.AgoNs = -1 }), nil},
	} {
		b := New(DefaultOptions(), name, admission.Remember(all.With(weburl.MustParse(name+"/in/"))))
		b.o.Admission.Depth = 4
		b.now = now
		lent := store.Page{URL: name + "/in/page", Depth: 2, DepthLeft: 2}
		b.loan.lease = &openLease{processed: 4, pages: map[string]store.Page{"p": lent}, terms: terms{
			since: now.Add(-time.Duration(age)), follow: true, robots: true, depths: []place{{2, 2}}}}
		if c.before != nil {
			c.before(b.loan.lease)
		}
		fact := &messages.Fact{Seq: 5, Visited: &messages.PageVisited{Url: lent.URL, Position: []byte("p"), Depth: 2,
			DepthLeft: 2, Status: 200}}
		c.fact(fact)
		if why := b.loan.lease.doubt(fact, b.judge); (why == "") != (c.says == "") || !strings.Contains(why, c.says) {
			t.Errorf("%s: %q, want %q", sentence, why, c.says)
		}
		if fact.Visited == nil || c.says != "" {
			continue
		}
		b.loan.lease.processed = 5
		again := &messages.Fact{Seq: 6, Visited: fact.Visited}
		if why := b.loan.lease.doubt(again, b.judge); why != "the same page twice" {
			t.Errorf("%s, and again: %q", sentence, why)
		}
	}
}
