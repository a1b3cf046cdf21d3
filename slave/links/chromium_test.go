package links

import (
	"strings"
	"testing"

	"henro/messages/outlink"
	"henro/messages/weburl"
)

// chromium lists where the answers differ and why, by page and kind.
var chromium = map[string]string{
	"deb0610 a": "misnested <b> inside an unclosed <a>: the adoption agency algorithm makes two elements of one",
}

// The same links as Chromium finds: at least 98 % of each kind, and every page that differs is listed.
func TestSameAsChromium(t *testing.T) {
	type score struct{ agree, all int }
	scores := map[string]*score{}
	listed := map[string]bool{}
	compare := func(p page, what string, got, want []string) {
		s := scores[what]
		if s == nil {
			s = &score{}
			scores[what] = s
		}
		s.all += max(len(got), len(want))
		same := inBoth(got, want)
		s.agree += same
		if same == max(len(got), len(want)) {
			return
		}
		if key := p.ID + " " + what; chromium[key] != "" {
			listed[key] = true
			return
		}
		t.Errorf("%s %s: %s: %s", p.ID, what, p.URL, difference(got, want))
	}
	o := DefaultOptions()
	o.Fragments = true
	var d Document
	all := pages(t)
	for _, p := range all {
		d.Scan(p.html, o)
		base := p.URL
		if d.Base != "" {
			if href, err := weburl.Href(d.Base, p.URL); err == nil {
				base = href
			}
		}
		compare(p, "base", []string{base}, []string{p.Expect.BaseURI})
		compare(p, "title", []string{d.Title}, []string{p.Expect.Title})
		got := map[string][]string{}
		for _, ref := range d.Links {
			href, err := weburl.HrefIn(ref.Raw, base, p.enc)
			if err != nil {
				continue
			}
			what := ref.Kind.String()
			switch ref.Kind {
			case outlink.Style, outlink.Icon, outlink.Manifest, outlink.Font, outlink.Other, outlink.Script:
				what = "link" // scripts too: a link element may preload one
			case outlink.Iframe:
				what = "frame"
			case outlink.Area:
				what = "a"
			}
			if ref.Kind == outlink.Anchor && ref.Flags&outlink.NoFollow != 0 {
				href += " nofollow"
			}
			got[what] = append(got[what], href)
		}
		var a, link, form, refresh []string
		for _, pair := range p.Expect.A {
			if strings.Contains(pair[1], "nofollow") && web(pair[0]) {
				pair[0] += " nofollow"
			}
			a = append(a, pair[0])
		}
		for _, pair := range p.Expect.Link {
			if relKind([]byte(pair[1]), nil) != outlink.Unknown {
				link = append(link, pair[0])
			}
		}
		for _, pair := range p.Expect.Form {
			form = append(form, pair[0])
		}
		for _, content := range p.Expect.MetaRefresh {
			if _, raw, ok := strings.Cut(content, "url="); ok {
				if href, err := weburl.Href(raw, base); err == nil {
					refresh = append(refresh, href)
				}
			}
		}
		for what, want := range map[string][]string{"a": a, "link": append(link, p.Expect.Script...),
			"image": p.Expect.Img,
			"frame": p.Expect.Frame, "form": form, "refresh": refresh} {
			compare(p, what, got[what], onlyWeb(want))
		}
	}
	for key := range chromium {
		if len(all) > 0 && !listed[key] {
			t.Errorf("%s is listed but does not differ", key)
		}
	}
	for what, s := range scores {
		t.Logf("%-8s %6d of %6d agree", what, s.agree, s.all)
		if float64(s.agree) < 0.98*float64(s.all) {
			t.Errorf("%s: only %d of %d agree", what, s.agree, s.all)
		}
	}
}

func web(url string) bool { return strings.HasPrefix(url, "http:") || strings.HasPrefix(url, "https:") }

func onlyWeb(urls []string) (kept []string) {
	for _, url := range urls {
		if web(url) {
			kept = append(kept, url)
		}
	}
	return kept
}

// inBoth is the size of the intersection of two bags.
func inBoth(a, b []string) (n int) {
	count := map[string]int{}
	for _, s := range a {
		count[s]++
	}
	for _, s := range b {
		if count[s] > 0 {
			count[s]--
			n++
		}
	}
	return n
}

func difference(got, want []string) string {
	count := map[string]int{}
	for _, s := range got {
		count[s]++
	}
	for _, s := range want {
		count[s]--
	}
	var out strings.Builder
	shown := 0
	for s, n := range count {
		if n != 0 && shown < 5 {
			if shown++; n > 0 {
				out.WriteString(" +" + s)
			} else {
				out.WriteString(" -" + s)
			}
		}
	}
	return out.String()
}
