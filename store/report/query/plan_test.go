package query

import (
	"strings"
	"testing"

	"henro/store/report/tables"
	"henro/store/report/tables/tablestest"
)

// TestTheListBehindInComesInOrder: in no order, SQLite's tree of the targets of 9 million links took 105 s.
func TestTheListBehindInComesInOrder(t *testing.T) {
	state := tablestest.State(t, tablestest.Web{Pages: 20, Out: 2, Hosts: 2})
	s, err := Open(t.Context(), &tables.Source{State: state})
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	for _, c := range []struct {
		question, want string
	}{
		{`SELECT url FROM pages WHERE url NOT IN (SELECT target FROM edges)`, "links 2"},
		{`SELECT target FROM edges`, "links"},
		{`SELECT url FROM pages WHERE url IN (SELECT "to" FROM links WHERE kind = 'img')`, "links 2 3"},
		{`SELECT url FROM pages WHERE url = (SELECT target FROM edges)`, "links"},
		{`SELECT url FROM pages WHERE url IN (SELECT target FROM edges WHERE source = 'http')`, "links"},
	} {
		a, err := s.Ask(t.Context(), c.question)
		if err != nil {
			t.Fatal(err)
		}
		a.Close()
		rows, err := s.conn.QueryContext(t.Context(), "EXPLAIN QUERY PLAN "+c.question)
		if err != nil {
			t.Fatal(err)
		}
		var got string
		for rows.Next() {
			var id, parent, unused int
			var detail string
			if err := rows.Scan(&id, &parent, &unused, &detail); err != nil {
				t.Fatal(err)
			}
			if _, plan, _ := strings.Cut(detail, "VIRTUAL TABLE INDEX "); strings.Contains(plan, ":links") {
				_, got, _ = strings.Cut(plan, ":")
			}
		}
		rows.Close()
		if got != c.want {
			t.Errorf("%s: the plan of links is %q, want %q", c.question, got, c.want)
		}
	}
}
