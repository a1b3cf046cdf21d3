package slave

import (
	"errors"
	"fmt"
	"net/http"
	"net/netip"
	"net/url"
	"regexp"
	"slices"
	"strings"
	"time"

	"github.com/sirupsen/logrus"

	"henro/actors/admission"
	"henro/actors/scope"
	"henro/messages"
	"henro/messages/weburl"
	"henro/slave/botauth"
	"henro/slave/cookies"
	"henro/slave/fetch"
)

// settings are the master's, with what is made of them.
type settings struct {
	sent       *messages.FetchSettings
	client     *fetch.Client
	scope      *scope.Scope      // the patterns alone: regions come with each lease
	admission  admission.Options // but for MaxRedirects, which comes with each lease
	cookieFile *cookies.File     // nil: none
	render     []*regexp.Regexp  // of pages whose scripts are run in any case
}

func makeSettings(f *messages.FetchSettings, o Options, log *logrus.Entry) (*settings, error) {
	r := &settings{sent: f}
	if len(f.Admission) > 0 {
		r.admission = admission.DefaultOptions() // of what an older master does not know
		if err := r.admission.UnmarshalBinary(f.Admission); err != nil {
			return nil, err
		}
	}
	r.admission.Admit = o.Admit
	var err error
	if r.scope, err = scope.New(scope.Options{Include: f.Include, Exclude: f.Exclude}); err != nil {
		return nil, err
	}
	for _, text := range f.Render {
		pattern, err := regexp.Compile(text)
		if err != nil {
			return nil, err
		}
		r.render = append(r.render, pattern)
	}
	if len(f.CookieFile) > 0 {
		if r.cookieFile, err = cookies.ParseFile(f.CookieFile); err != nil {
			return nil, err
		}
	}
	if r.client, err = newClient(f, o); err != nil {
		return nil, fmt.Errorf("fetch as the master says: %w", err)
	}
	if f.Proxy != "" {
		log.Warn("fetching through a proxy, which looks names up: the guard judges names of hosts and no addresses")
	}
	return r, nil
}

// close ends the client; there may be no settings yet.
func (r *settings) close() {
	if r != nil {
		r.client.Close()
	}
}

// newClient makes the client that fetches by the master's settings.
func newClient(f *messages.FetchSettings, o Options) (*fetch.Client, error) {
	options := fetch.DefaultOptions()
	options.UserAgent = f.UserAgent
	options.TotalTimeout = time.Duration(f.FetchTimeoutNs)
	options.ConnectTimeout = min(time.Duration(f.ConnectTimeoutNs), options.TotalTimeout)
	options.IdleTimeout = min(time.Duration(f.IdleTimeoutNs), options.TotalTimeout)
	options.MaxBody = int(f.MaxBody)
	options.IdleConnections = o.Leases()
	options.AllowPrivate, options.VerifyTLS, options.HTTP1 = f.AllowPrivate, f.VerifyTls, f.Http1
	for _, text := range f.PrivateNetworks {
		network, err := netip.ParsePrefix(text)
		if err != nil {
			return nil, err
		}
		options.Private = append(options.Private, network)
	}
	for _, text := range f.AllowAddresses {
		address, err := netip.ParseAddr(text)
		if err != nil {
			return nil, err
		}
		options.Addresses = append(options.Addresses, address)
	}
	options.Resolve, options.DNS = f.Resolve, f.Dns
	options.Header = http.Header{}
	for _, h := range f.Headers {
		if h.Prefix == "" {
			options.Header.Add(h.Name, h.Value)
		}
	}
	if f.Proxy != "" {
		proxy, err := url.Parse(f.Proxy)
		if err != nil {
			return nil, errors.New("the proxy is no URL") // whose text may hold a password
		}
		options.Proxy = proxy
	}
	if len(f.BotKey) > 0 {
		signer, err := botauth.New(f.BotKey, f.BotAgent)
		if err != nil {
			return nil, err
		}
		options.Signer = signer
	}
	options.Memory = o.BodyMemory
	options.Dial, options.Colly = o.Dial, o.Colly
	return fetch.New(options)
}

// secrets are the fields that requests for a URL have beside those of all requests.
func (r *settings) secrets(url string, jar *cookies.Jar) (fields []fetch.Field) {
	for _, h := range r.sent.Headers {
		if h.Prefix != "" && strings.HasPrefix(url, h.Prefix) {
			fields = append(fields, fetch.Field{Name: h.Name, Value: h.Value})
		}
	}
	if jar != nil {
		if v := jar.Field(url); v != "" {
			fields = append(fields, fetch.Field{Name: "Cookie", Value: v})
		}
	}
	return fields
}

// jar is that of a host whose cookies are kept; nil: they are not.
func (r *settings) jar(task *messages.HostTask, now time.Time) *cookies.Jar {
	named := func(pattern string) bool { return slices.Contains(r.sent.CookieHosts, pattern) }
	patterns := weburl.Patterns(task.Host)
	if !slices.ContainsFunc(patterns, named) && !r.cookieFile.Covers(patterns[1]) {
		return nil
	}
	return cookies.New(task.Host, task.Cookies, r.cookieFile, now)
}
