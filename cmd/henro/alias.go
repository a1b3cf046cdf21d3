package main

import (
	"fmt"
	"io"
	"net/http"
	"strings"

	"github.com/spf13/cobra"

	"henro/actors/reading"
	"henro/cmd/config"
	"henro/master"
)

func newAliasCommand() *cobra.Command {
	var l look
	var forget bool
	cmd := &cobra.Command{
		Use: "alias [HOST=HOST]", Short: "List the hosts that are others under a second name, or say which are",
		Long: `List the hosts, scheme://name[:port], that answer as others do, with the number of pages that show it.
--aliases mark collects that evidence.

HOST=HOST says that the first is the second under another name, whatever their pages show: its URLs are visited at the
other, the representative, and under their own name only if the representative does not have them. --forget HOST
says that a host stands for itself: URLs that were left to its representative are visited then. Both are kept over
restarts.`,
		Example: `  henro host alias
  henro host alias http://www.example.org=https://example.org
  henro host alias --forget http://www.example.org`,
		Args: cobra.MaximumNArgs(1),
		RunE: func(cmd *cobra.Command, arguments []string) error {
			if len(arguments) == 0 && !forget {
				return tell(&l, cmd, "/api/aliases", (*reading.Crawl).Aliases, printAliases)
			}
			host, of, equals := strings.Cut(strings.Join(arguments, ""), "=")
			if equals == forget || host == "" {
				return config.Usage("which hosts? henro host alias http://www.example.org=https://example.org, or " +
					"--forget http://www.example.org")
			}
			var answer master.AliasPosted
			if err := l.ask(cmd.Context(), http.MethodPost, "/api/aliases", master.AliasPosted{Host: host, Of: of},
				&answer); err != nil {
				return err
			}
			if forget {
				fmt.Fprintln(cmd.OutOrStdout(), answer.Host, "stands for itself")
			} else {
				fmt.Fprintln(cmd.OutOrStdout(), answer.Host, "is an alias of", answer.Of)
			}
			return nil
		},
	}
	l.register(cmd)
	cmd.Flags().BoolVar(&forget, "forget", false, "the host stands for itself, whatever its pages show")
	cmd.Flags().Bool("json", false, "as JSON")
	return cmd
}

func printAliases(w io.Writer, all *reading.AliasesReported) error {
	for _, a := range all.Aliases {
		word := "may be"
		switch {
		case a.Person && a.Of == "":
			fmt.Fprintf(w, "%s stands for itself, as set by hand\n", a.Host)
			continue
		case a.Person:
			word = "is, as set by hand,"
		}
		what := "pages agree"
		if a.Redirects {
			what = "paths redirect there"
		}
		fmt.Fprintf(w, "%s %s %s: %.0f %s, %.0f do not, belief %.2f\n", a.Host, word, a.Of, a.Agreed, what, a.Against,
			a.Belief)
	}
	return nil
}
