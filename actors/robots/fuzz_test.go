package robots

import (
	"strings"
	"testing"
)

// slowAllowed is the plain reading of RFC 9309 2.2.2: try every rule, letter by letter.
func slowAllowed(r *Rules, uri string) bool {
	path := normalPath(uri, nil)
	weight, allow := 0, true
	for _, rule := range r.rules {
		if w := len(rule.pattern); slowMatch(rule.pattern, path) &&
			heavier(int32(w), rule.allow, int32(weight), allow) {
			weight, allow = w, rule.allow
		}
	}
	return allow
}

// slowMatch keeps, for each letter of the pattern, the set of places in path that can be reached.
func slowMatch(pattern, path string) bool {
	reached := make([]bool, len(path)+1)
	reached[0] = true
	for i, c := range []byte(pattern) {
		next := make([]bool, len(path)+1)
		any := false
		switch {
		case c == '$' && i == len(pattern)-1:
			return reached[len(path)]
		case c == '*':
			for j := range next {
				any = any || reached[j]
				next[j] = any
			}
		default:
			for j := range len(path) {
				next[j+1] = reached[j] && path[j] == c
				any = any || next[j+1]
			}
		}
		if reached = next; !any {
			return false
		}
	}
	return true
}

func FuzzParse(f *testing.F) {
	f.Add([]byte("User-agent: *\nDisallow: /a*b$\nAllow: /a\n"), "/aXb")
	f.Add([]byte("\xef\xbb\xbfuser agent: henro\rdissallow /%7e\r\ncrawl-delay: 1.5\n\nSitemap: http://a/s.xml"), "/~x")
	f.Add([]byte("User-agent: henro\nUser-agent: *\nAllow: /*%2a\nDisallow: /**$\nDisallow: /x$y"), "/*?$")
	f.Add([]byte("User-agent: a\nCrawl-delay: 1\nUser-agent: henro\nAllow: /index.html\nDisallow: /"), "/")
	f.Add([]byte("User-agent: *\nAllow: /a**\nDisallow: /ab\nDisallow: /a*b*\nAllow: /a*c"), "/abc")
	f.Fuzz(func(t *testing.T, body []byte, uri string) {
		r := Parse(body, "henro")
		if len(uri) < 1000 && len(body) < 10_000 {
			if got, want := r.Allowed(uri), slowAllowed(r, uri); got != want {
				t.Fatalf("%q: allowed = %v, one by one %v: %+v", uri, got, want, r.rules)
			}
		}
		same(t, r, uri, "/", "/a", strings.ToUpper(uri))
	})
}

func FuzzUnmarshal(f *testing.F) {
	for _, r := range []*Rules{
		AllowAll(), Unreached(),
		Parse([]byte("User-agent: *\nDisallow: /a*b$\nAllow: /a\nCrawl-delay: 3\nSitemap: /s"), "henro"),
		Parse([]byte("User-agent: *\nContent-Usage: /a train-ai=n\nContent-Signal: search=yes"), "henro").
			Reserve([]byte(`[{"location":"/*","tdm-reservation":1}]`)),
	} {
		b, _ := r.MarshalBinary()
		f.Add(b, "/a")
	}
	f.Fuzz(func(t *testing.T, data []byte, uri string) {
		var r Rules
		if r.UnmarshalBinary(data) != nil {
			return
		}
		b, err := r.MarshalBinary()
		if err != nil || string(b) != string(data) && !r.cut {
			t.Fatalf("%v: %q became %q", err, data, b)
		}
		same(t, &r, uri)
	})
}

func FuzzDirectives(f *testing.F) {
	f.Add("henro: noindex, unavailable_after: Friday, 25-Jun-10 15:00:00 UTC")
	f.Fuzz(func(t *testing.T, value string) {
		ParseTag([]string{value}, "henro")
	})
}
