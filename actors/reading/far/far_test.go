package far_test

import (
	"bytes"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/johannesboyne/gofakes3"
	"github.com/johannesboyne/gofakes3/backend/s3mem"
	"github.com/minio/minio-go/v7/pkg/credentials"

	"henro/actors/reading/far"
	"henro/messages/weburl"
	"henro/store/archive/bucket"
	"henro/store/archive/cdxj"
	"henro/store/archive/payloads"
	"henro/store/archive/warc"
)

// archive puts WARC files of a record each into a folder, and into a bucket.
func archive(t *testing.T, names ...string) (dir string, find far.Find, digests []warc.Digest) {
	dir = t.TempDir()
	store := s3mem.New()
	if err := store.CreateBucket("archive"); err != nil {
		t.Fatal(err)
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
			Head: []byte("HTTP/1.1 200 OK\r\n\r\n"), Request: []byte("GET / HTTP/1.1\r\n\r\n"), Body: []byte(name)}
		records, members := b.AppendExchange(nil, x)
		e := cdxj.New(url, x, members, 200, "text/html")
		e.Filename = name + ".warc.gz"
		digests = append(digests, members.PayloadDigest)
		for name, data := range map[string][]byte{e.Filename: records, name + cdxj.Suffix: e.Append(nil)} {
			if err := os.WriteFile(filepath.Join(dir, name), data, 0o644); err != nil {
				t.Fatal(err)
			}
			if _, err := store.PutObject("archive", name, map[string]string{
				"Last-Modified": time.Now().UTC().Format(http.TimeFormat)}, bytes.NewReader(data), int64(len(data)),
				nil); err != nil {
				t.Fatal(err)
			}
		}
	}
	server := httptest.NewServer(gofakes3.New(store).Server())
	t.Cleanup(server.Close)
	return dir, func(string) (bucket.Where, error) {
		return bucket.Where{Endpoint: server.Listener.Addr().String(), Region: "us-east-1", Bucket: "archive",
			Credentials: credentials.NewStaticV4("key", "secret", "")}, nil
	}, digests
}

// TestPayloadsOfABucketAreKnown: as those of the folder, and read once.
func TestPayloadsOfABucketAreKnown(t *testing.T) {
	dir, find, digests := archive(t, "a", "b", "c")
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
