package robots

import (
	"fmt"
	"strings"
	"testing"
)

// ordinary is a file such as a mid-sized site has: 40 rules, some with wildcards.
func ordinary() []byte {
	var b strings.Builder
	b.WriteString("User-agent: *\nCrawl-delay: 2\n")
	for i := range 30 {
		fmt.Fprintf(&b, "Disallow: /section-%d/private/\n", i)
	}
	b.WriteString("Allow: /section-3/private/open\nDisallow: /*?session=\nDisallow: /*.pdf$\nDisallow: " +
		"/search*q=\nDisallow: /cgi-bin/\n" +
		"Disallow: /*/print/\nAllow: /*.css$\nAllow: /*.js$\nDisallow: /tmp\nDisallow: /admin\nSitemap: " +
		"https://example.org/sitemap.xml\n")
	return []byte(b.String())
}

func BenchmarkAllowed(b *testing.B) {
	r := Parse(ordinary(), "henro")
	for name, uri := range map[string]string{"page": "/section-7/articles/2024/05/a-page-with-a-name.html?page=2",
		"encoded": "/section-7/%E3%83%84/~a*b.html", "forbidden": "/section-7/private/x"} {
		b.Run(name, func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				r.Allowed(uri)
			}
		})
	}
	large := []byte("User-agent: *\n")
	for i := range 5000 {
		large = fmt.Appendf(large, "Disallow: /item/%d/edit\n", i*7919)
	}
	r = Parse(large, "henro")
	b.Run("5000 rules", func(b *testing.B) {
		for b.Loop() {
			r.Allowed("/item/7919/view?x=1")
		}
	})
}

func BenchmarkParse(b *testing.B) {
	body := ordinary()
	b.SetBytes(int64(len(body)))
	b.ReportAllocs()
	for b.Loop() {
		Parse(body, "henro")
	}
}
