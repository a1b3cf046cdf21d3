// Package cdxj writes and reads CDXJ, the index from a page and a moment to the place of its capture in a WARC file.
//
// One line stands for one capture: a key that sorts all pages of a domain together, the moment in 14 digits, and a JSON
// object:
//
//	com,example)/a 20260314120000 {"url":"http://example.com/a","mime":"text/html","status":"200","digest":"…",
//	                              "length":"1043","offset":"333","filename":"HENRO-….warc.gz"}
//
// Lines are sorted by their bytes (LC_ALL=C), so that replay finds all captures of a page by binary search, and indexes
// are merged like any sorted lists. The key is weburl.URL.IndexKey, under which pywb and OpenWayback look pages up.
// Numbers are JSON strings because pywb writes them so; both forms are read.
//
// # Invariants
//
//   - A line formatted and parsed gives the same entry, and an index made from a WARC file is the one that its writer
//     made.
//   - Merging drops lines that stand twice, so that indexing a file again changes nothing.
//   - Sorting and merging hold a bounded part of an index in memory.
package cdxj

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"time"
	"unicode/utf8"

	"henro/messages/posted"
	"henro/messages/weburl"
	"henro/store/archive/warc"
)

var (
	// ErrLine is returned for a line that is not CDXJ.
	ErrLine = errors.New("cdxj: not an index line")
	// ErrUnsorted is returned when lines are found out of order where they must be sorted.
	ErrUnsorted = errors.New("cdxj: lines are not sorted")
)

// Entry is one line: one capture of one page.
type Entry struct {
	Key      string    // see Key
	At       time.Time // of the capture, in whole seconds
	URL      string
	Mime     string // of the answer without parameters; warc/revisit for a revisit; unk when unknown
	Status   int    // of HTTP; 0 when there is none
	Digest   string // of the payload, base32 without "sha1:"
	Length   int64  // of the record in the file, in bytes; 0 when unknown
	Offset   int64  // of the record in the file, in bytes
	Filename string
	// further fields of others' indexes, by name; values are strings, or raw JSON where they were not
	Extra []warc.Field
}

const stampLayout = "20060102150405"

// Revisit is the Mime of captures whose payload is that of an earlier one.
const Revisit = "warc/revisit"

// Key returns the key of a URL.
func Key(url weburl.URL) string { return url.IndexKey() }

// New returns the entry of the capture at the head of what AppendExchange built. Its Offset is relative to those bytes;
// Filename is for the one who appends them.
func New(url weburl.URL, x *warc.Exchange, m warc.Members, status int, contentType string) Entry {
	e := Entry{Key: Key(url), At: x.At.UTC().Truncate(time.Second), URL: x.URI, Mime: mime(contentType), Status: status,
		Length: int64(m.Capture)}
	if m.Revisit {
		e.Mime = Revisit
	}
	if !m.PayloadDigest.IsZero() {
		e.Digest = m.PayloadDigest.Base32()
	}
	for _, f := range x.Extra {
		e.posted(f.Name, f.Value)
	}
	e.more(x.Truncated, locationOf(x.Head))
	return e
}

// The further fields that Common Crawl has, too: why the payload is not whole, and where an answer from 300 to 399
// leads, as a whole URL.
const (
	Truncated = "truncated"
	Redirect  = "redirect"
)

// maxRedirect bounds the URL of a Redirect, in bytes; a longer one is left out.
const maxRedirect = 8 << 10

// more adds further fields. A revisit is always without its payload.
func (e *Entry) more(truncated, location string) {
	if truncated != "" && e.Mime != Revisit {
		e.Extra = append(e.Extra, warc.Field{Name: Truncated, Value: truncated})
	}
	base, err := url.Parse(e.URL)
	if to, bad := url.Parse(location); e.Status/100 == 3 && location != "" && err == nil && bad == nil {
		if whole := base.ResolveReference(to).String(); len(whole) <= maxRedirect {
			e.Extra = append(e.Extra, warc.Field{Name: Redirect, Value: whole})
		}
	}
	slices.SortFunc(e.Extra, func(a, b warc.Field) int { return strings.Compare(a.Name, b.Name) })
}

// locationOf is the first Location in the head of an answer.
func locationOf(head []byte) string {
	for line := range bytes.Lines(head) {
		if name, value, ok := bytes.Cut(line, []byte(":")); ok && strings.EqualFold(string(name), "Location") {
			return string(bytes.TrimSpace(value))
		}
	}
	return ""
}

// Field is a further field of an entry; empty: it has none of that name.
func (e *Entry) Field(name string) string {
	for _, f := range e.Extra {
		if f.Name == name {
			return f.Value
		}
	}
	return ""
}

// NewResource is New for a record of a resource of so many bytes, which begins at an offset of what is appended.
func NewResource(r *warc.Record, offset, length int) Entry {
	return Entry{Key: RawKey(r.TargetURI), At: r.Date.UTC().Truncate(time.Second), URL: r.TargetURI,
		Mime: mime(r.ContentType), Digest: r.PayloadDigest.Base32(), Offset: int64(offset), Length: int64(length)}
}

// Of returns the entry of a record of the file called filename, and reads the record to its end, since only then its
// length is known. It reports false for records that no index lists: requests, and what the crawler says about itself.
func Of(r *warc.Entry, filename string) (Entry, bool, error) {
	listed := false
	fields := strings.HasPrefix(strings.ToLower(r.Header.Get("Content-Type")), warc.TypeFields)
	switch r.Type() {
	case warc.Response, warc.Revisit, warc.Conversion:
		listed = true
	case warc.Resource, warc.Metadata:
		listed = !fields
	}
	if r.TargetURI() == "" {
		listed = false
	}
	if !listed {
		return Entry{}, false, r.Close()
	}
	at, err := r.Date()
	if err != nil {
		return Entry{}, false, r.Close() // a record without a moment cannot be listed
	}
	e := Entry{At: at.UTC().Truncate(time.Second), URL: r.TargetURI(), Offset: r.Offset, Filename: filename}
	e.Key = RawKey(e.URL)
	e.posted(posted.Field, r.Header.Get(posted.Field))
	e.Mime = mime(r.Header.Get("Content-Type"))
	if _, digest, ok := strings.Cut(r.Header.Get("WARC-Payload-Digest"), ":"); ok {
		e.Digest = digest
	}
	location := ""
	switch m, err := r.HTTP(); {
	case err == nil:
		e.Status, e.Mime = m.Status, mime(m.Header.Get("Content-Type"))
		location = m.Header.Get("Location")
	case !errors.Is(err, warc.ErrNotHTTP):
		return Entry{}, false, err
	}
	if r.Type() == warc.Revisit {
		e.Mime = Revisit
	}
	e.more(r.Header.Get("WARC-Truncated"), location)
	if err := r.Close(); err != nil {
		return Entry{}, false, err
	}
	e.Length = r.Length
	return e, true, nil
}

// posted makes an entry that of a request by POST, if a field of its record says that it is one.
func (e *Entry) posted(name, value string) {
	if name != posted.Field {
		return
	}
	if key, body, is := posted.Line(e.URL, value); is {
		e.Key, e.Extra = key, []warc.Field{{Name: "method", Value: "POST"}, {Name: "requestBody", Value: body}}
	}
}

// Asked are the method of the request and what the index has of its body; empty: it was a GET.
func (e *Entry) Asked() (method, body string) {
	if method = e.Field("method"); method == "GET" {
		method = ""
	}
	return method, e.Field("requestBody")
}

// RawKey is Key for a URI that may be no URL of the web, such as dns:example.com.
func RawKey(uri string) string {
	if u, err := weburl.Parse(uri); err == nil {
		return Key(u)
	}
	return strings.ReplaceAll(strings.ToLower(uri), " ", "%20")
}

// mime returns the type of a Content-Type without its parameters.
func mime(contentType string) string {
	media, _, _ := strings.Cut(contentType, ";")
	if media = strings.ToLower(strings.TrimSpace(media)); media == "" {
		return "unk"
	}
	return media
}

// Append appends the line of e with its line end.
func (e *Entry) Append(dst []byte) []byte {
	dst = append(append(dst, e.Key...), ' ')
	dst = e.At.UTC().AppendFormat(dst, stampLayout)
	dst = append(dst, ` {"url":`...)
	dst = appendString(dst, e.URL)
	dst = appendMember(dst, "mime", e.Mime)
	if e.Status > 0 {
		dst = appendNumber(dst, "status", int64(e.Status))
	}
	dst = appendMember(dst, "digest", e.Digest)
	if e.Length > 0 {
		dst = appendNumber(dst, "length", e.Length)
	}
	dst = appendNumber(dst, "offset", e.Offset)
	dst = appendMember(dst, "filename", e.Filename)
	for _, f := range e.Extra {
		if raw := []byte(f.Value); len(raw) > 0 && strings.IndexByte("{[tfn", raw[0]) >= 0 && json.Valid(raw) {
			dst = append(append(appendString(append(dst, ','), f.Name), ':'), raw...)
			continue
		}
		dst = append(appendString(append(dst, ','), f.Name), ':')
		dst = appendString(dst, f.Value)
	}
	return append(dst, "}\n"...)
}

func appendMember(dst []byte, name, value string) []byte {
	if value == "" {
		return dst
	}
	return appendString(append(append(append(dst, `,"`...), name...), `":`...), value)
}

func appendNumber(dst []byte, name string, n int64) []byte {
	dst = append(append(append(dst, `,"`...), name...), `":"`...)
	return append(strconv.AppendInt(dst, n, 10), '"')
}

// appendString appends s as a JSON string. The standard library's encoder would allocate, and escape & of every query.
func appendString(dst []byte, s string) []byte {
	const hex = "0123456789abcdef"
	dst = append(dst, '"')
	for i := 0; i < len(s); {
		switch c := s[i]; {
		case c == '"' || c == '\\':
			dst = append(dst, '\\', c)
		case c < ' ' || c == 0x7f:
			dst = append(dst, '\\', 'u', '0', '0', hex[c>>4], hex[c&15])
		case c < utf8.RuneSelf:
			dst = append(dst, c)
		default:
			r, n := utf8.DecodeRuneInString(s[i:])
			dst = utf8.AppendRune(dst, r)
			i += n
			continue
		}
		i++
	}
	return append(dst, '"')
}

// Parse reads one line, with or without its end. Times shorter than 14 digits are taken as their beginning.
func Parse(line []byte) (Entry, error) {
	line = bytes.TrimRight(line, "\r\n")
	key, rest, ok := bytes.Cut(line, []byte(" "))
	stamp, object, ok2 := bytes.Cut(rest, []byte(" "))
	if !ok || !ok2 || len(key) == 0 {
		return Entry{}, fmt.Errorf("%w: %.80q", ErrLine, line)
	}
	at, err := ParseStamp(string(stamp))
	if err != nil {
		return Entry{}, fmt.Errorf("%w: %w", ErrLine, err)
	}
	e := Entry{Key: string(key), At: at}
	if e.plain(object) {
		return e, nil
	}
	e = Entry{Key: e.Key, At: at}
	var members map[string]json.RawMessage
	if err := json.Unmarshal(object, &members); err != nil {
		return Entry{}, fmt.Errorf("%w: %w", ErrLine, err)
	}
	for name, raw := range members {
		value := string(raw)
		if raw[0] == '"' {
			if err := json.Unmarshal(raw, &value); err != nil {
				return Entry{}, fmt.Errorf("%w: %w", ErrLine, err)
			}
		}
		if !e.set(name, value) {
			e.Extra = append(e.Extra, warc.Field{Name: name, Value: value})
		}
	}
	slices.SortFunc(e.Extra, func(a, b warc.Field) int { return strings.Compare(a.Name, b.Name) })
	return e, nil
}

// plain reads the members of an object as Append writes it, if it has no escapes and no further fields: a tenth of the
// time that any JSON takes. It reports whether it has.
func (e *Entry) plain(object []byte) bool {
	for first := true; ; first = false {
		open := []byte(`,"`)
		if first {
			open = []byte(`{"`)
		}
		rest, ok := bytes.CutPrefix(object, open)
		name, rest, ok2 := bytes.Cut(rest, []byte(`":"`))
		value, rest, ok3 := bytes.Cut(rest, []byte(`"`))
		if !ok || !ok2 || !ok3 || !utf8.Valid(value) || bytes.ContainsFunc(value, escaped) ||
			!e.set(string(name), string(value)) {
			return false
		}
		if object = rest; string(object) == "}" {
			return true
		}
	}
}

// escaped reports whether a rune in a string of JSON is a backslash or must stand behind one.
func escaped(r rune) bool { return r < ' ' || r == '\\' }

// set sets a field by the name of its member, if it is one of ours.
func (e *Entry) set(name, value string) bool {
	switch name {
	case "url":
		e.URL = value
	case "mime":
		e.Mime = value
	case "status":
		e.Status = int(number(value))
	case "digest":
		e.Digest = strings.TrimPrefix(value, "sha1:")
	case "length":
		e.Length = number(value)
	case "offset":
		e.Offset = number(value)
	case "filename":
		e.Filename = value
	default:
		return false
	}
	return true
}

// number reads a count; "-" and the like are none.
func number(s string) int64 {
	n, err := strconv.ParseInt(s, 10, 64)
	if err != nil || n < 0 {
		return 0
	}
	return n
}

// ParseStamp reads a time of 4 to 14 digits.
func ParseStamp(s string) (time.Time, error) {
	if len(s) < 4 || len(s) > len(stampLayout) || len(s)%2 != 0 || strings.Trim(s, "0123456789") != "" {
		return time.Time{}, fmt.Errorf("time %.20q is not 14 digits", s)
	}
	t, err := time.Parse(stampLayout, s+"00000101000000"[len(s):])
	if err != nil {
		return time.Time{}, fmt.Errorf("time %q: %w", s, err)
	}
	return t, nil
}

// Stamp formats a time as 14 digits.
func Stamp(t time.Time) string { return t.UTC().Format(stampLayout) }
