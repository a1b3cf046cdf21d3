package sitemap_test

import (
	"encoding/xml"
	"fmt"
	"io"
	"strings"
	"testing"

	"henro/slave/sitemap"
)

// BenchmarkRead reads a sitemap of 50,000 URLs and a feed of 1,000 entries of 4 kB; the decoder of the standard library
// beside it.
func BenchmarkRead(b *testing.B) {
	var set, feed strings.Builder
	set.WriteString("<urlset>\n")
	for i := range 50_000 {
		fmt.Fprintf(&set,
			"<url>\n  <loc>https://www.example.org/some/folder/page-%d.html</loc>\n  "+
				"<lastmod>2026-11-21T10:00:00+09:00</lastmod>\n  <changefreq>daily</changefreq>\n</url>\n", i)
	}
	set.WriteString("</urlset>\n")
	feed.WriteString("<rss><channel>")
	for i := range 1000 {
		fmt.Fprintf(&feed,
			"<item><link>http://a.test/%d</link><pubDate>Sat, 21 Nov 2026 10:00:00 "+
				"+0900</pubDate><description>%s</description></item>\n", i, strings.Repeat("some &lt;b&gt;words&lt;/"+
				"b&gt; ", 128))
	}
	feed.WriteString("</channel></rss>")
	for name, document := range map[string]string{"sitemap": set.String(), "feed": feed.String()} {
		b.Run(name, func(b *testing.B) {
			b.SetBytes(int64(len(document)))
			b.ReportAllocs()
			for b.Loop() {
				sitemap.Read(strings.NewReader(document), sitemap.DefaultOptions(),
					func(*sitemap.Entry) bool { return true })
			}
		})
		b.Run(name+"-encoding-xml", func(b *testing.B) {
			b.SetBytes(int64(len(document)))
			b.ReportAllocs()
			for b.Loop() {
				in := xml.NewDecoder(strings.NewReader(document))
				for {
					if _, err := in.RawToken(); err == io.EOF {
						break
					} else if err != nil {
						b.Fatal(err)
					}
				}
			}
		})
	}
}
