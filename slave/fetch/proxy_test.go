package fetch

import (
	"bufio"
	"context"
	"encoding/binary"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"sync"
	"testing"

	"henro/messages"
	"henro/messages/weburl"
)

// A proxy of the standard library's making: forward requests and CONNECT, with a login.
type httpProxy struct {
	t        *testing.T
	to       map[string]string // where names lead
	mu       sync.Mutex
	requests []string
}

func (p *httpProxy) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	p.mu.Lock()
	p.requests = append(p.requests, r.Method+" "+r.RequestURI)
	p.mu.Unlock()
	if r.Header.Get("Proxy-Authorization") != "Basic bWU6czNjcmV0" { // me:s3cret
		w.Header().Set("Proxy-Authenticate", "Basic")
		w.WriteHeader(http.StatusProxyAuthRequired)
		return
	}
	address := p.to[r.Host]
	if r.Method != http.MethodConnect {
		r.RequestURI, r.URL.Host = "", address
		r.Header.Del("Proxy-Authorization")
		answer, err := http.DefaultTransport.RoundTrip(r)
		if err != nil {
			w.WriteHeader(http.StatusBadGateway)
			return
		}
		defer answer.Body.Close()
		for name, values := range answer.Header {
			w.Header()[name] = values
		}
		w.WriteHeader(answer.StatusCode)
		io.Copy(w, answer.Body)
		return
	}
	there, err := net.Dial("tcp", address)
	if err != nil {
		w.WriteHeader(http.StatusBadGateway)
		return
	}
	w.WriteHeader(http.StatusOK)
	here, buffered, err := w.(http.Hijacker).Hijack()
	if err != nil {
		p.t.Error(err)
		return
	}
	go func() { io.Copy(there, buffered); there.Close() }()
	io.Copy(here, there)
	here.Close()
}

// socks serves SOCKS 5 by RFC 1928 and 1929, for names alone.
func socks(t *testing.T, to map[string]string) string {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { l.Close() })
	go func() {
		for {
			c, err := l.Accept()
			if err != nil {
				return
			}
			go func() {
				defer c.Close()
				in := bufio.NewReader(c)
				take := func(n int) []byte { b := make([]byte, n); io.ReadFull(in, b); return b }
				take(int(take(2)[1]))
				c.Write([]byte{5, 2})
				name := string(take(int(take(2)[1])))
				password := string(take(int(take(1)[0])))
				if name != "me" || password != "s3cret" {
					c.Write([]byte{1, 1})
					return
				}
				c.Write([]byte{1, 0})
				if head := take(4); head[3] != 3 { // a name
					c.Write([]byte{5, 8, 0, 1, 0, 0, 0, 0, 0, 0})
					return
				}
				host := string(take(int(take(1)[0])))
				port := binary.BigEndian.Uint16(take(2))
				there, err := net.Dial("tcp", to[net.JoinHostPort(host, itoa(port))])
				if err != nil {
					c.Write([]byte{5, 5, 0, 1, 0, 0, 0, 0, 0, 0})
					return
				}
				c.Write([]byte{5, 0, 0, 1, 0, 0, 0, 0, 0, 0})
				go func() { io.Copy(there, in); there.Close() }()
				io.Copy(c, there)
			}()
		}
	}()
	return l.Addr().String()
}

func itoa(port uint16) string {
	switch port {
	case 80:
		return "80"
	case 443:
		return "443"
	}
	return ""
}

func TestAProxyIsTheWayToAllHosts(t *testing.T) {
	page := http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.Header.Get("Proxy-Authorization") != "" || r.URL.IsAbs() {
			t.Errorf("the host sees %s with %q", r.RequestURI, r.Header.Get("Proxy-Authorization"))
		}
		io.WriteString(w, "page "+r.Host)
	})
	plain, secure := httptest.NewServer(page), httptest.NewTLSServer(page)
	t.Cleanup(plain.Close)
	t.Cleanup(secure.Close)
	to := map[string]string{"plain.example": plain.Listener.Addr().String(),
		"plain.example:80": plain.Listener.Addr().String(), "secure.example:443": secure.Listener.Addr().String()}
	forward := &httpProxy{t: t, to: to}
	server := httptest.NewServer(forward)
	t.Cleanup(server.Close)
	for _, base := range []string{"http://me:s3cret@" + server.Listener.Addr().String(),
		"socks5://me:s3cret@" + socks(t, to)} {
		c := newClient(t, func(o *Options) {
			o.Proxy, _ = url.Parse(base)
			o.AllowPrivate = false // the proxy's own address is not judged
		})
		for _, target := range []string{"http://plain.example/a", "https://secure.example/b",
			"http://plain.example/c"} {
			r := visit(t, c, target)
			host := weburl.MustParse(target).Hostname()
			if r.Status != 200 || string(r.Body) != "page "+host || r.IP.IsValid() {
				t.Fatalf("%s by %s: %v %q from %v", target, base[:5], r, r.Body, r.IP)
			}
			if text := string(r.RequestBytes); strings.Contains(text, "Proxy-") ||
				!strings.HasPrefix(text, "GET /"+target[len(target)-1:]+" HTTP/1.1\r\nHost: "+host+"\r\n") {
				t.Errorf("the record of %s by %s: %q", target, base[:5], text)
			}
		}
		for _, target := range []string{"http://127.0.0.1/", "http://localhost/", "http://metadata.google.internal/",
			"http://printer/", "http://[::1]/"} {
			if r := visit(t, c, target); r.Reason != messages.Reason_ADDRESS_FORBIDDEN {
				t.Errorf("%s by %s: %v", target, base[:5], r)
			}
		}
		wrong := newClient(t, func(o *Options) {
			o.Proxy, _ = url.Parse(strings.Replace(base, "s3cret", "guess", 1))
		})
		for _, target := range []string{"http://plain.example/a", "https://secure.example/b"} {
			r := visit(t, wrong, target)
			if r.Reason != messages.Reason_CONNECT_FAILED || strings.Contains(r.Err.Error(), "guess") {
				t.Errorf("%s by %s with a wrong password: %v", target, base[:5], r)
			}
		}
	}
	got := strings.Join(forward.requests[:2], ", ")
	if got != "GET http://plain.example/a, CONNECT secure.example:443" {
		t.Errorf("the proxy was asked for %s", got)
	}
}

// What is a secret goes to the host and not into the record.
func TestSecretFieldsAreSentAndNotRecorded(t *testing.T) {
	var got http.Header
	server := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) { got = r.Header }))
	t.Cleanup(server.Close)
	c := newClient(t, func(o *Options) { o.Header = http.Header{"X-Open": {"yes"}} })
	r := c.Fetch(context.Background(), Request{URL: weburl.MustParse(server.URL + "/"),
		Fields: []Field{{"Authorization", "Basic abc"}, {"Cookie", "k=v"}}})
	if r.Status != 200 || got.Get("Authorization") != "Basic abc" || got.Get("Cookie") != "k=v" ||
		got.Get("X-Open") != "yes" {
		t.Fatalf("%v: the host got %v", r, got)
	}
	record := string(r.RequestBytes)
	if strings.Contains(record, "abc") || strings.Contains(record, "k=v") ||
		!strings.Contains(record, "\r\nX-Open: yes\r\n") ||
		!strings.HasSuffix(record, "\r\nAuthorization: redacted\r\nCookie: redacted\r\n\r\n") {
		t.Errorf("the record: %q", record)
	}
}
