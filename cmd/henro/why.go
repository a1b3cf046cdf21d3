package main

import (
	"fmt"
	"io"
	"net/url"
	"strings"

	"github.com/spf13/cobra"

	"henro/actors/admission"
	"henro/actors/reading"
	"henro/cmd/config"
)

func newWhyCommand() *cobra.Command {
	var l look
	cmd := &cobra.Command{
		Use: "why URL|HOST", Short: "Say why a URL or a host is not visited now",
		Long: `Say why a URL or a host is not visited now: whom it waits for and until when, how many pages
come first, or which rule keeps it out. An unknown URL is judged by the same rules.`,
		Example: "  henro why https://example.org/private/a\n  henro why example.org\n  henro why --json " +
			"https://example.org/ | jq .rules",
		Args: config.Takes(1, 1, "why what? henro why https://example.org/page, or henro why example.org"),
		RunE: func(cmd *cobra.Command, arguments []string) error {
			if strings.Contains(arguments[0], "://") { // else a host may be named by its name alone
				if err := isURL(arguments[0]); err != nil {
					return err
				}
			}
			path := "/api/why?of=" + url.QueryEscape(arguments[0])
			return tell(&l, cmd, path, func(c *reading.Crawl) (*reading.WhyFound, error) {
				return c.Why(cmd.Context(), arguments[0])
			}, printWhy)
		},
	}
	l.register(cmd)
	cmd.Flags().Bool("json", false, "all that was looked at, as JSON")
	return cmd
}

func printWhy(out io.Writer, why *reading.WhyFound) error {
	fmt.Fprintf(out, "%s\n%s\n", why.Subject, why.Answer)
	for _, f := range why.Rules {
		mark := "+"
		if f.Reason != admission.None {
			mark = "-"
		}
		fmt.Fprintf(out, "  %s %-9s %s\n", mark, f.Rule, f.Says)
	}
	if why.Page != nil {
		printSays(out, why.Page.Says)
	} else if why.Host != nil {
		printSays(out, why.Host.Says)
	}
	return nil
}
