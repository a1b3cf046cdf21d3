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
)

// version is set by the linker (-X main.version=…) in releases.
var version = "dev"

func main() {
	config.SetVersion(version)
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	context.AfterFunc(ctx, stop) // a second signal ends at once
	err := newRootCommand().ExecuteContext(ctx)
	if err != nil && strings.HasPrefix(err.Error(), "unknown command") {
		err = config.Usage("%s; henro --help lists them all", strings.Join(strings.Fields(err.Error()), " "))
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, "henro:", err)
	}
	os.Exit(config.Code(err))
}

func newRootCommand() *cobra.Command {
	root := &cobra.Command{
		Use:   "henro",
		Short: "A polite, incremental, distributed web archiver",
		Long: `henro (遍路: the pilgrim who walks the same round of temples again and again, politely)
crawls the sites you name, writes WARC 1.1 archives and a link graph, and knows when to come back.`,
		Example: `  henro demo                                       # a crawl of a built-in test web, offline
  henro crawl --contact you@example.org https://example.org/
  henro status                                     # of the crawl running on this machine`,
		Version:       version,
		SilenceErrors: true,
		SilenceUsage:  true,
	}
	root.SetFlagErrorFunc(config.FlagError)
	root.AddGroup(
		&cobra.Group{ID: "crawl", Title: "Crawl:"},
		&cobra.Group{ID: "steer", Title: "Ask and steer a running crawl:"},
		&cobra.Group{ID: "look", Title: "Look into what was crawled:"},
		&cobra.Group{ID: "try", Title: "Try and simulate:"},
	)
	add := func(group string, commands ...*cobra.Command) {
		for _, c := range commands {
			c.GroupID = group
			root.AddCommand(c)
		}
	}
	add("crawl", newCrawlCommand(), newDemoCommand(), newKeyCommand(), newDoctorCommand(), newCollectCommand())
	add("steer", newStatusCommand(), newPauseCommand(), newResumeCommand(), newStopCommand(), newSlavesCommand(),
		newSeedsCommand(), newExcludeCommand(), newBackupCommand())
	add("steer", newTopCommand(), newTraceCommand(), newWhyCommand())
	add("look", newPageCommand(), newHostCommand(), newReplayCommand(), newWACZCommand(), newExportCommand(),
		newReportCommand(), newIndexCommand(), newCheckCommand(), newCompactCommand())
	add("look", newSQLCommand(), newStatsCommand(), newDiffCommand())
	add("try", newFakewebCommand(), newSimulateCommand())
	root.AddCommand(config.NewManCommand())
	return root
}
