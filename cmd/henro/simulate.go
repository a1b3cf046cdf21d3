package main

import "github.com/spf13/cobra"

func newSimulateCommand() *cobra.Command {
	simulate := &cobra.Command{
		Use: "simulate", Short: "Try policies on graphs and histories, without a network",
		Example: "  henro simulate frontier --help",
	}
	simulate.AddCommand(newSimulateFrontierCommand(), newSimulateRevisitCommand())
	return simulate
}
