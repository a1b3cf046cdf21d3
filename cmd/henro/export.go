package main

import (
	"cmp"
	"errors"
	"fmt"
	"io"
	"path/filepath"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"henro/actors/reading"
	"henro/cmd/config"
	"henro/messages/visible"
	"henro/store/archive/wacz"
	"henro/store/report/ccindex"
	"henro/store/report/export"
	"henro/store/report/tables"
)

func newExportCommand() *cobra.Command {
	var r tableReader
	var what, to string
	cmd := &cobra.Command{
		Use:   "export [flags] FILE",
		Short: "Write pages, links, hosts, captures or the stop list of a crawl to a file",
		Long:  exportHelp(),
		Example: `  henro export --dir crawl crawl.sqlite                         # all tables, with indexes and views
  henro export --dir crawl --what links links.parquet
  henro export --dir crawl --what pages --to tsv - | head`,
		Args: config.Takes(1, 1, "export to one file: henro export --what links --to csv --dir crawl links.csv (or -)"),
		RunE: func(cmd *cobra.Command, arguments []string) error {
			if to == "wacz" || to == "" && strings.HasSuffix(arguments[0], ".wacz") {
				return exportWACZ(cmd.OutOrStdout(), cmd.ErrOrStderr(), wacz.DefaultOptions(), r.dir, arguments[0])
			}
			o, err := exportOf(what, to, arguments[0])
			if err != nil {
				return err
			}
			o.Stdout = visible.Exact(cmd.OutOrStdout())
			return r.read(cmd, func(crawl *reading.Crawl, source *tables.Source) error {
				if crawl == nil && len(o.Tables) == len(tables.Tables()) { // all that a bucket has
					o.Tables = tables.Stateless
				}
				return runExport(cmd, source, o)
			})
		},
	}
	cmd.Flags().StringVar(&what, "what", "",
		"pages, links, hosts, captures, stoplist, some with commas, or all (default: pages; sqlite, cc-index: all)")
	cmd.Flags().StringVar(&to, "to", "",
		"csv, tsv, jsonl, parquet, sqlite, cc-index, or wacz, as henro wacz does (default: by the name, or csv)")
	r.register(cmd)
	return cmd
}

func exportHelp() string {
	var b strings.Builder
	b.WriteString(`Write tables of a crawl to a file; - is standard output. The crawl may be running: then its
state of now is exported. The file appears under its name once it is whole.

`)
	for _, t := range tables.Tables() {
		var names []string
		for _, c := range t.Columns {
			names = append(names, c.Name)
		}
		fmt.Fprintf(&b, "%-9s %s\n", t.Name, strings.Join(names, ", "))
	}
	b.WriteString(`
csv, tsv, jsonl and parquet hold one table, sqlite several, with indexes and views. cc-index is a folder of Parquet
files, one for each table: captures with the columns of Common Crawl's cc-index-table, links as edges.`)
	return b.String()
}

// exportOf reads the flags of an export.
func exportOf(what, to, path string) (export.Options, error) {
	o := export.Options{Format: to, Path: path}
	if o.Format == "" {
		o.Format = export.FormatOf(path)
		if end := filepath.Ext(path); o.Format == "" && len(end) > 1 && path != "-" {
			return o, config.Usage("%s: no format is called %s; give --to %s or wacz", path, end,
				strings.Join(export.Formats, ", "))
		}
		o.Format = cmp.Or(o.Format, "csv")
	}
	var all []string
	for _, t := range tables.Tables() {
		all = append(all, t.Name)
	}
	switch {
	case what == "all" || what == "" && (o.Format == "sqlite" || o.Format == ccindex.Format):
		o.Tables = all
	case what == "":
		o.Tables = []string{"pages"}
	default:
		o.Tables = strings.Split(what, ",")
	}
	for _, name := range o.Tables {
		if tables.Named(name) == nil {
			return o, config.Usage("--what %q: want one of %s", name, strings.Join(all, ", "))
		}
	}
	return o, nil
}

func runExport(cmd *cobra.Command, source *tables.Source, o export.Options) error {
	bar, start, rows := newBar(cmd.ErrOrStderr()), time.Now(), map[string]int64{}
	began := map[string]time.Time{}
	o.Progress = func(table string, n int64) {
		if began[table].IsZero() {
			began[table] = time.Now()
		}
		rows[table] = n
		bar.count(table, n, began[table])
	}
	err := export.Run(cmd.Context(), source, o)
	bar.end()
	if errors.Is(err, export.ErrFormat) {
		return config.Usage("%v", err)
	}
	if err != nil {
		return err
	}
	sayExported(cmd.ErrOrStderr(), o, rows, time.Since(start))
	return nil
}

// sayExported says what was written.
func sayExported(w io.Writer, o export.Options, rows map[string]int64, took time.Duration) {
	if o.Path == "-" {
		return
	}
	var words []string
	for _, name := range o.Tables {
		words = append(words, fmt.Sprintf("%d %s", rows[name], name))
	}
	fmt.Fprintf(w, "%s: %s in %v\n", o.Path, strings.Join(words, ", "), took.Round(10*time.Millisecond))
}
