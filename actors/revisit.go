package actors

import (
	"cmp"
	"fmt"
	"math/rand/v2"
	"net/http"
	"time"

	"henro/actors/admission"
	"henro/actors/floor"

	"github.com/asynkron/protoactor-go/actor"
	"github.com/sirupsen/logrus"

	"henro/actors/politeness"
	"henro/actors/revisit"
	"henro/messages"
	"henro/messages/outlink"
	"henro/store"
)

type (
	// visitMade is one visit that a Host asks its Revisit to judge.
	visitMade struct {
		fact    *messages.PageVisited
		old     store.Page // as lent; zero when the page was followed inside the lease
		started time.Time
		links   []outlink.Outlink // nil: none were looked for
		wish    outlink.Frequency // changefreq of a page that was followed inside the lease
	}
	// pagesVisited asks for the timing of a group of visits.
	pagesVisited struct {
		lease    uint64
		seq      uint64 // of the last fact in the group
		finished bool   // the lease ended with it
		pressing bool   // the slave waits for it to be stored
		visits   []visitMade
		prior    revisit.Prior   // what the host's pages suggest for one that is new
		plan     politeness.Plan // of the host's relief
		hints    revisit.Claims  // track record of the host's sitemaps and feeds
		modified revisit.Claims  // and of its Last-Modified
	}
	// finding is what one visit told of its page's changes.
	finding struct {
		gap     time.Duration // since the visit before; 0: nothing was told
		changed bool
		// between changes, as it was estimated before; the host's, of a page of which nothing was known
		mean   time.Duration
		since  time.Duration // from Last-Modified to Date; 0: it said nothing
		hinted bool          // a hint had brought the visit forward
		waited bool          // and was right, most likely
	}
	// pagesTimed answers pagesVisited.
	pagesTimed struct {
		asked  *pagesVisited
		visits []store.Visited
		found  []finding // by visit
		totals Totals
	}
)

// Revisit is the timing actor of one host: it judges what a visit says about its page, whether it changed, and when it
// is due next. It answers in the order it is asked, so its Host can put what must come last behind everything else.
type Revisit struct {
	*hostEnvironment
	log *logrus.Entry
	rnd *rand.Rand
}

func revisitProps(e *hostEnvironment) *actor.Props {
	return actor.PropsFromProducer(func() actor.Actor {
		return &Revisit{
			hostEnvironment: e, log: e.log.WithFields(logrus.Fields{"actor": "revisit", "host": e.name}),
			rnd: rand.New(rand.NewPCG(uint64(store.IDOf(e.name)), uint64(time.Now().UnixNano()))),
		}
	})
}

// Failed implements floor.Restartable: its Host fails with it.
func (r *Revisit) Failed(actor.Context, any) {}

// Receive is the table of contents.
func (r *Revisit) Receive(ctx actor.Context) {
	switch m := ctx.Message().(type) {
	case *pagesVisited:
		answer := &pagesTimed{asked: m}
		for i := range m.visits {
			visited, found := r.judge(m, &m.visits[i], &answer.totals)
			answer.visits, answer.found = append(answer.visits, visited), append(answer.found, found)
		}
		ctx.Respond(answer)
	case actor.SystemMessage, actor.AutoReceiveMessage:
	default:
		floor.Unhandled(ctx, r.log)
	}
}

// judge makes the page's new record out of the old one and what the visit found.
func (r *Revisit) judge(asked *pagesVisited, made *visitMade, totals *Totals) (store.Visited, finding) {
	v := made.fact
	page := made.old
	if page.URL == "" {
		page = store.Page{
			URL: v.Url, Depth: uint8(min(v.Depth, 255)), DepthLeft: admission.DepthLeft(v.DepthLeft),
			Redirects: uint8(min(v.Redirects, 255)), Attempts: uint8(min(v.Attempts, 255)),
			Flags: store.Flags(0).Wishing(made.wish),
		}
	}
	out := store.Visited{Position: v.Position, Links: made.links}
	known := !page.LastVisit.IsZero()
	if v.Status != http.StatusNotModified || !known { // of what is archived
		page.Status = uint16(v.Status)
	}
	page.Reason = uint8(v.Reason)

	ours := v.Reason == messages.Reason_NOT_ARCHIVED || v.Reason == messages.Reason_CANCELED // not the page's fault
	if ours || passing(v) && int(page.Attempts) < r.Retries {
		if !ours {
			page.Attempts++
		}
		page.Next = time.Now().Add(r.RetryWait << min(max(page.Attempts, 1)-1, 10))
		out.Page, out.Retry, out.Links = page, true, nil
		return out, finding{}
	}
	switch {
	case v.Reason != messages.Reason_NONE:
		totals.err(v.Reason.String(), 1)
		out.Links = nil
		if !r.Continuous || v.Reason == messages.Reason_ROBOTS_DENIED {
			page.Flags |= store.Dropped
		}
	case known:
		totals.Revisits++
	default:
		totals.Pages++
	}
	if v.Status >= 400 {
		totals.err(fmt.Sprintf("HTTP %d", v.Status), 1)
	}
	totals.Links += uint64(len(out.Links))
	totals.Bytes += v.BodyBytes

	hinted := page.Flags&store.Hinted != 0
	page.Attempts, page.Flags = 0, page.Flags&^store.Hinted
	if r.Continuous && known && (v.Reason != messages.Reason_NONE || v.Status >= 400) {
		out.Links = nil
		r.backOff(&page, made)
		out.Page = page
		return out, finding{}
	}
	found := r.time(&page, made, asked, hinted)
	page.LastVisit = made.started
	if r.Continuous && v.Status == http.StatusGone {
		page.Next, page.Timing.Interval = time.Time{}, 0
	}
	out.Page = page
	return out, found
}

// backOff times a known page that was not to be had. What is known of it stays: its history, its validators and
// digests, so that a page which returns unchanged is seen to be unchanged, and LastVisit, from which the gap to the
// next change is reckoned. It is asked for again after twice as long each time, from a day on; one that is gone (410)
// is asked for no more.
func (r *Revisit) backOff(page *store.Page, made *visitMade) {
	if made.fact.Status == http.StatusGone {
		page.Next, page.Timing.Interval = time.Time{}, 0
		return
	}
	wait := max(time.Duration(2*float64(page.Timing.Interval)*float64(time.Second)), aDay)
	wait = min(wait, r.Revisit.Max)
	page.Timing.Interval = float32(wait.Seconds())
	page.Next = made.started.Add(wait)
}

// passing reports that a visit failed in a way that may pass.
func passing(v *messages.PageVisited) bool {
	switch v.Reason {
	case messages.Reason_NONE:
		return v.Status == 429 || v.Status >= 502 && v.Status <= 504
	case messages.Reason_DNS_NOT_FOUND, messages.Reason_ADDRESS_FORBIDDEN, messages.Reason_MALFORMED,
		messages.Reason_HEADERS_TOO_LARGE,
		messages.Reason_ROBOTS_DENIED, messages.Reason_REDIRECT_LOOP:
		return false
	}
	return true
}

// time decides when the page is due next, from what is known of its changes.
func (r *Revisit) time(page *store.Page, made *visitMade, asked *pagesVisited, hinted bool) (found finding) {
	v := made.fact
	history := revisit.History(page.Timing)
	if v.Reason == messages.Reason_NONE {
		if !page.LastVisit.IsZero() {
			found = finding{
				gap: made.started.Sub(page.LastVisit), changed: r.changed(page, made, asked), hinted: hinted &&
					!lists(made.links), since: time.Duration(v.ModifiedBeforeNs),
				mean: cmp.Or(r.Revisit.Estimate(&history), asked.prior.Center(&r.Revisit)),
			}
			if hinted {
				found.waited = asked.hints.Found(found.changed, found.gap, found.mean) >= 0.5
			}
		}
		history.Saw(&r.Revisit, revisit.Visit{
			Gap: found.gap, Changed: found.changed, Waited: found.waited,
			Age: asked.modified.ModifiedAge(time.Duration(v.ModifiedBeforeNs), found.gap, found.mean, found.changed),
		})
		if !v.Unchanged {
			copy(page.Digest[:], v.Digest)
			page.MainDigest, page.SimHash, page.CapturedAt = v.MainDigest, v.Simhash, made.started
		}
		if v.Status != http.StatusNotModified || v.Etag != "" {
			page.ETag = v.Etag
		}
		if v.Status != http.StatusNotModified || v.LastModified != "" {
			page.LastModified = time.Time{}
		}
		if modified, err := http.ParseTime(v.LastModified); err == nil {
			page.LastModified = modified
		}
		page.Flags &^= store.NoIndex | store.NoFollow | store.Truncated
		for _, f := range []struct {
			set  bool
			flag store.Flags
		}{{v.Noindex, store.NoIndex}, {v.Nofollow, store.NoFollow}, {v.Truncated, store.Truncated}} {
			if f.set {
				page.Flags |= f.flag
			}
		}
	}
	last := time.Duration(float64(history.Interval) * float64(time.Second))
	interval := r.Revisit.Next(&history, asked.prior, r.rnd)
	if page.LastVisit.IsZero() {
		interval = r.Revisit.Wished(interval, page.Flags.Wish().Interval())
	}
	interval = asked.plan.Interval(interval, r.Revisit.Estimate(&history), last)
	history.Interval = float32(interval.Seconds())
	page.Timing = store.Timing(history)
	page.Next = made.started.Add(interval)
	return found
}

// changed compares what the visit found with what the record says. A sitemap or a feed has changed when it names other
// pages; that it says another moment of one counts as far as this host's moments are believed, or one that always says
// "now" would be read every time.
func (r *Revisit) changed(page *store.Page, made *visitMade, asked *pagesVisited) bool {
	v := made.fact
	if v.Unchanged {
		return false
	}
	if lists(made.links) && page.SimHash != 0 && v.Simhash != 0 {
		return page.SimHash != v.Simhash || page.MainDigest != v.MainDigest && asked.hints.Believed()
	}
	old := revisit.Evidence{Digest: page.Digest, Main: page.MainDigest, Sim: page.SimHash}
	now := revisit.Evidence{Main: v.MainDigest, Sim: v.Simhash}
	copy(now.Digest[:], v.Digest)
	return revisit.Changed(old, now, &r.Revisit).Significant()
}

// lists reports whether these are the links of a sitemap or a feed.
func lists(links []outlink.Outlink) bool {
	for i := range links {
		if links[i].Kind.Hints() {
			return true
		}
	}
	return false
}
