package orders

import (
	"testing"

	"henro/master/frontier"
	"henro/master/frontier/frontiertest"
)

// all are the orders of this package.
var all = []frontier.Policy{PolicySlots, PolicyFIFO, frontier.PolicyHost, PolicyMercator, PolicyIRLbot}

// small are options at which everything happens: put-aside rounds, back queues changing hosts.
func small(p frontier.Policy, of frontier.Options) Options {
	o := DefaultOptions()
	o.Options = of
	o.Policy, o.BackCount, o.QueueCount, o.BudgetLeast, o.BudgetMost = p, 5, 3, 2, 20
	return o
}

func subject(p frontier.Policy) frontiertest.Subject {
	s := frontiertest.Subject{New: func(of frontier.Options) (frontier.Frontier[uint64], error) {
		return New[uint64](small(p, of))
	}}
	if p == PolicySlots {
		s.Bound, s.Unit = true, func(host uint64) uint64 { return host % uint64(frontiertest.Small().SlotsH) }
	}
	return s
}

// A million random operations of mercator and slots, whose guarantees are the least obvious, and a quarter of that of
// the others.
func TestConformance(t *testing.T) {
	for _, p := range all {
		t.Run(string(p), func(t *testing.T) {
			t.Parallel()
			operations := 250_000
			if p == PolicyMercator || p == PolicySlots {
				operations = 1_000_000
			}
			frontiertest.Conform(t, subject(p), operations)
		})
	}
}

func TestRestoreLosesNothing(t *testing.T) {
	for _, p := range all {
		t.Run(string(p), func(t *testing.T) { frontiertest.Restores(t, subject(p)) })
	}
}

// Settings of the scripts beside those of all frontiers: backs, queues, least and most budget.
func TestScripts(t *testing.T) {
	frontiertest.Scripts(t, func(of frontier.Options, number frontiertest.Numbers) (frontier.Frontier[string], error) {
		o := DefaultOptions()
		o.Options = of
		o.BackCount, o.QueueCount = number("backs", o.BackCount), number("queues", o.QueueCount)
		o.BudgetLeast, o.BudgetMost = number("least", o.BudgetLeast), number("most", o.BudgetMost)
		o.FrontBias = float64(number("bias", 2))
		return New[string](o)
	})
}

func TestOptionsAreChecked(t *testing.T) {
	for name, spoil := range map[string]func(*Options){
		"unknown policy":      func(o *Options) { o.Policy = "lifo" },
		"negative interval":   func(o *Options) { o.Interval = -1 },
		"no front queues":     func(o *Options) { o.FrontCount = 0 },
		"bias to the worse":   func(o *Options) { o.FrontBias = 0.5 },
		"no back queues":      func(o *Options) { o.BackCount = 0 },
		"no queues":           func(o *Options) { o.QueueCount = 0 },
		"no budget":           func(o *Options) { o.BudgetLeast = 0 },
		"budget range is not": func(o *Options) { o.BudgetMost = o.BudgetLeast - 1 },
	} {
		t.Run(name, func(t *testing.T) {
			o := small(PolicyFIFO, frontiertest.Small())
			spoil(&o)
			if _, err := New[uint64](o); err == nil {
				t.Errorf("%+v were accepted", o)
			}
		})
	}
}
