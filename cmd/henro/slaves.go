package main

import (
	"fmt"
	"io"
	"net/http"
	"text/tabwriter"

	"github.com/spf13/cobra"

	"henro/master/lending"
)

// newSlavesCommand lists the slaves of a running crawl, and drains one.
func newSlavesCommand() *cobra.Command {
	var c control
	cmd := &cobra.Command{
		Use: "slaves", Short: "List the slaves of a running crawl, drain one, or collect what they archived",
		Args: cobra.NoArgs,
		Long: `List the slaves that the master knows: what each is doing, how many hosts it holds, how many of its
connections are in use, how many results wait to be stored, the memory and goroutines of its process, and how long it
has said nothing.`,
		Example: "  henro slaves\n  henro slaves drain pc-07",
		RunE: func(cmd *cobra.Command, _ []string) error {
			var slaves []lending.SlaveStatus
			if err := c.ask(cmd.Context(), http.MethodGet, "/api/slaves", nil, &slaves); err != nil {
				return err
			}
			return shown(cmd, slaves, printSlaves)
		},
	}
	cmd.Flags().Bool("json", false, "as JSON")
	show := func(cmd *cobra.Command, method, path string) error {
		var s lending.SlaveStatus
		if err := c.ask(cmd.Context(), method, path, nil, &s); err != nil {
			return err
		}
		return printSlaves(cmd.OutOrStdout(), []lending.SlaveStatus{s})
	}
	cmd.AddCommand(
		nodeCommand("slave", "drain", "Take a slave's hosts back and lend it none", `Take a slave's hosts back, after
the request under way on each, and lend it no more. When it is "drained" its machine may be switched off and nothing
has to be fetched again. It lasts until "henro slaves resume", or until the slave, or the master, is started again.`,
			show),
		nodeCommand("slave", "resume", "Lend to a drained slave again", "Lend hosts again to a slave that was drained.",
			show))
	c.register(append(cmd.Commands(), cmd)...)
	cmd.AddCommand(takesCrawl(newCollectCommand(), 0))
	return cmd
}

func printSlaves(out io.Writer, slaves []lending.SlaveStatus) error {
	if len(slaves) == 0 {
		_, err := fmt.Fprintln(out, "no slave has joined yet")
		return err
	}
	w := tabwriter.NewWriter(out, 0, 0, 2, ' ', 0)
	fmt.Fprintln(w, "NAME\tSTATE\tHOSTS\tCONNECTIONS\tUNSTORED\tMEMORY\tGOROUTINES\tSILENT\tVERSION\tADDRESS")
	refused := false
	var doubted []lending.SlaveStatus
	for _, s := range slaves {
		if s.State == lending.Refused {
			refused = true
			fmt.Fprintf(w, "%s\t%s\t-\t-\t-\t-\t-\t-\t%s (protocol %d)\t%s\n", s.Name, s.State, s.Version, s.Protocol,
				s.Address)
			continue
		}
		if s.Impossible > 0 || s.Declined > 0 {
			doubted = append(doubted, s)
		}
		fmt.Fprintf(w, "%s\t%s\t%d\t%d/%d\t%d\t%.0f MB\t%d\t%s\t%s\t%s\n", s.Name, s.State, s.Leases,
			s.UnderWay, s.Connections, s.Unstored,
			float64(s.Memory)/1e6, s.Goroutines, s.Silent, s.Version, s.Address)
	}
	if err := w.Flush(); err != nil {
		return err
	}
	for _, s := range doubted {
		if s.Impossible > 0 {
			fmt.Fprintf(out, "%s: %d reports that cannot be true, the latest of %s; after three a slave is barred "+
				"until it is started again\n", s.Name, s.Impossible, s.Why)
		}
		if s.Declined > 0 {
			fmt.Fprintf(out, "%s: did not take on what it was lent, %d times in a row\n", s.Name, s.Declined)
		}
	}
	if !refused {
		return nil
	}
	_, err := fmt.Fprintln(out,
		"refused: the master does not understand its protocol; install versions whose protocols differ by one at most")
	return err
}
