package sitemap

import (
	"bufio"
	"bytes"
	"encoding/binary"
	"io"
	"regexp"
	"unicode/utf16"
	"unicode/utf8"

	"golang.org/x/text/encoding"

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

// utf16Order returns the byte order of a document in UTF-16, nil for any other: its mark, or the first '<' beside a
// zero.
func utf16Order(head []byte) binary.ByteOrder {
	switch {
	case bytes.HasPrefix(head, []byte{0xff, 0xfe}), bytes.HasPrefix(head, []byte{'<', 0}):
		return binary.LittleEndian
	case bytes.HasPrefix(head, []byte{0xfe, 0xff}), bytes.HasPrefix(head, []byte{0, '<'}):
		return binary.BigEndian
	}
	return nil
}

// encodingOf returns the encoding of a document that is not UTF-16, nil for UTF-8: its mark counts before what the host
// declares, and that before the XML declaration, as RFC 7303 has it.
func encodingOf(head []byte, declared string) encoding.Encoding {
	if bytes.HasPrefix(head, []byte("\xef\xbb\xbf")) {
		return nil
	}
	if declared == "" && bytes.HasPrefix(head, []byte("<?xml")) {
		head, _, _ = bytes.Cut(head, []byte("?>"))
		if m := xmlEncoding.FindSubmatch(head); m != nil {
			declared, _ = charset.Lookup(string(m[1]))
		}
	}
	switch declared {
	case "", "utf-8", "utf-16le", "utf-16be", "utf-32le", "utf-32be": // what reads as ASCII is not UTF-16
		return nil
	}
	return charset.Encoding(declared)
}

var xmlEncoding = regexp.MustCompile(`\sencoding\s*=\s*["']([A-Za-z0-9._:-]+)["']`)

// narrow turns UTF-16 into UTF-8.
type narrow struct {
	in    io.Reader
	order binary.ByteOrder
	high  rune // first half of a surrogate pair, 0 for none
	out   []byte
	room  [4096]byte
	made  [2 * 4096]byte
}

func (n *narrow) Read(p []byte) (int, error) {
	for len(n.out) == 0 {
		count, err := io.ReadFull(n.in, n.room[:len(n.room)/4]) // three bytes at most come of two
		if count < 2 {
			if err == nil {
				continue
			}
			return 0, io.EOF
		}
		n.out = n.made[:0]
		for i := 0; i+1 < count; i += 2 {
			c := rune(n.order.Uint16(n.room[i:]))
			switch {
			case n.high != 0:
				c, n.high = utf16.DecodeRune(n.high, c), 0
			case utf16.IsSurrogate(c):
				n.high = c
				continue
			case c == 0xfeff:
				continue
			}
			n.out = utf8.AppendRune(n.out, c)
		}
	}
	count := copy(p, n.out)
	n.out = n.out[count:]
	return count, nil
}
