package main

import (
	"fmt"
	"net/http"

	"github.com/spf13/cobra"

	"henro/cmd/config"
	"henro/master"
)

func newExcludeCommand() *cobra.Command {
	var c control
	var admit bool
	cmd := &cobra.Command{
		Use: "exclude HOST", Short: "Keep a host from being asked, whatever links to it, or let it in again",
		Long: `Keep a host, scheme://name[:port], from being asked: the request under way is finished, no other
begins, and a restart does not change that. In a crawl that ends its waiting pages are given up; otherwise they
are put off, and visited within a day after --undo has let the host in again.`,
		Example: "  henro host exclude https://example.org\n  henro host exclude https://example.org --undo",
		Args:    config.Takes(1, 1, "which host? henro host exclude https://example.org"),
		RunE: func(cmd *cobra.Command, arguments []string) error {
			path, word := "/api/hosts/exclude", "is excluded"
			if admit {
				path, word = "/api/hosts/admit", "is let in"
			}
			var answer master.HostPosted
			if err := c.ask(cmd.Context(), http.MethodPost, path, master.HostPosted{Host: arguments[0]},
				&answer); err != nil {
				return err
			}
			fmt.Fprintln(cmd.OutOrStdout(), answer.Host, word)
			return nil
		},
	}
	c.register(cmd)
	cmd.Flags().BoolVar(&admit, "undo", false, "let the host in again")
	return cmd
}
