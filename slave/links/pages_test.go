package links

import (
	"bufio"
	"compress/gzip"
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"golang.org/x/text/encoding"
	"golang.org/x/text/encoding/htmlindex"
)

// page is a page and what Chromium finds in it.
type page struct {
	ID     string
	Kind   string
	URL    string
	Body   []byte `json:"body_b64"`
	Expect struct {
		CharacterSet string
		Title        string
		BaseURI      string
		A, Link      [][2]string // href, rel
		Img          []string
		Frame        []string
		Script       []string
		Form         [][2]string
		MetaRefresh  []string
		MetaRobots   []string
		Text         string
	}
	enc  encoding.Encoding
	html []byte // UTF-8
}

// pages returns Chromium's pages from HENRO_DATA; none if that is not set.
func pages(t testing.TB) (all []page) {
	folder := os.Getenv("HENRO_DATA")
	if folder == "" {
		return nil
	}
	f, err := os.Open(filepath.Join(folder, "links", "chromium_pages.jsonl.gz"))
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	unzipped, err := gzip.NewReader(f)
	if err != nil {
		t.Fatal(err)
	}
	in := bufio.NewScanner(unzipped)
	in.Buffer(nil, 16<<20)
	for in.Scan() {
		var p page
		if err := json.Unmarshal(in.Bytes(), &p); err != nil {
			t.Fatal(err)
		}
		if p.enc, err = htmlindex.Get(p.Expect.CharacterSet); err != nil {
			t.Fatal(err)
		}
		if p.html, err = p.enc.NewDecoder().Bytes(p.Body); err != nil {
			t.Fatal(err)
		}
		p.html = []byte(strings.TrimPrefix(string(p.html), "\uFEFF"))
		all = append(all, p)
	}
	return all
}
