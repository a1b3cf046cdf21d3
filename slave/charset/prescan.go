package charset

import (
	"bytes"
	"strings"
)

const (
	// sniffed is how much the standard looks at.
	sniffed = 1024
	// headBound is how far a longer head is searched: Chromium goes to its end.
	headBound = 64 << 10
)

// prescan is the standard's "prescan a byte stream to determine its encoding". Beyond its first 1,024 bytes it goes on
// to the end of the head.
func prescan(body []byte) string {
	switch {
	case bytes.HasPrefix(body, []byte("<\x00?\x00x\x00")):
		return "utf-16le"
	case bytes.HasPrefix(body, []byte("\x00<\x00?\x00x")):
		return "utf-16be"
	}
	s := scanner{b: body[:min(len(body), headBound)]}
	if name := s.meta(); name != "" {
		return name
	}
	return xmlDeclaration(body[:min(len(body), sniffed)])
}

// scanner goes over the bytes of a head.
type scanner struct {
	b   []byte
	pos int
}

func isSpace(c byte) bool  { return c == ' ' || c == '\t' || c == '\n' || c == '\f' || c == '\r' }
func isLetter(c byte) bool { return c|0x20 >= 'a' && c|0x20 <= 'z' }

// after moves past the next occurrence of what, or to the end.
func (s *scanner) after(what string, from int) {
	i := bytes.Index(s.b[min(from, len(s.b)):], []byte(what))
	if i < 0 {
		s.pos = len(s.b)
		return
	}
	s.pos = from + i + len(what)
}

func (s *scanner) meta() string {
	for s.pos < len(s.b) {
		i := bytes.IndexByte(s.b[s.pos:], '<')
		if i < 0 {
			return ""
		}
		s.pos += i
		rest := s.b[s.pos:]
		switch {
		case bytes.HasPrefix(rest, []byte("<!--")):
			s.after("-->", s.pos+2)
		case len(rest) > 5 && bytes.EqualFold(rest[:5], []byte("<meta")) && (isSpace(rest[5]) || rest[5] == '/'):
			s.pos += 5
			if name := s.metaElement(); name != "" {
				return name
			}
		case len(rest) > 1 && isLetter(rest[1]), len(rest) > 2 && rest[1] == '/' && isLetter(rest[2]):
			end := 1
			for end < len(rest) && !isSpace(rest[end]) && rest[end] != '>' {
				end++
			}
			if s.pos > sniffed && !inHead(rest[1:end]) {
				return ""
			}
			s.pos += end
			for {
				if _, _, ok := s.attribute(); !ok {
					break
				}
			}
		case len(rest) > 1 && (rest[1] == '!' || rest[1] == '/' || rest[1] == '?'):
			s.after(">", s.pos)
		default:
			s.pos++
		}
	}
	return ""
}

// inHead reports whether a tag may stand in a head.
func inHead(name []byte) bool {
	switch strings.ToLower(strings.Trim(string(name[:min(len(name), 12)]), "/")) {
	case "html", "head", "title", "base", "link", "meta", "script", "noscript", "style", "object", "template":
		return !bytes.EqualFold(name, []byte("/head"))
	}
	return false
}

// metaElement reads the attributes of a meta element and returns the encoding it names.
func (s *scanner) metaElement() string {
	var seen [3]bool // http-equiv, content, charset
	gotPragma, needPragma, decided, name := false, false, false, ""
	for {
		attr, value, ok := s.attribute()
		if !ok {
			break
		}
		switch {
		case attr == "http-equiv" && !seen[0]:
			seen[0] = true
			gotPragma = value == "content-type"
		case attr == "content" && !seen[1]:
			seen[1] = true
			if !decided { // also by a charset that is none
				if label := fromContent(value); label != "" {
					if known, ok := Lookup(label); ok {
						name, needPragma, decided = known, true, true
					}
				}
			}
		case attr == "charset" && !seen[2]:
			seen[2] = true
			name, _ = Lookup(value)
			needPragma, decided = false, true
		}
	}
	if !decided || needPragma && !gotPragma {
		return ""
	}
	return forMeta(name)
}

// forMeta is the encoding that a declaration in ASCII can mean.
func forMeta(name string) string {
	switch name {
	case "utf-16le", "utf-16be":
		return "utf-8"
	case "x-user-defined":
		return Default
	}
	return name
}

// attribute is the standard's "get an attribute"; names and values come in lower case.
func (s *scanner) attribute() (name, value string, ok bool) {
	b := s.b
	for s.pos < len(b) && (isSpace(b[s.pos]) || b[s.pos] == '/') {
		s.pos++
	}
	if s.pos >= len(b) || b[s.pos] == '>' {
		return "", "", false
	}
	start := s.pos
	for s.pos < len(b) && !(b[s.pos] == '=' && s.pos > start) && !isSpace(b[s.pos]) && b[s.pos] != '/' &&
		b[s.pos] != '>' {
		s.pos++
	}
	name = short(b[start:s.pos])
	for s.pos < len(b) && isSpace(b[s.pos]) {
		s.pos++
	}
	if s.pos >= len(b) || b[s.pos] != '=' {
		return name, "", s.pos < len(b)
	}
	s.pos++
	for s.pos < len(b) && isSpace(b[s.pos]) {
		s.pos++
	}
	if s.pos >= len(b) {
		return "", "", false
	}
	if quote := b[s.pos]; quote == '"' || quote == '\'' {
		i := bytes.IndexByte(b[s.pos+1:], quote)
		if i < 0 {
			s.pos = len(b)
			return "", "", false
		}
		start = s.pos + 1
		s.pos += i + 2
		return name, short(b[start : start+i]), true
	}
	start = s.pos
	for s.pos < len(b) && !isSpace(b[s.pos]) && b[s.pos] != '>' {
		s.pos++
	}
	return name, short(b[start:s.pos]), s.pos < len(b)
}

// short is lower case; what is too long to matter is cut.
func short(b []byte) string { return strings.ToLower(string(b[:min(len(b), 256)])) }

// fromContent is the standard's "extracting a character encoding from a meta element".
func fromContent(s string) string {
	for {
		i := strings.Index(s, "charset")
		if i < 0 {
			return ""
		}
		s = strings.TrimLeft(s[i+len("charset"):], "\t\n\f\r ")
		if s == "" || s[0] != '=' {
			continue
		}
		s = strings.TrimLeft(s[1:], "\t\n\f\r ")
		if s == "" {
			return ""
		}
		if s[0] == '"' || s[0] == '\'' {
			label, _, closed := strings.Cut(s[1:], s[:1])
			if !closed {
				return ""
			}
			return label
		}
		if i := strings.IndexAny(s, "\t\n\f\r ;"); i >= 0 {
			s = s[:i]
		}
		return s
	}
}

// xmlDeclaration is the standard's "get an XML encoding".
func xmlDeclaration(b []byte) string {
	if !bytes.HasPrefix(b, []byte("<?xml")) {
		return ""
	}
	end := bytes.IndexByte(b, '>')
	if end < 0 {
		return ""
	}
	b = b[:end]
	i := bytes.Index(b, []byte("encoding"))
	if i < 0 {
		return ""
	}
	b = bytes.TrimLeft(b[i+len("encoding"):], "\t\n\f\r ")
	if len(b) == 0 || b[0] != '=' {
		return ""
	}
	b = bytes.TrimLeft(b[1:], "\t\n\f\r ")
	if len(b) == 0 || b[0] != '"' && b[0] != '\'' {
		return ""
	}
	label, _, closed := bytes.Cut(b[1:], b[:1])
	if !closed {
		return ""
	}
	name, _ := Lookup(string(label))
	if name == "x-user-defined" {
		return name
	}
	return forMeta(name)
}
