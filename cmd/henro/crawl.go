package main

import (
	"context"
	"fmt"
	"io"
	"path/filepath"
	"sync"
	"time"

	"github.com/spf13/cobra"

	"henro/actors/reading"
	"henro/cmd/config"
	"henro/cmd/embedded"
	"henro/master"
	"henro/store"
)

func newCrawlCommand() *cobra.Command {
	s := embedded.Settings{Log: config.Log{Level: "warn"}} // the progress says the rest
	cmd := &cobra.Command{
		Use:   "crawl [flags] SEED…",
		Short: "Crawl from these seeds: master and slave in one process",
		Long: `Crawl from these seeds, with master and slave in one process and nothing else to install.
It ends when nothing is left to visit, or runs on with --continuous. Run again with the same --dir, it goes on with
the settings that it had; those that are given again change it.`,
		Example: `  henro crawl --contact you@example.org --depth 2 https://example.org/`,
		RunE: func(cmd *cobra.Command, arguments []string) error {
			if err := config.Load(cmd.Flags(), s.Run.Config, config.Settings()); err != nil {
				return err
			}
			if err := s.Crawl.Define(cmd.Flags(), false, func(line string) { cmd.PrintErrln(line) }); err != nil {
				return err
			}
			seeds, err := s.Crawl.Seeds(arguments, cmd.InOrStdin())
			if err != nil {
				return err
			}
			return crawl(cmd, &s, seeds, nil)
		},
	}
	config.AddFlags(cmd, s.Groups()...)
	return cmd
}

// crawl crawls, shows how it goes and prints what was done. beside runs as long, if it is there, and prints above.
func crawl(cmd *cobra.Command, s *embedded.Settings, seeds []reading.Seed,
	beside func(context.Context, *master.Node, io.Writer)) error {
	s.Log.Text = s.Run.Progress != "off"
	log, err := s.Log.Logger()
	if err != nil {
		return err
	}
	progress := newProgress(cmd.ErrOrStderr(), s.Run.Progress)
	log.Logger.SetOutput(progress.above(log.Logger.Out))
	dir := s.Crawl.Dir
	begunBefore := store.Exists(filepath.Join(dir, "state"))
	c := &embedded.Crawl{Log: log, Progress: progress.run}
	if beside != nil {
		c.Progress = func(ctx context.Context, node *master.Node) {
			var shown sync.WaitGroup
			shown.Go(func() { progress.run(ctx, node) })
			beside(ctx, node, progress.above(cmd.OutOrStdout()))
			shown.Wait()
		}
	}
	status, err := s.Start(cmd.Context(), cmd.Flags(), seeds, c)
	if err != nil {
		return err
	}
	printSummary(cmd.OutOrStdout(), dir, status)
	if begunBefore && status.Round == nil && status.End == master.Finished && status.PerSecond == 0 {
		printNothingDue(cmd.OutOrStdout(), dir)
	}
	return config.EndError(cmd.Context(), master.SummaryOf(status))
}

// printSummary says at the end what was done and where the results are.
func printSummary(w io.Writer, dir string, s master.Status) {
	fmt.Fprintf(w, "%d pages, %d requisites and %d revisits of %d hosts, %d links, %s in %s (%.1f/s): %s\n",
		s.Totals.Pages, s.Totals.Requisites, s.Totals.Revisits, s.Hosts, s.Totals.Links, sizeWords(s.Totals.Bytes),
		time.Duration(s.Seconds*float64(time.Second)).Round(time.Millisecond), s.PerSecond, s.End)
	if r := s.Round; r != nil {
		fmt.Fprintf(w, "  round %d: %d new, %d changed, %d unchanged, %d failed\n", r.Number, r.New, r.Changed,
			r.Unchanged, r.Gone)
	}
	if s.Frontier != nil {
		fmt.Fprintf(w, "  frontier %s: %d URLs dropped for lack of room, %d taken when they were found again\n",
			s.Frontier.Policy, s.Totals.Dropped, s.Totals.Returned)
	}
	printErrors(w, &s)
	if skipped := skipWords(&s.Totals); skipped != "" {
		fmt.Fprintln(w, "skipped ", skipped)
	}
	if words := wholeWords(s.Whole); words != "" {
		fmt.Fprintln(w, "whole   ", words)
	}
	if words := identicalWords(&s.Totals); words != "" {
		fmt.Fprintln(w, "stored once ", words)
	}
	fmt.Fprintf(w, "archive  %s\nsummary  %s\nlinks    henro export --what links --to csv --dir %s links.csv\n",
		filepath.Join(dir, "warc"), filepath.Join(dir, "summary.json"), dir)
}

// printNothingDue says why a crawl that was run again has visited nothing, and when the next page is due.
func printNothingDue(w io.Writer, dir string) {
	crawl, err := reading.Open(dir)
	if err != nil {
		return
	}
	defer crawl.Close()
	var first time.Time
	for _, p := range crawl.State.Partitions {
		if at, err := p.Pages.NextDue(nil); err == nil && !at.IsZero() && (first.IsZero() || at.Before(first)) {
			first = at
		}
	}
	if !first.IsZero() {
		fmt.Fprintf(w, "nothing new was left to visit; by its timetable the first known page is due at %s: "+
			"--again makes a round now, --continuous visits pages when they are due\n", moment(first))
	}
}
