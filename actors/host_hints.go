package actors

import (
	"cmp"
	"slices"
	"time"

	"github.com/asynkron/protoactor-go/actor"

	"henro/actors/revisit"
	"henro/messages/outlink"
	"henro/messages/weburl"
	"henro/store"
	"henro/store/fingerprint"
)

// sitemapTold tells a Host what a sitemap of another host says of its pages. It counts if this host's robots.txt names
// that sitemap.
type sitemapTold struct {
	url         string // of the sitemap
	depth, left uint8
	number      uint64
	again       bool
	entries     []outlink.Outlink
}

// heed does what a visited page asks for beside its links. The sitemaps that robots.txt names count as linked from
// every page of their host; so the depth that they have is that of the best page, whatever the order in which pages are
// visited. What a sitemap or a feed says of known pages is looked after, and what it says of other hosts is handed to
// those.
func (h *Host) heed(ctx actor.Context, old *store.Page, v *store.Visited) {
	if !h.Sitemaps || v.Links == nil {
		return
	}
	if left := int(v.Page.DepthLeft) + 1; left > h.named && h.robots != nil {
		h.named = left
		for _, url := range h.sitemaps() {
			h.judge.link(&outlink.Outlink{URL: url, Kind: outlink.Link})
		}
	}
	again := !old.LastVisit.IsZero()
	for host, entries := range h.judge.elsewhere {
		ctx.Send(ctx.Parent(), &ToHost{Host: host, Message: &sitemapTold{
			url: v.Page.URL, depth: v.Page.Depth, left: v.Page.DepthLeft, number: v.Page.Number, again: again,
			entries: entries,
		}})
	}
	h.judge.elsewhere = nil
	h.seek(ctx, v.Page.URL, again, v.Links)
}

// sitemaps are those that robots.txt names, absolute.
func (h *Host) sitemaps() (urls []string) {
	base, err := weburl.Parse(h.name + "/robots.txt")
	if err != nil {
		return nil
	}
	for _, ref := range h.robots.Sitemaps() {
		if u, err := base.Resolve(ref); err == nil {
			urls = append(urls, u.String())
		}
	}
	return urls
}

// seek asks for the records of the pages of this host of which a document says when they changed.
func (h *Host) seek(ctx actor.Context, url string, again bool, links []outlink.Outlink) {
	if !h.Continuous {
		return
	}
	var pages []outlink.Outlink
	for i := range links {
		if l := &links[i]; l.Kind.Hints() && l.Anchor != "" && weburl.HostOf(l.URL) == h.name {
			pages = append(pages, *l)
		}
	}
	if len(pages) > 0 {
		ctx.Send(h.partition, &PagesSought{URL: url, Again: again, Pages: pages, Most: h.politeness.Hints().Most()})
	}
}

// wishesKept bounds how many pages of the sitemaps read under one lease have their changefreq remembered: more than a
// lease visits.
const wishesKept = 4096

// hear remembers the changefreq that a sitemap says of pages of this host. A page that is followed inside the lease is
// there before it is admitted, so the candidate that carries its changefreq comes too late.
func (h *Host) hear(links []outlink.Outlink) {
	if !h.Sitemaps || !h.Continuous {
		return
	}
	l := h.lease
	for i := range links {
		if link := &links[i]; link.Kind == outlink.Sitemap && link.Anchor != "" && len(l.wishes) < wishesKept {
			said := outlink.ParseHint(link.Anchor).Frequency
			if said == outlink.Unsaid || weburl.HostOf(link.URL) != h.name {
				continue
			}
			if l.wishes == nil {
				l.wishes = map[uint64]outlink.Frequency{}
			}
			l.wishes[fingerprint.URL(link.URL)] = said
		}
	}
}

// vouch takes what a sitemap of another host says of this one, if robots.txt here names that sitemap.
func (h *Host) vouch(ctx actor.Context, m *sitemapTold) {
	if h.robots == nil || !slices.Contains(h.sitemaps(), m.url) {
		return
	}
	h.judge.begin(m.url, m.depth, m.left, 0, m.number)
	for i := range m.entries {
		h.judge.link(&m.entries[i])
	}
	w := &Write{Tag: &hintedTag{}}
	h.judged(ctx, w)
	h.write(ctx, w)
	h.seek(ctx, m.url, m.again, m.entries)
}

// hintSlack is how far ahead of our clock a lastmod may be: a day ends later elsewhere.
const hintSlack = 24 * time.Hour

// follow brings forward the visits of pages that are said to have changed since their last, as far as the track record
// of this host's hints allows.
func (h *Host) follow(ctx actor.Context, m *PagesFound) {
	now, chance := time.Now(), h.politeness.Hints().Chance()
	center := h.politeness.Rates().Prior().Center(&h.Revisit)
	w := &Write{Tag: &hintedTag{}}
	for i := range m.Entries {
		page, hint := &m.Entries[i].Page, &m.Hints[i]
		if !hint.Until.After(page.LastVisit) || hint.From.After(now.Add(hintSlack)) || page.Flags&store.Dropped != 0 ||
			!page.Next.After(now) {
			continue // seen already, a mistake, given up or gone, or due in any case
		}
		history := revisit.History(page.Timing)
		interval := time.Duration(float64(page.Timing.Interval) * float64(time.Second))
		due := page.LastVisit.Add(revisit.Advance(interval, cmp.Or(h.Revisit.Estimate(&history), center), chance))
		if due.Before(now) {
			due = now
		}
		if page.Next.Sub(due) < interval/50 { // not worth a write
			continue
		}
		page.Next, page.Flags = due, page.Flags|store.Hinted
		w.Moves = append(w.Moves, m.Entries[i])
	}
	if len(w.Moves) > 0 {
		h.write(ctx, w)
	}
}

// relax judges the stored links of pages again that turned out to have more depth left, and ticks the pages off in the
// same write. What is not taken was counted when the pages were visited.
func (h *Host) relax(ctx actor.Context, m *RelaxationsFound) {
	for i := range m.Relaxations {
		r := &m.Relaxations[i]
		h.judge.begin(r.URL, r.Depth, r.DepthLeft, 0, 0)
		for j := range r.Links {
			h.judge.link(&r.Links[j])
		}
	}
	candidates, _, _ := h.judge.found()
	h.write(ctx, &Write{Candidates: candidates, Relaxed: m.Relaxations, Urgent: true, Tag: &hintedTag{}})
}
