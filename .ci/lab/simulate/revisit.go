package main

import (
	"cmp"
	"compress/gzip"
	"context"
	"fmt"
	"io"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
	"text/tabwriter"
	"time"

	"github.com/spf13/cobra"

	"henro/.ci/lab/simulate/revisitsim"
	"henro/actors/revisit"
	"henro/cmd/config"
)

// revisitSimulation is what the flags of simulate revisit say.
type revisitSimulation struct {
	traces, classes string
	pages, half     int
	versions        int
	archive         time.Duration
	csv, plot       string
	tables, kept    string
	constants       string
	leaveOut        bool
	untilMiddle     bool
	o               revisitsim.Options
}

func newRevisitCommand() *cobra.Command {
	s := revisitSimulation{o: revisitsim.DefaultOptions()}
	cmd := &cobra.Command{
		Use:   "revisit",
		Short: "Compare timetables by replaying change histories",
		Long: `Replay the change histories of pages against revisit policies, each with the same number of
requests, and tell what share of the versions each captures, how many requests a captured version costs, and
how late it is.

Histories are lines of site, page, birth, end, A (alive) or D (deleted) and the times of changes, in unix seconds; the
fields separated by tabs, the times by spaces; also with .gz. Without --traces pages are made that change at random.

To choose constants fairly, name the variants with --policy (drift+optimal:prior=10d:forget=0.95; a constant that is
none is answered with those there are) and judge the choice with --leave-one-site-out, or look at --half 1 alone and
judge what you chose on --half 2. --constants does the former with each constant of each policy.`,
		Example: `  simulate revisit
  simulate revisit --traces derived_index.tsv.gz --classes sites.tsv --csv scores.csv
  simulate revisit --traces pages.tsv.gz --classes sites.tsv --half 2
  simulate revisit --traces pages.tsv.gz --archive 30d --policy drift+optimal,drift+optimal+archive
  simulate revisit --traces pages.tsv.gz --policy drift+optimal,drift+optimal:prior=10d --leave-one-site-out
  simulate revisit --traces pages.tsv.gz --classes sites.tsv --budget 0.25,0.5,1,2,4 --tables docs/revisit
  simulate revisit --traces pages.tsv.gz --policy drift+optimal,lambdacrawl --constants constants.csv
  simulate revisit --policy nutch,stormcrawler,drift+optimal --budget 0.5,1,2 --plot shares.svg`,
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			return s.run(cmd.Context(), cmd.OutOrStdout())
		},
	}
	f := cmd.Flags()
	f.StringVar(&s.traces, "traces", "", "change histories, a `FILE`; without one they are made")
	f.StringVar(&s.classes, "classes", "",
		"table `FILE` with a heading whose first columns are site and class; totals are given per class")
	f.IntVar(&s.half, "half", 0,
		"only the pages of half 1 or 2 of each site, parted by the hash of their names; 0: all")
	f.Var((*revisit.Span)(&s.archive), "archive",
		"the first half of each site's time is an archive with a capture of each page every so often, and the second "+
			"is crawled: drift+optimal+archive begins with it, the other policies do not")
	f.IntVar(&s.versions, "versions", 0,
		"only so many versions of each site: its pages in order of the hash of their names until there are as many, "+
			"each until half as many; 0: all")
	f.BoolVar(&s.untilMiddle, "until-middle", false,
		"only the first half of each site's time: what is chosen on it is judged on the other half, with --archive")
	f.Float64Var(&s.o.Signals.Recall, "signal-recall", 0,
		"share of the changes that are announced to the policies that heed signals, drift+optimal+hints and "+
			"noisy-signals")
	f.Float64Var(&s.o.Signals.Noise, "signal-noise", 0, "and changes announced that never were, for each true one")
	f.BoolVar(&s.leaveOut, "leave-one-site-out", false,
		"choose a policy for each site by what it captures on all others, and show what the choice captures")
	f.IntVar(&s.pages, "made-pages", 1000,
		"pages of the made site, whose mean times between changes lie between an hour and a year")
	f.StringSliceVar(&s.o.Policies, "policy", nil, "only these of "+strings.Join(revisitsim.Policies(), ", "))
	f.Float64SliceVar(&s.o.Budgets, "budget", s.o.Budgets, "requests per version that comes into being")
	f.DurationVar(&s.o.Spacing, "interval", s.o.Spacing, "least time between requests to a site")
	f.Uint64Var(&s.o.Seed, "draw", s.o.Seed, "names what is drawn at random")
	f.StringVar(&s.csv, "csv", "", "write the scores of every site, class and policy to this `FILE`")
	f.StringVar(&s.tables, "tables", "",
		"write the scores of every class and in total, scores.csv, and a drawing of each measure into this `FOLDER`")
	f.StringVar(&s.constants, "constants", "",
		"choose each constant of the policies anew, for each site by all other sites, and write what that captures to "+
			"this `FILE`, as CSV")
	f.StringVar(&s.kept, "kept", "",
		"take scores that an earlier run with the same flags left in this `FILE`, and add new ones")
	f.StringVar(&s.plot, "plot", "",
		"draw the share that each policy captures over the budgets into this `FILE`, as SVG")
	return cmd
}

func (s *revisitSimulation) run(ctx context.Context, out io.Writer) error {
	if err := s.read(); err != nil {
		return err
	}
	switch s.half {
	case 0:
	case 1, 2:
		s.o.Sites = revisitsim.Half(s.o.Sites, s.half)
	default:
		return config.Usage("--half %d: want 1 or 2, or 0 for all pages", s.half)
	}
	if s.versions > 0 {
		s.o.Sites = revisitsim.Sample(s.o.Sites, s.versions)
	}
	if s.untilMiddle {
		s.o.Sites = revisitsim.FirstHalves(s.o.Sites)
	}
	if s.archive > 0 {
		s.o.Sites = revisitsim.SecondHalves(s.o.Sites, s.archive)
	}
	if err := s.o.Validate(); err != nil {
		return config.Usage("%v", err)
	}
	if s.kept != "" {
		kept, err := revisitsim.OpenKept(s.kept)
		if err != nil {
			return err
		}
		defer kept.Close()
		s.o.Kept = kept
	}
	if s.constants != "" {
		return s.chooseConstants(ctx)
	}
	result, err := revisitsim.Run(ctx, s.o)
	if err != nil {
		return err
	}
	drawing := over(result.Totals, measures[0])
	for _, file := range []struct {
		name  string
		write func(io.Writer) error
	}{{s.csv, result.WriteCSV}, {s.plot, drawing.WriteSVG}} {
		if file.name == "" {
			continue
		}
		if err := writeFile(file.name, file.write); err != nil {
			return err
		}
	}
	if s.tables != "" {
		if err := writeTables(s.tables, &result); err != nil {
			return err
		}
	}
	table := tabwriter.NewWriter(out, 0, 0, 2, ' ', 0)
	fmt.Fprintln(table, "budget\tpolicy\tclass\tversions\trequests\tcaptured\tshare\trequests/captured\tmean lag\t"+
		"freshness\tage\tpenalty\tblur\tcoherence")
	for _, scores := range [][]revisitsim.Score{result.Classes, result.Totals} {
		for _, score := range scores {
			fmt.Fprintf(table, "%g\t%s\t%s\t%d\t%d\t%d\t%.1f %%\t%.2f\t%v\t%.1f %%\t%v\t%.2f\t%.2f\t%.1f %%\n",
				score.Budget, score.Policy, cmp.Or(score.Class, "*"), score.Versions, score.Requests, score.Captured,
				100*score.Share(), score.Price(), score.Lag().Round(time.Minute), 100*score.Freshness(),
				score.Age().Round(time.Minute), score.Harmonic(), score.Blur(), 100*score.Coherence())
		}
	}
	if s.leaveOut {
		for _, alike := range []bool{false, true} {
			choice := result.LeaveOneSiteOut(alike)
			shares := result.Chosen(func(site string) string { return choice.BySite[site] }, "", alike)
			for i, budget := range s.o.Budgets {
				fmt.Fprintf(table, "%g\tchosen, sites alike: %t\t%.1f %%\n", budget, alike, 100*shares[i])
			}
			fmt.Fprintf(table, "chosen, sites alike: %t\t%s\n", alike, chosen(choice.BySite))
		}
	}
	return table.Flush()
}

// read takes the histories from the file, or makes some.
func (s *revisitSimulation) read() error {
	if s.traces == "" {
		if s.pages < 1 || s.pages > 1_000_000 {
			return config.Usage("--made-pages %d: want 1 to 1000000", s.pages)
		}
		const hour, year = 3600, 365 * 86400
		s.o.Sites = []revisitsim.Site{revisitsim.Poisson("made", s.pages, year, hour, year,
			rand.New(rand.NewPCG(s.o.Seed, 1)))}
		return nil
	}
	var classes map[string]string
	if s.classes != "" {
		f, err := os.Open(s.classes)
		if err != nil {
			return config.Usage("--classes: %v", err)
		}
		defer f.Close()
		if classes, err = revisitsim.ReadClasses(f); err != nil {
			return config.Usage("--classes: %v", err)
		}
	}
	f, err := os.Open(s.traces)
	if err != nil {
		return config.Usage("--traces: %v", err)
	}
	defer f.Close()
	var in io.Reader = f
	if filepath.Ext(s.traces) == ".gz" {
		z, err := gzip.NewReader(f)
		if err != nil {
			return config.Usage("--traces: %v", err)
		}
		defer z.Close()
		in = z
	}
	if s.o.Sites, err = revisitsim.ReadTraces(in, classes); err != nil {
		return config.Usage("--traces: %v", err)
	}
	return nil
}
