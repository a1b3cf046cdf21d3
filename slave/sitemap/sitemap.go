// Package sitemap reads the documents by which a host names its pages and says when they changed: sitemaps, indexes of
// sitemaps, lists of URLs as text, and feeds (RSS, Atom, RDF), each also compressed.
//
// What a document is follows from its first element and not from its name or media type, which are wrong too often.
// Reading is one pass over a stream: a scanner jumps from tag to tag, without a tree, and hands over each entry as its
// element ends. What is malformed is passed over: an attribute without its quote, an element that is not closed, an
// ampersand that stands for itself. Namespaces are looked at only so far that a picture's <image:loc> is not taken for
// a page's <loc>.
//
// mmcdole/gofeed keeps a whole feed as a tree of texts, and it and encoding/xml give up at the first thing that is
// malformed.
//
// Invariants: Read never panics; its time is linear in what it reads and its memory bounded by Options, whatever the
// document says: no entity of the document's own is expanded, and a compressed one is cut where it exceeds its bound.
package sitemap

import (
	"bufio"
	"bytes"
	"compress/gzip"
	"io"

	"golang.org/x/text/transform"

	"henro/messages/outlink"
)

// Options bound what is read of one document.
type Options struct {
	MaxBytes   int64 // uncompressed; the rest is not read. Default 50 MiB, the bound of the sitemap protocol
	MaxEntries int   // handed over; the rest is not read. Default 50,000, likewise
	// bytes of one text or tag; a longer one is passed over. Default 8,192: four times the longest URL of the protocol
	MaxText int
	// name of the encoding that the host declares (slave/charset); empty: as the document says, UTF-8 otherwise
	Charset string
}

// DefaultOptions are the bounds named in Options.
func DefaultOptions() Options {
	return Options{MaxBytes: 50 << 20, MaxEntries: 50_000, MaxText: 8192}
}

// Kind says what a document is.
type Kind uint8

// The kinds of documents.
const (
	None  Kind = iota // nothing that names pages
	Set               // a sitemap: <urlset>
	Index             // an index of sitemaps: <sitemapindex>
	Text              // a list of URLs, one a line
	RSS               // RSS 0.91 to 2.0
	RDF               // RSS 1.0 and 0.90
	Atom              // Atom 1.0 and 0.3
)

// String returns the kind as people call it.
func (k Kind) String() string {
	return [...]string{"none", "sitemap", "sitemap index", "text sitemap", "RSS", "RDF", "Atom"}[min(k, Atom)]
}

// IsFeed tells feeds from sitemaps.
func (k Kind) IsFeed() bool { return k >= RSS }

// Entry is what a document says of one page, or of a further part of itself.
type Entry struct {
	Loc  string // as it stands there, entities decoded; relative to the document unless absolute
	Part bool   // not a page: a sitemap that an index names, or the next page of a feed
	outlink.Hint
}

// Result says what was read.
type Result struct {
	Kind    Kind
	Entries int
	Bytes   int64 // uncompressed
	Cut     bool  // there was more than Options allow
	Broken  bool  // the stream ended in an error, a damaged compression say; what stood before it was read
}

// Read hands the entries of a document to visit, in their order, until visit says false. An entry is valid during the
// call; its strings stay.
func Read(in io.Reader, o Options, visit func(*Entry) bool) Result {
	r := &reader{o: o, visit: visit}
	r.read(in)
	return r.result
}

type reader struct {
	o      Options
	visit  func(*Entry) bool
	in     *bufio.Reader
	result Result
	ended  bool // visit wants no more, or there may be no more
}

// maxLayers is how often a document may be compressed: some servers compress a .gz once more.
const maxLayers = 2

// window is how much of a document is held at once.
const window = 32 << 10

func (r *reader) read(in io.Reader) {
	layer := r.bound(in)
	for range maxLayers {
		if head, _ := r.in.Peek(3); !bytes.HasPrefix(head, []byte{0x1f, 0x8b, 8}) {
			break
		}
		unzip, err := gzip.NewReader(r.in)
		if err != nil {
			r.result.Broken = true
			return
		}
		layer = r.bound(unzip)
	}
	defer func() { r.result.Bytes = layer.count }()
	head, _ := r.in.Peek(1024)
	if encoding := encodingOf(head, r.o.Charset); encoding != nil {
		r.in = bufio.NewReaderSize(transform.NewReader(r.in, encoding.NewDecoder()), window)
	}
	head, _ = r.in.Peek(1024)
	head = bytes.TrimLeft(bytes.TrimPrefix(head, []byte("\xef\xbb\xbf")), " \t\r\n")
	switch {
	case isAddress(head):
		r.text()
	case bytes.IndexByte(head, '<') >= 0:
		newXML(r).read()
	}
}

// bound makes r read from in, as much as Options allow.
func (r *reader) bound(in io.Reader) *bounded {
	b := &bounded{in: in, most: r.o.MaxBytes, result: &r.result}
	r.in = bufio.NewReaderSize(b, window)
	return b
}

// bounded counts what is read and ends it at a bound. An error is an end, which is noted.
type bounded struct {
	in          io.Reader
	count, most int64
	result      *Result
}

func (b *bounded) Read(p []byte) (int, error) {
	if b.count >= b.most {
		var one [1]byte
		if n, _ := b.in.Read(one[:]); n > 0 {
			b.result.Cut = true
		}
		return 0, io.EOF
	}
	n, err := b.in.Read(p[:min(int64(len(p)), b.most-b.count)])
	b.count += int64(n)
	if err != nil && err != io.EOF {
		b.result.Broken = true
		err = io.EOF
	}
	return n, err
}

// hand gives an entry to the caller.
func (r *reader) hand(e *Entry) {
	if e.Loc == "" || r.ended {
		return
	}
	if r.result.Entries >= r.o.MaxEntries {
		r.result.Cut, r.ended = true, true
		return
	}
	r.result.Entries++
	r.ended = !r.visit(e)
}
