package floor

import (
	"slices"
	"sync"

	"henro/messages/weburl"
)

// chain is the life of one URL as its messages tell it: those that name the URL, or link to it before anything else is
// known of it, and those that name no URL at all but its host, or a lease under which it was seen. Each node finds the
// leases by itself, in the messages that pass.
type chain struct {
	url, host string

	mu     sync.Mutex
	begun  bool     // it was named
	leases []string // the latest, oldest first
}

// chainLeases bounds the leases of one chain: a URL is in one at a time.
const chainLeases = 16

func newChain(url string) *chain {
	c := &chain{url: url}
	if u, err := weburl.Parse(url); err == nil {
		c.url, c.host = u.String(), u.Host()
	}
	return c
}

// fits reports whether a message belongs to the chain. What a message is about comes in the order of its fields, a
// lease before the URLs under it.
func (c *chain) fits(about func(each func(key, value string) bool)) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	named, linked, others, strangers, ours, lease := false, false, false, false, false, ""
	about(func(key, value string) bool {
		switch key {
		case "url":
			if value != c.url {
				others = true
				return true
			}
			named = true
			if lease != "" && !slices.Contains(c.leases, lease) {
				c.leases = append(c.leases[max(0, len(c.leases)-chainLeases+1):], lease)
			}
		case aboutLink:
			linked = linked || value == c.url
			strangers = strangers || value != c.url
		case "host":
			ours = ours || value == c.host
		case "lease":
			lease = value
			ours = ours || slices.Contains(c.leases, value)
		}
		return true
	})
	found := linked && !c.begun
	c.begun = c.begun || named
	return named || found || linked && !others || ours && !others && !strangers
}
