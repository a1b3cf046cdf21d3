package master

import (
	"context"
	"errors"
	"fmt"
	"net/netip"
	"slices"
	"sync"
	"time"

	"golang.org/x/sync/errgroup"

	"henro/actors/politeness"
	"henro/store"
)

// Unit is what one clock of politeness is kept for.
type Unit string

// The units of politeness.
const (
	UnitHost   Unit = "host"   // scheme, name and port
	UnitIP     Unit = "ip"     // all names of one address
	UnitDomain Unit = "domain" // all names of one registrable domain
)

// ParseUnit reads a unit by name.
func ParseUnit(name string) (Unit, error) {
	for _, u := range []Unit{UnitHost, UnitIP, UnitDomain} {
		if string(u) == name {
			return u, nil
		}
	}
	return "", fmt.Errorf("politeness %q: want host, ip or domain", name)
}

// clock is one that several hosts share: an address or a domain.
type clock struct {
	open int       // leases of its hosts
	next time.Time // no host of it may be asked before
	wait []string  // hosts that wait for it, first come first
}

// clocks keep hosts apart that share one: at most one of them is lent at a time, and the next not before what the one
// before is owed has passed. The Hosts themselves know nothing of each other; what a clock says is given to a Host with
// its lease, raises its own NextAllowed, and is on disk with that before the first request. So the clocks need no place
// on disk: at a restart each is the latest moment that one of its hosts was given.
//
// A host has one clock, or one for each address of its name: it is lent when all are free.
//
// Invariants: open is the number of leases of hosts that have the clock; a host that waits is in one line; while hosts
// wait for a clock that is free, one of them is on its way through readyHosts.
type clocks struct {
	unit Unit
	all  map[string]*clock
	of   map[string][]string // by host: its clocks, as far as they are known
	held map[string][]string // by host that is lent: the clocks it holds
	wait map[string]string   // by host that waits: for which clock
	left int                 // clocks after the last sweep
}

func newClocks(unit Unit) *clocks {
	return &clocks{unit: unit, all: map[string]*clock{}, of: map[string][]string{}, held: map[string][]string{},
		wait: map[string]string{}}
}

// maxClocksKnown bounds clocks.of: what is beyond is looked up again.
const maxClocksKnown = 200_000

// know notes the clocks of a host.
func (c *clocks) know(host string, keys []string) {
	if len(c.of) >= maxClocksKnown {
		clear(c.of)
	}
	c.of[host] = keys
}

// keys are the clocks of a host. One of which no address is known has a clock of its own.
func (c *clocks) keys(host string) []string {
	if keys := c.held[host]; keys != nil {
		return keys
	}
	if keys := c.of[host]; keys != nil {
		return keys
	}
	if c.unit == UnitDomain {
		return []string{store.DomainOf(host)}
	}
	return []string{host}
}

func (c *clocks) clock(key string) *clock {
	k := c.all[key]
	if k == nil {
		k = &clock{}
		c.all[key] = k
	}
	return k
}

// may says whether a host may be lent now; if not, when to try again, or that it waits in line until another host gives
// the clock back.
func (c *clocks) may(host string, by time.Time) (ok bool, at time.Time, waits bool) {
	keys := c.keys(host)
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

// next is the moment before which none of the clocks lets anybody be asked.
func (c *clocks) next(keys []string) (at time.Time) {
	for _, key := range keys {
		if k := c.all[key]; k != nil && k.next.After(at) {
			at = k.next
		}
	}
	return at
}

// hold takes the clocks of a host that is lent.
func (c *clocks) hold(host string) {
	keys := slices.Clone(c.keys(host))
	c.held[host] = keys
	for _, key := range keys {
		c.clock(key).open++
	}
}

// release gives them back, to be taken no sooner than at a moment.
func (c *clocks) release(host string, at time.Time) (freed []string) {
	keys := c.held[host]
	delete(c.held, host)
	for _, key := range keys {
		k := c.clock(key)
		k.open--
		if at.After(k.next) {
			k.next = at
		}
	}
	return keys
}

// following takes the next host out of the line of a clock, if it is free.
func (c *clocks) following(key string) (host string, ok bool) {
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

// sweep forgets clocks that say nothing any more, once there are twice as many as were left the last time.
func (c *clocks) sweep(now time.Time) {
	if len(c.all) < 2*c.left+1024 {
		return
	}
	for key, k := range c.all {
		if k.open == 0 && len(k.wait) == 0 && !k.next.After(now) {
			delete(c.all, key)
		}
	}
	c.left = len(c.all)
}

const (
	namesAtOnce = 64               // looked up side by side
	nameTimeout = 30 * time.Second // of one: the resolver has its own below it
)

// Lookup finds the addresses of a host, "scheme://name[:port]".
type Lookup func(ctx context.Context, host string) ([]netip.Addr, error)

// restoreClocks sets the clocks by what the hosts of a state were given last, before anything is lent: nil when each
// host has its own.
//
// A host that was given NextAllowed was asked last no later than its interval before that. Others need not wait for its
// rests after failures, only for its pace. So addresses are looked up for hosts that were asked just now, or are lent.
func restoreClocks(o *Options, state *store.State, now time.Time) (*clocks, error) {
	if o.Unit == UnitHost {
		return nil, nil
	}
	c := newClocks(o.Unit)
	until := map[string]time.Time{}
	for _, p := range state.Partitions {
		leases, err := p.Leases()
		if err != nil {
			return nil, err
		}
		for _, l := range leases {
			until[l.HostName] = now
		}
		if err := p.EachHost(func(h store.HostRecord) error {
			if !h.NextAllowed.After(now) || len(h.Politeness) == 0 {
				return nil
			}
			var s politeness.State
			if err := s.UnmarshalBinary(h.Politeness); err != nil {
				return fmt.Errorf("politeness of %s: %w", h.Name, err)
			}
			pace := s.Pace(&o.Hosts.Politeness)
			if at := h.NextAllowed.Add(pace - s.Interval(&o.Hosts.Politeness)); at.After(now) {
				until[h.Name] = at
			}
			return nil
		}); err != nil {
			return nil, err
		}
	}
	var known sync.Mutex
	group := errgroup.Group{}
	group.SetLimit(namesAtOnce)
	for host, at := range until {
		group.Go(func() error {
			keys := c.keysAnew(o.Lookup, host)
			known.Lock()
			defer known.Unlock()
			c.of[host] = keys
			for _, key := range keys {
				if k := c.clock(key); at.After(k.next) {
					k.next = at
				}
			}
			return nil
		})
	}
	return c, group.Wait()
}

// keysAnew looks the clocks of a host up, also if they are known. It waits for the resolver; of other fields it reads
// none that change.
func (c *clocks) keysAnew(lookup Lookup, host string) []string {
	if c.unit == UnitDomain {
		return []string{store.DomainOf(host)}
	}
	within, cancel := context.WithTimeout(context.Background(), nameTimeout)
	defer cancel()
	addrs, err := lookup(within, host)
	if err != nil || len(addrs) == 0 {
		return []string{host} // of its own: its slave will find out why
	}
	keys := make([]string, 0, len(addrs))
	for _, a := range addrs {
		keys = append(keys, a.Unmap().String())
	}
	slices.Sort(keys)
	return slices.Compact(keys)
}

// validateUnit says what makes no sense in the choice of a unit.
func (o *Options) validateUnit() error {
	if _, err := ParseUnit(string(o.Unit)); err != nil {
		return err
	}
	if o.Unit == UnitIP && o.Lookup == nil {
		return errors.New("politeness ip: the addresses of names must be known before they are lent, and there is " +
			"no resolver")
	}
	return nil
}
