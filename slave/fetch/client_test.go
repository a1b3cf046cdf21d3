package fetch

import (
	"context"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"reflect"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/gocolly/colly/v2"
	"go.uber.org/goleak"

	"henro/messages"
	"henro/messages/weburl"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

func TestTheBytesAreAsTheyWentAndCame(t *testing.T) {
	const h = "HTTP/1.1 200 OK\r\nX-Odd :  value \r\nx-lower: a\r\nX-Odd: second\r\n"
	for _, tt := range []struct {
		name, answer            string
		head, raw, payload, out string // what is expected; out "" = payload
	}{
		{"a length", h + "Content-Length: 5\r\n\r\nhello", "", "hello", "hello", ""},
		{"a chunk", h + "Transfer-Encoding: chunked\r\n\r\n5\r\nhello\r\n0\r\n\r\n", "", "5\r\nhello\r\n0\r\n\r\n",
			"hello", ""},
		{"two chunks, extensions and a trailer", h +
			"Transfer-Encoding: Chunked\r\n\r\n3;a=b\r\nhel\r\n02 \r\nlo\r\n000;x\r\nX-Sum: 1\r\n\r\n", "",
			"3;a=b\r\nhel\r\n02 \r\nlo\r\n000;x\r\nX-Sum: 1\r\n\r\n", "hello", ""},
		{"no chunk at all", h + "Transfer-Encoding: chunked\r\n\r\n0\r\n\r\n", "", "0\r\n\r\n", "", ""},
		{"bare line feeds", "HTTP/1.1 200 OK\nContent-Length: 2\n\nhi", "HTTP/1.1 200 OK\nContent-Length: 2\n\n", "hi",
			"hi", ""},
		{"interim responses",
			"HTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 103 Early Hints\r\nLink: </a>; rel=preload\r\n\r\n" + h +
				"Content-Length: 2\r\n\r\nhi",
			h + "Content-Length: 2\r\n\r\n", "hi", "hi", ""},
		{"an empty line first", "\r\n" + h + "Content-Length: 2\r\n\r\nhi", h + "Content-Length: 2\r\n\r\n", "hi", "hi",
			""},
		{"a body of zero bytes", h + "Content-Length: 0\r\n\r\n", "", "", "", ""},
		{"NULs", h + "Content-Length: 3\r\n\r\n\x00a\x00", "", "\x00a\x00", "\x00a\x00", ""},
	} {
		t.Run(tt.name, func(t *testing.T) {
			var asked string
			c := newClient(t, piped(func(c net.Conn, request string) { asked = request; io.WriteString(c, tt.answer) }))
			r := visit(t, c, "http://a.example/p?q=%zz|%41")
			if r.Reason != 0 || r.Status != 200 || r.Truncated != "" || r.Err != nil {
				t.Fatal(r.Reason, r.Err, r.Status, r.Truncated)
			}
			if string(r.RequestBytes) != asked {
				t.Errorf("request %q, sent %q", r.RequestBytes, asked)
			}
			if tt.head == "" {
				tt.head = tt.answer[:strings.Index(tt.answer, "\r\n\r\n")+4]
			}
			if string(r.ResponseHead) != tt.head {
				t.Errorf("head %q, want %q", r.ResponseHead, tt.head)
			}
			if string(r.RawBody) != tt.raw || string(r.Payload) != tt.payload || string(r.Body) != tt.payload {
				t.Errorf("raw %q, payload %q, body %q", r.RawBody, r.Payload, r.Body)
			}
			if strings.HasPrefix(tt.head, h) && (!reflect.DeepEqual(r.Header["X-Odd"], []string{"value", "second"}) ||
				r.Header.Get("X-Lower") != "a") {
				t.Errorf("header %v", r.Header)
			}
			if kept := c.pool.take("http://a.example"); kept == nil {
				t.Error("the connection was not kept")
			} else {
				c.pool.put(kept)
			}
			r.Release()
		})
	}
}

func TestTheRequestIsWhatWasAskedFor(t *testing.T) {
	c := newClient(t, func(o *Options) {
		piped(says("HTTP/1.1 304 Not Modified\r\nETag: \"x\"\r\nContent-Length: 7\r\n\r\n"))(o)
		o.Accept = "*/*"
		o.Header = http.Header{"From": {"a@example.org"}, "accept-language": {"ja"}, "Host": {"evil"},
			"Connection": {"close"}}
	})
	r := c.Fetch(context.Background(), Request{URL: weburl.MustParse("http://a.example:8080/%zz%?a=b|c#d"), ETag: `"x"`,
		LastModified: "Mon, 01 Jan 2024 00:00:00 GMT\r\nX: y"})
	want := "GET /%zz%?a=b|c HTTP/1.1\r\nHost: a.example:8080\r\nUser-Agent: " + c.o.UserAgent +
		"\r\nAccept: */*\r\nAccept-Encoding: gzip, deflate, br, zstd\r\n" +
		"From: a@example.org\r\nAccept-Language: ja\r\nIf-None-Match: \"x\"\r\n\r\n"
	if got := string(r.RequestBytes); got != want {
		t.Errorf("got  %q\nwant %q", got, want)
	}
	if r.Status != 304 || len(r.RawBody) != 0 || r.Truncated != "" {
		t.Error("a 304 has no body, whatever its Content-Length:", r, r.Truncated)
	}
}

// Invariant: nothing is followed, kept, fetched or decided by colly or the environment.
func TestCollyDoesNothingOfItsOwnAccord(t *testing.T) {
	for _, name := range []string{"ALLOWED_DOMAINS", "CACHE_DIR", "DETECT_CHARSET", "DISALLOWED_DOMAINS",
		"IGNORE_ROBOTSTXT", "FOLLOW_REDIRECTS", "MAX_BODY_SIZE",
		"MAX_DEPTH", "MAX_REQUESTS", "PARSE_HTTP_ERROR_RESPONSE", "TRACE_HTTP", "USER_AGENT"} {
		t.Setenv("COLLY_"+name, map[string]string{"MAX_BODY_SIZE": "1", "MAX_DEPTH": "1", "MAX_REQUESTS": "1",
			"CACHE_DIR":        os.TempDir() + "/henro-colly",
			"IGNORE_ROBOTSTXT": "no", "ALLOWED_DOMAINS": "nowhere.example", "DISALLOWED_DOMAINS": "henro"}[name]+"")
	}
	t.Setenv("COLLY_DETECT_CHARSET", "yes")
	t.Setenv("COLLY_FOLLOW_REDIRECTS", "yes")
	t.Setenv("COLLY_TRACE_HTTP", "yes")
	var requests atomic.Int32
	var cookies atomic.Int32
	web := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		requests.Add(1)
		if r.Header.Get("Cookie") != "" {
			cookies.Add(1)
		}
		if r.URL.Path == "/robots.txt" {
			t.Error("robots.txt was fetched")
		}
		w.Header().Set("Set-Cookie", "a=b; Path=/")
		w.Header().Set("Content-Type", "text/html; charset=shift_jis")
		if r.URL.Path == "/moved" {
			w.Header().Set("Location", "/elsewhere")
			w.WriteHeader(301)
		}
		if r.URL.Path == "/gone" {
			w.WriteHeader(410)
		}
		w.Write([]byte("\x93\xfa\x96\x7b"))
	}))
	defer web.Close()
	c := newClient(t, nil)
	for i, path := range []string{"/", "/", "/moved", "/gone", "/file.xml.gz"} {
		r := visit(t, c, web.URL+path)
		if want := []int{200, 200, 301, 410, 200}[i]; r.Status != want || string(r.Body) != "\x93\xfa\x96\x7b" {
			t.Errorf("%s: %v %q", path, r, r.Body)
		}
		r.Release()
	}
	if requests.Load() != 5 || cookies.Load() != 0 {
		t.Error(requests.Load(), "requests,", cookies.Load(), "with cookies")
	}

	made := newCollector(&c.o).Collector
	for name, want := range map[string]any{
		"MaxDepth": 0, "MaxRequests": uint32(0), "AllowURLRevisit": true, "MaxBodySize": 0, "CacheDir": "",
		"IgnoreRobotsTxt": true, "Async": false,
		"ParseHTTPErrorResponse": true, "DetectCharset": false, "CheckHead": false, "TraceHTTP": false,
		"UserAgent": c.o.UserAgent, "CacheExpiration": time.Duration(0),
		"AllowedDomains": []string(nil), "DisallowedDomains": []string(nil),
	} {
		if got := reflect.ValueOf(made).Elem().FieldByName(name).Interface(); !reflect.DeepEqual(got, want) {
			t.Errorf("%s = %v, want %v", name, got, want)
		}
	}
	known := "UserAgent Headers MaxDepth AllowedDomains DisallowedDomains DisallowedURLFilters URLFilters " +
		"AllowURLRevisit MaxBodySize CacheDir IgnoreRobotsTxt Async " +
		"ParseHTTPErrorResponse ID DetectCharset CheckHead TraceHTTP Context MaxRequests CacheExpiration "
	for f := range reflect.TypeFor[colly.Collector]().Fields() {
		if f.IsExported() && !strings.Contains(known, f.Name+" ") {
			t.Errorf("colly has a new field %s: decide in newCollector what it shall be", f.Name)
		}
	}
}

func TestConnectionsAreKeptOnePerHost(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var dials, open atomic.Int32
		c := newClient(t, func(o *Options) {
			o.IdleConnections = 2
			o.Dial = func(context.Context, string, string) (net.Conn, error) {
				dials.Add(1)
				open.Add(1)
				ours, theirs := net.Pipe()
				go func() { meet(theirs, says("HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nhi")); open.Add(-1) }()
				return ours, nil
			}
		})
		look := func(what string, wantDials, wantOpen int32) {
			t.Helper()
			synctest.Wait()
			if dials.Load() != wantDials || open.Load() != wantOpen {
				t.Errorf("%s: %d dials, %d open; want %d, %d", what, dials.Load(), open.Load(), wantDials, wantOpen)
			}
		}
		for range 3 {
			visit(t, c, "http://a.example/").Release()
		}
		look("three visits of a host", 1, 1)
		visit(t, c, "http://b.example/").Release()
		look("another host", 2, 2)
		time.Sleep(time.Second)
		visit(t, c, "http://c.example/").Release()
		look("one more than may be kept", 3, 2)
		c.Forget("http://b.example")
		look("a host is done with", 3, 1)
		time.Sleep(2 * time.Minute)
		look("after the time to keep", 3, 0)
		if r := visit(t, c, "http://c.example/"); r.Reused || r.Status != 200 {
			t.Error(r, r.Reused)
		}
		c.Close()
		look("closed", 4, 0)
		if r := visit(t, c, "http://c.example/"); r.Reason != messages.Reason_CANCELED {
			t.Error(r)
		}
	})
}

func TestAKeptConnectionThatWasClosedIsReplaced(t *testing.T) {
	run := func(t *testing.T, c *Client, url string, want int32, requests *atomic.Int32, settle func()) {
		for i := range 3 {
			if r := visit(t, c, url); r.Status != 200 || r.Reused {
				t.Errorf("visit %d: %v %v, reused %v", i, r, r.Err, r.Reused)
			}
			settle()
		}
		if requests.Load() != want {
			t.Errorf("%d requests, want %d", requests.Load(), want)
		}
	}
	t.Run("over a socket", func(t *testing.T) {
		var requests atomic.Int32
		closed := make(chan struct{}, 9)
		url := listen(t, func(c net.Conn, _ string) {
			requests.Add(1)
			andCloses("HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nhi")(c, "")
			closed <- struct{}{}
		})
		c := newClient(t, nil)
		run(t, c, url+"/", 3, &requests, func() {
			<-closed
			// loopback delivers the FIN in its own time
			for e := c.pool.hosts[url]; e != nil && quiet(e.Value.(*connection).socket); {
			}
		})
	})
	t.Run("over a pipe", func(t *testing.T) {
		var requests atomic.Int32
		synctest.Test(t, func(t *testing.T) {
			c := newClient(t, piped(func(c net.Conn, _ string) {
				requests.Add(1)
				andCloses("HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nhi")(c, "")
			}))
			run(t, c, "http://a.example/", 3, &requests, synctest.Wait)
		})
	})
	t.Run("but not once the request was sent", func(t *testing.T) {
		var requests atomic.Int32
		c := newClient(t, piped(func(c net.Conn, _ string) {
			if requests.Add(1)%2 == 0 {
				c.Close()
				return
			}
			io.WriteString(c, "HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nhi")
		}))
		for i, stale := range []bool{false, true, false, true} {
			r := visit(t, c, "http://a.example/")
			if r.Stale != stale || stale != (r.Reason == messages.Reason_CONNECTION_LOST) ||
				int(requests.Load()) != i+1 {
				t.Errorf("visit %d: %v, stale %v, %d requests", i, r, r.Stale, requests.Load())
			}
		}
	})
	t.Run("but a new one that is closed is lost", func(t *testing.T) {
		var requests atomic.Int32
		c := newClient(t, piped(func(c net.Conn, _ string) { requests.Add(1); c.Close() }))
		if r := visit(t, c, "http://a.example/"); r.Reason != messages.Reason_CONNECTION_LOST ||
			requests.Load() != 1 || r.Stale {
			t.Error(r, requests.Load())
		}
	})
}

func TestCancel(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		for _, s := range []server{says(""), says("HTTP/1.1 200 OK\r\nContent-Length: 9\r\n\r\nab")} {
			c := newClient(t, piped(s))
			ctx, cancel := context.WithTimeout(context.Background(), 3*time.Second)
			at := time.Now()
			r := c.Fetch(ctx, Request{URL: weburl.MustParse("http://a.example/")})
			cancel()
			if r.Reason != messages.Reason_CANCELED || time.Since(at) != 3*time.Second || r.Status != 0 ||
				r.Truncated != "" {
				t.Error(r, r.Err, time.Since(at))
			}
			c.Close()
		}
	})
}

func TestTookAndStarted(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := newClient(t, func(o *Options) {
			piped(func(c net.Conn, _ string) {
				time.Sleep(2 * time.Second)
				io.WriteString(c, "HTTP/1.1 503 Busy\r\nRetry-After: 120\r\nContent-Length: 2\r\n\r\nh")
				time.Sleep(time.Second)
				io.WriteString(c, "i")
			})(o)
			dial := o.Dial
			o.Dial = func(ctx context.Context, n, a string) (net.Conn, error) {
				time.Sleep(time.Second)
				return dial(ctx, n, a)
			}
		})
		began := time.Now()
		r := visit(t, c, "http://a.example/")
		if r.Started != began || r.Took != 4*time.Second || r.Status != 503 || r.RetryAfter != 2*time.Minute ||
			string(r.Body) != "hi" {
			t.Error(r.Started.Sub(began), r.Took, r, r.RetryAfter)
		}
		if r := visit(t, c, "http://a.example/"); !r.Reused || r.Took != 3*time.Second {
			t.Error(r.Reused, r.Took)
		}
		c.Close()
	})
}

func TestNoURL(t *testing.T) {
	if r := newClient(t, nil).Fetch(context.Background(), Request{}); r.Reason != messages.Reason_MALFORMED ||
		r.Started.IsZero() {
		t.Error(r)
	}
}

func TestOptionsThatCannotWork(t *testing.T) {
	good := DefaultOptions()
	good.UserAgent = "a"
	if err := good.Validate(); err != nil {
		t.Fatal(err)
	}
	for i, change := range []func(*Options){
		func(o *Options) { o.UserAgent = "" },
		func(o *Options) { o.UserAgent = "a\r\nb" },
		func(o *Options) { o.TotalTimeout = -1 },
		func(o *Options) { o.MaxHead = 10 },
		func(o *Options) { o.Memory = 1 },
		func(o *Options) { o.Header = http.Header{"a b": {"c"}} },
		func(o *Options) { o.Header = http.Header{"A": {"c\n"}} },
		func(o *Options) { o.DNS = "dns.example" },
		func(o *Options) { o.Resolve = []string{"a.example:80"} },
		func(o *Options) { o.Resolve = []string{"a.example:x:1.2.3.4"} },
		func(o *Options) { o.Resolve = []string{"a.example:80:1.2.3"} },
	} {
		o := good
		change(&o)
		if _, err := New(o); err == nil {
			t.Errorf("case %d was accepted", i)
		}
	}
}

func ExampleClient_Fetch() {
	web := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter,
		r *http.Request) {
		io.WriteString(w, "hello")
	}))
	defer web.Close()
	o := DefaultOptions()
	o.UserAgent = "henro-example (+https://example.org/)"
	o.AllowPrivate = true // the test server is on loopback
	c, _ := New(o)
	defer c.Close()
	r := c.Fetch(context.Background(), Request{URL: weburl.MustParse(web.URL)})
	defer r.Release()
	fmt.Println(r.Status, r.Reason, string(r.Body))
	// Output: 200 NONE hello
}

// A lease may end while a name is looked up, a connection is made, or the machine sleeps: then the host must not be
// asked.
func TestARequestIsWrittenOnlyWhileItIsPermitted(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		asked := 0
		slow := func(o *Options) {
			o.Dial = func(context.Context, string, string) (net.Conn, error) {
				time.Sleep(3 * time.Second)
				ours, theirs := net.Pipe()
				go meet(theirs, func(c net.Conn, request string) {
					asked++
					io.WriteString(c, "HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n")
				})
				return ours, nil
			}
		}
		c := newClient(t, slow)
		until := time.Now().Add(5 * time.Second)
		request := Request{URL: weburl.MustParse("http://a.test/"),
			Permit: func() bool { return time.Now().Before(until) }}
		for _, step := range []struct {
			sentence string
			url      string
			reason   messages.Reason
			asked    int
		}{
			{"connected in time", "http://a.test/", messages.Reason_NONE, 1},
			{"connected too late", "http://b.test/", messages.Reason_CANCELED, 1},
			{"by a kept connection, too late", "http://a.test/", messages.Reason_CANCELED, 1},
		} {
			request.URL = weburl.MustParse(step.url)
			r := c.Fetch(t.Context(), request)
			synctest.Wait()
			if r.Reason != step.reason || asked != step.asked {
				t.Errorf("%s: %v, the host was asked %d times, want %d", step.sentence, r, asked, step.asked)
			}
			r.Release()
		}
	})
}
