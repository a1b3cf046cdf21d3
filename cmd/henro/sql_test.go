package main

import (
	"encoding/json"
	"path/filepath"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"henro/cmd/config"
	"henro/store/report/survey"
	"henro/store/report/tables/tablestest"
)

func TestStatementsEndAtSemicolonsOutsideOfQuotesAndComments(t *testing.T) {
	for text, want := range map[string][]string{
		"SELECT 1":                              {"", "SELECT 1"},
		"SELECT 1;":                             {"SELECT 1", ""},
		"SELECT ';' ; SELECT \"a;b\"; x":        {"SELECT ';' ", " SELECT \"a;b\"", " x"},
		"-- a; b\nSELECT 1; /* ; */ SELECT 2;":  {"-- a; b\nSELECT 1", " /* ; */ SELECT 2", ""},
		"SELECT 'it''s; so'; SELECT `;`":        {"SELECT 'it''s; so'", " SELECT `;`"},
		";;":                                    {""},
		"SELECT 'without an end; SELECT 2; '' ": {"SELECT 'without an end; SELECT 2; '' "},
	} {
		whole, rest := statements(text)
		want = slices.DeleteFunc(want, func(s string) bool { return s == "" })
		got := whole
		if rest != "" {
			got = append(got, rest)
		}
		if !slices.Equal(got, want) {
			t.Errorf("%q is %q, want %q", text, got, want)
		}
	}
}

// TestAQuestionEndsBeforeItFillsTheDisk with its temporary files, whatever was free before.
func TestAQuestionEndsBeforeItFillsTheDisk(t *testing.T) {
	for _, begun := range []uint64{100 << 30, 1 << 20} {
		synctest.Test(t, func(t *testing.T) {
			var left atomic.Uint64
			left.Store(begun)
			ctx, stop := whileRoom(t.Context(), "", func(string) (uint64, error) { return left.Load(), nil })
			time.Sleep(3 * time.Second)
			synctest.Wait()
			if ctx.Err() != nil {
				t.Error("it ended while there was room")
			}
			left.Store(min(begun/2, sqlRoom) - 1)
			time.Sleep(2 * time.Second)
			synctest.Wait()
			if ctx.Err() == nil || sqlError(ctx, ctx.Err()) != errNoRoom {
				t.Errorf("of %d bytes %d are left: %v", begun, left.Load(), ctx.Err())
			}
			stop()
		})
	}
}

// A question that would never end is stopped when its time is over: while it is asked, while a table is read for it, or
// while its rows are printed.
func TestAQuestionEndsWhenItsTimeIsOver(t *testing.T) {
	dir := t.TempDir()
	if err := (tablestest.Web{Pages: 300, Out: 3, Hosts: 4}).Make(filepath.Join(dir, "state")); err != nil {
		t.Fatal(err)
	}
	const endless = "WITH RECURSIVE n(x) AS (SELECT 1 UNION ALL SELECT x + 1 FROM n) SELECT "
	for _, question := range []string{endless + "count(*) FROM n", endless + "x FROM n WHERE x < 0",
		"SELECT count(*) FROM pages a, pages b, pages c, pages d, pages e",
		"SELECT a.url FROM pages a, pages b, pages c, pages d, pages e " +
			"WHERE a.depth + b.depth + c.depth + d.depth + e.depth < 0"} {
		began := time.Now()
		out, err := command(t, "sql", dir, question, "--timeout", "200ms")
		if err == nil || !strings.Contains(err.Error(), "--timeout") || time.Since(began) > 20*time.Second {
			t.Errorf("%s: %q, %v after %v", question, out, err, time.Since(began))
		}
	}
}

func TestACrawlIsAskedInSQLAndCounted(t *testing.T) {
	dir := t.TempDir()
	if err := (tablestest.Web{Pages: 100, Out: 3, Hosts: 4}).Make(filepath.Join(dir, "state")); err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		format, question, want string
	}{
		{"table", "SELECT status, count(*) AS n FROM pages WHERE status > 0 GROUP BY 1",
			"status   n\n------  --\n   200  86\n   404   4\n"},
		{"csv", "SELECT host, known FROM hosts ORDER BY 1 LIMIT 2",
			"host,known\nhttp://h0.example,25\nhttp://h1.example,25\n"},
		{"tsv", "SELECT 1 AS a, NULL AS b", "a\tb\n1\t\n"},
		{"json", "SELECT 1 AS a, 'x\"' AS b UNION SELECT 2.5, NULL",
			"[\n{\"a\":1,\"b\":\"x\\\"\"},\n{\"a\":2.5,\"b\":null}\n]\n"},
		{"jsonl", "SELECT count(*) AS n FROM links; SELECT 2 AS m", "{\"n\":270}\n{\"m\":2}\n"},
		{"csv", "SELECT '=1+1' AS a, -1 AS b, char(27, 8238) AS c", "a,b,c\n'=1+1,-1,\x1b\u202e\n"},
		{"tsv", "SELECT '=1+1' AS a, char(27, 8238) AS b", "a\tb\n=1+1\t\x1b\u202e\n"},
		{"table", "SELECT char(27, 8238, 10) AS a", "a\n--------------\n\\u001b\\u202e\\n\n"},
		{"jsonl", "SELECT char(27, 8238) AS a", "{\"a\":\"\\u001b\\u202e\"}\n"},
		{"json", "SELECT 1 AS a WHERE 0", "[\n\n]\n"},
		{"jsonl", "SELECT 1 AS a WHERE 0", ""},
	} {
		if got, err := command(t, "sql", dir, c.question, "--format", c.format); err != nil || got != c.want {
			t.Errorf("%s as %s: %q (%v), want %q", c.question, c.format, got, err, c.want)
		}
	}
	for _, question := range []string{"DELETE FROM pages", "SELECT nothing FROM pages", ".nothing"} {
		if out, err := command(t, "sql", dir, question); err == nil || strings.Contains(err.Error(), "\n") {
			t.Errorf("%s: %q, %v, want an error of one line", question, out, err)
		}
	}
	for text, want := range map[string]string{
		".format csv\nSELECT 42 AS a;":                         "a\n42\n",
		"SELECT 1 AS a;\n.format csv\nSELECT 2 AS a":           "a\n-\n1\na\n2\n",
		".format csv\nSELECT '\n.quit\n;' AS a; SELECT 3 AS b": "a\n\"'\n.quit\n;\"\nb\n3\n",
		".format csv\nSELECT 1 AS a;\n.quit\nSELECT 2":         "a\n1\n",
	} {
		if out, err := command(t, "sql", dir, text); err != nil || out != want {
			t.Errorf("%q: %q, %v, want %q", text, out, err, want)
		}
	}
	if out, err := command(t, "sql", dir, ".schema links"); err != nil || !strings.Contains(out, "anchor") {
		t.Errorf(".schema links: %q, %v", out, err)
	}
	if _, err := command(t, "sql", filepath.Join(dir, "nowhere"), "SELECT 1"); config.Code(err) != config.ExitUsage {
		t.Errorf("a crawl that is not there: %v", err)
	}

	out, err := command(t, "stats", dir, "--json")
	var s survey.Survey
	if err == nil {
		err = json.Unmarshal([]byte(out), &s)
	}
	if err != nil || s.Known != 100 || s.Parsed != 90 || s.Links != 270 || s.LinksPerPage.Mean != 3 {
		t.Errorf("stats: %v, %+v", err, s)
	}
	if out, err := command(t, "stats", dir); err != nil || !strings.Contains(out, "90 parsed") {
		t.Errorf("stats: %q, %v", out, err)
	}
}
