package weburl

import (
	"strconv"
	"strings"
	"sync"
	"unicode/utf8"

	"golang.org/x/text/encoding"
	"golang.org/x/text/encoding/japanese"
	"golang.org/x/text/encoding/simplifiedchinese"
	"golang.org/x/text/encoding/unicode"
)

// encodeQuery encodes a query in the encoding of its page, as browsers do; characters that the encoding has not become
// decimal references, percent-encoded. It reports false, and returns s, for encodings that browsers replace by UTF-8
// here.
func encodeQuery(s string, enc encoding.Encoding) (string, bool) {
	switch enc {
	case unicode.UTF8, unicode.UTF8BOM, encoding.Replacement, encoding.Nop:
		return s, false
	}
	if strings.HasPrefix(encodingName(enc), "UTF-") {
		return s, false
	}
	s = strings.ToValidUTF8(s, "\uFFFD")
	if enc == japanese.ISO2022JP {
		return encodeISO2022JP(s), true
	}
	out := make([]byte, 0, 3*len(s))
	for _, r := range s {
		if r < 0x80 {
			out = append(out, byte(r))
		} else if b := encodeRune(enc, r); b != "" {
			out = append(out, b...)
		} else {
			out = appendReference(out, r)
		}
	}
	return string(out), true
}

func appendReference(out []byte, r rune) []byte {
	out = append(out, "%26%23"...)
	return append(strconv.AppendInt(out, int64(r), 10), "%3B"...)
}

// encodeRune returns the bytes of a character beyond ASCII, "" if the encoding does not have it. It mends
// golang.org/x/text where that differs from the Encoding Standard.
func encodeRune(enc encoding.Encoding, r rune) string {
	switch enc {
	case japanese.ShiftJIS, japanese.EUCJP:
		if r == '\u2212' {
			r = '\uFF0D' // MINUS SIGN is written as the full-width one
		}
	case simplifiedchinese.GB18030, simplifiedchinese.GBK:
		if r == '\uE5E5' {
			return ""
		}
	}
	if enc == japanese.ShiftJIS {
		if b, ok := ibmExtensions()[r]; ok {
			return b
		}
	}
	b, err := enc.NewEncoder().String(string(r))
	if err != nil || enc == japanese.EUCJP && len(b) > 2 { // JIS X 0212 is for decoding only
		return ""
	}
	return b
}

// ibmExtensions are the kanji that Shift_JIS has twice: the standard writes IBM's code, x/text that of NEC's copy
// (ED40…EEFC).
var ibmExtensions = sync.OnceValue(func() map[rune]string {
	codes := make(map[rune]string, 400)
	decoder := japanese.ShiftJIS.NewDecoder()
	for lead := 0xed; lead <= 0xee; lead++ {
		for trail := 0x40; trail <= 0xfc; trail++ {
			if r, ok := decodeOne(decoder, byte(lead), byte(trail)); ok {
				codes[r] = ""
			}
		}
	}
	for lead := 0xfa; lead <= 0xfc; lead++ {
		for trail := 0x40; trail <= 0xfc; trail++ {
			if r, ok := decodeOne(decoder, byte(lead), byte(trail)); ok && codes[r] == "" {
				codes[r] = string([]byte{byte(lead), byte(trail)})
			}
		}
	}
	for r, code := range codes { // those that stand elsewhere too, such as ¬, keep their first place
		if b, err := japanese.ShiftJIS.NewEncoder().String(string(r)); code == "" || err != nil || b[0] != 0xed &&
			b[0] != 0xee {
			delete(codes, r)
		}
	}
	return codes
})

func decodeOne(decoder *encoding.Decoder, lead, trail byte) (rune, bool) {
	b, err := decoder.Bytes([]byte{lead, trail})
	r, n := utf8.DecodeRune(b)
	return r, err == nil && r != utf8.RuneError && n == len(b)
}

// encodeISO2022JP is the standard's encoder: that of x/text has no Roman state and does not widen half-width katakana.
func encodeISO2022JP(s string) string {
	const (
		ascii = "\x1b(B"
		roman = "\x1b(J"
		jis   = "\x1b$B"
	)
	out := make([]byte, 0, 3*len(s))
	state := ascii
	enter := func(next string) {
		if state != next {
			state = next
			out = append(out, next...)
		}
	}
	for _, r := range s {
		switch {
		case r == 0x0e || r == 0x0f || r == 0x1b:
			enter(ascii)
			out = appendReference(out, utf8.RuneError)
		case r < 0x80:
			if state == jis || state == roman && (r == '\\' || r == '~') {
				enter(ascii)
			}
			out = append(out, byte(r))
		case r == '\u00A5':
			enter(roman)
			out = append(out, '\\')
		case r == '\u203E':
			enter(roman)
			out = append(out, '~')
		default:
			if r >= '\uFF61' && r <= '\uFF9F' {
				r = fullWidthKatakana[r-'\uFF61']
			}
			if b := encodeRune(japanese.EUCJP, r); len(b) == 2 && b[0] >= 0xa1 {
				enter(jis)
				out = append(out, b[0]&0x7f, b[1]&0x7f)
			} else {
				enter(ascii)
				out = appendReference(out, r)
			}
		}
	}
	enter(ascii)
	return string(out)
}

var fullWidthKatakana = []rune("。「」、・ヲァィゥェォャュョッーアイウエオカキクケコサシスセソタチツテトナニヌネノハヒフヘホマミムメモヤユヨラリルレロワン゛゜")

func encodingName(enc encoding.Encoding) string {
	if s, ok := enc.(interface{ String() string }); ok {
		return s.String()
	}
	return ""
}
