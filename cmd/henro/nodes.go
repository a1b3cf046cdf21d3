package main

import (
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"path/filepath"
	"strings"
	"text/tabwriter"

	"github.com/spf13/cobra"

	"henro/cmd/config"
	"henro/master"
	"henro/master/lending"
	"henro/messages/visible"
	"henro/store"
	"henro/store/consensus"
)

// nodes are those of a crawl.
type nodes struct {
	Masters []consensus.Member    `json:"masters"` // none: there is one
	Slaves  []lending.SlaveStatus `json:"slaves"`
}

func newNodesCommand() *cobra.Command {
	var c control
	cmd := &cobra.Command{
		Use: "nodes", Short: "List masters and slaves, drain or collect from slaves, move the lead",
		Args: cobra.NoArgs,
		Long: `List the nodes of a running crawl. Of a slave: what it is doing, how many hosts it holds, how many of its
connections are in use, how many results wait to be stored, the memory and goroutines of its process, and how long it
has said nothing. Of masters, where a crawl has several (henro-master --standby): who leads, who has a vote, and how
many entries of the log each lacks.`,
		Example: "  henro nodes\n  henro nodes drain pc-07\n  henro nodes move pc-02",
		RunE: func(cmd *cobra.Command, _ []string) error {
			var n nodes
			_ = c.ask(cmd.Context(), http.MethodGet, "/api/masters", nil, &n.Masters) // a single master has no list
			err := c.ask(cmd.Context(), http.MethodGet, "/api/slaves", nil, &n.Slaves)
			if err != nil && n.Masters == nil {
				return err
			}
			return errors.Join(shown(cmd, &n, printNodes), err) // masters tell of each other also while none leads
		},
	}
	cmd.Flags().Bool("json", false, "as JSON")
	cmd.AddCommand(
		orderTo(&c, "slave", "drain", "Take a slave's hosts back and lend it none", `Take a slave's hosts back, after
the request under way on each, and lend it no more. When it is "drained" its machine may be switched off and nothing
has to be fetched again. It lasts until "henro nodes resume", or until the slave, or the master, is started again.`,
			printSlave),
		orderTo(&c, "slave", "resume", "Lend to a drained slave again", "Lend hosts again to a slave that was drained.",
			printSlave),
		orderTo(&c, "master", "move", "Have another master lead", "Have another master with a vote lead.",
			printMasters),
		orderTo(&c, "master", "remove", "Take a master out of the group", `Take a master out of the group, after it has
ended for good. One that still runs as a standby is added again; one whose disk was lost may then come back under its
name.`, printMasters))
	c.register(append(cmd.Commands(), cmd)...)
	for _, order := range cmd.Commands() {
		takesCrawl(order, 1)
	}
	cmd.AddCommand(takesCrawl(newRecoverCommand(), 0), takesCrawl(newCollectCommand(), 0))
	return takesCrawl(cmd, 0)
}

// orderTo makes a command to a master or a slave, by its name. T is what the crawl answers.
func orderTo[T any](c *control, what, verb, short, long string, show func(io.Writer, T) error) *cobra.Command {
	return &cobra.Command{
		Use: verb + " NAME", Short: short, Long: long, Example: "  henro nodes " + verb + " pc-02",
		Args: config.Takes(1, 1, "which "+what+"? henro nodes lists them"),
		RunE: func(cmd *cobra.Command, arguments []string) error {
			var answer T
			if err := c.ask(cmd.Context(), http.MethodPost, "/api/"+what+"s/"+verb+"?"+what+"="+
				url.QueryEscape(arguments[0]), nil, &answer); err != nil {
				return err
			}
			return show(cmd.OutOrStdout(), answer)
		},
	}
}

// atStake is what an operator must know before the group is given up.
const atStake = `all other masters of the crawl are given up, and what only they have is lost: pages and links that
were stored after this copy was cut off (their WARC records stay with the slaves; the pages are fetched again), and the
seeds and orders of that time. Entries that no majority had may become part of the crawl. If another master of the group
still leads, or is recovered as well, there are two crawls, and hosts are asked twice as often. Make sure that all other
masters have ended, and never start one of them on its old --dir again. Of several copies take the one with the highest
last entry. If that is what you want, add --yes`

// newRecoverCommand makes one copy of the state the only one.
func newRecoverCommand() *cobra.Command {
	var dir string
	var yes bool
	cmd := &cobra.Command{
		Use: "recover", Short: "Make one copy of the state the only one, when most masters are lost for good",
		Long: `Make the copy of the state in --dir that of a master alone, when so many of its masters are lost for good
that none can lead. Know before:

` + atStake + `.`,
		Example: "  henro nodes recover --dir crawl --yes", Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			path := filepath.Join(dir, "state")
			if !consensus.Started(path) {
				return config.Usage("--dir %s holds no copy of a state that several masters have", dir)
			}
			if !yes {
				last, err := consensus.LastEntry(path)
				if err != nil {
					return config.Usage("--dir %s: %v: end its henro-master first", dir, err)
				}
				return config.Usage("the last entry of this copy is %d; %s", last, atStake)
			}
			r, err := consensus.Recover(path, store.DefaultOptions())
			if err == nil {
				err = takeKept(dir, path)
			}
			if err != nil {
				return config.StateError(dir, err)
			}
			fmt.Fprintf(cmd.OutOrStdout(), "%s is the state of a master alone now, up to entry %d of the group "+
				"of %s.\nStart henro-master --dir %s without --standby; "+
				"new standby masters join it with an empty --dir.\n",
				path, r.Last, strings.Join(r.Members, ", "), dir)
			return nil
		},
	}
	cmd.Flags().StringVar(&dir, "dir", "crawl", "directory of the crawl")
	cmd.Flags().BoolVar(&yes, "yes", false, "do it")
	return cmd
}

// takeKept writes the files that the masters keep in the state into the directory of the crawl.
func takeKept(dir, path string) error {
	o := store.DefaultOptions()
	o.ReadOnly = true
	state, err := store.OpenState(path, o)
	if err != nil {
		return err
	}
	return errors.Join(master.WriteShared(dir, state.Partitions[0].Metas.Get), state.Close())
}

func printMasters(out io.Writer, all []consensus.Member) error {
	w := tabwriter.NewWriter(out, 0, 0, 2, ' ', 0)
	fmt.Fprintln(w, "NAME\tROLE\tBEHIND\tADDRESS")
	for _, m := range all {
		role, behind := "copy", fmt.Sprint(m.Behind)
		switch {
		case m.Leads:
			role = "leads"
		case m.Voter:
			role = "votes"
		}
		if m.Lost != "" {
			behind = "lost: " + m.Lost
		}
		fmt.Fprintf(w, "%s\t%s\t%s\t%s\n", m.Name, role, behind, m.Address)
	}
	return w.Flush()
}

func printNodes(out io.Writer, n *nodes) error {
	if n.Masters != nil {
		if err := printMasters(out, n.Masters); err != nil {
			return err
		}
	}
	return printSlaves(out, n.Slaves)
}

func printSlave(out io.Writer, s lending.SlaveStatus) error {
	return printSlaves(out, []lending.SlaveStatus{s})
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
		if s.Impossible > 0 || s.Declined > 0 || s.State == lending.Waiting {
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
		if s.State == lending.Waiting {
			fmt.Fprintf(out, "%s: pages wait: %s\n", s.Name, visible.Line(s.Why))
		} else if s.Impossible > 0 {
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
