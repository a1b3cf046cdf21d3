package replay

import (
	"crypto/sha256"
	"encoding/hex"
	"net/http"
	"slices"
	"strings"

	"henro/messages/weburl"
	"henro/store/archive/captures"
	"henro/store/archive/cdxj"
)

// place is where an archived origin lives at a moment: an origin of its own on loopback, with the paths and queries
// that it had. So scripts find the addresses, modules and storage that they were written for.
//
//	https://docs.example.org:8443/a?b at 2026-11-26 06:12:00
//	http://k3vd7q20261126061200-s8443-docs-example-org.localhost:8091/a?b
//
// The moment is in the name, so that what two moments store never meets, and links keep to it. It is one label, since
// browsers take all names below it for one site. A longer one is written in pieces, below a label that no other place
// has.
type place struct {
	key   string // letters that no page of elsewhere knows, others at each start of a replay
	stamp string // the moment, as in an index
	host  string // scheme://name[:port]
}

const (
	keyBytes   = 6
	stampBytes = len("20060102150405")
	labelBytes = 63  // of a name of the DNS
	nameBytes  = 253 // with all labels
)

var (
	dashed = strings.NewReplacer("-", "--", ".", "-")
	dotted = strings.NewReplacer("--", "-", "-", ".")
)

// name is the name of a place, without localhost and the port; "": that of its host is too long for one.
func (p place) name() string {
	scheme, name, _ := strings.Cut(p.host, "://")
	kind, port := "h", ""
	if scheme == "https" {
		kind = "s"
	}
	if i := strings.LastIndexByte(name, ':'); i > strings.LastIndexByte(name, ']') {
		name, port = name[:i], name[i+1:]
	}
	written := dashed.Replace(name)
	if dotted.Replace(written) != name || strings.HasSuffix(written, "-") ||
		strings.Trim(written, "abcdefghijklmnopqrstuvwxyz0123456789-") != "" {
		kind, written = "x"+kind, hex.EncodeToString([]byte(name))
	}
	label := p.key + p.stamp + "-" + kind + port + "-" + written
	if len(label) <= labelBytes {
		return label
	}
	var pieces strings.Builder
	for piece := range slices.Chunk([]byte(label), labelBytes-2) {
		pieces.WriteString("0" + string(piece) + "0.") // no label begins or ends with a hyphen, or is an IDN
	}
	sum := sha256.Sum256([]byte(label))
	pieces.WriteString(hex.EncodeToString(sum[:16]))
	if pieces.Len()+len(".localhost") > nameBytes {
		return ""
	}
	return pieces.String()
}

// parsePlace reads what name has written.
func parsePlace(name string) (p place, ok bool) {
	label := name
	if pieces := strings.Split(name, "."); len(pieces) > 1 {
		label = ""
		for _, piece := range pieces[:len(pieces)-1] {
			label += strings.TrimSuffix(strings.TrimPrefix(piece, "0"), "0")
		}
	}
	if len(label) <= keyBytes+stampBytes {
		return p, false
	}
	p.key, p.stamp = label[:keyBytes], label[keyBytes:keyBytes+stampBytes]
	kind, written, _ := strings.Cut(label[keyBytes+stampBytes+1:], "-")
	kind, isHex := strings.CutPrefix(kind, "x")
	if kind == "" {
		return p, false
	}
	p.host = "http://"
	if kind[0] == 's' {
		p.host = "https://"
	}
	if decoded, err := hex.DecodeString(written); isHex && err == nil {
		p.host += string(decoded)
	} else {
		p.host += dotted.Replace(written)
	}
	if port := kind[1:]; port != "" {
		p.host += ":" + port
	}
	_, err := cdxj.ParseStamp(p.stamp)
	return p, err == nil && p.name() == name
}

// isPlace reports whether a request is for a place, or for what may be one.
func (s *Server) isPlace(r *http.Request) bool { return strings.HasSuffix(r.Host, "."+s.content) }

// original is the place in an address, and the URL that is shown there.
func (s *Server) original(address string) (p place, u weburl.URL, ok bool) {
	rest, isHTTP := strings.CutPrefix(address, "http://")
	host, path, _ := strings.Cut(rest, "/")
	if name, ours := strings.CutSuffix(host, "."+s.content); isHTTP && ours {
		if p, ok = parsePlace(name); ok {
			var err error
			u, err = weburl.Parse(p.host + "/" + path)
			ok = err == nil && u.Host() == p.host
		}
	}
	return p, u, ok
}

// address is where a browser finds a URL at a moment; "": it can have no place.
func (s *Server) address(stamp, href string) string {
	_, rest, _ := strings.Cut(href, "://")
	_, path, _ := strings.Cut(rest, "/")
	u, err := weburl.Parse(href)
	if err != nil {
		return ""
	}
	name := place{s.key, stamp, u.Host()}.name()
	if name == "" {
		return ""
	}
	return "http://" + name + "." + s.content + "/" + path
}

// trusts reports whether an origin is one of our places, or a page within one that has none.
func (s *Server) trusts(origin string) bool {
	p, _, ok := s.original(origin)
	return ok && p.key == s.key || origin == "null"
}

// inPlace answers in a place. Whoever asks knows its name, and so is a page of ours, or a capture: to others it is not
// told. What the host let other origins read is not known, since it was asked by none: captures may read one another.
func (s *Server) inPlace(w http.ResponseWriter, r *http.Request) {
	h := w.Header()
	p, u, ok := s.original("http://" + r.Host + target(r))
	origin := r.Header.Get("Origin")
	isAsked := r.Host == s.key+"."+s.content // by our own page: does this browser find places?
	if isAsked && origin == "http://"+s.own || ok && s.trusts(origin) {
		h.Set("Access-Control-Allow-Origin", origin)
		h.Set("Access-Control-Allow-Credentials", "true")
		h.Set("Access-Control-Expose-Headers", "*")
		h.Set("Vary", "Origin")
		if asks := r.Header.Get("Access-Control-Request-Method"); asks != "" {
			h.Set("Access-Control-Allow-Methods", asks)
			h.Set("Access-Control-Allow-Headers", r.Header.Get("Access-Control-Request-Headers"))
		}
	}
	if isAsked || ok && p.key == s.key && r.Method == http.MethodOptions {
		w.WriteHeader(http.StatusNoContent)
		return
	}
	if ok && r.Header.Get("Sec-Fetch-Dest") == "document" { // a frame that was opened by itself
		redirect(w, "http://"+s.own+"/web/"+p.stamp+"/"+u.String(), http.StatusFound)
		return
	}
	if !admitted(w, r, ok && p.key == s.key) {
		return
	}
	h.Set("Cross-Origin-Resource-Policy", "cross-origin") // to other places
	at, err := cdxj.ParseStamp(p.stamp)
	var c captures.Place
	if err == nil {
		c, err = s.archive.Closest(u, at)
	}
	if err == nil {
		err = s.capture(w, r, u, c, false)
	}
	switch {
	case err == nil:
	case r.Header.Get("Sec-Fetch-Dest") == "iframe": // the page that says why, which is no page of this origin
		redirect(w, "http://"+s.content+"/web/"+p.stamp+"mp_/"+u.String(), http.StatusFound)
	default:
		s.fail(w, r, err)
	}
}
