package links

import (
	"bytes"
	stdhtml "html"
	"unicode/utf8"
)

// text takes characters between tags.
func (d *Document) text(b []byte) {
	if n := len(d.nested); n > 0 && d.nested[n-1].code {
		return
	}
	if d.frames != framesExcluded {
		if d.frames != framesPossible {
			return
		}
		if d.template == 0 && len(trim(b)) > 0 {
			d.frames = framesExcluded
		}
	}
	if len(b) == 1 && class[b[0]]&space != 0 { // half of the text between tags is a line break
		d.breakWords()
		return
	}
	anchor := d.anchorLink >= 0 && len(d.anchor) < d.o.MaxAnchor
	text := d.keepText && len(d.Text) < d.o.MaxText
	if !anchor && !text {
		return
	}
	if text && d.skip > 0 && !d.keepAside || d.template > 0 {
		d.skipped += len(trim(b))
		text = false
		if !anchor {
			return
		}
	}
	if anchor {
		d.anchor = fold(d.anchor, b, d.o.MaxAnchor, &d.anchorSpace)
	}
	if text {
		d.Text = fold(d.Text, b, d.o.MaxText, &d.textSpace)
		if len(d.Text) >= d.o.MaxText {
			d.Text = cut(d.Text, d.o.MaxText)
			d.keepText = false
		}
	}
}

// breakWords puts a space between the words before and after a block element.
func (d *Document) breakWords() { d.textSpace, d.anchorSpace = true, true }

// fold appends words with single spaces between, character references decoded; pending says whether white space came
// last. It may overshoot max by a character.
func fold(to, b []byte, max int, pending *bool) []byte {
	i := 0
	for i < len(b) {
		if class[b[i]]&space != 0 {
			*pending = true
			i++
			continue
		}
		if *pending {
			if *pending = false; len(to) > 0 {
				to = append(to, ' ')
			}
		}
		if len(to) >= max {
			return to
		}
		if b[i] == '&' {
			var r [maxEntity]byte
			decoded, n := decodeReference(r[:0], b[i:])
			if i += n; len(decoded) == 1 && class[decoded[0]]&space != 0 {
				*pending = true
			} else {
				to = append(to, decoded...)
			}
			continue
		}
		j := i + 1 // as many words as are folded already
		for j < len(b) {
			if class[b[j]]&(space|ampersand) == 0 {
				j++
			} else if b[j] == ' ' && j+1 < len(b) && class[b[j+1]]&(space|ampersand) == 0 {
				j += 2
			} else {
				break
			}
		}
		if room := max + utf8.UTFMax - len(to); j-i > room {
			return append(to, b[i:i+room]...)
		}
		to = append(to, b[i:j]...)
		i = j
	}
	return to
}

// decodeReference appends what the reference at the beginning of text stands for, and returns its length.
func decodeReference(to, b []byte) ([]byte, int) {
	for _, known := range commonReferences {
		if len(b) > len(known.name) && string(b[1:1+len(known.name)]) == known.name {
			return append(to, known.c...), 1 + len(known.name)
		}
	}
	if r, n := decimal(b); n > 0 {
		return utf8.AppendRune(to, r), n
	}
	n := 1
	for n < len(b) && n < maxEntity && (isAlnum(b[n]) || n == 1 && b[n] == '#') {
		n++
	}
	if n < len(b) && b[n] == ';' {
		n++
	}
	return append(to, stdhtml.UnescapeString(string(b[:n]))...), n
}

// cut shortens text to at most max bytes, not within a character.
func cut(b []byte, max int) []byte {
	if len(b) <= max {
		return b
	}
	for max > 0 && !utf8.RuneStart(b[max]) {
		max--
	}
	return b[:max]
}

// trim removes white space around.
func trim(b []byte) []byte {
	for len(b) > 0 && class[b[0]]&space != 0 {
		b = b[1:]
	}
	for len(b) > 0 && class[b[len(b)-1]]&space != 0 {
		b = b[:len(b)-1]
	}
	return b
}

// unescapeAttr decodes character references as they count in attribute values: "&copy=1" is none. The result is valid
// until the next call.
func (d *Document) unescapeAttr(b []byte) []byte {
	if bytes.IndexByte(b, '&') < 0 && bytes.IndexByte(b, 0) < 0 {
		return b
	}
	return d.unescape(b)
}

// commonReferences are those that make up nearly all.
var commonReferences = []struct {
	name string
	c    string
}{{"amp;", "&"}, {"lt;", "<"}, {"gt;", ">"}, {"quot;", "\""}, {"nbsp;", "\u00A0"}, {"#160;", "\u00A0"}, {"#39;", "'"}}

func (d *Document) unescape(b []byte) []byte {
	out := d.scratch[:0]
next:
	for len(b) > 0 {
		i := bytes.IndexByte(b, '&')
		if i < 0 {
			i = len(b)
		}
		for piece := b[:i]; ; {
			nul := bytes.IndexByte(piece, 0)
			if nul < 0 {
				out = append(out, piece...)
				break
			}
			out = append(append(out, piece[:nul]...), "\uFFFD"...)
			piece = piece[nul+1:]
		}
		if b = b[i:]; len(b) == 0 {
			break
		}
		for _, known := range commonReferences {
			if len(b) > len(known.name) && string(b[1:1+len(known.name)]) == known.name {
				out, b = append(out, known.c...), b[1+len(known.name):]
				continue next
			}
		}
		if r, n := decimal(b); n > 0 {
			out, b = utf8.AppendRune(out, r), b[n:]
		} else if n := attrReference(b); n > 0 {
			out, b = append(out, stdhtml.UnescapeString(string(b[:n]))...), b[n:]
		} else {
			out, b = append(out, '&'), b[1:]
		}
	}
	d.scratch = out
	return out
}

// decimal reads the ordinary kind of numeric reference, "&#182;", which need not be looked up; n is 0 for all others.
func decimal(b []byte) (r rune, n int) {
	if len(b) < 2 || b[1] != '#' {
		return 0, 0
	}
	for n = 2; n < len(b) && n < 9 && b[n] >= '0' && b[n] <= '9'; n++ {
		r = 10*r + rune(b[n]-'0')
	}
	if n == len(b) || b[n] != ';' || r < 0xa0 || !utf8.ValidRune(r) {
		return 0, 0
	}
	return r, n + 1
}

// maxEntity is longer than the longest name, CounterClockwiseContourIntegral.
const maxEntity = 40

// attrReference returns the length of the character reference that an attribute value begins with, 0 if it begins with
// none.
func attrReference(b []byte) int {
	if len(b) > 1 && b[1] == '#' {
		n := 2
		hex := n < len(b) && b[n]|0x20 == 'x'
		if hex {
			n++
		}
		digits := n
		for n < len(b) && n < maxEntity && (b[n] >= '0' && b[n] <= '9' || hex && b[n]|0x20 >= 'a' && b[n]|0x20 <= 'f') {
			n++
		}
		if n == digits {
			return 0
		}
		if n < len(b) && b[n] == ';' {
			n++
		}
		return n
	}
	n := 1
	for n < len(b) && n < maxEntity && isAlnum(b[n]) {
		n++
	}
	if n == 1 {
		return 0
	}
	if n < len(b) && b[n] == ';' {
		decoded := stdhtml.UnescapeString(string(b[:n+1]))
		if decoded[len(decoded)-1] == ';' && decoded != ";" {
			return 0 // unknown, or known only up to a part
		}
		return n + 1
	}
	if n < len(b) && (b[n] == '=' || isAlnum(b[n])) {
		return 0
	}
	if decoded := stdhtml.UnescapeString(string(b[:n])); utf8.RuneCountInString(decoded) != 1 {
		return 0
	}
	return n
}

func isAlnum(c byte) bool { return c >= '0' && c <= '9' || class[c]&letter != 0 }
