// Package orders holds the orders of waiting URLs that those of a crawl are compared with, behind the interface of
// package frontier:
//
//	fifo      arrival order: breadth-first, as far as politeness lets it
//	slots     H residues, B steps, drops beyond that: O(1) time, O(B·H) space [Morimoto et al. 2011]
//	host      hosts take turns, each gives its best band first: what the Host actors of a crawl realise
//	mercator  front queues by priority, biased choice, back queues of one host each, a heap [Heydon & Najork 1999]
//	irlbot    budgets by in-links per pay-level domain, queues of one budget each, a put-aside file [Lee et al. 2009]
//
// All of them but slots keep every URL.
package orders

import (
	"fmt"
	"slices"

	"henro/master/frontier"
)

// The policies that no crawl offers.
const (
	PolicySlots    frontier.Policy = "slots"
	PolicyFIFO     frontier.Policy = "fifo"
	PolicyMercator frontier.Policy = "mercator"
	PolicyIRLbot   frontier.Policy = "irlbot"
)

// Policies lists all policies, those of package frontier among them, the unbounded ones first.
func Policies() []frontier.Policy {
	return []frontier.Policy{PolicyFIFO, PolicyMercator, PolicyIRLbot, frontier.PolicyHost, PolicySlots,
		frontier.PolicyRanked}
}

// Options choose and shape a policy.
type Options struct {
	frontier.Options

	// FrontCount is k, the front queues of mercator: the bands are spread over them. Default frontier.Bands. FrontBias
	// is how much likelier each is chosen than the one behind it. Default 2.
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

// DefaultOptions shape the policies as their authors did.
func DefaultOptions() Options {
	return Options{
		Options:    frontier.DefaultOptions(),
		FrontCount: frontier.Bands, FrontBias: 2, BackCount: 768,
		QueueCount: 16, BudgetLeast: 10, BudgetMost: 10_000,
		Seed: 1,
	}
}

// Validate says what is wrong with the options.
func (o *Options) Validate() error {
	shared := o.Options
	if slices.Contains(Policies(), o.Policy) {
		shared.Policy = frontier.PolicyHost
	}
	switch {
	case o.FrontCount < 1 || o.FrontCount > frontier.Bands:
		return fmt.Errorf("mercator needs 1 to %d front queues, not %d", frontier.Bands, o.FrontCount)
	case o.FrontBias < 1:
		return fmt.Errorf("mercator's bias %v is below 1: it would prefer the worse", o.FrontBias)
	case o.BackCount < 1:
		return fmt.Errorf("mercator needs a back queue at least, not %d", o.BackCount)
	case o.QueueCount < 1:
		return fmt.Errorf("irlbot needs a queue at least, not %d", o.QueueCount)
	case o.BudgetLeast < 1 || o.BudgetMost < o.BudgetLeast:
		return fmt.Errorf("irlbot's budgets %d to %d are not a range above zero", o.BudgetLeast, o.BudgetMost)
	}
	return shared.Validate()
}

// New makes an empty frontier.
func New[K comparable](o Options) (frontier.Frontier[K], error) {
	if err := o.Validate(); err != nil {
		return nil, err
	}
	switch o.Policy {
	case PolicySlots:
		return NewSlots[K](o), nil
	case PolicyFIFO:
		return NewFIFO[K](o), nil
	case PolicyMercator:
		return NewMercator[K](o), nil
	case PolicyIRLbot:
		return NewIRLbot[K](o), nil
	case frontier.PolicyHost:
		return NewHost[K](o), nil
	}
	return frontier.NewRanked[K](o.Options), nil
}

// FIFO hands out the URL that waits longest among those whose host may be asked: a breadth-first crawl, exactly so when
// T is zero.
type FIFO[K any] struct{ lanes[K] }

// NewFIFO makes an empty frontier.
func NewFIFO[K any](o Options) *FIFO[K] { return &FIFO[K]{*newLanes[K](o, false, true)} }

// Host lets hosts take turns: the one that could be asked for longest comes first, and gives its best band, oldest URL
// first. This is the order that the Host actors of a crawl realise together.
type Host[K any] struct{ lanes[K] }

// NewHost makes an empty frontier.
func NewHost[K any](o Options) *Host[K] { return &Host[K]{*newLanes[K](o, true, false)} }
