package query_test

import (
	"cmp"
	"context"
	"database/sql"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"testing"

	"henro/messages/weburl"
	"henro/store/report/query"
	"henro/store/report/tables"
	"henro/store/report/tables/tablestest"
)

var web = tablestest.Web{Pages: 3000, Out: 14, Hosts: 12}

func source(t testing.TB, w tablestest.Web) *tables.Source {
	t.Helper()
	return &tables.Source{State: tablestest.State(t, w), Stops: tablestest.Stops, Temp: t.TempDir()}
}

func session(t testing.TB, w tablestest.Web) *query.Session {
	t.Helper()
	s, err := query.Open(context.Background(), source(t, w))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := s.Close(); err != nil {
			t.Error(err)
		}
	})
	return s
}

// ask returns the rows of an answer, their values separated by blanks.
func ask(t testing.TB, s *query.Session, question string) (rows []string) {
	t.Helper()
	answer, err := s.Ask(context.Background(), question)
	if err != nil {
		t.Fatalf("%s: %v", question, err)
	}
	defer answer.Close()
	for {
		values, err := answer.Next()
		if err != nil {
			t.Fatalf("%s: %v", question, err)
		}
		if values == nil {
			return rows
		}
		rows = append(rows, strings.TrimSuffix(fmt.Sprintln(values...), "\n"))
	}
}

// truth is what follows from the numbers.
type truth struct {
	visited, links int
	inDegree       map[string]int
	between        map[[2]string]int
}

func truthOf(w tablestest.Web) truth {
	t := truth{inDegree: map[string]int{}, between: map[[2]string]int{}}
	for i := range w.Pages {
		if w.Visited(i) {
			t.visited++
		}
		for _, l := range w.Links(i) {
			t.links++
			t.inDegree[l.URL]++
			t.between[[2]string{weburl.HostOf(w.URL(i)), weburl.HostOf(l.URL)}]++
		}
	}
	return t
}

func TestAnswersAreWhatTheNumbersSay(t *testing.T) {
	s, truth := session(t, web), truthOf(web)
	url := web.URL(1234)

	type degree struct {
		url   string
		count int
	}
	var degrees []degree
	for u, n := range truth.inDegree {
		degrees = append(degrees, degree{u, n})
	}
	slices.SortFunc(degrees, func(a, b degree) int {
		return cmp.Or(cmp.Compare(b.count, a.count),
			cmp.Compare(a.url, b.url))
	})
	var top []string
	for _, d := range degrees[:20] {
		top = append(top, fmt.Sprint(d.url, " ", d.count))
	}
	var between []string
	for pair, n := range truth.between {
		if pair[0] != pair[1] {
			between = append(between, fmt.Sprint(pair[0], " ", pair[1], " ", n))
		}
	}
	slices.Sort(between)
	var without, inScope []string
	for i := range web.Pages {
		if u := web.URL(i); truth.inDegree[u] == 0 {
			without = append(without, u)
		} else if web.Visited(i) {
			inScope = append(inScope, fmt.Sprint(u, " ", truth.inDegree[u]))
		}
	}
	slices.Sort(without)
	slices.Sort(inScope)
	var outlinks []string
	for _, l := range web.Links(1234) {
		outlinks = append(outlinks, l.URL)
	}
	slices.Sort(outlinks)

	for _, c := range []struct {
		question string
		want     []string
	}{
		{`SELECT count(*) FROM pages`, []string{fmt.Sprint(web.Pages)}},
		{`SELECT count(*) FROM pages WHERE last_visit IS NOT NULL`, []string{fmt.Sprint(truth.visited)}},
		{`SELECT count(*) FROM parsed_urls`, []string{fmt.Sprint(truth.visited)}},
		{`SELECT count(*) FROM links`, []string{fmt.Sprint(truth.links)}},
		{`SELECT count(*), count(DISTINCT number) FROM links`, []string{fmt.Sprint(truth.links, " ", truth.visited)}},
		{`SELECT count(*) FROM hosts`, []string{fmt.Sprint(web.Hosts)}},
		{`SELECT url, status FROM pages WHERE url = '` + url + `'`, []string{url + " 200"}},
		{`SELECT url FROM pages WHERE url = 'http://h1.example/never'`, nil},
		{`SELECT url FROM pages WHERE url = 7`, nil},
		{`SELECT count(*) FROM pages WHERE host = 'http://h3.example'`, []string{fmt.Sprint(web.Pages / web.Hosts)}},
		{`SELECT count(*) FROM pages WHERE host = 'http://h3.example' AND url = '` + url + `'`, []string{"0"}},
		{`SELECT "to" FROM links WHERE "from" = '` + url + `' ORDER BY 1`, outlinks},
		{`SELECT DISTINCT number = (SELECT number FROM pages WHERE url = '` + url + `') FROM links WHERE "from" = '` +
			url + `'`, []string{"1"}},
		{`SELECT count(DISTINCT "from") FROM links WHERE from_host = 'http://h3.example'`,
			[]string{fmt.Sprint(visitedOf(web, 3))}},
		{`SELECT "to", count(*) AS n FROM links GROUP BY 1 ORDER BY n DESC, 1 LIMIT 20`, top},
		{`SELECT from_host, to_host, count(*) FROM links WHERE from_host <> to_host GROUP BY 1, 2 ORDER BY 1, 2`,
			between},
		{`SELECT source_host, target_host, count(*) FROM edges WHERE source_host <> target_host GROUP BY 1, 2 ORDER ` +
			`BY 1, 2`, between},
		{`SELECT url FROM pages WHERE url NOT IN (SELECT "to" FROM links) ORDER BY 1`, without},
		{`SELECT url FROM pages p WHERE NOT EXISTS (SELECT 1 FROM links l WHERE l."to" = p.url) ORDER BY 1`, without},
		{`SELECT p.url, count(*) FROM pages p JOIN links l ON l."to" = p.url WHERE p.last_visit IS NOT NULL GROUP ` +
			`BY 1 ORDER BY 1`, inScope},
		{`SELECT prefix, reason, at, until IS NULL FROM stoplist WHERE what = 'folder'`,
			[]string{"http://h0.example/old/ missing 2026-03-01T12:00:00Z 1"}},
		{`SELECT count(*) FROM captures`, []string{"0"}},
		{`WITH RECURSIVE r(n) AS (SELECT 1 UNION ALL SELECT n+1 FROM r WHERE n < 3) SELECT n FROM r`,
			[]string{"1", "2", "3"}},
	} {
		if got := ask(t, s, c.question); !slices.Equal(got, c.want) {
			t.Errorf("%s\n got %d %.300q\nwant %d %.300q", c.question, len(got), got, len(c.want), c.want)
		}
	}
}

// TestTheTablesAnswerAsADatabaseDoes asks the tables of the crawl, which put rows in order themselves, and a database
// that they were saved to. With little memory they are put in order in files.
func TestTheTablesAnswerAsADatabaseDoes(t *testing.T) {
	path := filepath.Join(t.TempDir(), "crawl.db")
	if err := query.Save(t.Context(), source(t, web), path, nil, "pages", "links", "hosts"); err != nil {
		t.Fatal(err)
	}
	database, err := sql.Open("sqlite", path)
	if err != nil {
		t.Fatal(err)
	}
	defer database.Close()
	little := source(t, web)
	little.Memory = 30_000
	inFiles, err := query.Open(t.Context(), little)
	if err != nil {
		t.Fatal(err)
	}
	defer inFiles.Close()
	s := session(t, web)
	for _, question := range []string{
		`SELECT count(*) FROM pages WHERE status = 7`,
		`SELECT status, count(*) FROM pages GROUP BY 1`,
		`SELECT status, dropped, count(*) AS n FROM pages GROUP BY 2, 1 HAVING n > 3 ORDER BY n DESC, 1, 2`,
		`SELECT p.host, count(*) n FROM pages p WHERE p.host > 'http://h3' GROUP BY p.host ORDER BY count(*), ` +
			`p.host LIMIT 5`,
		`SELECT reason, min(depth), max(interval_seconds), count(DISTINCT status), count(*) * 2 FROM pages GROUP BY ` +
			`reason`,
		`SELECT substr(last_visit, 1, 16) AS minute, count(*) FROM parsed_urls p JOIN pages USING (url) GROUP BY 1`,
		`SELECT substr(last_visit, 1, 16), count(*) FROM pages GROUP BY 1 ORDER BY 1`,
		`SELECT count(*) FROM parsed_urls`,
		`SELECT count(*) FROM links WHERE from_host = 'http://h3.example'`,
		`SELECT kind, nofollow, count(*) FROM edges GROUP BY kind, nofollow ORDER BY 1, 2`,
		`SELECT target, count(*) AS n FROM edges GROUP BY target ORDER BY n DESC, target LIMIT 20`,
		`SELECT source_host, target_host, count(*) FROM edges WHERE source_host <> target_host GROUP BY 1, 2 ORDER ` +
			`BY 3 DESC, 1, 2 LIMIT 20`,
		`SELECT target, count(*) AS n FROM edges GROUP BY target ORDER BY n, 1 LIMIT 20`,
		`SELECT target, count(*) AS n FROM edges GROUP BY target ORDER BY n DESC, 1 DESC LIMIT 20`,
		`SELECT target, count(*) AS n FROM edges GROUP BY target ORDER BY n DESC, 1 LIMIT 9999`,
		`SELECT target, count(*) AS n FROM edges GROUP BY target ORDER BY n DESC LIMIT 0`,
		`SELECT status, depth, count(*) FROM pages GROUP BY 2, 1 ORDER BY 3 DESC, 2, 1 LIMIT 5`,
		`SELECT count(*), to_host, from_host FROM links GROUP BY 2, 3 ORDER BY count(*) DESC, from_host, to_host ` +
			`LIMIT 9`,
		`SELECT DISTINCT target_host FROM edges ORDER BY target_host DESC`,
		`SELECT status, count(*) FROM pages GROUP BY 1 ORDER BY status DESC -- downwards`,
		`SELECT target_host AS h, count(*) FROM edges GROUP BY 1 ORDER BY h DESC NULLS LAST LIMIT 3 OFFSET 2`,
		`SELECT sum(n) FROM (SELECT target, count(*) AS n FROM edges GROUP BY 1 ORDER BY n DESC LIMIT 7)`,
		`SELECT url FROM pages WHERE url NOT IN (SELECT target FROM edges) ORDER BY url`,
		`SELECT count(*) FROM pages WHERE url IN (SELECT "to" FROM links WHERE kind = 'img')`,
		`SELECT host, (SELECT count(*) FROM links WHERE from_host = host) FROM hosts ORDER BY 1`,
		`SELECT status, depth, host, count(*) FROM pages GROUP BY 3, 2, 1 ORDER BY 1 DESC, 2, 3 DESC`,
		`SELECT depth, max(visits), min(visits) FROM pages GROUP BY depth ORDER BY depth DESC`,
		`SELECT nofollow, to_host FROM links GROUP BY 1, 2 ORDER BY nofollow DESC, to_host`,
		`SELECT last_visit FROM pages ORDER BY 1 DESC LIMIT 400`,
		`SELECT reason, status FROM pages ORDER BY reason DESC NULLS LAST, status LIMIT 200`,
		`SELECT reason, status FROM pages ORDER BY reason, status DESC`,
		`SELECT interval_seconds, visits FROM pages ORDER BY 1 DESC, 2`,
		`SELECT anchor, count(*) FROM links WHERE kind = 'a' GROUP BY anchor ORDER BY anchor DESC LIMIT 30`,
		`SELECT url FROM pages ORDER BY url COLLATE NOCASE DESC LIMIT 5`,
		`SELECT DISTINCT kind, nofollow FROM links ORDER BY nofollow, kind DESC`,
		`SELECT count(DISTINCT target) FROM edges`,
	} {
		want := rowsOf(t, database, question)
		for name, s := range map[string]*query.Session{"": s, "in files, ": inFiles} {
			if got := ask(t, s, question); !slices.Equal(got, want) {
				t.Errorf("%s%s\n got %d %.300q\nwant %d %.300q", name, question, len(got), got, len(want), want)
			}
		}
	}
	if left, err := os.ReadDir(little.Temp); err != nil || len(left) > 0 {
		t.Errorf("%d files are left, %v", len(left), err)
	}
}

// rowsOf is what a database answers, as ask writes it.
func rowsOf(t *testing.T, database *sql.DB, question string) (all []string) {
	t.Helper()
	rows, err := database.Query(question)
	if err != nil {
		t.Fatalf("%s: %v", question, err)
	}
	defer rows.Close()
	columns, err := rows.Columns()
	if err != nil {
		t.Fatal(err)
	}
	values, targets := make([]any, len(columns)), make([]any, len(columns))
	for i := range values {
		targets[i] = &values[i]
	}
	for rows.Next() {
		if err := rows.Scan(targets...); err != nil {
			t.Fatal(err)
		}
		all = append(all, strings.TrimSuffix(fmt.Sprintln(values...), "\n"))
	}
	if err := rows.Err(); err != nil {
		t.Fatal(err)
	}
	return all
}

// TestGroupsAreNotSorted by SQLite, which takes twice the time: the tables give their rows in order.
func TestGroupsAreNotSorted(t *testing.T) {
	s := session(t, tablestest.Web{Pages: 20, Out: 2, Hosts: 2})
	for question, sorted := range map[string]bool{
		`SELECT target, count(*) AS n FROM edges GROUP BY target ORDER BY n DESC LIMIT 20`:                      false,
		`SELECT from_host, to_host, count(*) FROM links WHERE kind = 'a' GROUP BY 1, 2 ORDER BY 3 DESC, 1`:      false,
		`SELECT DISTINCT target_host FROM edges`:                                                                false,
		`SELECT target, count(*), max(anchor), max(kind), max(source) FROM edges GROUP BY target`:               true,
		`SELECT target, count(*) FROM edges WHERE source_host = 'http://h0.example' GROUP BY 1`:                 true,
		`SELECT lower(target), count(*) FROM edges GROUP BY 1`:                                                  true,
		`SELECT a.to_host, count(*) FROM links a JOIN hosts h ON h.host = a.to_host GROUP BY a.to_host, h.host`: true,
	} {
		got := false
		for _, row := range ask(t, s, "EXPLAIN QUERY PLAN "+question) {
			got = got || strings.Contains(row, "FOR GROUP BY") || strings.Contains(row, "FOR DISTINCT")
		}
		if got != sorted {
			t.Errorf("%s: sorted by SQLite is %v, want %v", question, got, sorted)
		}
	}
}

func visitedOf(w tablestest.Web, host int) (n int) {
	for i := host; i < w.Pages; i += w.Hosts {
		if w.Visited(i) {
			n++
		}
	}
	return n
}

func TestOnlyTablesThatAreReadAgainAreCopied(t *testing.T) {
	for question, want := range map[string][]string{
		`SELECT count(*) FROM pages`:                                                      nil,
		`SELECT url FROM pages WHERE url NOT IN (SELECT "to" FROM links)`:                 nil,
		`SELECT count(*) FROM (SELECT url FROM pages UNION SELECT "to" FROM links)`:       nil,
		`SELECT h.host, l."to" FROM links l JOIN hosts h ON h.host = l.from_host LIMIT 1`: nil,
		`SELECT count(*) FROM pages p JOIN links l ON l."to" = p.url`: {"pages",
			"links"},
		`SELECT count(*) FROM pages p WHERE EXISTS (SELECT 1 FROM links l WHERE l."to" = p.url)`:         {"links"},
		`SELECT a.host, b.host FROM hosts a JOIN hosts b ON a.known < b.known LIMIT 1`:                   {"hosts"},
		`SELECT url, (SELECT count(*) FROM edges WHERE target = url) FROM pages WHERE depth = 0 LIMIT 1`: {"links"},
		`SELECT count(*) FROM pages LEFT JOIN (SELECT host, count(*) AS n FROM hosts GROUP BY host) g ` +
			`ON g.host = pages.host`: nil,
	} {
		s := session(t, tablestest.Web{Pages: 50, Out: 3, Hosts: 3})
		var got []string
		s.Told = func(table string) { got = append(got, table) }
		ask(t, s, question)
		ok := slices.Equal(got, want)
		if len(want) == 2 { // the planner says which of the two is read again; the other is read once
			ok = len(got) >= 1 && slices.Contains(want, got[0])
		}
		if !ok {
			t.Errorf("%s copies %q, want %q", question, got, want)
		}
	}
}

func TestNothingIsWritten(t *testing.T) {
	s := session(t, tablestest.Web{Pages: 10, Out: 3, Hosts: 3})
	for _, statement := range []string{
		`DELETE FROM pages`, `UPDATE hosts SET known = 0`, `INSERT INTO stoplist(prefix) VALUES ('x')`,
		`CREATE TABLE main.t (x)`, `DROP VIEW edges`,
		`SELECT x FROM pages`, `SELEC`, ``,
	} {
		answer, err := s.Ask(context.Background(), statement)
		if err == nil {
			_, err = answer.Next()
			answer.Close()
		}
		if err == nil && statement != "" {
			t.Errorf("%q was done", statement)
		}
	}
	if got := ask(t, s, `SELECT count(*) FROM pages`); !slices.Equal(got, []string{"10"}) {
		t.Errorf("afterwards %q, want 10", got)
	}
}

// TestNamedSubqueriesAreCounted: SQLite asks for leave to read no column of them.
func TestNamedSubqueriesAreCounted(t *testing.T) {
	s := session(t, tablestest.Web{Pages: 50, Out: 3, Hosts: 3})
	for _, c := range []struct {
		question string
		want     int64
	}{
		{`WITH a AS (SELECT 1 AS x UNION ALL SELECT 2) SELECT count(*) FROM a`, 2},
		{`WITH RECURSIVE a(x) AS (SELECT 1 UNION ALL SELECT x + 1 FROM a LIMIT 9) SELECT count(*) FROM a`, 9},
		{`WITH h AS (SELECT host FROM pages GROUP BY host) SELECT count(*) FROM h`, 3},
		{`SELECT count(*) FROM (SELECT DISTINCT host FROM pages) AS d, (SELECT 1 UNION ALL SELECT 2) AS e`, 6},
		{`WITH h AS (SELECT 1) SELECT count(*) FROM pages WHERE EXISTS (SELECT 1 FROM h)`, 50},
	} {
		answer, err := s.Ask(t.Context(), c.question)
		if err != nil {
			t.Errorf("%s: %v", c.question, err)
			continue
		}
		if row, err := answer.Next(); err != nil || len(row) != 1 || row[0] != c.want {
			t.Errorf("%s: %v, %v, want %d", c.question, row, err, c.want)
		}
		if err := answer.Close(); err != nil {
			t.Error(err)
		}
	}
}

// TestNoFileIsReachedButTheCrawl asks for files in all ways that SQLite knows, before and after a table was copied.
func TestNoFileIsReachedButTheCrawl(t *testing.T) {
	other := filepath.Join(t.TempDir(), "other.db")
	if err := query.Save(context.Background(), source(t, tablestest.Web{Pages: 3, Out: 1, Hosts: 1}), other, nil,
		"pages"); err != nil {
		t.Fatal(err)
	}
	was, err := os.ReadFile(other)
	if err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	t.Chdir(dir)
	s := session(t, tablestest.Web{Pages: 50, Out: 3, Hosts: 3})
	for range 2 {
		for _, question := range []string{
			`ATTACH 'new.db' AS x`, `ATTACH 'OTHER' AS x`, `ATTACH 'file:OTHER?mode=rw' AS x`, `ATTACH '' AS x`,
			`ATTACH ':memory:' AS x`, `attach/**/database'new.db'as x`, `DETACH main`, `EXPLAIN ATTACH 'OTHER' AS x`,
			`SELECT 1; ATTACH 'OTHER' AS x; SELECT * FROM x.pages`, `VACUUM`, `VACUUM INTO 'new.db'`,
			`VACUUM main INTO 'file:new.db?mode=rwc'`,
			`PRAGMA query_only = OFF`, `PRAGMA journal_mode = WAL`, `PRAGMA main.journal_mode = DELETE`,
			`PRAGMA temp_store_directory = '.'`, `PRAGMA data_store_directory = '.'`, `PRAGMA user_version = 3`,
			`PRAGMA writable_schema = ON`, `PRAGMA database_list`, `SELECT * FROM pragma_database_list`,
			`SELECT * FROM pragma_table_list`, `SELECT count(*) FROM pragma_database_list`,
			`SELECT count(*) FROM sqlite_dbpage`, `SELECT 1 FROM fts5vocab`, `SELECT count(*) FROM dbstat`,
			`SELECT * FROM dbstat`, `SELECT * FROM sqlite_dbpage`,
			`SELECT load_extension('x.so')`, `SELECT load_extension('x.so', 'entry')`, `SELECT readfile('OTHER')`,
			`SELECT writefile('new.db', 'x')`, `SELECT edit('x')`, `SELECT sqlite_log(1, 'x')`, `SELECT fts5(1)`,
			`SELECT fts3_tokenizer('simple')`, `CREATE VIRTUAL TABLE temp.t USING fts5(x)`,
			`CREATE VIRTUAL TABLE t USING henro(pages)`, `SELECT * FROM fsdir('.')`, `SELECT * FROM henro`,
			`CREATE TEMP TABLE t (x)`, `CREATE TEMP TRIGGER t AFTER INSERT ON pages BEGIN SELECT 1; END`,
			`CREATE TEMP VIEW t AS SELECT 1`, `ALTER TABLE pages RENAME TO t`, `DROP TABLE pages`, `BEGIN`,
			`BEGIN IMMEDIATE`, `SAVEPOINT t`, `COMMIT`, `ANALYZE`, `SELECT zeroblob(1000000000)`,
			`SELECT printf('%*d', 1000000000, 1)`, `WITH RECURSIVE a(n, x) AS (SELECT 1, 'x' UNION ALL
				SELECT n + 1, x || x FROM a LIMIT 40) SELECT length(max(x)) FROM a`,
		} {
			question = strings.ReplaceAll(question, "OTHER", other)
			answer, err := s.Ask(context.Background(), question)
			for row := []any{1}; err == nil && row != nil; {
				row, err = answer.Next()
			}
			if err == nil {
				t.Errorf("%q was answered", question)
			}
			word, _, _ := strings.Cut(question, " ")
			refused := slices.Contains([]string{"ATTACH", "VACUUM", "PRAGMA", "BEGIN"}, word)
			if refused && !errors.Is(err, query.ErrRefused) {
				t.Errorf("%q: %v, want a refusal", question, err)
			}
			if answer != nil {
				answer.Close()
			}
		}
		ask(t, s, `SELECT count(*) FROM links a JOIN links b ON a."to" = b."to"`) // copies links
	}
	if found, err := os.ReadDir(dir); err != nil || len(found) > 0 {
		t.Errorf("files were made: %v, %v", found, err)
	}
	if is, err := os.ReadFile(other); err != nil || string(is) != string(was) {
		t.Errorf("another database was written: %v", err)
	}
	for question, want := range map[string]string{
		`SELECT count(*) FROM edges`: "135",
		`WITH RECURSIVE a(n) AS (SELECT 1 UNION SELECT n + 1 FROM a LIMIT 5) SELECT sum(n) FROM a`:        "15",
		`SELECT json_extract(value, '$.a') FROM json_each('[{"a": 7}]')`:                                  "7",
		`SELECT length(substr(strftime('%Y', captured_at), 1)) FROM pages WHERE captured_at > '' LIMIT 1`: "4",
	} {
		if got := ask(t, s, question); !slices.Equal(got, []string{want}) {
			t.Errorf("%s is %q, want %s", question, got, want)
		}
	}
}

// TestTheNameOfASavedDatabaseIsAName has characters in it that SQLite takes for parameters.
func TestTheNameOfASavedDatabaseIsAName(t *testing.T) {
	dir := t.TempDir()
	t.Chdir(dir)
	from := source(t, tablestest.Web{Pages: 3, Out: 1, Hosts: 1})
	for _, name := range []string{"a?b=c.db", "a%3Fb#c.db", "file:d.db", ":memory:", "x.db?_pragma=user_version(7)"} {
		if err := query.Save(context.Background(), from, name, nil, "pages"); err != nil {
			t.Errorf("%s: %v", name, err)
		}
		if info, err := os.Stat(name); err != nil || info.Size() == 0 {
			t.Errorf("%s is not there: %v", name, err)
		}
	}
	if found, err := os.ReadDir(dir); err != nil || len(found) != 5 {
		t.Errorf("%d files, want 5: %v", len(found), err)
	}
}

func TestASavedDatabaseHasWhatWasAskedFor(t *testing.T) {
	from, path := source(t, web), filepath.Join(t.TempDir(), "crawl.db")
	var told []string
	if err := query.Save(context.Background(), from, path, func(table string, rows int64) {
		if len(told) == 0 || told[len(told)-1] != table {
			told = append(told, table)
		}
	}, "pages", "links"); err != nil {
		t.Fatal(err)
	}
	if want := []string{"pages", "links"}; !reflect.DeepEqual(told, want) {
		t.Errorf("progress was told of %q, want %q", told, want)
	}
	if err := query.Save(context.Background(), from, path, nil, "pages"); err == nil {
		t.Error("a database that exists was written over")
	}
	empty := filepath.Join(t.TempDir(), "empty.db")
	if err := os.WriteFile(empty, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	err := query.Save(context.Background(), from, empty, nil, "pages")
	if info, _ := os.Stat(empty); err != nil || info.Size() == 0 {
		t.Errorf("a file that was empty has %d bytes now: %v", info.Size(), err)
	}
}

// The speed that matters is that of the first answer: the program started, nothing exported before.
// go test ./store/report/query -run - -bench Answers -benchtime 3x
func BenchmarkAnswers(b *testing.B) {
	large := source(b, tablestest.Web{Pages: 1_000_000, Out: 10, Hosts: 5000})
	for _, c := range []struct{ name, question string }{
		{"count pages", `SELECT count(*) FROM pages`},
		{"one page",
			`SELECT * FROM pages WHERE url = 'http://h1234.example/documentation/section-31/page-501234.html'`},
		{"first pages", `SELECT * FROM pages LIMIT 10`},
		{"status codes", `SELECT status, count(*) FROM pages GROUP BY 1`},
		{"pages of a host", `SELECT url FROM pages WHERE host = 'http://h77.example' ORDER BY 1`},
		{"links of a page",
			`SELECT "to" FROM links WHERE "from" = 'http://h1234.example/documentation/section-31/page-501234.html'`},
		{"count 9 M links", `SELECT count(*) FROM links`},
		{"in-degree top 20 of 9 M links", `SELECT "to", count(*) AS n FROM links GROUP BY 1 ORDER BY n DESC LIMIT 20`},
		{"links between hosts",
			`SELECT from_host, to_host, count(*) AS n FROM links WHERE from_host <> to_host GROUP BY 1, 2 ORDER BY ` +
				`n DESC LIMIT 20`},
		{"pages without in-links", `SELECT count(*) FROM pages WHERE url NOT IN (SELECT "to" FROM links)`},
	} {
		for _, when := range []string{"first", "again"} {
			b.Run(c.name+"/"+when, func(b *testing.B) {
				large.Cache = b.TempDir()
				once := func() {
					s, err := query.Open(context.Background(), large)
					if err != nil {
						b.Fatal(err)
					}
					ask(b, s, c.question)
					if err := s.Close(); err != nil {
						b.Fatal(err)
					}
				}
				if when == "again" {
					once() // keeps what takes a second
				}
				for b.Loop() {
					if when == "first" {
						large.Cache = b.TempDir()
					}
					once()
				}
			})
		}
	}
}
