package frontier_test

import (
	"testing"

	"henro/master/frontier"
	"henro/master/frontier/frontiertest"
)

// subjects are the policies under which URLs wait here.
func subjects() map[frontier.Policy]frontiertest.Subject {
	of := func(p frontier.Policy, unit func(uint64) uint64) frontiertest.Subject {
		return frontiertest.Subject{Bound: true, Unit: unit,
			New: func(o frontier.Options) (frontier.Frontier[uint64], error) {
				o.Policy = p
				return frontier.New[uint64](o)
			}}
	}
	residue := func(host uint64) uint64 { return host % uint64(frontiertest.Small().SlotsH) }
	return map[frontier.Policy]frontiertest.Subject{
		frontier.PolicySlots: of(frontier.PolicySlots, residue), frontier.PolicyRanked: of(frontier.PolicyRanked, nil),
	}
}

// The invariants of the package comment over a million random operations of slots, whose guarantee is the less obvious,
// and a quarter of that of ranked.
func TestConformance(t *testing.T) {
	for p, subject := range subjects() {
		t.Run(string(p), func(t *testing.T) {
			t.Parallel()
			frontiertest.Conform(t, subject, map[frontier.Policy]int{frontier.PolicySlots: 1_000_000,
				frontier.PolicyRanked: 250_000}[p])
		})
	}
}

func TestRestoreLosesNothing(t *testing.T) {
	for p, subject := range subjects() {
		t.Run(string(p), func(t *testing.T) { frontiertest.Restores(t, subject) })
	}
}

func TestScripts(t *testing.T) {
	frontiertest.Scripts(t, func(o frontier.Options, _ frontiertest.Numbers) (frontier.Frontier[string], error) {
		return frontier.New[string](o)
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
			if _, err := frontier.New[uint64](o); err == nil {
				t.Errorf("%+v were accepted", o)
			}
		})
	}
}
