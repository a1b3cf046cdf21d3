package charset

import (
	"bytes"
	"strings"
	"sync"
	"unicode/utf8"

	"golang.org/x/text/encoding"
	"golang.org/x/text/encoding/charmap"
	"golang.org/x/text/encoding/japanese"
)

// Where golang.org/x/text departs from the Encoding Standard. All but ISO-2022-JP is looked at only where x/text found
// something broken.

// decodeWindows is a decoder of one byte a character: what the code pages of Windows leave open from 80 to 9F are
// controls.
func decodeWindows(body []byte, page *charmap.Charmap) []byte {
	out := make([]byte, 0, len(body)+len(body)/2)
	for _, c := range body {
		r := page.DecodeByte(c)
		if r == utf8.RuneError && c >= 0x80 && c <= 0x9f {
			r = rune(c)
		}
		out = utf8.AppendRune(out, r)
	}
	return out
}

// pairs are the characters of two bytes of an encoding, 0 where there is none, by lead and trail from 80 and 40 on.
type pairs [0x80][0xc0]rune

func (p *pairs) at(lead, trail byte) rune {
	if lead < 0x80 || trail < 0x40 {
		return 0
	}
	return p[lead-0x80][trail-0x40]
}

func pairsOf(enc encoding.Encoding) *pairs {
	var p pairs
	decoder := enc.NewDecoder()
	for lead := range p {
		for trail := range p[lead] {
			b, err := decoder.Bytes([]byte{byte(lead + 0x80), byte(trail + 0x40)})
			if r, n := utf8.DecodeRune(b); err == nil && n == len(b) && r != utf8.RuneError {
				p[lead][trail] = r
			}
		}
	}
	return &p
}

var (
	shiftJISPairs = sync.OnceValue(func() *pairs { return pairsOf(japanese.ShiftJIS) })
	eucJPPairs    = sync.OnceValue(func() *pairs { return pairsOf(japanese.EUCJP) })
)

// decodeShiftJIS is the standard's decoder: characters of users' own (F040 to F9FC) are those of Unicode's private
// area, and an ASCII byte that follows a broken lead is not swallowed, which may be the quote or the bracket that ends
// a link.
func decodeShiftJIS(body []byte) []byte {
	table := shiftJISPairs()
	out := make([]byte, 0, len(body)*3/2)
	for i := 0; i < len(body); i++ {
		c := body[i]
		switch {
		case c <= 0x80:
			out = utf8.AppendRune(out, rune(c))
			continue
		case c >= 0xa1 && c <= 0xdf:
			out = utf8.AppendRune(out, rune(c)-0xa1+0xff61)
			continue
		case c == 0xa0 || c >= 0xfd:
			out = utf8.AppendRune(out, utf8.RuneError)
			continue
		case i+1 == len(body):
			return utf8.AppendRune(out, utf8.RuneError)
		}
		trail, r := body[i+1], rune(0)
		if trail >= 0x40 && trail <= 0xfc && trail != 0x7f {
			if r = table.at(c, trail); c >= 0xf0 && c <= 0xf9 {
				column := rune(trail) - 0x40
				if trail > 0x7f {
					column--
				}
				r = 0xe000 + 188*rune(c-0xf0) + column
			}
		}
		if r == 0 {
			r = utf8.RuneError
			if trail < 0x80 {
				i--
			}
		}
		i++
		out = utf8.AppendRune(out, r)
	}
	return out
}

// decodeISO2022JP is the standard's decoder: x/text's knows no Roman, where 5C is a yen sign, and takes shifts for
// text.
func decodeISO2022JP(body []byte) []byte {
	const (
		ascii = iota
		roman
		katakana
		kanji
	)
	table := eucJPPairs()
	out := make([]byte, 0, len(body)*3/2)
	state, fresh := ascii, false // fresh: an escape came, and nothing since
	for i := 0; i < len(body); i++ {
		c := body[i]
		if c == 0x1b {
			next := -1
			if i+2 < len(body) {
				switch string(body[i+1 : i+3]) {
				case "(B":
					next = ascii
				case "(J":
					next = roman
				case "(I":
					next = katakana
				case "$@", "$B":
					next = kanji
				}
			}
			if next < 0 {
				out = utf8.AppendRune(out, utf8.RuneError)
				fresh = false
				continue
			}
			if fresh { // two in a row hide something
				out = utf8.AppendRune(out, utf8.RuneError)
			}
			state, fresh = next, true
			i += 2
			continue
		}
		fresh = false
		r := rune(utf8.RuneError)
		switch state {
		case ascii, roman:
			switch {
			case state == roman && c == '\\':
				r = '¥'
			case state == roman && c == '~':
				r = '‾'
			case c < 0x80 && c != 0x0e && c != 0x0f:
				r = rune(c)
			}
		case katakana:
			if c >= 0x21 && c <= 0x5f {
				r = rune(c) - 0x21 + 0xff61
			}
		case kanji:
			if c >= 0x21 && c <= 0x7e {
				if i+1 == len(body) || body[i+1] == 0x1b { // the escape is looked at again
					break
				}
				i++
				if trail := body[i]; trail >= 0x21 && trail <= 0x7e {
					if known := table.at(c|0x80, trail|0x80); known != 0 {
						r = known
					}
				}
			}
		}
		out = utf8.AppendRune(out, r)
	}
	return out
}

// amend decodes a body again by the standard, if x/text's reading may not be.
func amend(body, out []byte, name string, enc encoding.Encoding) []byte {
	if !bytes.Contains(out, []byte("\uFFFD")) {
		return out
	}
	switch page, ok := enc.(*charmap.Charmap); {
	case ok && strings.HasPrefix(name, "windows-"):
		return decodeWindows(body, page)
	case name == "shift_jis":
		return decodeShiftJIS(body)
	}
	return out
}
