package sitemap_test

import (
	"bytes"
	"compress/gzip"
	"fmt"
	"io"
	"runtime"
	"strings"
	"testing"
	"unicode/utf16"

	"golang.org/x/text/encoding/htmlindex"

	"henro/slave/sitemap"
)

// read returns what a document says, an entry a line: loc, a + for a part, and the hint.
func read(document string, o sitemap.Options) (lines []string, result sitemap.Result) {
	result = sitemap.Read(strings.NewReader(document), o, func(e *sitemap.Entry) bool {
		line := e.Loc
		if e.Part {
			line = "+" + line
		}
		if said := e.Hint.String(); said != "" {
			line += " " + said
		}
		lines = append(lines, line)
		return true
	})
	return lines, result
}

func zip(document string) string {
	var b bytes.Buffer
	w := gzip.NewWriter(&b)
	io.WriteString(w, document)
	w.Close()
	return b.String()
}

func wide(document string, order string) string {
	var b strings.Builder
	for _, c := range utf16.Encode([]rune(document)) {
		if order == "little" {
			b.Write([]byte{byte(c), byte(c >> 8)})
		} else {
			b.Write([]byte{byte(c >> 8), byte(c)})
		}
	}
	return b.String()
}

const small = `<?xml version="1.0" encoding="UTF-8"?><urlset xmlns="http://www.sitemaps.org/schemas/sitemap/0.9">
<url><loc>http://a.test/1?x=1&amp;y=2</loc><lastmod>2026-11-21</lastmod>
<changefreq>Daily</changefreq><priority>0.8</priority></url>
<url><loc> http://a.test/2 </loc></url></urlset>`

func TestRead(t *testing.T) {
	smallSays := "http://a.test/1?x=1&y=2 2026-11-21 daily 0.8\nhttp://a.test/2"
	for name, c := range map[string]struct {
		document string
		kind     sitemap.Kind
		want     string
	}{
		"a sitemap":                       {small, sitemap.Set, smallSays},
		"compressed":                      {zip(small), sitemap.Set, smallSays},
		"compressed twice":                {zip(zip(small)), sitemap.Set, smallSays},
		"compressed, with an end missing": {zip(small)[:len(zip(small))-6], sitemap.Set, smallSays},
		"in UTF-16 with its mark":         {"\xff\xfe" + wide(small, "little"), sitemap.Set, smallSays},
		"in UTF-16 without":               {wide(small, "big"), sitemap.Set, smallSays},
		"with a byte order mark":          {"\xef\xbb\xbf \n" + small, sitemap.Set, smallSays},
		"behind a warning of PHP": {"<br />\n<b>Warning</b>: no such file in <b>/x.php</b>\n" + small,
			sitemap.Set, smallSays},
		"in capitals with a prefix": {
			`<SM:URLSET><SM:URL><SM:LOC>http://a.test/</SM:LOC><SM:LASTMOD>2026</SM:LASTMOD></SM:URL></SM:URLSET>`,
			sitemap.Set, "http://a.test/ 2026"},
		"pictures and films are no pages": {
			`<urlset><url><image:image><image:loc>http://a.test/i.png</image:loc>` +
				`</image:image><loc>http://a.test/</loc><video:video><video:player_loc>` +
				`http://a.test/v</video:player_loc><priority>1</priority></video:video>` +
				`<image:loc>x</image:loc></url></urlset>`,
			sitemap.Set, "http://a.test/"},
		"CDATA and comments": {
			`<urlset><!-- <url><loc>http://a.test/no</loc></url> ` +
				`--><url><loc><![CDATA[http://a.test/?a=1&b=2]]></loc><!-- - -- ` +
				`---><lastmod><![CDATA[2026-11-21T10:00:00+09:00]]></lastmod></url></urlset>`,
			sitemap.Set, "http://a.test/?a=1&b=2 2026-11-21T01:00:00Z"},
		"ampersands that stand for themselves": {`<urlset><url><loc>http://a.test/?a=1&b=2&copy=3&#x41;&#0;</loc>` +
			`</url></urlset>`, sitemap.Set, "http://a.test/?a=1&b=2&copy=3A&#0;"},
		"nothing is ever closed": {`<urlset><url><loc>http://a.test/1<lastmod>2026-11-21<url><loc>` +
			`http://a.test/2<url>`, sitemap.Set, "http://a.test/1 2026-11-21\nhttp://a.test/2"},
		"a quote that nobody closes": {`<urlset xmlns="http://x><url><loc>http://a.test/1</loc></url><url ` +
			`a='><loc>http://a.test/2</loc></url></urlset>`, sitemap.Set, "http://a.test/1\nhttp://a.test/2"},
		"ends that belong to nothing": {`</x><urlset></b></c><url></i><loc>http://a.test/1</loc></url>` +
			`</url></url><url><loc>http://a.test/2</loc></url>`, sitemap.Set,
			"http://a.test/1\nhttp://a.test/2"},
		"cut in the middle of an address": {`<urlset><url><loc>http://a.test/1</loc></url><url><loc>http://a.te`,
			sitemap.Set, "http://a.test/1"},
		"without its root": {`<url><loc>http://a.test/1</loc></url><url><loc>http://a.test/2</loc></url>`, sitemap.Set,
			"http://a.test/1\nhttp://a.test/2"},
		"entities of its own are not expanded": {
			`<!DOCTYPE x [<!ENTITY a "aaaa"><!ENTITY b "&a;&a;"> ` +
				`]><urlset><url><loc>http://a.test/&b;</loc></url></urlset>`, sitemap.Set, "http://a.test/&b;"},
		"a loc of megabytes": {`<urlset><url><loc>http://a.test/` + strings.Repeat("x", 1<<20) +
			`</loc></url><url><loc>http://a.test/2</loc></url></urlset>`, sitemap.Set, "http://a.test/2"},
		"a tag of megabytes": {`<urlset><url x="` + strings.Repeat("x", 1<<20) +
			`"><loc>http://a.test/1</loc></url><url><loc>http://a.test/2</loc></url></urlset>`, sitemap.Set,
			"http://a.test/2"},
		"nested without end": {`<urlset>` + strings.Repeat("<a>", 1e5) + `<url><loc>x</loc></url>` +
			strings.Repeat("</a>", 1e5) + `<url><loc>http://a.test/2</loc></url></urlset>`, sitemap.Set,
			"http://a.test/2"},
		"an index": {`<sitemapindex><sitemap><loc>http://a.test/s1.xml.gz</loc><lastmod>` +
			`2026-11-21T10:00:00Z</lastmod></sitemap></sitemapindex>`, sitemap.Index, "+http://a.test/s1.xml.gz " +
			"2026-11-21T10:00:00Z"},
		"an index whose addresses stand bare": {"<sitemapindex><sitemap>\nhttp://a.test/s?a=1&amp;b=2\n</sitemap></" +
			"sitemapindex>", sitemap.Index, "+http://a.test/s?a=1&b=2"},
		"text": {"\xef\xbb\xbfhttp://a.test/1\r\n\r\nHTTPS://a.test/2\nhttp://a.test/3",
			sitemap.Text, "http://a.test/1\nHTTPS://a.test/2\nhttp://a.test/3"},
		"text that goes on otherwise": {"http://a.test/1 is an address\nand so on\n", sitemap.None, ""},
		"a page": {"<!DOCTYPE html><html><body><url><loc>http://a.test/</loc></url>",
			sitemap.None, ""},
		"another XML": {"<svg><a href='x'/></svg>", sitemap.None, ""},
		"nothing":     {"", sitemap.None, ""},
		"RSS": {
			`<rss version="2.0" xmlns:atom="http://www.w3.org/2005/Atom"><channel>
<link>http://a.test/</link><atom:link rel="self" href="http://a.test/feed"/>
			<item><title>t</title><link>http://a.test/1</link><guid isPermaLink="false">17</guid>
<pubDate>Sat, 21 Nov 2026 10:00:00 +0900</pubDate></item>
			<item><guid>http://a.test/2</guid><dc:date>2026-11-20</dc:date></item>
			<item><link>http://a.test/3</link>
<guid>http://a.test/guid</guid><atom:link rel="self" href="http://a.test/no"/>
<pubDate>20 Nov 2026 10:00 EST</pubDate><atom:updated>2026-11-21T00:00:00Z</atom:updated></item>
			<item><atom:link href="http://a.test/4"/></item>
<item><title>no link</title></item></channel></rss>`, sitemap.RSS,
			"http://a.test/1 2026-11-21T01:00:00Z\nhttp://a.test/2 2026-11-20\nhttp://a.test/3 " +
				"2026-11-21T00:00:00Z\nhttp://a.test/4"},
		"RDF": {
			`<rdf:RDF><channel rdf:about="http://a.test/"><link>http://a.test/</link>
<items><rdf:Seq><rdf:li resource="x"/></rdf:Seq></items></channel>
			<item rdf:about="http://a.test/1"><title>t</title><link>http://a.test/1</link>
<dc:date>2026-11-21T10:00+09:00</dc:date></item><item rdf:about="http://a.test/2"/></rdf:RDF>`,
			sitemap.RDF, "http://a.test/1 2026-11-21T01:00:00Z\nhttp://a.test/2"},
		"Atom": {
			`<feed xmlns="http://www.w3.org/2005/Atom"><link href="/"/>
<link rel="next" href="/feed?page=2"/><updated>2026-11-21T00:00:00Z</updated>
			<entry><link rel="edit" href="/edit"/>
<link href="/1"/><link rel="alternate" type="text/html" href="/1.html"/>
<published>2026-11-01T00:00:00Z</published><updated>2026-11-02T00:00:00Z</updated></entry>
			<entry xml:base="http://b.test/x/"><link href="2"/><published>2026-11-03</published>
<source><link href="/source"/><updated>2026-11-04</updated></source></entry></feed>`,
			sitemap.Atom, "+/feed?page=2\n/1.html 2026-11-02T00:00:00Z\nhttp://b.test/x/2 2026-11-03"},
		"JSON": {`{"items":[{"url":"http://a.test/1"}]}`, sitemap.None, ""},
	} {
		lines, result := read(c.document, sitemap.DefaultOptions())
		if got := strings.Join(lines, "\n"); got != c.want || result.Kind != c.kind || result.Entries != len(lines) {
			t.Errorf("%s: %v\n%s\nwant %v\n%s", name, result, got, c.kind, c.want)
		}
	}
}

// TestDates is every form of a moment that is read, and what is refused: nothing is wanted of that.
func TestDates(t *testing.T) {
	for _, c := range []struct{ form, said, want string }{
		{"W3C: year", "1997", "1997"},
		{"W3C: month", "1997-07", "1997-07"},
		{"W3C: day", "1997-07-16", "1997-07-16"},
		{"W3C: minute", "1997-07-16T19:20+01:00", "1997-07-16T18:20:00Z"},
		{"W3C: second", "2026-11-21T10:00:05Z", "2026-11-21T10:00:05Z"},
		{"W3C: fraction", "1997-07-16T19:20:30.45+01:00", "1997-07-16T18:20:30Z"},
		{"fraction with a comma", "2026-11-21T10:00:05,5Z", "2026-11-21T10:00:05Z"},
		{"leap second", "2026-11-21T23:59:60Z", "2026-11-22T00:00:00Z"},
		{"hour 24", "2026-11-21T24:00:00Z", "2026-11-22T00:00:00Z"},
		{"small letters", "2026-11-21t10:00:00z", "2026-11-21T10:00:00Z"},
		{"a space for the T, no zone", "2026-11-21 10:00:00", "2026-11-21T10:00:00Z"},
		{"a zone behind a space, no colon", "2026-11-21T10:00:00 +0900", "2026-11-21T01:00:00Z"},
		{"a zone of hours", "2026-11-21T10:00:00-05", "2026-11-21T15:00:00Z"},
		{"a zone by name", "2026-11-21 10:00:00 UTC", "2026-11-21T10:00:00Z"},
		{"a zone and no time", "2026-11-21Z", "2026-11-21"},
		{"no separators", "20261121T100000Z", "2026-11-21T10:00:00Z"},
		{"no separators, a day", "20261121", "2026-11-21"},
		{"slashes", "2026/11/21", "2026-11-21"},
		{"space around it", "\n 2026-11-21 \t", "2026-11-21"},

		{"RFC 822", "Sat, 21 Nov 2026 10:00:00 GMT", "2026-11-21T10:00:00Z"},
		{"RFC 822: an offset", "Sat, 21 Nov 2026 10:00:00 +0900", "2026-11-21T01:00:00Z"},
		{"RFC 822: two digits of a year", "21 Nov 26 10:00 PST", "2026-11-21T18:00:00Z"},
		{"no weekday", "21 Nov 2026 10:00 EST", "2026-11-21T15:00:00Z"},
		{"no time", "Sat, 21 Nov 2026", "2026-11-21T00:00:00Z"},
		{"hyphens", "21-Nov-2026", "2026-11-21T00:00:00Z"},
		{"the month first, with a dot", "Nov. 21, 2026", "2026-11-21T00:00:00Z"},
		{"words in full, afternoon", "Saturday, November 21, 2026 1:05 PM", "2026-11-21T13:05:00Z"},
		{"midnight", "Nov 21, 2026 12:05 am", "2026-11-21T00:05:00Z"},
		{"noon", "Nov 21, 2026 12:05 pm", "2026-11-21T12:05:00Z"},
		{"the year last, as of date(1)", "Sat Nov 21 10:00:00 JST 2026", "2026-11-21T01:00:00Z"},
		{"a weekday of another language", "Samedi, 21 Nov 2026 10:00 GMT", "2026-11-21T10:00:00Z"},

		{"no such day", "2026-02-30", ""},
		{"no such month", "2026-13-01", ""},
		{"no such hour", "2026-11-21T25:00:00Z", ""},
		{"no such minute", "2026-11-21T10:60:00Z", ""},
		{"no such second", "2026-11-21T10:00:61Z", ""},
		{"no such zone", "2026-11-21T10:00:00+99:00", ""},
		{"an offset without a sign", "2026-11-21T10:00:00 09:00", ""},
		{"an hour alone", "2026-11-21T10", ""},
		{"before the web", "1970-01-01", ""},
		{"before the web, two digits", "21 Nov 70", ""},
		{"after anybody", "2201-01-01", ""},
		{"zeros", "0000-00-00", ""},
		{"too short", "202", ""},
		{"too long", "2026-11-21T10:00:00." + strings.Repeat("0", 64) + "Z", ""},
		{"a word", "yesterday", ""},
		{"RFC 822: no such day", "31 Jun 2026 10:00", ""},
		{"RFC 822: no day", "Nov 2026", ""},
		{"RFC 822: no such hour", "21 Nov 2026 61:00", ""},
		{"RFC 822: no such offset", "21 Nov 2026 10:00 +9900", ""},
		{"RFC 822: an unknown zone", "21 Nov 2026 10:00 XYZ", ""},
		{"numbers", "1 2 3 4 5", ""},
		{"colons", ":::", ""},
	} {
		lines, _ := read("<urlset><url><loc>x</loc><lastmod>"+c.said+"</lastmod></url></urlset>",
			sitemap.DefaultOptions())
		if got := strings.TrimPrefix(strings.TrimPrefix(lines[0], "x"), " "); got != c.want {
			t.Errorf("%s: %q is %q, want %q", c.form, c.said, got, c.want)
		}
	}
}

func TestBounds(t *testing.T) {
	o := sitemap.DefaultOptions()
	o.MaxEntries = 1
	if lines, result := read(small, o); len(lines) != 1 || !result.Cut {
		t.Errorf("one entry is allowed: %v, %+v", lines, result)
	}
	o = sitemap.DefaultOptions()
	o.MaxBytes = int64(strings.Index(small, "http://a.test/2"))
	for _, document := range []string{small, zip(small)} {
		if lines, result := read(document, o); len(lines) != 1 || !result.Cut || result.Bytes != o.MaxBytes {
			t.Errorf("%d bytes are allowed: %v, %+v", o.MaxBytes, lines, result)
		}
	}
	stopped := sitemap.Read(strings.NewReader(small), sitemap.DefaultOptions(),
		func(*sitemap.Entry) bool { return false })
	if stopped.Entries != 1 || stopped.Cut {
		t.Errorf("stopped after the first entry: %+v", stopped)
	}
}

// flood is a document without end: what of it is read is counted.
type flood struct {
	head, body string
	read       int64
}

func (f *flood) Read(p []byte) (int, error) {
	n := 0
	for n < len(p) {
		from := f.head
		if f.read >= int64(len(f.head)) {
			at := int(f.read-int64(len(f.head))) % len(f.body)
			from = f.body[at:]
		} else {
			from = from[f.read:]
		}
		k := copy(p[n:], from)
		n, f.read = n+k, f.read+int64(k)
	}
	return n, nil
}

// A sitemap of 50 MB, bombs and other floods are read in a window: what is alive beside them does not grow.
func TestMemoryIsBounded(t *testing.T) {
	var bomb bytes.Buffer
	w, _ := gzip.NewWriterLevel(&bomb, gzip.BestCompression)
	io.CopyN(w, &flood{head: "<urlset>", body: "<url><loc>http://a.test/bomb</loc></url>\n"}, 2<<30/8) // 256 MB in 1
	w.Close()
	for name, in := range map[string]io.Reader{
		"50 MB of pages": &flood{head: "<urlset>",
			body: "<url><loc>http://a.test/page</loc><lastmod>2026-11-21</lastmod></url>\n"},
		"a bomb":                   bytes.NewReader(bomb.Bytes()),
		"elements that only open":  &flood{head: "<urlset>", body: "<url><loc>"},
		"one comment":              &flood{head: "<urlset><!--", body: "- "},
		"one document type":        &flood{head: "<!DOCTYPE x [", body: "<!ENTITY a 'b'>"},
		"one text":                 &flood{head: "<urlset><url><loc>", body: "x"},
		"one tag":                  &flood{head: "<urlset><url ", body: "x"},
		"one CDATA":                &flood{head: "<urlset><url><loc><![CDATA[", body: "]>"},
		"attributes":               &flood{head: "<urlset>", body: "<url a=b c='d' e>"},
		"one line":                 &flood{head: "http://a.test/", body: "x"},
		"lines":                    &flood{head: "http://a.test/\n", body: "http://a.test/page\n"},
		"elements that only close": &flood{head: "<urlset>", body: "</url></loc>"},
		"entries that never end":   &flood{head: "<feed>", body: "<entry><link href='x'/><b>"},
		"nothing but less-thans":   &flood{head: "<urlset>", body: "<"},
		"nothing but ampersands":   &flood{head: "<urlset><url><loc>", body: "&#x41;"},
		"a UTF-16 flood of halves": &flood{head: "<\x00u\x00r\x00l\x00s\x00e\x00t\x00>\x00", body: "\x00\xd8"},
	} {
		o := sitemap.DefaultOptions()
		o.MaxEntries = 1 << 30
		if !strings.Contains(name, "50 MB") && name != "a bomb" {
			o.MaxBytes = 4 << 20
		}
		var before, after, at runtime.MemStats
		runtime.GC()
		runtime.ReadMemStats(&before)
		seen, peak := 0, uint64(0)
		result := sitemap.Read(in, o, func(*sitemap.Entry) bool {
			if seen++; seen%200_000 == 0 {
				runtime.GC()
				runtime.ReadMemStats(&at)
				peak = max(peak, at.HeapAlloc)
			}
			return true
		})
		runtime.ReadMemStats(&after)
		if f, ok := in.(*flood); ok && f.read > o.MaxBytes+1<<20 {
			t.Errorf("%s: %d bytes were read", name, f.read)
		}
		if result.Bytes > o.MaxBytes || !result.Cut {
			t.Errorf("%s: %+v", name, result)
		}
		if peak > before.HeapAlloc+2<<20 {
			t.Errorf("%s: %d kB alive at its height, %d kB before", name, peak>>10, before.HeapAlloc>>10)
		}
		if most := uint64(4<<20 + 512*result.Entries); after.TotalAlloc-before.TotalAlloc > most {
			t.Errorf("%s: %d kB allocated in all", name, (after.TotalAlloc-before.TotalAlloc)>>10)
		}
		t.Logf("%s: %d entries of %d MB, %d kB allocated in all", name, result.Entries, result.Bytes>>20,
			(after.TotalAlloc-before.TotalAlloc)>>10)
	}
}

func TestKindsHaveNames(t *testing.T) {
	for k := sitemap.None; k <= sitemap.Atom; k++ {
		if name := fmt.Sprint(k); name == "" || k.IsFeed() != (k >= sitemap.RSS) {
			t.Errorf("kind %d is %q", k, name)
		}
	}
}

func TestEncodings(t *testing.T) {
	const japanese, west, east = "http://a.test/日本語?q=表", "http://a.test/café€", "http://a.test/привет"
	for _, c := range []struct{ label, loc string }{
		{"EUC-JP", japanese}, {"Shift_JIS", japanese}, {"iso-2022-jp", japanese}, {"windows-1252", west},
		{"ISO-8859-15", west}, {"koi8-r", east}, {"windows-1251", east}, {"gb2312", "http://a.test/中文"},
		{"big5", "http://a.test/中文"}, {"euc-kr", "http://a.test/한국"}, {"utf-8", japanese},
		{"x-nonsense", "http://a.test/é"},
	} {
		written := func(prolog string) string {
			document := prolog + "<urlset><url><loc>" + c.loc + "</loc></url></urlset>"
			if enc, err := htmlindex.Get(c.label); err == nil {
				if document, err = enc.NewEncoder().String(document); err != nil {
					t.Fatal(err)
				}
			}
			return document
		}
		declaration := `<?xml version="1.0" encoding = '` + c.label + `'?>`
		o := sitemap.DefaultOptions()
		for _, document := range []string{written(declaration), zip(written(declaration))} {
			if lines, _ := read(document, o); len(lines) != 1 || lines[0] != c.loc {
				t.Errorf("declared by itself as %s: %q, want %q", c.label, lines, c.loc)
			}
		}
		if o.Charset = strings.ToLower(c.label); o.Charset == "x-nonsense" {
			continue
		}
		for _, declaration := range []string{"", `<?xml version="1.0" encoding="iso-8859-5"?>`} {
			if lines, _ := read(written(declaration), o); len(lines) != 1 || lines[0] != c.loc {
				t.Errorf("declared by the host as %s: %q, want %q", c.label, lines, c.loc)
			}
		}
		if lines, _ := read("\xef\xbb\xbf"+small, o); len(lines) != 2 {
			t.Errorf("a mark counts more than %s: %q", c.label, lines)
		}
	}
	for _, document := range []string{`<?xml encoding="utf-16"?>`, `<?xml encoding="utf-32"?>`} {
		document += "<urlset><url><loc>http://a.test/é</loc></url></urlset>"
		if lines, _ := read(document, sitemap.DefaultOptions()); len(lines) != 1 || lines[0] != "http://a.test/é" {
			t.Errorf("%s: %q", document, lines)
		}
	}
}
