package replay

import (
	"net"
	"net/http"
	"net/http/httptest"
	"regexp"
	"strings"
	"testing"

	"henro/messages/weburl"
	"henro/store/archive/warc"
)

const (
	testKey = "k3vd7q"
	docs    = testKey + "20260314120000-h-docs-test.localhost:8091" // the place of http://docs.test
)

func placed(p place) string {
	if name := p.name(); name != "" {
		return name + ".localhost"
	}
	return ""
}

var nameOfDNS = regexp.MustCompile(`^([a-z0-9]([a-z0-9-]{0,61}[a-z0-9])?\.)+localhost$`)

func TestEveryOriginHasAPlace(t *testing.T) {
	long := strings.Repeat("long-", 12) + "name"
	seen := map[string]string{}
	for host, want := range map[string]string{
		"https://docs.example.org:8443": testKey + "20261126061200-s8443-docs-example-org.localhost",
		"http://docs.example.org":       testKey + "20261126061200-h-docs-example-org.localhost",
		"https://docs.example.org":      testKey + "20261126061200-s-docs-example-org.localhost",
		"http://a-b.c--d.test":          testKey + "20261126061200-h-a--b-c----d-test.localhost",
		"http://xn--bcher-kva.test":     testKey + "20261126061200-h-xn----bcher--kva-test.localhost",
		"http://127.0.0.1:8080":         testKey + "20261126061200-h8080-127-0-0-1.localhost",
		"http://a-.test":                "", "http://a.-b.test": "", "http://-a.test": "", "http://a.test-": "",
		"http://[::1]:8080": "", "http://[2001:db8::1]": "", "http://a_b.test": "", "http://localhost": "",
		"http://x": "",
		"http://" + long + "." + long + ".test:99": "", "https://" + long + ".xn--" + long + ".test": "",
		"https://" + strings.Repeat("a.", 80) + "test": "",
	} {
		p := place{testKey, "20261126061200", host}
		name := placed(p)
		if want != "" && name != want {
			t.Errorf("%s is at %s, want %s", host, name, want)
		}
		if !nameOfDNS.MatchString(name) || len(name) > 253 {
			t.Errorf("%s is at %s, which is no name", host, name)
		}
		if got, ok := parsePlace(p.name()); !ok || got != p {
			t.Errorf("%s is at %s, which is read as %+v, %v", host, name, got, ok)
		}
		if other, ok := seen[name]; ok {
			t.Errorf("%s and %s are at one place", host, other)
		}
		seen[name] = host
	}
	if name := (place{testKey, "20261126061200", "http://" + strings.Repeat("a.", 120) + "test"}).name(); name != "" {
		t.Errorf("a host whose name is too long is at %s", name)
	}
	whole := place{testKey, "20261126061200", "http://" + long + "." + long}.name()
	for _, name := range []string{"", "x", testKey, testKey + "20261126061200", testKey + "20261126061200-", "x.y",
		testKey + "20261126061200-h", testKey + "20261126061200-z-docs-test", testKey + "20261326061200-h-docs-test",
		testKey + "20261126061200xh-docs-test", "a." + testKey + "20261126061200-h-docs-test", testKey +
			"20261126061200-h-docs-test.00", "0" + whole, whole[:len(whole)-1] + "g", whole + ".a"} {
		if p, ok := parsePlace(name); ok {
			t.Errorf("%q is read as %+v", name, p)
		}
	}
}

// FuzzPlace looks for hosts that share a place, and for names that are read as what they are not.
func FuzzPlace(f *testing.F) {
	for _, host := range []string{"docs.test", "a--b.-c.test:81", "[::1]:8080", "bücher.test", "a_b", "1.2.3.4",
		strings.Repeat("a-", 70) + "b"} {
		f.Add(host, testKey+"20261126061200-h-docs-test")
	}
	f.Fuzz(func(t *testing.T, host, name string) {
		if u, err := weburl.Parse("https://" + host + "/"); err == nil {
			p := place{testKey, "20261126061200", u.Host()}
			if written := p.name(); written != "" {
				if got, ok := parsePlace(written); !ok || got != p || !nameOfDNS.MatchString(placed(p)) {
					t.Errorf("%s is at %s, which is read as %+v", u.Host(), written, got)
				}
			}
		}
		if p, ok := parsePlace(name); ok && p.name() != name {
			t.Errorf("%q is read as %+v", name, p)
		}
	})
}

// inPlaces has the archive of archived, with a fixed beginning of the names of its places.
func inPlaces(t *testing.T) *Server {
	s := archived(t, warc.Gzip)
	if len(s.key) != keyBytes || s.key == archived(t, warc.Gzip).key {
		t.Errorf("names of places begin with %q, which can be guessed", s.key)
	}
	s.key = testKey
	return s
}

func TestAPlaceShowsItsOrigin(t *testing.T) {
	s := inPlaces(t)
	const old, other = "http://localhost:8091/web/20260314120000mp_/http://docs.test", "http://" + testKey +
		"20260314120000-s-cdn-test.localhost:8091"
	for sentence, c := range map[string]struct {
		path   string
		status int
		body   string
		asks   []string
		want   []string
	}{
		"a page, its links as they were": {"/", 200, `</script><title>One</title><a href="/other">other</a>`, nil,
			[]string{"Memento-Datetime", "Sat, 14 Mar 2026 12:00:00 GMT", "Content-Location",
				"http://127.0.0.1:8090/web/20260314120000mp_/http://docs.test/", "Referrer-Policy", "same-origin",
				"X-DNS-Prefetch-Control", "off", "Access-Control-Allow-Origin", ""}},
		"the moment of the place": {"/a.css", 200, "a{background:url(b.png)}", nil,
			[]string{"Memento-Datetime", "Tue, 17 Mar 2026 12:00:00 GMT"}},
		"a redirect": {"/moved", 301, "", nil, []string{"Location", "http://" + docs + "/other?x=1", "Set-Cookie", ""}},
		"an error":   {"/gone", 404, "not here", nil, nil},
		"what is missing, for a script": {"/never", 404, "not in this archive", []string{"Sec-Fetch-Dest", "empty"},
			[]string{"Location", ""}},
		"what is missing, in a frame": {"/never?x", 302, "", nil, []string{"Location", old + "/never?x"}},
		"what is missing, in an object": {"/never", 404, "not in this archive\n",
			[]string{"Sec-Fetch-Dest", "object"}, nil},
		"a capture of nothing": {"/lost", 302, "", nil, []string{"Location", old + "/lost"}},
		"a frame opened by itself": {"/gone", 302, "", []string{"Sec-Fetch-Dest", "document"},
			[]string{"Location", "http://127.0.0.1:8090/web/20260314120000/http://docs.test/gone"}},
		"the same, of another start": {"/gone", 302, "", []string{"Host", "aaaaaa" + docs[keyBytes:], "Sec-Fetch-Dest",
			"document"}, []string{"Location", "http://127.0.0.1:8090/web/20260314120000/http://docs.test/gone"}},
		"a fetch of another place": {"/zip", 200, "/zip.png", []string{"Origin", other, "Sec-Fetch-Site", "cross-site",
			"Sec-Fetch-Dest", "empty"}, []string{"Access-Control-Allow-Origin", other,
			"Access-Control-Allow-Credentials", "true", "Vary", "Origin", "Cross-Origin-Resource-Policy",
			"cross-origin"}},
		"a fetch that was led on": {"/zip", 200, "", []string{"Origin", "null", "Sec-Fetch-Site", "cross-site",
			"Sec-Fetch-Dest", "empty"}, []string{"Access-Control-Allow-Origin", "null"}},
		"a fetch of elsewhere": {"/zip", 200, "", []string{"Origin", "http://evil.test", "Sec-Fetch-Dest", "empty"},
			[]string{"Access-Control-Allow-Origin", "", "Access-Control-Allow-Credentials", ""}},
		"a fetch of a place of another start": {"/zip", 200, "", []string{"Origin", "http://aaaaaa" + docs[keyBytes:],
			"Sec-Fetch-Dest", "empty"}, []string{"Access-Control-Allow-Origin", ""}},
	} {
		asks := append([]string{"Host", docs, "Sec-Fetch-Dest", "iframe", "Accept", "text/html"}, c.asks...)
		w := ask(s, c.path, asks...)
		if w.Code != c.status || !strings.Contains(w.Body.String(), c.body) {
			t.Errorf("%s: %d %.3000s, want %d with %s", sentence, w.Code, w.Body, c.status, c.body)
		}
		for i := 0; i < len(c.want); i += 2 {
			if got := w.Header().Get(c.want[i]); got != c.want[i+1] {
				t.Errorf("%s: %s is %q, want %q", sentence, c.want[i], got, c.want[i+1])
			}
		}
	}
}

func TestAMethodIsAskedForBeforeIt(t *testing.T) {
	s := inPlaces(t)
	for host, status := range map[string]int{docs: 204, "aaaaaa" + docs[keyBytes:]: 403} {
		r := httptest.NewRequest(http.MethodOptions, "/api", nil)
		r.Host = host
		r.Header.Set("Origin", "http://"+docs)
		r.Header.Set("Access-Control-Request-Method", "PUT")
		r.Header.Set("Access-Control-Request-Headers", "x-a,x-b")
		w := httptest.NewRecorder()
		s.captures(w, r)
		h := w.Header()
		if w.Code != status || status == 204 && (h.Get("Access-Control-Allow-Methods") != "PUT" ||
			h.Get("Access-Control-Allow-Headers") != "x-a,x-b") {
			t.Errorf("%s: %d %v", host, w.Code, h)
		}
	}
}

// TestWhoMayLookIntoAPlace asks as those do who may not: nobody learns of the archive who does not know the name.
func TestWhoMayLookIntoAPlace(t *testing.T) {
	s := inPlaces(t)
	for sentence, c := range map[string]struct {
		method, host string
		status       int
		fields       []string
	}{
		"a guessed name":                   {"GET", "aaaaaa" + docs[keyBytes:], 403, nil},
		"no place":                         {"GET", "www.localhost:8091", 403, nil},
		"another port":                     {"GET", strings.Replace(docs, "8091", "8092", 1), 403, nil},
		"another machine":                  {"GET", "docs.test:8091", 403, nil},
		"a name that ends like the others": {"GET", "evillocalhost:8091", 403, nil},
		"a form":                           {"POST", docs, 405, nil},
		"a service worker":                 {"GET", docs, 403, []string{"Service-Worker", "script"}},
		"one who knows":                    {"GET", docs, 200, nil},
	} {
		r := httptest.NewRequest(c.method, "/", nil)
		r.Host = c.host
		for i := 0; i < len(c.fields); i += 2 {
			r.Header.Set(c.fields[i], c.fields[i+1])
		}
		w := httptest.NewRecorder()
		if s.captures(w, r); w.Code != c.status || c.status != 200 && strings.Contains(w.Body.String(), "One") {
			t.Errorf("%s: %d %.100s", sentence, w.Code, w.Body)
		}
		r.Host = strings.Replace(c.host, "8091", "8090", 1) // where our own pages are
		w = httptest.NewRecorder()
		if s.ServeHTTP(w, r); w.Code == 200 {
			t.Errorf("%s: our own pages are shown under %s", sentence, r.Host)
		}
	}
	for origin, allowed := range map[string]bool{"http://127.0.0.1:8090": true, "http://evil.test": false,
		"http://" + docs: false, "null": false} {
		w := ask(s, "/", "Host", testKey+".localhost:8091", "Origin", origin)
		if got := w.Header().Get("Access-Control-Allow-Origin"); w.Code != 204 || (got == origin) != allowed {
			t.Errorf("%s asks whether places are found: %d, %q", origin, w.Code, got)
		}
	}
}

// TestTheFrameIsOfferedAPlace looks at our own pages: the frame, and what the banner asks.
func TestTheFrameIsOfferedAPlace(t *testing.T) {
	s := inPlaces(t)
	const address = "http://" + testKey + "20260315120000-h-docs-test.localhost:8091/"
	w := ask(s, "/web/20260315120000/http://docs.test/")
	for _, text := range []string{`data-asks="http://` + testKey + `.localhost:8091/"`, `data-place="` + address + `"`,
		`data-old="http://localhost:8091/web/20260315120000mp_/http://docs.test/"`} {
		if !strings.Contains(w.Body.String(), text) {
			t.Errorf("%s is not in\n%s", text, w.Body)
		}
	}
	if w := ask(s, "/capture/"+address); w.Code != 200 || !strings.Contains(w.Body.String(), `"Number":2,"Count":4`) {
		t.Errorf("the banner asks for %s: %d %s", address, w.Code, w.Body)
	}
	if w := ask(s, "/web/"+address+"gone?x"); w.Code != 302 ||
		w.Header().Get("Location") != "/web/20260315120000/http://docs.test/gone?x" {
		t.Errorf("the address of a place leads to %d %v", w.Code, w.Header())
	}
	if w := ask(s, "/capture/"+address+"never"); w.Code != 404 {
		t.Errorf("the banner asks for what is missing: %d", w.Code)
	}
}

func TestOnlyWhatNamesAHostChangesInAPlace(t *testing.T) {
	s := inPlaces(t)
	const cdn = "http://" + testKey + "20260314120000-s8443-cdn-test.localhost:8091"
	const self = "http://" + docs
	for sentence, c := range map[string][2]string{
		"a path": {`<a href="/x?a#b"><img src=x.png><a href="?q">`,
			`<a href="/x?a#b"><img src=x.png><a href="?q">`},
		"another origin":    {`<a href="https://cdn.test:8443/x?a=1&amp;b#c">`, `<a href="` + cdn + `/x?a=1&amp;b#c">`},
		"this one":          {`<a href="http://docs.test/x">`, `<a href="` + self + `/x">`},
		"without a scheme":  {`<script src=//docs.test/a.js></script>`, `<script src="` + self + `/a.js"></script>`},
		"slashes that lean": {`<img src="\/docs.test/a">`, `<img src="` + self + `/a">`},
		"a place":           {`<a href="` + self + `/x">`, `<a href="` + self + `/x">`},
		"no URL of the web": {`<a href="javascript:x"><a href=mailto:a@b>`,
			`<a href="javascript:x"><a href=mailto:a@b>`},
		"pictures":      {`<img srcset="a 1x, http://docs.test/b 2x">`, `<img srcset="a 1x, ` + self + `/b 2x">`},
		"a base beside": {`<base href="/dir/"><a href=x>`, `<base href="/dir/"><a href=x>`},
		"a base elsewhere": {`<base href="https://cdn.test:8443/dir/"><a href=x>`, `<base href="` + cdn +
			`/dir/"><a href=x>`},
		"a style": {`<style>@import "https://cdn.test:8443/a.css";b{c:url(d)}</style>`, `<style>@import "` + cdn +
			`/a.css";b{c:url(d)}</style>`},
		"modules": {`<script type=module>import a from "https://cdn.test:8443/a.js"; ` +
			`import("https://cdn.test:8443/b.js");import "./c.js"; x = "https://cdn.test:8443/d.js"</script>`,
			`<script type=module>import a from "` + cdn +
				`/a.js"; import("` + cdn + `/b.js");import "./c.js"; x = "https://cdn.test:8443/d.js"</script>`},
		"a name that would leave its script": {`<script>import "https://cdn.test:8443/</scrip"</script>`,
			`<script>import "` + cdn + `/%3C/scrip"</script>`},
		"an import map": {
			`<script type="importmap">{"imports": {"a": "https://cdn.test:8443/a.js", "b": "/b.js"}}</script>`,
			`<script type="importmap">{"imports": {"a": "` + cdn + `/a.js", "b": "/b.js"}}</script>`},
		"data": {`<script type="application/json">{"a": "https://cdn.test:8443/a.js"}</script>`,
			`<script type="application/json">{"a": "https://cdn.test:8443/a.js"}</script>`},
		"who tells others": {`<meta name=Referrer content=unsafe-url>`,
			`<meta name=Referrer data-henro-content=unsafe-url>`},
	} {
		lead := func(href string) string { return s.address("20260314120000", href) }
		if got := rewrittenBy(t, &rewriter{prefix: "http://" + s.key, lead: lead}, c[0], "utf-8"); got != c[1] {
			t.Errorf("%s:\n got %s\nwant %s", sentence, got, c[1])
		}
	}
}

func TestAPlaceIsKnownAsACapture(t *testing.T) {
	l := Listeners{Own: newPipes("127.0.0.1:8090"), Content: []net.Listener{newPipes("127.0.0.1:8091")}}
	for address, want := range map[string]Asked{
		"http://" + docs + "/a?b":                          Captured,
		"http://localhost:8091/web/2026mp_/http://a.test/": Captured,
		"http://" + testKey + ".localhost:8091/":           Ours,
		"http://127.0.0.1:8090/":                           Ours,
		"http://docs.test:8091/":                           Foreign,
		"https://" + docs + "/a?b":                         Foreign,
	} {
		if u, got := l.Asked(address); got != want || strings.Contains(address, docs) && want == Captured &&
			u.String() != "http://docs.test/a?b" {
			t.Errorf("%s is %v, %v", address, got, u)
		}
	}
}
