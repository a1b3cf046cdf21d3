package main

import (
	"context"
	"flag"
	"fmt"
	"os"
	"os/signal"
	"path/filepath"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	defer stop()
	o := Options{}
	flag.StringVar(&o.Dir, "dir", "thesis", "`DIR` for the report, and for the crawls while they run")
	flag.Float64Var(&o.Scale, "scale", 120, "how many times as fast time runs")
	flag.IntVar(&o.Repeats, "repeats", 3, "runs of each setting")
	flag.IntVar(&o.Parallel, "parallel", 4, "runs at the same time; each asks for a twentieth of a processor")
	flag.Uint64Var(&o.Seed, "seed", 1, "which sites the runs begin with")
	flag.BoolVar(&o.Keep, "keep", false, "leave the crawls of all runs")
	flag.Parse()
	if err := run(ctx, o); err != nil {
		fmt.Fprintln(os.Stderr, "experiment:", err)
		os.Exit(1)
	}
	fmt.Println(filepath.Join(o.Dir, "report.md"))
}

func run(ctx context.Context, o Options) error {
	if err := o.Validate(); err != nil {
		return err
	}
	if err := os.MkdirAll(o.Dir, 0o755); err != nil {
		return err
	}
	return Run(ctx, o, os.Stderr)
}
