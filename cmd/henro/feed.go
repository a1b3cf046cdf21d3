package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"path/filepath"
	"time"

	"github.com/gofrs/flock"
	"github.com/spf13/cobra"

	"henro/actors/revisit"
	"henro/cmd/config"
	"henro/cmd/feed"
	"henro/messages/weburl"
	"henro/store/report/changes"
)

// feedFlags are those of henro feed.
type feedFlags struct {
	o      feed.Options
	follow time.Duration
}

func newFeedCommand() *cobra.Command {
	var f feedFlags
	cmd := &cobra.Command{
		Use: "feed DIR", Short: "Tell what changed on which page: as Atom, as lines of JSON",
		Long: `Compare the captures of each page in the archive, and write what changed in its main text to
DIR/feed/changes.jsonl and, the latest 200, to changes.atom. With --follow, go on while a crawl adds files.
A change that is in the feed does not come again. The dashboard of the crawl shows it under Changes.`,
		Example: `  henro feed crawl
  henro feed crawl --follow 1m --least 40 --prefix https://example.org/news/`,
		Args: takes(1, 1, "of which crawl? henro feed crawl"),
		RunE: func(cmd *cobra.Command, arguments []string) error {
			return f.run(cmd.Context(), arguments[0], cmd.OutOrStdout(), cmd.ErrOrStderr())
		},
	}
	flags := cmd.Flags()
	flags.StringArrayVar(&f.o.Prefixes, "prefix", nil, "only pages whose `URL` begins so (repeatable)")
	flags.IntVar(&f.o.Least, "least", 1, "only changes of so many letters, in the sentences that came or went")
	flags.Var((*revisit.Span)(&f.follow), "follow", "look for new files every so often, until interrupted: 1m, 1h")
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
	if f.follow != 0 && f.follow < time.Second {
		return config.Usage("--follow: want 1s or more")
	}
	f.o.Dir, f.o.Name = filepath.Join(dir, changes.Folder), filepath.Base(filepath.Clean(dir))
	archive, err := openArchive(dir, says)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, archive.Close()) }()
	made, err := feed.Open(f.o, archive)
	if err != nil {
		return err
	}
	lock := flock.New(filepath.Join(f.o.Dir, "lock"))
	if held, err := lock.TryLock(); err != nil || !held {
		return fmt.Errorf("another henro feed tells the changes of %s", dir)
	}
	defer lock.Unlock()
	for first := true; first || ctx.Err() == nil; first = false {
		count, err := made.Pass(ctx)
		if err != nil && ctx.Err() == nil {
			return err
		}
		if count > 0 || first {
			fmt.Fprintf(out, "%d changes more in %s\n", count, filepath.Join(f.o.Dir, changes.LinesName))
		}
		if f.follow == 0 {
			return nil
		}
		select {
		case <-ctx.Done():
		case <-time.After(f.follow):
		}
	}
	return nil
}
