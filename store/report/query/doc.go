// Package query asks the tables of a crawl in SQL.
//
// Every table of package tables is a virtual table of SQLite: a question reads the state where it lies, nothing is
// exported before. What narrows a table down to one host or one URL is handed down to the store. SQLite has no index of
// a virtual table, so a question that would read one again for every row of another (a join) gets a copy with indexes
// first, made once in a temporary database; the caller is notified.
//
// Questions go to SQLite as they are. Where one uses few columns of a table and wants them in order, or equal ones
// together (ORDER BY, GROUP BY, DISTINCT), the table gives its rows so: to count equal rows in a map and sort each
// once is faster than SQLite's sort of all rows. So it does for the list behind IN, since SQLite's tree of it grows
// fast at its end alone. An answer that took a second or more is kept in Source.Cache, if there is one, and shown
// again to the same question until the state changes.
//
// The alternative was a database kept beside the crawl. In-degree of 900,000 links (GROUP BY target ORDER BY n DESC
// LIMIT 20), each in seconds of processor in the same run at a load of 15: the virtual tables answer in 1.4 s. A
// database with the links as they are is filled in 9.2 s, takes 230 MB and answers in 0.2 s, which of 9 million links
// is two seconds, not one. One with numbers for URLs is filled in 6.8 s, takes 53 MB, and answers in 2.8 s, as the
// URLs of all links are looked up and sorted; only a question in numbers takes 0.1 s. So the first answer would take
// five times as long, the next still more than a second, and there would be a file to be locked, brought up to date
// and mended. Who asks much has it by henro export crawl.sqlite. Of 9 million links the virtual tables answer in 16 s
// of processor at a load of 15, in 37 s where SQLite sorts the rows.
//
// SQLite is modernc.org/sqlite: the sources of SQLite as Go, so that programs stay static on every system, and virtual
// tables are part of it. It makes a program some 6 MB larger and opens in a millisecond; ncruces/go-sqlite3 has a
// richer interface for virtual tables, but splits its engine off into a generated module that mirrors do not always
// serve.
//
// # Invariants
//
//   - Nothing is written but the temporary database, the cache, or the file that Save was asked for, and nothing is
//     read but the tables. SQLite itself refuses a question everything else, by its authorizer: see restrict.
//   - An answer that is kept is the one that SQLite would give: it depends on the state and the question alone. One
//     that read the archive, a clock or chance is not kept.
//   - An error of the store ends the question with that error, and never looks like the end of a table.
package query

import (
	"context"
	"database/sql"
	"database/sql/driver"
	"errors"
	"fmt"
	"strings"
	"sync"
	"time"

	"modernc.org/sqlite"

	"henro/store/report/tables"
)

// Views are the thesis' four tables, and links with names that need no quoting.
var Views = []struct{ Name, SQL string }{
	{"input_urls", `SELECT number AS no, url FROM pages WHERE depth = 0`},
	{"stop_list", `SELECT prefix AS url FROM stoplist`},
	{"parsed_urls", `SELECT number AS no, url FROM pages WHERE captured_at IS NOT NULL`},
	{"collected_links", `SELECT number AS no, "to" AS url FROM links`},
	{"edges",
		`SELECT "from" AS source, "to" AS target, from_host AS source_host, to_host AS target_host, kind, nofollow, ` +
			`anchor FROM links`},
}

// Session answers questions, one at a time.
type Session struct {
	source *tables.Source
	db     *sql.DB
	conn   *sql.Conn
	failed error // of a table, when SQLite ended the question for it

	own      bool            // a statement of the session is running: it may do what a question may not
	asked    context.Context // of the question that is being answered
	changing bool            // its answer may change while the state does not
	listed   map[string]bool // the tables that it reads for the list behind IN
	keptFrom time.Duration   // an answer that takes longer is kept
	mu       sync.Mutex      // Reading is called by one at a time

	// Told is called before a table is copied, which takes a while. It may be nil.
	Told func(table string)
	// Reading is called now and then with the rows of a table read so far. It may be nil.
	Reading func(table string, rows int64)
}

// Open starts a session.
func Open(ctx context.Context, source *tables.Source) (*Session, error) { return open(ctx, source, "") }

// open starts a session with a database file; "" is a temporary one that SQLite removes.
func open(ctx context.Context, source *tables.Source, path string) (s *Session, err error) {
	s = &Session{source: source, asked: ctx, keptFrom: keptFrom}
	engine := &sqlite.Driver{}
	if err := engine.RegisterModule(moduleName, &module{s}); err != nil {
		return nil, fmt.Errorf("start SQL: %w", err)
	}
	name, err := fileURI(path)
	if err != nil {
		return nil, fmt.Errorf("start SQL: %w", err)
	}
	s.db = sql.OpenDB(&connector{engine, name})
	defer func() {
		if err != nil {
			err = errors.Join(err, s.Close())
		}
	}()
	if s.conn, err = s.db.Conn(ctx); err != nil {
		return nil, fmt.Errorf("start SQL: %w", err)
	}
	for _, setting := range []string{"journal_mode = OFF", "synchronous = OFF", "cache_size = -65536",
		"temp_store = FILE"} {
		if err := s.exec(ctx, "PRAGMA "+setting); err != nil {
			return nil, err
		}
	}
	if err := s.attach(ctx); err != nil {
		return nil, err
	}
	return s, s.restrict(ctx)
}

// connector opens the one connection.
type connector struct {
	engine *sqlite.Driver
	name   string
}

func (c *connector) Connect(context.Context) (driver.Conn, error) { return c.engine.Open(c.name) }
func (c *connector) Driver() driver.Driver                        { return c.engine }

// Close ends the session and removes its temporary database.
func (s *Session) Close() error {
	var err error
	if s.conn != nil {
		err = s.conn.Close()
	}
	return errors.Join(err, s.db.Close())
}

// exec runs a statement of the session.
func (s *Session) exec(ctx context.Context, statement string) error {
	s.failed, s.own = nil, true
	defer func() { s.own = false }()
	if _, err := s.conn.ExecContext(ctx, statement); err != nil {
		return s.reason(err)
	}
	return nil
}

// reason prefers the error of a table to the one that SQLite made of it.
func (s *Session) reason(err error) error {
	if s.failed != nil {
		return s.failed
	}
	return refused(err)
}

// watched shows the rows of a table and says now and then how many there were. A question that was stopped reads no
// more, also while SQLite waits for rows in order.
func (s *Session) watched(table *tables.Table, q tables.Query, fn func(tables.Row) error) error {
	return table.Watched(s.asked, s.source, q, func(name string, rows int64) {
		s.mu.Lock()
		defer s.mu.Unlock()
		if s.Reading != nil {
			s.Reading(name, rows)
		}
	}, fn)
}

// quote makes a name of SQL.
func quote(name string) string { return `"` + strings.ReplaceAll(name, `"`, `""`) + `"` }
