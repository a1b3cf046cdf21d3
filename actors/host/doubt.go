package host

import (
	"math"
	"slices"
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

// terms bound what can truly be reported under a lease.
type terms struct {
	restored bool      // the lease was read from disk: what it lent and when it began is not known
	since    time.Time // when it was prepared: no request of it is older
	visits   int       // reported
	follow   bool      // visits of pages that were not lent may be reported
	robots   bool      // rules of robots.txt may be reported
	answers  int       // of robots.txt, reported
	learned  bool      // a robots.txt that could be had, or redirects elsewhere, was reported
	// depths of the pages lent, each once; a page that was followed is links deeper than one of them
	depths   []place
	reported map[uint64]struct{} // fingerprints of positions of pages lent and of URLs of pages followed
	// places of the pages whose scripts are still to be run, by the fingerprint of their URL
	awaiting map[uint64]place
}

// place is how deep a page is, and how many links may still be followed from it.
type place struct{ depth, left uint8 }

const (
	// ageSlack is how long before its lease a request may have begun by its report, and how long after the report it
	// may have ended: the clocks of two machines run at different speeds, and either may have slept.
	ageSlack = time.Minute
	// restoredAge bounds the age of requests under a restored lease.
	restoredAge = 30 * 24 * time.Hour
	// maxSeqAhead bounds how far facts overtake each other: a report holds far fewer.
	maxSeqAhead = 1 << 20
	// maxVisits is beyond the visits of a lease, and bounds what is remembered of them.
	maxVisits = 2 * maxBudget
	// maxParts bounds the facts that bring links of a page ahead of it. A page has 50,000 links at most.
	maxParts = 1 << 10
	// maxRetryAfter is the bound of package fetch.
	maxRetryAfter = 24 * time.Hour
	// maxRobotsAnswers is beyond the five redirects of RFC 9309 2.3.1.2 and the file.
	maxRobotsAnswers = 64
	// maxBodyBytes is far beyond any body that is read within a lease.
	maxBodyBytes = 1 << 40
	// maxCookies is the bound of package cookies.
	maxCookies = 24 << 10
)

func termsOf(task *messages.HostTask, pages map[string]store.Page, now time.Time) terms {
	t := terms{since: now, follow: task.Follow, robots: len(task.Robots) == 0}
	for _, page := range pages {
		if at := (place{page.Depth, page.DepthLeft}); !slices.Contains(t.depths, at) {
			t.depths = append(t.depths, at)
		}
	}
	return t
}

// doubt says why a fact cannot be true; empty: it can. Facts taken already are sent again and are not looked at.
func (l *openLease) doubt(f *messages.Fact, j *judge) string {
	switch {
	case f.Seq == 0 || f.Seq > l.processed && f.Seq-l.processed > maxSeqAhead:
		return "a number that no fact of the lease has"
	case f.Seq != l.processed+1:
		return ""
	}
	kinds := 0
	for _, is := range []bool{f.Visited != nil, f.Rules != nil, f.Finished != nil, f.More != nil} {
		if is {
			kinds++
		}
	}
	switch {
	case kinds != 1:
		return "a fact that says nothing, or several things"
	case f.Visited != nil:
		return l.doubtVisit(f.Visited, j)
	case f.Rules != nil:
		return l.terms.doubtRobots(f.Rules, j.now)
	case f.More != nil && l.parts >= maxParts:
		return "more links than a page has"
	}
	return ""
}

// within reports that the lease was there ns nanoseconds ago.
func (t *terms) within(ns int64, now time.Time) bool {
	age := restoredAge
	if !t.restored { // the monotonic clock stands still while a machine sleeps
		age = max(now.Sub(t.since), now.Round(0).Sub(t.since.Round(0)))
	}
	return ns >= 0 && time.Duration(ns) <= age+ageSlack
}

// doubtRequest looks at what visits and answers of robots.txt have in common.
func (t *terms) doubtRequest(status uint32, reason messages.Reason, took, ago, retryAfter int64, now time.Time) string {
	switch {
	case !t.within(ago, now):
		return "a request in the future, or before the lease"
	case took < 0 || took > ago+int64(ageSlack):
		return "a request that ended in the future, or before it began"
	case retryAfter < 0 || retryAfter > int64(maxRetryAfter):
		return "a Retry-After that is negative, or longer than a day"
	case reason < 0 || reason > math.MaxUint8 || status > 999 || reason == messages.Reason_NONE && status < 100:
		return "a status that no response has"
	}
	return ""
}

func (t *terms) doubtRobots(v *messages.RulesVisited, now time.Time) string {
	if why := t.doubtRequest(v.Status, v.Reason, v.TookNs, v.AgoNs, v.RetryAfterNs, now); why != "" {
		return why
	}
	if !t.robots || t.answers >= maxRobotsAnswers {
		return "a robots.txt that was not to be asked for"
	}
	t.answers++
	rules := new(robots.Rules)
	if len(v.Rules) > 0 && v.Location == "" {
		if err := rules.UnmarshalBinary(v.Rules); err != nil {
			return "rules of robots.txt that cannot be read"
		}
		if v.Reason != messages.Reason_NONE && !rules.Unreachable() {
			return "rules of a robots.txt that was not reached"
		}
	}
	if learns := v.Location != "" || len(v.Rules) > 0 && !rules.Unreachable(); learns {
		if t.learned {
			return "a second robots.txt"
		}
		t.learned = true
	}
	return ""
}

func (l *openLease) doubtVisit(v *messages.PageVisited, j *judge) string {
	t := &l.terms
	if why := t.doubtRequest(v.Status, v.Reason, v.TookNs, v.AgoNs, v.RetryAfterNs, j.now); why != "" {
		return why
	}
	page, lent := l.pages[string(v.Position)]
	lent = lent && len(v.Position) > 0
	key := fingerprint.URL(v.Url)
	if len(v.Position) > 0 {
		key = fingerprint.URL(string(v.Position))
	}
	_, again := t.reported[key]
	at := place{uint8(v.Depth), admission.DepthLeft(v.DepthLeft)}
	rendered := v.Unasked && len(v.Position) == 0 && t.awaited(key, at)
	switch {
	case !isURL(v.Url, &page, j.name):
		return "a page that is no URL of the host"
	case len(v.Position) > 0 && !lent:
		return "a position that was not lent"
	case lent && page.URL != "" && !same(v.Url, page.URL):
		return "another page than was lent at its position"
	case again && !t.restored && !rendered:
		return "the same page twice"
	case t.visits >= maxVisits:
		return "more visits than the lease allows"
	case v.BodyBytes > maxBodyBytes:
		return "a payload larger than any that is read"
	case len(v.Cookies) > maxCookies:
		return "more cookies than are kept"
	case deeper(v):
		return "a depth that no page has"
	case len(v.Via) > weburl.MaxLength:
		return "a requisite of a page whose URL is too long"
	case lent && page.URL != "", rendered:
	case !t.follow:
		return "a page that was not lent, and not to be followed"
	case !t.restored && !t.reaches(at, &j.o.Admission):
		return "a depth that no link leads to"
	case !t.restored && j.regions.Of(j.name).Decide(v.Url) == scope.OutOfReach:
		return "a page outside the scope"
	}
	if t.reported == nil {
		t.reported, t.awaiting = map[uint64]struct{}{}, map[uint64]place{}
	}
	if v.RenderAfterNs > 0 {
		t.awaiting[fingerprint.URL(v.Url)] = at
	}
	t.reported[key] = struct{}{}
	t.visits++
	return ""
}

// deeper reports that a page would lie where none does.
func deeper(v *messages.PageVisited) bool {
	return v.Depth < 0 || v.Depth > outlink.MaxDepth || v.DepthLeft >= outlink.UnlimitedDepth ||
		v.Redirects > math.MaxUint8 || v.Attempts > math.MaxUint8
}

// awaited reports that a page was reported under the lease, and that its scripts were still to be run.
func (t *terms) awaited(key uint64, at place) bool {
	before, awaited := t.awaiting[key]
	return t.restored || awaited && before == at
}

// isURL reports that a text is a URL of the host, in its canonical form. That of the page lent is.
func isURL(url string, lent *store.Page, host string) bool {
	if url != "" && url == lent.URL {
		return true
	}
	u, err := weburl.Parse(url)
	return err == nil && u.String() == url && u.Host() == host
}

// same reports that a URL, which the slave has read and written again, is that of the page lent.
func same(url, lent string) bool {
	if url == lent {
		return true
	}
	read, err := weburl.Parse(lent)
	return err == nil && read.String() == url
}

// reaches reports that a page followed inside the lease can be at a place: each link on the way takes one off what is
// left, and a redirect takes none. Less left than the page has does no harm: the links to it say how much it has.
func (t *terms) reaches(to place, r *admission.Options) bool {
	for _, p := range t.depths {
		links, left := int(to.depth)-int(p.depth), int(p.left)
		switch {
		case links < 0:
			continue
		case left == outlink.UnlimitedDepth || r.Selective && r.Depth < 0:
			return true
		case r.Selective: // the count begins again behind a page in a language that is wanted
			left = max(left, r.Depth)
		case to.depth < outlink.MaxDepth:
			left -= links
		}
		if int(to.left) <= left {
			return true
		}
	}
	return false
}
