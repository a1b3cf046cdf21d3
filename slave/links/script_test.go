package links

import (
	"bytes"
	"strings"
	"testing"
)

func TestScripts(t *testing.T) {
	for _, c := range []struct{ what, js, want string }{
		{"imports in all their forms", `import "./a.js"; import b from './b.js'
			import * as c from "/c.js";import{d,e as f,"g h" as i}from"../d.js";import j,{k}from"http://b.example/e.js"
			import l, * as m from "./f.js"; import from from "./g.js"; import {from} from "./h.js";
			import o from "./i.css" with {type: "css"}`,
			"./a.js ./b.js /c.js ../d.js http://b.example/e.js ./f.js ./g.js ./h.js ./i.css"},
		{"exports", `export * from "./a.js"; export * as b from "./b.js"; export {c, default as d} from "./c.js"
			export {e}; "./no.js"; export default "./no.js"; export const from = "./no.js"; export function f() {}`,
			"./a.js ./b.js ./c.js"},
		{"calls", "import('./a.js').then(x); await import( \"./b.js\" , {with: {}}); import(`./c.js`); import('./d' " +
			"+ x); import(`./e${x}.js`)",
			"./a.js ./b.js ./c.js"},
		{"scripts of workers", `importScripts("a.js", 'b.js'); self.importScripts("c.js"); importScripts(d); ` +
			`importScripts("e" + f, "g.js")`,
			"a.js b.js c.js"},
		{"workers are left to the page", `new Worker("import.js")`, ""},
		{"bare names", `import a from "a"; import "b/c.js"`, ""},
		{"what only looks alike", `x.import("./a.js"); import.meta.url; important("./b.js"); ({import: "./c.js"}); ` +
			`import.meta.resolve("./d.js")`, ""},
		{"comments", "// import './a.js'\n/* import './b.js' */ import /* x */ './c.js' // import './d.js'", "./c.js"},
		{"a comment that never ends", `import "./a.js"; /* import "./b.js"`, "./a.js"},
		{"strings", "x = \"import './a.js'\" + 'import \"./b.js\"\\'import \"./c.js\"'; import './d.js'", "./d.js"},
		{"a string that never ends", "x = \"abc\nimport './a.js'", "./a.js"},
		{"templates", "x = `import './a.js' ${ import('./b.js') + `${y}` + {a: {}} } import './c.js'`; import './d.js'",
			"./b.js ./d.js"},
		{"regular expressions", `x = /["'\/]/g; y = a / b / c; if (z) /"/.test(w); return /[/"]/.exec(v); x++ / ` +
			`"2"; import "./a.js"`,
			"./a.js"},
		{"a slash that divides", "x = (a) / 2; y = b[1] / '2'; z = 3 / 4\nimport './a.js'", "./a.js"},
		{"escapes", `import "./a\/b\u0063.js"`, "./a/bc.js"},
		{"a hash bang, a private name, an arrow", "#!/usr/bin/env node\nclass A { #import = './a.js' }; x => " +
			"import('./b.js')", "./b.js"},
		{"files beside a script that looks up its own address", `dir = document.currentScript.src.match(/.*\//)
			a.src = dir + "open.gif"; b = dir + 'img/closed.png'; c = new URL("./x.svg", import.meta.url)
			d = "a.woff2" // "no.gif"
			e = "/no.gif"; f = "no gif.gif"; g = ".gif"; h = "*.gif"; i = "http://b.example/no.gif"
			j = "no.js" + "no.gif?" + k`,
			"open.gif img/closed.png ./x.svg a.woff2"},
		{"files named by a script that does not", `a.src = "open.gif"`, ""},
		{"nonsense", "import import import ( ( \"./a.js\" } } ) from from ` ${ ` ${", ""},
	} {
		var d Document
		d.ScanScript([]byte(c.js), DefaultOptions())
		var got []string
		for _, ref := range d.Links {
			got = append(got, ref.Raw)
		}
		if got := strings.Join(got, " "); got != c.want {
			t.Errorf("%s: %s\n got %s\nwant %s", c.what, c.js, got, c.want)
		}
	}
}

func TestScriptsInPages(t *testing.T) {
	for _, c := range []struct{ what, html, want string }{
		{"what is run", `<script src=a></script><script type=module src=b></script><script type="Text/JavaScript" ` +
			`src=c></script>` +
			`<script type=text/template src=d></script><script nomodule src=e></script><script type="" src=f></script>`,
			"script a\nscript b\nscript c\nother d\nother e\nscript f"},
		{"inline modules and workers", `<script type=module>import "./a.js"; new Worker("b.js", {type: ` +
			`"module"})</script>` +
			`<script>import("./c.js"); new SharedWorker('d.js')</script><script ` +
			`type=text/plain>import("./e.js")</script>` +
			`<script src=f>import("./g.js")</script>`,
			"script ./a.js\nscript b.js\nscript ./c.js\nscript d.js\nscript f"},
		{"import maps", `<script type=importmap>{"imports": {"z": "./z.js", "a": "/a.js", "lib/": "./lib/",
			"bad": null},
			"scopes": {"/x/": {"a": "./xa.js"}}}</script>
			<script type=module>import "lib/b.js"; import "a"; import "other/c.js"</script>`,
			"script /a.js\nscript ./z.js\nscript ./xa.js\nscript ./lib/b.js"},
		{"a broken import map", `<script type=importmap>{"imports": {"a": "./a.js"</script>`, ""},
		{"a document within an attribute", `<a href=a>x<iframe src=b srcdoc="<base href='/no/'><a ` +
			`href='c'>y</a><img src=d>` +
			`<iframe srcdoc='&lt;img src=&quot;e&amp;amp;f&quot;&gt;'></iframe>"></iframe><img src=g>`,
			"a a [x]\niframe b\na c [y]\nimage d\nimage e&f\nimage g"},
		{"references of graphics", `<svg><rect fill="url(#a)" mask="url('b.svg#c')" transform="scale(2)"/>` +
			`<g style="fill:url(d.svg#e)"/></svg>`, "css b.svg#c\ncss d.svg#e"},
	} {
		var d Document
		d.Scan([]byte(c.html), DefaultOptions())
		if got := show(d.Links); got != c.want {
			t.Errorf("%s: %s\ngot:\n%s\nwant:\n%s", c.what, c.html, got, c.want)
		}
	}
	var d Document
	o := DefaultOptions()
	o.XML = true
	d.Scan([]byte(`<?xml version="1.0"?><?xml-stylesheet type="text/css" href="a&amp;b.css"?><p/><?xml-other `+
		`href="c"?>`), o)
	if got := show(d.Links); got != "style a&b.css" {
		t.Errorf("instructions: %s", got)
	}
}

func TestManifest(t *testing.T) {
	var d Document
	d.ScanManifest([]byte(`{"start_url": "no", "icons": [{"src": "a.png", "sizes": "1x1"}, {}, {"src": " b.png"}],
		"shortcuts": [{"url": "no", "icons": [{"src": "c.png"}]}], "screenshots": [{"src": "no"}]}`), DefaultOptions())
	if got, want := show(d.Links), "icon a.png\nicon b.png\nicon c.png"; got != want {
		t.Errorf("got:\n%s\nwant:\n%s", got, want)
	}
	for _, bad := range []string{"", "{", "[]", `{"icons": {}}`, `{"icons": [{"src": 1}]}`} {
		if d.ScanManifest([]byte(bad), DefaultOptions()); len(d.Links) > 0 {
			t.Errorf("%s: %s", bad, show(d.Links))
		}
	}
}

// The time is linear in the script, whatever is in it.
func TestScriptsTakeLinearTime(t *testing.T) {
	for _, part := range []string{"/[", "`${", "(", "import(", "'\\", "/*/", "import{", "}/",
		"importScripts('a',", "</"} {
		var d Document
		d.ScanScript(append([]byte("import 'x';"), bytes.Repeat([]byte(part), 1<<20)...), DefaultOptions())
	}
}

func FuzzScanScript(f *testing.F) {
	for _, js := range []string{`import a, {b} from "./c.js"`, "`${`${/[/`]/}`}`", `importScripts("a", 'b')`,
		`/[/*]/ //`,
		`export * as x from '\u0061'`} {
		f.Add([]byte(js))
	}
	var d Document
	f.Fuzz(func(t *testing.T, js []byte) {
		o := Options{MaxLinks: 20, MaxRef: 100}
		d.ScanScript(append([]byte("import;"), js...), o)
		checkBounds(t, &d, o)
		d.ScanManifest(js, o)
		checkBounds(t, &d, o)
	})
}
