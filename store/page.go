package store

import (
	"time"

	"henro/messages"
	"henro/messages/outlink"
	"henro/store/fingerprint"
	"henro/store/seen"
)

// HostID is the fingerprint of a host's name, "scheme://name[:port]".
type HostID uint64

// IDOf returns the id of a host.
func IDOf(host string) HostID { return HostID(fingerprint.Host(host)) }

// Position is the place of the live record of a page. It is at most 32 bytes, means nothing outside its partition, and
// is never given to another record, so it may travel over the wire and come back twice. Empty: none.
type Position []byte

// Timing is what the revisit policy knows of a page, in seconds; revisit.History mirrors it.
type Timing struct {
	Interval   float32 // T: from the last visit to the next
	Total      float32 // T_total: sum of all intervals between visits
	Stable     float32 // T_stable: sum of the intervals that ended without a change
	ChangedMin float32 // tc_min: shortest interval that ended in a change
	Changes    float32 // m, a count that forgetting may make fractional
	Visits     float32 // n, likewise
	Mean       float32 // 1/λ as the policy follows it
	Drifting   float32 // its test for a change of λ
}

// Flags say something about a page that is true or not.
type Flags uint32

// The flags of a page.
const (
	NoIndex   Flags = 1 << iota // the page asks not to be indexed
	NoFollow                    // the page asks that its links not be followed
	Truncated                   // the last capture is not whole
	Dropped                     // given up: the Reason says why
	Hinted                      // a sitemap or a feed has brought the coming visit forward
)

// Imported says that what was first known of the page came from an earlier archive (henro import): that content is not
// in the archive of this crawl.
const Imported Flags = 1 << 11

// Announced says that a sitemap, a feed or a notice was right about a change of this page, so that their silence counts
// too.
const Announced Flags = 1 << 12

// Told says that a notice (POST /api/changed) has brought the coming visit forward; Hinted may be set as well.
const Told Flags = 1 << 13

// Listing says that the content is a sitemap or a feed.
const Listing Flags = 1 << 14

// Own says that the page is visited under its own name although its host is an alias: the representative does not have
// it.
const Own Flags = 1 << 15

// Scripted says that scripts make the page of what they fetch, and that they were not run.
const Scripted Flags = 1 << 16

// Awaits says that what was fetched of the page is archived, and that its scripts are still to be run: until then the
// visit does not count.
const Awaits Flags = 1 << 17

// Rendered says that the scripts were run: links and text are those of the page as a browser shows it.
const Rendered Flags = 1 << 18

// wishShift is where the flags hold the changefreq of the sitemap in which the page was found, in three bits.
const wishShift = 8

// Wish is the changefreq of the sitemap in which the page was found.
func (f Flags) Wish() outlink.Frequency { return outlink.Frequency(f >> wishShift & 7) }

// Wishing returns f with the changefreq of the sitemap in which the page was found.
func (f Flags) Wishing(wish outlink.Frequency) Flags {
	return f&^(7<<wishShift) | Flags(wish&7)<<wishShift
}

// requisiteShift is where the flags hold how far from a page a requisite is, in three bits.
const requisiteShift = 5

// Requisite is the distance of a requisite from its page: 1 for an image, 2 for the font of a style sheet. It is 0 for
// a page, even if that is a requisite as well.
func (f Flags) Requisite() uint8 {
	if from := f.Embedded(); from != outlink.PageToo {
		return from
	}
	return 0
}

// Embedded is Requisite, and outlink.PageToo for a page that is a requisite as well.
func (f Flags) Embedded() uint8 { return uint8(f >> requisiteShift & 7) }

// linked returns f with what the seen set knows: a requisite that a page links to is a page as well.
func (f Flags) linked(page bool) Flags {
	if page && f.Requisite() > 0 {
		return f.AsRequisite(outlink.PageToo)
	}
	return f
}

// Role is the word shown to users: page, or requisite for what is only there because a page is shown with it.
func (f Flags) Role() string {
	if f.Requisite() > 0 {
		return "requisite"
	}
	return "page"
}

// AsRequisite returns f for a requisite that far from its page; outlink.PageToo: for a page that is a requisite too.
func (f Flags) AsRequisite(from uint8) Flags {
	return f&^(7<<requisiteShift) | Flags(from&7)<<requisiteShift
}

// Page is the record of one URL: what was found at the last visit, and when the next is due. Moments are kept in whole
// seconds.
type Page struct {
	URL    string
	Number uint64 // unique in the crawl, given when the page is admitted
	From   uint64 // number of the page in which it was found first, 0 for seeds

	Depth     uint8 // links followed from a seed
	DepthLeft uint8 // links that may still be followed from here; outlink.UnlimitedDepth: no limit
	Band      uint8 // priority while waiting for the first visit, 0 first
	Redirects uint8 // redirects that led here in one go
	Attempts  uint8 // failed visits since the last that succeeded

	Next time.Time `json:",omitzero"` // when the next visit is due; zero: none is planned
	// when the last visit that counts for the timetable started; zero: never visited
	LastVisit    time.Time `json:",omitzero"`
	CapturedAt   time.Time `json:",omitzero"` // when the content now archived was fetched
	LastModified time.Time `json:",omitzero"` // as the host says

	Timing Timing
	Status uint16 // HTTP status of the last visit, 0 without a response
	Reason uint8  // messages.Reason of the last visit without a response
	Flags  Flags
	Says   string `json:",omitempty"` // of a page whose last visit failed, or was not whole: what the system said

	Digest     [20]byte // SHA-1 of the payload
	MainDigest uint64   // fingerprint.Main of the main content
	SimHash    uint64   // fingerprint.Sim of the main content
	ETag       string
	SameAs     string `json:",omitempty"` // the page that had the same main content first, as of the last visit
	Near       string `json:",omitempty"` // if there is none: the page that had nearly the same main content first
	Via        string `json:",omitempty"` // of a requisite that was never visited: the URL that names it
}

// Cause is why the last visit failed, or why the page was given up; zero: neither.
func (p *Page) Cause() messages.Cause {
	c := messages.CauseOf(int(p.Status), messages.Reason(p.Reason), p.Says)
	switch {
	case !c.IsZero():
	case p.Flags&Dropped != 0:
		c.Word = p.Says // given up without a visit
	case p.Flags&Truncated != 0:
		c = messages.Cause{Word: messages.Truncated, Says: p.Says}
	}
	return c
}

// Entry is a page together with where its record lies.
type Entry struct {
	Page     Page
	Position Position
}

// Place is one of the three places a record can lie in.
type Place uint8

// The places.
const (
	InFresh Place = iota + 1 // waits for its first visit
	InQueue                  // waits for its next visit
	InRest                   // no visit is planned
)

// String returns the word shown to users.
func (p Place) String() string {
	return [...]string{"nowhere", "fresh", "queue", "rest"}[min(p, 3)]
}

// HostRecord is what is kept of one host. The counts and the load are kept by the store and ignored by PutHost.
type HostRecord struct {
	ID          HostID
	Name        string    // "scheme://name[:port]"
	NextAllowed time.Time `json:",omitzero"` // no request may start earlier; whole milliseconds, rounded up
	Flags       uint32    // the owner's
	Rates       []uint32  // histogram of the change rates of its pages; the owner says which bin is what
	Politeness  []byte    // politeness.State
	Robots      []byte    // robots.Rules
	RobotsUntil time.Time `json:",omitzero"` // when the rules must be asked for again

	AskedAt time.Time         `json:",omitzero"`  // end of its last request; zero: it was never asked
	GivenUp uint64            `json:",omitempty"` // pages given up
	Errors  map[string]uint64 `json:",omitempty"` // visits that failed, by the word of their messages.Cause
	Failure Failure           `json:",omitzero"`  // the last request that the host failed
	Cookies []byte            `json:"-"`          // of crawls that keep them, as package cookies does: a secret

	Waiting uint64  // pages waiting for their first visit
	Known   uint64  // URLs in the seen set
	Visited uint64  // pages visited at least once
	Load    float64 // L = Σ 1/T over the pages to be visited again, per second: equation (6)
}

// SetBack is by how much the clock was set back since the host was asked, as far as that shows.
func (h *HostRecord) SetBack(now time.Time) time.Duration { return max(0, h.AskedAt.Sub(now)) }

// Failure is a request that a host failed: it did not answer, or with a 5xx or 429.
type Failure struct {
	At     time.Time // zero: there was none
	Since  time.Time // the first of those in a row that failed so
	Status uint16
	Reason uint8 // messages.Reason
	Says   string
}

// Cause is why the request failed; zero: there was none.
func (f *Failure) Cause() messages.Cause {
	return messages.CauseOf(int(f.Status), messages.Reason(f.Reason), f.Says)
}

// MaxErrors bounds the words that HostRecord.Errors counts by: there are 18 reasons, and some ten statuses that hosts
// use.
const MaxErrors = 40

// Had is how many pages were visited and not given up.
func (h *HostRecord) Had() uint64 { return h.Visited - min(h.Visited, h.GivenUp) }

// CountError counts a visit that failed.
func (h *HostRecord) CountError(word string, n uint64) {
	if h.Errors == nil {
		h.Errors = map[string]uint64{}
	}
	if _, known := h.Errors[word]; known || len(h.Errors) < MaxErrors {
		h.Errors[word] += n
	}
}

// ErrorCount is how many visits failed.
func (h *HostRecord) ErrorCount() (n uint64) {
	for _, count := range h.Errors {
		n += count
	}
	return n
}

// Lease is the exclusive right to ask one host, lent to a slave.
type Lease struct {
	ID       uint64
	Host     HostID
	HostName string
	Slave    string
	Boot     string
	Until    time.Time // the end as the master believes it
	Seq      uint64    // facts stored up to here
	Data     []byte    // the owner's
}

// Candidate is a URL in scope that may become a page.
type Candidate struct {
	URL       string
	Host      string // may be left empty: weburl.HostOf(URL)
	Depth     uint8
	DepthLeft uint8
	Band      uint8  // at most LastBand
	Redirects uint8  // at most outlink.MaxRedirects
	Requisite uint8  // as Flags.Embedded: how far from a page
	From      uint64 // number of the page in which it was found

	Via string // of a requisite: the URL that names it

	// Rises: the page, if it waits, waits in a worse band than Band, but not in RetryBand, and rises to Band. This and
	// what follows is not kept for candidates of other partitions.
	Rises bool

	Priority  outlink.Priority  // of the sitemap in which it was found
	Frequency outlink.Frequency // its changefreq
}

// Reach is what the seen set keeps of the candidate.
func (c *Candidate) Reach() uint8 {
	return seen.Reach(Flags(0).AsRequisite(c.Requisite).Requisite() == 0, c.DepthLeft)
}

// LastBand is the last priority a candidate can have. AwaitBand behind it holds pages that were fetched and whose
// scripts are still to be run (Awaits), RetryBand those whose first visit must be tried again.
const (
	LastBand  = 253
	AwaitBand = 254
	RetryBand = 255
)

// Visited says what came of one visit.
type Visited struct {
	Position Position // as read; empty: the page was followed inside a lease
	Page     Page     // the new state; Next decides where it goes, zero is rest
	// Retry says that the visit does not count. A page never visited goes back to the end of fresh, in RetryBand, to be
	// asked for again at Page.Next; a page visited before is queued for Page.Next.
	Retry bool
	Links []outlink.Outlink // the outlinks found; nil: as before; empty: none any more
	Near  []byte            // fingerprint.Near of the main content; empty: unknown, as before, or of few words
}

// Relaxation is a page that was visited with less depth left than it turned out to have. Its links in scope are to be
// admitted with outlink.DepthAfter(DepthLeft), and the relaxation ticked off in the same batch.
type Relaxation struct {
	Host      HostID
	URL       string
	Depth     uint8
	DepthLeft uint8
	Redirects uint8             // in a row that lead there
	Links     []outlink.Outlink // as stored at the last visit
}

// Parcel is a group of candidates waiting in the outbox for another partition.
type Parcel struct {
	Key        []byte // for Batch.Sent
	Partition  int
	Candidates []Candidate
}
