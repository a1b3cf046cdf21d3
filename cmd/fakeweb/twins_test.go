package fakeweb

import (
	"bytes"
	"net/url"
	"strings"
	"testing"
	"testing/synctest"

	"henro/slave/charset"
	"henro/slave/links"
)

func twinOptions() Options {
	return Options{
		Seed: 8, Hosts: 30, Domains: 7, Pages: 25, CrossShare: 0.1, RedirectShare: 0.05, Japanese: 0.3,
		Errors: Errors{NotFound: 0.05}, TrivialShare: 0.3, Traps: Traps{SoftNotFound: 0.2},
		Twins: Twins{Aliases: 0.3, Mirrors: 0.4, Dust: 0.4, Variants: 0.6, Lookalikes: 0.5,
			Near: 0.5, Templates: 0.3, Parked: 0.2, Fronts: 0.3,
			Translations: 0.3, Moved: 0.3, Counters: 0.2},
	}
}

// TestLikeIsWhatThePagesSay compares the truth about twins with the main texts of all pages that a crawl reaches.
func TestLikeIsWhatThePagesSay(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWeb(t, twinOptions())
		c := client(t, w)
		truth, err := w.Reachable(Crawl{Seeds: w.Seeds(), Scope: AnyHost, Depth: -1})
		if err != nil {
			t.Fatal(err)
		}
		kinds := map[string]int{}
		texts, names := map[string]string{}, map[string]string{} // by what Like names, and the other way
		near := map[string]Likeness{}
		for u := range truth.Fetched {
			l, err := w.Like(u)
			if err != nil {
				t.Fatal(err)
			}
			res, body := get(t, c, u)
			if res.StatusCode != 200 {
				continue
			}
			if l.Kind == "" {
				t.Errorf("%s answers 200 and is like nothing", u)
			}
			kinds[l.Kind]++
			encoding, _ := charset.Detect(res.Header.Get("Content-Type"), body)
			decoded, err := charset.Decode(body, encoding)
			if err != nil {
				t.Fatal(err)
			}
			var d links.Document
			d.Scan(decoded, links.DefaultOptions())
			text := string(d.Text)
			if before, known := texts[l.Text]; known && before != text {
				t.Errorf("%s: text %s is another:\n%s\n%s", u, l.Text, before, text)
			}
			if before, known := names[text]; known && before != l.Text && l.Kind != "counter" { // at one moment
				t.Errorf("%s: its text is %s and %s", u, before, l.Text)
			}
			texts[l.Text], names[text] = text, l.Text
			if l.Near != "" {
				near[l.Text] = l
			}
		}
		for _, kind := range strings.Fields("page alias mirror dust lookalike near soft parked front counter " +
			"translation") {
			if kinds[kind] == 0 {
				t.Errorf("no %s: %v", kind, kinds)
			}
		}
		compared := 0
		for text, l := range near {
			before, known := texts[l.Near]
			if !known {
				continue
			}
			compared++
			a, b := strings.Fields(before), strings.Fields(texts[text])
			differ := 0
			for i := range min(len(a), len(b)) {
				if a[i] != b[i] {
					differ++
				}
			}
			if len(a) != len(b) || differ != l.Words {
				t.Errorf("%s: %d of %d words differ, not %d", text, differ, len(a), l.Words)
			}
		}
		if compared < 20 {
			t.Errorf("%d near-duplicates compared: %v", compared, kinds)
		}
		t.Logf("%v, %d texts", kinds, len(texts))
	})
}

func TestLinksOfTwinsAreTheOnesTheirTruthNames(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWeb(t, twinOptions())
		c := client(t, w)
		settings := Crawl{Seeds: w.Seeds(), Scope: AnyHost, Depth: -1}
		truth, err := w.Reachable(settings)
		if err != nil {
			t.Fatal(err)
		}
		for u := range truth.Fetched {
			p, err := w.Page(u, settings.At)
			if err != nil {
				t.Fatal(err)
			}
			if len(p.Links) == 0 {
				continue
			}
			_, body := get(t, c, u)
			parsed, err := url.Parse(u)
			if err != nil {
				t.Fatal(err)
			}
			h, _ := w.hostNamed(parsed.Hostname())
			encoding := h.Charset
			if bytes.Contains([]byte(u), []byte(mirrorFolder+"/")) {
				encoding = w.inMirror(&h, []byte(parsed.RequestURI())).Charset
			}
			found := extract(t, u, body, encoding)
			for _, l := range p.Links {
				if !found[l] {
					t.Errorf("%s does not have the link %v", u, l)
				}
				delete(found, l)
			}
			for l := range found {
				t.Errorf("%s has the link %v, which its truth does not name", u, l)
			}
		}
	})
}
