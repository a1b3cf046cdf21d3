package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"time"

	"github.com/gofrs/flock"
	"github.com/sirupsen/logrus"
	"github.com/spf13/cobra"

	"henro/actors/revisit"
	"henro/cmd/config"
	"henro/cmd/feed"
	"henro/messages/weburl"
	"henro/store/report/changes"
)

// feedFlags are those of henro feed.
type feedFlags struct {
	o            feed.Options
	webhook      string
	secretFile   string
	allowPrivate bool
	follow       time.Duration
}

func newFeedCommand() *cobra.Command {
	var f feedFlags
	cmd := &cobra.Command{
		Use: "feed DIR", Short: "Tell what changed on which page: as Atom, as lines of JSON, to a webhook",
		Long: `Compare the captures of each page in the archive, and write what changed in its main text to
DIR/feed/changes.jsonl and, the latest 200, to changes.atom. With --follow, go on while a crawl adds files.
A change that is in the feed does not come again. The dashboard of the crawl shows it under Changes.

A webhook gets each change as JSON, signed by the Standard Webhooks specification. What cannot be delivered waits
in DIR/feed/outbox, 10,000 changes for three days at most, and is posted again after 1 s, 2 s, 4 s … an hour.`,
		Example: `  henro feed crawl
  henro feed crawl --follow 1m --least 40 --prefix https://example.org/news/
  henro feed crawl --follow 1m --webhook https://example.net/hook --webhook-secret secret.txt`,
		Args: takes(1, 1, "of which crawl? henro feed crawl"),
		RunE: func(cmd *cobra.Command, arguments []string) error {
			return f.run(cmd.Context(), arguments[0], cmd.OutOrStdout(), cmd.ErrOrStderr())
		},
	}
	flags := cmd.Flags()
	flags.StringArrayVar(&f.o.Prefixes, "prefix", nil, "only pages whose `URL` begins so (repeatable)")
	flags.IntVar(&f.o.Least, "least", 1, "only changes of so many letters, in the sentences that came or went")
	flags.Var((*revisit.Span)(&f.follow), "follow", "look for new files every so often, until interrupted: 1m, 1h")
	flags.StringVar(&f.webhook, "webhook", "", "post each change to this `URL`")
	flags.StringVar(&f.secretFile, "webhook-secret", "", "`FILE` of the secret by which posts are signed: whsec_BASE64")
	flags.BoolVar(&f.allowPrivate, "allow-private", false, "the webhook may be on a private network or this machine")
	return cmd
}

// deliverEvery is how often an outbox is looked at while henro feed follows.
const deliverEvery = time.Second

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
	if (f.webhook == "") != (f.secretFile == "") {
		return config.Usage("--webhook and --webhook-secret go together")
	}
	f.o.Dir, f.o.Name = filepath.Join(dir, changes.Folder), filepath.Base(filepath.Clean(dir))
	if f.webhook != "" {
		secret, err := os.ReadFile(f.secretFile)
		if err != nil {
			return config.Usage("--webhook-secret: %v", err)
		}
		logger := logrus.New()
		logger.SetOutput(says)
		if f.o.Outbox, err = feed.NewOutbox(filepath.Join(f.o.Dir, "outbox"), f.webhook, string(secret), f.allowPrivate,
			logrus.NewEntry(logger)); err != nil {
			return config.Usage("--webhook, --webhook-secret: %v", err)
		}
	}
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
		if err := f.deliver(ctx, out); err != nil || f.follow == 0 {
			return err
		}
	}
	return nil
}

// deliver posts what waits: once, or until it is time to look for changes again.
func (f *feedFlags) deliver(ctx context.Context, out io.Writer) error {
	until := time.Now().Add(f.follow)
	for {
		if f.o.Outbox != nil {
			delivered, left, err := f.o.Outbox.Deliver(ctx)
			if err != nil {
				return err
			}
			if delivered > 0 || f.follow == 0 {
				fmt.Fprintf(out, "%d changes delivered, %d wait\n", delivered, left)
			}
		}
		if wait := min(time.Until(until), deliverEvery); wait > 0 {
			select {
			case <-ctx.Done():
				return nil
			case <-time.After(wait):
				continue
			}
		}
		return nil
	}
}
