package living

import (
	"strings"
	"testing"
)

// checkURLs holds what Expand promises, whatever it was told.
func checkURLs(t *testing.T, urls []string) {
	t.Helper()
	known := map[string]bool{}
	for _, url := range urls {
		if known[url] || !strings.HasPrefix(url, "http://") && !strings.HasPrefix(url, "https://") ||
			len(url) > madeBytes || strings.IndexFunc(url, isOdd) >= 0 {
			t.Errorf("%q", url)
		}
		known[url] = true
	}
	if len(urls) > expandMost {
		t.Errorf("%d URLs", len(urls))
	}
}

// knowing is a host that has the given rules.
func knowing(url string, rules ...string) *Host {
	h := &Host{}
	for range agree {
		h.Learn(url, &Finding{asks: [][]string{rules}})
	}
	return h
}

func FuzzExpand(f *testing.F) {
	f.Add("/a/\x04\"\x08.md\":\"\x03.js", "https://docs.test/guide/one", `{"guide_one.md":"x1"}<a href="/b?c=d">`)
	f.Add("\x01\x0cx\x05c\x03", "http://a/?c=d", `<a href=//a/b/c?c=d>`)
	f.Add("https://b.test/\x04a\x05c\x03\x03", "http://a/?c=d", `ad1`)
	f.Fuzz(func(t *testing.T, rule, url, html string) {
		if !isRule(rule) {
			return
		}
		checkURLs(t, knowing(url, rule).Expand(url, []byte(html)))
	})
}

func FuzzHostUnmarshal(f *testing.F) {
	h := &Host{}
	for _, c := range sites {
		for i := range agree {
			p := c.page(i)
			s := p.sample()
			finding := s.Finding()
			h.Learn(s.URL, &finding)
		}
	}
	for _, h := range []*Host{{}, h, knowing(host+"/a/b", "/x/\x0e")} {
		b, _ := h.MarshalBinary()
		f.Add(b, host+"/a/b")
	}
	f.Fuzz(func(t *testing.T, b []byte, url string) {
		h := &Host{}
		if h.UnmarshalBinary(b) != nil {
			return
		}
		h.Decide(url, true, true)
		checkURLs(t, h.Expand(url, []byte(`<a href="/x">`)))
		h.Answered(url, 404)
		h.Answered(url, 200)
		h.Templates()
		h.Learn(url, &Finding{asks: [][]string{{"/x"}}})
		kept, err := h.MarshalBinary()
		if err != nil || len(kept) > hostBytes {
			t.Fatalf("%d bytes, %v", len(kept), err)
		}
		if err := (&Host{}).UnmarshalBinary(kept); err != nil {
			t.Fatal(err)
		}
	})
}

func FuzzFinding(f *testing.F) {
	f.Add("https://docs.test/guide/one", `{"guide_one.md":"x1"}<a href="/guide/two">`,
		"https://docs.test/a/guide_one.md.x1.js\nhttps://docs.test/guide/two.js", "words")
	f.Add("http://a/b?c=d", `<p id="d7">`, "http://e/d?_=1790000000000\nhttp://e/d7", "")
	f.Fuzz(func(t *testing.T, url, html, asked, text string) {
		s := &Sample{URL: url, HTML: []byte(html), Asked: strings.Split(asked, "\n"), RenderedText: text}
		finding := s.Finding()
		for _, rules := range finding.asks {
			for _, rule := range rules {
				if !isRule(rule) {
					t.Errorf("%q", rule)
				}
			}
		}
		b, err := finding.MarshalBinary()
		if err != nil || len(b) > findingBytes {
			t.Fatalf("%d bytes, %v", len(b), err)
		}
		var again Finding
		if err := again.UnmarshalBinary(b); err != nil {
			t.Fatalf("%q: %v", b, err)
		}
		h := &Host{}
		for range agree {
			h.Learn(url, &again)
		}
		checkURLs(t, h.Expand(url, s.HTML))
	})
}
