package fetch

import (
	"bytes"
	"context"
	"fmt"
	"net"
	"net/http"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/gocolly/colly/v2"

	"henro/messages"
	"henro/messages/weburl"
)

// seen notes what callbacks see, a line for each.
type seen struct {
	mu    sync.Mutex
	lines []string
}

func (s *seen) note(format string, a ...any) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.lines = append(s.lines, fmt.Sprintf(format, a...))
}

func (s *seen) add(c *colly.Collector) {
	c.OnRequest(func(r *colly.Request) {
		s.note("asks %s of %s as %s", r.URL, r.Host, r.Headers.Get("User-Agent"))
		r.Ctx.Put("asked", r.URL.String())
	})
	c.OnResponseHeaders(func(r *colly.Response) {
		s.note("%d, length %s: %q", r.StatusCode, r.Headers.Get("Content-Length"), r.Body)
	})
	c.OnResponse(func(r *colly.Response) {
		s.note("%q for %s, once %s", r.Body, r.Request.URL, r.Ctx.Get("asked"))
	})
	c.OnHTML("b", func(e *colly.HTMLElement) { s.note("bold %s", e.Text) })
	c.OnError(func(r *colly.Response, err error) { s.note("error of %s: %v", r.Request.URL, err) })
}

func TestCallbacksSeeTheVisit(t *testing.T) {
	for _, tt := range []struct {
		name, answer string
		want         []string
	}{
		{"a page", "HTTP/1.1 200 OK\r\nContent-Type: text/html\r\nContent-Length: 8\r\n\r\n<b>hi</b",
			[]string{"200, length 8: \"\"", `"<b>hi</b" for http://a.example/p?q=%, once http://a.example/p?q=%`,
				"bold hi"}},
		{"a redirect", "HTTP/1.1 301 Moved\r\nLocation: http://a.example/p?q=%\r\nContent-Length: 2\r\n\r\nhi",
			[]string{"301, length 2: \"\"", `"hi" for http://a.example/p?q=%, once http://a.example/p?q=%`}},
		{"a redirect to nowhere", "HTTP/1.1 302 Found\r\nLocation: http://%zz/\r\nContent-Length: 2\r\n\r\nhi",
			[]string{"302, length 2: \"\"", `"hi" for http://a.example/p?q=%, once http://a.example/p?q=%`}},
		{"no answer", "SSH-2.0-x\r\n",
			[]string{`error of http://a.example/p?q=%: Get "http://a.example/p?q=%": not an HTTP response`}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			var s seen
			c := newClient(t, func(o *Options) { piped(says(tt.answer))(o); o.Colly = s.add })
			r := visit(t, c, "http://a.example/p?q=%#frag")
			want := append([]string{"asks http://a.example/p?q=% of a.example as " + c.o.UserAgent}, tt.want...)
			if !slices.Equal(s.lines, want) {
				t.Errorf("seen %q\nwant %q", s.lines, want)
			}
			if text := fmt.Sprint(r.Err); r.Status == 0 && text != errNotHTTP.Error() {
				t.Error(text)
			}
			if r.Status != 0 && (string(r.ResponseHead)+string(r.RawBody) != tt.answer ||
				r.Header.Get("Location") != "" != (r.Status > 300)) {
				t.Errorf("%v %q", r.Header, r.RawBody)
			}
		})
	}
}

// http.Client and colly look at a Location too.
func TestALongLocationTakesNoTime(t *testing.T) {
	for _, where := range []string{"http://b.example/" + strings.Repeat("a/", 30_000), strings.Repeat("%41", 20_000)} {
		c := newClient(t, piped(says("HTTP/1.1 302 Found\r\nLocation: "+where+"\r\nContent-Length: 0\r\n\r\n")))
		began := time.Now()
		if r := visit(t, c, "http://a.example/"); r.Status != 302 || time.Since(began) > 2*time.Second {
			t.Error(r, time.Since(began))
		}
	}
}

// Invariant: callbacks see bounded copies, and what they want to change, to visit or to set is not done.
func TestCallbacksDecideNothing(t *testing.T) {
	large := strings.Repeat("0123456789abcdef", mostShown/16) + "more"
	answer := fmt.Sprintf("HTTP/1.1 200 OK\r\nX-Len: 1\r\nContent-Length: %d\r\n\r\n%s", len(large), large)
	var asked, responses, made atomic.Int32
	c := newClient(t, func(o *Options) {
		piped(func(c net.Conn, request string) {
			if asked.Add(1); strings.Contains(request, "X-Mine") {
				t.Errorf("%q", request)
			}
			says(answer)(c, request)
		})(o)
		o.Colly = func(c *colly.Collector) {
			made.Add(1)
			c.DisallowedDomains, c.MaxRequests, c.AllowURLRevisit, c.MaxBodySize = []string{""}, 1, false, 3
			c.Async, c.CheckHead, c.ParseHTTPErrorResponse, c.IgnoreRobotsTxt = true, true, false, false
			c.WithTransport(http.NewFileTransport(http.Dir(".")))
			visit := func(r *colly.Request) {
				r.Headers.Set("X-Mine", "yes")
				r.Visit("/other")
				r.Visit(placeholder)
				c.Visit("http://b.example/")
			}
			first := true
			c.OnRequest(func(r *colly.Request) {
				if r.Ctx.Get("of") != "" && first {
					t.Error("the context is that of another visit")
				}
				r.Ctx.Put("of", "this")
				if first { // else it calls itself
					first = false
					visit(r)
					first = true
				}
			})
			c.OnResponseHeaders(func(r *colly.Response) { first = false; visit(r.Request); first = true })
			c.OnResponse(func(r *colly.Response) {
				responses.Add(1)
				if len(r.Body) != mostShown {
					t.Error(len(r.Body), "bytes shown")
				}
				clear(r.Body)
				first = false
				visit(r.Request)
				first = true
			})
		}
	})
	for range 3 {
		r := visit(t, c, "http://a.example/")
		if r.Status != 200 || string(r.RawBody) != large || string(r.Body) != large || r.Truncated != "" {
			t.Fatal(r, r.Err, r.Truncated)
		}
		r.Release()
	}
	if asked.Load() != 3 || responses.Load() != 3 || made.Load() < 1 {
		t.Error(asked.Load(), "requests,", responses.Load(), "responses,", made.Load(), "collectors")
	}
}

func TestAVisitThatACallbackAborts(t *testing.T) {
	var asked atomic.Int32
	for _, tt := range []struct {
		name      string
		add       func(*colly.Collector)
		asked     int32
		status    int
		reason    messages.Reason
		truncated string
	}{
		{"before the request", func(c *colly.Collector) { c.OnRequest((*colly.Request).Abort) }, 0, 0,
			messages.Reason_NOT_PARSED, ""},
		{"right before the request", func(c *colly.Collector) { c.OnRequestHeaders((*colly.Request).Abort) }, 0, 0,
			messages.Reason_NOT_PARSED, ""},
		{"before the body", func(c *colly.Collector) {
			c.OnResponseHeaders(func(r *colly.Response) { r.Request.Abort() })
		}, 1, 200, 0, "unspecified"},
		{"after the body", func(c *colly.Collector) {
			c.OnResponse(func(r *colly.Response) { r.Request.Abort() })
		}, 1, 200, 0, ""},
	} {
		t.Run(tt.name, func(t *testing.T) {
			asked.Store(0)
			c := newClient(t, func(o *Options) {
				piped(func(c net.Conn, _ string) { asked.Add(1); says(ok+"Content-Length: 2\r\n\r\nhi")(c, "") })(o)
				o.Colly = tt.add
			})
			for range 2 { // the second as the first
				r := visit(t, c, "http://a.example/")
				if r.Status != tt.status || r.Reason != tt.reason || r.Truncated != tt.truncated || r.Reused &&
					tt.truncated != "" || (len(r.RawBody) == 2) != (tt.status > 0 && tt.truncated == "") {
					t.Errorf("%v, %q, %q", r, r.Truncated, r.RawBody)
				}
				if tt.status > 0 && !bytes.HasPrefix(r.ResponseHead, []byte(ok)) {
					t.Errorf("head %q", r.ResponseHead)
				}
				r.Release()
			}
			if asked.Load() != 2*tt.asked {
				t.Error(asked.Load(), "requests")
			}
		})
	}
}

// Whatever a URL is, what is asked for and what callbacks see is the URL.
func FuzzURLs(f *testing.F) {
	for _, u := range []string{"http://a.example/", "https://a.example/?", "http://a.example/%",
		"http://a.example/%zz?%", "http://a.example/a%2fb/%41?q=|^{}\"<>", "http://a.example//..//x;y?a=1?b#c",
		"http://user:pw@a.example:81/",
		"http://[::1]:8080/[x]|`", "http://xn--bcher-kva.example/bücher", "http://bücher.example/?ü",
		"http://a_b.example./*", "http://1.2/", "http://{a}.example/", "http://a&b=c'(d).example/",
		"http://a.example/\\\t x"} {
		f.Add(u)
	}
	f.Fuzz(func(t *testing.T, raw string) {
		u, err := weburl.Parse(raw)
		if err != nil {
			return
		}
		var s seen
		asked := ""
		c := newClient(t, func(o *Options) {
			o.Dial = func(context.Context, string, string) (net.Conn, error) {
				ours, theirs := net.Pipe()
				go meet(theirs, func(c net.Conn, request string) {
					asked = request
					says("HTTP/1.1 302 Found\r\nLocation: "+u.RequestURI()+"\r\nContent-Length: 0\r\n\r\n")(c, "")
				})
				return ours, nil
			}
			o.Colly = func(c *colly.Collector) {
				c.OnRequest(func(r *colly.Request) { s.note("%s", r.URL) })
				c.OnResponse(func(r *colly.Response) { s.note("%s", r.Request.URL) })
			}
		})
		defer c.Close()
		to := targetOf(u)
		if a := address(u.String(), to.authority()); a.String() != u.String() || a.Host != to.authority() {
			t.Fatalf("%s is %#v", u, a)
		}
		if u.Scheme() != "http" {
			return
		}
		r := c.Fetch(t.Context(), Request{URL: u})
		if r.Reason == messages.Reason_ADDRESS_FORBIDDEN {
			return
		}
		if r.Status != 302 || !slices.Equal(s.lines, []string{u.String(), u.String()}) ||
			!strings.HasPrefix(asked, "GET "+u.RequestURI()+" HTTP/1.1\r\n") {
			t.Fatalf("%s: %v, %q, seen %q", u, r, asked, s.lines)
		}
	})
}
