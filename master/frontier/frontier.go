// Package frontier orders the URLs that wait to be visited.
//
// A frontier takes URLs in as they are discovered and hands them out again, no faster than each host allows. What
// differs between policies is the order, and what happens when there is no more room:
//
//	host      hosts take turns, each gives its best band first: the Host actors of a crawl do so by themselves, and
//	          nothing waits here
//	ranked    a bounded space, the best URLs of all hosts first; when it is full, a better URL takes the place of a
//	          worse one
//
// The simulator of the lab compares them with breadth-first, Mercator's, IRLbot's and other orders.
//
// A policy knows a URL by a key of the caller's choice (a page number, a fingerprint, the URL itself) and a host by a
// number: a fingerprint of its name, or of its IP address if the crawl keeps the interval by address. It remembers
// nothing about URLs that it has handed out or dropped: the caller knows which URLs were seen, and must make a dropped
// URL unseen again, so that it is offered again when another page links to it.
//
// Time is a duration since the crawl began, read from a monotonic clock or invented by a simulator.
//
// Invariants, kept by the conformance test of all policies:
//   - one at a time: a host handed out by Next is not handed out again before Done;
//   - interval: nor before T has passed since Next, nor before the rest that Done asked for is over;
//   - once: an added URL is handed out or reported as lost, exactly once;
//   - a frontier rebuilt from the waiting URLs of another loses none of them.
package frontier

import (
	"fmt"
	"slices"
	"strings"
	"time"
)

// Bands is the number of priority bands; band 0 goes first.
const Bands = 16

// Item is one waiting URL.
type Item[K any] struct {
	Key  K      // names the URL to the caller
	Host uint64 // unit of politeness: fingerprint of the host, or its IP address
	Band uint8  // priority, 0 first, below Bands (RankedBands)
}

// Frontier is one policy with the URLs that wait in it. It is not safe for concurrent use: its owner is one actor.
type Frontier[K any] interface {
	// Add takes in a URL that was never seen, or was lost before. If there is no room, dropped is true and lost is the
	// URL that had to go: the new one, or another that waited.
	Add(item Item[K]) (lost Item[K], dropped bool)

	// Next appends to batch at most limit URLs that may be visited at now, all of different hosts, and returns it.
	// Their hosts are out until Done. If it appends none, no host may be visited yet, or nothing waits.
	Next(now time.Duration, limit int, batch []Item[K]) []Item[K]

	// More appends at most limit further URLs of a host that is out, for the holder of its lease, who visits them one
	// after another at the host's interval. What it does not visit in the end is to be added again.
	More(host uint64, limit int, batch []Item[K]) []Item[K]

	// Done says that the host is not visited any more. It rests for at least rest from now, and for T from Next. After
	// More, rest has to cover what is left of the interval after the last visit.
	Done(host uint64, now, rest time.Duration)

	// Len counts the waiting URLs.
	Len() int
}

// Policy names an order.
type Policy string

// The policies.
const (
	PolicyHost   Policy = "host"
	PolicyRanked Policy = "ranked"
)

// Policies lists all policies, the unbounded one first.
func Policies() []Policy { return []Policy{PolicyHost, PolicyRanked} }

// Options choose and shape a policy.
type Options struct {
	// Policy is the order of the waiting URLs. Default host.
	Policy Policy

	// Interval is T, the least time between two visits of one host. Default 5 s; zero orders URLs without any
	// politeness, for simulations.
	Interval time.Duration

	// SlotsB and SlotsH are B and H: B·H/2 URLs wait at most, and B/2 of a host whose clock is not known yet. Both
	// even, at least 2. Default 2048 and 2048.
	SlotsB, SlotsH int
}

// DefaultOptions are those of the policy host, with one visit of a host in 5 s.
func DefaultOptions() Options {
	return Options{Policy: PolicyHost, Interval: 5 * time.Second, SlotsB: 2048, SlotsH: 2048}
}

// Validate says what is wrong with the options.
func (o *Options) Validate() error {
	switch {
	case !slices.Contains(Policies(), o.Policy):
		return fmt.Errorf("frontier %q is not one of %s", o.Policy, policyNames())
	case o.Interval < 0:
		return fmt.Errorf("frontier interval %v is negative", o.Interval)
	case o.SlotsB < 2 || o.SlotsB%2 != 0 || o.SlotsB > 1<<30:
		return fmt.Errorf("slots B = %d is not an even number of at least 2 and at most 2³⁰", o.SlotsB)
	case o.SlotsH < 2 || o.SlotsH%2 != 0 || o.SlotsH > 1<<30:
		return fmt.Errorf("slots H = %d is not an even number of at least 2 and at most 2³⁰", o.SlotsH)
	}
	return nil
}

func policyNames() string {
	var names []string
	for _, p := range Policies() {
		names = append(names, string(p))
	}
	return strings.Join(names, ", ")
}
