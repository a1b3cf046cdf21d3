package template

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"henro/actors/revisit"
)

func TestShape(t *testing.T) {
	for _, c := range []struct{ url, want string }{
		{"https://a.test", "/"},
		{"https://a.test/", "/"},
		{"https://a.test/about", "/about"},
		{"https://a.test/item/17", "/item/<n>"},
		{"https://a.test/item/17/", "/item/<n>/"},
		{"https://a.test/shop/item-3.html", "/shop/item-<n>.html"},
		{"https://a.test/shop/list?p=2", "/shop/list?p=<n>"},
		{"https://a.test/shop/", "/shop/"},
		{"https://a.test/shop/index.html", "/shop/index.html"},
		{"https://a.test/forum/topic12", "/forum/topic<n>"},
		{"https://a.test/2024-05-03/a.html", "/<date>/<word>.html"},
		{"https://a.test/2024/05/03/on-the-air", "/<n>/<n>/<n>/<word>"},
		{"https://a.test/c/0a3f99e1", "/c/<hex>"},
		{"https://a.test/c/facade01.", "/c/<word>"},
		{"https://a.test/u/6ba7b810-9dad-11d1-80b4-00c04fd430c8", "/u/<uuid>"},
		{"https://a.test/blog/on-crawling", "/blog/<word>"},
		{"https://a.test/on-how-crawlers-came-to-be", "/<word>"},
		{"https://a.test/wiki/%E6%9D%B1%E4%BA%AC", "/wiki/<word>"},
		{"https://a.test/%E6%9D%B1/x", "/<word>/<word>"},
		{"https://a.test/l?p=2&sort=up&q=", "/l?p=<n>&q=&sort=<word>"},
		{"https://a.test/l?sort=up&p=17&q=", "/l?p=<n>&q=&sort=<word>"},
		{"https://a.test/l?flag", "/l?flag"},
		{"https://a.test/?17", "/?<n>"},
		{"https://a.test/x/2024-5-03", "/x/<word>"},
		{"products/adonisjs", "/products/<word>"},
		{"https://a.test/a/" + strings.Repeat("b/", 100), "/a/*"},
		{"https://a.test/" + strings.Repeat("b", 19) + strings.Repeat("/b", 100), "/" + strings.Repeat("b", 19) + "/*"},
	} {
		if got := Shape(c.url); got != c.want {
			t.Errorf("%s: %s, want %s", c.url, got, c.want)
		}
	}
}

func FuzzShape(f *testing.F) {
	f.Add("https://a.test/x?p=1")
	f.Fuzz(func(t *testing.T, url string) {
		if shape := Shape(url); len(shape) > shapeBytes || shape == "" || shape[0] != '/' || shape != Shape(url) {
			t.Errorf("%q: %q", url, shape)
		}
	})
}

func TestGroupsAreBoundedAndAURLStaysInItsGroup(t *testing.T) {
	g := New(time.Unix(1e9, 0))
	url := func(i int) string {
		return fmt.Sprintf("https://a.test/%c%c/%c/7", 'a'+i%26, 'a'+i/26%26, 'a'+i/676%26)
	}
	first := map[string]string{}
	for range 2 {
		for i := range 5000 {
			shape := g.Of(url(i)).Shape
			if was, known := first[url(i)]; known && was != shape {
				t.Fatalf("%s was in %s and is in %s", url(i), was, shape)
			}
			first[url(i)] = shape
		}
	}
	if n := len(g.All()); n != Most {
		t.Errorf("%d groups, want %d", n, Most)
	}
	if g.Of("https://a.test/never/seen/1").Shape != rest {
		t.Error("no group for what found none")
	}
	b, err := g.MarshalBinary()
	if err != nil || len(b) > 64*500 {
		t.Fatalf("%d bytes, %v", len(b), err)
	}
	var read Groups
	if err := read.UnmarshalBinary(b); err != nil || !slices.Equal(read.All(), g.All()) || read.since != g.since {
		t.Errorf("another is read than was written: %v", err)
	}
	for i := range b {
		if err := new(Groups).UnmarshalBinary(b[:i]); err == nil {
			t.Fatalf("the first %d of %d bytes are read without an error", i, len(b))
		}
	}
}

func TestASampleIsAsLargeAsWanted(t *testing.T) {
	g := New(time.Unix(1e9, 0))
	url := func(i int) string { return fmt.Sprintf("https://a.test/item/%d", i) }
	for i := range 10_000 {
		g.Of(url(i)).Add(0)
	}
	n := 0
	for i := range 10_000 {
		if g.Of(url(i)).Representative(url(i), 160) {
			n++
		}
	}
	if n < 120 || n > 200 {
		t.Errorf("%d representatives, want some 160", n)
	}
	small := g.Of("https://a.test/about")
	if small.Add(0); small.Representative("https://a.test/about", 160) {
		t.Error("the only page of a group represents it")
	}
}

func TestAGroupIsBelievedMoreThanItsHostOnceItIsKnown(t *testing.T) {
	const day = 24 * time.Hour
	host := revisit.Prior{Mean: 30 * day, Spread: 2, Pages: 1000}
	g := New(time.Unix(1e9, 0)).Of("https://a.test/item/1")
	if g.Center(30*day) != 30*day || g.Prior(host) != host {
		t.Error("nothing is known of the group, and it is not that of the host")
	}
	for range 100 {
		g.Add(day)
	}
	if c := g.Center(30 * day); c < day*9/10 || c > day*3/2 {
		t.Errorf("the group changes every %v, want about a day", c)
	}
	if p := g.Prior(host); p.Mean > day*3/2 || p.Spread > 1 {
		t.Errorf("prior %+v", p)
	}
	for range 100 {
		g.Remove(day)
	}
	if g.Pages != 0 || g.Center(30*day) != 30*day {
		t.Error("what was taken back is still believed")
	}
}

func TestMemoryKnowsWhatItWasShownLast(t *testing.T) {
	var m Memory
	fingerprint := func(i int) uint64 { return uint64(i) * 0x9e3779b97f4a7c15 }
	wrong := 0
	for i := range 40_000 {
		if !m.Add(fingerprint(i)) {
			wrong++
		}
		if last := i - memoryMost/2 + 1; last >= 0 && m.Add(fingerprint(last)) { // which is remembered anew, too
			t.Fatalf("%d is forgotten when %d is there", last, i)
		}
	}
	if wrong > 2000 {
		t.Errorf("%d of 40,000 new ones were taken for known", wrong)
	}
}
