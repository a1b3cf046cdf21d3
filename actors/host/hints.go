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
func (b *Book) followHints(old *store.Page, v *store.Visited) {
	if !b.o.Sitemaps || v.Links == nil {
		return
	}
	if left := int(v.Page.DepthLeft) + 1; left > b.robots.named && b.robots.rules != nil {
		b.robots.named = left
		for _, url := range b.robots.sitemaps() {
			b.judge.link(&outlink.Outlink{URL: url, Kind: outlink.Link})
		}
	}
	again := !old.LastVisit.IsZero()
	for host, entries := range b.judge.elsewhere {
		b.send(Hosts, &protocol.ToHost{Host: host, Message: &sitemapReported{
			url: v.Page.URL, depth: v.Page.Depth, left: v.Page.DepthLeft, number: v.Page.Number, again: again,
			entries: entries,
		}})
	}
	b.judge.elsewhere = nil
	b.seek(v.Page.URL, again, v.Links)
}

// seek asks for the records of the pages of this host of which a document says when they changed.
func (b *Book) seek(url string, again bool, links []outlink.Outlink) {
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
			Most: b.clock.Hints().Most()})
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
func (b *Book) takeSitemap(m *sitemapReported) {
	if b.robots.rules == nil || !slices.Contains(b.robots.sitemaps(), m.url) {
		return
	}
	b.judge.begin(m.url, m.depth, m.left, 0, m.number)
	for i := range m.entries {
		b.judge.link(&m.entries[i])
	}
	w := &protocol.Write{}
	b.judged(w)
	b.write(w)
	b.seek(m.url, m.again, m.entries)
}

// relax judges the stored links of pages again that turned out to have more depth left, and ticks the pages off in the
// same write. What is not taken was counted when the pages were visited.
func (b *Book) relax(m *protocol.RelaxationsFound) {
	for i := range m.Relaxations {
		r := &m.Relaxations[i]
		b.judge.begin(r.URL, r.Depth, r.DepthLeft, r.Redirects, 0)
		for j := range r.Links {
			b.judge.link(&r.Links[j])
		}
	}
	candidates, _, _ := b.judge.found()
	b.write(&protocol.Write{Candidates: candidates, Relaxed: m.Relaxations, Urgent: true})
}
