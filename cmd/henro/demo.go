package main

import (
	"context"
	"fmt"
	"path/filepath"
	"time"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"henro/actors/reading"
	"henro/cmd/config"
	"henro/cmd/embedded"
	"henro/master"
)

func newDemoCommand() *cobra.Command {
	s := embedded.Settings{Log: config.Log{Level: "warn"}}
	cmd := &cobra.Command{
		Use:   "demo",
		Short: "Crawl a built-in test web, offline: see what henro leaves behind",
		Long: `Crawl a test web of 12 hosts and some 600 pages that this command serves on loopback, with a politeness
interval of 20 ms, and say where the results lie and how to look at them. Nothing leaves the machine.`,
		Example: `  henro demo --dir henro-demo`,
		Args:    cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			return demo(cmd, &s)
		},
	}
	config.AddFlags(cmd,
		config.Group{Title: "What to do", Register: func(f *pflag.FlagSet) {
			f.StringVar(&s.Crawl.Dir, "dir", "henro-demo", "`DIR` to leave the results in")
		}},
		config.Group{Title: "The slave within", Register: s.Work.Register},
		config.Group{Title: "What to show", Register: s.Log.Register})
	return cmd
}

// demo serves a web on real sockets and crawls it as any other.
func demo(cmd *cobra.Command, s *embedded.Settings) error {
	s.Log.Text = true
	log, err := s.Log.Logger()
	if err != nil {
		return err
	}
	progress := newProgress(cmd.ErrOrStderr(), "auto")
	log.Logger.SetOutput(progress.above(log.Logger.Out))
	web, err := serveDemo()
	if err != nil {
		return err
	}
	defer web.Close()
	var seeds []reading.Seed
	for host := range demoHosts {
		seed, err := config.ParseSeed(web.url(host, 0), -1)
		if err != nil {
			return err
		}
		seeds = append(seeds, seed)
	}
	o := master.DefaultOptions()
	o.Dir, o.Depth = s.Crawl.Dir, -1
	o.Hosts.Politeness.Floor, o.Hosts.Politeness.LargeHostFloor = 20*time.Millisecond, 0
	o.Fetch.UserAgent, o.Fetch.AllowPrivate, o.Fetch.Resolve = config.UserAgent("henro demo"), true, web.places()
	if err := config.Dir(o.Dir); err != nil {
		return err
	}
	defer config.KeepLog(log, o.Dir, "henro").Close()
	c := &embedded.Crawl{Options: o, Work: s.Work, Seeds: seeds, Log: log, Progress: progress.run}
	status, err := c.Run(cmd.Context(), func(ctx context.Context, _ *master.Node) error { <-ctx.Done(); return nil })
	if err != nil {
		return err
	}
	config.Refresh(filepath.Join(o.Dir, "warc"), log)
	out := cmd.OutOrStdout()
	printSummary(out, o.Dir, status)
	fmt.Fprintln(out, web.politeness())
	fmt.Fprintf(out, "look     henro export --what pages --to tsv --dir %s - | head\n         zcat %s | less\n", o.Dir,
		filepath.Join(o.Dir, "warc", "*.warc.gz"))
	return config.EndError(cmd.Context(), master.SummaryOf(status))
}
