// Package robots reads robots.txt as RFC 9309 defines it and answers whether a URL may be fetched.
//
// The idea: a crawler is one agent, so of a whole file only the group that applies to it is worth keeping. Parse finds
// that group (or, when no group names the agent, the one for "*"), brings its patterns and later the asked path into
// one percent-encoded form, and compiles them: plain prefixes into a sorted table in which each entry knows the best
// verdict of all prefixes of itself, so that the longest match is one binary search, and the few patterns with
// wildcards into segments. What is marshalled is that group, the crawl delay and the sitemaps, nothing else.
//
// Where the RFC leaves room, the reading of google/robotstxt is taken, because site owners test against it: misspelt
// keys, a missing colon, a byte order mark, bare CR as line end, and lines of other records neither open nor close a
// group. Where Google's parser and the RFC differ (percent-encoded unreserved characters, %2A and %24 standing for
// themselves, lower-case hex digits in the asked path), the RFC is followed. The parser is our own: on real files it
// answers 99.99 % of the questions as google/robotstxt does, its port grobotstxt 99.96 % (TestRealFiles).
//
// Invariants:
//   - A file cut for its size (512 KiB read, 100 kB marshalled) never allows what the whole file forbids.
//   - An answer that says nothing about the rules (5xx, 429, no answer) forbids everything. The file is asked for again
//     after 5 minutes, then ever more rarely (Retry); after 30 days the last known rules apply again, or, without any,
//     everything is allowed (Settle, RFC 9309 2.3.1.4).
//   - Marshalling is deterministic: the same rules give the same bytes, in whatever order the file had them.
//   - A Rules value is immutable and safe for concurrent use.
package robots

import (
	"time"
)

// Limits. They are constants of the formats involved, not choices of a crawl.
const (
	// MaxBody is how much of a robots.txt is read: RFC 9309 2.5 asks for at least 500 KiB. A line cut by the limit is
	// dropped.
	MaxBody = 512 << 10
	// MaxMarshalled bounds what MarshalBinary returns, so that it fits into one message and one record.
	MaxMarshalled = 100_000
	// maxLine is what is read of one line, google/robotstxt's value: eight times the longest URL that browsers take.
	maxLine = 2083 * 8
	// maxSitemaps bounds the sitemap addresses kept of one file.
	maxSitemaps = 1000
	// maxDelay bounds a Crawl-delay as it is stored. Package politeness bounds what is obeyed.
	maxDelay = 30 * 24 * time.Hour
)

// kind says where rules come from.
type kind uint8

const (
	parsed      kind = iota // a file was read
	unavailable             // there is no file: everything is allowed
	_                       // never written
	unreachable             // the host did not say: everything is disallowed for now
)

// Rules says what one agent may fetch from one host. The zero value allows everything.
type Rules struct {
	kind     kind
	cut      bool     // something was left out to keep within a limit
	rules    []rule   // the group that applies, in canonical order
	delay    int64    // Crawl-delay in milliseconds, -1 without one (0 is a wish like any other)
	sitemaps []string // addresses as written, in order, without repeats; may be relative
	usage    []usage  // what is said of the use of pages, sorted; also where there is no file (tdmrep.json)

	prefixes []prefix // compiled from rules: patterns without wildcards, sorted by text
	wild     []wild   // compiled from rules: patterns with wildcards, the most octets first
}

// rule is one line Allow or Disallow, its pattern in normal form (see normalPattern). Its weight, which decides between
// several that match, is the length of the pattern in octets (RFC 9309 2.2.2).
type rule struct {
	pattern string
	allow   bool
}

// AllowAll returns the rules of a host without robots.txt.
func AllowAll() *Rules { return &Rules{kind: unavailable, delay: -1} }

// Unreached returns the rules of a host that did not answer for its robots.txt: nothing is allowed until it does.
func Unreached() *Rules { return &Rules{kind: unreachable, delay: -1} }

// Judge turns the outcome of asking for /robots.txt, redirects followed, into rules (RFC 9309 2.3.1):
//
//	2xx                    the body is parsed
//	3xx                    more redirects than are followed: as if there were no file (2.3.1.2)
//	4xx but 429            there is no file: everything is allowed (2.3.1.3)
//	429, 5xx, others       unreachable: everything is disallowed (2.3.1.4), until Settle says otherwise
//	failed                 no answer (DNS, connection, time-out, TLS): unreachable
//
// The RFC counts 429 among the 4xx. It is put to the unreachable ones, as Google does, because a host that is asking
// for fewer requests does not mean that there are no rules. A body is read as far as it came: a failed transfer must be
// given as failed.
func Judge(status int, failed bool, body []byte, agent string) *Rules {
	switch {
	case failed:
		return Unreached()
	case status >= 200 && status < 300:
		return Parse(body, agent)
	case status == 429:
		return Unreached()
	case status >= 300 && status < 500:
		return AllowAll()
	}
	return Unreached()
}

// Spans of RFC 9309 2.3.1.4 and 2.4.
const (
	// Fresh is how long rules may be used: RFC 9309 2.4 says not more than 24 hours. A file that cannot be had is asked
	// for once in as long, too.
	Fresh = 24 * time.Hour
	// FirstRetry and LastRetry bound the wait before a file that could not be had is asked for again, in the first day.
	FirstRetry = 5 * time.Minute
	LastRetry  = time.Hour
	// GivenUp is the "reasonably long period" of 2.3.1.4 after which an unreachable file may be treated as unavailable.
	GivenUp = 30 * 24 * time.Hour
)

// Retry returns how long to wait before a file is asked for again that could not be had for so long: as long again,
// from 5 minutes to an hour; after a day 1/24 of it, so that the wait grows from an hour to a day in 24 days. It
// depends on the length of the outage alone, so stopping and starting in between leads to no more requests.
func Retry(outage time.Duration) time.Duration {
	return min(max(FirstRetry, min(outage, LastRetry), outage/24), Fresh)
}

// Settle returns the rules to obey once asked says what the latest answer was. While the file is unreachable everything
// is disallowed; once it has been so for 30 days the rules kept from before hold again, or, if there never were any,
// the file counts as unavailable (RFC 9309 2.3.1.4). unreachableFor is the time since the first failure in a row.
func Settle(asked, kept *Rules, unreachableFor time.Duration) *Rules {
	switch {
	case !asked.Unreachable() || unreachableFor < GivenUp:
		return asked
	case kept != nil && !kept.Unreachable():
		return kept
	}
	return AllowAll()
}

// Unreachable reports whether r forbids everything only because the host did not say what it wants.
func (r *Rules) Unreachable() bool { return r != nil && r.kind == unreachable }

// Found reports whether r comes from a file.
func (r *Rules) Found() bool { return r != nil && r.kind == parsed }

// CrawlDelay returns the delay the host wishes between two requests, and whether it names one. It is not part of the
// RFC; package politeness says how far it is obeyed.
func (r *Rules) CrawlDelay() (time.Duration, bool) {
	if r == nil || r.kind != parsed || r.delay < 0 {
		return 0, false
	}
	return time.Duration(r.delay) * time.Millisecond, true
}

// Sitemaps returns the addresses of the Sitemap lines as written, whatever group they stand in, without repeats. Some
// are relative: resolve them against the robots.txt. The slice must not be changed.
func (r *Rules) Sitemaps() []string {
	if r == nil {
		return nil
	}
	return r.sitemaps
}

// Len returns the number of Allow and Disallow lines that apply.
func (r *Rules) Len() int {
	if r == nil {
		return 0
	}
	return len(r.rules)
}
