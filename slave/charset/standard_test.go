package charset

import "testing"

// Labels of the Encoding Standard, the rare ones.
func TestLabels(t *testing.T) {
	for name, labels := range map[string][]string{
		"utf-8": {"unicode-1-1-utf-8", "unicode11utf8", "unicode20utf8", "utf8", "x-unicode20utf8",
			" UTF-8\n"},
		"utf-16le":     {"csunicode", "iso-10646-ucs-2", "ucs-2", "unicode", "unicodefeff", "utf-16"},
		"utf-16be":     {"unicodefffe"},
		"ibm866":       {"866", "cp866", "csibm866"},
		"iso-8859-2":   {"latin2", "l2", "iso_8859-2:1987", "csisolatin2", "iso88592"},
		"iso-8859-6":   {"arabic", "asmo-708", "csiso88596e", "csiso88596i", "ecma-114", "iso-8859-6-e"},
		"iso-8859-7":   {"greek", "greek8", "sun_eu_greek", "elot_928", "ecma-118"},
		"iso-8859-8":   {"visual", "hebrew", "csiso88598e", "iso-8859-8-e"},
		"iso-8859-8-i": {"logical", "csiso88598i"},
		"iso-8859-15":  {"l9", "csisolatin9", "iso_8859-15"},
		"koi8-r":       {"koi", "koi8", "koi8_r", "cskoi8r"},
		"koi8-u":       {"koi8-ru"},
		"macintosh":    {"mac", "x-mac-roman", "csmacintosh"},
		"windows-874":  {"dos-874", "iso-8859-11", "tis-620"},
		"windows-1252": {"ascii", "us-ascii", "latin1", "l1", "iso-8859-1", "ansi_x3.4-1968", "cp819", "ibm819",
			"iso-ir-100", "x-cp1252"},
		"windows-1254":   {"iso-8859-9", "latin5", "l5", "csisolatin5"},
		"x-mac-cyrillic": {"x-mac-ukrainian"},
		"gbk":            {"chinese", "gb2312", "gb_2312-80", "x-gbk", "iso-ir-58", "csgb2312"},
		"gb18030":        {"GB18030"},
		"big5":           {"big5-hkscs", "cn-big5", "x-x-big5", "csbig5"},
		"euc-jp":         {"x-euc-jp", "cseucpkdfmtjapanese"},
		"iso-2022-jp":    {"csiso2022jp"},
		"shift_jis":      {"ms932", "ms_kanji", "shift-jis", "sjis", "windows-31j", "x-sjis", "csshiftjis"},
		"euc-kr": {"korean", "ks_c_5601-1987", "ks_c_5601-1989", "ksc5601", "windows-949", "iso-ir-149",
			"cseuckr"},
		"replacement":    {"csiso2022kr", "hz-gb-2312", "iso-2022-cn", "iso-2022-cn-ext", "iso-2022-kr"},
		"x-user-defined": {"X-USER-DEFINED"},
	} {
		for _, label := range labels {
			if got, ok := Lookup(label); !ok || got != name {
				t.Errorf("%q is %q, %v, want %s", label, got, ok, name)
			}
		}
	}
	for _, label := range []string{"", "utf 8", "utf-7", "none", "iso-8859-12", "\u00a0utf-8"} {
		if got, ok := Lookup(label); ok {
			t.Errorf("%q is %s", label, got)
		}
	}
}

// Bytes on which decoders differ, by the indexes and steps of the Encoding Standard.
func TestDecodersOfTheStandard(t *testing.T) {
	for _, c := range []struct{ name, in, want string }{
		{"windows-1252", "\x80\x81\x8d\x8f\x90\x9d\x9f\xa0\xff", "€\u0081\u008d\u008f\u0090\u009dŸ\u00a0ÿ"},
		{"iso-8859-1", "\x80\x93", "€“"},
		{"windows-1253", "\xaa\xd2\xff", "\ufffd\ufffd\ufffd"},
		{"windows-1255", "\xca\xd9", "\u05ba\ufffd"},
		{"windows-874", "\x80\x85\xdb", "€…\ufffd"},
		{"iso-8859-8", "\xfe\xa1", "\u200f\ufffd"},
		{"koi8-u", "\xae\xbe", "ўЎ"},
		{"x-user-defined", "a\x80\xff", "a\uf780\uf7ff"},
		{"macintosh", "\xdb\xf0", "€\uf8ff"},
		{"x-mac-cyrillic", "\xff\xa2", "€Ґ"},
		{"shift_jis", "\x80\xa0\xfd", "\u0080\ufffd\ufffd"},
		{"shift_jis", "\xa1\xdf", "｡ﾟ"},
		{"shift_jis", "\x81\x3c\x81", "\ufffd<\ufffd"},
		{"shift_jis", "\x85\x40a", "\ufffd@a"},
		{"shift_jis", "\x87\x40\xed\x40\xfa\x5c", "①纊纊"},
		{"shift_jis", "\xf0\x40\xf9\xfc", "\ue000\ue757"},
		{"shift_jis", "\x81\x60\x81\x7c\x81\x61", "～－∥"},
		{"shift_jis", "\x5c\x7e", "\\~"},
		{"euc-jp", "\x8e\xb1\x8f\xb0\xa1\xa1\xc1", "ｱ丂～"},
		{"euc-jp", "\xa4<\xa4", "\ufffd<\ufffd"},
		{"euc-jp", "\xad\xa1", "①"},
		{"euc-jp", "\x8e<\x8f\xa2<", "\ufffd<\ufffd<"},
		{"iso-2022-jp", "\x1b$@F|K\\\x1b(B.", "日本."},
		{"iso-2022-jp", "\x1b(J\\~\x1b(B\\~", "¥‾\\~"},
		{"iso-2022-jp", "\x1b(I\x31\x32\x1b(B", "ｱｲ"},
		{"iso-2022-jp", "a\x1b(Xb", "a\ufffd(Xb"},
		{"iso-2022-jp", "a\x0eb", "a\ufffdb"},
		{"gbk", "\x80\xa2\xe3", "€€"},
		{"gbk", "\x81<\xff", "\ufffd<\ufffd"},
		{"gb18030", "\x81\x30\x81\x30\x84\x31\xa4\x37", "\u0080\ufffd"},
		{"gb18030", "\x90\x30\x81\x30\xe3\x32\x9a\x35", "\U00010000\U0010ffff"},
		{"gb18030", "\x81\x30<", "\ufffd0<"},
		{"big5", "\x88\x62\x88\x64\x88\xa3\x88\xa5", "Ê̄Ê̌ê̄ê̌"},
		{"big5", "\xa1\x40\xf9\xfe\x87\x40", "　￭䏰"},
		{"big5", "\xa1<\xff", "\ufffd<\ufffd"},
		{"euc-kr", "\xb0\xa1\x81\x41\xc6\x52", "가갂힣"},
		{"euc-kr", "\xb0<\xff", "\ufffd<\ufffd"},
		{"utf-16le", "\x00\xd8a\x00\x00\xdcb\x00\xff", "\ufffda\ufffdb\ufffd"},
		{"utf-16be", "\xd8\x3d\xde\x00\xd8\x3d", "😀\ufffd"},
		{"utf-8", "\xf4\x90\x80\x80\xed\xa0\x80\xf0\x80\x80\x80",
			"\ufffd\ufffd\ufffd\ufffd\ufffd\ufffd\ufffd\ufffd\ufffd\ufffd\ufffd"},
		{"utf-8", "\xe2\x82a\xf0\x9f\x98", "\ufffda\ufffd"},
		{"hz-gb-2312", "~{VPND~}", "\ufffd"},
	} {
		if got, err := Decode([]byte(c.in), c.name); err != nil || string(got) != c.want {
			t.Errorf("%s %q: %q, %v, want %q", c.name, c.in, got, err, c.want)
		}
	}
}

// The steps of the standard's prescan and of what it calls extracting an encoding from a meta element.
func TestPrescanStepByStep(t *testing.T) {
	for _, c := range []struct{ what, head, want string }{
		{"quotes of both kinds", `<meta charset='euc-jp'>`, "euc-jp"},
		{"none", `<meta charset=euc-jp>`, "euc-jp"},
		{"spaces around", "<meta charset = \t\"euc-jp\" >", "euc-jp"},
		{"capitals", `<META CHARSET=EUC-JP>`, "euc-jp"},
		{"a slash behind the name", `<meta/charset=euc-jp>`, "euc-jp"},
		{"another name", `<metal charset=euc-jp>`, ""},
		{"the first of two attributes", `<meta charset=euc-jp charset=big5>`, "euc-jp"},
		{"the first of two elements", `<meta charset=euc-jp><meta charset=big5>`, "euc-jp"},
		{"an unknown one is passed over", `<meta charset=none><meta charset=big5>`, "big5"},
		{"an unknown charset decides its element",
			`<meta charset=none http-equiv=content-type content="text/html; charset=big5">`, ""},
		{"a charset beats a content", `<meta http-equiv=content-type content="text/html; charset=big5" charset=euc-jp>`,
			"euc-jp"},
		{"a content without its pragma", `<meta content="text/html; charset=big5">`, ""},
		{"another pragma", `<meta http-equiv=refresh content="text/html; charset=big5">`, ""},
		{"the pragma behind", `<meta content="text/html; charset=big5" http-equiv=Content-Type>`, "big5"},
		{"quoted within", `<meta http-equiv=content-type content='text/html; charset="big5"x'>`, "big5"},
		{"quotes that do not end", `<meta http-equiv=content-type content='text/html; charset="big5'>`, ""},
		{"a second word charset", `<meta http-equiv=content-type content="charset charset = big5;x">`, "big5"},
		{"UTF-16 means UTF-8", `<meta charset=utf-16be>`, "utf-8"},
		{"UTF-32 is none", `<meta charset=utf-32><meta charset=big5>`, "big5"},
		{"x-user-defined means windows-1252", `<meta charset=x-user-defined>`, "windows-1252"},
		{"a comment", `<!-- <meta charset=big5> --><meta charset=euc-jp>`, "euc-jp"},
		{"the shortest comment", `<!--><meta charset=euc-jp>`, "euc-jp"},
		{"an attribute that holds one", `<p title="<meta charset=big5>"><meta charset=euc-jp>`, "euc-jp"},
		{"an end tag with attributes", `</p title="<meta charset=big5>"><meta charset=euc-jp>`, "euc-jp"},
		{"a declaration", `<!x <meta charset=big5><meta charset=euc-jp>`, "euc-jp"},
		{"a processing instruction", `<? <meta charset=big5><meta charset=euc-jp>`, "euc-jp"},
		{"an attribute that does not end", `<meta charset="euc-jp`, ""},
		{"a lone less-than", `< <meta charset=euc-jp>`, "euc-jp"},
		{"XML", `<?xml version="1.0" encoding="euc-jp"?>`, "euc-jp"},
		{"XML in single quotes, spaces around", `<?xml version='1.0' encoding = 'euc-jp' ?>`, "euc-jp"},
		{"XML of UTF-16", `<?xml version="1.0" encoding="utf-16"?>`, "utf-8"},
		{"XML of x-user-defined, which only meta means otherwise", `<?xml version="1.0" encoding="x-user-defined"?>`,
			"x-user-defined"},
		{"XML not at the beginning", ` <?xml version="1.0" encoding="euc-jp"?>`, ""},
		{"XML without quotes", `<?xml version="1.0" encoding=euc-jp?>`, ""},
	} {
		name, certain := Detect("", []byte(c.head))
		if !certain {
			name = ""
		}
		if name != c.want {
			t.Errorf("%s: %q, want %q", c.what, name, c.want)
		}
	}
}
