package sitemap

import (
	"bufio"
	"bytes"
	"regexp"

	"golang.org/x/text/encoding"
	"golang.org/x/text/encoding/unicode"

	"henro/slave/charset"
)

// isAddress reports whether a line begins as an absolute URL does.
func isAddress(line []byte) bool {
	return len(line) > 8 && (bytes.EqualFold(line[:7], []byte("http://")) ||
		bytes.EqualFold(line[:8], []byte("https://")))
}

// text reads a list of URLs, one a line. The protocol allows nothing else in it, so a document whose first line is a
// URL and which soon says something else is no such list.
func (r *reader) text() {
	good, bad := 0, 0
	for !r.ended {
		line, err := r.in.ReadSlice('\n')
		long := false
		for err == bufio.ErrBufferFull { // longer than the window
			long = true
			line, err = r.in.ReadSlice('\n')
		}
		line = bytes.TrimSpace(bytes.TrimPrefix(line, []byte("\xef\xbb\xbf")))
		switch {
		case len(line) == 0:
		case long || len(line) > r.o.MaxText || !isAddress(line) || bytes.ContainsAny(line, " \t<>\""):
			if bad++; bad > good {
				return
			}
		default:
			good++
			r.result.Kind = Text
			r.hand(&Entry{Loc: string(line)})
		}
		if err != nil {
			return
		}
	}
}

// encodingOf returns the encoding of a document, nil for UTF-8: its mark, or a '<' beside a zero, counts before what
// the host declares, and that before the XML declaration, as RFC 7303 has it.
func encodingOf(head []byte, declared string) encoding.Encoding {
	switch {
	case bytes.HasPrefix(head, []byte("\xef\xbb\xbf")):
		return nil
	case bytes.HasPrefix(head, []byte{0xff, 0xfe}), bytes.HasPrefix(head, []byte{'<', 0}):
		return unicode.UTF16(unicode.LittleEndian, unicode.UseBOM)
	case bytes.HasPrefix(head, []byte{0xfe, 0xff}), bytes.HasPrefix(head, []byte{0, '<'}):
		return unicode.UTF16(unicode.BigEndian, unicode.UseBOM)
	}
	if declared == "" && bytes.HasPrefix(head, []byte("<?xml")) {
		head, _, _ = bytes.Cut(head, []byte("?>"))
		if m := xmlEncoding.FindSubmatch(head); m != nil {
			declared, _ = charset.Lookup(string(m[1]))
		}
	}
	switch declared {
	case "", "utf-8", "utf-16le", "utf-16be": // what reads as ASCII is not UTF-16
		return nil
	}
	return charset.Encoding(declared)
}

var xmlEncoding = regexp.MustCompile(`\sencoding\s*=\s*["']([A-Za-z0-9._:-]+)["']`)
