package bucket

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/johannesboyne/gofakes3"
	"github.com/johannesboyne/gofakes3/backend/s3mem"
	"github.com/minio/minio-go/v7/pkg/credentials"
	"github.com/parquet-go/parquet-go"

	"henro/store/archive/cdxj"
	"henro/store/report/tables"
)

// s3 is a store whose clock is that of the test. From the request left on it answers nothing any more.
type s3 struct {
	*s3mem.Backend
	where Where
	left  atomic.Int64
	blind bool // it compares no ETags
	at    time.Time
}

// newS3At is when it is begun.
var newS3At = time.Date(2026, 3, 14, 12, 0, 0, 0, time.UTC)

func newS3(t *testing.T) *s3 {
	s := &s3{at: newS3At}
	s.left.Store(1 << 40)
	s.Backend = s3mem.New(s3mem.WithTimeSource(s))
	if err := s.CreateBucket("archive"); err != nil {
		t.Fatal(err)
	}
	handler := gofakes3.New(s.Backend, gofakes3.WithTimeSource(s), gofakes3.WithTimeSkewLimit(0)).Server()
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if s.left.Add(-1) < 0 {
			w.WriteHeader(http.StatusForbidden) // which the client does not ask again
			return
		}
		if s.blind && r.Method == http.MethodPut {
			r.Header.Del("If-Match")
			r.Header.Del("If-None-Match")
		}
		handler.ServeHTTP(w, r)
	}))
	t.Cleanup(server.Close)
	s.where = Where{Endpoint: server.Listener.Addr().String(), Region: "us-east-1", Bucket: "archive", Prefix: "a/news",
		Credentials: credentials.NewStaticV4("key", "secret", ""), Beside: asMany}
	return s
}

// asMany has a page with two links for each byte of a file.
var asMany = &Beside{
	Pages: &tables.Table{Name: "pages", Columns: []tables.Column{{Name: "url", Kind: tables.Text},
		{Name: "links", Kind: tables.Integer}, {Name: "warc_filename", Kind: tables.Text},
		{Name: "warc_record_offset", Kind: tables.Integer}}},
	Edges: &tables.Table{Name: "edges", Columns: []tables.Column{{Name: "warc_filename", Kind: tables.Text},
		{Name: "warc_record_offset", Kind: tables.Integer}, {Name: "far", Kind: tables.Boolean}}},
	Read: func(file io.ReadSeeker, name string, show func(bool, tables.Row) error) error {
		data, err := io.ReadAll(file)
		of := func(n int) tables.Value { return tables.Value{Kind: tables.Integer, Int: int64(n)} }
		text := func(s string) tables.Value { return tables.Value{Kind: tables.Text, Text: s} }
		for i := range data {
			url := fmt.Sprintf("http://%s.test/%04d", strings.TrimSuffix(name, ".warc.gz"), i)
			err = errors.Join(err, show(false, &readRow{values: []tables.Value{text(url), of(2), text(name), of(i)}}))
			for n := range 2 {
				err = errors.Join(err, show(true, &readRow{values: []tables.Value{text(name), of(i),
					{Kind: tables.Boolean, Int: int64(n)}}}))
			}
		}
		return err
	},
}

func (s *s3) Now() time.Time                   { return s.at }
func (s *s3) Since(at time.Time) time.Duration { return s.at.Sub(at) }

// open returns a bucket whose clock is that of the store.
func (s *s3) open(t *testing.T) *Bucket {
	t.Helper()
	b, err := Open(s.where, nil)
	if err != nil {
		t.Fatal(err)
	}
	b.now = s.Now
	return b
}

// keeper returns one that need not wait to be believed, and whose lock is written once.
func (s *s3) keeper(t *testing.T) *Keeper {
	t.Helper()
	k := keeper(s.open(t))
	k.wait = func(ctx context.Context, d time.Duration) error {
		if d == settle {
			return nil
		}
		<-ctx.Done()
		return ctx.Err()
	}
	return k
}

// bring puts a WARC file of n captures there, of which a keeper reads nothing, its index and its table.
func (s *s3) bring(t *testing.T, name string, n int, table bool) {
	t.Helper()
	var lines bytes.Buffer
	for i := range n {
		fmt.Fprintf(&lines, "test,%s)/%05d 20260314120000 {\"url\":\"http://%s.test/%05d\",\"mime\":\"text/html\","+
			"\"status\":\"200\",\"offset\":\"%d\",\"filename\":\"%s.warc.gz\"}\n", name, i, name, i, i, name)
	}
	file := filepath.Join(t.TempDir(), name+".warc.gz")
	index, body := cdxj.Path(file), strings.Repeat("x", n)
	err := errors.Join(os.WriteFile(index, lines.Bytes(), 0o600), os.WriteFile(file, []byte(body), 0o600))
	b := s.open(t)
	if err = errors.Join(err, b.putFile(t.Context(), name+".warc.gz", file)); err == nil && table {
		err = s.where.WriteTables(file, func(to, path string) error { return b.putFile(t.Context(), to, path) })
	}
	if err = errors.Join(err, b.putFile(t.Context(), name+".cdxj", index)); err != nil {
		t.Fatal(err)
	}
	left, err := os.ReadDir(filepath.Dir(file))
	if err != nil || len(left) != 2 {
		t.Fatal("left beside the file:", left, err)
	}
}

// beside returns how often each page and each edge is in the tables, and in how many files.
func (s *s3) beside(t *testing.T) (rows [2]map[string]int, files int) {
	t.Helper()
	b := s.open(t)
	found, err := b.besides(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	for i, table := range asMany.both() {
		rows[i], files = map[string]int{}, files+len(found[i])
		for _, o := range found[i] {
			if err := eachRow(b.File(o), o.Size, table, func(row tables.Row) error {
				key := ""
				for i := range table.Columns {
					key += row.Value(i).String() + " "
				}
				rows[i][key]++
				return nil
			}); err != nil {
				t.Fatal(o.Name, err)
			}
		}
	}
	return rows, files
}

// read returns how often each capture is in the index, or beside a file that it does not have, and in the tables.
func (s *s3) read(t *testing.T) (lines, rows map[string]int) {
	t.Helper()
	lines, rows = map[string]int{}, map[string]int{}
	b := s.open(t)
	objects, err := b.List(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	x, err := b.Index(objects)
	if err != nil {
		t.Fatal(err)
	}
	var failed error
	count := func(text []byte) {
		_, url, _ := strings.Cut(string(text), `"url":"`)
		url, _, _ = strings.Cut(url, `"`)
		lines[url]++
	}
	for line := range x.Lines("", &failed) {
		count(line)
	}
	dir := t.TempDir()
	fresh, err := x.Fetch(objects, dir)
	if err = errors.Join(err, failed); err != nil {
		t.Fatal(err)
	}
	for _, name := range fresh {
		text, err := os.ReadFile(filepath.Join(dir, strings.TrimSuffix(name, ".warc.gz")+".cdxj"))
		if err != nil {
			t.Fatal(err)
		}
		for line := range bytes.Lines(text) {
			count(line)
		}
	}
	tables, err := b.Tables(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	for _, o := range tables {
		data, err := b.whole(o)
		if err != nil {
			t.Fatal(err)
		}
		type row struct {
			URL    string `parquet:"url,optional"`
			Offset int64  `parquet:"warc_record_offset,optional"`
			Domain string `parquet:"url_host_registered_domain,optional"`
		}
		read, err := parquet.Read[row](bytes.NewReader(data), int64(len(data)))
		if err != nil {
			t.Fatal(o.Name, err)
		}
		for _, r := range read {
			rows[r.URL]++
			if !strings.HasSuffix(r.URL, fmt.Sprintf("%04d", r.Offset)) || !strings.HasSuffix(r.Domain, ".test") {
				t.Fatalf("%+v", r)
			}
		}
	}
	return lines, rows
}

// TestAPassMayBeCutOffAnywhere: whenever the node dies, no reader misses a capture, in the index or in the tables, and
// the next pass of another leaves each once.
func TestAPassMayBeCutOffAnywhere(t *testing.T) {
	for cut := int64(0); ; cut++ {
		s := newS3(t)
		for i, n := range []int{9, 1, 1} { // of which the pass merges all
			s.bring(t, fmt.Sprint("a", i), n, i != 1)
			if i == 1 {
				if _, err := s.keeper(t).Pass(t.Context()); err != nil {
					t.Fatal(err)
				}
			}
		}
		s.left.Store(cut)
		_, err := s.keeper(t).Pass(t.Context())
		s.left.Store(1 << 40)
		whole := func(most int) {
			t.Helper()
			lines, rows := s.read(t)
			beside, _ := s.beside(t)
			for what, got := range map[string]map[string]int{"index": lines, "tables": rows, "pages": beside[0],
				"edges": beside[1]} {
				want := 11
				if what == "edges" {
					want = 22
				}
				if len(got) != want {
					t.Errorf("cut off at %d: %d captures in the %s", cut, len(got), what)
				}
				for url, n := range got {
					if n > most || what == "index" && n != 1 {
						t.Errorf("cut off at %d: %s is %d times in the %s", cut, url, n, what)
					}
				}
			}
		}
		whole(2)
		s.at = s.at.Add(time.Second)
		next := s.keeper(t)
		if _, err := next.Pass(t.Context()); err != nil && !errors.Is(err, ErrHeld) {
			t.Fatal(cut, err)
		} else if err != nil {
			s.at = s.at.Add(stale)
			if _, err = next.Pass(t.Context()); err != nil {
				t.Fatal(cut, err)
			}
		}
		whole(1)
		s.at = s.at.Add(2 * orphaned)
		if _, err := s.keeper(t).Pass(t.Context()); err != nil {
			t.Fatal(cut, err)
		}
		if _, files := s.beside(t); files != 2 {
			t.Errorf("cut off at %d: %d files of pages and edges", cut, files)
		}
		objects, err2 := s.open(t).List(t.Context())
		names := slices.Collect(func(yield func(string) bool) {
			for name := range objects {
				if strings.HasPrefix(name, "index") && !yield(name) {
					return
				}
			}
		})
		if err2 != nil || len(names) != 4 { // the list, and a part of three
			t.Errorf("cut off at %d: it leaves %v, %v", cut, names, err2)
		}
		if err == nil {
			if cut < 20 {
				t.Errorf("a pass has %d requests", cut)
			}
			return
		}
	}
}

// TestOneNodeKeepsTheIndex: the others wait until it has left, or has not said for two minutes that it is there, also
// where the store compares nothing.
func TestOneNodeKeepsTheIndex(t *testing.T) {
	for _, blind := range []bool{false, true} {
		s := newS3(t)
		s.blind = blind
		s.bring(t, "a", 3, true)
		one, other := s.keeper(t), s.keeper(t)
		at := func(k *Keeper) Object {
			objects, err := k.b.List(t.Context())
			if err != nil {
				t.Fatal(err)
			}
			return objects[LockName]
		}
		if err := one.take(t.Context(), at(one)); err != nil {
			t.Fatal(err)
		}
		for range 2 {
			if _, err := other.Pass(t.Context()); !errors.Is(err, ErrHeld) {
				t.Errorf("blind %v: while another keeps it: %v", blind, err)
			}
			s.at = s.at.Add(stale - time.Second)
			if err := one.write(t.Context(), one.held); err != nil { // it lives
				t.Fatal(err)
			}
		}
		if _, err := other.Pass(t.Context()); !errors.Is(err, ErrHeld) {
			t.Errorf("blind %v: it was written again: %v", blind, err)
		}
		s.at = s.at.Add(stale)
		if done, err := other.Pass(t.Context()); err != nil || done.Files != 1 {
			t.Errorf("blind %v: the other has died: %+v, %v", blind, done, err)
		}
		if err := one.mine(t.Context()); !errors.Is(err, ErrLost) {
			t.Errorf("blind %v: it comes back: %v", blind, err)
		}
		if err := one.leave(t.Context()); err != nil {
			t.Error(err)
		}

		// Both see that nobody keeps it, and take it.
		if err := other.take(t.Context(), Object{}); err != nil {
			t.Fatal(err)
		}
		first := one.take(t.Context(), Object{})
		if second := other.mine(t.Context()); (first == nil) == (second == nil) {
			t.Errorf("blind %v: both take it: %v, %v", blind, first, second)
		}
	}
}

// TestAListIsNotReplacedByAnOlderOne, where the store compares.
func TestAListIsNotReplacedByAnOlderOne(t *testing.T) {
	s := newS3(t)
	s.bring(t, "a", 3, true)
	b := s.open(t)
	x, err := b.Index(nil)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := s.keeper(t).Pass(t.Context()); err != nil {
		t.Fatal(err)
	}
	if err := x.write(t.Context(), listOfParts{Version: 1}); !errors.Is(err, ErrLost) {
		t.Errorf("a list that knows of none: %v", err)
	}
}

// TestATableIsTheSameForTheSameIndex: and leaves out what is no line of an index.
func TestATableIsTheSameForTheSameIndex(t *testing.T) {
	index := filepath.Join(t.TempDir(), "a.cdxj")
	var text bytes.Buffer
	for line := range linesOf(5000) {
		text.Write(line)
	}
	text.WriteString("test,b)/ 20260314120000 no line\ntest,c)/ 20260314120000 {\"url\":\"urn:c\",\"offset\":\"1\"," +
		"\"filename\":\"a\"}\n")
	if err := os.WriteFile(index, text.Bytes(), 0o600); err != nil {
		t.Fatal(err)
	}
	var made [2][]byte
	for i := range made {
		to := filepath.Join(t.TempDir(), "a.parquet")
		if err := WriteTable(to, index); err != nil {
			t.Fatal(err)
		}
		var err error
		if made[i], err = os.ReadFile(to); err != nil {
			t.Fatal(err)
		}
	}
	f, err := parquet.OpenFile(bytes.NewReader(made[0]), int64(len(made[0])))
	if err != nil || f.NumRows() != 5000 || !bytes.Equal(made[0], made[1]) {
		t.Errorf("%v, %v", f, err)
	}
}

// TestAPassComesAfterSoManyFiles, or some time after the first of fewer, and a minute after one that failed.
func TestAPassComesAfterSoManyFiles(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ctx, end := context.WithCancel(t.Context())
		begun, passes := time.Now(), []time.Duration(nil)
		var fails atomic.Bool
		k := keeper(nil)
		go k.turns(ctx, func(context.Context) (Added, error) {
			passes = append(passes, time.Since(begun))
			if fails.Load() {
				return Added{}, ErrHeld
			}
			return Added{}, nil
		}, func(Added, error) {})
		bring := func(n int) {
			for range n {
				k.Brought()
			}
			synctest.Wait()
		}
		bring(keepFiles - 1)
		time.Sleep(time.Second)
		bring(1) // at once
		time.Sleep(time.Hour)
		bring(1) // 15 minutes later, which fails, and a minute after that
		fails.Store(true)
		time.Sleep(keepAfter)
		synctest.Wait()
		fails.Store(false)
		time.Sleep(time.Hour)
		synctest.Wait()
		end()
		synctest.Wait()
		first := time.Second
		want := []time.Duration{first, first + time.Hour + keepAfter, first + time.Hour + keepAfter + time.Minute}
		if !slices.Equal(passes, want) {
			t.Errorf("passes at %v, want %v", passes, want)
		}
	})
}
