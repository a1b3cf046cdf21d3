package links

import (
	"bytes"
	"testing"

	"github.com/PuerkitoBio/goquery"
	"golang.org/x/net/html"
)

// The benchmarks read the same pages: Chromium's where HENRO_DATA is set, otherwise one made up. Times are per page.
func benchmark(b *testing.B, scan func(html []byte) int) {
	var all [][]byte
	size := 0
	for _, p := range pages(b) {
		all = append(all, p.html)
	}
	if len(all) == 0 {
		all = [][]byte{bytes.Repeat([]byte(`<p class="x">Some words with <a class="reference internal" `+
			`href="page.html#anchor"><span class="pre">a link</span></a> &amp; more.</p>`+"\n"), 200)}
	}
	for _, page := range all {
		size += len(page)
	}
	b.SetBytes(int64(size / len(all)))
	b.ReportAllocs()
	links := 0
	for i := 0; b.Loop(); i++ {
		links += scan(all[i%len(all)])
	}
	b.ReportMetric(float64(links)/float64(b.N), "links/op")
}

func BenchmarkScan(b *testing.B) {
	var d Document
	benchmark(b, func(html []byte) int {
		d.Scan(html, DefaultOptions())
		return len(d.Links)
	})
}

func BenchmarkScanWithoutText(b *testing.B) {
	var d Document
	o := DefaultOptions()
	o.MaxText = 0
	benchmark(b, func(html []byte) int {
		d.Scan(html, o)
		return len(d.Links)
	})
}

func BenchmarkTokenizer(b *testing.B) {
	benchmark(b, func(page []byte) (links int) {
		z := html.NewTokenizer(bytes.NewReader(page))
		for {
			switch z.Next() {
			case html.ErrorToken:
				return links
			case html.StartTagToken, html.SelfClosingTagToken:
				_, more := z.TagName()
				for more {
					var key []byte
					key, _, more = z.TagAttr()
					if string(key) == "href" || string(key) == "src" {
						links++
					}
				}
			}
		}
	})
}

func BenchmarkGoquery(b *testing.B) {
	benchmark(b, func(page []byte) (links int) {
		document, err := goquery.NewDocumentFromReader(bytes.NewReader(page))
		if err != nil {
			b.Fatal(err)
		}
		document.Find("a[href], area[href], frame[src], iframe[src], link[href], img[src], " +
			"script[src]").Each(func(_ int, s *goquery.Selection) {
			links++
		})
		return links
	})
}
