package indexnow

import (
	"net/netip"
	"time"

	"golang.org/x/time/rate"
)

// How often may be pinged. A host that reports each change by itself is a busy one with one a second; each key that is
// not known costs its host a request, made on the word of anybody.
const (
	senderPings = 100 // in a row, then one a second; behind a proxy all senders are one
	hostPings   = 100 // in a row, then one a minute
	hostKeys    = 4   // in a row, then one in six hours
	keysEvery   = 6 * time.Hour
	tableMost   = 10_000 // hosts, and senders, that are kept; an entry that is as good as new makes room
)

// Limits bound what senders and hosts may have done. The zero value allows everybody the first ping.
type Limits struct {
	senders table[netip.Prefix, *rate.Limiter]
	hosts   table[string, *hostLimits]
}

type hostLimits struct {
	pings, keys *rate.Limiter
	known       []uint64 // the latest keys that were let through, hostKeys at most
}

// Sender reports whether an address may ping once more. Of IPv6 a network of 64 bits is one sender.
func (l *Limits) Sender(from netip.Addr, now time.Time) bool {
	bits := 32
	if from = from.Unmap(); from.Is6() {
		bits = 64
	}
	prefix, _ := from.Prefix(bits) // fails for no address: a sender of its own
	limiter := l.senders.of[prefix]
	if limiter == nil {
		limiter = rate.NewLimiter(rate.Every(time.Second), senderPings)
		if !l.senders.add(prefix, limiter, now, func(s *rate.Limiter) bool { return s.TokensAt(now) >= senderPings }) {
			return false
		}
	}
	return limiter.AllowN(now, 1)
}

// Host reports whether a host of the crawl may be pinged once more, by a key.
func (l *Limits) Host(host string, key uint64, now time.Time) bool {
	h := l.host(host, now)
	return h != nil && h.pings.AllowN(now, 1) && h.knows(key, now)
}

// Signed reports whether a host of the crawl may be pinged once more, by a hub that has signed it.
func (l *Limits) Signed(host string, now time.Time) bool {
	h := l.host(host, now)
	return h != nil && h.pings.AllowN(now, 1)
}

// host is what a host may still do; nil: there is no room to remember it.
func (l *Limits) host(host string, now time.Time) *hostLimits {
	h := l.hosts.of[host]
	if h == nil {
		h = &hostLimits{pings: rate.NewLimiter(rate.Every(time.Minute), hostPings),
			keys: rate.NewLimiter(rate.Every(keysEvery), hostKeys)}
		if !l.hosts.add(host, h, now, func(h *hostLimits) bool {
			return h.pings.TokensAt(now) >= hostPings && h.keys.TokensAt(now) >= hostKeys
		}) {
			return nil
		}
	}
	return h
}

// knows reports whether a key was let through before, or may be now.
func (h *hostLimits) knows(key uint64, now time.Time) bool {
	for _, known := range h.known {
		if known == key {
			return true
		}
	}
	if !h.keys.AllowN(now, 1) {
		return false
	}
	h.known = append(h.known[max(0, len(h.known)+1-hostKeys):], key)
	return true
}

// table holds tableMost entries. When it is full of what acts it turns new ones away: if it forgot what acts, whoever
// fills it would be free of all limits.
type table[K comparable, V any] struct {
	of    map[K]V
	swept time.Time // when idle entries were removed last, once a minute at most
}

// add reports whether there was room for an entry.
func (t *table[K, V]) add(key K, entry V, now time.Time, idle func(V) bool) bool {
	if len(t.of) >= tableMost {
		if now.Sub(t.swept) < time.Minute {
			return false
		}
		t.swept = now
		for key, entry := range t.of {
			if idle(entry) {
				delete(t.of, key)
			}
		}
		if len(t.of) >= tableMost {
			return false
		}
	}
	if t.of == nil {
		t.of = map[K]V{}
	}
	t.of[key] = entry
	return true
}
