package ccindex

import (
	"io"

	"github.com/parquet-go/parquet-go"
	"github.com/parquet-go/parquet-go/compress/zstd"

	"henro/store/report/tables"
)

// Rows of a row group are in memory until it is written: 100,000 rows of pages with URLs are some 20 MB.
const parquetRows = 100_000

type parquetWriter struct {
	out   *parquet.GenericWriter[any]
	table *tables.Table
	rows  []parquet.Row
	spare []parquet.Value
}

// Parquet returns a writer of the rows of a table to a file of Parquet, zstd, in which every column is optional. Close
// does not close the file.
func Parquet(out io.Writer, table *tables.Table) (Writer, error) {
	group := ordered{Group: parquet.Group{}, table: table}
	for i := range table.Columns {
		group.Group[table.Columns[i].Name] = parquet.Optional(node(table.Columns[i].Kind))
	}
	return &parquetWriter{
		table: table,
		out: parquet.NewGenericWriter[any](out, parquet.NewSchema(table.Name, group),
			parquet.Compression(&zstd.Codec{Level: zstd.SpeedFastest}),
			parquet.MaxRowsPerRowGroup(parquetRows), parquet.PageBufferSize(64<<10),
			parquet.CreatedBy("henro", "", "")),
	}, nil
}

func node(kind tables.Kind) parquet.Node {
	switch kind {
	case tables.Integer:
		return parquet.Int(64)
	case tables.Real:
		return parquet.Leaf(parquet.DoubleType)
	case tables.Boolean:
		return parquet.Leaf(parquet.BooleanType)
	case tables.Moment:
		return parquet.Timestamp(parquet.Millisecond)
	default:
		return parquet.String()
	}
}

// ordered is a group whose fields keep the order of the table; a parquet.Group sorts them by name.
type ordered struct {
	parquet.Group
	table *tables.Table
}

func (o ordered) Fields() []parquet.Field {
	byName := map[string]parquet.Field{}
	for _, f := range o.Group.Fields() {
		byName[f.Name()] = f
	}
	fields := make([]parquet.Field, len(o.table.Columns))
	for i := range fields {
		fields[i] = byName[o.table.Columns[i].Name]
	}
	return fields
}

func (w *parquetWriter) Write(row tables.Row) error {
	from := len(w.spare)
	for i := range w.table.Columns {
		var value parquet.Value
		switch v := row.Value(i); v.Kind {
		case tables.Integer, tables.Moment:
			value = parquet.Int64Value(v.Int)
		case tables.Real:
			value = parquet.DoubleValue(v.Real)
		case tables.Boolean:
			value = parquet.BooleanValue(v.Int != 0)
		case tables.Text:
			value = parquet.ByteArrayValue([]byte(v.Text))
		default:
			w.spare = append(w.spare, parquet.NullValue().Level(0, 0, i))
			continue
		}
		w.spare = append(w.spare, value.Level(0, 1, i))
	}
	w.rows = append(w.rows, w.spare[from:len(w.spare):len(w.spare)])
	if len(w.rows) == 256 {
		return w.flush()
	}
	return nil
}

func (w *parquetWriter) flush() error {
	_, err := w.out.WriteRows(w.rows)
	w.rows, w.spare = w.rows[:0], w.spare[:0]
	return err
}

func (w *parquetWriter) Close() error {
	if err := w.flush(); err != nil {
		return err
	}
	return w.out.Close()
}
