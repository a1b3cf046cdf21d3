package links

import (
	"bytes"
	"strconv"
	"unicode/utf8"

	"henro/messages/outlink"
)

// ScanCSS reads a style sheet in UTF-8: its url() and its @import.
func (d *Document) ScanCSS(css []byte, o Options) {
	d.reset(o)
	d.css(css)
	d.finish()
}

// css scans a style sheet, or the declarations of a style attribute.
func (d *Document) css(b []byte) { References(b, d.cssLink) }

// References calls found for each URL that a style sheet names, in their order: as it stands there, a part of the sheet
// with its escapes, and what it is for. The URL of @namespace is a name, and is left out.
func References(b []byte, found func(raw []byte, kind outlink.Kind)) {
	kind := outlink.CSS // of the next reference: another one after @import, @namespace and in @font-face
	set := 0            // parentheses open since image-set(, whose own strings are references
	for i := 0; i < len(b); {
		switch b[i] {
		case '/':
			if i++; i < len(b) && b[i] == '*' {
				end := bytes.Index(b[i+1:], []byte("*/"))
				if end < 0 {
					return
				}
				i += end + 3
			}
		case '"', '\'':
			value, end := cssString(b, i)
			if kind == outlink.Style {
				found(value, kind)
				kind = outlink.CSS
			} else if set == 1 {
				found(value, outlink.CSS)
			}
			i = end
		case 'u', 'U':
			if len(b)-i < 4 || b[i+3] != '(' || !is(b[i:i+3], "url") || i > 0 && isIdent(b[i-1]) {
				i++
				break
			}
			value, end := cssURL(b, i+4)
			if value != nil && kind != outlink.Unknown {
				found(value, kind)
			}
			if kind == outlink.Style {
				kind = outlink.CSS
			}
			i = end
		case '@':
			rest := b[i+1:]
			i++
			switch kind = outlink.CSS; {
			case atRule(rest, "import"):
				kind = outlink.Style
				i += len("import")
			case atRule(rest, "font-face"):
				kind = outlink.Font
			case atRule(rest, "namespace"): // its URL is a name, and nothing is loaded
				kind = outlink.Unknown
			}
		case '(':
			if set > 0 {
				set++
			} else if n := len("image-set"); i >= n && is(b[i-n:i], "image-set") {
				set = 1
			}
			i++
		case ')':
			set = max(0, set-1)
			i++
		case ';', '{', '}':
			if kind != outlink.Font || b[i] == '}' {
				kind = outlink.CSS
			}
			set = 0
			i++
		case '\\':
			i += 2
		default:
			i++
		}
	}
}

// atRule reports whether what follows an '@' is this name.
func atRule(b []byte, name string) bool { return len(b) >= len(name) && is(b[:len(name)], name) }

func isIdent(c byte) bool { return isAlnum(c) || c == '-' || c == '_' || c >= 0x80 }

// cssString reads a string that begins with its quote at i; a line break ends it.
func cssString(b []byte, i int) (value []byte, end int) {
	quote := b[i]
	start := i + 1
	for i = start; i < len(b); i++ {
		switch b[i] {
		case quote:
			return b[start:i], i + 1
		case '\n', '\r', '\f':
			return nil, i
		case '\\':
			i++
		}
	}
	return b[start:], len(b)
}

// cssURL reads what stands in url(…); i is after the parenthesis. A broken one gives nil, and is skipped as far as it
// is broken.
func cssURL(b []byte, i int) (value []byte, end int) {
	for i < len(b) && class[b[i]]&space != 0 {
		i++
	}
	if i < len(b) && (b[i] == '"' || b[i] == '\'') {
		value, i = cssString(b, i)
		for i < len(b) && class[b[i]]&space != 0 {
			i++
		}
		if i < len(b) && b[i] == ')' || i == len(b) {
			return value, min(i+1, len(b))
		}
		return value, past(b, min(i, len(b)), ')')
	}
	start := i
	for ; i < len(b); i++ {
		switch c := b[i]; {
		case c == ')':
			return b[start:i], i + 1
		case class[c]&space != 0:
			value = b[start:i]
			for i < len(b) && class[b[i]]&space != 0 {
				i++
			}
			if i == len(b) || b[i] == ')' {
				return value, min(i+1, len(b))
			}
			return nil, past(b, i, ')')
		case c == '"' || c == '\'' || c == '(':
			return nil, past(b, i, ')')
		case c == '\\':
			n := 0
			for n < 6 && i+1+n < len(b) && isHex(b[i+1+n]) {
				n++
			}
			if i += max(n, 1); n > 0 && i+1 < len(b) && class[b[i+1]]&space != 0 {
				i++ // it ends the escape
			}
		}
	}
	return b[start:], len(b)
}

func isHex(c byte) bool { return c >= '0' && c <= '9' || c|0x20 >= 'a' && c|0x20 <= 'f' }

// cssLink keeps a reference, its escapes decoded. The result of unescapeAttr may be b, so the decoding has room of its
// own.
func (d *Document) cssLink(b []byte, kind outlink.Kind) {
	if b = trim(UnescapeCSS(b)); len(b) > 0 {
		d.add(b, kind, 0)
	}
}

// UnescapeCSS returns a string or URL of a style sheet without its escapes: b itself where it has none.
func UnescapeCSS(b []byte) []byte {
	if bytes.IndexByte(b, '\\') < 0 {
		return b
	}
	out := make([]byte, 0, len(b))
	for i := 0; i < len(b); i++ {
		if b[i] != '\\' {
			out = append(out, b[i])
			continue
		}
		if i++; i == len(b) {
			break
		}
		if b[i] == '\n' || b[i] == '\f' {
			continue
		}
		if b[i] == '\r' {
			if i+1 < len(b) && b[i+1] == '\n' {
				i++
			}
			continue
		}
		n := 0
		for n < 6 && i+n < len(b) && isHex(b[i+n]) {
			n++
		}
		if n == 0 {
			out = append(out, b[i])
			continue
		}
		code, _ := strconv.ParseUint(string(b[i:i+n]), 16, 32) // digits, and few of them
		if i += n; i == len(b) || class[b[i]]&space == 0 {
			i-- // a single white space ends the escape
		}
		if code == 0 {
			code = utf8.RuneError
		}
		out = utf8.AppendRune(out, rune(code)) // what is none becomes U+FFFD
	}
	return out
}
