package master

import (
	"context"
	"errors"
	"fmt"
	"net/netip"
	"slices"
	"sync"
	"time"

	"github.com/asynkron/protoactor-go/actor"
	"golang.org/x/sync/errgroup"

	"henro/actors/floor"
	"henro/actors/politeness"
	"henro/master/lending"
	"henro/store"
)

// Unit says which hosts share a clock of politeness.
type Unit string

// The units of politeness.
const (
	UnitHost   Unit = "host"   // none: each has its own
	UnitIP     Unit = "ip"     // those of one address
	UnitDomain Unit = "domain" // those of one registrable domain
)

const (
	namesAtOnce = 64               // names looked up side by side
	nameTimeout = 30 * time.Second // for one name: the resolver's own timeout is shorter
)

// Lookup finds the addresses of a host, "scheme://name[:port]".
type Lookup func(ctx context.Context, host string) ([]netip.Addr, error)

// restoreClocks sets the shared clocks from the state before anything is lent; nil: each host has its own.
//
// A host may be asked at NextAllowed, so it was asked last no later than its interval before that. Hosts that share its
// clock wait for its pace after that, and not for its back-off. So addresses need to be looked up only for hosts that
// were asked within their pace, or are lent.
func restoreClocks(o *Options, state *store.State, now time.Time) (*lending.Clocks, error) {
	if o.Unit == UnitHost {
		return nil, nil
	}
	c := lending.NewClocks(func(host string) string {
		if o.Unit == UnitDomain {
			return store.DomainOf(host)
		}
		return host
	})
	until := map[string]time.Time{}
	for _, p := range state.Partitions {
		leases, err := p.Leases.All()
		if err != nil {
			return nil, err
		}
		for _, l := range leases {
			until[l.HostName] = now
		}
		if err := p.Hosts.Each(func(h store.HostRecord) error {
			if !h.NextAllowed.After(now) || len(h.Politeness) == 0 {
				return nil
			}
			var s politeness.State
			if err := s.UnmarshalBinary(h.Politeness); err != nil {
				return fmt.Errorf("politeness of %s: %w", h.Name, err)
			}
			pace := s.Pace(&o.Hosts.Politeness)
			if at := h.NextAllowed.Add(pace - s.Interval(&o.Hosts.Politeness) - h.SetBack(now)); at.After(now) {
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
			keys := o.Unit.clocksOf(o.Lookup, host)
			known.Lock()
			defer known.Unlock()
			c.Know(host, keys)
			c.Keep(keys, at)
			return nil
		})
	}
	return c, group.Wait()
}

// lookups looks up the addresses of hosts, in goroutines beside the Master.
type lookups struct {
	o      *Options
	slots  chan struct{} // holds one for each lookup under way
	flying sync.WaitGroup
}

// begin finds the clocks of a host, and sends them to the Master.
func (l *lookups) begin(ctx actor.Context, host string) {
	root, self := ctx.ActorSystem().Root, ctx.Self()
	l.flying.Go(func() {
		defer floor.Guard(root.ActorSystem(), "the search for addresses")
		l.slots <- struct{}{}
		defer func() { <-l.slots }()
		root.Send(self, &lending.Named{Host: host, Keys: l.o.Unit.clocksOf(l.o.Lookup, host)})
	})
}

// clocksOf finds the clocks of a host. It waits for the resolver.
func (u Unit) clocksOf(lookup Lookup, host string) []string {
	if u == UnitDomain {
		return []string{store.DomainOf(host)}
	}
	within, cancel := context.WithTimeout(context.Background(), nameTimeout)
	defer cancel()
	addrs, err := lookup(within, host)
	if err != nil || len(addrs) == 0 {
		return []string{host} // its own clock: the slave will find out why there is no address
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
	if !slices.Contains([]Unit{UnitHost, UnitIP, UnitDomain}, o.Unit) {
		return fmt.Errorf("politeness %q: want host, ip or domain", o.Unit)
	}
	if o.Unit == UnitIP && o.Lookup == nil {
		return errors.New("politeness ip: the addresses of names must be known before they are lent, and there is " +
			"no resolver")
	}
	return nil
}
