package actors

import (
	"fmt"
	"math/rand/v2"
	"net/http"
	"time"

	"github.com/asynkron/protoactor-go/actor"
	"github.com/sirupsen/logrus"

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
	}
	// pagesVisited asks for the timing of a group of visits.
	pagesVisited struct {
		lease    uint64
		seq      uint64 // of the last fact in the group
		finished bool   // the lease ended with it
		visits   []visitMade
	}
	// pagesTimed answers pagesVisited.
	pagesTimed struct {
		asked  *pagesVisited
		visits []store.Visited
		totals Totals
	}
)

// Revisit is the timing actor of one host: it judges what a visit says about its page, whether it changed, and when it is due
// next. It answers in the order it is asked, so its Host can put what must come last behind everything else.
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

// Receive is the table of contents.
func (r *Revisit) Receive(ctx actor.Context) {
	switch m := ctx.Message().(type) {
	case *pagesVisited:
		answer := &pagesTimed{asked: m}
		for i := range m.visits {
			answer.visits = append(answer.visits, r.judge(&m.visits[i], &answer.totals))
		}
		ctx.Respond(answer)
	case actor.SystemMessage, actor.AutoReceiveMessage:
	default:
		r.log.WithField("message", fmt.Sprintf("%T", m)).Warn("unknown message")
	}
}

// judge makes the page's new record out of the old one and what the visit found.
func (r *Revisit) judge(made *visitMade, totals *Totals) store.Visited {
	v := made.fact
	page := made.old
	if page.URL == "" {
		page = store.Page{
			URL: v.Url, Depth: uint8(min(v.Depth, 255)), DepthLeft: storeDepth(v.DepthLeft),
			Redirects: uint8(min(v.Redirects, 255)), Attempts: uint8(min(v.Attempts, 255)),
		}
	}
	out := store.Visited{Position: v.Position, Links: made.links}
	known := !page.LastVisit.IsZero()
	page.Status, page.Reason = uint16(v.Status), uint8(v.Reason)

	ours := v.Reason == messages.Reason_NOT_ARCHIVED || v.Reason == messages.Reason_CANCELED // not the page's fault
	if ours || passing(v) && int(page.Attempts) < r.Retries {
		if !ours {
			page.Attempts++
		}
		page.Next = time.Now().Add(r.RetryWait << min(max(page.Attempts, 1)-1, 10))
		out.Page, out.Retry, out.Links = page, true, nil
		return out
	}
	switch {
	case v.Reason != messages.Reason_NONE:
		totals.err(v.Reason.String(), 1)
		out.Links = nil
		page.Flags |= store.Dropped
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

	r.time(&page, made)
	page.Attempts = 0
	page.LastVisit = made.started
	out.Page = page
	return out
}

// passing reports that a visit failed in a way that may pass.
func passing(v *messages.PageVisited) bool {
	switch v.Reason {
	case messages.Reason_NONE:
		return v.Status == 429 || v.Status >= 502 && v.Status <= 504
	case messages.Reason_DNS_NOT_FOUND, messages.Reason_ADDRESS_FORBIDDEN, messages.Reason_MALFORMED, messages.Reason_HEADERS_TOO_LARGE,
		messages.Reason_ROBOTS_DENIED, messages.Reason_REDIRECT_LOOP:
		return false
	}
	return true
}

// time decides when the page is due next, from what is known of its changes.
func (r *Revisit) time(page *store.Page, made *visitMade) {
	v := made.fact
	history := revisit.History(page.Timing)
	if v.Reason == messages.Reason_NONE {
		if !page.LastVisit.IsZero() {
			history.Visited(&r.Revisit, made.started.Sub(page.LastVisit), r.changed(page, v))
		}
		if !v.Unchanged {
			copy(page.Digest[:], v.Digest)
			page.MainDigest, page.SimHash, page.CapturedAt = v.MainDigest, v.Simhash, made.started
		}
		page.ETag = v.Etag
		page.LastModified = time.Time{}
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
	interval := r.Revisit.Next(&history, revisit.Prior{}, r.rnd)
	page.Timing = store.Timing(history)
	page.Next = made.started.Add(interval)
}

// changed compares what the visit found with what the record says.
func (r *Revisit) changed(page *store.Page, v *messages.PageVisited) bool {
	if v.Unchanged {
		return false
	}
	old := revisit.Evidence{Digest: page.Digest, Main: page.MainDigest, Sim: page.SimHash}
	now := revisit.Evidence{Main: v.MainDigest, Sim: v.Simhash}
	copy(now.Digest[:], v.Digest)
	return revisit.Changed(old, now, &r.Revisit).Significant()
}
