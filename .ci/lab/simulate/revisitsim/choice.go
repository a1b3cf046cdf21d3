package revisitsim

import (
	"fmt"
	"slices"
	"strings"
)

// Choice is a policy chosen for each site by all other sites, which judges the choice on sites that had no part in it.
type Choice struct {
	BySite  map[string]string // the policy chosen for each site
	Overall string            // the policy that all sites together choose
}

// key names one simulation.
type key struct {
	site, policy string
	budget       float64
}

func (r *Result) byKey() (scores map[key]Score, sites, policies []string, budgets []float64) {
	scores = map[key]Score{}
	for _, s := range r.Scores {
		scores[key{s.Site, s.Policy, s.Budget}] = s
		if !slices.Contains(sites, s.Site) {
			sites = append(sites, s.Site)
		}
		if !slices.Contains(policies, s.Policy) {
			policies = append(policies, s.Policy)
		}
		if !slices.Contains(budgets, s.Budget) {
			budgets = append(budgets, s.Budget)
		}
	}
	return scores, sites, policies, budgets
}

// LeaveOneSiteOut chooses, for each site, the policy of those named (none: all but oracles) that captured the largest
// share of the versions of all other sites, in the mean over budgets. With alike, the mean of the sites' shares is
// compared instead, so that small sites have as much to say as large ones.
func (r *Result) LeaveOneSiteOut(alike bool, names ...string) Choice {
	scores, sites, policies, budgets := r.byKey()
	if len(names) == 0 {
		names = slices.DeleteFunc(policies, func(name string) bool { return strings.HasPrefix(name, "oracle") })
	}
	best := func(but string) (choice string) {
		most := -1.0
		for _, name := range names {
			share := 0.0
			for _, budget := range budgets {
				var some []Score
				for _, site := range sites {
					if site != but {
						some = append(some, scores[key{site, name, budget}])
					}
				}
				share += shareOf(some, alike)
			}
			if share > most {
				choice, most = name, share
			}
		}
		return choice
	}
	c := Choice{BySite: map[string]string{}, Overall: best("")}
	for _, site := range sites {
		c.BySite[site] = best(site)
	}
	return c
}

// shareOf returns the share of the versions of all scores that was captured, or the mean of the scores' shares.
func shareOf(scores []Score, alike bool) float64 {
	var sum Score
	mean := 0.0
	for _, s := range scores {
		sum.Versions += s.Versions
		sum.Captured += s.Captured
		mean += s.Share() / float64(len(scores))
	}
	if alike {
		return mean
	}
	return sum.Share()
}

// Chosen returns what share of the versions the policies captured that choice names for each site, by budget: of the
// sites of a class, or of all ("").
func (r *Result) Chosen(choice func(site string) string, class string, alike bool) (shares []float64) {
	scores, sites, _, budgets := r.byKey()
	for _, budget := range budgets {
		var some []Score
		for _, site := range sites {
			if s := scores[key{site, choice(site), budget}]; class == "" || s.Class == class {
				some = append(some, s)
			}
		}
		shares = append(shares, shareOf(some, alike))
	}
	return shares
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
