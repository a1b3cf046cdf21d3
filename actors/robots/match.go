package robots

import (
	"slices"
	"strings"
)

// prefix is a pattern without wildcards and the verdict for whatever begins with it.
type prefix struct {
	text   string
	parent int32 // index of the longest other prefix that text begins with, -1 without one
	weight int32 // the heaviest weight among this prefix and its parents
	allow  bool  // verdict of that one
}

// wild is a pattern with "*" inside or "$" at its end, cut into the pieces between the stars.
type wild struct {
	head     string   // what the path must begin with
	pieces   []string // what must follow, in this order, anything in between
	anchored bool     // the last piece must end the path
	weight   int32
	allow    bool
}

// compile builds the matching tables from r.rules, which are in canonical order.
func (r *Rules) compile() {
	r.prefixes, r.wild = nil, nil
	for _, rule := range r.rules {
		p, weight := rule.pattern, int32(len(rule.pattern))
		anchored := strings.HasSuffix(p, "$")
		p = strings.TrimSuffix(p, "$")
		if strings.HasSuffix(p, "*") { // "/a*" and "/a*$" say no more than "/a", though they weigh more
			anchored = false
			p = strings.TrimRight(p, "*")
		}
		if !anchored && strings.IndexByte(p, '*') < 0 {
			r.prefixes = append(r.prefixes, prefix{text: p, parent: -1, weight: weight, allow: rule.allow})
			continue
		}
		pieces := strings.Split(p, "*")
		w := wild{head: pieces[0], anchored: anchored, weight: weight, allow: rule.allow}
		for i, piece := range pieces[1:] {
			if piece != "" || anchored && i == len(pieces)-2 {
				w.pieces = append(w.pieces, piece)
			}
		}
		r.wild = append(r.wild, w)
	}
	// Rules came heaviest first, Allow before Disallow, so of one text the first is the one that counts.
	slices.SortStableFunc(r.prefixes, func(a, b prefix) int { return strings.Compare(a.text, b.text) })
	r.prefixes = slices.CompactFunc(r.prefixes, func(a, b prefix) bool {
		return a.text == b.text
	})
	var open []int32 // the prefixes of the current one, shortest first
	for i := range r.prefixes {
		p := &r.prefixes[i]
		for len(open) > 0 && !strings.HasPrefix(p.text, r.prefixes[open[len(open)-1]].text) {
			open = open[:len(open)-1]
		}
		if len(open) > 0 {
			p.parent = open[len(open)-1]
			if above := &r.prefixes[p.parent]; heavier(above.weight, above.allow, p.weight, p.allow) {
				p.weight, p.allow = above.weight, above.allow
			}
		}
		open = append(open, int32(i))
	}
}

// heavier reports whether a rule (weight, allow) wins over another: the more octets, and of equals Allow.
func heavier(weight int32, allow bool, otherWeight int32, otherAllow bool) bool {
	return weight > otherWeight || weight == otherWeight && allow && !otherAllow
}

// Allowed reports whether the request URI (path and query, as sent in the request) may be fetched. The most specific
// rule decides, the one with the most octets; of equals, Allow; without any match the URI is allowed (RFC 9309 2.2.2).
// /robots.txt itself "is implicitly allowed" there: fetching it to read the rules needs no permission of theirs.
func (r *Rules) Allowed(requestURI string) bool {
	if r == nil || r.kind == unavailable {
		return true
	}
	if r.kind != parsed {
		return false
	}
	if len(r.rules) == 0 {
		return true
	}
	var room [256]byte
	path := normalPath(requestURI, room[:0])

	weight, allow := int32(0), true
	if n := len(r.prefixes); n > 0 {
		// The last prefix not greater than path: the longest one that path begins with is it or one of its parents,
		// because whatever lies between a prefix of path and path begins with that prefix.
		lo, hi := 0, n
		for lo < hi {
			if mid := int(uint(lo+hi) >> 1); r.prefixes[mid].text <= path {
				lo = mid + 1
			} else {
				hi = mid
			}
		}
		for i := int32(lo - 1); i >= 0; i = r.prefixes[i].parent {
			if p := &r.prefixes[i]; strings.HasPrefix(path, p.text) {
				weight, allow = p.weight, p.allow
				break
			}
		}
	}
	for i := range r.wild {
		w := &r.wild[i]
		if !heavier(w.weight, w.allow, weight, allow) {
			break // sorted: the rest is lighter still
		}
		if w.match(path) {
			return w.allow
		}
	}
	return allow
}

// match looks for the pieces from left to right, each as early as possible: leaving more for the rest never hurts.
func (w *wild) match(path string) bool {
	if !strings.HasPrefix(path, w.head) {
		return false
	}
	path = path[len(w.head):]
	pieces := w.pieces
	if w.anchored {
		if len(pieces) == 0 {
			return path == ""
		}
		last := pieces[len(pieces)-1]
		if !strings.HasSuffix(path, last) {
			return false
		}
		path, pieces = path[:len(path)-len(last)], pieces[:len(pieces)-1]
	}
	for _, piece := range pieces {
		i := strings.Index(path, piece)
		if i < 0 {
			return false
		}
		path = path[i+len(piece):]
	}
	return true
}

// Normal form of paths and patterns, so that comparing octets compares URIs (RFC 9309 2.2.2): octets outside ASCII
// are percent-encoded, encoded unreserved ones are decoded, hex digits are upper case. "*" and "$" that stand for
// themselves become %2A and %24, which leaves the bare ones to be special in patterns (2.2.3).

const upperHex = "0123456789ABCDEF"

// plain says which octets stand for themselves in normal form.
var plain = func() (t [256]bool) {
	for c := range 0x80 {
		t[c] = c != '%' && c != '*' && c != '$'
	}
	return t
}()

func unhex(c byte) int {
	switch {
	case c >= '0' && c <= '9':
		return int(c - '0')
	case c >= 'a' && c <= 'f':
		return int(c-'a') + 10
	case c >= 'A' && c <= 'F':
		return int(c-'A') + 10
	}
	return -1
}

func unreserved(c byte) bool {
	return c|0x20 >= 'a' && c|0x20 <= 'z' || c >= '0' && c <= '9' || c == '-' || c == '.' || c == '_' || c == '~'
}

// normalPath brings a request URI into normal form, using room when something must change.
func normalPath(uri string, room []byte) string {
	if uri == "" {
		return "/"
	}
	for i := 0; i < len(uri); i++ {
		if !plain[uri[i]] {
			return string(appendNormal(append(room, uri[:i]...), uri[i:], false))
		}
	}
	return uri
}

// normalPattern brings the value of a rule into normal form. A rule whose value is empty or could never match,
// because a path begins with "/", is reported as none.
func normalPattern(value string) (string, bool) {
	if value == "" || value[0] != '/' && value[0] != '*' {
		return "", false
	}
	return string(appendNormal(nil, value, true)), true
}

func appendNormal(b []byte, s string, pattern bool) []byte {
	for i := 0; i < len(s); i++ {
		c := s[i]
		if c == '%' && i+2 < len(s) {
			if hi, lo := unhex(s[i+1]), unhex(s[i+2]); hi >= 0 && lo >= 0 {
				if decoded := byte(hi<<4 | lo); unreserved(decoded) {
					b = append(b, decoded)
				} else {
					b = append(b, '%', upperHex[hi], upperHex[lo])
				}
				i += 2
				continue
			}
		}
		switch {
		case plain[c] || c == '%', pattern && (c == '*' || c == '$' && i == len(s)-1):
			b = append(b, c)
		default:
			b = append(b, '%', upperHex[c>>4], upperHex[c&15])
		}
	}
	return b
}
