package weburl

import (
	"bytes"
	"strconv"
	"strings"
	"unicode/utf8"

	"golang.org/x/text/encoding"
)

// target is a serialized URL without fragment that references are resolved against.
type target struct {
	s     string
	path  int // start of the path
	query int // index of '?', or len(s)
}

// parser is one run of the URL Standard's basic URL parser, narrowed to http and https. The states of the standard are
// the methods; what they build is appended to out at once, which works since the parts are serialized in the order they
// are read.
type parser struct {
	exact bool              // write the serialization of the standard instead of the canonical form
	enc   encoding.Encoding // of the query; nil is UTF-8

	out      []byte
	port     uint16 // effective
	hostEnd  int
	path     int
	query    int // index of '?', or -1
	fragment int // index of '#', or -1
}

// What the parser must do with a byte.
const (
	inScheme   = 1 << iota // may stand in a scheme
	inPath                 // stands for itself in a path (and ends nothing)
	inQuery                // stands for itself in a query
	inHost                 // stands for itself in a host, or is a capital letter
	unreserved             // never needs percent-encoding
	inFragment             // stands for itself in a fragment
	inUserinfo             // stands for itself in a user name or password
	hexDigit
)

var class = func() (t [256]uint8) {
	for c := 0x21; c < 0x7f; c++ {
		alnum := c >= '0' && c <= '9' || c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z'
		b := byte(c)
		set := func(bit uint8, is bool) {
			if is {
				t[c] |= bit
			}
		}
		set(inScheme, alnum || strings.IndexByte("+-.", b) >= 0)
		set(inPath, strings.IndexByte("\"#<>?^`{}%/\\", b) < 0)
		set(inQuery, strings.IndexByte("\"#<>'%", b) < 0)
		set(inHost, alnum || strings.IndexByte("-._~!$&'()*+,;=`{}\"", b) >= 0)
		set(unreserved, alnum || strings.IndexByte("-._~", b) >= 0)
		set(inFragment, strings.IndexByte("\"<>`", b) < 0)
		set(inUserinfo, strings.IndexByte("\"#<>?^`{}/:;=@[\\]|", b) < 0)
		set(hexDigit, c >= '0' && c <= '9' || c >= 'a' && c <= 'f' || c >= 'A' && c <= 'F')
	}
	return t
}()

const upperHex = "0123456789ABCDEF"

func (p *parser) parse(raw string, base *target) error {
	if len(raw) > maxRaw {
		return ErrLength
	}
	p.query, p.fragment = -1, -1
	for len(raw) > 0 && raw[0] <= ' ' {
		raw = raw[1:]
	}
	for len(raw) > 0 && raw[len(raw)-1] <= ' ' {
		raw = raw[:len(raw)-1]
	}
	if strings.IndexByte(raw, '\n') >= 0 || strings.IndexByte(raw, '\t') >= 0 || strings.IndexByte(raw, '\r') >= 0 {
		raw = strings.NewReplacer("\n", "", "\t", "", "\r", "").Replace(raw)
	}

	scheme, rest := splitScheme(raw)
	switch {
	case scheme == "" && base == nil:
		return ErrRelative
	case scheme == "":
		return p.relative(raw, base)
	case equalFold(scheme, "http"):
		scheme, p.port = "http", 80
	case equalFold(scheme, "https"):
		scheme, p.port = "https", 443
	default:
		return ErrScheme
	}
	if base != nil && !(len(rest) > 1 && rest[0] == '/' && rest[1] == '/') &&
		strings.HasPrefix(base.s, scheme) && base.s[len(scheme)] == ':' {
		return p.relative(rest, base) // "http:foo" in a page of http is relative, as it was in the nineties
	}
	p.out = append(append(p.out, scheme...), "://"...)
	return p.authority(rest)
}

// splitScheme cuts a leading scheme off; the scheme is "" if there is none.
func splitScheme(raw string) (scheme, rest string) {
	if raw == "" || raw[0]|0x20 < 'a' || raw[0]|0x20 > 'z' {
		return "", raw
	}
	for i := 1; i < len(raw); i++ {
		if class[raw[i]]&inScheme != 0 {
			continue
		}
		if raw[i] == ':' {
			return raw[:i], raw[i+1:]
		}
		break
	}
	return "", raw
}

// equalFold compares ASCII letters only; lower is in lower case.
func equalFold(s, lower string) bool {
	if len(s) != len(lower) {
		return false
	}
	for i := 0; i < len(s); i++ {
		if s[i]|0x20 != lower[i] {
			return false
		}
	}
	return true
}

func isSlash(c byte) bool { return c == '/' || c == '\\' }

// relative is the relative state and the relative slash state.
func (p *parser) relative(ref string, base *target) error {
	if len(ref) > 1 && isSlash(ref[0]) && isSlash(ref[1]) {
		scheme := base.s[:strings.IndexByte(base.s, ':')]
		p.port = 80
		if scheme == "https" {
			p.port = 443
		}
		p.out = append(append(p.out, scheme...), "://"...)
		return p.authority(ref[2:])
	}
	p.inherit(base)
	switch {
	case ref == "":
		p.out = append(p.out, base.s[base.path:]...)
		if base.query < len(base.s) {
			p.query = base.query
		}
		return nil
	case isSlash(ref[0]):
		p.afterPath(p.segments(ref[1:]))
	case ref[0] == '?':
		p.out = append(p.out, base.s[base.path:base.query]...)
		p.afterPath(ref)
	case ref[0] == '#':
		p.out = append(p.out, base.s[base.path:]...)
		if base.query < len(base.s) {
			p.query = base.query
		}
		p.afterPath(ref)
	default:
		path := base.s[base.path:base.query]
		p.out = append(p.out, path[:strings.LastIndexByte(path, '/')]...)
		p.afterPath(p.segments(ref))
	}
	return nil
}

// inherit copies scheme and authority of the base.
func (p *parser) inherit(base *target) {
	p.out = append(p.out, base.s[:base.path]...)
	p.path = base.path
	p.hostEnd = base.path
	p.port = 80
	if base.s[4] == 's' {
		p.port = 443
	}
	for i := base.path - 1; i > 6; i-- {
		c := base.s[i]
		if c == ':' {
			n, _ := strconv.ParseUint(base.s[i+1:base.path], 10, 16) // written by us
			p.hostEnd, p.port = i, uint16(n)
			return
		}
		if c < '0' || c > '9' {
			return
		}
	}
}

// authority is the special authority ignore slashes state and the authority, host and port states.
func (p *parser) authority(rest string) error {
	for len(rest) > 0 && isSlash(rest[0]) {
		rest = rest[1:]
	}
	end, at, colon := len(rest), -1, -1
scan:
	for i := 0; i < len(rest); i++ {
		switch rest[i] {
		case '/', '\\', '?', '#':
			end = i
			break scan
		case '@':
			at, colon = i, -1
		case ':':
			colon = i
		}
	}
	if at >= 0 && p.exact {
		p.userinfo(rest[:at])
	}
	host := rest[at+1 : end]
	port := ""
	if colon >= 0 && strings.IndexByte(rest[colon:end], ']') < 0 {
		if bracket := strings.IndexByte(host, '['); bracket < 0 { // the host ends at its first colon
			colon = at + 1 + strings.IndexByte(host, ':')
		}
		host, port = rest[at+1:colon], rest[colon+1:end]
	}
	if host == "" {
		return ErrHost
	}
	if err := p.host(host); err != nil {
		return err
	}
	p.hostEnd = len(p.out)
	if port != "" {
		n := 0
		for i := 0; i < len(port); i++ {
			if port[i] < '0' || port[i] > '9' {
				return ErrPort
			}
			if n = n*10 + int(port[i]-'0'); n > 65535 {
				return ErrPort
			}
		}
		if uint16(n) != p.port {
			p.port = uint16(n)
			p.out = strconv.AppendInt(append(p.out, ':'), int64(n), 10)
		}
	}
	p.path = len(p.out)
	rest = rest[end:]
	if rest != "" && isSlash(rest[0]) {
		rest = p.segments(rest[1:])
	} else {
		p.out = append(p.out, '/')
	}
	p.afterPath(rest)
	return nil
}

func (p *parser) userinfo(s string) {
	user, password, _ := strings.Cut(s, ":")
	if user == "" && password == "" {
		return
	}
	p.out = p.escape(p.out, user, inUserinfo)
	if password != "" {
		p.out = p.escape(append(p.out, ':'), password, inUserinfo)
	}
	p.out = append(p.out, '@')
}

// segments is the path state: it appends "/segment" for each segment of s, which begins after a slash, and returns the
// query and fragment that follow.
func (p *parser) segments(s string) string {
	for {
		if s != "" && (s[0] == '.' || s[0] == '%') {
			if dots, n := dotSegment(s); dots > 0 {
				if dots == 2 {
					if i := bytes.LastIndexByte(p.out[p.path:], '/'); i >= 0 {
						p.out = p.out[:p.path+i]
					}
				}
				s = s[n:]
				if s != "" && isSlash(s[0]) {
					s = s[1:]
					continue
				}
				p.out = append(p.out, '/')
				return s
			}
		}
		p.out = append(p.out, '/')
		i := 0
		for i < len(s) {
			c := s[i]
			if class[c]&inPath != 0 {
				i++
				continue
			}
			if c == '/' && i+1 < len(s) && s[i+1] != '.' && s[i+1] != '%' {
				i++ // nothing special can begin after it, so the run goes on
				continue
			}
			if isSlash(c) || c == '?' || c == '#' {
				break
			}
			p.out = append(p.out, s[:i]...)
			s = s[i:]
			i = 0
			if c == '%' {
				p.out, s = p.percent(p.out, s)
			} else {
				p.out, s = p.escapeOne(p.out, s)
			}
		}
		p.out = append(p.out, s[:i]...)
		s = s[i:]
		if s == "" || !isSlash(s[0]) {
			return s
		}
		s = s[1:]
	}
}

// dotSegment returns whether a segment is "." (1) or ".." (2), in any of their spellings, and how long it is.
func dotSegment(s string) (dots, length int) {
	i := 0
	for i < len(s) {
		switch {
		case s[i] == '.':
			i++
		case s[i] == '%' && i+2 < len(s) && s[i+1] == '2' && s[i+2]|0x20 == 'e':
			i += 3
		case isSlash(s[i]) || s[i] == '?' || s[i] == '#':
			return dots, i
		default:
			return 0, 0
		}
		if dots++; dots > 2 {
			return 0, 0
		}
	}
	return dots, i
}

// percent copies one percent sign and, if it begins a well-formed triplet, that, in canonical form.
func (p *parser) percent(out []byte, s string) ([]byte, string) {
	if p.exact || len(s) < 3 || class[s[1]]&hexDigit == 0 || class[s[2]]&hexDigit == 0 {
		return append(out, '%'), s[1:]
	}
	v := unhex(s[1])<<4 | unhex(s[2])
	if class[v]&unreserved != 0 && !completes(out, v) {
		return append(out, v), s[3:]
	}
	return append(out, '%', upperHex[v>>4], upperHex[v&15]), s[3:]
}

// completes reports whether c would make a triplet of a stray percent sign at the end of out: "%%34%31" must not become
// "%41", which is something else.
func completes(out []byte, c byte) bool {
	if class[c]&hexDigit == 0 {
		return false
	}
	n := len(out)
	return n > 0 && out[n-1] == '%' || n > 1 && out[n-2] == '%' && class[out[n-1]]&hexDigit != 0
}

func unhex(c byte) byte {
	if c <= '9' {
		return c - '0'
	}
	return c | 0x20 - 'a' + 10
}

// escapeOne percent-encodes the first character of s; bytes that are not UTF-8 become U+FFFD.
func (p *parser) escapeOne(out []byte, s string) ([]byte, string) {
	r, n := utf8.DecodeRuneInString(s)
	if r == utf8.RuneError && n == 1 {
		return append(out, "%EF%BF%BD"...), s[1:]
	}
	for i := 0; i < n; i++ {
		out = append(out, '%', upperHex[s[i]>>4], upperHex[s[i]&15])
	}
	return out, s[n:]
}

// escape percent-encodes what is not in the class.
func (p *parser) escape(out []byte, s string, keep uint8) []byte {
	for s != "" {
		if class[s[0]]&keep != 0 {
			out, s = append(out, s[0]), s[1:]
		} else {
			out, s = p.escapeOne(out, s)
		}
	}
	return out
}

// afterPath is the query state and the fragment state; s begins with '?' or '#' if it is not empty.
func (p *parser) afterPath(s string) {
	if s == "" {
		return
	}
	if s[0] == '?' {
		query := s[1:]
		if i := strings.IndexByte(query, '#'); i >= 0 {
			query, s = query[:i], query[i:]
		} else {
			s = ""
		}
		if query != "" || p.exact {
			p.query = len(p.out)
			p.out = append(p.out, '?')
			p.appendQuery(query)
		}
	}
	if s != "" && p.exact {
		p.fragment = len(p.out)
		p.out = p.escape(append(p.out, '#'), s[1:], inFragment)
	}
}

func (p *parser) appendQuery(s string) {
	legacy := false
	if p.enc != nil && !isASCII(s) {
		s, legacy = encodeQuery(s, p.enc)
	}
	i := 0
	for i < len(s) {
		c := s[i]
		if class[c]&inQuery != 0 {
			i++
			continue
		}
		p.out = append(p.out, s[:i]...)
		s = s[i:]
		i = 0
		switch {
		case c == '%':
			p.out, s = p.percent(p.out, s)
		case legacy:
			if class[c]&unreserved != 0 {
				p.out = append(p.out, c)
			} else {
				p.out = append(p.out, '%', upperHex[c>>4], upperHex[c&15])
			}
			s = s[1:]
		default:
			p.out, s = p.escapeOne(p.out, s)
		}
	}
	p.out = append(p.out, s...)
}

func isASCII(s string) bool {
	for i := 0; i < len(s); i++ {
		if s[i] >= utf8.RuneSelf {
			return false
		}
	}
	return true
}
