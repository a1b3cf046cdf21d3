package weburl

import (
	"bytes"
	"net/netip"
	"regexp"
	"slices"
	"strings"

	"golang.org/x/net/publicsuffix"
)

// appendReversed appends a host with its labels reversed, so that sorting groups the hosts of a domain: "com,example".
// Addresses are reversed too, IPv6 loses its brackets, as in the Internet Archive's keys.
func appendReversed(out []byte, host string) []byte {
	if host != "" && host[0] == '[' {
		return append(out, strings.Trim(host, "[]")...)
	}
	for {
		i := strings.LastIndexByte(host, '.')
		out = append(out, host[i+1:]...)
		if i < 0 {
			return out
		}
		out = append(out, ',')
		host = host[:i]
	}
}

// IndexKey returns the key under which replay tools (pywb, OpenWayback) look a capture up: the SURT after the Internet
// Archive's canonicalization, which forgets more than identity may: the case of everything, a leading www, session
// identifiers, the order of parameters, doubled and trailing slashes.
func (u URL) IndexKey() string { return u.IndexKeyWith("") }

// IndexKeyWith is IndexKey of the URL with more behind its query, which may be no query of a canonical URL.
func (u URL) IndexKeyWith(more string) string {
	if u.s == "" {
		return "-"
	}
	out := appendReversed(make([]byte, 0, len(u.s)), trimWWW(u.Hostname()))
	out = append(out, u.s[u.hostEnd:u.path]...)
	out = append(out, ')')

	path := string(collapse(unescapeFully(u.Path())))
	path = stripPathSession(strings.ToLower(escapeOnce(path)))
	if len(path) > 1 {
		path = strings.TrimSuffix(path, "/")
	}
	out = append(out, path...)
	query := u.Query()
	if query != "" && more != "" {
		query += "&"
	}
	if query += more; query != "" {
		query = strings.ToLower(escapeOnce(string(unescapeFully(query))))
		if query = sortQuery(stripQuerySession(query)); query != "" {
			out = append(append(out, '?'), query...)
		}
	}
	return string(out)
}

// trimWWW removes a leading "www." or "www12.".
func trimWWW(host string) string {
	if rest, ok := strings.CutPrefix(host, "www"); ok {
		if rest = strings.TrimLeft(rest, "0123456789"); rest != "" && rest[0] == '.' {
			return rest[1:]
		}
	}
	return host
}

// unescapeFully decodes percent-encodings until none is left, as the Safe Browsing rules do.
func unescapeFully(s string) []byte {
	b := []byte(s)
	for {
		out, changed := b[:0], false
		for i := 0; i < len(b); i++ {
			if b[i] == '%' && i+2 < len(b) && class[b[i+1]]&hexDigit != 0 && class[b[i+2]]&hexDigit != 0 {
				c := unhex(b[i+1])<<4 | unhex(b[i+2])
				out, changed = append(out, c), true
				i += 2
				continue
			}
			out = append(out, b[i])
		}
		b = out
		if !changed {
			return b
		}
	}
}

// collapse resolves dot segments that decoding brought to light and makes runs of slashes one.
func collapse(path []byte) []byte {
	out := make([]byte, 0, len(path))
	for _, segment := range strings.Split(strings.TrimPrefix(string(path), "/"), "/") {
		switch segment {
		case "", ".":
		case "..":
			out = out[:max(0, bytes.LastIndexByte(out, '/'))]
		default:
			out = append(append(out, '/'), segment...)
		}
	}
	if len(path) > 0 && path[len(path)-1] == '/' || len(out) == 0 {
		out = append(out, '/')
	}
	return out
}

func escapeOnce(s string) string {
	out := make([]byte, 0, len(s)+16)
	for i := 0; i < len(s); i++ {
		if c := s[i]; c <= ' ' || c >= 0x7f || c == '%' || c == '#' {
			out = append(out, '%', upperHex[c>>4], upperHex[c&15])
		} else {
			out = append(out, c)
		}
	}
	return string(out)
}

// sortQuery orders the parameters as bytes.
func sortQuery(query string) string {
	if strings.IndexByte(query, '&') < 0 {
		return query
	}
	parameters := strings.Split(query, "&")
	slices.Sort(parameters)
	return strings.Join(parameters, "&")
}

// The Internet Archive's expressions for session identifiers, for lower case text.
var (
	aspSessions = []*regexp.Regexp{
		regexp.MustCompile(`(?i)^(.*/)\((?:[a-z]\([0-9a-z]{24}\))+\)/([^?]+\.aspx.*)$`),
		regexp.MustCompile(`(?i)^(.*/)\([0-9a-z]{24}\)/([^?]+\.aspx.*)$`),
	}
	javaSession   = regexp.MustCompile(`^(.*);jsessionid=[0-9a-z]{32}(.*)$`)
	querySessions = []*regexp.Regexp{
		regexp.MustCompile(`^(.*)jsessionid=[0-9a-z]{32}(?:&(.*))?$`),
		regexp.MustCompile(`^(.*)phpsessid=[0-9a-z]{32}(?:&(.*))?$`),
		regexp.MustCompile(`^(.*)sid=[0-9a-z]{32}(?:&(.*))?$`),
		regexp.MustCompile(`^(.*)aspsessionid[a-z]{8}=[a-z]{24}(?:&(.*))?$`),
		regexp.MustCompile(`^(.*)cfid=[^&]+&cftoken=[^&]+(?:&(.*))?$`),
	}
)

func stripPathSession(path string) string {
	if strings.IndexByte(path, '(') >= 0 {
		for _, re := range aspSessions {
			path = re.ReplaceAllString(path, "$1$2")
		}
	}
	if strings.Contains(path, ";jsessionid=") {
		path = javaSession.ReplaceAllString(path, "$1$2")
	}
	return path
}

func stripQuerySession(query string) string {
	if !strings.Contains(query, "sid=") && !strings.Contains(query, "sessionid") && !strings.Contains(query, "cfid=") {
		return query
	}
	for _, re := range querySessions {
		if m := re.FindStringSubmatch(query); m != nil {
			query = strings.TrimSuffix(m[1]+m[2], "&")
		}
	}
	return query
}

// PLD returns the pay-level domain: the public suffix and one label more. For addresses, and for names that are public
// suffixes themselves, that is the host name.
func (u URL) PLD() string {
	name := u.Hostname()
	if pld, ok := RegistrableDomain(name); ok {
		return pld
	}
	return name
}

// RegistrableDomain returns the public suffix and one label more of a host name in ASCII; false for addresses and for
// names that are public suffixes themselves.
func RegistrableDomain(name string) (string, bool) {
	if name == "" || name[0] == '[' || name[0] == '.' {
		return "", false
	}
	if last := name[len(name)-1]; last >= '0' && last <= '9' {
		if _, err := netip.ParseAddr(name); err == nil {
			return "", false
		}
	}
	pld, err := publicsuffix.EffectiveTLDPlusOne(name)
	return pld, err == nil
}
