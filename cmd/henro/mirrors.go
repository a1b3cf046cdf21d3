package main

import (
	"errors"
	"fmt"
	"math"
	"time"

	"github.com/spf13/cobra"

	"henro/cmd/config"
	"henro/store/report/mirrors"
)

func newMirrorsCommand() *cobra.Command {
	var r tableReader
	var asJSON bool
	o := mirrors.DefaultOptions()
	cmd := &cobra.Command{
		Use:   "mirrors DIR",
		Short: "Find folders and hosts that have the same pages under the same paths",
		Long: `Find folders of a crawl, running or not, whose pages have the same main text under the same rest of the
path, on one host or on several: http://a/doc/ and http://b/pub/doc/, http://a/ and http://www.a/. Each line has the
pages that are the same, and for both folders how many pages with a text they have and which share of them is in the
other. A mirror within a mirror is not listed, and of n folders that are all the same n − 1 pairs are.

Every crawl has what this needs: --near mark is not necessary. Memory does not grow with the crawl: 128 MiB, and
some 300 bytes for each of at most 100,000 pairs of folders, those with the most pages. What does not fit is
sorted in files of TMPDIR.`,
		Example: `  henro mirrors crawl
  henro mirrors crawl --pages 100 --coverage 0.95
  henro mirrors crawl --json | jq -r 'select(.coverage > 0.9 and .mirror_coverage > 0.9) | .mirror'`,
		Args: dirArgument("henro mirrors crawl"),
		RunE: func(cmd *cobra.Command, arguments []string) (err error) {
			if o.Pages < 1 {
				return config.Usage("--pages %d: want 1 at least", o.Pages)
			}
			if !(o.Coverage > 0 && o.Coverage <= 1) {
				return config.Usage("--coverage %v: want a share above 0, 1 at most", o.Coverage)
			}
			r.dir = arguments[0]
			source, done, err := r.source(cmd.Context(), cmd.ErrOrStderr())
			if err != nil {
				return err
			}
			defer func() { err = errors.Join(err, done()) }()
			bar, start := newBar(cmd.ErrOrStderr()), time.Now()
			found, err := mirrors.Find(cmd.Context(), source, o, func(table string, rows int64) {
				bar.count(table, rows, start)
			})
			bar.end()
			if err != nil {
				return err
			}
			if len(found) == 0 {
				_, err := fmt.Fprintf(cmd.ErrOrStderr(), "no two folders have %d pages in common that are "+
					"%.0f %% of one of them; fewer: --pages, --coverage\n", o.Pages, 100*o.Coverage)
				return err
			}
			format := "table"
			if asJSON {
				format = "jsonl"
			}
			rounded := func(share float64) float64 { return math.Round(share*1e4) / 1e4 }
			_, err = printAnswer(cmd.OutOrStdout(), format, []string{"same", "pages", "coverage", "mirror_pages",
				"mirror_coverage", "folder", "mirror"}, func() ([]any, error) {
				if len(found) == 0 {
					return nil, nil
				}
				m := found[0]
				found = found[1:]
				return []any{m.Same, m.First.Pages, rounded(m.First.Coverage), m.Second.Pages,
					rounded(m.Second.Coverage), m.First.URL, m.Second.URL}, nil
			})
			return err
		},
	}
	cmd.Flags().IntVar(&o.Pages, "pages", o.Pages, "least number of pages that two folders have in common")
	cmd.Flags().Float64Var(&o.Coverage, "coverage", o.Coverage, "least share of the pages of one of the two folders "+
		"that the other has too")
	cmd.Flags().BoolVar(&asJSON, "json", false, "a line of JSON for each mirror")
	r.control.register(cmd)
	return cmd
}
