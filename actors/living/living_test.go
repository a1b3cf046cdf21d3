package living

import (
	"fmt"
	"maps"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
)

const host = "https://docs.test"

// aPage is a page of a site that was made for a test.
type aPage struct {
	path, html string
	asked      []string // paths or URLs
	text       string   // rendered
	newLinks   int
}

func (p *aPage) sample() *Sample {
	s := &Sample{URL: host + p.path, HTML: []byte(p.html), RenderedText: p.text, NewLinks: p.newLinks}
	for _, ref := range p.asked {
		s.Asked = append(s.Asked, absolute(ref))
	}
	return s
}

func absolute(ref string) string {
	if strings.HasPrefix(ref, "/") {
		return host + ref
	}
	return ref
}

func hash(word string) string {
	r := rand.New(rand.NewPCG(uint64(len(word)), sum(word)))
	var b strings.Builder
	for range 8 {
		b.WriteByte("ABCDEFGHJKLMNPQRSTUVWXYZabcdefghijkmnopqrstuvwxyz0123456789_-"[r.IntN(61)])
	}
	return "Q" + b.String()[1:7] + "7"
}

func sum(word string) (n uint64) {
	for _, c := range []byte(word) {
		n = n*31 + uint64(c)
	}
	return n
}

// nth is a name that tells nothing of its number.
func nth(i int) string {
	return fmt.Sprintf("%s-%s", nouns[i%len(nouns)], nouns[(i/len(nouns)+3*i+1)%len(nouns)])
}

var nouns = strings.Fields("about basics caching drivers errors forms graphs hooks images joins keys layouts models " +
	"nodes")

// sites are forms of real sites, and what is to be known of them after eight samples.
var sites = []struct {
	name  string
	page  func(i int) aPage
	want  Decision
	rules []string // some of them
}{
	{"VitePress: the chunk of the page and of those it links to", func(i int) aPage {
		return vitePress("guide", i, true)
	}, Rules, []string{`each link: /assets/{path_joined}.md.{after "{path_joined}.md\":\"}.js`,
		`/assets/{path_joined}.md.{after "{path_joined}.md\":\"}.lean.js`}},
	{"Swagger UI: a constant", func(i int) aPage {
		return aPage{path: "/api/" + nth(i), asked: []string{"/openapi.json", "/config/ui.json"}}
	}, Rules, []string{"/openapi.json", "/config/ui.json"}},
	{"docsify with paths: the text is made by scripts", func(i int) aPage {
		return aPage{path: "/guide/" + nth(i), html: `<div id="app">Loading</div>`,
			asked: []string{"/guide/" + nth(i) + ".md", "/guide/_sidebar.md", "/_coverpage.md"},
			text:  strings.Repeat("what stands in the document ", 9)}
	}, Render, []string{"/{path}.md", "/guide/_sidebar.md"}},
	{"an application with numbers", func(i int) aPage {
		return aPage{path: fmt.Sprintf("/item/%d", 700+i*i), asked: []string{fmt.Sprintf("/api/items/%d", 700+i*i),
			fmt.Sprintf("https://api.test/v1/price?item=%d&currency=eur", 700+i*i)}}
	}, Rules, []string{"/api/items/{last}", "https://api.test/v1/price?item={last}&currency=eur"}},
	{"two parts of the address", func(i int) aPage {
		return aPage{path: fmt.Sprintf("/user/%d/post/%d", 30+i, 4000-7*i),
			asked: []string{fmt.Sprintf("/api/u/%d/p/%d/comments.json", 30+i, 4000-7*i)}}
	}, Rules, []string{"/api/u/{folder 2}/p/{last}/comments.json"}},
	{"the value of a query", func(i int) aPage {
		n := 50 + 3*i
		return aPage{path: fmt.Sprintf("/show?id=%d&tab=a", n), asked: []string{fmt.Sprintf("/data/%d.json", n)}}
	}, Rules, []string{"/data/{query id}.json"}},
	{"a number behind a word", func(i int) aPage {
		n := 50 + 3*i
		return aPage{path: fmt.Sprintf("/forum/topic%d.html", n), asked: []string{fmt.Sprintf("/t/%d.json", n)}}
	}, Rules, []string{"/t/{number}.json"}},
	{"a value in the HTML", func(i int) aPage {
		return aPage{path: "/shop/" + nth(i), html: fmt.Sprintf(`<article class=p data-product="%d"><p>W`, i*i+77),
			asked: []string{fmt.Sprintf("/stock/%d/now", i*i+77)}}
	}, Rules, []string{`/stock/{after  data-product="}/now`}},
	{"a value in the HTML behind two names", func(i int) aPage {
		return aPage{path: "/shop/" + nth(i), asked: []string{"/stock/" + hash(nth(i))},
			html: fmt.Sprintf(`<meta name="a" content="x%d"><meta name="id" content="%s">`, i, hash(nth(i)))}
	}, Rules, []string{`/stock/{after "id" content="}`}},
	{"Next.js: the data of linked pages, by the id of the build", func(i int) aPage {
		p := aPage{path: "/blog/" + nth(i), html: `<script id="__NEXT_DATA__">{"buildId":"kVw9xB_2Zt","x":1}</script>`}
		for n := i + 1; n < i+5; n++ {
			p.html += `<a href="/blog/` + nth(n) + `">more</a>`
			p.asked = append(p.asked, "/_next/data/kVw9xB_2Zt/blog/"+nth(n)+".json")
		}
		return p
	}, Rules, []string{`each link: /_next/data/{after "buildId":"}/{path}.json`}},
	{"Next.js: trees of linked pages, with what it makes of the request", func(i int) aPage {
		p := aPage{path: "/item/" + nth(i) + "/"}
		for n := i + 1; n < i+5; n++ {
			p.html += `<a href="/item/` + nth(n) + `/">more</a>`
			p.asked = append(p.asked, "/item/"+nth(n)+"/__next._tree.txt?_rsc=selcx")
		}
		return p
	}, Rules, []string{"each link: /{path}/__next._tree.txt?_rsc=selcx"}},
	{"Gatsby: the data of the page and of the site", func(i int) aPage {
		return aPage{path: "/notes/" + nth(i) + "/", asked: []string{"/page-data/notes/" + nth(i) + "/page-data.json",
			"/page-data/app-data.json"}}
	}, Rules, []string{"/page-data/{path}/page-data.json", "/page-data/app-data.json"}},
	{"two values in the HTML", func(i int) aPage {
		return aPage{path: "/shop/" + nth(i), asked: []string{fmt.Sprintf("/s/%d/%s", i*i+77, hash(nth(i)))},
			html: fmt.Sprintf(`<i data-a="%d" data-b="%s">`, i*i+77, hash(nth(i)))}
	}, Rules, []string{`/s/{after  data-a="}/{after  data-b="}`}},
	{"a file of the folder", func(i int) aPage {
		n := i/2 + 11
		return aPage{path: fmt.Sprintf("/p/%d/%s", n, nth(i)), asked: []string{fmt.Sprintf("/p/%d/side.json", n)}}
	}, Rules, []string{"{folder}side.json"}},
	{"a folder of its own", func(i int) aPage {
		return aPage{path: "/b/" + nth(i) + "/", asked: []string{"/b/" + nth(i) + "/_payload.json"}}
	}, Rules, []string{"/{path}/_payload.json"}},
	{"times and names of functions", func(i int) aPage {
		return aPage{path: "/news/" + nth(i), asked: []string{fmt.Sprintf("/ad.js?callback=jQuery%d", i*977),
			fmt.Sprintf("/count?page=%s&_=%d", nth(i), 1790000000000+int64(i)*7919)}}
	}, Rules, []string{"/count?page={last}&_={*}", "/ad.js?callback={*}"}},
	{"nothing is asked for", func(i int) aPage {
		return aPage{path: "/wiki/" + nth(i), html: "<p>Words", text: "Words"}
	}, Static, nil},
	{"a name that nobody can foresee", func(i int) aPage {
		return aPage{path: "/app/" + nth(i), asked: []string{"/chunk/" + hash(nth(i)) + ".js"}}
	}, Render, nil},
	{"links that only scripts make", func(i int) aPage {
		return aPage{path: "/feed/" + nth(i), newLinks: 12}
	}, Render, nil},
	{"the next page of one that scrolls without end", func(i int) aPage {
		return aPage{path: "/feed/" + nth(i), asked: []string{fmt.Sprintf("/more?after=%d", i*i*31+12)}}
	}, Render, nil},
}

// vitePress is a page as VitePress 1.6 makes it: the hashes of all chunks stand in a string of JSON in each page.
func vitePress(section string, i int, asks bool) aPage {
	page := func(n int) string { return section + "/" + strings.ReplaceAll(nth(n), "-", "") }
	chunk := func(n int) string { return strings.ReplaceAll(page(n), "/", "_") + ".md" }
	p := aPage{path: "/" + page(i) + ".html"}
	p.html = `<div id="app">words`
	for n := i + 1; n < i+4; n++ {
		p.html += `<a class="link" href="/` + page(n) + `.html">Next</a>`
		p.asked = append(p.asked, "/assets/"+chunk(n)+"."+hash(page(n))+".js")
	}
	if asks {
		p.asked = append(p.asked, "/assets/"+chunk(i)+"."+hash(page(i))+".lean.js")
	}
	p.html += `</div><script>window.__VP_HASH_MAP__=JSON.parse("{`
	for n := range 60 {
		p.html += `\"` + chunk(n) + `\":\"` + hash(page(n)) + `\",`
	}
	p.html += `\"index.md\":\"abc\"}");</script>`
	return p
}

// TestURLsWithoutNoise: those that are answered alike.
func TestURLsWithoutNoise(t *testing.T) {
	for _, pair := range [][2]string{{"/a?_rsc=1r34m", "/a?_rsc=selcx"},
		{"/a?x=1&_=1790000000000", "/a?x=1&_=1790000000001"}} {
		if a, b := WithoutNoise(pair[0]), WithoutNoise(pair[1]); a != b || a == pair[0] {
			t.Errorf("%q is not %q", a, b)
		}
	}
	for _, url := range []string{"/a", "/a?", "/a?rsc=1r34m", "/a?x_rsc=1", "/_rsc=1"} {
		if got := WithoutNoise(url); got != url {
			t.Errorf("%q became %q", url, got)
		}
	}
}

func learn(t *testing.T, h *Host, p aPage) {
	t.Helper()
	s := p.sample()
	f := s.Finding()
	b, err := f.MarshalBinary()
	if err != nil || len(b) > findingBytes {
		t.Fatalf("%d bytes, %v", len(b), err)
	}
	var again Finding
	if err := again.UnmarshalBinary(b); err != nil {
		t.Fatal(err)
	}
	h.Learn(s.URL, &again)
}

// A learnt rule names exactly what the pages ask for that were not rendered.
func TestSites(t *testing.T) {
	for _, c := range sites {
		h := &Host{}
		for i := range samplesMost {
			learn(t, h, c.page(i))
		}
		k, _ := h.find(host + c.page(0).path)
		got := h.planOf(k)
		var rules []string
		for _, rule := range got.rules {
			rules = append(rules, show(rule))
		}
		if got.decision != c.want {
			t.Errorf("%s: %v, want %v: %q", c.name, got.decision, c.want, rules)
		}
		for _, rule := range c.rules {
			if !slices.Contains(rules, rule) {
				t.Errorf("%s: no rule %s in %q", c.name, rule, rules)
			}
		}
		if c.want != Rules {
			continue
		}
		for i := samplesMost; i < 40; i++ {
			p := c.page(i)
			urls := h.Expand(host+p.path, []byte(p.html))
			for _, ref := range p.asked {
				if url := absolute(ref); !slices.Contains(urls, url) && WithoutNoise(url) == url {
					t.Errorf("%s: %s: %s is not named: %q", c.name, p.path, url, urls)
				}
			}
			for _, url := range urls {
				if !slices.Contains(p.asked, strings.TrimPrefix(url, host)) && !slices.Contains(p.asked, url) {
					t.Errorf("%s: %s: %s is named and not asked for", c.name, p.path, url)
				}
			}
		}
	}
}

func TestAHostIsKeptAndReadAgain(t *testing.T) {
	h := &Host{}
	for _, c := range sites {
		for i := range 5 {
			learn(t, h, c.page(i))
		}
	}
	if !h.Changed() {
		t.Error("what was learnt is no change")
	}
	h.Answered(host+"/openapi.json", 404)
	b, err := h.MarshalBinary()
	if err != nil || h.Changed() {
		t.Errorf("changed after it was kept, %v", err)
	}
	again := &Host{}
	if err := again.UnmarshalBinary(b); err != nil {
		t.Fatal(err)
	}
	if got, want := fmt.Sprint(again.Templates()), fmt.Sprint(h.Templates()); got != want {
		t.Errorf("%s\nwant\n%s", got, want)
	}
	if !maps.Equal(again.missed, h.missed) {
		t.Errorf("%v, want %v", again.missed, h.missed)
	}
	for _, k := range again.kinds { // of what is explained only what explains it is kept
		for _, s := range k.samples {
			for _, rules := range s.asks {
				p := again.planOf(k)
				n := 0
				for _, rule := range rules {
					if p.counts[rule] {
						n++
					}
				}
				if n > 0 && n < len(rules) {
					t.Errorf("%d of %q count", n, rules)
				}
			}
		}
	}
	if second, _ := again.MarshalBinary(); string(second) != string(b) {
		t.Error("other bytes")
	}
}
