package revisitsim

import (
	"slices"
	"strings"
)

// LeaveOneSiteOut judges the choice of a policy on sites that had no part in it: for each site, the policy that
// captured the largest share of the versions of all other sites, in the mean over budgets, and what it scored on this
// one. Oracles are not chosen. The scores have the policy "chosen"; choices counts for how many sites each policy was.
func (r *Result) LeaveOneSiteOut() (totals []Score, choices map[string]int) {
	var names, sites []string
	add := func(list []string, name string) []string {
		if slices.Contains(list, name) {
			return list
		}
		return append(list, name)
	}
	for _, s := range r.Scores {
		if sites = add(sites, s.Site); !strings.HasPrefix(s.Policy, "oracle") {
			names = add(names, s.Policy)
		}
	}
	choices = map[string]int{}
	var scores []Score
	for _, site := range sites {
		chosen, best := "", -1.0
		for _, name := range names {
			others := sum(slices.DeleteFunc(slices.Clone(r.Scores), func(s Score) bool {
				return s.Site == site || s.Policy != name
			}), func(s Score) Score { return Score{Policy: s.Policy, Budget: s.Budget} })
			share := 0.0
			for _, s := range others {
				share += s.Share()
			}
			if share > best {
				chosen, best = name, share
			}
		}
		choices[chosen]++
		for _, s := range r.Scores {
			if s.Site == site && s.Policy == chosen {
				s.Policy = "chosen"
				scores = append(scores, s)
			}
		}
	}
	return sum(scores, func(s Score) Score { return Score{Policy: s.Policy, Budget: s.Budget} }), choices
}
