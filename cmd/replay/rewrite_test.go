package replay

import (
	"bufio"
	"bytes"
	"strings"
	"testing"

	"golang.org/x/net/html"
	"golang.org/x/text/encoding/japanese"

	"henro/cmd/replay/origin"
	"henro/slave/charset"
)

const (
	stamp = "20260314120000"
	site  = "http://20260314120000-http.docs.test.archive.localhost:8091"
)

// leading is where links lead from a capture of the stamp.
func leading(href string) (string, bool) {
	return origin.Port("8091").Lead(stamp, href)
}

func rewritten(t testing.TB, page, encoding string) string {
	t.Helper()
	return by(t, page, &rewriter{lead: leading, base: "http://docs.test/dir/page", encoding: encoding,
		enc: charset.Encoding(encoding)})
}

// by rewrites a page.
func by(t testing.TB, page string, w *rewriter) string {
	t.Helper()
	var b bytes.Buffer
	out := bufio.NewWriter(&b)
	if err := w.page(out, strings.NewReader(page)); err != nil || out.Flush() != nil {
		t.Fatal(err)
	}
	return b.String()
}

func TestLinksLeadBackIntoTheArchive(t *testing.T) {
	for sentence, c := range map[string][2]string{
		"a link of the same origin finds its way": {`<a href="/x"><img src=x.png srcset="a.png 2x"><base href="/y/">`,
			`<a href="/x"><img src=x.png srcset="a.png 2x"><base href="/y/">`},
		"a link": {`<a href="http://docs.test/x">x</a>`, `<a href="` + site + `/x">x</a>`},
		"all around it stays": {"<A  CLASS=a\n HREF = 'HTTP://docs.test/x?a=1&amp;b=2#f' id=q >",
			"<A  CLASS=a\n HREF = '" + site + "/x?a=1&amp;b=2#f' id=q >"},
		"without quotes":            {`<img src=//docs.test/x.png alt=y>`, `<img src="` + site + `/x.png" alt=y>`},
		"slashes of another system": {`<img src="\\docs.test\x.png">`, `<img src="` + site + `/x.png">`},
		"another host": {`<script src=https://cdn.test:8443/a.js></script>`, `<script src="http://` + stamp +
			`-https-8443.cdn.test.archive.localhost:8091/a.js"></script>`},
		"an address": {`<img src="http://[2001:db8::1]/a">`, `<img src="http://` + stamp +
			`-http.2001-db8--1.ip6.archive.localhost:8091/a">`},
		"a name too long": {`<img src="http://` + strings.Repeat("a.", 120) + `test/a">`,
			`<img src="http://` + strings.Repeat("a.", 120) + `test/a">`},
		"a fragment": {`<a href="#top">`, `<a href="#top">`},
		"no URL of the web": {`<a href="javascript:x('/a')"><a href=mailto:a@b>`,
			`<a href="javascript:x('/a')"><a href=mailto:a@b>`},
		"data": {`<img src="data:image/gif;base64,R0lG">`,
			`<img src="data:image/gif;base64,R0lG">`},
		"in a comment": {`<!-- <a href="//docs.test/x"> -->`, `<!-- <a href="//docs.test/x"> -->`},
		"in a script": {`<script>var a='<a href="//docs.test/x">'</script>`,
			`<script>var a='<a href="//docs.test/x">'</script>`},
		"in noscript": {`<noscript><img src=//docs.test/x></noscript>`, `<noscript><img src="` + site +
			`/x"></noscript>`},
		"several pictures": {`<img srcset="//docs.test/a.png 1x, /b,c.png 2x,//docs.test/d">`, `<img srcset="` + site +
			`/a.png 1x, /b,c.png 2x,` + site + `/d">`},
		"a base": {`<base href="https://other.test/"><a href=x><a href="//docs.test/">`,
			`<base href="http://` + stamp + `-https.other.test.archive.localhost:8091/"><a href=x><a href="http://` +
				stamp + `-https.docs.test.archive.localhost:8091/">`},
		"a style sheet": {`<style>@import "//docs.test/a.css"; b{background:url( 'http:/c' )}/* url(//d) */</style>`,
			`<style>@import "` + site + `/a.css"; b{background:url( '` + site + `/c' )}/* url(//d) */</style>`},
		"a style sheet with what is no reference": {`<style>@namespace "//n";b{content:"a;url(//b)"}` +
			`a{background:image-set("//docs.test/i.png" 2x, url(\2f\2f docs.test/j)),url("x` + "\n" + `}</style>`,
			`<style>@namespace "//n";b{content:"a;url(//b)"}a{background:image-set("` + site + `/i.png" 2x, url(` +
				site + `/j)),url("x` + "\n" + `}</style>`},
		"a style": {`<p style="background:url(&quot;//docs.test/c&quot;)">`,
			`<p style="background:url(&#34;` + site + `/c&#34;)">`},
		"a redirect within the page": {`<meta http-equiv=Refresh content="3; URL='//docs.test/x'">`,
			`<meta http-equiv=Refresh content="3; URL=&#39;` + site + `/x&#39;">`},
		"a policy": {`<meta http-equiv="Content-Security-Policy" content="default-src 'none'">`,
			`<meta http-equiv="Content-Security-Policy" data-henro-content="default-src 'none'">`},
		"a check sum": {`<script src="//docs.test/a" integrity="sha256-x">`, `<script src="` + site +
			`/a" data-henro-integrity="sha256-x">`},
		"a window": {`<a target=_blank href="//docs.test/x">`, `<a target="_self" href="` + site + `/x">`},
		"a page in an attribute": {`<iframe srcdoc="<a href='//docs.test/x'>">`, `<iframe srcdoc="&lt;a href=&#39;` +
			site + `/x&#39;>">`},
		"what is rewritten already":      {`<a href="` + site + `/x">`, `<a href="` + site + `/x">`},
		"no attribute at all":            {`<p><br/></p>text &amp; more`, `<p><br/></p>text &amp; more`},
		"torn":                           {`<p>a<a href="//docs.test/x`, `<p>a<a href="//docs.test/x`},
		"an attribute without its quote": {`<a href="//docs.test/x>text</a>`, `<a href="//docs.test/x>text</a>`},
	} {
		if got := rewritten(t, c[0], "utf-8"); got != c[1] {
			t.Errorf("%s:\n got %s\nwant %s", sentence, got, c[1])
		}
	}
}

// TestOurScriptIsTheFirstAndMovesNothing compares what a browser's parser makes of a page with what it makes of the
// page with our script, once that has removed itself: frameworks find their places by comments and attributes.
func TestOurScriptIsTheFirstAndMovesNothing(t *testing.T) {
	tree := func(page string) *html.Node {
		root, err := html.Parse(strings.NewReader(page))
		if err != nil {
			t.Fatal(err)
		}
		return root
	}
	shown := func(root *html.Node) string {
		var b strings.Builder
		if err := html.Render(&b, root); err != nil {
			t.Fatal(err)
		}
		return b.String()
	}
	for _, page := range []string{
		`<!DOCTYPE html><html q:base="/b/"><!--qv 1--><head q:head><script>1</script></head><body></body><!--/qv-->`,
		"<!-- a --><!doctype html><!-- b -->\n<HTML lang=en>\n<HEAD class=c><title>t</title><script>1</script>",
		`<!doctype html><title>t</title><script>1</script><p>p`, `<html><body class=c><script>1</script>`,
		`<!doctype html><p>p<script>1</script>`, `<html></head><script>1</script>`, `<head/><script>1</script>`,
		`<html><frameset><frame src=a></frameset>`, `<p><head><script>1</script>`, `<!doctype html>no element`,
	} {
		w := &rewriter{lead: leading, base: "http://docs.test/", encoding: "utf-8", insert: "<script>ours</script>"}
		got := tree(by(t, page, w))
		ours := false
		for n := range got.Descendants() {
			if n.Data == "script" {
				ours = n.FirstChild.Data == "ours"
				n.Parent.RemoveChild(n)
				break
			}
		}
		if !ours {
			t.Errorf("%s: the first script is not ours", page)
		}
		if got, want := shown(got), shown(tree(page)); got != want {
			t.Errorf("%s:\n got %s\nwant %s", page, got, want)
		}
	}
}

// TestOurScriptBeginsAPageInAnAttribute: the script of the page around it puts itself where it finds another beginning.
func TestOurScriptBeginsAPageInAnAttribute(t *testing.T) {
	got := by(t, `<iframe srcdoc="<html><head>">`, &rewriter{lead: leading, encoding: "utf-8", inner: "<script>"})
	if !strings.Contains(got, `srcdoc="&lt;script>`) {
		t.Error(got)
	}
}

// TestThePageKeepsItsEncoding has bytes in Shift_JIS that would be backslashes and bars by themselves.
func TestThePageKeepsItsEncoding(t *testing.T) {
	const page = `<p title="ソ表">能<a href="//docs.test/検索?q=表">表示</a>`
	in, err := japanese.ShiftJIS.NewEncoder().String(page)
	if err != nil {
		t.Fatal(err)
	}
	got, err := japanese.ShiftJIS.NewDecoder().String(rewritten(t, in, "shift_jis"))
	if err != nil {
		t.Fatal(err)
	}
	// The path goes as UTF-8, the query in the encoding of the page, as a browser would send them.
	want := strings.Replace(page, "//docs.test/検索?q=表", site+"/%E6%A4%9C%E7%B4%A2?q=%95\\", 1)
	want = strings.Replace(want, "%95\\", "%95%5C", 1)
	if got != want && got != strings.Replace(want, "%95%5C", "%95\\", 1) {
		t.Errorf("got %s\nwant %s", got, want)
	}
}

func FuzzRewrite(f *testing.F) {
	f.Add(`<a href='x'><img srcset="a 1x, b"><style>@import 'a'</style><p style="background:url(x)">`, "shift_jis")
	f.Add(`<base href=x><meta http-equiv=refresh content="0;url=x"><iframe srcdoc="<a href=x>"><noscript><a href=`,
		"utf-8")
	f.Fuzz(func(t *testing.T, page, encoding string) {
		name, ok := charset.Lookup(encoding)
		if !ok || isWide(name) {
			return
		}
		got := rewritten(t, page, name)
		if !strings.ContainsAny(page, "=(") && !strings.Contains(strings.ToLower(page), "@import") && got != page {
			t.Errorf("a page without any attribute or style was changed:\n%q\n%q", page, got)
		}
	})
}
