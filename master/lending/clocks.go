package lending

import (
	"maps"
	"slices"
	"time"
)

// clock is one that several hosts share: an address or a domain.
type clock struct {
	open int       // leases of its hosts
	next time.Time // no host of it may be asked before
	wait []string  // hosts that wait for it, first come first
}

// Clocks keep hosts apart that share a clock: at most one of them is lent at a time, and the next one not before the
// pause that the one before needs has passed. The Hosts know nothing of each other; the moment of a clock is given to a
// Host with its lease, raises its own NextAllowed, and is on disk with that before the first request. So the clocks
// need no place on disk: at a restart each is set to the latest moment that one of its hosts was given.
//
// A host has one clock, or one for each address of its name. It is lent when all are free.
//
// Invariants: open is the number of leases of hosts that have the clock; a waiting host waits for one clock; while
// hosts wait for a clock that is free, one of them is on its way through the queue.
type Clocks struct {
	named func(host string) string // the clock of a host whose clocks were not looked up
	all   map[string]*clock
	of    map[string][]string // by host: its clocks, as looked up
	held  map[string][]string // by host that is lent: the clocks it holds
	wait  map[string]string   // by host that waits: for which clock
	left  int                 // clocks after the last sweep
}

// NewClocks makes clocks that are all free. A host for which Know was not called has the one clock that named gives it.
func NewClocks(named func(host string) string) *Clocks {
	return &Clocks{named: named, all: map[string]*clock{}, of: map[string][]string{}, held: map[string][]string{},
		wait: map[string]string{}}
}

// maxClocksKnown bounds Clocks.of. When it is full it is emptied: clocks are looked up again.
const maxClocksKnown = 200_000

// Know notes the clocks of a host.
func (c *Clocks) Know(host string, keys []string) {
	if len(c.of) >= maxClocksKnown {
		clear(c.of)
	}
	c.of[host] = keys
}

// Keep lets no host of some clocks be asked before a moment.
func (c *Clocks) Keep(keys []string, at time.Time) {
	for _, key := range keys {
		if k := c.clock(key); at.After(k.next) {
			k.next = at
		}
	}
}

// Of are the clocks of a host.
func (c *Clocks) Of(host string) []string {
	if keys := c.held[host]; keys != nil {
		return keys
	}
	if keys := c.of[host]; keys != nil {
		return keys
	}
	return []string{c.named(host)}
}

func (c *Clocks) clock(key string) *clock {
	k := c.all[key]
	if k == nil {
		k = &clock{}
		c.all[key] = k
	}
	return k
}

// may says whether a host may be lent by a moment; if not, when to try again, or that it now waits in the line of a
// clock until another host gives that back.
func (c *Clocks) may(host string, by time.Time) (ok bool, at time.Time, waits bool) {
	keys := c.Of(host)
	for _, key := range keys {
		if k := c.all[key]; k != nil && k.open > 0 {
			k.wait = append(k.wait, host)
			c.wait[host] = key
			return false, time.Time{}, true
		}
	}
	at = c.next(keys)
	return !at.After(by), at, false
}

// next is the latest moment of some clocks: before it no host that has them all may be asked.
func (c *Clocks) next(keys []string) (at time.Time) {
	for _, key := range keys {
		if k := c.all[key]; k != nil && k.next.After(at) {
			at = k.next
		}
	}
	return at
}

// hold takes the clocks of a host that is lent.
func (c *Clocks) hold(host string) {
	keys := slices.Clone(c.Of(host))
	c.held[host] = keys
	for _, key := range keys {
		c.clock(key).open++
	}
}

// release gives the clocks of a host back. No host of them may be asked before a moment.
func (c *Clocks) release(host string, at time.Time) (freed []string) {
	keys := c.held[host]
	delete(c.held, host)
	for _, key := range keys {
		c.clock(key).open--
	}
	c.Keep(keys, at)
	return keys
}

// following takes the next host out of the line of a clock, if it is free.
func (c *Clocks) following(key string) (host string, ok bool) {
	k := c.all[key]
	if k == nil || k.open > 0 {
		return "", false
	}
	for len(k.wait) > 0 {
		host, k.wait = k.wait[0], k.wait[1:]
		if c.wait[host] == key {
			delete(c.wait, host)
			return host, true
		}
	}
	k.wait = nil
	return "", false
}

// sweep forgets clocks whose moment has passed and that no host holds or waits for, once there are twice as many as
// were left the last time.
func (c *Clocks) sweep(now time.Time) {
	if len(c.all) < 2*c.left+1024 {
		return
	}
	maps.DeleteFunc(c.all, func(_ string, k *clock) bool {
		return k.open == 0 && len(k.wait) == 0 && !k.next.After(now)
	})
	c.left = len(c.all)
}
