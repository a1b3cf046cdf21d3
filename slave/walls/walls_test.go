package walls

import (
	"net/http"
	"strings"
	"testing"

	"henro/slave/links"
)

// page is an answer with the status 200 at a page of its own, changed by options.
func page(html string, change ...func(*Page)) *Page {
	p := &Page{URL: "https://news.example.org/a/story.html", Status: 200, Header: http.Header{}, Body: []byte(html),
		Document: &links.Document{}}
	p.Document.Scan(p.Body, links.DefaultOptions())
	for _, c := range change {
		c(p)
	}
	return p
}

func status(code int) func(*Page) { return func(p *Page) { p.Status = code } }
func at(url string) func(*Page)   { return func(p *Page) { p.URL = url } }
func known(p *Page)               { p.Known = true }
func redirected(p *Page)          { p.Redirected = true }
func field(name, value string) func(*Page) {
	return func(p *Page) { http.Header(p.Header).Set(name, value) }
}

const form = `<form method=post><input name=user><input type="password" name=pass></form>`

// A wall needs signs from two places: each of these has them, and is none when one of the two is taken away.
func TestAWallHasSignsFromTwoPlaces(t *testing.T) {
	long := strings.Repeat("<p>There is more to say about this than a wall ever says of itself.</p>", 20)
	tests := []struct {
		name string
		page *Page
		want Kind
	}{
		{"title and bareness", page("<title>Just a moment...</title>"), Challenge},
		{"a title alone", page("<title>Just a moment...</title>" + long), None},
		{"a mark and bareness", page("<title>x</title><script>window._cf_chl_opt={}</script>"), Challenge},
		{"a mark that is shown, too, and bareness",
			page("<title>x</title><script>window._cf_chl_opt={}</script><p>_cf_chl_opt"), Challenge},
		{"a mark alone", page("<title>x</title><script>window._cf_chl_opt={}</script>" + long), None},
		{"the vendor's script on an ordinary page",
			page("<title>x</title><script src=/cdn-cgi/challenge-platform/scripts/jsd/main.js></script>" + long), None},
		{"a sentence and a mark that are quoted", page("<title>Just a moment</title><p>It says: enable JavaScript " +
			"and cookies to continue.</p><pre>window._cf_chl_opt = {}</pre>" + long), None},
		{"a field of the head and a status", page("", status(403), field("cf-mitigated", "challenge")), Challenge},
		{"a field of the head, and nothing else", page("", field("cf-mitigated", "challenge")), Challenge},
		{"a field of the head alone", page(long, field("cf-mitigated", "challenge")), None},
		{"a field of the head that the body quotes", page("<p>It answered with: cf-mitigated: challenge"), None},
		{"a captcha's sentence, widget and bareness",
			page("<p>Please confirm that you are not a robot.</p><div class=g-recaptcha>"), Captcha},
		{"a form with a widget", page("<title>Contact</title><p>Write to us.<div class=g-recaptcha>"), None},
		{"a page about captchas", page("<title>Captcha</title><p>A captcha asks whether you are human. Solve the " +
			"captcha, and prove you are human.</p>" + long), None},
		{"consent: title, text", page("<title>Before you continue</title><p>We use cookies.</p>" +
			"<button>Accept all</button>"), Consent},
		{"a page with a banner", page("<title>News</title><button>Accept all</button>" + long), None},
		{"rate limit: a sentence that is all", page("<p>Too many requests. Try again later.</p>"), RateLimit},
		{"rate limit: a sentence among others", page("<p>Too many requests. " +
			strings.Repeat("The river was low that year. ", 8)), None},
		{"a page about rate limits", page("<title>Limits</title><p>Too many requests: HTTP 429. Try again later." +
			"</p>" + long), None},
		{"parked: own name and sentence", page("<title>news.example.org</title><p>news.example.org is for sale</p>"),
			Parked},
		{"a shop", page("<title>Antiques</title><p>This table is for sale.</p>" + long), None},
		{"Japanese", page("<title>アクセスが集中しています</title><p>しばらくしてからもう一度お試しください。</p>"), RateLimit},
		{"nothing", page(""), None},
		{"many links", page("<title>Just a moment...</title>" + strings.Repeat("<a href=/x>x</a>", 60)), None},
		{"no HTML", &Page{Status: 200, Header: http.Header{}}, None},
	}
	for _, tt := range tests {
		if got := Look(tt.page); got != tt.want {
			t.Errorf("%s: %q, want %q", tt.name, got, tt.want)
		}
	}
}

func TestALogInPageIsAWallInThePlaceOfContent(t *testing.T) {
	titled := "<title>Sign in</title>" + form
	tests := []struct {
		name string
		page *Page
		want Kind
	}{
		{"in the place of a page", page(titled), LogIn},
		{"its own address", page(titled, at("https://news.example.org/login")), None},
		{"its own address, led there", page(titled, at("https://news.example.org/login?next=/a"), redirected), LogIn},
		{"its own address, forbidden", page(titled, at("https://news.example.org/login"), status(403)), LogIn},
		{"forbidden", page(form, status(401)), LogIn},
		{"a form on an ordinary page",
			page("<title>News</title>" + form + strings.Repeat("<p>There is more.", 80)), None},
		{"a form and nothing else", page("<title>News</title>" + form), LogIn},
		{"its own address, and nothing else", page(form, at("https://news.example.org/register")), None},
		{"words without a form", page("<title>How to sign in</title><p>Click.</p>"), None},
		{"a provider's page", page("<title>Sign in</title><div id=okta-sign-in></div>"), LogIn},
	}
	for _, tt := range tests {
		if got := Look(tt.page); got != tt.want {
			t.Errorf("%s: %q, want %q", tt.name, got, tt.want)
		}
	}
}

func TestARedirectThatLeadsBackIsAWall(t *testing.T) {
	for location, want := range map[string]Kind{
		"/login?next=/a/story.html":                                                              LogIn,
		"https://idp.example.org/sso?SAMLRequest=fZJNT8Mw":                                       LogIn,
		"https://consent.example.org/m?continue=https%3A%2F%2Fnews.example.org%2Fa%2Fstory.html": Consent,
		"/login":                      None,
		"/login?next=/b":              None,
		"/a/story?from=/a/story.html": None,
		"":                            None,
		"%zz":                         None,
	} {
		if got := Look(page("", status(302), field("Location", location), known)); got != want {
			t.Errorf("%q: %q, want %q", location, got, want)
		}
	}
	if got := Look(page("", status(302), field("Location", "/login?next=/a/story.html"))); got != None {
		t.Errorf("a page that was never seen: %q", got)
	}
	own := page("", status(302), field("Location", "/login/?next=/login"), at("https://news.example.org/login"), known)
	if got := Look(own); got != None {
		t.Errorf("the log-in page of itself: %q", got)
	}
}

func TestEveryWordCanBeFound(t *testing.T) {
	for k := range words {
		for c, list := range words[k] {
			for _, word := range list {
				if word.idea > 63 {
					t.Errorf("%s has more than 64 ideas of class %d: %q", Kind(k), c, word.text)
				}
				for _, before := range []string{"", "x", "xx "} {
					var f found
					capital := []byte(before + word.text)
					if c := capital[len(before)]; 'a' <= c && c <= 'z' {
						capital[len(before)] = c - 'a' + 'A'
					}
					for _, all := range []*finder{titled, said, hinted, written, addressed} {
						all.find(capital, &f)
					}
					if f[k][c]&(1<<word.idea) == 0 {
						t.Errorf("%q is not found behind %q", word.text, before)
					}
				}
			}
		}
	}
	for k := Challenge; k < kinds; k++ {
		if len(words[k][titles])+len(words[k][says]) == 0 {
			t.Errorf("%s has no words", k)
		}
	}
}

// Whatever the text, what is found in it is what it contains, wherever it stands.
func FuzzFind(f *testing.F) {
	f.Add("<form><FORM>x document.cookie OneTrust", uint8(1))
	f.Add("Sign in to \xc3\x9cBERPR\xc3\x9cFUNG wifi GAST \x00ogin", uint8(0))
	f.Fuzz(func(t *testing.T, text string, shift uint8) {
		all := strings.Repeat("-", int(shift)) + text
		small := []byte(all)
		for i, c := range small {
			small[i] = lowered[c]
		}
		for _, finder := range []*finder{titled, said, hinted, written, addressed} {
			var got, want found
			finder.find([]byte(all), &got)
			for _, entries := range finder.by {
				for _, e := range entries {
					if strings.Contains(string(small), e.word) {
						want[e.kind][e.class] |= e.bit
					}
				}
			}
			if got != want {
				t.Errorf("%q: found %v, want %v", all, got, want)
			}
		}
	})
}

// What others send is bounded in what it costs, and changes nothing.
func FuzzLook(f *testing.F) {
	f.Add("<title>Just a moment...</title>", 503, "/login?next=%2f")
	f.Fuzz(func(t *testing.T, html string, code int, location string) {
		p := page(html, status(code), field("Location", location), at("https://a.example/"+location))
		if k := Look(p); k >= kinds || string(p.Body) != html {
			t.Errorf("kind %d, body changed: %v", k, string(p.Body) != html)
		}
	})
}
