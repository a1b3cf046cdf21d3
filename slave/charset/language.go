package charset

import (
	"strings"
	"unicode/utf8"
)

// languageSample is how many characters of a text decide.
const languageSample = 20_000

// ofOneLanguage are encodings that pages of one language are written in.
var ofOneLanguage = map[string]string{
	"shift_jis": "ja", "euc-jp": "ja", "iso-2022-jp": "ja", "euc-kr": "ko", "gbk": "zh", "gb18030": "zh", "big5": "zh",
	"windows-874": "th",
}

// Language guesses the language of a page: of its text in UTF-8 first, since lang attributes come with templates and
// are wrong on one page in many, then from the attribute, then from the encoding. It tells Japanese, Korean, Chinese
// and Thai by their scripts; for other scripts it believes the attribute. The result is a primary subtag such as "ja";
// empty if unknown.
func Language(lang, encoding string, text []byte) string {
	lang = primary(lang)
	var letters, kana, han, hangul, thai int
	for i, n := 0, 0; i < len(text) && n < languageSample; n++ {
		if c := text[i]; c < utf8.RuneSelf {
			if isLetter(c) {
				letters++
			}
			i++
			continue
		}
		r, size := utf8.DecodeRune(text[i:])
		i += size
		switch {
		case r >= 0x3041 && r <= 0x30fa, r >= 0xff66 && r <= 0xff9d:
			kana++
		case r >= 0x4e00 && r <= 0x9fff, r >= 0x3400 && r <= 0x4dbf:
			han++
		case r >= 0xac00 && r <= 0xd7a3:
			hangul++
		case r >= 0x0e01 && r <= 0x0e4e:
			thai++
		case r >= 0xc0 && r < 0x3000:
			letters++
		}
	}
	// An ideograph or kana says about as much as two or three letters, so that a few Latin names do not outweigh them.
	cjk := kana + han + hangul
	all := letters + 2*cjk + thai
	switch {
	case all < 20: // too little to tell
	case 10*2*cjk < all && 10*thai < all: // another script
		switch lang {
		case "ja", "ko", "zh", "th":
			if all >= 200 {
				return "" // the template's language, not the text's
			}
		}
		if lang != "" {
			return lang
		}
		if all >= 200 {
			return "" // an encoding of Asia may carry English
		}
	case thai > cjk:
		return "th"
	case hangul > kana && hangul > han/4:
		return "ko"
	case 20*kana >= cjk: // Japanese text is half kana; Chinese has at most a の
		return "ja"
	case lang == "ja" || ofOneLanguage[encoding] == "ja": // lists of names may do without kana
		return "ja"
	default:
		return "zh"
	}
	if lang != "" {
		return lang
	}
	return ofOneLanguage[encoding]
}

// primary is the first subtag of a language tag, in lower case.
func primary(lang string) string {
	lang = strings.ToLower(strings.TrimSpace(lang))
	if i := strings.IndexAny(lang, "-_,; "); i >= 0 {
		lang = lang[:i]
	}
	switch {
	case lang == "jpn", lang == "jp": // jp is a country, but its language is meant
		return "ja"
	case len(lang) > 8:
		return ""
	}
	return lang
}
