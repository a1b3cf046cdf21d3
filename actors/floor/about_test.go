package floor

import (
	"strings"
	"testing"
)

func TestGlob(t *testing.T) {
	for _, c := range []struct {
		pattern, name string
		fits          bool
	}{
		{"", "", true}, {"", "a", false}, {"*", "", true}, {"*", "a/b", true}, {"a*", "a", true},
		{"a*b*c", "a/b/b/c", true},
		{"a*b*c", "acb", false}, {"?", "a", true}, {"?", "", false}, {"a?c", "abc", true},
		{"*.example.com", "www.example.com", true},
		{"*.example.com", "example.com", false}, {"**", "x", true}, {"*x", "axbxc", false}, {"*x*", "axbxc", true},
	} {
		if glob(c.pattern, c.name) != c.fits {
			t.Errorf("glob(%q, %q) is not %v", c.pattern, c.name, c.fits)
		}
	}
	if !globPath("host/*.example.com", "master/hosts/host/a.example.com") || globPath("ost/*", "master/host/x") {
		t.Error("a pattern should fit what follows a slash, and only that")
	}
	// Going back to every star instead of the last would not end within the life of the test.
	if glob(strings.Repeat("a*", 100)+"b", strings.Repeat("a", 1000)) {
		t.Error("no b to be found")
	}
}

func FuzzGlob(f *testing.F) {
	f.Add("a*b", "axb")
	f.Add("**?", "x")
	f.Fuzz(func(t *testing.T, pattern, name string) {
		if len(pattern) > 12 || len(name) > 24 {
			return
		}
		if got, want := glob(pattern, name), slowGlob(pattern, name); got != want {
			t.Errorf("glob(%q, %q) = %v", pattern, name, got)
		}
	})
}

// slowGlob is the definition.
func slowGlob(pattern, name string) bool {
	if pattern == "" {
		return name == ""
	}
	if pattern[0] == '*' {
		for i := range len(name) + 1 {
			if slowGlob(pattern[1:], name[i:]) {
				return true
			}
		}
		return false
	}
	return name != "" && (pattern[0] == '?' || pattern[0] == name[0]) && slowGlob(pattern[1:], name[1:])
}

func TestAboutIsBounded(t *testing.T) {
	type page struct{ URL string }
	type batch struct {
		Batch uint64
		Pages []page
		Deep  *batch
	}
	b := &batch{Batch: 3}
	b.Deep = b // a circle
	for range 10_000 {
		b.Pages = append(b.Pages, page{URL: "http://a.example/some/page"})
	}
	b.Pages[0].URL, b.Pages[1].URL = strings.Repeat("u", 300), strings.Repeat("v", 300)
	tr := NewTracer(TracerOptions{})
	if got := tr.about(b); len(got) > aboutLength+10 || !strings.HasPrefix(got, "batch=3 url=uuu") ||
		!strings.HasSuffix(got, " …") {
		t.Errorf("about %q", got)
	}
	for _, m := range []any{nil, 7, "x", (*batch)(nil), struct{ URL string }{"u"}} {
		tr.about(m)
	}
}
