// Package links finds the links of a page, its words and what it says of itself, in one pass over its bytes.
//
// There is no tree and no token: the scanner jumps from one '<' to the next, knows the tags and attributes that hold
// links, and follows the tokenizer of the HTML Standard where that decides what is a tag at all: comments, the raw text
// of scripts, styles, titles and text areas, quoted attributes, CDATA in SVG, inert templates. Of the tree only so
// much is known as decides what a tag is: whether the page is one of frames, and which elements of SVG and MathML are
// open. A link that a browser would drop because an element must not hold it is found nevertheless.
//
// Invariants: a scan never panics and takes time linear in the page; everything kept is bounded by Options; nothing
// kept points into the page.
package links

import (
	"bytes"
	"cmp"
	"slices"

	"henro/messages/outlink"
)

// Options bound what is kept of one page.
type Options struct {
	// links kept; the rest is not looked at. Default 10,000: a hostile page of 10 MB could hold a million
	MaxLinks int
	// bytes of one raw reference; longer ones are left out. Default 8,192: four times what weburl accepts
	MaxRef    int
	MaxAnchor int  // bytes of one anchor text, the rest is cut. Default 256
	MaxTitle  int  // bytes of the title and of the language. Default 512
	MaxText   int  // bytes of main text; 0 leaves the text out. Default 131,072
	Fragments bool // keep links that only name a place in the page ("#top"). Off: they are no links to another page
	XML       bool // the page is application/xhtml+xml: "<script/>" is closed
}

// DefaultOptions are the bounds named in Options.
func DefaultOptions() Options {
	return Options{MaxLinks: 10_000, MaxRef: 8192, MaxAnchor: 256, MaxTitle: 512, MaxText: 128 << 10}
}

// Ref is one reference as it stands in the page.
type Ref struct {
	Raw    string // entities decoded, not resolved
	Kind   outlink.Kind
	Flags  outlink.Flags
	Anchor string // words shown, white space folded
}

// Part is Text[From:To], what is around a link: its anchor text and up to aroundMost bytes on either side of it, as far
// as the anchor texts of others. It is empty for links without an anchor text in Text.
type Part struct{ From, To int }

// aroundMost is some twenty words, or forty characters of Japanese: a sentence.
const aroundMost = 120

// Document is what one page says. It is reused from page to page: Scan overwrites all of it, and Text; the strings stay
// valid.
type Document struct {
	Base      string // raw href of the first base element; empty if there is none
	Links     []Ref  // in the order of their elements
	Around    []Part // of each of Links
	Title     string // of the first title element, white space folded
	Lang      string // of the html element, or of Content-Language in a meta element
	NoIndex   bool   // meta robots: noindex or none
	NoFollow  bool   // meta robots: nofollow or none; the links carry the flag too
	NoArchive bool   // meta robots: noarchive
	TDM       string // meta tdm-reservation: what it says
	Text      []byte // main text: navigation, header, footer, aside, scripts and styles left out; white space folded
	Cut       bool   // there were more links than MaxLinks
	Scripted  bool   // scripts make the page of what they fetch
	Runs      bool   // scripts run in it
	// WebSockets that scripts in the page open, and streams of events
	Sockets, Streams int

	o       Options
	html    []byte
	attrs   []attr
	words   []byte // all strings, one after the other, made one string at the end
	spans   []span
	scratch []byte

	anchor      []byte // words of the open anchor
	anchorLink  int    // its index in spans, -1 for none
	anchorText  int    // where it begins in Text, -1 for nowhere
	anchorSpace bool

	textSpace  bool
	keepText   bool
	keepAside  bool                 // text of navigation and the like too
	skipped    int                  // bytes of text left out
	skip       int                  // open elements whose text is left out
	aside      [lastSkipped + 1]int // of these, by element
	template   int                  // open templates
	noscript   bool                 // within one
	frames     frames
	nested     []open      // elements open since the outermost svg or math, which is the first
	nestedAt   int         // where that begins
	tagAt      int         // where the start tag at hand begins
	lookedBack int         // how often isOpenBefore has looked
	folders    [][2]string // names of modules that end in a slash, and what the import map has for them
	brackets   []byte      // of the script at hand
	srcdoc     int         // documents around this one, which is the srcdoc of a frame
	signs      signs       // that scripts make the page
	hasBase    bool
	hasTitle   bool
	metaLang   string
}

// span is a Ref whose strings still lie in words.
type span struct {
	raw, rawEnd       int
	anchor, anchorEnd int
	text, textEnd     int // of its anchor text in Text; the end is 0 if it is not there
	kind              outlink.Kind
	flags             outlink.Flags
}

// attr is one attribute of the tag at hand, as positions in the page.
type attr struct {
	name, nameEnd   int
	value, valueEnd int
}

func (d *Document) reset(o Options) {
	*d = Document{
		o: o, Links: d.Links[:0], Around: d.Around[:0], Text: d.Text[:0], attrs: d.attrs[:0], words: d.words[:0],
		spans: d.spans[:0], scratch: d.scratch[:0],
		brackets: d.brackets[:0], folders: d.folders[:0], anchor: d.anchor[:0], nested: d.nested[:0],
		anchorLink: -1, keepText: o.MaxText > 0,
	}
	if o.XML {
		d.frames = framesExcluded // no text of a page decides what its elements are
	}
}

// Scan reads a page in UTF-8.
func (d *Document) Scan(html []byte, o Options) {
	d.reset(o)
	d.html = html
	d.scan(0)
	d.Scripted = d.signs.ofScripts(d)
	if d.keepText && len(d.Text) == 0 && d.skipped > 0 { // all of it is navigation, which then counts as the text
		second := Document{keepText: true, keepAside: true, o: o, html: html, Text: d.Text, scratch: d.scratch,
			anchorLink: -1}
		second.o.MaxLinks = 0
		second.scan(0)
		d.Text = second.Text
	}
	d.finish()
}

// finish makes the links of the spans.
func (d *Document) finish() {
	d.closeAnchor()
	all := string(d.words)
	for _, s := range d.spans {
		ref := Ref{Raw: all[s.raw:s.rawEnd], Kind: s.kind, Flags: s.flags, Anchor: all[s.anchor:s.anchorEnd]}
		if d.NoFollow {
			ref.Flags |= outlink.NoFollow
		}
		d.Links = append(d.Links, ref)
	}
	d.around()
	d.Lang = cmp.Or(d.Lang, d.metaLang)
	d.html = nil
}

// around finds what is around each link.
func (d *Document) around() {
	d.Around = slices.Grow(d.Around, len(d.spans))[:len(d.spans)]
	behind := 0 // end of the anchor text before
	for i, s := range d.spans {
		d.Around[i] = Part{}
		if s.textEnd > 0 {
			d.Around[i] = Part{max(s.text-aroundMost, behind), s.textEnd + aroundMost}
			behind = s.textEnd
		}
	}
	next := len(d.Text)
	for i := len(d.spans) - 1; i >= 0; i-- {
		if s := d.spans[i]; s.textEnd > 0 {
			d.Around[i].To = min(d.Around[i].To, next)
			next = s.text
		}
	}
}

// Classes of bytes.
const (
	space       = 1 << iota // ASCII white space of HTML
	endName                 // ends a name of a tag or an attribute
	endUnquoted             // ends an attribute value without quotes
	letter
	ampersand
)

var class = func() (t [256]uint8) {
	for _, c := range "\t\n\f\r " {
		t[c] |= space | endName | endUnquoted
	}
	t['/'] |= endName
	t['>'] |= endName | endUnquoted
	t['='] |= endName
	t['&'] |= ampersand
	for c := 'a'; c <= 'z'; c++ {
		t[c] |= letter
		t[c-0x20] |= letter
	}
	return t
}()

// scan reads the page from pos on.
func (d *Document) scan(pos int) {
	html := d.html
	for pos < len(html) {
		lt := bytes.IndexByte(html[pos:], '<')
		if lt < 0 {
			d.text(html[pos:])
			return
		}
		if lt > 0 {
			d.text(html[pos : pos+lt])
			pos += lt
		}
		if pos+1 == len(html) {
			d.text(html[pos:])
			return
		}
		switch c := html[pos+1]; {
		case class[c]&letter != 0:
			pos = d.startTag(pos + 1)
		case c == '/':
			pos = d.endTag(pos + 2)
		case c == '!':
			pos = d.declaration(pos + 2)
		case c == '?':
			if d.o.XML {
				d.instruction(pos + 2)
			}
			pos = past(html, pos+2, '>')
		default:
			d.text(html[pos : pos+1])
			pos++
		}
	}
}

// instruction takes the style sheet that <?xml-stylesheet href="…"?> names; pos is after "<?".
func (d *Document) instruction(pos int) {
	const name = "xml-stylesheet"
	if bytes.HasPrefix(d.html[pos:], []byte(name)) {
		d.attributes(pos + len(name))
		d.linkAttr("href", outlink.Style, 0)
	}
}

// past returns the position after the next c.
func past(b []byte, pos int, c byte) int {
	if i := bytes.IndexByte(b[pos:], c); i >= 0 {
		return pos + i + 1
	}
	return len(b)
}

// declaration skips a comment, a document type, or CDATA; pos is after "<!".
func (d *Document) declaration(pos int) int {
	rest := d.html[pos:]
	switch {
	case len(rest) >= 2 && rest[0] == '-' && rest[1] == '-':
		if bytes.HasPrefix(rest, []byte("--[-->")) || bytes.HasPrefix(rest, []byte("--$-->")) {
			d.signs.fetches = true
		}
		return d.comment(pos + 2)
	case bytes.HasPrefix(rest, []byte("[CDATA[")) && (d.current() != htmlElement || d.o.XML):
		end := bytes.Index(rest, []byte("]]>"))
		if end < 0 {
			end = len(rest)
		}
		d.text(rest[len("[CDATA["):max(end, len("[CDATA["))])
		return min(pos+end+len("]]>"), len(d.html))
	default:
		return past(d.html, pos, '>')
	}
}

// comment returns the position after a comment; pos is after "<!--".
func (d *Document) comment(pos int) int {
	html := d.html
	if pos < len(html) && html[pos] == '>' {
		return pos + 1
	}
	if pos+1 < len(html) && html[pos] == '-' && html[pos+1] == '>' {
		return pos + 2
	}
	for {
		i := bytes.Index(html[pos:], []byte("--"))
		if i < 0 {
			return len(html)
		}
		pos += i + 2
		if pos < len(html) && html[pos] == '>' {
			return pos + 1
		}
		if pos+1 < len(html) && html[pos] == '!' && html[pos+1] == '>' {
			return pos + 2
		}
		pos-- // "--->" ends a comment too
	}
}

// tagName reads a name into a small buffer, in lower case; longer names are none that we know.
func tagName(html []byte, pos int, into *[maxTag]byte) (n, end int) {
	for pos < len(html) && class[html[pos]]&endName == 0 {
		if n < maxTag {
			c := html[pos]
			if c >= 'A' && c <= 'Z' {
				c |= 0x20
			}
			into[n] = c
		}
		n++
		pos++
	}
	// The standard lets '=' be a part of a tag name.
	if pos < len(html) && html[pos] == '=' {
		for pos < len(html) && (class[html[pos]]&endName == 0 || html[pos] == '=') {
			pos++
		}
		return maxTag + 1, pos
	}
	return n, pos
}

// attributes reads the attributes of a tag and returns the position after its '>', or -1 if the page ends before: such
// a tag does not count.
func (d *Document) attributes(pos int) (end int, selfClosing bool) {
	html := d.html
	d.attrs = d.attrs[:0]
	for {
		for pos < len(html) && (class[html[pos]]&space != 0 || html[pos] == '/') {
			pos++
		}
		if pos >= len(html) {
			return -1, false
		}
		if html[pos] == '>' {
			return pos + 1, html[pos-1] == '/'
		}
		a := attr{name: pos}
		pos++ // a '=' here is a part of the name
		for pos < len(html) && class[html[pos]]&endName == 0 {
			pos++
		}
		a.nameEnd = pos
		for pos < len(html) && class[html[pos]]&space != 0 {
			pos++
		}
		if pos < len(html) && html[pos] == '=' {
			pos++
			for pos < len(html) && class[html[pos]]&space != 0 {
				pos++
			}
			if pos >= len(html) {
				return -1, false
			}
			switch quote := html[pos]; quote {
			case '"', '\'':
				i := bytes.IndexByte(html[pos+1:], quote)
				if i < 0 {
					return -1, false
				}
				a.value, a.valueEnd = pos+1, pos+1+i
				pos += i + 2
			case '>':
			default:
				a.value = pos
				for pos < len(html) && class[html[pos]]&endUnquoted == 0 {
					pos++
				}
				a.valueEnd = pos
				if pos < len(html) && html[pos] == '>' { // "<a href=b/>" is not self-closing
					if len(d.attrs) < maxAttrs {
						d.attrs = append(d.attrs, a)
					}
					return pos + 1, false
				}
			}
		}
		if len(d.attrs) < maxAttrs {
			d.attrs = append(d.attrs, a)
		}
	}
}

// maxAttrs bounds the attributes looked at in one tag.
const maxAttrs = 256

// attr returns the value of the first attribute of this name (in lower case), as it stands.
func (d *Document) attr(name string) ([]byte, bool) {
	for i := range d.attrs {
		a := &d.attrs[i]
		if a.nameEnd-a.name == len(name) && equalFold(d.html[a.name:a.nameEnd], name) {
			return d.html[a.value:a.valueEnd], true
		}
	}
	return nil, false
}

// equalFold compares with a name in lower case, of the same length.
func equalFold(b []byte, lower string) bool {
	for i := range b {
		c := b[i]
		if c >= 'A' && c <= 'Z' {
			c |= 0x20
		}
		if c != lower[i] {
			return false
		}
	}
	return true
}

// is reports whether b is the word, in any case.
func is(b []byte, lower string) bool { return len(b) == len(lower) && equalFold(b, lower) }

// link keeps one reference given as an attribute value.
func (d *Document) link(value []byte, kind outlink.Kind, flags outlink.Flags) {
	d.add(trim(d.unescapeAttr(value)), kind, flags)
}

// add keeps one reference.
func (d *Document) add(raw []byte, kind outlink.Kind, flags outlink.Flags) {
	if d.template > 0 || len(raw) > d.o.MaxRef {
		return
	}
	if d.noscript && kind.Class() != 0 { // a browser that runs scripts loads nothing of it
		if kind.Navigates() {
			kind = outlink.Link
		} else {
			kind = outlink.Other
		}
	}
	switch {
	case len(raw) == 0:
		if !d.o.Fragments || !kind.Navigates() && kind != outlink.Form {
			return
		}
	case raw[0] == '#' && !d.o.Fragments:
		return
	case raw[0]|0x20 == 'd' && len(raw) > 5 && is(raw[:5], "data:"):
		return
	}
	if len(d.spans) >= d.o.MaxLinks {
		d.Cut = true
		return
	}
	start := len(d.words)
	d.words = append(d.words, raw...)
	d.spans = append(d.spans, span{raw: start, rawEnd: len(d.words), kind: kind, flags: flags})
}

// anchored keeps the link of an a element, whose words follow.
func (d *Document) anchored(value []byte, flags outlink.Flags) {
	d.closeAnchor()
	before := len(d.spans)
	d.link(value, outlink.Anchor, flags)
	if len(d.spans) > before && d.o.MaxAnchor > 0 {
		d.anchorLink = before
		d.anchorText = -1
		if d.keepText && d.skip == 0 && d.template == 0 {
			d.anchorText = len(d.Text)
		}
	}
}

func (d *Document) closeAnchor() {
	if d.anchorLink >= 0 && d.anchorLink < len(d.spans) {
		s := &d.spans[d.anchorLink]
		s.anchor = len(d.words)
		d.words = append(d.words, cut(d.anchor, d.o.MaxAnchor)...)
		s.anchorEnd = len(d.words)
		if d.anchorText >= 0 {
			s.text, s.textEnd = d.anchorText, len(d.Text)
		}
	}
	d.anchorLink = -1
	d.anchor = d.anchor[:0]
	d.anchorSpace = false
}
