package query

import (
	"fmt"
	"math"
	"strings"
	"testing"

	"henro/store/report/tables"
	"henro/store/report/tables/tablestest"
)

func TestOnlyQuestionsThatCountAreCondensed(t *testing.T) {
	for question, condensed := range map[string]bool{
		`SELECT count(*) FROM pages`:                                                            true,
		`select Status, COUNT ( * ) from Pages group by 1;`:                                     true,
		`SELECT p.status, count(*) n FROM pages AS p WHERE p.depth < 3 GROUP BY 1 HAVING n > 5`: true,
		`SELECT count(*) * 100.0 / 7 FROM edges -- all`:                                         true,
		`SELECT DISTINCT to_host FROM links /* all */`:                                          true,
		`SELECT url FROM pages WHERE url NOT IN (SELECT target FROM edges)`:                     true,
		`SELECT count(DISTINCT host), max(depth) FROM pages`:                                    true,
		`SELECT substr(last_visit, 1, 7), count(*) FROM pages GROUP BY 1`:                       true,
		`SELECT ')', "count(*)", count(*) FROM pages`:                                           true,
		// and taken back, since it is read again
		`SELECT h.host, (SELECT count(*) FROM pages p WHERE p.host = h.host) FROM hosts h`: true,
		`SELECT url FROM pages`:                                                     false,
		`SELECT * FROM pages`:                                                       false,
		`SELECT sum(visits) FROM pages`:                                             false,
		`SELECT status, count(*), avg(visits) FROM pages GROUP BY 1`:                false,
		`SELECT status, count(reason) FROM pages GROUP BY 1`:                        false,
		`SELECT count(*) FROM pages p JOIN hosts h USING (host)`:                    false,
		`SELECT count(*) FROM pages, hosts`:                                         false,
		`SELECT count(*) FROM (SELECT url FROM pages UNION SELECT "to" FROM links)`: false,
		`SELECT count(*) FROM sqlite_master`:                                        false,
		`WITH links AS (SELECT 1) SELECT count(*) FROM links`:                       false,
		`SELECT count(*) OVER () FROM pages`:                                        false,
		`SELECT count(*) FILTER (WHERE status = 200) FROM pages`:                    false,
		`SELECT group_concat(url) FROM pages`:                                       false,
		`SELECT count(*), max(depth, status) FROM pages`:                            false,
		`SELECT "count"(*) FROM pages`:                                              false,
		`SELECT count(*), rowid FROM pages`:                                         false,
		`SELECT DISTINCT * FROM pages`:                                              false,
		`SELECT url FROM pages WHERE url IN (SELECT "to" FROM links LIMIT 5)`:       false,
		`SELECT 'FROM pages', count(*`:                                              false,
		`SELECT count(*) FROM pages WHERE url = 'it''s (`:                           false,
		`SELECT count(*) FROM temp.pages`:                                           false,
		`SELECT`:                                                                    false,
		`SELECT count(*) FROM`:                                                      false,
		``:                                                                          false,
	} {
		if got := condense(question); got != question != condensed {
			t.Errorf("%s\nbecomes %s", question, got)
		}
	}
}

// TestGroupsAreNotSorted: SQLite sorts the rows of a table with GROUP BY, where they do not come sorted; those of a
// grouped table do.
func TestGroupsAreNotSorted(t *testing.T) {
	s, err := Open(t.Context(), &tables.Source{State: tablestest.State(t, tablestest.Web{Pages: 20, Out: 2, Hosts: 2})})
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	for _, question := range []string{
		`SELECT "to", count(*) FROM links GROUP BY 1`,
		`SELECT "to", count(*) AS n FROM links GROUP BY 1 ORDER BY n DESC LIMIT 20`,
		`SELECT from_host, to_host, count(*) FROM links GROUP BY 1, 2 ORDER BY 3 DESC, 1`,
		`SELECT sum(n) FROM (SELECT to_host, count(*) AS n FROM links GROUP BY 1 ORDER BY n DESC LIMIT 20)`,
	} {
		answer, err := s.Ask(t.Context(), "EXPLAIN QUERY PLAN "+condense(question))
		if err != nil {
			t.Fatal(err)
		}
		for row, err := answer.Next(); row != nil || err != nil; row, err = answer.Next() {
			if err != nil {
				t.Fatal(err)
			}
			detail, _ := row[3].(string)
			if strings.Contains(detail, "FOR GROUP BY") ||
				strings.HasSuffix(question, "LIMIT 20") && strings.Contains(detail, "TEMP B-TREE") {
				t.Errorf("%s: %s", question, detail)
			}
		}
		answer.Close()
	}
}

// TestTheLargestGroupsAreFoundByTheTable: only where the columns are what they are grouped by and their count.
func TestTheLargestGroupsAreFoundByTheTable(t *testing.T) {
	for question, want := range map[string]bool{
		`SELECT "to", count(*) AS n FROM links GROUP BY 1 ORDER BY n DESC LIMIT 20`:                 true,
		`select Target, COUNT(*) from Edges E group by TARGET order by 2 desc, target limit 10000;`: true,
		`SELECT count(*) n, status FROM pages GROUP BY status ORDER BY count(*) DESC LIMIT 5`:       true,
		// of which "kind" is not read
		`SELECT sum(n) FROM (SELECT kind, count(*) n FROM links GROUP BY 1 ORDER BY 2 DESC LIMIT 7)`: false,
		`SELECT status, depth, count(*) FROM pages GROUP BY 2, 1 ORDER BY 3 DESC LIMIT 7`:            true,
		`SELECT status, depth, count(*) FROM pages GROUP BY 2 ORDER BY 3 DESC LIMIT 7`:               false,
		`SELECT status, count(*) FROM pages GROUP BY status, depth ORDER BY 2 DESC LIMIT 7`:          false,
		`SELECT status, count(*) FROM pages GROUP BY 1 ORDER BY depth LIMIT 7`:                       false,
		`SELECT status, count(*) FROM pages GROUP BY 3 ORDER BY 2 LIMIT 7`:                           false,
		`SELECT status, count(*) FROM pages GROUP BY 2 ORDER BY 2 LIMIT 7`:                           false,
		`SELECT status, count(*) FROM pages GROUP BY 1 ORDER BY 3 LIMIT 7`:                           false,
		`SELECT status, count(*) FROM pages GROUP BY "1" ORDER BY 2 LIMIT 7`:                         false,
		`SELECT status, count(*) FROM pages GROUP BY 1 ORDER BY "2" DESC LIMIT 7`:                    false,
		`SELECT 7, count(*) FROM pages GROUP BY 7 ORDER BY 2 LIMIT 7`:                                false,
		`SELECT count(*) AS status, status FROM pages GROUP BY status ORDER BY 1 DESC LIMIT 7`:       false,
		`SELECT status AS depth, count(*) FROM pages GROUP BY depth ORDER BY 2 DESC LIMIT 7`:         false,
		`SELECT status, count(*) FROM pages WHERE depth > 1 GROUP BY 1 ORDER BY 2 DESC LIMIT 7`:      false,
		`SELECT status, count(*) FROM pages GROUP BY 1 HAVING count(*) > 1 ORDER BY 2 DESC LIMIT 7`:  false,
		`SELECT DISTINCT status, count(*) FROM pages GROUP BY 1 ORDER BY 2 DESC LIMIT 7`:             false,
		`SELECT status, max(depth) FROM pages GROUP BY 1 ORDER BY 2 DESC LIMIT 7`:                    false,
		`SELECT status, count(*) FROM pages GROUP BY 1 ORDER BY 2 DESC NULLS LAST LIMIT 7`:           false,
		`SELECT host, count(*) FROM pages GROUP BY 1 ORDER BY 2 DESC, host COLLATE NOCASE LIMIT 7`:   false,
		`SELECT status, count(*) FROM pages GROUP BY 1 ORDER BY 2 DESC LIMIT 7 OFFSET 3`:             false,
		`SELECT status, count(*) FROM pages GROUP BY 1 ORDER BY 2 DESC LIMIT 10001`:                  false,
		`SELECT status, count(*) FROM pages GROUP BY 1 ORDER BY 2 DESC`:                              false,
		`SELECT status, count(*) FROM pages GROUP BY 1 LIMIT 7`:                                      false,
		`SELECT status + 1, count(*) FROM pages GROUP BY 1 ORDER BY 2 DESC LIMIT 7`:                  false,
	} {
		got := condense(question)
		if strings.Contains(strings.ToLower(got), "group by") == want {
			t.Errorf("%s\nbecomes %s", question, got)
		}
	}
}

// TestTheLargestAreKept: of equal ones, those that came first.
func TestTheLargestAreKept(t *testing.T) {
	for limit, want := range map[int64]string{0: "", 1: "b9", 3: "b9e9c3", 5: "b9e9c3f3a1",
		math.MaxInt64: "b9e9c3f3a1d1g1"} {
		l, got := largest{limit: limit}, ""
		key := []byte("?")
		for i, rows := range []uint64{1, 9, 3, 1, 9, 3, 1} {
			key[0] = byte('a' + i) // in the same room
			if err := l.add(key, rows); err != nil {
				t.Fatal(err)
			}
		}
		if err := l.each(func(key []byte, rows uint64) error {
			got += fmt.Sprint(string(key), rows)
			return nil
		}); err != nil || got != want {
			t.Errorf("the %d largest are %s, want %s (%v)", limit, got, want, err)
		}
	}
}

// FuzzCondense: whatever comes, condense ends, and what it changes is only what it knows.
func FuzzCondense(f *testing.F) {
	for _, q := range []string{`SELECT count(*) FROM pages`,
		`SELECT "a""b", count(*) n FROM [links] l WHERE x IN (SELECT "to" FROM edges)`, `;;select((`,
		"SELECT distinct `x` FROM hosts union select 1"} {
		f.Add(q)
	}
	f.Fuzz(func(t *testing.T, question string) {
		got := condense(question)
		if got != question && !strings.Contains(got, " grouped") {
			t.Errorf("%q becomes %q", question, got)
		}
	})
}
