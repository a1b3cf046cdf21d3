package bucket

import (
	"bufio"
	"context"
	"errors"
	"io"
	"iter"
	"net/url"
	"os"
	"path"
	"path/filepath"
	"strings"

	"henro/store/archive/cdxj"
	"henro/store/report/ccindex"
	"henro/store/report/tables"
)

// TablesFolder is the folder of a bucket in which tables lie as Parquet: below it one for each, captures, edges and
// pages; in that crawl=NAME, as engines take partitions apart; and in that a file for each WARC file, or for many,
// which takes their place. Of captures there is one for each part of the index.
const TablesFolder = "tables"

const (
	tableSuffix   = ".parquet"
	capturesTable = "captures"
)

// tableFolder is the folder of a table of an archive, which is called as its folder, or as its bucket.
func (w Where) tableFolder(table string) string {
	return path.Join(TablesFolder, table, "crawl="+url.PathEscape(path.Base(path.Join(w.Bucket, w.Prefix))))
}

// TableName is where the captures of a WARC file lie as Parquet, by the name of its index; also those of a part.
func (w Where) TableName(index string) string {
	return w.tableName(capturesTable, strings.TrimSuffix(index, cdxj.Suffix))
}

func (w Where) tableName(table, of string) string {
	return path.Join(w.tableFolder(table), of+tableSuffix)
}

// table writes captures, with the columns of Common Crawl's cc-index-table.
type table struct {
	of     *tables.Table
	out    *bufio.Writer
	rows   ccindex.Writer
	failed error // of writing
}

func newTable(out io.Writer) (*table, error) {
	t := &table{of: tables.Captures(), out: bufio.NewWriterSize(out, 1<<18)}
	var err error
	t.rows, err = ccindex.Through(t.of, func(shaped *tables.Table) (ccindex.Writer, error) {
		return ccindex.Parquet(t.out, shaped)
	})
	return t, err
}

// add adds what a line of an index lists. What is no line is passed over: henro check names it.
func (t *table) add(line []byte) {
	if t.failed != nil {
		return
	}
	_ = t.of.Each(&tables.Source{Lines: func(_ string, visit func([]byte) bool) error { visit(line); return nil }},
		tables.All, func(row tables.Row) error { t.failed = t.rows.Write(row); return nil })
}

// through are the lines, each of which is added as it passes.
func (t *table) through(lines iter.Seq[[]byte]) iter.Seq[[]byte] {
	return func(yield func([]byte) bool) {
		for line := range lines {
			if t.add(line); !yield(line) {
				return
			}
		}
	}
}

// close writes what is left. It does not close the file.
func (t *table) close() error { return errors.Join(t.failed, t.rows.Close(), t.out.Flush()) }

// writeTable writes a file of Parquet.
func writeTable(to string, lines iter.Seq[[]byte]) error {
	f, err := os.Create(to)
	if err != nil {
		return err
	}
	t, err := newTable(f)
	if err == nil {
		for line := range lines {
			t.add(line)
		}
		err = t.close()
	}
	return errors.Join(err, f.Close())
}

// WriteTable writes the captures of an index as Parquet: the same bytes for the same index.
func WriteTable(to, index string) error {
	f, err := os.Open(index)
	if err != nil {
		return err
	}
	defer f.Close()
	var failed error
	err = writeTable(to, ScanFile(f, "", &failed))
	return errors.Join(err, failed)
}

// Tables lists the tables of an archive, by the name of the WARC file's index without its suffix, or of the part.
func (b *Bucket) Tables(ctx context.Context) (map[string]Object, error) {
	return b.tablesOf(ctx, capturesTable)
}

func (b *Bucket) tablesOf(ctx context.Context, table string) (map[string]Object, error) {
	folder := b.where.tableFolder(table)
	objects, err := b.list(ctx, folder)
	found := map[string]Object{}
	for name, o := range objects {
		if of, is := strings.CutSuffix(name, tableSuffix); is {
			o.Name = path.Join(folder, name)
			found[of] = o
		}
	}
	return found, err
}

// putFile writes a file to an object.
func (b *Bucket) putFile(ctx context.Context, name, from string) error {
	f, err := os.Open(from)
	if err != nil {
		return err
	}
	defer f.Close()
	info, err := f.Stat()
	if err != nil {
		return err
	}
	return b.put(ctx, name, f, info.Size())
}

// tabulate writes the table of a part that has none, by way of a file in dir.
func (x *Index) tabulate(ctx context.Context, dir string, part int) error {
	p := x.parts.Parts[part]
	to := filepath.Join(dir, p.Name+tableSuffix)
	var failed error
	err := errors.Join(writeTable(to, x.b.lines(x.lists[part], "", &failed)), failed)
	if err == nil {
		err = x.b.putFile(ctx, x.b.where.TableName(p.Name), to)
	}
	return errors.Join(err, os.Remove(to))
}
