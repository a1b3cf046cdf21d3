package weburl

import (
	"strings"

	"golang.org/x/text/encoding"
)

// memoSize bounds the answers a Resolver remembers, maxMemoRef the length of the references worth remembering: 2,048
// answers are about 0.5 MB at the most. A memo of more than memoKept answers is not emptied for the next host: that
// would take longer than to make another.
const (
	memoSize   = 2048
	maxMemoRef = 256
	memoKept   = 128
)

// Resolver resolves the references of one page after another. Links repeat from page to page of a host (the
// navigation), so it remembers its answers by the raw reference, if they only depend on the host ("/a", "https://…"),
// until Reset comes to another host. A Resolver serves one goroutine.
type Resolver struct {
	base   target
	origin string // Host() of the base
	url    URL
	enc    encoding.Encoding
	parser parser
	host   map[string]answer
}

type answer struct {
	url URL
	err error
}

// NewResolver returns a resolver for a page, or rather for its base URL, and the encoding of the page; nil means UTF-8.
func NewResolver(base URL, enc encoding.Encoding) *Resolver {
	r := &Resolver{host: make(map[string]answer)}
	r.Reset(base, enc)
	return r
}

// Reset turns to another page.
func (r *Resolver) Reset(base URL, enc encoding.Encoding) {
	origin := ""
	if !base.IsZero() {
		origin = base.Host()
	}
	if origin != r.origin || enc != r.enc || r.url.IsZero() != base.IsZero() {
		r.forget()
	}
	r.url, r.enc, r.origin = base, enc, origin
	r.base = target{s: base.s, path: int(base.path), query: int(base.query)}
}

func (r *Resolver) forget() {
	if len(r.host) > memoKept {
		r.host = make(map[string]answer)
	} else {
		clear(r.host)
	}
}

// Resolve resolves one reference. It keeps no part of ref.
func (r *Resolver) Resolve(ref string) (URL, error) {
	if len(ref) > maxMemoRef || !ofHost(ref) {
		return r.resolve(ref)
	}
	if a, ok := r.host[ref]; ok {
		return a.url, a.err
	}
	u, err := r.resolve(ref)
	if len(r.host) >= memoSize {
		r.forget()
	}
	r.host[strings.Clone(ref)] = answer{u, err}
	return u, err
}

func (r *Resolver) resolve(ref string) (URL, error) {
	r.parser.enc = r.enc
	if r.url.IsZero() {
		return r.parser.url(nil, ref)
	}
	return r.parser.url(&r.base, ref)
}

// ofHost reports whether the path of the page does not matter to a reference.
func ofHost(ref string) bool {
	return ref != "" && ref[0] == '/' || len(ref) > 8 && (ref[:7] == "http://" || ref[:8] == "https://")
}
