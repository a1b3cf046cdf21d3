package main

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"

	"github.com/sirupsen/logrus"
	"github.com/spf13/cobra"
	"golang.org/x/sync/errgroup"

	"henro/cmd/config"
	"henro/cmd/qa"
	"henro/cmd/replay"
	"henro/store/archive/cdxj"
)

func newQACommand() *cobra.Command {
	o := qa.DefaultOptions()
	var to string
	var resolve []string
	var l look
	log := config.Log{Level: "warn"}
	cmd := &cobra.Command{
		Use:   "qa [flags] DIR",
		Short: "Compare a sample of archived pages with the live ones, in the same browser",
		Long: `Draw pages from the archive of a crawl by lot and open each twice in the Chromium of this machine: in the
replay of the archive, and live. Compare what they ask for, their visible text and a picture of the first screen,
and write a report, the worst pages first. The browser asks the live hosts as a person would who opens these pages
one after another; it has a profile of its own and ends with the command. Without a Chromium, the state says which
requisites of which pages are missing, as henro missing does.`,
		Example: `  henro qa crawl                           # writes crawl/qa/index.html
  henro qa --pages 200 --to report crawl`,
		Args: dirArgument("henro qa crawl"),
		RunE: func(cmd *cobra.Command, arguments []string) error {
			logger, err := log.Logger()
			if err != nil {
				return err
			}
			if err := o.Validate(); err != nil {
				return config.Usage("--pages: %v", err)
			}
			l.dir = arguments[0]
			browser, err := qa.FindBrowser()
			if errors.Is(err, qa.ErrNoBrowser) {
				logger.Warn("no Chromium or Chrome is installed: only requisites are looked for, in the state")
				show := &missingShown{out: bufio.NewWriter(cmd.OutOrStdout())}
				return errors.Join(l.missing(cmd.Context(), "", show), show.end(), show.out.Flush())
			}
			rules, err := qa.ResolverRules(resolve)
			if err != nil {
				return config.Usage("--resolve: %v", err)
			}
			if to == "" {
				to = filepath.Join(arguments[0], "qa")
			}
			archive, err := openArchive(arguments[0])
			if err != nil {
				return err
			}
			defer archive.Close()
			drawn, err := qa.Draw(archive, o)
			if err != nil {
				return err
			}
			if len(drawn) == 0 {
				return fmt.Errorf("%s holds no page: only finished WARC files are read",
					arguments[0])
			}
			bar := newBar(cmd.ErrOrStderr())
			defer bar.end()
			summary, err := compareLive(cmd.Context(), logger, bar, archive, drawn, browser, rules, to, o)
			bar.end()
			if err != nil {
				return err
			}
			if err := summary.Write(to, arguments[0]); err != nil {
				return err
			}
			return printQA(cmd.OutOrStdout(), summary, to)
		},
	}
	f := cmd.Flags()
	f.IntVar(&o.Pages, "pages", o.Pages, "how many pages are drawn")
	f.Uint64Var(&o.Seed, "seed", o.Seed, "of the draw: the same archive and seed give the same pages")
	f.StringVar(&to, "to", "", "`FOLDER` for the report (default DIR/qa)")
	f.StringArrayVar(&resolve, "resolve", nil, "where a name lives, as in the crawl: `HOST:PORT:ADDR` (repeatable)")
	log.Register(f)
	l.control.register(cmd)
	return cmd
}

// compareLive shows the archive to a browser, page by page.
func compareLive(ctx context.Context, log *logrus.Entry, bar *bar, archive *replay.Archive, drawn []cdxj.Entry,
	path, rules, to string, o qa.Options) (*qa.Summary, error) {
	l, err := listenReplay("127.0.0.1:0", "off")
	if err != nil {
		return nil, err
	}
	ctx, cancel := context.WithCancel(ctx)
	group, ctx := errgroup.WithContext(ctx)
	group.Go(func() error { return replay.NewServer(archive, replay.DefaultOptions(), log).Serve(ctx, l) })
	summary := &qa.Summary{}
	group.Go(func() error {
		defer cancel()
		if err := os.MkdirAll(to, 0o777); err != nil {
			return err
		}
		browser, err := qa.Start(ctx, path, rules)
		if err != nil {
			return err
		}
		defer browser.Close()
		for i, e := range drawn {
			bar.show("qa", uint64(i), uint64(len(drawn)))
			page, err := qa.Compare(ctx, browser, archive, qa.Shown{Address: l.Address, Asked: l.Asked}, e, o)
			if err != nil {
				return err
			}
			if err := summary.Add(page, to); err != nil {
				return err
			}
		}
		return nil
	})
	return summary, group.Wait()
}

// printQA says what the report holds.
func printQA(out io.Writer, s *qa.Summary, to string) error {
	archived := s.Requests - s.Missing
	fmt.Fprintf(out, "%d of %d pages compared: %d of %d requests archived, %d left the replay; "+
		"%d with the same words, %d with 99 %% equal pixels\n", s.Compared, len(s.Pages), archived, s.Requests,
		s.Outside, s.SameText, s.SamePicture)
	fmt.Fprintln(out, "report:", filepath.Join(to, "index.html"))
	if s.Outside > 0 {
		return fmt.Errorf("%d requests left the replay: please report this as a fault of henro", s.Outside)
	}
	return nil
}
