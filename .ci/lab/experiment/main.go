package main

import (
	"context"
	"flag"
	"fmt"
	"io"
	"os"
	"os/signal"
	"path/filepath"
	"syscall"
)

func main() {
	o := Options{}
	flag.StringVar(&o.Dir, "dir", "thesis", "`DIR` for the report, and for the crawls while they run")
	flag.Float64Var(&o.Scale, "scale", 20, "how many times as fast time runs")
	flag.IntVar(&o.Repeats, "repeats", 3, "runs of each setting")
	flag.IntVar(&o.Parallel, "parallel", 24, "runs at the same time; at scale 20 each takes 1/50 of a processor")
	flag.Uint64Var(&o.Seed, "seed", 1, "which sites the runs begin with")
	flag.BoolVar(&o.Keep, "keep", false, "leave the crawls of all runs")
	flag.BoolVar(&o.Crews, "crews", false, "only one master with 8 slaves, and four with 2")
	flag.BoolVar(&o.Whole, "whole", false, "only tasks lent whole beside tasks that are shared, with 1 to 8 slaves")
	flag.Parse()
	if err := run(o, os.Stderr); err != nil {
		fmt.Fprintln(os.Stderr, "experiment:", err)
		os.Exit(1)
	}
	fmt.Println(filepath.Join(o.Dir, "report.md"))
}

// run ends with the report of what there is when it is interrupted or terminated.
func run(o Options, progress io.Writer) error {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	if err := o.Validate(); err != nil {
		return err
	}
	if err := os.MkdirAll(o.Dir, 0o755); err != nil {
		return err
	}
	return Run(ctx, o, progress)
}
