package sitemap

import (
	"bytes"
	"cmp"
	"net/url"
	"strings"
	"time"

	"henro/messages/outlink"
)

// element is one that has a meaning here.
type element uint8

const (
	other element = iota
	urlset
	sitemapindex
	rss
	rdf
	feed
	html
	page   // url, sitemap, item, entry: names one page
	loc    // and its link
	link   // RSS: its text; Atom: its href
	guid   // a link unless it says otherwise
	change // lastmod, updated, modified: when it changed
	birth  // pubDate, published, issued, date: when it was made
	freq
	priority
)

// elements are known by their names in lower case, whatever their prefix.
var elements = map[string]element{
	"urlset": urlset, "sitemapindex": sitemapindex, "rss": rss, "rdf": rdf, "feed": feed, "html": html,
	"url": page, "sitemap": page, "item": page, "entry": page,
	"loc": loc, "link": link, "guid": guid,
	"lastmod": change, "updated": change, "modified": change,
	"pubdate": birth, "published": birth, "issued": birth, "created": birth, "date": birth,
	"changefreq": freq, "priority": priority,
}

// Bounds of the nesting that is followed, and of the elements looked at before the document must have said what it is.
const (
	maxNesting  = 64
	maxPreamble = 16
)

// frame is an open element.
type frame struct {
	name uint32 // digest of its name
	base string // xml:base in force inside, empty: the document's
}

// xmlReader reads sitemaps and feeds in XML.
type xmlReader struct {
	*reader
	scan   scanner
	open   []frame
	beyond int // open elements that the stack has no room for

	entry     Entry
	within    int    // length of open inside the entry, 0 outside of any
	prefix    string // of the entry's element
	text      []byte
	wanted    element // whose text is being read
	wantedAt  int
	long      bool
	permalink string // of a guid
	born      [2]time.Time
	rank      int // how good the link is: 0 none
	bare      []byte
	seenAny   int
}

func newXML(r *reader) *xmlReader {
	return &xmlReader{reader: r, scan: scanner{in: r.in, most: r.o.MaxText}}
}

func (x *xmlReader) read() {
	for !x.ended {
		switch x.scan.next() {
		case end:
			if x.within > 0 {
				x.finish() // without the text at hand, which may be cut
			}
			return
		case opens:
			x.opens()
			if x.scan.empty && !x.ended {
				x.closes()
			}
		case closes:
			x.closes()
		case words:
			if x.wanted != other && len(x.open) == x.wantedAt && x.beyond == 0 {
				x.text, x.long = append(x.text, x.scan.text...), x.long || x.scan.long || len(x.text) > x.o.MaxText
			} else if x.within > 0 && len(x.open) == x.within && len(x.bare) == 0 {
				x.bare = append(x.bare, bytes.TrimSpace(x.scan.text)...)
			}
		}
	}
}

// digest is FNV-1a over a name in lower case.
func digest(name []byte) uint32 {
	h := uint32(2166136261)
	for _, c := range name {
		if c >= 'A' && c <= 'Z' {
			c += 'a' - 'A'
		}
		h = (h ^ uint32(c)) * 16777619
	}
	return h
}

func known(name []byte) element {
	if len(name) > 12 {
		return other
	}
	var room [12]byte
	lower := room[:len(name)]
	for i, c := range name {
		if c >= 'A' && c <= 'Z' {
			c += 'a' - 'A'
		}
		lower[i] = c
	}
	return elements[string(lower)]
}

// opens takes the beginning of an element.
func (x *xmlReader) opens() {
	prefix, local := x.scan.name()
	what := known(local)
	if x.result.Kind == None {
		x.begin(what)
		if x.ended {
			return
		}
	}
	if x.wanted != other && what != other { // none of them may stand in a text: its end is missing
		x.open = x.open[:x.wantedAt-1]
		x.take(x.base())
		x.beyond = 0
	}
	if what == page && string(prefix) == x.prefix && x.within > 0 && len(x.open) >= x.within &&
		digest(local) == x.open[x.within-1].name {
		x.finish() // the one before was never closed
		x.open, x.beyond = x.open[:x.within-1], 0
		x.within = 0
	}
	base := x.base()
	if bytes.Contains(x.scan.tag, []byte("base")) {
		if own := x.scan.attribute("xml:base"); own != "" && x.result.Kind.IsFeed() && len(own) <= 2048 {
			base = resolve(base, own)
		}
	}
	if len(x.open) >= maxNesting {
		x.beyond++
		return
	}
	x.open = append(x.open, frame{digest(local), base})
	switch {
	case x.within == 0 && what == page && x.isPage(local):
		x.entry, x.within, x.prefix = Entry{Part: x.result.Kind == Index}, len(x.open), string(prefix)
		x.permalink, x.rank, x.bare, x.born = "", 0, x.bare[:0], [2]time.Time{}
		x.scan.keep = true
		if x.result.Kind == RDF {
			if about := x.scan.attribute("rdf:about"); isAddress([]byte(about)) {
				x.permalink = about
			}
		}
	case x.within == 0 && what == link && x.result.Kind == Atom && len(x.open) == 2:
		// RFC 5005
		if rel := x.scan.attribute("rel"); strings.EqualFold(rel, "next") || strings.EqualFold(rel, "prev-archive") {
			x.hand(&Entry{Loc: resolve(base, x.scan.attribute("href")), Part: true})
		}
	case x.within > 0 && len(x.open) == x.within+1 && x.means(what, prefix):
		if what == link && x.atomLink(base) {
			return
		}
		x.wanted, x.wantedAt, x.text, x.long = what, len(x.open), x.text[:0], false
		if what == guid && strings.EqualFold(x.scan.attribute("isPermaLink"), "false") {
			x.wanted = other
		}
	}
}

// base is the xml:base in force.
func (x *xmlReader) base() string {
	if len(x.open) == 0 {
		return ""
	}
	return x.open[len(x.open)-1].base
}

// begin decides what the document is, by one of its first elements.
func (x *xmlReader) begin(what element) {
	switch what {
	case urlset:
		x.result.Kind = Set
	case sitemapindex:
		x.result.Kind = Index
	case rss:
		x.result.Kind = RSS
	case rdf:
		x.result.Kind = RDF
	case feed:
		x.result.Kind = Atom
	case html:
		x.ended = true
	case page: // of a sitemap without its root
		if _, local := x.scan.name(); x.seenAny == 0 && bytes.EqualFold(local, []byte("url")) {
			x.result.Kind = Set
		}
	}
	if x.seenAny++; x.result.Kind == None && x.seenAny > maxPreamble {
		x.ended = true
	}
}

// isPage reports whether an element names a page in this kind of document.
func (x *xmlReader) isPage(local []byte) bool {
	is := func(name string) bool { return len(local) == len(name) && strings.EqualFold(string(local), name) }
	switch x.result.Kind {
	case Set:
		return is("url")
	case Index:
		return is("sitemap")
	case RSS, RDF:
		return is("item")
	case Atom:
		return is("entry")
	}
	return false
}

// means reports whether an element says something of the entry in which it stands. In sitemaps it must be of the
// entry's own namespace, since pictures and films have a loc too; feeds borrow dates from other namespaces.
func (x *xmlReader) means(what element, prefix []byte) bool {
	own := string(prefix) == x.prefix
	switch what {
	case loc, freq, priority:
		return own && !x.result.Kind.IsFeed()
	case change:
		return own || x.result.Kind.IsFeed()
	case birth:
		return x.result.Kind.IsFeed()
	case link:
		return x.result.Kind.IsFeed() && (own || strings.HasPrefix(string(prefix), "atom") || string(prefix) == "a10")
	case guid:
		return own && x.result.Kind == RSS
	}
	return false
}

// atomLink takes <link href=…>, which RSS borrows from Atom. The page itself is rel=alternate, and of several the one
// in HTML.
func (x *xmlReader) atomLink(base string) bool {
	href := x.scan.attribute("href")
	if href == "" {
		return x.result.Kind == Atom && x.scan.empty
	}
	rel, media, rank := x.scan.attribute("rel"), x.scan.attribute("type"), 1
	if rel != "" && !strings.EqualFold(rel, "alternate") {
		return true
	}
	if x.result.Kind == Atom {
		rank = 2
	}
	if rel != "" {
		rank++
	}
	if strings.Contains(strings.ToLower(media), "html") {
		rank++
	}
	if rank > x.rank {
		x.rank, x.entry.Loc = rank, resolve(base, href)
	}
	return true
}

// closes takes the end of an element; one that is not open is passed over.
func (x *xmlReader) closes() {
	_, local := x.scan.name()
	if x.beyond > 0 {
		x.beyond--
		return
	}
	name := digest(local)
	at := len(x.open) - 1
	for at >= 0 && x.open[at].name != name {
		at--
	}
	if at < 0 || x.within > 0 && at < x.within-1 && len(x.open)-at > 8 { // an end far out belongs to nothing here
		return
	}
	if x.wanted != other && at < x.wantedAt {
		x.take(x.open[x.wantedAt-1].base)
	}
	if x.within > 0 && at < x.within {
		x.finish()
		x.within = 0
	}
	x.open = x.open[:at]
}

// take takes the text of an element of the entry.
func (x *xmlReader) take(base string) {
	what := x.wanted
	x.wanted = other
	text := strings.TrimSpace(string(x.text))
	if x.long || text == "" {
		return
	}
	e := &x.entry
	switch what {
	case loc:
		e.Loc = cmp.Or(e.Loc, text)
	case link:
		if rank := 5; x.result.Kind != Atom && x.rank < rank { // RSS and RDF: the text is the page
			x.rank, e.Loc = rank, resolve(base, text)
		}
	case guid:
		if isAddress([]byte(text)) {
			x.permalink = text
		}
	case change:
		if from, until, ok := modified(text); ok && !e.From.After(from) {
			e.From, e.Until = from, until
		}
	case birth:
		if from, until, ok := modified(text); ok {
			x.born = [2]time.Time{from, until}
		}
	case freq:
		e.Frequency = outlink.ParseFrequency(text)
	case priority:
		e.Priority = outlink.ParsePriority(text)
	}
}

// finish hands over the entry at hand.
func (x *xmlReader) finish() {
	x.scan.keep, x.wanted = false, other
	e := &x.entry
	e.Loc = cmp.Or(e.Loc, x.permalink)
	// <sitemap>URL</sitemap>
	if e.Loc == "" && !x.result.Kind.IsFeed() && isAddress(x.bare) && !bytes.ContainsAny(x.bare, spaces) {
		e.Loc = string(x.bare)
	}
	if e.From.IsZero() {
		e.From, e.Until = x.born[0], x.born[1]
	}
	if len(e.Loc) <= x.o.MaxText {
		x.hand(e)
	}
}

// resolve makes a reference of a feed absolute by xml:base, as far as there is one; the rest is for the caller, who
// knows the document's URL.
func resolve(base, ref string) string {
	if base == "" || ref == "" {
		return ref
	}
	to, err := url.Parse(ref)
	if err != nil || to.IsAbs() {
		return ref
	}
	from, err := url.Parse(base)
	if err != nil {
		return ref
	}
	return from.ResolveReference(to).String()
}
