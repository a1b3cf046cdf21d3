package query

import (
	"errors"
	"math"
	"math/bits"
	"strconv"
	"strings"

	"modernc.org/sqlite/vtab"

	"henro/store/report/tables"
)

const moduleName = "henro"

// module makes virtual tables: CREATE VIRTUAL TABLE x USING henro(pages).
type module struct{ session *Session }

func (m *module) Create(ctx vtab.Context, arguments []string) (vtab.Table, error) {
	table := tables.Named(arguments[3]) // behind the names of module, schema and table
	if table == nil {
		return nil, errors.New("no such table of a crawl")
	}
	return &virtual{m.session, table}, ctx.Declare("CREATE TABLE x (" + columnsOf(table) + ")")
}

func (m *module) Connect(ctx vtab.Context, arguments []string) (vtab.Table, error) {
	return m.Create(ctx, arguments)
}

// columnsOf declares the columns of a table.
func columnsOf(table *tables.Table) string {
	var columns []string
	for _, c := range table.Columns {
		columns = append(columns, quote(c.Name)+" "+TypeOf(c.Kind))
	}
	return strings.Join(columns, ", ")
}

// TypeOf is the type of a column in SQL.
func TypeOf(kind tables.Kind) string {
	switch kind {
	case tables.Integer:
		return "INTEGER"
	case tables.Boolean:
		return "BOOLEAN" // 0 or 1
	case tables.Real:
		return "REAL"
	default:
		return "TEXT" // moments as RFC 3339, which SQLite's functions of date and time read
	}
}

// virtual is a table of the crawl as SQLite sees it.
type virtual struct {
	session *Session
	table   *tables.Table
}

// What BestIndex passes to Filter, in IdxNum.
const (
	byHost   = 1 << 0
	byURL    = 1 << 1
	noPages  = 1 << 2 // neither number nor from of links: the first two columns
	noColumn = 1 << 3
)

// The costs that SQLite weighs: a table is read at some millions of rows per second, one page is found in one pass over
// its records.
const (
	rowsOfAll  = 1_000_000
	rowsOfHost = 10_000
	rowsOfURL  = 10
)

func (v *virtual) BestIndex(info *vtab.IndexInfo) error {
	flags, rows := narrow(v.table, info)
	info.IdxNum = flags
	if info.ColUsed&0b11 == 0 {
		info.IdxNum |= noPages
	}
	if info.ColUsed == 0 && flags == 0 {
		info.IdxNum |= noColumn
	}
	info.IdxStr = v.table.Name // for readAgain, which reads it in the plan
	listed := v.session.listed[v.table.Name]
	if terms := termsOf(info, len(v.table.Columns), listed); flags == 0 && len(terms) > 0 {
		info.OrderByConsumed = len(info.OrderBy) > 0
		info.IdxStr += " " + strings.Join(terms, " ")
	}
	info.EstimatedRows = rows
	info.EstimatedCost = float64(rows)
	if v.table.Name == "links" && info.IdxNum&(noPages|byURL) == 0 {
		info.EstimatedCost *= 2 // a pass over the pages before
	}
	return nil
}

// orderedMost is how many columns a question may use at most for the table to put its rows in order. SQLite takes twice
// the time for each row, and rows of few columns are often equal; whole rows SQLite sorts as fast.
const orderedMost = 3

// termsOf are the columns that a question uses, first those by which it wants the rows in order: "2" or, the largest
// first, "2-". There are none where the table does not put its rows in order. GROUP BY and DISTINCT want an order, too,
// so that equal rows come one behind the other; for the list behind IN SQLite does not ask for one.
func termsOf(info *vtab.IndexInfo, columns int, listed bool) (terms []string) {
	used := info.ColUsed
	if len(info.OrderBy) == 0 && !listed || bits.OnesCount64(used) > orderedMost {
		return nil
	}
	for _, o := range info.OrderBy {
		if o.Column < 0 || o.Column >= columns {
			return nil // the rowid
		}
		term := strconv.Itoa(o.Column)
		if o.Desc {
			term += "-"
		}
		if used&(1<<o.Column) != 0 { // a second term of a column changes nothing
			terms = append(terms, term)
		}
		used &^= 1 << o.Column
	}
	for i := range columns {
		if used&(1<<i) != 0 {
			terms = append(terms, strconv.Itoa(i))
		}
	}
	return terms
}

// narrow asks SQLite for the URL and the host that a table is narrowed down to; flags are for Filter, rows is about how
// many are left.
func narrow(table *tables.Table, info *vtab.IndexInfo) (flags, rows int64) {
	rows = rowsOfAll
	arguments := 0
	// The URL comes first among the arguments, so that Filter finds both in order.
	for _, key := range []struct {
		column int
		flag   int64
		rows   int64
	}{{table.URLColumn, byURL, rowsOfURL}, {table.HostColumn, byHost, rowsOfHost}} {
		for i := range info.Constraints {
			c := &info.Constraints[i]
			if key.column < 0 || c.Column != key.column || c.Op != vtab.OpEQ || !c.Usable || flags&key.flag != 0 {
				continue
			}
			c.ArgIndex = arguments
			arguments++
			flags |= key.flag
			rows = min(rows, key.rows)
		}
	}
	return flags, rows
}

func (v *virtual) Open() (vtab.Cursor, error) {
	return &cursor{session: v.session, table: v.table}, nil
}
func (v *virtual) Disconnect() error { return nil }
func (v *virtual) Destroy() error    { return nil }

// cursor reads rows in a goroutine of its own, so that reading the state and SQLite's work overlap.
type cursor struct {
	session *Session
	table   *tables.Table
	rows    chan []tables.Row
	done    chan struct{}
	err     error // of the reading, when rows is closed
	batch   []tables.Row
	at      int // in batch
	rowid   int64
	text    []byte
}

// batchRows is how many rows are handed over at a time: 256 rows of pages are some 100 kB.
const batchRows = 256

var errStopped = errors.New("stopped")

func (c *cursor) Filter(plan int, name string, arguments []vtab.Value) error {
	c.stop()
	q := tables.All
	if plan&noPages != 0 {
		q.Columns &^= 0b11
	}
	if plan&noColumn != 0 {
		q.Columns = 0
	}
	if !narrowed(&q, plan, arguments) {
		c.batch, c.at = nil, 0
		return nil
	}
	each := func(fn func(tables.Row) error) error { return c.session.watched(c.table, q, fn) }
	if words := strings.Fields(name)[1:]; len(words) > 0 {
		var terms []tables.Term
		q.Columns, q.Passing = 0, true
		for _, word := range words {
			number, desc := strings.CutSuffix(word, "-")
			column, err := strconv.Atoi(number)
			if err != nil {
				return err
			}
			q.Columns |= 1 << column
			terms = append(terms, tables.Term{Column: column, Desc: desc})
		}
		unordered := each
		each = func(fn func(tables.Row) error) error {
			return tables.InOrder(c.session.source, terms, unordered, func(row tables.Row, count uint64) error {
				for range count {
					if err := fn(row); err != nil {
						return err
					}
				}
				return nil
			})
		}
	}
	return c.read(each)
}

// read begins to read rows.
func (c *cursor) read(each func(fn func(tables.Row) error) error) error {
	rows, done := make(chan []tables.Row, 4), make(chan struct{})
	c.rows, c.done, c.err, c.rowid = rows, done, nil, 0
	go func() {
		defer close(rows)
		batch := make([]tables.Row, 0, batchRows)
		hand := func() error {
			select {
			case rows <- batch:
				batch = make([]tables.Row, 0, batchRows)
				return nil
			case <-done:
				return errStopped
			}
		}
		err := each(func(row tables.Row) error {
			if batch = append(batch, row); len(batch) == batchRows {
				return hand()
			}
			return nil
		})
		if err == nil {
			err = hand()
		}
		c.err = err
	}()
	return c.next()
}

// narrowed puts into q what narrow asked for; false: nothing can be found.
func narrowed(q *tables.Query, plan int, arguments []vtab.Value) bool {
	for _, key := range []struct {
		flag int
		to   **string
	}{{byURL, &q.URL}, {byHost, &q.Host}} {
		if plan&key.flag == 0 {
			continue
		}
		word, ok := arguments[0].(string)
		if !ok { // a number or NULL equals no text
			return false
		}
		word = strings.Clone(word)
		*key.to = &word
		arguments = arguments[1:]
	}
	return true
}

// stop ends the reading and waits for it.
func (c *cursor) stop() {
	if c.rows == nil {
		return
	}
	close(c.done)
	for range c.rows {
	}
	c.rows = nil
}

// next takes the next batch.
func (c *cursor) next() error {
	c.batch, c.at = nil, 0
	for len(c.batch) == 0 {
		batch, ok := <-c.rows
		if !ok {
			c.rows = nil
			if c.err != nil {
				c.session.failed = c.err
			}
			return c.err
		}
		c.batch = batch
	}
	return nil
}

func (c *cursor) Next() error {
	c.at++
	c.rowid++
	if c.at < len(c.batch) {
		return nil
	}
	return c.next()
}

func (c *cursor) Eof() bool { return c.at >= len(c.batch) }

func (c *cursor) Column(i int) (vtab.Value, error) {
	v := c.batch[c.at].Value(i)
	switch v.Kind {
	case tables.Integer, tables.Boolean:
		return v.Int, nil
	case tables.Real:
		if math.IsNaN(v.Real) {
			return nil, nil
		}
		return v.Real, nil
	case tables.Text:
		return v.Text, nil
	case tables.Moment:
		c.text = v.Append(c.text[:0])
		return string(c.text), nil
	}
	return nil, nil
}

func (c *cursor) Rowid() (int64, error) { return c.rowid, nil }

func (c *cursor) Close() error {
	c.stop()
	return nil
}
