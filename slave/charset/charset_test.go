package charset

import (
	"bytes"
	"errors"
	"strings"
	"testing"
	"unicode/utf8"

	"golang.org/x/text/encoding/japanese"
)

// encoded writes UTF-8 in another encoding.
func encoded(t testing.TB, s, name string) []byte {
	t.Helper()
	b, err := Encoding(name).NewEncoder().Bytes([]byte(s))
	if err != nil {
		t.Fatal(err)
	}
	return b
}

const (
	japaneseText = "<p>日本語のテキストです。文字コードを調べるために、かなと漢字が交じっています。</p>"
	koreanText   = "<p>한국어 문장입니다. 문자 집합을 알아보기 위한 글입니다.</p>"
	chineseText  = "<p>这是一个中文的句子,用来判断网页的编码是不是正确的。我们在这里写一些有意思的话。</p>"
	taiwanText   = "<p>這是一個中文的句子,用來判斷網頁的編碼是不是正確的。我們在這裡寫一些有意思的話。</p>"
	russianText  = "<p>Это русский текст, по которому можно узнать кодировку страницы.</p>"
)

func TestDetect(t *testing.T) {
	for _, c := range []struct {
		what, contentType string
		body              []byte
		want              string
		certain           bool
	}{
		{"a mark beats the header", "text/html; charset=shift_jis", []byte("\xef\xbb\xbfx"), "utf-8", true},
		{"the header beats meta", "text/html; charset=EUC-JP", []byte(`<meta charset=shift_jis>`), "euc-jp", true},
		{"an unknown header does not", "text/html; charset=none", []byte(`<meta charset=shift_jis>`), "shift_jis",
			true},
		{"labels are mapped as browsers do", "text/html; charset=ISO-8859-1", nil, "windows-1252", true},
		{"names of other systems", "text/html; charset=CP932", nil, "shift_jis", true},
		{"meta http-equiv", "", []byte(`<meta http-equiv="Content-Type" content="text/html; charset=x-sjis">`),
			"shift_jis", true},
		{"meta beats the XML declaration", "",
			[]byte(`<?xml version="1.0" encoding="euc-jp"?><meta charset=shift_jis>`), "shift_jis", true},
		{"XML declaration", "", []byte(`<?xml version="1.0" encoding='euc-jp'?>`), "euc-jp", true},
		{"UTF-16 cannot be declared in ASCII", "", []byte(`<meta charset=utf-16>`), "utf-8", true},
		{"a head longer than a kilobyte", "", []byte(`<head><script>` + strings.Repeat("x", 3000) +
			`</script><meta charset=euc-jp>`), "euc-jp", true},
		{"a late meta in the body is none", "", []byte(`<body>` + strings.Repeat("<p>x", 3000) +
			`<meta charset=euc-jp>`), Default, false},
		{"a meta in a comment is none", "", []byte(`<!-- <meta charset=euc-jp> -->`), Default, false},
		{"EUC-JP", "", encoded(t, japaneseText, "euc-jp"), "euc-jp", false},
		{"Shift_JIS", "", encoded(t, japaneseText, "shift_jis"), "shift_jis", false},
		{"ISO-2022-JP", "", encoded(t, japaneseText, "iso-2022-jp"), "iso-2022-jp", false},
		{"UTF-8", "", []byte(japaneseText), "utf-8", false},
		{"UTF-8 cut in a character", "", []byte(japaneseText)[:len(japaneseText)-5], "utf-8", false},
		{"UTF-16", "", encoded(t, strings.Repeat("<p>x</p>", 10)+japaneseText, "utf-16le"), "utf-16le", false},
		{"UTF-16 of the other kind", "", encoded(t, strings.Repeat("<p>x</p>", 10)+japaneseText, "utf-16be"),
			"utf-16be", false},
		{"Korean", "", encoded(t, koreanText, "euc-kr"), "euc-kr", false},
		{"Chinese", "", encoded(t, chineseText, "gbk"), "gbk", false},
		{"Chinese of Taiwan", "", encoded(t, taiwanText, "big5"), "big5", false},
		{"Russian", "", encoded(t, russianText, "koi8-r"), "koi8-r", false},
		{"Russian on Windows", "", encoded(t, russianText, "windows-1251"), "windows-1251", false},
		{"French", "", encoded(t, "<p>Été à la française, où ça va être très bien.", "windows-1252"), "windows-1252",
			false},
		{"two pound signs", "", []byte("from \xa3825 for a \xa32 bet"), "windows-1252", false},
		{"plain ASCII", "", []byte("hello"), Default, false},
		{"nothing", "", nil, Default, false},
	} {
		if got, certain := Detect(c.contentType, c.body); got != c.want || certain != c.certain {
			t.Errorf("%s: %s, %v, want %s, %v", c.what, got, certain, c.want, c.certain)
		}
	}
}

func TestDecode(t *testing.T) {
	for _, c := range []struct {
		what, name string
		body       []byte
		want       string
	}{
		{"marks are left out", "utf-8", []byte("\xef\xbb\xbfa"), "a"},
		{"of UTF-16 too", "utf-16le", []byte("\xff\xfea\x00"), "a"},
		{"each broken character is one U+FFFD", "utf-8", []byte("a\xe3\x81b\xffc\xf0\x9f\x98"),
			"a\uFFFDb\uFFFDc\uFFFD"},
		{"overlong forms are broken byte by byte", "utf-8", []byte("\xc0\xaf\xe0\x80\xaf"),
			strings.Repeat("\uFFFD", 5)},
		{"Shift_JIS", "Shift_JIS", []byte("\x93\xfa\x96\x7b\x87\x40"), "日本①"},
		{"EUC-JP", "x-euc-jp", []byte("\xc6\xfc\xcb\xdc\x8e\xb1"), "日本ｱ"},
		{"ISO-2022-JP", "iso-2022-jp", []byte("\x1b$BF|K\\\x1b(B!"), "日本!"},
		{"encodings that are unsafe in browsers", "iso-2022-kr", []byte("abc"), "\uFFFD"},
		{"nothing", "utf-8", nil, ""},
	} {
		if got, err := Decode(c.body, c.name); err != nil || string(got) != c.want {
			t.Errorf("%s: %q, %v, want %q", c.what, got, err, c.want)
		}
	}
	if _, err := Decode(nil, "no-such"); !errors.Is(err, ErrUnknown) {
		t.Errorf("unknown encoding: %v", err)
	}
	valid := []byte(japaneseText)
	if got, _ := Decode(valid, "utf-8"); &got[0] != &valid[0] {
		t.Error("valid UTF-8 is copied")
	}
}

func TestEncoding(t *testing.T) {
	if Encoding("utf-8") != nil || Encoding("no-such") != nil {
		t.Error("UTF-8 and unknown names have an encoding")
	}
	if Encoding("x-sjis") != japanese.ShiftJIS {
		t.Error("x-sjis is not Shift_JIS")
	}
}

func TestLanguage(t *testing.T) {
	english := strings.Repeat("The quick brown fox jumps over the lazy dog. ", 20)
	for _, c := range []struct{ what, lang, encoding, text, want string }{
		{"Japanese, whatever the template says", "en-US", "utf-8", japaneseText, "ja"},
		{"Japanese among Latin names", "", "utf-8", "Debian GNU/Linux を Intel のコンピュータにインストールする", "ja"},
		{"Japanese without kana, by its attribute", "ja", "utf-8", strings.Repeat("東京都千代田区", 10), "ja"},
		{"Japanese without kana, by its encoding", "", "euc-jp", strings.Repeat("東京都千代田区", 10), "ja"},
		{"Chinese", "", "utf-8", chineseText, "zh"},
		{"Korean", "", "utf-8", koreanText, "ko"},
		{"Thai", "", "utf-8", "ภาษาไทยเป็นภาษาที่มีระดับเสียงของคำแน่นอน", "th"},
		{"English", "en-GB", "utf-8", english, "en"},
		{"English in a Japanese template", "ja", "shift_jis", english, ""},
		{"a page without words, by its attribute", "JA_JP", "utf-8", "", "ja"},
		{"a page without words, by its encoding", "", "shift_jis", "", "ja"},
		{"a page without words", "", "utf-8", "", ""},
		{"a country for a language", "jp", "utf-8", "", "ja"},
		{"a visitor's Japanese name on an English page", "en", "utf-8", english + "山田さん", "en"},
	} {
		if got := Language(c.lang, c.encoding, []byte(c.text)); got != c.want {
			t.Errorf("%s: %q, want %q", c.what, got, c.want)
		}
	}
}

func FuzzDetect(f *testing.F) {
	type caseOf struct{ HTML string }
	for _, c := range readCases[caseOf](f, "html5lib_prescan.jsonl") {
		f.Add("text/html", []byte(c.HTML))
	}
	for _, name := range []string{"euc-jp", "shift_jis", "iso-2022-jp", "utf-16le"} {
		f.Add("text/html; charset="+name, encoded(f, japaneseText, name))
		f.Add("", encoded(f, japaneseText, name))
	}
	f.Add(`text/html; a="b;\"c"; charset = "x`, []byte(`<?xml encoding="`))
	f.Fuzz(func(t *testing.T, contentType string, b []byte) {
		before := bytes.Clone(b)
		name, _ := Detect(contentType, b)
		text, err := Decode(b, name)
		if err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		if !utf8.Valid(text) {
			t.Fatalf("%s: %q is not UTF-8", name, text)
		}
		if !bytes.Equal(before, b) {
			t.Fatal("the body was changed")
		}
		if known, ok := Lookup(name); !ok || known != name {
			t.Fatalf("%s is not a canonical name", name)
		}
		Language(contentType, name, text)
	})
}

func FuzzDecode(f *testing.F) {
	names := []string{"utf-8", "shift_jis", "euc-jp", "iso-2022-jp", "gb18030", "big5", "euc-kr", "utf-16le",
		"utf-16be", "iso-2022-kr", "x-user-defined", "windows-1252"}
	for i := range names {
		f.Add(uint8(i), []byte("a\x1b$BF|K\\\xe3\x81\xff\x00\xd8"))
	}
	f.Fuzz(func(t *testing.T, which uint8, b []byte) {
		name := names[int(which)%len(names)]
		text, err := Decode(b, name)
		if err != nil || !utf8.Valid(text) {
			t.Fatalf("%s: %q, %v", name, text, err)
		}
	})
}

func BenchmarkDetectDeclared(b *testing.B) {
	body := []byte("<!DOCTYPE html><html><head><title>x</title><meta charset=utf-8></head>" +
		strings.Repeat(japaneseText, 200))
	b.SetBytes(int64(len(body)))
	for b.Loop() {
		Detect("text/html", body)
	}
}

func BenchmarkDetectByLooks(b *testing.B) {
	body := encoded(b, strings.Repeat(japaneseText, 200), "euc-jp")
	b.SetBytes(int64(len(body)))
	for b.Loop() {
		Detect("text/html", body)
	}
}

func BenchmarkDecodeUTF8(b *testing.B) {
	body := []byte(strings.Repeat(japaneseText, 200))
	b.SetBytes(int64(len(body)))
	for b.Loop() {
		if _, err := Decode(body, "utf-8"); err != nil {
			b.Fatal(err)
		}
	}
}
