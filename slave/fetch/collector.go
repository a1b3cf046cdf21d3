package fetch

import (
	"bytes"
	"context"
	"errors"
	"maps"
	"net/http"
	"net/url"
	"strings"

	"github.com/gocolly/colly/v2"
)

// placeholder is what colly is handed to begin with: the first callback of OnRequest puts the URL of the visit in its
// place, before anything looks at it. What colly is handed it parses three times over (8 µs for an ordinary URL, 2 for
// a scheme of one letter) and rewrites on the way (a lone % becomes %25), so that what is asked for would no longer be
// what the frontier knows.
const placeholder = "h:"

// mostShown is how many bytes of a body callbacks see: a copy that is theirs, of which there are as many as visits.
const mostShown = 1 << 20

// collector makes visits with a Collector of its own, one at a time, since a Collector holds the context of its one
// request. It is the RoundTripper beneath that too.
//
//	OnRequest ──► RoundTrip ──► OnResponseHeaders ──► Read ──► OnResponse
//	the URL       asks; head    status and header     body     the Response is made, whole or cut
//	                │                                  │
//	                └──────────────► OnError ◄─────────┘       the Response is made: a Reason
type collector struct {
	*colly.Collector
	header http.Header
	ctx    *colly.Context // nil: each visit has one of its own, for the caller's callbacks
	x      *exchange      // under way; nil: none is
	asked  bool           // its request has begun
}

// newCollector makes a Collector that does nothing of its own accord: each line names who does instead. It is set after
// the caller's callbacks are added, so that nothing else of it can be changed with them. Init, unlike NewCollector,
// does not read COLLY_* from the environment. Rules of its Limit are not set: a Host has the interval of its visits.
func newCollector(o *Options) *collector {
	c := &collector{Collector: &colly.Collector{},
		header: http.Header{"User-Agent": {o.UserAgent}, "Accept": {o.Accept}}, ctx: colly.NewContext()}
	c.Init()
	c.OnRequest(c.begins)
	c.OnResponseHeaders(func(r *colly.Response) { c.x.resp.Status = r.StatusCode })
	c.OnResponse(c.ends)
	c.OnError(c.fails)
	if o.Colly != nil {
		c.ctx = nil
		o.Colly(c.Collector)
	}
	c.UserAgent, c.Headers = o.UserAgent, nil        // an exchange writes the request
	c.MaxDepth, c.MaxRequests = 0, 0                 // the Master counts links from seeds, and ends a crawl
	c.AllowedDomains, c.DisallowedDomains = nil, nil // Parsers and Partitions admit links (admission)
	c.URLFilters, c.DisallowedURLFilters = nil, nil  // likewise
	c.AllowURLRevisit = true                         // a Host says what is due; colly would remember all URLs for ever
	c.MaxBodySize = 0                                // an exchange bounds bodies, and hands colly none
	c.CacheDir, c.CacheExpiration = "", 0            // the Archivist keeps captures, a Host their validators
	c.IgnoreRobotsTxt = true                         // a Fetcher heeds it (package walk): it expires, and a 5xx forbids
	c.Async = false                                  // Fetchers ask, as many at once as the slave's gate lets pass
	c.ParseHTTPErrorResponse = true                  // a Parser gets every answer, a Host judges its status
	c.DetectCharset = false                          // a Parser finds it (package charset)
	c.CheckHead = false                              // a request of its own would undercut the interval of a Host
	c.TraceHTTP = false                              // an exchange takes the times
	// A Fetcher has the jar of its host, and an exchange its Options.TotalTimeout. A redirect is a link: the Master and
	// a Host say whether and when it is visited. The hook for them is the client's: that of SetRedirectHandler is asked
	// after a parser whose time grows with the square of the Location (60 kB took more than a minute).
	follow := func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }
	c.SetClient(&http.Client{Transport: c, CheckRedirect: follow})
	return c
}

// visit has colly make one request.
func (c *collector) visit(ctx context.Context, x *exchange) {
	c.Context, c.x, c.asked = ctx, x, false
	c.Request(x.method(), placeholder, nil, c.ctx, c.header) // its error is that of OnError
	c.finish(errAborted)                                     // unless a callback did
	c.Context = context.Background()
	x.client.collectors.Put(c)
}

// finish makes the Response, if it is not made.
func (c *collector) finish(err error) {
	if x := c.x; x != nil {
		c.x = nil
		x.finish(c.Context, err)
	}
}

// begins is the first callback of OnRequest. A visit that another callback wants to make is none.
func (c *collector) begins(r *colly.Request) {
	if c.asked {
		r.Abort()
		return
	}
	c.asked = true
	r.Host = c.x.to.authority()
	*r.URL = address(c.x.req.URL.String(), r.Host)
	if c.ctx != nil { // nobody looks, and http.Client would copy it
		*r.Headers = http.Header{}
	}
}

// address is a URL for callbacks and http.Client, with this text as its String. Where net/url would have another (a
// lone %), it is opaque.
func address(text, authority string) url.URL {
	if a, err := url.Parse(text); err == nil && a.String() == text {
		return *a
	}
	scheme, rest, _ := strings.Cut(text, ":")
	return url.URL{Scheme: scheme, Host: authority, Opaque: rest}
}

// RoundTrip asks, and returns when the head of the answer is there.
func (c *collector) RoundTrip(req *http.Request) (*http.Response, error) {
	res, err := c.x.run(req.Context())
	if err != nil {
		return nil, err
	}
	c.x.resp.Header, c.x.resp.Proto = res.Header, res.Proto
	if location := res.Header.Get("Location"); location != "" {
		if _, err := url.Parse(location); err != nil { // http.Client would fail
			res.Header = maps.Clone(res.Header)
			delete(res.Header, "Location")
		}
	}
	res.Request, res.Body, res.Uncompressed = req, c.x, true
	return res, nil
}

// ends is the first callback of OnResponse.
func (c *collector) ends(r *colly.Response) {
	x := c.x
	c.finish(nil)
	if body := x.resp.Body; x.client.o.Colly != nil {
		r.Body = bytes.Clone(body[:min(len(body), mostShown)])
	}
}

// fails is the first callback of OnError. A body that another callback does not want is left out of the Response.
func (c *collector) fails(_ *colly.Response, err error) {
	var f *failure // within what http.Client says of it
	switch {
	case errors.As(err, &f):
		c.finish(f)
	case errors.Is(err, colly.ErrAbortedAfterHeaders):
		c.finish(nil)
	}
}
