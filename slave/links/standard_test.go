package links

import (
	"slices"
	"testing"

	"henro/messages/outlink"
)

// Steps of the HTML Standard on which readers of links differ.
func TestTheStandardStepByStep(t *testing.T) {
	for _, c := range []struct {
		what, html string
		want       []string
	}{
		// Image candidates.
		{"one", `<img srcset="a.png">`, []string{"a.png"}},
		{"densities", `<img srcset="a.png 1x, b.png 2x">`, []string{"a.png", "b.png"}},
		{"no space behind the comma", `<img srcset="a.png 1x,b.png 2x">`, []string{"a.png", "b.png"}},
		{"a comma within a URL", `<img srcset="a,b.png 1x, c.png">`, []string{"a,b.png", "c.png"}},
		{"commas without a space are one URL", `<img srcset="a.png,b.png">`, []string{"a.png,b.png"}},
		{"a comma that ends a URL", `<img srcset="a.png, b.png">`, []string{"a.png", "b.png"}},
		{"commas in front and behind", `<img srcset=",, a.png,,, ,b.png 2x,,">`, []string{"a.png", "b.png"}},
		{"line breaks", "<img srcset='\n\ta.png\t100w,\n\tb.png\t200w\n'>", []string{"a.png", "b.png"}},
		{"data URLs hold commas", `<img srcset="data:image/gif;base64,R0lGOD 1x, b.png 2x">`, []string{"b.png"}},
		{"parentheses hide commas", `<img srcset="a.png x(1,2), b.png 2x">`, []string{"a.png", "b.png"}},
		{"and do not nest", `<img srcset="a.png ((), b.png 2x">`, []string{"a.png", "b.png"}},
		{"one that does not end", `<img srcset="a.png (1x, b.png 2x">`, []string{"a.png"}},
		{"entities", `<img srcset="a.png?x&amp;y 1x">`, []string{"a.png?x&y"}},
		{"of a source", `<picture><source srcset="a.webp 1x, b.webp 2x"><img src=c.png></picture>`,
			[]string{"a.webp", "b.webp", "c.png"}},
		{"of a preload", `<link rel=preload as=image imagesrcset="a.png 1x, b.png 2x" href=c.png>`,
			[]string{"c.png", "a.png", "b.png"}},
		{"empty", `<img srcset="">`, nil},
		{"commas only", `<img srcset=" , , ">`, nil},
		// Declarative refresh.
		{"refresh", `<meta http-equiv=refresh content="5; url=x.html">`, []string{"x.html"}},
		{"a comma", `<meta http-equiv=refresh content="5, url=x.html">`, []string{"x.html"}},
		{"a space only", `<meta http-equiv=refresh content="5 url=x.html">`, []string{"x.html"}},
		{"nothing between", `<meta http-equiv=refresh content="5url=x.html">`, nil},
		{"no url=", `<meta http-equiv=refresh content="5; x.html">`, []string{"x.html"}},
		{"url without =", `<meta http-equiv=refresh content="5; url x.html">`, []string{"url x.html"}},
		{"a file called u", `<meta http-equiv=refresh content="5; u.html">`, []string{"u.html"}},
		{"a file called url", `<meta http-equiv=refresh content="5; url.html">`, []string{"url.html"}},
		{"spaces", `<meta http-equiv=refresh content=" 5 ; URL = x.html ">`, []string{"x.html"}},
		{"quotes", `<meta http-equiv=refresh content="5; url='x.html'y">`, []string{"x.html"}},
		{"quotes that do not end", `<meta http-equiv=refresh content="5; url='x.html">`, []string{"x.html"}},
		{"quotes without url=", `<meta http-equiv=refresh content="5; 'x.html'">`, []string{"x.html"}},
		{"a quote behind", `<meta http-equiv=refresh content='5; url=x.html"'>`, []string{`x.html"`}},
		{"a fraction", `<meta http-equiv=refresh content="0.5; url=x.html">`, []string{"x.html"}},
		{"a fraction only", `<meta http-equiv=refresh content=".5; url=x.html">`, []string{"x.html"}},
		{"many points", `<meta http-equiv=refresh content="1.2.3; url=x.html">`, []string{"x.html"}},
		{"no time", `<meta http-equiv=refresh content="; url=x.html">`, nil},
		{"a word", `<meta http-equiv=refresh content="now; url=x.html">`, nil},
		{"a sign", `<meta http-equiv=refresh content="-1; url=x.html">`, nil},
		{"two semicolons", `<meta http-equiv=refresh content="5;; url=x.html">`, []string{"; url=x.html"}},
		{"itself", `<meta http-equiv=refresh content="5">`, nil},
		{"itself, and a semicolon", `<meta http-equiv=refresh content="5;">`, nil},
		{"url= and nothing", `<meta http-equiv=refresh content="5; url=">`, nil},
		{"capitals", `<META HTTP-EQUIV=Refresh CONTENT="5;URL=x.html">`, []string{"x.html"}},
		{"by its name only", `<meta name=refresh content="5; url=x.html">`, nil},
		// Tags.
		{"single quotes", `<a href='x'>`, []string{"x"}},
		{"no quotes", `<a href=x>`, []string{"x"}},
		{"a slash in a value without quotes", `<a href=x/>`, []string{"x/"}},
		{"a slash between", `<a/href=x>`, []string{"x"}},
		{"no space between attributes", `<a class="y"href="x">`, []string{"x"}},
		{"spaces around =", "<a href\n=\n'x'>", []string{"x"}},
		{"spaces around the value", `<a href="  x  ">`, []string{"x"}},
		{"line breaks within", "<a href=\"x\ny\">", []string{"x\ny"}},
		{"the first of two", `<a href=x href=y>`, []string{"x"}},
		{"capitals", `<A HREF="X">`, []string{"X"}},
		{"another attribute", `<a data-href=x hrefx=y xhref=z>`, nil},
		{"a tag that does not end", `<a href="x"`, nil},
		{"a quote that does not end", `<a href="x><a href=y>`, nil},
		{"= first", `<a =href=x href=y>`, []string{"y"}},
		{"quotes in a name", `<a "href=x href=y>`, []string{"y"}},
		{"< in a tag", `<a <a href=x>`, []string{"x"}},
		{"an end tag", `</a href=x>`, nil},
		{"a bogus comment", `<!a href=x><?a href=x></ a href=x>`, nil},
		{"a space before the name", `< a href=x>`, nil},
		{"a comment", `<!-- <a href=x> --><a href=y>`, []string{"y"}},
		{"a comment of two dashes", `<!----><a href=y>`, []string{"y"}},
		{"a comment with a bang", `<!-- <a href=x> --!><a href=y>`, []string{"y"}},
		{"a comment within", `<!-- <!-- <a href=x> --><a href=y> -->`, []string{"y"}},
		{"a comment that does not end", `<a href=y><!-- <a href=x>`, []string{"y"}},
		{"a script", `<script>"<a href=x>"</script><a href=y>`, []string{"y"}},
		{"a script with a comment", `<script><!-- <script></script> </script> --><a href=z></script><a href=y>`,
			[]string{"z", "y"}},
		{"a style", `<style><a href=x></style><a href=y>`, []string{"y"}},
		{"a title", `<title><a href=x></title><a href=y>`, []string{"y"}},
		{"a text area", `<textarea><a href=x></TEXTAREA ><a href=y>`, []string{"y"}},
		{"the end of another", `<textarea></textareas><a href=x></textarea><a href=y>`, []string{"y"}},
		{"a template", `<template><a href=x></template><a href=y>`, []string{"y"}},
		{"plain text", `<a href=y><plaintext><a href=x></plaintext>`, []string{"y"}},
		{"SVG", `<svg><a xlink:href=x><image href=y /></a></svg>`, []string{"x", "y"}},
		{"CDATA in SVG", `<svg><![CDATA[<a href=x>]]></svg><a href=y>`, []string{"y"}},
		{"CDATA in HTML is a comment", `<![CDATA[<a href=x>]]><a href=y>`, []string{"y"}},
		// Character references.
		{"named", `<a href="?a&amp;b&lt;c">`, []string{"?a&b<c"}},
		{"without semicolon before =", `<a href="?a&copy=b">`, []string{"?a&copy=b"}},
		{"without semicolon before a letter", `<a href="?a&copyb">`, []string{"?a&copyb"}},
		{"without semicolon before anything else", `<a href="?a&copy/b">`, []string{"?a©/b"}},
		{"unknown", `<a href="?a&nosuch;b">`, []string{"?a&nosuch;b"}},
		{"decimal", `<a href="?&#97;&#98">`, []string{"?ab"}},
		{"hexadecimal", `<a href="?&#x61;&#X62;">`, []string{"?ab"}},
		{"of windows-1252", `<a href="?&#128;&#x99;">`, []string{"?€™"}},
		{"zero, surrogates and beyond", `<a href="?&#0;&#xd800;&#x110000;&#99999999999;">`,
			[]string{"?\ufffd\ufffd\ufffd\ufffd"}},
		{"none", `<a href="?&#;&#x;&;">`, []string{"?&#;&#x;&;"}},
		{"two characters", `<a href="?&NotEqualTilde;">`, []string{"?≂̸"}},
		{"the longest name", `<a href="?&notin;&notit;">`, []string{"?∉&notit;"}},
	} {
		var d Document
		d.Scan([]byte(c.html), DefaultOptions())
		var got []string
		for _, l := range d.Links {
			got = append(got, l.Raw)
		}
		if !slices.Equal(got, c.want) {
			t.Errorf("%s: %s\n  %q, want %q", c.what, c.html, got, c.want)
		}
	}
}

func TestBaseStepByStep(t *testing.T) {
	for _, c := range []struct{ what, html, want string }{
		{"one", `<base href="x/">`, "x/"},
		{"the first of two", `<base href=x/><base href=y/>`, "x/"},
		{"the first with href", `<base target=_top><base href=y/>`, "y/"},
		{"empty is one too", `<base href=""><base href=y/>`, ""},
		{"in the body", `<body><p><base href=x/>`, "x/"},
		{"in a comment", `<!-- <base href=x/> --><base href=y/>`, "y/"},
		{"in a template", `<template><base href=x/></template><base href=y/>`, "y/"},
		{"behind links", `<a href=a><base href=x/>`, "x/"},
		{"spaces", `<base href="  x/ ">`, "x/"},
		{"references", `<base href="x/?a&amp;b">`, "x/?a&b"},
		{"of SVG", `<svg><base href=x/></svg><base href=y/>`, "y/"},
	} {
		var d Document
		d.Scan([]byte(c.html), DefaultOptions())
		if d.Base != c.want {
			t.Errorf("%s: %q, want %q", c.what, d.Base, c.want)
		}
	}
}

// RFC 8288, its examples and the steps of its appendix B.
func TestLinkHeaderStepByStep(t *testing.T) {
	for _, c := range []struct {
		what   string
		fields []string
		want   []Ref
	}{
		{"one", []string{`<x>; rel="next"`}, []Ref{{Raw: "x", Kind: outlink.Header}}},
		{"a token", []string{`<x>;rel=next`}, []Ref{{Raw: "x", Kind: outlink.Header}}},
		{"capitals", []string{`<x>; REL=Next`}, []Ref{{Raw: "x", Kind: outlink.Header}}},
		{"spaces", []string{" <x> ; rel = \"next\" , <y>;rel=prev"},
			[]Ref{{Raw: "x", Kind: outlink.Header}, {Raw: "y", Kind: outlink.Header}}},
		{"empty elements", []string{`, ,<x>;rel=next,,`}, []Ref{{Raw: "x", Kind: outlink.Header}}},
		{"empty parameters", []string{`<x>;;rel=next;`}, []Ref{{Raw: "x", Kind: outlink.Header}}},
		{"commas and semicolons within", []string{`<x,y;z>; title="a, <b>; c"; rel=next, <w>; rel=prev`},
			[]Ref{{Raw: "x,y;z", Kind: outlink.Header}, {Raw: "w", Kind: outlink.Header}}},
		{"escapes", []string{`<x>; title="a\"b, <c>"; rel=next`}, []Ref{{Raw: "x", Kind: outlink.Header}}},
		{"the first rel counts", []string{`<x>; rel=stylesheet; rel=next`}, []Ref{{Raw: "x", Kind: outlink.Style}}},
		{"several relations", []string{`<x>; rel="start http://example.net/relation/other"`},
			[]Ref{{Raw: "x", Kind: outlink.Header}}},
		{"another context", []string{`<x>; rel=next; anchor="#foo"`}, nil},
		{"a parameter without a value", []string{`<x>; crossorigin; rel=preload; as=style`},
			[]Ref{{Raw: "x", Kind: outlink.Style}}},
		{"a title in another charset",
			[]string{`<x>; rel="previous"; title*=UTF-8'de'letztes%20Kapitel, <y>; rel="next"; ` +
				`title*=UTF-8'de'n%c3%a4chstes`},
			[]Ref{{Raw: "x", Kind: outlink.Header}, {Raw: "y", Kind: outlink.Header}}},
		{"a URL without brackets", []string{`x; rel=next`}, nil},
		{"a bracket that does not end", []string{`<x; rel=next`}, nil},
		{"a quote that does not end", []string{`<x>; rel="next`}, []Ref{{Raw: "x", Kind: outlink.Header}}},
		{"preconnect names no page", []string{`<//x>; rel=preconnect`}, nil},
		{"two fields", []string{`<x>; rel=next`, `<y>; rel=next`},
			[]Ref{{Raw: "x", Kind: outlink.Header}, {Raw: "y", Kind: outlink.Header}}},
	} {
		if got := Header(c.fields); !slices.Equal(got, c.want) {
			t.Errorf("%s: %q\n  %+v, want %+v", c.what, c.fields, got, c.want)
		}
	}
}
