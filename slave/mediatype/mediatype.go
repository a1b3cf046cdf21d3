// Package mediatype reads Content-Type as browsers do, and looks at the bytes where browsers would.
//
// Parse and Extract are those of the MIME Sniffing and the Fetch Standard: what does not follow the grammar is no type
// at all, of several fields the last that is one counts, and a charset outlives a repeat of its type. Computed is
// chapter 7 of the former: a type that is missing or says nothing, and text/plain as old Apaches put on everything, is
// found out from the bytes; whatever else a host says is believed, images apart, which are told from each other by
// their first bytes. mime.ParseMediaType of the standard library refuses half of what browsers read.
//
// Invariant: nothing is looked at beyond the first 1,445 bytes.
package mediatype

import (
	"bytes"
	"slices"
	"strings"
)

// Type is one media type. The zero value is none.
type Type struct {
	Essence string // type/subtype in lower case
	Params  []Param
}

// Param is one parameter, its name in lower case.
type Param struct{ Name, Value string }

// IsScript reports whether a type (without parameters) is a JavaScript MIME type of the MIME Sniffing Standard.
func IsScript(essence string) bool {
	major, minor, _ := strings.Cut(strings.ToLower(essence), "/")
	switch minor {
	case "javascript", "ecmascript", "x-javascript", "x-ecmascript":
		return major == "text" || major == "application"
	case "jscript", "livescript", "javascript1.0", "javascript1.1", "javascript1.2", "javascript1.3", "javascript1.4",
		"javascript1.5":
		return major == "text"
	}
	return false
}

// IsPacked reports whether a body of a type (without parameters) and a Content-Encoding is compressed already, so that
// compressing it once more saves next to nothing.
func IsPacked(essence, encoding string) bool {
	switch strings.ToLower(strings.TrimSpace(encoding)) {
	case "gzip", "x-gzip", "deflate", "br", "zstd":
		return true
	}
	switch essence {
	case "image/png", "image/jpeg", "image/gif", "image/webp", "image/avif", "font/woff", "font/woff2",
		"application/font-woff", "audio/mpeg", "audio/ogg", "video/mp4", "video/webm", "video/ogg", "application/zip",
		"application/gzip", "application/x-gzip", "application/x-xz", "application/x-bzip2":
		return true
	}
	return false
}

const whitespace = " \t\r\n" // HTTP's

// Parse reads one media type; false if it is none.
func Parse(s string) (Type, bool) {
	s = strings.Trim(s, whitespace)
	major, rest, found := strings.Cut(s, "/")
	minor, rest, more := strings.Cut(rest, ";")
	minor = strings.TrimRight(minor, whitespace)
	if !found || !isToken(major) || !isToken(minor) {
		return Type{}, false
	}
	t := Type{Essence: strings.ToLower(major + "/" + minor)}
	for more {
		rest = strings.TrimLeft(rest, whitespace)
		end := strings.IndexAny(rest, ";=")
		if end < 0 {
			break
		}
		name := strings.ToLower(rest[:end])
		if rest[end] == ';' {
			rest = rest[end+1:]
			continue
		}
		rest = rest[end+1:]
		var value string
		if strings.HasPrefix(rest, `"`) {
			value, rest = quoted(rest)
			_, rest, more = strings.Cut(rest, ";")
		} else {
			value, rest, more = strings.Cut(rest, ";")
			if value = strings.TrimRight(value, whitespace); value == "" {
				continue
			}
		}
		if isToken(name) && mayBeQuoted(value) && !t.has(name) {
			t.Params = append(t.Params, Param{name, value})
		}
	}
	return t, true
}

// quoted reads a quoted string, its end may be missing.
func quoted(s string) (value, rest string) {
	var b strings.Builder
	for i := 1; i < len(s); i++ {
		switch {
		case s[i] == '"':
			return b.String(), s[i+1:]
		case s[i] == '\\' && i+1 < len(s):
			i++
		}
		b.WriteByte(s[i])
	}
	return b.String(), ""
}

func (t *Type) has(name string) bool {
	return slices.ContainsFunc(t.Params, func(p Param) bool { return p.Name == name })
}

// Param returns the value of a parameter, "" if there is none of that name.
func (t *Type) Param(name string) string {
	for i := range t.Params {
		if t.Params[i].Name == name {
			return t.Params[i].Value
		}
	}
	return ""
}

// Extract reads all Content-Type fields of one answer; false if none of them is a type.
func Extract(fields []string) (t Type, ok bool) {
	charset := ""
	for all := strings.Join(fields, ", "); all != ""; {
		var one string
		one, all = next(all)
		read, is := Parse(one)
		if !is || read.Essence == "*/*" {
			continue
		}
		if read.Essence != t.Essence {
			charset = ""
		}
		if read.has("charset") {
			charset = read.Param("charset")
		} else if charset != "" {
			read.Params = append(read.Params, Param{"charset", charset})
		}
		t, ok = read, true
	}
	return t, ok
}

// next cuts the first value off a field, at a comma that is not within quotes.
func next(s string) (value, rest string) {
	inside := false
	for i := 0; i < len(s); i++ {
		switch {
		case s[i] == '"':
			inside = !inside
		case s[i] == '\\' && inside:
			i++
		case s[i] == ',' && !inside:
			return s[:i], s[i+1:]
		}
	}
	return s, ""
}

// resourceHeader is how much the standard looks at.
const resourceHeader = 1445

// Computed returns the essence of what an answer is, from its Content-Type fields and the beginning of its body.
// NoSniff is the host's wish that its word be taken.
func Computed(fields []string, noSniff bool, body []byte) string {
	t, ok := Extract(fields)
	body = body[:min(len(body), resourceHeader)]
	switch {
	case !ok, t.Essence == "unknown/unknown", t.Essence == "application/unknown":
		if len(body) == 0 {
			return t.Essence
		}
		return unknown(body, !noSniff)
	case noSniff || isXML(t.Essence) || t.Essence == "text/html":
	case ofOldApache(fields[len(fields)-1]):
		if isBinary(body) {
			return "application/octet-stream"
		}
	case strings.HasPrefix(t.Essence, "image/"):
		if essence := find(body, images); essence != "" {
			return essence
		}
	}
	return t.Essence
}

func isXML(essence string) bool {
	return strings.HasSuffix(essence, "+xml") || essence == "text/xml" || essence == "application/xml"
}

// ofOldApache reports whether a field is one of the four that servers put on whatever they did not know.
func ofOldApache(field string) bool {
	switch field {
	case "text/plain", "text/plain; charset=ISO-8859-1", "text/plain; charset=iso-8859-1", "text/plain; charset=UTF-8":
		return true
	}
	return false
}

// isBinary reports whether there is a byte that no text has, and no mark of UTF-16 or UTF-8 before it.
func isBinary(b []byte) bool {
	marks := []string{"\xfe\xff", "\xff\xfe", "\xef\xbb\xbf"}
	marked := slices.ContainsFunc(marks, func(mark string) bool { return bytes.HasPrefix(b, []byte(mark)) })
	return !marked && slices.ContainsFunc(b, func(c byte) bool {
		return c <= 0x08 || c == 0x0b || c >= 0x0e && c <= 0x1a || c >= 0x1c && c <= 0x1f
	})
}

func isToken(s string) bool {
	for i := range len(s) {
		c := s[i]
		if !(c >= '0' && c <= '9' || c|0x20 >= 'a' && c|0x20 <= 'z' || strings.IndexByte("!#$%&'*+-.^_`|~", c) >= 0) {
			return false
		}
	}
	return s != ""
}

// mayBeQuoted reports whether a value could stand in a quoted string.
func mayBeQuoted(s string) bool {
	for i := range len(s) {
		if c := s[i]; c != '\t' && c < ' ' || c == 0x7f {
			return false
		}
	}
	return true
}
