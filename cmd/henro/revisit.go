package main

import (
	"errors"
	"fmt"
	"net/http"
	"slices"
	"time"

	"github.com/spf13/cobra"

	"henro/actors/reading"
	"henro/actors/revisit"
	"henro/cmd/config"
	"henro/master"
)

func newRevisitCommand() *cobra.Command {
	var l look
	var posted master.RevisitPosted
	var told told
	cmd := &cobra.Command{
		Use:   "revisit URL|PREFIX*|HOST [--now|--every SPAN|--auto] | --from FILE",
		Short: "Have known pages visited at other times",
		Long: `Have known pages visited now, or every so often whatever their timetable says, or by their timetable
again. Pages are one URL, all URLs that begin with what stands before a *, or all of a host. The order is on
disk when this returns, holds over restarts, and is shown by page, host, why and report; a page that is due
already takes it over at its next visit. A host has up to 64 rules, of which the most exact holds for a page.
They hold while the crawl runs with --continuous, and do not change its politeness.

With --from a running crawl is told of URLs that have changed, or are new, as sitemaps do: each is visited the
sooner, the more often such hints of its host have been right. Nothing is ordered.`,
		Example: `  henro revisit https://example.org/news/ --now
  henro revisit 'https://example.org/news/*' --every 6h
  henro revisit example.org --auto --dir crawl
  git diff --name-only HEAD~ -- public | sed 's|^public|https://example.org|' | henro revisit --from - --by deploy`,
		Args: func(cmd *cobra.Command, arguments []string) error {
			if told.from == "" {
				return config.Takes(1, 1,
					"which pages? henro revisit 'https://example.org/news/*' --every 6h")(cmd, arguments)
			}
			if len(arguments) > 0 || posted != (master.RevisitPosted{}) {
				return config.Usage("--from stands alone: the file names the pages, and how often hints of their " +
					"hosts have been right decides when they are visited")
			}
			return nil
		},
		RunE: func(cmd *cobra.Command, arguments []string) error {
			if told.from != "" {
				return told.tell(cmd, &l)
			}
			posted.Pages = arguments[0]
			if !posted.Now && !posted.Auto && posted.Every == 0 {
				return config.Usage("when? give --now, --every 6h or --auto")
			}
			answer, err := l.revisit(cmd, &posted)
			switch {
			case errors.Is(err, master.ErrRevisit), errors.Is(err, revisit.ErrManyFixed):
				return config.Usage("%v", err)
			case err != nil:
				return err
			}
			fmt.Fprintf(cmd.OutOrStdout(), "%s: the next visit of %d pages was moved\n", answer.Pages, answer.Moved)
			return nil
		},
	}
	l.register(cmd)
	cmd.Flags().BoolVar(&posted.Now, "now", false, "they are due now")
	cmd.Flags().Var((*revisit.Span)(&posted.Every), "every",
		"they are visited every so often: 10m, 6h, 7d; 1m at least")
	cmd.Flags().BoolVar(&posted.Auto, "auto", false, "they are visited by their timetable again")
	cmd.Flags().StringVar(&told.from, "from", "", "URLs that have changed, one a line; - is standard input (`FILE`)")
	cmd.Flags().StringVar(&told.by, "by", "henro revisit", "with --from: `WHO` says so, for the log of the crawl")
	return cmd
}

// told is a list of URLs that somebody says to have changed.
type told struct{ from, by string }

// tell gives the list to the running crawl, in parts that it takes; if one line is no URL, nothing is told.
func (t *told) tell(cmd *cobra.Command, l *look) error {
	var urls []string
	err := config.EachLine("from", t.from, cmd.InOrStdin(), func(line string) error {
		urls = append(urls, line)
		return isURL(line)
	})
	if err != nil {
		return err
	}
	if len(urls) == 0 {
		return config.Usage("--from %s: no URLs", t.from)
	}
	var sum master.ChangedAnswer
	for part := range slices.Chunk(urls, master.ChangedMost) {
		var answer master.ChangedAnswer
		if err := l.ask(cmd.Context(), http.MethodPost, "/api/changed",
			&master.ChangedPosted{URLs: part, By: t.by}, &answer); err != nil {
			return err
		}
		sum.Add(&answer)
	}
	fmt.Fprintf(cmd.OutOrStdout(), "told of %d known pages and %d new URLs; %d wait for their first visit, %d are of "+
		"hosts that the crawl does not know\n", sum.Known, sum.New, sum.Waiting, sum.Foreign)
	return nil
}

// revisit gives an order to the running crawl, or carries it out in a directory that no crawl holds.
func (l *look) revisit(cmd *cobra.Command, posted *master.RevisitPosted) (answer *master.RevisitAnswer, err error) {
	runs, err := l.door().Change(func(c *reading.Crawl) (err error) {
		answer, err = master.RevisitAtRest(c, posted, time.Now())
		return err
	})
	if runs {
		answer = new(master.RevisitAnswer)
		return answer, l.ask(cmd.Context(), http.MethodPost, "/api/revisit", posted, answer)
	}
	return answer, lookError(l.dir, err)
}
