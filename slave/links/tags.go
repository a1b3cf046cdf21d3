package links

import (
	"bytes"

	"henro/messages/outlink"
)

// maxTag is the length of the longest tag name that matters, foreignobject.
const maxTag = 16

// The elements whose text is not the page's own.
const (
	nav = iota
	header
	footer
	aside
	lastSkipped = aside
)

// startTag reads a start tag whose name begins at pos and returns the position after it, and after its raw text if it
// has such.
func (d *Document) startTag(pos int) int {
	d.tagAt = pos
	var buffer [maxTag]byte
	n, end := tagName(d.html, pos, &buffer)
	end, selfClosing := d.attributes(end)
	if end < 0 {
		return len(d.html)
	}
	var name []byte
	if n <= maxTag {
		name = buffer[:n]
	}
	if len(d.attrs) > 0 {
		d.anyElement()
	}
	if d.frames != framesExcluded && !d.inFrames(name) {
		return end
	}
	if len(d.nested) > 0 {
		if d.breaksOut(name) {
			d.toHTML()
		}
		if d.isForeign(name) {
			return d.foreignTag(name, end, selfClosing)
		}
		if len(d.nested) > 0 && holdsMarkup(name) {
			d.enterElement(name, htmlElement)
		}
	}
	return d.element(name, end, selfClosing)
}

// anyElement takes the attributes that any element may have.
func (d *Document) anyElement() {
	for _, a := range d.attrs {
		switch name := d.html[a.name:a.nameEnd]; len(name) {
		case len("style"):
			if is(name, "style") && mayHoldURL(d.html[a.value:a.valueEnd]) {
				d.css(d.unescapeAttr(d.html[a.value:a.valueEnd]))
			}
		case len("background"):
			if is(name, "background") {
				d.link(d.html[a.value:a.valueEnd], outlink.Image, 0)
			}
		}
	}
}

// mayHoldURL spares style attributes the scanner.
func mayHoldURL(css []byte) bool {
	return bytes.IndexByte(css, '(') >= 0 || bytes.IndexByte(css, '@') >= 0
}

// element takes a start tag of HTML.
func (d *Document) element(name []byte, end int, selfClosing bool) int {
	switch string(name) {
	case "a":
		if href, ok := d.attr("href"); ok {
			d.anchored(href, d.relFlags())
		} else {
			d.closeAnchor()
		}
	case "area":
		d.linkAttr("href", outlink.Area, d.relFlags())
	case "link":
		if href, ok := d.attr("href"); ok {
			rel, _ := d.attr("rel")
			as, _ := d.attr("as")
			if kind := relKind(d.unescapeAttr(rel), trim(as)); kind != outlink.Unknown {
				d.link(href, kind, d.relFlags())
			}
		}
		d.srcset("imagesrcset")
	case "base":
		if href, ok := d.attr("href"); ok && !d.hasBase && !d.noscript && d.template == 0 {
			d.hasBase = true
			if base := trim(d.unescapeAttr(href)); len(base) <= d.o.MaxRef {
				d.Base = string(base)
			}
		}
	case "meta":
		d.meta()
	case "html":
		if d.Lang == "" {
			lang, ok := d.attr("lang")
			if !ok {
				lang, _ = d.attr("xml:lang")
			}
			d.Lang = string(cut(trim(d.unescapeAttr(lang)), d.o.MaxTitle))
		}
		d.linkAttr("manifest", outlink.Other, 0)
	case "img", "image":
		d.linkAttr("src", outlink.Image, 0)
		d.srcset("srcset")
		d.linkAttr("lowsrc", outlink.Image, 0)
		d.linkAttr("dynsrc", outlink.Media, 0)
		d.linkAttr("longdesc", outlink.Other, 0)
		d.lazyImages()
	case "source":
		d.linkAttr("src", outlink.Media, 0)
		d.srcset("srcset")
		d.lazyImages()
	case "video":
		d.linkAttr("src", outlink.Media, 0)
		d.linkAttr("poster", outlink.Image, 0)
	case "audio", "track", "bgsound":
		d.linkAttr("src", outlink.Media, 0)
	case "input":
		if kind, _ := d.attr("type"); is(kind, "image") {
			d.linkAttr("src", outlink.Image, 0)
		}
		d.linkAttr("formaction", outlink.Form, 0)
	case "button":
		d.linkAttr("formaction", outlink.Form, 0)
	case "form":
		d.linkAttr("action", outlink.Form, 0)
		d.breakWords()
	case "frame":
		kind := outlink.Frame
		if d.frames <= framesExcluded && !d.o.XML { // no browser loads it, though it names a page
			kind = outlink.Link
		}
		d.linkAttr("src", kind, 0)
		d.linkAttr("longdesc", outlink.Other, 0)
	case "iframe":
		d.linkAttr("src", outlink.Iframe, 0)
		d.linkAttr("longdesc", outlink.Other, 0)
		d.frameOf()
		d.breakWords()
		return d.raw(name, end, selfClosing)
	case "embed":
		d.linkAttr("src", outlink.Object, 0)
	case "object":
		d.linkAttr("data", outlink.Object, 0)
		d.linkAttr("classid", outlink.Object, 0)
	case "applet":
		d.linkAttr("code", outlink.Object, 0)
		d.linkAttr("archive", outlink.Object, 0)
	case "param":
		d.param()
	case "blockquote", "q", "ins", "del":
		d.linkAttr("cite", outlink.Other, 0)
		if len(name) > 3 {
			d.breakWords()
		}
	case "script":
		kind := d.scriptType()
		if src, ok := d.attr("src"); ok && kind != noScript {
			d.link(src, outlink.Script, 0)
			kind = noScript // what stands within is not run
		} else if ok {
			d.link(src, outlink.Other, 0)
		}
		if selfClosing && d.o.XML {
			return end
		}
		after := d.script(end)
		if kind != noScript {
			d.inline(d.html[end:after], kind)
		}
		return after
	case "style":
		if selfClosing && d.o.XML {
			return end
		}
		close, after := d.rawEnd(name, end)
		d.css(d.html[end:close])
		return after
	case "title":
		close, after := d.rawEnd(name, end)
		if !d.hasTitle && d.template == 0 {
			d.hasTitle = true
			pending := false
			title := fold(nil, d.html[end:close], d.o.MaxTitle, &pending)
			d.Title = string(cut(title, d.o.MaxTitle))
		}
		return after
	case "textarea", "xmp", "noembed", "noframes":
		d.breakWords()
		return d.raw(name, end, selfClosing)
	case "plaintext":
		d.breakWords()
		d.text(d.html[end:])
		return len(d.html)
	case "noscript":
		return d.withoutScripts(name, end)
	case "template":
		if _, shown := d.attr("shadowrootmode"); !shown || d.template > 0 {
			d.template++
		}
	case "svg", "math":
		if !selfClosing {
			d.enterElement(name, foreignElement)
		}
	case "div":
		d.signs.root(d, end)
		d.breakWords()
	case "nav":
		d.enter(nav)
	case "header":
		d.enter(header)
	case "footer":
		d.enter(footer)
	case "aside":
		d.enter(aside)
	case "main":
		d.skip, d.aside = 0, [lastSkipped + 1]int{} // main text never lies within those; they were not closed
		d.breakWords()
	default:
		if !isInline(name) {
			d.breakWords()
		}
	}
	return end
}

// endTag reads an end tag; pos is after "</".
func (d *Document) endTag(pos int) int {
	if pos >= len(d.html) {
		return len(d.html)
	}
	if class[d.html[pos]]&letter == 0 {
		if d.html[pos] == '>' {
			return pos + 1
		}
		return past(d.html, pos, '>')
	}
	var buffer [maxTag]byte
	n, end := tagName(d.html, pos, &buffer)
	if end < len(d.html) && d.html[end] == '>' {
		end++
	} else if end, _ = d.attributes(end); end < 0 {
		return len(d.html)
	}
	if n > maxTag {
		return end
	}
	name := buffer[:n]
	if len(d.nested) > 0 && d.leaveElement(name) {
		if string(name) == "a" {
			d.closeAnchor()
		} else if !isInline(name) {
			d.breakWords()
		}
		return end
	}
	switch string(name) {
	case "frameset":
		if d.frames > framesExcluded {
			if d.frames--; d.frames == framesExcluded {
				d.frames = framesBehind
			}
		}
	case "a":
		d.closeAnchor()
	case "noscript": // only XML comes here
		d.noscript = false
	case "template":
		d.template = max(0, d.template-1)
	case "nav":
		d.leave(nav)
	case "header":
		d.leave(header)
	case "footer":
		d.leave(footer)
	case "aside":
		d.leave(aside)
	default:
		if !isInline(name) {
			d.breakWords()
		}
	}
	return end
}

func (d *Document) enter(element int) {
	d.aside[element]++
	d.skip++
	d.breakWords()
}

func (d *Document) leave(element int) {
	if d.aside[element] > 0 {
		d.aside[element]--
		d.skip--
	}
	d.breakWords()
}

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

// withoutScripts takes the links of a noscript element, which is text for a browser that runs scripts: nothing that is
// left open in it reaches beyond its end.
func (d *Document) withoutScripts(name []byte, pos int) int {
	if d.noscript || d.o.XML {
		d.noscript = true
		return pos
	}
	close, after := d.rawEnd(name, pos)
	html, nested, template, frames := d.html, len(d.nested), d.template, d.frames
	d.html, d.noscript, d.frames = html[:close], true, framesExcluded
	d.signs.warned = d.signs.warned || bytes.Contains(html[pos:close], []byte("Script"))
	d.signs.unscripted -= len(d.Text)
	d.scan(pos)
	d.signs.unscripted += len(d.Text)
	d.html, d.noscript, d.template, d.frames = html, false, template, frames
	d.nested = d.nested[:min(nested, len(d.nested))]
	return after
}

// raw skips an element whose content is no markup.
func (d *Document) raw(name []byte, pos int, selfClosing bool) int {
	if selfClosing && d.o.XML {
		return pos
	}
	_, after := d.rawEnd(name, pos)
	return after
}

// rawEnd finds the end tag of an element whose content is no markup: where it begins, and where it ends.
func (d *Document) rawEnd(name []byte, pos int) (close, after int) {
	for {
		i := bytes.Index(d.html[pos:], []byte("</"))
		if i < 0 {
			return len(d.html), len(d.html)
		}
		pos += i
		if after, ok := d.closes(name, pos); ok {
			return pos, after
		}
		pos += 2
	}
}

// closes reports whether the end tag of name stands at pos, and where it ends.
func (d *Document) closes(name []byte, pos int) (after int, ok bool) {
	end := pos + 2 + len(name)
	if end > len(d.html) || !bytes.EqualFold(d.html[pos+2:end], name) {
		return 0, false
	}
	if end == len(d.html) {
		return 0, false
	}
	if c := d.html[end]; c != '>' && c != '/' && class[c]&space == 0 {
		return 0, false
	}
	if after, _ = d.attributes(end); after < 0 {
		after = len(d.html)
	}
	return after, true
}

// script skips a script: up to its end tag, but after "<!--" and "<script" that of the inner one does not count.
func (d *Document) script(pos int) int {
	html := d.html
	const (
		plain         = iota
		escaped       // after <!--
		doublyEscaped // after <!-- and <script
	)
	state := plain
	for {
		var i int
		if state == plain {
			i = bytes.IndexByte(html[pos:], '<')
		} else {
			i = bytes.IndexAny(html[pos:], "<-")
		}
		if i < 0 {
			return len(html)
		}
		pos += i
		rest := html[pos:]
		switch {
		case rest[0] == '-':
			if bytes.HasPrefix(rest, []byte("-->")) {
				state = plain
				pos += 2
			}
		case bytes.HasPrefix(rest, []byte("<!--")):
			if state == plain {
				state = escaped
			}
			pos += 2 // the dashes may end it at once: <!-->
			continue
		case len(rest) > 1 && rest[1] == '/':
			after, ok := d.closes([]byte("script"), pos)
			if ok && state == doublyEscaped {
				state = escaped
			} else if ok {
				return after
			}
		case state == escaped && len(rest) > 7 && is(rest[1:7], "script") &&
			(rest[7] == '>' || rest[7] == '/' || class[rest[7]]&space != 0):
			state = doublyEscaped
		}
		pos++
	}
}

// foreignTag takes a start tag within SVG or MathML.
func (d *Document) foreignTag(name []byte, end int, selfClosing bool) int {
	for _, a := range d.attrs { // fill="url(patterns.svg#dots)"; style was taken with any element
		if value := d.html[a.value:a.valueEnd]; bytes.Contains(value, []byte("url(")) &&
			!is(d.html[a.name:a.nameEnd], "style") {
			d.css(d.unescapeAttr(value))
		}
	}
	href, ok := d.attr("href")
	if !ok {
		href, ok = d.attr("xlink:href")
	}
	switch string(name) {
	case "a":
		if ok {
			d.anchored(href, d.relFlags())
		}
	case "image", "feimage", "use":
		if ok && !bytes.HasPrefix(href, []byte{'#'}) { // else a part of the page itself
			d.link(href, outlink.Image, 0)
		}
	case "script":
		if ok {
			d.link(href, outlink.Script, 0)
		}
	case "style":
		if !selfClosing {
			d.css(d.foreignText(end))
		}
	default:
		if ok && len(href) > 0 && href[0] != '#' {
			d.link(href, outlink.Other, 0)
		}
	}
	if !selfClosing {
		d.enterElement(name, d.kindOf(name))
	}
	return end
}

// foreignText is the text that an element of SVG begins with: in SVG the content of styles and scripts is markup.
func (d *Document) foreignText(pos int) []byte {
	rest := trim(d.html[pos:])
	if inner, ok := bytes.CutPrefix(rest, []byte("<![CDATA[")); ok {
		rest, _, _ = bytes.Cut(inner, []byte("]]>"))
		return rest
	}
	rest, _, _ = bytes.Cut(rest, []byte("<"))
	return rest
}

// endsForeign reports whether a start tag ends SVG and MathML.
func endsForeign(name []byte) bool {
	switch string(name) {
	case "b", "big", "blockquote", "body", "br", "center", "code", "dd", "div", "dl", "dt", "em", "embed", "h1", "h2",
		"h3", "h4", "h5", "h6",
		"head", "hr", "i", "img", "li", "listing", "menu", "meta", "nobr", "ol", "p", "pre", "ruby", "s", "small",
		"span", "strong", "strike",
		"sub", "sup", "table", "tt", "u", "ul", "var":
		return true
	}
	return false
}

// isInline reports whether an element may stand within a word.
func isInline(name []byte) bool {
	switch string(name) {
	case "a", "abbr", "acronym", "b", "bdi", "bdo", "big", "cite", "code", "data", "dfn", "em", "font", "i", "img",
		"kbd", "label", "mark",
		"nobr", "rb", "rp", "rt", "ruby", "s", "samp", "small", "span", "strike", "strong", "sub", "sup", "time", "tt",
		"u", "var", "wbr":
		return true
	}
	return false
}
