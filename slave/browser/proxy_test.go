package browser

import (
	"context"
	"crypto/tls"
	"encoding/json"
	"io"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"testing"
	"time"

	"github.com/sirupsen/logrus"
)

// client speaks through the proxy as Chromium does, with the word of a page or with another.
func client(t *testing.T, p *proxy, password string) *http.Client {
	t.Helper()
	by := &url.URL{Scheme: "http", Host: p.address, User: url.UserPassword("henro", password)}
	transport := &http.Transport{Proxy: http.ProxyURL(by), TLSClientConfig: &tls.Config{InsecureSkipVerify: true}}
	t.Cleanup(transport.CloseIdleConnections)
	return &http.Client{Transport: transport, Timeout: 10 * time.Second,
		CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }}
}

// visiting starts a proxy with a page under way.
func visiting(t *testing.T, o Options, source Source) (*proxy, *visit) {
	t.Helper()
	log := logrus.New()
	log.SetOutput(io.Discard)
	p, err := newProxy(logrus.NewEntry(log))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { p.server.Close() })
	o = New(o).o
	v := newVisit(t.Context(), &o, source)
	p.visiting.Store(v)
	return p, v
}

// archive answers what ends in a word of it.
func archive(of map[string]string) Source {
	return func(_ context.Context, r *Request) *Answer {
		for end, body := range of {
			if strings.HasSuffix(r.URL, end) {
				return &Answer{Status: 200, Body: []byte(body),
					Header: http.Header{"Content-Type": {"text/plain"}, "Alt-Svc": {`h3=":443"`}}}
			}
		}
		return nil
	}
}

// Whatever is asked is answered by the source or by nobody: no connection is opened.
func TestTheProxyAnswersFromTheSourceAlone(t *testing.T) {
	reached := 0
	live := httptest.NewServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) { reached++ }))
	defer live.Close()
	p, v := visiting(t, Options{}, archive(map[string]string{"/there": "from the archive"}))
	c := client(t, p, v.password)
	for _, url := range []string{"http://a.example/there", "https://a.example/there", "https://a.example:8443/there"} {
		r, err := c.Get(url)
		if err != nil {
			t.Fatalf("%s: %v", url, err)
		}
		body, _ := io.ReadAll(r.Body)
		r.Body.Close()
		if r.StatusCode != 200 || string(body) != "from the archive" || r.Header.Get("Alt-Svc") != "" {
			t.Errorf("%s: %d %q %v", url, r.StatusCode, body, r.Header)
		}
	}
	for _, url := range []string{live.URL + "/missing", "http://a.example/missing", "https://a.example/missing"} {
		if r, err := c.Get(url); err == nil {
			t.Errorf("%s: status %d, want no answer", url, r.StatusCode)
		}
	}
	if reached > 0 {
		t.Errorf("the live server was asked %d times", reached)
	}
	v.mu.Lock()
	v.over = true
	v.mu.Unlock()
	if _, err := c.Get("http://a.example/new"); err == nil {
		t.Error("what was not asked for before is answered when all is over")
	}
	if r, err := c.Get("http://a.example/there"); err != nil || r.Body.Close() != nil {
		t.Errorf("what was there is gone when all is over: %v", err)
	}
	missing := 0
	for _, a := range v.asked {
		if !a.Answered {
			missing++
		}
	}
	if len(v.asked) != 7 || missing != 3 {
		t.Errorf("%d requests noted, %d without answer", len(v.asked), missing)
	}
}

// Other programs of the machine get nothing of the archive by way of the proxy.
func TestTheProxyKnowsItsChromium(t *testing.T) {
	p, v := visiting(t, Options{}, archive(map[string]string{"/there": "secret"}))
	c := client(t, p, v.password+"x")
	r, err := c.Get("http://a.example/there")
	if err != nil {
		t.Fatal(err)
	}
	body, _ := io.ReadAll(r.Body)
	r.Body.Close()
	if r.StatusCode != http.StatusProxyAuthRequired || strings.Contains(string(body), "secret") {
		t.Errorf("%d %q", r.StatusCode, body)
	}
	if r, err := c.Get("https://a.example/there"); err == nil {
		t.Errorf("a tunnel was opened: %d", r.StatusCode)
	}
	if len(v.asked) > 0 {
		t.Errorf("%d requests reached the source", len(v.asked))
	}
}

// A page costs what it may and no more.
// An answer that was archived without an Origin may be read by the page that asks with one: its own script goes on.
func TestAnAnswerMayBeReadByAnotherOrigin(t *testing.T) {
	p, v := visiting(t, Options{}, archive(map[string]string{"/there": "x"}))
	c := client(t, p, v.password)
	for _, method := range []string{http.MethodGet, http.MethodPost} {
		r, _ := http.NewRequest(method, "http://api.example/there", nil)
		r.Header.Set("Origin", "http://a.example")
		w, err := c.Do(r)
		if err != nil {
			t.Fatal(err)
		}
		w.Body.Close()
		if w.Header.Get("Access-Control-Allow-Origin") != "http://a.example" ||
			w.Header.Get("Access-Control-Expose-Headers") != "Alt-Svc, Content-Type" {
			t.Errorf("%s: %v", method, w.Header)
		}
	}
}

func TestAPageIsBounded(t *testing.T) {
	p, v := visiting(t, Options{Requests: 3, BodyBytes: 10}, archive(map[string]string{"/long": "more than ten bytes",
		"/1": "1", "/2": "2", "/3": "3"}))
	c := client(t, p, v.password)
	answered := ""
	for _, path := range []string{"/long", "/1", "/2", "/3"} {
		if r, err := c.Get("http://a.example" + path); err == nil {
			answered += path
			r.Body.Close()
		}
	}
	if answered != "/1/2" {
		t.Errorf("answered %q, want /1/2: one answer is too long, and one request is beyond the bound", answered)
	}
	sent, err := c.Post("http://a.example/1", "text/plain", strings.NewReader(strings.Repeat("x", maxSent+1)))
	if err == nil {
		sent.Body.Close()
		if sent.StatusCode == 200 {
			t.Error("a body beyond the bound was answered")
		}
	}
}

// The records are those that other tools look for.
func TestRecords(t *testing.T) {
	const url = "http://a.example/"
	r := &Rendering{Title: "A", Text: "words", Rested: true, Errors: 2, Screenshot: []byte("png"),
		Narrow: []byte("thin"),
		Asked: []Asked{{Request{Method: "GET", URL: url, Kind: "document"}, true, 200, "text/html"},
			{Request{Method: "GET", URL: url + "gone", Kind: "fetch"}, false, 0, ""}}}
	found := map[string]Record{}
	for _, record := range r.Records(url) {
		found[record.URI] = record
	}
	if len(found) != 4 || string(found["urn:text:"+url].Body) != "words" ||
		string(found["urn:view-390:"+url].Body) != "thin" ||
		found["urn:view:"+url].Type != "image/png" {
		t.Errorf("%v", found)
	}
	var info struct {
		URL, Title string
		TSStatus   int `json:"tsStatus"`
		LoadState  int `json:"loadState"`
		Urls       map[string]asked
		Counts     map[string]int
	}
	if err := json.Unmarshal(found["urn:pageinfo:"+url].Body, &info); err != nil {
		t.Fatal(err)
	}
	if info.URL != url || info.Title != "A" || info.TSStatus != 200 || info.LoadState != 4 ||
		info.Counts["jsErrors"] != 2 || info.Urls[url].Type != "document" || info.Urls[url+"gone"].Error == "" {
		t.Errorf("%+v", info)
	}
}
