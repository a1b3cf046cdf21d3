package frontier_test

import (
	"testing"

	"henro/master/frontier"
	"henro/master/frontier/frontiertest"
)

// ranked is the policy under which URLs wait here.
var ranked = frontiertest.Subject{Bound: true, New: func(o frontier.Options) (frontier.Frontier[uint64], error) {
	return frontier.NewRanked[uint64](o), nil
}}

// The invariants of the package comment over a quarter of a million random operations.
func TestConformance(t *testing.T) { frontiertest.Conform(t, ranked, 250_000) }

func TestRestoreLosesNothing(t *testing.T) { frontiertest.Restores(t, ranked) }

func TestScripts(t *testing.T) {
	frontiertest.Scripts(t, func(o frontier.Options, _ frontiertest.Numbers) (frontier.Frontier[string], error) {
		return frontier.NewRanked[string](o), nil
	})
}

func TestOptionsAreChecked(t *testing.T) {
	for name, spoil := range map[string]func(*frontier.Options){
		"unknown policy":    func(o *frontier.Options) { o.Policy = "lifo" },
		"negative interval": func(o *frontier.Options) { o.Interval = -1 },
		"odd B":             func(o *frontier.Options) { o.SlotsB = 3 },
		"odd H":             func(o *frontier.Options) { o.SlotsH = 3 },
	} {
		t.Run(name, func(t *testing.T) {
			o := frontiertest.Small()
			spoil(&o)
			if o.Validate() == nil {
				t.Errorf("%+v were accepted", o)
			}
		})
	}
}
