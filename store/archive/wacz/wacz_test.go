package wacz_test

import (
	"archive/zip"
	"bytes"
	"crypto/sha256"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"iter"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/klauspost/compress/gzip"

	"henro/store/archive/cdxj"
	"henro/store/archive/wacz"
	"henro/store/archive/warc"
)

var noon = time.Date(2026, 3, 14, 12, 0, 0, 0, time.UTC)

// archived makes n files of some captures each and merges their indexes.
func archived(t *testing.T, n int, compression warc.Compression) (string, cdxj.Merged) {
	t.Helper()
	dir := t.TempDir()
	b, err := warc.NewBuilder(warc.Options{Compression: compression, Level: 3})
	if err != nil {
		t.Fatal(err)
	}
	for i := range n {
		var data []byte
		for j := range 40 {
			data = b.Append(data, &warc.Record{Type: warc.Resource, Date: noon,
				TargetURI: fmt.Sprintf("http://docs.test/%d/%d", j, i), ContentType: "text/html", Head: []byte("page")})
		}
		if err := os.WriteFile(filepath.Join(dir, fmt.Sprintf("%d%s", i, compression.Suffix())), data,
			0o600); err != nil {
			t.Fatal(err)
		}
	}
	m, err := cdxj.MergeDir(dir)
	if err != nil {
		t.Fatal(err)
	}
	return dir, m
}

func list(pages ...wacz.Page) iter.Seq2[wacz.Page, error] {
	return func(yield func(wacz.Page, error) bool) {
		for _, p := range pages {
			if !yield(p, nil) {
				return
			}
		}
	}
}

// TestEveryPartIsThereAndNamed reads a package as a reader without our code would.
func TestEveryPartIsThereAndNamed(t *testing.T) {
	dir, m := archived(t, 3, warc.Gzip)
	o := wacz.DefaultOptions()
	o.Now, o.BlockLines, o.Title = noon, 50, "Manuals"
	var done int64
	o.Progress = func(d, all int64) {
		if d > all {
			t.Errorf("%d of %d bytes", d, all)
		}
		done = d
	}
	var packed bytes.Buffer
	err := wacz.Write(&packed, dir, m, wacz.Lists{Pages: list(wacz.Page{URL: "http://docs.test/0/0", At: noon,
		Title: "Zero"}), Others: list()}, o)
	if err != nil || done == 0 {
		t.Fatal(err, done)
	}
	z, err := zip.NewReader(bytes.NewReader(packed.Bytes()), int64(packed.Len()))
	if err != nil {
		t.Fatal(err)
	}
	parts := map[string][]byte{}
	for _, f := range z.File {
		r, err := f.Open()
		if err != nil {
			t.Fatal(err)
		}
		if parts[f.Name], err = io.ReadAll(r); err != nil {
			t.Fatal(err)
		}
		if stored := strings.HasPrefix(f.Name, "archive/") ||
			strings.HasSuffix(f.Name, ".gz"); stored != (f.Method == zip.Store) {
			t.Errorf("%s is stored by method %d", f.Name, f.Method)
		}
	}
	var about struct {
		Version   string `json:"wacz_version"`
		Title     string
		Resources []struct {
			Path, Hash string
			Bytes      int
		}
	}
	if err := json.Unmarshal(parts["datapackage.json"], &about); err != nil || about.Version != "1.1.1" ||
		about.Title != "Manuals" {
		t.Fatalf("%+v %v", about, err)
	}
	if len(about.Resources) != len(parts)-2 || len(about.Resources) != 7 {
		t.Errorf("%d resources of %d parts", len(about.Resources), len(parts))
	}
	for _, r := range about.Resources {
		if data := parts[r.Path]; fmt.Sprintf("sha256:%x", sha256.Sum256(data)) != r.Hash || len(data) != r.Bytes {
			t.Errorf("%+v is another file of %d bytes", r, len(data))
		}
	}
	if want := fmt.Sprintf(`"sha256:%x"`,
		sha256.Sum256(parts["datapackage.json"])); !bytes.Contains(parts["datapackage-digest.json"], []byte(want)) {
		t.Errorf("digest is %s, want %s", parts["datapackage-digest.json"], want)
	}

	// Block by block, the index is the merged one.
	var index []byte
	for i, line := range strings.Split(strings.TrimSpace(string(parts["indexes/index.idx"])), "\n") {
		if i == 0 {
			continue
		}
		var block struct{ Offset, Length int }
		if err := json.Unmarshal([]byte(line[strings.Index(line, "{"):]), &block); err != nil {
			t.Fatal(err)
		}
		packed := parts["indexes/index.cdx.gz"][block.Offset : block.Offset+block.Length]
		r, err := gzip.NewReader(bytes.NewReader(packed))
		if err != nil {
			t.Fatal(err)
		}
		text, err := io.ReadAll(r)
		if key, _, _ := strings.Cut(line, " {"); err != nil || !bytes.HasPrefix(text, []byte(key)) ||
			bytes.Count(text, []byte("\n")) > 50 {
			t.Errorf("block %d, %v, begins %.60s, not %s", i, err, text, key)
		}
		index = append(index, text...)
	}
	merged, err := os.ReadFile(m.Path)
	if err != nil {
		t.Fatal(err)
	}
	if n := bytes.Count(index, []byte("\n")); n != 120 || n != bytes.Count(merged, []byte("\n")) {
		t.Errorf("%d lines in the index", n)
	}
	if !strings.Contains(string(parts["pages/pages.jsonl"]),
		`"url":"http://docs.test/0/0","ts":"2026-03-14T12:00:00Z","title":"Zero"`) {
		t.Errorf("pages: %s", parts["pages/pages.jsonl"])
	}
}

func TestWhatCannotBePackedIsSaid(t *testing.T) {
	dir, m := archived(t, 1, warc.Zstd)
	if err := wacz.Write(io.Discard, dir, m, wacz.Lists{}, wacz.DefaultOptions()); !errors.Is(err,
		wacz.ErrCompression) {
		t.Errorf("zstd: %v", err)
	}
	dir, m = archived(t, 0, warc.Gzip)
	if err := wacz.Write(io.Discard, dir, m, wacz.Lists{}, wacz.DefaultOptions()); err == nil {
		t.Error("nothing is packed")
	}
	dir, m = archived(t, 1, warc.Gzip)
	lost := errors.New("lost")
	pages := func(yield func(wacz.Page, error) bool) { yield(wacz.Page{}, lost) }
	if err := wacz.Write(io.Discard, dir, m, wacz.Lists{Pages: pages}, wacz.DefaultOptions()); !errors.Is(err, lost) {
		t.Errorf("pages that fail: %v", err)
	}
}
