package living

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
)

func TestMake(t *testing.T) {
	for _, c := range []struct{ rule, url, want string }{
		{"/x/\x06", "/a/b.html", "/x/a/b.html"},
		{"/x/\x06", "/a/b/", "/x/a/b"},
		{"/x/\x06", "/", "/x/index"},
		{"/x/\x07", "/a/b.html", "/x/a/b"},
		{"/x/\x07", "/a/b/", "/x/a/b/index"},
		{"/x/\x08.js", "/a/B.html", "/x/a_B.js"},
		{"/x/\x08.js", "/", "/x/index.js"},
		{"/x/\x09.js", "/a/B.html", "/x/a_b.js"},
		{"/x/\x0a.js", "/a/b.html", "/x/a-b.js"},
		{"/x/\x0b.js", "/a/b.html", "/x/a.b.js"},
		{"\x0cx", "/a/b.html", "/a/x"},
		{"\x0cx", "/a/b/", "/a/b/x"},
		{"\x0cx", "/b", "/x"},
		{"/x/\x0d", "/a/b.html", "/x/b.html"},
		{"/x/\x0d", "/", ""},
		{"/x/\x0e", "/a/b.html", "/x/b"},
		{"/x/\x0e", "/", ""},
		{"/x/\x0f", "/a/b17.html", "/x/17"},
		{"/x/\x0f", "/a/b.html", ""},
		{"/x/\x10/\x11", "/a/b/c", "/x/a/b"},
		{"/x/\x12", "/a/b/c", ""},
		{"/x/\x05q\x03", "/a?p=1&q=2", "/x/2"},
		{"/x/\x05q\x03", "/a?p=1&q=", ""},
		{"/x/\x04\"\x08\":\"\x03.js", "/a/b.html", "/x/h4_5-6.js"},
		{"/x/\x04\"\x05q\x03_b\":\"\x03.js", "/c?q=a", "/x/h4_5-6.js"},
		{"/x/\x04\"none\":\"\x03.js", "/a/b.html", ""},
		{"/x/\x04\"long\":\"\x03.js", "/a/b.html", ""},
		{"/x?\x02", "/a/b.html", ""},
		{"/" + strings.Repeat("\x06", 20), "/" + strings.Repeat("a", 120), ""},
	} {
		html := `{"a_b":"h4_5-6.7","a_b":"second","long":"` + strings.Repeat("a", wordBytes+1) + `"}`
		g, ok := newPage(host+c.url, []byte(html))
		got, made := g.make(c.rule, &g.place)
		if !ok || made != (c.want != "") || made && got != host+c.want {
			t.Errorf("%s of %s: %s, want %s", show(c.rule), c.url, got, c.want)
		}
		if made && !matches(c.rule, got) {
			t.Errorf("%s does not match %s", show(c.rule), got)
		}
		if c.rule[0] != folder && matches(c.rule, host+"/other/"+c.want) || matches(c.rule, host) {
			t.Errorf("%s matches what it cannot make", show(c.rule))
		}
	}
	if got, ok := (&page{}).make("https://a.test/\x0d", &place{segments: []string{"b"}}); got != "https://a.test/b" {
		t.Errorf("%s, %v", got, ok)
	}
}

// What is looked through for one page is bounded, and each word is looked for once.
func TestScans(t *testing.T) {
	g, _ := newPage(host+"/a", []byte(strings.Repeat("x", 1000)+"k1"))
	g.scans = 2500
	for i := range 100 {
		if g.behind([]byte("k")) != "1" || i > 0 && g.behind(fmt.Appendf(nil, "k%d", i)) != "" {
			t.Error(i)
		}
	}
	if g.scans < 0 || g.scans > 1000 || g.behind([]byte("x")) != "" {
		t.Errorf("%d left", g.scans)
	}
}

func TestLinks(t *testing.T) {
	html := `<a href="/b">x</a><A HREF="/no"><abbr href="/no"><a class=x
 href='c?d=e#f'><a href=d ><a href="https://other.test/b"><a href="/a"><a href="#x"><a href="/b"><a href="mailto:x">
<a href="http://[`
	g, _ := newPage(host+"/a", []byte(html))
	var got []string
	for _, p := range g.links() {
		got = append(got, p.of(whole)+"?"+p.query)
	}
	if want := []string{"b?", "c?d=e", "d?"}; !slices.Equal(got, want) {
		t.Errorf("%q, want %q", got, want)
	}
	for i := range 2 * linksMost {
		g.html = fmt.Appendf(g.html, `<a href="/%d">`, i)
	}
	if n := len(g.links()); n != linksMost {
		t.Errorf("%d links", n)
	}
}

func TestWhatIsNoPage(t *testing.T) {
	for _, url := range []string{"", "/a", "ftp://a/b", "http://a", "http:///a", host + "/a b", host + "/é",
		host + "/" + strings.Repeat("a", madeBytes)} {
		if _, ok := at(url); ok {
			t.Errorf("%q is one", url)
		}
	}
}

func TestPut(t *testing.T) {
	one := part{"\x0e", "one"}
	for _, c := range []struct{ text, want string }{
		{"/one/x_one.js", "/\x0e/x_\x0e.js"},
		{"/stone/ones/one1", "/stone/ones/one1"},
		{"/stone/one", "/stone/\x0e"},
		{"/a?\x05one\x03=one", "/a?\x05one\x03=\x0e"},
		{"/b", "/b"},
	} {
		if got := put(c.text, 0, one); got != c.want {
			t.Errorf("%q: %q, want %q", c.text, got, c.want)
		}
	}
	if got := put("http://one/one", len("http://one"), one); got != "http://one/\x0e" {
		t.Errorf("%q: a name of a host was replaced", got)
	}
}

// Of links those are compared with a URL that have most in common with it.
func TestAlike(t *testing.T) {
	g, _ := newPage(host+"/a", nil)
	for i := range 20 {
		g.html = fmt.Appendf(g.html, `<a href="/%d/assets">`, i)
	}
	g.html = append(g.html, `<a href="/deep/guide/one">`...)
	e := explainer{page: g, links: g.links()}
	e.index()
	if got := e.alike("/assets/deep_guide_one.js", 0); len(got) != linkTries || got[0] != 20 {
		t.Errorf("%v", got)
	}
}

func TestWordsThatMayComeFromThePage(t *testing.T) {
	rule := "/assets/app/\x05a-b\x03/k7/two-words/aBcD/averylongword/q"
	var got []string
	for _, word := range words(rule, 0) {
		got = append(got, rule[word.from:word.to])
	}
	if want := []string{"k7", "two-words", "aBcD"}; !slices.Equal(got, want) {
		t.Errorf("%q, want %q", got, want)
	}
}

// What is found for a page is in an order in which the end may be left out.
func TestBestRules(t *testing.T) {
	s := Sample{URL: host + "/a/b"}
	for i := range 10 {
		s.HTML = fmt.Appendf(s.HTML, `<a href="/c/n%d">`, i)
		s.Asked = append(s.Asked, fmt.Sprintf("%s/d/n%d.js", host, i))
	}
	f := s.Finding()
	for i, rules := range f.asks {
		if len(rules) < 2 || "https://docs.test"+rules[0] != s.Asked[i] || rules[1] != "\x01/d/\x0e.js" {
			t.Errorf("%q", rules)
		}
		for _, rule := range rules[1:] {
			if rule[0] != each || !hasPart(rule) {
				t.Errorf("%q explains one of many", rule)
			}
		}
	}
	s.Asked = s.Asked[:2] // most links lead to nothing that is asked for
	f = s.Finding()
	for _, rules := range f.asks {
		if slices.ContainsFunc(rules, func(rule string) bool { return rule[0] == each }) {
			t.Errorf("%q", rules)
		}
	}
	for i := range 100 {
		s.Asked = append(s.Asked, fmt.Sprintf("%s/many/%d", host, i))
	}
	if f = s.Finding(); len(f.asks) != asksMost+1 || f.asks[asksMost] != nil {
		t.Errorf("%d URLs explained", len(f.asks))
	}
	e := explainer{page: &page{html: []byte(`"ab12":"ab123" "xab12" k="ab12"`), scans: 1000}}
	if got := e.contexts("ab12"); !slices.Equal(got, []string{`"`, ` k="`, `"xab12" k="`}) {
		t.Errorf("%q", got)
	}
}

func TestExpandNamesNothingTwiceAndNotThePage(t *testing.T) {
	h := &Host{}
	for range agree {
		h.Learn(host+"/a/b", finding([]string{"/x"}, []string{"/\x06/x"}, []string{"\x01/x"}, []string{"/a/\x0d"}))
	}
	if got := h.Expand(host+"/a/b", []byte(`<a href="/c">`)); fmt.Sprint(got) != "["+host+"/x "+host+"/a/b/x]" {
		t.Errorf("%q", got)
	}
}

func TestWhatAHostHasNotWritten(t *testing.T) {
	for name, kinds := range map[string][]*kind{
		"no shape":    {{}},
		"twice":       {{shape: "/a"}, {shape: "/a"}},
		"a bad rule":  {{shape: "/a", seen: 1, samples: []sample{{asks: [][]string{{"x"}}}}}},
		"unseen ones": {{shape: "/a", samples: []sample{{}}}},
	} {
		b, _ := (&Host{kinds: kinds}).MarshalBinary()
		if err := (&Host{}).UnmarshalBinary(b); !errors.Is(err, ErrCorrupt) {
			t.Errorf("%s: %v", name, err)
		}
	}
}
