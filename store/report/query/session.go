package query

import (
	"context"
	"database/sql"
	"fmt"
	"os"
	"strconv"
	"strings"
	"time"

	"henro/store/report/tables"
)

// attach makes the virtual tables and the views. They are in the schema temp, copies in main: a name that is in both
// means the former.
func (s *Session) attach(ctx context.Context) error {
	for _, t := range tables.Tables() {
		if err := s.exec(ctx, fmt.Sprintf("CREATE VIRTUAL TABLE temp.%s USING %s(%s)", quote(t.Name), moduleName,
			t.Name)); err != nil {
			return err
		}
	}
	for _, v := range Views {
		if err := s.exec(ctx, fmt.Sprintf("CREATE TEMP VIEW %s AS %s", quote(v.Name), v.SQL)); err != nil {
			return err
		}
	}
	return nil
}

// Answer is the rows that answer a question.
type Answer struct {
	Columns []string
	session *Session
	rows    *sql.Rows // nil: of an answer that was kept
	values  []any
	targets []any
	kept    *kept // the answer that was kept, or is to be; nil: neither
	began   time.Time
}

// Ask asks a question: one statement that only reads.
func (s *Session) Ask(ctx context.Context, question string) (*Answer, error) {
	s.asked, s.changing, s.listed = ctx, false, map[string]bool{}
	a := &Answer{session: s, began: time.Now()}
	var found bool
	if a.kept, found = s.kept(question); found {
		a.Columns, a.values = a.kept.Columns, make([]any, len(a.kept.Columns))
		return a, nil
	}
	if err := s.copyForJoins(ctx, question); err != nil {
		return nil, err
	}
	if err := s.exec(ctx, "PRAGMA query_only = ON"); err != nil {
		return nil, err
	}
	var err error
	if a.rows, err = s.conn.QueryContext(ctx, question); err != nil {
		return nil, s.reason(err)
	}
	if a.Columns, err = a.rows.Columns(); err != nil {
		return nil, err
	}
	a.values, a.targets = make([]any, len(a.Columns)), make([]any, len(a.Columns))
	for i := range a.values {
		a.targets[i] = &a.values[i]
	}
	if s.changing {
		a.kept = nil
	}
	return a, nil
}

// Next returns the next row: nil, int64, float64, string, bool or []byte each, valid until the call after it; nil at
// the end.
func (a *Answer) Next() ([]any, error) {
	if a.rows == nil {
		if !a.kept.show(a.values) {
			return nil, nil
		}
		return a.values, nil
	}
	if !a.rows.Next() {
		if err := a.rows.Err(); err != nil {
			return nil, a.session.reason(err)
		}
		if a.kept != nil && time.Since(a.began) >= a.session.keptFrom {
			a.kept.Columns = a.Columns
			a.kept.write()
		}
		a.kept = nil
		return nil, nil
	}
	if err := a.rows.Scan(a.targets...); err != nil {
		return nil, err
	}
	if a.kept != nil && !a.kept.add(a.values) {
		a.kept = nil
	}
	return a.values, nil
}

// Close ends an answer, also before its end.
func (a *Answer) Close() error {
	if a.rows == nil {
		return nil
	}
	return a.rows.Close()
}

// copyForJoins copies the tables that a question would read again and again.
func (s *Session) copyForJoins(ctx context.Context, question string) error {
	for {
		again, err := s.readAgain(ctx, question)
		if err != nil || again == "" {
			return err
		}
		if s.Told != nil {
			s.Told(again)
		}
		if err := s.copy(ctx, again); err != nil {
			return fmt.Errorf("copy the table %s: %w", again, err)
		}
		if err := s.exec(ctx, "DROP TABLE temp."+quote(again)); err != nil {
			return err
		}
	}
}

// readAgain returns the first virtual table in SQLite's plan for a question that is read more than once: in a loop
// within a loop, or in a subquery that depends on the row. SQLite does not make automatic indexes of virtual tables.
// It also notes which tables are read for the list behind IN.
func (s *Session) readAgain(ctx context.Context, question string) (table string, err error) {
	if err := s.exec(ctx, "PRAGMA query_only = ON"); err != nil {
		return "", err
	}
	rows, err := s.conn.QueryContext(ctx, "EXPLAIN QUERY PLAN "+question)
	if err != nil {
		return "", nil // asking the question itself says better what is wrong
	}
	defer rows.Close()
	loops, correlated, listed := map[int]int{}, map[int]bool{}, map[int]bool{}
	for rows.Next() {
		var id, parent, unused int
		var detail string
		if err := rows.Scan(&id, &parent, &unused, &detail); err != nil {
			return "", nil // the answer to another kind of statement
		}
		correlated[id] = correlated[parent] || strings.HasPrefix(detail, "CORRELATED")
		listed[id] = listed[parent] || strings.HasPrefix(detail, "LIST SUBQUERY")
		if !strings.HasPrefix(detail, "SCAN ") && !strings.HasPrefix(detail, "SEARCH ") {
			continue
		}
		loops[parent]++
		_, plan, virtual := strings.Cut(detail, "VIRTUAL TABLE INDEX ")
		number, name, _ := strings.Cut(plan, ":")
		name, _, _ = strings.Cut(name, " ")
		if virtual && listed[parent] {
			s.listed[name] = true
		}
		if !virtual || loops[parent] == 1 && !correlated[parent] {
			continue
		}
		flags, err := strconv.Atoi(number)
		if err != nil || name == "" || cheap(name, flags) {
			continue
		}
		return name, nil
	}
	return "", rows.Err()
}

// cheap reports whether a table answers to this plan within microseconds.
func cheap(table string, plan int) bool {
	return table == "hosts" && plan&byHost != 0 || table == "links" && plan&byURL != 0 && plan&noPages != 0
}

// copy copies a table into the schema main, with its indexes.
func (s *Session) copy(ctx context.Context, name string) error {
	t := tables.Named(name)
	statements := []string{
		"PRAGMA query_only = OFF",
		fmt.Sprintf("CREATE TABLE main.%s (%s)", quote(name), columnsOf(t)),
		fmt.Sprintf("INSERT INTO main.%s SELECT * FROM temp.%s", quote(name), quote(name)),
	}
	for _, column := range t.Indexes {
		statements = append(statements, fmt.Sprintf("CREATE INDEX main.%s ON %s (%s)", quote(name+"_by_"+column),
			quote(name), quote(column)))
	}
	for _, statement := range statements {
		if err := s.exec(ctx, statement); err != nil {
			return err
		}
	}
	return nil
}

// Save writes tables into a new SQLite database, with their indexes and the views that need no others. Its file may be
// there if it is empty. progress may be nil.
func Save(ctx context.Context, source *tables.Source, path string, progress func(table string, rows int64),
	names ...string) (err error) {
	if info, err := os.Stat(path); err == nil && info.Size() > 0 {
		return fmt.Errorf("%s exists", path)
	}
	s, err := open(ctx, source, path)
	if err != nil {
		return err
	}
	defer func() {
		if closed := s.Close(); err == nil {
			err = closed
		}
	}()
	has := map[string]bool{}
	s.Reading = progress
	for _, name := range names {
		if err := s.copy(ctx, name); err != nil {
			return fmt.Errorf("table %s: %w", name, err)
		}
		has[name] = true
	}
	for _, v := range Views {
		if _, from, _ := strings.Cut(v.SQL, " FROM "); has[strings.Fields(from)[0]] {
			if err := s.exec(ctx, fmt.Sprintf("CREATE VIEW main.%s AS %s", quote(v.Name), v.SQL)); err != nil {
				return err
			}
		}
	}
	return nil
}
