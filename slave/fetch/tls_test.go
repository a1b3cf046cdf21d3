package fetch

import (
	"bytes"
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"io"
	"log"
	"net"
	"net/http"
	"net/http/httptest"
	"net/netip"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"golang.org/x/net/http2"
	"golang.org/x/net/http2/hpack"

	"henro/messages"
	"henro/messages/weburl"
)

// secure serves h over TLS on a real socket. The certificate is for example.com and the loopback addresses.
func secure(t testing.TB, h http.Handler, change func(*httptest.Server)) *httptest.Server {
	s := httptest.NewUnstartedServer(h)
	s.Config.ErrorLog = log.New(io.Discard, "", 0)
	s.EnableHTTP2 = true
	if change != nil {
		change(s)
	}
	s.StartTLS()
	t.Cleanup(s.Close)
	return s
}

func TestTLS(t *testing.T) {
	hello := http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) { io.WriteString(w, "hello "+r.Proto) })
	s := secure(t, hello, nil)
	roots := x509.NewCertPool()
	roots.AddCert(s.Certificate())
	_, port, _ := net.SplitHostPort(s.Listener.Addr().String())
	old := secure(t, hello, func(s *httptest.Server) {
		s.EnableHTTP2 = false
		s.TLS = &tls.Config{MinVersion: tls.VersionTLS10, MaxVersion: tls.VersionTLS10}
	})
	for _, tt := range []struct {
		name, url string
		change    func(*Options)
		reason    messages.Reason
		tlsError  string
		proto     string
	}{
		{"an unknown authority is written down", s.URL, nil, 0, "unknown authority", "HTTP/2.0"},
		{"or refused", s.URL, func(o *Options) { o.VerifyTLS = true }, messages.Reason_TLS_FAILED, "unknown authority",
			""},
		{"a known one is fine", s.URL, func(o *Options) { o.VerifyTLS, o.RootCAs = true, roots }, 0, "", "HTTP/2.0"},
		{"the name counts", "https://wrong.example:" + port, func(o *Options) { o.RootCAs = roots }, 0,
			"not wrong.example", "HTTP/2.0"},
		{"the right name", "https://www.example.com:" + port, func(o *Options) { o.VerifyTLS, o.RootCAs = true, roots },
			0, "", "HTTP/2.0"},
		{"without HTTP/2", s.URL, func(o *Options) { o.HTTP1 = true }, 0, "unknown authority", "HTTP/1.1"},
		{"TLS 1.0 is archived", old.URL, nil, 0, "unknown authority", "HTTP/1.1"},
		{"unless verified", old.URL, func(o *Options) { o.VerifyTLS, o.RootCAs = true, roots },
			messages.Reason_TLS_FAILED, "", ""},
	} {
		t.Run(tt.name, func(t *testing.T) {
			c := newClient(t, func(o *Options) {
				o.Lookup = func(context.Context, string) ([]netip.Addr, time.Duration, error) {
					return addrs("127.0.0.1"), time.Hour, nil
				}
				if tt.change != nil {
					tt.change(o)
				}
			})
			for i := range 2 {
				r := visit(t, c, tt.url+"/")
				if r.Reason != tt.reason || r.Proto != tt.proto || tt.proto != "" &&
					(string(r.Body) != "hello "+tt.proto || r.Reused != (i > 0)) {
					t.Errorf("%v %v, %s, %q, reused %v", r, r.Err, r.Proto, r.Body, r.Reused)
				}
				if tt.proto != "" && ((r.TLSError == "") != (tt.tlsError == "") ||
					!strings.Contains(r.TLSError, tt.tlsError)) {
					t.Errorf("TLS error %q, want %q", r.TLSError, tt.tlsError)
				}
				if tt.proto != "" && (!strings.HasPrefix(r.TLSVersion, "TLS 1.") ||
					!strings.HasPrefix(r.CipherSuite, "TLS_")) {
					t.Errorf("TLS %q, suite %q", r.TLSVersion, r.CipherSuite)
				}
				if tt.proto != "" && r.IP.Addr().String() != "127.0.0.1" {
					t.Error(r.IP)
				}
			}
		})
	}
}

func TestHTTP2(t *testing.T) {
	page := text(700_000)
	gz := encode(t, "gzip", page)
	var mu sync.Mutex
	var got *http.Request
	var conns = map[string]bool{}
	s := secure(t, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		mu.Lock()
		got = r
		conns[r.RemoteAddr] = true
		mu.Unlock()
		switch r.URL.Path {
		case "/gzip":
			w.Header().Set("Content-Encoding", "gzip")
			w.Write(gz)
		case "/large":
			w.Write(page)
		case "/endless":
			for {
				if _, err := w.Write(page); err != nil {
					return
				}
			}
		case "/cut":
			w.Header().Set("Content-Length", "100")
			w.Write([]byte("hello"))
			w.(http.Flusher).Flush()
			panic(http.ErrAbortHandler)
		case "/headers":
			w.Header().Set("X-Spam", strings.Repeat("spam", 40_000))
		case "/304":
			w.Header().Set("Etag", `"a"`)
			w.WriteHeader(304)
		case "/abort":
			panic(http.ErrAbortHandler)
		default:
			w.Header().Set("Location", "/next")
			w.Header().Set("Date", "Mon, 01 Jan 2024 00:00:00 GMT")
			w.Header().Set("Content-Type", "text/plain")
			w.WriteHeader(302)
			io.WriteString(w, "moved")
		}
	}), nil)
	c := newClient(t, func(o *Options) { o.MaxBody, o.Accept = 1<<20, "*/*" })
	get := func(path string) *Response {
		return c.Fetch(t.Context(), Request{URL: weburl.MustParse(s.URL + path), ETag: `"x"`})
	}
	host := strings.TrimPrefix(s.URL, "https://")

	r := get("/a?q=%41%zz|")
	want := "GET /a?q=A%zz| HTTP/1.1\r\nHost: " + host + "\r\nUser-Agent: " + c.o.UserAgent +
		"\r\nAccept: */*\r\nAccept-Encoding: gzip, deflate, br, zstd\r\nIf-None-Match: \"x\"\r\n\r\n"
	if string(r.RequestBytes) != want {
		t.Errorf("request %q, want %q", r.RequestBytes, want)
	}
	if want := "HTTP/1.1 302 Found\r\nContent-Length: 5\r\nContent-Type: text/plain\r\nDate: Mon, 01 Jan 2024 " +
		"00:00:00 GMT\r\nLocation: /next\r\n\r\n"; string(r.ResponseHead) != want {
		t.Errorf("head %q, want %q", r.ResponseHead, want)
	}
	if r.Status != 302 || string(r.RawBody) != "moved" || string(r.Body) != "moved" || r.Proto != "HTTP/2.0" {
		t.Error(r, r.Err, r.Proto)
	}
	get("/ok")
	if got.Proto != "HTTP/2.0" || got.RequestURI != "/ok" || got.Host != host ||
		got.Header.Get("If-None-Match") != `"x"` || got.UserAgent() != c.o.UserAgent ||
		len(got.Header["Accept-Encoding"]) != 1 {
		t.Errorf("the server saw %s %s %s %v", got.Proto, got.RequestURI, got.Host, got.Header)
	}
	if r = get("/gzip"); !bytes.Equal(r.RawBody, gz) || !bytes.Equal(r.Body, page) ||
		r.Header.Get("Content-Encoding") != "gzip" {
		t.Error(r, r.Err, len(r.Body))
	}
	r.Release()
	if r = get("/large"); !bytes.Equal(r.Body, page) || r.Truncated != "" {
		t.Error(r, r.Err)
	}
	r.Release()
	if r = get("/304"); r.Status != 304 || len(r.RawBody) != 0 || r.Truncated != "" {
		t.Error(r)
	}
	if len(conns) != 1 {
		t.Error("five visits over", len(conns), "connections")
	}
	outcome{200, 0, "length", 1 << 20, 0, errTooLarge}.check(t, get("/endless"), 0)
	outcome{200, 0, "disconnect", 5, 0, nil}.check(t, get("/cut"), 0)
	outcome{0, messages.Reason_HEADERS_TOO_LARGE, "", 0, 0, nil}.check(t, get("/headers"), 0)
	outcome{0, messages.Reason_CONNECTION_LOST, "", 0, 0, nil}.check(t, get("/abort"), 0)
	if r = get("/ok"); r.Status != 302 {
		t.Error(r, r.Err)
	}
	s.CloseClientConnections()
	if r = get("/ok"); r.Status != 302 {
		t.Error("after the server closed its connections:", r, r.Err)
	}
}

// A server that says GOAWAY, or ends the connection, may have taken the request: it is not sent again at once.
func TestHTTP2SendsNoRequestTwice(t *testing.T) {
	cert := secure(t, nil, nil).TLS.Certificates[0]
	for _, how := range []string{"goaway", "goaway for all", "close", "reset stream"} {
		t.Run(how, func(t *testing.T) {
			var requests atomic.Int32
			l, err := tls.Listen("tcp", "127.0.0.1:0",
				&tls.Config{Certificates: []tls.Certificate{cert}, NextProtos: []string{"h2"}})
			if err != nil {
				t.Fatal(err)
			}
			var serving sync.WaitGroup
			serving.Go(func() {
				for {
					c, err := l.Accept()
					if err != nil {
						return
					}
					serving.Go(func() { serveTwo(c, how, &requests) })
				}
			})
			c := newClient(t, nil)
			defer serving.Wait()
			defer l.Close()
			defer c.Close()
			url := "https://" + l.Addr().String() + "/"
			if r := visit(t, c, url); r.Status != 200 || r.Proto != "HTTP/2.0" {
				t.Fatal(r, r.Proto)
			}
			r := visit(t, c, url)
			if r.Reason != messages.Reason_CONNECTION_LOST || requests.Load() != 2 ||
				r.Stale != (how != "reset stream") {
				t.Errorf("%v, stale %v, %d requests", r, r.Stale, requests.Load())
			}
			c.Forget("https://" + l.Addr().String())
			if r := visit(t, c, url); r.Status != 200 || requests.Load() != 3 {
				t.Errorf("%v, %d requests", r, requests.Load())
			}
		})
	}
}

// serveTwo answers the first request of an HTTP/2 connection and not the second.
func serveTwo(c net.Conn, how string, requests *atomic.Int32) {
	defer c.Close()
	io.ReadFull(c, make([]byte, len(http2.ClientPreface)))
	f := http2.NewFramer(c, c)
	f.WriteSettings()
	var head bytes.Buffer
	hpack.NewEncoder(&head).WriteField(hpack.HeaderField{Name: ":status", Value: "200"})
	for n := 0; ; {
		frame, err := f.ReadFrame()
		if err != nil {
			return
		}
		switch frame := frame.(type) {
		case *http2.SettingsFrame:
			if !frame.IsAck() {
				f.WriteSettingsAck()
			}
		case *http2.HeadersFrame:
			requests.Add(1)
			if n++; n == 1 {
				f.WriteHeaders(http2.HeadersFrameParam{StreamID: frame.StreamID, BlockFragment: head.Bytes(),
					EndHeaders: true, EndStream: true})
				continue
			}
			switch how {
			case "goaway":
				f.WriteGoAway(frame.StreamID, http2.ErrCodeNo, nil)
			case "goaway for all":
				f.WriteGoAway(0, http2.ErrCodeNo, nil)
			case "reset stream":
				f.WriteRSTStream(frame.StreamID, http2.ErrCodeRefusedStream)
				continue
			}
			return
		}
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
func (p pipes) Close() error   { return nil }
func (p pipes) Addr() net.Addr { return &net.UnixAddr{Name: "pipe"} }

func (p pipes) dial(context.Context, string, string) (net.Conn, error) {
	ours, theirs := net.Pipe()
	p <- theirs
	return ours, nil
}

func TestHTTP2InVirtualTime(t *testing.T) {
	cert := secure(t, nil, nil).TLS.Certificates[0]
	synctest.Test(t, func(t *testing.T) {
		p := make(pipes)
		s := http.Server{
			ErrorLog:  log.New(io.Discard, "", 0),
			TLSConfig: &tls.Config{Certificates: []tls.Certificate{cert}},
			Handler: http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
				switch r.URL.Path {
				case "/never":
					<-r.Context().Done()
				case "/half":
					w.Write([]byte("hello"))
					w.(http.Flusher).Flush()
					<-r.Context().Done()
				case "/drip":
					for r.Context().Err() == nil {
						w.Write([]byte("x"))
						w.(http.Flusher).Flush()
						time.Sleep(time.Second)
					}
				case "/slow":
					time.Sleep(15 * time.Second)
					w.Write([]byte("hello"))
					w.(http.Flusher).Flush()
					time.Sleep(15 * time.Second)
				}
				fmt.Fprint(w, " world")
			}),
		}
		done := make(chan error)
		go func() { done <- s.ServeTLS(p, "", "") }()
		c := newClient(t, func(o *Options) { o.Dial = p.dial })
		for _, tt := range []struct {
			path string
			want outcome
		}{
			{"/now", outcome{200, 0, "", 6, 0, nil}},
			{"/never", outcome{0, messages.Reason_TIMEOUT, "", 0, 20 * time.Second, errIdle}},
			{"/half", outcome{200, 0, "time", 5, 20 * time.Second, errIdle}},
			{"/drip", outcome{200, 0, "time", -1, 60 * time.Second, errTotal}},
			{"/slow", outcome{200, 0, "", 11, 30 * time.Second, nil}},
			{"/now", outcome{200, 0, "", 6, 0, nil}},
		} {
			began := time.Now()
			r := visit(t, c, "https://a.example"+tt.path)
			if r.Status > 0 && r.Proto != "HTTP/2.0" {
				t.Error(r.Proto)
			}
			tt.want.check(t, r, time.Since(began))
		}
		ctx, cancel := context.WithTimeout(context.Background(), 3*time.Second)
		defer cancel()
		if r := c.Fetch(ctx,
			Request{URL: weburl.MustParse("https://a.example/never")}); r.Reason != messages.Reason_CANCELED {
			t.Error(r, r.Err)
		}
		c.Close()
		time.Sleep(time.Minute)
		close(p)
		if err := s.Close(); err != nil {
			t.Error(err)
		}
		if err := <-done; !errors.Is(err, http.ErrServerClosed) && !errors.Is(err, net.ErrClosed) {
			t.Error(err)
		}
	})
}
