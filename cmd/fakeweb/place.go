package fakeweb

import (
	"bytes"
	"math"
	"strconv"

	"henro/messages/outlink"
)

// place is what a request target names on a host.
type place struct {
	kind placeKind
	n    int    // page of the tree, month of the calendar, room of the maze
	sid  uint64 // session id in the maze; number of the session id of a page
	form form   // of the URL of page n
}

type placeKind uint8

const (
	missing  placeKind = iota
	content            // page n of the tree
	alias              // what links name instead of page n when it is reached through a redirect
	calendar           // month n, counted from year 0
	maze               // room n
	absent             // what soft hosts link to and no host has
	robots
	robotsMoved
	sitemap
	sitemapPart // part n of an indexed one
	feed
	static
	mirrorRoot // of the host mirrored
)

// folders are the directories of an English host; a Japanese host has the same but for the first, which is in Japanese.
var folders = [8]string{"news", "docs", "archive", "private", "people", "events", "library", "guide"}

// escaped and raw forms of the Japanese folder and of the words in queries.
var (
	japaneseFolder        = "ニュース"
	japaneseFolderEscaped = escape(nil, []byte(japaneseFolder))
	japaneseWords         = [8]string{"遍路", "案内", "日本", "寺院", "四国", "地図", "天気", "歴史"}
)

// escape percent-encodes a path segment or a query value in the way of the WHATWG URL standard, for bytes that need no
// other care.
func escape(dst, raw []byte) []byte {
	const hex = "0123456789ABCDEF"
	for _, c := range raw {
		if c <= 0x20 || c >= 0x7f {
			dst = append(dst, '%', hex[c>>4], hex[c&15])
		} else {
			dst = append(dst, c)
		}
	}
	return dst
}

// pathDraw decides the folder and the form of a page's path.
func (w *Web) pathDraw(h *Host, p int) (folder int, view bool, word int) {
	r := draw(w.o.Seed, forPath, h.pathNumber(), uint64(p))
	u := r.next()
	return int(u & 7), u>>8&15 == 0, int(u >> 16 & 7)
}

// appendPath writes the canonical path (and query) of page p.
func (w *Web) appendPath(dst []byte, h *Host, p int) []byte {
	dst = append(dst, h.folder...)
	if p == 0 {
		return append(dst, '/')
	}
	if h.Templated {
		if p&1 == 0 {
			return strconv.AppendInt(append(dst, "/shop/list?p="...), int64(p), 10)
		}
		return append(strconv.AppendInt(append(dst, "/shop/item-"...), int64(p), 10), ".html"...)
	}
	folder, view, word := w.pathDraw(h, p)
	dst = appendFolder(dst, h, folder)
	if !view {
		dst = append(dst, 'p')
		dst = strconv.AppendInt(dst, int64(p), 10)
		return append(dst, ".html"...)
	}
	dst = append(dst, "view?id="...)
	dst = strconv.AppendInt(dst, int64(p), 10)
	if h.japanesePaths() {
		dst = append(dst, "&k="...)
		dst = escape(dst, texts(h.Charset).words[word])
	}
	return dst
}

// japanesePaths reports whether paths of a host have Japanese in them.
func (h *Host) japanesePaths() bool { return h.Charset != Latin && !h.twin }

func appendFolder(dst []byte, h *Host, folder int) []byte {
	dst = append(dst, '/')
	if folder == 0 && h.japanesePaths() {
		dst = append(dst, japaneseFolderEscaped...)
	} else {
		dst = append(dst, folders[folder]...)
	}
	return append(dst, '/')
}

// appendPlace writes the canonical request target of a place.
func (w *Web) appendPlace(dst []byte, h *Host, at place) []byte {
	switch at.kind {
	case content:
		begin := len(dst)
		return w.appendForm(w.appendPath(dst, h, at.n), begin, h, at)
	case alias:
		folder, _, _ := w.pathDraw(h, at.n)
		dst = append(dst, h.folder...)
		dst = appendFolder(dst, h, folder)
		dst = append(dst, "old-"...)
		dst = strconv.AppendInt(dst, int64(at.n), 10)
		return append(dst, ".html"...)
	case calendar:
		dst = append(dst, "/calendar/"...)
		dst = appendPadded(dst, at.n/12, 4)
		dst = append(dst, '/')
		return appendPadded(dst, at.n%12+1, 2)
	case absent:
		dst = append(dst, "/gone/"...)
		dst = strconv.AppendInt(dst, int64(at.n), 10)
		return append(dst, ".html"...)
	case maze:
		dst = append(dst, "/maze/"...)
		dst = strconv.AppendInt(dst, int64(at.n), 10)
		dst = append(dst, "?sid="...)
		return strconv.AppendUint(dst, at.sid, 16)
	case robots:
		return append(dst, "/robots.txt"...)
	case robotsMoved:
		return append(dst, "/robots-moved.txt"...)
	case sitemap:
		return append(dst, "/sitemap.xml"...)
	case sitemapPart:
		dst = append(dst, "/sitemap-"...)
		dst = strconv.AppendInt(dst, int64(at.n), 10)
		return append(dst, ".xml.gz"...)
	case feed:
		return append(dst, "/feed.xml"...)
	case static:
		return append(dst, staticPaths[at.n]...)
	case mirrorRoot:
		return append(dst, mirrorFolder+"/"...)
	}
	return append(dst, "/missing"...)
}

// locate finds what a request target names. It is exact: only the canonical target of a place finds it.
func (w *Web) locate(h *Host, target []byte) place {
	at := w.guess(h, target[min(len(h.folder), len(target)):])
	if rest, formed, ok := w.guessForm(h, target); ok {
		if at = formed; rest != nil {
			at = w.guess(h, rest)
			at.form, at.sid = formed.form, formed.sid
		}
		for at.form == session && at.sid < sessionIDs-1 && !bytes.Equal(w.appendPlace(nil, h, at), target) {
			at.sid++
		}
	}
	var room [128]byte
	if at.kind == missing || !bytes.Equal(w.appendPlace(room[:0], h, at), target) {
		return place{}
	}
	return at
}

// guess reads the numbers out of a target without checking the rest of it.
func (w *Web) guess(h *Host, target []byte) place {
	switch string(target) {
	case "/":
		return place{kind: content}
	case "/robots.txt":
		return place{kind: robots}
	case "/robots-moved.txt":
		return place{kind: robotsMoved}
	case "/sitemap.xml":
		return place{kind: sitemap}
	case "/feed.xml":
		if h.Fed {
			return place{kind: feed}
		}
		return place{}
	}
	if rest, ok := bytes.CutPrefix(target, []byte("/sitemap-")); ok {
		if n := number(rest); h.Indexed && n >= 0 && n < w.parts(h) {
			return place{kind: sitemapPart, n: n}
		}
		return place{}
	}
	for i, p := range staticPaths {
		if string(target) == p {
			return place{kind: static, n: i}
		}
	}
	if rest, ok := bytes.CutPrefix(target, []byte("/calendar/")); ok {
		if year, month, ok := bytes.Cut(rest, []byte("/")); ok && h.Calendar {
			y, m := number(year), number(month)
			if m >= 1 && m <= 12 && y < 1e6 {
				return place{kind: calendar, n: y*12 + m - 1}
			}
		}
		return place{}
	}
	if rest, ok := bytes.CutPrefix(target, []byte("/maze/")); ok {
		if room, sid, ok := bytes.Cut(rest, []byte("?sid=")); ok && h.Sessions {
			if id, err := strconv.ParseUint(string(sid), 16, 64); err == nil {
				return place{kind: maze, n: number(room), sid: id}
			}
		}
		return place{}
	}
	if rest, ok := bytes.CutPrefix(target, []byte("/gone/")); ok && h.Soft {
		return place{kind: absent, n: number(rest)}
	}
	path, query, _ := bytes.Cut(target, []byte("?"))
	file := path[bytes.LastIndexByte(path, '/')+1:]
	at := place{kind: content}
	switch {
	case len(query) > 3 && string(query[:3]) == "id=":
		at.n = number(query[3:])
	case h.Templated && len(query) > 2 && string(query[:2]) == "p=":
		at.n = number(query[2:])
	case h.Templated && len(file) > 5 && string(file[:5]) == "item-":
		at.n = number(file[5:])
	case len(file) > 1 && file[0] == 'p':
		at.n = number(file[1:])
	case len(file) > 4 && string(file[:4]) == "old-":
		at.kind, at.n = alias, number(file[4:])
	default:
		return place{}
	}
	if at.n <= 0 || at.n >= h.live || at.kind == alias && !w.redirected(h, at.n) {
		return place{}
	}
	return at
}

// number reads the digits at the beginning of a text; -1 without any.
func number(text []byte) int {
	n := -1
	for i, c := range text {
		if c < '0' || c > '9' || i > 9 {
			break
		}
		n = max(n, 0)*10 + int(c-'0')
	}
	return n
}

// redirected reports whether page p is reached through a redirect.
func (w *Web) redirected(h *Host, p int) bool {
	if h.Redirects == 0 || p == 0 {
		return false
	}
	r := draw(w.o.Seed, forAlias, uint64(h.Index), uint64(p))
	return r.chance(h.Redirects)
}

// linked gives the place that links name to lead to page p.
func (w *Web) linked(h *Host, p int) place {
	if w.redirected(h, p) {
		return place{kind: alias, n: p}
	}
	return place{kind: content, n: p}
}

// edge is one link of a page, before it is written.
type edge struct {
	host  int // -1: the host of the page
	to    place
	kind  outlink.Kind
	style uint8 // how it is written
	// the name of its host that it is written with; answering: that of the page
	via redirecting
}

// edges appends the links of a place in the order in which its page writes them. They depend on time by the pages
// born so far only.
func (w *Web) edges(dst []edge, h *Host, at place) []edge {
	switch at.kind {
	case content:
		return w.pageEdges(dst, h, at.n)
	case calendar:
		for _, step := range [...]int{1, -1, 12} {
			if to := at.n + step; to >= 0 && to < 12e6 {
				dst = append(dst, edge{host: -1, to: place{kind: calendar, n: to}, kind: outlink.Anchor})
			}
		}
	case maze:
		r := draw(w.o.Seed, forMaze, uint64(h.Index), uint64(at.n), at.sid)
		for range 3 {
			dst = append(dst, edge{host: -1, to: place{kind: maze, n: r.below(100), sid: r.next()},
				kind: outlink.Anchor})
		}
	}
	return dst
}

func (w *Web) pageEdges(dst []edge, h *Host, p int) []edge {
	o, k := &w.o, h.Fanout
	r := draw(o.Seed, forLinks, h.pathNumber(), uint64(p))
	first := len(dst)
	add := func(to place, kind outlink.Kind) {
		dst = append(dst, edge{host: -1, to: to, kind: kind, style: uint8(r.next())})
	}
	for c := p*k + 1; c <= p*k+k && c < h.Pages; c++ {
		add(w.linked(h, c), outlink.Anchor)
	}
	if p > 0 {
		add(place{kind: content}, outlink.Anchor)
	} else {
		if h.Fed {
			add(place{kind: feed}, outlink.Link)
		}
		if h.Calendar {
			add(place{kind: calendar, n: 2000 * 12}, outlink.Anchor)
		}
		if h.Sessions {
			add(place{kind: maze, sid: 1}, outlink.Anchor)
		}
		if o.CrossShare > 0 && h.guest == nil {
			for to := 2*h.Index + 1; to <= 2*h.Index+2 && to < o.Hosts; to++ {
				dst = append(dst, edge{host: to, to: place{kind: content}, kind: outlink.Anchor})
			}
		}
	}
	if h.Soft {
		add(place{kind: absent, n: p}, outlink.Anchor)
	}
	l := layer(k, p)
	near := min(h.Pages, within(k, l+1))
	cross := 0.0
	if o.Hosts > 1 && o.Degree > 0 && o.CrossShare > 0 && h.guest == nil {
		cross = o.CrossShare * float64(o.Degree) / max(1, float64(o.Degree)-1-float64(h.Pages-1)/float64(h.Pages))
	}
	degree := o.Degree
	if s := o.DegreeSpread; s > 0 {
		degree = int(math.Round(float64(degree) * math.Exp(s*r.normal()-s*s/2)))
	}
	for len(dst)-first < degree {
		if cross > 0 && r.chance(cross) {
			dst = append(dst, w.crossEdge(&r, h, l))
			continue
		}
		kind := outlink.Anchor
		switch u := r.next() & 63; {
		case u < 2:
			kind = outlink.Area
		case u == 2:
			kind = outlink.Iframe
		case u < 6:
			kind = outlink.Link
		}
		add(w.linked(h, r.below(near)), kind)
	}
	dst = append(dst[:first], w.dusty(dst[first:], h, p)...)
	// Those born since come last and beyond the degree, so that a birth leaves the other links as they are.
	for c := max(h.Pages, p*k+1); c <= p*k+k && c < h.live; c++ {
		add(w.linked(h, c), outlink.Anchor)
	}
	return dst
}

// crossEdge draws a link to another host: mostly to its root, popular hosts (the first ones) more often.
func (w *Web) crossEdge(r *random, h *Host, l int) edge {
	u := r.unit()
	if r.next()&1 == 0 {
		u *= u
	}
	to := int(u * float64(w.o.Hosts-1))
	if to >= h.Index {
		to++
	}
	e := edge{host: to, to: place{kind: content}, kind: outlink.Anchor}
	if r.next()&3 == 0 {
		other := w.host(to)
		e.to = w.linked(&other, r.below(min(other.Pages, within(other.Fanout, l+1))))
	}
	return e
}

// fate is what becomes of a request for a page, whatever its text.
type fate uint8

const (
	well fate = iota
	notFound
	gone
	internal
	unavailable
	throttled
	timeout
	reset
	cut
)

// fate gives the lasting fate of page p; errors strike leaves only, so their share is raised by the share of leaves.
func (w *Web) fate(h *Host, p int) fate {
	e := &h.Errors
	if p == 0 || !h.leaf(p) || *e == (Errors{FlakyFor: e.FlakyFor}) {
		return well
	}
	r := draw(w.o.Seed, forError, uint64(h.Index), uint64(p))
	u := r.unit() * float64(h.leaves()) / float64(h.Pages)
	return [...]fate{notFound, gone, internal, unavailable, throttled, timeout, reset, cut, well}[pick(
		u, e.NotFound, e.Gone, e.Internal, e.Unavailable, e.Throttled, e.Timeout, e.Reset, e.Cut)]
}
