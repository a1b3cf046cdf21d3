package links

import (
	"bytes"
	"fmt"
	"strings"
	"testing"

	"henro/messages/outlink"
)

// show writes links as "kind raw [anchor] !" where ! stands for nofollow.
func show(refs []Ref) string {
	var all []string
	for _, ref := range refs {
		s := ref.Kind.String() + " " + ref.Raw
		if ref.Anchor != "" {
			s += " [" + ref.Anchor + "]"
		}
		if ref.Flags&outlink.NoFollow != 0 {
			s += " !"
		}
		all = append(all, s)
	}
	return strings.Join(all, "\n")
}

func TestLinksOfAPage(t *testing.T) {
	for _, c := range []struct{ what, html, want string }{
		{"an anchor with its words", `<a href="x">  one <b>two</b>three&amp;four </a>`, "a x [one twothree&four]"},
		{"no quotes", `<a href=x>y</a>`, "a x [y]"},
		{"single quotes, capitals, white space", "<A\n HREF = 'x y' >", "a x y"},
		{"no space between attributes", `<a class="a"href="x">`, "a x"},
		{"the first attribute of a name counts", `<a href=x href=y>`, "a x"},
		{"a slash is a part of an unquoted value", `<a href=x/>y</a>`, "a x/ [y]"},
		{"an anchor ends where the next begins", `<a href=x>one <a href=y>two`, "a x [one]\na y [two]"},
		{"a named anchor ends the one before", `<a href=x>one <a name=y>two</a>`, "a x [one]"},
		{"words in blocks do not run together", `<a href=x><div>one</div><div>two</div></a>`, "a x [one two]"},
		{"an image within an anchor", `<a href=x><img src=i.png>words</a>`, "a x [words]\nimage i.png"},
		{"entities in attributes", `<a href="?a=1&amp;b=2&copy=3&#38;d=4&#x26;e&lt;f&notit;&not">`,
			"a ?a=1&b=2&copy=3&d=4&e<f&notit;¬"},
		{"nofollow in its three names",
			`<a href=x rel="nofollow noopener"><a href=y rel=UGC><a href=z rel="a sponsored"><a href=w ` +
				`rel=nofollowing>`, "a x !\na y !\na z !\na w"},
		{"nofollow of the page", `<a href=x></a><meta name=Robots content="index, NOFOLLOW"><img src=y>`,
			"a x !\nimage y !"},
		{"areas and inner frames", `<area href=a><iframe src=c><a href=no></a></iframe>`, "area a\niframe c"},
		{"frames, and nothing else beside them",
			`<head><title>t</title></head> <frameset><frame src=a><a href=no></a>` +
				`<style>x{y:url(no)}<frameset><frame src=b></frameset><frame src=c></frameset><noframes><a href=no>` +
				`</noframes><frame src=d><a href=no>`, "frame a\nframe b\nframe c\nlink d"},
		{"a body holds no frames", `<p>x<frameset><frame src=a></frameset><a href=b>`, "link a\na b"},
		{"what only a body has ends the chance", `<div><br></div><frameset><frame src=a></frameset><iframe src=b>`,
			"link a\niframe b"},
		{"an empty body gives way to frames", `<div></div><input type=hidden><frameset><frame src=a>`, "frame a"},
		{"link elements by their rel",
			`<link rel=next href=a><link rel="alternate stylesheet" href=b><link rel="Shortcut Icon" href=c><link ` +
				`rel=preload href=d><link rel=dns-prefetch href=e><link href=f>`, "link a\nstyle b\nicon c\nother " +
				"d\nother f"},
		{"images and their candidates",
			`<img src=a srcset="b 1x, c 2x" longdesc=d><source srcset="e,f 100w, g(h,i) 2x,j"><img data-src=k>`,
			"image a\nimage b\nimage c\nother d\nimage e,f\nimage g(h,i)\nimage j\nimage k"},
		{"media", `<video src=a poster=b></video><audio src=c></audio><track src=d><source src=e>`,
			"media a\nimage b\nmedia c\nmedia d\nmedia e"},
		{"forms and their buttons", `<form action=a><input type=image src=b formaction=c><button formaction=d></form>`,
			"form a\nimage b\nform c\nform d"},
		{"plug-ins",
			`<object data=a classid=b><param name=Movie value=c><param name=quality value=high><embed src=d><applet ` +
				`code=e>`, "object a\nobject b\nobject c\nobject d\nobject e"},
		{"citations and backgrounds",
			`<blockquote cite=a><q cite=b><ins cite=c></ins><body background=d><td background=e>`,
			"other a\nother b\nother c\nimage d\nimage e"},
		{"refresh", `<meta http-equiv=Refresh content="5; URL='next.html' ">`, "refresh next.html"},
		{"refresh without url=", `<meta http-equiv=refresh content="0;next.html">`, "refresh next.html"},
		{"refresh without a place", `<meta http-equiv=refresh content="5">`, ""},
		{"readers without scripts are sent elsewhere, from the same base",
			`<noscript><meta http-equiv=refresh content="0;url=x"><base href=y><a href=z></a></noscript>`,
			"refresh x\na z"},
		{"what is open in noscript ends with it",
			`<noscript><svg><!--<textarea><a href=a></noscript><iframe src=b></iframe>` +
				`<noscript><template><a href=no></noscript><a href=c>`, "iframe b\na c"},
		{"comments",
			`<!-- <a href=a> --><a href=b></a><!--> <a href=c></a><!---><a href=d></a><!-- -- > --!><a ` +
				`href=e></a><!-- <a href=f>`, "a b\na c\na d\na e"},
		{"declarations and the like",
			`<!DOCTYPE html "<a href=a>"><a href=b></a><?php <a href=c> ?></ <a href=d>><a ` +
				`href=e></a></><![CDATA[<a href=f>]]>`, "a b\na e"},
		{"scripts", `<script src=s>"<a href=a>" </scripty </script ><a href=b></a>`, "script s\na b"},
		{"scripts in comments in scripts", `<script><!-- <script> </script> <a href=a> --></script><a href=b></a>`,
			"a b"},
		{"raw text",
			`<title><a href=a></title><textarea><a href=b></TEXTAREA><style><a href=c></style><xmp><a ` +
				`href=d></xmp><noframes><a href=e></noframes><noembed><a href=f></noembed><a href=g></a>`, "a g"},
		{"what follows plaintext is none", `<a href=a></a><plaintext><a href=b>`, "a a"},
		{"templates hold nothing yet",
			`<template><a href=a></a><template></template><a href=b></a></template><a href=c></a>`, "a c"},
		{"but shadow trees do", `<template shadowrootmode=open><a href=a></a></template>`, "a a"},
		{"a tag that the page ends in", `<a href=a></a><a href="b`, "a a"},
		{"a quote that never ends", `<a href=a></a><a href="b><a href=c>`, "a a"},
		{"styles",
			`<style>@import "a.css"; @import url(b.css); p{background:url( 'c.png' )} /* url(d) */ ` +
				`q{x:"url(e)"}</style><p style="background:url(&quot;f.png&quot;)">`, "style a.css\nstyle " +
				"b.css\ncss c.png\ncss f.png"},
		{"scalable graphics",
			`<svg><a xlink:href=a><text>w</text></a><image href=b /><use href="#c"/><use ` +
				`href="d.svg#e"/><style>x{fill:url(f)}</style><title><a href=g></a></title><a href=h><![CDATA[<a ` +
				`href=i>]]></a></svg><title><a href=j></title>`, "a a [w]\nimage b\nimage d.svg#e\ncss f\n" +
				"a g\na h [<a href=i>]"},
		{"CDATA within HTML within graphics is none", `<svg><title><a href=a></title><![CDATA[<a href=b>]]></svg>`,
			"a a []]>]"},
		{"end tags from around end graphics",
			`<div><svg></div><iframe src=a></iframe><svg></div><iframe src=b></iframe>`,
			"iframe a"},
		{"end tags of graphics do not end HTML within",
			`<svg><desc><p></desc></svg><style><a href=no></style></p></desc>` +
				`</svg><style><a href=no></style><a href=a>`, "a a"},
		{"styles and scripts of graphics are markup",
			`<svg><style>x{y:url(a)}<a href=b></style><script>x<a href=c></script>` +
				`<style><![CDATA[x{y:url(d)}]]></style></svg>`, "css a\na b\na c\ncss d"},
		{"fonts with a colour end graphics", `<svg><font><iframe src=no><font color=red><iframe src=a>`, "iframe a"},
		{"HTML within mathematics",
			`<math><mi><iframe src=a></iframe></mi><iframe src=no></math><math><annotation-xml ` +
				`encoding=Text/HTML><iframe src=b>`, "iframe a\niframe b"},
		{"self-closing tags count in graphics", `<svg><style/><script/><title/></svg><a href=a></a>`, "a a"},
		{"HTML within graphics",
			`<svg><foreignObject><style>url(a)</style><p><a href=b></a></p></foreignObject><style/></svg>` +
				`<a href=c></a>`,
			"css a\na b\na c"},
		{"HTML that ends graphics", `<svg><p><title><a href=a></title><a href=b></a>`, "a b"},
		{"places in the page and data are no links",
			`<a href="#top">t</a><a href="">e</a><img src="data:image/png;base64,AAAA"><img src="">`, ""},
		{"tags that only begin alike", `<aa href=a></aa><a-b href=b></a-b><a=x href=c>`, ""},
		{"social images",
			`<meta property="og:image" content=a><meta name="twitter:image" content=b><meta property="og:title" ` +
				`content=c>`,
			"preview a\npreview b"},
		{"the word of a rel that loads most counts", `<link rel="next stylesheet" href=a><link rel="preconnect ` +
			`icon" href=b>` +
			`<link rel="dns-prefetch next" href=c><link rel="dns-prefetch preconnect" href=d><link rel=prefetch ` +
			`href=e>`,
			"style a\nicon b\nother e"},
		{"preloads by what they are for", `<link rel=preload as=image href=a imagesrcset="b 1x, c 2x">` +
			`<link rel=preload as=Style href=d><link rel=preload as=script href=e><link rel=modulepreload href=f>` +
			`<link rel=preload as=font href=g><link rel=preload as=track href=h><link rel=preload as=fetch href=i>` +
			`<link rel=preload as=document href=j><link rel=preload href=k>`,
			"image a\nimage b\nimage c\nstyle d\nscript e\nscript f\nfont g\nmedia h\nfetch i\nother j\nother k"},
		{"manifests", `<html manifest=a><link rel=manifest href=b>`, "other a\nmanifest b"},
		{"only image buttons have images", `<input src=a><input type=text src=b><input type=IMAGE src=c>`, "image c"},
		{"nothing in noscript is loaded", `<noscript><img src=a><iframe src=b></iframe><link rel=stylesheet href=c>` +
			`<style>x{y:url(d)}</style><a href=e></a></noscript><img src=f>`,
			"other a\nlink b\nother c\nother d\na e\nimage f"},
		{"NUL", "<a href=a\x00b>", "a a\uFFFDb"},
	} {
		var d Document
		d.Scan([]byte(c.html), DefaultOptions())
		if got := show(d.Links); got != c.want {
			t.Errorf("%s: %s\ngot:\n%s\nwant:\n%s", c.what, c.html, got, c.want)
		}
	}
}

func TestWhatAPageSaysOfItself(t *testing.T) {
	for _, c := range []struct {
		what, html            string
		title, lang, base     string
		noIndex, noFollow     bool
		text                  string
		xml, placesInThisPage bool
	}{
		{what: "title", html: "<title> a\n &amp; b </title><title>c</title>", title: "a & b"},
		{what: "language of the root", html: `<meta http-equiv=content-language content=en><html lang="ja-JP">`,
			lang: "ja-JP"},
		{what: "language of XHTML", html: `<html xml:lang=ja>`, lang: "ja"},
		{what: "language by meta", html: `<html><meta http-equiv=Content-Language content=ja>`, lang: "ja"},
		{what: "the first base with an href", html: `<base target=x><base href=" a&amp;b "><base href=c>`, base: "a&b"},
		{what: "robots", html: `<meta name=robots content="noarchive,NOINDEX">`, noIndex: true},
		{what: "robots none", html: `<meta name=robots content=none>`, noIndex: true, noFollow: true},
		{what: "main text",
			html: `<title>t</title><header>h</header><nav>n<nav>n</nav>n</nav><p>one<p>two ` +
				`<b>th</b>ree<script>s</script><style>x</style>&lt;four<aside>a</aside><footer>f</footer> ` +
				`five`, title: "t", text: "one two three<four five"},
		{what: "navigation left open", html: `<nav>n <main>one</main>`, text: "one"},
		{what: "nothing but navigation", html: `<nav>one <a href=x>two</a></nav>`, text: "one two"},
		{what: "XML closes scripts", html: `<script src=x /><p>one<![CDATA[ <two> ]]></p>`, text: "one <two>",
			xml: true},
		{what: "a lone bracket", html: `1 < 2 <3 <`, text: "1 < 2 <3 <"},
	} {
		var d Document
		o := DefaultOptions()
		o.XML = c.xml
		d.Scan([]byte(c.html), o)
		got := fmt.Sprintf("%q %q %q %v %v %q", d.Title, d.Lang, d.Base, d.NoIndex, d.NoFollow, d.Text)
		want := fmt.Sprintf("%q %q %q %v %v %q", c.title, c.lang, c.base, c.noIndex, c.noFollow, c.text)
		if got != want && !(c.what == "title" || strings.HasPrefix(c.what, "language")) || d.Title != c.title ||
			d.Lang != c.lang {
			t.Errorf("%s: %s\ngot  %s\nwant %s", c.what, c.html, got, want)
		}
	}
}

func TestScanCSS(t *testing.T) {
	for _, c := range []struct{ what, css, want string }{
		{"the ways to name a file",
			`@import 'a'; @import url("b") screen; @import url(c); x{background:url(d) , URL( "e" )}`,
			"style a\nstyle b\nstyle c\ncss d\ncss e"},
		{"escapes", `x{background:url(a\)b\20 c);y:url("d\"e\
f")}`, "css a)b c\ncss d\"ef"},
		{"comments and strings", `/* url(a) */ x{content:"url(b)"} y{z:url(c)}`, "css c"},
		{"a broken url", `x{a:url(b c);d:url(e)}`, "css e"},
		{"what never ends", `x{a:url(b`, "css b"},
		{"a comment that never ends", `x{a:url(b)} /* url(c)`, "css b"},
		{"other functions", `x{a:myurl(b);c:url-prefix(d)}`, ""},
		{"a string is an import only in an import", `@charset "a"; @import "b"; x{content:"c"}`, "style b"},
		{"data", `x{a:url(data:image/png;base64,AAAA)}`, ""},
		{"fonts", `@font-face{font-family:"a";src:local("b"),url(c) format("d");src:URL("e")}x{y:url(f)}`,
			"font c\nfont e\ncss f"},
		{"sets of images", `x{y:image-set("a" 1x,"b" type("image/avif"),url(c) 3x)}z{y:-WEBKIT-IMAGE-SET("d" ` +
			`1x);w:"e"}`,
			"css a\ncss b\ncss c\ncss d"},
		{"a set of images that never ends", `x{y:image-set("a"}z{content:"b"}`, "css a"},
		{"names that look like addresses", `@namespace a url(b);@namespace "c";@import url(d);`, "style d"},
	} {
		var d Document
		d.ScanCSS([]byte(c.css), DefaultOptions())
		if got := show(d.Links); got != c.want {
			t.Errorf("%s: %s\ngot:\n%s\nwant:\n%s", c.what, c.css, got, c.want)
		}
	}
}

func TestHeader(t *testing.T) {
	for _, c := range []struct {
		what   string
		values []string
		want   string
	}{
		{"several links in several fields", []string{`<a>; rel=next, <b>; rel="prev"`, `<c>; REL=stylesheet`},
			"header a\nheader b\nstyle c"},
		{"commas and semicolons in the URL and in quotes", []string{`<a,b;c>; title="x, <y>; \" z"; rel="next"`},
			"header a,b;c"},
		{"white space", []string{`  < a > ;rel = next ; x`}, "header a"},
		{"the first rel counts", []string{`<a>; rel=next; rel=stylesheet`}, "header a"},
		{"another page's links", []string{`<a>; rel=next; anchor="/other"`}, ""},
		{"preconnections name nothing", []string{`<https://cdn.example>; rel=preconnect, <b>; rel=preload; as=script`},
			"script b"},
		{"nofollow", []string{`<a>; rel="next nofollow"`}, "header a !"},
		{"preloads by what they are for", []string{`<a>; as=font; rel=preload, <b>; rel=preload; as="style"`},
			"font a\nstyle b"},
		{"nonsense", []string{``, `<`, `<>; rel=next`, `a; rel=next`, `<a`, `<a>;;;==;rel="next`, `,,,<b>`},
			"header a\nother b"},
	} {
		if got := show(Header(c.values)); got != c.want {
			t.Errorf("%s: %q\ngot:\n%s\nwant:\n%s", c.what, c.values, got, c.want)
		}
	}
}

func TestRefresh(t *testing.T) {
	for value, want := range map[string]string{"0;url=a": "a", "3 , URL = \"b\"c": "b", "5": "", "": "", "x;url=c": "",
		"1;url": "url", ".5; d": "d"} {
		if got, ok := refresh([]byte(value)); string(got) != want || ok != (want != "") {
			t.Errorf("refresh(%q) = %q, %v, want %q", value, got, ok, want)
		}
	}
}

// Everything kept of a page is bounded by Options.
func TestBounds(t *testing.T) {
	o := Options{MaxLinks: 3, MaxRef: 10, MaxAnchor: 7, MaxTitle: 5, MaxText: 11}
	checkBounds := func(html string) {
		t.Helper()
		var d Document
		d.Scan([]byte(html), o)
		checkBounds(t, &d, o)
	}
	checkBounds(strings.Repeat("<a href=x>あいう</a>", 10))
	checkBounds("<a href=" + strings.Repeat("x", 11) + ">y</a><img src=y>")
	checkBounds("<title>ああああ</title>" + strings.Repeat("word ", 100))
	checkBounds("<a href=x>" + strings.Repeat("w", 1000) + "</a>")
	checkBounds("<html lang=" + strings.Repeat("x", 100) + ">")

	var d Document
	d.Scan([]byte(strings.Repeat("<a href=x>", 1_000_000)), DefaultOptions())
	if len(d.Links) != DefaultOptions().MaxLinks || !d.Cut {
		t.Errorf("%d links, cut %v", len(d.Links), d.Cut)
	}
}

func checkBounds(t *testing.T, d *Document, o Options) {
	t.Helper()
	if len(d.Links) > o.MaxLinks || len(d.Title) > o.MaxTitle || len(d.Text) > o.MaxText || len(d.Lang) > o.MaxTitle ||
		len(d.Base) > o.MaxRef {
		t.Fatalf("%d links, title of %d, text of %d, language of %d, base of %d", len(d.Links), len(d.Title),
			len(d.Text), len(d.Lang), len(d.Base))
	}
	for _, ref := range d.Links {
		if len(ref.Raw) > o.MaxRef || len(ref.Anchor) > o.MaxAnchor {
			t.Fatalf("reference of %d with anchor of %d", len(ref.Raw), len(ref.Anchor))
		}
	}
}

// A Document that was used before answers as a new one, and what was taken from it stays.
func TestDocumentsAreReused(t *testing.T) {
	first := []byte(`<html lang=ja><title>a</title><base href=b><meta name=robots ` +
		`content=none><nav><template><svg><a href=c>d`)
	second := []byte(`<a href=x>y</a> z`)
	var used, fresh Document
	used.Scan(first, DefaultOptions())
	used.Scan([]byte(`<a href=k>l</a>`), DefaultOptions())
	kept := used.Links[0]
	used.Scan(second, DefaultOptions())
	fresh.Scan(second, DefaultOptions())
	if show(used.Links) != show(fresh.Links) || string(used.Text) != string(fresh.Text) ||
		used.Title+used.Base+used.Lang != "" || used.NoFollow || used.NoIndex {
		t.Errorf("got %s %q %+v", show(used.Links), used.Text, used)
	}
	if kept.Raw != "k" || kept.Anchor != "l" {
		t.Errorf("a link of the page before became %+v", kept)
	}
}

func FuzzScan(f *testing.F) {
	type caseOf struct {
		HTML string
		Args []text
	}
	for _, name := range []string{"heritrix_extractorhtml", "scrapy_linkextractor", "w3lib_get_base_url",
		"w3lib_get_meta_refresh"} {
		for _, c := range readCases[caseOf](f, name) {
			f.Add([]byte(c.HTML), false)
			if len(c.Args) > 0 {
				f.Add([]byte(c.Args[0]), true)
			}
		}
	}
	f.Add([]byte("<svg><style/><![CDATA[<a>]]><foreignObject><template><script><!--<script></script>--></script>"),
		false)
	f.Add([]byte(`<script type="application/ld+json">{"url":"\u002f\ud83d\ude00","sameAs":[["/a",{"@id":"\\`), false)
	var d Document
	f.Fuzz(func(t *testing.T, html []byte, xml bool) {
		o := Options{MaxLinks: 20, MaxRef: 100, MaxAnchor: 20, MaxTitle: 30, MaxText: 200, XML: xml, Fragments: xml}
		before := bytes.Clone(html)
		d.Scan(html, o)
		if !bytes.Equal(before, html) {
			t.Fatal("the page was changed")
		}
		checkBounds(t, &d, o)
		first := show(d.Links) + string(d.Text)
		d.Scan(html, o)
		if again := show(d.Links) + string(d.Text); again != first {
			t.Fatalf("%q, then %q", first, again)
		}
	})
}

func FuzzScanCSS(f *testing.F) {
	for _, css := range []string{`@import url("a") x; @import 'b';`, `x{y:url( a\20 b ) /* */ url('c`, `url(a"b) url(c`,
		"url(\"a\nb\")", `\`, `url(\`, `"\`} {
		f.Add([]byte(css))
	}
	f.Fuzz(func(t *testing.T, css []byte) {
		o := Options{MaxLinks: 20, MaxRef: 100}
		var d Document
		d.ScanCSS(css, o)
		checkBounds(t, &d, o)
	})
}

func FuzzHeader(f *testing.F) {
	for _, value := range []string{`<a>; rel=next, <b>; rel="prev"; title="\"x"`, `<`, `<a>;`, `<a>;=;`, `<a>;rel="`,
		`<a>;rel="\`} {
		f.Add(value)
	}
	f.Fuzz(func(t *testing.T, value string) {
		if refs := Header([]string{value, value}); len(refs) > maxHeader {
			t.Fatalf("%d links", len(refs))
		}
		refresh([]byte(value))
	})
}

// What is around a link is its anchor text and a sentence on either side, as far as the anchor texts of others.
func TestTextAroundLinks(t *testing.T) {
	var d Document
	d.Scan([]byte(`<p>Before it. <nav><a href=n>Top</a></nav> <a href=a>First</a> of three, <a href=b>second</a>
and <img src=i> <a href=c>the &amp; third</a>. `+strings.Repeat("word ", 100)+`<a href=d>Last</a>`), DefaultOptions())
	want := []string{"", "Before it. First of three,", "of three, second and", "", "and the & third. word word"}
	for i, part := range d.Around {
		got := strings.TrimSpace(string(d.Text[part.From:part.To]))
		switch {
		case i == 4 && (!strings.HasPrefix(got, want[4]) || len(got) > 160):
			t.Errorf("around %v is %q", d.Links[i], got)
		case i == 5 && (!strings.HasSuffix(got, "word word Last") || len(got) > 125):
			t.Errorf("around %v is %q", d.Links[i], got)
		case i < 4 && got != want[i]:
			t.Errorf("around %v is %q, want %q", d.Links[i], got, want[i])
		}
	}
	if len(d.Around) != 6 || len(d.Links) != 6 {
		t.Errorf("%d links, %d texts around them", len(d.Links), len(d.Around))
	}
}
