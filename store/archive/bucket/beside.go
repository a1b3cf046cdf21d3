package bucket

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/parquet-go/parquet-go"

	"henro/store/archive/cdxj"
	"henro/store/archive/warc"
	"henro/store/report/ccindex"
	"henro/store/report/tables"
)

// Beside are two tables that lie beside captures: pages, a row for each HTTP response that is stored whole, and edges,
// the links of these. They are read from the records of a WARC file, the same rows whenever that is done, and lie in
// two files of Parquet for each WARC file, until greater ones take their place.
type Beside struct {
	// Pages has the columns url, links, which counts rows of Edges, warc_filename and warc_record_offset. Edges has
	// number, source, target, kind, nofollow, anchor, source_host, target_host, fetch_time and these two, in order.
	Pages, Edges *tables.Table
	// Read shows the rows of the WARC file of a name, a page before its edges.
	Read func(file io.ReadSeeker, name string, row func(edge bool, row tables.Row) error) error
}

func (s *Beside) both() []*tables.Table { return []*tables.Table{s.Pages, s.Edges} }

const (
	gatheredPrefix = "part-"
	leastGathered  = 100_000 // rows of a part to which fewer do not come: a group of rows
	maxGathered    = 1 << 24 // and to which no more come: some 300 MB
)

// pair writes rows of pages and edges to two files.
type pair struct {
	paths  []string
	files  []*os.File
	outs   []*bufio.Writer
	tables []ccindex.Writer
	rows   int64
}

// newPair makes the files in a folder. Close them.
func (s *Beside) newPair(dir, name string) (p *pair, err error) {
	p = &pair{}
	for _, t := range s.both() {
		f, err := os.Create(filepath.Join(dir, name+"."+t.Name+tableSuffix))
		if err != nil {
			return p, err
		}
		out := bufio.NewWriterSize(f, 1<<18)
		p.paths, p.files, p.outs = append(p.paths, f.Name()), append(p.files, f), append(p.outs, out)
		w, err := ccindex.Parquet(out, t)
		if err != nil {
			return p, err
		}
		p.tables = append(p.tables, w)
	}
	return p, nil
}

func (p *pair) add(edge bool, row tables.Row) error {
	p.rows++
	if edge {
		return p.tables[1].Write(row)
	}
	return p.tables[0].Write(row)
}

// finish writes what is left.
func (p *pair) finish() (err error) {
	for i, t := range p.tables {
		err = errors.Join(err, t.Close(), p.outs[i].Flush())
	}
	return err
}

// remove closes the files and removes them.
func (p *pair) remove() (err error) {
	for _, f := range p.files {
		err = errors.Join(err, f.Close(), os.Remove(f.Name()))
	}
	return err
}

// WriteTables writes the tables of a WARC file, which has an index, beside it, shows each of them with the name that it
// has in the bucket, and removes it: the same bytes for the same file.
func (w Where) WriteTables(file string, show func(name, path string) error) (err error) {
	index, of := cdxj.Path(file), tableOf(filepath.Base(file))
	captures := index + tableSuffix
	err = WriteTable(captures, index)
	if err == nil {
		err = show(w.TableName(filepath.Base(index)), captures)
	}
	if err = errors.Join(err, os.Remove(captures)); err != nil || w.Beside == nil {
		return err
	}
	f, err := os.Open(file)
	if err != nil {
		return err
	}
	defer f.Close()
	p, err := w.Beside.newPair(filepath.Dir(file), filepath.Base(index))
	defer func() { err = errors.Join(err, p.remove()) }()
	if err == nil {
		err = w.Beside.Read(f, filepath.Base(file), p.add)
	}
	if err == nil {
		err = p.finish()
	}
	for i, t := range w.Beside.both() {
		if err == nil {
			err = show(w.besideName(t, of), p.paths[i])
		}
	}
	return err
}

func (w Where) besideName(t *tables.Table, of string) string { return w.tableName(t.Name, of) }

// besides lists the files of pages and of edges, by the name of a WARC file's index without its suffix, or of a part.
func (b *Bucket) besides(ctx context.Context) (found [2]map[string]Object, err error) {
	if b.where.Beside == nil {
		return found, nil
	}
	for i, t := range b.where.Beside.both() {
		if found[i], err = b.tablesOf(ctx, t.Name); err != nil {
			return found, err
		}
	}
	return found, nil
}

// eachRow shows the rows of a file of Parquet, which must have the columns of a table up to warc_record_offset; those
// behind it came later, and are empty where an earlier henro wrote it. A row is valid until the next.
func eachRow(file io.ReaderAt, size int64, t *tables.Table, show func(tables.Row) error) (err error) {
	defer func() {
		if p := recover(); p != nil { // what reads Parquet does so on some that is damaged
			err = fmt.Errorf("is no Parquet: %.100v", p)
		}
	}()
	f, err := parquet.OpenFile(file, size)
	if err != nil {
		return fmt.Errorf("is no Parquet: %w", err)
	}
	row, at := &readRow{values: make([]tables.Value, len(t.Columns))}, columnsOf(f)
	for i, c := range t.Columns {
		from, there := at[c.Name]
		if !there && i <= t.Column("warc_record_offset") {
			return fmt.Errorf("has no column %s", c.Name)
		} else if !there {
			from = -1
		}
		row.from = append(row.from, from)
		row.values[i].Kind = c.Kind
		row.kinds = append(row.kinds, c.Kind)
	}
	rows := parquet.MultiRowGroup(f.RowGroups()...).Rows()
	defer rows.Close()
	some := make([]parquet.Row, 64)
	for {
		n, err := rows.ReadRows(some)
		for _, one := range some[:n] {
			if err := row.take(one); err != nil {
				return err
			}
			if err := show(row); err != nil {
				return err
			}
		}
		if err == io.EOF {
			return nil
		} else if err != nil {
			return err
		}
	}
}

// readRow is a row that was read.
type readRow struct {
	from   []int // the columns of the file
	kinds  []tables.Kind
	values []tables.Value
}

// Value returns the value in a column.
func (r *readRow) Value(i int) tables.Value { return r.values[i] }

func (r *readRow) take(row parquet.Row) error {
	for i, from := range r.from {
		v, kind := value(row, from), r.kinds[i]
		switch to := &r.values[i]; {
		case v.IsNull():
			*to = tables.Value{}
		case kind == tables.Text && v.Kind() == parquet.ByteArray:
			*to = tables.Value{Kind: kind, Text: string(v.ByteArray())}
		case kind == tables.Boolean && v.Kind() == parquet.Boolean:
			*to = tables.Value{Kind: kind}
			if v.Boolean() {
				to.Int = 1
			}
		case (kind == tables.Integer || kind == tables.Moment) && v.Kind() == parquet.Int64:
			*to = tables.Value{Kind: kind, Int: v.Int64()}
		default:
			return fmt.Errorf("has a column of another kind: %d", i)
		}
	}
	return nil
}

// gather takes the pages and edges of WARC files into greater files of Parquet, by way of files in dir, and removes
// those that have been taken in. Where a WARC file has none, as an earlier henro brought it, they are read from it.
// What is cut off in between leaves rows twice, which the next removes.
func (x *Index) gather(ctx context.Context, dir, suffix string, commit func() error) error {
	for x.b.where.Beside != nil {
		objects, err := x.b.List(ctx)
		if err != nil {
			return err
		}
		there, err := x.b.besides(ctx)
		if err != nil {
			return err
		}
		kept, has := x.gathered(there)
		if err := x.sweepBeside(ctx, there, kept, has); err != nil {
			return err
		}
		fresh := ungathered(objects, has)
		if len(fresh) == 0 {
			return nil
		}
		next, err := x.gatherSome(ctx, dir, suffix, fresh, kept, objects, there)
		if err == nil {
			err = commit()
		}
		if err == nil {
			err = x.write(ctx, listOfParts{1, x.parts.Parts, x.parts.Gone, next})
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// gathered are the parts whose files are there, and the WARC files that they have, as tableOf calls them.
func (x *Index) gathered(there [2]map[string]Object) (kept []Part, has map[string]bool) {
	has = map[string]bool{}
	for _, p := range x.parts.Beside {
		if there[0][p.Name].Name == "" || there[1][p.Name].Name == "" {
			continue
		}
		kept = append(kept, p)
		for _, name := range p.Files {
			has[tableOf(name)] = true
		}
	}
	return kept, has
}

// sweepBeside removes what greater files have, and parts that are none.
func (x *Index) sweepBeside(ctx context.Context, there [2]map[string]Object, kept []Part, has map[string]bool) error {
	for _, objects := range there {
		for name, o := range objects {
			is := slices.ContainsFunc(kept, func(p Part) bool { return p.Name == name })
			if !is && (has[name] || strings.HasPrefix(name, gatheredPrefix)) {
				if err := x.b.remove(ctx, o.Name); err != nil {
					return err
				}
			}
		}
	}
	return nil
}

// ungathered are the WARC files that no part has, with an index beside them.
func ungathered(objects map[string]Object, has map[string]bool) (names []string) {
	for _, name := range slices.Sorted(maps.Keys(objects)) {
		if _, is := warc.CutSuffix(name); is && !has[tableOf(name)] && objects[cdxj.Path(name)].Name != "" {
			names = append(names, name)
		}
	}
	return names
}

// Edges shows the links of all pages, each once: a part has those of the files that it took in, and what has no file of
// edges yet is read from its records; or those of one capture, of which the length is known, from its record: the
// offset in its rows is 0. A row is valid until the next.
func (a *Archive) Edges(of *cdxj.Entry, show func(tables.Row) error) error {
	a.mu.Lock()
	x, objects := a.index, a.objects
	a.mu.Unlock()
	edge := func(edge bool, row tables.Row) error {
		if edge {
			return show(row)
		}
		return nil
	}
	if of != nil {
		f, err := a.File(of.Filename)
		if err != nil {
			return err
		}
		return x.read(io.NewSectionReader(f, of.Offset, of.Length), of.Filename, edge)
	}
	there, err := x.b.besides(context.Background())
	if err != nil {
		return err
	}
	kept, has := x.gathered(there)
	for _, p := range kept {
		if err == nil {
			err = x.rowsOf(p.Name, Object{}, there, 1, edge)
		}
	}
	for _, name := range ungathered(objects, has) {
		if err == nil {
			err = x.rowsOf(tableOf(name), objects[name], there, 1, edge)
		}
	}
	return err
}

// gatherSome writes a part of files that are fresh and of parts that are no longer much greater, and returns the parts
// that there are then.
func (x *Index) gatherSome(ctx context.Context, dir, suffix string, fresh []string, kept []Part,
	objects map[string]Object, there [2]map[string]Object) (next []Part, err error) {
	of := x.b.where.Beside
	made := Part{Name: nextName(gatheredPrefix, x.parts.Beside, suffix)}
	p, err := of.newPair(dir, made.Name)
	defer func() { err = errors.Join(err, p.remove()) }()
	for _, name := range fresh {
		if err == nil && p.rows < maxGathered {
			made.Files, err = append(made.Files, name), x.rowsOf(tableOf(name), objects[name], there, 0, p.add)
		}
	}
	keep := len(kept)
	for ; err == nil && keep > 0; keep-- {
		other := kept[keep-1]
		if other.Lines > max(2*p.rows, leastGathered) || other.Lines >= maxGathered {
			break
		}
		made.Files, err = append(made.Files, other.Files...), x.rowsOf(other.Name, Object{}, there, 0, p.add)
	}
	if err == nil {
		err = errors.Join(p.finish(), ctx.Err())
	}
	for i, t := range of.both() {
		if err == nil {
			err = x.b.putFile(ctx, x.b.where.besideName(t, made.Name), p.paths[i])
		}
	}
	made.Lines = p.rows
	return append(slices.Clone(kept[:keep]), made), err
}

// rowsOf shows the rows of a WARC file, or of a part: of its tables from the first on, which is 0 or 1.
func (x *Index) rowsOf(of string, file Object, there [2]map[string]Object, first int,
	show func(edge bool, row tables.Row) error) error {
	from := x.b.where.Beside
	if there[0][of].Name == "" || there[1][of].Name == "" {
		return x.read(x.b.File(file), file.Name, show)
	}
	for i, t := range from.both()[first:] {
		o := there[first+i][of]
		err := eachRow(x.b.File(o), o.Size, t, func(row tables.Row) error { return show(first+i == 1, row) })
		if err != nil {
			return fmt.Errorf("%v: %s: %w", x.b, o.Name, err)
		}
	}
	return nil
}

// read shows the rows of a WARC file, or of a part of it.
func (x *Index) read(file io.ReadSeeker, name string, show func(edge bool, row tables.Row) error) error {
	if err := x.b.where.Beside.Read(file, name, show); err != nil {
		return fmt.Errorf("%v: %s: %w", x.b, name, err)
	}
	return nil
}
