package links

import (
	"bytes"
	"unicode/utf16"
	"unicode/utf8"

	"henro/messages/outlink"
)

// maxNesting bounds how deeply JSON is followed; what lies deeper is passed over.
const maxNesting = 64

// jsonLD takes the addresses that a script of linked data names: strings under keys that schema.org has for addresses,
// however deep, also in lists. It is one pass over the bytes, without a tree, and needs no valid JSON: a key is a
// string before a colon.
func (d *Document) jsonLD(b []byte) {
	var outer [maxNesting]bool // whether the key around an object or a list is wanted
	depth, wanted := 0, false
	for i := 0; i < len(b); {
		switch c := b[i]; c {
		case '{', '[':
			if depth < maxNesting {
				outer[depth] = wanted
			}
			depth++
			wanted = wanted && c == '['
			i++
		case '}', ']':
			if depth--; depth < 0 {
				depth = 0
			}
			wanted = depth < maxNesting && outer[depth]
			i++
		case '"':
			value, end := jsonString(b, i+1)
			i = end
			for i < len(b) && class[b[i]]&space != 0 {
				i++
			}
			if i < len(b) && b[i] == ':' {
				wanted = depth <= maxNesting && isAddressKey(value)
				i++
			} else if wanted {
				d.dataLink(value)
			}
		default:
			i++
		}
	}
}

// isLinkedData reports whether the script at hand is one.
func (d *Document) isLinkedData() bool {
	kind, _ := d.attr("type")
	kind, _, _ = bytes.Cut(kind, []byte{';'})
	return is(trim(kind), "application/ld+json")
}

// isAddressKey reports whether the value of a key is an address, as schema.org has it.
func isAddressKey(key []byte) bool {
	switch string(key) {
	case "@id", "url", "sameAs", "contentUrl", "embedUrl", "thumbnailUrl", "image", "logo", "thumbnail", "photo",
		"item", "mainEntityOfPage",
		"downloadUrl", "installUrl", "discussionUrl", "license", "isBasedOn", "citation", "subjectOf", "relatedLink",
		"significantLink",
		"hasMap", "menu", "target", "urlTemplate", "acquireLicensePage", "usageInfo", "archivedAt", "codeRepository",
		"publishingPrinciples":
		return true
	}
	return false
}

// dataLink keeps a string that looks like an address: names stand under these keys too.
func (d *Document) dataLink(value []byte) {
	if bytes.IndexByte(value, '\\') >= 0 {
		value = unescapeJSON(value)
	}
	value = trim(value)
	if len(value) == 0 || bytes.IndexByte(value, '{') >= 0 { // a template of a search
		return
	}
	if value[0] != '/' && !(len(value) > 7 && is(value[:7], "http://")) &&
		!(len(value) > 8 && is(value[:8], "https://")) {
		return
	}
	d.add(value, outlink.Data, 0)
}

// jsonString returns what stands between the quotes, as it stands; i is after the first.
func jsonString(b []byte, i int) (value []byte, end int) {
	for start := i; ; i++ {
		j := bytes.IndexAny(b[i:], "\"\\")
		if j < 0 {
			return nil, len(b)
		}
		if i += j; b[i] == '"' {
			return b[start:i], i + 1
		}
		if i++; i >= len(b) {
			return nil, len(b)
		}
	}
}

func unescapeJSON(b []byte) []byte {
	out := make([]byte, 0, len(b))
	for i := 0; i < len(b); i++ {
		if b[i] != '\\' || i+1 == len(b) {
			out = append(out, b[i])
			continue
		}
		i++
		switch b[i] {
		case 'b', 'f', 'n', 'r', 't':
			out = append(out, ' ') // none has a place in an address
		case 'u':
			r, ok := hex4(b[i+1:])
			if !ok {
				continue
			}
			i += 4
			if utf16.IsSurrogate(r) && i+2 < len(b) && b[i+1] == '\\' && b[i+2] == 'u' {
				if low, ok := hex4(b[i+3:]); ok {
					if both := utf16.DecodeRune(r, low); both != utf8.RuneError {
						r = both
						i += 6
					}
				}
			}
			out = utf8.AppendRune(out, r)
		default:
			out = append(out, b[i])
		}
	}
	return out
}

func hex4(b []byte) (r rune, ok bool) {
	if len(b) < 4 {
		return 0, false
	}
	for _, c := range b[:4] {
		switch {
		case c >= '0' && c <= '9':
			r = r<<4 | rune(c-'0')
		case c|0x20 >= 'a' && c|0x20 <= 'f':
			r = r<<4 | rune(c|0x20-'a'+10)
		default:
			return 0, false
		}
	}
	return r, true
}
