package replay

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/klauspost/compress/gzip"
	"github.com/sirupsen/logrus"
	"golang.org/x/text/encoding/japanese"

	"henro/messages"
	"henro/messages/posted"
	"henro/messages/weburl"
	"henro/store/archive/captures"
	"henro/store/archive/warc"
)

// shown is where captures of docs.test are shown.
const shown = "20260314120000-http.docs.test.archive.localhost:8091"

var noon = time.Date(2026, 3, 14, 12, 0, 0, 0, time.UTC)

// archived is an archive of docs.test: a page that changed once and was unchanged twice, and one of each kind of
// answer.
func archived(t *testing.T, compression warc.Compression) *Server {
	t.Helper()
	dir := t.TempDir()
	b, err := warc.NewBuilder(warc.Options{Compression: compression, Level: 3})
	if err != nil {
		t.Fatal(err)
	}
	var data []byte
	put := func(day int, path, head, body string, earlier *warc.Earlier) {
		x := &warc.Exchange{
			URI: "http://docs.test" + path, At: noon.AddDate(0, 0, day), Request: []byte("GET / HTTP/1.1\r\n\r\n"),
			Head: []byte("HTTP/1.1 " + head + "\r\n\r\n"), Body: []byte(body), Earlier: earlier,
		}
		data, _ = b.AppendExchange(data, x)
	}
	const html = "200 OK\r\nContent-Type: text/html"
	first := `<!DOCTYPE html><title>One</title><a href="/other">other</a>` + strings.Repeat(" ", warc.MinIdentical)
	put(0, "/", html, first, nil)
	put(1, "/", html+"\r\nX-Visit: second", first, &warc.Earlier{URI: "http://docs.test/", At: noon})
	put(2, "/", "304 Not Modified\r\nETag: x", "", &warc.Earlier{URI: "http://docs.test/", At: noon, NotModified: true,
		Digest: warc.Sum([]byte(first))})
	put(400, "/", html, "<!DOCTYPE html><title>Two</title>", nil)
	put(3, "/gone", "404 Not Found\r\nContent-Type: text/plain", "not here", nil)
	put(3, "/moved", "301 Moved\r\nLocation: /other?x=1\r\nSet-Cookie: a=b", "", nil)
	put(3, "/a.css", "200 OK\r\nContent-Type: text/css", "a{background:url(https://cdn.test/b.png)}", nil)
	put(3, "/lost", html, strings.Repeat("x", warc.MinIdentical),
		&warc.Earlier{URI: "http://docs.test/never", At: noon})
	var zipped bytes.Buffer
	z := gzip.NewWriter(&zipped)
	io.WriteString(z, `<img src=//docs.test/zip.png>`)
	z.Close()
	put(3, "/zip", html+"\r\nContent-Encoding: gzip\r\nX-Frame-Options: DENY", zipped.String(), nil)
	sjis, _ := japanese.ShiftJIS.NewEncoder().String(`<meta charset=shift_jis><a href="/">表示</a>`)
	put(3, "/sjis", html, sjis, nil)
	jis, _ := japanese.ISO2022JP.NewEncoder().String(`<meta charset=iso-2022-jp><a href="/">表示</a>`)
	put(3, "/jis", html, jis, nil)
	data = b.Append(data, &warc.Record{Type: warc.Resource, Date: noon, TargetURI: "http://docs.test/resource",
		ContentType: "text/plain", Head: []byte("by itself")})
	if err := os.WriteFile(filepath.Join(dir, "a"+compression.Suffix()), data, 0o600); err != nil {
		t.Fatal(err)
	}
	a, err := captures.Open(dir, func(string) {})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { a.Close() })
	log := logrus.New()
	log.SetOutput(io.Discard)
	server := NewServer(a, Options{}, logrus.NewEntry(log))
	server.own, server.captured = "127.0.0.1:8090", "8091"
	return server
}

// ask asks the origin that the Host header names; without one, that of our own pages.
func ask(s http.Handler, target string, fields ...string) *httptest.ResponseRecorder {
	r := httptest.NewRequest(http.MethodGet, target, nil)
	r.Host = "127.0.0.1:8090"
	for i := 0; i < len(fields); i += 2 {
		if r.Header.Set(fields[i], fields[i+1]); fields[i] == "Host" {
			r.Host = fields[i+1]
		}
	}
	w := httptest.NewRecorder()
	if server, ok := s.(*Server); ok && strings.HasSuffix(r.Host, ":8091") && r.Host != "127.0.0.1:8091" {
		s = http.HandlerFunc(server.captures)
	}
	s.ServeHTTP(w, r)
	return w
}

func TestCapturesAreShownAsTheyWere(t *testing.T) {
	for _, compression := range []warc.Compression{warc.Gzip, warc.Zstd, warc.None} {
		s := archived(t, compression)
		for sentence, c := range map[string]struct {
			target   string
			status   int
			contains string
			fields   []string // name and part of the value
		}{
			"a page": {"/web/20260314120000mp_/http://docs.test/", 200,
				`<a href="/other">other</a>`,
				[]string{"Memento-Datetime", "Sat, 14 Mar 2026 12:00:00 GMT"}},
			"a script behind the type alone": {"/web/20260314120000mp_/http://docs.test/", 200,
				"<!DOCTYPE html><script>", []string{"Content-Security-Policy", "sandbox"}},
			"byte for byte": {"/web/20260314120000id_/http://docs.test/", 200,
				`<!DOCTYPE html><title>One</title><a href="/other">other</a>`, []string{"Content-Type", "text/html"}},
			"identical content, its own head": {"/web/20260315120000mp_/http://docs.test/", 200, "<title>One",
				[]string{"X-Archive-Orig-X-Visit", "second", "Memento-Datetime", "15 Mar"}},
			"not modified": {"/web/20260316120000mp_/http://docs.test/", 200, "<title>One",
				[]string{"Memento-Datetime", "16 Mar"}},
			"changed": {"/web/2028mp_/http://docs.test/", 200, "<title>Two",
				[]string{"Content-Location", "/web/20270418120000mp_/"}},
			"an error": {"/web/2026mp_/http://docs.test/gone", 404, "not here", nil},
			"a redirect": {"/web/2026mp_/http://docs.test/moved", 301, "",
				[]string{"Location", "http://20260317120000-http.docs.test.archive.localhost:8091/other?x=1"}},
			"a cookie": {"/web/2026mp_/http://docs.test/moved", 301, "",
				[]string{"X-Archive-Orig-Set-Cookie", "a=b", "Set-Cookie", ""}},
			"a style sheet": {"/web/2026cs_/http://docs.test/a.css", 200,
				"a{background:url(http://20260317120000-https.cdn.test.archive.localhost:8091/b.png)}", nil},
			"a coded page": {"/web/2026mp_/http://docs.test/zip", 200,
				`<img src="http://20260317120000-http.docs.test.archive.localhost:8091/zip.png">`,
				[]string{"Content-Encoding", "", "X-Frame-Options", ""}},
			"a coded page byte for byte": {"/web/2026id_/http://docs.test/zip", 200, "\x1f\x8b",
				[]string{"Content-Encoding", "gzip"}},
			"an encoding over ASCII": {"/web/2026mp_/http://docs.test/sjis", 200, "\x95\\\x8e\xa6",
				[]string{"Content-Type", "charset=shift_jis"}},
			"an encoding beside ASCII": {"/web/2026mp_/http://docs.test/jis", 200, "表示",
				[]string{"Content-Type", "charset=utf-8"}},
			"a resource":           {"/web/2026mp_/http://docs.test/resource", 200, "by itself", nil},
			"a revisit of nothing": {"/web/2026mp_/http://docs.test/lost", 404, "not in this archive", nil},
			"nothing": {"/web/2026mp_/http://docs.test/never", 404, "not in this archive",
				nil},
			"a slash cleaned away": {"/web/2026mp_/http:/docs.test/gone", 404, "not here", nil},
			"no scheme":            {"/web/2026mp_/docs.test/gone", 404, "not here", nil},
			"no URL":               {"/web/2026mp_/ftp://docs.test/", 400, "", nil},
			"no time":              {"/web/20261mp_/http://docs.test/", 400, "", nil},
			"the frame, at the right time": {"/web/2026/http://docs.test/", 302, "",
				[]string{"Location", "/web/20260314120000/http://docs.test/"}},
			"the frame": {"/web/20260315120000/http://docs.test/", 200,
				`sandbox="allow-scripts allow-same-origin allow-forms" ` +
					`src="http://20260315120000-http.docs.test.archive.localhost:8091/"`,
				[]string{"Content-Security-Policy", "frame-src http://*.archive.localhost:8091"}},
			"the frame of a revisit": {"/web/20260315120000/http://docs.test/", 200,
				`<span id="since">2026-03-14 12:00:00 UTC</span>`, nil},
			"the calendar": {"/web/*/http://docs.test/", 200,
				`href="/web/20270418120000/http://docs.test/"`, nil},
			"the line of its versions": {"/web/2027*/http://docs.test/", 200,
				`id="v20270418120000"><a href="/web/20270418120000/http://docs.test/"`, nil},
			"what a version brought": {"/web/2027*/http://docs.test/", 200,
				`<p><del>One</del><ins>Two</ins></p>`, nil},
			"the calendar of one capture": {"/web/*/http://docs.test/lost", 200, `<p>1 capture · `, nil},
			"the calendar of a year": {"/web/2026*/http://docs.test/", 200,
				`href="/web/20260315120000/http://docs.test/"`, nil},
			"sites":                  {"/", 200, `href="/web/*/http://docs.test/"`, nil},
			"a search below":         {"/?q=docs.test/mov", 200, `href="/web/*/http://docs.test/moved"`, nil},
			"a search for words":     {"/?q=css", 200, `href="/web/*/http://docs.test/a.css"`, nil},
			"a search within a host": {"/?q=s.test%2Fa.c", 200, `href="/web/*/http://docs.test/a.css"`, nil},
			"in Japanese":            {"/", 200, "ホスト一覧", []string{"Vary", "Accept-Language"}},
			"the banner asks": {"/capture/20260315120000/http://docs.test/", 200,
				`"Number":2,"Count":4`, nil},
		} {
			fields := []string{"Accept-Language", "en"}
			if sentence == "in Japanese" {
				fields[1] = "ja,en;q=0.5"
			}
			w := ask(s, c.target, fields...)
			if w.Code != c.status || !strings.Contains(w.Body.String(), c.contains) {
				t.Errorf("%s: %d %.2000s, want %d with %s", sentence, w.Code, w.Body, c.status, c.contains)
			}
			for i := 0; i < len(c.fields); i += 2 {
				if got := w.Header().Get(c.fields[i]); !strings.Contains(got, c.fields[i+1]) || c.fields[i+1] == "" &&
					got != "" {
					t.Errorf("%s: %s is %q, want %q", sentence, c.fields[i], got, c.fields[i+1])
				}
			}
		}
	}
}

func TestOnlyThisMachineIsAnswered(t *testing.T) {
	s := archived(t, warc.Gzip)
	for sentence, c := range map[string]struct {
		target string
		status int
		fields []string
	}{
		"a name that was made to point here": {"/", 403, []string{"Host", "evil.test:8090"}},
		"::1":                                {"/", 200, []string{"Host", "[::1]:8090"}},
		"our pages under the captures' name": {"/", 307, []string{"Host", "localhost:8090"}},
		"a service worker": {"/web/2026mp_/http://docs.test/", 403,
			[]string{"Service-Worker", "script"}},
		"a capture without its frame": {"/web/2026mp_/http://docs.test/", 302,
			[]string{"Sec-Fetch-Dest", "document"}},
		"a capture in its frame": {"/web/2026mp_/http://docs.test/", 200,
			[]string{"Sec-Fetch-Dest", "iframe"}},
		"no name":                     {"/", 403, []string{"Host", ""}},
		"a port alone":                {"/", 403, []string{"Host", ":8090"}},
		"captures under another name": {"/web/2026mp_/http://docs.test/", 200, []string{"Host", "127.0.0.1:8091"}},
		"a page of elsewhere asks":    {"/", 403, []string{"Sec-Fetch-Site", "cross-site"}},
		"a capture asks for our pages": {"/", 403,
			[]string{"Sec-Fetch-Site", "cross-site", "Sec-Fetch-Dest", "empty"}},
		"a link of elsewhere leads here": {"/", 200,
			[]string{"Sec-Fetch-Site", "cross-site", "Sec-Fetch-Dest", "document"}},
		"a page of elsewhere asks for a capture": {"/", 403,
			[]string{"Host", shown, "Sec-Fetch-Site", "cross-site", "Sec-Fetch-Dest", "script"}},
		"the frame asks for a capture": {"/", 200,
			[]string{"Host", shown, "Sec-Fetch-Site", "cross-site", "Sec-Fetch-Dest", "iframe"}},
		"another origin of the archive asks": {"/", 200,
			[]string{"Host", shown, "Sec-Fetch-Site", "same-site", "Sec-Fetch-Dest", "script"}},
		"a capture opened by itself":   {"/", 302, []string{"Host", shown, "Sec-Fetch-Dest", "document"}},
		"a capture asks for our lists": {"/timemap/link/http://docs.test/", 404, []string{"Host", shown}},
	} {
		if w := ask(s, c.target, c.fields...); w.Code != c.status {
			t.Errorf("%s: %d, want %d", sentence, w.Code, c.status)
		}
	}
	for _, host := range []string{"", "127.0.0.1:8091", "localhost", "localhost:8091",
		"localhost:8090", "evil.test:8091", "[::1]:8091",
		"2026-ftp.docs.test.archive.localhost:8091", "20261-http.docs.test.archive.localhost:8091",
		"http.docs.test.archive.localhost:8091", "2026-http.archive.localhost:8091", "archive.localhost:8091",
		"2026-http-x.docs.test.archive.localhost:8091", "2026-http.docs.test.archive.localhost:8090"} {
		r := httptest.NewRequest(http.MethodGet, "/web/2026mp_/http://docs.test/", nil)
		r.Host = host
		w := httptest.NewRecorder()
		if s.captures(w, r); w.Code != http.StatusForbidden {
			t.Errorf("captures are shown under the name %q: %d", host, w.Code)
		}
	}
	for path, want := range map[string]int{"/": 405, "/timemap/link/http://docs.test/": 405,
		"/web/2026mp_/http://docs.test/": 404} { // where there is a page, there is none that answers a POST
		r := httptest.NewRequest(http.MethodPost, path, nil)
		r.Host = "127.0.0.1:8090"
		w := httptest.NewRecorder()
		if s.ServeHTTP(w, r); w.Code != want {
			t.Errorf("%s: a form is answered with %d", path, w.Code)
		}
	}
}

// TestOnlyAFrameOfOursRunsACapture asks for captures of all kinds in all ways, and looks at what they may do.
func TestOnlyAFrameOfOursRunsACapture(t *testing.T) {
	s := archived(t, warc.Gzip)
	for _, host := range []string{s.own, shown, "[::1]:8090"} {
		for _, form := range []string{"id_", "mp_", "im_", "js_", "if_"} {
			for _, dest := range []string{"", "document", "iframe", "frame", "embed", "object", "image",
				"script", "empty"} {
				for _, noScripts := range []bool{false, true} {
					s.o.NoScripts = noScripts
					for _, path := range []string{"/", "/zip", "/a.css", "/gone", "/moved", "/resource"} {
						fields := []string{"Host", host}
						if dest != "" {
							fields = append(fields, "Sec-Fetch-Dest", dest, "Sec-Fetch-Site", "same-origin")
						}
						target, site := "/web/2026"+form+"/http://docs.test"+path, "same-origin"
						if host == shown {
							if form != "mp_" {
								continue // that is said on our own pages alone
							}
							target, site = path, "same-site"
						}
						w := ask(s, target, fields...)
						h := w.Header()
						if form == "id_" && (h.Get("Content-Disposition") != "attachment" ||
							h.Get("X-Content-Type-Options") != "nosniff" || w.Code >= 300 && path != "/gone") {
							t.Errorf("%s%s of %s for %q is shown, not kept: %d %v", host, path, form, dest, w.Code, h)
						}
						mayRun := form != "id_" && host == shown && dest != "" && dest != "document"
						policy := h.Get("Content-Security-Policy")
						if (policy != sealed) != mayRun && h.Get("Memento-Datetime") != "" {
							t.Errorf("%s%s of %s for %q may %s", host, path, form, dest, policy)
						}
						if h.Get("Cross-Origin-Resource-Policy") != site {
							t.Errorf("%s%s of %s for %q is given to other origins", host, path, form, dest)
						}
					}
				}
			}
		}
	}
}

func TestTimeTravelByRFC7089(t *testing.T) {
	s := archived(t, warc.Gzip)
	if link := ask(s, "/", "Host", shown).Header().Get("Link"); !strings.Contains(link,
		"<http://127.0.0.1:8090/timemap/link/http://docs.test/>; rel=\"timemap\"") {
		t.Errorf("a capture at its own origin leads to %s", link)
	}
	for wish, want := range map[string]string{
		"":                              "20270418120000",
		"Thu, 31 May 2007 20:35:00 GMT": "20260314120000",
		"Sun, 15 Mar 2026 13:00:00 GMT": "20260315120000",
		"Tue, 01 Sep 2026 00:00:00 GMT": "20260316120000",
	} {
		var fields []string
		if wish != "" {
			fields = []string{"Accept-Datetime", wish}
		}
		w := ask(s, "/timegate/http://docs.test/", fields...)
		if to := "http://127.0.0.1:8090/web/" + want + "mp_/http://docs.test/"; w.Code != 302 ||
			w.Header().Get("Location") != to || w.Header().Get("Vary") != "accept-datetime" {
			t.Errorf("%q: %d %v, want %s", wish, w.Code, w.Header(), to)
		}
		link := w.Header().Get("Link")
		for _, rel := range []string{`<http://docs.test/>; rel="original"`, `rel="timegate"`, `rel="timemap"`,
			`rel="first memento"`, `rel="last memento"`} {
			if !strings.Contains(link, rel) {
				t.Errorf("%q: no %s in %s", wish, rel, link)
			}
		}
	}
	if w := ask(s, "/timegate/http://docs.test/", "Accept-Datetime", "yesterday"); w.Code != 400 {
		t.Errorf("a date that is none: %d", w.Code)
	}
	if w := ask(s, "/timegate/http://docs.test/never"); w.Code != 404 {
		t.Errorf("a page that is not there: %d", w.Code)
	}
	w := ask(s, "/timemap/link/http://docs.test/")
	memento := regexp.MustCompile(`(?m)^<(\S+)>; rel="([a-z ]*memento)"; datetime="([^"]+)",?$`)
	mementos := memento.FindAllStringSubmatch(w.Body.String(), -1)
	if w.Header().Get("Content-Type") != "application/link-format" || len(mementos) != 4 {
		t.Fatalf("%v\n%s", w.Header(), w.Body)
	}
	for i, m := range mementos {
		if rel := []string{"first memento", "memento", "memento", "last memento"}[i]; m[2] != rel {
			t.Errorf("memento %d is %q", i, m[2])
		}
		if got := ask(s, strings.TrimPrefix(m[1], "http://127.0.0.1:8090")); got.Code != 200 ||
			got.Header().Get("Memento-Datetime") != m[3] {
			t.Errorf("%s: %d %v", m[1], got.Code, got.Header())
		}
	}
}

func TestManyHostsAndPagesAreListedPieceByPiece(t *testing.T) {
	dir := t.TempDir()
	b, err := warc.NewBuilder(warc.DefaultOptions())
	if err != nil {
		t.Fatal(err)
	}
	var data []byte
	for i := range 250 {
		for _, uri := range []string{fmt.Sprintf("http://h%03d.test/a", i), fmt.Sprintf("http://one.test/p%03d", i)} {
			data = b.Append(data, &warc.Record{Type: warc.Resource, Date: noon, TargetURI: uri,
				ContentType: "text/plain"})
		}
	}
	data = b.Append(data, &warc.Record{Type: warc.Resource, Date: noon, TargetURI: "dns:h000.test",
		ContentType: "text/dns"})
	if err := os.WriteFile(filepath.Join(dir, "a.warc.gz"), data, 0o600); err != nil {
		t.Fatal(err)
	}
	a, err := captures.Open(dir, func(string) {})
	if err != nil {
		t.Fatal(err)
	}
	defer a.Close()
	s := NewServer(a, Options{}, logrus.NewEntry(logrus.New()))
	count := func(list func(after string) ([]row, string, error)) int {
		seen := map[string]bool{}
		for after, pages := "", 0; pages < 10; pages++ {
			rows, next, err := list(after)
			if err != nil || len(rows) > listed {
				t.Fatal(len(rows), err)
			}
			for _, r := range rows {
				seen[r.Name] = true
			}
			if next == "" {
				return len(seen)
			}
			after = next
		}
		return -1
	}
	if n := count(s.hosts); n != 251 {
		t.Errorf("%d hosts, want 251", n)
	}
	for query, want := range map[string]int{"one.test": 250, "http://one.test/p1": 100, "p24": 10} {
		n := count(func(after string) ([]row, string, error) {
			rows, next, _, err := s.search(query, after)
			return rows, next, err
		})
		if n != want {
			t.Errorf("%s: %d pages, want %d", query, n, want)
		}
	}
}

// A capture is unchanged if its content is that of the capture before it. The first capture of a page may be a revisit
// record too: another page had this content.
func TestTheCalendarMarksWhatIsUnchanged(t *testing.T) {
	s := archived(t, warc.Gzip)
	for url, again := range map[string]int{"http://docs.test/": 4, "http://docs.test/lost": 0} { // twice each
		w := ask(s, "/web/"+noon.Format("2006")+"*/"+url)
		calendar := w.Body.String()
		_, calendar, _ = strings.Cut(calendar, "legend")
		_, calendar, _ = strings.Cut(calendar, "</p>") // behind the legend
		if n := strings.Count(calendar, "again"); w.Code != 200 || n != again {
			t.Errorf("%s: %d marks, want %d in\n%s", url, n, again, calendar)
		}
	}
}

// What is missing says so with its URL, and offers to search for it.
func TestWhatIsMissingNamesItsURLAndOffersTheSearch(t *testing.T) {
	w := ask(archived(t, warc.Gzip), "/web/2026/http://docs.test/never?a=<b>", "Accept", "text/html")
	for _, text := range []string{"Not in this archive", `<p class="url">http://docs.test/never?a=%3Cb%3E</p>`,
		`value="http://docs.test/never?a=%3Cb%3E"`, `href="/"`} {
		if w.Code != 404 || !strings.Contains(w.Body.String(), text) {
			t.Errorf("%d: %s is not in\n%s", w.Code, text, w.Body)
		}
	}
}

// What is missing says why, as the state has it, and leads to what is near.
func TestWhatIsMissingSaysWhyAndWhereToGoOn(t *testing.T) {
	s := archived(t, warc.Gzip)
	html := []string{"Accept", "text/html", "Accept-Language", "en"}
	const never = "/web/20260315120000/http://docs.test/never/x?a"
	for sentence, c := range map[string]struct {
		absence Absence
		err     error
		want    string
	}{
		"failed": {Absence{WhyFailed, messages.Cause{Word: "CONNECT_REFUSED", Says: "<b>"}, "given up"}, nil,
			`could not be fetched: CONNECT_REFUSED (&lt;b&gt;)</p>` + "\n" + `<p class="side" lang="en">given up</p>`},
		"waiting":          {Absence{Why: WhyWaiting}, nil, "was not fetched yet"},
		"refused":          {Absence{Why: WhyRefused}, nil, "A rule of the crawl"},
		"elsewhere":        {Absence{Why: WhyElsewhere}, nil, "It was fetched."},
		"unknown":          {Absence{Why: WhyUnknown}, nil, "does not know this address"},
		"a damaged state":  {Absence{Why: WhyUnknown}, io.ErrUnexpectedEOF, "This page was not captured."},
		"Japanese, failed": {Absence{Why: WhyFailed}, nil, "取得できませんでした"},
	} {
		asked := ""
		s.o.Absence = func(_ context.Context, url string) (Absence, error) {
			asked = url
			return c.absence, c.err
		}
		fields := html
		if strings.HasPrefix(sentence, "Japanese") {
			fields = []string{"Accept", "text/html", "Accept-Language", "ja"}
		}
		w := ask(s, never, fields...)
		if w.Code != 404 || !strings.Contains(w.Body.String(), c.want) || asked != "http://docs.test/never/x?a" {
			t.Errorf("%s: %d, asked for %q: %q is not in\n%s", sentence, w.Code, asked, c.want, w.Body)
		}
	}
	s.o.Absence = nil
	for sentence, c := range map[string]struct {
		target string
		fields []string
		want   []string
		not    string
	}{
		"our own page": {never, append(html, "Referer", "http://127.0.0.1:8090/web/20260314120000/http://docs.test/"),
			[]string{`<a href="/web/20260315120000/http://docs.test/a.css">`, `href="/?q=docs.test/"`,
				`rel="prev" href="/web/20260314120000/http://docs.test/"`}, "/gone"},
		"a page of elsewhere is not led back to": {never, append(html, "Referer", "http://evil.test/"), nil,
			`rel="prev"`},
		"in the frame": {"/never", append(html, "Host", shown, "Sec-Fetch-Dest", "iframe"),
			[]string{`<a href="http://` + shown + `/a.css">`,
				`"/.henro/static/missing.js" data-at="/web/20260314120000mp_/http://docs.test/never"`}, `action="/"`},
		"a capture of nothing leads to others of the page": {"/lost", append(html, "Host", shown, "Sec-Fetch-Dest",
			"iframe"), []string{"is that of another one"}, "missing.js"},
		"a picture is told in a word": {"/web/2026im_/http://docs.test/never.png", append(html, "Sec-Fetch-Dest",
			"image"), []string{"not in this archive"}, "<"},
	} {
		w := ask(s, c.target, c.fields...)
		for _, text := range c.want {
			if w.Code != 404 || !strings.Contains(w.Body.String(), text) {
				t.Errorf("%s: %d: %s is not in\n%s", sentence, w.Code, text, w.Body)
			}
		}
		if strings.Contains(w.Body.String(), c.not) {
			t.Errorf("%s: %s is in\n%s", sentence, c.not, w.Body)
		}
	}
}

// What our own page of an error is made of is not looked for in the archive.
func TestThePageOfAnErrorHasItsSheet(t *testing.T) {
	s := archived(t, warc.Gzip)
	w := ask(s, "/never", "Host", shown, "Sec-Fetch-Dest", "iframe", "Accept", "text/html")
	if w.Header().Get("Referrer-Policy") != "no-referrer" {
		t.Errorf("the page of an error says where it is: %v", w.Header())
	}
	for _, path := range []string{"/static/replay.css", "/static/missing.js"} {
		if !strings.Contains(w.Body.String(), `"/.henro`+path+`"`) {
			t.Errorf("%s is not in %s", path, w.Body)
		}
		if w := ask(s, "/.henro"+path, "Host", shown, "Sec-Fetch-Site", "cross-site"); w.Code != 200 {
			t.Errorf("%s: %d", path, w.Code)
		}
	}
}

// In a frame only HTML runs scripts, behind the one that takes away what no policy governs; nothing else has an origin.
func TestOnlyHTMLRunsScriptsInAFrame(t *testing.T) {
	dir := t.TempDir()
	b, err := warc.NewBuilder(warc.DefaultOptions())
	if err != nil {
		t.Fatal(err)
	}
	var data []byte
	for path, fields := range map[string]string{"html": "Content-Type: Text/HTML ; charset=utf-8", "sniffed": "X: y",
		"xhtml": "Content-Type: application/xhtml+xml", "svg": "Content-Type: image/svg+xml",
		"mixed": "Content-Type: multipart/x-mixed-replace;boundary=b", "plain": "Content-Type: text/plain",
		"nothing": "Content-Type: */*", "last": "Content-Type: text/html\r\nContent-Type: image/svg+xml",
		"joined": "Content-Type: image/svg+xml, text/html"} {
		data, _ = b.AppendExchange(data, &warc.Exchange{URI: "http://docs.test/" + path, At: noon,
			Request: []byte("GET / HTTP/1.1\r\n\r\n"), Head: []byte("HTTP/1.1 200 OK\r\n" + fields + "\r\n\r\n"),
			Body: []byte(`<!doctype html><iframe srcdoc="<p>x"></iframe><script>x</script>`)})
	}
	if err := os.WriteFile(filepath.Join(dir, "a.warc.gz"), data, 0o600); err != nil {
		t.Fatal(err)
	}
	a, err := captures.Open(dir, func(string) {})
	if err != nil {
		t.Fatal(err)
	}
	defer a.Close()
	s := NewServer(a, Options{}, logrus.NewEntry(logrus.New()))
	s.own, s.captured = "127.0.0.1:8090", "8091"
	for path, isHTML := range map[string]bool{"html": true, "sniffed": true, "joined": true, "xhtml": false,
		"svg": false, "mixed": false, "plain": false, "nothing": false, "last": false} {
		for _, dest := range []string{"iframe", "frame", "object", "embed"} {
			w := ask(s, "/"+path, "Host", shown, "Sec-Fetch-Dest", dest)
			policy := w.Header().Get("Content-Security-Policy")
			if strings.Contains(policy, "script-src 'none'") == isHTML ||
				strings.HasSuffix(policy, "sandbox "+sandbox) != isHTML ||
				!strings.Contains(policy, "frame-src 'self' http://*.archive.localhost:8091") {
				t.Errorf("%s in %s: %s", path, dest, policy)
			}
			if n := strings.Count(w.Body.String(), "RTCPeerConnection"); isHTML != (n >= 2) {
				t.Errorf("%s has %d scripts of ours, want one of the page and one of the frame within:\n%s", path, n,
					w.Body)
			}
			if len(w.Header().Values("Content-Type")) > 1 {
				t.Errorf("%s is of two types: %v", path, w.Header())
			}
		}
	}
	w := ask(s, "/never", "Host", shown, "Sec-Fetch-Dest", "iframe")
	if policy := w.Header().Get("Content-Security-Policy"); !strings.Contains(policy, "sandbox allow-scripts;") {
		t.Errorf("the page of an error has the origin of captures: %s", policy)
	}
}

// TestAQueryThatOnlyKeepsCachesAwayFindsItsCapture: its value is another one each time that a script runs.
func TestAQueryThatOnlyKeepsCachesAwayFindsItsCapture(t *testing.T) {
	const head = "HTTP/1.1 200 OK\r\nContent-Type: text/plain\r\n\r\n"
	s := holding(t, t.TempDir(),
		&warc.Exchange{URI: "http://docs.test/api?a=1&_=1789000000000", Head: []byte(head), Body: []byte("one")},
		&warc.Exchange{URI: "http://docs.test/api?a=2&_=1789000000000", Head: []byte(head), Body: []byte("two")},
		&warc.Exchange{URI: "http://docs.test/apis?a=3", Head: []byte(head), Body: []byte("three")})
	for query, want := range map[string]string{"?a=2&_=1790000000001": "two", "?a=1&cb=x": "one", "?a=2": "two",
		"?a=3": "", "?_=1": "", "": ""} {
		w := ask(s, "/api"+query, "Host", shown, "Sec-Fetch-Dest", "empty")
		if told := ask(s, "/capture/20260314120000/http://docs.test/api"+query); told.Code != w.Code {
			t.Errorf("%q: the banner is told %d of what the frame shows with %d", query, told.Code, w.Code)
		}
		if got := w.Body.String(); want != "" && got != want || want == "" && w.Code != 404 {
			t.Errorf("%q: %d %s, want %q", query, w.Code, got, want)
		}
	}
}

// TestAnotherOriginMayReadAnAnswer asks as a script does before it sends fields of its own, and as it does then.
func TestAnotherOriginMayReadAnAnswer(t *testing.T) {
	s := archived(t, warc.Gzip)
	for from, allowed := range map[string]bool{"http://2026-https-8443.cdn.test.archive.localhost:8091": true,
		"http://evil.test": false, "null": false, "null ": true, "": false} {
		r := httptest.NewRequest(http.MethodOptions, "/", nil)
		r.Host = shown
		if from == "null " { // another captured origin led the request here
			from = "null"
			r.Header.Set("Sec-Fetch-Site", "same-site")
		}
		r.Header.Set("Origin", from)
		r.Header.Set("Access-Control-Request-Headers", "x-a")
		w := httptest.NewRecorder()
		s.captures(w, r)
		if (w.Header().Get("Access-Control-Allow-Origin") == from) != (allowed || from == "") || w.Body.Len() > 0 ||
			w.Header().Get("Memento-Datetime") != "" {
			t.Errorf("%q: %d %v", from, w.Code, w.Header())
		}
	}
}

// TestAScriptReadsTheFieldsThatMakeItsList asks as fetch does, from the same origin and from another.
func TestAScriptReadsTheFieldsThatMakeItsList(t *testing.T) {
	list := func(path, more string) *warc.Exchange {
		return &warc.Exchange{URI: "http://docs.test/" + path, Body: []byte("[]"), Head: []byte(
			"HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nX-Total-Count: 57\r\nETag: \"a\"\r\n" +
				"Set-Cookie: a=b\r\nContent-Range: items 0-9/57\r\nLink: <http://docs.test/list?page=2>; " +
				"rel=\"next\"" + more + "\r\n\r\n")}
	}
	s := holding(t, t.TempDir(), list("list", ""),
		list("shared", "\r\nAccess-Control-Allow-Origin: *\r\naccess-control-expose-headers: x-total-count, link"))
	for path, exposed := range map[string]string{"/list": "Content-Range, Content-Type, ETag, Link, X-Total-Count",
		"/shared": "Link, X-Total-Count"} {
		w := ask(s, path, "Host", shown, "Sec-Fetch-Dest", "empty")
		for name, want := range map[string]string{"X-Total-Count": "57", "Etag": `"a"`, "Content-Range": "items 0-9/57",
			"Link": `<http://docs.test/list?page=2>; rel="next"`, "Set-Cookie": "", "X-Archive-Orig-Set-Cookie": "a=b",
			"Access-Control-Expose-Headers": exposed} {
			if got := strings.Join(w.Header().Values(name), "|"); got != want {
				t.Errorf("%s: %s is %q, want %q", path, name, got, want)
			}
		}
		// what is shown, or fetched ahead of that, and what is asked for under our own name
		for _, w := range []*httptest.ResponseRecorder{ask(s, path, "Host", shown, "Sec-Fetch-Dest", "iframe"),
			ask(s, path, "Host", shown, "Sec-Fetch-Dest", "empty", "Sec-Purpose", "prefetch"),
			ask(s, "/web/2026mp_/http://docs.test"+path, "Sec-Fetch-Dest", "empty")} {
			if h := w.Header(); h.Get("X-Total-Count") != "" || h.Get("X-Archive-Orig-X-Total-Count") != "57" ||
				!strings.Contains(h.Get("Link"), "timemap") {
				t.Errorf("%s: %v", path, h)
			}
		}
	}
}

// TestAScriptReadsHowLongAnAnswerWas asks as one does that draws how far it is: what is passed on as it was sent has
// its length, and HEAD has that of a page too, of which the replay sends more.
func TestAScriptReadsHowLongAnAnswerWas(t *testing.T) {
	const long = 100_000 // no server would count it by itself
	answer := func(path, media, more string) *warc.Exchange {
		return &warc.Exchange{URI: "http://docs.test" + path, Body: bytes.Repeat([]byte("x"), long), Head: []byte(
			"HTTP/1.1 200 OK\r\nContent-Type: " + media + more + "\r\n\r\n")}
	}
	const said = "\r\nContent-Length: 100000"
	s := holding(t, t.TempDir(), answer("/film", "video/mp4", said), answer("/page", "text/html", said),
		answer("/cut", "video/mp4", "\r\nContent-Length: 100001"), answer("/live", "video/mp4", ""))
	for path, want := range map[string][2]string{"/film": {"100000", "100000"}, "/page": {"", "100000"},
		"/cut": {"", "100001"}, "/live": {"", ""}} {
		for i, method := range []string{http.MethodGet, http.MethodHead} {
			r := httptest.NewRequest(method, path, nil)
			r.Host = shown
			r.Header.Set("Sec-Fetch-Dest", "empty")
			w := httptest.NewRecorder()
			s.captures(w, r)
			sent := w.Body.Len() > 0
			if got := w.Header().Get("Content-Length"); got != want[i] || sent != (method == http.MethodGet) {
				t.Errorf("%s %s: %d, %q, want %q; sent %v", method, path, w.Code, got, want[i], sent)
			}
		}
	}
}

// TestWhatAScriptSaysOfItsAddressFindsItsCapture asks as a page in replay does that sends where it is, and has a worker
// loaded that is led into the archive.
func TestWhatAScriptSaysOfItsAddressFindsItsCapture(t *testing.T) {
	const head = "HTTP/1.1 200 OK\r\nContent-Type: text/javascript\r\n\r\n"
	asked, err := posted.Make(posted.Request{URL: weburl.MustParse("http://docs.test/api"), ContentType: "text/plain",
		Body: []byte("at http://docs.test:8480/page")})
	if err != nil {
		t.Fatal(err)
	}
	s := holding(t, t.TempDir(),
		&warc.Exchange{URI: "http://docs.test/api?at=http%3A%2F%2Fdocs.test%3A8480%2Fpage", Head: []byte(head),
			Body: []byte("one")},
		&warc.Exchange{URI: "http://docs.test/api", Head: []byte(head), Body: []byte("two"),
			Extra: []warc.Field{{Name: posted.Field, Value: posted.FieldOf(asked.String())}}})
	const own = "20260314120000-http-8480.docs.test.archive.localhost"
	w := ask(s, "/api?at=http%3A%2F%2F"+own+"%3A8091%2Fpage", "Host", shown, "Sec-Fetch-Dest", "empty")
	if w.Body.String() != "one" {
		t.Errorf("the query leads to %d %s", w.Code, w.Body)
	}
	w = ask(s, "/api?at=http%3A%2F%2F"+own+"%3A8091%2Fpage", "Host", shown, "Sec-Fetch-Dest", "worker")
	if !strings.HasPrefix(w.Body.String(), "{const under") || !strings.HasSuffix(w.Body.String(), "asks(self);}one") {
		t.Errorf("a worker is led by %s", w.Body)
	}
	r := httptest.NewRequest(http.MethodPost, "/api", strings.NewReader("at http://"+own+":8091/page"))
	r.Host = shown
	r.Header.Set("Content-Type", "text/plain")
	w = httptest.NewRecorder()
	s.captures(w, r)
	if w.Body.String() != "two" {
		t.Errorf("the body leads to %d %s", w.Code, w.Body)
	}
}
