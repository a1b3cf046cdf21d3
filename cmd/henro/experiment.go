package main

import (
	"errors"
	"fmt"
	"path/filepath"

	"github.com/spf13/cobra"

	"henro/cmd/config"
	"henro/cmd/experiment"
)

func newExperimentCommand() *cobra.Command {
	parent := &cobra.Command{
		Use: "experiment", Short: "Repeat published experiments",
		Example: "  henro experiment thesis --help",
	}
	o := experiment.Options{}
	thesis := &cobra.Command{
		Use:   "thesis",
		Short: "Masters and slaves as in the thesis of 2002: tables 4.8 to 4.14 beside its own",
		Long: `Crawl a made-up web as slow as that of 2002 with 2, 5 and 10 slaves of one connection each, with
1, 5 and 10 task URLs, to depths 2, 4 and 6, and with one master of 8 slaves beside four of 2. Time runs
--scale times as fast: at 120, 90 minutes are 45 s. Leaves report.md, runs.csv and the figures in --dir.`,
		Example: "  henro experiment thesis --dir thesis --repeats 3     # ten minutes",
		Args:    cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			if err := o.Validate(); err != nil {
				return config.Usage("%v", err)
			}
			if err := config.Dir(o.Dir); err != nil {
				return err
			}
			if err := experiment.Run(cmd.Context(), o, cmd.ErrOrStderr()); err != nil {
				if cmd.Context().Err() != nil {
					return &config.Exit{Code: config.ExitInterrupted, Err: errors.New("interrupted")}
				}
				return err
			}
			fmt.Fprintln(cmd.OutOrStdout(), filepath.Join(o.Dir, "report.md"))
			return nil
		},
	}
	f := thesis.Flags()
	f.StringVar(&o.Dir, "dir", "thesis", "`DIR` for the report, and for the crawls while they run")
	f.Float64Var(&o.Scale, "scale", 120, "how many times as fast time runs")
	f.IntVar(&o.Repeats, "repeats", 3, "runs of each setting")
	f.IntVar(&o.Parallel, "parallel", 4, "runs at the same time; each asks for a twentieth of a processor")
	f.Uint64Var(&o.Seed, "seed", 1, "which sites the runs begin with")
	f.BoolVar(&o.Keep, "keep", false, "leave the crawls of all runs")
	parent.AddCommand(thesis)
	return parent
}
