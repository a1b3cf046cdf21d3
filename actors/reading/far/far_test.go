package far_test

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"slices"
	"testing"
	"time"

	"github.com/johannesboyne/gofakes3"
	"github.com/johannesboyne/gofakes3/backend/s3mem"
	"github.com/minio/minio-go/v7/pkg/credentials"

	"henro/actors/reading/far"
	"henro/messages/weburl"
	"henro/store/archive/bucket"
	"henro/store/archive/captures"
	"henro/store/archive/cdxj"
	"henro/store/archive/payloads"
	"henro/store/archive/warc"
	"henro/store/report/tables"
)

// ofRecords has a link for each record: to its body.
var ofRecords = &bucket.Beside{
	Pages: &tables.Table{Name: "pages", Columns: []tables.Column{{Name: "url"}}},
	Edges: &tables.Table{Name: "edges", Columns: []tables.Column{{Name: "number"}}},
	Read: func(file io.ReadSeeker, name string, show func(edge bool, row tables.Row) error) error {
		_, err := warc.Walk(file, func(e *warc.Entry) error {
			if e.Type() != warc.Response {
				return e.Close()
			}
			m, err := e.HTTP()
			if err != nil {
				return err
			}
			body, err := io.ReadAll(m.Payload())
			return errors.Join(err, show(true, edge{1: {Kind: tables.Text, Text: e.TargetURI()},
				2: {Kind: tables.Text, Text: string(body)}, 9: {Kind: tables.Text, Text: name},
				10: {Kind: tables.Integer, Int: e.Offset}}), e.Close())
		})
		return err
	},
}

type edge [11]tables.Value

func (e edge) Value(i int) tables.Value { return e[i] }

// archive puts WARC files of a record each into a folder, and into a bucket.
func archive(t *testing.T, names ...string) (dir string, find far.Find, digests []warc.Digest,
	put func(name string, data []byte)) {
	dir = t.TempDir()
	store := s3mem.New()
	if err := store.CreateBucket("archive"); err != nil {
		t.Fatal(err)
	}
	put = func(name string, data []byte) {
		if _, err := store.PutObject("archive", name, map[string]string{
			"Last-Modified": time.Now().UTC().Format(http.TimeFormat)}, bytes.NewReader(data), int64(len(data)),
			nil); err != nil {
			t.Fatal(err)
		}
	}
	b, err := warc.NewBuilder(warc.DefaultOptions())
	if err != nil {
		t.Fatal(err)
	}
	for i, name := range names {
		url, err := weburl.Parse(fmt.Sprintf("http://example.com/%d", i))
		if err != nil {
			t.Fatal(err)
		}
		x := &warc.Exchange{URI: url.String(), At: time.Date(2026, 3, 14, 12, i, 0, 0, time.UTC),
			Head:    []byte("HTTP/1.1 200 OK\r\nContent-Type: text/html\r\n\r\n"),
			Request: []byte("GET / HTTP/1.1\r\n\r\n"), Body: []byte(name)}
		records, members := b.AppendExchange(nil, x)
		e := cdxj.New(url, x, members, 200, "text/html")
		e.Filename = name + ".warc.gz"
		digests = append(digests, members.PayloadDigest)
		for name, data := range map[string][]byte{e.Filename: records, name + cdxj.Suffix: e.Append(nil)} {
			if err := os.WriteFile(filepath.Join(dir, name), data, 0o644); err != nil {
				t.Fatal(err)
			}
			put(name, data)
		}
	}
	server := httptest.NewServer(gofakes3.New(store).Server())
	t.Cleanup(server.Close)
	return dir, func(string) (bucket.Where, error) {
		return bucket.Where{Endpoint: server.Listener.Addr().String(), Region: "us-east-1", Bucket: "archive",
			Credentials: credentials.NewStaticV4("key", "secret", ""), Beside: ofRecords}, nil
	}, digests, put
}

// TestPayloadsOfABucketAreKnown: as those of the folder, and read once.
func TestPayloadsOfABucketAreKnown(t *testing.T) {
	dir, find, digests, _ := archive(t, "a", "b", "c")
	none := func(what string) { t.Error(what) }
	for from, again := range map[string]int{"s3://archive": 0, dir: 0} {
		x := payloads.New(filepath.Join(t.TempDir(), "payloads"))
		for _, want := range []int{len(digests), again} {
			if n, err := far.Import(x, from, find, none); err != nil || n != want {
				t.Errorf("%s: %d, %v, want %d", from, n, err, want)
			}
		}
		if _, err := x.Open(); err != nil {
			t.Fatal(err)
		}
		for i, d := range digests {
			if e, ok := x.Find(d); !ok || e.URI != fmt.Sprintf("http://example.com/%d", i) {
				t.Errorf("%s: %v: %+v, %v", from, d, e, ok)
			}
		}
		if err := x.Close(); err != nil {
			t.Error(err)
		}
	}
	x := payloads.New(filepath.Join(t.TempDir(), "payloads"))
	if _, err := far.Import(x, "s3://archive", func(string) (bucket.Where, error) {
		where, err := find("")
		where.Bucket = "none"
		return where, err
	}, none); err == nil {
		t.Error("a bucket that is not there has payloads")
	}
}

// TestLinksOfABucketAreThoseOfTheLastAnswer: what came back unchanged keeps its links, and so does another URL of the
// same key.
func TestLinksOfABucketAreThoseOfTheLastAnswer(t *testing.T) {
	_, find, _, put := archive(t, "a", "b", "c")
	for name, of := range map[string][3]string{
		"again": {"com,example)/0", "http://example.com/0", "warc/revisit"},
		"newer": {"com,example)/1", "http://example.com/1", "text/html"},
		"other": {"com,example)/2", "http://www.example.com/2", "text/html"},
	} {
		put(name+".warc.gz", nil)
		put(name+cdxj.Suffix, fmt.Appendf(nil, `%s 20260315000000 {"url": %q, "mime": %q, "status": "200", `+
			`"offset": "0", "filename": "%s.warc.gz"}`+"\n", of[0], of[1], of[2], name))
	}
	var read []string
	counting := func(address string) (bucket.Where, error) {
		where, err := find(address)
		beside := *ofRecords
		beside.Read = func(file io.ReadSeeker, name string, show func(edge bool, row tables.Row) error) error {
			read = append(read, name)
			return ofRecords.Read(file, name, show)
		}
		where.Beside = &beside
		return where, err
	}
	of := func(url string) tables.Query { return tables.Query{URL: &url} }
	for _, c := range []struct {
		q    tables.Query
		want []string
		read int // files: one where the index says which record it is
	}{
		{tables.All, []string{"http://example.com/0 a", "http://example.com/2 c"}, 6},
		{of("http://example.com/0"), []string{"http://example.com/0 a"}, 1},
		{of("http://example.com/1"), nil, 6}, // whose last answer is of unknown length
		{of("http://example.com/2"), []string{"http://example.com/2 c"}, 1},
		{of("http://example.com/3"), nil, 0},
		{of("mailto:nobody"), nil, 0},
	} {
		var got []string
		read = nil
		if is, err := far.In("s3://archive", counting, func(what string) { t.Error(what) },
			func(a *captures.Archive) error {
				return tables.Links().Each(far.Tables(a), c.q, func(row tables.Row) error {
					got = append(got, row.Value(1).Text+" "+row.Value(2).Text)
					return nil
				})
			}); !is || err != nil {
			t.Fatal(is, err)
		}
		slices.Sort(got)
		if !slices.Equal(got, c.want) || len(read) != c.read {
			t.Errorf("%+v: %q of %q, want %q of %d files", c.q, got, read, c.want, c.read)
		}
	}
}
