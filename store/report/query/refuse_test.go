package query

import (
	"errors"
	"strings"
	"syscall"
	"testing"

	"modernc.org/sqlite/vtab"

	"henro/store"
	"henro/store/report/tables"
	"henro/store/report/tables/tablestest"
)

// An error of the store, or of the disk, ends a question with that error and not with what SQLite makes of it.
func TestErrorsKeepTheirNames(t *testing.T) {
	state := tablestest.State(t, tablestest.Web{Pages: 10, Out: 1, Hosts: 2})
	s, err := Open(t.Context(), &tables.Source{State: state, Stops: tablestest.Stops})
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	if err := s.exec(t.Context(), "CREATE VIRTUAL TABLE temp.x USING henro(nothing)"); err == nil ||
		!strings.Contains(err.Error(), "no such table of a crawl") {
		t.Errorf("a table that is none: %v", err)
	}
	if err := s.exec(t.Context(), "PRAGMA max_page_count = 2"); err != nil {
		t.Fatal(err)
	}
	if err := s.exec(t.Context(), "CREATE TABLE main.a AS SELECT zeroblob(1000000)"); !errors.Is(err, syscall.ENOSPC) {
		t.Errorf("a disk that is full: %v", err)
	}
	s.failed = store.ErrCorrupt
	if err := s.reason(errors.New("SQL logic error")); err != store.ErrCorrupt {
		t.Errorf("damage of the store: %v", err)
	}
}

// Rows are handed over a few at a time, however many there are.
func TestRowsAreHandedOverInBatches(t *testing.T) {
	c := &cursor{session: &Session{}}
	if err := c.read(func(fn func(tables.Row) error) error {
		for range 3 * batchRows / 2 {
			if err := fn(nil); err != nil {
				return err
			}
		}
		return nil
	}); err != nil || len(c.batch) != batchRows {
		t.Errorf("%d rows at first, %v", len(c.batch), err)
	}
	if err := c.next(); err != nil || len(c.batch) != batchRows/2 {
		t.Errorf("%d rows then, %v", len(c.batch), err)
	}
	c.stop()
}

// A table does not put its rows into the order of the rowid, which it does not have.
func TestNoTableIsInTheOrderOfTheRowid(t *testing.T) {
	for column, want := range map[int]int{-1: 0, 2: 0, 1: 1} {
		info := &vtab.IndexInfo{ColUsed: 1 << 1, OrderBy: []vtab.OrderBy{{Column: column}}}
		if terms := termsOf(info, 2, false); len(terms) != want {
			t.Errorf("by column %d of 2: %q", column, terms)
		}
	}
}
