package main

import (
	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"henro/cmd/config"
)

func newConfigCommand() *cobra.Command {
	run, crawl := new(config.Run), new(config.Crawl)
	var set bool
	flags := config.AllSettings(run, crawl)
	cmd := &cobra.Command{
		Use: "config [flags of any program]", Short: "Print the settings in force, and where each comes from",
		Long: `Print the settings that henro, henro-master and henro-slave would run with here, and where each comes
from: a flag, the environment, henro.yaml, the crawl in the directory or the default. The output is a henro.yaml
itself.`,
		Example: "  henro config --set   # only what is not a default",
		Args:    cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			if err := config.Load(flags, run.Config, config.Settings()); err != nil {
				return err
			}
			if err := config.Recall(flags, flags.Lookup("dir").Value.String()); err != nil {
				return err
			}
			return config.PrintInForce(cmd.OutOrStdout(), flags, crawl,
				func(f *pflag.Flag) bool { return f.Name != "config" && (f.Changed || !set) })
		},
	}
	cmd.Flags().AddFlagSet(flags)
	cmd.Flags().BoolVar(&set, "set", false, "leave out what is a default")
	return cmd
}
