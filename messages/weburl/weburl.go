// Package weburl parses URLs as browsers do and writes them in the one form that identifies a page.
//
// The parser follows the WHATWG URL Standard for http and https, and nothing else: a parser by RFC 3986 or with
// net/url asks other pages than the ones a browser shows (net/url agrees with a browser in half of the web platform
// tests). The canonical form then undoes what cannot matter to a server: fragment, user name and password, default
// port, an empty query, trailing dots of the host, the case of percent-encodings, and percent-encodings of characters
// that need none (RFC 3986 2.3). It changes nothing that a server could tell apart: the order of parameters, doubled
// slashes, the case of the path, and malformed percent signs stay.
//
// One pass of our own over the bytes does it all, since the parser is on the path of every link: about 150 ns for an
// ordinary URL, against 4 µs for github.com/nlnwa/whatwg-url, which moreover fails some of the tests. Runs of ordinary
// characters are copied at once.
//
// Invariants: Parse(u.String()) returns u; two URLs are equal as values exactly if their strings are; a URL is at most
// MaxLength bytes of printable ASCII.
package weburl

import (
	"net/netip"
	"strconv"
	"strings"
	"sync"

	"golang.org/x/text/encoding"
)

// MaxLength bounds the canonical form. Longer ones are traps: browsers, servers and sitemaps (2,048) stop at about
// this.
const MaxLength = 2048

// maxRaw bounds what is looked at; white space and dot segments may make a raw URL longer than its canonical form.
const maxRaw = 8 * MaxLength

// URL is a canonical absolute http or https URL. It is comparable; the zero value is no URL.
type URL struct {
	s       string // scheme://host[:port]/path[?query]
	hostEnd uint16 // end of the host name in s
	path    uint16 // start of the path in s
	query   uint16 // index of '?' in s, or len(s)
	port    uint16 // effective port
}

// Parse reads an absolute URL as a browser would and returns its canonical form.
func Parse(raw string) (URL, error) { return resolve(nil, raw, nil) }

// ParseTyped is Parse for what people type and write into lists of seeds: without a scheme, http is meant.
func ParseTyped(raw string) (URL, error) {
	raw = strings.TrimSpace(raw)
	scheme, rest := splitScheme(raw)
	if port := strings.TrimLeft(rest, "0123456789"); scheme == "" || len(port) < len(rest) &&
		(port == "" || isSlash(port[0])) {
		return Parse("http://" + raw) // "localhost:8080" has no scheme
	}
	return Parse(raw)
}

// MustParse is Parse for constants; it panics on what cannot be parsed.
func MustParse(raw string) URL {
	u, err := Parse(raw)
	if err != nil {
		panic("weburl: " + strconv.Quote(raw) + ": " + err.Error())
	}
	return u
}

// Resolve reads a reference found in the page u, or under its base element.
func (u URL) Resolve(ref string) (URL, error) { return u.ResolveIn(ref, nil) }

// ResolveIn is Resolve for a page in a legacy encoding, in which browsers encode the query. Nil means UTF-8.
func (u URL) ResolveIn(ref string, enc encoding.Encoding) (URL, error) {
	if u.s == "" {
		return resolve(nil, ref, enc)
	}
	return resolve(&target{s: u.s, path: int(u.path), query: int(u.query)}, ref, enc)
}

func resolve(base *target, raw string, enc encoding.Encoding) (URL, error) {
	p := parsers.Get().(*parser)
	defer parsers.Put(p)
	p.enc = enc
	return p.url(base, raw)
}

// parsers are kept for their buffers, which would otherwise be half of the cost.
var parsers = sync.Pool{New: func() any { return new(parser) }}

// url parses and copies the result out of the buffer.
func (p *parser) url(base *target, raw string) (URL, error) {
	if cap(p.out) > maxRaw {
		p.out = nil // one very long URL made it grow
	}
	p.out = p.out[:0]
	if err := p.parse(raw, base); err != nil {
		return URL{}, err
	}
	if len(p.out) > MaxLength {
		return URL{}, ErrLength
	}
	u := URL{hostEnd: uint16(p.hostEnd), path: uint16(p.path), query: uint16(len(p.out)), port: p.port}
	if p.query >= 0 {
		u.query = uint16(p.query)
	}
	if base == nil && string(p.out) == raw {
		u.s = raw
	} else {
		u.s = string(p.out) // also where raw would do: it may be a piece of a whole page
	}
	return u, nil
}

// Href returns what a browser shows as the href of a link: the WHATWG serialization, with user name, password and
// fragment, before any canonicalization. Only http and https, and only such bases, are understood; an empty base means
// none.
func Href(ref, base string) (string, error) { return HrefIn(ref, base, nil) }

// HrefIn is Href for a page in a legacy encoding.
func HrefIn(ref, base string, enc encoding.Encoding) (string, error) {
	var from *target
	if base != "" {
		b := parser{exact: true}
		if err := b.parse(base, nil); err != nil {
			return "", err
		}
		if b.fragment >= 0 {
			b.out = b.out[:b.fragment]
		}
		if b.query < 0 {
			b.query = len(b.out)
		}
		from = &target{s: string(b.out), path: b.path, query: b.query}
	}
	p := parser{exact: true, enc: enc}
	if err := p.parse(ref, from); err != nil {
		return "", err
	}
	return string(p.out), nil
}

// String returns the URL.
func (u URL) String() string { return u.s }

// MarshalText is the URL as it is written.
func (u URL) MarshalText() ([]byte, error) { return []byte(u.s), nil }

// UnmarshalText parses a URL.
func (u *URL) UnmarshalText(text []byte) (err error) {
	*u, err = Parse(string(text))
	return err
}

// IsZero reports whether u is no URL.
func (u URL) IsZero() bool { return u.s == "" }

// Scheme returns http or https.
func (u URL) Scheme() string {
	switch {
	case u.s == "":
		return ""
	case u.s[4] == ':':
		return "http"
	default:
		return "https"
	}
}

func (u URL) hostStart() int {
	if u.s[4] == ':' {
		return len("http://")
	}
	return len("https://")
}

// Hostname returns the name or address without the port: lower case, IDN in ASCII, IPv6 in brackets.
func (u URL) Hostname() string {
	if u.s == "" {
		return ""
	}
	return u.s[u.hostStart():u.hostEnd]
}

// Port returns the effective port, 80 or 443 where none is written.
func (u URL) Port() uint16 { return u.port }

// Path returns the path, which begins with a slash.
func (u URL) Path() string { return u.s[u.path:u.query] }

// Query returns what follows the question mark.
func (u URL) Query() string {
	if int(u.query) >= len(u.s) {
		return ""
	}
	return u.s[u.query+1:]
}

// RequestURI returns path and query, as they stand in the first line of a request.
func (u URL) RequestURI() string { return u.s[u.path:] }

// Host returns "scheme://name[:port]", the default port left out: the unit of politeness.
func (u URL) Host() string { return u.s[:u.path] }

// Patterns are the patterns that name a host, "scheme://name[:port]", the narrowest first: all of it, its name, and,
// each behind a dot, its name and the domains above. An address lies below nothing.
func Patterns(host string) []string {
	name := strings.Trim(HostName(host), "[]")
	all := []string{host, name, "." + name}
	if _, err := netip.ParseAddr(name); err == nil {
		return all
	}
	for i := range name {
		if name[i] == '.' {
			all = append(all, name[i:])
		}
	}
	return all
}

// HostName returns the name in what URL.Host returned: "example.com" of "https://example.com:8443".
func HostName(host string) string {
	_, name, _ := SplitHost(host)
	return name
}

// SplitHost takes apart what URL.Host returned. The port is the effective one; it is 0 if host has another form.
func SplitHost(host string) (scheme, name string, port uint16) {
	scheme, name, found := strings.Cut(host, "://")
	if !found {
		return "", "", 0
	}
	if scheme == "https" {
		port = 443
	} else {
		port = 80
	}
	if i := strings.LastIndexByte(name, ':'); i >= 0 && i > strings.LastIndexByte(name, ']') {
		n, err := strconv.ParseUint(name[i+1:], 10, 16)
		if err != nil {
			return "", "", 0
		}
		name, port = name[:i], uint16(n)
	}
	return scheme, name, port
}
