package living

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"
)

// crawl visits pages once and returns how many were rendered, and of the others for how many nothing was missing.
func crawl(t *testing.T, h *Host, pages []aPage, scripted bool) (rendered, complete int) {
	t.Helper()
	for _, p := range pages {
		switch d := h.Decide(host+p.path, scripted, true); d {
		case Sampled, Render:
			rendered++
			learn(t, h, p)
		default:
			named := map[string]bool{}
			for _, url := range h.Expand(host+p.path, []byte(p.html)) {
				named[url] = d == Rules
			}
			missing := false
			for _, ref := range p.asked {
				missing = missing || !named[absolute(ref)]
			}
			if !missing {
				complete++
			}
		}
	}
	return rendered, complete
}

// A tenth of the pages of a site is rendered at most, also where each section is a template of its own, and where all
// pages are in the uppermost folder.
func TestATenthIsRendered(t *testing.T) {
	for _, c := range []struct {
		name     string
		page     func(i int) aPage
		scripted bool
	}{
		{"ten sections", func(i int) aPage {
			return aPage{path: fmt.Sprintf("/part-%c-of-all/item/%d", 'a'+i%10, i),
				asked: []string{fmt.Sprintf("/api/items/%d", i), "/menu.json"}}
		}, true},
		{"static", func(i int) aPage { return aPage{path: fmt.Sprintf("/posts/%d.html", i)} }, false},
		{"all on top", func(i int) aPage {
			p := aPage{path: "/" + strings.Repeat(string(rune('a'+i%26)), 1+i/26%18) + string(rune('a'+i/468))}
			p.asked = []string{p.path + ".json"}
			return p
		}, true},
	} {
		var pages []aPage
		for i := range 2000 {
			pages = append(pages, c.page(i))
		}
		rendered, complete := crawl(t, &Host{}, pages, c.scripted)
		if rendered > 200 || rendered < 10 || rendered+complete != len(pages) {
			t.Errorf("%s: %d of %d pages rendered, %d of the others complete", c.name, rendered, len(pages), complete)
		}
	}
}

func TestWhatIsDecidedDoesNotDependOnTheOrderOfSamples(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 2))
	for _, c := range sites {
		var pages []aPage
		for i := range samplesMost {
			pages = append(pages, c.page(i))
		}
		want := ""
		for range 5 {
			h := &Host{}
			for _, p := range pages {
				learn(t, h, p)
			}
			if got := fmt.Sprint(h.Templates()); want != "" && got != want {
				t.Errorf("%s: %s, want %s", c.name, got, want)
			} else {
				want = got
			}
			r.Shuffle(len(pages), func(i, j int) { pages[i], pages[j] = pages[j], pages[i] })
		}
	}
}

const item = host + "/item/"

func finding(asks ...[]string) *Finding { return &Finding{asks: asks} }

func TestDecisions(t *testing.T) {
	none, dynamic, failed := finding(), &Finding{dynamic: true}, &Finding{failed: true}
	a, b, odd := finding([]string{"/a"}), finding([]string{"/a", "/b"}), finding(nil)
	for _, c := range []struct {
		name     string
		findings []*Finding
		want     Decision
	}{
		{"nothing is known", nil, Sampled},
		{"two samples", []*Finding{a, a}, Sampled},
		{"three agree", []*Finding{a, a, b}, Rules},
		{"three of which two agree", []*Finding{a, a, none}, Sampled},
		{"nothing is asked for", []*Finding{none, none, none}, Static},
		{"a third is of another kind", []*Finding{a, a, a, odd, odd}, Sampled},
		{"one of many is of another kind", []*Finding{a, a, a, a, a, a, a, odd}, Rules},
		{"two of many are of another kind", []*Finding{a, a, odd, a, a, a, a, odd}, Render},
		{"most are of another kind", []*Finding{a, odd, odd}, Render},
		{"it is long ago that some were of another kind",
			[]*Finding{odd, odd, odd, odd, a, a, a, a, a, a, a, a}, Rules},
		{"text and links are made by scripts", []*Finding{dynamic, dynamic, dynamic}, Render},
		{"failures teach nothing", []*Finding{failed, failed, failed, failed}, Sampled},
		{"failures are no contradiction", []*Finding{a, failed, a, failed, a}, Rules},
	} {
		h := &Host{}
		for i, f := range c.findings {
			h.Learn(fmt.Sprint(item, i), f)
		}
		k, _ := h.find(item + "1")
		if k == nil {
			k = &kind{}
		}
		if got := h.planOf(k).decision; got != c.want {
			t.Errorf("%s: %v, want %v", c.name, got, c.want)
		}
		for i := range 100 {
			got := h.Decide(fmt.Sprint(item, 100+i), true, true)
			if got != c.want && (got != Sampled || c.want == Render) {
				t.Errorf("%s: %v is decided, want %v", c.name, got, c.want)
			}
		}
	}
}

// Of pages in which scripts run and that seem whole without, the first of a template is shown, and a few; all, until
// more is known, once it showed something.
func TestPagesThatScriptsDoNotMake(t *testing.T) {
	for _, c := range []struct {
		name     string
		learnt   []*Finding
		runs     bool
		from, to int // of 1600 pages
	}{
		{"without scripts", nil, false, 0, 0},
		{"the first", nil, true, 1600, 1600},
		{"failed", []*Finding{{failed: true}}, true, 1600, 1600},
		{"nothing was shown", []*Finding{finding()}, true, 60, 150},
		{"without scripts, nothing was shown", []*Finding{finding()}, false, 0, 0},
		{"something was asked for", []*Finding{finding([]string{"/a"})}, true, 1600, 1600},
		{"scripts wrote text", []*Finding{finding(), {dynamic: true}}, true, 1600, 1600},
	} {
		h := &Host{}
		for i, f := range c.learnt {
			h.Learn(fmt.Sprint(item, 10_000+i), f)
		}
		n := 0
		for i := range 1600 {
			if h.Decide(fmt.Sprint(item, i), false, c.runs) == Sampled {
				n++
			}
		}
		if n < c.from || n > c.to {
			t.Errorf("%s: %d, want %d to %d", c.name, n, c.from, c.to)
		}
	}
}

// A rule for links counts though some pages show none of them.
func TestPagesThatAskForNothingSayNothingOfRulesForLinks(t *testing.T) {
	for rule, want := range map[string]Decision{"\x01/x/\x06": Rules, "/x/\x06": Render} {
		h := &Host{}
		for i, f := range []*Finding{finding([]string{rule}), finding(), finding(), finding([]string{rule}),
			finding([]string{rule})} {
			h.Learn(fmt.Sprint(item, i), f)
		}
		if k, _ := h.find(item + "1"); h.planOf(k).decision != want {
			t.Errorf("%s: %v", show(rule), h.planOf(k).decision)
		}
	}
}

// What counts for the host counts for each template; and one template alone does not speak for the host.
func TestTheHostAsAWhole(t *testing.T) {
	learn := func(h *Host, sections string, rule string) {
		for i, c := range sections {
			h.Learn(fmt.Sprintf("%s/part%c/%d", host, c, i), finding([]string{rule}))
		}
	}
	for sections, want := range map[string]Decision{"abcab": Sampled, "abcabc": Rules, "ababab": Sampled,
		"aaabbbaaabbb": Sampled, "abcdaaaaaaaaaaaaaaaaaaaaaaaaaab": Rules} {
		h := &Host{}
		if learn(h, sections, "/a"); h.planOf(&h.all).decision != want {
			t.Errorf("%s: %v, want %v", sections, h.planOf(&h.all).decision, want)
		}
	}
	h := &Host{}
	learn(h, "abcabc", "/a")
	for i, rule := range []string{"/a", "/b", "/b", "/b"} {
		h.Learn(fmt.Sprint(item, i), finding([]string{rule}))
	}
	if k, _ := h.find(item + "1"); h.planOf(k).decision != Rules {
		t.Errorf("%v, though all of it counts for the host or here", h.planOf(k).decision)
	}
}

// A template whose renderings fail is left alone, but not for ever.
func TestFailuresAreNotRepeatedForEver(t *testing.T) {
	h, rendered := &Host{}, 0
	for i := range 1000 {
		if url := fmt.Sprint(item, i); h.Decide(url, true, true) == Sampled {
			rendered++
			h.Learn(url, &Finding{failed: true})
		}
	}
	if rendered <= fails || rendered > 120 {
		t.Errorf("%d renderings", rendered)
	}
	h.Learn(item+"1", finding())
	for i := range 100 {
		if d := h.Decide(fmt.Sprint(item, i), true, true); d != Sampled {
			t.Errorf("%v after one that did not fail", d)
		}
	}
}

// What was learnt is looked at again, ever less often; and as soon as a sample is of another kind, more often.
func TestSpotChecks(t *testing.T) {
	spots := func(seen int, odd bool) (n int) {
		h := &Host{}
		for i := range seen {
			f := finding([]string{"/a"})
			if odd && i == seen-1 {
				f = finding(nil)
			}
			h.Learn(fmt.Sprint(item, i), f)
		}
		for i := range 4096 {
			if h.Decide(fmt.Sprint(item, i+1000), true, true) == Sampled {
				n++
			}
		}
		return n
	}
	for _, c := range []struct {
		seen     int
		odd      bool
		from, to int
	}{{3, false, 180, 330}, {7, false, 40, 95}, {60, false, 5, 30}, {60, true, 900, 1150}} {
		if n := spots(c.seen, c.odd); n < c.from || n > c.to {
			t.Errorf("after %d samples, odd %v: %d of 4096 pages are rendered", c.seen, c.odd, n)
		}
	}
}

// A new template is taken for what the host is, but for a few pages of it.
func TestTheHostDecidesAboutNewTemplates(t *testing.T) {
	for _, c := range []struct {
		f        *Finding
		scripted bool
		want     Decision
	}{{finding([]string{"/a"}), true, Rules}, {finding(), false, Static}, {finding(), true, Sampled},
		{&Finding{dynamic: true}, true, Sampled}} {
		h := &Host{}
		for i := range together {
			h.Learn(fmt.Sprintf("%s/part%c/%d", host, 'a'+i%8, i), c.f)
		}
		n := map[Decision]int{}
		for i := range 800 {
			n[h.Decide(fmt.Sprintf("%s/new/%d", host, i), c.scripted, true)]++
		}
		if n[c.want] < 600 || n[c.want] == 800 && c.want != Sampled {
			t.Errorf("%v: %v, want %v", c.f, n, c.want)
		}
		if c.want == Rules {
			if urls := h.Expand(host+"/new/1", nil); len(urls) != 1 || urls[0] != host+"/a" {
				t.Errorf("%q", urls)
			}
			h.Learn(host+"/new/1", finding(nil)) // which is of another kind
			if d := h.Decide(host+"/new/2", true, true); d != Sampled {
				t.Errorf("%v for a template that is of another kind", d)
			}
		}
	}
}

// A rule of which it is said again and again that what it names is not there is dropped, and the next best is taken.
func TestARuleThatMissesIsDropped(t *testing.T) {
	h := &Host{}
	for i := range 3 {
		h.Learn(fmt.Sprint(item, i, ".html"), finding([]string{"/x/\x0d", "/x/\x0e.json"}))
	}
	expand := func() string { return fmt.Sprint(h.Expand(item+"7.html", nil)) }
	first := expand()
	for range missesMost - 1 {
		h.Answered(host+"/x/7.html", 404)
	}
	h.Answered(host+"/x/7.html", 200)
	for range missesMost - 1 {
		h.Answered(host+"/x/7.html", 404)
	}
	h.Answered(host+"/y", 404)
	if got := expand(); got != first || first != "["+host+"/x/7.html]" {
		t.Errorf("%s, then %s", first, got)
	}
	b, _ := h.MarshalBinary()
	h = &Host{}
	if err := h.UnmarshalBinary(b); err != nil {
		t.Fatal(err)
	}
	h.Answered(host+"/x/7.html", 404)
	if got := expand(); got != "["+host+"/x/7.json]" || !h.Changed() {
		t.Errorf("%s after it was missed %d times", got, missesMost)
	}
	b, _ = h.MarshalBinary()
	h = &Host{}
	if err := h.UnmarshalBinary(b); err != nil || expand() != "["+host+"/x/7.json]" {
		t.Errorf("%s, %v: what was dropped came back", expand(), err)
	}
}

func TestWordsOfARendering(t *testing.T) {
	long := strings.Repeat("all that the page says in some words ", 20)
	for _, c := range []struct {
		name, html, static, rendered string
		want                         bool
	}{
		{"the same", "<p>" + long, "", long, false},
		{"navigation that the static text leaves out", "<nav>" + long + "</nav><p>x", "x", long + "x", false},
		{"in the text alone", "", long, long, false},
		{"a clock is added", "<p>" + long, long, long + "it is now a quarter past three", false},
		{"a few words of a short page", "<p>Words", "", "Words and some more of them", false},
		{"all of it", `<div id="root"></div>`, "", long, true},
		{"what stands in scripts is no text", "<script>" + long + "</script>", "", long, true},
		{"nor in styles and comments", "<STYLE>" + long + "</STYLE><!--" + long + "-->", "", long, true},
		{"half of it", "<p>" + long, "", long + strings.Repeat("what a script fetched ", 20), true},
		{"the same in Japanese", "<p>東京の<b>天気</b>は晴れです、明日も晴れるでしょう。", "",
			"東京の天気は晴れです、明日も晴れるでしょう。", false},
		{"some words more, and many as they were", "<p>" + long, "", long + strings.Repeat("more ", newWords+3), false},
		{"a sixth of it", "<p>" + long, "", long + strings.Repeat("what a script fetched ", 8), false},
		{"signs that are no words", "<p>" + long, "", long + strings.Repeat("· „…“\u00a0", 60), false},
		{"all of it in Russian", "<title>Погода</title>", "", strings.Repeat("завтра будет погода ", 9), true},
	} {
		s := &Sample{URL: host, HTML: []byte(c.html), StaticText: c.static, RenderedText: c.rendered}
		s.URL += "/"
		if f := s.Finding(); f.dynamic != c.want {
			t.Errorf("%s: %v", c.name, f.dynamic)
		}
	}
	for n, want := range map[int]bool{newLinks - 1: false, newLinks: true} {
		if f := (&Sample{URL: host + "/", NewLinks: n}).Finding(); f.dynamic != want {
			t.Errorf("%d new links: %v", n, f.dynamic)
		}
	}
}

// What is no finding of a rendering, or nothing that rules can be about.
func TestFindings(t *testing.T) {
	for _, c := range []struct {
		name string
		s    Sample
		asks int
	}{
		{"named by the static scan, or the page itself", Sample{URL: host + "/a#b", Static: []string{host + "/c#d"},
			Asked: []string{host + "/c", host + "/a", host + "/a#x"}}, 0},
		{"asked for twice", Sample{URL: host + "/a", Asked: []string{host + "/c", host + "/c#d"}}, 1},
		{"other schemes", Sample{URL: host + "/a", Asked: []string{"data:x", "blob:" + host + "/c", "ws://a/b"}}, 0},
		{"a failure", Sample{URL: host + "/a", Asked: []string{host + "/c"}, Failed: true}, 0},
		{"no page", Sample{URL: "ftp://a/b", Asked: []string{host + "/c"}}, 0},
	} {
		f := c.s.Finding()
		if len(f.asks) != c.asks || f.failed != (c.name == "a failure" || c.name == "no page") {
			t.Errorf("%s: %+v", c.name, f)
		}
	}
}

// Endless numbers of everything come to what is said of them, in little time.
func TestBounds(t *testing.T) {
	r := rand.New(rand.NewPCG(3, 4))
	s := &Sample{URL: host + "/guide/one/two-three.html?a=1&b=2&c=3"}
	for i := range 3000 {
		s.HTML = fmt.Appendf(s.HTML, `<a href="/guide/%x/two">one-two</a><i id="w%d-x">`, r.Uint64(), i)
		s.Asked = append(s.Asked, fmt.Sprintf("%s/guide/%x/two-three/w%d-x?y=%d", host, r.Uint64(), i, i))
	}
	h := &Host{}
	for i := range 200 {
		f := Finding{}
		if i%100 == 0 {
			f = s.Finding()
		}
		for n := range asksMost {
			rule := fmt.Sprintf("/%x/%s", r.Uint64(), strings.Repeat("y", 250))
			f.asks = append(f.asks[:min(n, len(f.asks))], []string{rule})
		}
		b, err := f.MarshalBinary()
		if err != nil || len(b) > findingBytes || f.UnmarshalBinary(b) != nil {
			t.Fatalf("%d bytes, %v", len(b), err)
		}
		h.Learn(fmt.Sprintf("%s/%c%c/%d/", host, 'a'+i%26, 'a'+i/26, i), &f)
		h.Answered(host+fmt.Sprint("/", i), 404)
	}
	b, err := h.MarshalBinary()
	if err != nil || len(b) > hostBytes || len(b) < hostBytes/2 {
		t.Errorf("%d bytes, %v", len(b), err)
	}
	again := &Host{}
	if err := again.UnmarshalBinary(b); err != nil || len(again.kinds) > templatesMost {
		t.Fatalf("%d templates, %v", len(again.kinds), err)
	}
	if n := len(h.kinds); n != templatesMost {
		t.Errorf("%d templates", n)
	}
	h = &Host{}
	for range agree {
		h.Learn(host+"/a/b", finding([]string{"\x01/x/\x06"}, []string{"\x01/y/\x06"}, []string{"\x01/z/\x06"}))
	}
	if urls := h.Expand(host+"/a/b", s.HTML); len(urls) != expandMost {
		t.Errorf("%d URLs", len(urls))
	}
}

func TestCorruptBytes(t *testing.T) {
	h := knowing(host+"/a/b", "/x", "/y/\x0e")
	b, _ := h.MarshalBinary()
	if err := (&Host{}).UnmarshalBinary(nil); err != nil {
		t.Error(err)
	}
	for i := range b {
		if err := (&Host{}).UnmarshalBinary(b[:i]); i > 0 && !errors.Is(err, ErrCorrupt) {
			t.Errorf("cut at %d: %v", i, err)
		}
	}
	f := finding([]string{"/x"})
	c, _ := f.MarshalBinary()
	for _, bad := range [][]byte{nil, append(c[:len(c):len(c)], 0), {2}, make([]byte, findingBytes+1)} {
		if err := (&Finding{}).UnmarshalBinary(bad); !errors.Is(err, ErrCorrupt) {
			t.Errorf("%q: %v", bad, err)
		}
	}
}

func TestRulesThatAreNone(t *testing.T) {
	for _, rule := range []string{"", "x", "//\x02\x01", "javascript://a/b", "ftp://a/b", "http:///b", "http://a",
		"/a b", "/\x00", "/\x04a", "/\x04a\x04b\x03\x03", "/\x04\x02\x03", "/\x05a\x0eb\x03", "/a\x0c", "/\x03",
		"/\x16", "http://\x06/a", "http://a\x0e.test/", "/é", "/\x7f", "/" + strings.Repeat("a", ruleBytes)} {
		if isRule(rule) {
			t.Errorf("%q is one", rule)
		}
	}
	for _, rule := range []string{"/", "/a?b=c", "\x0ca", "\x01\x0ca", "https://a:8080/b", "/\x02",
		"/\x04é \x05a\x03\x06\x03.js"} {
		if !isRule(rule) {
			t.Errorf("%q is none", rule)
		}
	}
}
