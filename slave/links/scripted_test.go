package links

import (
	"strings"
	"testing"
)

func TestPagesThatScriptsMake(t *testing.T) {
	words := "<p>" + strings.Repeat("Words of a page that its server wrote. ", 10)
	const shell = `<script type=module src=/a.js></script>`
	for _, c := range []struct {
		what, html string
		scripted   bool
	}{
		{"an empty root", `<div id="root"></div>` + words + shell, true},
		{"a root in which something waits", `<div id=app>Loading ...</div>` + words, true},
		{"a root with a page in it", `<div id=app>` + words + `</div>` + shell, false},
		{"an empty element", `<div id=breadcrumb></div>` + words + shell, false},
		{"a root far behind", strings.Repeat("<div></div>", rootsLooked) + `<div id=root></div>` + words,
			false},
		{"a root in a template", `<template><div id=root></div></template>` + words, false},
		{"nothing but scripts", `<div id=swagger-ui></div><script src=a.js></script>`, true},
		{"an element of a library", `<redoc spec-url=a.json></redoc><script src=a.js></script>`, true},
		{"a word and a script", `<div>Please wait</div><script src=a.js></script>`, true},
		{"a few words and a script",
			`<div>Loading ... Searching ... No matches</div><script src=a.js></script>`, false},
		{"nothing at all", `<title>x</title>`, false},
		{"a picture and a counter", `<img src=a.png><script src=count.js></script>`, false},
		{"a link and a counter", `<a href=de>Deutsch</a><script src=count.js></script>`, false},
		{"a link beside an empty element",
			`<a href=/>Home</a><div id=swagger-ui></div><script src=a.js></script>`, true},
		{"links and words beside an empty element", `<a href=/>Home</a><p>Words enough to say what it is about</p>
			<div id=ad></div><script src=a.js></script>`, false},
		{"frames and a script", `<script src=a.js></script><frameset><frame src=a><frame src=b></frameset>`, false},
		{"a page that leads on", `<meta http-equiv=refresh content="0; url=a"><script src=a.js></script>`, false},
		{"navigation alone", `<nav>` + words + `</nav><script src=a.js></script>`, false},
		{"a warning", `<noscript>Please enable JavaScript for this application to run, which needs it. ` + words +
			`</noscript><img src=logo.svg><p>Words while it is being loaded</p>` + shell, true},
		{"a warning of a page with text", `<noscript>JavaScript is disabled.</noscript>` + words + shell, false},
		{"a warning beside a search",
			`<noscript>Search needs JavaScript.</noscript><form action=s></form>` + shell, false},
		{"Next.js, pages", `<div id="__next">` + words + `</div>`, true},
		{"Next.js, app", words + `<script>(self.__next_f=self.__next_f||[]).push([0])</script>`, true},
		{"Nuxt 2", `<div data-server-rendered="true" id="x">` + words, true},
		{"Docusaurus", `<div id=__docusaurus>` + words, true},
		{"VitePress",
			`<div id=app><div>` + words + `</div></div><script>window.__VP_HASH_MAP__=JSON.parse("{}")</script>`,
			true},
		{"SvelteKit", `<div>` + words + `</div><script>{__sveltekit_1a2b3c = {base: ""}}</script>`, true},
		{"what Vue leaves behind", `<div><!--[--><p>` + words + `<!--]--></div>`, true},
		{"what React leaves behind", `<div><!--$--><p>` + words + `<!--/$--></div>`, true},
		{"other comments", `<!-- [ --><!--[if IE]><p>x<![endif]--><!--$x-->` + words, false},
		{"fetch", words + `<script>window.fetch("/a.json").then(show)</script>`, true},
		{"fetch of a module", words + `<script type=module>const a = await fetch (url)</script>`, true},
		{"XMLHttpRequest", words + `<script>var x = new XMLHttpRequest(); x.open("GET", u)</script>`, true},
		{"import of what is computed", words + `<script>import(base + "/a.js"); import("./b.js")</script>`, true},
		{"import of a part that is computed", words + `<script>import("./a" + x)</script>`, true},
		{"import of what stands there",
			words + `<script type=module>import("./a.js", {with: {}}); import "./b.js"</script>`,
			false},
		{"a service worker", words + `<script>navigator.serviceWorker.register("/sw.js")</script>`, true},
		{"a worker that is asked for", words + `<script>navigator.serviceWorker.getRegistrations()</script>`, false},
		{"workers of plain names", words + `<script>new Worker("a.js"); importScripts(b)</script>`, false},
		{"what only looks alike", words + `<script>prefetch(a); x = "fetch(b)"; // fetch(c)
			if (window.XMLHttpRequest && window.fetch) register(d)</script>`, false},
		{"a script that is data", words + `<script type=text/template>fetch(a); __next_f</script>`, false},
		{"a script in a template", `<template><script>fetch(a); __next_f</script></template>` + words, false},
		{"a script of those who run none", `<noscript><script>fetch(a)</script></noscript>` + words, false},
		{"a script that is not run, since it lies elsewhere", words + `<script src=a.js>fetch(a)</script>`, false},
		{"counters", words + `<script async src="https://t.example/g.js"></script><script>
			window.dataLayer = window.dataLayer || []; function gtag(){dataLayer.push(arguments)} gtag("js", 1);
			(function(d){var s=d.createElement("script"); s.src="//m.example/m.js"; d.head.appendChild(s)})(document);
			navigator.sendBeacon("/seen")</script>`, false},
	} {
		var d Document
		if d.Scan([]byte(c.html), DefaultOptions()); d.Scripted != c.scripted {
			t.Errorf("%s: %v", c.what, d.Scripted)
		}
	}
}

// What scripts in a page open, and no archive can answer, is counted: where it is code that runs.
func TestSocketsThatScriptsInThePageOpen(t *testing.T) {
	for html, want := range map[string][2]int{
		`<script>new WebSocket("wss://a/"); s = new  WebSocket(u)</script>`:                             {1, 0},
		`<script>const e = new EventSource("/e")</script><script>new WebSocket(a)</script>`:             {1, 1},
		`<script type=module>import "./a.js"; a(() => new EventSource(b), new EventSource(c))`:          {0, 2},
		`<script>if (window.WebSocket) x = "new WebSocket(a)" // new EventSource(b)</script>`:           {},
		`<template><script>new WebSocket(a)</script></template><p>new WebSocket(b)`:                     {},
		`<noscript><script>new WebSocket(a)</script></noscript><script src=a>new WebSocket(b)</script>`: {},
		`<script type=text/template>new EventSource(a)</script>`:                                        {},
	} {
		var d Document
		if d.Scan([]byte(html), DefaultOptions()); d.Sockets != want[0] || d.Streams != want[1] {
			t.Errorf("%s: %d, %d, want %v", html, d.Sockets, d.Streams, want)
		}
	}
}

// Where text is not asked for, nothing follows from that there is none.
func TestAPageWithoutItsTextIsNotTakenForEmpty(t *testing.T) {
	var d Document
	o := DefaultOptions()
	o.MaxText = 0
	if d.Scan([]byte("<p>Words<script src=a.js></script>"), o); d.Scripted {
		t.Error("it is made by scripts")
	}
	if d.Scan([]byte("<p>Words<script>fetch(a)</script>"), o); !d.Scripted {
		t.Error("its script fetches")
	}
}

func TestPagesInWhichScriptsRun(t *testing.T) {
	for html, want := range map[string]bool{
		`<script src=a.js></script>`: true, `<script>a()</script>`: true, `<script type=module>a()</script>`: true,
		`<script type="application/ld+json">{}</script>`: false, `<script type=importmap>{}</script>`: false,
		`<template><script>a()</script></template>`: false, `<noscript><img src=a></noscript>`: false, `<p>`: false,
	} {
		var d Document
		d.Scan([]byte(`<script>a()</script>`), DefaultOptions())
		if d.Scan([]byte(html), DefaultOptions()); d.Runs != want {
			t.Errorf("%s: %v", html, d.Runs)
		}
	}
}
