package links

import (
	"bytes"

	"henro/messages/outlink"
)

func (d *Document) linkAttr(name string, kind outlink.Kind, flags outlink.Flags) {
	if value, ok := d.attr(name); ok {
		d.link(value, kind, flags)
	}
}

// relFlags reads rel of the tag at hand.
func (d *Document) relFlags() outlink.Flags {
	rel, ok := d.attr("rel")
	if ok && noFollow(rel) {
		return outlink.NoFollow
	}
	return 0
}

func noFollow(rel []byte) bool {
	for len(rel) > 0 {
		var word []byte
		if word, rel = nextWord(rel); is(word, "nofollow") || is(word, "ugc") || is(word, "sponsored") {
			return true
		}
	}
	return false
}

// nextWord cuts the first word off a list that is separated by white space.
func nextWord(b []byte) (word, rest []byte) {
	for len(b) > 0 && class[b[0]]&space != 0 {
		b = b[1:]
	}
	i := 0
	for i < len(b) && class[b[i]]&space == 0 {
		i++
	}
	return b[:i], b[i:]
}

// relKind says what a link element or a Link header is for, which may be several things at once; Unknown if all that it
// does is to prepare a connection. as is what a preload is for.
func relKind(rel, as []byte) outlink.Kind {
	kind, weight := outlink.Other, 0 // of the words the one that loads most
	var buffer [32]byte
	for len(rel) > 0 {
		var word []byte
		word, rel = nextWord(rel)
		if len(word) > len(buffer) {
			continue
		}
		k, w := outlink.Other, 0
		switch string(lower(buffer[:0], word)) {
		case "stylesheet":
			return outlink.Style
		case "modulepreload":
			k, w = outlink.Script, 6
		case "preload":
			if k = preloadKind(as); k != outlink.Other {
				w = 5
			}
		case "icon", "apple-touch-icon", "apple-touch-icon-precomposed", "apple-touch-startup-image", "mask-icon",
			"fluid-icon":
			k, w = outlink.Icon, 4
		case "manifest":
			k, w = outlink.Manifest, 3
		case "image_src":
			k, w = outlink.Preview, 2
		case "dns-prefetch", "preconnect":
			k, w = outlink.Unknown, 2
		case "next", "prev", "previous", "alternate", "canonical", "home", "index", "up", "top", "first", "last",
			"begin", "end", "start",
			"contents", "toc", "chapter", "section", "subsection", "appendix", "glossary", "bookmark", "help", "author",
			"made", "license",
			"copyright", "shortlink", "amphtml", "me", "archives", "archive", "search-results", "self", "child",
			"parent", "prerender",
			"privacy-policy", "terms-of-service", "about", "describedby", "item", "collection", "latest-version",
			"original", "timemap", "memento":
			k, w = outlink.Link, 1
		}
		if w > weight {
			kind, weight = k, w
		}
	}
	return kind
}

// preloadKind is the kind of what link rel=preload names. Browsers load nothing without a destination that they know.
func preloadKind(as []byte) outlink.Kind {
	switch {
	case is(as, "image"):
		return outlink.Image
	case is(as, "style"):
		return outlink.Style
	case is(as, "script"), is(as, "worker"):
		return outlink.Script
	case is(as, "font"):
		return outlink.Font
	case is(as, "audio"), is(as, "video"), is(as, "track"):
		return outlink.Media
	case is(as, "fetch"):
		return outlink.Fetch
	}
	return outlink.Other
}

func lower(to, b []byte) []byte {
	for _, c := range b {
		if c >= 'A' && c <= 'Z' {
			c |= 0x20
		}
		to = append(to, c)
	}
	return to
}

// lazyImages takes the attributes where scripts keep what they will show later: data-src, data-srcset, data-original
// and the like. They hold a URL or a list as srcset does.
func (d *Document) lazyImages() {
	for _, a := range d.attrs {
		name := d.html[a.name:a.nameEnd]
		if len(name) < len("data-src") || name[4] != '-' || !is(name[:5], "data-") {
			continue
		}
		name = name[5:]
		if is(name[:3], "src") || len(name) >= 8 && (is(name[:8], "original") || is(name[:8], "lazy-src") ||
			is(name[:8], "full-src")) {
			d.candidates(d.html[a.value:a.valueEnd])
		}
	}
}

// srcset takes a list of image candidates, "a.png 1x, b.png 2x".
func (d *Document) srcset(name string) {
	if value, ok := d.attr(name); ok {
		d.candidates(value)
	}
}

func (d *Document) candidates(value []byte) {
	b := d.unescapeAttr(value)
	for {
		for len(b) > 0 && (class[b[0]]&space != 0 || b[0] == ',') {
			b = b[1:]
		}
		if len(b) == 0 {
			return
		}
		var url []byte
		url, b = nextWord(b)
		if url[len(url)-1] == ',' { // no descriptor
			for len(url) > 0 && url[len(url)-1] == ',' {
				url = url[:len(url)-1]
			}
		} else { // the descriptors end at a comma that is not in parentheses
			inside, i := false, 0 // parentheses do not nest
		descriptors:
			for ; i < len(b); i++ {
				switch b[i] {
				case '(':
					inside = true
				case ')':
					inside = false
				case ',':
					if !inside {
						break descriptors
					}
				}
			}
			b = b[i:]
		}
		d.add(url, outlink.Image, 0)
	}
}

// param takes the parameters of plug-ins that are known to name files.
func (d *Document) param() {
	name, _ := d.attr("name")
	name = trim(name)
	value, ok := d.attr("value")
	if !ok {
		return
	}
	for _, known := range []string{"movie", "src", "url", "filename", "data", "href", "source", "image"} {
		if is(name, known) {
			d.link(value, outlink.Object, 0)
			return
		}
	}
}

// meta takes what a page says of itself.
func (d *Document) meta() {
	value, ok := d.attr("content")
	if !ok || d.template > 0 {
		return
	}
	if equiv, ok := d.attr("http-equiv"); ok {
		switch equiv = trim(equiv); {
		case is(equiv, "refresh"):
			if raw, ok := refresh(d.unescapeAttr(value)); ok {
				d.add(raw, outlink.Refresh, 0)
			}
		case is(equiv, "content-language"):
			if d.metaLang == "" && bytes.IndexByte(value, ',') < 0 {
				d.metaLang = string(cut(trim(value), d.o.MaxTitle))
			}
		}
	}
	if name, ok := d.attr("name"); ok {
		switch name = trim(name); {
		case is(name, "robots"):
			d.directives(d.unescapeAttr(value))
		case is(name, "tdm-reservation"):
			d.TDM = string(cut(trim(value), maxTDM))
		case is(name, "twitter:image"), is(name, "twitter:image:src"), is(name, "thumbnail"):
			d.link(value, outlink.Preview, 0)
		case is(name, "msapplication-tileimage"):
			d.link(value, outlink.Icon, 0)
		}
	}
	if property, ok := d.attr("property"); ok && len(property) > 3 && is(property[:3], "og:") {
		switch property = trim(property[3:]); {
		case is(property, "image"), is(property, "image:url"), is(property, "image:secure_url"), is(property, "video"),
			is(property, "video:url"), is(property, "video:secure_url"),
			is(property, "audio"), is(property, "audio:url"):
			d.link(value, outlink.Preview, 0)
		}
	}
}

// refresh reads the content of a meta refresh, "5; url=next.html", by the shared declarative refresh steps of the
// standard.
func refresh(b []byte) (raw []byte, ok bool) {
	b = trim(b)
	digits := 0
	for digits < len(b) && b[digits] >= '0' && b[digits] <= '9' {
		digits++
	}
	if digits == 0 && (len(b) == 0 || b[0] != '.') {
		return nil, false
	}
	b = b[digits:]
	for len(b) > 0 && (b[0] == '.' || b[0] >= '0' && b[0] <= '9') {
		b = b[1:]
	}
	if len(b) == 0 || b[0] != ';' && b[0] != ',' && class[b[0]]&space == 0 {
		return nil, false
	}
	b = trim(b)
	if len(b) > 0 && (b[0] == ';' || b[0] == ',') {
		b = trim(b[1:])
	}
	if len(b) == 0 {
		return nil, false
	}
	if len(b) > 3 && is(b[:3], "url") {
		if rest := trim(b[3:]); len(rest) > 0 && rest[0] == '=' {
			b = trim(rest[1:])
		}
	}
	if len(b) > 0 && (b[0] == '"' || b[0] == '\'') {
		quote := b[0]
		b = b[1:]
		if i := bytes.IndexByte(b, quote); i >= 0 {
			b = b[:i]
		}
	}
	return b, true
}

// maxTDM is more than a reservation has: 0 or 1.
const maxTDM = 8

// directives reads the words of meta robots.
func (d *Document) directives(b []byte) {
	for len(b) > 0 {
		i := 0
		for i < len(b) && b[i] != ',' && class[b[i]]&space == 0 {
			i++
		}
		switch word := b[:i]; {
		case is(word, "noindex"):
			d.NoIndex = true
		case is(word, "nofollow"):
			d.NoFollow = true
		case is(word, "none"):
			d.NoIndex, d.NoFollow = true, true
		case is(word, "noarchive"):
			d.NoArchive = true
		}
		b = b[min(i+1, len(b)):]
	}
}

// maxSrcdoc bounds how deeply documents stand in each other's attributes.
const maxSrcdoc = 4

// frameOf takes the links of a document that stands in the srcdoc of a frame. Its base is that of the page.
func (d *Document) frameOf() {
	srcdoc, ok := d.attr("srcdoc")
	if !ok || d.srcdoc == maxSrcdoc || d.template > 0 {
		return
	}
	inner := Document{o: d.o, html: bytes.Clone(d.unescapeAttr(srcdoc)), anchorLink: -1, hasBase: true, hasTitle: true,
		noscript: d.noscript, srcdoc: d.srcdoc + 1}
	inner.o.MaxLinks -= len(d.spans)
	inner.scan(0)
	inner.closeAnchor()
	d.Cut = d.Cut || inner.Cut
	for _, s := range inner.spans {
		start := len(d.words)
		d.words = append(append(d.words, inner.words[s.raw:s.rawEnd]...), inner.words[s.anchor:s.anchorEnd]...)
		middle := start + s.rawEnd - s.raw
		d.spans = append(d.spans, span{raw: start, rawEnd: middle, anchor: middle, anchorEnd: len(d.words),
			kind:  s.kind,
			flags: s.flags})
	}
}
