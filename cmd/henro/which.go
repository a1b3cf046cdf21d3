package main

import (
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/spf13/cobra"
)

// defaultCrawl is the directory of the crawl that a command means when none is named.
const defaultCrawl = "crawl"

// anyNumber stands for a command that takes any number of arguments.
const anyNumber = -1

// takesCrawl has a command take the directory of its crawl as its first argument or as --dir, whichever is given; else
// it is defaultCrawl. others is how many arguments it takes behind the directory. Where there are no more than these,
// and the command can do without one of them, the first is the directory if there is one of that name, and with any
// number of others if a crawl is in it. A command whose use says DIR finds it as its first argument, any other as
// --dir.
func takesCrawl(cmd *cobra.Command, others int) *cobra.Command {
	name, behind, _ := strings.Cut(cmd.Use, " ")
	behind = strings.TrimPrefix(behind, "[flags] ")
	first, fewer := strings.HasPrefix(behind, "DIR"), strings.ContainsAny(behind, "[…")
	if first {
		kind, rest, _ := strings.Cut(behind, " ")
		cmd.Use = strings.TrimSpace(name + " [" + kind + "] " + rest)
		if cmd.Flags().Lookup("dir") == nil {
			cmd.Flags().String("dir", defaultCrawl, "`DIR` of the crawl")
		}
	} else {
		cmd.Use = strings.TrimSpace(name + " [DIR] " + behind)
	}
	check, run := cmd.Args, cmd.RunE
	if check == nil {
		check = cobra.ArbitraryArgs
	}
	var arguments []string
	cmd.Args = func(cmd *cobra.Command, given []string) error {
		flag := cmd.Flag("dir")
		arguments = slices.Clone(given)
		named := others != anyNumber && len(given) > others ||
			fewer && len(given) > 0 && isFolder(filepath.Join(given[0], map[int]string{anyNumber: "state"}[others]))
		switch {
		case first && (flag.Changed || !named):
			arguments = slices.Insert(arguments, 0, flag.Value.String())
		case !first && !flag.Changed && named:
			if err := cmd.Flags().Set("dir", given[0]); err != nil {
				return err
			}
			arguments = arguments[1:]
		}
		return check(cmd, arguments)
	}
	cmd.RunE = func(cmd *cobra.Command, _ []string) error { return run(cmd, arguments) }
	return cmd
}

// isFolder reports whether something can be in a path: a folder, or a bucket.
func isFolder(path string) bool {
	if strings.HasPrefix(path, "s3:/") {
		return true
	}
	info, err := os.Stat(path)
	return err == nil && info.IsDir()
}
