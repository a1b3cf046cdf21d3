package main

import (
	"cmp"
	"context"
	"encoding/csv"
	"fmt"
	"io"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"henro/.ci/lab/simulate/revisitsim"
	"henro/store/report/chart"
)

// measure is what policies are compared by.
type measure struct {
	name, title, unit string
	of                func(revisitsim.Score) float64
}

const day = 86400.0

var measures = []measure{
	{"captured", "Versions captured", "share of the versions, per cent",
		func(s revisitsim.Score) float64 { return 100 * s.Share() }},
	{"freshness", "Pages whose latest capture is as they are", "share of the pages, per cent",
		func(s revisitsim.Score) float64 { return 100 * s.Freshness() }},
	{"age", "Age of the latest captures", "days", func(s revisitsim.Score) float64 { return s.Age().Seconds() / day }},
	{"penalty", "Harmonic penalty (LambdaCrawl)", "1 + 1/2 + … + 1/n of n changes missed",
		revisitsim.Score.Harmonic},
	{"blur", "Blur (SHARC)", "changes between a capture and the page", revisitsim.Score.Blur},
	{"coherence", "Pages shown as they were at a random moment", "share of the pages, per cent",
		func(s revisitsim.Score) float64 { return 100 * s.Coherence() }},
	{"lag", "From a version to its capture", "days",
		func(s revisitsim.Score) float64 { return s.Lag().Seconds() / day }},
}

// drawn are the policies in the drawings of --tables, which could not show all: one of each kind.
var drawn = []string{"fixed", "nutch", "stormcrawler", "eq4", "cho-garcia-molina", "azar", "lambdacrawl",
	"avrachenkov-sa", "drift+optimal", "drift+freshness", "drift+age", "oracle-rates"}

// writeTables writes the scores of classes and totals, and draws each measure.
func writeTables(folder string, result *revisitsim.Result) error {
	if err := os.MkdirAll(folder, 0o755); err != nil {
		return fmt.Errorf("write tables: %w", err)
	}
	sums := revisitsim.Result{Classes: result.Classes, Totals: result.Totals}
	if err := writeFile(filepath.Join(folder, "scores.csv"), sums.WriteCSV); err != nil {
		return err
	}
	some := slices.DeleteFunc(slices.Clone(result.Totals), func(s revisitsim.Score) bool {
		return !slices.Contains(drawn, s.Policy)
	})
	for _, m := range measures {
		if err := writeFile(filepath.Join(folder, m.name+".svg"), over(some, m).WriteSVG); err != nil {
			return err
		}
	}
	return nil
}

// over draws a measure of each policy over the requests per version.
func over(totals []revisitsim.Score, m measure) *chart.Chart {
	c := &chart.Chart{Title: m.title, X: "requests per version", Y: m.unit, LogX: true, Dots: true}
	at := map[string]int{}
	for _, score := range totals {
		i, ok := at[score.Policy]
		if !ok {
			i = len(c.Series)
			at[score.Policy] = i
			c.Series = append(c.Series, chart.Series{Name: score.Policy})
		}
		line := &c.Series[i]
		line.X, line.Y = append(line.X, score.Budget), append(line.Y, m.of(score))
	}
	return c
}

// chooseConstants simulates each policy with each of its constants varied, and writes what leaving one site out says,
// by class and in total: for each policy as it is, for each of its constants alone, for the best of all that, and for
// the best of all policies. Once versions are counted, and once each site counts alike.
func (s *revisitSimulation) chooseConstants(ctx context.Context) error {
	policies := s.o.Policies
	if len(policies) == 0 {
		policies = revisitsim.Policies()
	}
	const oracle = "oracle-rates"
	all := []string{oracle}
	for _, policy := range policies {
		all = append(all, policy)
		_, variants := revisitsim.Variants(policy)
		for _, of := range variants {
			all = append(all, of...)
		}
	}
	slices.Sort(all)
	o := s.o
	o.Policies = slices.Compact(all)
	result, err := revisitsim.Run(ctx, o)
	if err != nil {
		return err
	}
	classes := []string{""}
	for _, score := range result.Classes {
		if !slices.Contains(classes, score.Class) {
			classes = append(classes, score.Class)
		}
	}
	heading := []string{"counted", "policy", "constant", "class", "candidates", "chosen", "chosen_by_all"}
	for _, b := range o.Budgets {
		budget := strconv.FormatFloat(b, 'g', -1, 64)
		heading = append(heading, "captured_at_"+budget, "chosen_by_all_at_"+budget, "oracle_rates_at_"+budget)
	}
	rows := [][]string{heading}
	for _, alike := range []bool{false, true} {
		row := func(policy, constant string, variants []string) {
			choice := result.LeaveOneSiteOut(alike, variants...)
			for _, class := range classes {
				line := []string{"versions", policy, constant, cmp.Or(class, "*"), "", "", ""}
				if alike {
					line[0] = "sites"
				}
				if class == "" {
					line[4], line[5], line[6] = strings.Join(variants, " "), chosen(choice.BySite), choice.Overall
				}
				out := result.Chosen(func(site string) string { return choice.BySite[site] }, class, alike)
				in := result.Chosen(func(string) string { return choice.Overall }, class, alike)
				known := result.Chosen(func(string) string { return oracle }, class, alike)
				for i := range out {
					for _, share := range []float64{out[i], in[i], known[i]} {
						line = append(line, strconv.FormatFloat(100*share, 'f', 2, 64))
					}
				}
				rows = append(rows, line)
			}
		}
		every := slices.Clone(policies)
		for _, policy := range policies {
			row(policy, "as it is", []string{policy})
			constants, variants := revisitsim.Variants(policy)
			together := []string{policy}
			for _, name := range constants {
				row(policy, name, variants[name])
				together = append(together, variants[name][1:]...)
			}
			if len(constants) > 0 {
				row(policy, "any one", together)
			}
			every = append(every, together[1:]...)
		}
		row("any", "as it is", policies)
		row("any", "any one", every)
	}
	return writeFile(s.constants, func(w io.Writer) error { return csv.NewWriter(w).WriteAll(rows) })
}

// chosen says how often each variant was chosen, the most frequent first, and for which sites all but that one were.
func chosen(bySite map[string]string) string {
	sites := map[string][]string{}
	for _, site := range slices.Sorted(maps.Keys(bySite)) {
		sites[bySite[site]] = append(sites[bySite[site]], site)
	}
	var all []string
	for i, name := range slices.SortedFunc(maps.Keys(sites), func(a, b string) int {
		return cmp.Or(len(sites[b])-len(sites[a]), cmp.Compare(a, b))
	}) {
		text := fmt.Sprintf("%s: %d", name, len(sites[name]))
		if i > 0 {
			text += " (" + strings.Join(sites[name], " ") + ")"
		}
		all = append(all, text)
	}
	return strings.Join(all, ", ")
}
