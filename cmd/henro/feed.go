package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"path/filepath"

	"github.com/spf13/cobra"

	"henro/cmd/config"
	"henro/cmd/feed"
	"henro/cmd/telling"
	"henro/cmd/watch"
	"henro/messages/weburl"
	"henro/store/report/changes"
)

// feedFlags are those of henro feed.
type feedFlags struct {
	o             feed.Options
	follow, noise bool
	test          bool
	dismiss, keep string
}

func newFeedCommand() *cobra.Command {
	var f feedFlags
	cmd := &cobra.Command{
		Use: "feed DIR", Short: "Tell what changed on which page, of what matters: as Atom, as lines of JSON",
		Long: `Compare the captures of each page in the archive, and write what changed to DIR/feed/changes.jsonl and,
the latest 200, to changes.atom. With --follow, print each change as soon as its capture is synced. What changes
at nearly each visit is held for noise: see --noise, --dismiss and --keep. DIR/watch.yaml says what else matters,
DIR/tell.yaml who is told of it.`,
		Example: `  henro feed crawl
  henro feed crawl --follow --least 40 --prefix https://example.org/news/
  henro feed crawl --dismiss urn:henro:change:0123456789abcdef0123456789abcdef`,
		Args: config.Takes(1, 1, "of which crawl? henro feed crawl"),
		RunE: func(cmd *cobra.Command, arguments []string) error {
			return f.run(cmd.Context(), arguments[0], cmd.OutOrStdout(), cmd.ErrOrStderr())
		},
	}
	flags := cmd.Flags()
	flags.StringArrayVar(&f.o.Prefixes, "prefix", nil, "only pages whose `URL` begins so (repeatable)")
	flags.IntVar(&f.o.Least, "least", 1, "only changes of so many letters, in the sentences that came or went")
	flags.BoolVar(&f.follow, "follow", false, "print each change as it comes, until interrupted")
	flags.BoolVar(&f.test, "tell-test", false, "send a message to each receiver of DIR/tell.yaml")
	flags.BoolVar(&f.noise, "noise", false, "print what was held for noise lately, and why")
	flags.StringVar(&f.dismiss, "dismiss", "", "what changed is noise, from now on: the `ID` of a change")
	flags.StringVar(&f.keep, "keep", "", "what changed is news, from now on: the `ID` of a change")
	return cmd
}

func (f *feedFlags) run(ctx context.Context, dir string, out, says io.Writer) (err error) {
	for i, p := range f.o.Prefixes {
		u, err := weburl.Parse(p)
		if err != nil {
			return config.Usage("--prefix %q: %v", p, err)
		}
		f.o.Prefixes[i] = u.String()
	}
	if f.o.Receivers, err = telling.ReadReceivers(beside(dir), config.FromEnvironment); err != nil {
		return config.Usage("%v", err)
	}
	switch {
	case f.test:
		return telling.Test(f.o.Receivers, out)
	case f.noise:
		return watch.Noise(filepath.Join(beside(dir), changes.Folder), out)
	}
	f.o.Crawl, f.o.Tell = beside(dir), func(c *changes.Change) {
		if f.follow {
			fmt.Fprintln(out, c.Line())
		}
	}
	f.o.Says = says
	f.o.Dir, f.o.Name = filepath.Join(beside(dir), changes.Folder), filepath.Base(filepath.Clean(dir))
	archive, err := openArchive(dir, says)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, archive.Close()) }()
	made, err := feed.Open(f.o, archive)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, made.Close()) }()
	switch {
	case f.dismiss != "" || f.keep != "":
		_, err := made.TeachByID(f.o.Dir, cmp.Or(f.dismiss, f.keep), f.dismiss != "", out)
		return err
	case f.follow:
		return made.Follow(ctx)
	}
	count, err := made.Once(ctx)
	if err == nil {
		fmt.Fprintf(out, "%d changes more in %s\n", count, filepath.Join(f.o.Dir, changes.LinesName))
		err = made.Send()
	}
	return err
}
