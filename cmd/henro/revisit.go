package main

import (
	"errors"
	"fmt"
	"net/http"
	"path/filepath"
	"time"

	"github.com/spf13/cobra"

	"henro/actors/revisit"
	"henro/cmd/config"
	"henro/master"
	"henro/store"
)

func newRevisitCommand() *cobra.Command {
	var l look
	var posted master.RevisitPosted
	cmd := &cobra.Command{
		Use: "revisit URL|PREFIX*|HOST [--now|--every SPAN|--auto]", Short: "Have known pages visited at other times",
		Long: `Have known pages visited now, or every so often whatever their timetable says, or by their timetable
again. Pages are one URL, all URLs that begin with what stands before a *, or all of a host. The order is on
disk when this returns, holds over restarts, and is shown by page, host, why and report; pages that are due
already follow at their visit. Up to 64 rules for the pages of one host are kept, of which the most exact holds.
They are heeded while the crawl runs with --continuous; its politeness is not changed by them.`,
		Example: `  henro revisit https://example.org/news/ --now
  henro revisit 'https://example.org/news/*' --every 6h
  henro revisit example.org --auto --dir crawl`,
		Args: oneArgument("which pages? henro revisit 'https://example.org/news/*' --every 6h"),
		RunE: func(cmd *cobra.Command, arguments []string) error {
			posted.Pages = arguments[0]
			if !posted.Now && !posted.Auto && posted.Every == 0 {
				return config.Usage("when? give --now, --every 6h or --auto")
			}
			answer, err := l.revisit(cmd, &posted)
			switch {
			case errors.Is(err, master.ErrRevisit), errors.Is(err, revisit.ErrManyRules):
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
	return cmd
}

// revisit gives an order to the running crawl, or carries it out in a directory that no crawl holds.
func (l *look) revisit(cmd *cobra.Command, posted *master.RevisitPosted) (*master.RevisitAnswer, error) {
	state, running, err := l.open()
	if err != nil {
		return nil, err
	}
	if running {
		var answer master.RevisitAnswer
		return &answer, l.ask(cmd.Context(), http.MethodPost, "/api/revisit", posted, &answer)
	}
	if err := state.Close(); err != nil { // it was open for reading
		return nil, err
	}
	o := store.DefaultOptions()
	o.Partitions = 0 // as it was begun
	if state, err = store.OpenState(filepath.Join(l.dir, "state"), o); err != nil {
		return nil, lookError(l.dir, err)
	}
	settings, err := master.AtRest(state, l.dir, 0)
	if err != nil {
		return nil, errors.Join(err, state.Close())
	}
	answer, err := master.RevisitAtRest(state, &settings, posted, time.Now())
	return answer, errors.Join(err, state.Close())
}
