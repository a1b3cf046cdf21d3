package traps

import (
	"errors"
	"fmt"
	"strings"
	"testing"
)

func TestLinksThatLeadNowhere(t *testing.T) {
	o := DefaultOptions()
	const host = "https://example.org"
	for _, c := range []struct {
		sentence string
		url      string
		want     Verdict
	}{
		{"an ordinary page", host + "/docs/guide/install.html", Fine},
		{"the root", host + "/", Fine},
		{"a moment written in segments", host + "/log/11/11/11/11/11/", Fine},
		{"a language twice, as relative links make it", host + "/ja/docs/ja/docs/", Fine},
		{"facets of a shop", host + "/list?c=1&c=2&c=3&c=4&c=5&size=xl&sort=price", Fine},
		{"a URL of a page and a half", host + "/" + strings.Repeat("x", 4096), TooLong},
		{"thirty-two segments", host + path(32), Fine},
		{"thirty-three segments", host + path(33), TooDeep},
		{"a link resolved against itself", host + "/a/deeper/deeper/deeper/deeper/", Repeating},
		{"two segments in turns", host + "/a/b/a/b/a/b/a/b/c", Repeating},
		{"the same pair time and again", host + "/p?x=1&more=yes&more=yes&more=yes&more=yes", Repeating},
		{"forty-one pairs", host + "/p?" + pairs(41), TooMany},
		{"more segments than are looked at", host + strings.Repeat("/s", 1000), TooDeep},
		{"a name without a path", host, Fine},
	} {
		if got := o.Judge(c.url); got != c.want {
			t.Errorf("%s: %v, want %v", c.sentence, got, c.want)
		}
	}
	var off Options
	if got := off.Judge(host + strings.Repeat("/s", 1000) + "?" + pairs(1000)); got != Fine {
		t.Errorf("zero options switch every rule off, not: %v", got)
	}
}

func path(n int) (p string) {
	for i := range n {
		p += fmt.Sprintf("/s%d", i)
	}
	return p
}

func pairs(n int) string {
	var p []string
	for i := range n {
		p = append(p, fmt.Sprintf("p%d=x", i))
	}
	return strings.Join(p, "&")
}

func TestShapes(t *testing.T) {
	for _, c := range []struct {
		a, b string
		same bool
	}{
		{"http://a.test/calendar/2031/12", "http://a.test/calendar/2032/1", true},
		{"http://a.test/list?page=9", "http://a.test/list?page=10", true},
		{"http://a.test/maze/7?sid=00ff00ff00ff00ff", "http://a.test/maze/12?sid=a0b1c2d3e4f5a6b7", true},
		{"http://a.test/news/cats", "http://a.test/news/dogs", false},
		{"http://a.test/part1", "http://a.test/part2", false}, // a name with a number in it: each is somebody's
		{"http://a.test/1", "http://a.test/1/2", false},
		{"http://a.test/1", "http://b.test/1", false},
		{"", "", true},
	} {
		if got := SameShape(c.a, c.b); got != c.same {
			t.Errorf("%q and %q: same shape %v, want %v", c.a, c.b, got, c.same)
		}
	}
	o := DefaultOptions()
	if o.Growing("http://a.test/p/1", "http://a.test/p/2", 200) ||
		!o.Growing("http://a.test/p/1", "http://a.test/p/2", 201) {
		t.Error("growth is let go on to depth 200 and no further")
	}
}

// A calendar read breadth first, by the links of fakeweb's: the next month, the one before, the same a year on.
func TestACalendarEnds(t *testing.T) {
	o := DefaultOptions()
	url := func(n int) string { return fmt.Sprintf("http://a.test/calendar/%d/%d", n/12, n%12+1) }
	type month struct{ n, depth int }
	seen := map[int]bool{24000: true}
	queue := []month{{24000, 1}}
	for len(queue) > 0 {
		m := queue[0]
		queue = queue[1:]
		for _, to := range []int{m.n + 1, m.n - 1, m.n + 12} {
			if to >= 0 && !seen[to] && !o.Growing(url(m.n), url(to), m.depth+1) {
				seen[to] = true
				queue = append(queue, month{to, m.depth + 1})
			}
		}
	}
	if len(seen) < 1000 || len(seen) > 3000 {
		t.Errorf("%d months were taken, want some 2,600: every one within 200 links", len(seen))
	}
}

func TestSessions(t *testing.T) {
	o := DefaultOptions()
	var s Sessions
	if s.Judge(&o, "http://a.test/maze/1"); s.Found() {
		t.Error("a session was found where none is")
	}
	taken := 0
	for i := range 1000 {
		url := fmt.Sprintf("http://a.test/maze/1?sid=%016x", i+1)
		if s.Judge(&o, url) == Fine {
			taken++
			if s.Judge(&o, url) != Fine {
				t.Fatal("what was taken once is taken again")
			}
		}
	}
	if taken != o.MaxSessions || !s.Found() {
		t.Errorf("%d session ids of one page were taken, want %d", taken, o.MaxSessions)
	}
	for _, url := range []string{"http://a.test/maze/2?sid=00ff00ff00ff00ff", "http://a.test/list?size=3",
		"http://a.test/(x)/"} {
		if v := s.Judge(&o, url); v != Fine {
			t.Errorf("%s: %v", url, v)
		}
	}
	for i := range 3 * sessionsKept {
		s.Judge(&o, fmt.Sprintf("http://a.test/room/%d?PHPSESSID=%016x", i, i))
	}
	if len(s.seen) > sessionsKept {
		t.Errorf("%d pages are remembered, want at most %d", len(s.seen), sessionsKept)
	}
}

func FuzzJudge(f *testing.F) {
	f.Add("http://a.test/a/a/a/a", "http://a.test/1?x=1&x=1")
	f.Add("", "://")
	f.Add("http://a.test", "/?&&&&&&")
	f.Fuzz(func(t *testing.T, a, b string) {
		o := DefaultOptions()
		var s Sessions
		o.Judge(a)
		s.Judge(&o, b)
		if SameShape(a, b) != SameShape(b, a) || !SameShape(a, a) {
			t.Error("being of one shape is mutual")
		}
	})
}

func BenchmarkJudge(b *testing.B) {
	o := DefaultOptions()
	for _, c := range []struct{ name, url string }{
		{"ordinary", "https://www.example.org/docs/guide/install.html"},
		{"query", "https://www.example.org/item?id=4711&sort=price&page=3"},
		{"deep", "https://www.example.org/a/b/c/d/e/f/g/h/i/j.html"},
	} {
		b.Run(c.name, func(b *testing.B) {
			var s Sessions
			for b.Loop() {
				if o.Judge(c.url) != Fine || s.Judge(&o, c.url) != Fine {
					b.Fatal("an ordinary link")
				}
			}
		})
	}
}

func TestSessionsSurviveARestart(t *testing.T) {
	o := DefaultOptions()
	o.MaxSessions = 2
	var before, after Sessions
	for i := range 3 {
		before.Judge(&o, fmt.Sprintf("http://a.example/room?sid=%032x", i))
	}
	b, err := before.MarshalBinary()
	if err != nil {
		t.Fatal(err)
	}
	if err := after.UnmarshalBinary(b); err != nil {
		t.Fatal(err)
	}
	if got := after.Judge(&o, fmt.Sprintf("http://a.example/room?sid=%032x", 0)); got != Fine {
		t.Errorf("a session id that was taken: %v", got)
	}
	if got := after.Judge(&o, fmt.Sprintf("http://a.example/room?sid=%032x", 7)); got != Session {
		t.Errorf("one too many: %v", got)
	}
	for cut := range len(b) {
		if err := after.UnmarshalBinary(b[:cut]); cut > 0 && !errors.Is(err, ErrSessions) {
			t.Errorf("%d of %d bytes: %v", cut, len(b), err)
		}
	}
}

func FuzzSessions(f *testing.F) {
	f.Add([]byte{})
	f.Add([]byte{1, 1, 2, 3, 4, 5, 6, 7, 8, 1, 1, 2, 3, 4})
	f.Fuzz(func(t *testing.T, b []byte) {
		var s, again Sessions
		if s.UnmarshalBinary(b) != nil {
			return
		}
		written, err := s.MarshalBinary()
		if err != nil {
			t.Fatal(err)
		}
		if err := again.UnmarshalBinary(written); err != nil {
			t.Fatalf("%x: %v", written, err)
		}
	})
}
