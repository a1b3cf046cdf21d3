package main

import (
	"cmp"
	"context"
	"fmt"
	"io"
	"sync"
	"text/tabwriter"

	"github.com/spf13/cobra"

	"henro/.ci/lab/simulate/frontiersim"
	"henro/.ci/lab/simulate/revisitsim"
	"henro/actors/revisit"
	"henro/cmd/config"
)

func newSplitCommand() *cobra.Command {
	s := revisitSimulation{pages: 1000, o: revisitsim.DefaultOptions()}
	budgets := []float64{0.5, 1}
	var objective revisit.Objective
	graph, seeds := "", 32
	cmd := &cobra.Command{
		Use:   "split",
		Short: "Compare how a host's visits are split between new pages and known ones",
		Long: `Crawl with a fixed capacity for each site, all of whose pages wait at first, and tell what each split of
the visits between new pages and known ones that are due brings: on change histories (--traces), versions, freshness and
pages found by class of site; on a graph (--graph), pages that change at random and the PageRank covered by time.`,
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			if graph != "" {
				return coverBySplits(cmd.OutOrStdout(), graph, seeds, budgets)
			}
			if err := s.read(); err != nil {
				return err
			}
			if err := s.o.Validate(); err != nil {
				return config.Usage("%v", err)
			}
			return trySplits(cmd.Context(), cmd.OutOrStdout(), s.o.Sites, objective, budgets)
		},
	}
	f := cmd.Flags()
	f.StringVar(&s.traces, "traces", "", "change histories, a `FILE`; without one they are made")
	f.StringVar(&s.classes, "classes", "", "table `FILE` with a heading whose first columns are site and class")
	f.StringVar(&graph, "graph", "", "graph `FILE` to crawl instead, as that of simulate frontier")
	f.IntVar(&seeds, "seeds", seeds, "its seeds, one from each of the largest strongly connected components")
	f.IntVar(&s.pages, "made-pages", s.pages, "pages of the made site")
	f.Float64SliceVar(&budgets, "budget", budgets, "requests per version that comes into being, first ones included")
	f.Var(&objective, "objective", "what the visits of known pages are shared out for: versions, freshness, age")
	return cmd
}

// trySplits tries each split on each site and tells what they bring by class.
func trySplits(ctx context.Context, out io.Writer, sites []revisitsim.Site, objective revisit.Objective,
	budgets []float64) error {
	splits := revisitsim.Splits()
	scores := make([]revisitsim.SplitScore, len(budgets)*len(splits)*len(sites))
	var wg sync.WaitGroup
	room := make(chan struct{}, 2)
	for i := range scores {
		site, split := &sites[i%len(sites)], splits[i/len(sites)%len(splits)]
		room <- struct{}{}
		wg.Go(func() {
			defer func() { <-room }()
			if ctx.Err() == nil {
				scores[i] = revisitsim.TrySplit(site, split, objective, budgets[i/len(sites)/len(splits)])
			}
		})
	}
	wg.Wait()
	if err := ctx.Err(); err != nil {
		return err
	}
	table := tabwriter.NewWriter(out, 0, 0, 2, ' ', 0)
	fmt.Fprintln(table, "budget\tclass\tsplit\tversions\tcaptured\tfirst visits\tfresh\tfound\thalf found\t"+
		"nine tenths\tvisits\tboth waited")
	for _, total := range []bool{false, true} {
		for _, s := range revisitsim.SumSplits(scores, total) {
			fmt.Fprintf(table, "%g\t%s\t%s\t%d\t%.1f %%\t%.1f %%\t%.1f %%\t%.1f %%\t%.2f\t%.2f\t%d\t%.0f %%\n",
				s.Budget, cmp.Or(s.Class, "*"), s.Split, s.Versions, 100*float64(s.Captured)/float64(s.Versions),
				100*float64(s.First)/float64(s.Pages), 100*s.Fresh/s.Life, 100*s.Found/s.Life, s.Half/float64(s.Sites),
				s.Most/float64(s.Sites), s.Visits, 100*float64(s.Contested)/float64(max(1, s.Visits)))
		}
	}
	return table.Flush()
}

// coverBySplits crawls a graph with each split and tells how much of the PageRank is covered by when: in parts of the
// time in which all pages would be visited once if nothing were revisited.
func coverBySplits(out io.Writer, path string, seeds int, budgets []float64) error {
	g, err := frontiersim.Open(path, [2]int{1, 2})
	if err != nil {
		return err
	}
	w := frontiersim.NewWorld(g, seeds, 1)
	var whole int64 // steps until all is visited, to a hundredth
	newOnly := func(float64, float64) float64 { return 0 }
	var steps []int64
	for step := int64(100); step < 1<<40; step += max(100, step/100) {
		steps = append(steps, step)
		if step > int64(2*w.Graph.Pages()) {
			break
		}
	}
	for _, point := range frontiersim.CoverBySplit(w, newOnly, 1, 1, steps) {
		if whole = point.Step; point.AllVisited {
			break
		}
	}
	table := tabwriter.NewWriter(out, 0, 0, 2, ' ', 0)
	fmt.Fprintf(table, "%d pages, %d hosts, all visited after %d steps without revisits\n", w.Graph.Pages(),
		w.Graph.Hosts(), whole)
	fmt.Fprintln(table,
		"budget\tsplit\tPageRank at 1/16\t1/8\t1/4\t1/2\t1\t2\tpages at 1\t2\tversions captured by 1\t2")
	for _, budget := range budgets {
		for _, split := range revisitsim.Splits() {
			if split.Losses {
				continue
			}
			p := frontiersim.CoverBySplit(w, split.Share, split.Plan, budget,
				[]int64{whole / 16, whole / 8, whole / 4, whole / 2, whole, 2 * whole})
			fmt.Fprintf(table, "%g\t%s", budget, split.Name)
			for i := range p {
				fmt.Fprintf(table, "\t%.3f", p[i].Mass)
			}
			pages := float64(w.Graph.Pages())
			fmt.Fprintf(table, "\t%.1f %%\t%.1f %%\t%.0f\t%.0f\n", 100*float64(p[4].Pages)/pages,
				100*float64(p[5].Pages)/pages, p[4].Captured, p[5].Captured)
		}
	}
	return table.Flush()
}
