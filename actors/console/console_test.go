package console_test

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/sirupsen/logrus"

	"henro/actors/console"
)

func node(o console.Options) *console.Console {
	p := console.Process{Tail: console.NewTail(),
		Ready: func(context.Context) error { return errors.New("no master yet") }}
	return console.New(o, p.Routes(), []console.Route{
		{Pattern: "GET /api/status", Serve: func(w http.ResponseWriter, _ *http.Request) { console.Reply(w, "fine") }},
		{Pattern: "POST /api/pause", Serve: func(w http.ResponseWriter,
			_ *http.Request) {
			console.Reply(w, "paused")
		}},
	})
}

func TestWhoMayAsk(t *testing.T) {
	const token = "0123456789ABCDEFGHIJKLMNOP"
	header := func(pairs ...string) http.Header {
		h := http.Header{}
		for i := 0; i < len(pairs); i += 2 {
			h.Set(pairs[i], pairs[i+1])
		}
		return h
	}
	basic := func(password string) http.Header {
		r := httptest.NewRequest("GET", "/", nil)
		r.SetBasicAuth("anybody", password)
		return r.Header
	}
	for _, c := range []struct {
		sentence    string
		token       string
		method, url string
		header      http.Header
		want        int
	}{
		{"without a token, loopback is answered", "", "GET", "http://127.0.0.1:7780/api/status", nil, 200},
		{"so is localhost", "", "GET", "http://localhost:7780/api/status", nil, 200},
		{"so is ::1", "", "GET", "http://[::1]:7780/api/status", nil, 200},
		{"a name that a stranger pointed here is not", "", "GET", "http://evil.test:7780/api/status", nil, 421},
		{"nor for profiles", "", "GET", "http://evil.test/debug/pprof/", nil, 421},
		{"nor for a change", "", "POST", "http://evil.test:7780/api/pause", header("Origin", "http://evil.test:7780"),
			421},
		{"a name that was allowed is answered", "", "GET", "http://crawl.lan:7780/api/status", nil, 200},
		{"a program may change", "", "POST", "http://127.0.0.1:7780/api/pause", nil, 200},
		{"a page of ours may change", "", "POST", "http://127.0.0.1:7780/api/pause",
			header("Origin", "http://127.0.0.1:7780"), 200},
		{"a page of another site may not", "", "POST", "http://127.0.0.1:7780/api/pause",
			header("Origin", "https://evil.test"), 403},
		{"nor one that a modern browser names so", "", "POST", "http://127.0.0.1:7780/api/pause",
			header("Sec-Fetch-Site", "cross-site"), 403},
		{"with a token, who has none learns nothing", token, "GET", "http://127.0.0.1:7780/api/status", nil, 401},
		{"not even paths", token, "GET", "http://127.0.0.1:7780/nothing", nil, 401},
		{"profiles want it", token, "GET", "http://192.0.2.1:7780/debug/pprof/", nil, 401},
		{"a wrong one does not do", token, "GET", "http://192.0.2.1:7780/api/status",
			header("Authorization", "Bearer x"), 401},
		{"nor an empty one", token, "GET", "http://192.0.2.1:7780/api/status", header("Authorization", "Bearer "), 401},
		{"the right one does", token, "GET", "http://crawl.example:7780/api/status",
			header("Authorization", "Bearer "+token), 200},
		{"as password too", token, "GET", "http://crawl.example:7780/api/status", basic(token), 200},
		{"a wrong password does not", token, "GET", "http://crawl.example:7780/api/status", basic("x"), 401},
		{"with the token a page of another site still changes nothing", token, "POST", "http://crawl.example/api/pause",
			header("Authorization", "Bearer "+token, "Origin", "https://evil.test"), 403},
		{"health is open", token, "GET", "http://192.0.2.1:7780/healthz", nil, 204},
		{"readiness is open and says why not", token, "GET", "http://192.0.2.1:7780/readyz", nil, 503},
	} {
		t.Run(c.sentence, func(t *testing.T) {
			r := httptest.NewRequest(c.method, c.url, nil)
			for name, values := range c.header {
				r.Header[name] = values
			}
			w := httptest.NewRecorder()
			node(console.Options{Token: c.token, Names: []string{"crawl.lan"}}).ServeHTTP(w, r)
			if w.Code != c.want {
				t.Errorf("answered %d, want %d: %s", w.Code, c.want, w.Body)
			}
			if strings.Contains(w.Body.String(), token) {
				t.Error("the answer gives the token away")
			}
		})
	}
}

// What another node passes on is answered under any name and without the token; a page of another site changes nothing.
func TestWhatIsPassedOnIsJudgedByItsOriginAlone(t *testing.T) {
	c := console.New(console.Options{Token: "secret"}, []console.Route{{Pattern: "POST /api/changed",
		Serve: func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(http.StatusAccepted) }}}).Passed()
	for _, ask := range []struct {
		path, origin string
		want         int
	}{{"/api/changed", "", 202}, {"/api/changed", "https://evil.test", 403}, {"/api/pause", "", 404}} {
		r := httptest.NewRequest("POST", "http://crawler.example"+ask.path, nil)
		if ask.origin != "" {
			r.Header.Set("Origin", ask.origin)
		}
		w := httptest.NewRecorder()
		if c.ServeHTTP(w, r); w.Code != ask.want {
			t.Errorf("%s from %q is answered %d, want %d", ask.path, ask.origin, w.Code, ask.want)
		}
	}
}

func TestTheTailKeepsTheLastLines(t *testing.T) {
	tail := console.NewTail()
	logger := logrus.New()
	logger.SetOutput(io.Discard)
	logger.SetLevel(logrus.TraceLevel)
	logger.AddHook(tail)
	for i := range 2500 {
		logger.WithField("n", i).Info("line")
		logger.Debug("not kept")
	}
	lines := tail.After(0, 0)
	if len(lines) != 1000 || lines[0].Fields["n"] != "1500" || lines[999].Fields["n"] != "2499" ||
		lines[999].Seq != 2500 {
		t.Fatalf("%d lines, from %v to %v", len(lines), lines[0], lines[len(lines)-1])
	}
	if lines := tail.After(2490, 0); len(lines) != 10 || lines[0].Seq != 2491 {
		t.Errorf("after 2490: %v", lines)
	}
	if lines := tail.After(0, 3); len(lines) != 3 || lines[0].Seq != 2498 {
		t.Errorf("the last three: %v", lines)
	}
	if lines := tail.After(9000, 0); len(lines) != 0 {
		t.Errorf("after a number that never was: %v", lines)
	}
}

// streamed is a route whose answer lasts as long as its reader and the node.
func streamed(atOnce int) []console.Route {
	return []console.Route{{Pattern: "GET /stream", AtOnce: atOnce, Serve: func(w http.ResponseWriter,
		r *http.Request) {
		fmt.Fprintln(w, "first")
		_ = http.NewResponseController(w).Flush()
		<-r.Context().Done()
	}}}
}

func TestStreamsEndWithTheNode(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := console.New(console.Options{}, streamed(0))
		ctx, stop := context.WithCancel(t.Context())
		near, far := net.Pipe()
		served := make(chan error, 1)
		listener := &one{conn: far, closed: make(chan struct{})}
		go func() { served <- c.Serve(ctx, listener) }()
		go fmt.Fprint(near, "GET /stream HTTP/1.1\r\nHost: localhost\r\n\r\n")
		response, err := http.ReadResponse(bufio.NewReader(near), nil)
		if err != nil {
			t.Fatal(err)
		}
		lines := bufio.NewScanner(response.Body)
		if !lines.Scan() || lines.Text() != "first" {
			t.Fatalf("the stream begins with %q: %v", lines.Text(), lines.Err())
		}
		stop()
		for lines.Scan() {
		}
		if err := <-served; err != nil {
			t.Error(err)
		}
		near.Close()
	})
}

// one is a listener of one connection.
type one struct {
	conn   net.Conn
	closed chan struct{}
}

func (l *one) Accept() (net.Conn, error) {
	if c := l.conn; c != nil {
		l.conn = nil
		return c, nil
	}
	<-l.closed
	return nil, net.ErrClosed
}

func (l *one) Close() error {
	select {
	case <-l.closed:
	default:
		close(l.closed)
	}
	return nil
}

func (l *one) Addr() net.Addr { return &net.TCPAddr{IP: net.IPv4(127, 0, 0, 1)} }

// asked is a request as a browser sends it for another page.
func asked(method, target, site, mode, dest string) *http.Request {
	r := httptest.NewRequest(method, "http://127.0.0.1:7780"+target, nil)
	for name, value := range map[string]string{"Sec-Fetch-Site": site, "Sec-Fetch-Mode": mode, "Sec-Fetch-Dest": dest} {
		if value != "" {
			r.Header.Set(name, value)
		}
	}
	return r
}

func TestAPageOfAnotherSiteAsksForNothing(t *testing.T) {
	page := console.Route{Pattern: "GET /page", Linked: true, Serve: func(w http.ResponseWriter, _ *http.Request) {
		console.Reply(w, "page")
	}}
	p := console.Process{Tail: console.NewTail(), Ready: func(context.Context) error { return nil }}
	c := console.New(console.Options{}, p.Routes(), []console.Route{page,
		{Pattern: "GET /api/status", Serve: page.Serve}})
	for _, target := range []string{"/api/status", "/api/log", "/debug/pprof/", "/debug/pprof/heap",
		"/debug/pprof/cmdline", "/debug/pprof/profile?seconds=1",
		"/debug/pprof/trace?seconds=1", "/readyz", "/healthz", "/nothing", "/page"} {
		for _, site := range []string{"cross-site", "same-site"} {
			for _, way := range [][2]string{{"no-cors", "image"}, {"no-cors", "script"}, {"cors", "empty"},
				{"navigate", "iframe"}, {"navigate", "document"}, {"navigate", "embed"}, {"", ""}} {
				w := httptest.NewRecorder()
				c.ServeHTTP(w, asked("GET", target, site, way[0], way[1]))
				want := http.StatusForbidden
				if target == "/page" && way == [2]string{"navigate", "document"} {
					want = http.StatusOK
				}
				if w.Code != want {
					t.Errorf("%s of a %s page as %v: %d, want %d", target, site, way, w.Code, want)
				}
			}
		}
	}
	for _, site := range []string{"", "none", "same-origin"} {
		w := httptest.NewRecorder()
		if c.ServeHTTP(w, asked("GET", "/api/status", site, "cors", "empty")); w.Code != http.StatusOK {
			t.Errorf("a page of ours, %q: %d", site, w.Code)
		}
	}
}

func TestWhatARequestCostsIsBounded(t *testing.T) {
	t.Setenv("TMPDIR", t.TempDir())
	var read int64
	c := console.New(console.Options{}, []console.Route{{Pattern: "POST /small", Serve: func(w http.ResponseWriter,
		r *http.Request) {
		value := r.FormValue("x")
		n, err := io.Copy(io.Discard, r.Body)
		if read = n + int64(len(value)); err != nil {
			console.Fail(w, http.StatusRequestEntityTooLarge, err)
		}
	}}}, (&console.Process{Tail: console.NewTail()}).Routes())
	for _, media := range []string{"multipart/form-data; boundary=x", "Multipart/Mixed;boundary=x",
		"application/octet-stream", "application/x-www-form-urlencoded", ""} {
		body := io.MultiReader(strings.NewReader("--x\r\nContent-Disposition: form-data; name=f; filename=f\r\n\r\n"),
			io.LimitReader(endless{}, 100<<20))
		r := httptest.NewRequest("POST", "http://127.0.0.1/small", body)
		r.Header.Set("Content-Type", media)
		w := httptest.NewRecorder()
		c.ServeHTTP(w, r)
		if strings.Contains(strings.ToLower(media), "multipart") != (w.Code == http.StatusUnsupportedMediaType) ||
			read > 64<<10 {
			t.Errorf("100 MB of %q: %d, %d bytes read", media, w.Code, read)
		}
	}
	if files, err := os.ReadDir(os.Getenv("TMPDIR")); err != nil || len(files) > 0 {
		t.Errorf("files were made: %v, %v", files, err)
	}
	for _, seconds := range []string{"301", "1e9", "-1", "NaN", "Inf", "x"} {
		for _, kind := range []string{"profile", "trace", "heap"} {
			w := httptest.NewRecorder()
			c.ServeHTTP(w, httptest.NewRequest("GET", "http://127.0.0.1/debug/pprof/"+kind+"?seconds="+seconds, nil))
			if w.Code != http.StatusBadRequest {
				t.Errorf("%s of %s seconds: %d", kind, seconds, w.Code)
			}
		}
	}
}

// endless is a body without an end.
type endless struct{}

func (endless) Read(p []byte) (int, error) {
	for i := range p {
		p[i] = 'x'
	}
	return len(p), nil
}

func TestReadersOfAStreamAreBounded(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := console.New(console.Options{}, streamed(32))
		ctx, stop := context.WithCancel(t.Context())
		codes := make(chan int, 1500)
		for range cap(codes) {
			go func() {
				w := httptest.NewRecorder()
				r := httptest.NewRequest("GET", "http://127.0.0.1/stream", nil)
				c.ServeHTTP(w, r.WithContext(ctx))
				codes <- w.Code
			}()
		}
		synctest.Wait()
		if len(codes) != cap(codes)-32 {
			t.Errorf("%d readers are taken, want 32", cap(codes)-len(codes))
		}
		stop()
		for range cap(codes) {
			if code := <-codes; code != http.StatusServiceUnavailable && code != http.StatusOK {
				t.Errorf("answered %d", code)
			}
		}
		w := httptest.NewRecorder()
		if c.ServeHTTP(w, httptest.NewRequest("GET", "http://127.0.0.1/stream", nil).WithContext(ctx)); w.Code !=
			http.StatusOK {
			t.Errorf("when they have gone: %d", w.Code)
		}
	})
}

// TestAReaderMustMakeProgress has one that stops reading, and one that reads a byte now and then.
func TestAReaderMustMakeProgress(t *testing.T) {
	for sentence, c := range map[string]struct {
		pace  int64 // of Paced; 0: not so
		every time.Duration
		lasts time.Duration // at least and at most
		most  time.Duration
	}{
		"none at all":                     {0, time.Hour, 10 * time.Second, 11 * time.Second},
		"enough for an answer":            {0, 50 * time.Millisecond, time.Hour, 0},
		"enough for an answer, but paced": {1 << 20, 50 * time.Millisecond, 10 * time.Second, 21 * time.Second},
	} {
		synctest.Test(t, func(t *testing.T) {
			began := time.Now()
			ended := make(chan time.Duration, 1)
			answer := func(w http.ResponseWriter, _ *http.Request) {
				var out io.Writer = w
				if c.pace > 0 {
					out = console.Paced(w, c.pace)
				}
				io.Copy(out, io.LimitReader(endless{}, 1<<30))
				ended <- time.Since(began)
			}
			node := console.New(console.Options{}, []console.Route{{Pattern: "GET /x", Serve: answer}})
			ctx, stop := context.WithCancel(t.Context())
			near, far := net.Pipe()
			served := make(chan error, 1)
			listener := &one{conn: far, closed: make(chan struct{})}
			go func() { served <- node.Serve(ctx, listener) }()
			fmt.Fprint(near, "GET /x HTTP/1.1\r\nHost: localhost\r\n\r\n")
			gone := make(chan struct{})
			go func() {
				defer close(gone)
				piece := make([]byte, 1<<10)
				for {
					time.Sleep(c.every)
					if _, err := near.Read(piece); err != nil {
						return
					}
				}
			}()
			select {
			case took := <-ended:
				if took < c.lasts || took > c.most {
					t.Errorf("%s: cut off after %v, want %v to %v", sentence, took, c.lasts, c.most)
				}
			case <-time.After(time.Hour):
				if c.most > 0 {
					t.Errorf("%s: not cut off", sentence)
				}
			}
			near.Close()
			stop()
			<-served
			<-gone
		})
	}
}

// pipes is a listener whose connections are pipes.
type pipes chan net.Conn

func (p pipes) Accept() (net.Conn, error) {
	if c, ok := <-p; ok {
		return c, nil
	}
	return nil, net.ErrClosed
}

// Close is called once.
func (p pipes) Close() error {
	close(p)
	return nil
}
func (p pipes) Addr() net.Addr { return &net.TCPAddr{} }

func (p pipes) dial() net.Conn {
	ours, theirs := net.Pipe()
	p <- theirs
	return ours
}

// Whoever opens connections and asks for nothing, or never ends asking, keeps nobody from being answered. Whoever is
// being answered gets the whole answer.
func TestIdleConnectionsKeepNobodyOut(t *testing.T) {
	for sentence, begins := range map[string]string{
		"nothing is sent": "", "half a head": "GET / HTTP/1.1\r\nHost: loc",
		"a body that does not come": "POST /healthz HTTP/1.1\r\nHost: localhost\r\nContent-Length: 9000\r\n\r\n",
	} {
		synctest.Test(t, func(t *testing.T) {
			release := make(chan struct{})
			c := console.New(console.Options{}, []console.Route{
				{Pattern: "GET /slow", Serve: func(w http.ResponseWriter, _ *http.Request) {
					<-release
					console.Reply(w, "slow")
				}},
				{Pattern: "/", Serve: func(w http.ResponseWriter, _ *http.Request) { console.Reply(w, "fine") }},
			})
			listener := make(pipes)
			ctx, cancel := context.WithCancel(t.Context())
			served := make(chan error)
			go func() { served <- c.Serve(ctx, listener) }()
			ask := func(path string) *bufio.Reader {
				conn := listener.dial()
				go func() { _, _ = io.WriteString(conn, "GET "+path+" HTTP/1.1\r\nHost: localhost\r\n\r\n") }()
				return bufio.NewReader(conn)
			}
			answered := func(r *bufio.Reader) string {
				response, err := http.ReadResponse(r, nil)
				if err != nil {
					return err.Error()
				}
				b, _ := io.ReadAll(response.Body)
				return strings.TrimSpace(string(b))
			}
			slow := ask("/slow")
			synctest.Wait()
			var idle []net.Conn
			for range 3000 {
				conn := listener.dial()
				go func() {
					_, _ = io.WriteString(conn, begins)
					_, _ = io.Copy(io.Discard, conn)
				}()
				idle = append(idle, conn)
			}
			synctest.Wait()
			began := time.Now()
			if got := answered(ask("/")); got != `"fine"` || time.Since(began) > time.Second {
				t.Errorf("%s: answered %s after %v", sentence, got, time.Since(began))
			}
			close(release)
			if got := answered(slow); got != `"slow"` {
				t.Errorf("%s: who was being answered got %s", sentence, got)
			}
			for _, conn := range idle {
				conn.Close()
			}
			cancel()
			if err := <-served; err != nil {
				t.Error(err)
			}
		})
	}
}

// No page of ours is shown in a frame of another site, where it could be clicked unseen.
func TestNoPageIsShownInAFrame(t *testing.T) {
	w := httptest.NewRecorder()
	node(console.Options{}).ServeHTTP(w, httptest.NewRequest("GET", "http://127.0.0.1:7780/api/status", nil))
	if got := w.Header().Get("X-Frame-Options"); w.Code != 200 || got != "DENY" {
		t.Errorf("%d, X-Frame-Options: %q", w.Code, got)
	}
}
