// Package console answers HTTP about one node: what may be asked stands in tables of routes, and who may ask is decided
// here, once for all of them.
//
// Invariants:
//   - an address beyond loopback is served with a token only; with a token every route asks for it, except those that
//     say nothing about the crawl. A caller on loopback is no exception: it may be a proxy that speaks for anybody.
//   - without a token, a page that a browser shows from elsewhere learns nothing, even if its name is made to point
//     here: only the names of loopback are answered to.
//   - with or without a token, such a page changes nothing and causes no work: what is not a GET, and what is no Linked
//     page, must come from a page of our own, or from no browser at all.
//   - what a request costs is bounded: its body, how long its reader may take for the next piece, how many requests of
//     an expensive kind are answered at once, and how many connections are open.
package console

import (
	"cmp"
	"context"
	"crypto/sha256"
	"crypto/subtle"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"mime"
	"net"
	"net/http"
	"net/netip"
	"slices"
	"strings"
	"time"

	"golang.org/x/sync/errgroup"
)

// Route is a line in a table of what a node answers.
type Route struct {
	Pattern string // method and path, as http.ServeMux has them
	Open    bool   // answered without the token: it says nothing about the crawl
	Linked  bool   // a page that other sites may link to
	AtOnce  int    // so many are answered at once; 0: as many as there are connections
	Body    int64  // most bytes of a request's body; 0: bodyBytes
	Serve   http.HandlerFunc
}

// Options say who may ask.
type Options struct {
	Token  string   // asked for by every route that is not open; empty: none is, and loopback alone may be bound
	Names  []string // host names that are answered to without a token, beside localhost and addresses
	passed bool     // another node has judged who asks, by any name
}

// Console is a node's HTTP server.
type Console struct {
	o      Options
	token  [sha256.Size]byte
	mux    *http.ServeMux
	routes map[string]*served // by pattern
	guard  *http.CrossOriginProtection
}

// served is a route and those who are being answered by it.
type served struct {
	Route
	now chan struct{} // holds one for each of them, if they are bounded
}

// New makes a server of tables of routes.
func New(o Options, tables ...[]Route) *Console {
	c := &Console{o: o, token: sha256.Sum256([]byte(o.Token)), mux: http.NewServeMux(),
		routes: map[string]*served{}, guard: http.NewCrossOriginProtection()}
	for _, table := range tables {
		for _, route := range table {
			s := &served{Route: route}
			if route.AtOnce > 0 {
				s.now = make(chan struct{}, route.AtOnce)
			}
			c.routes[route.Pattern] = s
			c.mux.HandleFunc(route.Pattern, s.serve)
		}
	}
	return c
}

// Passed is c for requests that another node passes on. That node has judged who asks; whether a page of another site
// asks is judged here too.
func (c *Console) Passed() *Console {
	passed := *c
	passed.o = Options{passed: true}
	return &passed
}

// Patterns are those of all routes, sorted.
func (c *Console) Patterns() []string { return slices.Sorted(maps.Keys(c.routes)) }

// serve answers within the bounds of the route.
func (s *served) serve(w http.ResponseWriter, r *http.Request) {
	if s.now != nil {
		select {
		case s.now <- struct{}{}:
			defer func() { <-s.now }()
		default:
			w.Header().Set("Retry-After", "10")
			Fail(w, http.StatusServiceUnavailable,
				fmt.Errorf("%d requests of this kind are being answered, as many as may be", s.AtOnce))
			return
		}
	}
	if media, _, _ := mime.ParseMediaType(r.Header.Get("Content-Type")); strings.HasPrefix(media, "multipart/") {
		Fail(w, http.StatusUnsupportedMediaType, errors.New("nothing here takes multipart bodies"))
		return
	}
	r.Body = http.MaxBytesReader(w, r.Body, cmp.Or(s.Body, bodyBytes))
	out := newSteady(w)
	s.Serve(out, r)
	out.extend() // for what is still in buffers
}

// ServeHTTP answers one request.
func (c *Console) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	header := w.Header()
	header.Set("X-Content-Type-Options", "nosniff")
	header.Set("X-Frame-Options", "DENY")
	header.Set("Referrer-Policy", "same-origin")
	header.Set("Cache-Control", "no-store")
	_, pattern := c.mux.Handler(r)
	route := c.routes[pattern] // nil: not found, or not with this method
	switch err := c.guard.Check(r); {
	case err != nil:
		Fail(w, http.StatusForbidden, errors.New("a page of another site may not change anything here"))
	case isForeign(r, route != nil && route.Linked):
		Fail(w, http.StatusForbidden, errors.New("a page of another site may not ask for this"))
	case c.o.Token == "" && !c.o.passed && !Knows(r.Host, c.o.Names...):
		Fail(w, http.StatusMisdirectedRequest,
			fmt.Errorf("%q is no name of this node: ask it as localhost, or give it --token-file", r.Host))
	case c.o.Token != "" && !(route != nil && route.Open) && !c.trusts(r):
		header.Set("WWW-Authenticate", `Basic realm="henro: any user, the token as password", charset="UTF-8"`)
		Fail(w, http.StatusUnauthorized,
			errors.New("a token is needed: Authorization: Bearer TOKEN, or the token as password of any user"))
	default:
		c.mux.ServeHTTP(w, r)
	}
}

// Knows reports whether the Host header is one that no stranger can make a browser send for a page of the stranger's
// own: an address, a name of this machine, or one of those given.
func Knows(host string, names ...string) bool {
	name := host
	if h, _, err := net.SplitHostPort(host); err == nil {
		name = h
	}
	name = strings.ToLower(strings.TrimSuffix(name, "."))
	if _, err := netip.ParseAddr(strings.Trim(name, "[]")); err == nil {
		return true
	}
	return name == "localhost" || strings.HasSuffix(name, ".localhost") || slices.Contains(names, name)
}

// IsLocal reports whether a host, which may have a port behind it, is reached from this machine alone.
func IsLocal(host string) bool {
	if name, _, err := net.SplitHostPort(host); err == nil {
		host = name
	}
	ip, err := netip.ParseAddr(strings.Trim(host, "[]"))
	return host == "localhost" || err == nil && ip.IsLoopback()
}

// trusts reports whether the request carries the token. Browsers have no field for a bearer token, but one for a
// password, and they keep it to the site that it was given to.
func (c *Console) trusts(r *http.Request) bool {
	given, ok := strings.CutPrefix(r.Header.Get("Authorization"), "Bearer ")
	if !ok {
		_, given, ok = r.BasicAuth()
	}
	sum := sha256.Sum256([]byte(strings.TrimSpace(given)))
	return ok && subtle.ConstantTimeCompare(sum[:], c.token[:]) == 1
}

// Serve answers on a listener until the context ends; streams end with it.
func (c *Console) Serve(ctx context.Context, listener net.Listener) error {
	server := &http.Server{
		Handler: c, ReadHeaderTimeout: 5 * time.Second, ReadTimeout: 30 * time.Second, IdleTimeout: time.Minute,
		MaxHeaderBytes: 64 << 10,
		BaseContext:    func(net.Listener) context.Context { return ctx },
	}
	crowd := NewCrowd(connections)
	crowd.Watch(server)
	return Serve(ctx, server, 2*time.Second, crowd.Listen(listener))
}

// Serve answers on listeners until the context ends. What is being answered then may come to its end for a while.
func Serve(ctx context.Context, server *http.Server, patience time.Duration, listeners ...net.Listener) error {
	group, inner := errgroup.WithContext(ctx)
	for _, l := range listeners {
		group.Go(func() error {
			if err := server.Serve(l); !errors.Is(err, http.ErrServerClosed) {
				return fmt.Errorf("answer HTTP: %w", err)
			}
			return nil
		})
	}
	group.Go(func() error {
		<-inner.Done()
		shutdown, cancel := context.WithTimeout(context.WithoutCancel(ctx), patience)
		defer cancel()
		if server.Shutdown(shutdown) != nil {
			_ = server.Close() // who is left is cut off
		}
		return nil
	})
	return group.Wait()
}

// Reply answers with JSON.
func Reply(w http.ResponseWriter, answer any) {
	w.Header().Set("Content-Type", "application/json")
	_ = json.NewEncoder(w).Encode(answer) // the reader is gone: the error has no receiver
}

// Problem is the body of every answer that is an error.
type Problem struct {
	Error string `json:"error"`
}

// Fail answers with an error.
func Fail(w http.ResponseWriter, code int, err error) {
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(code)
	_ = json.NewEncoder(w).Encode(Problem{Error: err.Error()})
}
