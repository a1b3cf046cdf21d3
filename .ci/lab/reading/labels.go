package main

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"net"
	"net/http"
	"slices"
	"strings"
	"time"

	"github.com/chromedp/chromedp"
	"golang.org/x/text/encoding"
	"golang.org/x/text/encoding/korean"
	"golang.org/x/text/encoding/simplifiedchinese"

	"henro/.ci/lab/tab"
	"henro/messages/outlink"
	"henro/messages/weburl"
	"henro/slave/charset"
	"henro/slave/links"
)

// odd are labels that pages have and the standard has not, and others that no reader should know.
var odd = []string{"cp932", "ms932", "windows-932", "sjis-win", "x-ms-cp932", "shift_jis-2004", "eucjp", "euc_jp",
	"eucjp-win", "ujis", "cp51932", "jis", "iso-2022-jp-2", "iso-2022-jp-3", "cp50220", "utf-8n", "utf8mb4", "utf_8",
	"UTF8", " utf-8 ", "utf-8;", "'utf-8'", "utf-7", "cesu-8", "utf-32", "utf-32le", "utf-32be", "ucs-4", "cp949",
	"uhc",
	"johab", "cp936", "cp950", "gb_2312", "gb2312-80", "gb18030-2005", "big5-hkscs:2004", "euc-tw", "euc-cn", "tscii",
	"viscii", "armscii-8", "iso-8859-12", "iso-8859-16", "maccyrillic", "macgreek", "cp437", "cp850", "ibm850",
	"cp1252",
	"windows1252", "win-1251", "cp-1251", "ansi", "ansi_x3.4-1986", "binary", "none", "unknown", "latin-1", "latin_1",
	"iso-8859-1,utf-8", "koi8-t", "us_ascii", "8859-1", "iso8859_1", "x-user-defined", "replacement", "iso-2022-kr-1"}

// texts are words in the languages of encodings; others are written in what they all have.
var texts = map[string]string{
	"japanese": "日本語のページです。文字コードを調べます。検索と索引",
	"korean":   "한국어 문서입니다. 문자 집합을 알아봅니다. 검색",
	"chinese":  "这是一个中文的页面。我们检查网页的编码。搜索",
	"taiwan":   "這是一個中文的頁面。我們檢查網頁的編碼。搜尋",
	"cyrillic": "Это русская страница. Мы проверяем кодировку. Поиск",
	"greek":    "Αυτή είναι μια ελληνική σελίδα",
	"hebrew":   "זה דף בעברית",
	"arabic":   "هذه صفحة عربية",
	"thai":     "นี่คือหน้าภาษาไทย",
	"latin":    "café",
}

func textOf(name string) string {
	language := "latin"
	switch name {
	case "shift_jis", "euc-jp", "iso-2022-jp", "utf-8", "utf-16le", "utf-16be":
		language = "japanese"
	case "euc-kr", "iso-2022-kr":
		language = "korean"
	case "gbk", "gb18030", "hz-gb-2312", "iso-2022-cn":
		language = "chinese"
	case "big5":
		language = "taiwan"
	case "koi8-r", "koi8-u", "ibm866", "iso-8859-5", "windows-1251", "x-mac-cyrillic":
		language = "cyrillic"
	case "iso-8859-7", "windows-1253":
		language = "greek"
	case "iso-8859-8", "iso-8859-8-i", "windows-1255":
		language = "hebrew"
	case "iso-8859-6", "windows-1256":
		language = "arabic"
	case "windows-874":
		language = "thai"
	}
	return texts[language]
}

// way is how a page says its encoding.
type way struct {
	name         string
	before, head string // of the page; %s is the label
	header       string // Content-Type
}

var ways = []way{
	{"header", "", "", "text/html; charset=%s"},
	{"quoted header", "", "", `text/html; charset="%s"`},
	{"meta charset", "", `<meta charset="%s">`, "text/html"},
	{"meta http-equiv", "", `<meta http-equiv="Content-Type" content="text/html; charset=%s">`, "text/html"},
	{"XML declaration", `<?xml version="1.0" encoding="%s"?>` + "\n", "", "text/html"},
	{"late meta", "", "<script>" + strings.Repeat("/* a head that is long */", 60) + "</script>" +
		`<meta charset="%s">`, "text/html"},
	{"header against meta", "", `<meta charset="utf-8">`, "text/html; charset=%s"},
	{"nothing", "", "", "text/html"},
}

// escaped writes text in an encoding of seven bits that shifts, which no library here writes.
func escaped(text string, enc encoding.Encoding, begin, in, out string) []byte {
	b := []byte(begin)
	for _, r := range text {
		pair, err := enc.NewEncoder().Bytes([]byte(string(r)))
		if err != nil || len(pair) != 2 {
			b = append(b, string(r)...)
			continue
		}
		b = append(b, in...)
		b = append(b, pair[0]&0x7f, pair[1]&0x7f)
		b = append(b, out...)
	}
	return b
}

// bytesOf writes a page in an encoding; what it lacks becomes a question mark.
func bytesOf(page, name string) []byte {
	switch name {
	case "iso-2022-kr":
		return escaped(page, korean.EUCKR, "\x1b$)C", "\x0e", "\x0f")
	case "iso-2022-cn":
		return escaped(page, simplifiedchinese.GBK, "", "\x1b$)A\x0e", "\x0f")
	case "hz-gb-2312":
		return escaped(page, simplifiedchinese.GBK, "", "~{", "~}")
	}
	enc := charset.Encoding(name)
	if enc == nil {
		return []byte(page)
	}
	b, err := encoding.ReplaceUnsupported(enc.NewEncoder()).Bytes([]byte(page))
	if err != nil {
		return []byte(page) // the encoding has no encoder
	}
	return bytes.ReplaceAll(b, []byte{0x1a}, []byte("?"))
}

// made is a page to be read.
type made struct {
	what, contentType, title string
	body                     []byte
}

// read is what a reader makes of it.
type read struct {
	Charset, Title string
	Links          []string
}

// page is a document that says its encoding in one way.
func (w way) page(label, name string, mark bool) made {
	fill := func(s string) string { return strings.ReplaceAll(s, "%s", label) }
	text := textOf(name)
	page := fill(w.before) + "<!DOCTYPE html>\n<html><head>" + fill(w.head) + "<title>" + text +
		"</title></head><body>\n<p>" + text + "<a href=\"/" + text + "?q=" + text + "\">x</a> <a " +
		"href=plain.html>y</a>" +
		strings.Repeat("\n<p>"+text, 20) + "</body></html>"
	what := fmt.Sprintf("%s by %s", label, w.name)
	if mark {
		page, what = "\ufeff"+page, what+", marked"
	}
	return made{what, fill(w.header), text, bytesOf(page, name)}
}

// documents are all the pages.
func (l *lab) documents(names map[string]string) (all []made) {
	for _, label := range slices.Concat(slices.Sorted(maps.Keys(names)), odd) {
		name, standard := strings.ToLower(names[label]), true
		if name == "" {
			standard = false
			if name, _ = charset.Lookup(label); name == "" || strings.HasPrefix(name, "utf-32") {
				name = "windows-1252"
			}
		}
		if name == "replacement" || name == "x-user-defined" {
			name = label
		}
		for i, w := range ways {
			if l.all || i == 0 || label == name || !standard && w.name == "meta charset" {
				all = append(all, w.page(label, name, false))
			}
		}
		if strings.HasPrefix(name, "utf-") {
			for _, i := range []int{0, 2, 4, 7} {
				all = append(all, ways[i].page(label, name, true))
			}
		}
	}
	return all
}

// henroReads does what a Parser does.
func henroReads(m made, base string) (r read) {
	r.Charset, _ = charset.Detect(m.contentType, m.body)
	text, err := charset.Decode(m.body, r.Charset)
	if err != nil {
		text = m.body
	}
	var d links.Document
	d.Scan(text, links.DefaultOptions())
	r.Title = d.Title
	for _, ref := range d.Links {
		if href, err := weburl.HrefIn(ref.Raw, base, charset.Encoding(r.Charset)); err == nil &&
			ref.Kind == outlink.Anchor {
			r.Links = append(r.Links, href)
		}
	}
	return r
}

// labels compares with Chromium.
func (l *lab) labels(ctx context.Context) (bool, error) {
	out, err := l.node(ctx, "labels.mjs", "")
	if err != nil {
		return false, err
	}
	names := map[string]string{}
	if err := json.Unmarshal(out, &names); err != nil {
		return false, err
	}
	documents := l.documents(names)
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return false, err
	}
	server := &http.Server{ReadHeaderTimeout: time.Minute, Handler: http.HandlerFunc(
		func(w http.ResponseWriter, r *http.Request) {
			var i int
			if _, err := fmt.Sscanf(r.URL.Path, "/%d", &i); err != nil || i >= len(documents) {
				http.NotFound(w, r)
				return
			}
			w.Header().Set("Content-Type", documents[i].contentType)
			_, _ = w.Write(documents[i].body)
		})}
	go func() { _ = server.Serve(listener) }()
	defer server.Close()
	ctx, end, err := browser(ctx)
	if err != nil {
		return false, err
	}
	defer end()

	differ := map[string][]string{}
	charsets, titles, hrefs, better, worse := 0, 0, 0, 0, 0
	for i, m := range documents {
		base := fmt.Sprintf("http://%s/%d", listener.Addr(), i)
		var theirs read
		err := chromedp.Do(ctx, chromedp.Navigate(base), tab.Evaluate(`({Charset: document.characterSet,
			Title: document.title, Links: [...document.links].map((a) => a.href)})`, &theirs))
		if err != nil {
			return false, fmt.Errorf("%s: %w", m.what, err)
		}
		mine := henroReads(m, base)
		theirs.Links = slices.DeleteFunc(theirs.Links, func(s string) bool { return !strings.HasPrefix(s, "http") })
		ok := strings.EqualFold(mine.Charset, theirs.Charset)
		if ok {
			charsets++
		}
		if mine.Title == theirs.Title {
			titles++
		} else if ok {
			differ["title"] = append(differ["title"],
				fmt.Sprintf("%s: %q, Chromium %q", m.what, mine.Title, theirs.Title))
		}
		if slices.Equal(mine.Links, theirs.Links) {
			hrefs++
		} else if ok {
			differ["links"] = append(differ["links"],
				fmt.Sprintf("%s: %q, Chromium %q", m.what, mine.Links, theirs.Links))
		}
		switch {
		case ok:
		case mine.Title == m.title && theirs.Title != m.title:
			better++
		case mine.Title != m.title && theirs.Title == m.title:
			worse++
		}
		if !ok {
			kind := mine.Charset + " where Chromium has " + strings.ToLower(theirs.Charset)
			differ[kind] = append(differ[kind], m.what)
		}
	}
	n := len(documents)
	for _, kind := range slices.SortedFunc(maps.Keys(differ), func(a, b string) int {
		return cmp.Or(cmp.Compare(len(differ[b]), len(differ[a])), cmp.Compare(a, b))
	}) {
		all := differ[kind]
		fmt.Printf("       %3d × %s: %s\n", len(all), kind, strings.Join(all[:min(l.shown, len(all))], "; "))
	}
	return verdict(worse == 0 && charsets+better >= n-n/100,
		"%d pages of %d labels: the encoding of %d is Chromium's, the title of %d, the links of %d; of the others "+
			"henro "+
			"alone reads what was written in %d, Chromium alone in %d", n, len(names)+len(odd), charsets, titles, hrefs,
		better, worse), nil
}
