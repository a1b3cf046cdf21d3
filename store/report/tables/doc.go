// Package tables shows a crawl as tables: pages, links, hosts, captures and the stop list.
//
// Whoever exports a crawl, asks it in SQL or counts in it reads these tables and nothing below them, so that a column
// means the same in every file and every answer. A row is read where it lies and its values are made when they are
// asked for.
//
// # Invariants
//
//   - Memory does not grow with the crawl: a row at a time, and Source.Memory bytes for putting the pages of links in
//     order.
//   - A row given to the function of Each is never changed afterwards, so it may be kept, unless the query lets it
//     pass.
//   - What Query narrows down is exact: rows that do not fit are not shown, those that fit all are.
package tables

import (
	"context"
	"errors"
	"slices"
	"strconv"
	"time"

	"henro/messages/weburl"
	"henro/store"
)

// Kind is what the values of a column are.
type Kind uint8

// The kinds of values. Any column but the first of a table may be empty in a row.
const (
	Empty   Kind = iota
	Integer      // Value.Int
	Real         // Value.Real
	Text         // Value.Text
	Boolean      // Value.Int, 0 or 1
	Moment       // Value.Int, milliseconds since 1970; written as RFC 3339 in UTC
)

// Value is one value of a row.
type Value struct {
	Kind Kind
	Int  int64
	Real float64
	Text string
}

// Append writes the value as text behind b; nothing for an empty one.
func (v Value) Append(b []byte) []byte {
	switch v.Kind {
	case Integer:
		return strconv.AppendInt(b, v.Int, 10)
	case Real:
		return strconv.AppendFloat(b, v.Real, 'g', -1, 64)
	case Text:
		return append(b, v.Text...)
	case Boolean:
		return strconv.AppendBool(b, v.Int != 0)
	case Moment:
		t := time.UnixMilli(v.Int).UTC()
		if v.Int%1000 != 0 {
			return t.AppendFormat(b, "2006-01-02T15:04:05.000Z07:00")
		}
		return t.AppendFormat(b, time.RFC3339)
	}
	return b
}

// String returns the value as text.
func (v Value) String() string { return string(v.Append(nil)) }

func integer[N int | uint8 | uint16 | int64 | uint64](n N) Value {
	return Value{Kind: Integer, Int: int64(n)}
}

func text(s string) Value {
	if s == "" {
		return Value{}
	}
	return Value{Kind: Text, Text: s}
}

func boolean(b bool) Value {
	if b {
		return Value{Kind: Boolean, Int: 1}
	}
	return Value{Kind: Boolean}
}

func moment(t time.Time) Value {
	if t.IsZero() {
		return Value{}
	}
	return Value{Kind: Moment, Int: t.UnixMilli()}
}

// real32 makes a value of a number that is kept in 32 bits, without the digits that it never had.
func real32(f float32) Value {
	r, err := strconv.ParseFloat(strconv.FormatFloat(float64(f), 'g', 6, 32), 64)
	if err != nil {
		return Value{} // not a number
	}
	return Value{Kind: Real, Real: r}
}

// Column is one column of a table.
type Column struct {
	Name string
	Kind Kind
	Doc  string // what it holds, in a few words
}

// column is a Column with its value in a row of type R.
type column[R any] struct {
	name  string
	kind  Kind
	doc   string
	value func(row *R) Value
}

func columnsOf[R any](all []column[R]) []Column {
	out := make([]Column, len(all))
	for i, c := range all {
		out[i] = Column{c.name, c.kind, c.doc}
	}
	return out
}

// valueAt is the value of a row in the i-th column; none where there is no such column.
func valueAt[R any](columns []column[R], row *R, i int) Value {
	if i >= len(columns) {
		return Value{}
	}
	return columns[i].value(row)
}

// Row is one row.
type Row interface {
	// Value returns the value in the i-th column of the row's table.
	Value(i int) Value
}

// Query says what is wanted of a table.
type Query struct {
	// Columns has bit i set when column i is wanted; from the 64th on all are. The others may be left empty; without
	// any, rows are only counted.
	Columns uint64
	// Host and URL narrow the rows down to those with this value in the table's HostColumn or URLColumn; nil: all.
	Host, URL *string
	// Passing lets a row and the texts of its values be valid only until the function of Each returns, which spares
	// millions of strings.
	Passing bool
}

// All wants everything.
var All = Query{Columns: ^uint64(0)}

// Table is one table.
type Table struct {
	Name    string
	Doc     string
	Columns []Column
	// HostColumn and URLColumn are what Query can narrow down by without reading everything; -1: nothing.
	HostColumn, URLColumn int
	// Indexes are the columns, by name, that a copy in a database should have indexes of.
	Indexes []string

	each func(*Source, Query, func(Row) error) error
}

// Each calls fn for the rows wanted until it returns an error.
func (t *Table) Each(s *Source, q Query, fn func(Row) error) error { return t.each(s, q, fn) }

// watchedRows is how many rows lie between two looks of Watched.
const watchedRows = 1 << 14

// Watched is Each that says now and then, and at the end, how many rows were read, and ends when it is stopped.
// progress may be nil.
func (t *Table) Watched(ctx context.Context, s *Source, q Query, progress func(table string, rows int64),
	fn func(Row) error) error {
	rows := int64(0)
	look := func() error {
		if progress != nil {
			progress(t.Name, rows)
		}
		return ctx.Err()
	}
	if err := t.each(s, q, func(row Row) error {
		if rows++; rows%watchedRows == 0 {
			if err := look(); err != nil {
				return err
			}
		}
		return fn(row)
	}); err != nil {
		return err
	}
	return look()
}

// Column returns the place of a column, or -1.
func (t *Table) Column(name string) int {
	return slices.IndexFunc(t.Columns, func(c Column) bool { return c.Name == name })
}

// Named returns the table of a name, or nil.
func Named(name string) *Table {
	all := Tables()
	if i := slices.IndexFunc(all, func(t *Table) bool { return t.Name == name }); i >= 0 {
		return all[i]
	}
	return nil
}

// ErrNoState is returned for a table that is read from a state where there is none.
var ErrNoState = errors.New("a bucket has captures and links alone (henro page, henro sql, henro export): for what a " +
	"crawl knows beside them, name its directory, or its master as --master")

// Stateless are the tables that there are without a state.
var Stateless = []string{"captures", "links"}

// Source is what the tables are read from. No process may write to the state meanwhile: it is opened for reading, or a
// copy.
type Source struct {
	State   *store.State
	Archive string // folder of the WARC files and their indexes; empty: there are no captures
	// Lines shows those of an index that begin with a prefix, where captures are not in a folder; nil: they are.
	Lines func(prefix string, visit func(line []byte) bool) error
	// Links shows links, where there is no state; nil: there are none.
	Links func(q Query, fn func(Row) error) error
	// Stops calls fn for what the hosts of a partition keep of their stop lists; nil: they keep nothing.
	Stops  func(disk *store.Partition, fn func(Stop) error) error
	Temp   string // folder for temporary files; empty: that of the system
	Cache  string // folder for answers that hold as long as the state is the same; empty: none are kept
	Memory int    // bytes for putting rows in order; 0: the default of each use
}

// partitions calls fn for the partitions that may hold what is wanted.
func (s *Source) partitions(q Query, fn func(*store.Partition) error) error {
	var host string
	switch {
	case s.State == nil:
		return ErrNoState
	case q.Host != nil:
		host = *q.Host
	case q.URL != nil:
		host = weburl.HostOf(*q.URL)
	default:
		for _, p := range s.State.Partitions {
			if err := fn(p); err != nil {
				return err
			}
		}
		return nil
	}
	return fn(s.State.Partitions[s.State.PartitionOf(host)])
}

// blank is a row of which nothing is wanted.
type blank struct{}

func (blank) Value(int) Value { return Value{} }

// blanks shows n of them.
func blanks(n uint64, fn func(Row) error) error {
	for range n {
		if err := fn(blank{}); err != nil {
			return err
		}
	}
	return nil
}
