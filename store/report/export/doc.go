// Package export writes the tables of a crawl to files that other tools open: CSV, TSV, JSON Lines, Parquet and SQLite.
//
// # Invariants
//
//   - A file has its name once it is whole: until then it is called FILE.part, and what ends the export removes it.
//   - Memory does not grow with the crawl: rows pass one by one, and are put in order in temporary files beside the
//     export.
package export

import (
	"bufio"
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"path/filepath"
	"slices"
	"strings"

	"henro/store/fsync"
	"henro/store/report/ccindex"
	"henro/store/report/query"
	"henro/store/report/tables"
)

// ErrFormat is returned for an unknown format, or one that cannot hold what is to be written.
var ErrFormat = errors.New("export")

// Writer takes the rows of one table.
type Writer = ccindex.Writer

// streams are the formats that hold one table and can be written to a pipe.
var streams = map[string]func(io.Writer, *tables.Table) (Writer, error){
	"csv":     newCSV,
	"tsv":     newTSV,
	"jsonl":   newJSONLines,
	"parquet": ccindex.Parquet,
	ccindex.Format: func(out io.Writer, table *tables.Table) (Writer, error) {
		return ccindex.Through(table, func(t *tables.Table) (Writer, error) { return ccindex.Parquet(out, t) })
	},
}

// Formats are all formats.
var Formats = []string{"csv", "tsv", "jsonl", "parquet", "sqlite", ccindex.Format}

// extensions are the ends of names that stand for a format under another name.
var extensions = map[string]string{"db": "sqlite", "sqlite3": "sqlite", "ndjson": "jsonl"}

// FormatOf returns the format that the name of a file ends in; empty: none that is known.
func FormatOf(path string) string {
	end := strings.ToLower(strings.TrimPrefix(filepath.Ext(path), "."))
	if end = cmp.Or(extensions[end], end); slices.Contains(Formats, end) {
		return end
	}
	return ""
}

// Options say what is written where.
type Options struct {
	Tables   []string                       // of package tables; several for sqlite and cc-index only
	Format   string                         // one of Formats
	Path     string                         // of the file, of cc-index the folder; "-": Stdout
	Stdout   io.Writer                      // for Path "-"
	Progress func(table string, rows int64) // called now and then; may be nil
}

// Run writes a table, or several.
func Run(ctx context.Context, source *tables.Source, o Options) error {
	stream := streams[o.Format]
	switch {
	case !slices.Contains(Formats, o.Format):
		return fmt.Errorf("%w: unknown format %q: want one of %s", ErrFormat, o.Format, strings.Join(Formats, ", "))
	case len(o.Tables) != 1 && o.Format != "sqlite" && (o.Format != ccindex.Format || o.Path == "-"):
		return fmt.Errorf("%w: %s holds one table; sqlite holds all", ErrFormat, o.Format)
	case o.Path == "-" && stream == nil:
		return fmt.Errorf("%w: %s is not written to a pipe, but to a file", ErrFormat, o.Format)
	}
	for _, name := range o.Tables {
		if tables.Named(name) == nil {
			return fmt.Errorf("%w: no table %q", ErrFormat, name)
		}
	}
	if o.Path != "-" && source.Temp == "" {
		own := *source
		own.Temp = filepath.Dir(o.Path) // a disk with room for the export has room for putting it in order
		source = &own
	}
	part := o.Path + ".part"
	switch {
	case o.Format == "sqlite":
		return fsync.Replace(o.Path, part, 0o666, func(io.Writer) error {
			return query.Save(ctx, source, part, o.Progress, o.Tables...)
		})
	case o.Path == "-":
		return writeTable(ctx, source, o, o.Tables[0], stream, o.Stdout)
	}
	file := func(name, path string) error {
		return fsync.Replace(path, path+".part", 0o666, func(to io.Writer) error {
			return writeTable(ctx, source, o, name, stream, to)
		})
	}
	if o.Format == ccindex.Format {
		return ccindex.Files(o.Path, o.Tables, file)
	}
	return file(o.Tables[0], o.Path)
}

func writeTable(ctx context.Context, source *tables.Source, o Options, name string,
	stream func(io.Writer, *tables.Table) (Writer, error), to io.Writer) error {
	table := tables.Named(name)
	out := bufio.NewWriterSize(to, 1<<18)
	w, err := stream(out, table)
	if err != nil {
		return err
	}
	q := tables.All
	q.Passing = true
	err = table.Watched(ctx, source, q, o.Progress, w.Write)
	if err == nil {
		err = w.Close()
	}
	if err == nil {
		err = out.Flush()
	}
	if err != nil {
		return fmt.Errorf("export %s: %w", table.Name, err)
	}
	return nil
}
