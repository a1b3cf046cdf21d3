package slave

import (
	"encoding/binary"
	"errors"
	"fmt"
	"net/http"
	"net/netip"
	"net/url"
	"strings"
	"time"

	"henro/messages"
	"henro/messages/weburl"
	"henro/slave/botauth"
	"henro/slave/cookies"
	"henro/slave/fetch"
)

// newClient makes the client that fetches by the master's rules.
func newClient(f *messages.FetchRules, o Options) (*fetch.Client, error) {
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
			return nil, fmt.Errorf("fetch as the master says: %w", err)
		}
		options.Private = append(options.Private, network)
	}
	for _, text := range f.AllowAddresses {
		address, err := netip.ParseAddr(text)
		if err != nil {
			return nil, fmt.Errorf("fetch as the master says: %w", err)
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
			return nil, errors.New("fetch as the master says: the proxy is no URL") // whose text may hold a password
		}
		options.Proxy = proxy
	}
	if len(f.BotKey) > 0 {
		signer, err := botauth.New(f.BotKey, f.BotAgent)
		if err != nil {
			return nil, fmt.Errorf("sign as the master says: %w", err)
		}
		options.Signer = signer
	}
	options.Memory = o.BodyMemory
	options.Dial = o.Dial
	client, err := fetch.New(options)
	if err != nil {
		return nil, fmt.Errorf("fetch as the master says: %w", err)
	}
	return client, nil
}

// secrets are the fields that requests for a URL have beside those of all requests.
func (r *rules) secrets(url string, jar *cookies.Jar) (fields []fetch.Field) {
	for _, h := range r.Headers {
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
func (r *rules) jar(task *messages.HostTask, now time.Time) *cookies.Jar {
	u, err := weburl.Parse(task.Host + "/")
	if err != nil {
		return nil
	}
	name := strings.Trim(u.Hostname(), "[]")
	if !cookies.Wanted(r.CookieHosts, task.Host, name) && !r.cookieFile.Covers(name) {
		return nil
	}
	return cookies.New(task.Host, task.Cookies, r.cookieFile, now)
}

func be64(b []byte) uint64 { return binary.BigEndian.Uint64(b) }

// splitLinks takes links off a fact until it fits into one message, and returns them in sets that each do.
func splitLinks(v *messages.PageVisited, most int) []*messages.LinkSet {
	if v.Links == nil {
		return nil
	}
	var parts []*messages.LinkSet
	set, size, from := v.Links, 0, 0
	for i, url := range set.Urls {
		size += len(url) + len(set.Anchors[i]) + 16
		if size > most && i > from {
			parts = append(parts, section(set, from, i))
			from, size = i, len(url)+len(set.Anchors[i])+16
		}
	}
	if from > 0 {
		v.Links = section(set, from, len(set.Urls))
	}
	return parts
}

func section(set *messages.LinkSet, from, to int) *messages.LinkSet {
	return &messages.LinkSet{Urls: set.Urls[from:to], Kinds: set.Kinds[from:to], Flags: set.Flags[from:to],
		Anchors: set.Anchors[from:to], Around: set.Around[min(from, len(set.Around)):min(to, len(set.Around))]}
}
