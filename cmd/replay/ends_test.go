package replay

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"path/filepath"
	"strings"
	"testing"
	"testing/iotest"

	"github.com/klauspost/compress/gzip"

	"henro/store/archive/cdxj"
	"henro/store/archive/warc"
	"henro/store/report/search"
)

// TestWhoIsRefusedLearnsNothing: the answer is the one line that says why, on either port.
func TestWhoIsRefusedLearnsNothing(t *testing.T) {
	s := archived(t, warc.Gzip)
	for sentence, c := range map[string]struct {
		method, host, field string
		status              int
	}{
		"another name, for our pages":       {"GET", "evil.test:8090", "", 403},
		"a change, for our pages":           {"PUT", "127.0.0.1:8090", "", 405},
		"a service worker of our pages":     {"GET", "127.0.0.1:8090", "Service-Worker", 403},
		"another name, for captures":        {"GET", "evil.test:8091", "", 403},
		"a change, for captures":            {"PUT", shown, "", 405},
		"a service worker, of the captures": {"GET", shown, "Service-Worker", 403},
	} {
		handler := s.ServeHTTP
		if strings.HasSuffix(c.host, "1") {
			handler = s.captures
		}
		for _, target := range []string{"/", "/web/2026mp_/http://docs.test/", "/web/2026id_/http://docs.test/",
			"/static/replay.css", "/timemap/link/http://docs.test/"} {
			r := httptest.NewRequest(c.method, target, nil)
			r.Host = c.host
			if c.field != "" {
				r.Header.Set(c.field, "script")
			}
			w := httptest.NewRecorder()
			handler(w, r)
			if w.Code != c.status || strings.Count(w.Body.String(), "\n") != 1 || w.Header().Get("Location") != "" ||
				w.Header().Get("Link") != "" {
				t.Errorf("%s, %s: %d %v\n%.200s", sentence, target, w.Code, w.Header(), w.Body)
			}
		}
	}
}

func TestWhatTheHeadAsksForHasNoBody(t *testing.T) {
	s := archived(t, warc.Gzip)
	for _, page := range []string{"http://docs.test/", "http://docs.test/a.css", "http://docs.test/resource"} {
		r := httptest.NewRequest(http.MethodHead, "/web/2026mp_/"+page, nil)
		r.Host = s.own
		w := httptest.NewRecorder()
		if s.ServeHTTP(w, r); w.Code != 200 || w.Body.Len() > 0 {
			t.Errorf("%s: %d, %d bytes", page, w.Code, w.Body.Len())
		}
	}
}

// TestAWindowOfACaptureIsOneOfOurs: a capture that is opened by itself goes to our own page of it.
func TestAWindowOfACaptureIsOneOfOurs(t *testing.T) {
	s := archived(t, warc.Gzip)
	const page = "/web/20260314120000/http://docs.test/"
	w := ask(s, "/", "Host", shown, "Sec-Fetch-Dest", "document")
	if to := w.Header().Get("Location"); w.Code != 302 || to != "http://"+s.own+page {
		t.Errorf("%d to %s", w.Code, to)
	}
}

func TestWhereABrowserAskedIsKnown(t *testing.T) {
	l := Listeners{Own: newPipes("127.0.0.1:8090"), Content: []net.Listener{newPipes("127.0.0.1:8091")}}
	for address, want := range map[string]struct {
		asked Asked
		url   string
	}{
		"http://" + shown + "/a?b":                                    {Captured, "http://docs.test/a?b"},
		"http://2026-https-8443.docs.test.archive.localhost:8091/":    {Captured, "https://docs.test:8443/"},
		"http://2026-http.2001-db8--1.ip6.archive.localhost:8091/a":   {Captured, "http://[2001:db8::1]/a"},
		"http://" + shown + "/.henro/static/replay.css":               {Ours, ""},
		"http://localhost:8091/web/2026mp_/http://docs.test/a":        {Foreign, ""},
		"http://2026-gopher.docs.test.archive.localhost:8091/":        {Foreign, ""},
		"http://20260314120000-http.docs.test.archive.localhost:8092": {Foreign, ""},
		"http://127.0.0.1:8090/web/2026mp_/http://docs.test/a":        {Ours, ""},
		"http://127.0.0.1:8090/":                                      {Ours, ""},
		"https://127.0.0.1:8090/":                                     {Foreign, ""},
		"http://docs.test/web/2026mp_/http://docs.test/a":             {Foreign, ""},
		"http://localhost:8092/web/2026mp_/http://docs.test/a":        {Foreign, ""},
		"http://[/":                    {Foreign, ""},
		"data:text/html,http://a.test": {Foreign, ""},
	} {
		url, asked := l.Asked(address)
		if asked != want.asked || asked == Captured && url.String() != want.url {
			t.Errorf("%s: %v, %s", address, asked, url.String())
		}
	}
	e := cdxj.Entry{At: noon, URL: "http://docs.test/a"}
	if at := l.Address(e); at != "http://127.0.0.1:8090/web/20260314120000/http://docs.test/a" {
		t.Errorf("a person opens it at %s", at)
	}
}

func TestWhatWasAskedForIsOnlyACapture(t *testing.T) {
	for target, want := range map[string]string{"/web/2026mp_/http://docs.test/a": "2026 http://docs.test/a",
		"/web/http://docs.test/a": " http://docs.test/a", "/timemap/link/http://docs.test/a": "",
		"/capture/2026/docs.test/a": "", "/web/2026": "", "/": ""} {
		stamp, u, ok := (&Server{captured: "8091"}).asked(httptest.NewRequest(http.MethodGet, target, nil))
		if got := stamp + " " + u.String(); ok != (want != "") || ok && got != want {
			t.Errorf("%s: %q, %v", target, got, ok)
		}
	}
}

// TestWhoLeavesTheLineIsNotAnswered: a question is not asked once its time is over.
func TestWhoLeavesTheLineIsNotAnswered(t *testing.T) {
	s := archived(t, warc.Gzip)
	calls := 0
	s.o.Absence = func(context.Context, string) (Absence, error) { calls++; return Absence{}, nil }
	if err := s.questions.Acquire(t.Context(), 1); err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	r := httptest.NewRequestWithContext(ctx, http.MethodGet, "/web/2026mp_/http://docs.test/never", nil)
	r.Host = s.own
	r.Header.Set("Accept", "text/html")
	w := httptest.NewRecorder()
	if s.ServeHTTP(w, r); w.Code != 404 || calls > 0 {
		t.Errorf("%d after %d questions", w.Code, calls)
	}
}

// TestACaptureThatCannotBeUnpackedIsAnError: before its first byte it can be said so.
func TestACaptureThatCannotBeUnpackedIsAnError(t *testing.T) {
	var zipped bytes.Buffer
	z := gzip.NewWriter(&zipped)
	z.Flush()
	s := holding(t, t.TempDir(), &warc.Exchange{URI: "http://docs.test/",
		Head: []byte("HTTP/1.1 200 OK\r\nContent-Type: text/html; charset=utf-16le\r\nContent-Encoding: gzip\r\n\r\n"),
		Body: append(zipped.Bytes()[:10:10], strings.Repeat("\xff", 100)...)})
	if w := ask(s, "/web/2026mp_/http://docs.test/"); w.Code != 500 {
		t.Errorf("%d %q", w.Code, w.Body)
	}
}

// TestAPageIsFoundOnce, however often it was captured.
func TestAPageIsFoundOnce(t *testing.T) {
	s := archived(t, warc.Gzip)
	for _, query := range []string{"http://docs.test/", "docs"} {
		rows, _, _, err := s.search(query, "")
		seen := map[string]int{}
		for _, r := range rows {
			seen[r.Name]++
		}
		if err != nil || seen["http://docs.test/"] != 1 {
			t.Errorf("%s: %v, %v", query, seen, err)
		}
	}
}

// TestAQuestionWithoutAWordFindsNothing: the rest of the answer is shown all the same.
func TestAQuestionWithoutAWordFindsNothing(t *testing.T) {
	s := archived(t, warc.Gzip)
	index, err := search.Open(t.Context(), filepath.Dir(s.archive.Dir()), true)
	if err != nil {
		t.Fatal(err)
	}
	if err := index.Close(); err != nil {
		t.Fatal(err)
	}
	for _, query := range []string{"word", "!", "\""} {
		if found, err := s.texts(t.Context(), query); err != nil || len(found) > 0 {
			t.Errorf("%q: %v, %v", query, found, err)
		}
	}
}

// A replay finds words in texts where there is an index, shows the line around them as text, whatever it looks like,
// and leads to the version that says them.
func TestAReplayFindsWordsInTexts(t *testing.T) {
	s := archived(t, warc.Gzip)
	if got := ask(s, "/?q=晴れ").Body.String(); strings.Contains(got, "東京は") {
		t.Errorf("without an index: %s", got)
	}
	index, err := search.Open(t.Context(), filepath.Dir(s.archive.Dir()), true)
	if err != nil {
		t.Fatal(err)
	}
	_, err = index.Add(t.Context(), []search.Page{
		{URL: "http://docs.test/", At: noon, Title: "Weather", Text: "東京は晴れです。"},
		{URL: "http://docs.test/", At: noon.AddDate(0, 0, 1), Title: "Weather", Text: "東京は雨です。"},
		{URL: "http://docs.test/prices", At: noon, Title: "Prices", Text: "They rise by 2% <in spring> & autumn."}})
	if err := errors.Join(err, index.Close()); err != nil {
		t.Fatal(err)
	}
	for words, c := range map[string]struct{ line, href string }{
		"晴れ":            {"東京は晴れです。", `href="/web/20260314120000`},
		"%22rise+by%22": {"% &lt;in spring&gt; &amp; autumn", "/http://docs.test/prices\""},
	} {
		if got := ask(s, "/?q="+words).Body.String(); !strings.Contains(got, c.line) || !strings.Contains(got, c.href) {
			t.Errorf("%s: not %s at %s:\n%s", words, c.line, c.href, got)
		}
	}
	if got := ask(s, "/?q=雪").Body.String(); strings.Contains(got, "/web/2") {
		t.Errorf("a word that is nowhere: %s", got)
	}
}

// TestTheRewriterEndsWhereItsPageDoes: an error of the page is its own, and half a value is none.
func TestTheRewriterEndsWhereItsPageDoes(t *testing.T) {
	torn := errors.New("torn")
	w := &rewriter{lead: leading, base: "http://docs.test/", encoding: "utf-8"}
	page := io.MultiReader(strings.NewReader("<p>"), &once{err: torn}, strings.NewReader("<p>behind"))
	if err := w.page(bufio.NewWriter(io.Discard), page); err != torn {
		t.Errorf("%v, want %v", err, torn)
	}
	if err := w.page(bufio.NewWriter(io.Discard), iotest.ErrReader(torn)); err != torn {
		t.Errorf("at once: %v, want %v", err, torn)
	}
	for _, tag := range []string{`<a b="c d>`, `<a b='`, `<a b="`} {
		if all := attributes([]byte(tag)); len(all) > 0 {
			t.Errorf("%s: %+v", tag, all)
		}
	}
	far := `<meta http-equiv="refresh` + strings.Repeat(" ", 300<<10) + `" content="0;url=/x">`
	if got := rewritten(t, far, "utf-8"); got != far {
		t.Errorf("what is beyond a bound was changed: %.80s", got[len(got)-80:])
	}
}

// once fails once.
type once struct{ err error }

func (o *once) Read([]byte) (n int, err error) {
	if err, o.err = o.err, io.EOF; err == nil {
		err = io.EOF
	}
	return 0, err
}
