// Package graph reads the pages of a WARC file and their links, as the slave that fetched them saw them.
//
// They are two tables beside captures, for whoever analyses an archive that lies in a bucket: pages, a row for each
// answer that is stored whole, and edges, a row for each of its links. A revisit has none: its payload may be in
// another file, under another URL. Nor is there what only a crawl knows: what sitemaps and scripts named, and aliases.
//
// # Invariants
//
//   - The same WARC file gives the same rows.
//   - The links of a page in edges are as many as its row of pages says.
//   - An answer at a time is in memory, of at most pagetext.MaxBytes, and its links.
package graph

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strings"
	"time"

	"golang.org/x/text/language"

	"henro/actors/robots"
	"henro/messages/outlink"
	"henro/messages/weburl"
	"henro/slave/charset"
	"henro/slave/links"
	"henro/slave/mediatype"
	"henro/slave/pagetext"
	"henro/store/archive/bucket"
	"henro/store/archive/captures"
	"henro/store/archive/warc"
	"henro/store/fingerprint"
	"henro/store/report/tables"
)

// Bounds of the links of a page, as a slave has them.
const (
	maxLinks     = 50_000
	maxLinkBytes = 4 << 20
)

// sniffed is how much of an answer says what it is.
const sniffed = 1445

var pages = &tables.Table{Name: "pages", Doc: "every answer that is stored whole", Columns: []tables.Column{
	{Name: "url", Kind: tables.Text, Doc: "that was asked for"},
	{Name: "fetch_time", Kind: tables.Moment, Doc: "when it was asked"},
	{Name: "fetch_status", Kind: tables.Integer, Doc: "of HTTP"},
	{Name: "content_mime_detected", Kind: tables.Text, Doc: "as a browser finds it out"},
	{Name: "content_charset", Kind: tables.Text, Doc: "of HTML, as a browser finds it out"},
	{Name: "content_languages", Kind: tables.Text, Doc: "of HTML: a code of ISO 639-3"},
	{Name: "title", Kind: tables.Text, Doc: "of HTML"},
	{Name: "main_digest", Kind: tables.Text, Doc: "fingerprint of the main text, 16 hexadecimal digits"},
	{Name: "simhash", Kind: tables.Text, Doc: "SimHash of the main text, 16 hexadecimal digits"},
	{Name: "noindex", Kind: tables.Boolean, Doc: "the page asks not to be indexed"},
	{Name: "nofollow", Kind: tables.Boolean, Doc: "the page asks that its links not be followed"},
	{Name: "links", Kind: tables.Integer, Doc: "rows of edges"},
	{Name: "warc_filename", Kind: tables.Text, Doc: "of the WARC file"},
	{Name: "warc_record_offset", Kind: tables.Integer, Doc: "of the record in the file"},
	{Name: "usage_preference", Kind: tables.Text, Doc: "what publishers say of its use, a statement a line"},
}}

var edges = &tables.Table{Name: "edges", Doc: "every link of the pages", Columns: []tables.Column{
	{Name: "number", Kind: tables.Integer, Doc: "of the link in its page, from 0"},
	{Name: "source", Kind: tables.Text, Doc: "URL of the page"},
	{Name: "target", Kind: tables.Text, Doc: "canonical"},
	{Name: "kind", Kind: tables.Text, Doc: "what held it"},
	{Name: "nofollow", Kind: tables.Boolean, Doc: "rel=nofollow, ugc or sponsored, or the whole page says so"},
	{Name: "anchor", Kind: tables.Text, Doc: "the words shown"},
	{Name: "source_host", Kind: tables.Text, Doc: "scheme://name[:port] of source"},
	{Name: "target_host", Kind: tables.Text, Doc: "scheme://name[:port] of target"},
	{Name: "fetch_time", Kind: tables.Moment, Doc: "when the page was asked"},
	{Name: "warc_filename", Kind: tables.Text, Doc: "of the WARC file"},
	{Name: "warc_record_offset", Kind: tables.Integer, Doc: "of the record of the page"},
}}

// Beside are the two tables, for a bucket.
func Beside() *bucket.Beside { return &bucket.Beside{Pages: pages, Edges: edges, Read: read} }

type row []tables.Value

func (r row) Value(i int) tables.Value { return r[i] }

func text(s string) tables.Value {
	if s == "" {
		return tables.Value{}
	}
	return tables.Value{Kind: tables.Text, Text: s}
}

func integer(n int64) tables.Value { return tables.Value{Kind: tables.Integer, Int: n} }

func boolean(b bool) tables.Value {
	if b {
		return tables.Value{Kind: tables.Boolean, Int: 1}
	}
	return tables.Value{Kind: tables.Boolean}
}

func hexadecimal(n uint64) tables.Value {
	if n == 0 {
		return tables.Value{}
	}
	return text(fmt.Sprintf("%016x", n))
}

// reader reads the answers of a file, one after the other.
type reader struct {
	name string
	show func(edge bool, row tables.Row) error

	document links.Document
	resolver *weburl.Resolver
	body     bytes.Buffer

	// of the answer at hand, which is shown once the next one comes, or the end
	page   row        // nil: there is none
	id     string     // of its record
	url    weburl.URL // the zero value: it is none of the web
	header http.Header
	found  []outlink.Outlink
	before map[string]bool // of found, by kind and URL
	bytes  int             // of found
}

// read shows the rows of a WARC file. What is damaged is passed over.
func read(file io.ReadSeeker, name string, show func(edge bool, row tables.Row) error) error {
	r := &reader{name: name, show: show, resolver: weburl.NewResolver(weburl.URL{}, nil)}
	_, err := warc.Walk(file, r.record)
	if err != nil {
		return err
	}
	return r.flush()
}

func (r *reader) record(e *warc.Entry) error {
	if r.page != nil && e.Type() == warc.Metadata && e.Header.Get("WARC-Concurrent-To") == r.id {
		return r.said(e)
	}
	at, bad := e.Date()
	if e.Type() != warc.Response || bad != nil || e.TargetURI() == "" {
		return e.Close()
	}
	m, err := e.HTTP()
	if err != nil || m.Status == 0 {
		return e.Close()
	}
	if err := r.flush(); err != nil {
		return err
	}
	r.header, r.found, r.bytes, r.before = http.Header{}, r.found[:0], 0, map[string]bool{}
	for _, f := range m.Header {
		r.header.Add(f.Name, f.Value)
	}
	if r.url, err = weburl.Parse(e.TargetURI()); err != nil {
		r.url = weburl.URL{}
	}
	page := make(row, len(pages.Columns))
	r.read(m, page)
	if err := e.Close(); err != nil { // it is damaged: no index has it
		return err
	}
	moment := tables.Value{Kind: tables.Moment, Int: at.UTC().Truncate(time.Second).UnixMilli()}
	page[0], page[1], page[2] = text(e.TargetURI()), moment, integer(int64(m.Status))
	page[11], page[12], page[13] = integer(int64(len(r.found))), text(r.name), integer(e.Offset)
	r.page, r.id = page, e.Header.Get("WARC-Record-ID")
	return nil
}

// maxSaid bounds what is read of a metadata record: 100 statements and some errors of certificates are less.
const maxSaid = 64 << 10

// said takes what publishers say of the use of the page at hand.
func (r *reader) said(e *warc.Entry) error {
	block, err := io.ReadAll(io.LimitReader(e, maxSaid))
	if err = errors.Join(err, e.Close()); err != nil {
		return err
	}
	var all []string
	for line := range strings.Lines(string(block)) {
		if value, is := strings.CutPrefix(line, "usagePreference: "); is {
			all = append(all, strings.TrimSpace(value))
		}
	}
	r.page[14] = text(strings.Join(all, "\n"))
	return nil
}

// flush shows the page at hand and its links.
func (r *reader) flush() error {
	page := r.page
	if r.page = nil; page == nil {
		return nil
	}
	err := r.show(false, page)
	host := text(weburl.HostOf(page[0].Text))
	for i := range r.found {
		l := &r.found[i]
		if err == nil {
			err = r.show(true, row{integer(int64(i)), page[0], text(l.URL), text(l.Kind.String()),
				boolean(l.Flags&outlink.NoFollow != 0), text(l.Anchor), host, text(weburl.HostOf(l.URL)), page[1],
				page[12], page[13]})
		}
	}
	return err
}

// read finds out what an answer is, and its links.
func (r *reader) read(m *warc.Message, page row) {
	r.body.Reset()
	in := bufio.NewReaderSize(m.Payload(), sniffed)
	body, err := captures.Uncoded(in, strings.Join(r.header.Values("Content-Encoding"), ","))
	if err == nil {
		_, _ = io.CopyN(&r.body, body, sniffed) // of a torn answer, what there is
	}
	noSniff := strings.EqualFold(strings.TrimSpace(r.header.Get("X-Content-Type-Options")), "nosniff")
	mime := mediatype.Computed(r.header.Values("Content-Type"), noSniff, r.body.Bytes())
	page[3] = text(mime)
	var follow robots.Directives
	r.redirect(m.Status)
	isHTML := mime == "text/html" || mime == "application/xhtml+xml"
	if err == nil && (isHTML || m.Status == http.StatusOK && !strings.HasPrefix(mime, "video/") &&
		(!strings.HasPrefix(mime, "image/") || mime == "image/svg+xml")) {
		_, _ = io.CopyN(&r.body, body, pagetext.MaxBytes-sniffed)
	}
	o := links.DefaultOptions()
	o.MaxLinks = maxLinks
	switch {
	case isHTML:
		follow = r.html(page, mime, o)
	case m.Status == http.StatusOK && r.document.ScanRequisites(mime, r.url.String(), r.body.Bytes(), o):
		r.resolve(r.url, r.document.Links, "")
	}
	r.resolve(r.url, links.Header(r.header.Values("Link")), "")
	said := robots.ParseTag(r.header.Values("X-Robots-Tag"), "henro")
	follow.NoIndex, follow.NoFollow = follow.NoIndex || said.NoIndex, follow.NoFollow || said.NoFollow
	page[9], page[10] = boolean(follow.NoIndex), boolean(follow.NoFollow)
	for i := range r.found {
		if follow.NoFollow {
			r.found[i].Flags |= outlink.NoFollow
		}
	}
}

// redirect makes where a 3xx answer leads a link.
func (r *reader) redirect(status int) {
	if location := r.header.Get("Location"); status >= 300 && status <= 399 && location != "" {
		if to, err := r.url.Resolve(location); err == nil && to != r.url {
			r.add(to, links.Ref{Kind: outlink.Redirect})
		}
	}
}

// html scans a page.
func (r *reader) html(page row, mime string, o links.Options) robots.Directives {
	body, d := r.body.Bytes(), &r.document
	name, _ := charset.Detect(strings.Join(r.header.Values("Content-Type"), ", "), body)
	if decoded, err := charset.Decode(body, name); err == nil {
		body = decoded
	}
	o.XML = mime == "application/xhtml+xml"
	d.Scan(body, o)
	page[4], page[6] = text(strings.ToUpper(name)), text(d.Title)
	if base, err := language.ParseBase(charset.Language(d.Lang, name, d.Text)); err == nil {
		page[5] = text(base.ISO3())
	}
	page[7], page[8] = hexadecimal(fingerprint.Main(d.Text)), hexadecimal(fingerprint.Sim(d.Text))
	base := r.url
	if resolved, err := r.url.Resolve(d.Base); d.Base != "" && err == nil {
		base = resolved
	}
	r.resolve(base, d.Links, name)
	return robots.Directives{NoIndex: d.NoIndex, NoFollow: d.NoFollow}
}

// resolve makes references absolute.
func (r *reader) resolve(base weburl.URL, refs []links.Ref, encoding string) {
	r.resolver.Reset(base, charset.Encoding(encoding))
	for _, ref := range refs {
		if u, err := r.resolver.Resolve(ref.Raw); err == nil && r.bytes < maxLinkBytes {
			r.add(u, ref)
		}
	}
}

// add adds a link, unless one of its kind to the same URL came before.
func (r *reader) add(to weburl.URL, ref links.Ref) {
	url := to.String()
	key := string(rune(ref.Kind.Apart())) + url
	if r.url != (weburl.URL{}) && !r.before[key] {
		r.before[key] = true
		r.found = append(r.found, outlink.Outlink{URL: url, Kind: ref.Kind, Flags: ref.Flags, Anchor: ref.Anchor})
		r.bytes += len(url) + len(ref.Anchor)
	}
}
