package links

import (
	"bytes"
	"slices"
)

// What of the tree decides how the bytes that follow are read.

// frames says whether a page may still be, or is, one of frames: how many framesets are open in it, or one of these.
type frames int

const (
	framesPossible frames = iota // nothing was there yet that only a body has
	framesBehind                 // behind the outermost frameset
	framesExcluded               // the page has a body; greater: framesets are open
)

// maxFrames bounds the framesets within each other that are counted.
const maxFrames = 1 << 16

// inFrames looks at a start tag of a page that may be one of frames, and reports whether the tag counts.
func (d *Document) inFrames(name []byte) bool {
	switch string(name) {
	case "frameset":
		switch {
		case d.template > 0 || len(d.nested) > 0:
			return len(d.nested) > 0
		case d.frames == framesPossible:
			d.frames = framesExcluded + 1
		case d.frames > framesExcluded && d.frames < maxFrames:
			d.frames++
		}
		return d.frames > framesExcluded
	case "frame", "noframes", "html":
		return true
	case "body", "pre", "listing", "li", "dd", "dt", "button", "applet", "marquee", "object", "table", "area", "br",
		"embed", "img", "image", "keygen", "wbr", "hr", "textarea", "xmp", "iframe", "select", "plaintext":
		if d.frames == framesPossible && d.template == 0 {
			d.frames = framesExcluded
		}
	case "input":
		if kind, _ := d.attr("type"); d.frames == framesPossible && d.template == 0 && !is(kind, "hidden") {
			d.frames = framesExcluded
		}
	}
	return d.frames == framesPossible || d.frames == framesExcluded
}

// element says by which rules the tags within an element are read.
type element uint8

const (
	htmlElement    element = iota
	foreignElement         // of SVG or MathML
	integration            // of these, but what is in it is HTML
)

// open is an element that was not closed yet.
type open struct {
	name [maxTag]byte
	n    int
	kind element
	code bool // what stands in it is no text of the page
}

// maxNested bounds the elements open since the outermost svg or math that are remembered.
const maxNested = 128

func (d *Document) enterElement(name []byte, kind element) {
	if len(d.nested) == maxNested {
		return
	}
	if len(d.nested) == 0 {
		d.nestedAt = d.tagAt
	}
	e := open{kind: kind, code: kind == foreignElement && (string(name) == "style" || string(name) == "script")}
	e.n = copy(e.name[:], name)
	d.nested = append(d.nested, e)
}

// current is the innermost open element.
func (d *Document) current() element {
	if len(d.nested) == 0 {
		return htmlElement
	}
	return d.nested[len(d.nested)-1].kind
}

// isForeign reports whether a start tag is one of SVG or MathML.
func (d *Document) isForeign(name []byte) bool {
	if d.current() != foreignElement {
		return false
	}
	top := &d.nested[len(d.nested)-1]
	return string(top.name[:top.n]) != "annotation-xml" || string(name) != "svg"
}

// kindOf is what an element of SVG or MathML is, whose tag is at hand.
func (d *Document) kindOf(name []byte) element {
	switch string(name) {
	case "foreignobject", "desc", "title", "mi", "mo", "mn", "ms", "mtext":
		return integration
	case "annotation-xml":
		if encoding, _ := d.attr("encoding"); is(encoding, "text/html") || is(encoding, "application/xhtml+xml") {
			return integration
		}
	}
	return foreignElement
}

// breaksOut reports whether a start tag ends the SVG or MathML that it stands in.
func (d *Document) breaksOut(name []byte) bool {
	if d.current() != foreignElement || d.o.XML {
		return false
	}
	if string(name) != "font" {
		return endsForeign(name)
	}
	return slices.ContainsFunc([]string{"color", "face", "size"}, func(attribute string) bool {
		_, ok := d.attr(attribute)
		return ok
	})
}

// toHTML closes elements of SVG and MathML up to one within which HTML is read.
func (d *Document) toHTML() {
	for d.current() == foreignElement {
		d.nested = d.nested[:len(d.nested)-1]
	}
}

// leaveElement takes an end tag where SVG or MathML is open, and reports whether it ends nothing of HTML.
func (d *Document) leaveElement(name []byte) bool {
	inHTML := d.current() == htmlElement
	if !inHTML && !d.o.XML && (string(name) == "p" || string(name) == "br") {
		if d.current() == integration {
			d.nested = d.nested[:len(d.nested)-1]
		}
		d.toHTML()
		return false
	}
	for i := len(d.nested) - 1; i >= 0; i-- {
		e := &d.nested[i]
		inHTML = inHTML || e.kind == htmlElement
		if inHTML && e.kind == integration {
			return true // what is in it closes nothing around it
		}
		if string(e.name[:e.n]) == string(name) {
			kind := e.kind
			d.nested = d.nested[:i]
			return kind != htmlElement
		}
	}
	if !d.isOpenBefore(name) {
		return true
	}
	d.nested = d.nested[:0]
	return false
}

// maxLookedBack bounds how often the page is read again up to the outermost svg or math.
const maxLookedBack = 16

// isOpenBefore reports whether an element is open around the outermost svg or math, by counting tags before it.
func (d *Document) isOpenBefore(name []byte) bool {
	if d.lookedBack++; d.lookedBack > maxLookedBack {
		return true
	}
	open := 0
	for before := d.html[:d.nestedAt]; ; {
		i := bytes.IndexByte(before, '<')
		if i < 0 {
			return open > 0
		}
		before = before[i+1:]
		if bytes.HasPrefix(before, []byte("!")) {
			before = before[past(before, 0, '>'):]
			continue
		}
		tag, change := before, 1
		if len(tag) > 0 && tag[0] == '/' {
			tag, change = tag[1:], -1
		}
		if n := len(name); len(tag) > n && class[tag[n]]&endName != 0 && bytes.EqualFold(tag[:n], name) {
			open = max(0, open+change)
		}
	}
}

// holdsMarkup reports whether an element of HTML ends with an end tag that is yet to come.
func holdsMarkup(name []byte) bool {
	switch string(name) {
	case "area", "base", "basefont", "bgsound", "br", "col", "embed", "frame", "hr", "img", "image", "input", "keygen",
		"link", "meta", "param", "source", "track", "wbr",
		"script", "style", "title", "textarea", "xmp", "iframe", "noembed", "noframes", "svg", "math":
		return false
	}
	return true
}
