package sitemap_test

import (
	"strings"
	"testing"

	"henro/messages/outlink"
	"henro/slave/sitemap"
)

// check reads a document whole and in small bounds: nothing may panic, and no bound may be exceeded.
func check(t *testing.T, document []byte) {
	o := sitemap.DefaultOptions()
	o.MaxEntries, o.MaxText, o.MaxBytes = 8, 64, 1<<16
	for _, in := range []string{string(document), zip(string(document))} {
		entries := 0
		result := sitemap.Read(strings.NewReader(in), o, func(e *sitemap.Entry) bool {
			if entries++; e.Loc == "" {
				t.Fatalf("an entry without an address: %+v", e)
			}
			if e.From.IsZero() != e.Until.IsZero() || !e.From.IsZero() && !e.Until.After(e.From) {
				t.Fatalf("changed from %v until %v", e.From, e.Until)
			}
			if again := outlink.ParseHint(e.Hint.String()); again.Frequency != e.Frequency ||
				again.Priority != e.Priority || !again.From.Equal(e.From) {
				t.Fatalf("%+v is read back as %+v", e.Hint, again)
			}
			return true
		})
		if entries != result.Entries || entries > o.MaxEntries || result.Bytes > o.MaxBytes || entries > 0 &&
			result.Kind == sitemap.None {
			t.Fatalf("%d entries, %+v", entries, result)
		}
	}
}

func FuzzSitemap(f *testing.F) {
	for _, seed := range []string{small, zip(small), "\xff\xfe" + wide(small, "little"),
		"http://a.test/1\nhttp://a.test/2", "<sitemapindex><sitemap>http://a.test/s</sitemap>",
		"<urlset><url><loc><![CDATA[x]]>&#x41;&amp;&&;</loc><lastmod>2026-11-21T10:00:00.5+09:00</lastmod></url>",
		"<url><loc>x<url><loc>y<url>", "<a b='>'<c d=\"><url>", "<!DOCTYPE x [<!ENTITY a 'b'>]><urlset>"} {
		f.Add([]byte(seed))
	}
	f.Fuzz(check)
}

func FuzzFeed(f *testing.F) {
	for _, seed := range []string{
		`<rss><channel><item><link>http://a.test/</link><guid isPermaLink="false">x</guid><pubDate>Sat, 21 Nov 2026 ` +
			`10:00:00 +0900</pubDate></item>`,
		`<feed xml:base="http://a.test/x/"><link rel="next" href="?p=2"/><entry><link ` +
			`href="1"/><updated>2026-11-21</updated></entry></feed>`,
		`<rdf:RDF><item rdf:about="http://a.test/1"><dc:date>2026-11-21T10:00+09:00</dc:date></item></rdf:RDF>`,
		`<rss><item><pubDate>Nov 21, 2026 1:05 PM PST</pubDate><link>x</link></item>`,
	} {
		f.Add([]byte(seed))
	}
	f.Fuzz(check)
}
