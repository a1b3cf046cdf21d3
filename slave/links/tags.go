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
		d.Runs = d.Runs || d.template == 0 && (kind == classic || kind == module)
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
