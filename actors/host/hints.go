package host

import (
	"slices"

	"henro/actors/protocol"
	"henro/messages/outlink"
	"henro/messages/weburl"
	"henro/store"
	"henro/store/fingerprint"
)

// sitemapReported is what a sitemap of another host says of this host's pages. It counts if robots.txt here names that
// sitemap.
type sitemapReported struct {
	url         string // of the sitemap
	depth, left uint8
	number      uint64
	again       bool
	entries     []outlink.Outlink
}

// followHints does what a visited page asks for beside its links. The sitemaps that robots.txt names count as linked
// from every page of their host; so the depth that they have is that of the best page, whatever the order in which the
// pages are visited. What a sitemap or a feed says of known pages is looked after, and what it says of other hosts is
// handed to those.
func (j *judge) followHints(r *robotsBook, old *store.Page, v *store.Visited) {
	if !j.o.Sitemaps || v.Links == nil {
		return
	}
	if left := int(v.Page.DepthLeft) + 1; left > r.named && r.rules != nil {
		r.named = left
		for _, url := range r.sitemaps() {
			j.link(&outlink.Outlink{URL: url, Kind: outlink.Link})
		}
	}
	again := !old.LastVisit.IsZero()
	for host, entries := range j.elsewhere {
		j.send(Hosts, &protocol.ToHost{Host: host, Message: &sitemapReported{
			url: v.Page.URL, depth: v.Page.Depth, left: v.Page.DepthLeft, number: v.Page.Number, again: again,
			entries: entries,
		}})
	}
	j.elsewhere = nil
	j.seek(v.Page.URL, again, v.Links)
}

// seek asks for the records of the pages of this host of which a document says when they changed.
func (b *base) seek(url string, again bool, links []outlink.Outlink) {
	if !b.o.Continuous {
		return
	}
	var pages []outlink.Outlink
	for i := range links {
		if l := &links[i]; l.Kind.Hints() && l.Anchor != "" && weburl.HostOf(l.URL) == b.name {
			pages = append(pages, *l)
		}
	}
	if len(pages) > 0 {
		b.send(Partition, &protocol.PagesSought{URL: url, Again: again, Pages: pages,
			Most: b.clock.timetable().Hints().Most()})
	}
}

// wishesKept bounds how many pages of the sitemaps read under one lease have their changefreq remembered: more than a
// lease visits.
const wishesKept = 4096

// keepWishes remembers the changefreq that a sitemap gives of pages of the host. A page that is followed inside the
// lease is there before it is admitted, so the candidate that carries its changefreq comes too late.
func (l *openLease) keepWishes(links []outlink.Outlink, host string) {
	for i := range links {
		if link := &links[i]; link.Kind == outlink.Sitemap && link.Anchor != "" && len(l.wishes) < wishesKept {
			wish := outlink.ParseHint(link.Anchor).Frequency
			if wish == outlink.Unsaid || weburl.HostOf(link.URL) != host {
				continue
			}
			if l.wishes == nil {
				l.wishes = map[uint64]outlink.Frequency{}
			}
			l.wishes[fingerprint.URL(link.URL)] = wish
		}
	}
}

// takeSitemap takes what a sitemap of another host says of this one, if robots.txt here names that sitemap.
func (j *judge) takeSitemap(r *robotsBook, m *sitemapReported) {
	if r.rules == nil || !slices.Contains(r.sitemaps(), m.url) {
		return
	}
	j.begin(m.url, m.depth, m.left, 0, m.number)
	for i := range m.entries {
		j.link(&m.entries[i])
	}
	w := &protocol.Write{}
	j.report(w)
	j.write(w)
	j.seek(m.url, m.again, m.entries)
}

// relax judges the stored links of pages again that turned out to have more depth left, and ticks the pages off in the
// same write. What is not taken was counted when the pages were visited.
func (j *judge) relax(m *protocol.RelaxationsFound) {
	for i := range m.Relaxations {
		r := &m.Relaxations[i]
		j.begin(r.URL, r.Depth, r.DepthLeft, r.Redirects, 0)
		for k := range r.Links {
			j.link(&r.Links[k])
		}
	}
	j.skipped, j.totals = nil, protocol.Totals{}
	w := &protocol.Write{Relaxed: m.Relaxations, Urgent: true}
	j.report(w)
	j.write(w)
}
