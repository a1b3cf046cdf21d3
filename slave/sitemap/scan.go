package sitemap

import (
	"bufio"
	"bytes"
	"strconv"
	"strings"
	"unicode/utf8"
)

// event is what the scanner comes upon.
type event uint8

const (
	end    event = iota // of the document
	opens               // an element begins; an empty one closes at once
	closes              // an element ends
	words               // text
)

// scanner finds tags and texts in a stream of XML, however broken. A '<' always begins a tag, also where a quote is
// open: it may stand nowhere else, so whatever went wrong before ends there.
type scanner struct {
	in   *bufio.Reader
	most int // bytes of one text or tag

	tag    []byte // of the last element, without its brackets
	empty  bool   // it ended in "/>"
	text   []byte // of the last text, entities decoded
	long   bool   // the text was longer than allowed, and is cut
	keep   bool   // texts are wanted
	opened bool   // the next byte follows a '<'
}

// next returns what comes next.
func (s *scanner) next() event {
	for {
		if !s.opened {
			s.words()
			if len(s.text) > 0 {
				return words
			}
		}
		if !s.opened {
			return end
		}
		s.opened = false
		c, err := s.in.ReadByte()
		if err != nil {
			return end
		}
		switch {
		case c == '?':
			s.pass("?>", false)
		case c == '!':
			if s.declaration() {
				return words
			}
		case c == '/':
			if s.readTag() {
				return closes
			}
		case c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z' || c == '_' || c == ':' || c >= 0x80:
			if s.in.UnreadByte() == nil && s.readTag() {
				return opens
			}
		}
	}
}

// words reads up to the next '<'.
func (s *scanner) words() {
	s.text, s.long = s.text[:0], false
	for {
		part, err := s.in.ReadSlice('<')
		if err == nil {
			part, s.opened = part[:len(part)-1], true
		}
		s.add(part)
		if err != bufio.ErrBufferFull {
			break
		}
	}
	s.text = unescape(s.text)
}

// add adds to the text what is wanted and has room.
func (s *scanner) add(part []byte) {
	if !s.keep {
		return
	}
	if room := s.most - len(s.text); len(part) > room {
		part, s.long = part[:max(room, 0)], true
	}
	s.text = append(s.text, part...)
}

// declaration passes over a comment or a document type; of CDATA it keeps the text, and reports so.
func (s *scanner) declaration() (isText bool) {
	head, _ := s.in.Peek(7)
	switch {
	case bytes.HasPrefix(head, []byte("--")):
		s.discard(2)
		s.pass("-->", false)
	case string(head) == "[CDATA[":
		s.discard(7)
		s.text, s.long = s.text[:0], false
		s.pass("]]>", s.keep)
		return len(s.text) > 0
	default:
		s.doctype()
	}
	return false
}

// discard passes over bytes that Peek has seen.
func (s *scanner) discard(count int) {
	for range count {
		if _, err := s.in.ReadByte(); err != nil {
			return
		}
	}
}

// pass reads until the end given; with keep into the text.
func (s *scanner) pass(until string, keep bool) {
	last := until[len(until)-1]
	var tail []byte // the last bytes before the part at hand
	for {
		part, err := s.in.ReadSlice(last)
		if keep {
			s.add(part)
		}
		tail = append(tail, part[max(0, len(part)-len(until)):]...)
		if over := len(tail) - len(until); over > 0 {
			tail = append(tail[:0], tail[over:]...)
		}
		if string(tail) == until {
			if keep && !s.long {
				s.text = s.text[:len(s.text)-len(until)]
			}
			return
		}
		if err != nil && err != bufio.ErrBufferFull {
			return
		}
	}
}

// doctype passes over <!DOCTYPE …> with its internal subset. Entities that it declares are not known here: nothing
// expands.
func (s *scanner) doctype() {
	for depth := 0; ; {
		c, err := s.in.ReadByte()
		switch {
		case err != nil:
			return
		case c == '[':
			depth++
		case c == ']':
			depth--
		case c == '>' && depth <= 0:
			return
		}
	}
}

// readTag reads up to the '>', which may stand in quotes. It reports false for a tag that is too long or was never
// ended.
func (s *scanner) readTag() bool {
	s.tag, s.empty = s.tag[:0], false
	quote, inside := byte(0), -1 // where the first '>' within the quotes is
	for {
		c, err := s.in.ReadByte()
		switch {
		case err != nil:
			return false
		case c == '<': // what came before was no tag, or one whose quote is not closed
			s.opened = true
			if quote != 0 && inside > 0 {
				s.tag = s.tag[:inside]
				return true
			}
			return false
		case quote != 0:
			if c == quote {
				quote, inside = 0, -1
			} else if c == '>' && inside < 0 {
				inside = len(s.tag)
			}
		case c == '"' || c == '\'':
			if n := len(bytes.TrimRight(s.tag, " \t\r\n")); n > 0 && s.tag[n-1] == '=' {
				quote = c
			}
		case c == '>':
			if n := len(s.tag); n > 0 && s.tag[n-1] == '/' {
				s.tag, s.empty = s.tag[:n-1], true
			}
			return len(s.tag) > 0
		}
		if len(s.tag) >= s.most {
			return false
		}
		s.tag = append(s.tag, c)
	}
}

const spaces = " \t\r\n\f"

// name returns prefix and local name of the tag.
func (s *scanner) name() (prefix, local []byte) {
	name := s.tag
	if i := bytes.IndexAny(name, spaces); i >= 0 {
		name = name[:i]
	}
	if i := bytes.LastIndexByte(name, ':'); i >= 0 {
		return name[:i], name[i+1:]
	}
	return nil, name
}

// attribute returns the value of an attribute, by its name with prefix.
func (s *scanner) attribute(want string) string {
	rest := s.tag
	if i := bytes.IndexAny(rest, spaces); i >= 0 {
		rest = rest[i:]
	} else {
		return ""
	}
	for {
		rest = bytes.TrimLeft(rest, spaces)
		if len(rest) == 0 {
			return ""
		}
		i := 0
		for i < len(rest) && rest[i] != '=' && strings.IndexByte(spaces, rest[i]) < 0 {
			i++
		}
		name := rest[:i]
		rest = bytes.TrimLeft(rest[i:], spaces)
		if len(rest) == 0 || rest[0] != '=' {
			if i == 0 {
				return ""
			}
			continue
		}
		rest = bytes.TrimLeft(rest[1:], spaces)
		var value []byte
		if len(rest) > 0 && (rest[0] == '"' || rest[0] == '\'') {
			j := bytes.IndexByte(rest[1:], rest[0])
			if j < 0 {
				j = len(rest) - 1
			}
			value, rest = rest[1:1+j], rest[min(j+2, len(rest)):]
		} else {
			j := bytes.IndexAny(rest, spaces)
			if j < 0 {
				j = len(rest)
			}
			value, rest = rest[:j], rest[j:]
		}
		if bytes.EqualFold(name, []byte(want)) {
			return string(bytes.TrimSpace(unescape(bytes.Clone(value))))
		}
	}
}

var entities = map[string]rune{"amp": '&', "lt": '<', "gt": '>', "quot": '"', "apos": '\'', "nbsp": 0xa0}

// unescape decodes the entities of a text in its place. What is no entity stands for itself: ampersands in URLs often
// are none.
func unescape(text []byte) []byte {
	amp := bytes.IndexByte(text, '&')
	if amp < 0 {
		return text
	}
	out := text[:amp]
	for i := amp; i < len(text); {
		if text[i] == '&' {
			if c, size := entity(text[i+1:]); size > 0 {
				out = utf8.AppendRune(out, c) // never longer than the entity
				i += 1 + size
				continue
			}
		}
		out = append(out, text[i])
		i++
	}
	return out
}

// entity reads what stands behind an ampersand, its semicolon included.
func entity(text []byte) (c rune, size int) {
	semicolon := bytes.IndexByte(text[:min(len(text), 10)], ';')
	if semicolon < 1 {
		return 0, 0
	}
	name := string(text[:semicolon])
	if digits, ok := strings.CutPrefix(name, "#"); ok {
		base := 10
		if hex := strings.TrimLeft(digits, "xX"); hex != digits {
			digits, base = hex, 16
		}
		n, err := strconv.ParseUint(digits, base, 21)
		if err != nil || n == 0 || !utf8.ValidRune(rune(n)) {
			return 0, 0
		}
		return rune(n), semicolon + 1
	}
	c, ok := entities[name]
	if !ok {
		return 0, 0
	}
	return c, semicolon + 1
}
