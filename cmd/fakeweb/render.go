package fakeweb

import (
	"slices"
	"strconv"
	"time"

	"henro/messages/outlink"
)

// origin is how hosts are named in absolute links: the scheme and port under which this request came.
type origin struct {
	scheme string // "http" or "https"
	port   string // ":8080", or empty for the scheme's own
}

func (o origin) append(dst []byte, w *Web, host *Host) []byte {
	dst = append(dst, o.scheme...)
	dst = append(dst, "://"...)
	dst = append(dst, host.Name...)
	return append(dst, o.port...)
}

// staticPaths are the embeds of every page.
var staticPaths = [...]string{"/static/site.css", "/static/logo.gif"}

var staticBodies = [...]string{
	"body { margin: 2em; font-family: serif }\nnav { border-bottom: 1px solid }\n",
	"GIF89a\x01\x00\x01\x00\x80\x00\x00\xff\xff\xff\x00\x00\x00!\xf9\x04\x01\x00\x00\x00\x00," +
		"\x00\x00\x00\x00\x01\x00\x01\x00\x00\x02\x02D\x01\x00;",
}

var embeds = [...]outlink.Kind{outlink.Style, outlink.Image}

// counterStep is how often the counter of a trivial host moves.
const counterStep = 10 * time.Minute

// trivial counts the moves of a host's date and counter, and tells the newest.
func trivial(t time.Time) (moves int64, at time.Time) {
	step := int64(counterStep / time.Second)
	moves = t.Unix() / step
	return moves, time.Unix(moves*step, 0)
}

// page renders page n of the tree as it is at a moment.
func (w *Web) page(dst []byte, h *Host, n int, version uint64, o origin, now time.Time) []byte {
	c := texts(h.Charset)
	begin := len(dst)
	r := draw(w.o.Seed, forSize, h.textNumber(n), uint64(n))
	size := w.o.PageBytes/2 + r.below(w.o.PageBytes+1)

	dst = w.prologue(dst, h, c, w.title(nil, h, n))
	var room [64]edge
	edges := w.edges(room[:0], h, place{kind: content, n: n})
	for i := range edges {
		if e := &edges[i]; e.kind == outlink.Link {
			rel := `next`
			if e.to.kind == feed {
				rel = feedRel(h)
			}
			dst = append(append(append(dst, `<link rel="`...), rel...), `" href="`...)
			dst = w.href(dst, h, c, n, e, o)
			dst = append(dst, "\">\n"...)
		}
	}
	dst = w.navigation(dst, h, c, now)
	dst = append(dst, "<main>\n<h1>"...)
	dst = w.title(dst, h, n)
	dst = append(dst, "</h1>\n"...)
	if h.Changes.Share > 0 && !h.shares(n) {
		// Every version has this line of its own, so no two versions have the same digest.
		dst = append(dst, "<p>"...)
		dst = append(dst, c.phrases.edition...)
		dst = append(dst, ' ')
		dst = strconv.AppendUint(dst, version>>32, 10)
		dst = append(dst, '.')
		dst = strconv.AppendUint(dst, version&(1<<32-1), 10)
		dst = append(dst, "</p>\n"...)
	}
	const linkBytes, footerBytes = 90, 100
	shown, perLink, paragraph, written := edges, linkBytes, 0, 0
	length := func() int { return len(dst) - begin }
	if w.o.Twins != (Twins{}) {
		// What stands where may not follow from the addresses in the page, which are those of one twin. Equal pages of
		// several hosts differ in their links: these stand beside the text.
		length, perLink = func() int { return written }, 0
		shown = slices.DeleteFunc(slices.Clone(edges), func(e edge) bool {
			return e.kind == outlink.Link || h.shares(n)
		})
	}
	text := func(until int) {
		for length() < until {
			p := c.paragraphs[w.paragraph(h, n, paragraph, version)]
			dst, written = append(dst, p...), written+len(p)
			paragraph++
		}
	}
	rest := max(0, size-length()-linkBytes*len(shown)-footerBytes)
	start := length()
	for i := range shown {
		text(start + perLink*i + rest*i/len(shown))
		dst = w.link(dst, h, c, n, &shown[i], o)
	}
	text(start + perLink*len(shown) + rest)
	dst = append(dst, "</main>\n"...)
	if h.shares(n) {
		dst = append(dst, "<nav>\n"...)
		for i := range edges {
			dst = w.link(dst, h, c, n, &edges[i], o)
		}
		dst = append(dst, "</nav>\n"...)
	}
	dst = append(dst, "<footer>"...)
	dst = append(dst, c.phrases.footer...)
	return append(dst, "</footer>\n</body>\n</html>\n"...)
}

// prologue writes what stands before the body.
func (w *Web) prologue(dst []byte, h *Host, c *corpus, title []byte) []byte {
	dst = append(dst, "<!DOCTYPE html>\n<html lang=\""...)
	dst = append(dst, c.phrases.lang...)
	dst = append(dst, "\">\n<head>\n"...)
	if h.Declared&InMeta != 0 {
		if h.Index&1 == 0 {
			dst = append(dst, `<meta charset="`...)
		} else {
			dst = append(dst, `<meta http-equiv="Content-Type" content="text/html; charset=`...)
		}
		dst = append(dst, h.Charset.String()...)
		dst = append(dst, "\">\n"...)
	}
	dst = append(dst, "<title>"...)
	dst = append(dst, title...)
	return append(dst, "</title>\n"...)
}

// navigation writes the end of the head and the beginning of the body; on trivial hosts it moves with time and the text
// does not.
func (w *Web) navigation(dst []byte, h *Host, c *corpus, now time.Time) []byte {
	dst = append(dst,
		"<link rel=\"stylesheet\" href=\"/static/site.css\">\n</head>\n<body>\n<nav><img src=\"/static/logo.gif\" "+
			"alt=\"\">"...)
	if h.Trivial {
		moves, _ := trivial(now)
		dst = append(dst, "<span class=date>"...)
		dst = append(dst, c.phrases.today...)
		dst = append(dst, ' ')
		dst = now.UTC().AppendFormat(dst, time.DateOnly)
		dst = append(dst, "</span> <span class=counter>"...)
		dst = append(dst, c.phrases.counter...)
		dst = append(dst, ' ')
		dst = strconv.AppendInt(dst, moves*7+int64(h.Index), 10)
		dst = append(dst, "</span>"...)
	}
	return append(dst, "</nav>\n"...)
}

// title writes the title of page n.
func (w *Web) title(dst []byte, h *Host, n int) []byte {
	r := draw(w.o.Seed, forTitle, h.textNumber(n), uint64(n))
	dst = append(dst, texts(h.Charset).titles[r.below(titleCount)]...)
	dst = append(dst, ' ')
	return strconv.AppendInt(dst, int64(n), 10)
}

// paragraph says which paragraph of the stock stands in the i-th place of a version. Each change replaces about half of
// them; every sixteenth replaces all, which bounds the search for the change that a paragraph goes back to.
func (w *Web) paragraph(h *Host, n, i int, version uint64) int {
	for ; version&15 != 0; version-- {
		if version&3 == uint64(i&3) {
			break
		}
		if r := draw(w.o.Seed, forText, h.textNumber(n)<<32|uint64(n), uint64(i), version); r.next()%3 == 0 {
			break
		}
	}
	r := draw(w.o.Seed, forText, h.textNumber(n)<<32|uint64(n), uint64(i), version, 1)
	return r.below(paragraphCount)
}

// link writes one link as an element of the text.
func (w *Web) link(dst []byte, h *Host, c *corpus, n int, e *edge, o origin) []byte {
	switch e.kind {
	case outlink.Link: // stands in the head
		return dst
	case outlink.Area:
		dst = append(dst, `<map name="m"><area shape="default" href="`...)
		dst = w.href(dst, h, c, n, e, o)
		return append(dst, "\" alt=\"\"></map>\n"...)
	case outlink.Iframe:
		dst = append(dst, `<iframe src="`...)
		dst = w.href(dst, h, c, n, e, o)
		return append(dst, "\"></iframe>\n"...)
	}
	switch e.style >> 5 {
	case 0:
		dst = append(dst, `<A HREF='`...)
		dst = w.href(dst, h, c, n, e, o)
		dst = append(dst, `'>`...)
	case 1:
		dst = append(dst, `<a class="more" title="a > b" href = "`...)
		dst = w.href(dst, h, c, n, e, o)
		dst = append(dst, `">`...)
	default:
		dst = append(dst, `<a href="`...)
		dst = w.href(dst, h, c, n, e, o)
		dst = append(dst, `">`...)
	}
	switch {
	case e.to.kind == calendar || e.to.kind == maze || e.to.kind == absent:
		dst = append(dst, c.phrases.next...)
	case e.to.n == 0:
		dst = append(dst, c.phrases.home...)
	case e.host < 0:
		dst = w.title(dst, h, e.to.n)
	default:
		dst = w.appendName(dst, e.host)
	}
	return append(dst, "</a>\n"...)
}

// href writes the address of a link in one of the ways in which people write addresses.
func (w *Web) href(dst []byte, h *Host, c *corpus, n int, e *edge, o origin) []byte {
	if e.host >= 0 {
		var other Host
		if e.to.n == 0 && e.to.kind == content {
			other = Host{Index: e.host, Name: w.name(e.host)}
		} else {
			other = w.host(e.host)
		}
		dst = o.append(dst, w, &other)
		begin := len(dst)
		return ampersands(w.appendPlace(dst, &other, e.to), begin)
	}
	if e.via != answering {
		dst = o.append(dst, w, &Host{Name: w.movedName(h.Index, e.via)})
		begin := len(dst)
		return ampersands(w.appendPlace(dst, h, e.to), begin)
	}
	style := e.style & 7
	begin := len(dst)
	switch {
	case style == 4:
		dst = o.append(dst, w, h)
	case style == 7:
		dst = append(append(append(dst, "//"...), h.Name...), o.port...)
	}
	path := len(dst)
	dst = w.appendPlace(dst, h, e.to)
	if h.japanesePaths() && h.folder == "" && (e.to.kind == content || e.to.kind == alias) && e.style&8 != 0 {
		dst = w.unescape(dst, path, c)
	}
	switch style {
	case 5:
		dst = append(dst, "#section-2"...)
	case 6:
		// The links of a mirror would leave it, and a page with a slash at its end is a folder deeper.
		if e.to.kind == content && e.to.n == 0 || h.folder != "" || h.Dust || h.Variants {
			break
		}
		// Pages of the tree lie one folder deep, the root page none.
		if n == 0 {
			dst = append(dst[:begin], dst[begin+1:]...)
		} else {
			dst = append(dst, ".."...)
			copy(dst[begin+2:], dst[begin:len(dst)-2])
			copy(dst[begin:], "..")
		}
	}
	return ampersands(dst, begin)
}

// unescape turns the percent-encoded Japanese of an address written from path on into characters of the page's
// encoding.
func (w *Web) unescape(dst []byte, path int, c *corpus) []byte {
	from, out := path, path
	if f := japaneseFolderEscaped; len(dst)-path > len(f)+1 && string(dst[path+1:path+1+len(f)]) == string(f) {
		out += 1 + copy(dst[path+1:], c.folder)
		from += 1 + len(f)
	}
	for from < len(dst) {
		if dst[from] == '%' {
			dst[out] = unhex(dst[from+1])<<4 | unhex(dst[from+2])
			from += 3
		} else {
			dst[out] = dst[from]
			from++
		}
		out++
	}
	return dst[:out]
}

func unhex(c byte) byte {
	if c >= 'A' {
		return c - 'A' + 10
	}
	return c - '0'
}

// ampersands writes & as &amp; from begin on.
func ampersands(dst []byte, begin int) []byte {
	for i := begin; i < len(dst); i++ {
		if dst[i] == '&' {
			dst = append(dst, "amp;"...)
			copy(dst[i+5:], dst[i+1:len(dst)-4])
			copy(dst[i+1:], "amp;")
		}
	}
	return dst
}

// trapPage renders a month of the calendar or a room of the maze.
func (w *Web) trapPage(dst []byte, h *Host, at place, o origin, now time.Time) []byte {
	c := texts(h.Charset)
	target := w.appendPlace(nil, h, at)
	dst = w.prologue(dst, h, c, ampersands(target, 0))
	dst = w.navigation(dst, h, c, now)
	dst = append(dst, "<main>\n"...)
	if at.kind == maze {
		dst = append(dst, c.paragraphs[at.n%paragraphCount]...) // the same room under every session id
	}
	for _, e := range w.edges(nil, h, at) {
		dst = w.link(dst, h, c, 0, &e, o)
	}
	return append(dst, "</main>\n</body>\n</html>\n"...)
}

// note renders a short page for errors and the like.
func (w *Web) note(dst []byte, h *Host, phrase []byte) []byte {
	c := texts(h.Charset)
	dst = w.prologue(dst, h, c, phrase)
	dst = append(dst, "</head>\n<body>\n<h1>"...)
	dst = append(dst, phrase...)
	return append(dst, "</h1>\n</body>\n</html>\n"...)
}
