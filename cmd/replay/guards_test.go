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
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/klauspost/compress/gzip"
	"github.com/sirupsen/logrus"
	"golang.org/x/net/html"

	"henro/messages/weburl"
	"henro/slave/pagetext"
	"henro/store/archive/captures"
	"henro/store/archive/cdxj"
	"henro/store/archive/warc"
)

// holding is a server of these exchanges.
func holding(t *testing.T, dir string, exchanges ...*warc.Exchange) *Server {
	t.Helper()
	b, err := warc.NewBuilder(warc.DefaultOptions())
	if err != nil {
		t.Fatal(err)
	}
	var data []byte
	for _, x := range exchanges {
		if x.At.IsZero() {
			x.At = noon
		}
		x.Request = []byte("GET / HTTP/1.1\r\n\r\n")
		data, _ = b.AppendExchange(data, x)
	}
	if err := os.WriteFile(filepath.Join(dir, "a.warc.gz"), data, 0o600); err != nil {
		t.Fatal(err)
	}
	a, err := captures.Open(dir, func(string) {})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { a.Close() })
	log := logrus.New()
	log.SetOutput(io.Discard)
	s := NewServer(a, Options{}, logrus.NewEntry(log))
	s.own, s.captured = "127.0.0.1:8090", "8091"
	return s
}

// TestWhoMayLearnOfTheArchive asks as pages of other sites and captures do.
func TestWhoMayLearnOfTheArchive(t *testing.T) {
	s := archived(t, warc.Gzip)
	const all = "'self' http://*.archive.localhost:8091"
	for sentence, c := range map[string]struct {
		target string
		status int
		fields []string
		want   map[string]string // fields of the answer
	}{
		"an address of another machine": {"/", 403, []string{"Host", "192.0.2.1:8090"}, nil},
		"a page of the same site, another port": {"/", 403, []string{"Sec-Fetch-Site", "same-site",
			"Sec-Fetch-Dest", "empty"}, nil},
		"a page of another site, for a capture": {"/", 403, []string{"Host", shown, "Sec-Fetch-Site",
			"cross-site", "Sec-Fetch-Dest", "script"}, nil},
		"another origin of the archive": {"/", 200, []string{"Host", shown, "Sec-Fetch-Site", "same-site",
			"Sec-Fetch-Dest", "empty", "Origin", "http://2026-https.cdn.test.archive.localhost:8091"},
			map[string]string{"Access-Control-Allow-Credentials": "true",
				"Access-Control-Allow-Origin": "http://2026-https.cdn.test.archive.localhost:8091"}},
		"an origin that is none of the archive": {"/", 200, []string{"Host", shown, "Sec-Fetch-Dest", "empty",
			"Origin", "http://evil.test"}, map[string]string{"Access-Control-Allow-Origin": ""}},
		"our own page": {"/", 200, nil, map[string]string{"Referrer-Policy": "same-origin",
			"X-DNS-Prefetch-Control": "off", "Cross-Origin-Resource-Policy": "same-origin",
			"Cross-Origin-Opener-Policy": "same-origin", "X-Content-Type-Options": "nosniff",
			"Content-Security-Policy": "default-src 'none'; style-src 'self'; script-src 'self'; connect-src 'self'; " +
				"img-src 'self' data:; form-action 'self'; base-uri 'none'; frame-ancestors 'none'; " +
				"frame-src http://*.archive.localhost:8091"}},
		"a capture": {"/", 200, []string{"Host", shown, "Sec-Fetch-Dest", "iframe"},
			map[string]string{"Content-Location": "http://127.0.0.1:8090/web/20260314120000mp_/http://docs.test/",
				"Referrer-Policy": "same-origin", "X-DNS-Prefetch-Control": "off",
				"Cross-Origin-Resource-Policy": "same-site",
				"Connection-Allowlist":         `("http://*.archive.localhost:8091");redirects=allow`,
				"Content-Security-Policy": "default-src " + all + " data: blob: 'unsafe-inline'; script-src " + all +
					" 'unsafe-inline' 'unsafe-eval' data: blob:; object-src " + all + "; frame-src " + all +
					"; connect-src " + all + " data: blob:; base-uri " + all + "; form-action " + all +
					"; frame-ancestors " + all + " http://127.0.0.1:8090; webrtc 'block'; " +
					"sandbox allow-scripts allow-same-origin allow-forms"}},
		"the page of an error in its frame": {"/never", 404, []string{"Host", shown, "Sec-Fetch-Dest", "iframe"},
			map[string]string{"Referrer-Policy": "no-referrer", "X-Content-Type-Options": "nosniff",
				"Content-Security-Policy": "default-src 'none'; style-src 'self'; " +
					"script-src 'self'; connect-src 'self'; img-src 'self' data:; form-action 'self';" +
					" base-uri 'none'; " +
					"frame-ancestors " + all + " http://127.0.0.1:8090; sandbox allow-scripts; " +
					"frame-src http://*.archive.localhost:8091"}},
		"what that page needs": {"/.henro/static/missing.js", 200, []string{"Host", shown, "Sec-Fetch-Site",
			"cross-site"}, map[string]string{"Cross-Origin-Resource-Policy": "cross-origin"}},
		"a capture asks for its own sheet": {"/static/replay.css", 404, []string{"Host", shown}, nil},
		"a redirect byte for byte": {"/web/2026id_/http://docs.test/moved", 200, nil,
			map[string]string{"Location": "", "X-Archive-Orig-Location": "/other?x=1"}},
	} {
		w := ask(s, c.target, c.fields...)
		if w.Code != c.status {
			t.Errorf("%s: %d, want %d", sentence, w.Code, c.status)
		}
		for name, want := range c.want {
			if got := w.Header().Get(name); got != want {
				t.Errorf("%s: %s is\n%s, want\n%s", sentence, name, got, want)
			}
		}
	}
}

// TestHeadsOfCapturesDoNotAct: what a hostile server sent is shown and does nothing.
func TestHeadsOfCapturesDoNotAct(t *testing.T) {
	page := func(path, head string) *warc.Exchange {
		return &warc.Exchange{URI: "http://docs.test/" + path, Head: []byte(head + "\r\n\r\n"), Body: []byte("page")}
	}
	s := holding(t, t.TempDir(),
		page("fields", "HTTP/1.1 200 OK\r\nContent-Type: text/plain\r\nX(Y: odd\r\nSet-Cookie: a=b\r\n"+
			"Strict-Transport-Security: max-age=1\r\nClear-Site-Data: \"*\"\r\nRefresh: 0;url=http://evil.test/\r\n"+
			"Connection: keep-alive\r\nAccess-Control-Allow-Origin: *\r\nLink: <http://evil.test/>; rel=preload"),
		page("switching", "HTTP/1.1 101 Switching Protocols\r\nContent-Type: text/plain"),
		page("odd", "HTTP/1.1 999 Request denied\r\nContent-Type: text/plain"),
		page("none", "GARBAGE\r\nContent-Type: text/plain"))
	for _, form := range []string{"mp_", "id_"} {
		w := ask(s, "/web/2026"+form+"/http://docs.test/fields", "Sec-Fetch-Dest", "empty")
		if form == "mp_" {
			w = ask(s, "/fields", "Host", shown, "Sec-Fetch-Dest", "empty")
		}
		for name := range w.Header() {
			switch name {
			case "Content-Type", "Content-Location", "Content-Security-Policy", "Content-Disposition", "Cache-Control",
				"Connection-Allowlist", "Referrer-Policy", "X-Dns-Prefetch-Control", "Cross-Origin-Resource-Policy",
				"Memento-Datetime", "Link", "X-Content-Type-Options", "Cross-Origin-Opener-Policy",
				"Access-Control-Expose-Headers":
			default:
				if !strings.HasPrefix(name, "X-Archive-Orig-") || strings.Contains(name, "(") {
					t.Errorf("%s of a capture acts: %v", name, w.Header())
				}
			}
		}
		if strings.Contains(w.Header().Get("Link"), "evil") {
			t.Errorf("a link of a capture acts: %v", w.Header())
		}
	}
	for _, path := range []string{"switching", "odd", "none"} {
		if w := ask(s, "/web/2026mp_/http://docs.test/"+path); w.Code != 200 || w.Body.String() != "page" {
			t.Errorf("%s: %d %s", path, w.Code, w.Body)
		}
	}
}

// TestAnArchiveLeadsNowhereElse: links of the file system, folders in an index, revisits in a circle.
func TestAnArchiveLeadsNowhereElse(t *testing.T) {
	dir, elsewhere := t.TempDir(), t.TempDir()
	html := []byte("HTTP/1.1 200 OK\r\nContent-Type: text/plain\r\n\r\n")
	body := bytes.Repeat([]byte("page"), warc.MinIdentical)
	secret := holding(t, elsewhere, &warc.Exchange{URI: "http://secret.test/", Head: html, Body: body})
	outside := filepath.Join(secret.archive.Dir(), "a.warc.gz")
	if err := os.Symlink(outside, filepath.Join(dir, "b.warc.gz")); err != nil {
		if runtime.GOOS == "windows" {
			return // where only an administrator may make one
		}
		t.Fatal(err)
	}
	at := func(day int) time.Time { return noon.AddDate(0, 0, day) }
	s := holding(t, dir,
		&warc.Exchange{URI: "http://circle.test/", At: at(1), Head: html, Body: body,
			Earlier: &warc.Earlier{URI: "http://circle.test/", At: at(2)}},
		&warc.Exchange{URI: "http://circle.test/", At: at(2), Head: html, Body: body,
			Earlier: &warc.Earlier{URI: "http://circle.test/", At: at(1)}},
		&warc.Exchange{URI: "http://self.test/", At: at(1), Head: html, Body: body},
		&warc.Exchange{URI: "http://self.test/", At: at(2), Head: html, Body: body,
			Earlier: &warc.Earlier{URI: "http://self.test/", At: at(2)}},
		&warc.Exchange{URI: "http://folder.test/", At: at(1), Head: html, Body: body})
	for url, want := range map[string]int{"2026mp_/http://secret.test/": 0, "20260315mp_/http://circle.test/": 404,
		"20260316mp_/http://circle.test/": 404, "20260316120000mp_/http://self.test/": 200} {
		w := ask(s, "/web/"+url)
		if want != 0 && w.Code != want || want != 200 && strings.Contains(w.Body.String(), "pagepage") {
			t.Errorf("%s: %d %.100s", url, w.Code, w.Body)
		}
	}
	// The index of another program names files by their folder.
	index := cdxj.Path(filepath.Join(dir, "a.warc.gz"))
	lines, err := os.ReadFile(index)
	if err != nil {
		t.Fatal(err)
	}
	lines = bytes.ReplaceAll(lines, []byte(`"filename":"`), []byte(`"filename":"archive/`))
	merged := filepath.Join(dir, cdxj.MergedName)
	if err := errors.Join(os.WriteFile(index, lines, 0o600), os.Remove(merged)); err != nil {
		t.Fatal(err)
	}
	if err := s.archive.Refresh(); err != nil {
		t.Fatal(err)
	}
	if w := ask(s, "/web/2026mp_/http://folder.test/"); w.Code != 200 {
		t.Errorf("a file that is named by its folder: %d %.100s", w.Code, w.Body)
	}
}

// TestEachBoundOfTheRewriterHolds: what is longer or deeper than a page has reason to be passes as it is.
func TestEachBoundOfTheRewriterHolds(t *testing.T) {
	const link = site + "/"
	long := func(n int) string { return strings.Repeat("x", n) }
	nested := func(depth int) string {
		s := `<a href="//docs.test/x">`
		for range depth {
			s = `<iframe srcdoc="` + html.EscapeString(s) + `">`
		}
		return s
	}
	base := `<base href="http://docs.test/` + long(2000) + `/">`
	for sentence, c := range map[string]struct {
		page string
		ok   func(got string) bool
	}{
		"a link of 300 kB": {`<a href="//docs.test/` + long(300<<10) + `">`, func(got string) bool {
			return !strings.Contains(got, link)
		}},
		"a URL of 300 kB in a sheet": {`<style>a{b:url(//docs.test/` + long(300<<10) + `)}</style>`,
			func(got string) bool {
				return !strings.Contains(got, link)
			}},
		"what names a refresh in 300 kB": {`<meta http-equiv="` + long(300<<10) + `" content="0;url=//docs.test/x">`,
			func(got string) bool { return !strings.Contains(got, link) }},
		"the 300th attribute": {`<a ` + strings.Repeat("a ", 299) + ` href="//docs.test/x">`, func(got string) bool {
			return !strings.Contains(got, link)
		}},
		"the 200th attribute": {`<a ` + strings.Repeat("a ", 199) + ` href="//docs.test/x">`, func(got string) bool {
			return strings.Contains(got, link)
		}},
		"a tag of 9 MB": {`<p title="` + long(9<<20) + `"><a href="//docs.test/x">`, func(got string) bool {
			return !strings.Contains(got, link)
		}},
		"pictures that grow": {base + `<img srcset="` + strings.Repeat("http:a 1x,", 25_000) + `">`,
			func(got string) bool {
				return len(got) < 3*maxGrown && strings.Contains(got, "http.docs.test.archive.localhost:8091/xxx")
			}},
		"a style that grows": {base + `<p style="` + strings.Repeat("url(http:a)", 22_000) + `">`,
			func(got string) bool {
				return len(got) < 3*maxGrown
			}},
		"a tag that grows": {base + `<p` + strings.Repeat(` style="`+strings.Repeat("url(http:a)", 400)+`"`, 100) + `>`,
			func(got string) bool { return len(got) < maxTag+3*maxGrown }},
		"a page in a page that grows": {base + `<iframe srcdoc="` + strings.Repeat("&lt;a href=http:x>", 5_000) + `">`,
			func(got string) bool { return len(got) < 3*maxGrown }},
		"pages within pages": {nested(3), func(got string) bool {
			return strings.Contains(got, "docs.test.archive.localhost:8091/x")
		}},
		"pages within pages, deeper": {nested(5), func(got string) bool {
			return !strings.Contains(got, "docs.test.archive.localhost:8091/x")
		}},
		"a noscript of 2 MB": {`<noscript>` + long(2<<20) + `<a href="//docs.test/x"></noscript>`,
			func(got string) bool {
				return !strings.Contains(got, link)
			}},
		"what tells others": {`<a ping="/x" attributionsrc="/y" href="//docs.test/z"><iframe csp="c">`, func(got string,
		) bool {
			return got == `<a data-henro-ping="/x" data-henro-attributionsrc="/y" href="`+link+
				`z"><iframe data-henro-csp="c">`
		}},
		"a prefetch of names": {`<meta http-equiv=x-dns-prefetch-control content=on>`, func(got string) bool {
			return got == `<meta http-equiv=x-dns-prefetch-control data-henro-content=on>`
		}},
		"a policy that only reports": {`<meta http-equiv=content-security-policy-report-only content=x>`,
			func(got string) bool { return strings.Contains(got, "data-henro-content=x") }},
		"a value that would leave its sheet": {`<style>a{b:url("//docs.test/x)y'z")}</style>`, func(got string) bool {
			return strings.Contains(got, "x%29y%27z")
		}},
		"a value that would leave its attribute": {`<iframe srcdoc='<p title="&#39;>&quot;">&lt;a href=/x>'>`,
			func(got string) bool {
				z, n := html.NewTokenizer(strings.NewReader(got)), 0
				for z.Next() != html.ErrorToken {
					n++
				}
				return n == 1
			}},
		"a value with a tag": {`<p style="a:url(/x);b:'&lt;'">`, func(got string) bool {
			return !strings.Contains(got[1:], "<")
		}},
	} {
		if got := rewritten(t, c.page, "utf-8"); !c.ok(got) {
			t.Errorf("%s: %d bytes became %d: %.300s … %s", sentence, len(c.page), len(got), got,
				got[max(0, len(got)-300):])
		}
	}
	// By itself, for depth by noscript within noscript does not come from the tokenizer.
	deep := &rewriter{lead: leading, base: "http://docs.test/", nested: maxNested}
	var b bytes.Buffer
	out := bufio.NewWriter(&b)
	page := strings.NewReader(`<noscript><a href=//docs.test/x></noscript>`)
	if err := deep.page(out, page); err != nil || out.Flush() != nil ||
		strings.Contains(b.String(), link) {
		t.Errorf("a page that is nested too deep: %s, %v", b.String(), err)
	}
}

// TestEachShareOfTheMemoryIsAwaited: with nothing left to hold, nothing is read.
func TestEachShareOfTheMemoryIsAwaited(t *testing.T) {
	s := archived(t, warc.Gzip)
	soon := func() context.Context {
		ctx, cancel := context.WithTimeout(t.Context(), 20*time.Millisecond)
		t.Cleanup(cancel)
		return ctx
	}
	r := func(ctx context.Context, target string) *http.Request {
		r := httptest.NewRequestWithContext(ctx, http.MethodGet, target, nil)
		r.Host = "127.0.0.1:8090"
		return r
	}
	for sentence, target := range map[string]string{
		"a page": "/web/2026mp_/http://docs.test/",
		"raw":    "/web/2026id_/http://docs.test/",
	} {
		w := httptest.NewRecorder()
		if s.ServeHTTP(w, r(t.Context(), target)); w.Code != 200 {
			t.Errorf("%s, with memory: %d", sentence, w.Code)
		}
		if err := s.budget.shares.Acquire(t.Context(), memory); err != nil {
			t.Fatal(err)
		}
		w = httptest.NewRecorder()
		if s.ServeHTTP(w, r(soon(), target)); w.Code == 200 {
			t.Errorf("%s is shown without memory", sentence)
		}
		s.budget.shares.Release(memory)
	}
	for _, coding := range []string{"br", "gzip, zstd"} {
		if err := s.budget.shares.Acquire(t.Context(), memory-shareOfWide); err != nil {
			t.Fatal(err)
		}
		if _, err := s.budget.share(soon(), true, coding); err == nil {
			t.Errorf("%s needs no more than any other", coding)
		}
		release, err := s.budget.share(t.Context(), true, "gzip")
		if err != nil {
			t.Fatal(err)
		}
		release()
		s.budget.shares.Release(memory - shareOfWide)
	}
	if !s.budget.large.TryAcquire(1) {
		t.Fatal("what is large is held")
	}
	m := &metered{Reader: strings.NewReader(strings.Repeat("x", 3*ordinary)), ctx: soon(), large: s.budget.large}
	if n, err := io.Copy(io.Discard, m); err == nil || n > 2*ordinary {
		t.Errorf("%d bytes are held without the permission, %v", n, err)
	}
	if !s.budget.shares.TryAcquire(memory) || s.budget.shares.TryAcquire(1) {
		t.Error("the shares are not those of the budget")
	}
}

type zeros struct{}

func (zeros) Read(p []byte) (int, error) {
	clear(p)
	return len(p), nil
}

// TestTextOfAPageIsBounded reads a page that grows by a thousand when its coding is taken off.
func TestTextOfAPageIsBounded(t *testing.T) {
	var b bytes.Buffer
	z := gzip.NewWriter(&b)
	if _, err := io.Copy(z, io.LimitReader(zeros{}, pagetext.MaxBytes+1<<20)); err != nil || z.Close() != nil {
		t.Fatal(err)
	}
	s := holding(t, t.TempDir(), &warc.Exchange{URI: "http://docs.test/",
		Head: []byte("HTTP/1.1 200 OK\r\nContent-Type: text/html\r\nContent-Encoding: gzip\r\n\r\n"), Body: b.Bytes()})
	p, err := s.archive.Closest(weburl.MustParse("http://docs.test/"), noon)
	if err != nil {
		t.Fatal(err)
	}
	text, err := pagetext.Read(s.archive, p.Entry)
	if err != nil || text.Bytes != pagetext.MaxBytes {
		t.Errorf("%+v, %v", text, err)
	}
}

// TestWhyNotIsAskedOneByOne: the state is read by one question at a time, each with an end.
func TestWhyNotIsAskedOneByOne(t *testing.T) {
	s := archived(t, warc.Gzip)
	var under, most, bad atomic.Int32
	s.o.Absence = func(ctx context.Context, _ string) (Absence, error) {
		most.Store(max(most.Load(), under.Add(1)))
		defer under.Add(-1)
		if until, ok := ctx.Deadline(); !ok || time.Until(until) > absenceFor {
			bad.Add(1)
		}
		time.Sleep(2 * time.Millisecond)
		return Absence{}, nil
	}
	done := make(chan int)
	for range 8 {
		go func() {
			done <- ask(s, "/web/2026mp_/http://docs.test/never", "Accept", "text/html").Code
		}()
	}
	for range 8 {
		if code := <-done; code != 404 {
			t.Error(code)
		}
	}
	if most.Load() != 1 || bad.Load() > 0 {
		t.Errorf("%d questions at once, %d without an end", most.Load(), bad.Load())
	}
}

// pipes is a listener without sockets, for virtual time.
type pipes struct {
	conns chan net.Conn
	name  string
	done  chan struct{}
}

func newPipes(name string) *pipes {
	return &pipes{conns: make(chan net.Conn), name: name, done: make(chan struct{})}
}

func (p *pipes) Accept() (net.Conn, error) {
	select {
	case c := <-p.conns:
		return c, nil
	case <-p.done:
		return nil, net.ErrClosed
	}
}

func (p *pipes) Close() error {
	select {
	case <-p.done:
	default:
		close(p.done)
	}
	return nil
}

func (p *pipes) Addr() net.Addr { return pipeName(p.name) }

type pipeName string

func (pipeName) Network() string  { return "pipe" }
func (n pipeName) String() string { return string(n) }

func (p *pipes) dial() net.Conn {
	here, there := net.Pipe()
	p.conns <- there
	return here
}

// TestWhoHoldsAConnectionIsCutOff: each port, in virtual time.
func TestWhoHoldsAConnectionIsCutOff(t *testing.T) {
	folder := archived(t, warc.Gzip).archive.Dir()
	synctest.Test(t, func(t *testing.T) {
		a, err := captures.Open(folder, func(string) {})
		if err != nil {
			t.Fatal(err)
		}
		defer a.Close()
		log := logrus.New()
		log.SetOutput(io.Discard)
		s := NewServer(a, Options{}, logrus.NewEntry(log))
		ports := []*pipes{newPipes("127.0.0.1:8090"), newPipes("127.0.0.1:8091")}
		ctx, cancel := context.WithCancel(t.Context())
		ended := make(chan error, 1)
		go func() {
			ended <- s.Serve(ctx, Listeners{Own: ports[0], Content: []net.Listener{ports[1]}})
		}()
		const request = "GET / HTTP/1.1\r\nHost: 127.0.0.1:8090\r\n"
		for _, port := range ports {
			for sentence, c := range map[string]struct {
				says string
				at   time.Duration // when it is cut off, at most
			}{
				"who says nothing":                {"", 6 * time.Second},
				"who says half":                   {"GET / HT", 6 * time.Second},
				"who does not send what is named": {request + "Content-Length: 9\r\n\r\n", 31 * time.Second},
				"who has been answered":           {request + "\r\n", 61 * time.Second},
			} {
				conn, begin := port.dial(), time.Now()
				if _, err := io.WriteString(conn, c.says); err != nil {
					t.Fatal(err)
				}
				conn.SetReadDeadline(begin.Add(time.Hour))
				_, err := io.Copy(io.Discard, conn)
				if took := time.Since(begin); err != nil || took > c.at {
					t.Errorf("%s, %s: %v, %v", port.name, sentence, took, err)
				}
				conn.Close()
			}
			// Who does not read his answer.
			conn := port.dial()
			io.WriteString(conn, request+"\r\n")
			time.Sleep(10 * time.Minute)
			if n, err := io.Copy(io.Discard, conn); err != nil || n > 0 {
				t.Errorf("%s: who did not read for 10 minutes has %d bytes, %v", port.name, n, err)
			}
			// A head without an end.
			conn = port.dial()
			go io.WriteString(conn, request+"X: "+strings.Repeat("x", 1<<20))
			answer, err := bufio.NewReader(conn).ReadString('\n')
			if err != nil || !strings.Contains(answer, "431") {
				t.Errorf("%s: a head of 1 MB: %q, %v", port.name, answer, err)
			}
			conn.Close()
			// Connections without an end.
			var closed atomic.Int32
			var held []net.Conn
			for range 2 * readers {
				conn := port.dial()
				held = append(held, conn)
				go func() {
					conn.Read(make([]byte, 1))
					closed.Add(1)
				}()
			}
			synctest.Wait()
			if n := closed.Load(); n < readers {
				t.Errorf("%s: %d of %d connections were closed", port.name, n, 2*readers)
			}
			for _, conn := range held {
				conn.Close()
			}
			synctest.Wait()
		}
		cancel()
		if err := <-ended; err != nil {
			t.Error(err)
		}
	})
}
