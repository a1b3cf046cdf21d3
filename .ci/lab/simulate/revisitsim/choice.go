package revisitsim

import (
	"fmt"
	"slices"
	"strings"
)

// LeaveOneSiteOut judges the choice of a policy on sites that had no part in it: for each site, the policy of those
// named (none: all but oracles) that captured the largest share of the versions of all other sites, in the mean over
// budgets, and what it scored on this one. The scores have the policy "chosen"; choices counts for how many sites each
// policy was.
func (r *Result) LeaveOneSiteOut(names ...string) (totals []Score, choices map[string]int) {
	// what each policy captured in total, and on each site, by budget
	type captured struct{ versions, captured int }
	budgets, sites := []float64{}, []string{}
	all := map[string]map[float64]captured{}
	bySite := map[string]map[string]map[float64]captured{}
	asked := len(names) > 0
	for _, s := range r.Scores {
		if !slices.Contains(budgets, s.Budget) {
			budgets = append(budgets, s.Budget)
		}
		if !slices.Contains(sites, s.Site) {
			sites = append(sites, s.Site)
		}
		if all[s.Policy] == nil {
			all[s.Policy], bySite[s.Policy] = map[float64]captured{}, map[string]map[float64]captured{}
			if !asked && !strings.HasPrefix(s.Policy, "oracle") {
				names = append(names, s.Policy)
			}
		}
		sum := all[s.Policy][s.Budget]
		all[s.Policy][s.Budget] = captured{sum.versions + s.Versions, sum.captured + s.Captured}
		if bySite[s.Policy][s.Site] == nil {
			bySite[s.Policy][s.Site] = map[float64]captured{}
		}
		bySite[s.Policy][s.Site][s.Budget] = captured{s.Versions, s.Captured}
	}
	choices = map[string]int{}
	choice := map[string]string{} // by site
	for _, site := range sites {
		best := -1.0
		for _, name := range names {
			share := 0.0
			for _, budget := range budgets {
				sum, own := all[name][budget], bySite[name][site][budget]
				share += float64(sum.captured-own.captured) / float64(max(1, sum.versions-own.versions))
			}
			if share > best {
				choice[site], best = name, share
			}
		}
		choices[choice[site]]++
	}
	var scores []Score
	for _, s := range r.Scores {
		if choice[s.Site] == s.Policy {
			scores = append(scores, s)
		}
	}
	return sum(scores, func(s Score) Score { return Score{Policy: "chosen", Budget: s.Budget} }), choices
}

// Variants returns a policy with each of its constants, one at a time, as it is by default and as else it might be: by
// the name of the constant, in the order in which they are named.
func Variants(policy string) (names []string, variants map[string][]string) {
	e, err := find(policy)
	if err != nil {
		return nil, nil
	}
	variants = map[string][]string{}
	for _, c := range e.constants {
		names = append(names, c.Name)
		variants[c.Name] = []string{policy}
		for _, other := range c.Others {
			variants[c.Name] = append(variants[c.Name], fmt.Sprintf("%s:%s=%g", policy, c.Name, other))
		}
	}
	return names, variants
}
