package browser

import (
	"bytes"
	"context"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/sha256"
	"crypto/subtle"
	"crypto/tls"
	"crypto/x509"
	"encoding/base64"
	"errors"
	"io"
	"maps"
	"math/big"
	"mime"
	"net"
	"net/http"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/elazarl/goproxy"
	"github.com/sirupsen/logrus"
)

const (
	maxSent     = 1 << 20 // bytes of a body that a page sends; what is beyond is cut off
	kindWait    = 50 * time.Millisecond
	maxNoted    = 1000 // URLs of popups and of pages that a page would go to
	proxySpeaks = `Basic realm="henro"`
)

// errNobody is what a request finds for which there is no answer.
var errNobody = errors.New("there is no answer")

// proxy answers the one Chromium that knows its token, from the Source of the page under way. It dials nobody.
type proxy struct {
	server   *http.Server
	address  string
	trusts   string // what Chromium trusts: the hash of the certificate's key
	visiting atomic.Pointer[visit]
}

// quiet takes what goproxy has to say.
type quiet struct{ log *logrus.Entry }

func (q quiet) Printf(format string, v ...any) { q.log.Debugf(format, v...) }

func newProxy(log *logrus.Entry) (*proxy, error) {
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		return nil, err
	}
	template := &x509.Certificate{SerialNumber: big.NewInt(1), NotBefore: time.Now().Add(-24 * time.Hour),
		NotAfter: time.Now().Add(365 * 24 * time.Hour), DNSNames: []string{"henro.invalid"}}
	made, err := x509.CreateCertificate(rand.Reader, template, template, key.Public(), key)
	if err != nil {
		return nil, err
	}
	public, err := x509.MarshalPKIXPublicKey(key.Public())
	if err != nil {
		return nil, err
	}
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return nil, err
	}
	hash := sha256.Sum256(public)
	p := &proxy{address: listener.Addr().String(), trusts: base64.StdEncoding.EncodeToString(hash[:])}
	served := &tls.Config{Certificates: []tls.Certificate{{Certificate: [][]byte{made}, PrivateKey: key}}}
	g := goproxy.NewProxyHttpServer()
	g.Logger = quiet{log}
	g.NonproxyHandler = http.NotFoundHandler()
	refuse := func(string, string) (net.Conn, error) { return nil, errNobody }
	g.ConnectDial, g.Tr = refuse, &http.Transport{DialContext: func(context.Context, string, string) (net.Conn, error) {
		return nil, errNobody
	}}
	mitm := &goproxy.ConnectAction{Action: goproxy.ConnectMitm,
		TLSConfig: func(string, *goproxy.ProxyCtx) (*tls.Config, error) { return served, nil }}
	g.OnRequest().HandleConnectFunc(func(host string, c *goproxy.ProxyCtx) (*goproxy.ConnectAction, string) {
		v := p.of(c.Req)
		if v == nil {
			c.Resp = who(c.Req)
			return goproxy.RejectConnect, host
		}
		c.UserData = v
		c.RoundTripper = goproxy.RoundTripperFunc(func(*http.Request, *goproxy.ProxyCtx) (*http.Response, error) {
			return nil, errNobody // closes the connection
		})
		return mitm, host
	})
	g.OnRequest().DoFunc(func(r *http.Request, c *goproxy.ProxyCtx) (*http.Request, *http.Response) {
		v, tunnel := c.UserData.(*visit)
		if !tunnel {
			if v = p.of(r); v == nil {
				return r, who(r)
			}
		}
		answer := v.answer(r, p.visiting.Load() == v)
		if answer == nil && !tunnel {
			panic(http.ErrAbortHandler) // closes the connection
		}
		return r, answer
	})
	p.server = &http.Server{Handler: g, ReadHeaderTimeout: time.Minute, MaxHeaderBytes: 256 << 10}
	go func() { _ = p.server.Serve(listener) }()
	return p, nil
}

// of is the visit that a request has the token of.
func (p *proxy) of(r *http.Request) *visit {
	v := p.visiting.Load()
	if v == nil || subtle.ConstantTimeCompare([]byte(r.Header.Get("Proxy-Authorization")), []byte(v.token())) != 1 {
		return nil
	}
	return v
}

func who(r *http.Request) *http.Response {
	answer := plain(r, http.StatusProxyAuthRequired)
	answer.Header.Set("Proxy-Authenticate", proxySpeaks)
	return answer
}

func plain(r *http.Request, status int) *http.Response {
	return &http.Response{Request: r, StatusCode: status, Proto: "HTTP/1.1", ProtoMajor: 1, ProtoMinor: 1,
		Header: http.Header{}, Body: http.NoBody, Close: status == http.StatusProxyAuthRequired}
}

// visit is a page under way, as the proxy and the events of Chromium see it. sockets are URLs without the scheme: of
// workers none is heard, and plain ones do not come to the proxy.
type visit struct {
	password string
	ctx      context.Context
	source   Source
	o        *Options

	mu      sync.Mutex
	asked   []Asked
	count   int             // requests, also those beyond the bound
	seen    map[string]bool // by method and URL, whether there was an answer
	kinds   map[string]string
	heard   chan struct{}   // closed when a kind is known
	open    int             // requests that wait for their answer
	last    time.Time       // when something new was asked for or answered
	sockets map[string]bool // their URLs without the scheme
	errors  int
	loaded  bool
	noted   []string
	over    bool      // nothing that was not asked for before is answered
	at      time.Time // of the page's own answer
}

func newVisit(ctx context.Context, o *Options, source Source) *visit {
	return &visit{password: rand.Text(), ctx: ctx, source: source, o: o, seen: map[string]bool{},
		sockets: map[string]bool{}, kinds: map[string]string{}, heard: make(chan struct{}), last: time.Now()}
}

func (v *visit) token() string {
	return "Basic " + base64.StdEncoding.EncodeToString([]byte("henro:"+v.password))
}

// socket notes a WebSocket or the like.
func (v *visit) socket(url string) {
	_, url, _ = strings.Cut(url, "://")
	v.mu.Lock()
	defer v.mu.Unlock()
	if len(v.sockets) < maxNoted {
		v.sockets[url] = true
	}
}

// hears notes of which kind a request is.
func (v *visit) hears(method, url, kind string) {
	v.mu.Lock()
	defer v.mu.Unlock()
	if len(v.kinds) < 2*v.o.Requests {
		v.kinds[method+" "+url] = strings.ToLower(kind)
		close(v.heard)
		v.heard = make(chan struct{})
	}
}

// kind waits a moment for Chromium to say of which kind a request is; workers say it nowhere.
func (v *visit) kind(key, dest string) string {
	for late := time.After(kindWait); ; {
		v.mu.Lock()
		kind, heard := v.kinds[key], v.heard
		v.mu.Unlock()
		if kind != "" {
			return kind
		}
		select {
		case <-heard:
		case <-late:
			switch dest {
			case "", "empty":
				return "fetch"
			case "style":
				return "stylesheet"
			case "iframe", "frame":
				return "document"
			}
			return dest
		case <-v.ctx.Done():
			return "other"
		}
	}
}

// answer is nil where there is none.
func (v *visit) answer(r *http.Request, now bool) *http.Response {
	switch {
	case !now || v.ctx.Err() != nil:
		return nil
	case r.Header.Get("Upgrade") != "":
		v.socket(r.URL.String())
		return nil
	case r.Header.Get("Service-Worker") != "":
		return plain(r, http.StatusForbidden)
	}
	url := r.URL.String()
	if strings.HasPrefix(r.RequestURI, "/") { // as it was sent
		url = r.URL.Scheme + "://" + r.URL.Host + r.RequestURI
	} else if strings.HasPrefix(r.RequestURI, "http") {
		url = r.RequestURI
	}
	body, err := io.ReadAll(io.LimitReader(r.Body, maxSent+1))
	if err != nil {
		return plain(r, http.StatusRequestEntityTooLarge)
	}
	key := r.Method + " " + url
	hash := sha256.Sum256(body)
	once := key + string(hash[:])
	v.mu.Lock()
	answered, known := v.seen[once]
	v.count++
	if known != answered || v.over && !known || v.count > v.o.Requests { // it asks again where a connection was closed
		v.mu.Unlock()
		return nil
	}
	v.open++
	if !known {
		v.last = time.Now()
	}
	v.mu.Unlock()
	a := v.ask(r, key, url, body)
	v.mu.Lock()
	defer v.mu.Unlock()
	v.open--
	if !known {
		v.last = time.Now()
	}
	v.seen[once] = a != nil
	if a == nil {
		if r.Method == http.MethodOptions && r.Header.Get("Access-Control-Request-Method") != "" {
			v.seen[once] = true
			return allow(r)
		}
		return nil
	}
	return a
}

// ask asks the Source, and notes it.
func (v *visit) ask(r *http.Request, key, url string, body []byte) *http.Response {
	header := r.Header.Clone()
	for _, name := range []string{"Proxy-Authorization", "Proxy-Connection", "Connection", "Accept-Encoding"} {
		header.Del(name)
	}
	asked := Asked{Request: Request{Method: r.Method, URL: url, Header: header, Body: body,
		Kind: v.kind(key, r.Header.Get("Sec-Fetch-Dest"))}}
	a := v.source(v.ctx, &asked.Request)
	if a != nil && (a.Status < 200 || a.Status > 599 || int64(len(a.Body)) > v.o.BodyBytes || len(body) > maxSent) {
		a = nil
	}
	if a != nil {
		asked.Answered, asked.Status = true, a.Status
		asked.Mime, _, _ = mime.ParseMediaType(a.Header.Get("Content-Type"))
	}
	v.mu.Lock()
	defer v.mu.Unlock()
	if r.Method != http.MethodOptions || a != nil {
		v.asked = append(v.asked, asked)
	}
	if a == nil {
		return nil
	}
	if v.at.IsZero() {
		v.at = a.At
	}
	answer := plain(r, a.Status)
	for name, values := range a.Header {
		if !left[http.CanonicalHeaderKey(name)] {
			answer.Header[http.CanonicalHeaderKey(name)] = values
		}
	}
	if origin := r.Header.Get("Origin"); origin != "" &&
		answer.Header.Get("Access-Control-Allow-Origin") == "" { // it was asked for without an Origin
		answer.Header.Set("Access-Control-Allow-Origin", origin)
		answer.Header.Set("Access-Control-Allow-Credentials", "true")
		answer.Header.Set("Access-Control-Expose-Headers", strings.Join(slices.Sorted(maps.Keys(a.Header)), ", "))
	}
	if r.Method != http.MethodHead && a.Status != http.StatusNoContent && a.Status != http.StatusNotModified {
		answer.Body, answer.ContentLength = io.NopCloser(bytes.NewReader(a.Body)), int64(len(a.Body))
	}
	return answer
}

// left are fields of an archived head that no longer hold, or that lead elsewhere.
var left = map[string]bool{"Content-Encoding": true, "Content-Length": true, "Transfer-Encoding": true, "Trailer": true,
	"Connection": true, "Keep-Alive": true, "Proxy-Authenticate": true, "Proxy-Connection": true, "Upgrade": true,
	"Alt-Svc": true, "Nel": true, "Report-To": true, "Reporting-Endpoints": true, "Content-Md5": true, "Digest": true}

// allow lets a request of another origin be made: whether its answer may be read is said by that answer.
func allow(r *http.Request) *http.Response {
	answer := plain(r, http.StatusNoContent)
	for name, value := range map[string]string{"Origin": r.Header.Get("Origin"), "Credentials": "true",
		"Methods": r.Header.Get("Access-Control-Request-Method"),
		"Headers": r.Header.Get("Access-Control-Request-Headers")} {
		if value != "" {
			answer.Header.Set("Access-Control-Allow-"+name, value)
		}
	}
	return answer
}

// note notes a URL to which the page would have led.
func (v *visit) note(url string) {
	v.mu.Lock()
	defer v.mu.Unlock()
	if len(v.noted) < maxNoted && strings.HasPrefix(url, "http") {
		v.noted = append(v.noted, url)
	}
}

// rests reports whether the page is loaded and nothing new was asked for during a while.
func (v *visit) rests() bool {
	v.mu.Lock()
	defer v.mu.Unlock()
	return v.loaded && v.open == 0 && time.Since(v.last) >= restsAfter
}
