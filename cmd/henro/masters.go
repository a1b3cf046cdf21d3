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
	"henro/store"
	"henro/store/consensus"
)

// newMastersCommand lists the masters of a running crawl, and moves or removes one.
func newMastersCommand() *cobra.Command {
	var c control
	show := func(cmd *cobra.Command, method, path string) error {
		var all []consensus.Member
		if err := c.ask(cmd.Context(), method, path, nil, &all); err != nil {
			return err
		}
		return shown(cmd, all, printMasters)
	}
	cmd := &cobra.Command{
		Use: "masters", Short: "List the masters of a running crawl, move the lead or remove one", Args: cobra.NoArgs,
		Long: `List the masters of a crawl that has several (henro-master --standby): who leads, who has a vote, and how
many entries of the log each lacks. The master that leads answers.`,
		Example: "  henro masters\n  henro masters move pc-02\n  henro masters remove pc-03",
		RunE: func(cmd *cobra.Command, _ []string) error {
			return show(cmd, http.MethodGet, "/api/masters")
		},
	}
	cmd.Flags().Bool("json", false, "as JSON")
	cmd.AddCommand(
		nodeCommand("master", "move", "Have another master lead", "Have another master with a vote lead.", show),
		nodeCommand("master", "remove", "Take a master out of the group", `Take a master out of the group, after it has
ended for good. One that still runs as a standby is added again; one whose disk was lost may then come back under its
name.`, show))
	c.register(append(cmd.Commands(), cmd)...)
	cmd.AddCommand(newRecoverCommand())
	return cmd
}

// nodeCommand makes a command to a master or a slave, by its name.
func nodeCommand(what, verb, short, long string,
	show func(cmd *cobra.Command, method, path string) error) *cobra.Command {
	return &cobra.Command{
		Use: verb + " NAME", Short: short, Long: long, Example: "  henro " + what + "s " + verb + " pc-02",
		Args: takes(1, 1, "which "+what+"? henro "+what+"s lists them"),
		RunE: func(cmd *cobra.Command, arguments []string) error {
			return show(cmd, http.MethodPost, "/api/"+what+"s/"+verb+"?"+what+"="+url.QueryEscape(arguments[0]))
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
		Example: "  henro masters recover --dir crawl --yes", Args: cobra.NoArgs,
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
