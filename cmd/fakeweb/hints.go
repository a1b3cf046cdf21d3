package fakeweb

import (
	"compress/gzip"
	"slices"
	"time"
)

// Bounds of the documents.
const (
	sitemapMost = 50_000 // pages of a sitemap, by its protocol
	feedMost    = 20     // entries of a feed
)

// parts is the number of parts of an indexed sitemap.
func (w *Web) parts(h *Host) int { return (h.live + w.o.Hints.Part - 1) / w.o.Hints.Part }

// appendLastmod writes what a host says of the last change of a page.
func (h *Host) appendLastmod(dst []byte, at, now time.Time) []byte {
	switch h.Lastmod {
	case LastmodLying:
		at = now.Truncate(time.Hour)
	case LastmodDaily:
		return at.UTC().AppendFormat(dst, time.DateOnly)
	}
	return at.UTC().AppendFormat(dst, time.RFC3339)
}

// lastChange is the newest change of a page, as a document of the host would know it.
func (w *Web) lastChange(h *Host, n int, now time.Time) time.Time {
	pr := w.changes(h, n)
	return w.modified(h, n, &pr, h.live, now)
}

func (w *Web) sitemapAnswer(a *answer, h *Host, q *request, now time.Time) {
	a.header("Content-Type", "application/xml")
	if !h.Indexed {
		a.body = w.urlset(a.body, h, 0, min(h.live, sitemapMost), q.origin(), now)
		return
	}
	a.body = append(a.body,
		"<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n<sitemapindex "+
			"xmlns=\"http://www.sitemaps.org/schemas/sitemap/0.9\">\n"...)
	for part := range w.parts(h) {
		var newest time.Time
		for n := part * w.o.Hints.Part; n < min(h.live, (part+1)*w.o.Hints.Part); n++ {
			if at := w.lastChange(h, n, now); at.After(newest) {
				newest = at
			}
		}
		a.body = append(a.body, "<sitemap><loc>"...)
		a.body = w.appendPlace(q.origin().append(a.body, w, h), h, place{kind: sitemapPart, n: part})
		a.body = append(a.body, "</loc><lastmod>"...)
		a.body = h.appendLastmod(a.body, newest, now)
		a.body = append(a.body, "</lastmod></sitemap>\n"...)
	}
	a.body = append(a.body, "</sitemapindex>\n"...)
}

// partAnswer is one part of an indexed sitemap, as a file that is compressed.
func (w *Web) partAnswer(a *answer, h *Host, part int, q *request, now time.Time) {
	a.header("Content-Type", "application/gzip")
	zip := gzip.NewWriter((*appending)(&a.body))
	// neither fails
	zip.Write(w.urlset(nil, h, part*w.o.Hints.Part, min(h.live, (part+1)*w.o.Hints.Part), q.origin(), now))
	zip.Close()
}

// appending is a slice that is written to.
type appending []byte

func (b *appending) Write(p []byte) (int, error) {
	*b = append(*b, p...)
	return len(p), nil
}

// urlset writes a sitemap of some pages.
func (w *Web) urlset(dst []byte, h *Host, from, to int, o origin, now time.Time) []byte {
	dst = append(dst,
		"<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n<urlset "+
			"xmlns=\"http://www.sitemaps.org/schemas/sitemap/0.9\">\n"...)
	for n := from; n < to; n++ {
		dst = append(dst, "<url><loc>"...)
		dst = w.appendLoc(dst, h, n, o)
		dst = append(dst, "</loc><lastmod>"...)
		dst = h.appendLastmod(dst, w.lastChange(h, n, now), now)
		dst = append(dst, "</lastmod></url>\n"...)
	}
	return append(dst, "</urlset>\n"...)
}

// appendLoc writes the address of a page as XML has it.
func (w *Web) appendLoc(dst []byte, h *Host, n int, o origin) []byte {
	dst = o.append(dst, w, h)
	begin := len(dst)
	return ampersands(w.appendPath(dst, h, n), begin)
}

// atom reports which kind of feed a host has.
func (h *Host) atom() bool { return h.Index%2 == 0 }

func feedRel(h *Host) string {
	if h.atom() {
		return `alternate" type="application/atom+xml`
	}
	return `alternate" type="application/rss+xml`
}

// feedAnswer is a feed of the pages that changed last, the newest first.
func (w *Web) feedAnswer(a *answer, h *Host, q *request, now time.Time) {
	type change struct {
		page int
		at   time.Time
	}
	var newest []change
	for n := range h.live {
		newest = append(newest, change{n, w.lastChange(h, n, now)})
	}
	slices.SortStableFunc(newest, func(x, y change) int { return y.at.Compare(x.at) })
	newest = newest[:min(len(newest), feedMost)]
	o := q.origin()
	if !h.atom() {
		a.header("Content-Type", "application/rss+xml")
		a.body = append(a.body, "<?xml version=\"1.0\"?>\n<rss version=\"2.0\"><channel><title>made up</title>\n"...)
		for _, c := range newest {
			a.body = append(a.body, "<item><link>"...)
			a.body = w.appendLoc(a.body, h, c.page, o)
			a.body = append(a.body, "</link><pubDate>"...)
			if h.Lastmod == LastmodLying {
				c.at = now.Truncate(time.Hour)
			}
			a.body = c.at.UTC().AppendFormat(a.body, time.RFC1123Z)
			a.body = append(a.body, "</pubDate></item>\n"...)
		}
		a.body = append(a.body, "</channel></rss>\n"...)
		return
	}
	a.header("Content-Type", "application/atom+xml")
	a.body = append(a.body,
		"<?xml version=\"1.0\"?>\n<feed xmlns=\"http://www.w3.org/2005/Atom\"><title>made up</title>\n"...)
	for _, c := range newest {
		a.body = append(a.body, "<entry><link href=\""...)
		a.body = w.appendLoc(a.body, h, c.page, o)
		a.body = append(a.body, "\"/><updated>"...)
		a.body = h.appendLastmod(a.body, c.at, now)
		a.body = append(a.body, "</updated></entry>\n"...)
	}
	a.body = append(a.body, "</feed>\n"...)
}
