package main

import (
	"fmt"
	"regexp"
	"strings"

	"github.com/spf13/cobra"

	"henro/cmd/config"
	"henro/docs"
)

// comment finds the marks for tools in a page.
var comment = regexp.MustCompile(`(?m)^<!--.*-->\n`)

// newHelpCommand shows the help of a command, or a page of the documentation.
func newHelpCommand() *cobra.Command {
	names, titles := docs.Topics()
	var list strings.Builder
	for i, name := range names {
		fmt.Fprintf(&list, "\n  %-14s %s", name, titles[i])
	}
	return &cobra.Command{
		Use: "help [COMMAND|PAGE]", Short: "Help of a command, or a page of the documentation",
		Long:    "Show the help of a command, or a page of the documentation:\n" + list.String(),
		Example: "  henro help start | less",
		ValidArgsFunction: func(cmd *cobra.Command, _ []string, _ string) ([]string, cobra.ShellCompDirective) {
			words := names
			for _, c := range cmd.Root().Commands() {
				if c.IsAvailableCommand() {
					words = append(words, c.Name())
				}
			}
			return words, cobra.ShellCompDirectiveNoFileComp
		},
		RunE: func(cmd *cobra.Command, arguments []string) error {
			if len(arguments) == 0 {
				if err := cmd.Root().Help(); err != nil {
					return err
				}
				_, err := fmt.Fprintf(cmd.OutOrStdout(), "\nPages (henro help PAGE):%s\n", &list)
				return err
			}
			if c, rest, err := cmd.Root().Find(arguments); err == nil && c != cmd.Root() && len(rest) == 0 {
				return c.Help()
			}
			page := docs.Page(arguments[0])
			if page == "" || len(arguments) > 1 {
				return config.Usage("help %s: neither a command nor a page; henro help lists both",
					strings.Join(arguments, " "))
			}
			_, err := fmt.Fprint(cmd.OutOrStdout(), comment.ReplaceAllString(page, ""))
			return err
		},
	}
}
