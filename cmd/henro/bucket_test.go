package main

import (
	"bytes"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/johannesboyne/gofakes3"
	"github.com/johannesboyne/gofakes3/backend/s3mem"

	"henro/cmd/config"
	"henro/store/archive/wacz"
	"henro/store/report/changes"
)

// TestABucketAnswersAsItsFolder: search, diff and feed say of an archive in a bucket what they say of the same files
// here, and what they make is in a folder here that is called as that of the bucket is.
func TestABucketAnswersAsItsFolder(t *testing.T) {
	dir, store := changingSite(t), s3mem.New()
	if err := store.CreateBucket("archive"); err != nil {
		t.Fatal(err)
	}
	names, err := filepath.Glob(filepath.Join(dir, "warc", "henro-*"))
	if err != nil || len(names) < 4 {
		t.Fatal(names, err)
	}
	for _, name := range names {
		data, err := os.ReadFile(name)
		if err != nil {
			t.Fatal(err)
		}
		if _, err := store.PutObject("archive", "of/mine/"+filepath.Base(name),
			map[string]string{"Last-Modified": time.Now().UTC().Format(http.TimeFormat)}, bytes.NewReader(data),
			int64(len(data)), nil); err != nil {
			t.Fatal(err)
		}
	}
	server := httptest.NewServer(gofakes3.New(store).Server())
	defer server.Close()
	for name, value := range map[string]string{"AWS_ENDPOINT_URL": server.URL, "AWS_ACCESS_KEY_ID": "key",
		"AWS_SECRET_ACCESS_KEY": "secret", "AWS_ENDPOINT_URL_S3": ""} {
		t.Setenv(name, value)
	}
	t.Chdir(t.TempDir())
	const address = "s3://archive/of/mine/"
	search := func(dir string, f searchFlags) string {
		t.Helper()
		var out bytes.Buffer
		f.q.Most = 20
		if err := f.run(t.Context(), dir, "rise", &out, io.Discard); err != nil {
			t.Fatal(dir, err)
		}
		return out.String()
	}
	f := searchFlags{}
	f.q.Most = 1
	if err := f.run(t.Context(), address, "rain", io.Discard, io.Discard); config.Code(err) != config.ExitUsage {
		t.Errorf("without an index: %v", err)
	}
	search(dir, searchFlags{index: true})
	search(address, searchFlags{index: true})
	if want, got := search(dir, searchFlags{}), search(address, searchFlags{}); got != want ||
		strings.Count(got, "http://") < 1 {
		t.Errorf("search: %s, want %s", got, want)
	}
	feed := func(dir string) string {
		var flags feedFlags
		flags.o.Least = 1
		if err := flags.run(t.Context(), dir, io.Discard, io.Discard); err != nil {
			t.Fatal(dir, err)
		}
		text, err := os.ReadFile(filepath.Join(beside(dir), changes.Folder, changes.LinesName))
		if err != nil {
			t.Fatal(err)
		}
		return string(text)
	}
	if want, got := feed(dir), feed(address); strings.Count(got, "\n") != strings.Count(want, "\n") || got == "" {
		t.Errorf("feed: %s, want %s", got, want)
	}
	var said []string
	for _, from := range []string{dir, address} {
		packed, out := filepath.Join(t.TempDir(), "a.wacz"), new(bytes.Buffer)
		if err := exportWACZ(nil, io.Discard, wacz.DefaultOptions(), from, packed); err != nil {
			t.Fatal(err)
		}
		if err := checkPackage(out, newBar(io.Discard), packed, "", ""); err != nil {
			t.Errorf("the package of %s: %s, %v", from, out, err)
		}
		_, counts, _ := strings.Cut(out.String(), "archive ")
		counts, _, _ = strings.Cut(counts, "\n")
		said = append(said, counts)
	}
	if said[0] != said[1] || said[0] == "" {
		t.Errorf("packages: %q", said)
	}
	made, err := os.ReadDir(".")
	if err != nil || len(made) != 1 || made[0].Name() != "mine" {
		t.Errorf("made here: %v, %v", made, err)
	}
	for _, address := range []string{"s3://archive", "s3://archive/..", "s3://archive/a/../.."} {
		if at := beside(address); at == ".." || strings.Contains(at, "/") {
			t.Errorf("%s: %s", address, at)
		}
	}
}
