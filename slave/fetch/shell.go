package fetch

import (
	"context"
	"net/http"
	"sync"

	"github.com/gocolly/colly/v2"
)

// standIn is the URL that colly is shown, of a scheme that only our RoundTripper serves. The true one travels in the
// exchange: colly parses every URL three times over (7 µs) and rewrites it on the way (a lone % becomes %25), so that
// what is asked for would no longer be what the frontier knows.
const standIn = "henro:"

// shell is colly around our RoundTripper: as many Collectors as there are fetches in flight, since a Collector holds
// the context of its one request. They share one http.Client.
type shell struct {
	header  http.Header    // never changed: colly adds nothing to a header that names User-Agent and Accept
	context *colly.Context // never used: our callbacks need none, and colly makes one otherwise
	first   *colly.Collector

	mu   sync.Mutex
	idle []*colly.Collector
}

// newShell makes a Collector that does nothing of its own accord. Init, unlike NewCollector, does not read COLLY_* from
// the environment; every field is set all the same, so that a default that changes in a later colly changes nothing
// here.
func newShell(o *Options) *shell {
	c := &colly.Collector{}
	c.Init()
	c.UserAgent = o.UserAgent
	c.Headers = nil
	c.MaxDepth = 0
	c.MaxRequests = 0
	c.AllowedDomains = nil
	c.DisallowedDomains = nil
	c.URLFilters = nil
	c.DisallowedURLFilters = nil
	c.AllowURLRevisit = true // otherwise every URL ever fetched stays in its memory
	c.MaxBodySize = 0        // bodies never reach colly
	c.CacheDir = ""
	c.CacheExpiration = 0
	c.IgnoreRobotsTxt = true // ours expire, and a 5xx forbids
	c.Async = false          // it would start goroutines without bound
	c.ParseHTTPErrorResponse = true
	c.DetectCharset = false
	c.CheckHead = false
	c.TraceHTTP = false
	c.Context = context.Background()
	c.DisableCookies()
	c.SetRequestTimeout(0)
	c.SetRedirectHandler(func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse })
	c.WithTransport(transport{})
	return &shell{
		header:  http.Header{"User-Agent": {o.UserAgent}, "Accept": {o.Accept}},
		context: colly.NewContext(),
		first:   c,
	}
}

// visit makes one request through colly. What came of it is in the exchange; colly learns the status, or the failure.
func (s *shell) visit(ctx context.Context, x *exchange) error {
	c := s.take()
	v := visiting{Context: ctx, exchange: x}
	c.Context = &v
	err := c.Request(http.MethodGet, standIn, nil, s.context, s.header)
	c.Context = context.Background()
	s.give(c)
	if !v.ran {
		return err
	}
	return v.err
}

func (s *shell) take() *colly.Collector {
	s.mu.Lock()
	defer s.mu.Unlock()
	if n := len(s.idle); n > 0 {
		c := s.idle[n-1]
		s.idle = s.idle[:n-1]
		return c
	}
	return s.first.Clone()
}

func (s *shell) give(c *colly.Collector) {
	s.mu.Lock()
	s.idle = append(s.idle, c)
	s.mu.Unlock()
}

// visiting is the context of one request: the caller's, with the exchange in it.
type visiting struct {
	context.Context
	exchange *exchange
	ran      bool
	err      error
}

type visitingKey struct{}

// Value hands out the visit itself to the RoundTripper.
func (v *visiting) Value(key any) any {
	if _, ok := key.(visitingKey); ok {
		return v
	}
	return v.Context.Value(key)
}

// transport is the http.RoundTripper beneath colly's http.Client. It runs the exchange that the request carries and
// shows the client no more than the status: with a Location it would look at redirects, with a body it would read and
// decode it.
type transport struct{}

// nothing is the response header that colly is shown; it is never written to.
var nothing = http.Header{}

func (transport) RoundTrip(req *http.Request) (*http.Response, error) {
	v, ok := req.Context().Value(visitingKey{}).(*visiting)
	if !ok {
		return nil, errNoURL // a request that colly makes by itself: it makes none, and must not
	}
	v.ran = true
	if v.err = v.exchange.run(v.Context); v.err != nil {
		return nil, v.err
	}
	return &http.Response{
		StatusCode: v.exchange.resp.Status, Proto: "HTTP/1.1", ProtoMajor: 1, ProtoMinor: 1,
		Header: nothing, Body: http.NoBody, Uncompressed: true, Request: req,
	}, nil
}
