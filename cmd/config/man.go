package config

import (
	"fmt"
	"os"

	"github.com/spf13/cobra"
	"github.com/spf13/cobra/doc"
)

// NewManCommand makes the command that writes the man pages of a program and all its commands. It is for those who pack
// the program.
func NewManCommand() *cobra.Command {
	return &cobra.Command{
		Use: "man DIR", Short: "Write man pages of the program and its commands", Hidden: true,
		Long: `Write a man page of the program and of each of its commands into a directory. The date in them is that of
SOURCE_DATE_EPOCH, if the environment has it.`,
		Args: Takes(1, 1, "which directory? For example man/man1, in a folder of MANPATH"),
		RunE: func(cmd *cobra.Command, arguments []string) error {
			if err := os.MkdirAll(arguments[0], 0o755); err != nil {
				return Usage("%v", err)
			}
			root := cmd.Root()
			root.DisableAutoGenTag = true
			header := doc.GenManHeader{Section: "1", Source: root.Name() + " " + root.Version, Manual: "henro"}
			if err := doc.GenManTree(root, &header, arguments[0]); err != nil {
				return fmt.Errorf("write man pages: %w", err)
			}
			return nil
		},
		Example: "  henro man ~/.local/share/man/man1 && man henro-crawl",
	}
}
