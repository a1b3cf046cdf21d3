package tables_test

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"henro/messages"
	"henro/messages/outlink"
	"henro/messages/weburl"
	"henro/store"
	"henro/store/archive/cdxj"
	"henro/store/report/tables"
	"henro/store/report/tables/tablestest"
)

const (
	failed  = "http://h0.example/failed"  // its first visit is to be tried again
	emptied = "http://h1.example/emptied" // it has links, and no visit that counts
)

// made is a crawl, with more visits, and its archive of three captures.
func made(t *testing.T, more ...store.Visited) *tables.Source {
	t.Helper()
	dir := filepath.Join(t.TempDir(), "state")
	if err := (tablestest.Web{Pages: 60, Out: 7, Hosts: 3}).Make(dir); err != nil {
		t.Fatal(err)
	}
	state, err := store.OpenState(dir, store.DefaultOptions())
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { state.Close() })
	for _, v := range append(more, store.Visited{Retry: true, Page: store.Page{URL: failed,
		Reason: uint8(messages.Reason_TIMEOUT), Attempts: 1, Next: tablestest.Noon.Add(time.Hour)}}) {
		b := store.NewBatch(tablestest.Noon)
		b.Visit(v)
		if _, err := state.Partitions[state.PartitionOf(weburl.HostOf(v.Page.URL))].Commit(b); err != nil {
			t.Fatal(err)
		}
	}
	archive := t.TempDir()
	var lines []string
	for i, url := range []string{"http://h0.example/a", "http://h0.example/a", "http://www.h0.example/a",
		"urn:henro:crawl"} {
		e := cdxj.Entry{Key: "example,h0)/a", At: tablestest.Noon.Add(time.Duration(i) * time.Hour), URL: url,
			Status: 200, Filename: "a.warc.gz"}
		lines = append(lines, string(e.Append(nil)))
	}
	for name, text := range map[string]string{"a.warc.gz": "", "a.cdxj": strings.Join(lines, "")} {
		if err := os.WriteFile(filepath.Join(archive, name), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	return &tables.Source{State: state, Archive: archive, Stops: tablestest.Stops, Temp: t.TempDir()}
}

// rows are the rows of a table as text, sorted, of those columns that a query wants.
func rows(t *testing.T, s *tables.Source, table *tables.Table, q tables.Query) (all [][]string) {
	t.Helper()
	if err := table.Each(s, q, func(row tables.Row) error {
		values := make([]string, len(table.Columns))
		for i := range values {
			if q.Columns>>i&1 == 1 {
				values[i] = row.Value(i).String()
			}
		}
		all = append(all, values)
		return nil
	}); err != nil {
		t.Fatalf("%s, %+v: %v", table.Name, q, err)
	}
	slices.SortFunc(all, slices.Compare)
	return all
}

// What a query narrows down is exact: the rows that fit, and no others, whichever columns are wanted.
func TestWhatIsNarrowedDownIsExact(t *testing.T) {
	s := made(t)
	for _, table := range tables.Tables() {
		whole := rows(t, s, table, tables.All)
		if len(whole) == 0 {
			t.Errorf("%s is empty", table.Name)
		}
		columns := []uint64{tables.All.Columns}
		if c := table.HostColumn; c >= 0 {
			columns = append(columns, 1<<c)
		}
		if c := table.URLColumn; c >= 0 {
			columns = append(columns, 1<<c)
		}
		for _, wanted := range columns {
			for _, host := range []string{"", "http://h0.example", "http://h1.example", "http://h",
				"http://none.example"} {
				for _, url := range []string{"", failed, emptied, "http://h0.example/a", "http://www.h0.example/a",
					"no URL", tablestest.Web{Pages: 60, Hosts: 3}.URL(6), "http://none.example/"} {
					q := tables.Query{Columns: wanted}
					if host != "" && table.HostColumn >= 0 {
						q.Host = &host
					}
					if url != "" && table.URLColumn >= 0 {
						q.URL = &url
					}
					want := [][]string{}
					for _, row := range whole {
						if q.Host != nil && row[table.HostColumn] != host ||
							q.URL != nil && row[table.URLColumn] != url {
							continue
						}
						row = slices.Clone(row)
						for i := range row {
							if wanted>>i&1 == 0 {
								row[i] = ""
							}
						}
						want = append(want, row)
					}
					slices.SortFunc(want, slices.Compare)
					if got := rows(t, s, table, q); fmt.Sprint(got) != fmt.Sprint(want) {
						t.Errorf("%s, host %q, URL %q, columns %x: %d rows\n%v\nwant %d\n%v", table.Name, host, url,
							wanted, len(got), got, len(want), want)
					}
				}
			}
		}
	}
}

// The stop list has what was listed, and what was broken at its last visit; not what was not visited yet.
func TestTheStopListHasWhatWasBroken(t *testing.T) {
	s, broken := made(t), 0
	for _, row := range rows(t, s, tables.StopList(), tables.All) {
		if row[0] == failed {
			t.Errorf("%q is to be tried again", row)
		}
		if row[6] == "url" {
			broken++
		}
	}
	if broken != 3 { // 3, 28 and 53
		t.Errorf("%d URLs are broken", broken)
	}
}

// Links are those of pages that were visited, with the number of the page, from wherever they are read.
func TestLinksBelongToTheirPages(t *testing.T) {
	s := made(t, store.Visited{Page: store.Page{URL: emptied, Status: 200, Next: tablestest.Noon.Add(time.Hour)},
		Links: []outlink.Outlink{{URL: "http://h1.example/", Kind: outlink.Anchor}}})
	numbers := map[string]string{}
	for _, row := range rows(t, s, tables.Pages(), tables.All) {
		numbers[row[1]] = row[0]
	}
	follow := 0
	all := rows(t, s, tables.Links(), tables.All)
	for _, row := range all {
		if row[0] == "" || numbers[row[1]] != row[0] || weburl.HostOf(row[1]) != row[6] || row[1] == emptied {
			t.Errorf("%q is of page %s", row, numbers[row[1]])
		}
		if row[4] == "false" {
			follow++
		}
	}
	if visited := 54; len(all) != 7*visited || follow != 6*visited {
		t.Errorf("%d links, of which %d are followed", len(all), follow)
	}
}

// A temporary file that cannot be read is an error, and not the end of the links.
func TestLinksEndWithAnErrorOfTheirTemporaryFile(t *testing.T) {
	s := &tables.Source{State: tablestest.State(t, tablestest.Web{Pages: 3000, Out: 1, Hosts: 1}), Temp: t.TempDir(),
		Memory: 64 << 10}
	rows := 0
	err := tables.Links().Each(s, tables.All, func(tables.Row) error {
		if rows++; rows > 1 {
			return nil
		}
		files, err := filepath.Glob(filepath.Join(s.Temp, "*"))
		if err != nil || len(files) != 1 {
			t.Errorf("%q, %v", files, err)
		}
		return os.Truncate(files[0], 30_000)
	})
	if err == nil || rows == 0 || errors.Is(err, store.ErrCorrupt) { // the state is whole
		t.Errorf("%d links, %v", rows, err)
	}
}

// Rows that are equal are gathered in memory, as long as that has room.
func TestRowsInOrderTakeBoundedMemory(t *testing.T) {
	s := made(t)
	table := tables.Links()
	if table.Column("to") != 2 || table.Column("kind") != 3 || table.Column("none") != -1 {
		t.Error("columns are not where they are")
	}
	each := func(fn func(tables.Row) error) error { return table.Each(s, tables.All, fn) }
	for memory, whole := range map[int]bool{0: true, 1: false} {
		s.Memory = memory
		shown, total, last := 0, uint64(0), ""
		if err := tables.InOrder(s, []tables.Term{{Column: 3}}, each, func(row tables.Row, count uint64) error {
			kind := row.Value(3).String()
			if shown++; kind < last || row.Value(2).Kind != tables.Empty {
				t.Errorf("%q after %q", kind, last)
			}
			last, total = kind, total+count
			return nil
		}); err != nil {
			t.Fatal(err)
		}
		if total != 7*54 || (shown == 2) != whole {
			t.Errorf("with %d bytes: %d rows are shown as %d", memory, total, shown)
		}
	}
}

// An archive that is not there has no captures; an index that is none, or is missing, is an error.
func TestCapturesOfAnArchive(t *testing.T) {
	s := made(t)
	count := func() (n int, err error) {
		err = tables.Captures().Each(s, tables.All, func(tables.Row) error { n++; return nil })
		return n, err
	}
	if n, err := count(); err != nil || n != 3 {
		t.Errorf("%d captures, %v", n, err)
	}
	index := filepath.Join(s.Archive, "a.cdxj")
	if err := os.WriteFile(index, []byte("example,h0)/a 2026 {\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	if n, err := count(); err == nil {
		t.Errorf("of a line that is none: %d", n)
	}
	if err := os.Remove(index); err != nil {
		t.Fatal(err)
	}
	if n, err := count(); err == nil || !strings.Contains(err.Error(), "henro check --repair") {
		t.Errorf("without its index: %d, %v", n, err)
	}
	for _, s.Archive = range []string{"", filepath.Join(s.Archive, "none")} {
		if n, err := count(); n > 0 || err != nil {
			t.Errorf("no archive: %d, %v", n, err)
		}
	}
}
