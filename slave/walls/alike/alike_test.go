package alike

import (
	"fmt"
	"math/rand/v2"
	"net/http"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"henro/slave/links"
	"henro/slave/walls"
)

const guard = "<title>Hm</title><p>Nothing for you today, traveller. Number 4711."

const shell = "<noscript>You need to enable JavaScript to run this app.</noscript><div id=root></div>" +
	"<script src=x></script>"

// site is a host whose pages were content before.
type site struct {
	hosts *Hosts
	host  string
}

// answers is what is found of a page of the site that answers so.
func (s *site) answers(path, html string, change ...func(*walls.Page)) walls.Kind {
	p := &walls.Page{URL: "https://" + s.host + path, Known: true, Status: 200, Header: http.Header{},
		Body: []byte(html), Document: &links.Document{}}
	p.Document.Scan(p.Body, links.DefaultOptions())
	for _, c := range change {
		c(p)
	}
	return s.hosts.Look(s.host, p, false, time.Now())
}

// is is a page that is as it was.
func (s *site) is(path, html string) walls.Kind {
	return s.hosts.Look(s.host, &walls.Page{URL: "https://" + s.host + path, Known: true, Status: 200,
		Body: []byte(html), Document: &links.Document{}}, true, time.Now())
}

// ask asks for n pages that answer as html says, with the number in it, a minute apart, and returns what is found of
// the last.
func (s *site) ask(n int, html string) (k walls.Kind) {
	for i := range n {
		k = s.answers(fmt.Sprint("/", i), strings.ReplaceAll(html, "4711", fmt.Sprint(i*7919)))
		time.Sleep(time.Minute)
	}
	return k
}

func newSite() *site {
	s := &site{&Hosts{}, "https://a.example"}
	for i, page := range []string{"zero", "one", "two", "three", "four", "five", "six", "seven", "eight"} {
		s.answers(fmt.Sprint("/", i), "<p>What is said of the number of that name: "+page)
	}
	return s
}

func unknown(p *walls.Page) { p.Known = false }

func TestTheThirdPageThatAnswersTheSameIsAWall(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newSite()
		if k := s.ask(2, guard); k != walls.None {
			t.Errorf("the second: %q", k)
		}
		if k := s.answers("/1", guard); k != walls.None {
			t.Errorf("the second again: %q", k)
		}
		if k := s.answers("/2", guard); k != walls.Same {
			t.Errorf("the third: %q, want %q", k, walls.Same)
		}
		if k := s.answers("/new", guard, unknown); k != walls.Same {
			t.Errorf("a page that was never seen, in the row: %q", k)
		}
		if k := (&site{s.hosts, "https://b.example"}).answers("/3", guard); k != walls.None {
			t.Errorf("another host: %q", k)
		}
	})
}

func TestWhatEndsARow(t *testing.T) {
	const other = "<title>News</title><p>The fair begins on Saturday at ten."
	for _, tt := range []struct {
		name string
		do   func(*site)
		want walls.Kind
	}{
		{"nothing", func(s *site) {}, walls.Same},
		{"another page", func(s *site) { s.answers("/x", other) }, walls.None},
		{"a long page", func(s *site) { s.answers("/x", strings.Repeat(other, 50)) }, walls.None},
		{"a page that is as it was", func(s *site) { s.is("/x", other) }, walls.None},
		{"the server says that one is", func(s *site) {
			s.hosts.Look(s.host, &walls.Page{URL: "/x", Known: true, Status: 304}, true, time.Now())
		}, walls.None},
		{"the same, taken for content before", func(s *site) { s.is("/x", strings.ReplaceAll(guard, "4711", "7919")) },
			walls.Same},
		{"an hour", func(s *site) { time.Sleep(Within) }, walls.None},
		{"a page without text", func(s *site) { s.answers("/x", "<title>x</title><img src=a.png>") }, walls.Same},
		{"the shell of an application", func(s *site) {
			s.answers("/x", shell)
		}, walls.Same},
		{"a page that is missing", func(s *site) { s.answers("/x", other, func(p *walls.Page) { p.Status = 404 }) },
			walls.Same},
		{"a known wall", func(s *site) { s.answers("/x", "<title>Just a moment...</title>") }, walls.Same},
		{"no HTML", func(s *site) { s.answers("/x", "", func(p *walls.Page) { p.Document = nil }) }, walls.Same},
	} {
		synctest.Test(t, func(t *testing.T) {
			s := newSite()
			s.ask(2, guard)
			tt.do(s)
			if k := s.answers("/2", guard); k != tt.want {
				t.Errorf("%s: %q, want %q", tt.name, k, tt.want)
			}
		})
	}
}

func TestWhatIsNoWall(t *testing.T) {
	for name, html := range map[string]string{"an application": shell, "an image": "<title>Image</title><img src=a>",
		"a few letters": "<p>ok", "what is long": strings.Repeat("<p>A long page says what it says.", 90)} {
		synctest.Test(t, func(t *testing.T) {
			if k := newSite().ask(9, html); k != walls.None {
				t.Errorf("%s: %q", name, k)
			}
		})
	}
	synctest.Test(t, func(t *testing.T) {
		s := newSite()
		for i := range 9 {
			if k := s.answers(fmt.Sprint("/", i), guard, unknown); k != walls.None {
				t.Errorf("pages that were never seen: %q", k)
			}
		}
	})
}

// Pages that say the same but for their figures at each visit change all the same.
func TestPagesThatAlwaysSayTheSameAreNoWall(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := &site{&Hosts{}, "https://sensors.example"}
		for range 5 {
			if k := s.ask(9, guard); k != walls.None {
				t.Fatalf("%q", k)
			}
		}
	})
}

// A site that says the same for long is not refused for ever, and is looked at anew once it says something else.
func TestWhatLastsIsContent(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newSite()
		if k := s.ask(5, guard); k != walls.Same {
			t.Fatalf("%q", k)
		}
		time.Sleep(Lasts - 6*time.Minute)
		if k := s.answers("/6", guard); k != walls.Same {
			t.Errorf("a minute before: %q", k)
		}
		time.Sleep(time.Minute)
		for i := range 5 {
			if k := s.answers(fmt.Sprint("/", i), guard); k != walls.None {
				t.Errorf("afterwards: %q", k)
			}
			time.Sleep(24 * time.Hour)
		}
		if k := s.ask(3, "<p>Another guard is here today."); k != walls.Same {
			t.Errorf("another wall: %q", k)
		}
	})
}

// Of any number of hosts no more than Most are remembered.
func TestMemoryIsBounded(t *testing.T) {
	h := &Hosts{}
	for i := range 3 * Most {
		(&site{h, fmt.Sprint("https://h", i, ".example")}).answers("/", guard)
	}
	if n := h.runs.Len(); n != Most {
		t.Errorf("%d hosts, want %d", n, Most)
	}
}

func TestKept(t *testing.T) {
	for text, want := range map[string]string{
		"Ray 7f3a9c51e at 192.0.2.7, 10:00:03 for https://a.example/b": "xRayatfor",
		"番号4711です":     "x番号です",
		"":             "",
		"a  b":         "xab",
		"an id: 00000": "xanid:",
	} {
		if got := string(kept(nil, "x", []byte(text))); got != want {
			t.Errorf("%q: %q, want %q", text, got, want)
		}
	}
}

// What a look costs at content of hosts that take turns, short enough to be looked at.
func BenchmarkLook(b *testing.B) {
	h := &Hosts{}
	text := strings.Repeat("The distant student replaces the carpenter of room 12 today. ", 25)
	pages := make([]walls.Page, 1000)
	for i := range pages {
		body := []byte(fmt.Sprint("<title>Of the town</title><p>", i, text))
		pages[i] = walls.Page{URL: fmt.Sprint("https://h", i%100, ".example/guide/", i), Status: 200,
			Header: http.Header{}, Body: body, Document: &links.Document{}}
		pages[i].Document.Scan(body, links.DefaultOptions())
	}
	b.ReportAllocs()
	for i := range b.N {
		p := &pages[i%len(pages)]
		if h.Look(p.URL[:20], p, false, time.Time{}) != walls.None {
			b.Fatal(p.URL)
		}
	}
}

// Whatever is sent, a wall needs Enough known pages, and nothing is changed.
func FuzzLook(f *testing.F) {
	f.Add("<p>Nothing for you today.", uint64(1))
	f.Fuzz(func(t *testing.T, html string, seed uint64) {
		s, r := newSite(), rand.New(rand.NewPCG(seed, 0))
		known := map[int]bool{}
		for range 20 {
			n := r.IntN(5)
			new := r.IntN(3) == 0
			k := s.answers(fmt.Sprint("/", n), html, func(p *walls.Page) { p.Known = !new })
			if !new {
				known[n] = true
			}
			if k == walls.Same && len(known) < Enough {
				t.Errorf("a wall of %d pages", len(known))
			}
		}
	})
}
