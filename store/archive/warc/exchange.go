package warc

import (
	"bytes"
	"net/netip"
	"time"
)

// MinIdentical is the length of payload from which an unchanged page is stored as a revisit. Below it the pointer back
// would be longer than what it saves.
const MinIdentical = 1 << 10

// Exchange is one HTTP request and what came of it.
type Exchange struct {
	URI     string
	IP      netip.Addr
	At      time.Time // when the request was sent
	Request []byte    // head and body as sent; empty: no request record
	Head    []byte    // status line and header as they came, with the empty line at their end
	Body    []byte    // everything after the head, as it came
	Payload []byte    // Body without its transfer coding; nil: the same as Body
	// PayloadDigest is the digest of Payload, computed if zero.
	PayloadDigest Digest
	Packed        bool   // Payload is compressed already, as most pictures are
	Truncated     string // why Body is not whole, or empty
	// Extra are further fields of the capture and of the request, such as WARC-Protocol.
	Extra []Field
	// Earlier is the capture this one repeats; nil: the answer is stored whole.
	Earlier *Earlier
	// About are fields of a metadata record: fetch time, outlinks, language. Empty: no such record.
	About []Field
}

// Earlier names the capture that holds the payload of a revisit.
type Earlier struct {
	URI         string
	At          time.Time
	ID          ID     // if known
	Digest      Digest // of its payload, if known
	NotModified bool   // the server said 304, so there was no payload to compare
}

// Members says how the records of an exchange lie in the bytes built: the capture (a response or revisit) first, then
// the request, then the metadata; a length is 0 where there is no such record.
type Members struct {
	Capture, Request, Metadata int
	ID                         ID // of the capture
	PayloadDigest              Digest
	Revisit                    bool
}

// AppendExchange appends the records of x to dst: a response, or a revisit that points at x.Earlier, then the request
// and the metadata, all naming each other as concurrent.
func (b *Builder) AppendExchange(dst []byte, x *Exchange) ([]byte, Members) {
	head, body := x.Head, x.Body
	payload := x.Payload
	if payload == nil {
		payload = body
	} else {
		b.head = appendUncoded(b.head[:0], head)
		head, body = b.head, payload
	}
	if x.PayloadDigest.IsZero() && (x.Earlier == nil || !x.Earlier.NotModified) {
		x.PayloadDigest = Sum(payload)
	}
	capture, request, about := &b.records[0], &b.records[1], &b.records[2]
	b.ids = [3]ID{NewID(), NewID(), NewID()}
	*capture = Record{
		Type: Response, ID: b.ids[0], Date: x.At, TargetURI: x.URI, IP: x.IP, ContentType: TypeResponse,
		Truncated: x.Truncated, PayloadDigest: x.PayloadDigest, Extra: x.Extra, Head: head, Body: body,
		Packed: x.Packed,
	}
	if e := x.Earlier; e != nil {
		capture.Type = Revisit
		capture.RefersTo, capture.RefersToURI, capture.RefersToDate = e.ID, e.URI, e.At
		if e.NotModified {
			capture.Profile, capture.PayloadDigest = ProfileNotModified, e.Digest
		} else {
			capture.Profile, capture.Truncated, capture.Body = ProfileIdentical, "length", nil
		}
	}
	others := b.ids[1:1]
	if len(x.Request) > 0 {
		others = b.ids[1:2]
	}
	capture.ConcurrentTo = others

	m := Members{ID: capture.ID, PayloadDigest: capture.PayloadDigest, Revisit: x.Earlier != nil}
	at := len(dst)
	dst = b.Append(dst, capture)
	m.Capture, at = len(dst)-at, len(dst)
	if len(x.Request) > 0 {
		*request = Record{
			Type: Request, ID: b.ids[1], Date: x.At, TargetURI: x.URI, IP: x.IP, ContentType: TypeRequest,
			ConcurrentTo: b.ids[:1], Extra: x.Extra, Head: x.Request,
		}
		dst = b.Append(dst, request)
		m.Request, at = len(dst)-at, len(dst)
	}
	if len(x.About) > 0 {
		b.head = AppendFields(b.head[:0], x.About)
		*about = Record{
			Type: Metadata, ID: b.ids[2], Date: x.At, TargetURI: x.URI, ContentType: TypeFields,
			ConcurrentTo: b.ids[:1], Head: b.head,
		}
		dst = b.Append(dst, about)
		m.Metadata = len(dst) - at
	}
	// Nothing of the caller's is kept.
	b.records = [3]Record{}
	return dst, m
}

// AppendFields appends fields as lines of application/warc-fields, the form of warcinfo and metadata blocks.
func AppendFields(dst []byte, fields []Field) []byte {
	for _, f := range fields {
		dst = appendField(dst, f.Name, f.Value)
	}
	return dst
}

var transferEncoding = []byte("Transfer-Encoding")

// appendUncoded appends head with every Transfer-Encoding renamed, for a body that is stored without it.
func appendUncoded(dst, head []byte) []byte {
	for len(head) > 0 {
		line := head
		if i := bytes.IndexByte(head, '\n'); i >= 0 {
			line = head[:i+1]
		}
		head = head[len(line):]
		if name, _, ok := bytes.Cut(line, colon); ok && bytes.EqualFold(bytes.TrimSpace(name), transferEncoding) {
			dst = append(dst, "X-Archive-Orig-"...)
		}
		dst = append(dst, line...)
	}
	return dst
}

var colon = []byte(":")

// Info is what the first record of a file says about all of it.
type Info struct {
	Software    string // name/version
	Operator    string // who runs the crawl and how to reach them
	Hostname    string // of the crawling machine
	IP          netip.Addr
	UserAgent   string // sent with every request
	Robots      string // the policy, such as "obey (RFC 9309)"
	IsPartOf    string // the name of the crawl
	Description string
}

// Fields returns the lines of the block.
func (i *Info) Fields() []Field {
	ip := ""
	if i.IP.IsValid() {
		ip = i.IP.String()
	}
	return []Field{
		{"software", i.Software},
		{"format", "WARC File Format 1.1"},
		{"conformsTo", "https://iipc.github.io/warc-specifications/specifications/warc-format/warc-1.1/"},
		{"robots", i.Robots},
		{"operator", i.Operator},
		{"ip", ip},
		{"hostname", i.Hostname},
		{"http-header-user-agent", i.UserAgent},
		{"isPartOf", i.IsPartOf},
		{"description", i.Description},
	}
}

// AppendInfo appends the warcinfo record of a file called filename.
func (b *Builder) AppendInfo(dst []byte, i *Info, filename string, at time.Time) []byte {
	return b.Append(dst, &Record{
		Type: Warcinfo, Date: at, Filename: filename, ContentType: TypeFields, Head: AppendFields(nil, i.Fields()),
	})
}
