// Package frontier orders the URLs that wait to be visited.
//
// A frontier takes URLs in as they are discovered and hands them out again, no faster than each host allows. What
// differs between policies is the order, and what happens when there is no more room:
//
//	fifo      arrival order: breadth-first, as far as politeness lets it
//	host      hosts take turns, each gives its best band first: what the Host actors of a crawl realise
//	mercator  front queues by priority, biased choice, back queues of one host each, a heap [Heydon & Najork 1999]
//	irlbot    budgets by in-links per pay-level domain, queues of one budget each, a put-aside file [Lee et al. 2009]
//	slots     H residues, B steps, drops beyond that: O(1) time, O(B·H) space [Morimoto et al. 2011]
//	ranked    the space of slots, the best URLs of all hosts first, and a place for the better when there is none
//	          for both
//
// A policy knows a URL by a key of the caller's choice (a page number, a fingerprint, the URL itself) and a host by a
// number: a fingerprint of its name, or of its IP address where the crawl wants it by address. It remembers nothing
// about URLs it has handed out or dropped: which URLs were seen already is the caller's knowledge, and a dropped URL
// must become unseen again, so that it is offered again when another page links to it.
//
// Time is a duration since the crawl began, read from a monotonic clock or invented by a simulator.
//
// Invariants, kept by the conformance test of all policies:
//   - one at a time: a host handed out by Next is not handed out again before Done;
//   - interval: nor before T has passed since then, nor before the rest that Done asked for is over;
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
	Band uint8  // priority, 0 first, below Bands (RankedBands); the policies without priorities ignore it
}

// Frontier is one policy with the URLs that wait in it. It is not safe for concurrent use: its owner is one actor.
type Frontier[K any] interface {
	// Add takes in a URL that was never seen, or was lost before. A bounded policy may have no room: then dropped is
	// true and lost is the URL that had to go, the new one or another that waited.
	Add(item Item[K]) (lost Item[K], dropped bool)

	// Next appends to batch at most limit URLs that may be visited at now, all of different hosts, and returns it.
	// Their hosts are out until Done. An empty answer means: not yet, or nothing waits.
	Next(now time.Duration, limit int, batch []Item[K]) []Item[K]

	// More appends at most limit further URLs of a host that is out, for the holder of its lease, who visits them one
	// after another at the host's interval. What it does not visit in the end is to be added again.
	More(host uint64, limit int, batch []Item[K]) []Item[K]

	// Done says that the host is not visited any more. It rests from now for at least rest, and for T since its URL was
	// handed out by Next. After More, rest has to cover what is left of the interval of the last visit.
	Done(host uint64, now, rest time.Duration)

	// NextAt returns a moment before which Next has nothing to give; ok is false while nothing can come without an Add
	// or a Done.
	NextAt() (at time.Duration, ok bool)

	// Len counts the waiting URLs.
	Len() int

	// Stats returns the counters so far.
	Stats() Stats
}

// Stats counts what a frontier did since it was made.
type Stats struct {
	AddedCount   int64 // URLs taken in, those dropped at once among them
	HandedCount  int64 // URLs handed out by Next and More
	DroppedCount int64 // URLs lost for want of room
	LateCount    int64 // times a URL was put off because its host was still out or resting (slots, ranked)
	Waiting      int   // URLs waiting now
	Peak         int   // most URLs that waited at once
	Steps        int64 // steps taken (slots, ranked); rounds of the put-aside file (irlbot)

	// Intervals achieved between two grants of one host (one residue in slots and ranked): T + ε.
	GapCount         int64
	GapSum, GapLeast time.Duration
}

// GapMean is the mean interval achieved, T + ε.
func (s Stats) GapMean() time.Duration {
	if s.GapCount == 0 {
		return 0
	}
	return s.GapSum / time.Duration(s.GapCount)
}

func (s *Stats) gap(d time.Duration) {
	if s.GapCount == 0 || d < s.GapLeast {
		s.GapLeast = d
	}
	s.GapCount++
	s.GapSum += d
}

func (s *Stats) added(waiting int) {
	s.AddedCount++
	s.Waiting = waiting
	s.Peak = max(s.Peak, waiting)
}

// Policy names an order.
type Policy string

// The policies.
const (
	PolicyFIFO     Policy = "fifo"
	PolicyHost     Policy = "host"
	PolicyMercator Policy = "mercator"
	PolicyIRLbot   Policy = "irlbot"
	PolicySlots    Policy = "slots"
	PolicyRanked   Policy = "ranked"
)

// Policies lists all policies, the unbounded ones first.
func Policies() []Policy {
	return []Policy{PolicyFIFO, PolicyHost, PolicyMercator, PolicyIRLbot, PolicySlots, PolicyRanked}
}

// Options choose and shape a policy.
type Options struct {
	// Policy is the order of the waiting URLs. Default host.
	Policy Policy

	// Interval is T, the least time between two visits of one host. Default 5 s; zero orders URLs without any
	// politeness, for simulations.
	Interval time.Duration

	// SlotsB and SlotsH are B and H of slots and ranked: at most B/2 URLs wait for each of H residues of the host
	// number, so memory is B·H/2 items, 24 bytes each with numbers as keys. More B drops less, more H delays less by
	// collisions. Both even, at least 2. Default 2048 and 2048 (50 MB when full): the size at which the paper keeps 80
	// % of the PageRank.
	SlotsB, SlotsH int

	// FrontCount is k, the front queues of mercator: the bands are spread over them. Default Bands. FrontBias is how
	// much likelier each is chosen than the one behind it. Default 2.
	FrontCount int
	FrontBias  float64

	// BackCount is the number of back queues of mercator, so the most hosts in work at once; three per connection is
	// the rule of its authors. Default 768 = 3 × 256.
	BackCount int

	// QueueCount is the number of queues of irlbot before the put-aside file. Default 16.
	QueueCount int

	// BudgetLeast and BudgetMost are irlbot's budgets: pages of a domain without in-links from other domains and of the
	// domain with most in-links that one queue holds; linear in between. Defaults 10 and 10,000, those of its authors.
	BudgetLeast, BudgetMost int

	// Domain gives the pay-level domain of a host, irlbot's unit of budgets. Default nil: every host is its own.
	Domain func(host uint64) uint64

	// Seed makes mercator's random choice repeatable. Default 1.
	Seed uint64
}

// DefaultOptions order by host at one visit in 5 s.
func DefaultOptions() Options {
	return Options{
		Policy: PolicyHost, Interval: 5 * time.Second,
		SlotsB: 2048, SlotsH: 2048,
		FrontCount: Bands, FrontBias: 2, BackCount: 768,
		QueueCount: 16, BudgetLeast: 10, BudgetMost: 10_000,
		Seed: 1,
	}
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
	case o.FrontCount < 1 || o.FrontCount > Bands:
		return fmt.Errorf("mercator needs 1 to %d front queues, not %d", Bands, o.FrontCount)
	case o.FrontBias < 1:
		return fmt.Errorf("mercator's bias %v is below 1: it would prefer the worse", o.FrontBias)
	case o.BackCount < 1:
		return fmt.Errorf("mercator needs a back queue at least, not %d", o.BackCount)
	case o.QueueCount < 1:
		return fmt.Errorf("irlbot needs a queue at least, not %d", o.QueueCount)
	case o.BudgetLeast < 1 || o.BudgetMost < o.BudgetLeast:
		return fmt.Errorf("irlbot's budgets %d to %d are not a range above zero", o.BudgetLeast, o.BudgetMost)
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

// Raiser is a policy that lets waiting URLs rise when more becomes known of them.
type Raiser[K any] interface {
	// Raise gives a waiting URL a better band.
	Raise(key K, band uint8)
}

// Linked is called with links between domains, for a policy whose order depends on them.
type Linked interface {
	// Linked says that a page of domain from links to a page of domain to.
	Linked(from, to uint64)
}
