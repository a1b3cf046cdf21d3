package main

import (
	"cmp"
	"context"
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
	"henro/store"
	"henro/store/archive/captures"
	"henro/store/archive/cdxj"
)

func newQACommand() *cobra.Command {
	o := qa.DefaultOptions()
	var to string
	var resolve []string
	log := config.Log{Level: "warn"}
	cmd := &cobra.Command{
		Use:   "qa [flags] DIR|FILE.wacz",
		Short: "Compare a sample of archived pages with the live ones, in the same browser",
		Long: `Choose pages of the archive of a crawl at random and open each twice in the Chromium of this machine: in
the replay of the archive, and live. Compare what they ask for, their visible text and a picture of the first screen,
and write a report, the worst pages first. The browser asks the live hosts as a person would who opens these pages one
after another; it has a profile of its own and ends with the command. The state says why the archive lacks something.`,
		Example: `  henro qa crawl                           # writes crawl/qa/index.html
  henro qa --pages 200 --to report crawl`,
		Args: config.Takes(1, 1, "of which crawl? henro qa crawl"),
		RunE: func(cmd *cobra.Command, arguments []string) error {
			logger, err := log.Logger()
			if err != nil {
				return err
			}
			if err := o.Validate(); err != nil {
				return config.Usage("--pages: %v", err)
			}
			info, err := os.Stat(arguments[0])
			isPackage := err == nil && info.Mode().IsRegular()
			to = cmp.Or(to, beside(arguments[0])+map[bool]string{true: ".qa", false: "/qa"}[isPackage])
			browser, err := qa.FindBrowser()
			if err != nil {
				return config.Usage("%v; henro missing says from the state of a crawl what its pages lack", err)
			}
			rules, err := qa.ResolverRules(resolve)
			if err != nil {
				return config.Usage("--resolve: %v", err)
			}
			archive, err := openArchive(arguments[0], cmd.ErrOrStderr())
			if err != nil {
				return err
			}
			defer archive.Close()
			drawn, err := qa.Draw(archive, o)
			if err != nil {
				return err
			}
			if len(drawn) == 0 {
				return fmt.Errorf("%s holds no page", arguments[0])
			}
			bar := newBar(cmd.ErrOrStderr())
			defer bar.end()
			summary, err := compareLive(cmd.Context(), logger, bar, archive, drawn, browser, rules, to, o)
			bar.end()
			if err != nil {
				return err
			}
			if store.Exists(filepath.Join(arguments[0], "state")) {
				nameCauses(cmd.Context(), logger, arguments[0], summary)
			}
			if err := summary.Write(to, arguments[0]); err != nil {
				return err
			}
			return printQA(cmd.OutOrStdout(), summary, to)
		},
	}
	f := cmd.Flags()
	f.IntVar(&o.Pages, "pages", o.Pages, "how many pages are chosen")
	f.Uint64Var(&o.Seed, "seed", o.Seed, "of the choice: the same archive and seed give the same pages")
	f.StringVar(&to, "to", "", "`FOLDER` for the report (default DIR/qa, or FILE.wacz.qa)")
	f.StringArrayVar(&resolve, "resolve", nil, "where a name lives, as in the crawl: `HOST:PORT:ADDR` (repeatable)")
	log.Register(f)
	return cmd
}

// maxCauses bounds the URLs whose causes are looked for.
const maxCauses = 200

// nameCauses says why the archive lacks something, from the state beside it.
func nameCauses(ctx context.Context, log *logrus.Entry, dir string, s *qa.Summary) {
	causes := map[string]string{}
	for _, page := range s.Pages {
		for i := range page.Missing {
			lack := &page.Missing[i]
			cause, known := causes[lack.URL]
			if !known && len(causes) < maxCauses {
				why, err := absence(ctx, dir, lack.URL)
				if err != nil {
					log.WithField("err", err).Warn("the state does not say why a request is missing")
					return
				}
				cause = why.Says
				causes[lack.URL] = cause
			}
			lack.Cause = cause
		}
	}
}

// compareLive shows the archive to a browser, page by page.
func compareLive(ctx context.Context, log *logrus.Entry, bar *bar, archive *captures.Archive, drawn []cdxj.Entry,
	path, rules, to string, o qa.Options) (*qa.Summary, error) {
	l, err := listenReplay("127.0.0.1:0")
	if err != nil {
		return nil, err
	}
	ctx, cancel := context.WithCancel(ctx)
	group, ctx := errgroup.WithContext(ctx)
	group.Go(func() error { return replay.NewServer(archive, replay.Options{}, log).Serve(ctx, l) })
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
