package query

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"henro/store"
	"henro/store/report/tables"
	"henro/store/report/tables/tablestest"
)

// crawl is a state on disk that is asked by one session after the other, each of which keeps its answers.
type crawl struct{ dir, cache string }

func newCrawl(t *testing.T) *crawl {
	t.Helper()
	c := &crawl{filepath.Join(t.TempDir(), "state"), filepath.Join(t.TempDir(), "cache")}
	if err := (tablestest.Web{Pages: 100, Out: 3, Hosts: 3}).Make(c.dir); err != nil {
		t.Fatal(err)
	}
	return c
}

// ask returns the rows of an answer, of no more than most rows, and how many rows of tables were read for it.
func (c *crawl) ask(t *testing.T, question string, from time.Duration, most int) (rows []string, read int64) {
	t.Helper()
	state, err := tablestest.Open(c.dir)
	if err != nil {
		t.Fatal(err)
	}
	defer state.Close()
	s, err := Open(t.Context(), &tables.Source{State: state, Stops: tablestest.Stops, Cache: c.cache})
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	s.keptFrom = from
	s.Reading = func(_ string, rows int64) { read = max(read, rows) }
	a, err := s.Ask(t.Context(), question)
	if err != nil {
		t.Fatalf("%s: %v", question, err)
	}
	defer a.Close()
	rows = append(rows, strings.Join(a.Columns, "|"))
	for len(rows) <= most {
		values, err := a.Next()
		if err != nil {
			t.Fatalf("%s: %v", question, err)
		}
		if values == nil {
			break
		}
		rows = append(rows, fmt.Sprintf("%#v", values))
	}
	return rows, read
}

func (c *crawl) files(t *testing.T) (names []string) {
	t.Helper()
	names, err := filepath.Glob(filepath.Join(c.cache, "*"))
	if err != nil {
		t.Fatal(err)
	}
	return names
}

const allRows = 1 << 30

func TestAnAnswerIsKeptAndShownAgain(t *testing.T) {
	c := newCrawl(t)
	for i, question := range []string{
		`SELECT target, count(*) AS n FROM edges GROUP BY target ORDER BY n DESC LIMIT 20`,
		`SELECT nofollow, visits, reason, url, status FROM pages`,
		`SELECT url FROM pages WHERE status = 7`,
	} {
		want, read := c.ask(t, question, 0, allRows)
		if read == 0 {
			t.Errorf("%s: nothing was read the first time", question)
		}
		if n := len(c.files(t)); n != i+1 {
			t.Errorf("%s: %d files, want %d", question, n, i+1)
		}
		if got, read := c.ask(t, question, 0, allRows); read > 0 || !slices.Equal(got, want) {
			t.Errorf("%s: again, after reading %d rows, %q, want %q", question, read, got, want)
		}
	}
}

// TestWhatIsNotKept: answers that the state does not decide, those had at once, those too long, and those of which
// not all was taken.
func TestWhatIsNotKept(t *testing.T) {
	c := newCrawl(t)
	for _, question := range []string{
		`SELECT count(*) FROM captures`,
		`SELECT count(*), (SELECT max(url) FROM captures) FROM pages`,
		`SELECT datetime('now'), count(*) FROM pages`,
		`SELECT count(*), CURRENT_TIMESTAMP FROM pages`,
		`SELECT url FROM pages ORDER BY random()`,
		`SELECT CAST(url AS BLOB) FROM pages`,
		`WITH long AS (SELECT replace(hex(zeroblob(500000)), '0', 'x') AS x) SELECT x || url FROM pages, long LIMIT 9`,
	} {
		if c.ask(t, question, 0, allRows); len(c.files(t)) > 0 {
			t.Fatalf("%s was kept", question)
		}
	}
	const question = `SELECT url FROM pages`
	c.ask(t, question, 0, 3)
	c.ask(t, question, time.Hour, allRows)
	if kept := c.files(t); len(kept) > 0 {
		t.Errorf("%q were kept", kept)
	}
	c.cache = ""
	t.Chdir(t.TempDir())
	c.ask(t, question, 0, allRows)
	if here, err := os.ReadDir("."); err != nil || len(here) > 0 {
		t.Errorf("without a folder for answers, %v were kept, %v", here, err)
	}
}

func TestWhatIsKeptHoldsUntilTheStateChanges(t *testing.T) {
	c := newCrawl(t)
	const question = `SELECT count(*) FROM stoplist`
	before, _ := c.ask(t, question, 0, allRows)
	was := c.files(t)
	if err := os.WriteFile(was[0]+".1.part", nil, 0o600); err != nil {
		t.Fatal(err)
	}
	state, err := store.OpenState(c.dir, store.DefaultOptions())
	if err != nil {
		t.Fatal(err)
	}
	b := store.NewBatch(tablestest.Noon)
	tablestest.PutStops(b, tables.Stop{Prefix: "http://h1.example/"}, tables.Stop{Prefix: "http://h2.example/"})
	_, err = state.Partitions[0].Commit(b)
	if closed := state.Close(); err != nil || closed != nil {
		t.Fatal(err, closed)
	}
	if got, read := c.ask(t, question, 0, allRows); read == 0 || slices.Equal(got, before) {
		t.Errorf("after a commit %q", got)
	}
	if is := c.files(t); len(is) != 1 || len(was) != 1 || is[0] == was[0] {
		t.Errorf("%q are kept, and %q were", is, was)
	}
}

// TestADamagedAnswerIsFoundAgain, whichever of its bytes is another and wherever it ends.
func TestADamagedAnswerIsFoundAgain(t *testing.T) {
	c := newCrawl(t)
	const question = `SELECT status, count(*) FROM pages GROUP BY 1`
	want, _ := c.ask(t, question, 0, allRows)
	path := c.files(t)[0]
	whole, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	step := 1
	if testing.Short() { // with the detector of races
		step = 8
	}
	for i := 0; i < len(whole); i += step {
		other := slices.Clone(whole)
		other[i] ^= 0x10
		for _, damaged := range [][]byte{whole[:i], other} {
			if err := os.WriteFile(path, damaged, 0o600); err != nil {
				t.Fatal(err)
			}
			if got, _ := c.ask(t, question, 0, allRows); !slices.Equal(got, want) {
				t.Fatalf("with byte %d of %d damaged or the last: %q, want %q", i, len(whole), got, want)
			}
		}
	}
	if again, err := os.ReadFile(path); err != nil || !slices.Equal(again, whole) {
		t.Errorf("what was kept last differs from what was kept first: %v", err)
	}
}

func TestTheOldestAnswersGo(t *testing.T) {
	c := newCrawl(t)
	for i := range keptMost + 3 {
		question := fmt.Sprintf(`SELECT count(*) + %d FROM pages`, i)
		c.ask(t, question, 0, allRows)
		at := time.Now().Add(time.Duration(i-100) * time.Minute)
		for _, path := range c.files(t) {
			if info, err := os.Stat(path); err == nil && time.Since(info.ModTime()) < 20*time.Second {
				if err := os.Chtimes(path, at, at); err != nil {
					t.Fatal(err)
				}
			}
		}
	}
	if n := len(c.files(t)); n != keptMost {
		t.Errorf("%d are kept, want %d", n, keptMost)
	}
	if _, read := c.ask(t, `SELECT count(*) + 2 FROM pages`, time.Hour, allRows); read == 0 {
		t.Error("the third is kept")
	}
	if _, read := c.ask(t, `SELECT count(*) + 3 FROM pages`, time.Hour, allRows); read > 0 {
		t.Error("the fourth is not kept")
	}
}
