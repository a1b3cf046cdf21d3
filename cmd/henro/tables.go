package main

import (
	"cmp"
	"errors"
	"fmt"
	"os"

	"github.com/spf13/cobra"

	"henro/actors/reading"
	"henro/actors/reading/far"
	"henro/cmd/config"
	"henro/messages/visible"
	"henro/store/archive/captures"
	"henro/store/archive/folder"
	"henro/store/report/tables"
)

// tableReader is what every command has that reads the tables of a crawl, running or not. Of a running one the state is
// a copy, and the archive is read where it lies.
type tableReader struct {
	look
	warc string
}

func (r *tableReader) register(cmd *cobra.Command) {
	cmd.Flags().StringVar(&r.warc, "warc", "",
		"`FOLDER` of the WARC files; default: warc in the directory of the crawl")
	r.control.register(cmd)
}

// read has fn read the tables.
func (r *tableReader) read(cmd *cobra.Command, fn func(*reading.Crawl, *tables.Source) error) (err error) {
	if _, err := os.Stat(r.warc); r.warc != "" && err != nil {
		return config.Usage("--warc: %v", err)
	}
	if is, err := far.In(r.dir, config.FindBucket, notesTo(cmd.ErrOrStderr()), func(a *captures.Archive) error {
		return fn(nil, far.Tables(a))
	}); is {
		return noArchive(err)
	}
	crawl, err := r.door().Still(cmd.Context())
	if err != nil {
		return lookError(r.dir, err)
	}
	if crawl.Unread != nil {
		fmt.Fprintf(cmd.ErrOrStderr(), "warning: %s; only the state is read\n", visible.Line(crawl.Unread.Error()))
	}
	if crawl.Copied != "" {
		fmt.Fprintln(cmd.ErrOrStderr(), "the crawl is running: this is its state of now")
	}
	defer func() { err = errors.Join(err, crawl.Close()) }()
	source := crawl.Tables()
	source.Archive = cmp.Or(r.warc, source.Archive)
	repaired, err := folder.Recover(source.Archive)
	for _, r := range repaired {
		notesTo(cmd.ErrOrStderr())(r.String())
	}
	if err != nil {
		return fmt.Errorf("look for files that were left open: %w", err)
	}
	return fn(crawl, source)
}
