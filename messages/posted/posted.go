// Package posted names requests by POST by URLs, as pywb and wabac.js do: the URL asked for, the method and the body in
// its query. So a POST that the scripts of a page make goes the way of any requisite, and is found again in an archive.
//
// There are two such names. One is exact, and is that of the crawl: Make packs content type and body into it, Read gets
// them back. The other is that of archives (Request.Query), as pywb makes it: of bodies of JSON and of forms it has the
// names and values, so that another archive finds a capture of ours and we one of its.
//
// Invariants: what Make returns is canonical, and Read returns what it was made of; a URL of this form is made by Make
// alone, for what a page in the slave's browser asked for: who takes in URLs of others asks Is.
package posted

import (
	"bytes"
	"compress/flate"
	"encoding/base64"
	"errors"
	"io"
	"strings"
	"unicode"

	"henro/messages/weburl"
)

// MaxBody bounds a body in bytes: pywb looks at no more of one. What does not fit into a URL is refused as well.
const MaxBody = 4096

// ErrUnfit is returned for a request that is not made: too large, of a content type that is no text, or with a URL that
// is such a name already.
var ErrUnfit = errors.New("a POST of this kind is not made")

const (
	method   = "__wb_method=POST"
	mark     = method + "&__wb_post="
	maxType  = 128
	readable = 200 // runes of a body that people are shown
)

// Request is a POST. ContentType is as it is sent; empty: none is.
type Request struct {
	URL         weburl.URL
	ContentType string
	Body        []byte
}

// Make returns the URL by which a request is known, ErrUnfit if it is not to be made.
func Make(r Request) (weburl.URL, error) {
	media, _, _ := strings.Cut(strings.ToLower(r.ContentType), ";")
	media = strings.TrimSpace(media)
	fits := strings.HasPrefix(media, "text/") || strings.HasSuffix(media, "json") ||
		media == "application/x-www-form-urlencoded" || media == "application/graphql" ||
		media == "" && len(r.Body) == 0
	if !fits || len(r.Body) > MaxBody || !isField(r.ContentType) || Is(r.URL.String()) {
		return weburl.URL{}, ErrUnfit
	}
	packed := append([]byte(r.ContentType+"\n"), r.Body...)
	made, err := weburl.Parse(with(r.URL.String(), mark+"0"+base64.RawURLEncoding.EncodeToString(packed)))
	if errors.Is(err, weburl.ErrLength) {
		var small bytes.Buffer
		w, _ := flate.NewWriter(&small, flate.BestCompression) // to memory, which does not fail
		_, _ = w.Write(packed)
		_ = w.Close()
		made, err = weburl.Parse(with(r.URL.String(), mark+"1"+base64.RawURLEncoding.EncodeToString(small.Bytes())))
	}
	if err != nil {
		return weburl.URL{}, ErrUnfit
	}
	return made, nil
}

// isField reports that a content type can be a field of a request.
func isField(value string) bool {
	return len(value) <= maxType && strings.TrimSpace(value) == value &&
		!strings.ContainsFunc(value, func(r rune) bool { return r < ' ' || r > '~' })
}

// with appends to the query of a URL.
func with(url, more string) string {
	if strings.Contains(url, "?") {
		return url + "&" + more
	}
	return url + "?" + more
}

// cut parts a URL from what Make put behind it.
func cut(url string) (bare, packed string, is bool) {
	i := -1
	if strings.IndexByte(url, '?') >= 0 || strings.IndexByte(url, '&') >= 0 { // one byte is found sooner than many
		i = strings.Index(url, mark)
	}
	if i < 1 || url[i-1] != '?' && url[i-1] != '&' {
		return url, "", false
	}
	return url[:i-1], url[i+len(mark):], true
}

// Is reports whether a canonical URL has the form of a name of a request.
func Is(url string) bool {
	_, _, is := cut(url)
	return is
}

// Bare is the URL that is asked for, of a URL of any form.
func Bare(url string) string {
	bare, _, _ := cut(url)
	return bare
}

// Same reports whether two URLs are names of requests that differ in the URL asked for alone.
func Same(a, b string) bool {
	_, of, is := cut(a)
	_, too, also := cut(b)
	return is && also && of == too
}

// Read returns the request that a URL is the name of; false: it is none.
func Read(url string) (r Request, is bool) {
	bare, packed, is := cut(url)
	if !is || packed == "" {
		return r, false
	}
	to, err := weburl.Parse(bare)
	content, bad := base64.RawURLEncoding.DecodeString(packed[1:])
	if err != nil || bad != nil {
		return r, false
	}
	if packed[0] == '1' {
		content, err = io.ReadAll(io.LimitReader(flate.NewReader(bytes.NewReader(content)), MaxBody+maxType+2))
	}
	kind, body, ok := bytes.Cut(content, []byte("\n"))
	if err != nil || !ok || packed[0] > '1' || packed[0] < '0' || len(body) > MaxBody || !isField(string(kind)) {
		return r, false
	}
	return Request{URL: to, ContentType: string(kind), Body: body}, true
}

// Target is the URL to which a redirect of a request leads: the same request at another URL where it keeps the method
// (RFC 9110 15.4.8 and 15.4.9), else that URL.
func Target(url string, status int, to weburl.URL) weburl.URL {
	if r, is := Read(url); is && (status == 307 || status == 308) {
		r.URL = to
		if made, err := Make(r); err == nil {
			return made
		}
	}
	return to
}

// Readable is a URL for people: of a request the method, the URL asked for, and the beginning of the body.
func Readable(url string) string {
	r, is := Read(url)
	if !is {
		return url
	}
	body := []rune(strings.ToValidUTF8(string(r.Body), "�"))
	text := strings.Map(func(r rune) rune {
		if unicode.IsPrint(r) {
			return r
		}
		return ' '
	}, string(body[:min(len(body), readable)]))
	if len(body) > readable {
		text += "…"
	}
	return strings.TrimSpace("POST " + r.URL.String() + " " + text)
}

// Field is the field of a WARC record of a request by POST, and of its answer, that says what was asked: what Make puts
// behind a URL.
const Field = "Henro-Request"

// FieldOf is the value of Field for a URL; empty: it is of no request.
func FieldOf(url string) string {
	if _, packed, is := cut(url); is {
		return mark + packed
	}
	return ""
}

// Name is the URL by which the crawl knows what a record is of, with its value of Field.
func Name(url, field string) string {
	if field == "" {
		return url
	}
	return with(url, field)
}

// Line is what the index of an archive has of a record of a URL with a value of Field: its key, and the requestBody.
func Line(url, field string) (key, body string, is bool) {
	r, is := Read(Name(url, field))
	if is {
		_, body = r.Query()
		key = r.Key()
	}
	return key, body, is
}
