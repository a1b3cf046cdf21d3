package replay

import (
	"bufio"
	"bytes"
	"strings"
	"testing"

	"golang.org/x/text/encoding/japanese"

	"henro/slave/charset"
)

const at = "/web/20260314120000mp_/"

func rewritten(t testing.TB, page, encoding string) string {
	t.Helper()
	var b bytes.Buffer
	w := &rewriter{prefix: at, base: "http://docs.test/dir/page", encoding: encoding, enc: charset.Encoding(encoding)}
	out := bufio.NewWriter(&b)
	if err := w.page(out, strings.NewReader(page)); err != nil || out.Flush() != nil {
		t.Fatal(err)
	}
	return b.String()
}

func TestLinksLeadBackIntoTheArchive(t *testing.T) {
	const site = at + "http://docs.test"
	for sentence, c := range map[string][2]string{
		"a link": {`<a href="/x">x</a>`, `<a href="` + site + `/x">x</a>`},
		"all around it stays": {"<A  CLASS=a\n HREF = '../x?a=1&amp;b=2#f' id=q >",
			"<A  CLASS=a\n HREF = '" + site + "/x?a=1&amp;b=2#f' id=q >"},
		"without quotes": {`<img src=x.png alt=y>`, `<img src="` + site + `/dir/x.png" alt=y>`},
		"another host": {`<script src=//cdn.test/a.js></script>`, `<script src="` + at +
			`http://cdn.test/a.js"></script>`},
		"a fragment": {`<a href="#top">`, `<a href="#top">`},
		"no URL of the web": {`<a href="javascript:x('/a')"><a href=mailto:a@b>`,
			`<a href="javascript:x('/a')"><a href=mailto:a@b>`},
		"data": {`<img src="data:image/gif;base64,R0lG">`,
			`<img src="data:image/gif;base64,R0lG">`},
		"in a comment": {`<!-- <a href="/x"> -->`, `<!-- <a href="/x"> -->`},
		"in a script": {`<script>var a='<a href="/x">'</script>`,
			`<script>var a='<a href="/x">'</script>`},
		"in noscript": {`<noscript><img src=/x></noscript>`, `<noscript><img src="` + site +
			`/x"></noscript>`},
		"several pictures": {`<img srcset="a.png 1x, /b,c.png 2x,//h.test/d">`, `<img srcset="` + site +
			`/dir/a.png 1x, ` + site + `/b,c.png 2x,` + at + `http://h.test/d">`},
		"a base": {`<base href="/other/"><a href=x>`, `<base href="` + site +
			`/other/"><a href="` + site + `/other/x">`},
		"a style sheet": {`<style>@import "a.css"; b{background:url( 'c.png' )}/* url(d) */</style>`,
			`<style>@import "` + site + `/dir/a.css"; b{background:url( '` + site +
				`/dir/c.png' )}/* url(d) */</style>`},
		"a style sheet with what is no reference": {`<style>@namespace "n";b{content:"a;url(b)"}` +
			`a{background:image-set("i.png" 2x, url(\2f j)),url("x` + "\n" + `}</style>`,
			`<style>@namespace "n";b{content:"a;url(b)"}a{background:image-set("` + site + `/dir/i.png" 2x, url(` +
				site + `/j)),url("x` + "\n" + `}</style>`},
		"a style": {`<p style="background:url(&quot;/c&quot;)">`,
			`<p style="background:url(&#34;` + site + `/c&#34;)">`},
		"a redirect within the page": {`<meta http-equiv=Refresh content="3; URL='/x'">`,
			`<meta http-equiv=Refresh content="3; URL=&#39;` + site + `/x&#39;">`},
		"a policy": {`<meta http-equiv="Content-Security-Policy" content="default-src 'none'">`,
			`<meta http-equiv="Content-Security-Policy" data-henro-content="default-src 'none'">`},
		"a check sum": {`<script src="/a" integrity="sha256-x">`, `<script src="` + site +
			`/a" data-henro-integrity="sha256-x">`},
		"a window": {`<a target=_blank href="/x">`, `<a target="_self" href="` + site + `/x">`},
		"a page in an attribute": {`<iframe srcdoc="<a href='/x'>">`, `<iframe srcdoc="&lt;a href=&#39;` +
			site + `/x&#39;>">`},
		"what is rewritten already": {`<a href="` + at + `http://docs.test/x">`, `<a href="` + at +
			`http://docs.test/x">`},
		"no attribute at all":            {`<p><br/></p>text &amp; more`, `<p><br/></p>text &amp; more`},
		"torn":                           {`<p>a<a href="/x`, `<p>a<a href="/x`},
		"an attribute without its quote": {`<a href="/x>text</a>`, `<a href="/x>text</a>`},
	} {
		if got := rewritten(t, c[0], "utf-8"); got != c[1] {
			t.Errorf("%s:\n got %s\nwant %s", sentence, got, c[1])
		}
	}
}

// TestThePageKeepsItsEncoding has bytes in Shift_JIS that would be backslashes and bars by themselves.
func TestThePageKeepsItsEncoding(t *testing.T) {
	const page = `<p title="ソ表">能<a href="/検索?q=表">表示</a>`
	in, err := japanese.ShiftJIS.NewEncoder().String(page)
	if err != nil {
		t.Fatal(err)
	}
	got, err := japanese.ShiftJIS.NewDecoder().String(rewritten(t, in, "shift_jis"))
	if err != nil {
		t.Fatal(err)
	}
	// The path goes as UTF-8, the query in the encoding of the page, as a browser would send them.
	want := strings.Replace(page, "/検索?q=表", at+"http://docs.test/%E6%A4%9C%E7%B4%A2?q=%95\\", 1)
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
