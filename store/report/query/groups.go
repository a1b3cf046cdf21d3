package query

import (
	"errors"
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"

	"modernc.org/sqlite/vtab"

	"henro/store"
	"henro/store/report/tables"
)

// virtualGroups shows the rows of a table that are equal in the columns used once, and how many they are in a last
// column.
type virtualGroups struct {
	session *Session
	table   *tables.Table
}

// groupsMark stands behind the name of a table in a plan, before the columns in their order.
const groupsMark = "/"

func (v *virtualGroups) BestIndex(info *vtab.IndexInfo) error {
	flags, rows := narrow(v.table, info)
	var order []string
	used := info.ColUsed & (1<<len(v.table.Columns) - 1)
	terms := info.OrderBy
	if largestFirst(info, len(v.table.Columns)) {
		flags |= byRows
		terms = terms[1:]
	}
	consumed := len(info.OrderBy) > 0
	for _, o := range terms {
		if o.Desc || o.Column < 0 || o.Column >= len(v.table.Columns) {
			consumed = false
		} else if used&(1<<o.Column) != 0 {
			used &^= 1 << o.Column
			order = append(order, strconv.Itoa(o.Column))
		}
	}
	for i := range v.table.Columns {
		if used&(1<<i) != 0 {
			order = append(order, strconv.Itoa(i))
		}
	}
	info.OrderByConsumed = consumed
	info.IdxNum, info.IdxStr = flags, v.table.Name+groupsMark+strings.Join(order, ".")
	info.EstimatedRows, info.EstimatedCost = rows, float64(rows)
	return nil
}

// largestFirst asks SQLite for the LIMIT of a question that wants the groups with most rows first, and nothing else of
// the table: then it has to order no more of them than that.
func largestFirst(info *vtab.IndexInfo, rows int) bool {
	if len(info.OrderBy) == 0 || info.OrderBy[0].Column != rows || !info.OrderBy[0].Desc ||
		len(info.Constraints) != 1 || info.Constraints[0].Op != vtab.OpLIMIT || !info.Constraints[0].Usable {
		return false
	}
	for _, o := range info.OrderBy[1:] {
		if o.Desc || o.Column < 0 || o.Column >= rows {
			return false
		}
	}
	info.Constraints[0].ArgIndex = 0
	return true
}

func (v *virtualGroups) Open() (vtab.Cursor, error) {
	return &groupsCursor{cursor{session: v.session, table: v.table}}, nil
}
func (v *virtualGroups) Disconnect() error { return nil }
func (v *virtualGroups) Destroy() error    { return nil }

type groupsCursor struct{ cursor }

func (c *groupsCursor) Filter(plan int, name string, arguments []vtab.Value) error {
	c.stop()
	var q tables.Query
	if !narrowed(&q, plan, arguments) {
		c.batch, c.at = nil, 0
		return nil
	}
	var columns []int
	_, list, _ := strings.Cut(name, groupsMark)
	for word := range strings.SplitSeq(list, ".") {
		if i, err := strconv.Atoi(word); err == nil {
			columns = append(columns, i)
		}
	}
	return c.read(func(fn func(tables.Row) error) error {
		show := func(key []byte, rows uint64) error {
			g := &group{columns: columns, values: make([]tables.Value, len(columns)), rows: rows,
				last: len(c.table.Columns)}
			var err error
			for i := range columns {
				if g.values[i], key, err = tables.TakeKey(key); err != nil {
					return err
				}
			}
			if len(key) > 0 {
				return fmt.Errorf("%d bytes behind a key: %w", len(key), store.ErrCorrupt)
			}
			return fn(g)
		}
		if plan&byRows == 0 {
			return c.session.collapse(c.table, q, columns, show)
		}
		limit, ok := arguments[0].(int64)
		if !ok || limit < 0 { // as SQLite has it: all
			limit = math.MaxInt64
		}
		most := &largest{limit: limit}
		if err := c.session.collapse(c.table, q, columns, most.add); err != nil {
			return err
		}
		return most.each(show)
	})
}

// largest keeps the counts with most rows, the largest first, and of equal ones those that were added first.
type largest struct {
	limit int64
	kept  []counted
}

type counted struct {
	key  []byte
	rows uint64
}

func (l *largest) add(key []byte, rows uint64) error {
	var c counted // in the room of the one that goes
	if last := len(l.kept) - 1; int64(len(l.kept)) >= l.limit {
		if last < 0 || rows <= l.kept[last].rows {
			return nil
		}
		c, l.kept = l.kept[last], l.kept[:last]
	}
	c = counted{append(c.key[:0], key...), rows}
	at, _ := slices.BinarySearchFunc(l.kept, rows, func(c counted, rows uint64) int {
		if c.rows >= rows {
			return -1
		}
		return 1
	})
	l.kept = slices.Insert(l.kept, at, c)
	return nil
}

// each shows them, the largest first.
func (l *largest) each(fn func(key []byte, rows uint64) error) error {
	for _, c := range l.kept {
		if err := fn(c.key, c.rows); err != nil {
			return err
		}
	}
	return nil
}

// group is rows that are equal in some columns.
type group struct {
	columns []int
	values  []tables.Value
	rows    uint64
	last    int // the column of rows
}

func (g *group) Value(i int) tables.Value {
	if i == g.last {
		return tables.Value{Kind: tables.Integer, Int: int64(g.rows)}
	}
	for k, column := range g.columns {
		if column == i {
			return g.values[k]
		}
	}
	return tables.Value{}
}

// collapse counts the rows of a table, or reads what was counted before.
func (s *Session) collapse(table *tables.Table, q tables.Query, columns []int,
	fn func(key []byte, rows uint64) error) error {
	count := func(fn func(key []byte, rows uint64) error) error {
		return table.Collapse(s.source, q, columns, func(rows uint64) error { return s.reading(table.Name, rows) }, fn)
	}
	if s.source.Cache == "" || table.Name != "links" || q.Host != nil || q.URL != nil {
		return count(fn)
	}
	kept := keptCounts{dir: s.source.Cache, state: s.source.State, name: table.Name, columns: columns}
	err := kept.read(fn)
	if !errors.Is(err, errNotKept) {
		return err
	}
	return kept.write(count, fn)
}

// reading reports how many rows of a table were read, and whether the question was stopped.
func (s *Session) reading(table string, rows uint64) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.Reading != nil {
		s.Reading(table, int64(rows))
	}
	return s.asked.Err()
}
