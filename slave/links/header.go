package links

import (
	"strings"

	"henro/messages/outlink"
)

// maxHeader bounds the links taken from one answer's Link headers.
const maxHeader = 256

// Header returns the references of Link header fields (RFC 8288): `<next.html>; rel="next", <style.css>;
// rel=stylesheet`. Those that name pages are of kind outlink.Header, the others of the kind that a link element would
// have.
func Header(values []string) []Ref {
	var refs []Ref
	for _, value := range values {
		for {
			i := strings.IndexByte(value, '<')
			if i < 0 || len(refs) >= maxHeader {
				break
			}
			value = value[i+1:]
			if i = strings.IndexByte(value, '>'); i < 0 {
				break
			}
			raw := strings.TrimSpace(value[:i])
			var rel, as string
			anchored := false
			rel, as, anchored, value = parameters(value[i+1:])
			kind := relKind([]byte(rel), []byte(as))
			if kind == outlink.Link {
				kind = outlink.Header
			}
			if kind == outlink.Unknown || anchored || raw == "" { // with an anchor, the link is another page's
				continue
			}
			ref := Ref{Raw: raw, Kind: kind}
			if noFollow([]byte(rel)) {
				ref.Flags = outlink.NoFollow
			}
			refs = append(refs, ref)
		}
	}
	return refs
}

// parameters reads the parameters of one link up to its comma, and returns what follows.
func parameters(s string) (rel, as string, anchored bool, rest string) {
	hasRel := false
	for {
		s = strings.TrimLeft(s, " \t;")
		if s == "" || s[0] == ',' {
			return rel, as, anchored, s
		}
		i := 0
		for i < len(s) && strings.IndexByte("=;, \t", s[i]) < 0 {
			i++
		}
		name, value := s[:i], ""
		s = strings.TrimLeft(s[i:], " \t")
		if s != "" && s[0] == '=' {
			s = strings.TrimLeft(s[1:], " \t")
			if s != "" && s[0] == '"' {
				var b strings.Builder
				for i = 1; i < len(s) && s[i] != '"'; i++ {
					if s[i] == '\\' && i+1 < len(s) {
						i++
					}
					b.WriteByte(s[i])
				}
				value, s = b.String(), s[min(i+1, len(s)):]
			} else {
				for i = 0; i < len(s) && strings.IndexByte(";, \t", s[i]) < 0; i++ {
				}
				value, s = s[:i], s[i:]
			}
		} else if i == 0 {
			s = s[1:] // a stray '='
		}
		switch {
		case strings.EqualFold(name, "rel") && !hasRel:
			rel, hasRel = value, true
		case strings.EqualFold(name, "as"):
			as = value
		case strings.EqualFold(name, "anchor"):
			anchored = true
		}
	}
}
