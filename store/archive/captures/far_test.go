package captures

import (
	"context"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/johannesboyne/gofakes3"
	"github.com/johannesboyne/gofakes3/backend/s3mem"
	"github.com/minio/minio-go/v7/pkg/credentials"

	"henro/messages/weburl"
	"henro/store/archive/bucket"
	"henro/store/archive/cdxj"
	"henro/store/archive/warc"
)

// moment is when objects were put there.
const moment = "Sat, 14 Mar 2026 12:00:00 GMT"

// store is a store that speaks S3, with a bucket named archive.
type store struct {
	*s3mem.Backend
	where    bucket.Where // crawl/ of it
	requests atomic.Int64
	fault    func(w http.ResponseWriter, r *http.Request) bool // nil: none; true: it has answered
}

func newStore(t *testing.T) *store {
	t.Helper()
	s := &store{Backend: s3mem.New()}
	if err := s.CreateBucket("archive"); err != nil {
		t.Fatal(err)
	}
	handler := gofakes3.New(s.Backend).Server()
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		s.requests.Add(1)
		if s.fault == nil || !s.fault(w, r) {
			handler.ServeHTTP(w, r)
		}
	}))
	t.Cleanup(server.Close)
	s.where = bucket.Where{Endpoint: server.Listener.Addr().String(), Region: "us-east-1", Bucket: "archive",
		Prefix: "crawl", Credentials: credentials.NewStaticV4("key", "secret", "")}
	return s
}

// bring puts the files of a folder into crawl/ of the bucket.
func (s *store) bring(t *testing.T, dir string, names ...string) {
	t.Helper()
	for _, name := range names {
		f, err := os.Open(filepath.Join(dir, name))
		if err != nil {
			t.Fatal(err)
		}
		defer f.Close()
		info, err := f.Stat()
		if err != nil {
			t.Fatal(err)
		}
		_, err = s.PutObject("archive", "crawl/"+name, map[string]string{"Last-Modified": moment}, f, info.Size(), nil)
		if err != nil {
			t.Fatal(err)
		}
	}
}

// file writes a WARC file of n pages of a host, with its index, and returns the names of both.
func file(t *testing.T, dir, name, host string, n int) []string {
	t.Helper()
	b, err := warc.NewBuilder(warc.DefaultOptions())
	if err != nil {
		t.Fatal(err)
	}
	noise := rand.NewChaCha8([32]byte{})
	var data []byte
	for i := range n {
		body := make([]byte, 600)
		noise.Read(body)
		data, _ = b.AppendExchange(data, &warc.Exchange{URI: fmt.Sprintf("http://%s/%05d", host, i), At: noon,
			Head: []byte("HTTP/1.1 200 OK\r\nContent-Type: text/plain\r\n\r\n"), Body: body,
			Request: []byte("GET / HTTP/1.1\r\n\r\n")})
	}
	path := filepath.Join(dir, name+".warc.gz")
	if err := errors.Join(os.WriteFile(path, data, 0o600), cdxj.IndexFile(path)); err != nil {
		t.Fatal(err)
	}
	return []string{name + ".warc.gz", name + cdxj.Suffix}
}

func open(t *testing.T, dir string) *Archive {
	t.Helper()
	a, err := Open(dir, func(what string) { t.Error(what) })
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { a.Close() })
	return a
}

func (s *store) open(t *testing.T) *Archive {
	t.Helper()
	a, err := OpenBucket(s.where, func(what string) { t.Error(what) })
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { a.Close() })
	return a
}

// all are the captures of an archive, and the bodies of some.
func all(t *testing.T, a *Archive) string {
	t.Helper()
	var out strings.Builder
	n := 0
	if err := a.Entries(func(e cdxj.Entry) bool {
		fmt.Fprintln(&out, e.URL, e.Filename, e.Offset)
		if n++; n%100 != 1 {
			return true
		}
		c, err := a.Read(e)
		if err != nil {
			t.Fatal(err)
		}
		body, err := io.ReadAll(c.Body)
		if err := errors.Join(err, c.Close()); err != nil {
			t.Fatal(err)
		}
		fmt.Fprintf(&out, "%x\n", body)
		return true
	}); err != nil {
		t.Fatal(err)
	}
	return out.String()
}

// TestABucketHoldsTheSameAsTheFolder: before it has an index, with an index, and with files that came since.
func TestABucketHoldsTheSameAsTheFolder(t *testing.T) {
	s, dir := newStore(t), t.TempDir()
	parts := []int{}
	for i, n := range []int{4000, 10, 3500, 5} {
		s.bring(t, dir, file(t, dir, fmt.Sprint("a", i), fmt.Sprintf("host%d.test", i%3), n)...)
		far := s.open(t)
		want := all(t, open(t, dir))
		if got := all(t, far); got != want {
			t.Fatalf("%d files: %d bytes of captures, want %d", i+1, len(got), len(want))
		}
		done, err := bucket.AddToIndex(t.Context(), s.where)
		if err != nil || done.Files != 1 {
			t.Fatalf("%+v, %v", done, err)
		}
		parts = append(parts, done.Parts)
		for _, a := range []*Archive{far, s.open(t)} {
			if got := all(t, a); got != want {
				t.Fatalf("%d files in the index: %d bytes of captures, want %d", i+1, len(got), len(want))
			}
			for _, from := range []string{"test,host1)/00003 ", "test,host0)/03000 ", "test,host2)/03499 "} {
				var first string
				if err := a.Lines(from, func(line []byte) bool { first = string(line); return false }); err != nil {
					t.Fatal(err)
				}
				if b := open(t, dir); first != firstLine(t, b, from) {
					t.Errorf("from %q: %q", from, first)
				}
			}
		}
	}
	if fmt.Sprint(parts) != "[1 2 1 2]" {
		t.Errorf("parts of the index: %v", parts)
	}
	b := must(bucket.Open(s.where, nil))(t)
	tables, err := b.Tables(t.Context())
	if err != nil || len(tables) != 2 {
		t.Errorf("%d tables, %v: want one of each part", len(tables), err)
	}
	// Parts that others have taken in stay for readers with the older list, until it is old enough.
	for _, want := range []int{4 * 3, 2 * 3} {
		if names := s.named(t, "index-"); len(names) != want {
			t.Errorf("%d objects of parts, want %d: %v", len(names), want, names)
		}
		list := object(t, s, bucket.IndexName)
		put(t, s, bucket.IndexName, gone.ReplaceAllString(list, `"at":"2026-03-14T`))
		if _, err := bucket.AddToIndex(t.Context(), s.where); err != nil {
			t.Fatal(err)
		}
	}
}

var gone = regexp.MustCompile(`"at":"\d{4}-\d\d-\d\dT`)

// named are the objects of crawl/ whose names begin so.
func (s *store) named(t *testing.T, prefix string) (names []string) {
	t.Helper()
	objects, err := must(bucket.Open(s.where, nil))(t).List(context.Background())
	if err != nil {
		t.Fatal(err)
	}
	for name := range objects {
		if strings.HasPrefix(name, prefix) {
			names = append(names, name)
		}
	}
	slices.Sort(names)
	return names
}

func must[T any](value T, err error) func(t *testing.T) T {
	return func(t *testing.T) T {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
		return value
	}
}

func firstLine(t *testing.T, a *Archive, from string) (first string) {
	t.Helper()
	if err := a.Lines(from, func(line []byte) bool { first = string(line); return false }); err != nil {
		t.Fatal(err)
	}
	return first
}

// TestALookUpInABucketCostsTwoRanges: one of the index, one of the WARC file, and none the second time. The record lies
// in the middle of a block: near its end the next one is asked too.
func TestALookUpInABucketCostsTwoRanges(t *testing.T) {
	s, dir := newStore(t), t.TempDir()
	s.bring(t, dir, file(t, dir, "a", "a.test", 7000)...)
	if _, err := bucket.AddToIndex(t.Context(), s.where); err != nil {
		t.Fatal(err)
	}
	a := s.open(t)
	for _, want := range []int64{2, 0} {
		before := s.requests.Load()
		p, err := a.Closest(weburl.MustParse("http://a.test/03000"), noon)
		if err != nil {
			t.Fatal(err)
		}
		c, err := a.Read(p.Entry)
		if err != nil {
			t.Fatal(err)
		}
		if _, err := io.ReadAll(c.Body); err != nil {
			t.Fatal(err)
		}
		c.Close()
		if asked := s.requests.Load() - before; asked > want+1 { // one more for the begin of the file
			t.Errorf("%d requests, want %d", asked, want)
		}
	}
}

// TestABucketThatLiesIsNamed: what was changed, cut off, refused or is not there is said, and nothing is made up.
func TestABucketThatLiesIsNamed(t *testing.T) {
	s, dir := newStore(t), t.TempDir()
	if _, err := OpenBucket(s.where, func(string) {}); err == nil || !strings.Contains(err.Error(), "no WARC") {
		t.Errorf("an empty bucket: %v", err)
	}
	if _, err := bucket.AddToIndex(t.Context(), s.where); err == nil || !strings.Contains(err.Error(), "no WARC") {
		t.Errorf("the index of an empty bucket: %v", err)
	}
	none := s.where
	none.Bucket = "none"
	if _, err := OpenBucket(none, func(string) {}); err == nil || !strings.Contains(err.Error(), "make it") {
		t.Errorf("no bucket: %v", err)
	}
	s.bring(t, dir, file(t, dir, "a", "a.test", 5000)...)
	if _, err := bucket.AddToIndex(t.Context(), s.where); err != nil {
		t.Fatal(err)
	}
	a := s.open(t)
	read := func(a *Archive) error {
		p, err := a.Closest(weburl.MustParse("http://a.test/00001"), noon)
		if err == nil {
			var c *Capture
			if c, err = a.Read(p.Entry); err == nil {
				_, err = io.ReadAll(c.Body)
				err = errors.Join(err, c.Close())
			}
		}
		return err
	}
	cuts := 2 // answers that are cut off are asked for again
	s.fault = func(w http.ResponseWriter, r *http.Request) bool {
		if cuts--; cuts < 0 {
			return false
		}
		w.Header().Set("Content-Length", "1000")
		w.WriteHeader(http.StatusPartialContent)
		io.WriteString(w, "cut")
		return true
	}
	if err := read(a); err != nil {
		t.Errorf("two answers that were cut off: %v", err)
	}
	other := s.open(t)
	s.fault = func(w http.ResponseWriter, r *http.Request) bool {
		if r.Method == http.MethodGet && r.Header.Get("If-Match") != "" {
			w.WriteHeader(http.StatusPreconditionFailed)
			return true
		}
		return false
	}
	if err := read(other); !errors.Is(err, bucket.ErrChanged) {
		t.Errorf("an object that was changed: %v", err)
	}
	s.fault = nil
	part := s.named(t, "index-00001-") // .cdx.gz, .idx, .loc
	for name, with := range map[string]string{part[1]: "a b\tc\n", bucket.IndexName: "{}", part[0]: "no gzip"} {
		was := object(t, s, name)
		put(t, s, name, with)
		other, err := OpenBucket(s.where, func(string) {})
		if err == nil {
			err = read(other)
			other.Close()
		}
		if err == nil || errors.Is(err, ErrNotArchived) || !strings.Contains(err.Error(), "s3://archive/crawl") {
			t.Errorf("%s says %q: %v", name, with, err)
		}
		put(t, s, name, was)
	}
}

func object(t *testing.T, s *store, name string) string {
	t.Helper()
	o, err := s.GetObject("archive", "crawl/"+name, nil)
	if err != nil {
		t.Fatal(err)
	}
	defer o.Contents.Close()
	text, err := io.ReadAll(o.Contents)
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

func put(t *testing.T, s *store, name, text string) {
	t.Helper()
	_, err := s.PutObject("archive", "crawl/"+name, map[string]string{"Last-Modified": moment},
		strings.NewReader(text), int64(len(text)), nil)
	if err != nil {
		t.Fatal(err)
	}
}

// TestAStoreThatDoesNotAnswerIsNoDamage: of a record that it does not give, nobody is told that it is damaged.
func TestAStoreThatDoesNotAnswerIsNoDamage(t *testing.T) {
	s, dir := newStore(t), t.TempDir()
	s.bring(t, dir, file(t, dir, "a", "a.test", 3)...)
	a, err := OpenBucket(s.where, func(what string) { t.Error(what) })
	if err != nil {
		t.Fatal(err)
	}
	defer a.Close()
	p, err := a.Closest(weburl.MustParse("http://a.test/00001"), noon)
	if err != nil {
		t.Fatal(err)
	}
	s.fault = func(w http.ResponseWriter, _ *http.Request) bool {
		w.WriteHeader(http.StatusForbidden)
		return true
	}
	if _, err := a.Read(p.Entry); err == nil || errors.Is(err, warc.ErrDamaged) ||
		!strings.HasPrefix(err.Error(), "s3://archive/crawl at ") {
		t.Errorf("%v", err)
	}
}
