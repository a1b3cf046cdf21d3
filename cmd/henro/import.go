package main

import (
	"errors"
	"fmt"
	"math"
	"time"

	"github.com/spf13/cobra"

	"henro/actors/reading"
	"henro/actors/reading/far"
	"henro/cmd/config"
	"henro/master"
	"henro/store/archive/history"
)

func newImportCommand() *cobra.Command {
	var dir string
	cmd := &cobra.Command{
		Use: "import ARCHIVE…", Short: "Begin a crawl with what earlier archives tell of its pages' changes",
		Long: `Read when earlier archives captured which page, and whether it had changed, into the state of a crawl
that is not running, so that its estimates begin with what is known. Archives are WARC and WACZ files, CDXJ and CDX
indexes (9 or 11 columns), CSV with the heading url,time,digest, folders of these, and
s3://BUCKET/FOLDER; .gz too. All is read before
anything is written: input that cannot be read changes nothing. What the crawl has visited itself keeps its own history.

All pages in the archives become pages of the crawl, in scope or not, and are visited by their timetable with
henro crawl --continuous. Links on such a page are followed once a crawled page links to it.`,
		Example: `  henro import --dir news old.cdxj.gz
  henro import news old/warc
  henro crawl --dir news --continuous --contact you@example.org https://example.org/`,
		Args: config.Takes(1, math.MaxInt, "which archives? henro import --dir crawl old.cdxj"),
		RunE: func(cmd *cobra.Command, arguments []string) error {
			imported, ignored, err := importAll(dir, arguments, notesTo(cmd.ErrOrStderr()))
			if errors.Is(err, history.ErrSource) {
				return config.Usage("%v", err)
			}
			if err != nil {
				return err
			}
			fmt.Fprintf(cmd.OutOrStdout(), "%d pages from %d captures, %d of which differ from the one before; "+
				"%d pages were visited by the crawl already, %d captures are of no page\n", imported.Pages,
				imported.Captures, imported.Changes, imported.Known, ignored)
			return nil
		},
	}
	cmd.Flags().StringVar(&dir, "dir", "crawl", "directory of the crawl, which is begun if there is none")
	return cmd
}

func importAll(dir string, sources []string, unread func(string)) (imported master.Imported, ignored int, err error) {
	captures := history.New("", unread)
	defer func() { err = errors.Join(err, captures.Close()) }()
	for _, source := range sources {
		if err := far.Read(captures, source, config.FindBucket, unread); err != nil {
			return imported, 0, err
		}
	}
	if captures.Taken == 0 {
		return imported, 0, fmt.Errorf("%w: no captures of pages in what was named", history.ErrSource)
	}
	if err := config.Dir(dir); err != nil {
		return imported, 0, err
	}
	crawl, err := reading.OpenToChange(dir)
	if err != nil {
		return imported, 0, lookError(dir, err)
	}
	defer func() { err = errors.Join(err, crawl.Close()) }()
	imported, err = master.ImportAtRest(crawl.State, crawl.Settings, captures.Each, time.Now())
	return imported, captures.Ignored, err
}
