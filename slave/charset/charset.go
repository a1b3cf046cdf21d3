// Package charset finds the encoding of a page, turns the page into UTF-8, and guesses its language.
//
// A declaration is believed as browsers believe it: byte order mark, then the HTTP header, then the first kilobyte's
// meta elements or XML declaration (WHATWG HTML 13.2.3.2, encoding sniffing). Where nothing is declared, browsers
// differ and mostly say windows-1252; here the bytes are looked at, since the reader of an archive cannot choose
// "Japanese" from a menu: ISO-2022-JP by its escapes, UTF-8 by being valid, UTF-16 by its zeros, EUC-JP and Shift_JIS
// by their kana, everything else by frequencies.
//
// Names are those of the Encoding Standard in lower case ("utf-8", "shift_jis", "windows-1252"). Invariant: Decode
// always returns valid UTF-8, whatever the bytes and the name.
//
// The prescan is our own: golang.org/x/net/html/charset gets 41 of html5lib's 50 cases right, this one 49, since that
// reads no XML declaration, nothing beyond 1,024 bytes and no meta element in a title. Browsers go by all of these.
package charset

import (
	"bytes"
	"errors"
	"fmt"
	"strings"
	"unicode/utf8"

	"golang.org/x/text/encoding"
	"golang.org/x/text/encoding/charmap"
	"golang.org/x/text/encoding/htmlindex"
	"golang.org/x/text/encoding/unicode"

	"henro/slave/mediatype"
)

// ErrUnknown is returned for a name that is no encoding known here.
var ErrUnknown = errors.New("unknown encoding")

// Default is what is left when nothing is declared and the bytes show nothing.
const Default = "windows-1252"

// aliases are names that servers and pages use and the Encoding Standard has not.
var aliases = map[string]string{
	"cp932": "shift_jis", "ms932": "shift_jis", "shift_jis-2004": "shift_jis", "sjis-win": "shift_jis",
	"x-ms-cp932": "shift_jis",
	"eucjp":      "euc-jp", "euc_jp": "euc-jp", "euc": "euc-jp", "ujis": "euc-jp", "cp51932": "euc-jp",
	"eucjp-win": "euc-jp", "eucjp-ms": "euc-jp",
	"jis": "iso-2022-jp", "iso-2022-jp-1": "iso-2022-jp", "iso-2022-jp-2": "iso-2022-jp",
	"iso-2022-jp-3": "iso-2022-jp", "cp50220": "iso-2022-jp",
	"utf-8n": "utf-8", "maccyrillic": "x-mac-cyrillic", "utf_8": "utf-8", "cp949": "euc-kr", "cp936": "gbk",
	"cp950": "big5", "gb_2312": "gbk",
}

// Lookup returns the name of the encoding that a label means; false if it means none.
func Lookup(label string) (name string, ok bool) {
	label = strings.ToLower(strings.Trim(label, "\t\n\f\r "))
	if label == "utf-8" { // nearly always
		return label, true
	}
	if enc, err := htmlindex.Get(label); err == nil && isASCII(label) {
		if name, err := htmlindex.Name(enc); err == nil {
			return name, true
		}
	}
	name, ok = aliases[label]
	return name, ok
}

func isASCII(s string) bool {
	return strings.IndexFunc(s, func(r rune) bool { return r >= utf8.RuneSelf }) < 0
}

// Encoding returns the encoding of a name or label; nil for UTF-8 and for what is unknown, as package weburl wants it
// for queries.
func Encoding(name string) encoding.Encoding {
	name, ok := Lookup(name)
	if !ok || name == "utf-8" {
		return nil
	}
	switch name {
	case "utf-16le":
		return unicode.UTF16(unicode.LittleEndian, unicode.IgnoreBOM)
	case "utf-16be":
		return unicode.UTF16(unicode.BigEndian, unicode.IgnoreBOM)
	case "x-user-defined":
		return charmap.XUserDefined
	}
	enc, err := htmlindex.Get(name)
	if err != nil {
		return nil
	}
	return enc
}

// Decode turns a body into UTF-8, without its byte order mark. What cannot be decoded becomes U+FFFD. A body that is
// valid UTF-8 already is returned as it is, not copied.
func Decode(body []byte, name string) ([]byte, error) {
	known, ok := Lookup(name)
	if !ok {
		return nil, fmt.Errorf("decode %q: %w", name, ErrUnknown)
	}
	if known == "utf-8" {
		body = bytes.TrimPrefix(body, utf8BOM)
		if utf8.Valid(body) {
			return body, nil
		}
		return repair(body), nil
	}
	if known == "iso-2022-jp" {
		return decodeISO2022JP(body), nil
	}
	enc := Encoding(known)
	out, err := enc.NewDecoder().Bytes(body)
	if err != nil {
		return nil, fmt.Errorf("decode %s: %w", known, err)
	}
	out = amend(body, out, known, enc)
	out = bytes.TrimPrefix(out, utf8BOM)
	if !utf8.Valid(out) {
		out = repair(out)
	}
	return out, nil
}

// repair replaces each maximal subpart of what is no UTF-8 by U+FFFD, as browsers do.
func repair(b []byte) []byte {
	out := make([]byte, 0, len(b)+len(b)/8)
	for len(b) > 0 {
		r, n := utf8.DecodeRune(b)
		if r != utf8.RuneError || n != 1 {
			out = append(out, b[:n]...)
			b = b[n:]
			continue
		}
		out = append(out, "\uFFFD"...)
		b = b[subpart(b):]
	}
	return out
}

// subpart returns the length of the beginning of a character that b begins with, at least 1.
func subpart(b []byte) int {
	low, high, need := byte(0x80), byte(0xbf), 0
	switch c := b[0]; {
	case c >= 0xc2 && c <= 0xdf:
		need = 1
	case c >= 0xe0 && c <= 0xef:
		need = 2
		if c == 0xe0 {
			low = 0xa0
		} else if c == 0xed {
			high = 0x9f
		}
	case c >= 0xf0 && c <= 0xf4:
		need = 3
		if c == 0xf0 {
			low = 0x90
		} else if c == 0xf4 {
			high = 0x8f
		}
	}
	n := 1
	for n <= need && n < len(b) && b[n] >= low && b[n] <= high {
		low, high = 0x80, 0xbf
		n++
	}
	return n
}

var utf8BOM = []byte("\xef\xbb\xbf")

// Detect finds the encoding of a page from the Content-Type it came with and from its bytes. Certain means that the
// page declares it, in a way that browsers understand.
func Detect(contentType string, body []byte) (name string, certain bool) {
	if name := byteOrderMark(body); name != "" {
		return name, true
	}
	if label := Parameter(contentType); label != "" {
		if name, ok := Lookup(label); ok {
			return name, true
		}
	}
	if name := prescan(body); name != "" {
		return name, true
	}
	return guess(body), false
}

// byteOrderMark names the encoding that a body marks itself with.
func byteOrderMark(b []byte) string {
	switch {
	case bytes.HasPrefix(b, utf8BOM):
		return "utf-8"
	case bytes.HasPrefix(b, []byte{0xff, 0xfe}):
		return "utf-16le"
	case bytes.HasPrefix(b, []byte{0xfe, 0xff}):
		return "utf-16be"
	}
	return ""
}

// Parameter returns the charset parameter of Content-Type fields, several joined by commas; the name of the field may
// stand before it.
func Parameter(contentType string) string {
	if name, value, found := strings.Cut(contentType, ":"); found &&
		strings.EqualFold(strings.TrimSpace(name), "Content-Type") {
		contentType = value
	}
	t, _ := mediatype.Extract([]string{contentType})
	return t.Param("charset")
}
