package export_test

import (
	"bytes"
	"context"
	"encoding/csv"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math"
	"os"
	"path/filepath"
	"reflect"
	"runtime/debug"
	"slices"
	"strings"
	"testing"

	"github.com/parquet-go/parquet-go"

	"henro/store/report/ccindex"
	"henro/store/report/export"
	"henro/store/report/query"
	"henro/store/report/tables"
	"henro/store/report/tables/tablestest"
)

var web = tablestest.Web{Pages: 700, Out: 14, Hosts: 12}

func source(t testing.TB, w tablestest.Web) *tables.Source {
	t.Helper()
	// so little that everything is put in order in files
	return &tables.Source{State: tablestest.State(t, w), Stops: tablestest.Stops, Memory: 20_000}
}

func run(t testing.TB, s *tables.Source, format, path string, names ...string) {
	t.Helper()
	o := export.Options{Tables: names, Format: format, Path: path}
	if err := export.Run(context.Background(), s, o); err != nil {
		t.Fatalf("%v to %s: %v", names, format, err)
	}
	if left, _ := filepath.Glob(filepath.Join(filepath.Dir(path), "*.part")); len(left) > 0 {
		t.Errorf("%v were left", left)
	}
	if left, _ := filepath.Glob(filepath.Join(filepath.Dir(path), "*.tmp")); len(left) > 0 {
		t.Errorf("%v were left", left)
	}
}

// rowsOf reads a table as text.
func rowsOf(t *testing.T, s *tables.Source, name string) (rows [][]string) {
	t.Helper()
	table := tables.Named(name)
	if err := table.Each(s, tables.All, func(row tables.Row) error {
		var values []string
		for i := range table.Columns {
			values = append(values, row.Value(i).String())
		}
		rows = append(rows, values)
		return nil
	}); err != nil {
		t.Fatal(err)
	}
	return rows
}

func TestEveryFormatHoldsTheSameRows(t *testing.T) {
	s := source(t, web)
	dir := t.TempDir()
	for _, table := range tables.Tables() {
		want := rowsOf(t, s, table.Name)
		read := map[string]func(path string) ([][]string, error){
			"csv": func(path string) ([][]string, error) {
				f, err := os.Open(path)
				if err != nil {
					return nil, err
				}
				defer f.Close()
				rows, err := csv.NewReader(f).ReadAll()
				return rows[1:], err
			},
			"tsv": func(path string) ([][]string, error) {
				text, err := os.ReadFile(path)
				var rows [][]string
				for line := range strings.Lines(string(text)) {
					rows = append(rows, strings.Split(strings.TrimSuffix(line, "\n"), "\t"))
				}
				return rows[1:], err
			},
			"jsonl":   func(path string) ([][]string, error) { return readJSON(path, table) },
			"parquet": func(path string) ([][]string, error) { return readParquet(path, table) },
		}
		for format, read := range read {
			path := filepath.Join(dir, table.Name+"."+format)
			run(t, s, format, path, table.Name)
			got, err := read(path)
			if err != nil {
				t.Errorf("%s in %s: %v", table.Name, format, err)
				continue
			}
			want := want
			if format == "csv" { // read as anybody would who knows of the apostrophe
				for _, row := range got {
					for i := range row {
						row[i] = strings.TrimPrefix(row[i], "'")
					}
				}
			}
			if format == "tsv" && table.Name == "stoplist" {
				want = slices.Clone(want)
				want[0] = slices.Clone(want[0])
				want[0][2] = strings.ReplaceAll(want[0][2], "\t", " ")
			}
			if len(got) != len(want) || len(want) > 0 && !reflect.DeepEqual(got, want) {
				t.Errorf("%s in %s: %d rows, want %d, and the same: first %q, want %q", table.Name, format, len(got),
					len(want), got[:min(1, len(got))], want[:min(1, len(want))])
			}
		}
	}
}

// No text of a page is a formula to a spreadsheet; numbers stay numbers.
// A folder for engines of analysis has a file for each table, and a second export takes the place of the first.
func TestAFolderHasAFileForEachTable(t *testing.T) {
	s, dir := source(t, web), filepath.Join(t.TempDir(), "tables")
	for range 2 {
		run(t, s, ccindex.Format, dir, "pages", "links", "captures")
	}
	if left, _ := filepath.Glob(filepath.Join(dir, "*")); len(left) != 3 {
		t.Errorf("the folder has %q", left)
	}
	for name, file := range map[string]string{"pages": "pages", "links": "edges", "captures": "captures"} {
		table := ccindex.Of(tables.Named(name)).Table
		got, err := readParquet(filepath.Join(dir, file+".parquet"), table)
		if want := rowsOf(t, s, name); err != nil || len(got) != len(want) || name != "captures" && len(want) > 0 &&
			!reflect.DeepEqual(got, want) {
			t.Errorf("%s: %d rows, want %d; %v", file, len(got), len(want), err)
		}
	}
}

func TestFormatsAreKnownByTheEndsOfNames(t *testing.T) {
	for path, want := range map[string]string{"a.csv": "csv", "a.PARQUET": "parquet", "a.sqlite": "sqlite",
		"a.db": "sqlite", "csv": "", "a.csv.zip": "", "a": ""} {
		if got := export.FormatOf(path); got != want {
			t.Errorf("%s is %q, want %q", path, got, want)
		}
	}
}

func TestWhatIsNoNumberIsNoJSON(t *testing.T) {
	for _, r := range []float64{math.NaN(), math.Inf(1), math.Inf(-1)} {
		if got := string(export.AppendJSON(nil, tables.Value{Kind: tables.Real, Real: r})); got != "null" {
			t.Errorf("%v is %s", r, got)
		}
	}
}

func TestNoCellOfATableIsAFormula(t *testing.T) {
	path := filepath.Join(t.TempDir(), "links.csv")
	run(t, source(t, web), "csv", path, "links")
	text, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	guarded, bare := strings.Count(string(text), ",'=1+the "), strings.Count(string(text), ",=1+the ")
	if guarded == 0 || bare > 0 {
		t.Errorf("%d formulas have an apostrophe, %d have none", guarded, bare)
	}
}

func readJSON(path string, table *tables.Table) (rows [][]string, err error) {
	f, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	d := json.NewDecoder(f)
	d.UseNumber()
	for {
		object := map[string]any{}
		if err := d.Decode(&object); err == io.EOF {
			return rows, nil
		} else if err != nil {
			return nil, err
		}
		var row []string
		for _, c := range table.Columns {
			if object[c.Name] == nil {
				row = append(row, "")
				continue
			}
			row = append(row, fmt.Sprint(object[c.Name]))
		}
		rows = append(rows, row)
	}
}

func readParquet(path string, table *tables.Table) (rows [][]string, err error) {
	f, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	r := parquet.NewReader(f)
	defer r.Close()
	for i, c := range r.Schema().Columns() {
		if c[0] != table.Columns[i].Name {
			return nil, fmt.Errorf("column %d is %s, want %s", i, c[0], table.Columns[i].Name)
		}
	}
	buffer := make([]parquet.Row, 100)
	for {
		n, err := r.ReadRows(buffer)
		for _, values := range buffer[:n] {
			var row []string
			for i, v := range values {
				value := tables.Value{Kind: table.Columns[i].Kind}
				switch {
				case v.IsNull():
					value.Kind = tables.Empty
				case value.Kind == tables.Text:
					value.Text = string(v.ByteArray())
				case value.Kind == tables.Real:
					value.Real = v.Double()
				case value.Kind == tables.Boolean && v.Boolean():
					value.Int = 1
				case value.Kind != tables.Boolean:
					value.Int = v.Int64()
				}
				row = append(row, value.String())
			}
			rows = append(rows, row)
		}
		if err == io.EOF {
			return rows, nil
		}
		if err != nil {
			return nil, err
		}
	}
}

func TestADatabaseHoldsAllTables(t *testing.T) {
	s, path := source(t, web), filepath.Join(t.TempDir(), "crawl.db")
	run(t, s, "sqlite", path, "pages", "links", "hosts", "captures", "stoplist")
	run(t, s, "sqlite", path, "pages", "links", "hosts", "captures", "stoplist") // in place of the first
	text, err := os.ReadFile(path)
	if err != nil || !bytes.HasPrefix(text, []byte("SQLite format 3\x00")) {
		t.Fatalf("no database: %v", err)
	}
	for _, view := range query.Views {
		if !bytes.Contains(text, []byte("CREATE VIEW "+`"`+view.Name+`"`)) {
			t.Errorf("there is no view %s", view.Name)
		}
	}
}

func TestWhatIsRefusedLeavesNothing(t *testing.T) {
	s := source(t, tablestest.Web{Pages: 20, Out: 2, Hosts: 2})
	dir := t.TempDir()
	stopped, stop := context.WithCancel(context.Background())
	stop()
	for name, o := range map[string]export.Options{
		"no such format":           {Tables: []string{"pages"}, Format: "xlsx", Path: "x"},
		"no such table":            {Tables: []string{"words"}, Format: "csv", Path: "x"},
		"two tables in one file":   {Tables: []string{"pages", "links"}, Format: "csv", Path: "x"},
		"a folder in a pipe":       {Tables: []string{"pages", "links"}, Format: ccindex.Format, Path: "-"},
		"a database in a pipe":     {Tables: []string{"pages"}, Format: "sqlite", Path: "-"},
		"a folder that is not one": {Tables: []string{"pages"}, Format: "csv", Path: "not/there"},
	} {
		if o.Path != "-" {
			o.Path = filepath.Join(dir, o.Path)
		}
		if err := export.Run(context.Background(), s, o); err == nil {
			t.Errorf("%s: it was done", name)
		}
	}
	large := source(t, tablestest.Web{Pages: 3 * 1 << 14, Out: 1, Hosts: 5})
	if err := export.Run(stopped, large, export.Options{Tables: []string{"pages"}, Format: "csv",
		Path: filepath.Join(dir, "stopped.csv")}); !errors.Is(err, context.Canceled) {
		t.Errorf("a stopped export ends with %v, want %v", err, context.Canceled)
	}
	if left, _ := os.ReadDir(dir); len(left) > 0 {
		t.Errorf("%s was left", left[0].Name())
	}
}

// Exports of 1 to 40 million links, the last as CSV alone, the processor time and the most memory they take:
//
//	go test ./store/report/export -run - -bench Export -benchtime 1x
func BenchmarkExport(b *testing.B) {
	for _, size := range []struct {
		name  string
		pages int // nine tenths of them have ten links
	}{{"1M", 111_120}, {"3M", 333_340}, {"10M", 1_111_120}, {"20M", 2_222_240}, {"40M", 4_444_480}} {
		b.Run(size.name+"-links", func(b *testing.B) {
			s := source(b, tablestest.Web{Pages: size.pages, Out: 10, Hosts: 5000})
			s.Memory = 0
			formats := []string{"csv", "jsonl", "parquet", "sqlite"}
			if size.pages > 3_000_000 {
				formats = formats[:1]
			}
			for _, format := range formats {
				b.Run(format, func(b *testing.B) { benchmarkExport(b, s, format) })
			}
		})
	}
}

func benchmarkExport(b *testing.B, s *tables.Source, format string) {
	for b.Loop() {
		debug.FreeOSMemory()
		path, most, size, before := filepath.Join(b.TempDir(), "links."+format), 0.0, int64(0), processorTime(b)
		standing := residentMB(b) // what making the state has left
		if err := export.Run(context.Background(), s, export.Options{Tables: []string{"links"}, Format: format,
			Path: path, Progress: func(_ string, rows int64) {
				if rows%(1<<18) < 1<<14 {
					most = max(most, residentMB(b))
				}
			}}); err != nil {
			b.Fatal(err)
		}
		files, _ := filepath.Glob(filepath.Join(filepath.Dir(path), "*"))
		for _, file := range files {
			if info, err := os.Stat(file); err == nil {
				size += info.Size()
			}
		}
		b.ReportMetric(most-standing, "MB-resident")
		b.ReportMetric(float64(size)/1e6, "MB-written")
		b.ReportMetric(processorTime(b)-before, "processor-s")
	}
}

// residentMB is what the process has in memory of its own, without the files of the state that it maps; 0 where /proc
// does not say.
func residentMB(b *testing.B) float64 {
	text, err := os.ReadFile("/proc/self/status")
	if err != nil {
		return 0
	}
	for line := range strings.Lines(string(text)) {
		var kB float64
		if n, _ := fmt.Sscanf(line, "RssAnon: %f kB", &kB); n == 1 {
			return kB / 1000
		}
	}
	return 0
}

// processorTime is what the process has used, in seconds; 0 where /proc does not say.
func processorTime(b *testing.B) float64 {
	text, err := os.ReadFile("/proc/self/stat")
	if err != nil {
		return 0
	}
	fields := strings.Fields(string(text[bytes.LastIndexByte(text, ')'):]))
	var user, system float64
	fmt.Sscan(fields[12], &user)
	fmt.Sscan(fields[13], &system)
	return (user + system) / 100
}
