package slave

import (
	"bytes"
	"net/http"
	"strings"
	"time"

	"henro/messages"
	"henro/messages/outlink"
	"henro/slave/charset"
	"henro/slave/fetch"
	"henro/slave/sitemap"
	"henro/store/fingerprint"
)

// mayName reports whether a document of this media type may be a sitemap or a feed. Its first bytes decide: servers
// give all of these types to all of these documents.
func mayName(mime string) bool {
	switch mime {
	case "text/plain", "application/octet-stream", "binary/octet-stream", "application/gzip", "application/x-gzip":
		return true
	}
	return strings.HasSuffix(mime, "xml") || strings.Contains(mime, "rss") || strings.Contains(mime, "atom")
}

// fresh is the least age of a lastmod that is believed: a younger one was made with the answer and says nothing. If it
// was true, it is still there at the next reading.
const fresh = time.Minute

// entries makes links of what a sitemap or a feed names, each with its hint for an anchor. The digest of the document's
// main content is that of its URLs and dates, whatever their order and form; the digest of its URLs alone stands in the
// place of a sketch.
func (p *Parser) entries(m *parse, set *messages.LinkSet) {
	r, v := m.response, m.visited
	now := r.Started
	if date, err := http.ParseTime(r.Header.Get("Date")); err == nil {
		now = date
	}
	o := sitemap.DefaultOptions()
	o.MaxEntries = min(o.MaxEntries, p.o.MaxLinks)
	o.Charset, _ = charset.Lookup(charset.Parameter(strings.Join(r.Header.Values("Content-Type"), ", ")))
	resolver := p.resolverOf(r.URL, "")
	dated, named := uint64(0), uint64(0)
	read := sitemap.Read(bytes.NewReader(r.Body), o, func(e *sitemap.Entry) bool {
		to, err := resolver.Resolve(e.Loc)
		if err != nil {
			return true
		}
		hint := e.Hint
		if age := now.Sub(hint.From); age < fresh && age > -fresh {
			hint.From, hint.Until = time.Time{}, time.Time{}
		}
		as := outlink.Sitemap
		if e.Part {
			as = outlink.Part
		}
		url := to.String()
		p.add(set, to, as, 0, hint.String())
		dated += fingerprint.URL(url + " " + hint.Modified())
		named += fingerprint.URL(url)
		return true
	})
	if read.Entries == 0 {
		return
	}
	for i, kind := range set.Kinds {
		if read.Kind.IsFeed() && outlink.Kind(kind) == outlink.Sitemap {
			set.Kinds[i] = byte(outlink.Feed)
		}
	}
	v.MainDigest, v.Simhash = max(dated, 1), max(named, 1)
}

// modifiedBefore returns how long before its answer a page changed, as the host says, by its own clock; 0 when it says
// nothing.
func modifiedBefore(r *fetch.Response) int64 {
	modified, err := http.ParseTime(r.Header.Get("Last-Modified"))
	if err != nil {
		return 0
	}
	date, err := http.ParseTime(r.Header.Get("Date"))
	if err != nil {
		date = r.Started
	}
	return int64(max(0, date.Sub(modified)))
}
