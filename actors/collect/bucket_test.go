package collect_test

import (
	"bytes"
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/johannesboyne/gofakes3"
	"github.com/johannesboyne/gofakes3/backend/s3mem"
	"github.com/minio/minio-go/v7/pkg/credentials"

	"henro/actors/collect"
	"henro/store/archive/bucket"
	"henro/store/archive/cdxj"
)

// s3 is a store that speaks S3, behind a real socket, on which things go wrong.
type s3 struct {
	*httptest.Server
	backend gofakes3.Backend
	store   http.Handler

	mu       sync.Mutex
	at, n    int                                          // the at-th request meets a fault
	fault    func(w http.ResponseWriter, r *http.Request) // what then happens
	requests []string
	paths    []string // of requests, behind their methods
}

func newS3(t *testing.T) *s3 {
	s := &s3{backend: s3mem.New()}
	s.store = gofakes3.New(s.backend, gofakes3.WithIntegrityCheck(true)).Server()
	if err := s.backend.CreateBucket("archive"); err != nil {
		t.Fatal(err)
	}
	s.Server = httptest.NewServer(s)
	t.Cleanup(s.Close)
	return s
}

func (s *s3) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	s.mu.Lock()
	s.n++
	fault := s.fault
	if s.n != s.at {
		fault = nil
	}
	part := ""
	if r.URL.Query().Has("partNumber") {
		part = " piece " + r.URL.Query().Get("partNumber")
	}
	s.requests, s.paths = append(s.requests, r.Method+part), append(s.paths, r.Method+" "+r.URL.Path)
	s.mu.Unlock()
	if fault != nil {
		fault(w, r)
		return
	}
	s.store.ServeHTTP(w, r)
}

func (s *s3) object(t *testing.T, name string) []byte {
	t.Helper()
	o, err := s.backend.GetObject("archive", "crawl/"+name, nil)
	if err != nil {
		return nil
	}
	defer o.Contents.Close()
	data, err := io.ReadAll(o.Contents)
	if err != nil {
		t.Fatal(err)
	}
	return data
}

func (s *s3) where() bucket.Where {
	return bucket.Where{Endpoint: s.Listener.Addr().String(), Region: "us-east-1", Bucket: "archive", Prefix: "crawl",
		Credentials: credentials.NewStaticV4("key", "secret", "")}
}

// sender sends to the store as a slave does that was started just now.
func (s *s3) sender(t *testing.T, dir string) *collect.Sender {
	t.Helper()
	bucket, err := collect.NewBucket(s.where())
	if err != nil {
		t.Fatal(err)
	}
	bucket.Piece = 5 << 20
	return sender(t, dir, nil, func(o *collect.SenderOptions) { o.Place = bucket })
}

// large writes a file of two pieces with an index.
func large(t *testing.T, dir, name string) []byte {
	t.Helper()
	data := make([]byte, 5<<20+1000)
	rand.NewChaCha8([32]byte{}).Read(data)
	path := filepath.Join(dir, name)
	err := errors.Join(os.WriteFile(path, data, 0o600), os.WriteFile(cdxj.Path(path), []byte(name), 0o600))
	if err != nil {
		t.Fatal(err)
	}
	return data
}

// The faults of a network and of a store.
var faults = map[string]func(s *s3) func(http.ResponseWriter, *http.Request){
	"the line is cut in the middle of a request": func(s *s3) func(http.ResponseWriter, *http.Request) {
		return func(w http.ResponseWriter, r *http.Request) {
			io.CopyN(io.Discard, r.Body, r.ContentLength/2)
			cut(w)
		}
	},
	"half of a request arrives at the store": func(s *s3) func(http.ResponseWriter, *http.Request) {
		return func(w http.ResponseWriter, r *http.Request) {
			r.Body = io.NopCloser(io.MultiReader(io.LimitReader(r.Body, r.ContentLength/2), broken{}))
			s.store.ServeHTTP(httptest.NewRecorder(), r)
			cut(w)
		}
	},
	"the answer is lost": func(s *s3) func(http.ResponseWriter, *http.Request) {
		return func(w http.ResponseWriter, r *http.Request) {
			s.store.ServeHTTP(httptest.NewRecorder(), r)
			cut(w)
		}
	},
	"the store is busy": func(s *s3) func(http.ResponseWriter, *http.Request) {
		return func(w http.ResponseWriter, r *http.Request) {
			w.WriteHeader(http.StatusServiceUnavailable)
			io.WriteString(w, `<Error><Code>SlowDown</Code><Message>Please reduce your request rate.</Message></Error>`)
		}
	},
	"a byte is turned over on the way": func(s *s3) func(http.ResponseWriter, *http.Request) {
		return func(w http.ResponseWriter, r *http.Request) {
			if body, err := io.ReadAll(r.Body); err == nil && len(body) > 0 {
				body[len(body)/2] ^= 1
				r.Body = io.NopCloser(bytes.NewReader(body))
			}
			s.store.ServeHTTP(w, r)
		}
	},
	"a byte is turned over on the way back": func(s *s3) func(http.ResponseWriter, *http.Request) {
		return func(w http.ResponseWriter, r *http.Request) {
			recorded := httptest.NewRecorder()
			s.store.ServeHTTP(recorded, r)
			body := recorded.Body.Bytes()
			if r.Method == http.MethodGet && len(body) > 1<<20 {
				body[len(body)/2] ^= 1
			}
			for k, v := range recorded.Header() {
				w.Header()[k] = v
			}
			w.WriteHeader(recorded.Code)
			w.Write(body)
		}
	},
}

func cut(w http.ResponseWriter) {
	if conn, _, err := w.(http.Hijacker).Hijack(); err == nil {
		conn.(*net.TCPConn).SetLinger(0)
		conn.Close()
	}
}

// TestABucketHasAFileBeforeItIsGoneHere meets every fault at every request in turn, starts the sender anew after it as
// a kill would have it, and looks after every pass whether the file is whole on one side at least.
func TestABucketHasAFileBeforeItIsGoneHere(t *testing.T) {
	for sentence, fault := range faults {
		t.Run(sentence, func(t *testing.T) {
			for at := 1; ; at++ {
				s, dir := newS3(t), t.TempDir()
				const name = "henro-1.warc.gz"
				data := large(t, dir, name)
				s.at, s.fault = at, fault(s)
				var failed []error
				for pass := 1; ; pass++ {
					n, err := s.sender(t, dir).Pass(t.Context())
					here, _ := os.ReadFile(filepath.Join(dir, name))
					whole := bytes.Equal(s.object(t, name), data)
					if !bytes.Equal(here, data) && !whole {
						t.Fatalf("request %d, pass %d: the file is whole nowhere", at, pass)
					}
					if index := s.object(t, "henro-1.cdxj"); s.object(t, name+".sha256") != nil &&
						(!whole || string(index) != name) {
						t.Fatalf("request %d, pass %d: a seal before what it seals", at, pass)
					}
					if err == nil && n == 1 {
						break
					}
					if failed = append(failed, err); pass == 4 {
						t.Fatalf("request %d: %d sent, %v", at, n, failed)
					}
				}
				if left, err := os.ReadDir(dir); err != nil || len(left) > 0 {
					t.Fatalf("request %d: %d files are left here, %v", at, len(left), err)
				}
				if s.n < at {
					if at < 7 {
						t.Errorf("only %d requests were made", s.n)
					}
					break
				}
				s.Close()
			}
		})
	}
}

// TestPiecesThatArrivedAreNotSentAgain has a slave killed before the last piece.
func TestPiecesThatArrivedAreNotSentAgain(t *testing.T) {
	s, dir := newS3(t), t.TempDir()
	const name = "henro-1.warc.gz"
	data := large(t, dir, name)
	ctx, cancel := context.WithCancel(t.Context())
	store := s.store
	s.store = http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Query().Get("partNumber") == "2" {
			cancel()
			cut(w)
			return
		}
		store.ServeHTTP(w, r)
	})
	if _, err := s.sender(t, dir).Pass(ctx); err == nil {
		t.Fatal("the first pass went well")
	}
	s.store = store
	s.requests = nil
	if n, err := s.sender(t, dir).Pass(t.Context()); n != 1 || err != nil {
		t.Fatal(n, err)
	}
	if slices.Contains(s.requests, "PUT piece 1") || !slices.Contains(s.requests, "PUT piece 2") {
		t.Errorf("the second pass made %q", s.requests)
	}
	if !bytes.Equal(s.object(t, name), data) {
		t.Error("the object is not the file")
	}
}

// TestAFileThatIsWholeAtTheLastTryIsThere: the store gives back another content until then.
func TestAFileThatIsWholeAtTheLastTryIsThere(t *testing.T) {
	for bad, want := range map[int]bool{2: true, 3: false} {
		s, dir := newS3(t), t.TempDir()
		data := finished(t, dir, "henro-1.warc.gz")
		store, reads := s.store, 0
		s.store = http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			if reads++; r.Method != http.MethodGet || len(r.URL.Query()) > 0 {
				reads--
			} else if reads <= bad {
				r.URL.Path = "/archive/crawl/other"
			}
			store.ServeHTTP(w, r)
		})
		if _, err := s.backend.PutObject("archive", "crawl/other",
			map[string]string{"Last-Modified": time.Now().UTC().Format(http.TimeFormat)},
			bytes.NewReader(slices.Repeat([]byte("x"), len(data))), int64(len(data)), nil); err != nil {
			t.Fatal(err)
		}
		_, err := s.sender(t, dir).Pass(t.Context())
		_, here := os.Stat(filepath.Join(dir, "henro-1.warc.gz"))
		if (err == nil) != want || (here != nil) != want || !want && !errors.Is(err, collect.ErrDigest) {
			t.Errorf("after %d bad readings: %v, here: %v; %q", bad, err, here, s.requests)
		}
	}
}

func TestAnotherObjectOfTheNameIsNotWrittenOver(t *testing.T) {
	s, dir := newS3(t), t.TempDir()
	data := finished(t, dir, "henro-1.warc.gz")
	small := finished(t, dir, "henro-2.warc.gz")
	other := slices.Repeat([]byte("x"), len(data))
	if _, err := s.backend.PutObject("archive", "crawl/henro-1.warc.gz",
		map[string]string{"Last-Modified": time.Now().UTC().Format(http.TimeFormat)}, bytes.NewReader(other),
		int64(len(other)), nil); err != nil {
		t.Fatal(err)
	}
	n, err := s.sender(t, dir).Pass(t.Context())
	if n != 1 || !errors.Is(err, collect.ErrConflict) {
		t.Errorf("%d sent, %v", n, err)
	}
	if !bytes.Equal(s.object(t, "henro-1.warc.gz"), other) || !bytes.Equal(s.object(t, "henro-2.warc.gz"), small) {
		t.Error("the objects are not what they should be")
	}
	if here, _ := os.ReadFile(filepath.Join(dir, "henro-1.warc.gz")); !bytes.Equal(here, data) {
		t.Error("the file is gone")
	}
}

// TestASealComesLast: the index and the digests of both are behind a WARC file, and whatever a try before them, or a
// store that died, has left is replaced, but not what is another's.
func TestASealComesLast(t *testing.T) {
	const name, index, seal = "henro-1.warc.gz", "henro-1.cdxj", "henro-1.warc.gz.sha256"
	for at, left := range map[string]string{"": "", name: "beginning", index: "made in another way",
		seal: "of another index"} {
		s, dir := newS3(t), t.TempDir()
		data := large(t, dir, name)
		if left == "beginning" {
			left = string(data[:4<<20])
		}
		if at != "" {
			if _, err := s.backend.PutObject("archive", "crawl/"+at,
				map[string]string{"Last-Modified": time.Now().UTC().Format(http.TimeFormat)},
				strings.NewReader(left), int64(len(left)), nil); err != nil {
				t.Fatal(err)
			}
		}
		lines, err := os.ReadFile(filepath.Join(dir, index))
		if n, failed := s.sender(t, dir).Pass(t.Context()); n != 1 || err != nil || failed != nil {
			t.Fatal(at, n, err, failed)
		}
		want := fmt.Sprintf("%x  %s\n%x  %s\n", sha256.Sum256(data), name, sha256.Sum256(lines), index)
		if got := string(s.object(t, seal)); got != want || !bytes.Equal(s.object(t, name), data) ||
			!bytes.Equal(s.object(t, index), lines) {
			t.Errorf("%s: the seal is %q, want %q", at, got, want)
		}
		if last := s.requests[len(s.requests)-2:]; fmt.Sprint(last) != "[HEAD GET]" {
			t.Errorf("%s: the last requests are %q", at, last)
		}
	}
}

func TestErrorsOfAStoreSayWhatToDo(t *testing.T) {
	for code, c := range map[string]struct {
		status  int
		refused bool
		hint    string
	}{
		"NoSuchBucket":          {404, true, "make it"},
		"AccessDenied":          {403, true, "may not"},
		"InvalidAccessKeyId":    {403, true, "AWS_ACCESS_KEY_ID"},
		"SignatureDoesNotMatch": {403, true, "AWS_SECRET_ACCESS_KEY"},
		"SlowDown":              {503, false, "SlowDown"},
		"NoSuchUpload":          {404, false, ""}, // as some answer where there are none: all is well
	} {
		server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
			w.WriteHeader(c.status)
			fmt.Fprintf(w, "<Error><Code>%s</Code><Message>%s.</Message></Error>", code, code)
		}))
		bucket, err := collect.NewBucket((&s3{Server: server}).where())
		if err != nil {
			t.Fatal(err)
		}
		err = bucket.Check(t.Context())
		if (err == nil) != (c.hint == "") || errors.Is(err, collect.ErrRefused) != c.refused ||
			err != nil && !strings.Contains(err.Error(), c.hint) {
			t.Errorf("%s: %v", code, err)
		}
		server.Close()
	}
}

// TestKeysThatAreRefusedAreReadAgain: those of a file may have been renewed meanwhile.
func TestKeysThatAreRefusedAreReadAgain(t *testing.T) {
	file := filepath.Join(t.TempDir(), "credentials")
	keys := func(id string) {
		if err := os.WriteFile(file, []byte("[default]\naws_access_key_id = "+id+"\naws_secret_access_key = s\n"),
			0o600); err != nil {
			t.Fatal(err)
		}
	}
	keys("older")
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if !strings.Contains(r.Header.Get("Authorization"), "newer") {
			w.WriteHeader(http.StatusForbidden)
		}
	}))
	defer server.Close()
	where := (&s3{Server: server}).where()
	where.Credentials = credentials.NewFileAWSCredentials(file, "default")
	place, err := collect.NewBucket(where)
	if err != nil {
		t.Fatal(err)
	}
	if err := place.Check(t.Context()); !errors.Is(err, collect.ErrRefused) {
		t.Fatal(err)
	}
	keys("newer")
	if err := place.Check(t.Context()); errors.Is(err, collect.ErrRefused) {
		t.Error(err)
	}
}

// TestNothingGoesIntoTheArchiveOfAnotherCrawl: what comes first ends a pass, and the files stay here.
func TestNothingGoesIntoTheArchiveOfAnotherCrawl(t *testing.T) {
	s, dir, crawl := newS3(t), t.TempDir(), "a"
	pass := func() (int, error) {
		place, err := collect.NewBucket(s.where())
		if err != nil {
			t.Fatal(err)
		}
		return sender(t, dir, nil, func(o *collect.SenderOptions) {
			o.Place = place
			o.First = func(ctx context.Context) error { return place.Logs.Own(ctx, crawl) }
		}).Pass(t.Context())
	}
	for i, step := range []struct {
		crawl string
		taken bool
	}{{"", false}, {"a", false}, {"a", false}, {"b", true}, {"", false}} {
		crawl = step.crawl
		name := fmt.Sprintf("henro-%d.warc.gz", i)
		finished(t, dir, name)
		n, err := pass()
		if errors.Is(err, bucket.ErrTaken) != step.taken || (n == 0) != step.taken || !step.taken && err != nil ||
			step.taken && !strings.Contains(err.Error(), "remove crawl.id") {
			t.Errorf("%d: %d, %v", i, n, err)
		}
		if there := s.object(t, name) != nil; there == step.taken {
			t.Errorf("%d: %s is there: %v", i, name, there)
		}
		if got := string(s.object(t, bucket.CrawlName)); got != map[bool]string{true: "a"}[i > 0] {
			t.Errorf("%d: it is of %q", i, got)
		}
	}
}

// TestATableIsBroughtOnce: before the index, which says that it was; one that a greater table has taken in does not
// come again when the slave died before it removed its file.
func TestATableIsBroughtOnce(t *testing.T) {
	s, dir := newS3(t), t.TempDir()
	place, err := collect.NewBucket(s.where())
	if err != nil {
		t.Fatal(err)
	}
	place.Piece = 5 << 20
	brought := 0
	place.Brought = func() { brought++ }
	const table = "tables/captures/crawl=crawl/henro-1.parquet"
	for again := range 2 {
		large(t, dir, "henro-1.warc.gz")
		sender := sender(t, dir, nil, func(o *collect.SenderOptions) { o.Place = place })
		if n, err := sender.Pass(t.Context()); err != nil || n != 1 || brought != again+1 {
			t.Fatal(n, err, brought)
		}
		if left, err := os.ReadDir(dir); err != nil || len(left) > 0 {
			t.Errorf("left here: %v, %v", left, err)
		}
		if there := s.object(t, table); (there != nil) != (again == 0) {
			t.Errorf("brought for the %d. time: a table of %d bytes", again+1, len(there))
		}
		if _, err := s.backend.DeleteObject("archive", "crawl/"+table); err != nil {
			t.Fatal(err)
		}
	}
	at := func(path string) int { return slices.Index(s.paths, path) }
	first, then := at("PUT /archive/crawl/"+table), at("PUT /archive/crawl/henro-1.cdxj")
	if first < 0 || then < first {
		t.Errorf("the table is request %d, the index %d: %q", first, then, s.paths)
	}
}
