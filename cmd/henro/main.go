// Command henro crawls, archives, and looks into what it crawled.
package main

import (
	"context"
	"fmt"
	"os"
	"os/signal"
	"strings"
	"syscall"

	"github.com/spf13/cobra"

	"henro/cmd/config"
	"henro/cmd/proving"
	"henro/cmd/watching"
)

func main() {
	config.SetVersion(version)
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	context.AfterFunc(ctx, stop) // a second signal ends at once
	root := newRootCommand()
	err := execute(ctx, root)
	config.Say(root.ErrOrStderr(), "henro", err)
	os.Exit(config.Code(err))
}

// execute runs a command; an unknown one is an error of usage.
func execute(ctx context.Context, root *cobra.Command) error {
	root.InitDefaultCompletionCmd()
	refuseUnknown(root)
	err := config.Execute(ctx, root)
	if err != nil && strings.HasPrefix(err.Error(), "unknown command") {
		return config.Usage("%s; henro --help lists them all", strings.Join(strings.Fields(err.Error()), " "))
	}
	return err
}

func newVersionCommand() *cobra.Command {
	return &cobra.Command{Use: "version", Short: "Print the version", Hidden: true, Example: "  henro version",
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			_, err := fmt.Fprintln(cmd.OutOrStdout(), "henro version", config.Version())
			return err
		}}
}

// refuseUnknown has commands that only group others refuse an unknown name, for which cobra would print their help.
func refuseUnknown(cmd *cobra.Command) {
	for _, child := range cmd.Commands() {
		refuseUnknown(child)
	}
	if !cmd.HasParent() || !cmd.HasSubCommands() || cmd.Runnable() {
		return
	}
	cmd.Args, cmd.DisableFlagsInUseLine = cobra.ArbitraryArgs, true
	cmd.RunE = func(cmd *cobra.Command, arguments []string) error {
		if len(arguments) == 0 {
			return cmd.Help()
		}
		var names []string
		for _, child := range cmd.Commands() {
			names = append(names, child.Name())
		}
		return config.Usage("%s %s: want %s", cmd.CommandPath(), arguments[0], strings.Join(names, ", "))
	}
}

func newRootCommand() *cobra.Command {
	root := &cobra.Command{
		Use:   "henro",
		Short: "A polite, incremental, distributed web archiver",
		Long: `henro (遍路: the pilgrim who walks the same round of temples again and again, politely)
crawls the sites you name, writes WARC 1.1 archives and a link graph, and knows when to come back.`,
		Example: `  henro demo                                       # a crawl of a built-in test web, offline
  henro crawl --contact you@example.org https://example.org/
  henro status                                     # of the crawl that runs in ./crawl`,
		Version:       config.Version(),
		SilenceErrors: true,
		SilenceUsage:  true,
	}
	root.SetHelpCommand(newHelpCommand())
	root.SetFlagErrorFunc(config.FlagError)
	root.AddGroup(
		&cobra.Group{ID: "crawl", Title: "Crawl:"},
		&cobra.Group{ID: "steer", Title: "Ask and steer a running crawl:"},
		&cobra.Group{ID: "look", Title: "Look into what was crawled:"},
	)
	add := func(group string, commands ...*cobra.Command) {
		for _, c := range commands {
			c.GroupID = group
			root.AddCommand(c)
		}
	}
	add("crawl", takesCrawl(newCrawlCommand(), anyNumber),
		takesCrawl(watching.NewWatchCommand(crawl, openArchive), 1), newDemoCommand(), newKeyCommand(),
		newDoctorCommand(), takesCrawl(newConfigCommand(), 0), takesCrawl(newImportCommand(), anyNumber))
	add("steer", newNodesCommand(), newSeedsCommand())
	for _, c := range []*cobra.Command{newStatusCommand(), newTraceCommand(),
		newOrderCommand("pause", "Take all hosts back from the slaves and wait"),
		newOrderCommand("resume", "Go on after a pause"),
		newOrderCommand("stop", "End the crawl; its directory can be resumed")} {
		add("steer", takesCrawl(c, 0))
	}
	for _, c := range []*cobra.Command{newRevisitCommand(), newBackupCommand(), newWhyCommand()} {
		add("steer", takesCrawl(c, 1))
	}
	for _, c := range []*cobra.Command{newReplayCommand(), newQACommand(), newCheckCommand(), newStatsCommand(),
		newFeedCommand()} {
		add("look", takesCrawl(c, 0))
	}
	for _, c := range []*cobra.Command{newPageCommand(), newMissingCommand(), newHostCommand(), newWACZCommand(),
		newExportCommand(), newSQLCommand(), newDiffCommand(), proving.NewProveCommand(openArchive)} {
		add("look", takesCrawl(c, 1))
	}
	add("look", takesCrawl(newSearchCommand(), anyNumber), proving.NewVerifyCommand())
	root.AddCommand(config.NewManCommand(), newVersionCommand())
	return root
}
