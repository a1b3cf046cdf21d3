// Command simulate tries policies without a network: the orders of waiting URLs on a graph of the web in memory, and
// timetables on the change histories of real pages.
//
//	go run ./.ci/lab/simulate frontier --help
//	go run ./.ci/lab/simulate revisit --help
package main

import (
	"cmp"
	"context"
	"fmt"
	"io"
	"os"
	"os/signal"

	"github.com/spf13/cobra"

	"henro/cmd/config"
)

func main() {
	simulate := &cobra.Command{Use: "simulate", Short: "Try policies on graphs and histories, without a network",
		SilenceErrors: true, SilenceUsage: true}
	simulate.AddCommand(newFrontierCommand(), newRevisitCommand(), newSplitCommand())
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	defer stop()
	err := simulate.ExecuteContext(ctx)
	if err != nil {
		fmt.Fprintln(os.Stderr, "simulate:", err)
	}
	os.Exit(config.Code(err))
}

// writeFile writes a file of results.
func writeFile(path string, write func(io.Writer) error) error {
	f, err := os.Create(path)
	if err != nil {
		return fmt.Errorf("write results: %w", err)
	}
	return cmp.Or(write(f), f.Close())
}
